"""Netlists from the output of Yosys's ``write_json``.

A pipeline becomes the combinational block that it delays: each output is traced back through gates and registers over
the latency to inputs that all belong to the same cycle. A pipeline is refused if an output depends on the inputs of
another cycle, if a register changes while ``enable`` is 0, or if ``rst`` does not clear a valid bit.

Only control values that a user may rely on are taken as known: ``in_valid`` in the cycle of the inputs; ``enable`` and
``rst`` from there to the cycle before the outputs.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import Any

from golden import Flag
from hwgen.blocks.block import RESETS, Pipeline, cycles
from hwgen.datapath.random import Random
from hwgen.netlist.emit import CLOCK
from synth.proof.gates import BUF, CARRY, GATES, SUM, Folder, Gate, Netlist, NetlistError, apply

_PINS = {**dict.fromkeys(GATES, "AB"), "NOT": "A", "BUF": "A", "MUX": "ABS"}

_REGISTER = "$_DFF_P_"

_CONTROLS = ("rst", "in_valid", "enable")

_Bit = int | str
_Ports = Mapping[str, Sequence[_Bit]]
_Levels = Mapping[_Bit, int]

_MOST_LEAVES = 8
"""Largest number of registers and inputs whose values are enumerated to show that a register keeps its value."""

COMBINATIONAL = Pipeline()

ALWAYS_0 = "bits of the state that are 0"

UNDEFINED = "undefined values"


@dataclass(frozen=True)
class RowsNetlist(Netlist):
    """A step from two rows and ``enable``; inputs of the reference model have the value in the first row.

    In both netlists the named word :data:`ALWAYS_0` has the inputs that are no registers, but 0.
    """

    now: Netlist = field(kw_only=True)
    """The outputs as they follow in the same cycle from the state and, as ``sticky``, from the other register."""

    def answers(self, cases: Sequence[Mapping[str, int]]) -> list[dict[str, int]]:
        return super().answers([self._rows(pins) for pins in cases])

    def _rows(self, pins: Mapping[str, int]) -> Mapping[str, int]:
        if "enable" in pins:
            return pins
        width, bits = self.outputs["acc_out"] - 3, (self.inputs["acc_in"] - 3) // 2
        value = pins["acc_in"] & (1 << width) - 1
        first = value | (value >> width - 1) << width
        return {**pins, "enable": 1, "acc_in": first | pins["acc_in"] >> width << 2 * bits}


def parse(text: str, top: str, pipeline: Pipeline = COMBINATIONAL, free: bool = False) -> Netlist:
    """The netlist of a module from Yosys's JSON; for a pipeline, the combinational block that it delays.

    If undefined values are ``free``, their nets are 0, and the named word :data:`UNDEFINED`; else they are an error.
    """
    module = _Module(json.loads(text)["modules"][top], top, bool(pipeline.stages), free)
    if not pipeline.stages:
        return module.follow(module.inputs, module.outputs)
    module.check_controls(pipeline)
    data = {name: bits for name, bits in module.inputs.items() if name not in (*_CONTROLS, CLOCK)}
    results = {name: bits for name, bits in module.outputs.items() if name != "out_valid"}
    running = [module.levels(rst=0, enable=1)] * (pipeline.stages - 1)
    return module.follow(data, results, [module.levels(rst=0, enable=1, in_valid=1), *running, {}])


def parse_step(
    text: str,
    top: str,
    stages: int,
    interleave: int,
    rows: bool = False,
    register: str = "acc",
    follows: Sequence[str] = (),
) -> Netlist:
    """A step of a processing element: from the inputs of a cycle and the accumulator to the accumulator afterwards.

    The netlist has the codes, ``acc_in`` and ``scale`` as inputs, and ``acc_out``, ``flags`` and ``overflow`` as
    outputs. That ``clear``, ``enable`` and ``rst`` work, and that flags are kept, is checked here.

    With ``rows`` it is a :class:`RowsNetlist`, and the registers are ``state``, not ``acc``, and ``overflow_so_far`` or
    ``flags_so_far``. ``acc_in`` is that state, and ``acc_out`` is ``acc`` in the cycle after the step, as are ``flags``
    and ``overflow``. ``enable`` remains an input: what it does is not checked here.

    Other blocks with ``clear`` and ``enable`` have another ``register``, and outputs that ``follows`` names: it is
    checked that these follow in the same cycle from the register.
    """
    module = _Module(json.loads(text)["modules"][top], top, True)
    return module.step(stages, interleave, rows, register, follows)


def parse_register(text: str, top: str, source: Random, is_alone: bool = False) -> Netlist:
    """An enabled cycle of a register of random words, from ``state`` to ``random`` and ``state_after``.

    That a reset loads the seed, and that the register keeps its value while ``enable`` is 0, is checked here. A module
    that is such a register ``is_alone``: it has the ports of the block, and no others.
    """
    return _Module(json.loads(text)["modules"][top], top, True).register(source, is_alone)


def parse_fed(text: str, top: str, source: Random, free: bool = False) -> Netlist:
    """A block with a register of random words, as the combinational block with ``random`` as an input.

    Its nets of :func:`random_names` are cut. See :func:`parse` for ``free``.
    """
    module = _Module(json.loads(text)["modules"][top], top, True, free)
    inputs = {name: bits for name, bits in module.inputs.items() if name not in (CLOCK, "rst", "enable")}
    try:
        return module.follow(inputs, module.outputs, state={"random": module.random_word(source)})
    except NetlistError as error:
        raise NetlistError(f"{top} must have outputs that follow from its inputs and random alone: {error}") from error


def random_names(text: str, top: str, source: Random) -> list[str]:
    """The names of the nets that are the bits of ``random`` which are no bits of the state."""
    return _Module(json.loads(text)["modules"][top], top, True).random_names(source)


class _Module:
    """A module of simple gates, and registers if it is ``clocked``; its ports are lists of bits."""

    def __init__(self, module: Mapping[str, Any], top: str, clocked: bool, free: bool = False):
        self._module, self._top, self._clocked, self._free = module, top, clocked, free
        ways: dict[str, dict[str, list[_Bit]]] = {"input": {}, "output": {}}
        for name, port in module["ports"].items():
            if port["direction"] not in ways:
                raise self._error(f"must have inputs and outputs only, not the {port['direction']} port {name!r}")
            ways[port["direction"]][name] = port["bits"]
        self.inputs, self.outputs = ways["input"], ways["output"]

    def _error(self, problem: str) -> NetlistError:
        return NetlistError(f"{self._top} {problem}")

    @cached_property
    def _registers(self) -> dict[_Bit, _Bit]:
        """The input bit of each register, by its output bit."""
        cells = self._module["cells"].values() if self._clocked else ()
        pins = [cell["connections"] for cell in cells if cell["type"] == _REGISTER]
        if any(register["C"] != self.inputs[CLOCK] for register in pins):
            raise self._error("must have all its registers on clk")
        return {register["Q"][0]: register["D"][0] for register in pins}

    @cached_property
    def _drivers(self) -> dict[_Bit, tuple[str, list[_Bit]]]:
        """The gate that drives each bit, with its input bits."""
        drivers: dict[_Bit, tuple[str, list[_Bit]]] = {}
        for cell in self._module["cells"].values():
            kind, pins = cell["type"], cell["connections"]
            if kind in ("$scopeinfo", "$anyseq") or (self._clocked and kind == _REGISTER):
                continue  # an undefined value has no driver, which follow() reports
            if kind in ("$fa", "$alu"):
                drivers.update(_full_adders(cell))
                continue
            gate = kind.strip("$_")
            if not kind.startswith("$_") or gate not in _PINS:
                raise self._error(f"must be combinational and consist of gates; it contains a cell of type {kind}")
            drivers[pins["Y"][0]] = gate, [pins[pin][0] for pin in _PINS[gate]]
        return drivers

    def levels(self, **ports: int) -> dict[_Bit, int]:
        """Values of control ports, by their bits; ports that the module does not have are left out."""
        return {bit: level for name, level in ports.items() for bit in self.inputs.get(name, ())}

    def check_controls(self, pipeline: Pipeline) -> None:
        """Refuse a pipeline whose control ports are missing or do not work."""
        has_reset = pipeline.reset == RESETS[0]
        needed = [("inputs", name, "like every pipeline") for name in (CLOCK, "in_valid")]
        needed.append(("outputs", "out_valid", "like every pipeline"))
        optional = (("enable", pipeline.clock_enable, "--clock-enable"), ("rst", has_reset, "--reset sync"))
        for name, present, option in optional:
            if present:
                needed.append(("inputs", name, f"as {option} says"))
            elif name in self.inputs:
                raise self._error(f"must not have the input {name}, which goes with {option}")
        for way, name, reason in needed:
            if len((self.inputs if way == "inputs" else self.outputs).get(name, ())) != 1:
                raise self._error(f"must have the 1-bit port {name} among its {way}, {reason}")
        running = self.levels(rst=0, enable=1)
        ends = {"in_valid": self.inputs["in_valid"]}, {"out_valid": self.outputs["out_valid"]}
        valid = self.follow(*ends, [running] * pipeline.stages + [{}])
        if UNDEFINED in valid.named:  # as other inputs are here
            raise self._error("must have an out_valid that follows from in_valid alone")
        if [valid.evaluate({"in_valid": bit})["out_valid"] for bit in (0, 1)] != [0, 1]:
            raise self._error(f"must repeat on out_valid the value of in_valid from {pipeline.stages} cycles before")
        if pipeline.clock_enable:
            still = self._constants(self.levels(rst=0, enable=0))
            for output, data in self._registers.items():
                if not self._is_kept(output, data, still):
                    raise self._error(f"must keep its registers while enable is 0; it changes {self._name(output)}")
        if has_reset:
            known = self._constants(self.levels(rst=1))
            for cycle in range(1, pipeline.stages + 1):
                held = self._held(known)
                if self._constants(held).get(self.outputs["out_valid"][0]) != 0:
                    problem = f"out_valid may be 1 in cycle {cycle} after that"
                    raise self._error(f"must clear its valid bits while rst is 1; {problem}")
                known = self._constants(held | self.levels(rst=0, enable=1))

    def _is_kept(self, output: _Bit, data: _Bit, constants: _Levels) -> bool:
        """Whether a register keeps its value, for all values of the registers and inputs that its logic reads."""
        order: list[tuple[_Bit, str, list[_Bit]]] = []
        leaves: set[_Bit] = set()
        visited: set[_Bit] = set()
        waiting = [(data, False)]
        while waiting:
            bit, is_ready = waiting.pop()
            if is_ready:
                order.append((bit, *self._chosen(bit, constants)))
            elif bit not in visited and bit not in constants:
                visited.add(bit)
                if bit in self._drivers:
                    waiting += [(bit, True), *((pin, False) for pin in self._chosen(bit, constants)[1])]
                else:
                    leaves.add(bit)
        if output not in leaves or len(leaves) > _MOST_LEAVES:
            return False
        for row in range(1 << len(leaves)):
            values = {**constants, **{leaf: row >> place & 1 for place, leaf in enumerate(leaves)}}
            for bit, kind, pins in order:
                values[bit] = apply(kind, [values[pin] for pin in pins]) & 1
            if values[data] != values[output]:
                return False
        return True

    def _chosen(self, bit: _Bit, constants: _Levels) -> tuple[str, list[_Bit]]:
        """The gate that drives a bit; a multiplexer with a constant select is a buffer of the selected input."""
        kind, pins = self._drivers[bit]
        return ("BUF", [pins[constants[pins[2]]]]) if kind == "MUX" and pins[2] in constants else (kind, pins)

    def _name(self, bit: _Bit) -> str:
        names = [name for name, net in self._module["netnames"].items() if bit in net["bits"]]
        return min(names, key=lambda name: (name.startswith("$"), len(name)), default="one of them")

    def step(self, stages: int, interleave: int, rows: bool, register: str, follows: Sequence[str]) -> Netlist:
        """See :func:`parse_step`."""
        for name in ("clear", "enable", "rst"):
            if len(self.inputs.get(name, ())) != 1:
                raise self._error(f"must have the 1-bit port {name} among its inputs, like every processing element")
        status = [name for name in ("flags", "overflow") if name in self.outputs]
        words = {name: net["bits"] for name, net in self._module["netnames"].items()} if rows else self.outputs
        own = ("state", "flags_so_far", "overflow_so_far") if rows else (register, *status)
        state = {name: words[name] for name in own if name in words}
        live = [bit for word in state.values() for bit in word if bit != "0" or not rows]
        has_registers = own[0] in state and self._registers.keys() >= set(live)
        counts = range(2, 3 if rows else 4) if register == "acc" else range(1, 2)
        if not has_registers or len(state) not in counts or not self.outputs.keys() >= {*follows}:
            problem = "registers at its outputs acc and overflow, or flags"
            if rows:
                problem = "the registers state, and overflow_so_far or flags_so_far"
            elif follows:
                problem = f"a register at its output {register}, and the output {', '.join(follows)}"
            raise self._error(f"must have {problem}")
        self._check_reset(stages, live)
        # bits that are always 0 are inputs of their own; so are registers for such bits, which may be a single one
        never = {bit: 0 for bit, data in self._registers.items() if rows and data == "0"}
        acc, *others = (
            [f"{place}: {bit}" if bit == "0" or bit in never else bit for place, bit in enumerate(word)]
            for word in state.values()
        )
        flags = list(chain(*others))
        sticky = flags if rows else list(dict.fromkeys(flags))
        places = [sticky.index(bit) for bit in flags]  # the sticky bit of each output behind the accumulator
        if rows and len(status) > 1:
            places.append(Flag.OVERFLOW.bit_length() - 1)
        if len(places) != sum(len(self.outputs[name]) for name in status):
            raise self._error("must have the registers state, and overflow_so_far or flags_so_far")
        after = f"{register}_out"
        results = {after: self.outputs[register], **{name: self.outputs[name] for name in (*status, *follows)}}
        before: dict[str, Sequence[_Bit]] = {f"{register}_in": acc, "sticky": sticky}
        data = {name: bits for name, bits in self.inputs.items() if name not in (CLOCK, "rst", "clear", "enable")}
        inputs = {**data, "clear": self.inputs["clear"], "enable": self.inputs["enable"]}
        now_follow = results if rows else {name: self.outputs[name] for name in follows}
        if now_follow:
            try:
                now = self.follow({}, now_follow, [never], before)
            except NetlistError as error:
                raise self._error(f"must have outputs that follow from {' and '.join(state)} alone") from error
        known = [self.levels(rst=0) | never] * (stages + 2)
        whole = self.follow(inputs, results, known, before, stages + 1 - interleave)
        if not rows:
            return self._controlled(whole, [*data, f"{register}_in"], places, register)
        step = self._controlled(self._with_zeros(whole, before), [*data, "enable", "acc_in"], places)
        named = step.top, step.inputs, step.outputs, step.gates, step.driven, step.named
        return RowsNetlist(*named, now=self._with_zeros(now, before))

    def _word(self, name: str) -> list[_Bit]:
        """A word of a register inside or of this module; empty if there is none."""
        nets = self._module["netnames"]
        return list(nets.get(name, nets.get(f"generator__{name}", {"bits": ()}))["bits"])

    def random_names(self, source: Random) -> list[str]:
        """See :func:`random_names`."""
        names = ["random"] if self._word("random") else [f"bit_{place}" for place in range(len(source.random))]
        nets = self._module["netnames"]
        return [name for item in names for name in (item, f"generator__{item}") if name in nets]

    def random_word(self, source: Random) -> list[_Bit]:
        """The bits of ``random``, which may be a word, or bits of the state and the sequence, by their names."""
        count, state = len(source.random), self._word("state")
        word = self._word("random")
        if not word:
            word = list(chain(*((self._word(f"bit_{place}") or state[place : place + 1]) for place in range(count))))
        if len(word) != count:
            raise self._error("must have the net random, or nets bit_N for its bits that are no bits of the state")
        return word

    def register(self, source: Random, is_alone: bool) -> Netlist:
        """See :func:`parse_register`."""
        for name in ("enable", "rst"):
            if len(self.inputs.get(name, ())) != 1:
                raise self._error(f"must have the 1-bit port {name} among its inputs, like every register")
        state, random = self._word("state"), self.outputs.get("random") if is_alone else self.random_word(source)
        others = self.inputs.keys() - {CLOCK, "rst", "enable"} | self.outputs.keys() - {"random"}
        if random is None or len(random) != len(source.random) or (is_alone and others):
            problem = f"must have the output random of {len(source.random)} bits and the inputs clk, rst and enable"
            raise self._error(f"{problem}, and no other ports")
        if len(set(state)) != source.width or self._registers.keys() != set(state):
            raise self._error(f"must have the register state of {source.width} bits, and no other")
        inputs = {name: self.inputs[name] for name in ("rst", "enable")}
        results = {"random": random, "state_after": [self._registers[bit] for bit in state]}
        whole = self.follow(inputs, results, state={"state": state})
        folder, (rst, enable), first = Folder(whole), (whole.input_nets(name)[0] for name in inputs), len(random)

        def outputs(reset: int, enabled: int) -> list[int]:
            numbers = folder.fold({rst: reset, enable: enabled})
            return [numbers[net] for net in whole.driven]

        levels = {(reset, enabled): outputs(reset, enabled) for reset in (0, 1) for enabled in (0, 1)}
        seed = [source.random_seed >> place & 1 for place in range(source.width)]
        if any(levels[1, enabled][first:] != seed for enabled in (0, 1)):
            raise self._error(f"must load the seed {source.random_seed:#x} while rst is 1")
        if levels[0, 0][first:] != [*whole.input_nets("state")]:
            raise self._error("must keep its register while enable is 0")
        if any(found[:first] != levels[0, 1][:first] for found in levels.values()):
            raise self._error("must have random words that follow from the state alone")
        numbers = folder.fold({rst: 0, enable: 1})
        return folder.netlist_of(numbers, {"state": whole.input_nets("state")}, whole.output_nets)

    def _with_zeros(self, netlist: Netlist, words: _Ports) -> Netlist:
        """The netlist with :data:`ALWAYS_0`."""
        pairs = [pair for name, word in words.items() for pair in zip(netlist.input_nets(name), word, strict=True)]
        zeros = tuple(net for net, bit in pairs if bit not in self._registers)
        return replace(netlist, named={**netlist.named, ALWAYS_0: zeros})

    def _check_reset(self, stages: int, state: Sequence[_Bit]) -> None:
        known = self._constants(self.levels(rst=1))
        for cycle in range(stages + 1):
            if any(known.get(self._registers[bit]) != 0 for bit in state):
                raise self._error(f"must be 0 after rst is 1; {cycle} cycles later an output may be 1")
            known = self._constants(self._held(known) | self.levels(rst=0))

    def _controlled(
        self, whole: Netlist, inputs: Sequence[str], places: Sequence[int], register: str = "acc"
    ) -> Netlist:
        """The step from some inputs, without ``clear`` and maybe with ``enable``, if others follow from it.

        ``places`` are those of the sticky bits that the outputs behind the accumulator go with; outputs behind these
        follow from the accumulator.
        """
        before = f"{register}_in"
        folder, first = Folder(whole), whole.outputs[f"{register}_out"]
        ports = {name: whole.input_nets(name) for name in ("clear", "enable", before, "sticky")}

        def outputs(**levels: int) -> list[int]:
            numbers = folder.fold({net: level for name, level in levels.items() for net in ports[name]})
            return [numbers[net] for net in whole.driven[: first + len(places)]]

        is_masked = "enable" in inputs
        cleared = [outputs(clear=1, enable=level) for level in (0, 1)]
        empty = [outputs(clear=0, enable=level, **{before: 0}, sticky=0) for level in (0, 1)]
        if any(cleared[0]) or cleared[1] != empty[1] or (is_masked and cleared[0] != empty[0]):
            raise self._error("must clear its accumulator and its flags, and nothing else, while clear is 1")
        kept = [*ports[before], *(ports["sticky"][place] for place in places)]
        if not is_masked and outputs(clear=0, enable=0) != kept:
            raise self._error("must keep its accumulator and its flags while enable is 0")
        running = {"clear": 0} if is_masked else {"clear": 0, "enable": 1}
        fresh = outputs(**running, sticky=0)
        if outputs(**running)[:first] != fresh[:first]:
            raise self._error("must have an accumulator that does not depend on earlier flags")
        constants = {net: level for name, level in running.items() for net in ports[name]}
        for output, place in enumerate(places, first):
            levels = [folder.fold({**constants, ports["sticky"][place]: level}) for level in (0, 1)]
            if [numbers[whole.driven[output]] for numbers in levels] != [fresh[output], 1]:
                raise self._error("must keep its flags until clear is 1")
        numbers = folder.fold({**constants, **dict.fromkeys(ports["sticky"], 0)})
        return folder.netlist_of(numbers, {name: whole.input_nets(name) for name in inputs}, whole.output_nets)

    def follow(
        self,
        inputs: _Ports,
        outputs: _Ports,
        known: Sequence[_Levels] = ({},),
        state: _Ports = MappingProxyType({}),
        state_cycle: int = 0,
    ) -> Netlist:
        """The gates from inputs in cycle 0 to outputs in the last cycle; ``known`` has control values of each cycle.

        The registers ``state`` are inputs, too, with their values in the cycle ``state_cycle``.
        """
        registers, drivers, latency = self._registers, self._drivers, len(known) - 1
        entering = dict.fromkeys(bit for bits in inputs.values() for bit in bits)
        held = [bit for bits in state.values() for bit in bits]
        first = 2 + len(entering) + len(held)
        nets: dict[tuple[_Bit, int], int] = {(bit, 0): net for net, bit in enumerate(entering, 2)}
        nets |= {(bit, state_cycle): net for net, bit in enumerate(held, 2 + len(entering))}
        controls = {bit: name for name in _CONTROLS if name not in inputs for bit in self.inputs.get(name, ())}
        constants: list[dict[_Bit, int]] = []
        for cycle, levels in enumerate(known):
            constants.append(self._constants({**(self._held(constants[-1]) if cycle else {}), **levels}))
            nets |= {(bit, cycle): value for bit, value in constants[-1].items()}
        gates: list[Gate] = []
        open_bits: set[tuple[_Bit, int]] = set()  # their operands are still being traced
        for output in (bit for bits in outputs.values() for bit in bits):
            waiting: list[tuple[_Bit, int]] = [(output, latency)]
            while waiting:
                bit, cycle = waiting[-1]
                if (bit, cycle) in nets:
                    waiting.pop()
                    continue
                if bit in registers and cycle:
                    before = (registers[bit], cycle - 1)
                    if before in nets:
                        nets[bit, cycle] = nets[before]
                    else:
                        waiting.append(before)
                    continue
                if bit in controls:
                    raise self._error(
                        f"has outputs that depend on {controls[bit]} in a cycle in which it must not affect them"
                    )
                if bit in registers or bit in entering:
                    raise self._error(
                        f"must have a latency of {cycles(latency)} from every input to every output, as --stages says"
                    )
                if bit not in drivers:
                    nets[bit, cycle] = first + len(gates)
                    gates.append(self._undefined())
                    continue
                kind, names = self._chosen(bit, constants[cycle])
                pins = [(name, cycle) for name in names]
                missing = [pin for pin in pins if pin not in nets]
                if missing:
                    open_bits.add((bit, cycle))
                    if not open_bits.isdisjoint(missing):
                        raise self._error("must be combinational; it contains a loop of gates")
                    waiting += missing
                elif kind == "BUF":
                    nets[bit, cycle] = nets[pins[0]]
                else:
                    nets[bit, cycle] = first + len(gates)
                    gates.append(Gate(kind, tuple(nets[pin] for pin in pins)))
        driven = tuple(nets[bit, latency] for bits in outputs.values() for bit in bits)
        undefined = tuple(net for net, gate in enumerate(gates, first) if gate.kind == BUF)
        named = self._named(nets) | ({UNDEFINED: undefined} if undefined else {})
        return Netlist(self._top, _widths({**inputs, **state}), _widths(outputs), tuple(gates), driven, named)

    def _undefined(self) -> Gate:
        """The gate in place of an undefined value."""
        if not self._free:
            raise self._error("has outputs that may depend on the undefined value x, or on undriven nets")
        return Gate(BUF, (0,))

    def _named(self, nets: Mapping[tuple[_Bit, int], int]) -> dict[str, tuple[int, ...]]:
        """Words with the nets of their bits in the last cycle."""
        places = {bit: net for (bit, _), net in sorted(nets.items(), key=lambda item: item[0][1])}
        words = {name: word["bits"] for name, word in self._module["netnames"].items() if not name.startswith("$")}
        return {
            name: tuple(places[bit] for bit in bits)
            for name, bits in words.items()
            if all(bit in places for bit in bits)
        }

    def _held(self, known: _Levels) -> dict[_Bit, int]:
        """The known register outputs after a cycle with these known bits."""
        return {output: known[data] for output, data in self._registers.items() if data in known}

    def _constants(self, known: _Levels) -> dict[_Bit, int]:
        """All bits that are constant if the ``known`` ones are."""
        constants: dict[_Bit, int] = {"0": 0, "1": 1, **known}
        readers: dict[_Bit, list[_Bit]] = {}
        for bit, (_, pins) in self._drivers.items():
            for pin in pins:
                readers.setdefault(pin, []).append(bit)
        waiting = [reader for bit in constants for reader in readers.get(bit, ())]
        while waiting:
            bit = waiting.pop()
            if bit in constants:
                continue
            kind, pins = self._drivers[bit]
            trials = [[constants.get(pin, trial >> place & 1) for place, pin in enumerate(pins)] for trial in range(8)]
            values = {apply(kind, trial) & 1 for trial in trials}
            if len(values) == 1:
                constants[bit] = values.pop()
                waiting += readers.get(bit, ())
        return constants


def _full_adders(cell: Mapping[str, Any]) -> dict[_Bit, tuple[str, list[_Bit]]]:
    """The drivers in one of Yosys's cells ``$fa``, independent full adders, or ``$alu``, a chain of them.

    ``$alu`` adds A, B and CI; BI inverts B. CO has the carries out of all places, and X the bits of A xor B.
    """
    pins, drivers = cell["connections"], {}
    if cell["type"] == "$fa":
        for *addends, total, carry in zip(*(pins[pin] for pin in "ABCYX"), strict=True):
            drivers[total], drivers[carry] = (SUM, addends), (CARRY, addends)
        return drivers
    (carry,), (invert,) = pins["CI"], pins["BI"]
    for place, (total, next_carry, half) in enumerate(zip(pins["Y"], pins["CO"], pins["X"], strict=True)):
        first, second = (_extended(cell, pin, place) for pin in "AB")
        if invert != "0":
            inverted = f"{half}: inverted"
            drivers[inverted], second = ("XOR", [second, invert]), inverted
        drivers[half] = "XOR", [first, second]
        drivers[total], drivers[next_carry] = (SUM, [first, second, carry]), (CARRY, [first, second, carry])
        carry = next_carry
    return drivers


def _extended(cell: Mapping[str, Any], pin: str, place: int) -> _Bit:
    """A bit of an operand, which is extended to the width of the sum."""
    bits: Sequence[_Bit] = cell["connections"][pin]
    if place < len(bits):
        return bits[place]
    return bits[-1] if int(cell["parameters"][f"{pin}_SIGNED"], 2) else "0"


def _widths(ports: _Ports) -> dict[str, int]:
    return {name: len(bits) for name, bits in ports.items()}
