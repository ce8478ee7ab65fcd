"""Sums whose products are aligned with the largest of their exponents, which proofs take as levels.

The reference are the exponents of codes' rows in :mod:`golden.arithmetic.aligned`.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.aligned import row_exponents
from synth.proof.adders import LinearForm, linear_form
from synth.proof.bits import Bits, Bool, cat
from synth.proof.bitslice import CASES, evaluated, from_planes, to_planes
from synth.proof.dot import Choice
from synth.proof.floating import FloatSumProof
from synth.proof.gates import Netlist, NotShownError
from synth.proof.lanes import LaneClass, Lanes
from synth.proof.rounding import EXPONENT_BITS
from synth.proof.solver import Pins, Solver

LEVEL, TOTAL, COUNT = "largest_level", "total", "negative_rows"
EACH = 20
"""Wrong products of a lane, and products beside each of these, from which a counterexample is made."""


class LeveledProof(FloatSumProof):
    """A sum of products that are cut below the largest exponent.

    Exponents are levels in the module: a product's exponent plus an offset, which an example finds. The net
    ``largest_level`` is the largest one, and ``total`` the sum.
    """

    fraction_bits: int
    """Bits after the point of the largest exponent that are kept."""
    is_odd = False
    """Whether products are rounded to odd, not truncated."""
    group = 1
    """Levels, a power of two of them, whose sums have the same last bit in ``total``: that of the smallest one."""

    @cached_property
    def acc_exceeds(self) -> bool:
        """Whether an accumulator can have a level above the largest that there is."""
        return False

    @property
    def top(self) -> int:
        """The largest number that the largest level can be."""
        return len(self.level_codes) - 1

    @cached_property
    def level_codes(self) -> NDArray[np.int64]:
        """The word on the nets of the largest level for each level, from 0 up; default: that number."""
        return np.arange(1 << len(self.word(LEVEL)))

    def level_of(self, word: Bits) -> tuple[Bits, Bool]:
        """The level that such a word stands for, and whether it stands for any."""
        return word.to(EXPONENT_BITS).signed, word[0] | True

    def rest_of(self, level: Any) -> Any:
        """Places from the last bit of ``total`` up to the last one that a largest level keeps."""
        return level & self.group - 1 if self.group > 1 else 0

    @cached_property
    def offset(self) -> int:
        """The level of a product less its exponent, from one example: the claims show it for all others."""
        some = int(np.flatnonzero(self.numbers)[0])
        codes = dict.fromkeys(range(self.lanes.count), self.lanes.products.pins(some))
        word = self.netlist.value(self.word(LEVEL), self.lanes.pins(codes, {}))
        return [*self.level_codes.tolist(), word].index(word) - int(self.exponents[some])

    @cached_property
    def numbers(self) -> NDArray[np.bool_]:
        """Which products are finite and not 0."""
        values = self.lanes.products.values
        return np.isfinite(values) & (values != 0)

    @cached_property
    def exponents(self) -> NDArray[np.int64]:
        """Exponents of all products: those of their codes' rows."""
        (fa, fb), products = self.design.codes.values(), self.lanes.products
        return row_exponents(fa)[products.a].astype(np.int64) + row_exponents(fb)[products.b]

    @cached_property
    def levels(self) -> NDArray[np.int64]:
        """The level of each product; 0 for those that are 0."""
        return np.where(self.lanes.products.values != 0, self.exponents + self.offset, 0)

    def moved_word(self, name: str, moved: int) -> list[int]:
        """The bits of a net after all gates have moved; none if there is no such net."""
        nets = self.word(name) if self.has_word(name) else ()
        return [net if net < self.netlist.first_gate else net + moved for net in nets]

    def form(self, netlist: Netlist, name: str, moved: int) -> LinearForm:
        """A net as a sum, after all gates have moved; signs may be counted first."""
        return linear_form(netlist, self.moved_word(name, moved), count=self.moved_word(COUNT, moved))

    def finite_classes(self, lanes: Lanes, lane: int, nets: Sequence[int]) -> list[LaneClass]:
        """The classes of a lane, by the bits of some nets and by level, whose product is finite."""
        return [member for member in lanes.classes(lane, nets, {}, self.exponents) if member.is_finite]

    def check_rows(
        self, lanes: Lanes, form: LinearForm, parts: Sequence[Mapping[int, Any]], *, is_framed: bool, follows: bool
    ) -> None:
        """Each lane adds its product, cut, for every level that is not below its own.

        In a frame it is a multiple of ``2**lsb_exponent``. If it ``follows`` the accumulator's sign, it is negated
        where that is negative. A weight may be an array over all levels.
        """
        netlist, (sign,) = lanes.netlist, lanes.netlist.input_nets("acc_in")[-1:]
        level_nets = list(netlist.input_nets(LEVEL))
        constant, first = form.constant, len(self.level_codes)
        for lane, part in enumerate(parts):
            nets = lanes.frontier(part, [*level_nets, sign])[lane]
            classes = self.finite_classes(lanes, lane, nets)
            index = np.arange(-(-2 * first * len(classes) // CASES) * CASES)
            largest, negative = index % first, index // first % 2
            member = np.minimum(index // (2 * first), len(classes) - 1)
            patterns = np.array([cls.bits for cls in classes], np.uint64)[member].T
            known = {net: to_planes(row, 1)[0] for net, row in zip((*nets, sign), (*patterns, negative), strict=True)}
            known |= dict(zip(level_nets, to_planes(self.level_codes[largest], len(level_nets)), strict=True))
            values = self._weighted(
                evaluated(netlist, list(part), known, len(index) // 64), part, form.modulus, largest
            )
            levels = self.levels[[cls.place for cls in classes]][member]
            products = np.where(largest >= levels, np.array([cls.product for cls in classes])[member], 0.0)
            places = self.fraction_bits + self.offset - largest
            exact = np.ldexp(products, places)
            kept = np.trunc(exact)
            if self.is_odd:
                is_cut = (kept != exact) | (exact == 0) & (products != 0)  # also where binary64 has 0
                kept = np.where(is_cut & (kept % 2 == 0), kept + np.copysign(1, products), kept)
            up = -places - self.lsb_exponent if is_framed else self.rest_of(largest)
            addends = np.ldexp(kept, up).astype(np.int64)
            rest = (values - np.where(negative & follows, -addends, addends)) % form.modulus
            possible = np.flatnonzero(largest >= levels)
            numbers, counts = np.unique(rest[possible], return_counts=True)
            usual = int(numbers[counts.argmax()])
            wrong = possible[rest[possible] != usual]
            if wrong.size:
                some = wrong[:: max(wrong.size // EACH, 1)]
                suspects = self._suspects(lanes, lane, [classes[place] for place in member[some]], largest[some])
                raise NotShownError(f"lane {lane} does not add some product as it is cut", suspects)
            if addends[largest == self.top].any() and self.acc_exceeds:
                raise NotShownError("the largest level is too small for some accumulators")
            constant += usual
        if constant % form.modulus:
            raise NotShownError("the constants of all lanes do not add up to 0")

    def _suspects(
        self, lanes: Lanes, lane: int, members: Sequence[LaneClass], largest: NDArray[np.int64]
    ) -> list[Pins]:
        """Inputs with some products of a lane, beside products of another one that have the largest level."""
        suspects, scale = [], self.scales.pins_of(0) or {}
        for member, level in zip(members, largest.tolist(), strict=True):
            others = np.flatnonzero(self.numbers & (self.levels == level))
            for other in others[:: max(others.size // EACH, 1)].tolist():
                codes = {(lane + 1) % lanes.count: lanes.products.pins(other), lane: member.pins}
                suspects.append(lanes.pins(codes, scale))
        return suspects

    @staticmethod
    def _weighted(
        planes: NDArray[np.uint64], part: Mapping[int, Any], modulus: int, largest: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        if modulus.bit_length() > 62:
            raise NotShownError("total is longer than 61 bits")
        values = np.zeros(planes.shape[1] * 64, np.int64)
        for row, weight in zip(planes, part.values(), strict=True):
            factor = weight if isinstance(weight, int) else weight[largest]
            values = (values + from_planes(row[np.newaxis]).astype(np.int64) * factor) % modulus
        return values

    @cached_property
    def largest_addend(self) -> int:
        """The largest product at the level of its own exponent, cut."""
        values = np.abs(self.lanes.products.values[self.numbers])
        return int(np.ldexp(values, self.fraction_bits - self.exponents[self.numbers]).max())

    def levels_of(self, solver: Solver, known: dict[int, Bool]) -> tuple[list[Choice], Bits, Bool, Bool, Bool]:
        """Classes of all lanes, and the largest level, which also depends on ``known`` nets.

        Also whether any product is not 0, whether no level of those is larger, and whether that of any is equal.
        """
        word, choices = self.word(LEVEL), []
        for lane, nets in enumerate(self.lanes.frontier(word, known)):
            classes = {
                (cls.bits, cls.product != 0, self.levels[cls.place]): cls
                for cls in self.finite_classes(self.lanes, lane, nets)
            }
            choices.append(Choice.of(solver, f"class_{lane}", list(classes.values())))
            known |= choices[-1].known(nets)
        largest, is_level = self.level_of(cat(*solver.nets(self.netlist, known, word)))
        active = [choice.any(lambda member: member.product != 0) for choice in choices]
        levels = [
            choice.select(self.levels[[member.place for member in choice.classes]].tolist(), EXPONENT_BITS).signed
            for choice in choices
        ]
        are_below = (used.implies(largest >= level) for used, level in zip(active, levels, strict=True))
        bounded = is_level & solver.all(are_below)
        own = solver.any(used & (largest == level) for used, level in zip(active, levels, strict=True))
        return choices, largest, solver.any(active), bounded, own
