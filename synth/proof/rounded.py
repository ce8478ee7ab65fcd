"""The proofs of sums that are rounded: a number and an accumulator, by the distance of their bits."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar

from golden.wide import POSITIVE
from synth.proof.bits import Bits, Bool, cat, ite
from synth.proof.floating import SUM_OF_PRODUCTS, FloatSumProof, Query
from synth.proof.gates import NotShownError
from synth.proof.lanes import LaneClass
from synth.proof.prefix import places_of, without_inverses
from synth.proof.rounding import (
    ABOVE,
    ALONE,
    BELOW,
    EXPONENT_BITS,
    NEAR,
    SPECIAL,
    ZERO,
    Exact,
    Part,
    Rounded,
    rounded_to,
    stochastic_to,
    sum_of,
)
from synth.proof.solver import Claim, Pins, Solver

_TOTAL, MARKS = "total", "first_bit_is_here_or_below"
_EXACT = "exact_sum__"
"""What precedes the names of nets of an exact sum that are also names of others."""
_SHIFTED = tuple(f"acc_moved_left_{1 << k}" for k in reversed(range(8)))
"""The accumulator in the frame, with what is below, after the last stage: the first of these nets that there is."""


class RoundedDotProof(FloatSumProof):
    """A dot product into a wide format, of precision p.

    The module must have the net ``products_sum``, the exact sum S of all products, negated if the accumulator C is
    negative or not at all. Adders and lanes show that it is that. From there on it is an unknown number in its range.
    The solver rounds the integer S + C, in units of the last bits of both, for each exponent field of C. Two kinds of
    accumulators need no query for each field, because the sign of one number stands for it:

    * below: S is a multiple of its last bit u, and not 0. So |S + C| > u / 2, and numbers of the target and midpoints
      between them are multiples of u / 2**(p + 1). C < u / 2**(p + 3) is represented by u / 2**(p + 4).
    * above: S is less than an eighth of the last place of C. Midpoints are at least a quarter of it away from C, the
      one below a power of two. So the sum is C; its exponent field is at least 2, so that it is not tiny.
    """

    method = (
        "proof by decomposition: the full adders add, every lane adds its product for all pairs of codes, and the "
        "solver (bitwuzla) rounds all sums with all accumulators, by the exponent of the accumulator"
    )

    @cached_property
    def claims(self) -> list[Claim]:
        """The sum, for all inputs; sums by the accumulator's exponent, where special ones may have no own field."""
        claims = [Claim("the sum of the products", 0, self.check_sum)]
        if not self.has_sum:  # which the first one says
            return claims
        fields = range((1 << self.target.exponent_bits) - (0 if self.target.flush else 1))
        below = self.lsb_exponent - 2 * self.target.precision - 3
        above = self.lsb_exponent + self.sum_bits + 2
        low = [field for field in fields if self.field_weight(field) <= below]
        high = [field for field in fields if self.field_weight(field) >= above and field > 1]
        near = [(NEAR, [field]) for field in fields if field not in low and field not in high]
        count = 1 << sum(self.inputs.values()) - self.target.exponent_bits
        claims.append(Claim("infinities and NaN", 0 if self.target.flush else count, self._specials))
        for kind, own in [*near, (BELOW, low), (ABOVE, high)]:
            if own:
                claims.append(Claim(f"{kind}: {own}", len(own) * count, partial(self._finite, kind, own)))
        return claims

    @property
    def has_sum(self) -> bool:
        """Whether the module has the net."""
        return self.has_word(SUM_OF_PRODUCTS)

    @property
    def sum_bits(self) -> int:
        """Bits of the sum of all products."""
        return len(self.word(SUM_OF_PRODUCTS))

    def query_of_sum(self, solver: Solver, acc: Bits) -> Query:
        """Outputs for any sum of all products."""
        return self.query(solver, acc, [SUM_OF_PRODUCTS])

    def _specials(self) -> Pins | None:
        return self.specials(self.query_of_sum(*self.unknown_acc()))

    def _finite(self, kind: str, fields: Sequence[int]) -> Pins | None:
        """Sums of numbers, with accumulators that have one of some exponent fields, which follow one another."""
        query = self.query_of_sum(*self.unknown_acc(fields[0] if kind == NEAR else None))
        acc, target, unknown = query.acc, self.target, query.words[SUM_OF_PRODUCTS].signed
        negated = ite(acc[-1], -unknown, unknown)
        total, true_total = (unknown, negated) if self.is_flipped else (negated, unknown)
        no_sum, acc_zero = total == 0, acc[:-1] == 0
        distance, places = self.field_weight(fields[0]) - self.lsb_exponent, target.precision + 4
        weight = query.solver.number(self.lsb_exponent, EXPONENT_BITS)
        exact, negative, zero = sum_of(target, Part(kind, distance), acc, total, weight, weight + distance, places)
        code, field = query.out[: target.width - 1], acc[target.fraction_bits : -1]
        if kind == ABOVE:
            rounded = Rounded(code == acc[:-1], ~no_sum, query.solver.false, query.solver.false)
        else:
            rounded = rounded_to(target, code, exact)
        if kind == BELOW:  # without products the sum is the accumulator
            zero, negative = no_sum & acc_zero, negative & ~no_sum
            claim, tiny = ite(no_sum, code == acc[:-1], rounded.claim), ite(no_sum, field == 0, rounded.tiny)
            rounded = rounded._replace(claim=claim, inexact=rounded.inexact & ~no_sum, tiny=tiny)
        all_negative = query.all(lambda member: member.negative)
        sign = ite(zero, no_sum & acc_zero & acc[-1] & all_negative, negative ^ acc[-1])
        limit = self.lanes.count * self.largest(self.lsb_exponent)
        conditions = [
            (field >= fields[0]) & (field <= fields[-1]),
            (unknown >= -limit) & (unknown <= limit),
            query.are_finite,
            all_negative.implies(true_total <= 0),
            ~query.solver.all(acc[:-1]) | (not target.flush),
        ]
        return self.judged(query, conditions, rounded, sign)

    def example(self, values: Pins, members: Sequence[LaneClass]) -> Pins:
        """The same, if possible with lanes that have the sum that the solver has found."""
        total = values[SUM_OF_PRODUCTS] - (values[SUM_OF_PRODUCTS] >> self.sum_bits - 1 << self.sum_bits)
        if self.is_flipped and values["acc_in"] >> self.target.width - 1:
            total = -total
        is_finite = all(member.is_finite for member in members)
        codes = self.lanes.codes_of_sum(total, self.lsb_exponent) if is_finite else {}
        return self.lanes.pins(codes, {"acc_in": values["acc_in"]}) if codes else super().example(values, members)


