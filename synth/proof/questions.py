"""What golden says of every input of a block: the questions that an exhaustive sweep puts to a netlist."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
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
from hwgen.codes import Bits, code_bits
from hwgen.design import Design
from hwgen.readout import output as readout_output
from hwgen.unpacked import exponent_shape, precision
from synth.proof.bitslice import CASES, to_planes
from synth.proof.following import Pipeline

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


@dataclass(frozen=True)
class Batch:
    """Held bits of groups of cases, and the planes that golden expects of all of them, or of each (see :mod:`synth.proof.bitslice`)."""

    groups: NDArray[np.uint64]
    expected: NDArray[np.uint64]


class Sweep(ABC):
    """Every input of a block, in chunks.

    Attributes
    ----------
    inputs, outputs : dict of port name to width
    running_bits : int
        Bits that run, the first ones of ``running_port``.
    chunks : int
    """

    chunks: int

    def __init__(self, design: Design, running_port: str, running_bits: int):
        self.inputs, self.outputs = ports(design)
        self.running_port, self.running_bits = running_port, running_bits

    @property
    def cases(self) -> int:
        """Number of all inputs."""
        return 1 << sum(self.inputs.values())

    @property
    def running(self) -> NDArray[np.uint64]:
        """Planes of the bits that run; where there are fewer cases than a vector holds, they come more than once."""
        return to_planes(self._tiled(np.arange(1 << self.running_bits)), self.running_bits)

    def _tiled(self, cases: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.tile(cases, -(-CASES // cases.size))

    @abstractmethod
    def groups(self, chunk: int) -> NDArray[np.uint64]:
        """Held bits of all groups of a chunk."""

    @abstractmethod
    def batches(self, chunk: int) -> Iterator[Batch]:
        """The same groups with golden's answers."""


class DecoderSweep(Sweep):
    """All codes of a decoder."""

    chunks = 1

    def __init__(self, design: Design):
        self.fmt, self.target = design.formats[0], design.options["to"]
        super().__init__(design, "code", self.fmt.width)

    def groups(self, chunk: int) -> NDArray[np.uint64]:
        """One group: nothing is held."""
        del chunk
        return np.zeros(1, np.uint64)

    def batches(self, chunk: int) -> Iterator[Batch]:
        """All codes."""
        codes = np.arange(1 << self.fmt.width)
        columns = unpacked(self.fmt) if self.target == "unpacked" else {"bits": self.fmt.decode_bits(codes, self.target)}
        planes = [to_planes(self._tiled(columns[name].astype(np.int64)), width) for name, width in self.outputs.items()]
        yield Batch(self.groups(chunk), np.concatenate(planes))


