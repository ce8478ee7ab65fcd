"""The chapter on area against delay: each recipe is a point, each format the front of its points."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from hwgen.datapath.goal import AREA, GOALS, SPEED
from synth.area.rows import Row
from synth.report import figures
from synth.report.figures import Figure, counted, have_spreads, listing, number, smallest_sentence
from synth.report.measured import columns, figure
from synth.report.render import plots
from synth.report.sections import Cell, Section, Table, table
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
    """The front of each format; the rows must differ in format and recipe only."""
    by_format: dict[str, list[Row]] = {}
    for row in rows:
        by_format.setdefault(row.operands, []).append(row)
    return {name: front(points(group)) for name, group in by_format.items()}


class Group(NamedTuple):
    """What comparable timed rows share: the block except its format, the target, and the timing method."""

    block: str
    goal: str
    """What the block is built for."""
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
            goal = str(row.options.get("optimize", AREA))
            by_group.setdefault(Group(_block(row), goal, row.place, how, row.timing.unit), []).append(row)
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
        "grey line joins the best points of all formats. Areas and delays are medians over the renamings, so that "
        "single netlists may be slower than a limit. Blocks built for speed (--optimize speed) have the same results "
        f"(docs/fast.md). Timing: {listing(ways)}. Delays are through a combinational block, or between the registers "
        "of a pipeline, without their setup and clock-to-output. FO4 is the delay of an inverter that drives four "
        "inverters. Before layout, wires have no delay, or the one that a library estimates. Limits are "
        f"{listing([number(share) for share in DEADLINES])} times the shortest delay that all formats reach. The "
        "portfolio has other recipes than the one that areas are quoted from, and its cells have sizes: smallest areas "
        "differ slightly from those of other chapters.",
    )
    if speeds is not None:
        section.intro += (
            " Figures on our own gates are those of synth/report/speeds.json, which make fast writes; this report did "
            f"not measure them again. Tool: {speeds.tool}."
        )
        section.warn_of_other_tool("The figures on our own gates are", speeds.tool, tool, "make fast")
    by_name = {group: fronts(timed) for group, timed in by_group.items()}
    most = max(len(curves) for curves in by_name.values())
    drawn = [group for group, curves in by_name.items() if is_drawn(curves, most)]
    compared: list[tuple[object, ...]] = []
    for group, curves in by_name.items():
        column, unit = titles[group.place], group.unit
        alike = [other for other in by_name if other._replace(how=group.how) == group]
        both = {other.goal for other in by_name if other._replace(goal=group.goal) == group} | {AREA}
        goal = f", built for {group.goal}" if len(both) > 1 else ""
        title = f"{group.block}{goal}, {column.title}" + (f" ({group.how})" if len(alike) > 1 else "")
        sentence = headline(curves, f"area of {counted(len(curves), 'format')}", title, unit)
        if group in drawn:
            best = front(point for curve in curves.values() for point in curve)
            axes = (f"delay [{unit}]", column.axis)
            section.plot(sentence, plots.fronts(curves, best, f"Area against delay: {title}", *axes))
        subject = "Speed" if group in drawn[:2] else ""  # one of each goal
        section.find(sentence, subject, is_caption=group in drawn)
        ordered = dict(sorted(curves.items(), key=lambda item: item[1][-1].area.median))
        caption = f"{title}: the smallest area within a delay"
        section.tables.append(delay_table(caption, ordered, deadlines(curves), unit, column.unit))
        if group.goal != AREA:
            small = by_name.get(group._replace(goal=AREA), {})
            compared += both_goals(f"{group.block}, {column.title}, ", small, curves, unit)
    if compared:
        section.table("Built for area, and for speed: delays within which one is smaller", BOTH_GOALS, compared)
    return section


def is_drawn(curves: Mapping[str, Front], most: int) -> bool:
    """Whether curves get a plot: single formats beside others, where ``most`` are in one group, and many do not."""
    points = (value for curve in curves.values() for point in curve for value in point)
    return min(most, 2) <= len(curves) <= plots.MOST_NAMES and have_spreads(points)


BOTH_GOALS = ("", *(f"{what}built for {goal}" for what in ("shortest delay, ", "") for goal in GOALS))
"""The head of a table of :func:`both_goals`."""


def both_goals(
    prefix: str, small: Mapping[str, Front], fast: Mapping[str, Front], unit: str
) -> Iterator[tuple[object, ...]]:
    """For each name with a front built for area, ``small``, and one built for speed: their shortest delays, and the
    delays within which one is better than the other beyond the spreads.
    """
    for name in (name for name in fast if name in small):
        pair = small[name], fast[name]
        if have_spreads(value for curve in pair for point in curve for value in point):
            shortest = (Cell(f"{number(curve[0].delay)} {unit}", value=curve[0].delay) for curve in pair)
            yield f"{prefix}{name}", *shortest, *(better_within(*pair, goal, unit) for goal in GOALS)


def better_within(small: Front, fast: Front, goal: str, unit: str) -> str:
    """E.g. ``60 to 90 FO4, from 120 FO4``: the limits within which the one that is built for a goal is better."""
    reached = max(small[0].delay, fast[0].delay)
    limits = sorted({point.delay for point in (*small, *fast) if point.delay >= reached})
    runs = [(best, next(group)) for best, group in groupby(limits, lambda limit: _better(small, fast, limit))]
    ends = [f"{number(start)} to {number(end)} {unit}" for (_, start), (_, end) in pairwise(runs)]
    spans = [*ends, f"from {number(runs[-1][1])} {unit}"]
    return ", ".join(span for span, (best, _) in zip(spans, runs, strict=True) if best == goal) or "–"


def _better(small: Front, fast: Front, limit: float) -> str | None:
    """What the better block within a delay is built for; None if the spreads overlap."""
    one, other = (point.area for curve in (small, fast) if (point := at(curve, limit)))
    return AREA if one.below(other) else SPEED if other.below(one) else None


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
        if point is None:
            return None
        value = point.area
        return Cell(number(value.median), f"{value.spread} at {number(point.delay)} {unit}", value.source, value.median)

    head = ("format", f"fastest [{unit}]", *(f"within {number(limit)} {unit} [{area}]" for limit in limits))
    rows = ((name, curve[0].delay, *(within(at(curve, limit)) for limit in limits)) for name, curve in curves.items())
    return table(caption, head, rows)
