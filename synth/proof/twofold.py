"""Processing elements whose accumulator is in carry-save form: two rows of bits, whose sum is the value."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import permutations

import numpy as np

from golden import Flag
from hwgen.blocks.block import Design
from synth.proof.adders import LinearForm, linear_form
from synth.proof.bits import Bits, Bool, cat
from synth.proof.dot import ExactDotProof
from synth.proof.gates import CARRY, SUM, Folder, Gate, Netlist, NotShownError
from synth.proof.solver import Claim, Solver
from synth.proof.unroll import ALWAYS_0, RowsNetlist

_TOTAL = "total"


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
        odd = [net for net in odd if netlist.gates[net - netlist.first_gate].kind in ("XOR", "NOT")]
        if not odd:
            return form
        gates = list(netlist.gates)
        for place in (net - netlist.first_gate for net in odd):
            pins = gates[place].pins
            gates[place] = Gate(SUM, (*range(3 - len(pins)), *pins))  # ~x is the last bit of 1 + x
        netlist = replace(netlist, gates=tuple(gates))


def weights_of_rows(netlist: Netlist, bits: int) -> dict[int, int]:
    """The weights of the state's bits in the sum of its two rows."""
    nets, zeros = netlist.input_nets("acc_in")[: 2 * bits], netlist.named[ALWAYS_0]
    return {net: 1 << place % bits for place, net in enumerate(nets) if net not in zeros}


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

    @cached_property
    def claims(self) -> list[Claim]:
        """A single one: the outputs of a state, and the step with and without ``enable``."""
        return [Claim("outputs and step", 1 << sum(self.inputs.values()), self._steps)]

    def _steps(self) -> None:
        assert isinstance(self.netlist, RowsNetlist)
        self._show_outputs(self.netlist.now)
        step, total = self._step({})
        try:  # enable masks the products
            for adds in (True, False):
                _Step(self.design, step, adds).show(total)
        except NotShownError:  # enable chooses between the sum and the rows as they are
            for adds in (True, False):
                step, total = self._step(dict.fromkeys(self.netlist.input_nets("enable"), int(adds)))
                _Step(self.design, step, adds).show(total)

    def _show_outputs(self, now: Netlist) -> None:
        """Show that the outputs are what the class says of the state."""
        width, netlist = self.unit.value_width, full_adders(now)
        total, zeros = netlist.named.get(_TOTAL, ()), netlist.named[ALWAYS_0]
        form, rows = linear_form_of_rows(netlist, total), weights_of_rows(netlist, width + 1)
        if len(total) != width + 1 or form.terms != rows or form.constant:
            raise NotShownError(f"{_TOTAL} is not the sum of the rows of its cycle")
        solver = Solver()
        number, state = solver.variable(_TOTAL, width + 1), {}
        for name in ("acc_in", "sticky"):
            nets = netlist.input_nets(name)
            state[name] = {
                net: solver.false if net in zeros else bit
                for net, bit in zip(nets, solver.variable(name, len(nets)), strict=True)
            }
        known = {**state["acc_in"], **state["sticky"], **dict(zip(total, number, strict=True))}
        specials, flags = list(state["acc_in"].values())[-3:], list(state["sticky"].values())
        if len(flags) == 1:
            flags = [solver.false, solver.false, *flags, solver.false]
        flags[Flag.OVERFLOW.bit_length() - 1] |= _needs_first(number)
        out = solver.nets(netlist, known, netlist.driven)
        if solver.search(solver.same(out, [*number[:width], *specials, *self.expected_flags(flags)]), {}) is not None:
            raise NotShownError("the outputs are not those of the state in their cycle")

    def _step(self, constants: Mapping[int, int]) -> tuple[Netlist, Sequence[int]]:
        """The step with full adders and some constants, and the nets of the sum of the rows afterwards."""
        folder, inputs = Folder(self.netlist), {name: self.netlist.input_nets(name) for name in self.netlist.inputs}
        words = {**self.netlist.output_nets, _TOTAL: self.word(_TOTAL)}
        whole = folder.netlist_of(folder.fold(constants), inputs, words)
        total, named = whole.output_nets[_TOTAL], {ALWAYS_0: whole.named[ALWAYS_0]}
        driven = whole.driven[: -len(total)]
        return replace(full_adders(whole), outputs=self.netlist.outputs, driven=driven, named=named), total


class _Step(ExactDotProof):
    """The step with one level of ``enable``."""

    def __init__(self, design: Design, netlist: Netlist, adds: bool):
        super().__init__(design, netlist)
        self.adds = adds
        (self.enable,) = netlist.input_nets("enable")

    def show(self, total: Sequence[int]) -> None:
        """Show the sum, then the flags."""
        unit, width = self.unit, self.unit.value_width
        bits = width + 1
        if len(total) != bits or total[:width] != self.netlist.output_nets["acc_out"][:width]:
            raise NotShownError(f"{_TOTAL} is not the value with one more bit")
        form = linear_form_of_rows(self.netlist, total)
        *parts, others = self.lanes.split(form.terms, 1 << self.enable)
        if others != weights_of_rows(self.netlist, bits):
            raise NotShownError("the rows afterwards are not a sum of the rows before and of words of one lane each")
        level = ~np.uint64(0) if self.adds else np.uint64(0)
        self.check_lanes(form, parts, unit.lsb_exponent, {self.enable: level}, int(self.adds))
        if self.largest_sum > form.modulus // 2:
            raise NotShownError("the rows are too short for the largest sum")
        self._show_flags(total)

    def _show_flags(self, total: Sequence[int]) -> None:
        """The sticky bits and the flags; overflow includes that of the value before."""
        solver, width, bits = Solver(), self.unit.value_width, self.unit.value_width + 1
        zeros, unknown = self.netlist.named[ALWAYS_0], solver.variable("acc_in", len(self.acc_nets))
        acc = cat(*(solver.false if net in zeros else bit for net, bit in zip(self.acc_nets, unknown, strict=True)))
        number = solver.variable(_TOTAL, bits)
        known = {**dict(zip(total, number, strict=True)), self.enable: solver.true if self.adds else solver.false}
        pos, neg, nan = sticky = list(acc[2 * bits :])
        before = acc[:bits] + acc[bits : 2 * bits]
        overflow = _needs_first(before) | _needs_first(number)
        conditions = [(pos & neg).implies(nan)]  # of all states: the sticky bits say so
        if not self.adds:  # as the form of the sum says
            conditions.append(number == before)
        found = self.wrong_flags(solver, acc, sticky, known, overflow, conditions, self.adds)
        if found is not None:
            rows, members = found[0]["acc_in"], found[1]
            value = (rows + (rows >> bits)) & (1 << width) - 1  # of the reference model
            case = self.lanes.pins_of(members, {"acc_in": value | rows >> 2 * bits << width})
            raise NotShownError("the flags may be wrong", [case])


def _needs_first(number: Bits) -> Bool:
    """Whether a number in two's complement does not fit without its first bit."""
    return number[-1] ^ number[-2]
