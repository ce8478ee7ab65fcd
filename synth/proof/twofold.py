"""Processing elements whose accumulator is in carry-save form: two rows of bits, whose sum is the value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from hwgen.blocks.block import Design
from synth.proof.adders import LinearForm, linear_form
from synth.proof.dot import ExactDotProof
from synth.proof.fold import Folder
from synth.proof.gates import CARRY, SUM, Gate, Netlist, NotShownError
from synth.proof.solver import Solver
from synth.proof.unroll import ALWAYS_0

if TYPE_CHECKING:
    from bitwuzla import Term

_TOTAL = "total"


@dataclass(frozen=True)
class RowsNetlist(Netlist):
    """A step from two rows and ``enable``; inputs of the reference model have the value in the first row.

    Attributes
    ----------
    now : Netlist
        The outputs as they follow from the state in the same cycle.
    """

    now: Netlist = field(kw_only=True)

    def answers(self, cases: Sequence[Mapping[str, int]]) -> list[dict[str, int]]:
        """The outputs for each case."""
        return super().answers([self._rows(pins) for pins in cases])

    def _rows(self, pins: Mapping[str, int]) -> Mapping[str, int]:
        if "enable" in pins:
            return pins
        width, bits = self.outputs["acc_out"] - 3, (self.inputs["acc_in"] - 3) // 2
        value = pins["acc_in"] & (1 << width) - 1
        first = value | (value >> width - 1) << width
        return {**pins, "enable": 1, "acc_in": first | pins["acc_in"] >> width << 2 * bits}


def full_adders(netlist: Netlist) -> Netlist:
    """The netlist with full and half adders in place of pairs of gates that compute their outputs."""
    gates = dict(enumerate(netlist.gates, netlist.first_gate))
    pairs = {(gate.kind, frozenset(gate.pins)): net for net, gate in reversed(gates.items())}

    def pins_of(kind: str, net: int) -> tuple[int, ...]:
        return gates[net].pins if net in gates and gates[net].kind == kind else ()

    carries: dict[frozenset[int], int] = {}
    for net, gate in gates.items():
        for pair, other in permutations(gate.pins) if gate.kind == "OR" else ():
            both = pins_of("AND", pair)
            thirds = [
                third for third, either in permutations(pins_of("AND", other), 2) if _same(pins_of("OR", either), both)
            ]
            thirds += [1] * _same(pins_of("OR", other), both)  # a carry beside the constant 1
            for third in thirds:
                carries[frozenset((*both, third))] = net
    changed: dict[int, Gate] = {}
    for net, gate in gates.items():
        operands = (1, gate.pins[0]) if gate.kind == "NOT" else gate.pins
        for pair, third in permutations(operands) if gate.kind in ("XOR", "NOT") else ():
            addends = frozenset((*pins_of("XOR", pair), third))
            carry = carries.get(addends, pairs.get(("OR", addends - {1}), 0) if 1 in addends else 0)
            if len(addends) == 3 and carry:
                changed[net], changed[carry] = (Gate(kind, tuple(sorted(addends))) for kind in (SUM, CARRY))
    for net, gate in gates.items():
        carry = pairs.get(("AND", frozenset(gate.pins)), 0)
        if gate.kind == "XOR" and carry and not {net, carry} & changed.keys():
            changed[net], changed[carry] = (Gate(kind, (0, *gate.pins)) for kind in (SUM, CARRY))
    return replace(netlist, gates=tuple(changed.get(net, gate) for net, gate in gates.items()))


def _same(pins: Sequence[int], others: Sequence[int]) -> bool:
    return bool(pins) and set(pins) == set(others)


def linear_form_of_rows(netlist: Netlist, word: Sequence[int]) -> LinearForm:
    """The same as :func:`synth.proof.adders.linear_form`; an adder whose carry is not computed ends the last place."""
    while True:
        form = linear_form(netlist, word)
        odd = [net for net, weight in form.terms.items() if 2 * weight == form.modulus and net >= netlist.first_gate]
        odd = [net for net in odd if netlist.gates[net - netlist.first_gate].kind == "XOR"]
        if not odd:
            return form
        gates = list(netlist.gates)
        for place in (net - netlist.first_gate for net in odd):
            gates[place] = Gate(SUM, (0, *gates[place].pins))
        netlist = replace(netlist, gates=tuple(gates))


def weights_of_rows(netlist: Netlist, bits: int) -> dict[int, int]:
    """The weights of the state's bits in the sum of its two rows."""
    nets, zeros = netlist.input_nets("acc_in")[: 2 * bits], netlist.named[ALWAYS_0]
    return {net: 1 << place % bits for place, net in enumerate(nets) if net not in zeros}


