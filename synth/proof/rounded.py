"""The proof of dot products with an accumulator that rounds."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from golden.wide import POSITIVE
from hwgen.blocks.block import Design
from synth.proof.dot import Choice
from synth.proof.floating import ProductsSumProof, Query
from synth.proof.gates import Netlist
from synth.proof.rounding import Rounded, Rounding, Sum, summed
from synth.proof.scales import EXPONENT_BITS

if TYPE_CHECKING:
    from bitwuzla import Term

_BEYOND = 4
"""Places below the last bit of one number at which another is represented by its sign alone."""

_SPECIAL, _BELOW, _ABOVE, _NEAR = "special", "below", "above", "near"
"""What the accumulators of a part are: with any infinity or NaN; far below the sum, far above, or neither."""


class _Part(NamedTuple):
    """Accumulators with some exponent fields, one after another; all if there are none."""

    kind: str
    fields: Sequence[int]


class RoundedDotProof(ProductsSumProof):
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

    def __init__(self, design: Design, netlist: Netlist, compares: bool = False):
        super().__init__(design, netlist, compares)
        self.parts = 1
        if not self.has_word("products_sum"):  # part 0 says so
            return
        fields = range((1 << self.target.exponent_bits) - (0 if self.target.flush else 1))
        below = self.lsb_exponent - 2 * self.target.precision - 3
        above = self.lsb_exponent + len(self.word("products_sum")) + 2
        low = [field for field in fields if self._weight(field) <= below]
        high = [field for field in fields if self._weight(field) >= above and field > 1]
        near = [field for field in fields if field not in low and field not in high]
        self.queries = [_Part(_SPECIAL, ()), *(_Part(_NEAR, (field,)) for field in near)]
        self.queries += [_Part(kind, found) for kind, found in ((_BELOW, low), (_ABOVE, high)) if found]
        self.parts = 1 + len(self.queries)

    def _weight(self, field: int) -> int:
        """Exponent of the last bit of an accumulator."""
        return (field if self.target.flush else max(field, 1)) - self.target.bias - self.target.fraction_bits

    def cases(self, part: int) -> int:
        """Those of the part's exponent fields; special ones that have no field of their own count with the others."""
        if not part:
            return 0
        kind, fields = self.queries[part - 1]
        count = (0 if self.target.flush else 1) if kind == _SPECIAL else len(fields)
        return count << (sum(self.inputs.values()) - self.target.exponent_bits)

    def prove(self, part: int) -> dict[str, int] | None:
        """Part 0 shows the sum; the others round it."""
        if not part:
            self.check_sum()
            return None
        kind, fields = this = self.queries[part - 1]
        query = self.query(["products_sum"], fields[0] if kind == _NEAR else None)
        return self.specials(query) if kind == _SPECIAL else self._finite(query, this)

    # -- queries

    def example(self, choices: Sequence[Choice], found: Mapping[str, int]) -> dict[str, int]:
        """The same, if possible with lanes that have the sum that the solver has found."""
        width = len(self.word("products_sum"))
        total = found["products_sum"] - (found["products_sum"] >> width - 1 << width)
        if self.is_flipped and found["acc_in"] >> self.target.width - 1:
            total = -total
        classes = [choice.classes[found[f"class_{lane}"]] for lane, choice in enumerate(choices)]
        chosen = {}
        if all(np.isfinite(member.product) for member in classes):
            chosen = self.lanes.codes_of_sum(total, self.lsb_exponent)
        return self.lanes.pins(chosen, {"acc_in": found["acc_in"]}) if chosen else super().example(choices, found)

    # -- numbers

    def _finite(self, query: Query, part: _Part) -> dict[str, int] | None:
        """Sums of numbers."""
        solver, target, width = query.solver, self.target, self.target.width
        word = len(self.word("products_sum"))
        acc = solver.bits(query.acc, width)
        unknown = total = true_total = query.words["products_sum"]
        negated = solver.choose(acc[-1], solver.term("BV_NEG", unknown), unknown)
        if self.is_flipped:
            true_total = negated
        else:
            total = negated
        no_sum, acc_zero = solver.equal(total, solver.word(0, word)), solver.negate(solver.either(acc[:-1]))
        exact, negative, zero = self._sum(query, part, total)
        code, acc_code = solver.extract(query.out, width - 2), solver.extract(query.acc, width - 2)
        is_acc = solver.equal(code, acc_code)
        if part.kind == _ABOVE:
            rounded = Rounded(is_acc, solver.negate(no_sum), solver.false, solver.false)
        else:
            rounded = Rounding(solver, target).of(code, exact)
        if part.kind == _BELOW:  # without products the sum is the accumulator
            zero = solver.all([no_sum, acc_zero])
            negative = solver.all([negative, solver.negate(no_sum)])
            claim = solver.choose(no_sum, is_acc, rounded.claim)
            inexact = solver.all([rounded.inexact, solver.negate(no_sum)])
            tiny = solver.choose(no_sum, solver.negate(solver.either(acc[target.fraction_bits : -1])), rounded.tiny)
            rounded = rounded._replace(claim=claim, inexact=inexact, tiny=tiny)
        all_negative = solver.all(query.lanes(lambda member: member.negative))
        minus_zero = solver.all([no_sum, acc_zero, acc[-1], all_negative])
        sign = solver.choose(zero, minus_zero, solver.term("XOR", negative, acc[-1]))
        if self.design.core.zero == POSITIVE:
            sign = solver.all([sign, solver.negate(solver.equal(code, solver.word(0, width - 1)))])

        limit = self.lanes.count * self.largest(self.lsb_exponent)
        field = solver.extract(query.acc, width - 2, target.fraction_bits)
        conditions = [
            solver.term("BV_UGE", field, solver.word(part.fields[0], target.exponent_bits)),
            solver.term("BV_ULE", field, solver.word(part.fields[-1], target.exponent_bits)),
            solver.term("BV_SLE", unknown, solver.word(limit, word)),
            solver.term("BV_SGE", unknown, solver.word(-limit % (1 << word), word)),
            solver.negate(solver.either(query.lanes(lambda member: not np.isfinite(member.product)))),
            solver.term("IMPLIES", all_negative, solver.term("BV_SLE", true_total, solver.word(0, word))),
        ]
        if target.flush:
            conditions.append(solver.negate(solver.all(acc[:-1])))
        return self.judged(query, conditions, rounded, sign)

    def _sum(self, query: Query, part: _Part, total: "Term") -> Sum:
        """The exact sum of ``total``, which has the accumulator's sign, and the accumulator's magnitude."""
        solver, target, word = query.solver, self.target, len(self.word("products_sum"))
        k, precision, weight = target.fraction_bits, target.precision, self._weight(part.fields[0])
        acc = solver.bits(query.acc, target.width)
        some = solver.either(acc[:-1])
        significand = solver.join([*acc[:k], some if target.flush else solver.either(acc[k:-1])])
        if part.kind == _BELOW:
            base = self.lsb_exponent - precision - _BEYOND
            terms = (total, word, precision + _BEYOND), (solver.join([some]), 1, 0)
        elif part.kind == _ABOVE:
            base = weight - _BEYOND
            minus = solver.extract(total, word - 1, word - 1)
            sign = solver.term("BV_CONCAT", minus, solver.word(1, 1))
            sign = solver.choose(solver.equal(total, solver.word(0, word)), solver.word(0, 2), sign)
            terms = (sign, 2, 0), (significand, precision, _BEYOND)
        else:
            base = min(weight, self.lsb_exponent)
            terms = (total, word, self.lsb_exponent - base), (significand, precision, weight - base)
        size = max(bits + places for _, bits, places in terms) + 2
        shifted = [
            solver.term("BV_SHL", solver.term(kind, term, indices=(size - bits,)), solver.word(places, size))
            for kind, (term, bits, places) in zip(("BV_SIGN_EXTEND", "BV_ZERO_EXTEND"), terms, strict=True)
        ]
        exact = solver.term("BV_ADD", *shifted)
        return summed(solver, exact, size, solver.number(base, EXPONENT_BITS))
