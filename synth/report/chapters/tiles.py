"""The chapter on tiles: what formats cost in a matrix unit, with its registers."""

from synth.area.figures import smallest_sentence
from synth.area.targets import TARGETS
from synth.energy.job import DEFAULT_DATA
from synth.report import charts
from synth.report.data import Report
from synth.report.measured import figure
from synth.report.sections import Section, figure_cell, number_cell
from synth.studies.energies import Energies
from synth.studies.family import Point
from synth.studies.tiles import ACCUMULATOR, FORMATS, SIDES, element

_PLACE = TARGETS["gates"]


def section(report: Report) -> Section | None:
    """The results of the study; None if the report does not have them."""
    tiles = report.tiles
    if tiles is None:
        return None
    section = Section(
        "tiles",
        "Tiles: formats in a matrix unit",
        f"A tile has a processing element for each result, and streams of operands and results. Sums are in "
        f"{ACCUMULATOR}; areas have all registers and are divided by the number of elements.",
        note="What is around the elements is skew, control, and the queue of results. It is mapped without them, and "
        f"is the same for all formats of a width. Tool: {tiles.tool}.",
        command="make tiles",
    )
    section.warn_of_other_tool("The areas of this section are", tiles.tool, report.tool)
    section.name_missing(report.formats, FORMATS, "hwgen area tile --format NAME --rows 8 --columns 8")
    names = {f"{side}×{side}": side for side in SIDES}
    alone = {fmt: tiles.area(fmt) for fmt in FORMATS}
    sizes = {name: {fmt: tiles.area(fmt, side) for fmt in FORMATS} for name, side in names.items()}
    title = f"Area per element by format, {_PLACE.title}"
    axis = f"area per element [{_PLACE.unit}]"
    section.chart(charts.groups({"an element alone": alone, **sizes}, title, axis))
    for name, areas in {"processing elements": alone, f"{[*names][-1]} tiles": sizes[[*names][-1]]}.items():
        section.find(smallest_sentence(areas, f"area per element of {name}", _PLACE.title, "formats"))
    base = FORMATS[0]
    head = ("", f"element alone [{_PLACE.unit}]", *names, *(f"{name}: around the elements" for name in names))
    body = (
        (
            fmt,
            figure_cell(alone[fmt], alone[base]),
            *(figure_cell(areas[fmt], areas[base]) for areas in sizes.values()),
            *(number_cell(1 - alone[fmt].median / areas[fmt].median, ".1%") for areas in sizes.values()),
        )
        for fmt in FORMATS
    )
    section.table(f"Area per element, compared with {base}, and the share of what is around the elements", head, body)
    if report.energies is not None:
        _energies(section, report.energies)
    return section


def _energies(section: Section, energies: Energies) -> None:
    """Energy of an element's operation; an older file may lack it."""
    rows = {fmt: row for fmt in FORMATS for row in energies.curve(Point(element(fmt), data=DEFAULT_DATA))}
    if not rows:
        return
    base, unit = next(iter(rows)), next(iter(rows.values())).unit
    body = (
        (fmt, figure_cell(figure(row), figure(rows[base])), number_cell(row.medians["clock"], ".1f"))
        for fmt, row in rows.items()
    )
    title = f"Energy of a multiply-accumulate in an element alone, with its registers, compared with {base}"
    section.table(title, ("", f"energy [{unit}]", f"of that, the clock's [{unit}]"), body, "Measured by make energy.")
