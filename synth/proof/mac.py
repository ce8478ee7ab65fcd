"""Proofs of MACs with too many inputs to enumerate.

The netlist is cut where gates stop depending on the codes alone. The gates before the cut are evaluated for all pairs
of codes. Pairs with the same bits at the cut and the same product in the reference model form a *class*. The solver
sees classes and accumulators, but no multiplier.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property, partial

import numpy as np
from bitwuzla import RoundingMode
from numpy.typing import NDArray

import golden
from golden.arithmetic.options import ACCUMULATOR, ALL
from golden.wide import POSITIVE
from hwgen.blocks.block import Design
from synth.proof.bits import Bits, Bool, cat, ite
from synth.proof.dot import Choice, SumProof, specials_after
from synth.proof.factors import Factors
from synth.proof.floating import Query
from synth.proof.gates import Netlist, NotShownError
from synth.proof.lanes import LaneClass, Lanes
from synth.proof.rounded import NormalizedProof, Number
from synth.proof.rounding import EXPONENT_BITS, NEAR, SPECIAL, ZERO, Part
from synth.proof.solver import Claim, Pins, Solver

_NO_EXPONENT = 1 << 20
"""Stands for the exponent of zeros, infinities and NaNs."""


class MacProof(SumProof):
    """A MAC; a part covers all pairs of codes whose products have the same exponent: the classes of a group."""

    keeps_adders = False
    knows = frozenset({"format", "format-b", "accumulator", "terms", "scale-bits", "flags", "zero", "optimize"})

    def __init__(self, design: Design, netlist: Netlist):
        super().__init__(design, netlist)
        self.lanes = Lanes(design, netlist, scaled=True)
        (self.cut,) = self.lanes.frontier(netlist.driven, self.acc_nets)
        groups: dict[int, list[LaneClass]] = {}
        for member in self.lanes.classes(0, self.cut, {}):
            has_exponent = member.is_finite and member.product
            groups.setdefault(int(np.frexp(member.product)[1]) if has_exponent else _NO_EXPONENT, []).append(member)
        self.groups = [groups[exponent] for exponent in sorted(groups)]

    @cached_property
    def claims(self) -> list[Claim]:
        """The sums of all accumulators and the products of an exponent."""
        acc_bits = self.inputs["acc_in"]
        counts = [sum(member.pairs for member in group) << acc_bits for group in self.groups]
        return [
            Claim(f"products: {group[0].product}", count, partial(self._sums, group))
            for group, count in zip(self.groups, counts, strict=True)
        ]

    def _sums(self, group: Sequence[LaneClass]) -> Pins | None:
        solver, width = Solver(), self.inputs["acc_in"]
        acc, choice = solver.variable("acc_in", width), Choice.of(solver, "class_0", group)
        out = solver.outputs(self.netlist, self.bound("acc_in", acc) | choice.known(self.cut))
        claim, expected = self.claim(acc, choice, out[:width])
        flags = solver.same([*out][width:], self.expected_flags(expected))
        found = self.searched([choice], [], claim & flags, {"acc_in": acc})
        return None if found is None else {**found[1][0].pins, "acc_in": found[0]["acc_in"]}

    @abstractmethod
    def claim(self, acc: Bits, choice: Choice, out: Bits) -> tuple[Bool, list[Bool]]:
        """The claim about an accumulator, the chosen class and their sum ``out``; and the expected flags."""


class Binary32Proof(MacProof):
    """A MAC into binary32, compared with SMT-LIB's floating-point addition in roundNearestTiesToEven.

    Of other people's variants, roundTowardZero is SMT-LIB's, too. A sum of two numbers below the smallest normal number
    is exact, so that it is tiny before rounding if it is after.
    """

    method = (
        "proof (bitwuzla): for all products and accumulators, the gates give SMT-LIB's IEEE 754 sum in binary32; "
        "the gates that depend on the codes alone are evaluated for all pairs"
    )
    knows = MacProof.knows | {"accumulator-rounding", "accumulator-overflow", "daz", "ftz"}

    def claim(self, acc: Bits, choice: Choice, out: Bits) -> tuple[Bool, list[Bool]]:
        sums = self.design.core.sums
        mode = RoundingMode.RTZ if sums.truncates else RoundingMode.RNE
        if sums.daz in (ALL, ACCUMULATOR):
            acc = ite(acc[23:31] == 0, acc & 1 << 31, acc)
        canonical_nan = golden.get("binary32").canonical_nan
        assert canonical_nan is not None
        products = [np.float32(member.product) for member in choice.classes]
        words = [canonical_nan if np.isnan(product) else int(product.view(np.uint32)) for product in products]
        first, second, result = (word.as_float(8) for word in (acc, choice.select(words, 32), out))
        total = first.plus(second, mode)
        claim = ite(total.is_nan, out == canonical_nan, ~result.is_nan & (result == total))
        if sums.truncates != sums.saturates:  # unlike IEEE 754's overflow
            wide = [number.rounded(mode, 9, 24) for number in (first, second)] if sums.truncates else [first, second]
            overflow = wide[0].plus(wide[1], mode).rounded(RoundingMode.RNE, 8, 24).is_inf
            finite = ~(first.is_inf | second.is_inf)
            word = 0x7F7FFFFF if sums.saturates else 0x7F800000
            claim = ite(overflow & finite, (out[:31] == word) & (out[31] == total.is_negative), claim)
        flushed = total.is_subnormal & (sums.ftz is not None)
        claim = ite(flushed, (out[:31] == 0) & (out[31] == total.is_negative), claim)
        if self.design.core.zero == POSITIVE:
            claim = ite(total.is_zero | flushed, out == 0, claim)
        if len(self.outputs) == 1:
            return claim, []
        # a sum is inexact if rounding down and up give different numbers, and tiny if truncation makes it subnormal
        are_numbers = ~(first.is_nan | second.is_nan)
        finite = ~(first.is_inf | second.is_inf) & are_numbers
        down, up, cut = (first.plus(second, mode) for mode in (RoundingMode.RTN, RoundingMode.RTP, RoundingMode.RTZ))
        lost = finite & ~down.has_value_of(up)
        undefined = choice.any(lambda member: member.undefined)
        invalid = undefined | are_numbers & total.is_nan | first.is_nan & ~acc[22]
        return claim, [lost, lost & ~cut.is_normal, finite & total.is_inf, invalid]


class ExactProof(MacProof):
    """An ``exact`` MAC, compared with integer addition and the rules of the sticky flags."""

    method = (
        "proof (bitwuzla): for all products and states, the gates give the integer sum and the flags; "
        "the gates that depend on the codes alone are evaluated for all pairs"
    )

    def claim(self, acc: Bits, choice: Choice, out: Bits) -> tuple[Bool, list[Bool]]:
        unit = self.design.exact
        assert unit is not None
        products = (Fraction(member.product if member.is_finite else 0) for member in choice.classes)
        multiples = [product / Fraction(2) ** unit.lsb_exponent for product in products]
        if any(multiple.denominator != 1 for multiple in multiples):  # no assertion: it must hold under python -O
            raise RuntimeError("a product is not a multiple of the accumulator's last bit")
        width = unit.value_width
        addend = choice.select([multiple.numerator % (1 << width) for multiple in multiples], width)
        total, never = acc[:width] + addend, choice.solver.false
        sticky, invalid = specials_after(choice.solver, [choice], acc[width:])
        overflow = (acc[width - 1] == addend[-1]) & (total[-1] != acc[width - 1])
        return out == cat(total, *sticky), [never, never, overflow, invalid]


class SplitMacProof(NormalizedProof):
    """A MAC with the nets ``product__significand`` and ``product__exponent``.

    They are evaluated for all pairs of classes of codes, and scales, whose product is finite and not 0: the gates let
    neither significand nor exponent depend on more of a code. Signs, zeros, infinities and NaN are classes of pairs:
    see :class:`synth.proof.dot.SumProof`.
    """

    method = (
        "proof by decomposition: the product's significand and exponent are evaluated for all pairs of codes, and the "
        "solver (bitwuzla) rounds the sums of all such products and accumulators, by their distance"
    )
    knows = MacProof.knows - {"optimize"} | {"accumulator-rounding", "random-bits"}
    significand, exponent = "product__significand", "product__exponent"
    exponents: tuple[str, ...] = (exponent,)

    def word(self, name: str) -> tuple[int, ...]:
        """Bits of a net; products of powers of two have no net for their significand, which is 1."""
        powers_of_two = all(fmt.precision == 1 for fmt in self.design.codes.values())
        return (1,) if name == self.significand and powers_of_two else super().word(name)

    @cached_property
    def factors(self) -> Factors:
        """The product's significand and exponent."""
        return Factors.of(self.lanes, 0, self.word(self.significand), self.word(self.exponent), scaled=True)

    def show(self) -> None:
        """The significand times a power of two is the product; the exponent is that of this power, and a constant."""
        for name in self.exponents:
            if len(self.word(name)) > EXPONENT_BITS:
                raise NotShownError(f"{name} is longer than {EXPONENT_BITS} bits")
        _ = self.factors

    @cached_property
    def number(self) -> Number:
        weights, significands, origin = self.factors.weights, self.factors.significands, self.factors.origin
        integer_bits = len(self.word(self.significand)) + 1 - int(significands.min()).bit_length()

        def is_not_zero(query: Query) -> Bool:
            first = query.words[self.significand][-integer_bits:]
            return query.any(lambda member: member.product != 0) & (first != 0)

        return Number(
            origin,
            (int(weights.min()) - origin, int(weights.max()) - origin),
            lambda query: query.any(lambda member: member.negative),
            lambda query: query.any(lambda member: member.product == 0),
            is_not_zero,
            integer_bits,
        )

    def example(self, values: Pins, members: Sequence[LaneClass]) -> Pins:
        """Codes that have the product that the solver has found, if those of the class do not differ."""
        own, factors = super().example(values, members), self.factors
        if self.lanes.wide or self.differs(own):
            return own
        hits = (factors.significands == values[self.significand]) & (factors.exponents == values[self.exponent])
        hits &= np.signbit(factors.products.values) == members[0].negative
        codes = [factors.products.pins(place) for place in np.flatnonzero(hits)[:1].tolist()]
        return self.lanes.pins({}, codes[0]) | self.before(values) if codes else own


