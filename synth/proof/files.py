"""Modules of users' files: what synthesis and simulators read differently is refused before anything is proved.

The modules that ``hwgen generate`` writes have nothing of it, which linters check; so their verdicts do not depend on
this file.
"""

import json
from dataclasses import dataclass
from functools import cached_property

from hwgen.blocks.pe import Pe
from hwgen.tools import yosys
from synth.proof.constructs import refuse_misread
from synth.proof.gates import NetlistError
from synth.proof.mapping import functions, library_files, sv_option
from synth.proof.verify import Subject

_PARSE = "tee -q -o read.txt read_verilog {sv}-ppdump -dump_ast1 module.v"

_LOOK = """\
{functions}
read_verilog {sv}module.v
hierarchy -check -top {top}
proc
write_json whole.json
setattr -mod -unset keep_hierarchy
flatten
check -assert
write_json early.json
"""


@dataclass(frozen=True)
class UserFile(Subject):
    """A module of a user's file."""

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
        whole, early = yosys.run(script, {"module.v": self.verilog, **files}, ["whole.json", "early.json"]).values()
        is_clocked = isinstance(self.design.core, Pe) or self.design.stages > 0
        state = ("latch", "$sr", "memwr", *(() if is_clocked else ("dff", "$ff", "$_ff_")))
        for cell in json.loads(early)["modules"][self.top]["cells"].values():
            kind = cell["type"].lower()
            if any(part in kind for part in state):
                raise NetlistError(
                    f"{self.top} must be combinational; it contains a register or latch ({cell['type']})"
                )
            if any("z" in bits for bits in cell["connections"].values()):
                raise NetlistError(f"{self.top} must not use the value z, which gates cannot represent")
        modules = json.loads(whole)["modules"].values()
        return any(cell["type"] in names for module in modules for cell in module["cells"].values())
