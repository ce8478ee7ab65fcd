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
        note="Energies are measured as in the chapter on energy, on the netlist of the smallest area, units of several "
        f"lanes with fewer renamings. A dash was not measured; the exact accumulator of {study.LONG} is too long for "
        f"{LANES} lanes. An exact accumulator has no readout here.",
        command="make references",
    )
    section.warn_of_other_tool("The figures of this section are", data.tool, report.tool)
    section.find(sentence(data), "References")
    section.tables.append(units(data))
    return section


def _costs(data: References, point: Point, lanes: int = 1) -> tuple[Figure, Figure]:
    """Area and energy of a lane."""
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
        points = ((unit(name, into, lanes, registers=registers), lanes) for into, lanes, registers in cases)
        body.append((name, *(_cell(*_costs(data, *each)) if data.curve(each[0]) else None for each in points)))
    caption = f"A product by format: area in NAND2, below it energy in C·V², {_TITLE}"
    return table(caption, ("format", *head), body)


def _cell(size: Figure, energy: Figure) -> Cell:
    return number_cell(size.median, ",.0f", f"{energy.median:,.0f}")


def sentence(data: References) -> str:
    """What formats cost relative to their references, in area and energy."""
    parts = []
    for accumulator in study.ACCUMULATORS:
        points = {name: unit(name, accumulator, 1, registers=True) for name in study.FORMATS}
        costs = {name: _costs(data, point) for name, point in points.items() if data.curve(point)}
        bases = [name for name in study.REFERENCES if name in costs]
        texts = []
        for name, words in _NAMES.items():
            changes = (
                listing([compared(costs[name][place], costs[base][place]) for base in bases]) for place in (0, 1)
            )
            texts.append("{} {} area and {} energy".format(words, *changes))
        parts.append(f"into {accumulator}, against {listing(bases)}: {'; '.join(texts)}")
    return f"A processing element {'; and '.join(parts)}."


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
        note="Random words come from a shift register of 32 bits (docs/random.md). Where several lanes share one, it "
        f"is in a quantizer from {study.SHARING}. Errors of stochastic rounding count all random words.",
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


def _generators(data: References) -> str:
    """What random words take: the difference between modules with and without a register."""
    texts = []
    for lanes, source in ((1, study.SOURCES[0]), *((lanes, study.SHARING) for lanes in study.SHARED)):
        points = [stochastic(source, place, lanes * (lanes > 1)) for place in (REGISTER, PORT)]
        if all(map(data.curve, points)):
            (size, energy), (least, rest) = (_costs(data, point, lanes) for point in points)
            differences = size.median - least.median, energy.median - rest.median
            size_text, energy_text = map(number, differences)
            texts.append(f"{size_text} NAND2 and {energy_text} C·V² {'alone' if lanes == 1 else f'of {lanes} lanes'}")
    return f"The register of 14 random bits takes, a lane: {listing(texts)}."
