"""Compares MACs that are built for speed with limits from prototypes: the smallest area within a delay, on own gates.

The prototypes were written by hand, a Verilog file for each format, and checked on all inputs. Formats that none was
written for have the limits of a similar one and some area more. A figure is a median over renamings; areas may be 2%
above the limit.

Usage: python -m synth.studies.fast [--renamings 4]
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence
from math import inf
from statistics import median
from typing import NamedTuple

from golden.refusal import check_integer
from hwgen.blocks.block import Design
from hwgen.blocks.catalog import build
from hwgen.datapath.goal import SPEED as FAST
from hwgen.tools.process import ToolError
from hwgen.tools.progress import Progress
from synth.area.jobs import DEFAULT_RENAMINGS, MAX_RENAMINGS
from synth.area.plan import area_jobs
from synth.area.pool import LocalPool, Pool
from synth.area.recipes import SPEED
from synth.area.rows import Row
from synth.area.runner import measure_all
from synth.report.figures import number
from synth.studies.script import status

ALLOWED = 1.02
"""Areas that a figure may have, as multiples of the limit."""


class Limit(NamedTuple):
    """A design, and pairs of a delay in FO4 and the largest area, in NAND2 equivalents, within that delay."""

    design: Design
    within: tuple[tuple[float, float], ...]


def limits() -> list[Limit]:
    """Limits of MACs into binary16; delays that a MAC into binary32 and pipelines must reach, whatever their area."""
    e5m2 = ((36.5, 2350), (40, 1960), (47, 1615), (65, 1370))
    e4m3 = ((39, 2400), (44, 2050), (52, 1720), (66, 1540))
    hif8 = ((40, 2650), (46, 2350), (55, 1900), (69, 1650))
    formats: dict[str, tuple[tuple[float, float], ...]] = {
        "ocp_e5m2": e5m2,
        "binary8p3": e5m2,
        "e5m2_nosub": e5m2,
        "e5m2b1": tuple((delay, 1.08 * area) for delay, area in e5m2),
        "ocp_e4m3": e4m3,
        "e5m3": tuple((delay, 1.05 * area) for delay, area in e4m3),
        "hif8": hif8,
    }
    return [
        *(Limit(build("mac", name, optimize=FAST), within) for name, within in formats.items()),
        Limit(build("mac", "ocp_e5m2", accumulator="binary32", optimize=FAST), ((46, inf),)),
        Limit(build("mac", "ocp_e5m2", optimize=FAST, stages=2), ((17, inf),)),
        Limit(build("mac", "ocp_e5m2", optimize=FAST, stages=3), ((13, inf),)),
    ]


class Check(NamedTuple):
    """A line of the table, and whether the limit is kept."""

    text: str
    kept: bool


def checked(limit: Limit, curve: Sequence[Row]) -> list[Check]:
    """A check for each delay of a limit, from the rows of all recipes."""
    points = [(median(row.timing.delays), row.median, row.recipe) for row in curve if row.timing is not None]
    checks = []
    for delay, area in limit.within:
        kept = [point for point in points if point[0] <= delay]
        time, size, recipe = min(kept, key=lambda point: point[1]) if kept else min(points)
        most = "any" if area == inf else number(round(ALLOWED * area))
        text = f"{limit.design.name:34} {number(delay):>6} {most:>7} {time:8.2f} {number(size):>8}  {recipe}"
        checks.append(Check(text, bool(kept) and size <= ALLOWED * area))
    return checks


def measured(known: Sequence[Limit], renamings: int, pool: Pool) -> list[Check]:
    """Check limits; a ToolError if a measurement fails."""
    jobs = [
        job for limit in known for job in area_jobs(limit.design, limit.design.verilog(), ["gates"], SPEED, renamings)
    ]
    curves: dict[str, list[Row]] = defaultdict(list)
    for outcome in measure_all(jobs, pool, progress=Progress() if sys.stderr.isatty() else None):
        if outcome.error:
            raise ToolError(outcome.error)
        for row in outcome.rows:
            curves[row.name] += [] if row.is_best else [row]
    return [check for limit in known for check in checked(limit, curves[limit.design.name])]


def main() -> int:
    """Print the table; return 0 if all limits are kept, else 1."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    text = "number of renamings that medians are taken over (default: %(default)s)"
    parser.add_argument("--renamings", type=int, default=DEFAULT_RENAMINGS, metavar="N", help=text)
    arguments = parser.parse_args()
    check_integer("renamings", arguments.renamings, 1, MAX_RENAMINGS)
    with LocalPool() as pool:
        checks = measured(limits(), arguments.renamings, pool)
    print(f"{'module':34} {'within':>6} {'at most':>7} {'FO4':>8} {'NAND2':>8}  recipe")
    for check in checks:
        print(f"{check.text}: {'kept' if check.kept else 'NOT KEPT'}")
    return 0 if all(check.kept for check in checks) else 1


if __name__ == "__main__":
    sys.exit(status("fast", main))
