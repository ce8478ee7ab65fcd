"""A testbench in plain Verilog-2005 and its file of vectors: inputs and expected outputs, one word per line.

A vector of a clocked module holds the values of the ports in one cycle, before the rising edge of the clock.
"""

from collections.abc import Mapping, Sequence

from hwgen.netlist.emit import CLOCK, Port
from hwgen.reference.trace import CARE

SHOWN = 10
"""Number of mismatches to print."""

Vector = Mapping[str, int]
"""Values of all ports; outputs have the values of the reference model."""


def columns(ports: Sequence[Port]) -> list[Port]:
    """Return the fields of a word in the file of vectors, the first in the most significant bits.

    Clocked modules have one more field per output: whether the testbench compares it in this cycle.
    """
    clocked = any(port.name == CLOCK for port in ports)
    flags = [Port(CARE + port.name, "input", 1) for port in ports if port.direction == "output"]
    return [port for port in ports if port.name != CLOCK] + (flags if clocked else [])


def memory(ports: Sequence[Port], vectors: Sequence[Vector], classes: Mapping[str, int] | None = None) -> str:
    """Return the text of the file of vectors, with a comment before each class of them.

    The first bit of each word is 1: a simulator that reads missing words as 0 is detected.
    """
    word = columns(ports)
    digits = -(-(1 + sum(port.width for port in word)) // 4)
    lines, starts, first = [], {}, 0
    for name, count in (classes or {}).items():
        starts[first] = name
        first += count
    for number, vector in enumerate(vectors):
        if number in starts:
            lines.append(f"// class {starts[number]}")
        bits = 1
        for port in word:
            bits = bits << port.width | vector[port.name]
        lines.append(f"{bits:0{digits}x}")
    return "\n".join(lines) + "\n"


def testbench(name: str, ports: Sequence[Port], count: int, file: str) -> str:
    """Return the text of the testbench ``NAME_tb``.

    It prints the first mismatches, and last ``PASS n vectors`` or ``FAIL n of m``. Missing vectors count as failures.
    With the plusarg ``+fatal`` a failure ends in ``$fatal``, which sets the simulator's exit status. ``file``, with the
    vectors, is relative to the folder that the simulation runs in.
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
    fields = ", ".join([f"{port.name}=%h" for port in inputs] + [f"{port.name}=%h (expected %h)" for port in outputs])
    values = ", ".join([port.name for port in inputs] + [f"{port.name}, expected_{port.name}" for port in outputs])
    connections = ", ".join(f".{port.name}({port.name})" for port in ports)
    return f"""\
// Self-checking testbench of {name}. Run it in the bundle's folder: it reads {file}.
module {name}_tb;
  localparam VECTORS = {count};
  reg [{width}:0] vectors [0:VECTORS - 1];
{chr(10).join(nets)}
  reg present;  // 0 or x if the file has no such vector
  integer index;
  integer failed;

  {name} dut ({connections});

  initial begin
    failed = 0;{f"{chr(10)}    {CLOCK} = 0;" if clocked else ""}
    $readmemh("{file}", vectors);
    for (index = 0; index < VECTORS; index = index + 1) begin
      {{present, {order}}} = vectors[index];
      #1;
      if (present !== 1'b1) begin
        failed = failed + 1;
        if (failed == 1) $display("vector %0d is not in {file}", index);
      end else if ({" || ".join(wrong)}) begin
        failed = failed + 1;
        if (failed <= {SHOWN}) $display("vector %0d: {fields}", index, {values});
      end{f"{chr(10)}      {CLOCK} = 1; #1; {CLOCK} = 0;" if clocked else ""}
    end
    if (failed == 0) $display("PASS %0d vectors", VECTORS);
    else if ($test$plusargs("fatal")) $fatal(1, "FAIL %0d of %0d", failed, VECTORS);
    else $display("FAIL %0d of %0d", failed, VECTORS);
    $finish(0);
  end
endmodule
"""
