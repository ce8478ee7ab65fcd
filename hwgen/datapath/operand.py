"""A code as a multiplier wants it: class flags, a normalized significand, and an exponent that costs next to no logic.

The public ``Decoder`` delivers exponents in two's complement and zeros where there is nothing to say. A multiplier is
content with less, and that makes its operands smaller:

* the exponent keeps the bias of the format's largest row, so that most codes need no addition;
* exponents stored as sign and magnitude (HiFloat8) become a one's complement, whose missing +1 the exponent sum takes
in;
* nothing is masked: exponent and significand of a zero, an infinity or a NaN are whatever the gates say.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_

import numpy as np
from amaranth.hdl import Cat, Const, Module, Mux, Shape, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden import Biased, Fixed, Format, Kind, Row, SignMagnitude, Special
from hwgen.datapath.arithmetic import Tabled, and_or, any_of, match, named, plus_bits, range_shape
from hwgen.netlist.book import chapter


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
        """-1 where a fraction without hidden bit is as wide as the significand, so that its first bit stands where the
        hidden one would.
        """
        return min(0, self.significand_bits - 1 - row.fraction_bits)

    @cached_property
    def exponent_shape(self) -> Shape:
        """Of the exponent without increment."""
        low, high = self.exponents
        return range_shape(low - self.has_increment, high)


@dataclass
class _Case:
    """Codes that ``hit`` picks, and their exponent, increment and significand, least significant bit first; which of
    them are zero.

    Zeros that are a case of their own have no exponent.
    """

    hit: Tabled
    exponent: list[Tabled]
    increment: Tabled
    significand: list[Tabled]
    zero: Tabled | None = None


class Operand(wiring.Component):
    """Split a code into what a multiplier needs.

    Parameters
    ----------
    layout : OperandShape
    name : str
        What the chapter of the Verilog calls the operand.

    Members
    -------
    code : ``In``
    sign : ``Out(1)``
        The code's sign bit, whatever the class.
    exponent, increment, significand : ``Out``
        See ``OperandShape``; meaningless unless the value is finite and not zero. ``increment`` exists where
        ``has_increment`` says so.
    is_zero, is_inf, is_nan : ``Out(1)``
        ``is_zero`` is meaningless where ``is_nan`` is set.
    """

    def __init__(self, layout: OperandShape, name: str = "operand"):
        self.fmt, self.layout, self.name = layout.fmt, layout, name
        increment = {"increment": Out(1)} if layout.has_increment else {}
        numbers = {"exponent": Out(layout.exponent_shape), "significand": Out(layout.significand_bits), **increment}
        classes = dict.fromkeys(("is_zero", "is_inf", "is_nan"), Out(1))
        super().__init__({"code": In(layout.fmt.width), "sign": Out(1), **numbers, **classes})

    def elaborate(self, _platform: object) -> Module:
        """Classes from the specials, then an AND-OR over the rows."""
        m = Module()
        fmt, increment = self.fmt, [self.increment] if self.layout.has_increment else []
        outputs = [self.sign, self.exponent, *increment, self.significand, self.is_zero, self.is_inf, self.is_nan]
        chapter(m, self._title(), *outputs)
        body = Mux(self.code[-1], -self.code, self.code) if fmt.twos_complement else self.code
        body = named(m, "magnitude", body, fmt.width - 1)
        m.d.comb += self.sign.eq(self.code[-1])
        cases = self._cases(m, [Tabled(bit, self._magnitudes >> i & 1 == 1) for i, bit in enumerate(body)])
        infinite = any_of(self._special(Kind.INF))
        zero = any_of(self._special(Kind.ZERO)) | (any_of([case.zero.value for case in cases if case.zero]) & ~infinite)
        m.d.comb += [
            self.is_zero.eq(body == 0 if self._only_zero_has_magnitude_zero() else zero),
            self.is_inf.eq(infinite),
            self.is_nan.eq(any_of(self._special(Kind.NAN))),
        ]
        numbers = [case for case in cases if case.exponent]
        care = np.isfinite(fmt.values) & (fmt.values != 0)

        def select(name: str, columns: Iterable[tuple[Tabled, ...]]) -> Value:
            """One AND-OR for each bit: ``columns`` holds what each case has there."""
            hits = [case.hit for case in numbers]
            bits = (and_or(list(zip(hits, column, strict=True)), care) for column in columns)
            return Cat(*(named(m, f"{name}_{i}", bit) for i, bit in enumerate(bits)))

        m.d.comb += [
            self.exponent.eq(select("exponent", zip(*(case.exponent for case in numbers), strict=True))),
            self.significand.eq(select("significand", zip(*(case.significand for case in numbers), strict=True))),
        ]
        if self.layout.has_increment:
            m.d.comb += self.increment.eq(select("increment", [tuple(case.increment for case in numbers)]))
        return m

    def _title(self) -> str:
        layout = self.layout
        bias = "one's complement with an increment" if layout.has_increment else f"bias {layout.bias}"
        widths = f"exponent {layout.exponent_shape.width} bits, {bias}; significand {layout.significand_bits} bits"
        return f"Decode {self.name}: {self.fmt.name}, {self.fmt.width} bits; {widths}{', normalized' if layout.normalized else ''}"

    @cached_property
    def _magnitudes(self) -> np.ndarray:
        """Magnitude of every code."""
        codes = np.arange(1 << self.fmt.width)
        signed = np.where(codes & self.fmt.sign_bit, -codes, codes) if self.fmt.twos_complement else codes
        return signed & (self.fmt.sign_bit - 1)

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
        sign_bit, rest = self.fmt.sign_bit, self.code[:-1]
        picked = [i for i in range(len(rest)) if special.mask >> i & 1]
        parts: list[Value] = []
        if special.mask & sign_bit:
            parts.append(self.code[-1] if special.value & sign_bit else ~self.code[-1])
        if picked:
            pattern = sum((special.value >> i & 1) << k for k, i in enumerate(picked))
            parts.append(Cat(rest[i] for i in picked) == pattern)
        return reduce(and_, parts)

    def _only_zero_has_magnitude_zero(self) -> bool:
        """Whether the zeros are the codes whose magnitude is 0, a NaN apart."""
        values = self.fmt.values
        return bool(np.all((values == 0) == (self._magnitudes == 0), where=~np.isnan(values)))

    def _cases(self, m: Module, magnitude: list[Tabled]) -> list[_Case]:
        """The rows in one-hot form."""
        cases: list[_Case] = []
        body = len(magnitude)
        for i, row in enumerate(self.fmt.rows):
            hit = match(magnitude[body - len(row.prefix) :], row.prefix, magnitude[0])
            for earlier in self.fmt.rows[:i]:
                common = min(len(earlier.prefix), len(row.prefix))
                if earlier.prefix[:common] == row.prefix[:common]:
                    hit = hit & ~match(magnitude[body - len(earlier.prefix) :], earlier.prefix, magnitude[0])
            if not isinstance(hit.value, Const):
                hit = Tabled(named(m, f"is_row_{i}", hit.value), hit.table)
            if row.hidden:
                cases.append(self._normal(row, hit, magnitude))
            elif self.layout.normalized:
                cases.extend(self._subnormal(row, hit, magnitude))
            else:
                cases.append(self._unnormalized(row, hit, magnitude))
        return cases

    def _normal(self, row: Row, hit: Tabled, magnitude: list[Tabled]) -> _Case:
        """Fraction behind a hidden 1; the exponent is the field, beside constant bits where the biases agree in its low
        ones.
        """
        k, zero, one = row.fraction_bits, hit.constant(0), hit.constant(1)
        significand = [*[zero] * (self.layout.significand_bits - 1 - k), *magnitude[:k], one]
        field = magnitude[k : k + row.exponent.bits]
        bits, bias = self.layout.exponent_shape.width, self.layout.bias
        match row.exponent:
            case Fixed(exponent=constant):
                return _Case(hit, self._constant(constant + bias, hit), zero, significand)
            case Biased(bits=size, bias=row_bias):
                offset = bias - row_bias
                spare = int(self.layout.has_increment and offset % (1 << size) == 1)
                padded = [*field, *[zero] * (bits - len(field))][:bits]
                return _Case(hit, plus_bits(padded, offset - spare), hit.constant(spare), significand)
            case SignMagnitude():
                negative = field[-1]
                exponent = [bit ^ negative for bit in (*field[:-1], one)]
                return _Case(hit, [*exponent, *[negative] * (bits - len(exponent))], negative, significand)

    def _subnormal(self, row: Row, hit: Tabled, magnitude: list[Tabled]) -> list[_Case]:
        """A fraction without hidden bit, normalized by concatenation: a case for each place of its first 1."""
        assert isinstance(row.exponent, Fixed)
        cases, rest, zero = [], hit, hit.constant(0)
        for first in reversed(range(row.fraction_bits)):
            significand = [*[zero] * (self.layout.significand_bits - 1 - first), *magnitude[:first], hit.constant(1)]
            exponent = row.exponent.exponent - (row.fraction_bits - first) + self.layout.bias
            cases.append(_Case(rest & magnitude[first], self._constant(exponent, hit), zero, significand))
            rest = rest & ~magnitude[first]
        return [*cases, _Case(rest, [], hit, [], zero=rest)]

    def _unnormalized(self, row: Row, hit: Tabled, magnitude: list[Tabled]) -> _Case:
        """A fraction without hidden bit as it stands; zero needs no case of its own."""
        assert isinstance(row.exponent, Fixed)
        k, zero, overhang = row.fraction_bits, hit.constant(0), self.layout.overhang(row)
        aligned = [*[zero] * (self.layout.significand_bits - 1 - k - overhang), *magnitude[:k]]
        significand = aligned + [zero] * (self.layout.significand_bits - len(aligned))
        exponent = self._constant(row.exponent.exponent + overhang + self.layout.bias, hit)
        return _Case(hit, exponent, zero, significand, zero=hit & match(magnitude[:k], "0" * k, hit))

    def _constant(self, exponent: int, like: Tabled) -> list[Tabled]:
        return [like.constant(exponent >> i & 1) for i in range(self.layout.exponent_shape.width)]
