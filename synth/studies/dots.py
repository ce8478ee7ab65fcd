"""Measures dot products for the report: area by lanes, format and accumulator, errors of sums, and blocks with scales.

Areas are measured as ``hwgen area`` measures them. Errors are those of the reference model, on random operands:
Gaussian; heavy-tailed, which is Student's t with 3 degrees of freedom; cancelling, where the products of the first half
are positive, and those of the second half are the same ones, negated, of other factors and in another order; and
varying, where each vector of Gaussian numbers is multiplied by a power of two from 2**-8 to 2**8.

Usage: python -m synth.studies.dots [--store FILE] [--jobs N] [--again] writes synth/report/dots.json; areas that it
already has, of the same Verilog by the same scripts and tool, are not measured again unless ``--again`` is given
"""

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

import golden
from golden import Format
from golden.wide import state_format
from hwgen.blocks.block import Design
from hwgen.blocks.catalog import build
from synth import report
from synth.area.figures import Figure
from synth.report.plan import PAIR
from synth.studies.family import Family, Point
from synth.studies.script import parser, status
from synth.studies.study import Study

Codes = NDArray[Any]
Numbers = NDArray[np.float32]
Reals = NDArray[np.float64]

FORMAT = "ocp_e4m3"
"""The format of the products whose accumulators are compared."""
LANES = {"gates": (1, 2, 4, 8, 16, 32), "cyclonev": (1, 2, 4, 8)}
"""Numbers of lanes by target."""
ACCUMULATORS = ("binary16", "binary32", "exact", "aligned13", "aligned16", "aligned25")
"""Accumulators whose area and error are measured with every number of lanes."""
STEP = 8
"""Lanes of the designs that compare formats, and all accumulators."""
FORMATS = ("e2m1", "ocp_e5m2", "ocp_e4m3", PAIR, "e5m2b1", "hif8")
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


_FABRICS: dict[str, dict[str, Any]] = {"gates": {}, "cyclonev": {"fabric": "fpga"}}
"""Options of dot products by target: on an FPGA their sums use carry chains."""


