"""A testbench in plain Verilog-2005, and its vectors: inputs and what golden says of them, as one hexadecimal word a
line.

Of a clocked module, a vector is what the ports say in one cycle, before the clock rises.
"""

from collections.abc import Mapping, Sequence

from hwgen.netlist.emit import CLOCK, Port
from hwgen.reference.trace import CARE

SHOWN = 10
"""Mismatches that are printed."""

Vector = Mapping[str, int]
"""Values of all ports; of outputs those that golden expects."""


def columns(ports: Sequence[Port]) -> list[Port]:
    """What a word of the file holds, the first in the most significant bits; of a clocked module a flag for each
    output, too.
    """
    clocked = any(port.name == CLOCK for port in ports)
    flags = [Port(CARE + port.name, "input", 1) for port in ports if port.direction == "output"]
    return [port for port in ports if port.name != CLOCK] + (flags if clocked else [])


def memory(ports: Sequence[Port], vectors: Sequence[Vector]) -> str:
    """The file of vectors; the first bit of each is 1, for simulators that take what they do not find for 0."""
    word = columns(ports)
    digits = -(-(1 + sum(port.width for port in word)) // 4)
    lines = []
    for vector in vectors:
        bits = 1
        for port in word:
            bits = bits << port.width | vector[port.name]
        lines.append(f"{bits:0{digits}x}")
    return "\n".join(lines) + "\n"


def testbench(name: str, ports: Sequence[Port], count: int, file: str) -> str:
    """The testbench ``NAME_tb``.

    Its last line is ``PASS n vectors`` or ``FAIL n of m``, after the first mismatches. Vectors that the simulator did
    not find fail. Where it is called with ``+fatal``, what fails ends in ``$fatal``, for the sake of the simulator's
    exit status.

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
    inputs = [port for port in ports if port.direction == "input" and port.name != CLOCK]
    outputs = [port for port in ports if port.direction == "output"]
    clocked = any(port.name == CLOCK for port in ports)
    word = columns(ports)
    width = sum(port.width for port in word)
    nets = [f"  reg {CLOCK};"] if clocked else []
    nets += [f"  reg {port.range}{port.name};" for port in inputs]
    for port in outputs:
        nets += [f"  wire {port.range}{port.name};", f"  reg {port.range}expected_{port.name};"]
        nets += [f"  reg {CARE}{port.name};"] if clocked else []
    order = ", ".join(f"expected_{port.name}" if port in outputs else port.name for port in word)
    wrong = [f"{port.name} !== expected_{port.name}" for port in outputs]
    if clocked:
        wrong = [f"({CARE}{port.name} && {text})" for port, text in zip(outputs, wrong, strict=True)]
    said = ", ".join([f"{port.name}=%h" for port in inputs] + [f"{port.name}=%h (expected %h)" for port in outputs])
    values = ", ".join([port.name for port in inputs] + [f"{port.name}, expected_{port.name}" for port in outputs])
    connections = ", ".join(f".{port.name}({port.name})" for port in ports)
    return f"""\
// Self-checking testbench of {name}; run it in the folder that holds {file}.
module {name}_tb;
  localparam VECTORS = {count};
  reg [{width}:0] vectors [0:VECTORS - 1];
{chr(10).join(nets)}
  reg found;
  integer index;
  integer failed;

  {name} dut ({connections});

  initial begin
    failed = 0;{f"{chr(10)}    {CLOCK} = 0;" if clocked else ""}
    $readmemh("{file}", vectors);
    for (index = 0; index < VECTORS; index = index + 1) begin
      {{found, {order}}} = vectors[index];
      #1;
      if (found !== 1'b1) begin
        failed = failed + 1;
        if (failed == 1) $display("vector %0d is not in {file}", index);
      end else if ({" || ".join(wrong)}) begin
        failed = failed + 1;
        if (failed <= {SHOWN}) $display("vector %0d: {said}", index, {values});
      end{f"{chr(10)}      {CLOCK} = 1; #1; {CLOCK} = 0;" if clocked else ""}
    end
    if (failed == 0) $display("PASS %0d vectors", VECTORS);
    else if ($test$plusargs("fatal")) $fatal(1, "FAIL %0d of %0d", failed, VECTORS);
    else $display("FAIL %0d of %0d", failed, VECTORS);
    $finish(0);
  end
endmodule
"""
