"""The bundle: a module's Verilog and the files that make it usable without this project.

* ``NAME.json``: ports, options, rules, formats, hashes, tool versions (docs/bundle.schema.json)
* ``NAME.f``: file list
* ``NAME.core``: FuseSoC core
* ``NAME.sby``: SymbiYosys job, with ``formal/NAME_properties.v``
* ``NAME_template.v``: an instance to copy
* ``tb/NAME_tb.v``: self-checking testbench, with its vectors in ``tb/NAME.hex``
* ``tb/cocotb``: cocotb tests of the same vectors, and of new ones where this package is installed
"""

import json
from collections.abc import Sequence
from importlib.metadata import version

import numpy as np

from golden.refusal import past_checking
from hwgen.blocks.block import Design
from hwgen.bundle.description import description
from hwgen.bundle.properties import properties, sby
from hwgen.bundle.regression import cocotb_files, format_files
from hwgen.bundle.testbench import memory, testbench
from hwgen.coverage.suite import suite
from hwgen.netlist.emit import Port

VECTORS = 2000
"""Number of vectors of a combinational testbench; if there are fewer inputs, or for a decoder, all inputs."""


def files(design: Design, verilog: str) -> dict[str, str]:
    """Return the bundle's texts by path in its folder, the Verilog first.

    Parameters
    ----------
    design : Design
        Of a block with ``generated``.
    verilog : str
        Text of the module: ``design.verilog()``.

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
    flow_options: {{tool: icarus, cocotb_module: {name}_cocotb}}
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
