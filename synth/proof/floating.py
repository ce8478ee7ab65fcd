"""What the proofs of dot products with a floating-point accumulator have in common: queries, infinities and NaN."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from golden import Flag
from golden.wide import state_format
from hwgen.blocks.block import Design
from synth.proof.adders import linear_form
from synth.proof.dot import Choice, DotProof
from synth.proof.gates import Netlist, NotShownError
from synth.proof.lanes import LaneClass
from synth.proof.rounding import Rounded
from synth.proof.scales import Scales, SymbolicScale
from synth.proof.solver import Solver

if TYPE_CHECKING:
    from bitwuzla import Term


@dataclass(frozen=True)
class Query:
    """A symbolic accumulator and scale, named words inside, the classes of all lanes, and the module's outputs.

    ``relations`` hold for the words, because some of their bits are the same net, or constant.
    """

    solver: Solver
    acc: "Term"
    scale: SymbolicScale
    words: Mapping[str, "Term"]
    relations: Sequence["Term"]
    choices: Sequence[Choice]
    out: "Term"

    @property
    def acc_bits(self) -> list["Term"]:
        """The bits of the accumulator."""
        return self.solver.bits(self.acc, self.acc.sort().bv_size())

    def lanes(self, which: Callable[[LaneClass], bool]) -> list["Term"]:
        """For each lane, whether ``which`` is true for its class."""
        return [choice.any(which) for choice in self.choices]


class FloatDotProof(DotProof):
    """A dot product into a floating-point accumulator."""

    def __init__(self, design: Design, netlist: Netlist):
        super().__init__(design, netlist)
        self.target = state_format(design.core.accumulator)
        self.scales = Scales(design, netlist)

    def cases(self, part: int) -> int:
        """Part 1 has special accumulators; the others are divided evenly among parts that only together cover them."""
        total = 1 << sum(self.inputs.values())
        special = 0 if self.target.flush else total >> self.target.exponent_bits
        if part == 1:
            return special
        share, rest = divmod(total - special, self.parts - 1 or 1)
        return share + rest if part == 0 else share

    def query(
        self,
        names: Sequence[str],
        field: int | None = None,
        made: Callable[[Solver, "Term"], Mapping[str, "Term"]] | None = None,
    ) -> Query:
        """Outputs for any values of some named words, and accumulators of an exponent field, or all.

        ``made`` makes other words from the accumulator.
        """
        solver, target = Solver(), self.target
        acc = solver.variable("acc_in", target.width)
        bits = solver.bits(acc, target.width)
        if field is not None:
            for place in range(target.exponent_bits):
                bits[target.fraction_bits + place] = solver.true if field >> place & 1 else solver.false
            acc = solver.join(bits)
        scale = self.scales.symbolic(solver)
        known = dict(zip(self.acc_nets, bits, strict=True)) | self.scales.known(solver, scale)
        words = {name: solver.variable(name, len(self.word(name))) for name in names}
        words |= made(solver, acc) if made else {}
        fixed, relations = {0: solver.false, 1: solver.true}, []
        for name, word in words.items():
            for net, bit in zip(self.word(name), solver.bits(word, len(self.word(name))), strict=True):
                if net in fixed:
                    relations.append(solver.equal(bit, fixed[net]))
                else:
                    known[net] = fixed[net] = bit
                    self._know_complement(solver, net, bit, known)
        known |= self.replaced(solver)
        choices = self.choices(solver, known, self.netlist.driven)
        return Query(solver, acc, scale, words, relations, choices, solver.outputs(self.netlist, known))

    def _know_complement(self, solver: Solver, net: int, bit: "Term", known: dict[int, "Term"]) -> None:
        """Gates may also read the net that an inverter makes this one from."""
        if net >= self.netlist.first_gate:
            gate = self.netlist.gates[net - self.netlist.first_gate]
            if gate.kind == "NOT" and gate.pins[0] >= self.netlist.first_gate:
                known.setdefault(gate.pins[0], solver.negate(bit))

    def replaced(self, _solver: Solver) -> dict[int, "Term"]:
        """Terms of other nets that queries take as unknown."""
        return {}

    def search(
        self, query: Query, conditions: Sequence["Term"], claim: "Term", flags: Sequence["Term | None"]
    ) -> dict[str, int] | None:
        """Inputs that contradict a claim, or the expected flags but those that are None, under some conditions."""
        solver, width = query.solver, self.target.width
        expected = self.expected_flags(flags)
        outputs = solver.bits(query.out, width + len(expected))[width:]
        pairs = zip(outputs, expected, strict=True)
        claim = solver.all([claim, *(solver.equal(bit, flag) for bit, flag in pairs if flag is not None)])
        allowed = [solver.either(list(choice.chosen)) for choice in query.choices]
        numbers = {f"class_{lane}": choice.number for lane, choice in enumerate(query.choices)}
        names = {"acc_in": query.acc, **query.scale.ports, **query.words, **numbers}
        conditions = [*allowed, *query.relations, *conditions]
        found = solver.search(solver.term("IMPLIES", solver.all(conditions), claim), names)
        return None if found is None else self.confirmed(self.example(query.choices, found), "the result")

    def example(self, choices: Sequence[Choice], found: Mapping[str, int]) -> dict[str, int]:
        """Inputs with the accumulator and the classes that the solver has found."""
        chosen = {lane: choice.classes[found[f"class_{lane}"]].pins for lane, choice in enumerate(choices)}
        return self.lanes.pins(chosen, {name: found[name] for name in ("acc_in", *self.scales.nets)})

    def specials(self, query: Query, conditions: Sequence["Term"] = ()) -> dict[str, int] | None:
        """Sums with an infinity or NaN."""
        target, solver, k = self.target, query.solver, self.target.fraction_bits
        acc = solver.bits(query.acc, target.width)
        if target.flush:
            acc_special, acc_inf = solver.all(acc[:-1]), solver.false
        else:
            acc_special = solver.all(acc[k:-1])
            acc_inf = solver.all([acc_special, solver.negate(solver.either(acc[:k]))])
        acc_nan = solver.all([acc_special, solver.negate(acc_inf)])
        has_factor = solver.negate(solver.either([query.scale.is_zero, query.scale.is_nan]))
        plus, minus = (
            solver.either(
                [
                    solver.all([acc_inf, solver.equal(acc[-1], sign)]),
                    solver.all([has_factor, solver.either(query.lanes(which))]),
                ]
            )
            for sign, which in (
                (solver.false, lambda member: member.product == np.inf),
                (solver.true, lambda member: member.product == -np.inf),
            )
        )
        infinite = solver.either(query.lanes(lambda member: bool(np.isinf(member.product))))
        zero_times_infinity = solver.all([query.scale.is_zero, infinite])
        lane_nan = query.lanes(lambda member: bool(np.isnan(member.product)))
        any_nan = solver.either([acc_nan, query.scale.is_nan, zero_times_infinity, *lane_nan])
        opposite = solver.all([plus, minus, solver.negate(any_nan)])
        claim = self._special_bits(query, solver.either([any_nan, opposite]), minus, acc_special)
        signaling = solver.false if target.flush else solver.all([acc_nan, solver.negate(acc[k - 1])])
        undefined = solver.either([zero_times_infinity, *query.lanes(lambda member: member.undefined)])
        undefined = solver.all([undefined, solver.negate(query.scale.is_nan)])
        flags = [solver.false, solver.false, solver.false, solver.either([undefined, opposite, signaling])]
        lane_special = query.lanes(lambda member: not np.isfinite(member.product))
        special = solver.either([acc_special, query.scale.is_nan, *lane_special])
        return self.search(query, [special, *conditions], claim, flags)

    def _special_bits(self, query: Query, nan: "Term", minus: "Term", acc_special: "Term") -> "Term":
        target, solver, width = self.target, query.solver, self.target.width
        code = solver.extract(query.out, width - 1)
        assert target.canonical_nan is not None
        if not target.nan_keeps_sign:
            assert target.infinity is not None
            plus_bits, minus_bits = (solver.word(target.infinity | sign, width) for sign in (0, target.sign_bit))
            infinity = solver.choose(minus, minus_bits, plus_bits)
            return solver.equal(code, solver.choose(nan, solver.word(target.canonical_nan, width), infinity))
        sign = solver.false
        for choice in reversed(query.choices):  # the first product that is special, unless the accumulator is
            is_special = solver.either([choice.any(lambda member: not np.isfinite(member.product)), query.scale.is_nan])
            sign = solver.choose(is_special, choice.any(lambda member: member.negative), sign)
        sign = solver.choose(acc_special, solver.bits(query.acc, width)[-1], sign)
        bits = solver.choose(
            sign, solver.word(target.canonical_nan | target.sign_bit, width), solver.word(target.canonical_nan, width)
        )
        return solver.equal(code, bits)


class ProductsSumProof(FloatDotProof):
    """A dot product with the net ``products_sum``, the sum of all products as a multiple of ``2**lsb_exponent``.

    With ``compares`` the claim is not that the result is rounded. It is about any result and the flags of an aligned
    sum: inexact says whether the exact sum is another number, underflow whether it is also tiny.
    """

    def __init__(self, design: Design, netlist: Netlist, compares: bool = False):
        super().__init__(design, netlist)
        self.compares = compares
        fa, fb = design.codes.values()
        self.lsb_exponent = fa.ulp_exponent + fb.ulp_exponent

    def replaced(self, solver: Solver) -> dict[int, "Term"]:
        """With ``compares`` the result and the overflow flag have any value."""
        nets = [*self.netlist.driven[: self.target.width], self._overflow_net] if self.compares else []
        free = sorted({net for net in nets if net >= self.netlist.first_gate})
        return {net: solver.equal(solver.variable(f"net_{net}", 1), solver.word(1, 1)) for net in free}

    @property
    def _overflow_net(self) -> int:
        return self.outputs_of("flags")[Flag.OVERFLOW.bit_length() - 1]

    def specials(self, query: Query, conditions: Sequence["Term"] = ()) -> dict[str, int] | None:
        """The same; with ``compares`` the proof of the aligned sum has them."""
        return None if self.compares else super().specials(query, conditions)

    def judged(
        self, query: Query, conditions: Sequence["Term"], rounded: Rounded, sign: "Term"
    ) -> dict[str, int] | None:
        """Inputs that contradict that the result is a rounded number with a sign, with its flags."""
        solver, width = query.solver, self.target.width
        bits = solver.bits(query.out, sum(self.netlist.outputs.values()))
        same_sign = solver.equal(bits[width - 1], sign)
        if not self.compares:
            underflow = solver.all([rounded.inexact, rounded.tiny])
            rounded_flags = [rounded.inexact, underflow, rounded.overflow, solver.false]
            return self.search(query, conditions, solver.all([rounded.claim, same_sign]), rounded_flags)
        is_zero = solver.negate(solver.either(bits[: width - 1]))
        is_exact = [rounded.claim, solver.negate(rounded.inexact), solver.either([same_sign, is_zero])]
        inexact = solver.negate(solver.all(is_exact))
        infinity = solver.equal(solver.extract(query.out, width - 2), solver.word(self.target.infinity or 0, width - 1))
        overflow = solver.term("IMPLIES", bits[width + Flag.OVERFLOW.bit_length() - 1], infinity)
        flags = [inexact, solver.all([inexact, rounded.tiny]), None, None]
        return self.search(query, [*conditions, overflow], solver.true, flags)

    @cached_property
    def limits(self) -> tuple[int, int]:
        """The smallest and the largest sum of all products."""
        values = self.lanes.products.values
        values = values[np.isfinite(values)]
        low, high = (
            int(Fraction(float(value)) / Fraction(2) ** self.lsb_exponent) for value in (values.min(), values.max())
        )
        return self.lanes.count * low, self.lanes.count * high

    @cached_property
    def _sign_mask(self) -> int:
        return 1 << self.acc_nets[-1]

    @cached_property
    def is_flipped(self) -> bool:
        """Whether the sum is negated if the accumulator is negative: whether it depends on that sign."""
        supports = self.lanes.supports
        return any(supports[net] & self._sign_mask for net in self.word("products_sum"))

    def check_sum(self) -> None:
        """Show that ``products_sum`` is the sum of all products, negated or not."""
        form = linear_form(self.netlist, self.word("products_sum"))
        *parts, others = self.split(form, self._sign_mask)
        if others:
            raise NotShownError("products_sum is not a sum of words that belong to one lane each")
        for negative in (0, 1):
            known = {self.acc_nets[-1]: ~np.uint64(0) if negative else np.uint64(0)}
            self.check_lanes(form, parts, self.lsb_exponent, known, -1 if negative and self.is_flipped else 1, False)
        if self.lanes.count * self.largest(self.lsb_exponent) >= form.modulus // 2:
            raise NotShownError("products_sum is too short for the largest sum")
