"""The proof of dot products with an accumulator that rounds."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from golden.wide import POSITIVE
from hwgen.blocks.block import Design
from synth.proof.adders import linear_form
from synth.proof.dot import Choice
from synth.proof.floating import FloatDotProof, Query
from synth.proof.gates import Netlist, NotShownError
from synth.proof.solver import Solver

if TYPE_CHECKING:
    from bitwuzla import Term

_EXPONENT_BITS = 12
"""Of the floating-point numbers to which the solver rounds sums; wide enough for all of them."""

_BEYOND = 4
"""Places below the last bit of one number at which another is represented by its sign alone."""

_SPECIAL, _BELOW, _ABOVE, _NEAR = "special", "below", "above", "near"
"""What the accumulators of a part are: with any infinity or NaN; far below the sum, far above, or neither."""


class _Part(NamedTuple):
    """Accumulators with some exponent fields, one after another; all if there are none."""

    kind: str
    fields: Sequence[int]


class _Sum(NamedTuple):
    """``S + C`` in units of ``2**base``, as a magnitude of ``size`` bits, relative to the accumulator's sign."""

    magnitude: "Term"
    negative: "Term"
    zero: "Term"
    size: int
    base: int


class _Rounded(NamedTuple):
    """Whether the output is the rounded magnitude; and the flags of a finite sum."""

    claim: "Term"
    inexact: "Term"
    tiny: "Term"
    overflow: "Term"


