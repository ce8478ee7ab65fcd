"""A code as a multiplier wants it: class flags, a normalized significand, and an exponent that costs next to no logic.

The public ``Decoder`` delivers exponents in two's complement and zeros where there is nothing to say. A multiplier is content with less,
and that makes its operands smaller:

* the exponent keeps the bias of the format's largest row, so that most codes need no addition;
* exponents stored as sign and magnitude (HiFloat8) become a one's complement, whose missing +1 the exponent sum takes in;
* nothing is masked: exponent and significand of a zero, an infinity or a NaN are whatever the gates say.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import Any

import numpy as np
from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, Value, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden import Biased, Fixed, Format, Kind, Row, SignMagnitude, Special


def range_shape(low: int, high: int) -> Shape:
    """Smallest shape that holds ``low`` to ``high``; unsigned where nothing is negative."""
    if low >= 0:
        return unsigned(max(high.bit_length(), 1))
    return signed(max((~low).bit_length(), (high if high >= 0 else ~high).bit_length()) + 1)


@dataclass(frozen=True)
class OperandShape:
    """Widths of a format's operands: value = significand * 2**(exponent + increment - bias - (significand_bits - 1)).

    Parameters
    ----------
    fmt : Format
    normalized : bool
        Whether subnormals are normalized, too; otherwise they keep the leading zeros and the exponent of their row.
    """

    fmt: Format
    normalized: bool = True

    @cached_property
    def significand_bits(self) -> int:
        """Bits of the significand, hidden bit included."""
        return max(row.fraction_bits + row.hidden for row in self.fmt.rows)

    @cached_property
    def has_increment(self) -> bool:
        """Whether exponents are one's complements: a bit of its own, ``increment``, then says that 1 is missing."""
        return any(isinstance(row.exponent, SignMagnitude) for row in self.fmt.rows)

    @cached_property
    def bias(self) -> int:
        """What the exponent exceeds the value's by: the bias of the row with the widest exponent field."""
        if self.has_increment:
            return 0
        biased = [row.exponent for row in self.fmt.rows if isinstance(row.exponent, Biased)]
        if biased:
            return max(biased, key=lambda rule: rule.bits).bias
        return -max(row.exponent.exponent for row in self.fmt.rows if isinstance(row.exponent, Fixed))

    @cached_property
    def exponents(self) -> tuple[int, int]:
        """Smallest and largest exponent of a finite value other than zero, increment and bias included."""
        rows, values = self.fmt.magnitude_rows, np.abs(self.fmt.values[: self.fmt.sign_bit])
        found = []
        for code in np.flatnonzero(np.isfinite(values) & (values > 0)).tolist():
            row = self.fmt.rows[rows[code]]
            if row.hidden or self.normalized:
                found.append(int(np.frexp(values[code])[1]) - 1)
            else:
                assert isinstance(row.exponent, Fixed)
                found.append(row.exponent.exponent + self.overhang(row))
        return min(found) + self.bias, max(found) + self.bias

    def overhang(self, row: Row) -> int:
        """-1 where a fraction without hidden bit is as wide as the significand, so that its first bit stands where the hidden one would."""
        return min(0, self.significand_bits - 1 - row.fraction_bits)

    @cached_property
    def exponent_shape(self) -> Shape:
        """Of the exponent without increment."""
        low, high = self.exponents
        return range_shape(low - self.has_increment, high)


