"""Decoder for a multiplier's operand: class flags, a normalized significand, and an exponent that needs little logic.

The public ``Decoder`` delivers exponents in two's complement, and zeros for values without exponent or significand. A
multiplier needs less, so its operands are smaller:

* The exponent keeps the bias of the format's largest row, so that most codes need no addition.
* Exponents stored as sign and magnitude (HiFloat8) become a one's complement. The exponent sum adds the missing 1.
* Nothing is masked: exponent and significand of a zero, an infinity or a NaN are meaningless.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from operator import and_

import numpy as np
from amaranth.hdl import Cat, Const, Module, Shape, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden import Biased, Fixed, Format, Kind, Row, SignMagnitude, Special
from hwgen.datapath.arithmetic import Tabled, and_or, any_of, named, plus_bits, range_shape
from hwgen.datapath.ports import magnitude, magnitude_rows, sign
from hwgen.netlist.book import chapter


@dataclass(frozen=True)
class OperandShape:
    """Widths of a format's operands: value = significand * 2**(exponent + increment - bias - (significand_bits - 1)).

    Subnormals that are not ``normalized`` keep their leading zeros and the exponent of their row. Unless the operand
    ``keeps_exponents`` of all rows, a significand without a hidden bit may begin in the place of one, which takes a bit
    less. With a ``chosen_bias`` exponents are in two's complement and have no increment; the default takes least logic.
    """

    fmt: Format
    normalized: bool = True
    keeps_exponents: bool = False
    chosen_bias: int | None = None

    @cached_property
    def significand_bits(self) -> int:
        """Bits of the significand, including the hidden bit."""
        return max(row.fraction_bits + (row.hidden or self.keeps_exponents) for row in magnitude_rows(self.fmt))

    @cached_property
    def has_increment(self) -> bool:
        """Whether exponents are in one's complement: a separate bit, ``increment``, is then to be added."""
        return self.has_signed_fields and self.chosen_bias is None

    @cached_property
    def has_signed_fields(self) -> bool:
        """Whether exponents are stored as sign and magnitude."""
        return any(isinstance(row.exponent, SignMagnitude) for row in magnitude_rows(self.fmt))

    @cached_property
    def bias(self) -> int:
        """Exponent minus the value's exponent: the bias of the row with the widest exponent field, unless chosen."""
        if self.chosen_bias is not None:
            return self.chosen_bias
        if self.has_increment:
            return 0
        biased = [row.exponent for row in magnitude_rows(self.fmt) if isinstance(row.exponent, Biased)]
        if biased:
            return max(biased, key=lambda rule: rule.bits).bias
        return -max(row.exponent.exponent for row in magnitude_rows(self.fmt) if isinstance(row.exponent, Fixed))

    @cached_property
    def exponents(self) -> tuple[int, int]:
        """Smallest and largest exponent of a finite nonzero value, including increment and bias."""
        rows, last = magnitude_rows(self.fmt), 1 << self.fmt.magnitude_bits
        values, places = np.abs(self.fmt.values[: last + self.fmt.has_lowest]), self.fmt.magnitude_rows
        exponents = []
        for code in np.flatnonzero(np.isfinite(values) & (values > 0)).tolist():
            row = rows[places[code % last]]
            if row.hidden or self.normalized:
                exponents.append(int(np.frexp(values[code])[1]) - 1)
            else:
                assert isinstance(row.exponent, Fixed)
                exponents.append(row.exponent.exponent + self.overhang(row))
        return min(exponents) + self.bias, max(exponents) + self.bias

    def overhang(self, row: Row) -> int:
        """-1 if a fraction without hidden bit is as wide as the significand and begins in the hidden bit's place."""
        return min(0, self.significand_bits - 1 - row.fraction_bits)

    @cached_property
    def exponent_shape(self) -> Shape:
        """Shape of the exponent without increment."""
        low, high = self.exponents
        return range_shape(low - self.has_increment, high)


@dataclass
class _Case:
    """Codes selected by ``hit``: exponent, increment and significand, bit 0 first, and which of them are zero.

    A case of zeros alone has no exponent.
    """

    hit: Tabled
    exponent: list[Tabled]
    increment: Tabled
    significand: list[Tabled]
    zero: Tabled | None = None


