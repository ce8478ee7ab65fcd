"""From what ``write_json`` has written to a netlist as data.

A pipeline is read as the combinational block that it delays: each output is followed back through gates and registers, as many cycles as
the latency is, to inputs of one and the same cycle. That an output holds anything of another cycle's inputs is refused, and so is a
register that does not stand still without ``enable``, or a valid bit that ``rst`` does not clear.

What the control ports say is known cycle by cycle, and no more is taken for known than what a user may rely on: ``in_valid`` in the cycle
of the inputs, ``enable`` and ``rst`` up to, but not in, the cycle of the outputs.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synth.proof.gates import GATES, Gate, Netlist, NetlistError, apply

_PINS = {"NOT": "A", "MUX": "ABS"}

_REGISTER = "$_DFF_P_"

_CONTROLS = ("rst", "in_valid", "enable")

_Bit = int | str
_Drivers = Mapping[_Bit, tuple[str, list[_Bit]]]
_Levels = Mapping[_Bit, int]

_MOST_LEAVES = 8
"""Registers and inputs that what a register holds next may seem to depend on while it is to stand still."""


@dataclass(frozen=True)
class Pipeline:
    """What is asked of a pipeline, beside what it computes.

    Attributes
    ----------
    latency : int
        Cycles from inputs to outputs.
    enable, reset : bool
        Whether it has the port ``enable``, without which it stands still, and ``rst``, which clears the valid bits.
    """

    latency: int
    enable: bool
    reset: bool


def parse(text: str, top: str, pipeline: Pipeline | None = None) -> Netlist:
    """The netlist in what ``write_json`` has written; of a pipeline the combinational block that it delays."""
    module: Mapping[str, Any] = json.loads(text)["modules"][top]
    ports: Mapping[str, Mapping[str, Any]] = module["ports"]
    for name, port in ports.items():
        if port["direction"] not in ("input", "output"):
            raise NetlistError(f"{top} must have inputs and outputs only, not the {port['direction']} port {name!r}")
    inputs = {name: port["bits"] for name, port in ports.items() if port["direction"] == "input"}
    outputs = {name: port["bits"] for name, port in ports.items() if port["direction"] == "output"}
    if pipeline is None:
        return _follow(module, top, inputs, outputs)
    _check_controls(module, top, inputs, outputs, pipeline)
    data = {name: bits for name, bits in inputs.items() if name not in (*_CONTROLS, "clk")}
    results = {name: bits for name, bits in outputs.items() if name != "out_valid"}
    running = [_levels(inputs, rst=0, enable=1)] * (pipeline.latency - 1)
    return _follow(module, top, data, results, [_levels(inputs, rst=0, enable=1, in_valid=1), *running, {}], inputs)


def _levels(inputs: Mapping[str, Sequence[_Bit]], **said: int) -> dict[_Bit, int]:
    """What control ports say, by their bits."""
    return {bit: level for name, level in said.items() for bit in inputs.get(name, ())}


def _check_controls(module: Mapping[str, Any], top: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any], asked: Pipeline) -> None:
    """A pipeline's ports are there, and do what they are for."""
    wanted = [("inputs", inputs, "clk", "as every pipeline"), ("inputs", inputs, "in_valid", "as every pipeline")]
    wanted += [("outputs", outputs, "out_valid", "as every pipeline")]
    for name, present, option in (("enable", asked.enable, "--clock-enable"), ("rst", asked.reset, "--reset sync")):
        if present:
            wanted.append(("inputs", inputs, name, f"as {option} says"))
        elif name in inputs:
            raise NetlistError(f"{top} must not have the input {name}, which goes with {option}")
    for way, found, name, reason in wanted:
        if len(found.get(name, ())) != 1:
            raise NetlistError(f"{top} must have {name} of one bit among its {way}, {reason}")
    running = _levels(inputs, rst=0, enable=1)
    ends = {"in_valid": inputs["in_valid"]}, {"out_valid": outputs["out_valid"]}
    valid = _follow(module, top, *ends, [running] * asked.latency + [{}], inputs)
    if [valid.evaluate({"in_valid": bit})["out_valid"] for bit in (0, 1)] != [0, 1]:
        raise NetlistError(f"{top} must say with out_valid what in_valid was {asked.latency} cycles before")
    registers, drivers = _registers(module), _drivers(module, top, True)
    if asked.enable:
        still = _constants(drivers, _levels(inputs, rst=0, enable=0))
        for output, data in registers.items():
            if not _is_kept(output, data, drivers, still):
                raise NetlistError(f"{top} must keep what is in its registers while enable is 0; it changes {_name(module, output)}")
    if asked.reset:
        known, said = _constants(drivers, _levels(inputs, rst=1)), _levels(inputs, rst=0, enable=1, in_valid=0)
        for cycle in range(1, asked.latency + 1):
            held = {output: known[data] for output, data in registers.items() if data in known}
            if _constants(drivers, held).get(outputs["out_valid"][0]) != 0:
                raise NetlistError(f"{top} must clear its valid bits while rst is 1; out_valid may be 1 in cycle {cycle} after that")
            known = _constants(drivers, held | said)


