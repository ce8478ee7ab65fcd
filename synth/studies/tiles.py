"""Measures tiles for the report: area with registers by format and size, beside that of one processing element.

Usage: python -m synth.studies.tiles [--store FILE] [--jobs N] [--again] writes synth/report/tiles.json; areas that it
already has, of the same Verilog by the same scripts and tool, are not measured again unless ``--again`` is given
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import ClassVar

import golden
from hwgen.blocks.block import Design
from hwgen.blocks.pe import PE
from hwgen.tile.block import TILE, TileDesign
from synth import report
from synth.area.figures import Figure
from synth.area.jobs import Job
from synth.area.plan import area_jobs
from synth.area.store import Store, verilog
from synth.area.tile import TileJob
from synth.studies.family import Point
from synth.studies.script import parser, status
from synth.studies.study import Study

FORMATS = ("ocp_e4m3", "e5m2b1", "binary8p3", "hif8", "int8", "binary16")
ACCUMULATOR = "binary32"
SIDES = (4, 8)
"""Numbers of rows, and of columns."""


@cache
def element(fmt: str) -> Design:
    """The processing element of the tiles of a format."""
    return PE.design(fmt, accumulator=ACCUMULATOR)


@cache
def around(fmt: str, side: int) -> TileDesign:
    """A tile whose elements have what surrounds those of a format: it depends on nothing but widths."""
    alike = next(each for each in FORMATS if golden.get(each).width == golden.get(fmt).width)
    return TILE.design(alike, rows=side, columns=side, accumulator=ACCUMULATOR)


@dataclass(frozen=True)
class Tiles(Study):
    """The study of tiles; rows of tiles are the areas without their elements."""

    file: ClassVar[Path] = Path(report.__file__).with_name("tiles.json")
    families = ()

    @classmethod
    def points(cls) -> Iterator[Point]:
        """See :meth:`synth.studies.study.Study.points`."""
        for fmt in FORMATS:
            yield from map(Point, (element(fmt), *(around(fmt, side) for side in SIDES)))

    @classmethod
    def jobs(cls, store: Store) -> dict[str, list[Job]]:
        """See :meth:`synth.studies.study.Study.jobs`."""
        return {
            label: area_jobs(
                point.design,
                verilog(point.design, store),
                [point.target],
                make=TileJob.around_parts if point.design.kind == TILE.name else Job,
            )
            for label, point in cls.labelled().items()
        }

    def area(self, fmt: str, side: int = 0) -> Figure:
        """The area of an element, with its share of what is around it in a tile."""
        alone = self.figure(Point(element(fmt)))
        if not side:
            return alone
        others = self.figure(Point(around(fmt, side))).over(side**2)
        low, median, high = alone.low + others.low, alone.median + others.median, alone.high + others.high
        return replace(alone, low=low, median=median, high=high, command=f"{alone.command}; {others.command}")


def main() -> None:
    """Measure, and write the file."""
    Tiles.measure(parser(__doc__, files=True).parse_args())


if __name__ == "__main__":
    sys.exit(status("tiles", main))
