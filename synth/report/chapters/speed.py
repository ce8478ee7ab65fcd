"""The chapter on area against delay: each recipe is a point, each format the front of its points."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from hwgen.datapath.goal import AREA
from synth.area.rows import Row
from synth.report import charts, figures
from synth.report.data import Report
from synth.report.figures import Figure, counted, have_spreads, listing, number, smallest_sentence
from synth.report.measured import Measured, columns, figure
from synth.report.sections import Cell, Section, Table, figure_cell, table

DEADLINES = (1.0, 1.25, 1.6, 2.7)
"""Delays at which areas are compared, in multiples of the shortest delay that every format reaches."""


class Point(NamedTuple):
    """Delay and area of a recipe's netlists."""

    time: Figure
    area: Figure

    @property
    def delay(self) -> float:
        """The median delay."""
        return self.time.median


Front = Sequence[Point]
"""Points from fast to small; each is smaller than all faster ones."""


def front(points: Iterable[Point]) -> Front:
    """The points that no other point beats in both area and delay."""
    return figures.front(points, lambda point: (point.delay, point.area.median))


def at(curve: Front, deadline: float) -> Point | None:
    """The smallest point within a delay."""
    met = [point for point in curve if point.delay <= deadline * (1 + 1e-9)]
    return met[-1] if met else None


def points(rows: Iterable[Row]) -> list[Point]:
    """The points of one design on one target."""
    timed = ((row.timing, row) for row in rows if not row.is_best)
    return [Point(Figure.of(timing.delays, timing.unit), figure(row)) for timing, row in timed if timing is not None]


def fronts(rows: Iterable[Row]) -> dict[str, Front]:
    """The front of each format; the rows must differ in format, recipe and goal only."""
    by_format: dict[str, list[Row]] = {}
    for row in rows:
        by_format.setdefault(row.operands, []).append(row)
    return {name: front(points(group)) for name, group in by_format.items()}


class Group(NamedTuple):
    """What comparable timed rows share: the block except its format and goal, the target, and the timing method."""

    block: str
    place: str
    how: str
    unit: str
    """Unit of the delays."""


def groups(rows: Iterable[Row]) -> dict[Group, list[Row]]:
    """Timed rows by group."""
    by_group: dict[Group, list[Row]] = {}
    for row in rows:
        if row.timing is not None:
            how = f"{row.timing.source}, {counted(row.renamings, 'renaming')} from seed {row.seed}"
            by_group.setdefault(Group(_block(row), row.place, how, row.timing.unit), []).append(row)
    return by_group


def _block(row: Row) -> str:
    """Name of a block with its options, except its formats and what it is built for."""
    words = [_BLOCKS.get(row.component, row.component)]
    for name, value in row.options.items():
        if name in _PHRASES:
            words.append(_PHRASES[name].format(value))
        elif name not in ("format", "format_b", "optimize"):
            words.append(f"with {name.replace('_', ' ')}" + ("" if value is True else f" {value}"))
    return " ".join(words)


_BLOCKS = {"mac": "MAC", "pe": "processing element", "dot": "dot product"}
_PHRASES = {
    "lanes": "of {} lanes",
    "accumulator": "into {}",
    "from": "from {}",
    "to": "to {}",
    "rounding": "with {}",
    "overflow": "and overflow {}",
    "terms": "of {} terms",
    "stages": "with {} ranks of registers",
}
"""Blocks and options in words."""


