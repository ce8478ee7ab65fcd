"""What the proofs of dot products with a floating-point accumulator have in common: queries, infinities and NaN."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from golden.wide import state_format
from hwgen.blocks.block import Design
from synth.proof.dot import Choice, DotProof
from synth.proof.gates import Netlist
from synth.proof.lanes import LaneClass
from synth.proof.solver import Solver

if TYPE_CHECKING:
    from bitwuzla import Term


@dataclass(frozen=True)
class Query:
    """A symbolic accumulator, named words inside, the classes of all lanes, and the module's outputs."""

    solver: Solver
    acc: "Term"
    words: Mapping[str, "Term"]
    choices: Sequence[Choice]
    out: "Term"

    def lanes(self, which: Callable[[LaneClass], bool]) -> list["Term"]:
        """For each lane, whether ``which`` is true for its class."""
        return [choice.any(which) for choice in self.choices]


class FloatDotProof(DotProof):
    """A dot product into a floating-point accumulator."""

    def __init__(self, design: Design, netlist: Netlist):
        super().__init__(design, netlist)
        self.target = state_format(design.core.accumulator)

    def query(self, names: Sequence[str], field: int | None = None) -> Query:
        """Outputs for any values of some named words, and accumulators of an exponent field, or all."""
        solver, target = Solver(), self.target
        acc = solver.variable("acc_in", target.width)
        bits = solver.bits(acc, target.width)
        if field is not None:
            for place in range(target.exponent_bits):
                bits[target.fraction_bits + place] = solver.true if field >> place & 1 else solver.false
            acc = solver.join(bits)
        known = dict(zip(self.acc_nets, bits, strict=True))
        words = {name: solver.variable(name, len(self.word(name))) for name in names}
        for name, word in words.items():
            known |= dict(zip(self.word(name), solver.bits(word, len(self.word(name))), strict=True))
        choices = self.choices(solver, known, self.netlist.driven)
        return Query(solver, acc, words, choices, solver.outputs(self.netlist, known))

    def search(
        self, query: Query, conditions: Sequence["Term"], claim: "Term", flags: Sequence["Term"]
    ) -> dict[str, int] | None:
        """Inputs that contradict a claim, or the expected flags, under some conditions."""
        solver, width = query.solver, self.target.width
        expected = self.expected_flags(flags)
        outputs = solver.bits(query.out, width + len(expected))[width:]
        claim = solver.all([claim, *(solver.equal(*pair) for pair in zip(outputs, expected, strict=True))])
        allowed = [solver.either(list(choice.chosen)) for choice in query.choices]
        numbers = {f"class_{lane}": choice.number for lane, choice in enumerate(query.choices)}
        names = {"acc_in": query.acc, **query.words, **numbers}
        found = solver.search(solver.term("IMPLIES", solver.all([*allowed, *conditions]), claim), names)
        return None if found is None else self.confirmed(self.example(query.choices, found), "the result")

    def example(self, choices: Sequence[Choice], found: Mapping[str, int]) -> dict[str, int]:
        """Inputs with the accumulator and the classes that the solver has found."""
        chosen = {lane: choice.classes[found[f"class_{lane}"]].pins for lane, choice in enumerate(choices)}
        return self.lanes.pins(chosen, {"acc_in": found["acc_in"]})

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
        plus, minus = (
            solver.either([solver.all([acc_inf, solver.equal(acc[-1], sign)]), *query.lanes(which)])
            for sign, which in (
                (solver.false, lambda member: member.product == np.inf),
                (solver.true, lambda member: member.product == -np.inf),
            )
        )
        any_nan = solver.either([acc_nan, *query.lanes(lambda member: bool(np.isnan(member.product)))])
        opposite = solver.all([plus, minus, solver.negate(any_nan)])
        claim = self._special_bits(query, solver.either([any_nan, opposite]), minus, acc_special)
        signaling = solver.false if target.flush else solver.all([acc_nan, solver.negate(acc[k - 1])])
        undefined = query.lanes(lambda member: member.undefined)
        flags = [solver.false, solver.false, solver.false, solver.either([*undefined, opposite, signaling])]
        special = solver.either([acc_special, *query.lanes(lambda member: not np.isfinite(member.product))])
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
            is_special = choice.any(lambda member: not np.isfinite(member.product))
            sign = solver.choose(is_special, choice.any(lambda member: member.negative), sign)
        sign = solver.choose(acc_special, solver.bits(query.acc, width)[-1], sign)
        bits = solver.choose(
            sign, solver.word(target.canonical_nan | target.sign_bit, width), solver.word(target.canonical_nan, width)
        )
        return solver.equal(code, bits)
