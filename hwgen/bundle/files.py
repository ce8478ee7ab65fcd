"""The bundle: a module's Verilog and the files that make it usable without this project.

* ``NAME.json``: ports, options, rules, formats, hashes, tool versions (docs/bundle.schema.json)
* ``NAME.f``: file list
* ``NAME.core``: FuseSoC core
* ``NAME.sby``: SymbiYosys job, with ``formal/NAME_properties.v``
* ``NAME_template.v``: an instance to copy
* ``tb/NAME_tb.v``: self-checking testbench, with its vectors in ``tb/NAME.hex``
"""

import json
from collections.abc import Sequence
from importlib.metadata import version

import numpy as np

from golden.refusal import past_checking
from hwgen.blocks.block import RESETS, Design
from hwgen.bundle.description import description
from hwgen.bundle.properties import properties, sby
from hwgen.bundle.testbench import memory, testbench
from hwgen.netlist.emit import Port
from hwgen.reference import reference, trace

VECTORS = 2000
"""Largest number of vectors of a combinational testbench. That of a decoder has all codes."""


def files(design: Design, verilog: str) -> dict[str, str]:
    """Return the bundle's texts by path in its folder, the Verilog first.

    Parameters
    ----------
    design : Design
        Of a block with ``generated``.
    verilog : str
        Text of the module: ``design.verilog()``.
    """
    name, ports = design.name, design.ports
    with past_checking():
        vectors = cases(design)
    return {
        f"{name}.v": verilog,
        f"{name}.json": json.dumps(description(design, verilog), indent=2, ensure_ascii=False) + "\n",
        f"{name}.f": f"{name}.v\n",
        f"{name}.core": core(design),
        f"{name}.sby": sby(design),
        f"{name}_template.v": template(name, ports),
        f"formal/{name}_properties.v": properties(design, vectors),
        f"tb/{name}_tb.v": testbench(name, ports, len(vectors), f"tb/{name}.hex"),
        f"tb/{name}.hex": memory(ports, vectors),
    }


def cases(design: Design) -> list[dict[str, int]]:
    """Return the vectors of a design's testbench: values of all ports, one vector per case or clock cycle.

    The random numbers are seeded with the design's name, so the vectors are reproducible.
    """
    rng = np.random.default_rng(list(design.name.encode()))
    model = reference(design)
    if design.block.clocked:
        return model.cycles(VECTORS, rng)
    inputs = model.stimuli(VECTORS, rng)
    physical, outputs = [model.physical(pins) for pins in inputs], model.answers(inputs)
    if not design.stages:
        return [pins | result for pins, result in zip(physical, outputs, strict=True)]
    pipeline = design.pipeline
    return trace.pipeline(physical, outputs, pipeline.stages, pipeline.reset == RESETS[0], pipeline.clock_enable, rng)


def core(design: Design) -> str:
    """Return the text of a FuseSoC core file (CAPI 2)."""
    name = design.name
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