class RoundedDotProof(FloatDotProof):
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

    def __init__(self, design: Design, netlist: Netlist):
        super().__init__(design, netlist)
        fa, fb = design.formats
        self.lsb_exponent = fa.ulp_exponent + fb.ulp_exponent
        fields = range((1 << self.target.exponent_bits) - (0 if self.target.flush else 1))
        below = self.lsb_exponent - 2 * self.target.precision - 3
        above = self.lsb_exponent + len(netlist.named.get("products_sum", ())) + 2
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
            self._check_sum()
            return None
        kind, fields = this = self.queries[part - 1]
        query = self.query(["products_sum"], fields[0] if kind == _NEAR else None)
        return self.specials(query) if kind == _SPECIAL else self._finite(query, this)

    # -- the sum

    @cached_property
    def _sign_mask(self) -> int:
        return 1 << self.acc_nets[-1]

    @cached_property
    def _is_flipped(self) -> bool:
        """Whether the sum is negated if the accumulator is negative: whether it depends on that sign."""
        supports = self.lanes.supports
        return any(supports[net] & self._sign_mask for net in self.word("products_sum"))

    def _check_sum(self) -> None:
        form = linear_form(self.netlist, self.word("products_sum"))
        *parts, others = self.split(form, self._sign_mask)
        if others:
            raise NotShownError("products_sum is not a sum of words that belong to one lane each")
        for negative in (0, 1):
            known = {self.acc_nets[-1]: ~np.uint64(0) if negative else np.uint64(0)}
            self.check_lanes(form, parts, self.lsb_exponent, known, -1 if negative and self._is_flipped else 1, False)
        if self.lanes.count * self.largest(self.lsb_exponent) >= form.modulus // 2:
            raise NotShownError("products_sum is too short for the largest sum")

    # -- queries

    def example(self, choices: Sequence[Choice], found: Mapping[str, int]) -> dict[str, int]:
        """The same, if possible with lanes that have the sum that the solver has found."""
        width = len(self.word("products_sum"))
        total = found["products_sum"] - (found["products_sum"] >> width - 1 << width)
        if self._is_flipped and found["acc_in"] >> self.target.width - 1:
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
        if self._is_flipped:
            true_total = negated
        else:
            total = negated
        no_sum, acc_zero = solver.equal(total, solver.word(0, word)), solver.negate(solver.either(acc[:-1]))
        exact = self._sum(query, part, total)
        code, acc_code = solver.extract(query.out, width - 2), solver.extract(query.acc, width - 2)
        is_acc, zero, negative = solver.equal(code, acc_code), exact.zero, exact.negative
        if part.kind == _ABOVE:
            rounded = _Rounded(is_acc, solver.negate(no_sum), solver.false, solver.false)
        else:
            rounded = self._rounding(solver, code, exact)
        if part.kind == _BELOW:  # without products the sum is the accumulator
            zero = solver.all([no_sum, acc_zero])
            negative = solver.all([negative, solver.negate(no_sum)])
            claim = solver.choose(no_sum, is_acc, rounded.claim)
            rounded = rounded._replace(claim=claim, inexact=solver.all([rounded.inexact, solver.negate(no_sum)]))
        all_negative = solver.all(query.lanes(lambda member: member.negative))
        minus_zero = solver.all([no_sum, acc_zero, acc[-1], all_negative])
        sign = solver.choose(zero, minus_zero, solver.term("XOR", negative, acc[-1]))
        if self.design.core.zero == POSITIVE:
            sign = solver.all([sign, solver.negate(solver.equal(code, solver.word(0, width - 1)))])
        claim = solver.all([rounded.claim, solver.equal(solver.bits(query.out, width)[-1], sign)])
        flags = [rounded.inexact, solver.all([rounded.inexact, rounded.tiny]), rounded.overflow, solver.false]

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
        return self.search(query, conditions, claim, flags)

    def _sum(self, query: Query, part: _Part, total: "Term") -> _Sum:
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
        negative = solver.bits(exact, size)[-1]
        magnitude = solver.choose(negative, solver.term("BV_NEG", exact), exact)
        return _Sum(magnitude, negative, solver.equal(exact, solver.word(0, size)), size, base)

    def _rounding(self, solver: Solver, body: "Term", exact: _Sum) -> _Rounded:
        """Whether ``body``, bits without sign, is a rounded sum."""
        from bitwuzla import RoundingMode

        (magnitude, _, _, size, base), target, k = exact, self.target, self.target.fraction_bits
        field_bits, width = target.exponent_bits, target.width - 1
        bias = (1 << (_EXPONENT_BITS - 1)) - 1

        def below(number: Fraction) -> "Term":
            """Whether the magnitude is less than a number."""
            units = ceil(number / Fraction(2) ** base)
            return solver.term("BV_ULT", magnitude, solver.word(units, size)) if units < 1 << size else solver.true

        def rounded(mode: RoundingMode) -> "Term":
            mode_term = solver.manager.mk_rm_value(mode)
            return solver.manager.mk_term(
                solver.kind.FP_TO_FP_FROM_UBV, [mode_term, magnitude], [_EXPONENT_BITS, k + 1]
            )

        offset = bias - target.bias - base
        exponent = solver.term(
            "BV_ADD",
            solver.term("BV_ZERO_EXTEND", solver.extract(body, width - 1, k), indices=(_EXPONENT_BITS - field_bits,)),
            solver.word(offset % (1 << _EXPONENT_BITS), _EXPONENT_BITS),
        )
        pattern = solver.term("BV_CONCAT", solver.word(0, 1), exponent, solver.extract(body, k - 1))
        number = solver.term("FP_TO_FP_FROM_BV", pattern, indices=(_EXPONENT_BITS, k + 1))
        mode = RoundingMode.RNA if target.flush else RoundingMode.RNE
        claim = solver.equal(number, rounded(mode))
        lost = solver.negate(solver.equal(rounded(RoundingMode.RTZ), rounded(RoundingMode.RTP)))

        smallest = Fraction(2) ** (-target.bias if target.flush else 1 - target.bias)
        is_small = below(smallest)
        nothing = solver.equal(body, solver.word(0, width))
        some = solver.negate(solver.equal(magnitude, solver.word(0, size)))
        if target.flush:
            claim = solver.choose(is_small, nothing, claim)
            lost = solver.either([lost, solver.all([nothing, some])])
        else:
            code, cut = self._fixed(solver, magnitude, size, target.ulp_exponent - base)
            claim = solver.choose(is_small, solver.equal(body, code), claim)
            lost = solver.choose(is_small, cut, lost)
        ulp = Fraction(2) ** (target.exponent_range[1] - k)
        overflow = solver.negate(below(Fraction(target.largest) + ulp / 2))
        last = target.canonical_nan if target.flush else target.infinity
        assert last is not None
        claim = solver.choose(overflow, solver.equal(body, solver.word(last & (1 << width) - 1, width)), claim)
        inexact = solver.either([lost, overflow])
        return _Rounded(claim, inexact, below(Fraction(target.smallest_normal)), overflow)

    def _fixed(self, solver: Solver, magnitude: "Term", size: int, dropped: int) -> tuple["Term", "Term"]:
        """A magnitude rounded to a multiple of ``2**dropped``, as a code; and whether anything is lost."""
        width = self.target.width - 1
        wide_size = max(size, width) + 1 + max(-dropped, 0)
        wide_magnitude = solver.term("BV_ZERO_EXTEND", magnitude, indices=(wide_size - size,))
        if dropped <= 0:
            kept = solver.term("BV_SHL", wide_magnitude, solver.word(-dropped, wide_size))
            return solver.extract(kept, width - 1), solver.false
        if dropped > size:
            some = solver.negate(solver.equal(magnitude, solver.word(0, size)))
            return solver.word(0, width), some
        kept = solver.term("BV_SHR", wide_magnitude, solver.word(dropped, wide_size))
        tail = solver.term("BV_AND", wide_magnitude, solver.word((1 << dropped) - 1, wide_size))
        half = solver.word(1 << (dropped - 1), wide_size)
        odd = solver.equal(solver.extract(kept, 0), solver.word(1, 1))
        up = solver.either([solver.term("BV_UGT", tail, half), solver.all([solver.equal(tail, half), odd])])
        one = solver.choose(up, solver.word(1, wide_size), solver.word(0, wide_size))
        code = solver.extract(solver.term("BV_ADD", kept, one), width - 1)
        return code, solver.negate(solver.equal(tail, solver.word(0, wide_size)))