def past(solver: Solver, word: "Term") -> "Term":
    """Whether a number needs its first bit."""
    first, second = solver.bits(word, word.sort().bv_size())[-2:]
    return solver.term("XOR", first, second)


class CarrySaveProof(ExactDotProof):
    """A step of a processing element whose state is two rows, with one bit more than the value V, and sticky flags.

    The outputs follow from the state in the same cycle: they are the sum of the rows, the sticky bits, and the flags so
    far, with overflow if the sum needs its first bit. So what a step does to the outputs it does to the state.

    The step is shown for all rows, also those that no sum leads to. With ``enable`` the rows afterwards add up to V and
    all products, otherwise to V, modulo one more bit than the value has. The reference model's value is V without its
    first bit. The outputs are the sum without its first bit, and whether it needs that bit, now or before. If V needs
    it, the flag is set before and after. Otherwise V and the products fit, and the first bits of the sum say whether it
    does without one.
    """

    method = (
        "proof by decomposition: the full adders add, every lane adds its product for all pairs of codes, and the "
        "solver (bitwuzla) shows the flags, for all states in carry-save form"
    )
    knows = ExactDotProof.knows | {"carry-save"}

    def prove(self, _part: int) -> dict[str, int] | None:
        """The outputs of a state, and the step with and without ``enable``."""
        assert isinstance(self.netlist, RowsNetlist)
        self._outputs(self.netlist.now)
        step, total = self._step({})
        try:  # enable masks the products
            for adds in (True, False):
                _Step(self.design, step, adds).prove_with(total)
        except NotShownError:  # enable chooses between the sum and the rows as they are
            for adds in (True, False):
                step, total = self._step(dict.fromkeys(self.netlist.input_nets("enable"), int(adds)))
                _Step(self.design, step, adds).prove_with(total)
        return None

    def _outputs(self, now: Netlist) -> None:
        """Show that the outputs are what the class says of the state."""
        width, netlist = self.unit.value_width, full_adders(now)
        total, zeros = netlist.named.get(_TOTAL, ()), netlist.named[ALWAYS_0]
        form, rows = linear_form_of_rows(netlist, total), weights_of_rows(netlist, width + 1)
        if len(total) != width + 1 or form.terms != rows or form.constant:
            raise NotShownError(f"{_TOTAL} is not the sum of the rows of its cycle")
        solver, words = Solver(), {name: netlist.input_nets(name) for name in ("acc_in", "sticky")}
        variables = {name: solver.variable(name, len(nets)) for name, nets in words.items()}
        bits = {
            name: [
                solver.false if net in zeros else bit
                for net, bit in zip(nets, solver.bits(word, len(nets)), strict=True)
            ]
            for (name, nets), word in zip(words.items(), variables.values(), strict=True)
        }
        number = solver.variable(_TOTAL, width + 1)
        known = {net: bit for name, nets in words.items() for net, bit in zip(nets, bits[name], strict=True)}
        known |= dict(zip(total, solver.bits(number, width + 1), strict=True))
        sticky = bits["sticky"] if len(bits["sticky"]) > 1 else [solver.false] * 2 + bits["sticky"] + [solver.false]
        overflow = solver.either([sticky[2], past(solver, number)])
        right = [*solver.bits(number, width), *bits["acc_in"][-3:]]
        right += self.expected_flags([*sticky[:2], overflow, sticky[3]])
        out = solver.bits(solver.outputs(netlist, known), sum(netlist.outputs.values()))
        claim = solver.all([solver.equal(*pair) for pair in zip(out, right, strict=True)])
        if solver.search(claim, variables):
            raise NotShownError("the outputs are not those of the state in their cycle")

    def _step(self, constants: Mapping[int, int]) -> tuple[Netlist, Sequence[int]]:
        """The step with full adders and some constants, and the nets of the sum of the rows afterwards."""
        folder, netlist = Folder(self.netlist), self.netlist
        words, place = {}, 0
        for name, width in netlist.outputs.items():
            words[name] = netlist.driven[place : place + width]
            place += width
        words[_TOTAL] = self.word(_TOTAL)
        whole = folder.netlist_of(
            folder.fold(constants), {name: netlist.input_nets(name) for name in netlist.inputs}, words
        )
        outputs, named = dict(netlist.outputs), {ALWAYS_0: whole.named[ALWAYS_0]}
        step = replace(full_adders(whole), outputs=outputs, driven=whole.driven[:place], named=named)
        return step, whole.driven[place:]


