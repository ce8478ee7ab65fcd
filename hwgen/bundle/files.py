"""The bundle: a module's Verilog and the files that make it usable without this project.

* ``NAME.json``: ports, options, rules, formats, hashes, tool versions (docs/bundle.schema.json)
* ``NAME.f``: file list
* ``NAME.core``: FuseSoC core
* ``NAME.sby``: SymbiYosys job, with ``formal/NAME_properties.v``
* ``NAME_template.v``: an instance to copy
* ``tb/NAME_tb.v``: self-checking testbench, with its vectors in ``tb/NAME.hex``
* ``model/NAME.h``: a model of the module in C99, also for SystemVerilog's DPI
* ``tb/cocotb``: cocotb tests of the same vectors, and of new ones where this package is installed
"""

import json
from collections.abc import Sequence
from importlib.metadata import version
from importlib.resources import files as resources

import numpy as np

from golden.refusal import past_checking
from golden.tables import format_text
from hwgen.blocks.block import LFSR, Design
from hwgen.bundle.description import description
from hwgen.bundle.testbench import memory, testbench
from hwgen.coverage.suite import suite
from hwgen.model import files as model
from hwgen.netlist.emit import Port
from hwgen.reference.random import repeatable
from hwgen.reference.reference import head, instance
from hwgen.reference.tile import reference
from hwgen.tile.block import TileDesign

VECTORS = 2000
"""Number of vectors of a combinational testbench; if there are fewer inputs, or for a decoder, all inputs."""

_GPI_USERS = "$(if $(GPI_USERS),,$(eval export GPI_USERS := {}))".format(
    ";".join(f"$(shell cocotb-config {option})" for option in ("--libpython", "--pygpi-entry-point"))
)
"""No option, but for the Makefile of edalize, which does not set this variable: without it, cocotb runs no test."""


def files(design: Design, verilog: str) -> dict[str, str]:
    """Return the bundle of a ``generated`` block: texts by path, the Verilog first, which is ``design.verilog()``.

    The random numbers of the vectors are seeded with the design's name, so the bundle is reproducible.
    """
    name, ports = design.name, design.ports
    with past_checking():
        vectors = suite(design, VECTORS, np.random.default_rng(list(name.encode())))
    rows = vectors.rows()
    return {
        f"{name}.v": verilog,
        f"{name}.json": json.dumps(description(design, verilog), indent=2, ensure_ascii=False) + "\n",
        f"{name}.f": f"{name}.v\n",
        f"{name}.core": core(design),
        f"{name}.sby": sby(design),
        f"{name}_template.v": template(name, ports),
        f"formal/{name}_properties.v": properties(design),
        f"tb/{name}_tb.v": testbench(name, ports, len(rows), f"tb/{name}.hex"),
        f"tb/{name}.hex": memory(ports, rows, vectors.classes),
        **cocotb_files(design),
        **model.files(design),
    }


def core(design: Design) -> str:
    """Return the text of a FuseSoC core file (CAPI 2)."""
    name = design.name
    copies = {f"tb/cocotb/{file}": file for file in (f"{name}_cocotb.py", *format_files(design))}
    copies |= {file: file for file in (f"{name}.json", f"tb/{name}.hex")}
    return f"""\
CAPI=2:
name: minifloat-rtl:{design.kind}:{name}:{version("minifloat-rtl")}
description: "{design.header[0]}"
filesets:
  rtl:
    files: [{name}.v]
    file_type: verilogSource-2005
  tb:
    files:
      - tb/{name}_tb.v: {{file_type: verilogSource-2005}}
      - tb/{name}.hex: {{file_type: user, copyto: tb/{name}.hex}}
  cocotb:
    files:
{chr(10).join(f"      - {file}: {{file_type: user, copyto: {copy}}}" for file, copy in copies.items())}
targets:
  default: &default
    filesets: [rtl]
    toplevel: {name}
  lint:
    <<: *default
    flow: lint
    flow_options: {{tool: verilator, verilator_options: [-Wall]}}
  sim:
    filesets: [rtl, tb]
    toplevel: {name}_tb
    flow: sim
    flow_options: {{tool: icarus}}
    parameters: [fatal]
  cocotb:
    filesets: [rtl, cocotb]
    toplevel: {name}
    flow: sim
    flow_options: {{tool: icarus, cocotb_module: {name}_cocotb, vvp_options: ['{_GPI_USERS}']}}
parameters:
  fatal:
    datatype: bool
    default: true
    paramtype: plusarg
    description: exit with an error status if a vector fails
"""