class TwoPathMacProof(SplitMacProof):
    """A MAC built for speed, with the nets ``product_significand``, ``product_exponent`` and ``places``.

    The last one is the product's exponent minus the accumulator's, plus a constant. It is computed beside
    ``product_exponent``, not from it, and evaluated for all pairs of codes and scales with all exponent fields of the
    accumulator.
    """

    method = (
        "proof by decomposition: the product's significand and exponent, and the latter's difference from the "
        "accumulator's, are evaluated for all pairs of codes and all exponents of accumulators, and the solver "
        "(bitwuzla) rounds the sums of all such products and accumulators, by their distance"
    )
    knows = SplitMacProof.knows | {"optimize"}
    significand, exponent, places = "product_significand", "product_exponent", "places"
    exponents = exponent, places

    def show(self) -> None:
        """The same; and the difference is what queries take it for."""
        super().show()
        target, size = self.target, 1 << len(self.word(self.places))
        last = (1 << target.exponent_bits) - int(not target.flush)  # the field of infinities is not among them
        for field in range(last):
            wrong = (self._places(field) - self.factors.weights + self.field_weight(field) - self._offset) % size != 0
            if wrong.any():
                codes = self.factors.products.pins(int(np.flatnonzero(wrong)[0]))
                pins = self.lanes.pins({}, codes) | {"acc_in": field << target.fraction_bits}
                raise NotShownError("places is not the difference of the exponents of some inputs", [pins])

    @cached_property
    def _offset(self) -> int:
        """``places`` plus the weight of the accumulator's last bit minus that of the product's."""
        return int(self._places(1)[0] - self.factors.weights[0]) + self.field_weight(1)

    def _places(self, field: int) -> NDArray[np.int64]:
        """The net for all products and an exponent field of the accumulator."""
        nets = self.acc_nets[self.target.fraction_bits : -1]
        known = {net: ~np.uint64(0) if field >> place & 1 else np.uint64(0) for place, net in enumerate(nets)}
        return self.lanes.word(0, self.word(self.places), self.factors.products, known)

    def derived(self, solver: Solver, part: Part, exponent: Bits, acc: Bits) -> Mapping[str, Bits]:
        """The difference; any one if it does not matter."""
        bits = len(self.word(self.places))
        if part.kind in (SPECIAL, ZERO):
            return {self.places: solver.variable(self.places, bits)}
        if part.kind == NEAR:
            return {self.places: solver.number(self._offset - part.distance, bits)}
        return {self.places: (exponent - self.acc_weight(acc) + (self.number.origin + self._offset))[:bits]}
