"""The proof of dot products with an accumulator that rounds."""

from collections.abc import Sequence
from functools import cached_property, partial

from synth.proof.bits import Bits, cat, ite
from synth.proof.floating import FloatSumProof
from synth.proof.lanes import LaneClass
from synth.proof.rounding import Rounded, Sum, aligned, rounded_to, summed
from synth.proof.scales import EXPONENT_BITS
from synth.proof.solver import Claim, Pins, Solver

_SUM = "products_sum"

_BEYOND = 4
"""Places below the last bit of one number at which another is represented by its sign alone."""

_BELOW, _NEAR, _ABOVE = "below", "near", "above"
"""What accumulators are: far below the sum, neither, or far above."""


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
        if not self.has_word(_SUM):  # which the first one says
            return claims
        fields = range((1 << self.target.exponent_bits) - (0 if self.target.flush else 1))
        below = self.lsb_exponent - 2 * self.target.precision - 3
        above = self.lsb_exponent + len(self.word(_SUM)) + 2
        low = [field for field in fields if self._weight(field) <= below]
        high = [field for field in fields if self._weight(field) >= above and field > 1]
        near = [(_NEAR, [field]) for field in fields if field not in low and field not in high]
        count = 1 << sum(self.inputs.values()) - self.target.exponent_bits
        claims.append(Claim("infinities and NaN", 0 if self.target.flush else count, self._specials))
        for kind, own in [*near, (_BELOW, low), (_ABOVE, high)]:
            if own:
                claims.append(Claim(f"{kind}: {own}", len(own) * count, partial(self._finite, kind, own)))
        return claims

    def _weight(self, field: int) -> int:
        """Exponent of the last bit of an accumulator."""
        return (field if self.target.flush else max(field, 1)) - self.target.bias - self.target.fraction_bits

    def _specials(self) -> Pins | None:
        return self.specials(self.query(*self.unknown_acc(), [_SUM]))

    def _finite(self, kind: str, fields: Sequence[int]) -> Pins | None:
        """Sums of numbers, with accumulators that have one of some exponent fields, which follow one another."""
        query = self.query(*self.unknown_acc(fields[0] if kind == _NEAR else None), [_SUM])
        acc, target, unknown = query.acc, self.target, query.words[_SUM].signed
        negated = ite(acc[-1], -unknown, unknown)
        total, true_total = (unknown, negated) if self.is_flipped else (negated, unknown)
        no_sum, acc_zero = total == 0, acc[:-1] == 0
        exact, negative, zero = self._sum(query.solver, kind, self._weight(fields[0]), acc, total)
        code, field = query.out[: target.width - 1], acc[target.fraction_bits : -1]
        if kind == _ABOVE:
            rounded = Rounded(code == acc[:-1], ~no_sum, query.solver.false, query.solver.false)
        else:
            rounded = rounded_to(target, code, exact)
        if kind == _BELOW:  # without products the sum is the accumulator
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

    def _sum(self, solver: Solver, kind: str, weight: int, acc: Bits, total: Bits) -> Sum:
        """The exact sum of ``total``, which has the accumulator's sign, and the accumulator's magnitude."""
        k, some = self.target.fraction_bits, acc[:-1] != 0
        significand = cat(acc[:k], some if self.target.flush else acc[k:-1] != 0)
        if kind == _BELOW:
            places = self.target.precision + _BEYOND
            base, terms = self.lsb_exponent - places, ((total, places), (cat(some), 0))
        elif kind == _ABOVE:
            sign = cat(total != 0, total[-1]).signed
            base, terms = weight - _BEYOND, ((sign, 0), (significand, _BEYOND))
        else:
            base = min(weight, self.lsb_exponent)
            terms = (total, self.lsb_exponent - base), (significand, weight - base)
        first, second = aligned(*terms)
        return summed(first + second, solver.number(base, EXPONENT_BITS))

    def example(self, values: Pins, members: Sequence[LaneClass]) -> Pins:
        """The same, if possible with lanes that have the sum that the solver has found."""
        width = len(self.word(_SUM))
        total = values[_SUM] - (values[_SUM] >> width - 1 << width)
        if self.is_flipped and values["acc_in"] >> self.target.width - 1:
            total = -total
        is_finite = all(member.is_finite for member in members)
        codes = self.lanes.codes_of_sum(total, self.lsb_exponent) if is_finite else {}
        return self.lanes.pins(codes, {"acc_in": values["acc_in"]}) if codes else super().example(values, members)