class Operand(wiring.Component):
    """Split a code into what a multiplier needs.

    Parameters
    ----------
    fmt : Format
    normalized : bool

    Members
    -------
    code : ``In(fmt.width)``
    sign : ``Out(1)``
        The code's sign bit, whatever the class.
    exponent, increment, significand : ``Out``
        See ``OperandShape``; meaningless unless the value is finite and not zero. ``increment`` exists where ``has_increment`` says so.
    is_zero, is_inf, is_nan : ``Out(1)``
        ``is_zero`` is meaningless where ``is_nan`` is set.
    """

    def __init__(self, fmt: Format, *, normalized: bool = True):
        self.fmt, self.layout = fmt, OperandShape(fmt, normalized)
        ports: dict[str, Any] = {
            "code": In(fmt.width),
            "sign": Out(1),
            "exponent": Out(self.layout.exponent_shape),
            "significand": Out(self.layout.significand_bits),
            "is_zero": Out(1),
            "is_inf": Out(1),
            "is_nan": Out(1),
        }
        if self.layout.has_increment:
            ports["increment"] = Out(1)
        super().__init__(ports)

    def elaborate(self, _platform: object) -> Module:
        """Classes from the specials, then an AND-OR over the rows."""
        m = Module()
        fmt = self.fmt
        m.d.comb += self.sign.eq(self.code[-1])
        body = Signal(fmt.width - 1, name="magnitude")
        m.d.comb += body.eq(Mux(self.code[-1], -self.code, self.code) if fmt.twos_complement else self.code)
        magnitude = [_Bit(body[i], np.arange(1 << fmt.width) >> i & 1 == 1) for i in range(fmt.width - 1)]
        if fmt.twos_complement:
            codes = np.arange(1 << fmt.width)
            codes = np.where(codes & fmt.sign_bit, -codes, codes)
            magnitude = [_Bit(body[i], codes >> i & 1 == 1) for i in range(fmt.width - 1)]

        cases = self._cases(magnitude)
        classes = {kind: self._special(kind) for kind in (Kind.ZERO, Kind.INF, Kind.NAN)}
        if self._only_zero_has_magnitude_zero():
            zero = [body == 0]
        else:
            zero = [*classes[Kind.ZERO], *(case.zero.value for case in cases)]
        m.d.comb += [
            self.is_zero.eq(_any(zero)),
            self.is_inf.eq(_any(classes[Kind.INF])),
            self.is_nan.eq(_any(classes[Kind.NAN])),
        ]

        care = np.isfinite(fmt.values) & (fmt.values != 0)
        used = [case for case in cases if case.exponent]

        def select(column: list[_Bit]) -> Value:
            return _and_or([(case.hit, bit) for case, bit in zip(used, column, strict=True)], care)

        m.d.comb += self.exponent.eq(Cat(select([c.exponent[i] for c in used]) for i in range(len(self.exponent))))
        m.d.comb += self.significand.eq(Cat(select([c.significand[i] for c in used]) for i in range(len(self.significand))))
        if self.layout.has_increment:
            m.d.comb += self.increment.eq(select([c.increment for c in used]))
        return m

    # -- classes -----------------------------------------------------------------------------------------------------------

    def _special(self, kind: Kind) -> list[Value]:
        """Matches of the specials of a kind; sign and rest apart, so that equal tests of the rest are shared."""
        found = []
        for i, special in enumerate(self.fmt.specials):
            if special.kind is not kind:
                continue
            hit = self._matches(special)
            for other in self.fmt.specials[:i]:
                if (special.value ^ other.value) & special.mask & other.mask == 0 and other.kind is not kind:
                    hit = hit & ~self._matches(other)
            found.append(hit)
        return found

    def _matches(self, special: Special) -> Value:
        sign_bit = self.fmt.sign_bit
        mask, rest = special.mask & ~sign_bit, self.code[:-1]
        picked = [i for i in range(len(rest)) if mask >> i & 1]
        parts = []
        if special.mask & sign_bit:
            parts.append(self.code[-1] if special.value & sign_bit else ~self.code[-1])
        if picked:
            bits = Cat(rest[i] for i in picked)
            pattern = sum((special.value >> i & 1) << k for k, i in enumerate(picked))
            parts.append(bits == pattern)
        return parts[0] & parts[1] if len(parts) == 2 else parts[0]

    def _only_zero_has_magnitude_zero(self) -> bool:
        """Whether the zeros are the codes whose magnitude is 0, a NaN apart."""
        fmt = self.fmt
        nan = np.isnan(fmt.values)
        magnitude = np.arange(1 << fmt.width) & (fmt.sign_bit - 1)
        return bool(np.all((fmt.values == 0) == (magnitude == 0), where=~nan))

    # -- rows --------------------------------------------------------------------------------------------------------------

    def _cases(self, magnitude: list[_Bit]) -> list[_Case]:
        """The rows in one-hot form."""
        cases: list[_Case] = []
        body = len(magnitude)
        for i, row in enumerate(self.fmt.rows):
            top = magnitude[body - len(row.prefix) :]
            hit = _match(top, row.prefix, magnitude[0])
            for earlier in self.fmt.rows[:i]:
                common = min(len(earlier.prefix), len(row.prefix))
                if earlier.prefix[:common] == row.prefix[:common]:
                    hit = hit & ~_match(magnitude[body - len(earlier.prefix) :], earlier.prefix, magnitude[0])
            if row.hidden:
                cases.append(self._normal(row, hit, magnitude))
            elif self.layout.normalized:
                cases.extend(self._subnormal(row, hit, magnitude))
            else:
                cases.append(self._unnormalized(row, hit, magnitude))
        return cases

    def _normal(self, row: Row, hit: _Bit, magnitude: list[_Bit]) -> _Case:
        """Fraction behind a hidden 1; the exponent is the field, beside constant bits where the biases agree in its low ones."""
        k, width = row.fraction_bits, self.layout.significand_bits
        significand = [*self._zeros(width - 1 - k, hit), *magnitude[:k], hit.constant(1)]
        field = magnitude[k : k + row.exponent.bits]
        bits, bias, zero = self.layout.exponent_shape.width, self.layout.bias, hit.constant(0)
        match row.exponent:
            case Fixed(exponent=constant):
                return _Case(hit, self._constant(constant + bias, hit), zero, significand)
            case Biased(bits=size, bias=row_bias):
                offset, increment = bias - row_bias, 0
                if self.layout.has_increment and offset % (1 << size) == 1:
                    offset, increment = offset - 1, 1
                return _Case(hit, _plus_constant(field, offset, bits), hit.constant(increment), significand)
            case SignMagnitude():
                negative = field[-1]
                exponent = [bit ^ negative for bit in (*field[:-1], hit.constant(1))]
                exponent += [negative] * (bits - len(exponent))
                return _Case(hit, exponent, negative, significand)
            case _:  # pragma: no cover
                raise AssertionError(row.exponent)

    def _subnormal(self, row: Row, hit: _Bit, magnitude: list[_Bit]) -> list[_Case]:
        """A fraction without hidden bit, normalized by concatenation: a case for each place of its first 1."""
        assert isinstance(row.exponent, Fixed)
        cases, width, rest = [], self.layout.significand_bits, hit
        for first in reversed(range(row.fraction_bits)):
            significand = [*self._zeros(width - 1 - first, hit), *magnitude[:first], hit.constant(1)]
            exponent = row.exponent.exponent - (row.fraction_bits - first) + self.layout.bias
            cases.append(_Case(rest & magnitude[first], self._constant(exponent, hit), hit.constant(0), significand))
            rest = rest & ~magnitude[first]
        return [*cases, _Case(rest, [], hit, [], is_zero=True)]

    def _unnormalized(self, row: Row, hit: _Bit, magnitude: list[_Bit]) -> _Case:
        """A fraction without hidden bit as it stands; zero needs no case of its own."""
        assert isinstance(row.exponent, Fixed)
        k, width, overhang = row.fraction_bits, self.layout.significand_bits, self.layout.overhang(row)
        aligned = [*self._zeros(width - 1 - k - overhang, hit), *magnitude[:k]]
        significand = aligned + self._zeros(width - len(aligned), hit)
        return _Case(hit, self._constant(row.exponent.exponent + overhang + self.layout.bias, hit), hit.constant(0), significand)

    def _constant(self, exponent: int, like: _Bit) -> list[_Bit]:
        return [like.constant(exponent >> i & 1) for i in range(self.layout.exponent_shape.width)]

    @staticmethod
    def _zeros(count: int, like: _Bit) -> list[_Bit]:
        return [like.constant(0)] * count


