"""Measures energies for the report: of MACs by format, delay and data, and what options cost.

Energies are measured as ``hwgen energy`` measures them, on our own gates.

Usage: python -m synth.studies.energies [--store FILE] [--jobs N] [--again] writes synth/report/energies.json; energies
that it already has, of netlists from the same Verilog by the same scripts and tool, are not measured again unless
``--again`` is given, which a change of the simulator needs
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar

from hwgen.blocks.block import Design
from hwgen.datapath.goal import AREA, GOALS
from synth import report
from synth.area.figures import Figure
from synth.area.recipes import DEFAULT_PORTFOLIO, SPEED
from synth.area.rows import Row
from synth.area.targets import TARGETS
from synth.energy.data import KINDS
from synth.energy.job import DEFAULT_DATA
from synth.report.plan import FORMATS, REPORT_ACCUMULATOR
from synth.studies import speeds, tiles
from synth.studies.family import Family, Point
from synth.studies.script import parser, status
from synth.studies.study import Study

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


_INTO = {"accumulator": REPORT_ACCUMULATOR}


@dataclass(frozen=True)
class Energies(Study):
    """The study of energies."""

    file: ClassVar[Path] = Path(report.__file__).with_name("energies.json")

    families: ClassVar[Sequence[Family]] = (
        Family("mac", FORMATS, _INTO, data=(DEFAULT_DATA,)),
        Family("mac", CURVES, {**_INTO, "optimize": GOALS}, portfolio=SPEED, data=(DEFAULT_DATA,)),
        Family("mac", SAMPLED, _INTO, data=tuple(KINDS)),
        Family("mac", COSTS, {"accumulator": ACCUMULATORS}, data=(DEFAULT_DATA,)),
        Family("mac", COSTS, {**_INTO, "stages": STAGES}, data=(DEFAULT_DATA,)),
        Family("pe", COSTS, _INTO, data=(DEFAULT_DATA,)),
        Family("pe", tiles.FORMATS, {"accumulator": tiles.ACCUMULATOR}, data=(DEFAULT_DATA,)),
        Family("encoder", (ROUNDED,), {"source": "binary32", "rounding": ROUNDINGS}, data=(DEFAULT_DATA,)),
    )


def summary(row: Row, name: str, unit: str) -> Figure:
    """A median of a row, whose spread is not known: one sample."""
    value = row.medians[name]
    return Figure(value, value, value, unit, row.recipe, row.tool, row.command, samples=1)


def delay(row: Row) -> Figure:
    """The median delay of a row of the portfolio ``speed``."""
    return summary(row, "delay_fo4", "FO4")


def area(row: Row) -> Figure:
    """The median area of a row."""
    return summary(row, "area", TARGETS[row.target].unit)


if __name__ == "__main__":
    sys.exit(status("energies", lambda: Energies.measure(parser(__doc__, files=True).parse_args())))
