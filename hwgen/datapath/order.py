"""Codes in the order of their magnitudes, so that comparing words compares numbers.

Most codes without their signs are in order already, with infinity and NaN above all numbers. Three kinds are not:

* numbers in two's complement, as posits and integers, are made positive;
* exponents with a sign of their own, as in HiFloat8, have all bits of prefix and exponent but the sign inverted where
  they are negative, and one bit more in front, which is 1 from exponent 0 on;
* a NaN in the place of -0 has one bit more in front.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_, or_

import numpy as np
from amaranth.hdl import Cat, Module, Mux, Signal, Value
from numpy.typing import NDArray

from golden import Format, Kind, Row, SignMagnitude
from hwgen.datapath.arithmetic import Tabled, named, plus_bits, reaches


@dataclass(frozen=True)
class Order:
    """The keys of a format's codes: words that are ordered as the magnitudes are, NaNs above all others."""

    fmt: Format

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of the format, if some exponents have signs of their own."""
        return self.fmt.rows if any(isinstance(row.exponent, SignMagnitude) for row in self.fmt.rows) else ()

    @cached_property
    def nan_is_minus_zero(self) -> bool:
        """Whether the code with only the sign bit set is NaN, unless that is in two's complement."""
        fmt = self.fmt
        return fmt.has_tables and fmt.signed and not fmt.twos_complement and fmt.kinds[fmt.sign_bit] is Kind.NAN

    @cached_property
    def width(self) -> int:
        """Bits of a key."""
        return self.fmt.magnitude_bits + self.fmt.twos_complement + bool(self.rows) + self.nan_is_minus_zero

    def key(self, code: Value) -> Value:
        """The key of a code."""
        return _joined(self._key(_tabled(code, np.zeros(0, np.int64))))

    def code(self, m: Module, key: Value) -> Value:
        """The code that has a key, of those with the same magnitude the positive one; of NaNs the canonical one."""
        code, nan = _joined(self._code(_tabled(key, np.zeros(0, np.int64)))), self.special_keys[1]
        if nan is None or self._nan_is_canonical:
            return code
        return Mux(named(m, "is_nan", reaches(key, nan)), self.fmt.canonical_nan, code)

    # -- tables, of formats that have them

    @cached_property
    def keys(self) -> NDArray[np.int64]:
        """The keys of all codes."""
        return _words(self._key(_tabled(Signal(self.fmt.width), np.arange(1 << self.fmt.width))))

    @cached_property
    def _codes(self) -> NDArray[np.int64]:
        """What the keys of all codes become again."""
        return _words(self._code(_tabled(Signal(self.width), self.keys)))

    @cached_property
    def special_keys(self) -> tuple[int | None, int | None]:
        """The key of infinity, and the lowest one of NaNs; None if the format has none."""
        fmt = self.fmt
        if not fmt.has_tables:
            assert fmt.infinity is not None
            return fmt.infinity, fmt.infinity + 1
        infinities, nans = (self.keys[test(fmt.values)] for test in (np.isinf, np.isnan))
        return (int(infinities[0]) if infinities.size else None), (int(nans.min()) if nans.size else None)

    @cached_property
    def _nan_is_canonical(self) -> bool:
        fmt = self.fmt
        return fmt.has_tables and bool((self._codes[np.isnan(fmt.values)] == fmt.canonical_nan).all())

    @cached_property
    def is_right(self) -> bool:
        """Whether keys are ordered as magnitudes are, and code 0 has the smallest magnitude."""
        if not self.fmt.has_tables:
            return True
        levels = np.nan_to_num(np.abs(self.fmt.values), nan=np.inf, posinf=np.finfo(np.float64).max)
        order = np.argsort(levels, kind="stable")
        sizes, keys = levels[order], self.keys[order]
        numbers = np.isfinite(levels)
        rises, alike = sizes[1:] > sizes[:-1], ~np.isinf(sizes[1:])
        return (
            bool((np.diff(keys)[rises] > 0).all() and (np.diff(keys)[~rises & alike] == 0).all())
            and bool((levels[self._codes[numbers]] == levels[numbers]).all())
            and levels[0] == sizes[0]
        )

    # -- bits

    def _key(self, code: list[Tabled]) -> list[Tabled]:
        sign = code[-1]
        if self.fmt.twos_complement:
            return plus_bits([bit ^ sign for bit in code], 0, sign)
        key = word = code[: self.fmt.magnitude_bits]
        if self.rows:
            negative = self._negative_rows(word, [word[self._sign(row)] for row in self.rows], inverted=False)
            key = [*self._inverted(word, negative), ~reduce(or_, negative)]
        return [*key, sign & ~reduce(or_, word)] if self.nan_is_minus_zero else key

    def _code(self, key: list[Tabled]) -> list[Tabled]:
        word = key[: self.fmt.width if self.fmt.twos_complement else self.fmt.magnitude_bits]
        if self.rows:
            signs = [word[self._sign(row)] & ~key[len(word)] for row in self.rows]
            word = self._inverted(word, self._negative_rows(word, signs, inverted=True))
        return [*word, key[-1]] if self.nan_is_minus_zero else word

    @staticmethod
    def _sign(row: Row) -> int:
        """The place of the exponent's sign, in rows that have one."""
        return max(row.fraction_bits + row.exponent.bits - 1, 0)

    def _negative_rows(self, word: list[Tabled], signs: list[Tabled], *, inverted: bool) -> list[Tabled]:
        """For each row, whether a word is in it with a negative exponent; with prefixes as they are, or inverted."""
        zero, found = word[0].constant(0), []
        hits: list[Tabled] = []
        for place, (row, sign) in enumerate(zip(self.rows, signs, strict=True)):
            has_sign = isinstance(row.exponent, SignMagnitude)
            digits = [(digit == "1") ^ (inverted and has_sign) for digit in reversed(row.prefix)]
            bits = zip(word[len(word) - len(digits) :], digits, strict=True)
            hit = reduce(and_, (bit if digit else ~bit for bit, digit in bits), ~zero)
            for earlier, other in zip(hits, self.rows[:place], strict=True):
                if row.prefix.startswith(other.prefix) or other.prefix.startswith(row.prefix):
                    hit = hit & ~earlier
            hits.append(hit)
            is_low = int(row.exponent.exponents(np.zeros(1, np.int64))[0]) < 0
            found.append(hit & sign if has_sign else hit if is_low and not inverted else zero)
        return found

    def _inverted(self, word: list[Tabled], negative: list[Tabled]) -> list[Tabled]:
        """A word with the bits of prefix and exponent but its sign inverted, in rows with negative exponents."""
        flips = [word[0].constant(0)] * len(word)
        for row, hit in zip(self.rows, negative, strict=True):
            if isinstance(row.exponent, SignMagnitude):
                for place in {*range(row.fraction_bits, len(word))} - {self._sign(row)}:
                    flips[place] = flips[place] | hit
        return [bit ^ flip for bit, flip in zip(word, flips, strict=True)]


def _tabled(word: Value, numbers: NDArray[np.int64]) -> list[Tabled]:
    return [Tabled(word[place], numbers >> place & 1 == 1) for place in range(len(word))]


def _joined(bits: list[Tabled]) -> Value:
    return Cat(*(bit.value for bit in bits))


def _words(bits: list[Tabled]) -> NDArray[np.int64]:
    return np.sum([bit.table.astype(np.int64) << place for place, bit in enumerate(bits)], axis=0)
