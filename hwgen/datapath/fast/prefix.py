"""Sums by parallel prefix: the carries into all places come from spans of places that double in length.

A span *generates* a carry, or *propagates* the one that comes in. Two neighbouring spans make one::

    generate  = generate_high | (propagate_high & generate_low)
    propagate = propagate_high & propagate_low
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import xor

from amaranth.hdl import Cat, Const, Module, Value

from hwgen.datapath.arithmetic import named


@dataclass(frozen=True)
class Compound:
    """A sum and the sum plus 1, with the carries out of both."""

    sum: Value
    sum_plus_1: Value
    carry: Value
    carry_plus_1: Value


def compound(m: Module, name: str, a: Value, b: Value) -> Compound:
    """``a + b`` and ``a + b + 1``, of numbers of equal width."""
    generate, propagate, half = _bits(m, name, a, b)
    generates, propagates = _prefixes(m, name, generate, propagate)
    either = named(m, f"{name}_generate_or_propagate", generates | propagates)
    total = named(m, name, half ^ (generates << 1)[: len(half)])
    total_plus_1 = named(m, f"{name}_plus_1", half ^ Cat(Const(1, 1), either)[: len(half)])
    return Compound(total, total_plus_1, generates[-1], either[-1])


def total(m: Module, name: str, a: Value, b: Value, carry: Value) -> Value:
    """``a + b + carry``, modulo 2 to the width of ``a`` and ``b``."""
    generate, propagate, half = _bits(m, name, a, b)
    generate = Cat(generate[0] | (propagate[0] & carry), generate[1:])
    generate = named(m, f"{name}_generate_with_carry", generate)
    generates, _ = _prefixes(m, name, generate, propagate)
    return named(m, name, half ^ Cat(carry, generates)[: len(half)])


def two_rows(m: Module, name: str, rows: Sequence[Value], bits: Sequence[Value]) -> tuple[Value, Value]:
    """Two rows whose sum is that of ``rows`` of equal width and of single bits, modulo 2 to that width.

    Each full adder frees the last place of its carries for one of the ``bits``.
    """
    rows, bits, width, level = list(rows), list(bits), len(rows[0]), 0
    while len(rows) > 2 or bits:
        level += 1
        first, second, *others = rows
        third, rest = (others[0], others[1:]) if others else (None, [])
        carries = first & second if third is None else (first & second) | (third & (first | second))
        bit = bits.pop(0) if bits else Const(0, 1)
        sums = named(m, f"{name}_sums_{level}", reduce(xor, rows[: 2 if third is None else 3]))
        rows = [*rest, sums, named(m, f"{name}_carries_{level}", Cat(bit, carries)[:width])]
    first, second = rows
    return first, second


def _bits(m: Module, name: str, a: Value, b: Value) -> tuple[Value, Value, Value]:
    """Generate, propagate and half sum of each place."""
    generate = named(m, f"{name}_generate_1", a & b)
    propagate = named(m, f"{name}_propagate_1", a | b)
    return generate, propagate, named(m, f"{name}_half_sum", a ^ b)


def _prefixes(m: Module, name: str, generate: Value, propagate: Value) -> tuple[Value, Value]:
    """Generate and propagate of the spans from each place down to place 0, after Sklansky."""
    width, span = len(generate), 1
    while span < width:
        generates, propagates = list(generate), list(propagate)
        for place in range(width):
            if place & span:  # the upper half of a span: the lower half ends below a multiple of the half's length
                below = place // span * span - 1
                generates[place] = generate[place] | (propagate[place] & generate[below])
                propagates[place] = propagate[place] & propagate[below]
        span *= 2
        generate = named(m, f"{name}_generate_{span}", Cat(generates))
        propagate = named(m, f"{name}_propagate_{span}", Cat(propagates))
    return generate, propagate
