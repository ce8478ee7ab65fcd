"""How many bits the accumulation of 8-bit products needs: signal-to-noise ratios of long sums by rule.

Sums of K products of random numbers, which are rounded to a format, are added by ``golden.matmul`` with each rule. A
ratio, in dB, is that of the exact sums' power to the power of the differences from them; null if all sums are exact.
There are 16 x 16 sums for each seed. Data are those of ``synth/studies/dots.py``: Gaussian; heavy-tailed (Student's t
with 3 degrees of freedom); cancelling, where the products of the first half are positive and those of the second half
the same ones, negated, of other factors and in another order.

Usage: python examples/accumulation.py [FILE] writes docs/accumulation.json, in a few minutes; then python -m
synth.studies.readme shows it in docs/accumulation.md
"""

import argparse
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import golden
from golden.wide import state_format
from synth.studies.dots import CANCELLING, DATA, HEAVY, OPERANDS, best_exponent, encoded
from synth.studies.study import text_of

FILE = Path(__file__).resolve().parents[1] / "docs" / "accumulation.json"
FORMATS, LANES, TERMS, SEEDS, SIDE = ("ocp_e4m3", "hif8"), (8, 32), (64, 256, 1024, 4096, 16384), (1, 2, 3, 4, 5), 16
STOCHASTIC: dict[str, Any] = {"accumulator_rounding": "stochastic", "random_bits": 16}
RULES: dict[str, dict[str, Any]] = {
    **{name: {"accumulator": name} for name in ("binary32", "aligned25", "rvbna", "aligned16", "aligned13")},
    "aligned13, chunks of 128": {"accumulator": "aligned13", "chunk": 128},
    "dlfloat16": {"accumulator": "dlfloat16"},
    **{
        f"{name}{words}": {"accumulator": name, **options}
        for name in ("binary16", "bfloat16")
        for words, options in (("", {}), (", chunks of 64", {"chunk": 64}), (", stochastic", STOCHASTIC))
    },
}
"""Options of ``golden.matmul`` by the name of a rule; those of ``exact`` are the reference."""


def matrices(data: str, terms: int, random: np.random.Generator) -> list[NDArray[np.float32]]:
    """Two matrices, (SIDE, terms) and (terms, SIDE), of numbers with mean 0 and variance 1 unless they cancel."""
    shape = 2, SIDE, terms
    numbers = random.standard_t(3, shape) / math.sqrt(3) if data == HEAVY else random.standard_normal(shape)
    if data == CANCELLING:
        x, w = np.abs(numbers[..., : terms // 2])
        factors, order = random.uniform(1, 2, terms // 2), random.permutation(terms // 2)
        negated = -(x * factors)[:, order], (w / factors)[:, order]
        numbers = np.concatenate(([x, w], negated), axis=-1)
    x, w = numbers.astype(np.float32)
    return [x, w.T]


def ratios(name: str, data: str, lanes: int, terms: int, seed: int, rules: Iterable[str]) -> Iterator[float | None]:
    """Signal-to-noise ratios of the sums by each rule, and first that of rounding the operands."""
    fmt, random = golden.get(name), np.random.default_rng((seed, terms))
    numbers, exponent = matrices(data, terms, random), best_exponent(golden.get(name), data)
    a, b = (encoded(matrix, fmt, exponent) for matrix in numbers)
    limbs = golden.matmul(a, b, fmt, accumulator="exact", lanes=lanes)
    exact = golden.ExactAccumulator(fmt, fmt, terms).decode(limbs)
    yield _ratio(exact, np.matmul(*numbers, dtype=np.float64) * 4.0**exponent)
    for rule in rules:
        options = dict(RULES[rule])
        if "random_bits" in options:
            words = (SIDE, SIDE, terms // lanes)
            options["random"] = random.integers(0, 1 << options["random_bits"], words, np.uint64)
        bits = golden.matmul(a, b, fmt, lanes=lanes, **options)
        yield _ratio(exact, state_format(options["accumulator"]).decode(bits))


def _ratio(exact: NDArray[np.float64], sums: NDArray[np.float64]) -> float | None:
    noise = float(((sums - exact) ** 2).sum())
    return round(10 * math.log10(float((exact**2).sum()) / noise), 2) + 0.0 if noise else None


def measured(formats: Sequence[str] = FORMATS, terms: Sequence[int] = TERMS) -> Iterator[list[Any]]:
    """Lines of the file: format, data, lanes, rule, and for each K the ratios of all seeds."""
    for name in formats:
        for data in DATA:
            for lanes in LANES:
                samples = [[[*ratios(name, data, lanes, count, seed, RULES)] for seed in SEEDS] for count in terms]
                for place, rule in enumerate((OPERANDS, *RULES)):
                    yield [name, data, lanes, rule, [[sample[place] for sample in group] for group in samples]]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", metavar="FILE", nargs="?", type=Path, default=FILE)
    file = parser.parse_args().file
    content = {"numpy": np.__version__, "terms": TERMS, "seeds": SEEDS, "errors": [*measured()]}
    file.write_text(text_of(content), encoding="utf-8")
