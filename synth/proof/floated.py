"""The proof of dot products whose sum is normalized, and scaled, before it meets the accumulator."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from golden.wide import POSITIVE
from hwgen.blocks.block import Design
from synth.proof.adders import linear_form
from synth.proof.bitslice import CASES, from_planes, to_planes
from synth.proof.dot import Choice
from synth.proof.floating import ProductsSumProof, Query
from synth.proof.gates import Netlist, NotShownError
from synth.proof.lanes import evaluated
from synth.proof.rounding import Rounded, Rounding, Sum, summed
from synth.proof.scales import EXPONENT_BITS
from synth.proof.solver import Solver

if TYPE_CHECKING:
    from bitwuzla import Term

_GUARD = 4
"""Places below the last bit of the accumulator at which a sum far below it is represented by its sign alone."""

_SPECIAL, _ZERO, _BELOW, _ABOVE, _NEAR = "special", "zero", "below", "above", "near"
"""Sums of a part: with any infinity or NaN; without products; the accumulator far below, far above, or neither."""

_SUM, _SCALED, _SIGNIFICAND, _EXPONENT = "products_sum", "scaled_magnitude", "sum_significand", "sum_exponent"
_IS_ZERO, _SIGN = "sum_is_zero", "sign of products_sum"


class _Part(NamedTuple):
    """Sums whose accumulator's last bit weighs ``2**distance`` last bits of ``sum_significand``, more or less."""

    kind: str
    distance: int = 0


