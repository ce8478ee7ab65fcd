"""The chapter on area against delay: each recipe is a point, each format the front of its points."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from synth.area.rows import Row, Timing
from synth.report.columns import Column, columns
from synth.report.figures import Figure, counted, listing, number, smallest, ties_clause
from synth.report.measured import figure
from synth.report.plan import OPTIONAL
from synth.report.render import plots
from synth.report.sections import Cell, Finding, Plot, Section, Table, commands, other_tool
from synth.report.speeds import Speeds

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
    kept: list[Point] = []
    for point in sorted(points, key=lambda point: (point.delay, point.area.median)):
        if not kept or point.area.median < kept[-1].area.median:
            kept.append(point)
    return kept


def at(curve: Front, deadline: float) -> Point | None:
    """The smallest point within a delay."""
    met = [point for point in curve if point.delay <= deadline * (1 + 1e-9)]
    return met[-1] if met else None


def points(rows: Iterable[Row]) -> list[Point]:
    """The points of one design on one target."""
    return [Point(_time(row.timing), figure(row)) for row in rows if row.timing is not None and not row.is_best]


def _time(timing: Timing) -> Figure:
    delays = timing.delays
    return Figure(min(delays), median(delays), max(delays), timing.unit, samples=len(delays))


def fronts(rows: Iterable[Row]) -> dict[str, Front]:
    """The front of each format; the rows must differ in format and recipe only."""
    by_format: dict[str, list[Row]] = {}
    for row in rows:
        by_format.setdefault(row.operands, []).append(row)
    return {name: front(points(group)) for name, group in by_format.items()}


class Group(NamedTuple):
    """What comparable timed rows share: the block except its format, the target, and the timing method."""

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
    """Name of a block: the values of the options that plain blocks have, then the other options by name."""
    options = {name: value for name, value in row.options.items() if name not in ("format", "format_b")}
    choices = [str(value) for name, value in options.items() if name not in OPTIONAL]
    others = [name if value is True else f"{value} {name}" for name, value in options.items() if name in OPTIONAL]
    return " ".join([row.component, *choices, *others])


def section(rows: Sequence[Row], speeds: Speeds | None, tool: str) -> Section | None:
    """The section on timed rows of the report and of the study; None if there are neither.

    ``tool`` made the netlists of the other sections.
    """
    by_group = groups([*(speeds.rows if speeds else ()), *rows])
    if not by_group:
        return None
    titles = {column.key: column for column in columns(row for timed in by_group.values() for row in timed)}
    ways = sorted({group.how for group in by_group})
    section = Section(
        "speed",
        "Area against delay",
        "Each point is one recipe of the portfolio speed, a set of recipes for small to fast netlists "
        "(synth/area/recipes.py). A format's line joins its points that no other one beats in both area and delay; the "
        f"grey line joins the best points of all formats. Timing: {listing(ways)}. Delays are through a combinational "
        "block, or between the registers of a pipeline. Their unit is FO4, the delay of an inverter that drives four "
        "inverters, or ns after place and route. Before layout, wires have no delay, or the one that a library "
        "estimates.",
    )
    if speeds is not None:
        section.intro += (
            " MACs on our own gates were not measured with this report: make fast measures them and writes a file of "
            f"the program. Tool: {speeds.tool}."
        )
        section.findings += other_tool("The MACs on our own gates are", speeds.tool, tool, "make fast")
    by_name = {group: fronts(timed) for group, timed in by_group.items()}
    most = max(len(curves) for curves in by_name.values())
    for group, curves in by_name.items():
        column, unit = titles[group.place], group.unit
        title = f"{group.block}, {column.title}" + (f" ({group.how})" if len(ways) > 1 else "")
        first, *others = sentences(curves, title, unit)
        is_drawn = min(most, 2) <= len(curves) <= plots.MOST_NAMES  # no plots of single formats beside others
        if is_drawn:
            points = [point for curve in curves.values() for point in curve]
            axes = (f"delay [{unit}]", column.axis)
            picture = plots.curves(curves, front(points), f"Area against delay: {title}", *axes)
            section.plots.append(Plot(first, picture, commands(point.area for point in points)))
        section.findings += [
            Finding(first, group.place, is_drawn),
            *(Finding(sentence, group.place) for sentence in others),
        ]
        section.tables.append(_table(curves, title, unit, column))
    section.findings += crossings(by_name, lambda place: titles[place].title)
    return section


_FAST = " speed optimize"
"""What the name of a group has for blocks that are built for speed."""


def crossings(curves: Mapping[Group, Mapping[str, Front]], where: Callable[[str], str]) -> list[Finding]:
    """Where a block is smaller if it is built for speed, and where if it is built for area.

    ``where`` returns the title of a place.
    """
    found = []
    for group, fast in curves.items():
        small = curves.get(group._replace(block=group.block.replace(_FAST, "")))
        if _FAST not in group.block or small is None:
            continue
        title = f"{group.block.replace(_FAST, '')}, {where(group.place)}"
        for name in (name for name in fast if name in small):
            text = f"{title}: {name} {_crossing(small[name], fast[name], group.unit)}."
            found.append(Finding(text, group.place))
    return found


def _crossing(small: Front, fast: Front, unit: str) -> str:
    """A phrase on the fronts of a block that is built for area, and of one that is built for speed."""
    limits = sorted(point.delay for point in (*small, *fast))
    times = f"{number(fast[0].delay)} against {number(small[0].delay)} {unit}"
    faster = [limit for limit in limits if _area(fast, limit) < _area(small, limit)]
    if not faster:
        return f"is smallest at every delay if it is built for area (fastest: {times})"
    better = [limit for limit in limits if limit > faster[-1]]
    if not better:
        return f"is smallest at every delay if it is built for speed (fastest: {times})"
    bound = f"{number(better[0])} {unit}"
    return f"is smaller built for speed below {bound} (fastest: {times}), and built for area from there on"


def _area(curve: Front, limit: float) -> float:
    point = at(curve, limit)
    return float("inf") if point is None else point.area.median


def deadlines(curves: Mapping[str, Front]) -> list[float]:
    """The delays of :data:`DEADLINES` in the unit of the curves."""
    fastest = max(curve[0].delay for curve in curves.values())
    return [fastest * share for share in DEADLINES]


def sentences(curves: Mapping[str, Front], where: str, unit: str) -> list[str]:
    """The smallest format within each delay, and the fastest format; of a single format the ends of its front."""
    if len(curves) == 1:
        ((name, curve),) = curves.items()
        ends = [f"{number(point.area.median)} {point.area.unit} at {number(point.delay)} {unit}" for point in curve]
        return [f"{where}: {name} has {listing([*dict.fromkeys((ends[0], ends[-1]))])}."]
    texts = []
    for deadline in deadlines(curves):
        met = {name: point.area for name, curve in curves.items() if (point := at(curve, deadline))}
        best, ties, _ = smallest(met)
        size = f"{number(met[best].median)} {met[best].unit}"
        texts.append(f"{where}, within {number(deadline)} {unit}: {best} is smallest ({size}){ties_clause(ties)}.")
    times = {name: curve[0].time for name, curve in curves.items()}
    first, ties, last = smallest(times)
    slowest = f"; {last} is slowest ({number(times[last].median)} {unit})" if last else ""
    delay = f"{number(times[first].median)} {unit}"
    return [*texts, f"{where}: {first} is fastest ({delay}){ties_clause(ties)}{slowest}."]


def _table(curves: Mapping[str, Front], title: str, unit: str, column: Column) -> Table:
    limits = deadlines(curves)
    head = ("format", f"fastest [{unit}]", *(f"within {number(limit)} {unit} [{column.unit}]" for limit in limits))
    body = []
    for name, curve in sorted(curves.items(), key=lambda item: item[1][-1].area.median):
        areas = [_cell(at(curve, limit), unit) for limit in limits]
        body.append((Cell(name), Cell(number(curve[0].delay), value=curve[0].delay), *areas))
    return Table(f"{title}: the smallest area within a delay", head, tuple(body))


def _cell(point: Point | None, unit: str) -> Cell:
    if point is None:
        return Cell("–")
    small = f"{point.area.spread} at {number(point.delay)} {unit}"
    return Cell(number(point.area.median), small, point.area.source, point.area.median)
