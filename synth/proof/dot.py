"""Proofs of fused dot products, by decomposition (docs/verification.md, "Dot products").

The adders are shown to add by :mod:`synth.proof.adders`, what they add by evaluating each lane for all its pairs of
codes, and what follows by a solver that sees the sum as an unknown number, and the classes of the lanes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from golden import ExactAccumulator
from hwgen.blocks.block import Design
from hwgen.reference import reference
from synth.proof.adders import LinearForm, linear_form
from synth.proof.gates import Netlist, NotShownError
from synth.proof.lanes import LaneClass, Lanes, Planes
from synth.proof.solver import Proof, Solver

if TYPE_CHECKING:
    from bitwuzla import Term


@dataclass(frozen=True)
class Choice:
    """A symbolic class of a lane."""

    solver: Solver
    number: "Term"
    chosen: Sequence["Term"]
    classes: Sequence[LaneClass]

    def any(self, which: Callable[[LaneClass], bool]) -> "Term":
        """Whether ``which`` is true for the chosen class."""
        hits = [term for term, member in zip(self.chosen, self.classes, strict=True) if which(member)]
        return self.solver.either(hits) if hits else self.solver.false


class DotProof(Proof):
    """What the proofs of all dot products have in common."""

    keeps_adders = True
    knows = frozenset(
        {"format", "format-b", "lanes", "accumulator", "terms", "scale-bits", "flags", "zero", "block-scale", "fabric"}
        | {"optimize"}
    )

    def __init__(self, design: Design, netlist: Netlist):
        super().__init__(design, netlist)
        self.lanes = Lanes(design, netlist)
        self.acc_nets = list(netlist.input_nets("acc_in"))
        self._known_classes: dict[tuple[int, tuple[int, ...]], list[LaneClass]] = {}

    def word(self, name: str) -> tuple[int, ...]:
        """The bits of a named net; in a pipeline they may be nets of their own."""
        named = self.netlist.named
        if name in named:
            return named[name]
        bits: list[int] = []
        while len(named.get(f"{name}_bit_{len(bits)}", ())) == 1:
            bits += named[f"{name}_bit_{len(bits)}"]
        if not bits:
            raise NotShownError(f"the module has no net {name}, or no output depends on all its bits")
        return tuple(bits)

    def has_word(self, name: str) -> bool:
        """Whether there is such a net."""
        try:
            self.word(name)
        except NotShownError:
            return False
        return True

    def outputs_of(self, name: str) -> list[int]:
        """The nets of an output."""
        first = 0
        for port, width in self.netlist.outputs.items():
            if port == name:
                return list(self.netlist.driven[first : first + width])
            first += width
        raise KeyError(name)

    def differs(self, pins: dict[str, int]) -> bool:
        """Whether gates and reference model differ for some inputs."""
        return self.netlist.evaluate(pins) != reference(self.design).answer(pins)

    def confirmed(self, pins: dict[str, int], what: str) -> dict[str, int]:
        """Inputs that contradict a claim, if gates and reference model differ there."""
        if not self.differs(pins):
            raise NotShownError(f"{what} may be wrong for sums and products that do not occur together", [pins])
        return pins

    def split(self, form: LinearForm, shared: int = 0) -> list[dict[int, int]]:
        """The terms of a sum by lane; those of no lane are last.

        ``shared`` is a bit set of other inputs that lanes may depend on.
        """
        parts: list[dict[int, int]] = [{} for _ in range(self.lanes.count + 1)]
        for net, weight in form.terms.items():
            lane = self.lanes.lane_of(net, shared) if net >= 0 else None
            parts[-1 if lane is None else lane][net] = weight
        return parts

    def check_lanes(
        self,
        form: LinearForm,
        terms: Sequence[Mapping[int, int]],
        lsb_exponent: int,
        known: Mapping[int, Planes | np.uint64] = MappingProxyType({}),
        sign: int = 1,
        specials: bool = True,
    ) -> None:
        """Show that the terms of each lane, and the constant, add up to the products of all lanes, times ``sign``.

        Products are multiples of ``2**lsb_exponent``. With ``specials``, those that are not finite must count as 0;
        otherwise they may count as any number.
        """
        constant, unit = form.constant, Fraction(2) ** lsb_exponent
        multiples: dict[float, int] = {}
        for lane, part in enumerate(terms):
            nets, own = list(part), None
            weights = list(part.values())
            for member in self.lanes.classes(lane, nets, known):
                if not (specials or np.isfinite(member.product)):
                    continue
                product = member.product if np.isfinite(member.product) else 0.0
                if product not in multiples:
                    multiple = Fraction(product) / unit
                    if multiple.denominator != 1:
                        raise NotShownError("a product is not a multiple of the last bit of the sum")
                    multiples[product] = multiple.numerator
                value = sum(weight for weight, bit in zip(weights, member.bits, strict=True) if bit)
                rest = (value - sign * multiples[product]) % form.modulus
                own = rest if own is None else own
                if rest != own:
                    cases = [self.lanes.pins({lane: member.pins}, {})]
                    raise NotShownError(f"lane {lane} does not add the product of some codes", cases)
            constant += own or 0
        if constant % form.modulus:
            raise NotShownError("the constants of all lanes do not add up to 0")

    def largest(self, lsb_exponent: int) -> int:
        """The largest finite product as a multiple of ``2**lsb_exponent``."""
        values = np.abs(self.lanes.products.values)
        return int(Fraction(float(values[np.isfinite(values)].max())) / Fraction(2) ** lsb_exponent)

    def choices(self, solver: Solver, known: dict[int, "Term"], outputs: Sequence[int]) -> list[Choice]:
        """Symbolic classes of all lanes; their nets are added to ``known``."""
        choices = []
        for lane, nets in enumerate(self.lanes.frontier(outputs, known)):
            classes = self._merged(lane, tuple(nets))
            size = len(classes).bit_length()
            number = solver.variable(f"class_{lane}", size)
            chosen = [solver.equal(number, solver.word(place, size)) for place in range(len(classes))]
            choice = Choice(solver, number, chosen, classes)
            for place, net in enumerate(nets):
                known[net] = choice.any(_bit(place))
            choices.append(choice)
        return choices

    def _merged(self, lane: int, nets: tuple[int, ...]) -> list[LaneClass]:
        """Classes of a lane in which all finite products but zero are alike except for their sign."""
        if (lane, nets) in self._known_classes:
            return self._known_classes[lane, nets]
        merged: dict[object, LaneClass] = {}
        for member in self.lanes.classes(lane, nets, {}):
            kind = "number" if np.isfinite(member.product) and member.product else repr(member.product)
            merged.setdefault((kind, member.negative, member.undefined, member.bits), member)
        self._known_classes[lane, nets] = list(merged.values())
        return self._known_classes[lane, nets]


def _bit(place: int) -> Callable[[LaneClass], bool]:
    return lambda member: member.bits[place]


class ExactDotProof(DotProof):
    """A dot product into ``exact``: integer addition, and the rules of the sticky flags."""

    method = (
        "proof by decomposition: the full adders add, every lane adds its product for all pairs of codes, "
        "and the solver (bitwuzla) shows the flags for all states"
    )
    quick = True
    parts = 1

    def cases(self, _part: int) -> int:
        """All of them."""
        return 1 << sum(self.inputs.values())

    @cached_property
    def unit(self) -> ExactAccumulator:
        """The accumulator."""
        unit = self.design.exact
        assert unit is not None
        return unit

    def prove(self, _part: int) -> dict[str, int] | None:
        """The sum, then the flags."""
        return self._flags(self._check_sum())

    def _check_sum(self) -> Sequence[int]:
        """The bits of the sum: those of the value and, with overflow, those in front that a named word has.

        Overflow is a property of the sum: the value alone would make it false for a module without the other bits.
        """
        width, low = self.unit.value_width, tuple(self.outputs_of("acc_out")[: self.unit.value_width])
        self._check_word(low)
        if len(self.outputs) == 1:
            return low
        words = {word for word in self.netlist.named.values() if word[:width] == low and len(word) > width}
        for word in sorted(words, key=len, reverse=True):
            try:
                self._check_word(word)
            except NotShownError:
                continue
            return word
        raise NotShownError("no net has all bits of the sum, which decide whether it overflows")

    def _check_word(self, total: Sequence[int]) -> None:
        unit, lanes, width = self.unit, self.lanes.count, self.unit.value_width
        form = linear_form(self.netlist, total)
        *parts, others = self.split(form)
        value = {net: 1 << place for place, net in enumerate(self.acc_nets[:width])}
        value[self.acc_nets[width - 1]] = -(1 << width - 1) % form.modulus
        if others != value:
            raise NotShownError("the value is not a sum of acc_in and of words that belong to one lane each")
        self.check_lanes(form, parts, unit.lsb_exponent)
        if len(total) > width and (1 << width - 1) + lanes * self.largest(unit.lsb_exponent) > form.modulus // 2:
            raise NotShownError("the sum is too short for the largest one")

    @staticmethod
    def specials(solver: Solver, choices: Sequence[Choice], before: Sequence["Term"]) -> tuple[list["Term"], "Term"]:
        """The sticky bits after a sum, of both infinities and NaN; and whether it is invalid."""

        def sticky(bit: "Term", which: Callable[[LaneClass], bool]) -> "Term":
            return solver.either([bit, *(choice.any(which) for choice in choices)])

        pos = sticky(before[0], lambda member: member.product == np.inf)
        neg = sticky(before[1], lambda member: member.product == -np.inf)
        known_nan = sticky(before[2], lambda member: bool(np.isnan(member.product)))
        both = solver.all([pos, neg])
        undefined = [choice.any(lambda member: member.undefined) for choice in choices]
        invalid = solver.either([*undefined, solver.all([both, solver.negate(known_nan)])])
        return [pos, neg, solver.either([known_nan, both])], invalid

    def _flags(self, total: Sequence[int]) -> dict[str, int] | None:
        solver, unit, width = Solver(), self.unit, len(self.acc_nets)
        acc, number = solver.variable("acc_in", width), solver.variable("total", len(total))
        known = dict(zip(self.acc_nets, solver.bits(acc, width), strict=True))
        known |= dict(zip(total, solver.bits(number, len(total)), strict=True))
        choices = self.choices(solver, known, self.netlist.driven)
        out = solver.outputs(self.netlist, known)

        expected, invalid = self.specials(solver, choices, solver.bits(acc, width)[unit.value_width :])
        first = solver.bits(number, len(total))[unit.value_width - 1 :]
        same = solver.either([solver.all(first), solver.all([solver.negate(bit) for bit in first])])
        expected += self.expected_flags([solver.false, solver.false, solver.negate(same), invalid])
        bits = solver.bits(out, sum(self.netlist.outputs.values()))[unit.value_width :]
        claim = solver.all([solver.equal(*pair) for pair in zip(bits, expected, strict=True)])
        allowed = solver.all([solver.either(list(choice.chosen)) for choice in choices])
        numbers = {f"class_{lane}": choice.number for lane, choice in enumerate(choices)}
        found = solver.search(solver.term("IMPLIES", allowed, claim), {"acc_in": acc, **numbers})
        if found is None:
            return None
        chosen = {lane: choice.classes[found[f"class_{lane}"]].pins for lane, choice in enumerate(choices)}
        return self.confirmed(self.lanes.pins(chosen, {"acc_in": found["acc_in"]}), "the flags")
