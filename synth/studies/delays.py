"""Measures the delay of single operations by width, for the table :data:`hwgen.netlist.schedule.DELAYS`.

Usage: python -m synth.studies.delays
"""

import sys

from synth.area.jobs import Job
from synth.area.recipes import SPEED
from synth.area.rows import FO4
from synth.studies.script import status

WIDTHS = (2, 4, 8, 16, 32, 64)

_TWO = "input [{top}:0] a, input [{top}:0] b"
OPERATIONS = {
    "add": (f"{_TWO}, output [{{top}}:0] y", "a + b"),
    "increment": ("input [{top}:0] a, input c, output [{top}:0] y", "a + c"),
    "multiply": (f"{_TWO}, output [2 * {{top}} + 1:0] y", "a * b"),
    "choose": (f"{_TWO}, input s, output [{{top}}:0] y", "s ? a : b"),
    "reduce": ("input [{top}:0] a, output y", "|a"),
    "equal": (f"{_TWO}, output y", "a == b"),
    "compare": (f"{_TWO}, output y", "a < b"),
    "shift": ("input [{top}:0] a, input [{places}:0] s, output [{top}:0] y", "a >> s"),
}
"""Ports and expression of each operation; ``top`` is the index of its first bit."""

LARGEST_PRODUCT = 16


def delay(name: str, width: int) -> float:
    """Delay of an operation in FO4, on our own gates, with the fastest recipe that keeps the operation's structure."""
    ports, expression = (text.format(top=width - 1, places=(width - 1).bit_length() - 1) for text in OPERATIONS[name])
    verilog = f"module operation ({ports});\n  assign y = {expression};\nendmodule\n"
    job = Job("operation", (), verilog, "operation", (), "gates", portfolio=SPEED, renamings=1)
    return min(row.medians[FO4] for row in job.rows(job.execute()) if not row.recipe.startswith("mfs"))


def main() -> None:
    """Print the table, one line for each operation."""
    for name in OPERATIONS:
        widths = [width for width in WIDTHS if name != "multiply" or width <= LARGEST_PRODUCT]
        print(f'"{name}": ({", ".join(f"{delay(name, width):.1f}" for width in widths)}),', flush=True)


if __name__ == "__main__":
    sys.exit(status("delays", main))
