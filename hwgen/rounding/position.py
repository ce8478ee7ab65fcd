"""A number on its way to a code, and where it lies among the values of the format.

What segment a number is in, how far it moves, and whether it lies beyond the range or below it, all follows from
whether its exponent reaches some constants: a few ANDs and ORs each, once for all who ask. The source's infinities and
NaNs lie beyond every range.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from amaranth.hdl import Const, Module, Mux, Signal, Value

from hwgen.datapath.arithmetic import extended, named, plus, reaches
from hwgen.netlist.book import chapter
from hwgen.rounding.ordinals import Ordinals, Segment


@dataclass(frozen=True)
class Parts:
    """A number on its way to a code: value = hidden.fraction * 2**(exponent - offset).

    Attributes
    ----------
    sign, exponent : Value
    offset : int
    hidden : Value
        Constant 1, but for a format with subnormals at exponents below the rounder's ``normalized_from``.
    fraction : Value
    rest : Value
        Whether there are ones behind ``fraction``.
    exponents : (int, int)
        Lowest and highest exponent of all numbers that can occur; of zero and specials too, where their exponents tell
        them.
    is_zero : Value
        Constant 0 where zero has an exponent too low for anything but zero.
    is_inf, is_nan : Value
    special_exponent : int or None
        The exponent of infinities and NaNs, above all others; None where only the flags tell them.
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
    special_exponent: int | None = None


@dataclass(frozen=True)
class Position:
    """A number's place among the values of a format.

    Attributes
    ----------
    parts : Parts
        The number.
    order : Ordinals
        The values.
    lowest_relevant : int
        Smallest exponent of a number that can become anything but zero.
    at_least : callable
        From a constant to whether the number's exponent reaches it; a constant itself where the source's range decides.
    segments : list of Segment
        Those that the number's exponents reach.
    exponent : Value
        As in ``parts``, at least as wide as an ordinal.
    relevant : Value
        Whether the number can become anything but zero.
    under : Value
        Whether it lies below the normals.
    count : Value
        The exponent as ordinals count it, plus ``count_offset``.
    lacking : Value
        How many fraction bits the number's binade lacks against the finest; below the normals, as many as the lowest
        segment's.
    """

    m: Module
    parts: Parts
    order: Ordinals
    lowest_relevant: int
    at_least: Callable[[int], Value]
    segments: list[Segment]
    exponent: Value
    relevant: Value
    under: Value
    count: Value
    count_offset: int
    lacking: Value

    def named(self, name: str, value: Value) -> Signal:
        """The value as a signal of the module."""
        return named(self.m, name, value)

    def equals(self, exponent: int) -> Value:
        """Whether the number's exponent is a constant."""
        return self.at_least(exponent) & ~self.at_least(exponent + 1)


def position(m: Module, parts: Parts, order: Ordinals, lowest_relevant: int) -> Position:
    """Find the place of a number; what is asked more than once becomes a signal in ``m``."""
    low, high = parts.exponents
    chapter(m, f"Position: the exponent, {len(parts.exponent)} bits, among the binades of the format")

    @cache
    def at_least(exponent: int) -> Value:
        if not low < exponent <= high:
            return Const(exponent <= low, 1)
        name = f"from_2_to_{'minus_' if exponent < 0 else ''}{abs(exponent)}"
        return named(m, name, reaches(parts.exponent, exponent + parts.offset))

    segments = [segment for segment in order.segments if segment.high >= low and segment.low <= high]
    exponent = extended(parts.exponent, max(len(parts.exponent), order.width))
    relevant = named(m, "relevant", at_least(lowest_relevant) & ~parts.is_zero)
    under = named(m, "below_normals", ~at_least(order.bottom_exponent))
    count, count_offset = exponent, parts.offset
    if order.ones_complement:
        count = named(m, "counted_exponent", plus(exponent, 0, at_least(1)))
        count_offset = parts.offset + 1

    shifts = [order.fraction_bits - segment.fraction_bits for segment in segments] or [0]
    width = max(shifts).bit_length()
    lacking: Value = Const(shifts[0], width)
    for segment, earlier, shift in zip(segments[1:], shifts, shifts[1:], strict=False):
        if shift != earlier:
            lacking = Mux(at_least(segment.low), Const(shift, width), lacking)
    lacking = named(m, "bits_lacking", lacking) if width else lacking
    return Position(
        m, parts, order, lowest_relevant, at_least, segments, exponent, relevant, under, count, count_offset, lacking
    )
