"""Sums written for the fabric that they are mapped to: cells, or the carry chains of FPGAs."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Value

from hwgen.datapath.arithmetic import named

FABRICS = ASIC, FPGA = "asic", "fpga"
"""``asic``: sums of many addends, which synthesis compresses to two. ``fpga``: a tree of sums of two addends."""


def chained(m: Module, addends: Sequence[Value], units: Sequence[Value], width: int) -> Value:
    """The sum of numbers in two's complement and of single bits, modulo ``2**width``: a carry chain for each two.

    Yosys would merge sums of sums into compressors of LUTs, which take more than carry chains. It does not if each
    sum has a place in front that is dropped; that place also brings a bit in as carry.
    """
    terms, bits, level = list(addends), list(units), 0
    while len(terms) > 1 or bits:
        if len(terms) == 1:
            terms.append(Const(0, 1))
        pairs = [terms[place : place + 2] for place in range(0, len(terms), 2)]
        level += 1
        terms = []
        for number, pair in enumerate(pairs):
            if len(pair) == 1:
                terms += pair
                continue
            size = min(max(map(len, pair)) + 1, width)
            first, second = (_extended(value, size) for value in pair)
            carry = bits.pop() if bits else Const(0, 1)
            total = (Cat(Const(1, 1), first) + Cat(carry, second))[1 : size + 1]
            is_last = len(pairs) == 1 and not bits  # the caller names it
            terms.append(total if is_last else named(m, f"sum_{level}_{number}", total))
    return _extended(terms[0], width)


def _extended(value: Value, width: int) -> Value:
    """The same number in two's complement in ``width`` bits."""
    return Cat(value, value[-1].replicate(max(width - len(value), 0)))[:width]
