"""Measures MACs from small to fast for the report, and compares them with limits from prototypes: the smallest area
within a delay, on own gates; and delays in ns on the cell library sky130hd, if that is given.

The prototypes were written by hand, a Verilog file for each format, and checked on all inputs. Formats that none was
written for have the limits of a similar one and some area more. A figure is a median over renamings; areas may be 2%
above the limit. Within a delay, the smaller one of the units built for area and for speed counts.

Delays in ns are those of the typical corner, timed by OpenSTA, without wires and loads. A limit is that of one netlist:
of the module as emitted, by one recipe. Renamings move a delay by several per cent, so their median and spread are
shown beside it. The library has another licence and is not part of the project; figures measured with it are in
docs/sky130.json.

Usage: python -m synth.studies.fast [--liberty FILE] [--store FILE] [--jobs N] [--again] writes
synth/report/speeds.json, and with a library docs/sky130.json; areas and delays that they already have, of the same
Verilog by the same scripts and tool, are not measured again unless ``--again`` is given
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from math import inf
from pathlib import Path
from statistics import median
from typing import Any, ClassVar, NamedTuple

from golden.refusal import BadValue
from hwgen.blocks.block import Design
from hwgen.datapath.goal import GOALS
from synth.area.figures import Figure, number
from synth.area.jobs import AS_EMITTED, DEFAULT_RENAMINGS, Job
from synth.area.liberty import Libraries, read_all
from synth.area.plan import area_jobs
from synth.area.recipes import SPEED
from synth.area.rows import PS, Row
from synth.area.store import Store, verilog
from synth.area.targets import LIBERTY
from synth.area.timing import opensta
from synth.report.chapters import speed
from synth.report.plan import REPORT_ACCUMULATOR
from synth.studies.family import Point
from synth.studies.script import Check, parser, status
from synth.studies.speeds import VARIED, Speeds, mac
from synth.studies.study import Study

ALLOWED = 1.02
"""Areas that a figure may have, as multiples of the limit."""
LIBRARY = "sky130_fd_sc_hd__tt_025C_1v80"
"""Name of the library group: sky130hd, typical corner."""
RECIPE = "depth_map"
"""The recipe that the limits in ns are stated for."""
RECIPES = (RECIPE, "mfs_depth_map")
"""The recipes that are measured in ns: the limits' one, and one that is faster in most renamings."""
WITHOUT = f"delays in ns on {LIBRARY}: not measured, no library (--liberty FILE)"
"""The line in place of the table in ns if no library was given."""
_COLUMNS = f"{'within':>6} {'emitted':>8} {'median':>6} {'renamings':>14} {'NAND2':>8}"
HEAD = f"{'module, ns on sky130hd':34} {_COLUMNS}  recipe"


class Limit(NamedTuple):
    """A MAC, and what it must reach."""

    format: str
    options: Mapping[str, Any]
    within: tuple[tuple[float, float], ...]
    """Pairs of a delay in FO4 and the largest area, in NAND2 equivalents, within that delay."""
    nanoseconds: float = inf
    """The longest delay on sky130hd of the MAC that is built for speed."""

    def designs(self) -> tuple[Design, Design]:
        """The MAC, built for area and for speed."""
        small, fast = (mac(self.format, goal, **self.options) for goal in GOALS)
        return small, fast


def limits() -> list[Limit]:
    """Limits of MACs into binary16; delays that a MAC into binary32 and pipelines must reach, whatever their area."""
    e5m2 = ((36.5, 2350), (40, 1960), (47, 1615), (65, 1370))
    e4m3 = ((39, 2400), (44, 2050), (52, 1720), (66, 1540))
    hif8 = ((40, 2650), (46, 2350), (55, 1900), (69, 1650))
    return [
        Limit("ocp_e5m2", {}, e5m2, 3.4),
        Limit("binary8p3", {}, e5m2),
        Limit("e5m2_nosub", {}, e5m2),
        Limit("e5m2b1", {}, tuple((delay, 1.08 * area) for delay, area in e5m2)),
        Limit("ocp_e4m3", {}, e4m3, 3.5),
        Limit("e5m3", {}, tuple((delay, 1.05 * area) for delay, area in e4m3)),
        Limit("hif8", {}, hif8, 3.65),
        Limit(VARIED, {"accumulator": "binary32"}, ((46, inf),), 4.6),
        Limit(VARIED, {"stages": 2}, ((17, inf),)),
        Limit(VARIED, {"stages": 3}, ((13, inf),)),
    ]


LIMITS_IN_NS = [limit for limit in limits() if limit.nanoseconds < inf]


def front(design: Design, speeds: Speeds) -> speed.Front:
    """The netlists of a design that no other one beats in both area and delay."""
    return speed.front(speed.points(speeds.curve(Point(design, portfolio=SPEED))))


def best(limit: Limit, speeds: Speeds, delay: float) -> tuple[Design, speed.Point] | None:
    """The design and the netlist of a MAC with the smallest area within a delay; None if none is fast enough."""
    curves = ((design, speed.at(front(design, speeds), delay)) for design in limit.designs())
    met = [(design, point) for design, point in curves if point]
    return min(met, key=lambda pair: pair[1].area.median, default=None)


def checked(limit: Limit, speeds: Speeds) -> Iterator[Check]:
    """A check for each delay of a limit."""
    fastest = min(((design, front(design, speeds)[0]) for design in limit.designs()), key=lambda pair: pair[1].delay)
    for delay, area in limit.within:
        met = best(limit, speeds, delay)
        design, point = met or fastest
        most = "any" if area == inf else number(round(ALLOWED * area))
        figures = f"{number(delay):>6} {most:>7} {point.delay:8.2f} {number(point.area.median):>8}"
        is_kept = met is not None and point.area.median <= ALLOWED * area
        yield Check(f"{design.name:34} {figures}  {point.area.recipe}: {'kept' if is_kept else 'NOT KEPT'}", is_kept)


