"""Cases for the bench: a block's Verilog, its inputs, and what golden says of them."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import golden
from golden import Format
from golden.explain import describe, number
from golden.mac import exact
from hwgen import build, yosys
from hwgen.build import Design
from hwgen.unpacked import exponent_shape, precision
from rtl_tests import vectors
from rtl_tests.bench import Case
from rtl_tests.lint import lint
from rtl_tests.simulators import seed

_TEXTS: dict[str, str] = {}


def texts(designs: Sequence[Design]) -> dict[str, str]:
    """Verilog of designs by name: emitted side by side, once however many tests ask for it, and linted before anybody sees it."""
    missing = [design for design in designs if design.name not in _TEXTS]
    if missing:
        yosys.version()  # the first run of Yosys must be alone
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            fresh = dict(zip((design.name for design in missing), pool.map(Design.verilog, missing), strict=True))
        with tempfile.TemporaryDirectory() as folder:
            lint(fresh, Path(folder))
        _TEXTS.update(fresh)
    return {design.name: _TEXTS[design.name] for design in designs}


def generator(*words: str) -> np.random.Generator:
    """Random numbers that depend on the run's seed and on what they are for."""
    return np.random.default_rng([seed(), *(ord(letter) for letter in " ".join(words))])


# -- decoders -----------------------------------------------------------------------------------------------------------------


def decoder_case(fmt: Format, target: str) -> Case:
    """All codes of a format."""
    design = build.decoder(fmt, target)
    codes = vectors.all_codes(fmt.width)
    outputs = _unpacked(fmt) if target == "unpacked" else {"bits": fmt.decode_bits(codes, target)}
    widths = {"sign": 1, "exponent": exponent_shape(fmt).width, "significand": precision(fmt), "is_zero": 1, "is_inf": 1, "is_nan": 1}
    ports = {"code": fmt.width} | (widths if target == "unpacked" else {"bits": golden.get(target).width})

    def explain(inputs: Mapping[str, int], _got: Mapping[str, int], _expected: Mapping[str, int]) -> str:
        return describe(fmt, inputs["code"])

    return Case(design.name, texts([design])[design.name], ports, {"code": codes}, outputs, explain)


def _unpacked(fmt: Format) -> dict[str, NDArray[np.uint64]]:
    """What the unpacked decoder must say, from the exact values."""
    values = fmt.values
    finite = np.isfinite(values) & (values != 0)
    fraction, exponent = np.frexp(np.where(finite, np.abs(values), 1))
    mask = (1 << exponent_shape(fmt).width) - 1
    columns = {
        "sign": np.arange(values.size) >> (fmt.width - 1),
        "exponent": np.where(finite, (exponent - 1) & mask, 0),
        "significand": np.where(finite, np.ldexp(fraction, precision(fmt)), 0),
        "is_zero": values == 0,
        "is_inf": np.isinf(values),
        "is_nan": np.isnan(values),
    }
    return {name: column.astype(np.uint64) for name, column in columns.items()}


# -- encoders -----------------------------------------------------------------------------------------------------------------


def encoder_case(
    fmt: Format,
    source: str,
    rounding: str | None = None,
    overflow: str | None = None,
    nan_to_zero: bool = False,
    random_bits: int = 16,
) -> Case:
    """All 65,536 inputs of a 16-bit source; from binary32 every rounding boundary ± 1 ulp, specials, and random patterns."""
    design = build.encoder(fmt, source, rounding, overflow, nan_to_zero, random_bits)
    rng = generator(design.name)
    wide = golden.get(source)
    bits = (
        vectors.all_codes(16) if wide.width == 16 else np.concatenate([vectors.boundaries(fmt), vectors.random_binary32(fmt, 5000, rng)])
    ).astype(np.uint64)
    inputs = {"bits": bits}
    ports = {"bits": wide.width, "code": fmt.width}
    words = None
    if design.options["rounding"] == "stochastic":
        words = rng.integers(0, 1 << random_bits, bits.size, dtype=np.uint64)
        words[: bits.size // 4] = rng.choice(np.array([0, (1 << random_bits) - 1], np.uint64), bits.size // 4)
        inputs["random"] = words
        ports["random"] = random_bits
    codes = fmt.encode(bits, source, rounding, overflow, nan_to_zero, random=words, random_bits=random_bits)

    def explain(pins: Mapping[str, int], got: Mapping[str, int], expected: Mapping[str, int]) -> str:
        value = number(float(wide.decode(np.array([pins["bits"]]))[0]))
        return f"{value} became {describe(fmt, got['code'])}; golden says {describe(fmt, expected['code'])}"

    return Case(design.name, texts([design])[design.name], ports, inputs, {"code": codes}, explain, seed())


# -- multiply-accumulate ------------------------------------------------------------------------------------------------------


def mac_case(a: Format, b: Format | None = None, accumulator: str = "binary16", terms: int = 1024, rounds: int = 1) -> Case:
    """All pairs of codes, ``rounds`` times, each with a directed or random accumulator."""
    other = a if b is None else b
    design = build.mac(a, b, accumulator, terms)
    rng = generator(design.name)
    left, right = (np.tile(codes, rounds) for codes in vectors.pairs(a, other))
    ports = {"a": a.width, "b": other.width}
    if accumulator == "exact":
        unit = exact(a, other, terms)
        acc = vectors.exact_accumulators(unit, left, right, rng)
        ports |= {"acc_in": unit.width, "acc_out": unit.width}
    else:
        acc = vectors.directed_accumulators(a, other, left, right, golden.get(accumulator), rng)
        ports |= {"acc_in": golden.get(accumulator).width, "acc_out": golden.get(accumulator).width}
    after = golden.mac(left, right, acc, a, other, accumulator, terms)

    def explain(pins: Mapping[str, int], got: Mapping[str, int], expected: Mapping[str, int]) -> str:
        factors = f"a {describe(a, pins['a'])}; b {describe(other, pins['b'])}"
        if accumulator == "exact":
            return factors
        wide = golden.get(accumulator)
        rows = (("acc_in", pins["acc_in"]), ("acc_out", got["acc_out"]), ("golden", expected["acc_out"]))
        return "; ".join([factors, *(f"{name} {number(float(wide.decode(np.array([bits]))[0]))}" for name, bits in rows)])

    inputs = {"a": left, "b": right, "acc_in": acc}
    return Case(design.name, texts([design])[design.name], ports, inputs, {"acc_out": after}, explain, seed())
