"""The codes of a wide format's bits as sums of products, for speed: no shift, no addition, no exclusive or.

Between two neighbouring multiples of a power of two that is small enough for the number's exponent all numbers have the
same code. So a bit of the code depends on exponent, the first fraction bits, and whether there are ones after them. For
each exponent it is one of few functions of the fraction:

    bit = OR over these functions of (exponent is one of those that have the function) & function(fraction)

Both factors are sums of products, calculated at the same time.
"""

from collections.abc import Callable, Iterable
from functools import reduce
from operator import and_

import numpy as np
from amaranth.hdl import Cat, Const, Module, Value
from numpy.typing import NDArray

from golden import Rounding, WideFormat
from golden.overflow import replacements
from hwgen.datapath.arithmetic import any_of, named
from hwgen.netlist.book import chapter
from hwgen.rounding.rounder import Rounder, rounds_up

Cube = tuple[int, int]
"""A product: which inputs it has, and their values."""

Cubes = tuple[Cube, ...]

ALWAYS: Cubes = ((0, 0),)
"""The sum that is always 1."""

Table = tuple[NDArray[np.bool_], NDArray[np.bool_]]
"""A bit of the code by exponent field and fraction, and that of the source's subnormals by fraction."""

ROUNDINGS = (Rounding.TIES_TO_EVEN, Rounding.TIES_TO_AWAY, Rounding.TOWARD_ZERO)
"""The roundings that the neighbours and the middle between them decide, whatever the sign."""

MAX_PLACES, MAX_SUBNORMAL_PLACES = 8, 10
"""Largest numbers of fraction bits that a code may depend on, and that of a subnormal of the source: covers of their
tables take a few seconds, with one more of them four times as long.
"""


def cover(width: int, needed: Iterable[int], allowed: Iterable[int]) -> Cubes:
    """Products that together contain all numbers of ``needed``, and else only ``allowed`` ones; none is redundant."""
    left = set(needed)
    allowed = left.union(allowed)
    if left and len(allowed) == 1 << width:
        return ALWAYS
    primes = _primes(width, allowed)
    inside = {prime: {n for n in left if n & prime[0] == prime[1]} for prime in sorted(primes)}
    chosen: list[Cube] = []
    for n in sorted(left):  # products that nothing can replace come first
        only = [prime for prime, numbers in inside.items() if n in numbers]
        if len(only) == 1 and only[0] not in chosen:
            chosen += only
    all_needed, left = left, left.difference(*(inside[prime] for prime in chosen))
    while left:
        best = max(inside, key=lambda prime: (len(inside[prime] & left), -prime[0].bit_count(), prime))
        chosen.append(best)
        left -= inside[best]
    for prime in list(chosen):
        if all_needed <= set().union(*(inside[other] for other in chosen if other != prime)):
            chosen.remove(prime)
    return tuple(chosen)


def _primes(width: int, allowed: set[int]) -> set[Cube]:
    """The largest products that contain allowed numbers only."""
    primes: set[Cube] = set()
    cubes = {((1 << width) - 1, n) for n in allowed}
    while cubes:
        larger: set[Cube] = set()
        merged: set[Cube] = set()
        for mask, value in cubes:
            for bit in (1 << i for i in range(width) if mask >> i & 1):
                if (mask, value ^ bit) in cubes:
                    merged.add((mask, value))
                    larger.add((mask & ~bit, value & ~bit))
        primes |= cubes - merged
        cubes = larger
    return primes


def _sum(inputs: Value, cubes: Cubes) -> Value:
    """The OR of products of some inputs."""
    products = []
    for mask, value in cubes:
        bits = [inputs[i] if value >> i & 1 else ~inputs[i] for i in range(len(inputs)) if mask >> i & 1]
        products.append(reduce(and_, bits) if bits else Const(1, 1))
    return any_of(products)