class Operand(wiring.Component):
    """Split a code into sign, exponent, significand (see :class:`OperandShape`) and class; ``name`` is for the title.

    The sign is the code's sign bit, for all classes, and 0 in formats without a sign. Exponent, ``increment`` (with
    ``has_increment`` only) and significand are meaningless unless the value is finite and not zero, ``is_zero`` if
    ``is_nan`` is 1.
    """

    def __init__(self, layout: OperandShape, name: str = "operand"):
        self.fmt, self.layout, self.name = layout.fmt, layout, name
        increment = {"increment": Out(1)} if layout.has_increment else {}
        numbers = {"exponent": Out(layout.exponent_shape), "significand": Out(layout.significand_bits), **increment}
        classes = dict.fromkeys(("is_zero", "is_inf", "is_nan"), Out(1))
        super().__init__({"code": In(layout.fmt.width), "sign": Out(1), **numbers, **classes})

    def elaborate(self, _platform: object) -> Module:
        """Compare with the format's special codes, then an AND-OR over its rows."""
        m = Module()
        fmt, increment = self.fmt, [self.increment] if self.layout.has_increment else []
        outputs = [self.sign, self.exponent, *increment, self.significand, self.is_zero, self.is_inf, self.is_nan]
        chapter(m, self._title(), *outputs)
        body = named(m, "magnitude", magnitude(fmt, self.code))
        m.d.comb += self.sign.eq(sign(fmt, self.code))
        cases = self._cases(m, [Tabled(bit, self._magnitudes >> i & 1 == 1) for i, bit in enumerate(body)])
        infinite = any_of(self._special(Kind.INF))
        zero = any_of(self._special(Kind.ZERO)) | (any_of([case.zero.value for case in cases if case.zero]) & ~infinite)
        # NaNs excepted, the zeros of most formats are the codes with magnitude bits 0.
        usual = bool(np.all((fmt.values == 0) == (self._magnitudes == 0), where=~np.isnan(fmt.values)))
        m.d.comb += [
            self.is_zero.eq(body == 0 if usual else zero),
            self.is_inf.eq(infinite),
            self.is_nan.eq(any_of(self._special(Kind.NAN))),
        ]
        numbers = [case for case in cases if case.exponent]
        care = np.isfinite(fmt.values) & (fmt.values != 0)

        def select(name: str, columns: Iterable[tuple[Tabled, ...]]) -> Value:
            """An AND-OR for each bit, from its values in all cases."""
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
        bias = "one's complement and increment" if layout.has_increment else f"bias {layout.bias}"
        widths = f"exponent {layout.exponent_shape.width} bits, {bias}; significand {layout.significand_bits} bits"
        normalized = ", normalized" if layout.normalized else ""
        return f"Decode {self.name}: {self.fmt.name}, {self.fmt.width} bits; {widths}{normalized}"

    @cached_property
    def _magnitudes(self) -> np.ndarray:
        """The magnitude bits of every code."""
        codes = np.arange(1 << self.fmt.width)
        signed = np.where(codes & self.fmt.sign_bit, -codes, codes) if self.fmt.twos_complement else codes
        return signed & ((1 << (self.fmt.magnitude_bits + self.fmt.has_lowest)) - 1)

    def _special(self, kind: Kind) -> list[Value]:
        """Matches of the special codes of a kind."""
        hits = []
        for i, special in enumerate(self.fmt.specials):
            if special.kind is not kind:
                continue
            hit = self._matches(special)
            for other in self.fmt.specials[:i]:
                if (special.value ^ other.value) & special.mask & other.mask == 0 and other.kind is not kind:
                    hit = hit & ~self._matches(other)
            hits.append(hit)
        return hits

    def _matches(self, special: Special) -> Value:
        """Whether the code matches; sign and rest are compared separately, so that equal comparisons are shared."""
        sign_bit, rest = self.fmt.sign_bit, self.code[: self.fmt.magnitude_bits]
        picked = [i for i in range(len(rest)) if special.mask >> i & 1]
        parts: list[Value] = []
        if special.mask & sign_bit:
            parts.append(self.code[-1] if special.value & sign_bit else ~self.code[-1])
        if picked:
            pattern = sum((special.value >> i & 1) << place for place, i in enumerate(picked))
            parts.append(Cat(rest[i] for i in picked) == pattern)
        return reduce(and_, parts)

    def _cases(self, m: Module, magnitude: list[Tabled]) -> list[_Case]:
        """The rows in one-hot form."""
        cases: list[_Case] = []
        prefixes = [row.prefix for row in magnitude_rows(self.fmt)]

        @cache
        def starts_with(prefix: str) -> Tabled:
            if not prefix:
                return magnitude[0].constant(1)
            bit = magnitude[-len(prefix)]
            hit = starts_with(prefix[:-1]) & (bit if prefix[-1] == "1" else ~bit)
            is_shared = sum(other.startswith(prefix) and other != prefix for other in prefixes) > 1
            return hit.named(m, f"starts_with_{prefix}") if is_shared and len(prefix) > 1 else hit

        for i, row in enumerate(magnitude_rows(self.fmt)):
            hit = starts_with(row.prefix)
            for earlier in prefixes[:i]:
                common = min(len(earlier), len(row.prefix))
                if earlier[:common] == row.prefix[:common]:
                    hit = hit & ~starts_with(earlier)
            if not isinstance(hit.value, Const):
                hit = hit.named(m, f"is_row_{i}")
            if row.hidden:
                cases.append(self._normal(m, f"row_{i}_exponent", row, hit, magnitude))
            elif self.layout.normalized:
                cases.extend(self._subnormal(m, row, hit, magnitude))
            else:
                cases.append(self._unnormalized(row, hit, magnitude))
        return cases

    def _normal(self, m: Module, name: str, row: Row, hit: Tabled, magnitude: list[Tabled]) -> _Case:
        """A hidden 1 and a fraction; the exponent is the field, plus the difference of the biases."""
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
                exponent = plus_bits(
                    padded, offset - spare, None, lambda place, carry: carry.named(m, f"{name}_carry_{place}")
                )
                return _Case(hit, exponent, hit.constant(spare), significand)
            case SignMagnitude(bits=size) if not self.layout.has_increment:
                return _Case(hit, self._tabled(m, name, row.exponent, field, k), zero, significand)
            case SignMagnitude(bits=size):
                top, negative = k + size - 1, field[-1]
                exponent = [(magnitude[i] ^ negative).named(m, f"bit_{i}_xor_{top}") for i in range(k, top)]
                sign = [~negative, *[negative] * (bits - size)]
                return _Case(hit, [*exponent, *sign], negative, significand)

    def _tabled(self, m: Module, name: str, rule: SignMagnitude, field: list[Tabled], low: int) -> list[Tabled]:
        """The exponents of a field, whose first bit is number ``low`` of the code, as an OR over its values.

        ``name`` is that of the row's exponent.
        """
        size, zero = rule.bits, field[0].constant(0)

        @cache
        def field_is(digits: str) -> Tabled:
            """Whether the lowest bits of the field have these digits."""
            place = len(digits) - 1
            bit = field[place] if digits[0] == "1" else ~field[place]
            if not place:
                return bit
            return (field_is(digits[1:]) & bit).named(m, f"bits_{low + place}_to_{low}_are_{digits}")

        bits = [zero] * self.layout.exponent_shape.width
        for code, exponent in enumerate(rule.exponents(np.arange(1 << size)).tolist()):
            hit, columns = field_is(f"{code:0{size}b}"), self._constant(exponent + self.layout.bias, zero)
            bits = [bit | (hit & column) for bit, column in zip(bits, columns, strict=True)]
        return [
            bit if size == 1 or isinstance(bit.value, Const) else bit.named(m, f"{name}_{place}")
            for place, bit in enumerate(bits)
        ]

    def _subnormal(self, m: Module, row: Row, hit: Tabled, magnitude: list[Tabled]) -> list[_Case]:
        """A fraction without hidden bit, normalized by wires: a case for each place of its first 1."""
        assert isinstance(row.exponent, Fixed)
        cases, rest, zero = [], hit, hit.constant(0)
        for first in reversed(range(row.fraction_bits)):
            significand = [*[zero] * (self.layout.significand_bits - 1 - first), *magnitude[:first], hit.constant(1)]
            exponent = row.exponent.exponent - (row.fraction_bits - first) + self.layout.bias
            is_first = (rest & magnitude[first]).named(m, f"first_1_is_bit_{first}")
            cases.append(_Case(is_first, self._constant(exponent, hit), zero, significand))
            rest = (rest & ~magnitude[first]).named(m, f"first_1_below_bit_{first}")
        return [*cases, _Case(rest, [], hit, [], zero=rest)]

    def _unnormalized(self, row: Row, hit: Tabled, magnitude: list[Tabled]) -> _Case:
        """A fraction without hidden bit, not normalized; zero needs no separate case."""
        assert isinstance(row.exponent, Fixed)
        k, zero, overhang = row.fraction_bits, hit.constant(0), self.layout.overhang(row)
        aligned = [*[zero] * (self.layout.significand_bits - 1 - k - overhang), *magnitude[:k]]
        significand = aligned + [zero] * (self.layout.significand_bits - len(aligned))
        exponent = self._constant(row.exponent.exponent + overhang + self.layout.bias, hit)
        is_zero = hit & reduce(and_, (~bit for bit in reversed(magnitude[:k]))) if k else hit
        return _Case(hit, exponent, zero, significand, zero=is_zero)

    def _constant(self, exponent: int, like: Tabled) -> list[Tabled]:
        return [like.constant(exponent >> i & 1) for i in range(self.layout.exponent_shape.width)]
