"""What Yosys makes of a module: simple gates, or the cells of libraries taken for the functions that the libraries state."""

import json
from collections.abc import Mapping, Sequence

from hwgen import yosys
from synth.liberty import Library
from synth.proof.following import parse
from synth.proof.netlist import Netlist, NetlistError

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