class EncoderSweep(Sweep):
    """All inputs of an encoder: the lower 16 bits of the source run, the others and random words are held."""

    BATCH = 64
    """Groups, of 65,536 cases, that golden is asked about at a time."""

    def __init__(self, design: Design):
        self.fmt, self.options = design.formats[0], design.options
        super().__init__(design, "bits", 16)
        self.held_bits = sum(self.inputs.values()) - 16
        self.chunks = max(1, (1 << self.held_bits) // (4 * self.BATCH))

    def groups(self, chunk: int) -> NDArray[np.uint64]:
        """A range of what is held."""
        size = (1 << self.held_bits) // self.chunks
        return np.arange(chunk * size, (chunk + 1) * size, dtype=np.uint64)

    def batches(self, chunk: int) -> Iterator[Batch]:
        """Golden's codes."""
        groups, options = self.groups(chunk), self.options
        source_bits = self.inputs["bits"] - 16  # 0 or 16
        low = np.arange(1 << 16, dtype=np.uint32)
        for start in range(0, len(groups), self.BATCH):
            part = groups[start : start + self.BATCH]
            high = (part & np.uint64((1 << source_bits) - 1)).astype(np.uint32) << np.uint32(16)
            choices: dict[str, Any] = {}
            if "random" in self.inputs:
                words = np.broadcast_to((part >> np.uint64(source_bits))[:, np.newaxis], (len(part), low.size))
                choices = {"random": words, "random_bits": self.inputs["random"]}
            bits = high[:, np.newaxis] | low
            codes = self._codes(bits, options["rounding"], choices)
            if "hybrid" in self.inputs:
                pinned = (part >> np.uint64(source_bits) & np.uint64(1)).astype(bool)
                codes[~pinned] = self._codes(bits[~pinned], Rounding.TIES_TO_AWAY, choices)
            yield Batch(part, to_planes(codes, sum(self.outputs.values())))

    def _codes(self, bits: NDArray[np.uint32], rounding: str, choices: Mapping[str, Any]) -> NDArray[Any]:
        """Codes, with their flags above them if there are such."""
        options = self.options
        arguments = options["from"], rounding, options["overflow"], "nan-to-zero" in options
        if "flags" not in options:
            return self.fmt.encode(bits, *arguments, **choices)
        codes, flags = self.fmt.encode_with_flags(bits, *arguments, **choices)
        return codes | flags.astype(np.uint32) << np.uint32(self.fmt.width)


@dataclass(frozen=True)
class Products:
    """Golden's product of every pair of codes with every scale, in the order of the bits: a lowest, then b, then the scale.

    Attributes
    ----------
    a, b, scale : arrays
        Codes, and exponents of powers of two.
    values : float64 array
        NaN in one pattern only.
    undefined : bool array
        Which of them are 0 * infinity.
    """

    a: NDArray[np.uint16]
    b: NDArray[np.uint16]
    scale: NDArray[np.int16]
    values: NDArray[np.float64]
    undefined: NDArray[np.bool_]

    @classmethod
    def of(cls, design: Design) -> "Products":
        """All products of a MAC."""
        fa, fb = design.formats
        bits = fa.width + fb.width
        held = np.arange(1 << (bits + design.scale_bits), dtype=np.uint32)
        a = (held & np.uint32((1 << fa.width) - 1)).astype(np.uint16)
        b = (held >> np.uint32(fa.width) & np.uint32((1 << fb.width) - 1)).astype(np.uint16)
        word, half = (held >> np.uint32(bits)).astype(np.int16), 1 << design.scale_bits >> 1
        scale = np.where(word >= half, word - 2 * half, word).astype(np.int16)
        with np.errstate(invalid="ignore"):
            values = np.ldexp(fa.values[a] * fb.values[b], scale)
        values[np.isnan(values)] = np.nan
        return cls(a, b, scale, values, np.isnan(values) & ~np.isnan(fa.values[a]) & ~np.isnan(fb.values[b]))


def scale_of(design: Design, pins: Pins) -> int:
    """The exponent of a power of two that a case's port ``scale`` says."""
    half = 1 << design.scale_bits >> 1
    return (pins["scale"] ^ half) - half if half else 0


class MacSweep(Sweep):
    """All inputs of a MAC with a 16-bit accumulator: the accumulator runs, codes and scale are held.

    Codes and scales with the same product, as golden's decoded values say, stand together, so that golden is asked once for each product.
    """

    CHUNKS = 64

    def __init__(self, design: Design):
        self.formats, self.accumulator = design.formats, design.options["accumulator"]
        super().__init__(design, "acc_in", 16)
        fa, fb = self.formats
        self._scale_bits, self._has_flags = design.scale_bits, design.has_flags
        self._all = Products.of(design)
        pattern = self._all.values.view(np.uint64)
        # the sign of special products, which some accumulators keep
        sign = (self._all.a >> np.uint16(fa.width - 1)) ^ (self._all.b >> np.uint16(fb.width - 1))
        # which NaN is an invalid operation, where there are flags
        keys = (sign, self._all.undefined, pattern) if design.has_flags else (sign, pattern)
        self._order = np.lexsort(keys)
        changes = np.logical_or.reduce([np.diff(key[self._order]) != 0 for key in keys])
        self._starts = np.concatenate([[0], np.flatnonzero(changes) + 1, [pattern.size]])
        self.chunks = min(self.CHUNKS, len(self._starts) - 1)

    @property
    def products(self) -> int:
        """How many products there are that golden tells apart."""
        return len(self._starts) - 1

    def _slices(self, chunk: int) -> list[NDArray[np.int64]]:
        first, last = (self.products * place // self.chunks for place in (chunk, chunk + 1))
        return [self._order[start:stop] for start, stop in zip(self._starts[first:last], self._starts[first + 1 : last + 1], strict=True)]

    def groups(self, chunk: int) -> NDArray[np.uint64]:
        """All codes and scales with one of the chunk's products."""
        return np.concatenate(self._slices(chunk)).astype(np.uint64)

    def batches(self, chunk: int) -> Iterator[Batch]:
        """Golden's sums, for codes and a scale with each product."""
        accumulators = np.arange(1 << 16, dtype=np.uint16)
        for held in self._slices(chunk):
            a, b, scale = (column[held[0]] for column in (self._all.a, self._all.b, self._all.scale))
            operands = a, b, accumulators, *self.formats, self.accumulator
            scaled = {"scale": scale, "scale_bits": self._scale_bits}
            if self._has_flags:
                bits, flags = golden.mac_with_flags(*operands, **scaled)
                sums = bits | flags.astype(np.uint32) << np.uint32(16)
            else:
                sums = golden.mac(*operands, **scaled)
            yield Batch(held.astype(np.uint64), to_planes(sums, sum(self.outputs.values())))


MAX_SWEPT_BITS = 40
"""Bits of all inputs up to which a block is enumerated."""

MAX_STOCHASTIC_BITS = 24
"""The same with stochastic rounding, where golden has no table to go by."""


def sweep(design: Design) -> Sweep | None:
    """The sweep over all inputs of a block; None where there are too many."""
    inputs, _ = ports(design)
    bits = sum(inputs.values())
    match design.kind:
        case "decoder":
            return DecoderSweep(design)
        case "encoder":
            return EncoderSweep(design) if bits <= (MAX_STOCHASTIC_BITS if "random" in inputs else MAX_SWEPT_BITS) else None
        case "mac":
            return MacSweep(design) if inputs["acc_in"] == 16 and bits <= MAX_SWEPT_BITS else None
        case "readout":
            return None
    raise ValueError(f"Block must be decoder, encoder, mac or readout, not {design.kind!r}")


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
