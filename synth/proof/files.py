"""Modules of users' files, which two readers must understand alike: slang, and Yosys's own reader of Verilog.

Where that reader cannot read SystemVerilog, Verilator takes its place (:mod:`synth.proof.elaborated`).

Modules that ``hwgen generate`` writes have nothing that readers understand differently, which linters check; so their
verdicts do not depend on this file.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from hwgen.netlist.emit import CLOCK
from hwgen.tools import yosys
from hwgen.tools.yosys import YosysError
from hwgen.wrapper import ASYNCHRONOUS, INSIDE
from synth.proof.elaborated import UnreadError, elaborate, preprocess, verilator_version
from synth.proof.equivalence import are_equal
from synth.proof.evidence import DIFFERENT, EQUAL, UNPROVED, Evidence, EvidenceStore
from synth.proof.gates import ADDER, Netlist, NetlistError
from synth.proof.kinds import by_kind
from synth.proof.mapping import functions, library_files, sv_option
from synth.proof.misread import END, PREPROCESSED, Place, refuse_misread
from synth.proof.unroll import RowsNetlist
from synth.proof.verify import Report, Subject, verify

_RESIZED = re.compile(r"Resizing cell port (\S+) from (\d+) bits to (\d+) bits")

_PARSE = "tee -q -o read.txt read_verilog {sv}-ppdump -dump_ast1 module.v"

_LOOK = """\
{functions}
read_verilog {sv}module.v
tee -o sizes.txt hierarchy -check -top {top}
proc -noopt
write_json whole.json
setattr -mod -unset keep_hierarchy
flatten
hilomap -hicell $initstate Y -locell $initstate Y
check -assert
write_json early.json
"""
"""Each constant comes from a cell of its own, without which two constants could drive a net."""

_READ_AGAIN = """\
{functions}
read_slang --threads 1 --no-synthesis-define --no-default-translate-off-format --ignore-timing --ignore-assertions \
--allow-use-before-declare {standard}--top {top} module.v
{rewrite}
"""
"""Delays and comments with directives are refused before."""

_REWRITE = """\
select {top}
pmuxtree
simplemap t:$bwmux
write_verilog -noattr -selected again.v
"""

_RELEASED = """\
read_verilog {sv}module.v
hierarchy -check -top {top}
proc
flatten
async2sync
{rewrite}
"""
"""Registers whose asynchronous reset is a constant become ones without a reset."""

_FAILURE = re.compile(r"ERROR: [^\n]*\bslang_frontend\.cc:\d+|wasm trap: call stack exhausted")
"""What slang says of what it does not know, and of functions that call themselves."""

_SAME_NAME = "Assert `count_id(wire->name) == 0' failed"
"""What slang says of two signals with the same name where one is in a block."""

_LONGEST_INDEX = 33
"""With a sign; tools ignore what is above."""

_CLEARED = (
    "must clear its accumulator and its flags, and nothing else, while clear is 1",
    "must start from an accumulator and flags of 0 while clear is 1: with enable they become those of its step, else 0",
)
"""A sentence of the reader of gates, and one that also says what a step does while clear is 1."""

_SHOWN = 3
"""Undefined values that a message names."""

_SAMPLES = 4096
_SYMMETRIC = "AND", "OR", "XOR", *ADDER


@dataclass(frozen=True)
class UserFile(Subject):
    """A module of a user's file, which two readers must understand alike: slang, and Yosys's own or Verilator."""

    place_of: Place = "line {}".format
    """From a line of the text to words that say where it is."""
    notes: tuple[str, ...] = ()
    """What the verdict assumes or leaves out: phrases."""
    is_released: bool = False
    """Whether the wrapper ties an asynchronous reset."""
    module: str = ""
    """The user's module, if ``top`` is a wrapper of it."""

    def netlist(self) -> Netlist:
        """See :meth:`Subject.netlist`; it is a NetlistError if slang's gates give other outputs on random inputs."""
        text = self._released if self.is_released else self.elaborated
        try:
            netlist = super().netlist() if text is None else self._as(text).netlist()
        except NetlistError as error:
            raise NetlistError(self._explained(str(error))) from None
        own = {port.name for port in self.design.ports}  # the step of a clocked block is read at these alone
        if others := [f"{name}[{len(port['bits'])}]" for name, port in self._early["ports"].items() if name not in own]:
            problem = f"must not have the ports {', '.join(others)}: with --ports, other outputs are not compared"
            raise NetlistError(f"{self.top} {problem}")
        rng = np.random.default_rng(1)
        widths = netlist.inputs.items()
        cases = [
            {port: int.from_bytes(rng.bytes(-(-width // 8)), "little") >> -width % 8 for port, width in widths}
            for _ in range(_SAMPLES)
        ]
        if netlist.answers(cases) != self.again[1].answers(cases):
            raise self._misread
        return self._unwrapped(netlist)

    def verify(
        self, netlist: Netlist, store: EvidenceStore | None, workers: int | None, report: Report | None
    ) -> Evidence:
        """Check the gates of both readers, unless they are equal; it is a NetlistError if only one is right.

        Of a module that differs, the counterexamples are the first of each kind.
        """
        record = self._verified(netlist, store, workers, report)
        if record.verdict == DIFFERENT:
            record.counterexamples = by_kind(self.design, netlist, record.counterexamples)
            if store:
                store.save(record)
        return record

    def _verified(
        self, netlist: Netlist, store: EvidenceStore | None, workers: int | None, report: Report | None
    ) -> Evidence:
        again, others = self.again
        if _same_gates(netlist, others) or _are_equal(netlist, others):
            return verify(self, netlist, store, workers, report)
        second = verify(again, others, None, workers, report)
        kept = store if second.verdict == EQUAL else None  # an interrupt must not leave the verdict of one reader
        record = verify(self, netlist, kept, workers, report)
        cases = [{port: int(value, 16) for port, value in case["inputs"].items()} for case in record.counterexamples]
        is_misread = any(netlist.evaluate(pins) != others.evaluate(pins) for pins in cases)
        if is_misread or {record.verdict, second.verdict} == {EQUAL, DIFFERENT}:
            if kept:
                kept.path(record.name).unlink()
            raise self._misread
        if second.verdict == UNPROVED and record.verdict == EQUAL:
            record.verdict, record.kind, record.cases = UNPROVED, "", 0
            record.method = f"of the module as slang reads it: {second.method}"
        if store and not kept:
            store.save(record)
        return record

    def evidence(self, kind: str = "", method: str = "") -> Evidence:
        """See :meth:`Subject.evidence`; it names the user's module."""
        record = super().evidence(kind, method)
        record.module = self.module or self.top
        return record

    def method(self) -> tuple[str, str]:
        """See :meth:`Subject.method`; with what the verdict assumes of a user's file."""
        kind, method = super().method()
        readers = [] if self.elaborated is None else [f"read by slang and by {verilator_version()}"]
        return kind, "; ".join([method, *self.notes, *readers])

    @property
    def _misread(self) -> NetlistError:
        readers = "Yosys's two readers, read_verilog and read_slang"
        if self.elaborated is not None:
            readers = "slang and Verilator, which are its readers because Yosys's own cannot read it"
        return NetlistError(f"{self.top} must be understood alike by {readers}")

    def _as(self, text: str) -> Subject:
        """The module as another text, which has no cells of a library that this one does not have."""
        items = {item.name: getattr(self, item.name) for item in fields(Subject)}
        subject = Subject(**{**items, "verilog": text})
        vars(subject)["has_cells"] = self.has_cells
        return subject

    @cached_property
    def elaborated(self) -> str | None:
        """The module as Verilator reads it, if Yosys's own reader of SystemVerilog cannot read it; else None."""
        return self._reading[0]

    @cached_property
    def _reading(self) -> tuple[str | None, dict[str, str], Place]:
        """The module as Verilator reads it, if that is needed; what :data:`_LOOK` says of it; the places of its lines.

        It is a YosysError if no reader can read the module, a NetlistError if only slang can, or if synthesis and
        simulators treat it differently.
        """
        try:
            return None, self._looked(self.verilog, self.place_of), self.place_of
        except YosysError as error:
            found = re.search(r"module\.v:(\d+): ERROR: (.*)", error.log)
            if error.killed or found is None or not self.is_system_verilog or self.libraries:
                raise
            _ = self._slang  # its message is the better one if it cannot read the file either
            reason = f"Yosys's own reader stops at {self.place_of(int(found[1]))} ({found[2]})"
        try:
            code = preprocess(self.verilog)
            refuse_misread(self.verilog, f"{PREPROCESSED}\n{code}`file_pop{END}", self.top, (), self.place_of)
            text, lines = elaborate(self.verilog, self.top, code)
        except UnreadError as error:
            where = f" ({self.place_of(error.line)})" if error.line else ""
            raise NetlistError(f"{self.top} must {error.problem}{where}; {reason}") from None

        def place(line: int) -> str:
            return self.place_of(lines[line - 1])

        try:
            return text, self._looked(text, place), place
        except YosysError as error:  # its lines are those of the text

            def line(found: re.Match[str]) -> str:
                return f"{found[1]}{lines[min(int(found[2]), len(lines)) - 1]}{': ERROR: ' if found[3] else ''}"

            log = re.sub(r"(\bmodule\.v:)(\d+)(: ERROR: ?)?(?:[.$][\d.$-]*)?", line, error.log)
            raise YosysError(str(error), log, error.killed) from error

    @property
    def _early(self) -> dict[str, Any]:
        """The module with all that is inside, before its gates are made."""
        module: dict[str, Any] = json.loads(self._reading[1]["early.json"])["modules"][self.top]
        return module

    @property
    def _released(self) -> str:
        """The module without its asynchronous reset."""
        sv, rewrite = sv_option(self.is_system_verilog), _REWRITE.format(top=self.top)
        script = _RELEASED.format(sv=sv, top=self.top, rewrite=rewrite)
        return yosys.run(script, {"module.v": self.elaborated or self.verilog}, ["again.v"])["again.v"]

    def _looked(self, text: str, place: Place) -> dict[str, str]:
        """What Yosys says of the file, or of another text for it, unless tools read that differently."""
        sv, files = sv_option(self.is_system_verilog), library_files(self.libraries)
        script = _LOOK.format(functions=functions(files), sv=sv, top=self.top)
        names = {cell.name for library in self.libraries for cell in library.cells}
        tree = yosys.run(_PARSE.format(sv=sv), {"module.v": text}, ["read.txt"])["read.txt"]
        refuse_misread(text, tree, self.top, names, place, self.is_system_verilog)
        try:
            return yosys.run(script, {"module.v": text, **files}, ["sizes.txt", "whole.json", "early.json"])
        except YosysError as error:  # some errors have no blank
            raise YosysError(str(error), re.sub("ERROR:(?! )", "ERROR: ", error.log), error.killed) from error

    def _explained(self, problem: str) -> str:
        """A sentence of the reader of gates, with what it does not know: the names in the user's file."""
        if "undefined value" in problem:
            undefined, others = self._undefined()
            if others and not undefined:  # the reader of gates knows no other inputs there
                return f"{self.top} must have an out_valid that follows from in_valid alone, not from {others}"
            return problem + undefined
        return problem.replace(*_CLEARED)

    def _undefined(self) -> tuple[str, str]:
        """The outputs that undefined values may reach, and where these values come from, as a part of a sentence.

        And the operands that ``out_valid`` depends on.
        """
        module, place = self._early, self._reading[2]
        drivers = {
            bit: cell
            for cell in module["cells"].values()
            for pin, bits in cell["connections"].items()
            if cell["port_directions"][pin] == "output"
            for bit in bits
        }
        ports = [(name, port) for name, port in module["ports"].items() if port["direction"] == "input"]
        inputs = {bit: name for name, port in ports for bit in port["bits"]}
        words = {bit: (name, word["attributes"]) for name, word in module["netnames"].items() for bit in word["bits"]}
        names, sources, operands = list[str](), set[str](), set[str]()
        for name, port in module["ports"].items():
            if port["direction"] != "output":
                continue
            found, waiting, visited = set[str](), [(bit, port) for bit in port["bits"]], set[object]()
            while waiting:
                bit, reader = waiting.pop()
                cell = drivers.get(bit)
                if bit == "x" or (cell is not None and cell["type"] == "$shiftx"):
                    word = "x" if bit == "x" else "a select"
                    found.add(f"{word}{_source(cell or reader, place)}")
                if bit in visited or isinstance(bit, str):
                    continue
                visited.add(bit)
                if bit in inputs:
                    continue
                if cell is None:
                    net, attributes = words[bit]
                    found.add(f"the undriven net {net}{_source({'attributes': attributes}, place)}")
                    continue
                pins = [pin for pin in cell["connections"] if cell["port_directions"][pin] == "input"]
                waiting += [(pin_bit, cell) for pin in pins for pin_bit in cell["connections"][pin]]
            operands |= {inputs[bit] for bit in visited & inputs.keys()} if name == "out_valid" else set()
            names += [name] if found else []
            sources |= found
        undefined = f": {', '.join(names)}, by {', '.join(sorted(sources)[:_SHOWN])}" if names else ""
        return undefined, " and ".join(sorted(operands - {CLOCK, "rst", "enable", "in_valid"}))

    @cached_property
    def again(self) -> tuple[Subject, Netlist]:
        """The module as slang reads it, written as one module without processes, and its gates."""
        subject = self._as(self._slang)
        return subject, self._unwrapped(subject.netlist())

    def _unwrapped(self, netlist: Netlist) -> Netlist:
        """The netlist with the words of the user's module under their own names, also in a wrapper."""
        return replace(netlist, named={name.removeprefix(INSIDE): word for name, word in netlist.named.items()})

    @cached_property
    def _slang(self) -> str:
        files, standard = library_files(self.libraries), "" if self.is_system_verilog else "--std 1364-2005 "
        rewrite = ("async2sync\n" if self.is_released else "") + _REWRITE.format(top=self.top)
        script = _READ_AGAIN.format(functions=functions(files), standard=standard, top=self.top, rewrite=rewrite)
        try:
            return yosys.run(script, {"module.v": self.verilog, **files}, ["again.v"])["again.v"]
        except YosysError as error:
            if _SAME_NAME in error.log:
                problem = "must not have a name with a point that is also the path of a signal in a block"
                raise NetlistError(f"{self.top} {problem}") from None
            if not _FAILURE.search(error.log):
                raise
            found = re.findall(r"Source line module\.v:(\d+)", error.log)
            where = f": it stops at {self.place_of(int(found[-1]))}" if found else ", which stops without naming a line"
            raise NetlistError(f"{self.top} must be readable by slang, one of its two readers{where}") from error

    @cached_property
    def has_cells(self) -> bool:
        """Whether the module uses cells of the libraries; a YosysError if Yosys cannot read it.

        It is a NetlistError if synthesis and simulators treat the module differently, or if it has registers that its
        block does not have.
        """
        names = {cell.name for library in self.libraries for cell in library.cells}
        sizes, whole, early = self._reading[1].values()
        for port, connected, width in _RESIZED.findall(sizes):
            if int(connected) < int(width):
                raise NetlistError(f"{port} must not be connected to fewer bits than it has")
        is_clocked = self.design.is_clocked
        state = ("latch", "$sr", "memwr", *(() if is_clocked else ("dff", "$ff", "$_ff_")))
        module = json.loads(early)["modules"][self.top]
        cells = module["cells"].values()
        clocks = module["ports"].get(CLOCK, {}).get("bits", [])
        before = {  # of inverters: other gates may have glitches, which simulators take for edges
            output: bit
            for cell in cells
            if cell["type"] in ("$not", "$_NOT_", "$_BUF_")
            for output, bit in zip(cell["connections"]["Y"], cell["connections"]["A"], strict=False)
        }
        for cell in cells:
            kind = cell["type"].lower()
            if any(part in kind for part in state):
                raise NetlistError(
                    f"{self.top} must be combinational; it contains a register or latch ({cell['type']})"
                )
            for first in chain(*(cell["connections"].get(pin, ()) for pin in ("CLK", "C"))) if "dff" in kind else ():
                clock = first
                while clock in before:  # no ring, which Yosys has refused
                    clock = before[clock]
                if clock not in clocks:
                    raise NetlistError(f"{self.top} must have all its registers on clk, with no gates but inverters")
            if any("z" in bits for bits in cell["connections"].values()):
                raise NetlistError(f"{self.top} must not use the value z, which gates cannot represent")
        if self.is_released and not _are_constant(cells, ASYNCHRONOUS):
            raise NetlistError(f"{self.top} must have no asynchronous reset or load but the reset that --ports links")
        parts = json.loads(whole)["modules"].values()
        inside = [cell for part in parts for cell in part["cells"].values()]
        used = {cell["type"] for cell in inside}
        if any(cell["type"] == "$shift" and len(cell["connections"]["B"]) > _LONGEST_INDEX for cell in inside):
            raise NetlistError(f"{self.top} must not select bits by an index of more than 32 bits")
        for group in (group for library in self.libraries for group in library.content.all("cell")):
            if group.argument in used and any("three_state" in pin.attributes for pin in group.all("pin")):
                raise NetlistError(f"{self.top} must not use the cell {group.argument}, whose output may be z")
        return not used.isdisjoint(names)


def _are_constant(cells: Collection[Mapping[str, Any]], pins: Iterable[str]) -> bool:
    """Whether the inputs of cells with some names follow from constants alone, through gates of any kind."""
    ways = [(cell, pin, bits) for cell in cells for pin, bits in cell["connections"].items()]
    drivers = {bit: cell for cell, pin, bits in ways if cell["port_directions"][pin] == "output" for bit in bits}
    waiting, visited = (
        [bit for cell in cells for pin in pins for bit in cell["connections"].get(pin, ())],
        set[object](),
    )
    while waiting:
        bit = waiting.pop()
        cell = drivers.get(bit)
        if cell is None or "dff" in cell["type"]:
            return False
        if bit not in visited and cell["type"] != "$initstate":  # which constants come from
            inputs = [pin for pin, way in cell["port_directions"].items() if way == "input"]
            waiting += [inner for pin in inputs for inner in cell["connections"][pin]]
        visited.add(bit)
    return True


def _source(item: Mapping[str, Any], place: Place) -> str:
    """The place that Yosys notes for a cell or net, in parentheses."""
    found = re.search(r"module\.v:(\d+)", item.get("attributes", {}).get("src", ""))
    return f" ({place(int(found[1]))})" if found else ""


def _same_gates(one: Netlist, other: Netlist) -> bool:
    """Whether the outputs have the same gates, which may be in another order, above the same inputs."""
    numbers: dict[tuple[object, ...], int] = {}

    def driven(netlist: Netlist) -> list[int]:
        nets = list(range(netlist.first_gate))
        for gate in netlist.gates:
            pins = [nets[pin] for pin in gate.pins]
            key = gate.kind, *(sorted(pins) if gate.kind in _SYMMETRIC else pins)
            nets.append(numbers.setdefault(key, netlist.first_gate + len(numbers)))
        return [nets[net] for net in netlist.driven]

    if isinstance(one, RowsNetlist) and isinstance(other, RowsNetlist) and not _same_gates(one.now, other.now):
        return False
    return (one.inputs, one.outputs, driven(one)) == (other.inputs, other.outputs, driven(other))


def _are_equal(one: Netlist, other: Netlist) -> bool:
    """Whether two netlists are shown to be equal, so that the verdict of one is that of the other."""
    if isinstance(one, RowsNetlist) and isinstance(other, RowsNetlist) and not are_equal(one.now, other.now):
        return False
    return are_equal(one, other)
