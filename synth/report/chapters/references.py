"""The chapters on references and roundings: formats beside int8, binary16 and bfloat16; what random words cost."""

from collections.abc import Iterator

from synth.area.targets import TARGETS
from synth.report.data import Report
from synth.report.figures import Figure, compared, listing, number
from synth.report.measured import figure
from synth.report.plan import Point
from synth.report.sections import Cell, Section, Table, number_cell, table
from synth.studies import references as study
from synth.studies.biases import errors
from synth.studies.energies import area
from synth.studies.references import LANES, PORT, REGISTER, ROUNDED, References, encoder, stochastic, unit

_TITLE = TARGETS["gates"].title
_NAMES = {"ocp_e4m3": "ocp_e4m3", "e5m2b1": "the supernormal e5m2b1", "hif8": "hif8"}
"""Formats whose cost the first page states."""


def section(report: Report) -> Section | None:
    """Formats beside their references; None if the report does not have the study."""
    data = report.references
    if data is None:
        return None
    section = Section(
        "references",
        f"Beside {listing(study.REFERENCES)}",
        "What the papers compare their formats with, as operands of the same units: a MAC, a dot product of "
        f"{LANES} lanes, and both with the registers of a processing element.",
        note="Energies are measured as in the chapter on energy, on the netlist of the smallest area. An exact "
        f"accumulator has no readout here; that of {study.LONG} is too long for {LANES} lanes to be measured.",
        command="make references",
    )
    section.warn_of_other_tool("The figures of this section are", data.tool, report.tool)
    section.find(sentence(data), "References")
    section.tables.append(units(data))
    return section


def _costs(data: References, point: Point, lanes: int) -> tuple[Figure, Figure] | None:
    """Area and energy of a product, if they were measured."""
    if not data.curve(point):
        return None
    row = data.row(point)
    return area(row).over(lanes), figure(row).over(lanes)


def units(data: References) -> Table:
    """Area and energy of a product by format and unit."""
    cases = [
        (accumulator, lanes, registers)
        for registers in (False, True)
        for lanes in (1, LANES)
        for accumulator in study.ACCUMULATORS
    ]
    head = [
        f"{'PE' if registers else 'MAC' if lanes == 1 else 'dot'}{f', {lanes} lanes' * (lanes > 1)}, {accumulator}"
        for accumulator, lanes, registers in cases
    ]
    body = []
    for name in study.FORMATS:
        known = [
            (_costs(data, unit(name, accumulator, lanes, registers=registers), lanes))
            for accumulator, lanes, registers in cases
        ]
        body.append((name, *(_cell(*each) if each else None for each in known)))
    caption = f"A product by format: area in NAND2, below it energy in C·V², {_TITLE}"
    return table(caption, ("format", *head), body)


def _cell(size: Figure, energy: Figure) -> Cell:
    return number_cell(size.median, ",.0f", f"{energy.median:,.0f}")


def sentence(data: References) -> str:
    """What formats cost relative to their references, in area and energy."""
    texts = []
    for name, words in _NAMES.items():
        own, shares = _pe(data, name), []
        for base in study.REFERENCES:
            both = zip(own, _pe(data, base), strict=True)
            shares.append(" and ".join(compared(value, other) for value, other in both))
        texts.append(f"{words} {listing(shares)}")
    return (
        f"A product in a processing element of {LANES} lanes into {study.ROUNDED_SUM}, its area and energy against "
        f"{listing(study.REFERENCES)}: {'; '.join(texts)}."
    )


def _pe(data: References, name: str) -> tuple[Figure, Figure]:
    point = unit(name, study.ROUNDED_SUM, LANES, registers=True)
    return area(data.row(point)), figure(data.row(point))


def roundings(report: Report) -> Section | None:
    """Encoders by rounding and source, and registers of random words; None if the report does not have the study."""
    data = report.references
    if data is None:
        return None
    section = Section(
        "roundings",
        "Roundings, and what random words cost",
        f"Encoders of {ROUNDED} by source and rounding: costs, the largest error in units of the last place (ulps), "
        "and the mean change of magnitudes (bias) of Gaussian numbers.",
        note="A register makes 14 bits a lane from a shift register of 32 bits (docs/random.md). Shared by several "
        f"lanes, its part is that of a quantizer from {study.SHARING}, divided by the lanes. Errors of stochastic "
        "rounding count all random words.",
        command="make references",
    )
    body = [row for source in study.SOURCES for row in _roundings(data, source)]
    head = ("source", "rounding", "area [NAND2]", "delay [FO4]", "energy [C·V²]", "largest error [ulps]", "bias")
    section.table(f"Encoders of {ROUNDED} by rounding, {_TITLE}", head, body)
    section.find(_generators(data))
    return section


def _roundings(data: References, source: str) -> Iterator[tuple[object, ...]]:
    words = {"stochastic": PORT, "stochastic, with its register": REGISTER}
    known = {name: (encoder(source, name), name) for name in study.PLAIN}
    known |= {name: (stochastic(source, place), "stochastic") for name, place in words.items()}
    for name, (point, rounding) in known.items():
        row, error = data.row(point), errors(ROUNDED, rounding, source)
        change = number_cell(error.bias, "+.2%")
        yield source, name, area(row), row.medians["period_fo4"], figure(row), error.largest, change
    row, error = data.row(stochastic(source, PORT)), errors(ROUNDED, "stochastic", source)
    for lanes in study.SHARED:
        more = _generator(data, lanes)
        total = (number(value + part) for value, part in zip((area(row).median, figure(row).median), more, strict=True))
        size, energy = total
        change = number_cell(error.bias, "+.2%")
        yield source, f"stochastic, a register for {lanes} lanes", size, "–", energy, error.largest, change


def _generator(data: References, lanes: int) -> tuple[float, float]:
    """Area and energy of random words per lane."""
    source = study.SHARING if lanes else study.SOURCES[0]
    with_register, without = (data.row(stochastic(source, place, lanes)) for place in (REGISTER, PORT))
    share = max(lanes, 1)
    size = (area(with_register).median - area(without).median) / share
    return size, (figure(with_register).median - figure(without).median) / share


def _generators(data: References) -> str:
    costs = {"alone": _generator(data, 0)} | {f"for {lanes} lanes": _generator(data, lanes) for lanes in study.SHARED}
    texts = [f"{number(size)} NAND2 and {number(energy)} C·V² {words}" for words, (size, energy) in costs.items()]
    return f"Random words of 14 bits take, a lane: {listing(texts)}."