def template(name: str, ports: Sequence[Port]) -> str:
    """Return the text of an instance whose nets have the names of the ports."""
    nets = [f"wire {port.range}{port.name};" for port in ports]
    links = ",\n".join(f"  .{port.name}({port.name})" for port in ports)
    return "\n".join(
        [f"// Instance of {name} to copy into a design.", *nets, "", f"{name} {name}_inst (", links, ");", ""]
    )


def cocotb_files(design: Design) -> dict[str, str]:
    """Return the texts of ``tb/cocotb`` by path in the bundle: a test module, cocotb's Makefile, a file for pytest.

    Formats of users' files are written, too: the tests need them to call the reference model.
    """
    folder = resources("hwgen.bundle.cocotb")
    names = {"bench.py": f"{design.name}_cocotb.py", "runner.py": f"test_{design.name}.py", "Makefile": "Makefile"}
    texts = {name: folder.joinpath(file).read_text(encoding="utf-8") for file, name in names.items()}
    texts["Makefile"] = texts["Makefile"].replace("NAME", design.name)
    return {f"tb/cocotb/{file}": text for file, text in {**texts, **format_files(design)}.items()}


def format_files(design: Design) -> dict[str, str]:
    """Return texts that describe the formats of users' files, by the names of the files."""
    members = (member for fmt in design.formats for member in fmt.members)
    return {fmt.source_name: format_text(fmt) for fmt in members if fmt.source_name}


# -- properties for SymbiYosys: partial specifications; ``hwgen verify`` checks every input


def properties(design: Design) -> str:
    """Return the module ``NAME_properties``, which instantiates ``NAME`` and asserts its properties."""
    name = design.name
    model = reference(design)
    own = repeatable(model) if design.generator.random == LFSR else model.properties()
    lines = _pipeline(design) if design.pipeline.stages else own
    return "\n".join([f"// Properties of {name}; {name}.sby proves them.", f"module {name}_properties (", *lines, ""])


def _pipeline(design: Design) -> list[str]:
    """``out_valid`` is ``in_valid``, delayed by the latency; while ``enable`` is 0 the outputs hold their values."""
    ports, ranks, top = design.ports, design.stages, design.stages - 1
    names = {port.name for port in ports}
    clear = f"if (rst) begin history <= {ranks}'b0; known <= ~{ranks}'b0; end\n    else "
    reset = clear if "rst" in names else ""
    enable = "if (enable) " if "enable" in names else ""
    lines = f"""\
  reg [{top}:0] history;  // in_valid of the last cycles, the newest in bit 0
  reg [{top}:0] known;  // the bits of history that are valid
  initial known = {ranks}'b0;
  always @(posedge clk)
    {reset}{enable}begin history <= {{history, in_valid}}; known <= {{known, 1'b1}}; end
  always @* if (known[{top}]) assert (out_valid == history[{top}]);
"""
    if enable:
        outputs = [port for port in ports if port.direction == "output"]
        values = f"{{{', '.join(port.name for port in outputs)}}}"
        lines += f"""\
  reg held;  // the last clock edge was not enabled
  initial held = 1'b0;
  reg [{sum(port.width for port in outputs) - 1}:0] before;
  always @(posedge clk) begin
    held <= !enable{" && !rst" if reset else ""};
    before <= {values};
  end
  always @* if (held) assert ({values} == before);
"""
    return [*head(ports), *instance(design.name, ports), *lines.splitlines(), "endmodule"]


def sby(design: Design) -> str:
    """Return the SymbiYosys job file; run ``sby -f NAME.sby`` in the bundle's folder."""
    name = design.name
    # a beat of a tile's results that waits is that of the cycle before, from any state
    cycles = 1 if isinstance(design, TileDesign) else max(design.latency, design.is_clocked)
    return f"""\
# Proves the properties in formal/{name}_properties.v. Run it in this folder: sby -f {name}.sby
[options]
mode bmc
depth {2 * cycles + 1}

[engines]
smtbmc z3

[script]
read_verilog -formal {name}.v {name}_properties.v
prep -flatten -top {name}_properties

[files]
{name}.v
formal/{name}_properties.v
"""
