"""The proof of sums by bulk normalization, which rounds to odd: products, their sum, and that with the accumulator.

The reference is :mod:`golden.arithmetic.bulk`.
"""

from collections.abc import Sequence
from functools import cached_property

from golden.wide import bulk_bits
from hwgen.blocks.block import Design
from synth.proof.bits import Bits, Bool, cat, ite
from synth.proof.dot import specials_after
from synth.proof.floating import Query
from synth.proof.gates import Netlist, NotShownError, cut
from synth.proof.lanes import Lanes
from synth.proof.levels import LEVEL, TOTAL, LeveledProof
from synth.proof.rounded import NormalizedProof, Number
from synth.proof.rounding import EXPONENT_BITS, Exact, Rounded, odd_to
from synth.proof.solver import Pins, Solver

_SIGNIFICAND, _EXPONENT = "sum_significand", "sum_exponent"
_IS_ZERO, _SIGN, _PAST = "sum_is_zero", "sign of total", "sum_past_largest"


class BulkDotProof(LeveledProof, NormalizedProof):
    """A sum of products into ``rvbna``.

    Part 0 shows that ``largest_level`` is the largest level of all products but zeros; that ``total`` is the sum of all
    products, each rounded to odd for that level, which is evaluated for all pairs of codes and all levels; and that
    ``sum_significand`` and ``sum_exponent`` are that sum, rounded to odd in the accumulator's format, for any total,
    level and scale, unless ``sum_is_zero``, or ``sum_past_largest`` if there is such a net. The other parts are those
    of a number and an accumulator, with the sum rounded to odd.
    """

    method = (
        "proof by decomposition: the full adders add, every lane adds its product, rounded to odd for the largest "
        "exponent, for all pairs of codes and all exponents; the solver (bitwuzla) shows which is the largest, "
        "normalizes all sums with all scales, and rounds them with all accumulators to odd, by their distance"
    )
    significand, exponent = _SIGNIFICAND, _EXPONENT
    is_odd = True

    def __init__(self, design: Design, netlist: Netlist):
        super().__init__(design, netlist)
        self.fraction_bits = bulk_bits(design.lanes)

    @property
    def others(self) -> tuple[str, ...]:
        """The sign; whether the sum is zero; whether it is too large, if there is a net for that."""
        return (_SIGN, _IS_ZERO, *([_PAST] if self.has_word(_PAST) else []))

    def word(self, name: str) -> tuple[int, ...]:
        """The bits of a named net, or the last bit of the sum, which has no name in a pipeline."""
        return super().word(TOTAL)[-1:] if name == _SIGN else super().word(name)

    def show(self) -> None:
        """Show the largest level, the sum, and the number that it is rounded to."""
        self._check_largest()
        self._check_total()
        self._check_number()

    # -- part 0

    def _check_largest(self) -> None:
        solver = Solver()
        choices, _, some, bounded, own = self.levels_of(solver, {})
        if found := self.searched(choices, [some], bounded & own, {}):
            pins = self.lanes.pins_of(found[1], self.scales.pins_of(0) or {})
            raise NotShownError("largest_level is not the largest level", [pins])

    def _check_total(self) -> None:
        level = self.word(LEVEL)
        netlist = cut(self.netlist, LEVEL, level)
        form, lanes = self.form(netlist, TOTAL, len(level)), Lanes(self.design, netlist, scaled=False)
        *parts, others = lanes.split(form.terms, sum(1 << net for net in netlist.input_nets(LEVEL)))
        if others:
            raise NotShownError("total is not a sum of words that belong to one lane each")
        self.check_rows(lanes, form, parts, is_framed=False, follows=False)
        if self._largest_total >= form.modulus // 2:
            raise NotShownError("total is too short for the largest sum")

    @property
    def _largest_total(self) -> int:
        return self.lanes.count * (self.largest_addend + 1)

    def _check_number(self) -> None:
        solver, width, precision = Solver(), len(self.word(TOTAL)), self.target.precision
        total, level = solver.variable(TOTAL, width), solver.variable(LEVEL, len(self.word(LEVEL)))
        scale = self.scales.symbolic(solver)
        known, relations = self.bound_words(solver, [(self.word(TOTAL), total), (self.word(LEVEL), level)])
        known |= self.scales.known(scale)
        names = (_SIGNIFICAND, _EXPONENT, *self.others)
        own = {name: cat(*solver.nets(self.netlist, known, self.word(name))) for name in names}
        significand, magnitude = own[_SIGNIFICAND], abs(total.signed)
        largest = level.to(EXPONENT_BITS).signed
        unit = largest - (self.offset + self.fraction_bits) + scale.exponent
        room = max(magnitude.width, precision)
        magnitude = magnitude.to(room) << room - magnitude.width
        unit = unit - (room - width)
        is_number = solver.any(  # nothing leaves the word: bit -1 - places is the first 1
            (magnitude >> room - 1 - places == 1) & self._is_odd(own, magnitude << places, unit + (room - 1 - places))
            for places in range(width)
        )
        is_zero, past = own[_IS_ZERO][0], own[_PAST][0] if _PAST in own else solver.false
        claim = ite(total == 0, is_zero & (significand == 0) & ~past, ~is_zero & is_number)
        levels = self.levels[self.numbers]
        possible = (largest >= int(levels.min())) & (largest <= int(levels.max())) | (total == 0)
        possible &= (total.signed >= -self._largest_total) & (total.signed <= self._largest_total) & ~scale.is_nan
        claim &= own[_SIGN][0] == total[-1]
        if solver.search(solver.all([possible, *relations]).implies(claim), {}) is not None:
            raise NotShownError(f"{_SIGNIFICAND} and {_EXPONENT} are not the sum, rounded to odd")

    def _is_odd(self, own: dict[str, Bits], moved: Bits, first: Bits) -> Bool:
        """Whether nets are a number whose first bit, that of ``moved``, weighs ``2**first``, rounded to odd."""
        target, precision, bits = self.target, self.target.precision, len(self.word(_EXPONENT))
        smallest = 1 - target.bias
        room = max(moved.width, precision + EXPONENT_BITS)
        below = ite(first < smallest, smallest - first, 0)  # places that a subnormal number lacks
        wide = moved.to(2 * room) << 2 * room - moved.width
        kept = wide >> 2 * room - precision
        lost = wide << precision != 0
        rest = kept & ((kept.constant(1) << below) - 1)
        unit = kept.constant(1) << below
        cut_off = kept - rest
        odd = ite(((rest != 0) | lost) & (kept & unit == 0), cut_off + unit, cut_off)
        is_tiny = below >= precision  # the smallest number, which has one bit
        expected = ite(is_tiny, kept.constant(1 << precision - 1), odd)[:precision]
        place = ite(is_tiny, first.constant(smallest - precision + 1), first) + self.offset
        is_moved = (own[_SIGNIFICAND] == expected) & (own[_EXPONENT] == place[:bits])
        if _PAST not in own:
            return is_moved
        return ite(first > target.bias, own[_PAST][0], is_moved & ~own[_PAST][0])

    # -- queries

    @cached_property
    def number(self) -> Number:
        (low, high), levels, target = self.scales.exponents, self.levels[self.numbers], self.target
        first = len(self.word(TOTAL)) - 2 - self.fraction_bits
        ends = int(levels.min()) - self.fraction_bits + low, int(levels.max()) + first + high
        limits = target.ulp_exponent + self.offset, target.bias + self.offset
        largest = int(levels.max()) + self._largest_total.bit_length() - 1 - self.fraction_bits + high
        if largest > limits[1] and not self.has_word(_PAST):
            raise NotShownError(f"some sums are too large, and the module has no net {_PAST}")
        origin = -self.offset - target.fraction_bits
        ends = max(ends[0], limits[0]), min(ends[1], limits[1])
        bits = len(self.word(_EXPONENT))
        if ends[1] - ends[0] >> bits or bits > EXPONENT_BITS:
            raise NotShownError(f"{_EXPONENT} is too short for all exponents, or longer than {EXPONENT_BITS} bits")
        return Number(origin, ends, self._minus, self._is_zero, self._is_not_zero)

    @staticmethod
    def _minus(query: Query) -> Bool:
        return query.words[_SIGN][0]

    @staticmethod
    def _past(query: Query) -> Bool:
        return query.words[_PAST][0] if _PAST in query.words else query.solver.false

    def _is_zero(self, query: Query) -> Bool:
        zero = query.words[_IS_ZERO][0] & (query.words[_SIGNIFICAND] == 0)
        return zero & ~self._past(query) & ~self._minus(query)

    def _is_not_zero(self, query: Query) -> Bool:
        return ~query.words[_IS_ZERO][0] & query.words[_SIGNIFICAND][-1] & ~self._past(query)

    def rounded(self, _query: Query, body: Bits, exact: Exact) -> Rounded:
        return odd_to(self.target, body, exact)

    def _zero(self, query: Query) -> Pins | None:
        """The sum of +0 and the accumulator is the accumulator, but +0 for -0."""
        acc, never = query.acc, query.solver.false
        rounded = Rounded(query.out[: self.target.width - 1] == acc[:-1], never, never, never)
        return self.judged(query, [self._is_zero(query), self._is_number(query)], rounded, acc[-1] & (acc[:-1] != 0))

    def specials(self, query: Query, conditions: Sequence[Bool] = ()) -> Pins | None:
        """Results with any infinity or NaN: first those of the products' sum, then of the addition."""
        solver, acc, scale, k = query.solver, query.acc, query.scale, self.target.fraction_bits
        acc_special = solver.all(acc[k:-1])
        acc_nan = acc_special & (acc[:k] != 0)
        (plus, minus, nan), invalid = specials_after(solver, query.choices, (solver.false, solver.false, scale.is_nan))
        past = self._past(query) & query.are_finite & ~scale.is_nan
        plus, minus = plus | past & ~self._minus(query), minus | past & self._minus(query)
        opposite = acc_special & ~acc_nan & ~nan & ite(acc[-1], plus, minus)
        is_nan, is_minus = nan | acc_nan | opposite, minus | acc_special & acc[-1]
        claim = self._special_bits(query, is_nan, is_minus, acc_special)
        invalid = invalid & ~scale.is_nan | opposite | acc_nan & ~acc[k - 1]
        special = acc_special | scale.is_nan | ~query.are_finite | past
        # a product that is not finite leaves what the nets of the sum are unknown
        possible = past.implies(~query.words[_IS_ZERO][0])
        return self.search(query, [special, possible, *conditions], claim, [solver.false, solver.false, past, invalid])
