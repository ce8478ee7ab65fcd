"""The chapter on area against delay: each recipe is a point, each format the front of its points."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from hwgen.datapath.goal import AREA
from synth.area import figures
from synth.area.figures import Figure, comparable, counted, listing, number, smallest_sentence
from synth.area.rows import Row
from synth.report import charts
from synth.report.data import Report
from synth.report.measured import EIGHT, Measured, columns, figure
from synth.report.plan import PAIR, STUDIED
from synth.report.sections import Cell, Section
from synth.studies import energies as study

LIMITS = "Limits"
"""Subject of findings on limits of a delay."""
_STATED = 20, 40, 80, 160
"""Limits in FO4 at which ratios are stated."""


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


def within(curve: Front, deadline: float) -> Point | None:
    """The smallest point within a delay; delays have spreads, too: its area's has those of all that may be this one."""
    if (point := at(curve, deadline)) is None:
        return None
    limit = deadline * (1 + 1e-9)
    sure = [place for place, known in enumerate(curve) if known.time.high <= limit]
    areas = [known.area for known in curve[max(sure, default=0) :] if known.time.low <= limit]
    low, high = min(area.low for area in areas), max(area.high for area in areas)
    return point._replace(area=replace(point.area, low=low, high=high))


def points(rows: Iterable[Row]) -> list[Point]:
    """The points of one design on one target."""
    timed = ((row.timing, row) for row in rows if not row.is_best)
    return [Point(Figure.of(timing.delays, timing.unit), figure(row)) for timing, row in timed if timing is not None]


def energies(rows: Iterable[Row], timed: Iterable[Row]) -> list[Point]:
    """Delays and energies; spreads of delays are those of the same netlists among ``timed`` rows, if they are known."""
    delays = {(row.name, row.recipe): Figure.of(row.timing.delays, "FO4") for row in timed if row.timing}
    known = (row for row in rows if "delay_fo4" in row.medians)
    return [Point(delays.get((row.name, row.recipe)) or study.delay(row), figure(row)) for row in known]


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
            how = f"{row.timing.source}, {row.tool}, {counted(row.renamings, 'renaming')} from seed {row.seed}"
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
        "Of blocks built for area and for speed (--optimize speed), which have the same results (docs/fast.md), the "
        f"smaller one counts. Timing: {listing(sorted({group.how for group in by_name}))}; without setup and "
        "clock-to-output of registers. FO4 is the delay of an inverter that drives four. The portfolio speed has other "
        "scripts than the one of other pages, and its cells have sizes: smallest areas differ.",
    )
    if speeds is not None:
        section.note += f" Figures on our own gates: make fast, {speeds.tool}."
        section.command = "make fast"
        section.warn_of_other_tool("The figures on our own gates are", speeds.tool, report.tool)
        names = {row.format for row in rows}
        section.name_missing(report.formats, names, "hwgen area mac --format NAME --target gates --portfolio speed")
    most = max(len(curves) for curves in by_name.values())
    body: list[tuple[object, ...]] = []
    for group, curves in by_name.items():
        column, unit = titles[group.place], group.unit
        alike = [other for other in by_name if other._replace(how=group.how) == group]
        goals = dict.fromkeys(str(row.options.get("optimize", AREA)) for row in by_group[group])
        built = "" if [*goals] == [AREA] else f", built for {' or for '.join(goals)}"
        where = column.title + (f" ({group.how})" if len(alike) > 1 else "")
        title = f"{group.block}{built}, {where}"
        shown = [value for curve in curves.values() for point in curve for value in point]
        # neither a single format, unless all are single, nor more than a legend has
        if min(most, 2) <= len(curves) <= charts.MOST_NAMES and comparable(shown):
            known = measured.eight(curves)
            sentence = headline(known, "area", title, unit, EIGHT) if known else ""
            best = front(point for curve in curves.values() for point in curve)
            axes = (f"delay [{unit}]", column.axis)
            chart = charts.fronts(curves, best, f"Area against delay: {title}", *axes, are_delays=True)
            section.chart(chart, sentence, "" if section.charts else "Speed")
            if unit == "FO4":
                against(section, curves, f"area of a {group.block}", where)
        body += [ends(f"{name}, {title}", curve, unit, column.unit) for name, curve in curves.items()]
    section.table("The ends of each curve", ("block", *ENDS), body)
    return section


def against(section: Section, curves: Mapping[str, Front], what: str, where: str) -> None:
    """Add the chart of what :data:`STUDIED` needs against :data:`PAIR` over all limits, if both have spreads."""
    known = [curves.get(name, ()) for name in (STUDIED, PAIR)]
    if not all(known) or not comparable(point.area for curve in known for point in curve):
        return
    delays = [point.delay for curve in known for point in curve]
    limits = sorted({*delays, *(limit for limit in _STATED if limit <= max(delays))})
    met = ((limit, within(known[0], limit), within(known[1], limit)) for limit in limits)
    every = [(limit, unit.area, base.area) for limit, unit, base in met if unit and base]
    texts = []
    for limit, unit, base in [each for each in every if each[0] in _STATED] or every[:1]:
        least, _, most = figures.ratio(unit, base)
        texts.append(f"{figures.compared(unit, base)} ({least - 1:+.1%} to {most - 1:+.1%}) within {number(limit)} FO4")
    text = f"{where}, {what}: {STUDIED} against {PAIR} {listing(texts)}."
    points = [(Figure.exact(limit), Figure(*figures.ratio(unit, base))) for limit, unit, base in every]
    title, axes = f"{STUDIED} against {PAIR} over the limit: {what}, {where}", ("limit [FO4]", f"ratio to {PAIR}")
    even = [(x, Figure.exact(1)) for x, _ in points]
    chart = charts.fronts({STUDIED: points}, even, title, *axes, edge_name="equal", are_delays=True)
    section.chart(chart, text, LIMITS)


def headline(curves: Mapping[str, Front], what: str, where: str, unit: str, of: str) -> str:
    """A sentence on the name with the least of ``what`` within the shortest delay that all reach; empty if unknown."""
    limit = max(curve[0].delay for curve in curves.values())
    met = {name: point.area for name, curve in curves.items() if (point := within(curve, limit))}
    return smallest_sentence(met, what, f"{where}, within {number(limit)} {unit}, which all of them reach", of)


def ends(name: str, curve: Front, unit: str, area: str) -> tuple[object, ...]:
    """The row of a front: its fastest and its smallest point, with the spreads of both."""
    points = ((point.area, number(point.delay)) for point in (curve[0], curve[-1]))
    return (name, *(Cell(f"{number(each.median)} {area} at {delay} {unit}", each.spread) for each, delay in points))


ENDS = ("fastest", "least")
