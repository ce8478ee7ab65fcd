"""The proof of dot products with an aligned accumulator, which truncates addends and sums.

The reference is :mod:`golden.arithmetic.aligned`.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from bitwuzla import RoundingMode
from numpy.typing import NDArray

from golden.arithmetic.aligned import row_exponents
from golden.wide import POSITIVE, aligned_bits
from hwgen.blocks.block import Design
from synth.proof.adders import NOWHERE, LinearForm, linear_form
from synth.proof.bits import Bits, Bool, cat, ite
from synth.proof.bitslice import CASES, evaluated, from_planes, to_planes
from synth.proof.dot import Choice
from synth.proof.floated import FloatedDotProof
from synth.proof.floating import FloatSumProof, Query, SymbolicScale
from synth.proof.gates import Netlist, NotShownError, cut
from synth.proof.lanes import LaneClass, Lanes
from synth.proof.rounded import RoundedDotProof
from synth.proof.rounding import EXPONENT_BITS, Exact, number
from synth.proof.solver import Claim, Pins, Search, Solver

_LEVEL, _TOTAL = "largest_level", "total"
_FLOAT_BITS = 13
"""Exponent bits of the floating-point numbers to which the solver truncates sums."""


class _Acc(NamedTuple):
    """A symbolic accumulator, its level, which is a number with a sign, and the largest level that a word can have.

    ``is_added`` says whether it is a number, or an infinity with a level above that; and the scale is no NaN.
    """

    bits: Bits
    level: Bits
    top: int
    is_number: Bool
    is_added: Bool

    @property
    def is_zero(self) -> Bool:
        return self.bits[:-1] == 0

    @property
    def is_above(self) -> Bool:
        """Whether its level is above the largest that there is."""
        return self.level > self.top

    @property
    def dominates(self) -> Bool:
        """Whether it has a level above the largest that there is, and is not 0."""
        return self.is_above & ~self.is_zero

    def allows(self, largest: Bits) -> Bool:
        """Whether the largest level is possible with it."""
        return self.is_zero | ite(self.is_above, largest == self.top, largest >= self.level)

    def has(self, largest: Bits) -> Bool:
        """Whether the largest level is its own, and it is not 0."""
        return ~self.is_zero & (largest == ite(self.is_above, self.top, self.level))


class AlignedDotProof(FloatSumProof):
    """A dot product into ``aligned6`` to ``aligned40``.

    Exponents are levels in the module: a product's exponent plus an offset, which part 0 finds. Part 0 shows that

    * ``largest_level`` is the largest of the levels of all products and of the accumulator, without zeros, or the
      largest number that it can hold if the accumulator's is larger still; no bit of any product is left then,
    * ``total`` is the sum of the products and the accumulator, truncated for that level, and negated if the accumulator
      is negative. Lanes are evaluated for all pairs of codes and all levels, the accumulator's addend by the solver.

    Part 1 shows specials, part 2 the truncated sum for any ``total`` and ``largest_level``.

    With flags the module also has the exact sum. The other parts show for any result, which is infinite if the overflow
    flag is 1, that the flags inexact and underflow compare it with the exact sum.
    """

    method = (
        "proof by decomposition: the full adders add, every lane adds its product, truncated for the largest exponent, "
        "for all pairs of codes and all exponents; the solver (bitwuzla) shows which is the largest, and the result"
    )

    def __init__(self, design: Design, netlist: Netlist):
        super().__init__(design, netlist)
        self.fraction_bits = aligned_bits(design.core.accumulator) or 0
        self.kept = min(self.fraction_bits, self.target.fraction_bits)

    @cached_property
    def claims(self) -> list[Claim]:
        """Addends, levels and the sum; infinities and NaN; numbers; with flags, the claims about the exact sum."""
        searches: list[tuple[str, Search]] = [
            ("addends and levels", self._show),
            ("infinities and NaN", self._specials),
            ("numbers", self._finite),
        ]
        if "flags" in self.outputs:
            prover = FloatedDotProof if self.scales.nets else RoundedDotProof
            exact = prover(self.design, self.netlist, compares=True)
            searches += [(claim.what, claim.search) for claim in exact.claims]
        return self.shared_claims(searches)

    # -- levels

    @property
    def _top(self) -> int:
        """The largest number that the largest level can be."""
        return (1 << len(self.word(_LEVEL))) - 1

    @cached_property
    def _offset(self) -> int:
        """The level of a product less its exponent, from one example: the claims show it for all others."""
        products = self.lanes.products
        zero, some = (int(np.flatnonzero(which)[0]) for which in (products.values == 0, self._numbers))
        codes = {lane: products.pins(zero if lane else some) for lane in range(self.lanes.count)}
        return self.netlist.value(self.word(_LEVEL), self.lanes.pins(codes, {})) - int(self._exponents[some])

    @cached_property
    def _numbers(self) -> NDArray[np.bool_]:
        """Which products are finite and not 0."""
        values = self.lanes.products.values
        return np.isfinite(values) & (values != 0)

    @cached_property
    def _exponents(self) -> NDArray[np.int64]:
        """Exponents of all products: those of their codes' rows."""
        (fa, fb), products = self.design.codes.values(), self.lanes.products
        return row_exponents(fa)[products.a].astype(np.int64) + row_exponents(fb)[products.b]

    @cached_property
    def _levels(self) -> NDArray[np.int64]:
        """The level of each product; 0 for those that are 0."""
        return np.where(self.lanes.products.values != 0, self._exponents + self._offset, 0)

    def _finite_classes(self, lanes: Lanes, lane: int, nets: Sequence[int]) -> list[LaneClass]:
        """The classes of a lane, by the bits of some nets and by level, whose product is finite."""
        return [member for member in lanes.classes(lane, nets, {}, self._exponents) if member.is_finite]

    def _acc(self, solver: Solver, acc: Bits, scale: SymbolicScale) -> _Acc:
        k = self.target.fraction_bits
        field = acc[k:-1]
        normal = ite(field == 0, 1, field).to(EXPONENT_BITS).signed
        level = normal + (self._offset - self.target.bias) - scale.exponent
        is_number = ~solver.all(field)
        infinite = (level > self._top) & (acc[:k] == 0) & self._acc_exceeds
        return _Acc(acc, level, self._top, is_number, ~scale.is_nan & (is_number | infinite))

    @cached_property
    def _acc_exceeds(self) -> bool:
        """Whether an accumulator has a level above the largest that there is."""
        highest = (1 << self.target.exponent_bits) - 2 - self.target.bias - self.scales.exponents[0]
        return highest + self._offset > self._top

    def _unknown(self) -> tuple[Solver, _Acc, dict[int, Bool]]:
        """A new solver, any accumulator and scale, and their nets with their values."""
        solver, acc = self.unknown_acc()
        scale = self.scales.symbolic(solver)
        return solver, self._acc(solver, acc, scale), self.bound("acc_in", acc) | self.scales.known(scale)

    # -- part 0

    def _show(self) -> None:
        total, netlist = self.word(_TOTAL), cut(self.netlist, _LEVEL, self.word(_LEVEL))
        first, width = self.netlist.first_gate, len(self.word(_LEVEL))
        form = linear_form(netlist, [net if net < first else net + width for net in total])
        lanes, sign = Lanes(self.design, netlist, scaled=False), netlist.input_nets("acc_in")[-1]
        *parts, addend = lanes.split(form.terms, sum(1 << net for net in (*netlist.input_nets(_LEVEL), sign)))
        self._check_lanes(lanes, form, parts)
        self._check_acc(lanes, form, addend)
        self._check_largest()

    def _check_lanes(self, lanes: Lanes, form: LinearForm, parts: Sequence[dict[int, int]]) -> None:
        """Each lane adds its product, truncated, for every level that is not below its own."""
        netlist, (sign,) = lanes.netlist, lanes.netlist.input_nets("acc_in")[-1:]
        level_nets = list(netlist.input_nets(_LEVEL))
        constant, first = form.constant, 1 << len(level_nets)
        for lane, part in enumerate(parts):
            nets = lanes.frontier(part, [*level_nets, sign])[lane]
            classes = self._finite_classes(lanes, lane, nets)
            index = np.arange(-(-2 * first * len(classes) // CASES) * CASES)
            largest, negative = index % first, index // first % 2
            member = np.minimum(index // (2 * first), len(classes) - 1)
            patterns = np.array([cls.bits for cls in classes], np.uint64)[member].T
            known = {net: to_planes(row, 1)[0] for net, row in zip((*nets, sign), (*patterns, negative), strict=True)}
            known |= dict(zip(level_nets, to_planes(largest, len(level_nets)), strict=True))
            values = self._weighted(evaluated(netlist, list(part), known, len(index) // 64), part, form.modulus)
            levels = self._levels[[cls.place for cls in classes]][member]
            products = np.where(largest >= levels, np.array([cls.product for cls in classes])[member], 0.0)
            addends = np.trunc(np.ldexp(products, self.fraction_bits + self._offset - largest)).astype(np.int64)
            rest = (values - np.where(negative, -addends, addends)) % form.modulus
            rest = rest[largest >= levels]
            if (rest != rest[0]).any():
                raise NotShownError(f"lane {lane} does not add some truncated product")
            if addends[largest == self._top].any() and self._acc_exceeds:
                raise NotShownError("the largest level is too small for some accumulators")
            constant += int(rest[0])
        if constant % form.modulus:
            raise NotShownError("the constants of all lanes do not add up to 0")

    @staticmethod
    def _weighted(planes: NDArray[np.uint64], part: dict[int, int], modulus: int) -> NDArray[np.int64]:
        if modulus.bit_length() > 62:
            raise NotShownError("total is longer than 61 bits")
        values = np.zeros(planes.shape[1] * 64, np.int64)
        for row, weight in zip(planes, part.values(), strict=True):
            values = (values + from_planes(row[np.newaxis]).astype(np.int64) * weight) % modulus
        return values

    def _check_acc(self, lanes: Lanes, form: LinearForm, weights: dict[int, int]) -> None:
        """The accumulator's addend is its magnitude, truncated."""
        netlist, nets, k = lanes.netlist, list(weights), self.target.fraction_bits
        solver, acc, known = self._unknown()
        level = solver.variable(_LEVEL, len(self.word(_LEVEL)))
        known |= dict(zip(netlist.input_nets(_LEVEL), level, strict=True))
        if NOWHERE in nets or any(lanes.supports[net] & ~sum(1 << net for net in known) for net in nets):
            raise NotShownError("total is not a sum of an accumulator and of words that belong to one lane each")
        size = form.modulus.bit_length() - 1
        total = zero = solver.word(0, size)
        for bit, weight in zip(solver.nets(netlist, known, nets), weights.values(), strict=True):
            total = total + ite(bit, weight, zero)
        largest = level.to(EXPONENT_BITS).signed
        whole = max(size, k + 1 + self.fraction_bits, EXPONENT_BITS) + k
        significand = cat(acc.bits[:k], acc.bits[k:-1] != 0).to(whole)
        shift = ite(acc.level > largest, 0, largest - acc.level).to(whole)
        addend = significand << self.fraction_bits >> shift + k
        claim = (acc.is_added & acc.allows(largest)).implies(total == addend[:size])
        if solver.search(claim, {}) is not None:
            raise NotShownError("the accumulator's addend is not its magnitude, truncated")

    def _check_largest(self) -> None:
        """``largest_level`` is the largest one."""
        word = self.word(_LEVEL)
        solver, acc, known = self._unknown()
        choices = []
        for lane, nets in enumerate(self.lanes.frontier(word, known)):
            classes = {
                (cls.bits, cls.product != 0, self._levels[cls.place]): cls
                for cls in self._finite_classes(self.lanes, lane, nets)
            }
            choices.append(Choice.of(solver, f"class_{lane}", list(classes.values())))
            known |= choices[-1].known(nets)
        largest = cat(*solver.nets(self.netlist, known, word)).to(EXPONENT_BITS).signed
        active = [choice.any(lambda member: member.product != 0) for choice in choices]
        levels = [
            choice.select(self._levels[[member.place for member in choice.classes]].tolist(), EXPONENT_BITS).signed
            for choice in choices
        ]
        claims = [acc.allows(largest)]
        claims += [used.implies(largest >= level) for used, level in zip(active, levels, strict=True)]
        own = [used & (largest == level) for used, level in zip(active, levels, strict=True)]
        claims.append(acc.has(largest) | solver.any(own))
        if self.searched(choices, [acc.is_added, solver.any(active)], solver.all(claims), {}) is not None:
            raise NotShownError("largest_level is not the largest level")

    # -- parts 1 and 2

    def _unknown_sum(self) -> tuple[Query, _Acc, Bits, Bits]:
        """Outputs for any sum and largest level; the accumulator, that sum and that level."""
        query = self.query(*self.unknown_acc(), [_TOTAL, _LEVEL])
        acc = self._acc(query.solver, query.acc, query.scale)
        return query, acc, query.words[_TOTAL].signed, query.words[_LEVEL].to(EXPONENT_BITS).signed

    def _dominated(self, query: Query, acc: _Acc, total: Bits, largest: Bits) -> Bool:
        """What part 0 says of ``total`` if the accumulator dominates: it is its significand, truncated."""
        some = query.any(lambda member: member.product != 0)
        first, last = 1 << self.fraction_bits, (2 << self.fraction_bits) - 1
        hidden = acc.bits[self.target.fraction_bits : -1] != 0
        low, high = ite(hidden, total.constant(first), 0), ite(acc.is_number, total.constant(last), first)
        condition = some & query.are_finite & acc.is_added & acc.dominates
        return condition.implies((total >= low) & (total <= high) & (largest == self._top))

    def _specials(self) -> Pins | None:
        query, acc, total, largest = self._unknown_sum()
        return self.specials(query, [self._dominated(query, acc, total, largest)])

    def _finite(self) -> Pins | None:
        """Numbers: the truncated sum, or the truncated accumulator if all products are 0."""
        query, state, total, largest = self._unknown_sum()
        solver, acc, width = query.solver, query.acc, self.target.width
        code, sign = query.out[: width - 1], query.out[width - 1]
        claim, overflow = self._truncation(query, state, code, abs(total), largest)
        expected_sign = (total != 0) & (total[-1] ^ acc[-1])
        if self.design.core.zero == POSITIVE:
            expected_sign &= code != 0
        alone = acc[:-1] & (1 << width - 1) - (1 << self.target.fraction_bits - self.kept)
        claim_alone = (code == alone) & (sign == acc[-1] & (alone != 0))

        largest_sum = self.lanes.count * self._largest_addend + (2 << self.fraction_bits) - 1
        if largest_sum >= 1 << total.width - 1:
            raise NotShownError("total is too short for the largest sum")
        some, levels = query.any(lambda member: member.product != 0), self._levels[self._numbers]
        shown = [  # in part 0, if any product is not 0
            (largest <= int(levels.max())) | state.has(largest),
            state.allows(largest),
            largest >= int(levels.min()),
            (total <= largest_sum) & (total >= -self.lanes.count * self._largest_addend),
            self._dominated(query, state, total, largest),
            self._alone(total, largest),
        ]
        conditions = [state.is_number & ~query.scale.is_nan & query.are_finite, some.implies(solver.all(shown))]
        claim = ite(some, claim & (sign == expected_sign), claim_alone)
        return self.search(query, conditions, claim, [None, None, some & overflow, solver.false])

    def _alone(self, total: Bits, largest: Bits) -> Bool:
        """What follows for ``total`` if the level is so large that no bit of any product is left."""
        values = np.abs(self.lanes.products.values[self._numbers])
        first = int(np.floor(np.log2(values.max()))) + self.fraction_bits + self._offset + 1
        return (largest >= first).implies((total >= 0) & (total <= (2 << self.fraction_bits) - 1))

    @cached_property
    def _largest_addend(self) -> int:
        """The largest product at the level of its own exponent, truncated."""
        values = np.abs(self.lanes.products.values[self._numbers])
        return int(np.ldexp(values, self.fraction_bits - self._exponents[self._numbers]).max())

    def _truncation(self, query: Query, acc: _Acc, code: Bits, magnitude: Bits, largest: Bits) -> tuple[Bool, Bool]:
        """Whether ``code`` is a truncated magnitude, and whether that overflows.

        A unit of the magnitude is ``2**(e - fraction_bits)``, where e is the exponent of the largest level.
        """
        target, kept, k, bias = self.target, self.kept, self.target.fraction_bits, self.target.bias
        # above the largest level that there is, the sum is the accumulator
        level = ite(acc.dominates, acc.level, largest)
        unit = level - (self._offset + self.fraction_bits) + query.scale.exponent  # its exponent
        exact = Exact(magnitude, unit)
        cut = magnitude.rounded(RoundingMode.RTZ, _FLOAT_BITS, kept + 1)
        normal = number(target, code, unit, k - kept, _FLOAT_BITS) == cut
        normal &= code & (1 << k - kept) - 1 == 0

        places, wide = unit + (bias - 1 + kept), magnitude.to(max(magnitude.width + kept, EXPONENT_BITS) + 1)
        moved = ite(places < 0, wide >> abs(places), wide << abs(places))  # meaningless if larger than the word
        tiny = moved[:kept].to(code.width) << k - kept
        overflow = ~exact.is_below(Fraction(2) ** (bias + 1))
        assert target.infinity is not None
        claim = ite(exact.is_below(Fraction(2) ** (1 - bias)), code == tiny, normal)
        return ite(overflow, code == target.infinity, claim), overflow