# -- delays in nanoseconds


def libraries(file: str) -> Libraries:
    """Read the library that the limits apply to; refuse any other, and a machine without OpenSTA.

    The library has its own name, wherever the file is: rows contain the command that repeats them.
    """
    found = read_all([file])
    parts = tuple(chain(*found.values()))
    names = [library.name for library in parts]
    if names != [LIBRARY]:
        raise BadValue("liberty", f"must be {LIBRARY}, which the limits in ns apply to, not {' + '.join(names)}")
    if opensta() is None:
        raise BadValue("liberty", "needs OpenSTA (sta), which times the limits in ns")
    return {(f"{LIBRARY}.lib",): parts}


@dataclass(frozen=True)
class Sky130(Study):
    """The delays of both MACs of each limit: of renamings and, if it is built for speed, of the module as emitted."""

    file: ClassVar[Path] = Path(__file__).resolve().parents[2] / "docs" / "sky130.json"

    @classmethod
    def points(cls) -> Iterator[Point]:
        """See :class:`Study`."""
        for limit in LIMITS_IN_NS:
            small, fast = limit.designs()
            for design, seed in ((small, 1), (fast, AS_EMITTED), (fast, 1)):
                yield Point(design, LIBERTY, SPEED, seed=seed)

    @classmethod
    def jobs_on(cls, known: Libraries, store: Store) -> dict[str, list[Job]]:
        """The jobs of each point, one for each recipe."""
        todo: dict[str, list[Job]] = {}
        for label, (design, target, portfolio, _, seed, _) in cls.labelled().items():
            renamings = 1 if seed == AS_EMITTED else DEFAULT_RENAMINGS
            (job,) = area_jobs(design, verilog(design, store), [target], portfolio, renamings, known, seed)
            todo[label] = [replace(job, recipe=recipe) for recipe in RECIPES]
        return todo


def delay(design: Design, recipe: str, rows: Sequence[Row]) -> tuple[Figure, Row | None]:
    """Delays in ns of the renamings of a design by a recipe, and the row of the module as emitted, if it has one."""
    by_seed = {row.seed: row for row in rows if (row.name, row.recipe) == (design.name, recipe)}
    emitted = by_seed.pop(AS_EMITTED, None)
    ((timing, medians),) = ((row.timing, row.medians) for row in by_seed.values())
    assert timing is not None
    unit = medians[PS] / median(timing.delays) / 1000  # rows have samples in FO4; within a picosecond
    return Figure.of([sample * unit for sample in timing.delays], "ns"), emitted


def timed(rows: Sequence[Row]) -> Iterator[Check]:
    """A check for each limit in ns, and the delays of the same MAC by the other recipe."""
    for limit, recipe in product(LIMITS_IN_NS, RECIPES):
        _, design = limit.designs()
        renamed, row = delay(design, recipe, rows)
        assert row is not None
        emitted, within, verdict, kept = row.medians[PS] / 1000, "–", "", None
        if recipe == RECIPE:
            within, kept = f"{limit.nanoseconds:.2f}", emitted <= limit.nanoseconds
            verdict = ": kept" if kept else ": NOT KEPT"
            if kept != (renamed.median <= limit.nanoseconds):
                verdict += " (median: NOT kept)" if kept else " (median: kept)"
        spread, area = f"{renamed.low:.2f} to {renamed.high:.2f}", number(round(row.medians["nand2_equivalents"]))
        figures = f"{within:>6} {emitted:8.3f} {renamed.median:6.2f} {spread:>14} {area:>8}"
        yield Check(f"{design.name:34} {figures}  {recipe}{verdict}", kept)


def table_rows(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    """The table of delays in docs/fast.md: its head, then a row for each MAC."""
    yield ("MAC", *(f"built for {goal}: `{recipe}`" for goal in GOALS for recipe in RECIPES), "as emitted", "limit")
    for limit in LIMITS_IN_NS:
        delays = [delay(design, recipe, rows) for design, recipe in product(limit.designs(), RECIPES)]
        _, emitted = delay(limit.designs()[1], RECIPE, rows)
        assert emitted is not None
        name = f"`{limit.format}` into {limit.options.get('accumulator', REPORT_ACCUMULATOR)}"
        times = (*(renamed.median for renamed, _ in delays), emitted.medians[PS] / 1000)
        yield (name, *(f"{time:.2f} ns" for time in times), f"{limit.nanoseconds:g} ns")


def main() -> int:
    """Measure, write the files and print the tables; return 0 if all limits that were measured are kept, else 1."""
    options = parser(__doc__, files=True)
    text = f"cell library of the limits in ns, {LIBRARY} (default: they are not measured)"
    options.add_argument("--liberty", metavar="FILE", help=text)
    chosen = options.parse_args()
    library = None if chosen.liberty is None else libraries(chosen.liberty)
    Speeds.measure(chosen)
    speeds = Speeds.load()
    head = Check(f"{'module':34} {'within':>6} {'at most':>7} {'FO4':>8} {'NAND2':>8}  recipe", None)
    first = [head, *(check for limit in limits() for check in checked(limit, speeds))]
    print("\n".join(check.text for check in first))
    second = [Check(WITHOUT, None)]
    if library is not None:
        Sky130.measure(chosen, Sky130.jobs_on(library, Store(chosen.store)))
        second = [Check(HEAD, None), *timed(Sky130.load().rows)]
    print("\n".join(check.text for check in second))
    return int(any(check.kept is False for check in (*first, *second)))


if __name__ == "__main__":
    sys.exit(status("fast", main))
