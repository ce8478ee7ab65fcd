"""Area against delay: the points that recipes between small and fast lead to, their outer edge, and what it says."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from synth.area.jobs import Row
from synth.area.recipes import SPEED
from synth.report.figures import Figure, counted, figure, listing, number, ranked
from synth.report.measured import Measured
from synth.report.render import plots
from synth.report.render.plots import Mark
from synth.report.sections import Cell, Column, Plot, Section, Table, columns, commands, label, target_key

DEADLINES = (1.0, 1.25, 1.6, 2.7)
"""Delays at which areas are compared, in multiples of the smallest that every format reaches."""


@dataclass(frozen=True)
class Point:
    """A recipe's netlists: delay and area, each a median with its spread."""

    time: Figure
    area: Figure

    @property
    def delay(self) -> float:
        """The median."""
        return self.time.median


Front = Sequence[Point]
"""Points from fast to small, each smaller than all that are faster."""


def front(points: Iterable[Point]) -> Front:
    """The points that no other one beats in both."""
    kept: list[Point] = []
    for point in sorted(points, key=lambda point: (point.delay, point.area.median)):
        if not kept or point.area.median < kept[-1].area.median:
            kept.append(point)
    return kept


def at(curve: Front, deadline: float) -> Point | None:
    """The smallest point that meets a deadline."""
    met = [point for point in curve if point.delay <= deadline * (1 + 1e-9)]
    return met[-1] if met else None


def delay_unit(row: Row) -> str:
    """What a row's delays are told in: FO4 before layout, ns after place and route."""
    return "FO4" if row["delay"] == "delay_fo4" else "ns"


def points(rows: Iterable[Row]) -> list[Point]:
    """The points of one design on one target."""
    return [Point(_time(row), figure(row)) for row in rows if row["recipe"] != "best"]


def _time(row: Row) -> Figure:
    samples = [sample / (1 if delay_unit(row) == "FO4" else 1000) for sample in row["delay_samples"]]
    return Figure(min(samples), median(samples), max(samples), delay_unit(row), samples=len(samples))


def fronts(rows: Iterable[Row]) -> dict[str, Front]:
    """The front of each format, of rows that differ in format and recipe only."""
    by_format: dict[str, list[Row]] = {}
    for row in rows:
        by_format.setdefault(label(row), []).append(row)
    return {name: front(points(found)) for name, found in by_format.items()}


def groups(rows: Iterable[Row]) -> dict[tuple[str, str, str], list[Row]]:
    """Timed rows that compare: by kind of block with the options that are not its format, by target, by how they were timed."""
    found: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if row["portfolio"] == SPEED:
            options = [str(row[key]) for key in ("accumulator", "terms", "from", "rounding", "overflow", "to") if key in row]
            more = {key: row[key] for key in ("lanes", "scale_bits", "flags", "stages", "interleave") if key in row}
            options += [key if value is True else f"{value} {key}" for key, value in more.items()]
            how = f"{row['timer']}, {counted(row['renamings'], 'renaming')} from seed {row['seed']}"
            found.setdefault((" ".join([row["component"], *options]), target_key(row), how), []).append(row)
    return found


def section(measured: Measured) -> Section | None:
    """The report's section; None where nothing was timed."""
    found = groups(measured.timed)
    if not found:
        return None
    titles = {column.key: column for column in columns(row for group in found.values() for row in group)}
    ways = sorted({how for _, _, how in found})
    made = Section(
        "speed", "Area against delay",
        "Each point is a recipe between small and fast (synth/area/recipes.py), cells sized and buffered; a format's line is the edge of "
        f"its points, by medians, and the broad line that of all formats. Delays by {listing(ways)}: of a block alone, or between a "
        "pipeline's registers, in FO4, the delay of an inverter that drives four, or in ns after place and route. Before layout there are "
        "no wires, or those that a library estimates.",
    )  # fmt: skip
    for (block, key, how), group in found.items():
        curves = fronts(group)
        column, unit = titles[key], delay_unit(group[0])
        title = f"{block}, {column.title}" + (f" ({how})" if len(ways) > 1 else "")
        said = sentences(curves, title, unit)
        if len(curves) <= plots.MOST_NAMES:
            edge = _marks(front(point for curve in curves.values() for point in curve))
            drawn = {name: _marks(curve) for name, curve in curves.items()}
            svg = plots.curves(drawn, edge, f"Area against delay: {title}", f"delay [{unit}]", column.axis, measured.styles)
            made.plots.append(Plot(said[0], svg, commands(point.area for curve in curves.values() for point in curve)))
        made.findings += said
        made.tables.append(_table(curves, title, unit, column))
    return made


def _marks(curve: Front) -> list[Mark]:
    return [Mark(point.delay, point.area, point.time) for point in curve]


def deadlines(curves: Mapping[str, Front]) -> list[float]:
    """Delays at which all formats can be compared."""
    fastest = max(curve[0].delay for curve in curves.values())
    return [fastest * share for share in DEADLINES]


def sentences(curves: Mapping[str, Front], where: str, unit: str) -> list[str]:
    """Which format is the cheapest at which speed."""
    said = []
    if len(curves) > 1:
        for deadline in deadlines(curves):
            met = {name: point.area for name, curve in curves.items() if (point := at(curve, deadline))}
            order = sorted(met, key=lambda name: met[name].median)
            best = met[order[0]]
            ties = [name for name in order[1:] if not met[name].differs(best)]
            same = f", no different from {listing(ties)}" if ties else ""
            said.append(f"{where}, within {number(deadline)} {unit}: the cheapest is {order[0]} ({number(best.median)}){same}.")
    times = {name: curve[0].time for name, curve in curves.items()}
    quickest = ranked(times)
    ties = [name for name in quickest[1:] if not times[name].differs(times[quickest[0]])]
    first = times[quickest[0]]
    sentence = f"{where}: the fastest is {quickest[0]} with {number(first.median)} {unit}"
    if ties:
        sentence += f", no different from {listing(ties)}"
    if quickest[-1] not in (quickest[0], *ties):
        sentence += f"; the slowest is {quickest[-1]} with {number(times[quickest[-1]].median)}"
    said.append(sentence + ".")
    return said


def _table(curves: Mapping[str, Front], title: str, unit: str, column: Column) -> Table:
    limits = deadlines(curves)
    head = ("format", f"fastest [{unit}]", *(f"within {number(limit)} {unit} [{column.unit}]" for limit in limits))

    def cell(point: Point | None) -> Cell:
        if point is None:
            return Cell("–")
        small = f"{point.area.spread} at {number(point.delay)} {unit}"
        return Cell(number(point.area.median), small, point.area.source, point.area.median)

    order = sorted(curves, key=lambda name: curves[name][-1].area.median)
    body = []
    for name in order:
        delay = curves[name][0].delay
        body.append((Cell(name), Cell(number(delay), value=delay), *(cell(at(curves[name], limit)) for limit in limits)))
    return Table(f"{title}: the smallest area within a delay", head, tuple(body))
