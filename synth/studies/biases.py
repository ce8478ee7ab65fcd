"""How roundings change the mean of data, computed with the reference model: the biases of docs/accuracy.md."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

import golden
from golden.accuracy import Errors
from synth.area.figures import Figure


@cache
def _data(name: str) -> dict[str, NDArray[np.float32]]:
    """Numbers of the table of docs/accuracy.md, in binary32."""
    rng, fmt = np.random.default_rng(1), golden.get(name)
    normal = (rng.normal(size=40_000) * 4096).astype(np.float32)
    known = {"Gaussian numbers": normal, "heavy-tailed numbers": (rng.standard_t(3, 40_000) * 256).astype(np.float32)}
    known["numbers widened from binary16"] = (normal / 8).astype(np.float16).astype(np.float32)
    known["numbers widened from bfloat16"] = golden.get("bfloat16").quantize(normal).astype(np.float32)
    for count, words in ((1, "single products"), (4, "sums of 4 products"), (16, "sums of 16"), (64, "sums of 64")):
        a, b = (fmt.quantize((rng.normal(size=(10_000, count)) * 16).astype(np.float32)) for _ in range(2))
        known[words] = (a.astype(np.float64) * b).sum(axis=1).astype(np.float32)
    return known


@cache
def biases(name: str, rounding: str) -> dict[str, Figure]:
    """By kind of data, by which share a rounding to a format changes the mean magnitude."""
    call = f"biases({name!r}, {rounding!r})"
    command = f'python -c "import golden; from synth.studies.biases import biases; print({call})"'
    errors = {kind: golden.rounding_errors(name, x, rounding).bias for kind, x in _data(name).items()}
    return {kind: Figure(bias, bias, bias, command=command) for kind, bias in errors.items()}


@cache
def errors(name: str, rounding: str, source: str) -> Errors:
    """Bias and largest error of a rounding of Gaussian numbers of a source to a format."""
    normal = _data(name)["Gaussian numbers"] / 8
    bits = normal.view(np.uint32) if source == "binary32" else golden.get(source).codes(normal)
    return golden.rounding_errors(name, bits, rounding, source=source)


def better(name: str, rounding: str, base: str) -> tuple[list[str], list[str]]:
    """Kinds of data, with biases, whose mean a rounding keeps better than another one; and the other kinds."""
    known, texts = biases(name, base), dict[bool, list[str]]({True: [], False: []})
    for kind, bias in biases(name, rounding).items():
        new, old = bias.median, known[kind].median
        texts[abs(new) < abs(old)].append(f"{kind} ({new:+.1%} against {old:+.1%})")
    return texts[True] or ["none"], texts[False] or ["none"]
