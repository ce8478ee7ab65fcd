"""Properties for SymbiYosys: what must hold of a block whoever wrote it. (``hwgen verify`` proves more: every input.)"""

from collections.abc import Mapping, Sequence

from hwgen.blocks.block import Design
from hwgen.reference import reference
from hwgen.reference.reference import head, instance


def properties(design: Design, vectors: Sequence[Mapping[str, int]]) -> str:
    """Module ``NAME_properties``, which asserts what must hold of ``NAME``.

    Parameters
    ----------
    design : Design
        Of a block that ``hwgen generate`` writes.
    vectors : sequence of mappings
        The testbench's; a decoder's are all codes, in order.
    """
    name = design.name
    lines = _pipeline(design) if design.pipeline.stages else reference(design).properties(design.ports, vectors)
    return "\n".join([f"// Properties of {name}; {name}.sby proves them.", f"module {name}_properties (", *lines, ""])


def _pipeline(design: Design) -> list[str]:
    """``out_valid`` is what ``in_valid`` was; where the clock is not enabled, nothing moves."""
    ports = design.ports
    names = {port.name for port in ports}
    ranks = design.stages
    lines = [*head(ports), *instance(design.name, ports)]
    lines += [
        f"  reg [{ranks - 1}:0] history;  // in_valid, the latest one lowest",
        f"  reg [{ranks - 1}:0] known;  // which of it has been seen", f"  initial known = {ranks}'b0;",
        "  always @(posedge clk)",
    ]  # fmt: skip
    shift = "begin history <= {history, in_valid}; known <= {known, 1'b1}; end"
    if "rst" in names:
        lines += [f"    if (rst) begin history <= {ranks}'b0; known <= ~{ranks}'b0; end", "    else"]
    lines.append(f"    {'if (enable) ' if 'enable' in names else ''}{shift}")
    lines.append(f"  always @* if (known[{ranks - 1}]) assert (out_valid == history[{ranks - 1}]);")
    if "enable" in names:
        outputs = [port.name for port in ports if port.direction == "output"]
        still = "!enable" + (" && !rst" if "rst" in names else "")
        lines += [
            "  reg still;", "  initial still = 1'b0;", f"  reg [{sum(p.width for p in ports if p.direction == 'output') - 1}:0] before;",
            "  always @(posedge clk) begin", f"    still <= {still};", f"    before <= {{{', '.join(outputs)}}};", "  end",
            f"  always @* if (still) assert ({{{', '.join(outputs)}}} == before);",
        ]  # fmt: skip
    return [*lines, "endmodule"]


def sby(design: Design) -> str:
    """The job file of SymbiYosys: ``sby -f NAME.sby`` in the bundle's folder."""
    name = design.name
    return f"""\
# Proves the properties in formal/{name}_properties.v; run it in this folder: sby -f {name}.sby
[options]
mode bmc
depth {2 * design.latency + 1}

[engines]
smtbmc z3

[script]
read_verilog -formal {name}.v {name}_properties.v
prep -flatten -top {name}_properties

[files]
{name}.v
formal/{name}_properties.v
"""
