"""The Verilog of designs, and cases for the bench: inputs with the outputs of the reference model."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import golden
from golden import Format
from hwgen.blocks.block import Design
from hwgen.blocks.catalog import build
from hwgen.bundle.files import VECTORS
from hwgen.coverage.suite import suite
from hwgen.datapath.ports import split
from hwgen.reference import Pins, reference, vectors
from hwgen.reference.conversions import DecoderReference
from hwgen.simulate.case import Case, case
from hwgen.tools import yosys
from rtl_tests.support import shared
from rtl_tests.support.bench import seed
from rtl_tests.support.lint import lint

_TEXTS: dict[str, str] = {}
_NEAR: dict[tuple[str, int], list[dict[str, int]]] = {}


def texts(designs: Sequence[Design]) -> dict[str, str]:
    """Return the Verilog of designs by name: emitted in parallel, and linted once for all tests."""
    missing = [design for design in designs if design.name not in _TEXTS]
    if missing:
        yosys.version()  # the first run of Yosys must be alone
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            fresh = dict(
                zip(
                    (design.name for design in missing), pool.map(lambda design: design.verilog(), missing), strict=True
                )
            )
        new = {name: text for name, text in fresh.items() if not shared.has_passed("lint", text)}
        if new:
            with tempfile.TemporaryDirectory() as folder:
                lint(new, Path(folder))
            for text in new.values():
                shared.passed("lint", text)
        _TEXTS.update(fresh)
    return {design.name: _TEXTS[design.name] for design in designs}


def generator(*words: str) -> np.random.Generator:
    """Return a generator seeded with the run's seed and ``words``."""
    return np.random.default_rng([seed(), *(ord(letter) for letter in " ".join(words))])


def stimuli(design: Design) -> list[dict[str, int]]:
    """Return the stimuli of a block's reference model, always the same."""
    return reference(design).stimuli(VECTORS, np.random.default_rng(list(design.name.encode())))


def near(design: Design, count: int) -> list[dict[str, int]]:
    """Return products and accumulators near each other, always the same, and calculated once."""
    if (design.name, count) not in _NEAR:
        rng = np.random.default_rng(list(design.name.encode()))
        _NEAR[design.name, count] = reference(design).near_stimuli(count, rng)
    return _NEAR[design.name, count]


def answer(design: Design, pins: Pins) -> dict[str, int]:
    """Return the reference model's outputs for one case."""
    return reference(design).answer(pins)


def _case(
    design: Design, inputs: Mapping[str, NDArray], outputs: Mapping[str, NDArray], seed: int | None = None
) -> Case:
    """A case for a block's module. Codes of a pair of formats are split into two ports."""
    values = dict(inputs)
    for name, fmt in design.codes.items():
        values |= split(name, fmt, values[name])
    return case(design, texts([design])[design.name], {**values, **outputs}, seed=seed)


def clocked_case(design: Design, cycles: Sequence[Mapping[str, int]]) -> Case:
    """A case of two vectors per cycle (see :mod:`hwgen.reference.trace`): before and after the rising edge."""
    vectors = {name: np.array([cycle[name] for cycle in cycles], object) for name in cycles[0]}
    return case(design, texts([design])[design.name], vectors, seed=seed())


def suite_case(design: Design) -> Case:
    """The vectors of the design's bundle."""
    vectors = suite(design, VECTORS, np.random.default_rng(list(design.name.encode())))
    return case(design, texts([design])[design.name], vectors.vectors, vectors.classes, seed())


def all_codes(width: int) -> NDArray[np.uint64]:
    """Every pattern of ``width`` bits."""
    return np.arange(1 << width, dtype=np.uint64)


def pairs(a: Format, b: Format) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Every pair of codes."""
    index = all_codes(a.width + b.width)
    return index >> np.uint64(b.width), index & np.uint64((1 << b.width) - 1)


# -- decoders


def decoder_case(fmt: Format, target: str) -> Case:
    """All codes of a format."""
    design = build("decoder", fmt, target=target)
    codes = all_codes(fmt.width)
    return _case(design, {"code": codes}, DecoderReference(design).columns({"code": codes}))


# -- encoders


def encoder_design(
    fmt: Format,
    source: str,
    rounding: str | None = None,
    overflow: str | None = None,
    nan_to_zero: bool = False,
    random_bits: int | None = None,
) -> Design:
    """An encoder with its options in the order of ``Format.encode``."""
    options = {"rounding": rounding, "overflow": overflow, "nan_to_zero": nan_to_zero, "random_bits": random_bits}
    return build("encoder", fmt, source=source, **options)


def encoder_case(
    fmt: Format,
    source: str,
    rounding: str | None = None,
    overflow: str | None = None,
    nan_to_zero: bool = False,
    random_bits: int | None = None,
) -> Case:
    """A 16-bit source: all inputs. binary32: every rounding boundary ± 1 ulp, specials and random patterns."""
    design = encoder_design(fmt, source, rounding, overflow, nan_to_zero, random_bits)
    rng = generator(design.name)
    wide = golden.get(source)
    bits = (
        all_codes(16)
        if wide.width == 16
        else np.concatenate([vectors.boundaries(fmt), vectors.random_binary32(fmt, 5000, rng)])
    ).astype(np.uint64)
    inputs = {"bits": bits}
    random_words = None
    random_bits = design.core.random_bits
    if random_bits is not None:
        random_words = rng.integers(0, 1 << random_bits, bits.size, dtype=np.uint64)
        random_words[: bits.size // 4] = rng.choice(np.array([0, (1 << random_bits) - 1], np.uint64), bits.size // 4)
        inputs["random"] = random_words
    codes = fmt.encode(bits, source, rounding, overflow, nan_to_zero, random=random_words, random_bits=random_bits or 1)
    return _case(design, inputs, {"code": codes}, seed())


# -- multiply-accumulate


def mac_design(a: Format, b: Format | None = None, accumulator: str = "binary16", terms: int | None = None) -> Design:
    """A MAC with its options in the order of ``golden.mac``."""
    return build("mac", a, a if b is None else b, accumulator=accumulator, terms=terms)


def mac_case(
    a: Format,
    b: Format | None = None,
    accumulator: str = "binary16",
    terms: int | None = None,
    count: int | None = None,
) -> Case:
    """All pairs of codes, or ``count`` of them, each with a directed or random accumulator."""
    other = a if b is None else b
    design = mac_design(a, b, accumulator, terms)
    rng = generator(design.name)
    left, right = pairs(a, other)
    if count is not None:
        left, right = (codes[rng.permutation(left.size)[:count]] for codes in (left, right))
    acc = vectors.accumulators(design.core.sums, left, right, rng)
    expected = golden.mac(left, right, acc, a, other, accumulator, design.core.terms or 1)
    return _case(design, {"a": left, "b": right, "acc_in": acc}, {"acc_out": expected}, seed())
