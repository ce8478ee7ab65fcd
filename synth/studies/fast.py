"""Measures MACs from small to fast for the report, and compares them with limits from prototypes: the smallest area
within a delay, on own gates; and with limits in ns on a cell library (:mod:`synth.studies.sky130`), if that is given.

The prototypes were written by hand, a Verilog file for each format, and checked on all inputs. Formats that none was
written for have the limits of a similar one and some area more. A figure is a median over renamings; areas may be 2%
above the limit. Within a delay, the smaller one of the units built for area and for speed counts.

Usage: python -m synth.studies.fast [--liberty FILE] [--store FILE] [--jobs N] [--again] writes
synth/report/speeds.json, and with a library docs/sky130.json; areas and delays that they already have, of the same
Verilog by the same scripts and tool, are not measured again unless ``--again`` is given
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from operator import attrgetter
from statistics import median
from typing import Any, NamedTuple

from hwgen.blocks.block import Design
from hwgen.datapath.goal import GOALS
from synth.area.rows import Row
from synth.area.store import Store
from synth.report.figures import number
from synth.report.speeds import VARIED, Speeds, mac
from synth.studies import sky130
from synth.studies.script import Check, parser, status
from synth.studies.sky130 import Sky130

ALLOWED = 1.02
"""Areas that a figure may have, as multiples of the limit."""


class Limit(NamedTuple):
    """A MAC, and pairs of a delay in FO4 and the largest area, in NAND2 equivalents, within that delay."""

    format: str
    options: Mapping[str, Any]
    within: tuple[tuple[float, float], ...]

    def designs(self) -> list[Design]:
        """The MAC, built for area and for speed."""
        return [mac(self.format, goal, **self.options) for goal in GOALS]


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
        *(Limit(name, {}, within) for name, within in formats.items()),
        Limit(VARIED, {"accumulator": "binary32"}, ((46, inf),)),
        Limit(VARIED, {"stages": 2}, ((17, inf),)),
        Limit(VARIED, {"stages": 3}, ((13, inf),)),
    ]


class Point(NamedTuple):
    """Median delay in FO4 and median area in NAND2 equivalents of a recipe's netlists of a module."""

    delay: float
    area: float
    module: str
    recipe: str


def points(design: Design, rows: Iterable[Row]) -> list[Point]:
    """The points of a design, one for each recipe."""
    timed = ((row, row.timing) for row in rows if row.name == design.name)
    return [Point(median(timing.delays), row.median, row.name, row.recipe) for row, timing in timed if timing]


def smallest(found: Iterable[Point], delay: float = inf) -> Point | None:
    """The smallest point within a delay; None if all are slower."""
    return min((point for point in found if point.delay <= delay), key=attrgetter("area"), default=None)


def checked(limit: Limit, rows: Sequence[Row]) -> list[Check]:
    """A check for each delay of a limit, from the rows of all recipes and modules."""
    found = [point for design in limit.designs() for point in points(design, rows)]
    checks = []
    for delay, area in limit.within:
        met = smallest(found, delay)
        point = met or min(found)
        most = "any" if area == inf else number(round(ALLOWED * area))
        text = (
            f"{point.module:34} {number(delay):>6} {most:>7} {point.delay:8.2f} {number(point.area):>8}  {point.recipe}"
        )
        checks.append(Check(text, met is not None and met.area <= ALLOWED * area))
    return checks


def main() -> int:
    """Measure, write the files and print the tables; return 0 if all limits that were measured are kept, else 1."""
    options = parser(__doc__, files=True)
    text = f"cell library of the limits in ns, {sky130.LIBRARY} (default: they are not measured)"
    options.add_argument("--liberty", metavar="FILE", help=text)
    chosen = options.parse_args()
    libraries = None if chosen.liberty is None else sky130.libraries(chosen.liberty)
    Speeds.measure(chosen)
    rows = Speeds.load().rows
    checks = [check for limit in limits() for check in checked(limit, rows)]
    print(f"{'module':34} {'within':>6} {'at most':>7} {'FO4':>8} {'NAND2':>8}  recipe")
    for check in checks:
        print(f"{check.text}: {'kept' if check.kept else 'NOT KEPT'}")
    if libraries is None:
        print(sky130.WITHOUT)
    else:
        Sky130.measure(chosen, Sky130.jobs_on(libraries, Store(chosen.store)))
        timed = list(sky130.checked(Sky130.load().rows))
        print("\n".join([sky130.HEAD, *(check.text for check in timed)]))
        checks += timed
    return int(any(check.kept is False for check in checks))


if __name__ == "__main__":
    sys.exit(status("fast", main))
