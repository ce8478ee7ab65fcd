"""A block's ports, and what golden says of one case of it, in numbers and in words."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from math import isfinite
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

import golden
from golden import Flag, Format, get
from golden.explain import describe, number
from golden.multi import MultiFormat
from golden.rows import Rounding
from hwgen.blocks.design import Design
from hwgen.blocks.readout import output as readout_output
from hwgen.datapath.code_ports import Bits, code_bits
from hwgen.datapath.unpacked import exponent_shape, precision
from synth.proof.unroll import Pipeline

Pins = Mapping[str, int]
Explain = Callable[[Pins, Pins, Pins], str]
"""From inputs, outputs and what golden says of them to a sentence with fields and exact values."""


def pipeline(design: Design) -> Pipeline | None:
    """What is asked of a block that holds registers; None of a combinational one."""
    options = design.options
    return Pipeline(design.stages, "clock-enable" in options, options.get("reset") != "none") if design.stages else None


def ports(design: Design) -> tuple[dict[str, int], dict[str, int]]:
    """Widths of a block's inputs and outputs; a code is one word, see :func:`made_of`."""
    fmt, options = design.formats[0], design.options
    flags = {"flags": len(Flag)} if design.has_flags else {}
    match design.kind:
        case "decoder":
            if options["to"] == "unpacked":
                exponent, significand = exponent_shape(fmt).width, precision(fmt)
                classes = {"is_zero": 1, "is_inf": 1, "is_nan": 1}
                return {"code": fmt.width}, {"sign": 1, "exponent": exponent, "significand": significand, **classes}
            return {"code": fmt.width}, {"bits": golden.get(options["to"]).width}
        case "encoder":
            more = {"random": options["random-bits"]} if options["rounding"] == "stochastic" else {}
            more |= {"hybrid": 1} if "rounding-pin" in options else {}
            return {"bits": golden.get(options["from"]).width, **more}, {"code": fmt.width, **flags}
        case "mac" | "dot":
            width, lanes = accumulator_width(design), design.lanes
            scale = {"scale": design.scale_bits} if design.scale_bits else {}
            return {"a": lanes * fmt.width, "b": lanes * design.formats[1].width, **scale, "acc_in": width}, {"acc_out": width, **flags}
        case "readout":
            more = {"random": options["random-bits"]} if "random-bits" in options else {}
            target = readout_target(design)
            return {"acc": design.accumulator.width, **more}, {readout_output(target): target.width}
    raise ValueError(f"Block must be decoder, encoder, mac, dot or readout, not {design.kind!r}")


def readout_target(design: Design) -> Format:
    """What a readout rounds to: the third format, unless it is a wide one."""
    return design.formats[2] if len(design.formats) > 2 else golden.get(design.options["to"])


def made_of(design: Design) -> dict[str, Bits]:
    """Which of these inputs are made of bits of several ports of the module, and how: codes of two formats, with their select pins."""
    return {name: code_bits(name, fmt, design.lanes) for name, fmt in design.codes.items() if isinstance(fmt, MultiFormat)}


def accumulator_width(design: Design) -> int:
    """Bits of a MAC's accumulator."""
    if design.options["accumulator"] == "exact":
        return design.accumulator.width
    return golden.get(design.options["accumulator"]).width


def explain(design: Design) -> Explain:
    """How to put a case of a block into words."""
    fmt, options = design.formats[0], design.options

    def decoder(pins: Pins, _got: Pins, _expected: Pins) -> str:
        return describe(fmt, pins["code"])

    def encoder(pins: Pins, got: Pins, expected: Pins) -> str:
        value = number(float(golden.get(options["from"]).decode(np.array([pins["bits"]]))[0]))
        return f"{value} became {describe(fmt, got['code'])}; golden says {describe(fmt, expected['code'])}"

    def mac(pins: Pins, got: Pins, expected: Pins) -> str:
        codes = zip(*lane_codes(design, pins), strict=True)
        factors = "; ".join(f"a {describe(fmt, int(a))}; b {describe(design.formats[1], int(b))}" for a, b in codes)
        if design.scale_bits:
            factors += f"; times 2^{scale_of(design, pins)}"
        if options["accumulator"] == "exact":
            return factors
        wide = golden.get(options["accumulator"])
        rows = (("acc_in", pins["acc_in"]), ("acc_out", got["acc_out"]), ("golden", expected["acc_out"]))
        return "; ".join([factors, *(f"{name} {number(float(wide.decode(np.array([bits]))[0]))}" for name, bits in rows)])

    def readout(pins: Pins, got: Pins, expected: Pins) -> str:
        value = number(float(design.accumulator.decode(_limbs(design, pins["acc"]))))
        return f"{value} became {next(iter(got.values())):#x}; golden says {next(iter(expected.values())):#x}"

    return {"decoder": decoder, "encoder": encoder, "mac": mac, "dot": mac, "readout": readout}[design.kind]


