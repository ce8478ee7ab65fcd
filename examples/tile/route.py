"""Places and routes accelerator.v and its tile on ECP5-85k with open tools, and prints its cells and its clock.

Usage, after pip install '.[route]': python -m examples.tile.route [SEED]
"""

import json
import re
import sys
from collections import Counter

from examples.tile import run
from hwgen.tools import yosys
from synth.area import route

CELLS = {"LUT4": r"LUT4", "registers": r"TRELLIS_FF", "memories of 18 kbit": r"DP16KD", "carries": r"CCU2C"}
"""What is counted, and the names of its cells."""

SCRIPT = """\
read_verilog tile.v accelerator.v
chparam {widths} accelerator
hierarchy -top accelerator
setattr -mod -set keep_hierarchy 1 matrix_unit_*
synth_ecp5 -top accelerator -nodsp -run begin:check
setattr -mod -unset keep_hierarchy *
flatten
opt_clean
blackbox =A:whitebox
write_json netlist.json
"""
"""As docs/tile.md says, elements and readouts are mapped by themselves."""


def placed(seed: int = 0) -> tuple[dict[str, int], float]:
    """Numbers of :data:`CELLS`, and the clock in MHz for a seed of the placer."""
    widths = " ".join(f"-set {name} {width}" for name, width in run.widths().items())
    files = {"tile.v": run.tile().verilog(), "accelerator.v": (run.HERE / "accelerator.v").read_text("utf-8")}
    text = yosys.run(SCRIPT.format(widths=widths), files, ["netlist.json"])["netlist.json"]
    counts = Counter(cell["type"] for cell in json.loads(text)["modules"]["accelerator"]["cells"].values())
    cells = {name: sum(n for cell, n in counts.items() if re.fullmatch(of, cell)) for name, of in CELLS.items()}
    return cells, route.clock("ecp5", text, seed)


def main(seed: int = 0) -> None:
    """Print a line with the figures."""
    cells, mhz = placed(seed)
    counts = ", ".join(f"{count} {name}" for name, count in cells.items())
    print(f"{run.FORMAT} {run.ROWS} x {run.COLUMNS}: {mhz:.1f} MHz; {counts}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
