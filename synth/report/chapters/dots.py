"""The chapter on dot products: what a product costs by lanes, accumulator and format, and the errors of its sums."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from synth.area.targets import TARGETS
from synth.report.figures import (
    Figure,
    counted,
    smallest,
    smallest_sentence,
    ties_clause,
)
from synth.report.plan import Point
from synth.report.render import plots
from synth.report.sections import Cell, Section, spread_cell
from synth.studies import dots as study
from synth.studies.dots import FORMAT, STEP, TERMS, TITLES, Dots, dot

_ROUNDED = "binary32"
"""The accumulator with which others are compared."""
_READ = "exact + readout"
"""An exact accumulator with a readout for each unit."""
_NEGLIGIBLE = 0.1
"""Errors of sums below this share of the errors of rounding the operands are negligible."""
_PLACE = TARGETS["gates"]


def section(dots: Dots | None, tool: str) -> Section | None:
    """The results of the study; None if the report does not have them. ``tool`` measured the other sections."""
    if dots is None:
        return None
    section = Section(
        "dots",
        "Dot products: lanes, accumulators and blocks",
        "A dot product of N lanes adds N products and an accumulator in one step. Areas are those of the combinational "
        "unit, divided by N: registers and quantizers are not included. An exact accumulator holds the sum of "
        f"{TERMS:,} products; a readout rounds it to {_ROUNDED}, once, at the end of a sum. It is counted only in "
        f"“{_READ}”, and one readout may serve several units. Other accumulators round once a step. alignedT "
        "truncates all addends of a step T bits below the largest exponent among them, as tensor cores do according to "
        f"models of them, and keeps its state in {_ROUNDED}. Each area is that of the smallest netlist found; delays "
        "are not compared. These figures were not measured with this report: make dots measures them and writes them "
        f"to a file of the program. Tools: {dots.tool}, NumPy {dots.numpy}.",
    )
    section.warn_of_other_tool("The areas of this section are", dots.tool, tool, "make dots")
    for target in study.LANES:
        _lanes(section, dots, target)
    for part in (_errors, _formats, _blocks):
        part(section, dots)
    return section


def _lanes(section: Section, dots: Dots, target: str) -> None:
    """Area per product by lanes and accumulator, and the smallest accumulators for what a sum needs."""
    place, counts = TARGETS[target], study.LANES[target]
    areas = {
        name: {lanes: dots.area(dot(FORMAT, name, lanes, target), lanes, target) for lanes in counts}
        for name in study.ACCUMULATORS
    }
    areas[_READ] = {
        lanes: _sum(area, dots.area(study.readout(), lanes, target)) for lanes, area in areas["exact"].items()
    }
    title = f"{FORMAT}, area per product by lanes, {place.title}"
    picture = plots.lines(areas, title, "lanes", f"area per product [{place.unit}]", are_powers=True)
    section.plot("Lanes share the accumulator and its rounding.", picture)
    heads = [counted(lanes, "lane") for lanes in counts]
    singles = {name: Point(dot(FORMAT, name, 1, target), target) for name in study.ACCUMULATORS}
    bits = {name: str(dots.row(point).accumulator_bits) for name, point in singles.items()}
    rows = ((name, bits["exact" if name == _READ else name], *figures.values()) for name, figures in areas.items())
    section.table(f"{title} [{place.unit}]", ("accumulator", "state bits", *heads), rows)
    head = ("errors of sums", "an exact accumulator", *heads)
    section.table(f"{FORMAT}, the smallest accumulator by area per product, {place.title}", head, _least(dots, areas))
    if target == "gates":
        of_step = {name: figures[STEP] for name, figures in areas.items()}
        text = smallest_sentence(of_step, f"area per product of {FORMAT} with {STEP} lanes", place.title)
        section.find(text, "Dot products", is_listed=False)


def _sum(first: Figure, second: Figure) -> Figure:
    """Area of two units, from the least of both to the most of both."""
    low, median, high = first.low + second.low, first.median + second.median, first.high + second.high
    return replace(first, low=low, median=median, high=high, command=f"{first.command}; {second.command}")


def _least(dots: Dots, areas: Mapping[str, Mapping[int, Figure]]) -> Iterator[tuple[object, ...]]:
    """The smallest accumulators over lanes: for each need of a sum, without readouts and with one for each unit."""
    needs: dict[str, Callable[[int], Sequence[str]]] = {
        "any": lambda _: study.ACCUMULATORS,
        "negligible": partial(negligible, dots),
        f"no larger than those of {_ROUNDED}": partial(no_worse, dots),
    }
    for need, names in needs.items():
        for exact, text in (("exact", "as it is"), (_READ, "with a readout for each unit")):
            cells = []
            for lanes in areas[exact]:
                counted_as = {name: exact if name == "exact" else name for name in areas if name in names(lanes)}
                first, ties, _ = smallest({name: areas[other][lanes] for name, other in counted_as.items()})
                cells.append(Cell(first, ties_clause(ties).removeprefix(", ")))
            yield need, text, *cells


def negligible(dots: Dots, lanes: int) -> tuple[str, ...]:
    """Accumulators whose errors are below :data:`_NEGLIGIBLE` of those of rounding the operands, on all data."""
    limits = {kind: _NEGLIGIBLE * dots.operands(kind).rms.low for kind in study.DATA}
    return tuple(
        name
        for name in study.SUMMED[lanes]
        if all(dots.errors[kind, lanes, name].rms.high < limit for kind, limit in limits.items())
    )


def no_worse(dots: Dots, lanes: int) -> tuple[str, ...]:
    """Accumulators whose errors are not above those of binary32 on any data."""
    bases = {kind: dots.errors[kind, lanes, _ROUNDED].rms for kind in study.DATA}
    return tuple(
        name
        for name in study.SUMMED[lanes]
        if not any(base.below(dots.errors[kind, lanes, name].rms) for kind, base in bases.items())
    )


def _errors(section: Section, dots: Dots) -> None:
    """Area and errors by accumulator."""
    names = study.SUMMED[STEP]
    areas = {name: dots.area(dot(FORMAT, name, STEP), STEP) for name in names}
    errors = {TITLES[kind]: {name: dots.errors[kind, STEP, name].rms for name in names} for kind in study.DATA}
    levels = {TITLES[kind]: dots.operands(kind).rms.median for kind in study.DATA}
    title = f"{FORMAT}, {STEP} lanes: area and error by accumulator"
    labels = f"per product [{_PLACE.unit}]", "error (root mean square)"
    caption = (
        f"Errors are differences from the exact sum of the codes' {TERMS:,} products, divided by the sum of the "
        "products' magnitudes. Dashed: the error of rounding the operands. No mark: no error, because no sum had more "
        "bits than the accumulator."
    )
    section.plot(caption, plots.bars_and_errors(areas, errors, levels, title, labels))
    samples = (
        f"Operands: the error of rounding them. Errors are root mean squares (RMS) of {study.SUMS:,} sums of {TERMS:,} "
        f"products, as medians of {len(study.SEEDS)} samples; negligible ones are below {_NEGLIGIBLE:.0%} of the error "
        f"of rounding the operands to {FORMAT}, on all three kinds of data. Heavy-tailed data is Student's t with 3 "
        "degrees of freedom. In cancelling data the first half of the products is positive and the second half the "
        "same, negated, of other factors and in another order: a large accumulator comes back to about 0."
    )
    head = [f"{TITLES[kind]}, {which}" for kind in study.DATA for which in ("RMS", "99th percentile")]
    body = []
    for name in (study.OPERANDS, *names):
        lanes = TERMS if name == study.OPERANDS else STEP
        cells = (_error_cell(each) for kind in study.DATA for each in dots.errors[kind, lanes, name])
        body.append((name, areas.get(name), *cells))
    section.table(f"{title}, sums in steps of {STEP} products", ("accumulator", _PLACE.title, *head), body, samples)
    by_lanes = (
        (name, TITLES[kind], *(_error_cell(dots.errors[kind, lanes, name].rms) for lanes in study.SUMMED))
        for name in study.ACCUMULATORS
        for kind in study.DATA
    )
    columns = ("accumulator", "data", *(counted(lanes, "lane") for lanes in study.SUMMED))
    section.table(f"{FORMAT}, error (RMS) by lanes", columns, by_lanes)


def _error_cell(value: Figure) -> Cell:
    return spread_cell(value, lambda error: f"{error:.1e}" if error else "0")


def _formats(section: Section, dots: Dots) -> None:
    """Area by format and accumulator."""
    kinds = study.FORMAT_ACCUMULATORS
    rows = ((name, *(dots.area(dot(name, kind, STEP), STEP) for kind in kinds)) for name in study.FORMATS)
    caption = f"Area per product by format, {STEP} lanes, without a readout, {_PLACE.title} [{_PLACE.unit}]"
    section.table(caption, ("format", *kinds), rows)


def _blocks(section: Section, dots: Dots) -> None:
    """Blocks with scales beside formats with one scale for all numbers."""
    areas = {name: dots.area(block.design, block.lanes) for name, block in study.BLOCKS.items()}
    body = []
    for name, block in study.BLOCKS.items():
        one = Cell("one for all numbers", "the best power of two for Gaussian or heavy-tailed data")
        scale = f"{block.scale} for {block.lanes} elements" if block.scale else one
        snr = (spread_cell(dots.snr[name, kind], "{:.1f}".format, " dB") for kind in study.BLOCK_DATA)
        body.append((Cell(name, block.format), scale, str(block.lanes), block.bits, areas[name], *snr))
    heads = (f"{TITLES[kind]}, SNR" for kind in study.BLOCK_DATA)
    head = ("", "scale", "lanes", "bits per value", f"area per product, {_PLACE.title} [{_PLACE.unit}]", *heads)
    caption = f"Blocks with scales, and formats without, summed in {_ROUNDED}; area without quantizers"
    note = (
        f"SNR (signal-to-noise ratio) is that of whole sums of {TERMS:,} products, against the sums of the numbers "
        "before they were rounded: the mean of the squared sums over that of the squared differences, each sum divided "
        "by the norms of its two vectors. Scales of blocks are those of golden.quantize_block with its default policy, "
        "and tensors have no further scale. In varying data each vector is Gaussian times a power of two from 2^-8 to "
        "2^8, which one scale for all numbers cannot follow; scales of single vectors could."
    )
    section.table(caption, head, body, note)
    half = dots.area(study.HALF.design, study.HALF.lanes)
    pair = {"MXFP4": half, "NVFP4": areas["NVFP4"]}
    section.find(smallest_sentence(pair, f"area per product with {study.HALF.lanes} lanes", _PLACE.title))
