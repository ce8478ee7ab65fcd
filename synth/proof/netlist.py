"""Gate netlists as data: what Yosys makes of a module, its gates in an order in which every operand comes first.

A pipeline is read as the combinational block that it delays: each output is followed back through gates and registers, as many cycles as
the latency is, to inputs of one and the same cycle. That it holds an output for any other cycle's inputs is refused.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hwgen import yosys
from hwgen.codes import Bits
from synth.liberty import Library

_READ = """\
read_verilog {sv}module.v
hierarchy -check -top {top}
proc
flatten
"""

_LOOK = """\
check -assert
write_json early.json
"""

_SIMPLIFY = """\
setundef -undriven -anyseq
opt -full
memory_map
"""

_MAP = """\
techmap
opt
dfflegalize -cell $_DFF_P_ x
abc -g AND,OR,XOR,MUX
opt_clean -purge
write_json netlist.json
"""

_MAP_TO_CELLS = """\
techmap
opt
abc {liberty}
opt_clean -purge
write_verilog -noattr cells.v
"""

_READ_CELLS = """\
{liberty}
read_verilog cells.v
hierarchy -check -top {top}
proc
flatten
opt_clean
simplemap
opt_clean -purge
"""

_EQUAL = """\
rename {top} gold
design -stash gold
{cells}
rename {top} gate
design -stash gate
design -copy-from gold -as gold gold
design -copy-from gate -as gate gate
equiv_make gold gate both
hierarchy -top both
opt_clean
equiv_simple -short
equiv_induct
equiv_status -assert
tee -q -o equal.txt equiv_status
"""

GATES = ("NOT", "AND", "OR", "XOR", "NAND", "NOR", "XNOR", "ANDNOT", "ORNOT", "MUX")
_PINS = {"NOT": "A", "MUX": "ABS"}


class NetlistError(ValueError):
    """A module that is no combinational block; one sentence."""


@dataclass(frozen=True)
class Gate:
    """One of :data:`GATES` and the nets at its pins: A; A, B; or for MUX A, B, S, which is B where S is 1."""

    kind: str
    pins: tuple[int, ...]


@dataclass(frozen=True)
class Netlist:
    """A combinational module.

    Nets are numbers: 0 and 1 are the constants, then come the bits of the inputs in the order of the ports, least significant first,
    then the outputs of the gates. A gate's operands have smaller numbers than the gate.

    Attributes
    ----------
    top : str
    inputs, outputs : dict of port name to width
    gates : tuple of Gate
    driven : tuple of int
        The nets of the outputs' bits.
    """

    top: str
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]
    gates: tuple[Gate, ...]
    driven: tuple[int, ...]

    @property
    def first_gate(self) -> int:
        """Net of the first gate."""
        return 2 + sum(self.inputs.values())

    def input_nets(self, port: str) -> range:
        """Nets of an input's bits."""
        start = 2
        for name, width in self.inputs.items():
            if name == port:
                return range(start, start + width)
            start += width
        raise KeyError(port)

    def evaluate(self, pins: Mapping[str, int]) -> dict[str, int]:
        """Outputs of one case."""
        values = [0, 1, *(value >> place & 1 for port, width in self.inputs.items() for value in [pins[port]] for place in range(width))]
        for gate in self.gates:
            values.append(apply(gate.kind, [values[pin] for pin in gate.pins]) & 1)
        bits = iter(values[net] for net in self.driven)
        return {port: sum(next(bits) << place for place in range(width)) for port, width in self.outputs.items()}

    def reached_from(self, nets: Collection[int]) -> set[int]:
        """The nets that depend on any of ``nets``, themselves included."""
        reached = set(nets)
        for net, gate in enumerate(self.gates, self.first_gate):
            if any(pin in reached for pin in gate.pins):
                reached.add(net)
        return reached


def apply(kind: str, pins: Sequence[Any]) -> Any:
    """A gate's output, of integers or of arrays of them."""
    match kind, *pins:
        case "BUF", a:
            return a
        case "NOT", a:
            return ~a
        case "AND", a, b:
            return a & b
        case "OR", a, b:
            return a | b
        case "XOR", a, b:
            return a ^ b
        case "NAND", a, b:
            return ~(a & b)
        case "NOR", a, b:
            return ~(a | b)
        case "XNOR", a, b:
            return ~(a ^ b)
        case "ANDNOT", a, b:
            return a & ~b
        case "ORNOT", a, b:
            return a | ~b
        case "MUX", a, b, s:
            return (b & s) | (a & ~s)
    raise ValueError(f"Unknown gate {kind!r}")


