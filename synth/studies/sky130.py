"""Limits of MACs in nanoseconds, on the cell library sky130hd: typical corner, timed by OpenSTA, no wires, no loads.

A limit is that of one netlist: of the module as emitted, by one recipe. Renamings move a delay by several per cent, so
their median and spread are shown beside it. The library has another licence and is not part of the project; figures
measured with it are in docs/sky130.json.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from statistics import median
from typing import ClassVar, NamedTuple

from golden.refusal import BadValue
from hwgen.blocks.block import Design
from hwgen.datapath.goal import GOALS
from synth.area.emission import verilog
from synth.area.jobs import AS_EMITTED, DEFAULT_RENAMINGS, Measurement
from synth.area.liberty import Libraries, read_all
from synth.area.plan import area_jobs
from synth.area.recipes import SPEED
from synth.area.rows import PS, Row
from synth.area.store import Store
from synth.area.targets import LIBERTY
from synth.area.timing import opensta
from synth.report.figures import number
from synth.report.plan import Point
from synth.report.speeds import mac
from synth.report.study import Study
from synth.studies.script import Check

LIBRARY = "sky130_fd_sc_hd__tt_025C_1v80"
"""Name of the library group: sky130hd, typical corner."""

RECIPE = "depth_map"
"""The recipe that the limits are stated for."""
RECIPES = (RECIPE, "mfs_depth_map")
"""The recipes that are measured: the limits' one, and one that is faster in most renamings."""

WITHOUT = f"delays in ns on {LIBRARY}: not measured, no library (--liberty FILE)"
"""The line in place of the table if no library was given."""


class Limit(NamedTuple):
    """A MAC, and the delay in ns that it must reach when it is built for speed."""

    format: str
    accumulator: str
    within: float

    def designs(self) -> dict[str, Design]:
        """The MAC by what it is built for."""
        return {goal: mac(self.format, goal, accumulator=self.accumulator) for goal in GOALS}


LIMITS = (
    Limit("ocp_e5m2", "binary16", 3.4),
    Limit("ocp_e4m3", "binary16", 3.5),
    Limit("hif8", "binary16", 3.65),
    Limit("ocp_e5m2", "binary32", 4.6),
)


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
        for limit in LIMITS:
            for goal, design in limit.designs().items():
                for seed in (AS_EMITTED, 1) if goal == "speed" else (1,):
                    yield Point(design, LIBERTY, SPEED, seed=seed)

    @classmethod
    def jobs_on(cls, known: Libraries, store: Store) -> dict[str, list[Measurement]]:
        """The jobs of each point, one for each recipe."""
        todo: dict[str, list[Measurement]] = {}
        for label, (design, target, portfolio, _, seed) in cls.labelled().items():
            renamings = 1 if seed == AS_EMITTED else DEFAULT_RENAMINGS
            (job,) = area_jobs(design, verilog(design, store), [target], portfolio, renamings, known, seed)
            todo[label] = [replace(job, recipe=recipe) for recipe in RECIPES]
        return todo


class Delay(NamedTuple):
    """Delays in ns of a MAC by one recipe: of renamings, and of the module as emitted, None if it is not measured."""

    samples: tuple[float, ...]
    emitted: float | None
    area: float | None
    """NAND2 equivalents of the module as emitted."""

    @property
    def spread(self) -> str:
        """The fastest and the slowest renaming."""
        return f"{min(self.samples):.2f} to {max(self.samples):.2f}"


def delay(design: Design, recipe: str, rows: Sequence[Row]) -> Delay:
    """The delays of a design by a recipe; the rows must have them."""
    by_seed = {row.seed: row for row in rows if (row.name, row.recipe) == (design.name, recipe)}
    emitted = by_seed.pop(AS_EMITTED, None)
    ((timing, medians),) = ((row.timing, row.medians) for row in by_seed.values())
    assert timing is not None
    unit = medians[PS] / median(timing.delays) / 1000  # rows have samples in FO4; within a picosecond
    samples = tuple(sample * unit for sample in timing.delays)
    if emitted is None:
        return Delay(samples, None, None)
    return Delay(samples, emitted.medians[PS] / 1000, emitted.medians["nand2_equivalents"])


_FIGURES = f"{'within':>6} {'emitted':>8} {'median':>6} {'renamings':>14} {'NAND2':>8}"
HEAD = f"{'module, ns on sky130hd':34} {_FIGURES}  recipe"


def checked(rows: Sequence[Row]) -> Iterator[Check]:
    """A check for each limit, and the delays of the same MAC by the other recipe."""
    for limit in LIMITS:
        design = limit.designs()["speed"]
        for recipe in RECIPES:
            found = delay(design, recipe, rows)
            assert found.emitted is not None
            assert found.area is not None
            middle, area = median(found.samples), number(round(found.area))
            within, verdict, kept = "–", "", None
            if recipe == RECIPE:
                within, kept = f"{limit.within:.2f}", found.emitted <= limit.within
                verdict = ": kept" if kept else ": NOT KEPT"
                if kept != (middle <= limit.within):
                    verdict += " (median: NOT kept)" if kept else " (median: kept)"
            figures = f"{within:>6} {found.emitted:8.3f} {middle:6.2f} {found.spread:>14} {area:>8}"
            yield Check(f"{design.name:34} {figures}  {recipe}{verdict}", kept)


def table_rows(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    """The table in docs/fast.md: its head, then a row for each MAC."""
    yield ("MAC", *(f"built for {goal}: `{recipe}`" for goal in GOALS for recipe in RECIPES), "as emitted", "limit")
    for limit in LIMITS:
        designs = limit.designs()
        delays = [delay(designs[goal], recipe, rows) for goal in GOALS for recipe in RECIPES]
        cells = (f"{median(each.samples):.2f} ns" for each in delays)
        emitted = delay(designs["speed"], RECIPE, rows).emitted
        yield (f"`{limit.format}` into {limit.accumulator}", *cells, f"{emitted:.2f} ns", f"{limit.within:g} ns")
