"""What the proofs of a normalized number and an accumulator have in common: queries by the distance of their bits."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar, NamedTuple

from golden.wide import POSITIVE
from synth.proof.bits import Bits, Bool, cat, ite
from synth.proof.floating import FloatSumProof, Query
from synth.proof.rounding import Rounded, Sum, aligned, rounded_to, summed
from synth.proof.scales import EXPONENT_BITS
from synth.proof.solver import Claim, Pins, Solver

_GUARD = 4
"""Places below the last bit of the accumulator at which a sum far below it is represented by its sign alone."""

SPECIAL, ZERO, BELOW, ABOVE, NEAR = "special", "zero", "below", "above", "near"
"""Numbers of a part: with any infinity or NaN; 0; with the accumulator far below, far above, or neither."""


class Part(NamedTuple):
    """Numbers whose accumulator's last bit weighs ``2**distance`` last bits of the significand, more or less."""

    kind: str
    distance: int = 0


@dataclass(frozen=True)
class Number:
    """What proofs say of a number, with claims about queries."""

    origin: int  # exponent of the last bit of a significand whose exponent is 0
    exponents: tuple[int, int]  # the smallest and the largest one of a number that is not 0
    minus: Callable[[Query], Bool]
    is_zero: Callable[[Query], Bool]  # what holds for 0
    is_not_zero: Callable[[Query], Bool]  # what holds for other numbers; also about the place of the first 1
    integer_bits: int = 1  # bits of the significand among which is the first 1


class NormalizedProof(FloatSumProof):
    """A number T times a power of two, plus the accumulator C, rounded to a wide format of precision p.

    The module must have the nets :attr:`significand`, which is T with n bits, and :attr:`exponent`. Part 0 shows what
    they are. From there on T is any number whose first 1 is among its first ``integer_bits`` bits. The distance is that
    of the last bits of C and T. The solver rounds the integer T + C for each distance: exponents that differ by a shift
    share one proof. Two kinds of accumulators need no query for each distance, because the sign of one number stands
    for the other:

    * below: numbers of the target and midpoints between them are multiples of g times T's last bit, or coarser, for
      g = min(1, 2**(n - integer_bits - p - 1)). C < g / 2 is represented by g / 4: no such number lies between T and
      T + C.
    * above: T is less than an eighth of the last place of C, and is represented by a sixteenth. Midpoints are at least
      a quarter of a place away from C, the one below a power of two; this includes C = 0, and its place.
    """

    significand: ClassVar[str]
    exponent: ClassVar[str]

    @cached_property
    def claims(self) -> list[Claim]:
        """What the number is; specials, zeros, and numbers by the distance of the accumulator."""
        parts = []
        if self.has_word(self.significand) and self.has_word(self.exponent):  # otherwise the first claim says so
            low, high = self._grid - self.target.precision, len(self.word(self.significand)) + 2
            parts = [Part(SPECIAL), Part(ZERO), Part(BELOW, low - 1), Part(ABOVE, high + 1)]
            parts += [Part(NEAR, distance) for distance in range(low, high + 1)]
        return self.shared_claims(
            [("number", self.show), *((f"{part}", partial(self._search, part)) for part in parts)]
        )

    @abstractmethod
    def show(self) -> None:
        """Show that significand and exponent are the number; a NotShownError if not."""

    @cached_property
    @abstractmethod
    def number(self) -> Number:
        """What the number is."""

    @property
    def others(self) -> tuple[str, ...]:
        """Other nets that queries take as unknown."""
        return ()

    def derived(self, _solver: Solver, _part: Part, _exponent: Bits, _acc: Bits) -> Mapping[str, Bits]:
        """Other named words, made from the number's exponent and the accumulator."""
        return {}

    # -- queries

    @property
    def _grid(self) -> int:
        """See above: the exponent of g."""
        return min(0, len(self.word(self.significand)) - self.number.integer_bits - self.target.precision - 1)

    def _search(self, part: Part) -> Pins | None:
        """Outputs for any number, and its exponent; of one distance, it follows from that of the accumulator."""
        solver, acc = self.unknown_acc()
        if part.kind == NEAR:
            exponent = self.acc_weight(acc) - (self.number.origin + part.distance)
        else:
            exponent = solver.variable("exponent", EXPONENT_BITS).signed
        words = {self.exponent: exponent[: len(self.word(self.exponent))]}
        words |= self.derived(solver, part, exponent, acc)
        query = self.query(solver, acc, [self.significand, *self.others], words)
        if part.kind == SPECIAL:
            return self.specials(query)
        return self._zero(query) if part.kind == ZERO else self._finite(query, exponent, part)

    def acc_weight(self, acc: Bits) -> Bits:
        """Exponent of the last bit of the accumulator."""
        field = acc[self.target.fraction_bits : -1]
        if not self.target.flush:
            field = ite(field == 0, 1, field)
        return field.to(EXPONENT_BITS).signed - (self.target.bias + self.target.fraction_bits)

    def _is_number(self, query: Query) -> Bool:
        """Whether nothing is infinite or NaN."""
        special = query.solver.all(query.acc[0 if self.target.flush else self.target.fraction_bits : -1])
        return ~special & query.are_finite & ~query.scale.is_nan

    def _zero(self, query: Query) -> Pins | None:
        """The sum of 0 and the accumulator is the accumulator."""
        acc, never = query.acc, query.solver.false
        all_negative = query.all(lambda member: member.negative) & (self.design.core.zero != POSITIVE)
        sign = acc[-1] & ((acc[:-1] != 0) | all_negative)
        tiny = acc[self.target.fraction_bits : -1] == 0
        rounded = Rounded(query.out[: self.target.width - 1] == acc[:-1], never, tiny, never)
        return self.judged(query, [self.number.is_zero(query), self._is_number(query)], rounded, sign)

    def _finite(self, query: Query, exponent: Bits, part: Part) -> Pins | None:
        """Sums with a number that is not 0."""
        weight, acc_weight = exponent + self.number.origin, self.acc_weight(query.acc)
        flip = self.number.minus(query) ^ query.acc[-1]
        exact, negative, zero = self._sum(query, part, weight, acc_weight, flip)
        rounded = rounded_to(self.target, query.out[: self.target.width - 1], exact)
        low, high = self.number.exponents
        conditions = [self._is_number(query), self.number.is_not_zero(query), (exponent >= low) & (exponent <= high)]
        distance = acc_weight - weight
        if part.kind in (BELOW, ABOVE):
            conditions.append(distance <= part.distance if part.kind == BELOW else distance >= part.distance)
        return self.judged(query, conditions, rounded, ~zero & (negative ^ query.acc[-1]))

    def _sum(self, query: Query, part: Part, weight: Bits, acc_weight: Bits, flip: Bool) -> Sum:
        """The exact sum, in units that the last bits of both are multiples of, or of what stands for one of them."""
        acc, k, some = query.acc, self.target.fraction_bits, query.acc[:-1] != 0
        significand = cat(acc[:k], some if self.target.flush else acc[k:-1] != 0)
        number = query.words[self.significand]
        if part.kind == BELOW:
            below = 2 - self._grid
            terms, base = ((number, below), (cat(some), 0)), weight - below
        elif part.kind == ABOVE:
            terms, base = ((query.solver.word(1, 1), 0), (significand, _GUARD)), acc_weight - _GUARD
        else:
            below = max(-part.distance, 0)
            terms, base = ((number, below), (significand, max(part.distance, 0))), weight - below
        total, addend = aligned(*terms)
        return summed(ite(flip, -total, total) + addend, base)
