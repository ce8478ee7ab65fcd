"""Small circuits that the datapaths are made of.

Comparisons and sums with constants are built from single gates: a general comparator or adder would get a carry chain
in an FPGA, and with one side constant there is less to do than a chain costs. Logic on the bits of a code is known for
every code, so that gates which no code needs are left out. Shifters move right with a sticky bit, left by a distance,
and left up to the first 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import groupby
from operator import or_
from typing import TypeVar

import numpy as np
from amaranth.hdl import Cat, Const, Module, Mux, Shape, ShapeLike, Signal, Value, signed, unsigned

from hwgen.netlist.book import attributes


def named(m: Module, name: str, value: Value, shape: ShapeLike | None = None) -> Signal:
    """The value as a signal of the module, in its chapter; as wide as it is, or of another shape."""
    signal = Signal(len(value) if shape is None else shape, name=name, attrs=attributes(m))
    m.d.comb += signal.eq(value)
    return signal


def range_shape(low: int, high: int) -> Shape:
    """Smallest shape that holds ``low`` to ``high``; unsigned where nothing is negative."""
    if low >= 0:
        return unsigned(max(high.bit_length(), 1))
    return signed(max((~low).bit_length(), (high if high >= 0 else ~high).bit_length()) + 1)


def extended(value: Value, width: int) -> Value:
    """The same number in ``width`` bits, cut or sign-extended as its shape says."""
    fill = value[-1] if value.shape().signed else Const(0, 1)
    return Cat(value, fill.replicate(max(width - len(value), 0)))[:width]


class Tabled:
    """A bit in hardware, and beside it its value for each code."""

    def __init__(self, value: Value, table: np.ndarray):
        self.value, self.table = value, table

    def constant(self, bit: int) -> Tabled:
        """0 or 1 for every code."""
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
        for one, two in ((self, other), (other, self)):
            if isinstance(one.value, Const):
                return ~two if one.value.value else two
        return Tabled(self.value ^ other.value, self.table ^ other.table)

    def __invert__(self) -> Tabled:
        return (
            self.constant(not self.value.value) if isinstance(self.value, Const) else Tabled(~self.value, ~self.table)
        )


Bit = TypeVar("Bit", Value, Tabled)


def match(bits: list[Tabled], pattern: str, like: Tabled) -> Tabled:
    """Whether ``bits`` are ``pattern``, whose first character stands for the last bit."""
    hit = like.constant(1)
    for bit, wanted in zip(reversed(bits), pattern, strict=True):
        hit = hit & (bit if wanted == "1" else ~bit)
    return hit


def and_or(terms: list[tuple[Tabled, Tabled]], care: np.ndarray) -> Value:
    """OR of ``hit & bit``; whatever all codes in ``care`` can do without, a mask or a whole term, is left out."""
    wanted = reduce(or_, (hit.table & bit.table for hit, bit in terms)) & care
    if np.array_equal(wanted, care):
        return Const(1, 1)
    chosen = [hit & bit for hit, bit in terms]

    def serves(candidate: list[Tabled]) -> bool:
        return bool(np.array_equal(reduce(or_, (c.table for c in candidate), np.zeros_like(care)) & care, wanted))

    for i, (hit, bit) in enumerate(terms):
        for simpler in (hit.constant(0), bit, hit):
            candidate = [*chosen[:i], simpler, *chosen[i + 1 :]]
            if serves(candidate):
                chosen = candidate
                break
    return any_of([c.value for c in chosen if not (isinstance(c.value, Const) and c.value.value == 0)])


def any_of(values: list[Value]) -> Value:
    """OR of any number of values, 0 for none."""
    return reduce(or_, values) if values else Const(0, 1)


def reaches(value: Value, constant: int) -> Value:
    """``value >= constant``.

    From the constant's last 1 to the front: where it has ones, the value must have them too; where it has zeros, any 1
    is enough.
    """
    width = len(value)
    if value.shape().signed:  # counted from the lowest number
        value, constant = Cat(value[:-1], ~value[-1]), constant + (1 << (width - 1))
    if constant <= 0:
        return Const(1, 1)
    if constant >> width:
        return Const(0, 1)
    reached: Value = Const(1, 1)
    for one, run in groupby(range((constant & -constant).bit_length() - 1, width), lambda place: constant >> place & 1):
        bits = Cat(value[place] for place in run)
        reached = bits.all() & reached if one else bits.any() | reached
    return reached


def plus_bits(bits: Iterable[Bit], constant: int, carry: Bit | None = None) -> list[Bit]:
    """Bits of a number plus ``constant`` plus ``carry``, least significant first, modulo 2 to their number."""
    sums = []
    for i, bit in enumerate(bits):
        one = constant >> i & 1
        if carry is None:  # nothing yet but zeros
            sums.append(~bit if one else bit)
            carry = bit if one else None
        else:
            sums.append(~(bit ^ carry) if one else bit ^ carry)
            carry = bit | carry if one else bit & carry
    return sums


def plus(value: Value, constant: int, carry: Value | None = None) -> Value:
    """``value + constant + carry``, modulo 2 to the value's width."""
    return Cat(*plus_bits(value, constant, carry))


