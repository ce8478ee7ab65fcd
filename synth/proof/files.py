"""Modules of users' files, which Yosys's own reader of Verilog and slang must understand alike.

Modules that ``hwgen generate`` writes have nothing that readers understand differently, which linters check; so their
verdicts do not depend on this file.
"""

import json
import re
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import chain

import numpy as np

from hwgen.blocks.pe import Pe
from hwgen.netlist.emit import CLOCK
from hwgen.tools import yosys
from synth.proof.evidence import DIFFERENT, EQUAL, UNPROVED, Evidence, EvidenceStore
from synth.proof.gates import ADDER, Netlist, NetlistError
from synth.proof.mapping import functions, library_files, sv_option
from synth.proof.misread import refuse_misread
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
select {top}
pmuxtree
simplemap t:$bwmux
write_verilog -noattr -selected again.v
"""
"""Delays and comments with directives are refused before."""

_LONGEST_INDEX = 33
"""With a sign; tools ignore what is above."""

_SAMPLES = 4096
_SYMMETRIC = "AND", "OR", "XOR", *ADDER


@dataclass(frozen=True)
class UserFile(Subject):
    """A module of a user's file, which Yosys's own reader and slang must understand alike."""

    def netlist(self) -> Netlist:
        """See :meth:`Subject.netlist`; it is a NetlistError if slang's gates give other outputs on random inputs."""
        netlist, rng = super().netlist(), np.random.default_rng(1)
        widths = netlist.inputs.items()
        cases = [
            {port: int.from_bytes(rng.bytes(-(-width // 8)), "little") >> -width % 8 for port, width in widths}
            for _ in range(_SAMPLES)
        ]
        if netlist.answers(cases) != self.again[1].answers(cases):
            raise self._misread
        return netlist

    def verify(
        self, netlist: Netlist, store: EvidenceStore | None, workers: int | None, report: Report | None
    ) -> Evidence:
        """Check the gates of both readers, unless they are the same; it is a NetlistError if only one is right."""
        again, others = self.again
        if _same_gates(netlist, others):
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

    @property
    def _misread(self) -> NetlistError:
        return NetlistError(f"{self.top} must be understood alike by Yosys's two readers, read_verilog and read_slang")

    @cached_property
    def again(self) -> tuple[Subject, Netlist]:
        """The module as slang reads it, written as one module without processes, and its gates."""
        files, standard = library_files(self.libraries), "" if self.is_system_verilog else "--std 1364-2005 "
        script = _READ_AGAIN.format(functions=functions(files), standard=standard, top=self.top)
        text = yosys.run(script, {"module.v": self.verilog, **files}, ["again.v"])["again.v"]
        items = {item.name: getattr(self, item.name) for item in fields(Subject)}
        subject = Subject(**{**items, "verilog": text})
        vars(subject)["has_cells"] = self.has_cells
        return subject, subject.netlist()

    @cached_property
    def has_cells(self) -> bool:
        """Whether the module uses cells of the libraries; a YosysError if Yosys cannot read it.

        It is a NetlistError if synthesis and simulators treat the module differently, or if it has registers that its
        block does not have.
        """
        sv, files = sv_option(self.is_system_verilog), library_files(self.libraries)
        script = _LOOK.format(functions=functions(files), sv=sv, top=self.top)
        names = {cell.name for library in self.libraries for cell in library.cells}
        tree = yosys.run(_PARSE.format(sv=sv), {"module.v": self.verilog}, ["read.txt"])["read.txt"]
        refuse_misread(self.verilog, tree, self.top, names)
        outputs = yosys.run(script, {"module.v": self.verilog, **files}, ["sizes.txt", "whole.json", "early.json"])
        sizes, whole, early = outputs.values()
        for port, connected, width in _RESIZED.findall(sizes):
            if int(connected) < int(width):
                raise NetlistError(f"{port} must not be connected to fewer bits than it has")
        is_clocked = isinstance(self.design.core, Pe) or self.design.stages > 0
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
        inside = [cell for module in json.loads(whole)["modules"].values() for cell in module["cells"].values()]
        used = {cell["type"] for cell in inside}
        if any(cell["type"] == "$shift" and len(cell["connections"]["B"]) > _LONGEST_INDEX for cell in inside):
            raise NetlistError(f"{self.top} must not select bits by an index of more than 32 bits")
        for group in (group for library in self.libraries for group in library.content.all("cell")):
            if group.argument in used and any("three_state" in pin.attributes for pin in group.all("pin")):
                raise NetlistError(f"{self.top} must not use the cell {group.argument}, whose output may be z")
        return not used.isdisjoint(names)


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