class _Step(ExactDotProof):
    """The step with one level of ``enable``."""

    def __init__(self, design: Design, netlist: Netlist, adds: bool):
        super().__init__(design, netlist)
        self.adds = adds
        (self.enable,) = netlist.input_nets("enable")

    def prove_with(self, total: Sequence[int]) -> None:
        """The sum, then the flags."""
        unit, width = self.unit, self.unit.value_width
        bits = width + 1
        if len(total) != bits or list(total[:width]) != self.outputs_of("acc_out")[:width]:
            raise NotShownError(f"{_TOTAL} is not the value with one more bit")
        form = linear_form_of_rows(self.netlist, total)
        *parts, others = self.split(form, 1 << self.enable)
        if others != weights_of_rows(self.netlist, bits):
            raise NotShownError("the rows afterwards are not a sum of the rows before and of words of one lane each")
        level = ~np.uint64(0) if self.adds else np.uint64(0)
        self.check_lanes(form, parts, unit.lsb_exponent, {self.enable: level}, int(self.adds))
        if (1 << width - 1) + self.lanes.count * self.largest(unit.lsb_exponent) > form.modulus // 2:
            raise NotShownError("the rows are too short for the largest sum")
        self._status(total)

    def _status(self, total: Sequence[int]) -> None:
        """The sticky bits and the flags; overflow includes that of the value before."""
        solver, width = Solver(), self.unit.value_width
        size, bits = len(self.acc_nets), width + 1
        acc, number = solver.variable("acc_in", size), solver.variable(_TOTAL, bits)
        zeros = self.netlist.named[ALWAYS_0]
        acc_bits = [
            solver.false if net in zeros else bit
            for net, bit in zip(self.acc_nets, solver.bits(acc, size), strict=True)
        ]
        acc = solver.join(acc_bits)
        known = dict(zip(self.acc_nets, acc_bits, strict=True))
        known |= dict(zip(total, solver.bits(number, bits), strict=True))
        known[self.enable] = solver.true if self.adds else solver.false
        choices = self.choices(solver, known, self.netlist.driven)
        out = solver.bits(solver.outputs(self.netlist, known), sum(self.netlist.outputs.values()))
        expected, invalid = self.specials(solver, choices if self.adds else [], acc_bits[2 * bits :])
        rows = [solver.extract(acc, first + bits - 1, first) for first in (0, bits)]
        before = solver.term("BV_ADD", *rows)
        overflow = solver.either([past(solver, before), past(solver, number)])
        expected += self.expected_flags([solver.false, solver.false, overflow, invalid])
        pairs = zip(out[width:], expected, strict=True)
        claim = solver.all([solver.equal(*pair) for pair in pairs])
        pos, neg, nan = acc_bits[2 * bits :]
        conditions = [solver.either(list(choice.chosen)) for choice in choices]
        conditions.append(solver.term("IMPLIES", solver.all([pos, neg]), nan))  # of all states: the sticky bits say so
        if not self.adds:  # as the form of the sum says
            conditions.append(solver.equal(number, before))
        numbers = {f"class_{lane}": choice.number for lane, choice in enumerate(choices)}
        found = solver.search(solver.term("IMPLIES", solver.all(conditions), claim), {"acc_in": acc, **numbers})
        if found is None:
            return
        chosen = {lane: choice.classes[found[f"class_{lane}"]].pins for lane, choice in enumerate(choices)}
        raise NotShownError("the flags may be wrong", [self._case(chosen, found["acc_in"])])

    def _case(self, chosen: Mapping[int, Mapping[str, int]], rows: int) -> dict[str, int]:
        """Inputs of the reference model."""
        width = self.unit.value_width
        value = (rows + (rows >> width + 1)) & (1 << width) - 1
        return self.lanes.pins(chosen, {"acc_in": value | rows >> 2 * (width + 1) << width})