class FloatedDotProof(ProductsSumProof):
    """A dot product into a wide format of precision p, whose products have a common factor.

    The module must have the net ``products_sum``, the exact sum S of all products. It must have the normalized sum T:
    the nets ``sum_significand`` with n bits, ``sum_exponent`` and ``sum_is_zero``; and ``scaled_magnitude`` if scales
    have significands. Part 0 shows that they are S, |S| times both significands, and what that is with both exponents:
    adders and lanes, adders and all codes of the scales, the solver.

    From there on T is any number of n bits whose first bit is 1. The distance is that of the last bits of C, the
    accumulator, and T. The solver rounds the integer T + C for each distance, whatever the exponents. Two kinds of
    accumulators need no query for each distance, because the sign of one number stands for the other:

    * below: numbers of the target and midpoints between them are multiples of g times T's last bit, or coarser, for
      g = min(1, 2**(n - p - 2)). C < g / 2 is represented by g / 4: no such number lies between T and T + C.
    * above: T is less than an eighth of the last place of C, and is represented by a sixteenth. Midpoints are at least
      a quarter of a place away from C, the one below a power of two; this includes C = 0, and its place.
    """

    method = (
        "proof by decomposition: the full adders add, every lane adds its product for all pairs of codes, the solver "
        "(bitwuzla) normalizes all sums with all scales, and rounds them with all accumulators, by their distance"
    )

    def __init__(self, design: Design, netlist: Netlist, compares: bool = False):
        super().__init__(design, netlist, compares)
        self.parts = 1
        if not self.has_word(_SIGNIFICAND):  # part 0 says so
            return
        bits, precision = len(self.word(_SIGNIFICAND)), self.target.precision
        self.grid = min(0, bits - precision - 2)
        low, high = self.grid - precision, bits + 2
        self.queries = [_Part(_SPECIAL), _Part(_ZERO), _Part(_BELOW, low - 1), _Part(_ABOVE, high + 1)]
        self.queries += [_Part(_NEAR, distance) for distance in range(low, high + 1)]
        self.parts = 1 + len(self.queries)

    def prove(self, part: int) -> dict[str, int] | None:
        """Part 0 shows the normalized sum; the others round it."""
        if not part:
            self.check_sum()
            if self.is_flipped:
                raise NotShownError(f"{_SUM} depends on the accumulator's sign")
            if self._has_significands:
                self._check_scaled()
            self._check_normalized()
            return None
        this = self.queries[part - 1]
        query, exponent = self._query(this)
        if this.kind == _SPECIAL:
            return self.specials(query)
        return self._zero(query) if this.kind == _ZERO else self._finite(query, exponent, this)

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
        is_zero = solver.nets(self.netlist, known, self.word(_IS_ZERO))[0]
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
        low, high = self._exponents
        if high - low >> width or width > EXPONENT_BITS:
            raise NotShownError(f"{_EXPONENT} is too short for all exponents, or longer than {EXPONENT_BITS} bits")
        if solver.search(solver.term("IMPLIES", solver.all(conditions), claim), {}) is not None:
            raise NotShownError(f"{_SIGNIFICAND} and {_EXPONENT} are not the normalized sum")

    @cached_property
    def _exponents(self) -> tuple[int, int]:
        """Smallest and largest exponent of a sum that is not 0."""
        low, high = self.scales.exponents
        return low, high + len(self.word(_SIGNIFICAND)) - 1

    # -- queries

    def _query(self, part: _Part) -> tuple[Query, "Term"]:
        """Outputs for any sum, and its exponent; of one distance, it follows from that of the accumulator."""
        exponents = []

        def made(solver: Solver, acc: "Term") -> dict[str, "Term"]:
            exponent = solver.variable("exponent", EXPONENT_BITS)
            if part.kind == _NEAR:
                origin = solver.number(self._origin + part.distance, EXPONENT_BITS)
                exponent = solver.term("BV_SUB", self._acc_weight(solver, acc), origin)
            exponents.append(exponent)
            return {_EXPONENT: solver.extract(exponent, len(self.word(_EXPONENT)) - 1)}

        return self.query([_SIGNIFICAND, _IS_ZERO, _SIGN], made=made), exponents[0]

    def _acc_weight(self, solver: Solver, acc: "Term") -> "Term":
        """Exponent of the last bit of the accumulator."""
        target, k = self.target, self.target.fraction_bits
        field = solver.extract(acc, target.width - 2, k)
        if not target.flush:
            one = solver.word(1, target.exponent_bits)
            field = solver.choose(solver.equal(field, solver.word(0, target.exponent_bits)), one, field)
        wide = solver.term("BV_ZERO_EXTEND", field, indices=(EXPONENT_BITS - target.exponent_bits,))
        return solver.term("BV_SUB", wide, solver.number(target.bias + k, EXPONENT_BITS))

    @property
    def _origin(self) -> int:
        """Exponent of the last bit of a significand whose exponent is 0."""
        return self.lsb_exponent - self.scales.fraction_bits - (len(self.word(_SIGNIFICAND)) - 1)

    def _is_number(self, query: Query) -> list["Term"]:
        """Conditions for which nothing is infinite or NaN."""
        solver, acc, target = query.solver, query.acc_bits, self.target
        special = acc[:-1] if target.flush else acc[target.fraction_bits : -1]
        lanes = solver.either(query.lanes(lambda member: not np.isfinite(member.product)))
        return [solver.negate(term) for term in (solver.all(special), lanes, query.scale.is_nan)]

    def _zero(self, query: Query) -> dict[str, int] | None:
        """Without products, or with a scale of 0, the sum is the accumulator."""
        solver, width, acc = query.solver, self.target.width, query.acc_bits
        code, acc_code = (solver.extract(word, width - 2) for word in (query.out, query.acc))
        all_negative = solver.all(query.lanes(lambda member: member.negative))
        if self.design.core.zero == POSITIVE:
            all_negative = solver.false
        sign = solver.all([acc[-1], solver.either([*acc[:-1], all_negative])])
        tiny = solver.negate(solver.either(acc[self.target.fraction_bits : -1]))
        rounded = Rounded(solver.equal(code, acc_code), solver.false, tiny, solver.false)
        significand = query.words[_SIGNIFICAND]
        no_bits = solver.equal(significand, solver.word(0, significand.sort().bv_size()))
        plus = solver.equal(query.words[_SIGN], solver.word(0, 1))
        conditions = [
            solver.equal(query.words[_IS_ZERO], solver.word(1, 1)),
            solver.either([query.scale.is_zero, solver.all([no_bits, plus])]),
            plus if self.limits[0] >= 0 else solver.true,
            *self._is_number(query),
        ]
        return self.judged(query, conditions, rounded, sign)

    def _finite(self, query: Query, exponent: "Term", part: _Part) -> dict[str, int] | None:
        """Sums of numbers that are not 0."""
        solver, width, acc = query.solver, self.target.width, query.acc_bits
        weight = solver.term("BV_ADD", exponent, solver.number(self._origin, EXPONENT_BITS))
        acc_weight = self._acc_weight(solver, query.acc)
        minus = solver.equal(query.words[_SIGN], solver.word(1, 1))
        exact, negative, zero = self._sum(query, part, weight, acc_weight, solver.term("XOR", minus, acc[-1]))
        code = solver.extract(query.out, width - 2)
        rounded = Rounding(solver, self.target).of(code, exact)
        sign = solver.all([solver.negate(zero), solver.term("XOR", negative, acc[-1])])
        if self.design.core.zero == POSITIVE:
            sign = solver.all([sign, solver.negate(solver.equal(code, solver.word(0, width - 1)))])

        low, high = (solver.number(limit, EXPONENT_BITS) for limit in self._exponents)
        bits = len(self.word(_SIGNIFICAND))
        distance = solver.term("BV_SUB", acc_weight, weight)
        all_negative = solver.all(query.lanes(lambda member: member.negative))
        conditions = [
            *self._is_number(query),
            solver.negate(query.scale.is_zero),
            solver.equal(query.words[_IS_ZERO], solver.word(0, 1)),
            solver.bits(query.words[_SIGNIFICAND], bits)[-1],
            solver.term("BV_SGE", exponent, low),
            solver.term("BV_SLE", exponent, high),
            solver.term("IMPLIES", all_negative, minus),
            solver.negate(minus) if self.limits[0] >= 0 else solver.true,
        ]
        if part.kind in (_BELOW, _ABOVE):
            kind = "BV_SLE" if part.kind == _BELOW else "BV_SGE"
            conditions.append(solver.term(kind, distance, solver.number(part.distance, EXPONENT_BITS)))
        return self.judged(query, conditions, rounded, sign)

    def _sum(self, query: Query, part: _Part, weight: "Term", acc_weight: "Term", flip: "Term") -> Sum:
        """The exact sum, in units that the last bits of both are multiples of, or of what stands for one of them."""
        solver, target, k = query.solver, self.target, self.target.fraction_bits
        acc = query.acc_bits
        some = solver.either(acc[:-1])
        significand = solver.join([*acc[:k], some if target.flush else solver.either(acc[k:-1])])
        number, bits = query.words[_SIGNIFICAND], len(self.word(_SIGNIFICAND))
        if part.kind == _BELOW:
            below = 2 - self.grid
            terms, base = ((number, bits, below), (solver.join([some]), 1, 0)), (weight, below)
        elif part.kind == _ABOVE:
            terms, base = ((solver.word(1, 1), 1, 0), (significand, k + 1, _GUARD)), (acc_weight, _GUARD)
        else:
            places = max(-part.distance, 0), max(part.distance, 0)
            terms, base = ((number, bits, places[0]), (significand, k + 1, places[1])), (weight, places[0])
        size = max(width + places for _, width, places in terms) + 2
        products, addend = (
            solver.term(
                "BV_SHL", solver.term("BV_ZERO_EXTEND", term, indices=(size - width,)), solver.word(places, size)
            )
            for term, width, places in terms
        )
        products = solver.choose(flip, solver.term("BV_NEG", products), products)
        return summed(
            solver,
            solver.term("BV_ADD", products, addend),
            size,
            solver.term("BV_SUB", base[0], solver.number(base[1], EXPONENT_BITS)),
        )

    def example(self, choices: Sequence[Choice], found: Mapping[str, int]) -> dict[str, int]:
        """The same, if possible with lanes and scales that have the sum that the solver has found."""
        significand, width = found[_SIGNIFICAND], len(self.word(_EXPONENT))
        classes = [choice.classes[found[f"class_{lane}"]] for lane, choice in enumerate(choices)]
        low, high = self._exponents
        exponent = low + (found[_EXPONENT] - low) % (1 << width)
        if found[_IS_ZERO] or exponent > high or not all(np.isfinite(member.product) for member in classes):
            return super().example(choices, found)
        exponent += self._origin - self.lsb_exponent  # of the last bit, in that of the sum
        while True:
            pins = self.scales.pins_of(exponent)
            total = -significand if found[_SIGN] else significand
            chosen = {} if pins is None else self.lanes.codes_of_sum(total, self.lsb_exponent)
            if chosen and pins is not None:
                return self.lanes.pins(chosen, {"acc_in": found["acc_in"], **pins})
            if significand & 1 or not significand:
                return super().example(choices, found)
            significand, exponent = significand >> 1, exponent + 1