def _is_kept(output: _Bit, data: _Bit, drivers: _Drivers, constants: _Levels) -> bool:
    """Whether a register holds next what it holds, given constants: for all values of the registers and inputs that seem to matter."""
    order: list[tuple[_Bit, str, list[_Bit]]] = []
    leaves: set[_Bit] = set()
    seen: set[_Bit] = set()
    waiting = [(data, False)]
    while waiting:
        bit, is_ready = waiting.pop()
        if is_ready:
            order.append((bit, *_chosen(*drivers[bit], constants)))
        elif bit not in seen and bit not in constants:
            seen.add(bit)
            if bit in drivers:
                waiting += [(bit, True), *((pin, False) for pin in _chosen(*drivers[bit], constants)[1])]
            else:
                leaves.add(bit)
    if output not in leaves or len(leaves) > _MOST_LEAVES:
        return False
    for row in range(1 << len(leaves)):
        values = {**constants, **{leaf: row >> place & 1 for place, leaf in enumerate(leaves)}}
        for bit, kind, pins in order:
            values[bit] = values[pins[0]] if kind == "BUF" else apply(kind, [values[pin] for pin in pins]) & 1
        if values[data] != values[output]:
            return False
    return True


def _chosen(kind: str, pins: list[_Bit], constants: _Levels) -> tuple[str, list[_Bit]]:
    """A gate; of a multiplexer that is known to choose, the input that it chooses."""
    return ("BUF", [pins[constants[pins[2]]]]) if kind == "MUX" and pins[2] in constants else (kind, pins)


def _name(module: Mapping[str, Any], bit: _Bit) -> str:
    names = [name for name, net in module["netnames"].items() if bit in net["bits"]]
    return min(names, key=lambda name: (name.startswith("$"), len(name)), default="one of them")


