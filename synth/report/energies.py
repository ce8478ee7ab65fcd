"""The study of energies: what it measures, and its results in ``energies.json``, which ``make energy`` writes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from golden.refusal import BadValue
from hwgen.blocks.block import Design
from hwgen.blocks.catalog import build
from hwgen.datapath.goal import AREA, GOALS
from synth.area.keys import Keys
from synth.area.recipes import DEFAULT_PORTFOLIO, SPEED
from synth.area.rows import Row
from synth.energy.data import KINDS
from synth.energy.plan import DEFAULT_DATA
from synth.report import speeds
from synth.report.figures import Figure
from synth.report.measured import figure
from synth.report.plan import FORMATS, REPORT_ACCUMULATOR

RESULTS = Path(__file__).with_name("energies.json")

CURVES = speeds.FORMATS
"""Formats whose MAC is measured from small to fast."""
SAMPLED = ("hif8", "ocp_e4m3", "ocp_e5m2", "e5m2b1")
"""Formats whose MAC is measured on every kind of data."""
COSTS = ("hif8", "ocp_e4m3")
"""Formats with which accumulators and pipelines are compared."""
ACCUMULATORS = (REPORT_ACCUMULATOR, "binary32", "exact")
STAGES = (0, 1, 2, 3)
ROUNDINGS = ("ties_to_away", "hybrid")
"""Roundings of the encoder of :data:`ROUNDED` that are compared."""
ROUNDED = "hif8"


class Point(NamedTuple):
    """A measurement of the study."""

    design: Design
    portfolio: str = DEFAULT_PORTFOLIO
    data: str = DEFAULT_DATA

    @property
    def key(self) -> tuple[str, str, str]:
        """What distinguishes it from others."""
        return self.design.name, self.portfolio, self.data


@cache
def mac(fmt: str, accumulator: str = REPORT_ACCUMULATOR, stages: int = 0, goal: str = AREA) -> Design:
    """A MAC of the study, built for area or for speed."""
    return speeds.mac(fmt, goal, accumulator=accumulator, stages=stages)


@cache
def element(fmt: str) -> Design:
    """A processing element of the study."""
    return build("pe", fmt, accumulator=REPORT_ACCUMULATOR)


@cache
def encoder(rounding: str) -> Design:
    """An encoder of the study."""
    return build("encoder", ROUNDED, source="binary32", rounding=rounding)


def points() -> Iterator[Point]:
    """Each measurement of the study once."""
    known: dict[tuple[str, str, str], Point] = {}
    for point in _points():
        known.setdefault(point.key, point)
    yield from known.values()


def _points() -> Iterator[Point]:
    for fmt in FORMATS:
        yield Point(mac(fmt))
    for fmt in CURVES:
        for goal in GOALS:
            yield Point(mac(fmt, goal=goal), SPEED)
    for fmt in SAMPLED:
        for kind in KINDS:
            yield Point(mac(fmt), data=kind)
    for fmt in COSTS:
        for accumulator in ACCUMULATORS:
            yield Point(mac(fmt, accumulator))
        for stages in STAGES:
            yield Point(mac(fmt, stages=stages))
        yield Point(element(fmt))
    for rounding in ROUNDINGS:
        yield Point(encoder(rounding))


@dataclass(frozen=True)
class Energies:
    """The results of the study.

    Attributes
    ----------
    rows : dict of key to tuple of Row
        Of each point the row of its recipe, or the rows of all recipes of the portfolio ``speed``.
    source : mapping
        Content of the file.
    """

    rows: Mapping[tuple[str, str, str], tuple[Row, ...]]
    source: Mapping[str, Any]

    @property
    def tool(self) -> str:
        """The tool that made the netlists."""
        return ", ".join(sorted({row.tool for rows in self.rows.values() for row in rows}))

    def row(self, point: Point) -> Row:
        """The row of a point that is no curve."""
        (row,) = self.rows[point.key]
        return row

    def energy(self, point: Point) -> Figure:
        """The energy of a point that is no curve."""
        return figure(self.row(point))

    @classmethod
    def from_json(cls, data: Any) -> "Energies":
        """Read the content of ``energies.json``; BadValue or BadKind if it is something else."""
        rows: dict[tuple[str, str, str], list[Row]] = {}
        for row in map(Row.from_json, Keys(data, "energies").items("rows")):
            if not row.is_energy:
                raise BadValue("metric", f"must be that of an energy, not {row.metric!r}")
            rows.setdefault((row.name, row.portfolio, str(row.conditions["data"])), []).append(row)
        return cls({key: tuple(group) for key, group in rows.items()}, data)


def delay(row: Row) -> Figure:
    """The median delay of a row of the portfolio ``speed``."""
    return Figure.exact(row.medians["delay_fo4"])


def area(row: Row) -> Figure:
    """The median area of a row."""
    return Figure.exact(row.medians["area"])


def glitches(row: Row) -> float:
    """The share of glitches in an energy."""
    return 1 - row.medians["glitch_free"] / median(row.samples)
