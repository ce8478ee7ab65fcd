"""A testbench in plain Verilog-2005, and its vectors: inputs and what golden says of them, as one hexadecimal word a line."""

from collections.abc import Mapping, Sequence

from hwgen.ports import Port

SHOWN = 10
"""Mismatches that are printed."""

Vector = Mapping[str, int]
"""Values of all ports; of outputs those that golden expects."""


def memory(ports: Sequence[Port], vectors: Sequence[Vector]) -> str:
    """The file of vectors: ports in their order, the first in the most significant bits."""
    width = sum(port.width for port in ports)
    digits = -(-width // 4)
    lines = []
    for vector in vectors:
        word = 0
        for port in ports:
            word = word << port.width | vector[port.name]
        lines.append(f"{word:0{digits}x}")
    return "\n".join(lines) + "\n"


def testbench(name: str, ports: Sequence[Port], count: int, file: str) -> str:
    """The testbench ``NAME_tb``.

    Its last line is ``PASS n vectors`` or ``FAIL n of m``, after the first mismatches. Vectors that the simulator did not find fail.

    Parameters
    ----------
    name : str
        Of the module under test.
    ports : sequence of Port
    count : int
        Number of vectors.
    file : str
        Of the vectors, from the folder that the simulation runs in.
    """
    width = sum(port.width for port in ports)
    inputs = [port for port in ports if port.direction == "input"]
    outputs = [port for port in ports if port.direction == "output"]
    nets = [f"  reg {port.range}{port.name};" for port in inputs]
    for port in outputs:
        nets += [f"  wire {port.range}{port.name};", f"  reg {port.range}expected_{port.name};"]
    order = ", ".join(port.name if port.direction == "input" else f"expected_{port.name}" for port in ports)
    wrong = " || ".join(f"{port.name} !== expected_{port.name}" for port in outputs)
    said = ", ".join([f"{port.name}=%h" for port in inputs] + [f"{port.name}=%h (expected %h)" for port in outputs])
    values = ", ".join([port.name for port in inputs] + [f"{port.name}, expected_{port.name}" for port in outputs])
    connections = ", ".join(f".{port.name}({port.name})" for port in ports)
    return f"""\
// Self-checking testbench of {name}; run it in the folder that holds {file}.
module {name}_tb;
  localparam VECTORS = {count};
  reg [{width - 1}:0] vectors [0:VECTORS - 1];
{chr(10).join(nets)}
  integer index;
  integer failed;

  {name} dut ({connections});

  initial begin
    failed = 0;
    $readmemh("{file}", vectors);
    for (index = 0; index < VECTORS; index = index + 1) begin
      {{{order}}} = vectors[index];
      #1;
      if (^vectors[index] === 1'bx) begin
        failed = failed + 1;
        if (failed == 1) $display("vector %0d is not in {file}", index);
      end else if ({wrong}) begin
        failed = failed + 1;
        if (failed <= {SHOWN}) $display("vector %0d: {said}", index, {values});
      end
    end
    if (failed == 0) $display("PASS %0d vectors", VECTORS);
    else $display("FAIL %0d of %0d", failed, VECTORS);
    $finish(0);
  end
endmodule
"""