def _limbs(design: Design, bits: int) -> NDArray[np.uint64]:
    return np.array([bits >> 64 * limb & (1 << 64) - 1 for limb in range(design.accumulator.limbs)], np.uint64)


@cache
def unpacked(fmt: Format) -> Mapping[str, NDArray[np.uint64]]:
    """What the unpacked decoder must say of all codes, from the exact values; a table that is asked for case by case, too."""
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
    found = {name: column.astype(np.uint64) for name, column in columns.items()}
    for column in found.values():
        column.setflags(write=False)
    return MappingProxyType(found)


def scale_of(design: Design, pins: Pins) -> int:
    """The exponent of a power of two that a case's port ``scale`` says."""
    half = 1 << design.scale_bits >> 1
    return (pins["scale"] ^ half) - half if half else 0


def answer(design: Design, pins: Mapping[str, int]) -> dict[str, int]:
    """What golden says of one case of a block."""
    options = design.options
    match design.kind:
        case "decoder":
            fmt = design.formats[0]
            if options["to"] == "unpacked":
                return {name: int(column[pins["code"]]) for name, column in unpacked(fmt).items()}
            return {"bits": int(fmt.decode_bits(np.array([pins["code"]]), options["to"])[0])}
        case "encoder":
            fmt = design.formats[0]
            choices: dict[str, Any] = (
                {"random": np.array([pins["random"]]), "random_bits": options["random-bits"]} if "random" in pins else {}
            )
            rounding = options["rounding"] if pins.get("hybrid", 1) else Rounding.TIES_TO_AWAY
            arguments = np.array([pins["bits"]]), options["from"], rounding, options["overflow"], "nan-to-zero" in options
            if not design.has_flags:
                return {"code": int(fmt.encode(*arguments, **choices)[0])}
            codes, flags = fmt.encode_with_flags(*arguments, **choices)
            return {"code": int(codes[0]), "flags": int(flags[0])}
    if design.kind == "readout":
        target = readout_target(design)
        choices = {"random": np.array(pins["random"]), "random_bits": options["random-bits"]} if "random" in pins else {}
        rules = () if target.name in golden.WIDE else (options["rounding"], options["overflow"], "nan-to-zero" in options)
        return {readout_output(target): int(design.accumulator.encode(_limbs(design, pins["acc"]), target, *rules, **choices))}
    after, said = _accumulated(design, pins)
    found = {"acc_out": after, "overflow": _overflows(design, pins, after)} if design.kind == "pe" else {"acc_out": after}
    return found | said


def lane_codes(design: Design, pins: Mapping[str, int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Codes of both operands, lane by lane."""
    words = zip((pins["a"], pins["b"]), design.formats, strict=True)
    a, b = (np.array([word >> lane * fmt.width & (1 << fmt.width) - 1 for lane in range(design.lanes)]) for word, fmt in words)
    return a, b


def _accumulated(design: Design, pins: Mapping[str, int]) -> tuple[int, dict[str, int]]:
    """The accumulator's bits after a sum, and its flags if there are any."""
    fa, fb = design.formats
    accumulator, terms = design.options["accumulator"], design.options.get("terms", 1)
    bits: Any = _limbs(design, pins["acc_in"]) if accumulator == "exact" else pins["acc_in"]
    a, b = lane_codes(design, pins)
    scale = scale_of(design, pins), design.scale_bits
    if design.has_flags:
        total, word = golden.fused_dot_with_flags(a, b, bits, fa, fb, accumulator, terms, *scale)
        flags = {"flags": int(word)}
    elif accumulator != "exact" and design.lanes == 1:  # the same as the next, and quicker
        total, flags = golden.mac(a, b, bits, fa, fb, accumulator, terms, *scale), {}
    else:
        total, flags = golden.fused_dot(a, b, bits, fa, fb, accumulator, terms, *scale), {}
    return sum(int(word) << 64 * limb for limb, word in enumerate(np.atleast_1d(total))), flags


def _overflows(design: Design, pins: Mapping[str, int], after: int) -> int:
    """Whether a sum of finite operands became infinite, or an exact one found no room."""
    fa, fb = design.formats
    a, b = lane_codes(design, pins)
    with np.errstate(invalid="ignore"):
        products = np.ldexp(fa.values[a] * fb.values[b], scale_of(design, pins)).tolist()
    if design.options["accumulator"] != "exact":
        before, now = get(design.options["accumulator"]).decode(np.array([pins["acc_in"], after])).tolist()
        return int(all(map(isfinite, [before, *products])) and not isfinite(now))
    unit = design.accumulator
    half = 1 << (unit.value_width - 1)
    before = (pins["acc_in"] & (2 * half - 1) ^ half) - half
    total = before + sum(int(Fraction(product) / Fraction(2) ** unit.lsb_exponent) for product in products if isfinite(product))
    return int(not -half <= total < half)