def _follow(
    module: Mapping[str, Any],
    top: str,
    inputs: Mapping[str, Sequence[_Bit]],
    outputs: Mapping[str, Sequence[_Bit]],
    said: Sequence[_Levels] = ({},),
    ports: Mapping[str, Sequence[_Bit]] | None = None,
) -> Netlist:
    """The gates between some inputs in cycle 0 and outputs in the last cycle; ``said`` is what controls among all ``ports`` say in each."""
    latency = len(said) - 1
    first = 2 + sum(map(len, inputs.values()))
    nets: dict[tuple[_Bit, int], int] = {}
    entering = dict(zip((bit for bits in inputs.values() for bit in bits), range(2, first), strict=True))
    nets |= {(bit, 0): net for bit, net in entering.items()}
    controls = {bit: name for name in _CONTROLS for bit in (ports or {}).get(name, ())}
    clock = list(ports["clk"]) if ports else []
    if any(cell["connections"]["C"] != clock for cell in module["cells"].values() if latency and cell["type"] == _REGISTER):
        raise NetlistError(f"{top} must have all its registers on clk")
    registers = _registers(module) if latency else {}
    drivers = _drivers(module, top, latency > 0)
    constants: list[dict[_Bit, int]] = []
    for cycle, known in enumerate(said):
        held = {output: constants[-1][data] for output, data in registers.items() if data in constants[-1]} if cycle else {}
        constants.append(_constants(drivers, {**held, **known}))
        nets |= {(bit, cycle): value for bit, value in constants[-1].items()}
    gates: list[Gate] = []
    open_bits: set[tuple[_Bit, int]] = set()  # whose operands are being looked for
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
            if bit in controls and bit not in entering:
                raise NetlistError(f"{top} has outputs that depend on {controls[bit]} in a cycle in which it must not matter to them")
            if bit in registers or bit in entering:
                raise NetlistError(f"{top} must have a latency of {latency} cycles from every input to every output, as --stages says")
            if bit not in drivers:
                raise NetlistError(f"{top} has outputs that may depend on the undefined value x, or on nets that nothing drives")
            kind, names = _chosen(*drivers[bit], constants[cycle])
            pins = [(name, cycle) for name in names]
            missing = [pin for pin in pins if pin not in nets]
            if missing:
                open_bits.add((bit, cycle))
                if not open_bits.isdisjoint(missing):
                    raise NetlistError(f"{top} must be combinational; it holds a loop of gates")
                waiting += missing
            elif kind == "BUF":
                nets[bit, cycle] = nets[pins[0]]
            else:
                nets[bit, cycle] = first + len(gates)
                gates.append(Gate(kind, tuple(nets[pin] for pin in pins)))
    return Netlist(
        top, {name: len(bits) for name, bits in inputs.items()}, {name: len(bits) for name, bits in outputs.items()},
        tuple(gates), tuple(nets[bit, latency] for bits in outputs.values() for bit in bits),
    )  # fmt: skip


def _registers(module: Mapping[str, Any]) -> dict[_Bit, _Bit]:
    """What registers hold next, by what they hold."""
    found = (cell["connections"] for cell in module["cells"].values() if cell["type"] == _REGISTER)
    return {pins["Q"][0]: pins["D"][0] for pins in found}


def _drivers(module: Mapping[str, Any], top: str, with_registers: bool) -> _Drivers:
    """Gates and what they read, by what they drive."""
    return {
        cell["connections"]["Y"][0]: (cell["type"].strip("$_"), _pins(cell))
        for cell in module["cells"].values() if not (with_registers and cell["type"] == _REGISTER) and _is_gate(cell, top)
    }  # fmt: skip


def _pins(cell: Mapping[str, Any]) -> list[_Bit]:
    kind = cell["type"].strip("$_")
    return [cell["connections"][pin][0] for pin in _PINS.get(kind, "A" if kind == "BUF" else "AB")]


def _constants(drivers: _Drivers, known: _Levels) -> dict[_Bit, int]:
    """Bits that are constant, given some that are."""
    found: dict[_Bit, int] = {"0": 0, "1": 1, **known}
    readers: dict[_Bit, list[_Bit]] = {}
    for bit, (_, pins) in drivers.items():
        for pin in pins:
            readers.setdefault(pin, []).append(bit)
    waiting = [reader for bit in found for reader in readers.get(bit, ())]
    while waiting:
        bit = waiting.pop()
        if bit in found:
            continue
        kind, pins = drivers[bit]
        trials = [[found.get(pin, trial >> place & 1) for place, pin in enumerate(pins)] for trial in range(8)]
        values = {apply(kind, trial) & 1 for trial in trials}
        if len(values) == 1:
            found[bit] = values.pop()
            waiting += readers.get(bit, ())
    return found


def _is_gate(cell: Mapping[str, Any], top: str) -> bool:
    kind = cell["type"]
    if kind in ("$scopeinfo", "$anyseq"):  # an undefined value has no driver, see above
        return False
    if kind.startswith("$_") and kind.strip("$_") in (*GATES, "BUF"):
        return True
    raise NetlistError(f"{top} must be combinational and made of gates only; it holds a cell of type {kind}")
