"""The chapter on energy: what an operation costs by format, delay and data, and what options cost."""

from collections.abc import Iterator, Sequence

from hwgen.blocks.catalog import build
from hwgen.datapath.goal import GOALS
from synth.area.figures import DELAYS, Figure, compared, smallest_sentence
from synth.area.recipes import SPEED
from synth.area.rows import Row
from synth.energy.data import KINDS
from synth.energy.job import DEFAULT_DATA
from synth.report import charts
from synth.report.chapters import speed
from synth.report.data import Report
from synth.report.measured import EIGHT, Measured, columns, figure
from synth.report.plan import FORMATS, REPORT_ACCUMULATOR
from synth.report.sections import Cell, Section
from synth.studies import energies as study
from synth.studies.energies import CURVES, SAMPLED, Energies, mac, point
from synth.studies.family import Point

_TITLE = "Gates"
_NOTE = (
    "Products of rounded operands are added to a running sum; every result equals that of the reference model. Wires, "
    "buffers of the clock and leakage of our gates are not counted. The unit is C·V²: C is the input capacitance of a "
    "unit inverter, V the supply voltage. A figure is that of the netlist with the smallest area, not the least "
    "energy, except against delay, which chooses among the scripts of the portfolio speed, and among MACs built for "
    "area and for speed. docs/energy.md describes the method."
)


def section(report: Report, measured: Measured) -> Section | None:
    """The results of the study, and the energies among the report's rows; None if there are neither."""
    energies = report.energies
    if energies is None and not measured.energies:
        return None
    intro = "What an operation costs in energy: netlists simulated with a delay for each cell, glitches included."
    section = Section("energy", "Energy of an operation", intro, note=_NOTE, command="make energy")
    if energies is not None:
        section.note += f" Tool: {energies.tool}."
        section.name_missing(report.formats, FORMATS, "hwgen energy mac --format NAME")
        section.warn_of_other_tool("The energies of this section are", energies.tool, report.tool)
        _formats(section, energies, measured)
        _curves(section, energies, report.speeds.rows if report.speeds else ())
        for part in (_data, _costs):
            part(section, energies)
    if measured.energies:
        _measured(section, measured.energies)
    return section


def _formats(section: Section, energies: Energies, measured: Measured) -> None:
    """Energy of a MAC by format, and how much of it is left without glitches."""
    rows = [row for name in FORMATS for row in energies.curve(point(mac(name)))]
    known = {row.format: figure(row) for row in sorted(rows, key=lambda row: row.median)}
    without = {row.format: Figure.exact(row.medians["glitch_free"]) for row in rows}
    title, axis = f"MAC into {REPORT_ACCUMULATOR}, energy by format", f"energy of an operation [{rows[0].unit}]"
    picture = charts.groups({"energy": known, "without glitches": without}, title, axis, are_points=True)
    what = f"energy of a MAC into {REPORT_ACCUMULATOR}"
    sentence = smallest_sentence(measured.eight(known), what, _TITLE, EIGHT)
    section.chart(picture, sentence, "Energy")


def curves(energies: Energies, timed: Sequence[Row]) -> dict[str, speed.Front]:
    """Energy against delay: of each format the front of the MACs built for area and for speed."""
    rows = {
        name: [row for goal in GOALS for row in energies.curve(point(mac(name, goal=goal), SPEED))] for name in CURVES
    }
    fronts = {name: speed.front(speed.energies(rows[name], timed)) for name in CURVES}
    return {name: curve for name, curve in fronts.items() if curve}  # an older file may lack formats


def _curves(section: Section, energies: Energies, timed: Sequence[Row]) -> None:
    """Which format needs the least energy at which speed."""
    known = curves(energies, timed)
    best = speed.front(point for curve in known.values() for point in curve)
    title = f"MAC into {REPORT_ACCUMULATOR}: energy against delay, {_TITLE}"
    axes = "delay [FO4]", f"energy of an operation [{best[0].area.unit}]"
    picture = charts.fronts(known, best, title, *axes, are_delays=True)
    what = f"energy of a MAC into {REPORT_ACCUMULATOR}"
    section.chart(picture, speed.headline(known, what, _TITLE, "FO4", "formats and pairs"))
    speed.against(section, known, what, _TITLE)


def _data(section: Section, energies: Energies) -> None:
    """Energy by kind of data."""
    series = {kind: {name: energies.figure(point(mac(name), data=kind)) for name in SAMPLED} for kind in KINDS}
    unit, title = series[DEFAULT_DATA][SAMPLED[0]].unit, f"MAC into {REPORT_ACCUMULATOR}, energy by data"
    picture = charts.groups(series, title, f"energy of an operation [{unit}]")
    kinds = "; ".join(map(": ".join, KINDS.items()))
    section.chart(picture, note=f"Numbers are multiplied by the power of two that suits the format best. {kinds}")


def comparisons() -> Iterator[tuple[str, Point, Point]]:
    """Subject and change, base and unit of each comparison."""
    first, second = study.ROUNDINGS
    base, other = (point(build("encoder", study.ROUNDED, source="binary32", rounding=mode)) for mode in (first, second))
    yield f"{study.ROUNDED} encoder from binary32, {second} instead of {first}", base, other
    for name in study.COSTS:
        plain, (first, *others) = point(mac(name)), study.ACCUMULATORS
        for accumulator in others:
            yield f"{name} MAC, {accumulator} instead of {first}", plain, point(mac(name, accumulator))
        for stages in study.STAGES[1:]:
            ranks = f"{stages} rank{'s' if stages > 1 else ''} of registers instead of none"
            yield f"{name} MAC, {ranks}", plain, point(mac(name, stages=stages))
        inside = "its accumulator's register inside (a processing element)"
        yield f"{name} MAC, {inside}", plain, point(build("pe", name, accumulator=REPORT_ACCUMULATOR))


def _costs(section: Section, energies: Energies) -> None:
    """What rounding, accumulators and registers cost."""
    body = []
    for text, base, unit in comparisons():
        first, second = energies.figure(base), energies.figure(unit)
        change = Cell(compared(second, first), value=second.median / first.median)
        clock = energies.row(unit).medians["clock"]
        body.append((text, first, second, clock, change))
    of = energies.figure(point(mac(study.COSTS[0]))).unit
    energy = (f"{what} [{of}]" for what in ("before", "after", "the clock's part"))
    head = ("", *energy, "change of energy")
    note = (
        "Registers keep glitches from passing on, but cost energy themselves: that of their clock is listed. In a "
        "pipeline, successive operations belong to one sum, whose value comes from outside; a real one has to take "
        "turns between sums. A MAC's accumulator, too, comes from outside, and its register is not included; an exact "
        "one has several times the bits."
    )
    section.table(f"What options cost in energy, {_TITLE}", head, body, note)


def _measured(section: Section, rows: Sequence[Row]) -> None:
    """The energies that a sweep has measured."""
    titles = {column.key: column.title for column in columns(rows)}
    body = []
    for row in (row for row in rows if row.is_figure):
        medians = row.medians
        times = ", ".join(f"{medians[name]:g} {unit}" for name, unit in DELAYS.items() if name in medians)
        names = row.name, titles[row.place], row.data, row.recipe, figure(row), row.unit
        body.append((*names, medians["glitch_free"], medians["area"], times or "–"))
    head = ("module", "target", "data", "recipe", "energy", "unit", "without glitches", "area", "delay")
    section.table("Energies of the sweep", head, body)
