"""The study of energies: what it measures, and its results in ``energies.json``, which ``make energy`` writes."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import ClassVar

from hwgen.blocks.block import Design
from hwgen.blocks.catalog import build
from hwgen.datapath.goal import AREA, GOALS
from synth.area.recipes import DEFAULT_PORTFOLIO, SPEED
from synth.area.rows import Row
from synth.energy.data import KINDS
from synth.energy.plan import DEFAULT_DATA
from synth.report import speeds
from synth.report.figures import Figure
from synth.report.plan import FORMATS, REPORT_ACCUMULATOR
from synth.report.study import Point, Study

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


def point(design: Design, portfolio: str = DEFAULT_PORTFOLIO, data: str = DEFAULT_DATA) -> Point:
    """A measurement of the study."""
    return Point(design, portfolio=portfolio, data=data)


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


@dataclass(frozen=True)
class Energies(Study):
    """The study of energies."""

    file: ClassVar[Path] = Path(__file__).with_name("energies.json")

    @classmethod
    def points(cls) -> Iterator[Point]:
        """See :class:`Study`."""
        for fmt in FORMATS:
            yield point(mac(fmt))
        for fmt in CURVES:
            for goal in GOALS:
                yield point(mac(fmt, goal=goal), SPEED)
        for fmt in SAMPLED:
            for kind in KINDS:
                yield point(mac(fmt), data=kind)
        for fmt in COSTS:
            for accumulator in ACCUMULATORS:
                yield point(mac(fmt, accumulator))
            for stages in STAGES:
                yield point(mac(fmt, stages=stages))
            yield point(element(fmt))
        for rounding in ROUNDINGS:
            yield point(encoder(rounding))


def delay(row: Row) -> Figure:
    """The median delay of a row of the portfolio ``speed``."""
    return Figure.exact(row.medians["delay_fo4"])


def area(row: Row) -> Figure:
    """The median area of a row."""
    return Figure.exact(row.medians["area"])


def glitches(row: Row) -> float:
    """The share of glitches in an energy."""
    return 1 - row.medians["glitch_free"] / median(row.samples)