def _by_sign(sign: Value, positive: Table, negative: Table, bit: Callable[[Table], Value]) -> Value:
    """A bit of the code by the sign; if one sign's numbers have it wherever the other's do, that needs no selection."""
    pairs = list(zip(positive, negative, strict=True))
    if all(np.array_equal(p, n) for p, n in pairs):
        return bit(positive)
    if all(np.all(n | ~p) for p, n in pairs):
        return bit(positive) | (sign & bit(negative))
    if all(np.all(p | ~n) for p, n in pairs):
        return bit(negative) | (~sign & bit(positive))
    return (~sign & bit(positive)) | (sign & bit(negative))


Terms = list[tuple[str, Cubes, Cubes]]
"""The terms of a bit of the code: the name of a fraction, products of exponents, and products of that fraction."""


class Direct:
    """The hardware that turns bits of ``source`` into a code without a rounder's steps.

    It replaces a rounder with one of the :data:`ROUNDINGS`, into a signed format with zero.
    """

    def __init__(self, source: WideFormat, rounder: Rounder):
        self.source, self.rounder = source, rounder
        k, lowest_normal = source.fraction_bits, 1 - source.bias
        self.first = min(rounder.fraction_bits, k)
        deeper = max(lowest_normal + 1 - rounder.lowest_relevant, 0)  # thresholds among the source's subnormals
        self.deepest = min(self.first + deeper, k) if rounder.lowest_relevant < lowest_normal else self.first

    @property
    def places_refused(self) -> str:
        """A phrase on the fraction bits that codes depend on, if they are too many; else empty."""
        if self.first > MAX_PLACES:
            return f"at most {MAX_PLACES} fraction bits, not on {self.first}"
        if self.deepest > MAX_SUBNORMAL_PLACES:
            return f"at most {MAX_SUBNORMAL_PLACES} fraction bits of the source's subnormals, not on {self.deepest}"
        return ""

    @property
    def is_apart(self) -> bool:
        """Whether the code depends on more fraction bits of the source's subnormals than of normal numbers."""
        return self.deepest != self.first

    def code(self, m: Module, bits: Value, width: int) -> Value:
        """The code; its hardware is added to ``m``."""
        inputs = self._inputs(m, bits)
        fields = np.arange(1 << self.source.exponent_bits)[:, None]
        codes = [
            (self._codes(fields, self.first, sign), self._codes(np.array([[0]]), self.deepest, sign)[0])
            for sign in (0, 1)
        ]
        chapter(m, "Code: for each bit, products of exponents and fractions")
        known: dict[tuple[str, Cubes], Value] = {}

        def factor(name: str, cubes: Cubes) -> Value:
            if (name, cubes) not in known:
                known[name, cubes] = named(m, f"{name}_is_in_{len(known)}", _sum(inputs[name], cubes))
            return known[name, cubes]

        def bit(table: Table) -> Value:
            plain, inverted = self._terms(table, False), self._terms(table, True)
            is_smaller = _literals(inverted) < _literals(plain)
            terms = []
            for name, exponents, fractions in inverted if is_smaller else plain:
                term = factor("exponent", exponents)
                terms.append(term if fractions == ALWAYS else term & factor(name, fractions))
            return ~any_of(terms) if is_smaller else any_of(terms)

        code = []
        for place in range(width):
            positive, negative = ((normal >> place & 1 == 1, below >> place & 1 == 1) for normal, below in codes)
            code.append(_by_sign(bits[-1], positive, negative, bit))
        return named(m, "direct_code", Cat(*code))

    def _inputs(self, m: Module, bits: Value) -> dict[str, Value]:
        """The exponent, and what the code depends on of fractions of normal numbers and of subnormals."""
        k = self.source.fraction_bits
        chapter(m, f"Source: {self.source.name}; the fraction's first {self.first} of {k} bits, and any later ones")
        inputs: dict[str, Value] = {"exponent": named(m, "source_exponent", bits[k:-1])}
        places = {"fraction": self.first} | ({"subnormal": self.deepest} if self.is_apart else {})
        for name, first in places.items():
            rest = [named(m, f"rest_of_{name}", bits[: k - first].any())] if first < k else []
            inputs[name] = named(m, name, Cat(*rest, bits[k - first : k]))
        return inputs

    def _codes(self, field: NDArray[np.int64], first: int, sign: int) -> NDArray[np.int64]:
        """Codes by exponent field and the first fraction bits, the lowest of these: whether there are later ones."""
        source, rounder, fmt = self.source, self.rounder, self.rounder.fmt
        more = int(first < source.fraction_bits)
        fraction = np.arange(1 << (first + more))[None, :] / 2.0 ** (first + more)
        magnitude = np.ldexp(fraction + (field > 0), np.maximum(field, 1) - source.bias)
        index = self._rounded(magnitude)
        instead = replacements(fmt, rounder.rounding, rounder.overflow)
        past, infinite = (instead.below, instead.minus_inf) if sign else (instead.above, instead.plus_inf)
        codes = np.append(fmt.magnitude_codes, past)[index]
        special = field == (1 << source.exponent_bits) - 1
        codes = np.where(special, infinite, codes)
        is_nan = (codes == fmt.canonical_nan) & (not fmt.nan_keeps_sign)
        if sign and fmt.twos_complement:
            codes = np.where(is_nan, codes, -codes & ((1 << fmt.width) - 1))
        elif sign:
            has_sign = ~is_nan & (fmt.has_negative_zero | (codes != 0))
            codes = np.where(has_sign, codes | fmt.sign_bit, codes)
        nan = 0 if rounder.nan_to_zero or fmt.canonical_nan is None else fmt.canonical_nan
        if nan and sign and fmt.nan_keeps_sign:
            nan |= fmt.sign_bit
        return np.where(special & (fraction > 0), nan, codes)

    def _rounded(self, magnitude: NDArray[np.float64]) -> NDArray[np.int64]:
        """Places of rounded numbers among the magnitudes; numbers past the last have the place after it."""
        fmt, rounding = self.rounder.fmt, self.rounder.rounding
        values = np.append(fmt.magnitudes, fmt.above_largest)
        below = np.searchsorted(values, magnitude, side="right") - 1
        high = values[np.minimum(below + 1, len(values) - 1)]
        low = values[below]
        if fmt.flush:  # the number that would be below the smallest one is no code; what is rounded to it becomes 0
            low = np.where(below == 0, 2.0 ** fmt.exponent_range[0], low)
        is_hole = (low > 0) & (high > 2 * low)  # of posits only
        middle, odd = (
            np.where(is_hole, np.sqrt(low * high), (low + high) / 2),
            np.append(fmt.magnitude_codes, 0)[below] & 1 == 1,
        )
        more = (magnitude != low) & (magnitude != middle)
        up = rounds_up(rounding, magnitude >= middle, more, odd, never=np.zeros_like(odd))
        index = below + (up & (below < len(values) - 1))
        return np.maximum(index, magnitude > 0) if fmt.posit_rounding else index

    def _terms(self, table: Table, inverted: bool) -> Terms:
        """The terms of one bit: exponents may have a term if it is 0 wherever their bit is."""
        normal, subnormal = (part ^ inverted for part in table)
        fields, lowest = self.source.exponent_bits, int(self.is_apart)
        rows = normal[lowest:]
        terms: Terms = []
        for function in np.unique(rows, axis=0):
            if function.any():
                needed = lowest + np.flatnonzero((rows == function).all(axis=1))
                allowed = lowest + np.flatnonzero((rows | ~function).all(axis=1))
                terms.append(("fraction", cover(fields, needed.tolist(), allowed.tolist()), _cover_of(function)))
        if self.is_apart and subnormal.any():
            terms.append(("subnormal", cover(fields, [0], [0]), _cover_of(subnormal)))
        return terms


def _cover_of(function: NDArray[np.bool_]) -> Cubes:
    """Products for a function of a fraction."""
    ones = np.flatnonzero(function).tolist()
    return cover((len(function) - 1).bit_length(), ones, ones)


def _literals(terms: Terms) -> int:
    """The number of inputs of all products: the size of a bit."""
    return sum(mask.bit_count() for _, *factors in terms for cubes in factors for mask, _ in cubes)
