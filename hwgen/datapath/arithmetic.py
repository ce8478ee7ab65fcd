"""Small circuits that the datapaths consist of.

Comparisons with constants and additions of constants are built from single gates: FPGA tools would give a general
comparator or adder a carry chain, which costs more. Logic on the bits of a code has a truth table over all codes, so
that gates that no code needs can be left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import groupby
from operator import or_
from typing import TypeVar

import numpy as np
from amaranth.hdl import Cat, Const, Module, Mux, Shape, ShapeLike, Signal, Value, signed, unsigned

from hwgen.netlist.book import NOTE, attributes


def named(m: Module, name: str, value: Value, shape: ShapeLike | None = None, *, note: str = "") -> Signal:
    """A signal with this value, in the module's current chapter; its shape is unsigned and as wide unless given.

    A ``note`` is a comment on the signal in the Verilog.
    """
    assert shape is not None or not value.shape().signed, f"{name} would lose its sign"
    attrs = attributes(m) | ({NOTE: note} if note else {})
    signal = Signal(len(value) if shape is None else shape, name=name, attrs=attrs)
    m.d.comb += signal.eq(value)
    return signal


def range_shape(low: int, high: int) -> Shape:
    """Smallest shape for ``low`` to ``high``, unsigned if these are not negative."""
    if low >= 0:
        return unsigned(max(high.bit_length(), 1))
    return signed(max((~low).bit_length(), (high if high >= 0 else ~high).bit_length()) + 1)


def extended(value: Value, width: int) -> Value:
    """The same number in ``width`` bits: cut, or extended by zeros or, if its shape is signed, by the sign."""
    fill = value[-1] if value.shape().signed else Const(0, 1)
    return Cat(value, fill.replicate(max(width - len(value), 0)))[:width]


def addend(constant: int) -> str:
    """The text that adds a constant, for a note."""
    return f"{'-' if constant < 0 else '+'} {abs(constant)}"


class Tabled:
    """A bit in hardware together with its truth table, a value for each code."""

    def __init__(self, value: Value, table: np.ndarray):
        self.value, self.table = value, table

    def constant(self, bit: int) -> Tabled:
        """A constant 0 or 1, with a table of the same size."""
        return Tabled(Const(bit, 1), np.full(self.table.shape, bool(bit)))

    def _is(self, bit: bool) -> bool:
        return isinstance(self.value, Const) and self.value.value == int(bit)

    def __and__(self, other: Tabled) -> Tabled:
        if self._is(True) or other._is(False):
            return other
        if other._is(True) or self._is(False):
            return self
        return Tabled(self.value & other.value, self.table & other.table)

    def __or__(self, other: Tabled) -> Tabled:
        if self._is(True) or other._is(False):
            return self
        if other._is(True) or self._is(False):
            return other
        return Tabled(self.value | other.value, self.table | other.table)

    def __xor__(self, other: Tabled) -> Tabled:
        for left, right in ((self, other), (other, self)):
            if isinstance(left.value, Const):
                return ~right if left.value.value else right
        return Tabled(self.value ^ other.value, self.table ^ other.table)

    def __invert__(self) -> Tabled:
        if isinstance(self.value, Const):
            return self.constant(not self.value.value)
        return Tabled(~self.value, ~self.table)

    def named(self, m: Module, name: str) -> Tabled:
        """The same bit as a signal."""
        return Tabled(named(m, name, self.value), self.table)


Bit = TypeVar("Bit", Value, Tabled)


def and_or(terms: list[tuple[Tabled, Tabled]], care: np.ndarray) -> Value:
    """OR of ``hit & bit`` over the terms, without those masks and terms that no code in ``care`` needs."""
    expected = reduce(or_, (hit.table & bit.table for hit, bit in terms)) & care
    if np.array_equal(expected, care):
        return Const(1, 1)
    chosen = [hit & bit for hit, bit in terms]
    for i, (hit, bit) in enumerate(terms):
        for simpler in (hit.constant(0), bit, hit):
            candidate = [*chosen[:i], simpler, *chosen[i + 1 :]]
            if np.array_equal(reduce(or_, (term.table for term in candidate)) & care, expected):
                chosen = candidate
                break
    return any_of([term.value for term in chosen if not term._is(False)])


def any_of(values: list[Value]) -> Value:
    """OR of some values; 0 if there are none."""
    return reduce(or_, values) if values else Const(0, 1)


def reaches(value: Value, constant: int) -> Value:
    """``value >= constant``.

    From the constant's last 1 up: in a run of ones the value must have ones too, in a run of zeros any 1 is enough.
    """
    width = len(value)
    if value.shape().signed:  # offset by the lowest number
        value, constant = Cat(value[:-1], ~value[-1]), constant + (1 << (width - 1))
    if constant <= 0:
        return Const(1, 1)
    if constant >> width:
        return Const(0, 1)
    reached: Value = Const(1, 1)
    lowest = (constant & -constant).bit_length() - 1
    for digit, run in groupby(range(lowest, width), lambda place: constant >> place & 1):
        bits = Cat(value[place] for place in run)
        reached = bits.all() & reached if digit else bits.any() | reached
    return reached


def plus_bits(
    bits: Iterable[Bit],
    constant: int,
    carry: Bit | None = None,
    keep: Callable[[int, Bit], Bit] = lambda _, carry: carry,
) -> list[Bit]:
    """Bits of a number plus ``constant`` plus ``carry``, modulo 2 to their number; bit 0 first.

    ``keep`` may give a name to the carry into a place.
    """
    sums = []
    for place, bit in enumerate(bits):
        digit = constant >> place & 1
        if carry is None:  # only zeros so far
            sums.append(~bit if digit else bit)
            carry = bit if digit else None
        else:
            sums.append(~(bit ^ carry) if digit else bit ^ carry)
            carry = keep(place + 1, bit | carry if digit else bit & carry)
    return sums


def plus(m: Module, name: str, value: Value, constant: int, carry: Value | None = None) -> Value:
    """``value + constant + carry`` modulo 2 to its width, the carries as signals ``name_carry_N`` (into place N)."""
    return Cat(*plus_bits(value, constant, carry, lambda place, bit: named(m, f"{name}_carry_{place}", bit)))


def carry_out(m: Module, a: Value, b: Value, carry: Value) -> Value:
    """The carry out of ``a + b + carry``. ``a >= b`` is the carry out of ``a + ~b + 1``."""
    for place, (x, y) in enumerate(zip(a, b, strict=True)):
        carry = named(m, f"carry_{place + 1}", _carried(x, y, carry))
    return carry


def _carried(x: Value, y: Value, carry: Value) -> Value:
    """The carry out of one place."""
    if isinstance(carry, Const):
        return x | y if carry.value else x & y
    return (x & y) | (carry & (x | y))


def largest(
    m: Module, name: str, items: Mapping[str, Value], leads: Sequence[Value] | None = None
) -> tuple[Value, list[Value]]:
    """The largest of some numbers of equal width, and which of them are equal to it.

    From the first bit down, the numbers that lack a bit which another one has are out. ``leads`` says which numbers
    count; default: all. If none does, the result is 0.
    """
    leads = [Const(1, 1)] * len(items) if leads is None else list(leads)
    bits: list[Value] = []
    for place in reversed(range(len(next(iter(items.values()))))):
        has = any_of([lead & item[place] for lead, item in zip(leads, items.values(), strict=True)])
        has = named(m, f"{name}_bit_{place}", has)
        bits.insert(0, has)
        leads = [
            named(m, f"{item_name}_leads_to_bit_{place}", lead & (item[place] | ~has))
            for lead, (item_name, item) in zip(leads, items.items(), strict=True)
        ]
    return named(m, name, Cat(*bits)), leads


def moved_right(m: Module, value: Value, distance: Value, prefix: str = "") -> tuple[Value, Value]:
    """``value >> distance``, and the sticky bit: whether a 1 was lost."""
    lost: Value = Const(0, 1)
    for k in reversed(range(len(distance))):
        step = 1 << k
        lost = lost | (distance[k] & value[:step].any())
        value = named(m, f"{prefix}moved_right_{step}", Mux(distance[k], value >> step, value))
    return value, lost