# -- logic whose meaning over all codes is known -------------------------------------------------------------------------------


class _Bit:
    """A bit in hardware, and beside it its value for each code: what lets ``_and_or`` leave out what no code needs."""

    def __init__(self, value: Value, table: np.ndarray):
        self.value, self.table = value, table

    def constant(self, bit: int) -> _Bit:
        """0 or 1 for every code."""
        return _Bit(Const(bit, 1), np.full(self.table.shape, bool(bit)))

    def _is(self, bit: bool) -> bool:
        return isinstance(self.value, Const) and self.value.value == int(bit)

    def __and__(self, other: _Bit) -> _Bit:
        if self._is(True) or other._is(False):
            return other
        if other._is(True) or self._is(False):
            return self
        return _Bit(self.value & other.value, self.table & other.table)

    def __or__(self, other: _Bit) -> _Bit:
        return ~(~self & ~other) if isinstance(self.value, Const) or isinstance(other.value, Const) else _Bit(
            self.value | other.value, self.table | other.table
        )  # fmt: skip

    def __xor__(self, other: _Bit) -> _Bit:
        for one, two in ((self, other), (other, self)):
            if isinstance(one.value, Const):
                return ~two if one.value.value else two
        return _Bit(self.value ^ other.value, self.table ^ other.table)

    def __invert__(self) -> _Bit:
        return self.constant(not self.value.value) if isinstance(self.value, Const) else _Bit(~self.value, ~self.table)


