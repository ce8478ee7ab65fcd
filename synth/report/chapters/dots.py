"""The chapter on dot products: what a product costs by lanes, accumulator and format, and the errors of its sums."""

from dataclasses import replace

from synth.area.figures import Figure, both, smallest_sentence
from synth.area.targets import TARGETS
from synth.report import charts
from synth.report.data import Report
from synth.report.plan import PAIR, STUDIED
from synth.report.sections import Cell, Section, spread_cell
from synth.studies import dots as study
from synth.studies.dots import FORMAT, STEP, TERMS, TITLES, Dots, dot

_ROUNDED = "binary32"
"""The accumulator with which others are compared."""
_READ = "exact + readout"
"""An exact accumulator with a readout for each unit."""
_PLACE = TARGETS["gates"]
_UNIT = _PLACE.unit


def section(report: Report) -> Section | None:
    """The results of the study; None if the report does not have them."""
    dots = report.dots
    if dots is None:
        return None
    section = Section(
        "dots",
        "Dot products: lanes, accumulators and blocks",
        "A dot product of N lanes adds N products and an accumulator in one step. Areas are those of the combinational "
        f"unit, divided by N: registers and quantizers are not counted, and a readout, which rounds an exact sum to "
        f"{_ROUNDED} at its end, only in “{_READ}”.",
        note=f"An exact accumulator holds the sum of {TERMS:,} products. Others round once a step. alignedT "
        "truncates all addends of a step T bits below the largest exponent among them, as tensor cores do according to "
        f"models of them, and keeps its state in {_ROUNDED}. Errors are differences from the exact sum of the codes' "
        f"{TERMS:,} products, divided by the sum of the products' magnitudes: RMS of {study.SUMS:,} "
        f"sums, medians of {len(study.SEEDS)} samples. Heavy-tailed data is Student's t with 3 degrees of freedom. "
        "In cancelling data the second half of the products takes back the first, so that a large sum comes back to "
        f"about 0. Tools: {dots.tool}, NumPy {dots.numpy}.",
        command="make dots",
    )
    section.warn_of_other_tool("The areas of this section are", dots.tool, report.tool)
    section.name_missing(report.formats, study.FORMATS, f"hwgen area dot --format NAME --lanes {STEP}")
    for target in study.LANES:
        _lanes(section, dots, target)
    for part in (_errors, _formats, _blocks):
        part(section, dots)
    return section


def _lanes(section: Section, dots: Dots, target: str) -> None:
    """Area per product by lanes and accumulator."""
    place, counts = TARGETS[target], [lanes for lanes in study.LANES[target] if lanes > 1]  # one lane: a MAC is smaller
    areas = {
        name: {lanes: dots.area(dot(FORMAT, name, lanes, target), lanes, target) for lanes in counts}
        for name in study.ACCUMULATORS
    }
    areas[_READ] = {
        lanes: _sum(area, dots.area(study.readout(), lanes, target)) for lanes, area in areas["exact"].items()
    }
    title = f"{FORMAT}, area per product by lanes, {place.title}"
    labels = "lanes", f"area per product [{place.unit}]"
    picture = charts.lines(areas, title, *labels, type="log", tickvals=counts, ticktext=[*map(str, counts)])
    section.chart(picture)


def _sum(first: Figure, second: Figure) -> Figure:
    """Area of two units, from the least of both to the most of both."""
    low, median, high = first.low + second.low, first.median + second.median, first.high + second.high
    return replace(first, low=low, median=median, high=high, command=f"{first.command}; {second.command}")