class PrefixRoundedProof(RoundedDotProof):
    """A dot product built for speed whose products and accumulator are one sum: there is no net ``products_sum``.

    A parallel prefix adds two rows. This is ``total``, the sum S of all products plus the accumulator in a frame, whose
    last bits are below those of S. Beside the prefix, the first bit of the sum that is not its sign is found, or the
    place above it: ``first_bit_is_here_or_below`` is shown to say so for any two rows, and is then any word that does.
    Other modules must have ``products_sum``.
    """

    def word(self, name: str) -> tuple[int, ...]:
        """The bits of a named net; with ``compares``, if others have the name too, of the one in the exact sum."""
        return super().word(name if f"{_EXACT}{name}" not in self.netlist.named else f"{_EXACT}{name}")

    @property
    def has_sum(self) -> bool:
        """Whether the module has the nets."""
        return super().has_sum or (all(map(self.has_word, (_TOTAL, MARKS))) and any(map(self.has_word, _SHIFTED)))

    @cached_property
    def sum_name(self) -> str:
        """A word that depends on the accumulator's sign if the sum does."""
        return super().sum_name if super().has_sum else _TOTAL

    @property
    def sum_bits(self) -> int:
        """Bits of the sum of all products."""
        limit = self.lanes.count * self.largest(self.lsb_exponent)
        return super().sum_bits if super().has_sum else limit.bit_length() + 1

    def check_sum(self) -> None:
        """Show what ``total`` is, and the marks."""
        if super().has_sum:
            super().check_sum()
            return
        proof, form = self.form_of(_TOTAL)
        form = without_inverses(form, proof.netlist, self._placed)
        *parts, others = proof.lanes.split(form.terms, self.sign_mask)
        weights = Counter[int]()  # a net may be in several places
        for place, net in enumerate(self._placed[self._low :]):
            weights[net] += 1 << place
        if others != weights:
            raise NotShownError(f"{_TOTAL} is not a sum of the accumulator and of words that belong to one lane each")
        proof.check_parts(form, parts)
        self._check_marks()

    @cached_property
    def _placed(self) -> tuple[int, ...]:
        """The accumulator in the frame, which has a place less below the marks."""
        return self.word(next(filter(self.has_word, _SHIFTED), _SHIFTED[0]))[-len(self.word(MARKS)) - 1 :]

    @property
    def _low(self) -> int:
        """Bits of the accumulator below the sum of all products."""
        return len(self.word(MARKS)) + 2 - len(self.word(_TOTAL))

    def _check_marks(self) -> None:
        solver, low = Solver(), self._placed[: self._low]
        below, (total, words) = solver.variable("below", len(low)), places_of(self, solver, _TOTAL)
        known, relations = self.bound_words(solver, [*words, (low, below)])
        marks = cat(*solver.nets(self.netlist, known, self.word(MARKS)))
        if solver.search(solver.all(relations).implies(are_marks(marks, cat(below, total))), {}) is not None:
            raise NotShownError(f"{MARKS} is not the first place of the sum of two rows")

    def query_of_sum(self, solver: Solver, acc: Bits) -> Query:
        """The same, for sums of finite products."""
        return super().query_of_sum(solver, acc) if super().has_sum else self._query(solver, acc, self.sum_bits)

    def _specials(self) -> Pins | None:
        """The same, where lanes may add anything, as products that are not finite are no part of what is shown."""
        if super().has_sum:
            return super()._specials()
        return self.specials(self._query(*self.unknown_acc(), len(self.word(_TOTAL))))

    def _query(self, solver: Solver, acc: Bits, bits: int) -> Query:
        """Outputs for any sum of some bits, which is no net; and any marks of the whole sum."""
        number, size = solver.variable(SUM_OF_PRODUCTS, bits), len(self.word(_TOTAL))
        placed = cat(*solver.nets(self.netlist, self.bound("acc_in", acc), self._placed))
        total = number.signed.to(size) + placed[self._low :].to(size).signed
        query = self.query(solver, acc, [MARKS], {_TOTAL: total})
        relations = [*query.relations, are_marks(query.words[MARKS], cat(placed[: self._low], total))]
        return replace(query, words={**query.words, SUM_OF_PRODUCTS: number}, relations=relations)


