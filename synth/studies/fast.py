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
from collections.abc import Iterator, Mapping
from math import inf
from typing import Any, NamedTuple

from hwgen.blocks.block import Design
from hwgen.datapath.goal import GOALS
from synth.area.recipes import SPEED
from synth.area.store import Store
from synth.report.chapters import speed
from synth.report.figures import number
from synth.report.plan import Point
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


def front(design: Design, speeds: Speeds) -> speed.Front:
    """The netlists of a design that no other one beats in both area and delay."""
    return speed.front(speed.points(speeds.curve(Point(design, portfolio=SPEED))))


def checked(limit: Limit, speeds: Speeds) -> Iterator[Check]:
    """A check for each delay of a limit."""
    curves = {design.name: front(design, speeds) for design in limit.designs()}
    fastest = min(curves, key=lambda name: curves[name][0].delay)
    for delay, area in limit.within:
        met = {name: point for name, curve in curves.items() if (point := speed.at(curve, delay))}
        name = min(met, key=lambda name: met[name].area.median, default=fastest)
        point = met.get(name, curves[name][0])
        most = "any" if area == inf else number(round(ALLOWED * area))
        figures = f"{number(delay):>6} {most:>7} {point.delay:8.2f} {number(point.area.median):>8}"
        is_kept = name in met and point.area.median <= ALLOWED * area
        yield Check(f"{name:34} {figures}  {point.area.recipe}: {'kept' if is_kept else 'NOT KEPT'}", is_kept)


def main() -> int:
    """Measure, write the files and print the tables; return 0 if all limits that were measured are kept, else 1."""
    options = parser(__doc__, files=True)
    text = f"cell library of the limits in ns, {sky130.LIBRARY} (default: they are not measured)"
    options.add_argument("--liberty", metavar="FILE", help=text)
    chosen = options.parse_args()
    libraries = None if chosen.liberty is None else sky130.libraries(chosen.liberty)
    Speeds.measure(chosen)
    speeds = Speeds.load()
    head = Check(f"{'module':34} {'within':>6} {'at most':>7} {'FO4':>8} {'NAND2':>8}  recipe", None)
    first = [head, *(check for limit in limits() for check in checked(limit, speeds))]
    print("\n".join(check.text for check in first))
    second = [Check(sky130.WITHOUT, None)]
    if libraries is not None:
        Sky130.measure(chosen, Sky130.jobs_on(libraries, Store(chosen.store)))
        second = [Check(sky130.HEAD, None), *sky130.checked(Sky130.load().rows)]
    print("\n".join(check.text for check in second))
    return int(any(check.kept is False for check in (*first, *second)))


if __name__ == "__main__":
    sys.exit(status("fast", main))
