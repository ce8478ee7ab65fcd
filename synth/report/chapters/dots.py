"""The chapter on dot products: what a product costs by lanes, accumulator and format, and the errors of its sums."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from synth.area.targets import TARGETS
from synth.report.dots import (
    ACCUMULATORS,
    BLOCK_DATA,
    BLOCKS,
    DATA,
    FORMAT,
    FORMAT_ACCUMULATORS,
    FORMATS,
    LANES,
    OPERANDS,
    SEEDS,
    STEP,
    SUMMED,
    SUMS,
    TERMS,
    TITLES,
    Dots,
    dot,
    readout,
)
from synth.report.figures import (
    Figure,
    compared,
    counted,
    listing,
    number,
    pair_sentence,
    smallest,
    smallest_sentence,
    ties_clause,
)
from synth.report.render import plots
from synth.report.sections import Cell, Finding, Plot, Section, Table, commands, figure_cell

_ROUNDED = "binary32"
"""The accumulator with which others are compared."""
_NEGLIGIBLE = 0.1
"""Errors of sums below this share of the errors of rounding the operands are negligible."""


def section(dots: Dots | None, tool: str) -> Section | None:
    """The results of the study; None if the report does not have them. ``tool`` measured the other sections."""
    if dots is None:
        return None
    section = Section(
        "dots",
        "Dot products: lanes, accumulators and blocks",
        "A dot product of N lanes adds N products and the accumulator in one step; its area is divided by N here. An "
        f"exact accumulator holds the sum of {TERMS:,} products; a readout rounds it once, at the end of a sum, and is "
        "included only where it is named. alignedT truncates every addend T bits below the largest exponent, as models "
        f"of tensor cores do. Errors are differences from the exact sum of {TERMS:,} products, divided by the sum of "
        f"their magnitudes; negligible errors are below {_NEGLIGIBLE:.0%} of the error of rounding the operands to "
        f"{FORMAT}. Heavy-tailed data is Student's t with 3 degrees of freedom. In cancelling data the first half of "
        "the products is positive, and the second half is the same, negated, in another order. In varying data each "
        "vector is Gaussian, times a power of two from 2^-8 to 2^8. Each error and signal-to-noise ratio (SNR) is the "
        f"median of {len(SEEDS)} samples of {SUMS:,} sums, and its spread their minimum to maximum. Delays are not "
        "compared. These figures were not measured with this report: make dots measures them and writes them to a file "
        f"of the program. Tools: {dots.tool}, NumPy {dots.numpy}.",
    )
    if dots.tool != tool:
        text = f"The areas of this section are by {dots.tool}, those of other sections by {tool}: do not compare them."
        section.findings.append(Finding(f"{text} make dots measures them again."))
    for target in LANES:
        _lanes(section, dots, target)
    _errors(section, dots)
    _formats(section, dots)
    _blocks(section, dots)
    return section


def _lanes(section: Section, dots: Dots, target: str) -> None:
    """Area per product by lanes and accumulator, and the smallest accumulators for what a sum needs."""
    place = TARGETS[target]
    areas = {
        name: {lanes: dots.area(dot(FORMAT, name, lanes, target), lanes, target) for lanes in LANES[target]}
        for name in ACCUMULATORS
    }
    title = f"{FORMAT}, area per product by lanes, {place.title}"
    picture = plots.lines(areas, title, "lanes", f"area per product [{place.unit}]")
    used = (value for figures in areas.values() for value in figures.values())
    section.plots.append(Plot("Lanes share the accumulator and the rounding.", picture, commands(used)))
    body = tuple((Cell(name), *map(figure_cell, figures.values())) for name, figures in areas.items())
    head = ("accumulator", *(counted(lanes, "lane") for lanes in LANES[target]))
    section.tables.append(Table(f"{title} [{place.unit}]", head, body))
    needs = (
        ("smallest", ACCUMULATORS),
        ("smallest with negligible errors", negligible(dots, DATA)),
        (f"smallest with no larger errors than {_ROUNDED}", no_worse(dots)),
    )
    for need, names in needs:
        kept = {name: areas[name] for name in ACCUMULATORS if name in names}
        text = f"{place.title}, {need} (of {listing(list(kept))}): {_by_lanes(kept)}."
        section.findings.append(Finding(text, target))
    first, *_, last = LANES[target]
    shares = [f"{compared(figures[last], figures[first])} with {name}" for name, figures in areas.items()]
    text = f"{place.title}, {last} lanes instead of {first}: a product costs {listing(shares)}."
    section.findings.append(Finding(text, target))
    base, exact, once = areas[_ROUNDED][STEP], areas["exact"][STEP], dots.area(readout(), STEP, target)
    both = replace(exact, low=exact.low + once.low, median=exact.median + once.median, high=exact.high + once.high)
    for name, value in (("an exact accumulator", exact), ("an exact accumulator and a readout", both)):
        pair = (_ROUNDED, base), (name, value)
        section.findings.append(Finding(pair_sentence(*pair, f"a product of {STEP} lanes", place.title), target))


def _by_lanes(areas: Mapping[str, Mapping[int, Figure]]) -> str:
    """The smallest series over runs of lanes, e.g. ``a with 1 to 4 lanes; b, no different from a, with 8 lanes``."""
    least: dict[int, str] = {}
    for lanes in next(iter(areas.values())):
        first, ties, _ = smallest({name: figures[lanes] for name, figures in areas.items()})
        least[lanes] = f"{first}{ties_clause(ties)}{',' if ties else ''}"
    runs = [(name, list(run)) for name, run in groupby(least, key=lambda lanes: least[lanes])]
    return "; ".join(
        f"{name} with {f'{run[0]} to ' if run[1:] else ''}{counted(run[-1], 'lane')}" for name, run in runs
    )


def negligible(dots: Dots, kinds: Sequence[str]) -> list[str]:
    """Accumulators whose errors are below :data:`_NEGLIGIBLE` of those of rounding the operands, on all these data."""
    pairs = {
        name: [(dots.errors[kind, name].rms, dots.errors[kind, OPERANDS].rms) for kind in kinds] for name in SUMMED
    }
    return [name for name, errors in pairs.items() if all(own.high < _NEGLIGIBLE * base.low for own, base in errors)]


def no_worse(dots: Dots) -> list[str]:
    """Accumulators whose errors are not above those of binary32 on any data."""
    pairs = {name: [(dots.errors[kind, name].rms, dots.errors[kind, _ROUNDED].rms) for kind in DATA] for name in SUMMED}
    return [name for name, errors in pairs.items() if not any(base.below(own) for own, base in errors)]


def _errors(section: Section, dots: Dots) -> None:
    """Area and errors by accumulator."""
    place = TARGETS["gates"]
    areas = {name: dots.area(dot(FORMAT, name, STEP), STEP) for name in SUMMED}
    errors = {TITLES[kind]: {name: dots.errors[kind, name].rms for name in SUMMED} for kind in DATA}
    levels = {TITLES[kind]: dots.errors[kind, OPERANDS].rms.median for kind in DATA}
    title = f"{FORMAT}, {STEP} lanes: area and error by accumulator"
    labels = f"per product [{place.unit}]", "error (root mean square)"
    picture = plots.bars_and_errors(areas, errors, levels, title, labels)
    caption = "Dashed: the error of rounding the operands. No mark: no error."
    section.plots.append(Plot(caption, picture, commands(areas.values())))
    for kind in DATA:
        enough = {name: areas[name] for name in negligible(dots, [kind])}
        text = smallest_sentence(enough, f"product of {STEP} lanes with negligible errors", f"{TITLES[kind]} data")
        section.findings.append(Finding(text[0].upper() + text[1:]))
    head = ["accumulator", place.title]
    body = [[Cell(OPERANDS), Cell("–")], *([Cell(name), figure_cell(areas[name])] for name in SUMMED)]
    for kind in DATA:
        head += [f"{TITLES[kind]}, RMS", f"{TITLES[kind]}, 99th percentile"]
        for cells in body:
            cells.extend(map(_error_cell, dots.errors[kind, cells[0].text]))
    caption = f"{title}, sums in steps of {STEP} products; operands: the error of rounding them"
    section.tables.append(Table(caption, tuple(head), tuple(map(tuple, body))))


def _error_cell(value: Figure) -> Cell:
    low, middle, high = (f"{error:.1e}" if error else "0" for error in (value.low, value.median, value.high))
    return Cell(middle, "" if low == high else f"{low} to {high}", value=value.median)


def _formats(section: Section, dots: Dots) -> None:
    """Area by format and accumulator."""
    place = TARGETS["gates"]
    areas = {
        accumulator: {name: dots.area(dot(name, accumulator, STEP), STEP) for name in FORMATS}
        for accumulator in FORMAT_ACCUMULATORS
    }
    for accumulator, figures in areas.items():
        text = smallest_sentence(figures, f"product of {STEP} lanes into {accumulator}", place.title)
        section.findings.append(Finding(text, "gates"))
    body = tuple((Cell(name), *(figure_cell(figures[name]) for figures in areas.values())) for name in FORMATS)
    caption = f"Area per product by format, {STEP} lanes, {place.title} [{place.unit}]"
    section.tables.append(Table(caption, ("format", *areas), body))


def _blocks(section: Section, dots: Dots) -> None:
    """Blocks with scales beside formats with one scale for all numbers."""
    place = TARGETS["gates"]
    areas = {name: dots.area(block.design, block.lanes) for name, block in BLOCKS.items()}
    body = []
    for name, block in BLOCKS.items():
        one = Cell("one for all numbers", "the best power of two for Gaussian or heavy-tailed data")
        scale = Cell(f"{block.scale} for {block.lanes} elements") if block.scale else one
        bits = Cell(number(block.bits), value=block.bits)
        snr = (_ratio_cell(dots.snr[name, kind]) for kind in BLOCK_DATA)
        body.append((Cell(name, block.format), scale, bits, figure_cell(areas[name]), *snr))
    heads = (f"{TITLES[kind]}, SNR" for kind in BLOCK_DATA)
    head = ("block", "scale", "bits per value", f"area per product, {place.title} [{place.unit}]", *heads)
    caption = (
        f"Blocks, as chosen by golden.quantize_block, summed in {_ROUNDED}: as many lanes as a block has elements, or "
        f"{BLOCKS['E4M3'].lanes}"
    )
    section.tables.append(Table(caption, head, tuple(body)))
    section.findings.append(Finding(smallest_sentence(areas, "product of a block", place.title), "gates"))
    for kind in BLOCK_DATA:
        ratios = {name: dots.snr[name, kind] for name in BLOCKS}
        first, ties, last = smallest({name: _negated(value) for name, value in ratios.items()})
        least = f"; {last} has the lowest ({ratios[last].median:.1f} dB)" if last else ""
        text = f"{first} has the highest SNR of sums ({ratios[first].median:.1f} dB){ties_clause(ties)}{least}"
        section.findings.append(Finding(f"{TITLES[kind].capitalize()} data: {text}."))
    for name, better in _beaten(dots, areas).items():
        respects = "no more area, no more bits, no lower SNR on any of these data, and better in one of them"
        section.findings.append(Finding(f"{name} is beaten by {listing(better)}: {respects}."))


def _beaten(dots: Dots, areas: Mapping[str, Figure]) -> dict[str, list[str]]:
    """For each block, those that are better in one respect and worse in none; overlapping spreads are neither."""
    costs = {
        name: (areas[name], Figure.exact(block.bits), *(_negated(dots.snr[name, kind]) for kind in BLOCK_DATA))
        for name, block in BLOCKS.items()
    }

    def beats(name: str, other: str) -> bool:
        pairs = [*zip(costs[name], costs[other], strict=True)]
        return any(own.below(its) for own, its in pairs) and not any(its.below(own) for own, its in pairs)

    better = {name: [other for other in BLOCKS if beats(other, name)] for name in BLOCKS}
    return {name: others for name, others in better.items() if others}


def _negated(value: Figure) -> Figure:
    return replace(value, low=-value.high, median=-value.median, high=-value.low)


def _ratio_cell(value: Figure) -> Cell:
    return Cell(f"{value.median:.1f} dB", f"{value.low:.1f} to {value.high:.1f}", value=value.median)
