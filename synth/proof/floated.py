"""The proof of dot products whose sum is normalized, and scaled, before it meets the accumulator."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from synth.proof.adders import linear_form
from synth.proof.bitslice import CASES, from_planes, to_planes
from synth.proof.dot import Choice
from synth.proof.floating import Query
from synth.proof.gates import NotShownError
from synth.proof.lanes import evaluated
from synth.proof.normalized import NormalizedProof
from synth.proof.scales import EXPONENT_BITS
from synth.proof.solver import Solver

if TYPE_CHECKING:
    from bitwuzla import Term

_SUM, _SCALED, _SIGNIFICAND, _EXPONENT = "products_sum", "scaled_magnitude", "sum_significand", "sum_exponent"
_IS_ZERO, _SIGN = "sum_is_zero", "sign of products_sum"


class FloatedDotProof(NormalizedProof):
    """A dot product whose products have a common factor.

    The module must have the net ``products_sum``, the exact sum S of all products. It must have the normalized sum:
    the nets ``sum_significand``, ``sum_exponent`` and ``sum_is_zero``, without which the complement of the
    significand's first bit says that the sum is zero; and ``scaled_magnitude`` if scales have significands. These are
    shown to be S, |S| times both significands, and what that is with both exponents: by adders and lanes, by adders and
    all codes of the scales, by the solver.
    """

    method = (
        "proof by decomposition: the full adders add, every lane adds its product for all pairs of codes, the solver "
        "(bitwuzla) normalizes all sums with all scales, and rounds them with all accumulators, by their distance"
    )
    significand, exponent = _SIGNIFICAND, _EXPONENT

    @property
    def others(self) -> tuple[str, ...]:
        """The sign, and whether the sum is zero if there is a net for that."""
        return (_IS_ZERO, _SIGN) if self._has_is_zero else (_SIGN,)

    @cached_property
    def _has_is_zero(self) -> bool:
        return self.has_word(_IS_ZERO)

    def show(self) -> None:
        """Show the sum, its scaled magnitude, and that this is normalized."""
        self.check_sum()
        if self.is_flipped:
            raise NotShownError(f"{_SUM} depends on the accumulator's sign")
        if self._has_significands:
            self._check_scaled()
        self._check_normalized()

    def word(self, name: str) -> tuple[int, ...]:
        """The same; the sign of the products' sum is its last bit."""
        return super().word(_SUM)[-1:] if name == _SIGN else super().word(name)

    # -- part 0

    @cached_property
    def _has_significands(self) -> bool:
        return self.scales.fmt is not None and bool((self.scales.significands > 1).any())

    def _check_scaled(self) -> None:
        """``scaled_magnitude`` is ``products_magnitude``, which is |S|, times the significands of both scales."""
        name, scales = "products_magnitude", self.scales
        solver, total = Solver(), self.word(_SUM)
        word = solver.variable(_SUM, len(total))
        known = dict(zip(total, solver.bits(word, len(total)), strict=True))
        nets = self.word(name)
        if self.lanes.count * self.largest(self.lsb_exponent) >> min(len(nets), len(total)):
            raise NotShownError(f"{name} is too short for the largest sum")
        room = max(len(nets), len(total))
        own, expected = (
            solver.term("BV_ZERO_EXTEND", term, indices=(room - length,))
            for term, length in (
                (solver.join(solver.nets(self.netlist, known, nets)), len(nets)),
                (self._magnitude(solver, word), len(total)),
            )
        )
        claim = solver.term("IMPLIES", self._in_range(solver, word), solver.equal(own, expected))
        if solver.search(claim, {}) is not None:
            raise NotShownError(f"{name} is not that of the sum")

        form = linear_form(self.netlist, self.word(_SCALED))
        place_of = {net: place for place, net in enumerate(self.word(name))}
        codes = [net for nets in scales.nets.values() for net in nets]
        places = [self._only(net, place_of, codes) for net in form.terms]
        count = 1 << len(codes)
        planes = to_planes(np.tile(np.arange(count), -(-CASES // count)), len(codes))
        given = dict(zip(codes, planes, strict=True))
        off, on = (
            evaluated(self.netlist, list(form.terms), {**given, **dict.fromkeys(place_of, bits)}, planes.shape[1])
            for bits in (np.uint64(0), ~np.uint64(0))
        )
        own = np.arange(count)
        width = len(next(iter(scales.nets.values())))
        products = scales.significands[own & (1 << width) - 1] * scales.significands[own >> width]
        sums = np.zeros((len(place_of) + 1, count), np.int64)  # of each place of the magnitude, and of none
        sums[-1] += form.constant
        for place, weight, without, with_it in zip(places, form.terms.values(), off, on, strict=True):
            zero, one = (from_planes(row[np.newaxis]).astype(np.int64)[:count] for row in (without, with_it))
            sums[-1] += zero * weight
            sums[place] += (one - zero) * weight
        expected = np.array([products << place for place in range(len(place_of))] + [np.zeros(count, np.int64)])
        some = products != 0  # a zero and a NaN decide the result alone
        if form.modulus.bit_length() > 62 or ((sums - expected) % form.modulus)[:, some].any():
            raise NotShownError(f"{_SCALED} is not {name} times the significands of the scales")

    def _only(self, net: int, place_of: Mapping[int, int], codes: Sequence[int]) -> int:
        """The place of the only bit of the magnitude that a net depends on, beside codes of scales; -1 for none."""
        if net < 0:
            raise NotShownError(f"{_SCALED} is not a sum of products of bits")
        found, visited, waiting = set(), {0, 1, *codes}, [net]
        while waiting:
            net = waiting.pop()
            if net in place_of:
                found.add(place_of[net])
            elif net not in visited:
                visited.add(net)
                if net < self.netlist.first_gate:
                    raise NotShownError(f"{_SCALED} depends on other inputs than scales and the sum")
                waiting += self.netlist.gates[net - self.netlist.first_gate].pins
        if len(found) > 1:
            raise NotShownError(f"{_SCALED} is not a sum of products of bits")
        return found.pop() if found else -1

    def _in_range(self, solver: Solver, word: "Term") -> "Term":
        """Whether a sum of all products can have this value."""
        width = word.sort().bv_size()
        low, high = (solver.number(limit, width) for limit in self.limits)
        return solver.all([solver.term("BV_SGE", word, low), solver.term("BV_SLE", word, high)])

    @staticmethod
    def _magnitude(solver: Solver, word: "Term") -> "Term":
        width = word.sort().bv_size()
        return solver.choose(solver.bits(word, width)[-1], solver.term("BV_NEG", word), word)

    def _check_normalized(self) -> None:
        """The significand is the scaled magnitude, moved left to its first 1; the exponent says by how many places."""
        solver, name = Solver(), _SCALED if self._has_significands else _SUM
        bits, width, nets = len(self.word(_SIGNIFICAND)), len(self.word(_EXPONENT)), self.word(name)
        scale, word = self.scales.symbolic(solver), solver.variable(name, len(nets))
        known = dict(zip(nets, solver.bits(word, len(nets)), strict=True)) | self.scales.known(solver, scale)
        limit = self.lanes.count * self.largest(self.lsb_exponent)
        magnitude = word
        if self._has_significands:
            limit *= int(self.scales.significands.max()) ** 2
        else:
            magnitude = self._magnitude(solver, word)
        if limit >> bits or limit >> len(nets):
            raise NotShownError(f"{_SIGNIFICAND} is too short for the largest sum")
        room = max(len(nets) + bits, EXPONENT_BITS)  # no bit may leave it
        wide = solver.term("BV_ZERO_EXTEND", magnitude, indices=(room - len(nets),))
        out = {
            item: solver.join(solver.nets(self.netlist, known, self.word(item))) for item in (_SIGNIFICAND, _EXPONENT)
        }
        own = (
            {_IS_ZERO: solver.join(solver.nets(self.netlist, known, self.word(_IS_ZERO)))} if self._has_is_zero else {}
        )
        is_zero = self._says_zero(solver, own | out)
        nothing = solver.either([solver.equal(wide, solver.word(0, room)), scale.is_zero])
        significand = solver.term("BV_ZERO_EXTEND", out[_SIGNIFICAND], indices=(room - bits,))
        hits = []
        for places in range(bits):  # the exponent is bits - 1 - places, and that of the scale
            exponent = solver.term("BV_ADD", scale.exponent, solver.number(bits - 1 - places, EXPONENT_BITS))
            moved = solver.term("BV_SHL", wide, solver.word(places, room))
            same = solver.equal(solver.extract(exponent, width - 1), out[_EXPONENT])
            hits.append(solver.all([same, solver.equal(moved, significand)]))
        first = solver.bits(out[_SIGNIFICAND], bits)[-1]
        no_bits = solver.either([scale.is_zero, solver.equal(out[_SIGNIFICAND], solver.word(0, bits))])
        some = solver.all([solver.negate(is_zero), first, solver.either(hits)])
        claim = solver.choose(nothing, solver.all([is_zero, no_bits]), some)
        bounded = solver.term("BV_ULE", wide, solver.word(limit, room))
        conditions = [solver.either([bounded, scale.is_zero]), solver.negate(scale.is_nan)]
        if not self._has_significands:
            conditions.append(self._in_range(solver, word))
        low, high = self.exponents
        if high - low >> width or width > EXPONENT_BITS:
            raise NotShownError(f"{_EXPONENT} is too short for all exponents, or longer than {EXPONENT_BITS} bits")
        if solver.search(solver.term("IMPLIES", solver.all(conditions), claim), {}) is not None:
            raise NotShownError(f"{_SIGNIFICAND} and {_EXPONENT} are not the normalized sum")

    # -- queries

    @cached_property
    def exponents(self) -> tuple[int, int]:
        """Smallest and largest exponent of a sum that is not 0."""
        low, high = self.scales.exponents
        return low, high + len(self.word(_SIGNIFICAND)) - 1

    @property
    def origin(self) -> int:
        """See :class:`NormalizedProof`."""
        return self.lsb_exponent - self.scales.fraction_bits - (len(self.word(_SIGNIFICAND)) - 1)

    def minus(self, query: Query) -> "Term":
        """See :class:`NormalizedProof`."""
        return query.solver.equal(query.words[_SIGN], query.solver.word(1, 1))

    def _says_zero(self, solver: Solver, words: Mapping[str, "Term"]) -> "Term":
        """Whether the nets say that the sum is zero."""
        if self._has_is_zero:
            return solver.equal(words[_IS_ZERO], solver.word(1, 1))
        return solver.negate(solver.bits(words[_SIGNIFICAND], len(self.word(_SIGNIFICAND)))[-1])

    def is_zero(self, query: Query) -> list["Term"]:
        """Without products, or with a scale of 0."""
        solver, significand = query.solver, query.words[_SIGNIFICAND]
        no_bits = solver.equal(significand, solver.word(0, significand.sort().bv_size()))
        plus = solver.negate(self.minus(query))
        return [
            self._says_zero(solver, query.words),
            solver.either([query.scale.is_zero, solver.all([no_bits, plus])]),
            plus if self.limits[0] >= 0 else solver.true,
        ]

    def is_not_zero(self, query: Query) -> list["Term"]:
        """A first bit, and a sign that the lanes can have."""
        solver, minus = query.solver, self.minus(query)
        all_negative = solver.all(query.lanes(lambda member: member.negative))
        return [
            solver.negate(query.scale.is_zero),
            solver.negate(self._says_zero(solver, query.words)),
            solver.bits(query.words[_SIGNIFICAND], len(self.word(_SIGNIFICAND)))[-1],
            solver.term("IMPLIES", all_negative, minus),
            solver.negate(minus) if self.limits[0] >= 0 else solver.true,
        ]

    def example(self, choices: Sequence[Choice], found: Mapping[str, int]) -> dict[str, int]:
        """The same, if possible with lanes and scales that have the sum that the solver has found."""
        significand, width = found[_SIGNIFICAND], len(self.word(_EXPONENT))
        classes = [choice.classes[found[f"class_{lane}"]] for lane, choice in enumerate(choices)]
        low, high = self.exponents
        exponent = low + (found[_EXPONENT] - low) % (1 << width)
        is_finite = all(np.isfinite(member.product) for member in classes)
        if not significand or found.get(_IS_ZERO) or exponent > high or not is_finite:
            return super().example(choices, found)
        exponent += self.origin - self.lsb_exponent  # of the last bit, in that of the sum
        while True:
            pins = self.scales.pins_of(exponent)
            total = -significand if found[_SIGN] else significand
            chosen = {} if pins is None else self.lanes.codes_of_sum(total, self.lsb_exponent)
            if chosen and pins is not None:
                return self.lanes.pins(chosen, {"acc_in": found["acc_in"], **pins})
            if significand & 1 or not significand:
                return super().example(choices, found)
            significand, exponent = significand >> 1, exponent + 1