@dataclass
class _Case:
    """Codes that ``hit`` picks, and their exponent, increment and significand (msb last)."""

    hit: _Bit
    exponent: list[_Bit]
    increment: _Bit
    significand: list[_Bit]
    is_zero: bool = False


def _match(bits: list[_Bit], pattern: str, like: _Bit) -> _Bit:
    """Whether ``bits`` are ``pattern``, whose first character stands for the last bit."""
    hit = like.constant(1)
    for bit, wanted in zip(reversed(bits), pattern, strict=True):
        hit = hit & (bit if wanted == "1" else ~bit)
    return hit


def _plus_constant(field: list[_Bit], constant: int, width: int) -> list[_Bit]:
    """``field + constant`` in two's complement: half adders, and no gate at all below the constant's last 1."""
    out, carry = [], field[0].constant(0)
    padded = field + [field[0].constant(0)] * (width - len(field))
    for i in range(width):
        addend = field[0].constant(constant >> i & 1)
        out.append(padded[i] ^ addend ^ carry)
        carry = (padded[i] & addend) | (carry & (padded[i] | addend))
    return out


def _and_or(terms: list[tuple[_Bit, _Bit]], care: np.ndarray) -> Value:
    """OR of ``hit & bit``; whatever all codes in ``care`` can do without, a mask or a whole term, is left out."""
    wanted = reduce(or_, (hit.table & bit.table for hit, bit in terms)) & care
    if np.array_equal(wanted, care):
        return Const(1, 1)
    chosen = [hit & bit for hit, bit in terms]

    def serves(candidate: list[_Bit]) -> bool:
        return bool(np.array_equal(reduce(or_, (c.table for c in candidate), np.zeros_like(care)) & care, wanted))

    for i, (hit, bit) in enumerate(terms):
        for simpler in (hit.constant(0), bit, hit):
            candidate = [*chosen[:i], simpler, *chosen[i + 1 :]]
            if serves(candidate):
                chosen = candidate
                break
    return _any([c.value for c in chosen if not (isinstance(c.value, Const) and c.value.value == 0)])


def _any(values: list[Value]) -> Value:
    return reduce(or_, values) if values else Const(0, 1)
