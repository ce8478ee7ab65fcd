"""Maps modules with Yosys to simple gates, or to library cells that are replaced by their functions in the library."""

from collections.abc import Mapping, Sequence

from hwgen.blocks.block import Pipeline
from hwgen.tools import yosys
from synth.area.liberty import Library, richest_first
from synth.proof.gates import Netlist
from synth.proof.unroll import COMBINATIONAL, parse

_READ = """\
{functions}
read_verilog {sv}{file}
hierarchy -check -top {top}
proc
setattr -mod -unset keep_hierarchy
flatten
memory_map
techmap -map shiftx.v
setundef -undriven -anyseq
"""
"""Every undefined value becomes a free one, which nothing simplifies: words of a memory that are never written, selects
out of range, x itself. For the same reason opt must not touch registers: it takes a register that nothing writes for
the constant that it likes best."""

_SHIFTX = {
    "shiftx.v": """\
(* techmap_celltype = "$shiftx" *)
module select (A, B, Y);
  parameter A_SIGNED = 0, B_SIGNED = 0, A_WIDTH = 1, B_WIDTH = 1, Y_WIDTH = 1;
  input [A_WIDTH-1:0] A;
  input [B_WIDTH-1:0] B;
  output [Y_WIDTH-1:0] Y;
  wire [Y_WIDTH-1:0] inside, value;
  \\$shift #(.A_SIGNED(0), .B_SIGNED(B_SIGNED), .A_WIDTH(A_WIDTH), .B_WIDTH(B_WIDTH), .Y_WIDTH(Y_WIDTH))
    range (.A({A_WIDTH{1'b1}}), .B(B), .Y(inside)),
    shift (.A(A), .B(B), .Y(value));
  assign Y = value | ~inside & {Y_WIDTH{1'bx}};
endmodule
"""
}

_MAP = """\
opt -noff {full}
techmap
opt -noff
dfflegalize -cell $_DFF_P_ x
abc {script}-g AND,OR,XOR,MUX
opt_clean -purge
write_json netlist.json
"""

# Without ifraig, abc would leave the undefined branch of a complete casez, which no input chooses.
_EFFORT = {
    True: {"full": "-full", "script": ""},
    False: {"full": "", "script": '-script "+strash;ifraig;map" '},
}
"""The words of :data:`_MAP`, for a thorough mapping and a quick one."""

# alumacc must not merge two sums: the words between would be lost.
_KEEP_ADDERS = """\
opt -noff
setattr -set keep 1 w:*products_sum w:*total w:product__significand w:product__exponent
alumacc
maccmap
opt -noff
select -set others t:* t:$fa %d t:$alu %d
techmap @others
opt -noff
dfflegalize -cell $_DFF_P_ x
opt_clean
write_json netlist.json
"""

_MAP_TO_CELLS = """\
techmap
opt -noff
abc {liberty}
opt_clean -purge
write_verilog -noattr cells.v
"""

_SIMPLIFY_CELLS = """\
opt_clean
techmap
opt -noff -full
dfflegalize -cell $_DFF_P_ x
opt_clean -purge
"""


def read(
    verilog: str, top: str, system_verilog: bool = False, pipeline: Pipeline = COMBINATIONAL, *, thorough: bool = True
) -> Netlist:
    """Map a module to simple gates; a ``pipeline`` is reduced to its combinational function.

    Thorough mapping merges signals that are equal for a deep reason, which takes minutes for sums of many lanes. It
    pays if all inputs are enumerated.

    It is a YosysError if Yosys cannot read or map the module, and a NetlistError if that is not a combinational block,
    or has undriven or undefined outputs.
    """
    return parse(with_cuts(verilog, top, system_verilog, (), thorough=thorough), top, pipeline)


def read_adders(
    verilog: str, top: str, system_verilog: bool = False, pipeline: Pipeline = COMBINATIONAL, free: bool = False
) -> Netlist:
    """Map a module to simple gates and full adders: sums stay what they are, with the errors of :func:`read`.

    See :func:`synth.proof.unroll.parse` for ``free`` undefined values.
    """
    return parse(with_adders(verilog, top, system_verilog), top, pipeline, free)


def with_adders(verilog: str, top: str, system_verilog: bool) -> str:
    """The module that :func:`read_adders` parses, as Yosys's JSON."""
    return with_cuts(verilog, top, system_verilog, (), adders=True)


def read_mapped(
    verilog: str,
    top: str,
    libraries: Sequence[Library],
    system_verilog: bool = False,
    pipeline: Pipeline = COMBINATIONAL,
) -> Netlist:
    """Map a module, except its registers, to library cells by Yosys's own recipe; then see :func:`read_cells`."""
    files = library_files(libraries)
    mapping = _MAP_TO_CELLS.format(liberty=" ".join(f"-liberty {file}" for file in files))
    script = f"{_reading(top, system_verilog)}opt -noff -full\n{mapping}"
    cells = _run(script, {"module.v": verilog, **files}, "cells.v")
    return read_cells(cells, top, libraries, pipeline=pipeline)


def read_cells(
    cells: str, top: str, libraries: Sequence[Library], system_verilog: bool = False, pipeline: Pipeline = COMBINATIONAL
) -> Netlist:
    """Read a netlist of library cells, which may have other logic; each cell is replaced by its function."""
    files = library_files(libraries)
    reading = _reading(top, system_verilog, "cells.v", functions(files))
    script = reading + _SIMPLIFY_CELLS + _MAP.format(full="", script="")
    return parse(_run(script, {"cells.v": cells, **files}, "netlist.json"), top, pipeline)


def with_cuts(
    verilog: str, top: str, system_verilog: bool, cuts: Sequence[str], *, adders: bool = False, thorough: bool = True
) -> str:
    """The module that :func:`read` or, with ``adders``, :func:`read_adders` parses, with free values in some nets.

    Then a register's ``state`` is there even if nothing but these nets depends on it.
    """
    nets = " ".join(f"w:{name}" for name in cuts)
    cutting = f"setattr -set keep 1 {nets} w:state w:generator__state\ncutpoint {nets}\n" if cuts else ""
    mapping = _KEEP_ADDERS if adders else _MAP.format(**_EFFORT[thorough])
    return _run(f"{_reading(top, system_verilog)}{cutting}{mapping}", {"module.v": verilog}, "netlist.json")


def library_files(libraries: Sequence[Library]) -> dict[str, str]:
    """Libraries as files for Yosys."""
    return {f"cells{number}.lib": library.for_tools for number, library in enumerate(richest_first(libraries))}


def sv_option(system_verilog: bool) -> str:
    """The option of ``read_verilog`` for a language."""
    return "-sv " if system_verilog else ""


def functions(files: Mapping[str, str]) -> str:
    """The commands that read the cells of libraries as modules with their functions."""
    command = "read_liberty -ignore_miss_func -ignore_miss_dir -setattr keep_hierarchy=0"
    return "\n".join(f"{command} {file}" for file in files)


def _reading(top: str, system_verilog: bool, file: str = "module.v", functions: str = "") -> str:
    return _READ.format(top=top, sv=sv_option(system_verilog), file=file, functions=functions)


def _run(script: str, files: Mapping[str, str], output: str) -> str:
    return yosys.run(script, {**files, **_SHIFTX}, [output])[output]
