"""The study of dot products: what it measures, and its results in ``dots.json``, which ``make dots`` writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from statistics import median
from typing import Any, ClassVar, NamedTuple

import golden
from hwgen.blocks.block import Design
from hwgen.blocks.catalog import build
from synth.report.designs import Family, Point, only
from synth.report.figures import Figure
from synth.report.study import Study

FORMAT = "ocp_e4m3"
"""The format of the products whose accumulators are compared."""
LANES = {"gates": (1, 2, 4, 8, 16, 32), "cyclonev": (1, 2, 4, 8)}
"""Numbers of lanes by target."""
ACCUMULATORS = ("binary16", "binary32", "exact", "aligned13", "aligned16", "aligned25")
"""Accumulators whose area and error are measured with every number of lanes."""
STEP = 8
"""Lanes of the designs that compare formats, and all accumulators."""
FORMATS = ("e2m1", "ocp_e5m2", "ocp_e4m3", "e5m2b1", "hif8")
FORMAT_ACCUMULATORS = ("binary32", "exact", "aligned13")
"""Formats, and accumulators that are measured with each of them."""
ALIGNED = tuple(f"aligned{bits}" for bits in (6, 8, 10, 13, 16, 20, 23, 25, 32, 40))
SUMMED = dict.fromkeys(LANES["gates"], ACCUMULATORS) | {STEP: (*ALIGNED, "binary16", "binary32", "exact")}
"""Accumulators whose error is computed, by lanes."""

GAUSSIAN, HEAVY, CANCELLING, VARYING = "gaussian", "student_t3", "cancelling", "varying"
TITLES = {GAUSSIAN: "Gaussian", HEAVY: "heavy-tailed", CANCELLING: "cancelling", VARYING: "varying"}
"""Kinds of data."""
DATA = (GAUSSIAN, HEAVY, CANCELLING)
"""Data with which accumulators are compared."""
BLOCK_DATA = (GAUSSIAN, HEAVY, VARYING)
"""Data with which blocks are compared."""
OPERANDS = "operands"
"""In the place of an accumulator: the error of rounding the operands to :data:`FORMAT`, of whole sums."""
TERMS, SUMS, SEEDS = 1024, 4096, (1, 2, 3, 4)
"""Products of each sum, and sums of each sample; there is a sample for each seed of NumPy's random numbers."""


class Block(NamedTuple):
    """Elements of a format, and the format of the scale that the lanes of a unit share, if they do."""

    format: str
    lanes: int = 32
    scale: str = ""

    @property
    def design(self) -> Design:
        """The unit that adds its products to binary32."""
        return dot(self.format, "binary32", self.lanes, scale=self.scale or None)

    @property
    def bits(self) -> float:
        """Bits of a value in memory, where a scale has 8 bits."""
        return golden.get(self.format).width + (8 / self.lanes if self.scale else 0)


BLOCKS = {
    "MXFP8": Block("ocp_e4m3", scale="e8m0"),
    "MXFP4": Block("e2m1", scale="e8m0"),
    "NVFP4": Block("e2m1", 16, "ue4m3"),
    "HiF8": Block("hif8"),
    "E4M3": Block("ocp_e4m3"),
}
HALF = BLOCKS["MXFP4"]._replace(lanes=BLOCKS["NVFP4"].lanes)
"""MXFP4 half a block at a time, to compare its area with that of NVFP4."""


_FABRICS: dict[str, dict[str, Sequence[Any]]] = {"gates": {}, "cyclonev": only(fabric="fpga")}
"""Options of dot products by target: on an FPGA their sums use carry chains."""


@cache
def dot(fmt: str, accumulator: str, lanes: int, target: str = "gates", scale: str | None = None) -> Design:
    """A dot product of the study."""
    choices = only(accumulator=accumulator, lanes=lanes, block_scale=scale) | _FABRICS[target]
    (point,) = Family("dot", (fmt,), choices).expand()
    return point.design


def readout() -> Design:
    """The block that rounds the study's exact accumulators to binary32."""
    return build("readout", FORMAT, target="binary32")


class Errors(NamedTuple):
    """Errors of sums, divided by the sum of the products' magnitudes: root mean square and 99th percentile."""

    rms: Figure
    p99: Figure


@dataclass(frozen=True)
class Dots(Study):
    """The study of dot products; its rows are the best ones of each design."""

    file: ClassVar[Path] = Path(__file__).with_name("dots.json")

    families: ClassVar[Sequence[Family]] = (
        *(
            family
            for target, numbers in LANES.items()
            for family in (
                Family("readout", (FORMAT,), only(target="binary32"), (target,)),
                Family(
                    "dot", (FORMAT,), {"lanes": numbers, "accumulator": ACCUMULATORS, **_FABRICS[target]}, (target,)
                ),
            )
        ),
        Family("dot", FORMATS, {"accumulator": FORMAT_ACCUMULATORS, "lanes": (STEP,)}),
        Family("dot", (FORMAT,), {"accumulator": ALIGNED, "lanes": (STEP,)}),
        *(
            Family(
                "dot", (block.format,), only(accumulator="binary32", lanes=block.lanes, block_scale=block.scale or None)
            )
            for block in (*BLOCKS.values(), HALF)
        ),
    )

    @property
    def numpy(self) -> str:
        """Version of NumPy, whose random numbers are the data."""
        return str(self.source["numpy"])

    @cached_property
    def errors(self) -> Mapping[tuple[str, int, str], Errors]:
        """By kind of data, lanes and accumulator; those of :data:`OPERANDS` have as many lanes as terms."""
        return {
            (data, lanes, name): Errors(_samples(rms), _samples(p99))
            for data, lanes, name, rms, p99 in self.source["errors"]
        }

    @cached_property
    def snr(self) -> Mapping[tuple[str, str], Figure]:
        """Signal-to-noise ratios in dB, by block and kind of data."""
        return {(block, data): _samples(ratios) for block, data, ratios in self.source["snr"]}

    def operands(self, kind: str) -> Errors:
        """Errors of rounding the operands."""
        return self.errors[kind, TERMS, OPERANDS]

    def area(self, design: Design, lanes: int, target: str = "gates") -> Figure:
        """The area of a design with these ``lanes``, per product."""
        value = self.figure(Point(design, target))
        return replace(value, low=value.low / lanes, median=value.median / lanes, high=value.high / lanes)


def _samples(values: tuple[float, ...]) -> Figure:
    return Figure(min(values), median(values), max(values), samples=len(values))
