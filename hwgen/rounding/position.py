"""A number on its way to a code, and where it lies among the values of the format.

What segment a number is in, how far it moves, and whether it lies beyond the range or below it, all follows from whether its exponent
reaches some constants: a few ANDs and ORs each, once for all that asks. The source's infinities and NaNs lie beyond every range.
"""

from dataclasses import dataclass

from amaranth.hdl import Const, Module, Mux, Signal, Value

from hwgen.datapath.arithmetic import plus, reaches
from hwgen.datapath.operand import extended
from hwgen.rounding.ordinals import Ordinals


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
        Lowest and highest exponent of all numbers that can occur; of zero and specials too, where their exponents tell them.
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


class Position:
    """A number's place among the values of a format.

    Parameters
    ----------
    m : Module
        What is asked more than once becomes a signal in it.
    parts : Parts
        The number.
    order : Ordinals
        The values.
    lowest_relevant : int
        Smallest exponent of a number that can become anything but zero.

    Attributes
    ----------
    m, parts, order, lowest_relevant
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
    count_offset : int
    lacking : Value
        How many fraction bits the number's binade lacks against the finest; below the normals, as many as the lowest segment's.
    """

    def __init__(self, m: Module, parts: Parts, order: Ordinals, lowest_relevant: int):
        self.m, self.parts, self.order, self.lowest_relevant = m, parts, order, lowest_relevant
        self._reached: dict[int, Signal] = {}
        low, high = parts.exponents
        self.segments = [segment for segment in order.segments if segment.high >= low and segment.low <= high]
        self.exponent = extended(parts.exponent, max(len(parts.exponent), order.width))
        self.relevant = self.named("relevant", self.at_least(lowest_relevant) & ~parts.is_zero)
        self.under = self.named("below_normals", ~self.at_least(order.bottom_exponent))
        self.count, self.count_offset = self.exponent, parts.offset
        if order.ones_complement:
            self.count = self.named("counted_exponent", plus(self.exponent, 0, self.at_least(1)))
            self.count_offset = parts.offset + 1
        self.lacking = self._lacking()

    def named(self, name: str, value: Value) -> Signal:
        """The value as a signal of the module."""
        signal = Signal(len(value), name=name)
        self.m.d.comb += signal.eq(value)
        return signal

    def at_least(self, exponent: int) -> Value:
        """Whether the number's exponent reaches a constant; a constant itself where the source's range decides."""
        low, high = self.parts.exponents
        if exponent <= low:
            return Const(1, 1)
        if exponent > high:
            return Const(0, 1)
        if exponent not in self._reached:
            name = f"from_2_to_{'minus_' if exponent < 0 else ''}{abs(exponent)}"
            self._reached[exponent] = self.named(name, reaches(self.parts.exponent, exponent + self.parts.offset))
        return self._reached[exponent]

    def equals(self, exponent: int) -> Value:
        """Whether the number's exponent is a constant."""
        return self.at_least(exponent) & ~self.at_least(exponent + 1)

    def _lacking(self) -> Value:
        shifts = [self.order.fraction_bits - segment.fraction_bits for segment in self.segments] or [0]
        width = max(shifts).bit_length()
        if not width:
            return Const(0, 0)
        amount: Value = Const(shifts[0], width)
        for segment, earlier, shift in zip(self.segments[1:], shifts, shifts[1:], strict=False):
            if shift != earlier:
                amount = Mux(self.at_least(segment.low), Const(shift, width), amount)
        return self.named("bits_lacking", amount)
