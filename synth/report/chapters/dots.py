"""The chapter on dot products: what a product costs by lanes, accumulator and format, and the errors of its sums."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby, pairwise

from synth.area.targets import TARGETS
from synth.report.figures import (
    Figure,
    compared,
    counted,
    listing,
    number,
    pair_sentence,
    ranked,
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
    _errors(section, dots)
    _formats(section, dots)
    _blocks(section, dots)
    return section


def _lanes(section: Section, dots: Dots, target: str) -> None:
    """Area per product by lanes and accumulator, and the smallest accumulators for what a sum needs."""
    place, counts = TARGETS[target], study.LANES[target]
    areas = {
        name: {lanes: dots.area(dot(FORMAT, name, lanes, target), lanes, target) for lanes in counts}
        for name in study.ACCUMULATORS
    }
    reads = {lanes: dots.area(study.readout(), lanes, target) for lanes in counts}
    areas[_READ] = {lanes: _sum(area, reads[lanes]) for lanes, area in areas["exact"].items()}
    title = f"{FORMAT}, area per product by lanes, {place.title}"
    picture = plots.lines(areas, title, "lanes", f"area per product [{place.unit}]", are_powers=True)
    section.plot("Lanes share the accumulator and its rounding.", picture)
    singles = {name: dots.row(Point(dot(FORMAT, name, 1, target), target)) for name in study.ACCUMULATORS}
    bits = {name: str(row.accumulator_bits) for name, row in singles.items()}
    bits[_READ] = bits["exact"]
    rows = ((name, bits[name], *figures.values()) for name, figures in areas.items())
    head = ("accumulator", "state bits", *(counted(lanes, "lane") for lanes in counts))
    section.table(f"{title} [{place.unit}]", head, rows)
    kinds: dict[str, Callable[[int], Sequence[str]]] = {
        "": lambda _: study.ACCUMULATORS,
        " with negligible errors": partial(negligible, dots),
        f" with no larger errors than {_ROUNDED}": partial(no_worse, dots),
    }
    for need, names in kinds.items():
        chosen = {lanes: [name for name in areas if name in names(lanes)] for lanes in counts}
        bare, whole = (
            _by_lanes({lanes: {name: areas[read.get(name, name)][lanes] for name in chosen[lanes]} for lanes in counts})
            for read in ({}, {"exact": _READ})
        )
        both = bare if bare == whole else f"{bare}. With a readout for each unit with an exact accumulator: {whole}"
        text = f"{place.title}, {FORMAT}, the smallest accumulator{need} in the table, by area per product: {both}."
        section.find(text, "Dot products" if target == "gates" and not need else "")
    first, *_, last = counts
    shares = [f"{compared(figures[last], figures[first])} with {name}" for name, figures in areas.items()]
    text = f"{place.title}, {FORMAT}, from {first} to {last} lanes the area per product changes: {listing(shares)}."
    section.find(text)
    base = areas[_ROUNDED][STEP]
    for name, value in (("an exact accumulator", areas["exact"]), ("an exact accumulator and a readout", areas[_READ])):
        what = f"a product of {FORMAT} with {STEP} lanes"
        section.find(pair_sentence((_ROUNDED, base), (name, value[STEP]), what, place.title))


def _sum(first: Figure, second: Figure) -> Figure:
    """Area of two units, from the least of both to the most of both."""
    low, median, high = first.low + second.low, first.median + second.median, first.high + second.high
    return replace(first, low=low, median=median, high=high, command=f"{first.command}; {second.command}")


def _by_lanes(areas: Mapping[int, Mapping[str, Figure]]) -> str:
    """The smallest names over runs of lanes, e.g. ``a with 1 to 4 lanes; b, no different from a, with 8 lanes``."""
    least = {}
    for lanes, figures in areas.items():
        first, ties, _ = smallest(figures)
        least[lanes] = f"{first}{ties_clause(ties)}{',' if ties else ''}"
    runs = [(name, list(run)) for name, run in groupby(least, key=lambda lanes: least[lanes])]
    return "; ".join(
        f"{name} with {f'{run[0]} to ' if run[1:] else ''}{counted(run[-1], 'lane')}" for name, run in runs
    )


def negligible(dots: Dots, lanes: int, kinds: Sequence[str] = study.DATA) -> tuple[str, ...]:
    """Accumulators whose errors are below :data:`_NEGLIGIBLE` of those of rounding the operands, on all these data."""
    limits = [_NEGLIGIBLE * dots.operands(kind).rms.low for kind in kinds]
    errors = {name: [dots.errors[kind, lanes, name].rms for kind in kinds] for name in study.SUMMED[lanes]}
    pairs = {name: zip(own, limits, strict=True) for name, own in errors.items()}
    return tuple(name for name, both in pairs.items() if all(error.high < limit for error, limit in both))


def no_worse(dots: Dots, lanes: int) -> tuple[str, ...]:
    """Accumulators whose errors are not above those of binary32 on any data."""
    errors = {name: [dots.errors[kind, lanes, name].rms for kind in study.DATA] for name in study.SUMMED[lanes]}
    pairs = {name: zip(errors[_ROUNDED], own, strict=True) for name, own in errors.items()}
    return tuple(name for name, both in pairs.items() if not any(base.below(error) for base, error in both))


def _errors(section: Section, dots: Dots) -> None:
    """Area and errors by accumulator."""
    place = TARGETS["gates"]
    names = study.SUMMED[STEP]
    areas = {name: dots.area(dot(FORMAT, name, STEP), STEP) for name in names}
    errors = {TITLES[kind]: {name: dots.errors[kind, STEP, name].rms for name in names} for kind in study.DATA}
    levels = {TITLES[kind]: dots.operands(kind).rms.median for kind in study.DATA}
    title = f"{FORMAT}, {STEP} lanes: area and error by accumulator"
    labels = f"per product [{place.unit}]", "error (root mean square)"
    picture = plots.bars_and_errors(areas, errors, levels, title, labels)
    caption = (
        f"Errors are differences from the exact sum of the codes' {TERMS:,} products, divided by the sum of the "
        "products' magnitudes. Dashed: the error of rounding the operands. No mark: no error, because no sum had more "
        "bits than the accumulator."
    )
    section.plot(caption, picture)
    samples = (
        f"Operands: the error of rounding them. Errors are root mean squares (RMS) of {study.SUMS:,} sums of {TERMS:,} "
        f"products, as medians of {len(study.SEEDS)} samples; negligible ones "
        f"are below {_NEGLIGIBLE:.0%} of the error of rounding the operands to {FORMAT}, on "
        "all three kinds of data unless one is named. Heavy-tailed data is Student's t with 3 degrees of freedom. In "
        "cancelling data the first half of the products is positive and the second half the same, negated, of other "
        "factors and in another order: a large accumulator comes back to about 0."
    )
    for kind in study.DATA:
        enough = {name: areas[name] for name in negligible(dots, STEP, [kind])}
        first, ties, _ = smallest(enough)
        section.find(
            f"{TITLES[kind].capitalize()} data, {FORMAT}, steps of {STEP} products: {first}{ties_clause(ties)} is the "
            f"smallest accumulator with negligible errors (of all in the picture), by area per product without a "
            f"readout ({number(enough[first].median)} {enough[first].unit})."
        )
    section.find(_widest(dots, areas))
    head = ["accumulator", place.title]
    body: list[list[object]] = [[study.OPERANDS, None], *([name, areas[name]] for name in names)]
    for kind in study.DATA:
        head += [f"{TITLES[kind]}, RMS", f"{TITLES[kind]}, 99th percentile"]
        of_kind = [dots.operands(kind), *(dots.errors[kind, STEP, name] for name in names)]
        for cells, both in zip(body, of_kind, strict=True):
            cells.extend(map(_error_cell, both))
    section.table(f"{title}, sums in steps of {STEP} products", head, body, samples)
    by_lanes = (
        (name, TITLES[kind], *(_error_cell(dots.errors[kind, lanes, name].rms) for lanes in study.SUMMED))
        for name in study.ACCUMULATORS
        for kind in study.DATA
    )
    columns = ("accumulator", "data", *(counted(lanes, "lane") for lanes in study.SUMMED))
    section.table(f"{FORMAT}, error (RMS) by lanes", columns, by_lanes)


def _widest(dots: Dots, areas: Mapping[str, Figure]) -> str:
    """Sentence on the aligned accumulator above which errors do not shrink."""
    least = next(
        name for place, name in enumerate(study.ALIGNED)
        if not any(
            dots.errors[kind, STEP, wider].rms.below(dots.errors[kind, STEP, name].rms)
            for kind in study.DATA for wider in study.ALIGNED[place + 1 :]
        )
    )  # fmt: skip
    wider = study.ALIGNED[study.ALIGNED.index(least) + 1 :]
    shares = listing([f"{compared(areas[name], areas[least])} with {name}" for name in wider])
    return (
        f"{FORMAT}, steps of {STEP} products: no aligned accumulator has smaller errors than {least}, on any of these "
        f"data; the state has 23 fraction bits, whatever T is. The area per product grows: {shares}."
    )


def _error_cell(value: Figure) -> Cell:
    return spread_cell(value, lambda error: f"{error:.1e}" if error else "0")


def _formats(section: Section, dots: Dots) -> None:
    """Area by format and accumulator."""
    place = TARGETS["gates"]
    areas = {
        accumulator: {name: dots.area(dot(name, accumulator, STEP), STEP) for name in study.FORMATS}
        for accumulator in study.FORMAT_ACCUMULATORS
    }
    for accumulator, figures in areas.items():
        what = f"area per product, of {STEP} lanes into {accumulator}"
        section.find(smallest_sentence(figures, what, place.title))
    orders: dict[str, list[str]] = {}
    for name in study.FORMATS:
        first, *others = ranked({accumulator: areas[accumulator][name] for accumulator in areas})
        order = first
        for previous, accumulator in pairwise([first, *others]):
            differs = areas[accumulator][name].differs(areas[previous][name])
            order += f"{', then ' if differs else ' and, no different, '}{accumulator}"
        orders.setdefault(order, []).append(name)
    text = "; ".join(f"{order} for {listing(names)}" for order, names in orders.items())
    section.find(f"{place.title}, {STEP} lanes, accumulators by area per product, without a readout: {text}.")
    rows = ((name, *(figures[name] for figures in areas.values())) for name in study.FORMATS)
    caption = f"Area per product by format, {STEP} lanes, without a readout, {place.title} [{place.unit}]"
    section.table(caption, ("format", *areas), rows)


def _blocks(section: Section, dots: Dots) -> None:
    """Blocks with scales beside formats with one scale for all numbers."""
    place = TARGETS["gates"]
    areas = {name: dots.area(block.design, block.lanes) for name, block in study.BLOCKS.items()}
    body = []
    for name, block in study.BLOCKS.items():
        one = Cell("one for all numbers", "the best power of two for Gaussian or heavy-tailed data")
        scale = f"{block.scale} for {block.lanes} elements" if block.scale else one
        snr = (spread_cell(dots.snr[name, kind], "{:.1f}".format, " dB") for kind in study.BLOCK_DATA)
        body.append((Cell(name, block.format), scale, str(block.lanes), block.bits, areas[name], *snr))
    heads = (f"{TITLES[kind]}, SNR" for kind in study.BLOCK_DATA)
    head = ("", "scale", "lanes", "bits per value", f"area per product, {place.title} [{place.unit}]", *heads)
    caption = f"Blocks with scales, and formats without, summed in {_ROUNDED}; area without quantizers"
    note = (
        f"SNR (signal-to-noise ratio) is that of whole sums of {TERMS:,} products, against the sums of the numbers "
        "before they were rounded: the mean of the squared sums over that of the squared differences, each sum divided "
        "by the norms of its two vectors. Scales of blocks are those of golden.quantize_block with its default policy, "
        "and tensors have no further scale. In varying data each vector is Gaussian times a power of two from 2^-8 to "
        "2^8, which one scale for all numbers cannot follow; scales of single vectors could."
    )
    section.table(caption, head, body, note)
    what = f"area per product, into {_ROUNDED} with these lanes"
    section.find(smallest_sentence(areas, what, place.title))
    half, other = dots.area(study.HALF.design, study.HALF.lanes), "NVFP4"
    what = f"a product with {study.HALF.lanes} lanes into {_ROUNDED}"
    section.find(pair_sentence(("MXFP4", half), (other, areas[other]), what, place.title))
    for kind in study.BLOCK_DATA:
        ratios = {name: dots.snr[name, kind] for name in study.BLOCKS}
        first, ties, last = smallest({name: value.over(-1) for name, value in ratios.items()})
        least = f"; {last} has the lowest ({ratios[last].median:.1f} dB)" if last else ""
        best = f"{listing([first, *ties])} {'have' if ties else 'has'} the highest SNR of sums"
        text = f"{best} ({ratios[first].median:.1f} dB{', no different' if ties else ''}){least}"
        section.find(f"{TITLES[kind].capitalize()} data, {_ROUNDED}: {text}.")
    for name, better in _beaten(dots, areas).items():
        respects = "no more area, no more bits, no lower SNR on any of these data, and better in one of them"
        section.find(f"{name} is beaten by {listing(better)}: {respects}.")


def _beaten(dots: Dots, areas: Mapping[str, Figure]) -> dict[str, list[str]]:
    """For each block, those that are better in one respect and worse in none; overlapping spreads are neither."""
    costs = {
        name: (areas[name], Figure.exact(block.bits), *(dots.snr[name, kind].over(-1) for kind in study.BLOCK_DATA))
        for name, block in study.BLOCKS.items()
    }

    def beats(name: str, other: str) -> bool:
        pairs = [*zip(costs[name], costs[other], strict=True)]
        return any(own.below(its) for own, its in pairs) and not any(its.below(own) for own, its in pairs)

    better = {name: [other for other in study.BLOCKS if beats(other, name)] for name in study.BLOCKS}
    return {name: others for name, others in better.items() if others}