def section(report: Report, measured: Measured) -> Section | None:
    """The section on timed rows of the report and of the study; None if there are neither."""
    speeds, rows = report.speeds, [*(report.speeds.rows if report.speeds else ()), *measured.timed]
    by_group = groups(rows)
    by_name = {group: fronts(timed) for group, timed in by_group.items()}
    if not by_name:
        return None
    titles = {column.key: column for column in columns(rows)}
    section = Section(
        "speed",
        "Area against delay",
        "Each point is a netlist of one synthesis script; a format's line joins its points that no other one beats in "
        "both area and delay, and the grey line the best of all formats.",
        note="Areas and delays are medians over the renamings, so that single netlists may be slower than a limit. "
        "At a delay the smaller one of a block built for area and one built for speed (--optimize speed) counts; both "
        "have the same results (docs/fast.md). Timing: "
        f"{listing(sorted({group.how for group in by_name}))}. Delays are through a combinational block, or between "
        "the registers of a pipeline, without their setup and clock-to-output; FO4 is the delay of an inverter that "
        f"drives four inverters. Limits are {listing([number(share) for share in DEADLINES])} times the shortest delay "
        "that all formats reach. The portfolio speed has other scripts than the one that areas are quoted from, and "
        "its cells have sizes: smallest areas differ slightly from those of other pages.",
    )
    if speeds is not None:
        section.note += f" Figures on our own gates: make fast, {speeds.tool}."
        section.command = "make fast"
        section.warn_of_other_tool("The figures on our own gates are", speeds.tool, report.tool)
        names = {row.format for row in rows}
        section.name_missing(report.formats, names, "hwgen area mac --format NAME --target gates --portfolio speed")
    most = max(len(curves) for curves in by_name.values())
    single: list[tuple[object, ...]] = []
    for group, curves in by_name.items():
        column, unit = titles[group.place], group.unit
        alike = [other for other in by_name if other._replace(how=group.how) == group]
        goals = dict.fromkeys(str(row.options.get("optimize", AREA)) for row in by_group[group])
        built = "" if [*goals] == [AREA] else f", built for {' or for '.join(goals)}"
        title = f"{group.block}{built}, {column.title}" + (f" ({group.how})" if len(alike) > 1 else "")
        shown = [value for curve in curves.values() for point in curve for value in point]
        # neither a single format, unless all are single, nor more than a legend has
        if min(most, 2) <= len(curves) <= charts.MOST_NAMES and have_spreads(shown):
            known = measured.eight(curves)
            sentence = headline(known, f"area of {counted(len(known), '8-bit format')}", title, unit) if known else ""
            best = front(point for curve in curves.values() for point in curve)
            axes = (f"delay [{unit}]", column.axis)
            chart = charts.fronts(curves, best, f"Area against delay: {title}", *axes, are_delays=True)
            section.chart_finding(sentence, chart, "" if section.charts else "Speed")
        if len(curves) > 1:
            ordered = dict(sorted(curves.items(), key=lambda item: item[1][-1].area.median))
            caption = f"{title}: the smallest area within a delay"
            section.tables.append(delay_table(caption, ordered, deadlines(curves), unit, column.unit))
            continue
        ((name, curve),) = curves.items()
        ends = ((number(end.area.median), number(end.delay)) for end in (curve[0], curve[-1]))
        single.append((f"{name}, {title}", *(f"{area} {column.unit} at {delay} {unit}" for area, delay in ends)))
    if single:
        section.table("Blocks of a single format", ("block", "fastest", "smallest"), single)
    return section


def deadlines(curves: Mapping[str, Front]) -> list[float]:
    """The delays of :data:`DEADLINES` in the unit of the curves."""
    fastest = max(curve[0].delay for curve in curves.values())
    return [fastest * share for share in DEADLINES]


def headline(curves: Mapping[str, Front], what: str, where: str, unit: str) -> str:
    """A sentence on the name with the least of ``what`` within the shortest delay that all reach; empty if unknown."""
    limit, *_ = deadlines(curves)
    met = {name: point.area for name, curve in curves.items() if (point := at(curve, limit))}
    return smallest_sentence(met, what, f"{where}, within {number(limit)} {unit}")


def delay_table(caption: str, curves: Mapping[str, Front], limits: Sequence[float], unit: str, area: str) -> Table:
    """For each front its shortest delay, and its least figure within each limit; ``area`` is the figures' unit."""

    def within(point: Point | None) -> Cell | None:
        small = f"{point.area.spread} at {number(point.delay)} {unit}" if point else ""
        return point and replace(figure_cell(point.area), small=small)

    head = ("format", f"fastest [{unit}]", *(f"within {number(limit)} {unit} [{area}]" for limit in limits))
    rows = ((name, curve[0].delay, *(within(at(curve, limit)) for limit in limits)) for name, curve in curves.items())
    return table(caption, head, rows)
