"""A number to be encoded, and its position among the values of the format.

Comparisons of the number's exponent with constants, a few gates each, determine its segment, the distance that its
fraction moves, and whether it is out of range or below it. Infinities and NaNs of most sources are above every range.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from golden import Format
from golden.bits import scale_range
from hwgen.datapath.arithmetic import extended, named, plus, range_shape, reaches
from hwgen.datapath.unpacked import unpack, unpacked_signature
from hwgen.netlist.book import chapter
from hwgen.rounding.ordinals import Ordinals, Segment


@dataclass(frozen=True)
class Parts:
    """A number to be encoded: value = hidden.fraction * 2**(exponent - offset).

    ``exponents`` are the lowest and the highest exponent of all numbers that can occur, and of zero and special values
    if these are distinguished by their exponents. ``hidden`` is a constant 1, except at exponents below the rounder's
    ``normalized_from`` (and at the exponent of the format's lowest normal numbers, if it ``may_lack_hidden``). ``rest``
    says whether there are ones after ``fraction``.

    ``is_zero`` is a constant 0 if the exponent of zero is so low that it rounds to zero anyway; ``nonzero`` is
    meaningless for infinities and NaNs. ``special_exponent`` is that of infinities and NaNs, above all others, or None
    if only the flags distinguish them. ``zero_exponent`` is that of zero, or None if it is the lowest one. Comparisons
    with an exponent are named by ``bound`` and the exponent.
    """

    sign: Value
    exponent: Value
    offset: int
    exponents: tuple[int, int]
    hidden: Value
    fraction: Value
    rest: Value
    is_zero: Value
    is_inf: Value
    is_nan: Value
    nonzero: Value
    special_exponent: int | None = None
    zero_exponent: int | None = None
    may_lack_hidden: bool = False
    bound: str = "2_to"


def code_parts(m: Module, fmt: Format, code: Value) -> Parts:
    """Unpack a code in ``m``, as a number to be encoded."""
    u = unpacked_signature(fmt).create(path=())
    unpack(m, fmt, code, u)
    exponents, one, no = fmt.exponent_range, Const(1, 1), Const(0, 1)
    fraction = u.significand[:-1]
    return Parts(
        u.sign, u.exponent, 0, exponents, one, fraction, no, u.is_zero, u.is_inf, u.is_nan, ~u.is_zero, zero_exponent=0
    )


def scaled(m: Module, parts: Parts, scale: Value) -> Parts:
    """A number times 2**scale, which is in two's complement; only flags distinguish infinities and NaNs."""
    (low, high), (least, most) = parts.exponents, scale_range(len(scale))
    chapter(m, f"Scale: its exponent, from {least} to {most}, is added to that of the number")
    offset = parts.offset - least
    shape = range_shape(low + parts.offset, high + most + offset)
    exponent = named(m, "scaled_exponent", parts.exponent + Cat(scale[:-1], ~scale[-1]), shape)
    zero = low if parts.zero_exponent is None else max(low, parts.zero_exponent)
    return replace(
        parts,
        exponent=exponent,
        offset=offset,
        exponents=(low + least, high + most),
        special_exponent=None,
        zero_exponent=zero + most,
    )


@dataclass(frozen=True)
class Position:
    """A number's position among the values of a format.

    ``at_least`` says whether the number's exponent is at least its argument; it is a constant if the range of exponents
    decides it. ``segments`` are those within that range, and ``exponent`` is at least as wide as an ordinal. The number
    is ``relevant`` if it can round to another value than zero, which takes an exponent of ``lowest_relevant`` or more,
    and ``under`` if it is below the smallest normal value. ``count`` is the exponent as :meth:`Ordinals.count` counts
    it, plus ``count_offset``. The number's binade has ``lacking`` fraction bits fewer than the finest one; below the
    normals, the lowest segment has.
    """

    m: Module
    parts: Parts
    order: Ordinals
    lowest_relevant: int
    has_zero: bool
    at_least: Callable[[int], Value]
    segments: list[Segment]
    exponent: Value
    relevant: Value
    under: Value
    count: Value
    count_offset: int
    lacking: Value

    def named(self, name: str, value: Value) -> Signal:
        """A signal of the module with this value."""
        return named(self.m, name, value)

    @property
    def zero_looks_large(self) -> bool:
        """Whether zero's exponent is beyond the range of the format."""
        lowest, zero = self.parts.exponents[0], self.parts.zero_exponent
        return (lowest if zero is None else max(lowest, zero)) > self.order.top_exponent

    def equals(self, exponent: int) -> Value:
        """Whether the number has this exponent."""
        return self.at_least(exponent) & ~self.at_least(exponent + 1)


def position(m: Module, parts: Parts, order: Ordinals, lowest_relevant: int, has_zero: bool) -> Position:
    """Add the hardware that determines a number's position to ``m``."""
    low, high = parts.exponents
    chapter(m, "Position: comparisons of the exponent with the format's binades")

    @cache
    def at_least(exponent: int) -> Value:
        if not low < exponent <= high:
            return Const(exponent <= low, 1)
        name = f"at_least_{parts.bound}_{'minus_' if exponent < 0 else ''}{abs(exponent)}"
        return named(m, name, reaches(parts.exponent, exponent + parts.offset))

    segments = [segment for segment in order.segments if segment.high >= low and segment.low <= high]
    exponent = extended(parts.exponent, max(len(parts.exponent), order.width))
    relevant = named(m, "relevant", at_least(lowest_relevant) & ~parts.is_zero)
    under = named(m, "below_normals", ~at_least(order.bottom_exponent))
    count, count_offset = exponent, parts.offset
    if order.ones_complement:
        count = named(m, "counted_exponent", plus(m, "counted_exponent", exponent, 0, at_least(1)))
        count_offset = parts.offset + 1

    shifts = [order.fraction_bits - segment.fraction_bits for segment in segments] or [0]
    width = max(shifts).bit_length()
    lacking: Value = Const(shifts[0], width)
    for segment, earlier, shift in zip(segments[1:], shifts, shifts[1:], strict=False):
        if shift != earlier:
            lacking = Mux(at_least(segment.low), Const(shift, width), lacking)
    lacking = named(m, "bits_lacking", lacking) if width else lacking
    return Position(
        m, parts, order, lowest_relevant, has_zero, at_least, segments, exponent, relevant, under, count, count_offset,
        lacking,
    )  # fmt: skip