def carries(m: Module, a: Value, b: Value, carry: Value) -> Value:
    """The carry out of ``a + b + carry``; ``a >= b`` is the one of ``a + ~b + 1``."""
    for place, (x, y) in enumerate(zip(a, b, strict=True)):
        carry = named(m, f"carry_{place}", (x & y) | (carry & (x | y)))
    return carry


def moved_right(m: Module, value: Value, distance: Value, prefix: str = "") -> tuple[Value, Value]:
    """``value >> distance``, and whether a 1 was lost."""
    lost: Value = Const(0, 1)
    for k in reversed(range(len(distance))):
        step = 1 << k
        lost = lost | (distance[k] & value[:step].any())
        value = named(m, f"{prefix}moved_right_{step}", Mux(distance[k], value >> step, value))
    return value, lost


def moved_left(m: Module, value: Value, distance: Value, limit: int, prefix: str = "") -> Value:
    """``value << distance``, in as many bits as that can take, but no more than ``limit``."""
    for k in reversed(range(len(distance))):
        step = 1 << k
        width = min(len(value) + step, limit)
        value = named(m, f"{prefix}moved_left_{step}", Mux(distance[k], Cat(Const(0, step), value), value)[:width])
    return value


def normalized(
    m: Module, value: Value, steps: int, *, fill: Value | None = None, room: Value | None = None
) -> tuple[Value, Value]:
    """Move a value left until a 1 stands in front, by ``2**steps - 1`` places at most.

    Parameters
    ----------
    fill : Value, optional
        The bit that moves in from the right; default: 0.
    room : Value, optional
        Places that the value may move at most.

    Returns
    -------
    value, places : Value
    """
    incoming = Const(0, 1) if fill is None else fill
    moves: list[Value] = []
    for k in reversed(range(steps)):
        step = 1 << k
        move = ~value[-step:].any()
        if room is not None:
            move = move & named(m, f"room_for_{step}", _enough(room, k, moves))
        move = named(m, f"normalize_by_{step}", move)
        value = named(m, f"normalized_by_{step}", Mux(move, Cat(incoming.replicate(step), value[:-step]), value))
        moves.append(move)
    return value, Cat(*reversed(moves))


def _enough(room: Value, k: int, moves: list[Value]) -> Value:
    """Whether ``2**k`` places are left, after earlier moves by higher powers of two."""
    enough: Value = room[k + len(moves) + 1 :].any()
    for place, done in enumerate(reversed(moves), start=k + 1):
        if place < len(room):
            enough = enough | (room[place] & ~done)
    return enough | room[k] if k < len(room) else enough
