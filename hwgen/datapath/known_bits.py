"""Logic on the bits of a code whose meaning is known for every code, so that gates which no code needs can be left out."""

from __future__ import annotations

from functools import reduce
from operator import or_

import numpy as np
from amaranth.hdl import Const, Value


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
        return self.constant(not self.value.value) if isinstance(self.value, Const) else Tabled(~self.value, ~self.table)


def match(bits: list[Tabled], pattern: str, like: Tabled) -> Tabled:
    """Whether ``bits`` are ``pattern``, whose first character stands for the last bit."""
    hit = like.constant(1)
    for bit, wanted in zip(reversed(bits), pattern, strict=True):
        hit = hit & (bit if wanted == "1" else ~bit)
    return hit


def plus_constant(field: list[Tabled], constant: int, width: int) -> list[Tabled]:
    """``field + constant`` in two's complement: half adders, and no gate at all below the constant's last 1."""
    out, carry = [], field[0].constant(0)
    padded = field + [field[0].constant(0)] * (width - len(field))
    for i in range(width):
        addend = field[0].constant(constant >> i & 1)
        out.append(padded[i] ^ addend ^ carry)
        carry = (padded[i] & addend) | (carry & (padded[i] | addend))
    return out


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