def _errors(section: Section, dots: Dots) -> None:
    """Errors by accumulator, beside those of rounding the operands, and the smallest one with smaller errors."""
    names = (study.OPERANDS, *study.SUMMED[STEP])
    areas = {name: dots.area(dot(FORMAT, name, STEP), STEP) for name in study.SUMMED[STEP]}
    errors = {
        kind: {name: dots.errors[kind, TERMS if name == study.OPERANDS else STEP, name] for name in names}
        for kind in study.DATA
    }
    series = {
        TITLES[kind]: {name: error.rms for name, error in known.items() if error.rms.low > 0}
        for kind, known in errors.items()
    }
    title = f"{FORMAT}, {STEP} lanes: errors of sums by accumulator"
    axis = {"type": "log", "exponentformat": "power", "dtick": 1}
    picture = charts.groups(series, title, "error (root mean square)", are_points=True, **axis)
    caption = f"The row {study.OPERANDS} is the error of rounding the operands. Without a mark: no error in any sum."
    section.chart(picture, note=caption)
    section.chart(charts.bars(areas, f"{FORMAT}, {STEP} lanes: area by accumulator", f"area per product [{_UNIT}]"))
    small = {
        name: area
        for name, area in areas.items()
        if all(known[name].rms.below(known[study.OPERANDS].rms) for known in errors.values())
    }
    of = f"accumulators of {FORMAT} with {STEP} lanes whose errors are, on all data, below those of rounding operands"
    section.find(smallest_sentence(small, "area per product", _PLACE.title, of), "Dot products")
    which = "RMS", "99th percentile"
    heads = (f"{TITLES[kind]}, {each}" for kind in study.DATA for each in which)
    head = ("accumulator", f"area per product [{_UNIT}]", *heads)
    body = (
        (name, areas.get(name), *(_error_cell(each) for kind in study.DATA for each in errors[kind][name]))
        for name in names
    )
    section.table(f"{title}, with 99th percentiles", head, body)


def _error_cell(value: Figure) -> Cell:
    return spread_cell(value, lambda error: f"{error:.1e}" if error else "0")


def _formats(section: Section, dots: Dots) -> None:
    """Area by format and accumulator."""
    series = {
        kind: {name: dots.area(dot(name, kind, STEP), STEP) for name in study.FORMATS}
        for kind in study.FORMAT_ACCUMULATORS
    }
    title = f"Area per product by format, {STEP} lanes, without a readout, {_PLACE.title}"
    section.chart(charts.groups(series, title, f"area per product [{_UNIT}]"))
    texts = [f"into {kind} {both(known[STUDIED], known[PAIR])}" for kind, known in series.items()]
    text = f"{_PLACE.title}, {STEP} lanes, area per product: {STUDIED} against {PAIR} {', '.join(texts)}."
    section.find(text, "Dot products")


def _blocks(section: Section, dots: Dots) -> None:
    """Blocks with scales beside formats with one scale for all numbers."""
    blocks = {**study.BLOCKS, "MXFP4 with half a block": study.HALF}
    areas = {name: dots.area(block.design, block.lanes) for name, block in blocks.items()}
    body = []
    for name, block in blocks.items():
        one = Cell("one for all numbers", "the best power of two for Gaussian or heavy-tailed data")
        scale = f"{block.scale} for {block.lanes} elements" if block.scale else one
        ratios = [dots.snr[name, kind] for kind in study.BLOCK_DATA] if name in study.BLOCKS else []
        snr = [spread_cell(ratio, "{:.1f}".format, " dB") for ratio in ratios] or [Cell("–")] * len(study.BLOCK_DATA)
        body.append((Cell(name, block.format), scale, str(block.lanes), block.bits, areas[name], *snr))
    heads = (f"{TITLES[kind]}, SNR" for kind in study.BLOCK_DATA)
    head = ("", "scale", "lanes", "bits per value", f"area per product, {_PLACE.title} [{_UNIT}]", *heads)
    caption = f"Blocks with scales, and formats without, summed in {_ROUNDED}; area without quantizers"
    note = (
        f"SNR is that of sums of {TERMS:,} products, against the sums of the numbers before they were rounded. In "
        "varying data each vector is Gaussian times a power of two from 2^-8 to 2^8, which one scale for all numbers "
        "cannot follow; scales of single vectors could."
    )
    section.table(caption, head, body, note)
    text = f"{_PLACE.title}, area per product with {study.HALF.lanes} lanes into {_ROUNDED}: NVFP4 against MXFP4 with "
    section.find(f"{text}half a block {both(areas['NVFP4'], areas['MXFP4 with half a block'])}.")