@cache
def dot(fmt: str, accumulator: str, lanes: int, target: str = "gates", scale: str | None = None) -> Design:
    """A dot product of the study."""
    return build("dot", fmt, accumulator=accumulator, lanes=lanes, block_scale=scale, **_FABRICS[target])


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

    file: ClassVar[Path] = Path(report.__file__).with_name("dots.json")

    families: ClassVar[Sequence[Family]] = (
        *(
            Family(kind, (FORMAT,), choices, (target,))
            for target, lanes in LANES.items()
            for kind, choices in (
                ("readout", {"target": "binary32"}),
                ("dot", {"lanes": lanes, "accumulator": ACCUMULATORS, **_FABRICS[target]}),
            )
        ),
        Family("dot", FORMATS, {"accumulator": FORMAT_ACCUMULATORS, "lanes": (STEP,)}),
        Family("dot", (FORMAT,), {"accumulator": ALIGNED, "lanes": (STEP,)}),
        *(
            Family("dot", (fmt,), {"accumulator": "binary32", "lanes": lanes, "block_scale": scale or None})
            for fmt, lanes, scale in (*BLOCKS.values(), HALF)
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
            (data, lanes, name): Errors(Figure.of(rms), Figure.of(p99))
            for data, lanes, name, rms, p99 in self.source["errors"]
        }

    @cached_property
    def snr(self) -> Mapping[tuple[str, str], Figure]:
        """Signal-to-noise ratios in dB, by block and kind of data."""
        return {(block, data): Figure.of(ratios) for block, data, ratios in self.source["snr"]}

    def operands(self, kind: str) -> Errors:
        """Errors of rounding the operands."""
        return self.errors[kind, TERMS, OPERANDS]

    def area(self, design: Design, lanes: int, target: str = "gates") -> Figure:
        """The area of a design with these ``lanes``, per product."""
        return self.figure(Point(design, target)).over(lanes)


def operands(data: str, seed: int) -> Numbers:
    """Both operands, shape (2, sums, terms); Gaussian and heavy-tailed ones have mean 0 and variance 1."""
    random, shape = np.random.default_rng(seed), (2, SUMS, TERMS)
    if data == HEAVY:
        return (random.standard_t(3, shape) / math.sqrt(3)).astype(np.float32)
    numbers = random.standard_normal(shape)
    if data == CANCELLING:
        x, w = np.abs(numbers[..., : TERMS // 2])
        factors, order = random.uniform(1, 2, x.shape), random.permutation(TERMS // 2)
        negated = -(x * factors)[:, order], (w / factors)[:, order]
        numbers = np.concatenate(([x, w], negated), axis=-1)
    if data == VARYING:
        numbers = np.ldexp(numbers, random.integers(-8, 9, (2, SUMS, 1)))
    return numbers.astype(np.float32)


def best_exponent(fmt: Format, data: str) -> int:
    """Exponent of the power of two by which all operands are multiplied: the best one for Gaussian or heavy tails."""
    return golden.best_scale(fmt, HEAVY if data == HEAVY else GAUSSIAN).exponent


def encoded(numbers: Numbers, fmt: Format, exponent: int) -> Codes:
    """Codes of ``numbers * 2**exponent``, by the format's default rounding; overflow saturates."""
    return fmt.encode(np.ldexp(numbers, exponent).view(np.uint32), overflow="saturate")


def summed(
    codes: Codes, fmt: Format, accumulator: str, scales: Codes | None = None, scale_format: str = "e8m0"
) -> Reals:
    """Sums of products, a step at a time: ``codes`` has the shape (2, sums, steps, lanes), ``scales`` (2, sums, steps).

    The accumulator starts from 0.
    """
    _, count, steps, _ = codes.shape
    exact = golden.ExactAccumulator(fmt, fmt, TERMS) if accumulator == "exact" else None
    acc: Codes = exact.zeros((count,)) if exact else np.zeros(count, state_format(accumulator).code_dtype)
    for step in range(steps):
        a, b = codes[:, :, step]
        a_scale, b_scale = (None, None) if scales is None else scales[:, :, step]
        acc = golden.fused_dot(
            a, b, acc, fmt, None, accumulator, a_scale=a_scale, b_scale=b_scale, scale_format=scale_format
        )
    return (exact or state_format(accumulator)).decode(acc)


def errors(data: str, lanes: int, seed: int) -> dict[str, tuple[float, float]]:
    """Root mean square and 99th percentile of the errors of sums in steps of ``lanes`` products, by accumulator.

    Errors are divided by the sum of the products' magnitudes. The error of an accumulator is the difference from the
    exact sum of the codes' products. With as many lanes as terms it is that of :data:`OPERANDS`: the difference of this
    sum from that of the numbers.
    """
    fmt, numbers = golden.get(FORMAT), operands(data, seed)
    exponent = best_exponent(fmt, data)
    codes = encoded(numbers, fmt, exponent)
    products = np.prod(fmt.decode(codes), axis=0)
    unrounded = np.prod(numbers, axis=0, dtype=np.float64) * 4.0**exponent
    exact = products.sum(axis=-1)  # exact in binary64: products are multiples of 2**-18 below 2**18
    if lanes == TERMS:
        relative = {OPERANDS: (unrounded.sum(axis=-1) - exact) / np.abs(unrounded).sum(axis=-1)}
    else:
        steps, magnitudes = codes.reshape(2, SUMS, -1, lanes), np.abs(products).sum(axis=-1)
        relative = {name: (summed(steps, fmt, name) - exact) / magnitudes for name in SUMMED[lanes]}
    return {
        name: (math.sqrt(np.mean(error**2)), float(np.quantile(np.abs(error), 0.99)))
        for name, error in relative.items()
    }


def snr(block: Block, data: str, seed: int) -> float:
    """Signal-to-noise ratio in dB of sums in binary32, compared with those of the numbers that were rounded to blocks.

    Each sum is divided by the norms of its vectors, so that all count alike. Without scales of blocks, all numbers are
    multiplied by one power of two.
    """
    fmt, numbers = golden.get(block.format), operands(data, seed)
    steps = numbers.reshape(2, SUMS, -1, block.lanes)
    if block.scale:
        codes, scales = golden.quantize_block(steps, fmt, block.scale)
        sums = summed(codes, fmt, "binary32", scales, block.scale)
    else:
        exponent = best_exponent(fmt, data)
        sums = summed(encoded(steps, fmt, exponent), fmt, "binary32") / 4.0**exponent
    reference = np.prod(numbers, axis=0, dtype=np.float64).sum(axis=-1)
    norms = np.prod(np.linalg.norm(numbers.astype(np.float64), axis=-1), axis=0)
    signal, noise = (np.mean((values / norms) ** 2) for values in (reference, sums - reference))
    return float(10 * np.log10(signal / noise))


def computed() -> dict[str, Any]:
    """The errors and ratios of ``dots.json``, with a sample for each seed."""
    lines: list[list[Any]] = []
    for data in DATA:
        for lanes in (*SUMMED, TERMS):
            samples = [errors(data, lanes, seed) for seed in SEEDS]
            for name in samples[0]:
                rms, p99 = zip(*(sample[name] for sample in samples), strict=True)
                lines.append([data, lanes, name, _rounded(rms), _rounded(p99)])
    ratios = [
        [name, data, _rounded([snr(block, data, seed) for seed in SEEDS])]
        for name, block in BLOCKS.items()
        for data in BLOCK_DATA
    ]
    return {"numpy": np.__version__, "errors": lines, "snr": ratios}


def _rounded(values: Sequence[float]) -> list[float]:
    """The values with six digits."""
    return [float(f"{value:.6g}") for value in values]


def main() -> None:
    """Measure, and write the file."""
    Dots.measure(parser(__doc__, files=True).parse_args(), computed=computed)


if __name__ == "__main__":
    sys.exit(status("dots", main))
