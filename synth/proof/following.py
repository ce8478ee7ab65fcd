"""From what ``write_json`` has written to a netlist as data.

A pipeline is read as the combinational block that it delays: each output is followed back through gates and registers, as many cycles as
the latency is, to inputs of one and the same cycle. That it holds an output for any other cycle's inputs is refused, and so is a
register that does not stand still without ``enable``, or a valid bit that ``rst`` does not clear.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synth.proof.netlist import GATES, Gate, Netlist, NetlistError, apply

_PINS = {"NOT": "A", "MUX": "ABS"}

_REGISTER = "$_DFF_P_"

CONTROLS = {"rst": 0, "in_valid": 1, "enable": 1}
"""What the control ports of a pipeline say while it computes."""


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
    data = {name: bits for name, bits in inputs.items() if name not in (*CONTROLS, "clk")}
    results = {name: bits for name, bits in outputs.items() if name != "out_valid"}
    return _follow(module, top, data, results, pipeline.latency, _levels(inputs), inputs["clk"])


def _levels(inputs: Mapping[str, Sequence[int | str]], **changed: int) -> dict[int | str, int]:
    """The control ports' bits as constants, but for those that are ``changed``."""
    return {bit: level for name, level in (CONTROLS | changed).items() for bit in inputs.get(name, ())}


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
    running = {bit: level for bit, level in _levels(inputs).items() if bit not in inputs["in_valid"]}
    ends = {"in_valid": inputs["in_valid"]}, {"out_valid": outputs["out_valid"]}
    valid = _follow(module, top, *ends, asked.latency, running, inputs["clk"])
    if [valid.evaluate({"in_valid": bit})["out_valid"] for bit in (0, 1)] != [0, 1]:
        raise NetlistError(f"{top} must say with out_valid what in_valid was {asked.latency} cycles before")
    registers, drivers = _registers(module), _drivers(module, top, True)
    if asked.enable:
        still = _constants(drivers, _levels(inputs, enable=0))
        for output, data in registers.items():
            if _same_as(data, drivers, still) != output:
                raise NetlistError(f"{top} must keep what is in its registers while enable is 0; it changes {_name(module, output)}")
    if asked.reset:
        running, cleared = _constants(drivers, running), _constants(drivers, _levels(inputs, rst=1))
        bit = _same_as(outputs["out_valid"][0], drivers, running)
        while bit in registers:
            if cleared.get(registers[bit]) != 0:
                raise NetlistError(f"{top} must clear its valid bits while rst is 1; it does not clear {_name(module, bit)}")
            bit = _same_as(registers[bit], drivers, running)


def _same_as(bit: int | str, drivers: Mapping[int | str, tuple[str, list[int | str]]], constants: Mapping[int | str, int]) -> int | str:
    """The bit that another one equals, given constants: as far back as gates hand one through."""
    while bit in drivers and bit not in constants:
        kind, pins = drivers[bit]
        free = sorted({pin for pin in pins if pin not in constants}, key=str)
        rows = [dict(zip(free, (row >> place & 1 for place in range(len(free))), strict=True)) for row in range(1 << len(free))]
        values = [apply(kind, [constants.get(pin, row.get(pin, 0)) for pin in pins]) & 1 for row in rows]
        through = [pin for pin in free if values == [row[pin] for row in rows]]
        if not through:
            break
        bit = through[0]
    return bit


def _name(module: Mapping[str, Any], bit: int | str) -> str:
    names = [name for name, net in module["netnames"].items() if bit in net["bits"]]
    return min(names, key=lambda name: (name.startswith("$"), len(name)), default="one of them")


def _follow(
    module: Mapping[str, Any],
    top: str,
    inputs: Mapping[str, Sequence[int | str]],
    outputs: Mapping[str, Sequence[int | str]],
    latency: int = 0,
    known: Mapping[int | str, int] | None = None,
    clock: Sequence[int | str] = (),
) -> Netlist:
    """The gates between some inputs in cycle 0 and outputs ``latency`` cycles later; ``known`` are constants in all cycles."""
    first = 2 + sum(map(len, inputs.values()))
    nets: dict[tuple[int | str, int], int] = {}
    entering = dict(zip((bit for bits in inputs.values() for bit in bits), range(2, first), strict=True))
    nets |= {(bit, 0): net for bit, net in entering.items()}
    if any(cell["connections"]["C"] != list(clock) for cell in module["cells"].values() if latency and cell["type"] == _REGISTER):
        raise NetlistError(f"{top} must have all its registers on clk")
    registers = _registers(module) if latency else {}
    drivers = _drivers(module, top, latency > 0)
    constants = _constants(drivers, known or {})
    for cycle in range(latency + 1):
        nets |= {(bit, cycle): value for bit, value in constants.items()}
    gates: list[Gate] = []
    open_bits: set[tuple[int | str, int]] = set()  # whose operands are being looked for
    for output in (bit for bits in outputs.values() for bit in bits):
        waiting: list[tuple[int | str, int]] = [(output, latency)]
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
            if bit in registers or bit in entering:
                raise NetlistError(f"{top} must have a latency of {latency} cycles from every input to every output, as --stages says")
            if bit not in drivers:
                raise NetlistError(f"{top} has outputs that may depend on the undefined value x, or on nets that nothing drives")
            kind, names = drivers[bit]
            if kind == "MUX" and names[2] in constants:
                kind, names = "BUF", [names[constants[names[2]]]]
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


def _registers(module: Mapping[str, Any]) -> dict[int | str, int | str]:
    """What registers hold next, by what they hold."""
    found = (cell["connections"] for cell in module["cells"].values() if cell["type"] == _REGISTER)
    return {pins["Q"][0]: pins["D"][0] for pins in found}


def _drivers(module: Mapping[str, Any], top: str, with_registers: bool) -> dict[int | str, tuple[str, list[int | str]]]:
    """Gates and what they read, by what they drive."""
    return {
        cell["connections"]["Y"][0]: (cell["type"].strip("$_"), _pins(cell))
        for cell in module["cells"].values() if not (with_registers and cell["type"] == _REGISTER) and _is_gate(cell, top)
    }  # fmt: skip


def _pins(cell: Mapping[str, Any]) -> list[int | str]:
    kind = cell["type"].strip("$_")
    return [cell["connections"][pin][0] for pin in _PINS.get(kind, "A" if kind == "BUF" else "AB")]


def _constants(drivers: Mapping[int | str, tuple[str, list[int | str]]], known: Mapping[int | str, int]) -> dict[int | str, int]:
    """Bits that are constant, given some that are."""
    found: dict[int | str, int] = {"0": 0, "1": 1, **known}
    readers: dict[int | str, list[int | str]] = {}
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
