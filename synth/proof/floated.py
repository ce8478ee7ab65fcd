"""The proof of dot products whose sum is normalized, and scaled, before it meets the accumulator."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from synth.proof.adders import linear_form
from synth.proof.bits import Bits, Bool, cat, ite
from synth.proof.bitslice import all_words, evaluated, from_planes
from synth.proof.floating import Query
from synth.proof.gates import NotShownError
from synth.proof.lanes import LaneClass
from synth.proof.rounded import NormalizedProof, Number
from synth.proof.rounding import EXPONENT_BITS
from synth.proof.solver import Pins, Solver

_SUM, _SCALED, _SIGNIFICAND, _EXPONENT = "products_sum", "scaled_magnitude", "sum_significand", "sum_exponent"
_IS_ZERO, _SIGN, _MAGNITUDE = "sum_is_zero", "sign of products_sum", "products_magnitude"


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
            self._check_magnitude(_MAGNITUDE)
            if self._wrong_scales[self._factors > 0].any():  # a zero and a NaN decide the result alone
                raise NotShownError(f"{_SCALED} is not {_MAGNITUDE} times the significands of the scales")
        self._check_normalized()

    def word(self, name: str) -> tuple[int, ...]:
        """Bits of a net; the sign of the products' sum is the last bit of the sum."""
        return super().word(_SUM)[-1:] if name == _SIGN else super().word(name)

    # -- part 0

    @cached_property
    def _has_significands(self) -> bool:
        return bool((self.scales.significands > 1).any())

    @cached_property
    def _largest_sum(self) -> int:
        return self.lanes.count * self.largest(self.lsb_exponent)

    def _check_magnitude(self, name: str) -> None:
        """A word is |S|."""
        solver, total, nets = Solver(), self.word(_SUM), self.word(name)
        word = solver.variable(_SUM, len(total)).signed
        own = cat(*solver.nets(self.netlist, dict(zip(total, word, strict=True)), nets))
        room = max(len(nets), len(total))
        if self._largest_sum >> min(len(nets), len(total)):
            raise NotShownError(f"{name} is too short for the largest sum")
        if solver.search(self._in_range(word).implies(own.to(room) == abs(word).to(room)), {}) is not None:
            raise NotShownError(f"{name} is not that of the sum")

    @cached_property
    def _factors(self) -> NDArray[np.float64]:
        """What two scales multiply the sum by, for all their codes; the code of a counts the fastest."""
        values = self.scales.fmt.values if self.scales.fmt else np.ones(1)
        return np.outer(values, values).ravel()

    @cached_property
    def _zero_scales_are_silent(self) -> bool:
        """Whether the scaled magnitude is 0 where a scale is."""
        return self._has_significands and not self._wrong_scales[self._factors == 0].any()

    @cached_property
    def _wrong_scales(self) -> NDArray[np.bool_]:
        """Whether ``scaled_magnitude`` is not |S| times the significands of both scales, for all their codes."""
        form, scales = linear_form(self.netlist, self.word(_SCALED)), self.scales
        place_of = {net: place for place, net in enumerate(self.word(_MAGNITUDE))}
        codes = [net for nets in scales.nets.values() for net in nets]
        places = self._places_of(form.terms, place_of, codes)
        planes, count = all_words(len(codes)), 1 << len(codes)
        inputs = dict(zip(codes, planes, strict=True))
        off, on = (
            evaluated(self.netlist, list(form.terms), {**inputs, **dict.fromkeys(place_of, bits)}, planes.shape[1])
            for bits in (np.uint64(0), ~np.uint64(0))
        )
        own, size = np.arange(count), len(scales.significands)
        products = scales.significands[own % size] * scales.significands[own // size]
        sums = np.zeros((len(place_of) + 1, count), np.int64)  # of each place of the magnitude, and of none
        sums[-1] += form.constant
        for place, weight, without, with_it in zip(places, form.terms.values(), off, on, strict=True):
            zero, one = (from_planes(row[np.newaxis]).astype(np.int64)[:count] for row in (without, with_it))
            sums[-1] += zero * weight
            sums[place] += (one - zero) * weight
        expected = np.array([products << place for place in range(len(place_of))] + [np.zeros(count, np.int64)])
        if form.modulus.bit_length() > 62:
            raise NotShownError(f"{_SCALED} has more than 61 bits")
        return np.asarray(((sums - expected) % form.modulus).any(axis=0))

    def _places_of(self, nets: Iterable[int], place_of: Mapping[int, int], codes: Iterable[int]) -> list[int]:
        """The place of the only bit of the magnitude that each net depends on, beside codes of scales; -1 for none."""
        masks, places = self.netlist.supports(place_of), []
        own, inside = (sum(1 << net for net in word) for word in (codes, place_of))
        for net in nets:
            mask = masks[net] & ~own if net >= 0 else 0
            if mask & ~inside:
                raise NotShownError(f"{_SCALED} depends on other inputs than scales and the sum")
            if net < 0 or mask & (mask - 1):
                raise NotShownError(f"{_SCALED} is not a sum of products of bits")
            places.append(place_of[mask.bit_length() - 1] if mask else -1)
        return places

    def _in_range(self, total: Bits) -> Bool:
        """Whether a sum of all products can have this value."""
        low, high = self.limits
        return (total >= low) & (total <= high)

    @cached_property
    def _limit(self) -> int:
        """The largest scaled magnitude."""
        return self._largest_sum * int(self.scales.significands.max()) ** 2

    @cached_property
    def _dropped(self) -> int:
        """Last bits that the significand lacks: no random word reaches them, and there are no flags that would."""
        bits, reached = len(self.word(_SIGNIFICAND)), self.target.precision + self.inputs.get("random", 0)
        is_cut = not self.acc_nets and "random" in self.inputs and len(self.outputs) == 1 and bits >= reached
        return max(self._limit.bit_length() - bits, 0) if is_cut else 0

    @property
    def _bits(self) -> int:
        return len(self.word(_SIGNIFICAND)) + self._dropped

    def _check_normalized(self) -> None:
        """The significand is the scaled magnitude, moved left to its first 1; the exponent says by how many places."""
        solver, name = Solver(), _SCALED if self._has_significands else _SUM
        nets = self.word(name)
        bits, width, limit = self._bits, len(self.word(_EXPONENT)), self._limit
        if limit >> bits or limit >> len(nets):
            raise NotShownError(f"{_SIGNIFICAND} is too short for the largest sum")
        low, high = self.number.exponents
        if high - low >> width or width > EXPONENT_BITS:
            raise NotShownError(f"{_EXPONENT} is too short for all exponents, or longer than {EXPONENT_BITS} bits")
        scale, word = self.scales.symbolic(solver), solver.variable(name, len(nets))
        known = dict(zip(nets, word, strict=True)) | self.scales.known(scale)
        names = [_SIGNIFICAND, _EXPONENT, *self.others[:-1]]
        own = {name: cat(*solver.nets(self.netlist, known, self.word(name))) for name in names}
        room = max(len(nets) + bits, EXPONENT_BITS)  # no bit may leave it
        magnitude = (word if self._has_significands else abs(word.signed)).to(room)
        significand, is_zero = own[_SIGNIFICAND], self._says_zero(own)
        is_moved = solver.any(
            ((scale.exponent + (bits - 1 - places))[:width] == own[_EXPONENT])
            & ((magnitude << places) >> self._dropped == significand.to(room))
            for places in range(bits)
        )
        claim = ite(
            (magnitude == 0) | scale.is_zero,
            is_zero & (scale.is_zero & (not self._zero_scales_are_silent) | (significand == 0)),
            ~is_zero & significand[-1] & is_moved,
        )
        under_zero = magnitude == 0 if self._zero_scales_are_silent else solver.true
        possible = ite(scale.is_zero, under_zero, magnitude <= limit) & ~scale.is_nan
        if not self._has_significands:
            possible &= self._in_range(word.signed)
        if solver.search(possible.implies(claim), {}) is not None:
            raise NotShownError(f"{_SIGNIFICAND} and {_EXPONENT} are not the normalized sum")

    # -- queries

    @cached_property
    def number(self) -> Number:
        (low, high), bits = self.scales.exponents, self._bits
        origin = self.lsb_exponent - self.scales.fraction_bits - (bits - 1) + self._dropped
        return Number(origin, (low, high + bits - 1), self._minus, self._is_zero, self._is_not_zero)

    @staticmethod
    def _minus(query: Query) -> Bool:
        return query.words[_SIGN][0]

    def _says_zero(self, words: Mapping[str, Bits]) -> Bool:
        """Whether the nets say that the sum is zero."""
        return words[_IS_ZERO][0] if self._has_is_zero else ~words[_SIGNIFICAND][-1]

    def _is_zero(self, query: Query) -> Bool:
        """Without products, or with a scale of 0."""
        plus, zero = ~self._minus(query), query.words[_SIGNIFICAND] == 0
        nothing = query.scale.is_zero & (zero | (not self._zero_scales_are_silent)) | zero & plus
        return self._says_zero(query.words) & nothing & (plus | (self.limits[0] < 0))

    def _is_not_zero(self, query: Query) -> Bool:
        """A first bit, and a sign that the lanes can have."""
        minus, all_negative = self._minus(query), query.all(lambda member: member.negative)
        some = ~query.scale.is_zero & ~self._says_zero(query.words) & query.words[_SIGNIFICAND][-1]
        return some & all_negative.implies(minus) & (~minus | (self.limits[0] < 0))

    def example(self, values: Pins, members: Sequence[LaneClass]) -> Pins:
        """The same, if possible with lanes and scales that have the sum that the solver has found."""
        significand, (low, high) = values[_SIGNIFICAND], self.number.exponents
        exponent = low + (values[_EXPONENT] - low) % (1 << len(self.word(_EXPONENT)))
        is_finite = all(member.is_finite for member in members)
        if not significand or values.get(_IS_ZERO) or exponent > high or not is_finite:
            return super().example(values, members)
        exponent += self.number.origin - self.lsb_exponent  # of the last bit, in that of the sum
        while True:
            pins = self.scales.pins_of(exponent)
            total = -significand if values[_SIGN] else significand
            codes = {} if pins is None else self.lanes.codes_of_sum(total, self.lsb_exponent)
            if codes and pins is not None:
                return self.lanes.pins(codes, self.before(values) | pins)
            if significand & 1:
                return super().example(values, members)
            significand, exponent = significand >> 1, exponent + 1
