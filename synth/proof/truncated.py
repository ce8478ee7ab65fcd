"""The proof of dot products with an aligned accumulator, which truncates addends and sums.

The reference is :mod:`golden.arithmetic.aligned`.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import count, takewhile
from typing import Any, NamedTuple

import numpy as np
from bitwuzla import RoundingMode
from numpy.typing import NDArray

from golden.wide import POSITIVE, aligned_bits
from hwgen.blocks.block import Design
from synth.proof.adders import NOWHERE, LinearForm, linear_form
from synth.proof.bits import Bits, Bool, cat, ite
from synth.proof.bitslice import CASES, evaluated, from_planes, to_planes
from synth.proof.floated import FloatedDotProof
from synth.proof.floating import Query, SymbolicScale
from synth.proof.gates import Netlist, NotShownError, cut
from synth.proof.lanes import Lanes
from synth.proof.levels import COUNT, LEVEL, TOTAL, LeveledProof
from synth.proof.rounded import RoundedDotProof
from synth.proof.rounding import EXPONENT_BITS, Exact, number
from synth.proof.solver import Claim, Pins, Search, Solver

_FRAMED, _LOST, _ONES = "cut_sum", "sum_lost", "ones_in_place_{}"
_FLOAT_BITS = 13
"""Exponent bits of the floating-point numbers to which the solver truncates sums."""


class Acc(NamedTuple):
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


class AlignedDotProof(LeveledProof):
    """A dot product into ``aligned6`` to ``aligned40``.

    Part 0 shows that

    * ``largest_level`` is the largest of the levels of all products and of the accumulator, without zeros, or the
      largest number that it can hold if the accumulator's is larger still; no bit of any product is left then,
    * ``total`` is the sum of the products and the accumulator, truncated for that level, and negated if the accumulator
      is negative. Lanes are evaluated for all pairs of codes and all levels, the accumulator's addend by the solver.

    A module whose products share a frame has the net ``cut_sum``. If the ones of many lanes are counted before they are
    cut, a number of ones has a weight for each level. The lanes are evaluated for that sum, in units of
    ``2**lsb_exponent``; the solver shows that ``total`` is the sum, shifted, and the accumulator. It may also have the
    net ``sum_lost``. Then a unit of ``total`` is no less than that of subnormal results, and the number may be larger
    than ``total`` by less than that: the net says so.

    Part 1 shows specials, part 2 the truncated sum for any ``total``, ``sum_lost`` and ``largest_level``.

    With flags the module also has the exact sum. The other parts show for any result, which is infinite if the overflow
    flag is 1, that the flags inexact and underflow compare it with the exact sum.
    """

    method = (
        "proof by decomposition: the full adders add, every lane adds its product, truncated for the largest exponent, "
        "for all pairs of codes and all exponents; the solver (bitwuzla) shows which is the largest, and the result"
    )

    exact_prover = RoundedDotProof
    """The proof of an exact sum without a scale."""

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
            prover = FloatedDotProof if self.scales.nets else self.exact_prover
            exact = prover(self.design, self.netlist, compares=True)
            searches += [(claim.what, claim.search) for claim in exact.claims]
        return self.shared_claims(searches)

    # -- levels

    def _acc(self, solver: Solver, acc: Bits, scale: SymbolicScale) -> Acc:
        k = self.target.fraction_bits
        field = acc[k:-1]
        normal = ite(field == 0, 1, field).to(EXPONENT_BITS).signed
        level = normal + (self.offset - self.target.bias) - scale.exponent
        is_number = ~solver.all(field)
        infinite = (level > self.top) & (acc[:k] == 0) & self.acc_exceeds
        return Acc(acc, level, self.top, is_number, ~scale.is_nan & (is_number | infinite))

    @cached_property
    def acc_exceeds(self) -> bool:
        """Whether an accumulator has a level above the largest that there is."""
        highest = (1 << self.target.exponent_bits) - 2 - self.target.bias - self.scales.exponents[0]
        return highest + self.offset > self.top

    def _unknown(self) -> tuple[Solver, Acc, SymbolicScale, dict[int, Bool]]:
        """A new solver, any accumulator and scale, and their nets with their values."""
        solver, acc = self.unknown_acc()
        scale = self.scales.symbolic(solver)
        return solver, self._acc(solver, acc, scale), scale, self.bound("acc_in", acc) | self.scales.known(scale)

    def _unit(self, acc: Acc, scale: SymbolicScale, largest: Bits) -> tuple[Bits, Bits]:
        """The exponent of a unit of ``total``, and how much it is raised: above its distance to the largest level."""
        # above the largest level that there is, the sum is the accumulator
        unit = ite(acc.dominates, acc.level, largest - self.rest_of(largest)) - (self.offset + self.fraction_bits)
        unit = unit + scale.exponent
        lowest = unit.constant(1 - self.target.bias - self.kept)
        raised = ite((unit < lowest) & self.has_word(_LOST), lowest - unit, 0)
        return unit + raised, raised

    def unknown_level(self, solver: Solver) -> tuple[Bits, Bits]:
        """Any largest level, as a number with a sign, and its nets."""
        word = solver.variable(LEVEL, len(self.word(LEVEL)))
        return word.to(EXPONENT_BITS).signed, word

    def is_alone(self, acc: Acc) -> Bool:
        """Whether the result is the accumulator, whatever ``total`` is."""
        return acc.is_zero & False

    # -- part 0

    def _show(self) -> None:
        level = self.word(LEVEL)
        netlist, is_framed = cut(self.netlist, LEVEL, level), self.has_word(_FRAMED)
        if self.has_word(_ONES.format(0)):
            form = self._counted_form(netlist, len(level))
        else:
            form = self.form(netlist, _FRAMED if is_framed else TOTAL, len(level))
        lanes, sign = Lanes(self.design, netlist, scaled=False), netlist.input_nets("acc_in")[-1]
        *parts, addend = lanes.split(form.terms, sum(1 << net for net in (*netlist.input_nets(LEVEL), sign)))
        self.check_rows(lanes, form, parts, is_framed=is_framed, follows=not is_framed)
        moved, form = len(level), LinearForm(addend, 0, form.modulus)
        if is_framed:
            if addend:
                raise NotShownError(f"{_FRAMED} is not a sum of words that belong to one lane each")
            netlist = cut(netlist, _FRAMED, self.moved_word(_FRAMED, moved))
            moved += len(self.word(_FRAMED))
            form = self.form(netlist, TOTAL, moved)
        self._check_acc(netlist, form, self.moved_word(_LOST, moved))
        self._check_largest()

    def _counted_form(self, netlist: Netlist, moved: int) -> LinearForm:
        """The sum of a frame whose ones are counted, place by place: a net's weight is an array over all levels."""
        names = [COUNT, *takewhile(self.has_word, map(_ONES.format, count()))]
        words = {name: self.moved_word(name, moved) for name in names}
        behind, extra = netlist, 0
        for name, word in words.items():
            behind = cut(behind, name, [net + extra for net in word])
            extra += len(word)
        form, supports = linear_form(behind, self.moved_word(_FRAMED, moved + extra)), behind.supports()
        numbers = {net for name in names for net in behind.input_nets(name)}
        weights: dict[int, Any] = {}
        for net, weight in form.terms.items():
            bits = [bit for bit in sorted(numbers) if net != NOWHERE and supports[net] >> bit & 1]
            chosen = self._chosen(behind, net, bits) if bits else {net if net < netlist.first_gate else net - extra: 1}
            for bit, is_chosen in chosen.items():
                weights[bit] = (weights.get(bit, 0) + weight * is_chosen) % form.modulus
        for name, word in words.items():
            ones = linear_form(netlist, word)
            if ones.constant or {*ones.terms.values()} != {1} or len(ones.terms) >= ones.modulus:
                raise NotShownError(f"{name} does not count bits")
            unit, *others = (weights.pop(net, 0) for net in behind.input_nets(name))
            if any(np.any((other - (unit << place)) % form.modulus) for place, other in enumerate(others, 1)):
                raise NotShownError(f"{name} is not added as a number")
            for net in ones.terms:
                weights[net] = (weights.get(net, 0) + unit) % form.modulus
        return LinearForm(weights, form.constant, form.modulus)

    @staticmethod
    def _chosen(netlist: Netlist, net: int, bits: Sequence[int]) -> dict[int, NDArray[np.int64]]:
        """For each of some bits, whether the net is this bit, by level; at a level it may also be 0."""
        level, size = netlist.input_nets(LEVEL), len(bits)
        if len(bits) > 2 or netlist.supports()[net] & ~sum(1 << other for other in (*level, *bits)):
            raise NotShownError(f"{_FRAMED} depends on a number of ones in another way than by the level")
        index = np.arange(-(-(1 << len(level) + size) // CASES) * CASES)
        known = dict(zip((*level, *bits), to_planes(index, len(level) + size), strict=True))
        values = from_planes(evaluated(netlist, [net], known, len(index) // 64))[: 1 << len(level) + size]
        values = values.astype(np.int64).reshape(1 << size, 1 << len(level))
        patterns = [np.arange(1 << size)[:, np.newaxis] >> place & 1 for place in range(size)]
        hits = [(values == pattern).all(axis=0) for pattern in patterns]
        if not np.all(sum(hits, (values == 0).all(axis=0).astype(np.int64)) == 1):
            raise NotShownError(f"{_FRAMED} has a place that is neither a number of ones nor 0")
        return {bit: hit.astype(np.int64) for bit, hit in zip(bits, hits, strict=True)}

    def _check_acc(self, netlist: Netlist, form: LinearForm, lost: Sequence[int]) -> None:
        """The accumulator's addend is its magnitude, truncated; the other one is the sum of a frame, aligned."""
        nets, k, is_framed = list(form.terms), self.target.fraction_bits, _FRAMED in netlist.inputs
        solver, acc, scale, known = self._unknown()
        level, word = self.unknown_level(solver)
        known |= dict(zip(netlist.input_nets(LEVEL), word, strict=True))
        size, origin = form.modulus.bit_length() - 1, self.fraction_bits + self.offset + self.lsb_exponent
        largest, room = level, size + max(origin, 0) + EXPONENT_BITS
        _, raised = self._unit(acc, scale, largest)
        conditions, claims, products = [acc.is_added & acc.allows(largest), level <= self.top], [], solver.word(0, room)
        conditions, products = [*conditions, ~self.is_alone(acc)], products.signed
        if is_framed:
            number = solver.variable(_FRAMED, len(netlist.input_nets(_FRAMED)))
            known |= dict(zip(netlist.input_nets(_FRAMED), number, strict=True))
            products, below = number.signed.to(room), ite(largest > origin, largest - origin, 0)
            if self.largest(self.lsb_exponent) * self.lanes.count >= 1 << number.width - 1:
                raise NotShownError(f"{_FRAMED} is too short for the largest sum")
            limit = (products.constant(self.largest(self.lsb_exponent)) >> below << below) * self.lanes.count
            conditions += [products >= -limit, products <= limit, products >> below << below == products]
            if origin < 0:
                raise NotShownError(f"{_FRAMED} has places that no level keeps")
            placed, places = ite(acc.bits[-1], -products, products) << origin, largest + raised
            products = placed >> places
            claims += [bit == (products << places != placed) for bit in solver.nets(netlist, known, lost)]
        supports, allowed = netlist.supports(), sum(1 << net for net in known)
        if NOWHERE in nets or any(supports[net] & ~allowed for net in nets):
            raise NotShownError("total is not a sum of an accumulator and of words that belong to one lane each")
        total, zero = solver.word(form.constant, size), solver.word(0, size)
        for bit, weight in zip(solver.nets(netlist, known, nets), form.terms.values(), strict=True):
            total = total + ite(bit, weight, zero)
        whole = max(size, k + 1 + self.fraction_bits, EXPONENT_BITS) + k
        significand = cat(acc.bits[:k], acc.bits[k:-1] != 0).to(whole)
        shift = ite(acc.level > largest, 0, largest - acc.level).to(whole)
        exact = significand << self.fraction_bits >> shift + k
        addend = exact >> raised
        claims += [addend << raised == exact, total == (addend << self.rest_of(largest))[:size] + products[:size]]
        if solver.search(solver.all(conditions).implies(solver.all(claims)), {}) is not None:
            raise NotShownError("the addends of total are not the accumulator's magnitude and the products, truncated")

    def _check_largest(self) -> None:
        """``largest_level`` is the largest one."""
        solver, acc, _, known = self._unknown()
        choices, largest, some, bounded, own = self.levels_of(solver, known)
        claim = acc.allows(largest) & bounded & (acc.has(largest) | own)
        if found := self.searched(choices, [acc.is_added, some, ~self.is_alone(acc)], claim, {}):
            pins = self.lanes.pins_of(found[1], self.scales.pins_of(0) or {})
            raise NotShownError("largest_level is not the largest level", [pins])

    # -- parts 1 and 2

    def _unknown_sum(self) -> tuple[Query, Acc, Bits, Bits, Bits]:
        """Outputs for any sum and largest level; the accumulator, that sum, the same with what is lost, that level.

        A sum with anything lost lies between two multiples of its unit, so it is given in halves.
        """
        names = [TOTAL, LEVEL, *([_LOST] if self.has_word(_LOST) else [])]
        query = self.query(*self.unknown_acc(), names)
        acc, total = self._acc(query.solver, query.acc, query.scale), query.words[TOTAL]
        halves = cat(query.words.get(_LOST, query.solver.word(0, 1)), total)
        return query, acc, total.signed, halves.signed, self.level_of(query.words[LEVEL])[0]

    def _dominated(self, query: Query, acc: Acc, total: Bits, largest: Bits) -> Bool:
        """What part 0 says of ``total`` if the accumulator dominates: it is its significand, truncated."""
        some = query.any(lambda member: member.product != 0)
        first, last = 1 << self.fraction_bits, (2 << self.fraction_bits) - 1
        hidden = acc.bits[self.target.fraction_bits : -1] != 0
        low, high = ite(hidden, total.constant(first), 0), ite(acc.is_number, total.constant(last), first)
        wide = max(total.width, EXPONENT_BITS)
        _, raised = self._unit(acc, query.scale, largest)
        low, number, high = low.to(wide) >> raised, total.to(wide), high.to(wide) >> raised
        condition = some & query.are_finite & acc.is_added & acc.dominates & ~self.is_alone(acc)
        return condition.implies((number >= low) & (number <= high) & (largest == self.top))

    def _specials(self) -> Pins | None:
        query, acc, total, _, largest = self._unknown_sum()
        return self.specials(query, [self._dominated(query, acc, total, largest)])

    def _finite(self) -> Pins | None:
        """Numbers: the truncated sum, or the truncated accumulator if all products are 0."""
        query, state, total, halves, largest = self._unknown_sum()
        solver, acc, width = query.solver, query.acc, self.target.width
        code, sign = query.out[: width - 1], query.out[width - 1]
        claim, overflow = self._truncation(query, state, code, abs(halves), largest)
        expected_sign = (halves != 0) & (halves[-1] ^ acc[-1])
        if self.design.core.zero == POSITIVE:
            expected_sign &= code != 0
        alone = acc[:-1] & (1 << width - 1) - (1 << self.target.fraction_bits - self.kept)
        claim_alone = (code == alone) & (sign == acc[-1] & (alone != 0))

        largest_sum = self.lanes.count * self.largest_addend + (2 << self.fraction_bits) - 1
        if largest_sum << self.group - 1 >= 1 << total.width - 1:
            raise NotShownError("total is too short for the largest sum")
        some, levels = query.any(lambda member: member.product != 0), self.levels[self.numbers]
        some, rest = some & ~self.is_alone(state), self.rest_of(largest)
        shown = [  # in part 0, if any product is not 0
            (largest <= int(levels.max())) | state.has(largest),
            state.allows(largest),
            largest >= int(levels.min()),
            (total <= total.constant(largest_sum) << rest),
            (total >= total.constant(-self.lanes.count * self.largest_addend) << rest),
            self._dominated(query, state, total, largest),
            self._alone(total, largest),
            ~halves[0] | (self._unit(state, query.scale, largest)[1] > 0),
        ]
        conditions = [state.is_number & ~query.scale.is_nan & query.are_finite, some.implies(solver.all(shown))]
        claim = ite(some, claim & (sign == expected_sign), claim_alone)
        return self.search(query, conditions, claim, [None, None, some & overflow, solver.false])

    def _alone(self, total: Bits, largest: Bits) -> Bool:
        """What follows for ``total`` if the level is so large that no bit of any product is left."""
        values = np.abs(self.lanes.products.values[self.numbers])
        first = int(np.floor(np.log2(values.max()))) + self.fraction_bits + self.offset + 1
        most = total.constant((2 << self.fraction_bits) - 1) << self.rest_of(largest)
        return (largest >= first).implies((total >= 0) & (total <= most))

    def _truncation(self, query: Query, acc: Acc, code: Bits, magnitude: Bits, largest: Bits) -> tuple[Bool, Bool]:
        """Whether ``code`` is a truncated magnitude, and whether that overflows.

        The magnitude is given in halves of a unit of ``total``.
        """
        target, kept, k, bias = self.target, self.kept, self.target.fraction_bits, self.target.bias
        unit = self._unit(acc, query.scale, largest)[0] - 1
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
