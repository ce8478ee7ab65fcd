"""The chapters on references and roundings: formats beside int8, binary16 and bfloat16; what random words cost."""

from collections.abc import Iterator
from itertools import product

from synth.area.figures import Figure, comparable, compared, listing, number, ranged
from synth.area.jobs import DEFAULT_RENAMINGS
from synth.area.targets import TARGETS
from synth.report.data import Report
from synth.report.measured import Measured, figure
from synth.report.plan import REFERENCES, ROUNDING_STUDY, Block
from synth.report.sections import Cell, Section, Table, number_cell, table
from synth.studies import references as study
from synth.studies.biases import errors
from synth.studies.energies import area
from synth.studies.family import Point
from synth.studies.references import LANES, PORT, REGISTER, ROUNDED, References, encoder, stochastic, unit

_TITLE = TARGETS["gates"].title
_NAMES = {"ocp_e4m3": "ocp_e4m3", "e5m2b1": "the supernormal e5m2b1", "hif8": "hif8"}
"""Formats whose cost relative to references is stated."""
_COSTS = ("area", "energy")


def section(report: Report, measured: Measured) -> Section | None:
    """Formats beside their references; None if the report does not have the study."""
    data = report.references
    if data is None:
        return None
    section = Section(
        "references",
        f"Beside {listing(REFERENCES)}",
        "What the papers compare their formats with, as operands of the same units: a MAC, a dot product of "
        f"{LANES} lanes, and both with the registers of a processing element.",
        note="Energies are measured as in the chapter on energy, on the netlist of the smallest area, units of several "
        f"lanes with fewer renamings. A dash was not measured; the exact accumulator of {study.LONG} is too long for "
        f"{LANES} lanes. An exact accumulator has no readout here.",
        command="make references",
    )
    section.warn_of_other_tool("The figures of this section are", data.tool, report.tool)
    section.tables += [units(data), differences(data, measured)]
    section.find(sentence(data, measured), "References", section.tables[-1])
    return section


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
        body.append((name, *(_cell(data, point, lanes) if data.curve(point) else None for point, lanes in points)))
    caption = f"A product by format: area in NAND2, below it energy in C·V², {_TITLE}"
    return table(caption, ("format", *head), body)


def _cell(data: References, point: Point, lanes: int) -> Cell:
    size, energy = _costs(data, point, lanes)
    return Cell(f"{size.median:,.0f}", f"{energy.median:,.0f}", value=size.median, tool=energy.tool)


def _costs(data: References, point: Point, lanes: int) -> tuple[Figure, Figure]:
    """Area and energy of a lane."""
    row = data.row(point)
    return area(row).over(lanes), figure(row).over(lanes)


def _elements(data: References, measured: Measured) -> dict[tuple[str, str], dict[str, Figure]]:
    """Area and energy of processing elements by accumulator and format, if they have enough renamings for claims."""
    elements = {}
    for into, name in product(study.ACCUMULATORS, study.FORMATS):
        point = unit(name, into, 1, registers=True)
        size = measured.block(Block("pe", name, {"accumulator": into}), point.target)
        known = zip(_COSTS, (size, data.figure(point) if data.curve(point) else None), strict=True)
        elements[into, name] = {cost: value for cost, value in known if value and value.samples >= DEFAULT_RENAMINGS}
    return elements


def differences(data: References, measured: Measured) -> Table:
    """What processing elements cost relative to those of each reference, with the range that the spreads allow."""
    elements = _elements(data, measured)
    cases = [(into, base) for into, base in product(study.ACCUMULATORS, REFERENCES) if elements[into, base]]
    body = []
    for name, cost in product(_NAMES, _COSTS):
        pairs = ((elements[into, name].get(cost), elements[into, base].get(cost)) for into, base in cases)
        body.append((f"{name}, {cost}", *(_difference(*pair) for pair in pairs)))
    head = (f"into {into}, against {base}" for into, base in cases)
    note = f"Of figures with {DEFAULT_RENAMINGS} renamings or more; no difference: the spreads overlap."
    return table(f"Processing elements beside those of references, {_TITLE}", ("format", *head), body, note)


def _difference(value: Figure | None, base: Figure | None) -> Cell | None:
    if value is None or base is None:
        return None
    change, _, spread = ranged(value, base).rstrip(")").partition(" (")
    return Cell(change or "another tool", spread, value=value.median / base.median)


def sentence(data: References, measured: Measured) -> str:
    """What formats cost relative to an integer, and how often less than wide floating point; empty without claims."""
    elements, (integer, *wide) = _elements(data, measured), REFERENCES
    cost, base = next(iter(elements[study.EXACT, integer].items()), ("", None))
    known = {name: elements[study.EXACT, name].get(cost) for name in _NAMES}
    changes = [
        f"{_NAMES[name]} {text}" for name, value in known.items() if value and base and (text := ranged(value, base))
    ]
    pairs = (
        (elements[into, name].get(each), elements[into, other].get(each))
        for into, name, other, each in product(study.ACCUMULATORS, _NAMES, wide, _COSTS)
    )
    verdicts = [compared(value, other)[0] for value, other in pairs if value and other and comparable((value, other))]
    if not changes:
        return ""
    counts = f"less in {verdicts.count('-')} of {len(verdicts)} comparisons"
    counts += f", not different within the spreads in {verdicts.count('n')}" if "n" in verdicts else ""
    text = f"{cost.capitalize()} of a processing element with an exact accumulator, against {integer}: "
    text += f"{listing(changes)}; against {listing(wide)}, area and energy are {counts}."
    return text.replace("no difference", "no difference within the spreads")


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
    pairs = ([area(data.row(encoder(source, name))).median for name in ROUNDING_STUDY[1]] for source in study.SOURCES)
    texts = [f"{unit / base - 1:+.0%} from {source}" for source, (base, unit) in zip(study.SOURCES, pairs, strict=True)]
    section.find(f"Median area of {' against '.join(reversed(ROUNDING_STUDY[1]))}: {listing(texts)}.")
    section.find(_generators(data))
    return section


def _roundings(data: References, source: str) -> Iterator[tuple[object, ...]]:
    known = {name: (encoder(source, name), name) for name in study.PLAIN}
    for place, words in ((PORT, ""), (REGISTER, ", with their register")):
        point = stochastic(source, place)
        name = f"stochastic, {data.row(point).options['random_bits']} random bits{words}"
        known[name] = point, "stochastic"
    for name, (point, rounding) in known.items():
        row, error = data.row(point), errors(ROUNDED, rounding, source)
        change = number_cell(error.bias, "+.2%")
        yield source, name, area(row).median, row.medians["period_fo4"], figure(row), error.largest, change


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
    return f"The register of 14 random bits takes, a lane, as differences of medians: {listing(texts)}."