def are_marks(marks: Bits, total: Bits) -> Bool:
    """Whether the first mark is in the place of the first bit that is not the sign, or one above; none is in place 0.

    If that place is 0, there may be no mark.
    """
    marked, reached, right = marks[0] & False, marks[0] & False, marks[0] | True
    for place in reversed(range(marks.width)):  # a bit at or above the place of the mark
        marked |= marks[place]
        reached |= total[place + 1] ^ total[-1]
        right &= reached.implies(marked) & marked.implies(reached | (total[place] ^ total[-1]))
    return right


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

    With R random bits, the places of numbers where a rounding changes have R bits after the target's last one, not one
    as midpoints have. So g is 2**(n - integer_bits - p - R), and T is by 2**R smaller, and so is what represents it.
    Without an accumulator C is 0, and there is one query for all exponents.
    """

    significand: ClassVar[str]
    exponent: ClassVar[str]

    @cached_property
    def claims(self) -> list[Claim]:
        """What the number is; specials, zeros, and numbers by the distance of the accumulator."""
        parts = []
        if self.has_word(self.significand) and self.has_word(self.exponent):  # otherwise the first claim says so
            low, high = self._grid - self.target.precision, len(self.word(self.significand)) + 2
            high += self._random_bits
            parts = [Part(SPECIAL), Part(ZERO), Part(BELOW, low - 1), Part(ABOVE, high + 1)]
            parts += [Part(NEAR, distance) for distance in range(low, high + 1)]
            parts = parts if self.acc_nets else [Part(SPECIAL), Part(ZERO), Part(ALONE)]
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

    def rounded(self, query: Query, body: Bits, exact: Exact) -> Rounded:
        """Whether ``body`` is a number as the target, or the random word, rounds it."""
        if query.random is None:
            return rounded_to(self.target, body, exact)
        return stochastic_to(self.target, body, exact, query.random)

    # -- queries

    @property
    def _grid(self) -> int:
        """See above: the exponent of g."""
        places = self.target.precision + max(self._random_bits, 1)
        return min(0, len(self.word(self.significand)) - self.number.integer_bits - places)

    @property
    def _random_bits(self) -> int:
        return self.inputs.get("random", 0)

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
        magnitude, below = query.words[self.significand], 2 - self._grid
        number = magnitude.to(magnitude.width + 1).signed
        number = ite(flip, -number, number)
        places = below, self._random_bits
        exact, negative, zero = sum_of(self.target, part, query.acc, number, weight, acc_weight, *places)
        rounded = self.rounded(query, query.out[: self.target.width - 1], exact)
        low, high = self.number.exponents
        conditions = [self._is_number(query), self.number.is_not_zero(query), (exponent >= low) & (exponent <= high)]
        distance = acc_weight - weight
        if part.kind in (BELOW, ABOVE):
            conditions.append(distance <= part.distance if part.kind == BELOW else distance >= part.distance)
        return self.judged(query, conditions, rounded, ~zero & (negative ^ query.acc[-1]))
