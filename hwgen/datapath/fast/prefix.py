"""Sums by parallel prefix: the carries into all places come from spans of places that double in length.

A span *generates* a carry, or *propagates* the one that comes in. Two neighbouring spans make one::

    generate  = generate_high | (propagate_high & generate_low)
    propagate = propagate_high & propagate_low
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import xor

from amaranth.hdl import Cat, Const, Module, Value

from hwgen.datapath.arithmetic import named


@dataclass(frozen=True)
class Compound:
    """A sum and the sum plus 1, with the carries out of both; and what they are made of.

    ``half`` is the sum without carries. ``generates`` and ``propagates`` are those of the spans from each place down to
    place 0.
    """

    sum: Value
    sum_plus_1: Value
    carry: Value
    carry_plus_1: Value
    half: Value
    generates: Value
    propagates: Value

    def plus(self, m: Module, name: str, carry: Value) -> Value:
        """The sum plus a carry that may come late: it goes to all places at once."""
        passed = named(m, f"{name}_carry_passes", self.propagates[:-1] & carry.replicate(len(self.half) - 1))
        return named(m, name, self.half ^ Cat(carry, named(m, f"{name}_carries", self.generates[:-1] | passed)))


def compound(m: Module, name: str, a: Value, b: Value, *, low_fan_out: bool = False) -> Compound:
    """``a + b`` and ``a + b + 1``, of numbers of equal width.

    With ``low_fan_out`` the spans are Kogge and Stone's: more of them, but each is read by few. That is faster where
    much else reads the sums.
    """
    generate, propagate, half = _bits(m, name, a, b)
    prefixes = _kogge_stone if low_fan_out else partial(_sklansky, keep=True)
    generates, propagates = map(Cat, prefixes(m, name, generate, propagate))
    carries = named(m, f"{name}_carries", generates)
    carries_plus_1 = named(m, f"{name}_carries_plus_1", carries | propagates)
    total = named(m, name, half ^ Cat(Const(0, 1), carries[:-1]))
    total_plus_1 = named(m, f"{name}_plus_1", half ^ Cat(Const(1, 1), carries_plus_1[:-1]))
    return Compound(total, total_plus_1, carries[-1], carries_plus_1[-1], half, carries, propagates)


@dataclass(frozen=True)
class Places:
    """What the places of an addition do: their sums without carries, and in all but the last one, whether there is a
    carry, and from the second one on, whether one that comes in passes.
    """

    half: Value
    generate: Value
    propagate: Value

    @classmethod
    def of(cls, m: Module, name: str, a: Value, b: Value) -> "Places":
        """The places of ``a + b``, of numbers of equal width."""
        half = named(m, f"{name}_half_sum", a ^ b)
        generate = named(m, f"{name}_generate", a[:-1] & b[:-1])
        return cls(half, generate, named(m, f"{name}_propagate", a[1:-1] | b[1:-1]))


def total(m: Module, name: str, places: Places) -> Value:
    """The sum, modulo 2 to the number of places; nothing comes in for the first one to propagate."""
    generates, _ = _sklansky(m, name, places.generate, Cat(Const(0, 1), places.propagate), keep=False)
    return named(m, name, places.half ^ Cat(Const(0, 1), generates))


def total_and_less_1(m: Module, places: Places) -> tuple[Value, Value]:
    """``total``, the sum plus 1, and ``total_less_1``, whose name the places have, modulo 2 to their number."""
    first = named(m, "total_less_1_passes_first", places.half[0] | places.generate[0])
    spans = _sklansky(m, "total_less_1", places.generate, Cat(first, places.propagate), keep=True)
    generates, propagates = map(Cat, spans)
    less_1 = named(m, "total_less_1", places.half ^ Cat(Const(0, 1), generates))
    return named(m, "total", places.half ^ Cat(Const(1, 1), generates | propagates)), less_1


def total_with(m: Module, name: str, a: Value, b: Value, carry: Value) -> Value:
    """``a + b + carry``, modulo 2 to the width of ``a`` and ``b``."""
    half = named(m, f"{name}_half_sum", a ^ b)
    generate, propagate, _ = _bits(m, name, a[:-1], b[:-1], halves=False)
    first = named(m, f"{name}_carry_1", generate[0] | (propagate[0] & carry))
    generates, _ = _sklansky(m, name, Cat(first, generate[1:]), propagate, keep=False)
    return named(m, name, half ^ Cat(carry, generates))


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
        carries = named(m, f"{name}_carries_out_{level}", carries)
        bit = bits.pop(0) if bits else Const(0, 1)
        sums = named(m, f"{name}_sums_{level}", reduce(xor, rows[: 2 if third is None else 3]))
        rows = [*rest, sums, named(m, f"{name}_carries_{level}", Cat(bit, carries)[:width])]
    first, second = rows
    return first, second


def _bits(m: Module, name: str, a: Value, b: Value, *, halves: bool = True) -> tuple[Value, Value, Value]:
    """Generate, propagate and half sum of each place."""
    generate, propagate = named(m, f"{name}_generate", a & b), named(m, f"{name}_propagate", a | b)
    return generate, propagate, named(m, f"{name}_half_sum", a ^ b) if halves else Const(0)


def _kogge_stone(m: Module, name: str, generate: Value, propagate: Value) -> tuple[list[Value], list[Value]]:
    """Generate and propagate of the spans from each place down to place 0, after Kogge and Stone.

    In each level every span takes in the one below it, so that all double in length, until they end at place 0.
    """
    width, span = len(generate), 1
    generates, propagates = list(generate), list(propagate)
    while span < width:
        upper = Cat(propagates[span:])
        passed = named(m, f"{name}_passed_over_{2 * span}", upper & Cat(generates[:-span]))
        carried = Cat(generates[span:]) | passed
        through = upper & Cat(propagates[:-span])
        generates[span:] = list(named(m, f"{name}_generate_over_{2 * span}", carried))
        propagates[span:] = list(named(m, f"{name}_propagate_over_{2 * span}", through))
        span *= 2
    return generates, propagates


def _sklansky(
    m: Module, name: str, generate: Value, propagate: Value, *, keep: bool
) -> tuple[list[Value], list[Value]]:
    """Generate and propagate of the spans from each place down to place 0, after Sklansky.

    In each level the places of the upper half of a span take in its lower half. ``keep`` says whether the propagates
    down to place 0 are needed.
    """
    width, half = len(generate), 1
    generates, propagates = list(generate), list(propagate)
    while half < width:
        for first in range(half, width, 2 * half):
            last, base = min(first + half, width) - 1, first - half
            places, below = slice(first, last + 1), first - 1
            span = f"{last}_to_{first}_down_to_{base}" if last > first else f"{first}_down_to_{base}"
            count = last + 1 - first
            upper = Cat(propagates[places])
            passed = upper & generates[below].replicate(count)
            if count > 1:
                passed = named(m, f"{name}_passed_{span}", passed)
            carried = Cat(generates[places]) | passed
            generates[places] = list(named(m, f"{name}_generate_{span}", carried))
            if base or keep:
                through = upper & propagates[below].replicate(count)
                propagates[places] = list(named(m, f"{name}_propagate_{span}", through))
        half *= 2
    return generates, propagates