def arrange(netlist: Netlist, inputs: Mapping[str, int], outputs: Mapping[str, int], made_of: Mapping[str, Bits] | None = None) -> Netlist:
    """The netlist with its ports in a given order; ``made_of`` says which of the inputs are made of bits of other ports, and how.

    Raises
    ------
    NetlistError
        If its ports are others.
    """
    whole = {port: tuple((port, place) for place in range(width)) for port, width in inputs.items()} | dict(made_of or {})
    bits = [bit for port in inputs for bit in whole[port]]
    real: dict[str, int] = {}
    for name, place in bits:
        real[name] = max(place + 1, real.get(name, 0))
    for way, found, wanted in (("inputs", netlist.inputs, real), ("outputs", netlist.outputs, outputs)):
        if dict(found) != dict(wanted):
            said, must = (", ".join(f"{name}[{width}]" for name, width in ports.items()) or "none" for ports in (found, wanted))
            raise NetlistError(f"{netlist.top} must have the {way} {must}, not {said}")
    places = list(range(netlist.first_gate + len(netlist.gates)))
    for place, (name, bit) in enumerate(bits, 2):
        places[netlist.input_nets(name)[bit]] = place
    gates = tuple(Gate(gate.kind, tuple(places[pin] for pin in gate.pins)) for gate in netlist.gates)
    ends = dict(zip(netlist.outputs, np.split(np.array(netlist.driven), np.cumsum(list(netlist.outputs.values())))[:-1], strict=True))
    driven = tuple(places[net] for port in outputs for net in ends[port].tolist())
    return Netlist(netlist.top, dict(inputs), dict(outputs), gates, driven)


def read(verilog: str, top: str, system_verilog: bool = False, latency: int | None = None) -> Netlist:
    """Map a module to simple gates; a pipeline where a ``latency`` is given, in cycles.

    Raises
    ------
    YosysError
        If Yosys cannot read or map it.
    NetlistError
        If it is no combinational block in which every net has one driver and every output a value.
    """
    script = _source(top, system_verilog) + _SIMPLIFY + _MAP
    return parse(yosys.run(script, {"module.v": verilog}, ["netlist.json"])["netlist.json"], top, latency)


def check(verilog: str, top: str, system_verilog: bool = False, registers: bool = False) -> None:
    """Refuse a foreign module that synthesis would make something of which simulators do not: see the errors of :func:`read`.

    Emitted modules have passed linters, and need no such look.
    """
    found = yosys.run(_source(top, system_verilog) + _LOOK, {"module.v": verilog}, ["early.json"])["early.json"]
    module = json.loads(found)["modules"][top]
    for cell in module["cells"].values():
        kind = cell["type"].lower()
        state = ("latch", "$sr", "memwr") if registers else ("dff", "latch", "$sr", "$ff", "memwr", "$_ff_")
        if any(part in kind for part in state):
            raise NetlistError(f"{top} must be combinational; it holds a register or latch ({cell['type']})")
        if any("z" in bits for bits in cell["connections"].values()):
            raise NetlistError(f"{top} must not use the value z, which gates do not have")


def _source(top: str, system_verilog: bool) -> str:
    return _READ.format(top=top, sv="-sv " if system_verilog else "")


def read_mapped(verilog: str, top: str, libraries: Sequence[Library], system_verilog: bool = False, latency: int | None = None) -> Netlist:
    """Map a module to the cells of libraries, then take each cell for the function that its library states."""
    files, _, cells = _mapped(verilog, top, libraries, system_verilog)
    script = _cells_script(top, files) + "write_json netlist.json"
    return parse(yosys.run(script, {"cells.v": cells, **files}, ["netlist.json"])["netlist.json"], top, latency)


def prove_mapping(verilog: str, top: str, libraries: Sequence[Library]) -> str:
    """Let Yosys prove, by ``equiv_simple``, that the cells which a module is mapped to do what the module says; what it reports.

    Raises
    ------
    YosysError
        If it finds no proof.
    """
    files, source, cells = _mapped(verilog, top, libraries, False)
    script = source + _EQUAL.format(top=top, cells=_cells_script(top, files))
    return yosys.run(script, {"module.v": verilog, "cells.v": cells, **files}, ["equal.txt"])["equal.txt"]


def _mapped(verilog: str, top: str, libraries: Sequence[Library], system_verilog: bool) -> tuple[dict[str, str], str, str]:
    """The libraries as files, the script that reads the module, and the module in cells."""
    files = {f"cells{number}.lib": library.text for number, library in enumerate(libraries)}
    source = _source(top, system_verilog) + _SIMPLIFY
    mapping = _MAP_TO_CELLS.format(liberty=" ".join(f"-liberty {file}" for file in files))
    return files, source, yosys.run(source + mapping, {"module.v": verilog, **files}, ["cells.v"])["cells.v"]


def _cells_script(top: str, files: Mapping[str, str]) -> str:
    functions = "\n".join(f"read_liberty -ignore_miss_func -ignore_miss_dir -setattr keep_hierarchy=0 {file}" for file in files)
    return _READ_CELLS.format(top=top, liberty=functions)


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
