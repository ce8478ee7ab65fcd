"""Comparisons with constants and sums with constants, as the few gates that they are.

A general comparator or adder would get a carry chain in an FPGA; with one side constant there is less to do than a chain costs.
"""

from itertools import groupby

from amaranth.hdl import Cat, Const, Value


def reaches(value: Value, constant: int) -> Value:
    """``value >= constant``.

    From the constant's last 1 to the front: where it has ones, the value must have them too; where it has zeros, any 1 is enough.
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


def plus(value: Value, constant: int, carry: Value | None = None) -> Value:
    """``value + constant + carry``, modulo 2 to the value's width."""
    sums = []
    for i, bit in enumerate(value):
        one = constant >> i & 1
        if carry is None:  # nothing yet but zeros
            sums.append(~bit if one else bit)
            carry = bit if one else None
        else:
            sums.append(~(bit ^ carry) if one else bit ^ carry)
            carry = bit | carry if one else bit & carry
    return Cat(*sums)


def carries(a: Value, b: Value, carry: Value) -> Value:
    """The carry out of ``a + b + carry``, whose sum nobody wants; ``a >= b`` is the one of ``a + ~b + 1``."""
    for x, y in zip(a, b, strict=True):
        carry = (x & y) | (carry & (x | y))
    return carry
