"""From what ``write_json`` has written to a netlist as data.

A pipeline is read as the combinational block that it delays: each output is followed back through gates and registers, as many cycles as
the latency is, to inputs of one and the same cycle. That it holds an output for any other cycle's inputs is refused.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from synth.proof.netlist import GATES, Gate, Netlist, NetlistError, apply

_PINS = {"NOT": "A", "MUX": "ABS"}

CONTROLS = {"rst": 0, "in_valid": 1, "enable": 1}
"""What the control ports of a pipeline say while it computes."""


def parse(text: str, top: str, latency: int | None = None) -> Netlist:
    """The netlist in what ``write_json`` has written; of a pipeline where a ``latency`` is given, in cycles."""
    module: Mapping[str, Any] = json.loads(text)["modules"][top]
    ports: Mapping[str, Mapping[str, Any]] = module["ports"]
    for name, port in ports.items():
        if port["direction"] not in ("input", "output"):
            raise NetlistError(f"{top} must have inputs and outputs only, not the {port['direction']} port {name!r}")
    inputs = {name: port["bits"] for name, port in ports.items() if port["direction"] == "input"}
    outputs = {name: port["bits"] for name, port in ports.items() if port["direction"] == "output"}
    if latency is None:
        return _follow(module, top, inputs, outputs)
    _check_controls(module, top, inputs, outputs, latency)
    data = {name: bits for name, bits in inputs.items() if name not in (*CONTROLS, "clk")}
    known: dict[int | str, int] = {bit: CONTROLS[name] for name in CONTROLS for bit in inputs.get(name, [])}
    return _follow(module, top, data, {name: bits for name, bits in outputs.items() if name != "out_valid"}, latency, known, inputs["clk"])


def _check_controls(module: Mapping[str, Any], top: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any], latency: int) -> None:
    """A pipeline's ports are there, and ``out_valid`` is ``in_valid`` after the latency."""
    for way, found, wanted in (("inputs", inputs, ("clk", "in_valid")), ("outputs", outputs, ("out_valid",))):
        for name in wanted:
            if len(found.get(name, ())) != 1:
                raise NetlistError(f"{top} must have {name} of one bit among its {way}, as every pipeline")
    known: dict[int | str, int] = {bit: CONTROLS[name] for name in ("rst", "enable") for bit in inputs.get(name, [])}
    valid = _follow(module, top, {"in_valid": inputs["in_valid"]}, {"out_valid": outputs["out_valid"]}, latency, known, inputs["clk"])
    if [valid.evaluate({"in_valid": bit})["out_valid"] for bit in (0, 1)] != [0, 1]:
        raise NetlistError(f"{top} must say with out_valid what in_valid was {latency} cycles before")


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
    cells = module["cells"].values()
    registers = {cell["connections"]["Q"][0]: cell for cell in cells if latency and cell["type"] == "$_DFF_P_"}
    if any(cell["connections"]["C"] != list(clock) for cell in registers.values()):
        raise NetlistError(f"{top} must have all its registers on clk")
    drivers = {
        cell["connections"]["Y"][0]: (cell["type"].strip("$_"), _pins(cell))
        for cell in cells if not (latency and cell["type"] == "$_DFF_P_") and _is_gate(cell, top)
    }  # fmt: skip
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
                before = (registers[bit]["connections"]["D"][0], cycle - 1)
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
