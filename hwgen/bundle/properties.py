"""Properties for SymbiYosys. They are partial specifications; ``hwgen verify`` checks every input."""

from hwgen.blocks.block import Design
from hwgen.reference import reference
from hwgen.reference.reference import head, instance


def properties(design: Design) -> str:
    """Return the module ``NAME_properties``, which instantiates ``NAME`` and asserts its properties.

    Parameters
    ----------
    design : Design
        Of a block with ``generated``.
    """
    name = design.name
    lines = _pipeline(design) if design.pipeline.stages else reference(design).properties(design.ports)
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
    return f"""\
# Proves the properties in formal/{name}_properties.v. Run it in this folder: sby -f {name}.sby
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
