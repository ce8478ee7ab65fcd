"""Proofs of fused dot products, by decomposition (docs/verification.md, "Dot products").

The adders are shown to add by :mod:`synth.proof.adders`, what they add by evaluating each lane for all its pairs of
codes, and what follows by a solver that sees the sum as an unknown number, and the classes of the lanes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType

import numpy as np

from golden import ExactAccumulator
from hwgen.blocks.block import Design
from hwgen.reference import reference
from synth.proof.adders import LinearForm, linear_form
from synth.proof.bits import Bits, Bool, cat, ite
from synth.proof.bitslice import Planes
from synth.proof.factors import Factors
from synth.proof.gates import Netlist, NotShownError
from synth.proof.lanes import LaneClass, Lanes
from synth.proof.solver import Claim, Pins, Proof, Solver

Which = Callable[[LaneClass], bool]


@dataclass(frozen=True)
class Choice:
    """A symbolic class of a lane; ``chosen`` has a term for each class."""

    solver: Solver
    number: Bits
    chosen: Sequence[Bool]
    classes: Sequence[LaneClass]

    @classmethod
    def of(cls, solver: Solver, name: str, classes: Sequence[LaneClass]) -> "Choice":
        """An unknown class, with the name of its number."""
        number = solver.variable(name, len(classes).bit_length())
        return cls(solver, number, [number == place for place in range(len(classes))], classes)

    def bit(self, levels: Iterable[int]) -> Bool:
        """The level of the chosen class."""
        return self.solver.any(term for term, level in zip(self.chosen, levels, strict=True) if level)

    def any(self, which: Which) -> Bool:
        """Whether ``which`` is true for the chosen class."""
        return self.bit(map(which, self.classes))

    def select(self, values: Sequence[int], width: int) -> Bits:
        """The value of the chosen class, as a word."""
        return cat(*(self.bit(value >> place & 1 for value in values) for place in range(width)))

    def known(self, nets: Iterable[int]) -> dict[int, Bool]:
        """The nets that are the ``bits`` of the classes."""
        return dict(zip(nets, map(self.bit, zip(*(member.bits for member in self.classes), strict=True)), strict=True))


def specials_after(solver: Solver, choices: Sequence[Choice], before: Iterable[Bool]) -> tuple[list[Bool], Bool]:
    """The sticky bits after a sum, of both infinities and NaN; and whether it is invalid."""

    def some(which: Which) -> Bool:
        return solver.any(choice.any(which) for choice in choices)

    was_pos, was_neg, was_nan = before
    pos = was_pos | some(lambda member: member.product == np.inf)
    neg = was_neg | some(lambda member: member.product == -np.inf)
    known_nan = was_nan | some(lambda member: bool(np.isnan(member.product)))
    invalid = some(lambda member: member.undefined) | pos & neg & ~known_nan
    return [pos, neg, known_nan | pos & neg], invalid


class SumProof(Proof):
    """What the proofs of all sums of products have in common."""

    keeps_adders = True
    knows = frozenset(
        {"format", "format-b", "lanes", "accumulator", "terms", "scale-bits", "flags", "zero", "block-scale", "fabric"}
        | {"optimize", "to", "accumulator-rounding", "random-bits"}
    )

    def __init__(self, design: Design, netlist: Netlist):
        super().__init__(design, netlist)
        self.lanes = Lanes(design, netlist, scaled=design.core.accumulator == "exact")
        self.acc_nets = list(netlist.input_nets("acc_in")) if "acc_in" in self.inputs else []
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
        try:
            return bool(self.word(name))
        except NotShownError:
            return False

    def bound_words(
        self, solver: Solver, words: Iterable[tuple[Sequence[int], Bits]]
    ) -> tuple[dict[int, Bool], list[Bool]]:
        """Nets inside with the bits of some words; and what holds for these, as some nets are the same or constant."""
        fixed, known, relations = {0: solver.false, 1: solver.true}, {}, []
        inverses: dict[int, Bool] = {}
        for nets, word in words:
            for net, bit in zip(nets, word, strict=True):
                if net in fixed:
                    relations.append(bit == fixed[net])
                else:
                    known[net] = fixed[net] = bit
                    gate = self.netlist.gates[net - self.netlist.first_gate] if net >= self.netlist.first_gate else None
                    # gates may also read the net that an inverter makes this one from
                    if gate and gate.kind == "NOT" and gate.pins[0] >= self.netlist.first_gate:
                        inverses[gate.pins[0]] = ~bit
        relations += [fixed[net] == bit for net, bit in inverses.items() if net in fixed]
        return {**inverses, **known}, relations

    def confirmed(self, pins: Pins, what: str) -> Pins:
        """Inputs that contradict a claim, if gates and reference model differ there."""
        if not self.differs(pins):
            raise NotShownError(f"{what} may be wrong for sums and products that do not occur together", [pins])
        return pins

    def differs(self, pins: Pins) -> bool:
        """Whether gates and reference model differ for some inputs."""
        return self.netlist.evaluate(pins) != reference(self.design).answer(pins)

    # -- what adders and lanes show

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
            if self.lanes.wide:
                constant += self._offset_of_wide(lane, part, form.modulus, lsb_exponent, known, sign, specials)
                continue
            weights, own = list(part.values()), None
            for member in self.lanes.classes(lane, list(part), known):
                if not (specials or member.is_finite):
                    continue
                product = member.product if member.is_finite else 0.0
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

    def _offset_of_wide(
        self,
        lane: int,
        terms: Mapping[int, int],
        modulus: int,
        lsb_exponent: int,
        constants: Mapping[int, Planes | np.uint64],
        sign: int,
        specials: bool,
    ) -> int:
        """What the terms of a wide lane are more than its product, see :meth:`check_lanes`.

        The lane must have the nets ``product__significand`` and ``product__exponent``: see :class:`Factors`. The solver
        shows that the terms are the shifted significand, with the product's sign, for all of both.
        """
        prefix = f"lane_{lane}." if self.has_word(f"lane_{lane}.product__exponent") else ""
        significand, exponent = (self.word(f"{prefix}product__{part}") for part in ("significand", "exponent"))
        factors = Factors.of(self.lanes, lane, significand, exponent, scaled=bool(self.lanes.scale))
        low, high = min(int(factors.weights.min()), lsb_exponent), int(factors.weights.max())
        if high - low >> len(exponent):
            raise NotShownError("the exponent of a product is too short for all exponents")
        solver, width, spare = Solver(), modulus.bit_length() - 1, lsb_exponent - low
        number, own = solver.variable("significand", len(significand)), solver.variable("exponent", len(exponent))
        known, relations = self.bound_words(solver, [(significand, number), (exponent, own)])
        known |= {net: solver.true if level else solver.false for net, level in constants.items()}
        read = tuple(self.lanes.frontier(terms, known)[lane])
        choice = Choice.of(solver, "class_0", self._merged(lane, read))
        known |= choice.known(read)
        bits = dict(zip(terms.values(), solver.nets(self.netlist, known, list(terms)), strict=True))
        places = [bits.pop(1 << place, solver.false) for place in range(width)]
        minus = [bits.pop(modulus - (1 << place), solver.false) for place in range(width)]
        if bits or len({*terms.values()}) < len(terms):
            raise NotShownError(f"lane {lane} is not a row of bits")
        room = max(width + spare, len(significand) + high - low)  # no bit may leave it
        shift = (own - (low - factors.origin) % (1 << len(exponent))).to(max(room, len(exponent)))
        moved = number.to(shift.width) << shift
        is_minus = choice.any(lambda member: member.negative)
        row = moved[spare : width + spare]
        product = ite(is_minus if sign > 0 else ~is_minus, -row, row)
        is_number = choice.any(lambda member: member.is_finite and member.product != 0)
        is_possible = (shift <= high - low) & (number != 0) & (moved <= self.largest(lsb_exponent) << spare)
        is_possible &= moved[:spare] == 0 if spare else True
        conditions = [*relations, is_number.implies(is_possible)]
        if self._zeros_are_silent(lane, significand):
            conditions.append(choice.any(lambda member: member.product == 0).implies(number == 0))
        if not specials:
            conditions.append(choice.any(lambda member: member.is_finite))
        example = next(member for member in choice.classes if member.is_finite)
        acc = sum(1 << self.acc_nets.index(net) for net, level in constants.items() if level)
        word = self.netlist.value(list(terms), self.lanes.pins({lane: example.pins}, {"acc_in": acc}))
        offset = sum(weight for place, weight in enumerate(terms.values()) if word >> place & 1)
        offset = (offset - sign * int(Fraction(example.product) / Fraction(2) ** lsb_exponent)) % modulus
        claim = cat(*places) - cat(*minus) == ite(is_number, product, 0) + offset
        if self.searched([choice], conditions, claim, {}) is not None:
            raise NotShownError(f"lane {lane} does not add the product of some codes")
        return offset

    def _zeros_are_silent(self, lane: int, significand: Sequence[int]) -> bool:
        """Whether the significand of all products of numbers that are 0 is 0."""
        values = [fmt.values for fmt in self.design.codes.values()]
        kinds = [np.where(np.isfinite(own), (own != 0).astype(float), np.nan) for own in values]
        products = self.lanes.pairs_of(self.lanes.representatives(lane, significand, kinds), scaled=False)
        return not self.lanes.word(lane, significand, products)[products.values == 0].any()

    def largest(self, lsb_exponent: int) -> int:
        """The largest finite product as a multiple of ``2**lsb_exponent``."""
        values = np.abs(self.lanes.products.values)
        return int(Fraction(float(values[np.isfinite(values)].max())) / Fraction(2) ** lsb_exponent)

    # -- what the solver shows

    def choices(self, solver: Solver, known: dict[int, Bool], outputs: Sequence[int]) -> list[Choice]:
        """Symbolic classes of all lanes; their nets are added to ``known``."""
        choices = []
        for lane, nets in enumerate(self.lanes.frontier(outputs, known)):
            choices.append(Choice.of(solver, f"class_{lane}", self._merged(lane, tuple(nets))))
            known |= choices[-1].known(nets)
        return choices

    def _merged(self, lane: int, nets: tuple[int, ...]) -> list[LaneClass]:
        """Classes of a lane in which all finite products but zero are alike except for their sign."""
        if (lane, nets) not in self._known_classes:
            merged: dict[object, LaneClass] = {}
            for member in self.lanes.classes(lane, nets, {}):
                kind = "number" if member.is_finite and member.product else repr(member.product)
                merged.setdefault((kind, member.negative, member.undefined, member.bits), member)
            self._known_classes[lane, nets] = list(merged.values())
        return self._known_classes[lane, nets]

    @staticmethod
    def searched(
        choices: Sequence[Choice], conditions: Sequence[Bool], claim: Bool, words: Mapping[str, Bits]
    ) -> tuple[Pins, list[LaneClass]] | None:
        """Words that contradict a claim under some conditions, and the classes of all lanes."""
        solver = choices[0].solver
        numbers = {f"class_{lane}": choice.number for lane, choice in enumerate(choices)}
        allowed = solver.all([*(solver.any(choice.chosen) for choice in choices), *conditions])
        values = solver.search(allowed.implies(claim), {**words, **numbers})
        if values is None:
            return None
        return values, [choice.classes[values[f"class_{lane}"]] for lane, choice in enumerate(choices)]


class ExactDotProof(SumProof):
    """A dot product into ``exact``: integer addition, and the rules of the sticky flags."""

    method = (
        "proof by decomposition: the full adders add, every lane adds its product for all pairs of codes, "
        "and the solver (bitwuzla) shows the flags for all states"
    )
    quick = True

    @cached_property
    def claims(self) -> list[Claim]:
        """A single one: adders and lanes show the sum, the solver shows the flags."""
        return [Claim("sum and flags", 1 << sum(self.inputs.values()), lambda: self._flags(self._check_sum()))]

    @cached_property
    def unit(self) -> ExactAccumulator:
        unit = self.design.exact
        assert unit is not None
        return unit

    def _check_sum(self) -> Sequence[int]:
        """The bits of the sum: those of the value and, with overflow, those in front that a named word has.

        Overflow is a property of the sum: the value alone would make it false for a module without the other bits.
        """
        width = self.unit.value_width
        low = self.netlist.output_nets["acc_out"][:width]
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
        unit, width = self.unit, self.unit.value_width
        form = self._form(total)
        *parts, others = self.lanes.split(form.terms)
        value = {net: 1 << place for place, net in enumerate(self.acc_nets[:width])}
        value[self.acc_nets[width - 1]] = -(1 << width - 1) % form.modulus
        if others != value:
            raise NotShownError("the value is not a sum of acc_in and of words that belong to one lane each")
        self.check_lanes(form, parts, unit.lsb_exponent)
        if len(total) > width and self.largest_sum > form.modulus // 2:
            raise NotShownError("the sum is too short for the largest one")

    def _form(self, total: Sequence[int]) -> LinearForm:
        """What a word is the sum of."""
        return linear_form(self.netlist, total)

    @property
    def largest_sum(self) -> int:
        """The largest magnitude of a sum, in its last bits."""
        return (1 << self.unit.value_width - 1) + self.lanes.count * self.largest(self.unit.lsb_exponent)

    def _flags(self, total: Sequence[int]) -> Pins | None:
        solver, width = Solver(), self.unit.value_width
        acc, number = solver.variable("acc_in", len(self.acc_nets)), solver.variable("total", len(total))
        known, signs = dict(zip(total, number, strict=True)), number[width - 1 :]
        overflow = ~(solver.all(signs) | (signs == 0))
        found = self.wrong_flags(solver, acc, acc[width:], known, overflow)
        if found is None:
            return None
        return self.confirmed(self.lanes.pins_of(found[1], {"acc_in": found[0]["acc_in"]}), "the flags")

    def wrong_flags(
        self,
        solver: Solver,
        acc: Bits,
        sticky: Iterable[Bool],
        known: dict[int, Bool],
        overflow: Bool,
        conditions: Sequence[Bool] = (),
        adds: bool = True,
    ) -> tuple[Pins, list[LaneClass]] | None:
        """An accumulator and classes after which sticky bits or flags are wrong, given those before, and overflow."""
        known = {**self.bound("acc_in", acc), **known}
        choices = self.choices(solver, known, self.netlist.driven)
        out = solver.nets(self.netlist, known, self.netlist.driven)[self.unit.value_width :]
        expected, invalid = specials_after(solver, choices if adds else [], sticky)
        expected += self.expected_flags([solver.false, solver.false, overflow, invalid])
        return self.searched(choices, conditions, solver.same(out, expected), {"acc_in": acc})
