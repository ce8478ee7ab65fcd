"""The report's plots: from figures to pictures with title, units and spreads."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.ticker import PercentFormatter

from synth.report.figures import Figure, compared, number, ranked
from synth.report.plan import FORMATS
from synth.report.render.svg import sheet
from synth.report.sections import Picture

_EN = "\N{EN SPACE}"
_PALE = "0.87"
"""Grey of what lies behind the figures."""
_MARKERS = "osD^v<>"
MOST_NAMES = 12
"""Formats that a plot of points can distinguish."""

Looks = Mapping[str, Mapping[str, Any]]
"""Colour and marker of each format's points."""


def looks(names: Iterable[str]) -> Looks:
    """Looks of formats: those of the default report have the same in every report."""
    order = dict.fromkeys((*FORMATS, *names))
    return {name: {"color": f"C{place}", "marker": _MARKERS[place % len(_MARKERS)]} for place, name in enumerate(order)}


def bars(figures: Mapping[str, Figure], title: str, unit: str) -> Picture:
    """Bars, smallest on top, with their spreads; a band marks the spread of the smallest, which the others are compared
    with.
    """
    order = ranked(figures)
    smallest = figures[order[0]]
    with sheet(title, 1.1 + 0.22 * len(order)) as drawn:
        drawn.axes.axvspan(smallest.low, smallest.high, color=_PALE)
        words = []
        for value in (figures[name] for name in order):
            share = compared(value, smallest) if value.differs(smallest) else "≈"
            words.append(f"{number(value.median)}{_EN}{'' if value == smallest else share}")
        boxes = _bars(drawn.axes, range(len(order)), [figures[name] for name in order])
        drawn.axes.bar_label(boxes, words, padding=5)
        _rows(drawn.axes, order, unit)
    return drawn.picture


def _bars(axes: Axes, places: Sequence[float], figures: Sequence[Figure], **look: Any) -> BarContainer:
    return axes.barh(places, [value.median for value in figures], xerr=_errors(figures), **{"height": 0.7, **look})


def _errors(figures: Sequence[Figure]) -> list[list[float]]:
    """How far spreads go below and above medians."""
    return [[value.median - value.low for value in figures], [value.high - value.median for value in figures]]


def _rows(axes: Axes, names: Sequence[str], label: str, room: float = 0.38) -> None:
    """Named rows from top to bottom, a share of room for words right of them, and the label of the axis."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.margins(x=room)
    axes.set_xlabel(label)
    axes.grid(visible=False, axis="y")


class Stack(NamedTuple):
    """Two parts, and the whole where it was measured."""

    first: Figure
    second: Figure
    whole: Figure | None = None


def stacks(by_name: Mapping[str, Stack], parts: tuple[str, str, str], title: str, unit: str) -> Picture:
    """Bars of two parts, each with its spread, and a stroke at the whole; ``parts`` name first, second and whole."""
    order = sorted(by_name, key=lambda name: by_name[name].first.median + by_name[name].second.median)
    stacked, places = [by_name[name] for name in order], range(len(order))
    with sheet(title, 1.6 + 0.22 * len(order)) as drawn:
        _bars(drawn.axes, places, [stack.first for stack in stacked], label=parts[0])
        starts = [stack.first.median for stack in stacked]
        boxes = _bars(drawn.axes, places, [stack.second for stack in stacked], left=starts, label=parts[1])
        sums = [f"{number(stack.first.median)} + {number(stack.second.median)}" for stack in stacked]
        drawn.axes.bar_label(boxes, sums, padding=12)
        wholes = [(stack.whole.median, place) for place, stack in enumerate(stacked) if stack.whole is not None]
        if wholes:
            drawn.axes.plot(*zip(*wholes, strict=True), "k|", markersize=13, markeredgewidth=2, label=parts[2])
        _rows(drawn.axes, order, unit)
        drawn.legend(3)
    return drawn.picture


def groups(series: Mapping[str, Mapping[str, Figure]], title: str, label: str) -> Picture:
    """Rows with a bar for each series, all of them in one unit."""
    rows = list(dict.fromkeys(row for values in series.values() for row in values))
    height = 0.8 / len(series)
    with sheet(title, 1.5 + 0.18 * len(rows) * len(series)) as drawn:
        for index, (name, values) in enumerate(series.items()):
            places = [rows.index(row) + (index - (len(series) - 1) / 2) * height for row in values]
            boxes = _bars(drawn.axes, places, list(values.values()), height=0.9 * height, label=name)
            drawn.axes.bar_label(boxes, [number(value.median) for value in values.values()], padding=5)
        _rows(drawn.axes, rows, label, 0.2)
        drawn.legend(3)
    return drawn.picture


def ranges(columns: Mapping[str, Mapping[str, Figure]], title: str, label: str) -> Picture:
    """How much more than the smallest each format takes: a point for every column, and a line from least to most."""
    shares: dict[str, dict[str, float]] = {}
    for where, figures in columns.items():
        least = figures[ranked(figures)[0]].median
        for name, value in figures.items():
            shares.setdefault(name, {})[where] = value.median / least - 1
    order = sorted(shares, key=lambda name: median(shares[name].values()))
    with sheet(title, 1.6 + 0.22 * len(order)) as drawn:
        ends = [(min(shares[name].values()), max(shares[name].values())) for name in order]
        drawn.axes.hlines(range(len(order)), *zip(*ends, strict=True), color=_PALE, linewidth=4)
        for marker, where in zip(_MARKERS * len(columns), columns, strict=False):
            points = [(shares[name][where], place) for place, name in enumerate(order) if where in shares[name]]
            drawn.axes.plot(*zip(*points, strict=True), marker, markersize=5, label=where)
        _rows(drawn.axes, order, label, 0.05)
        drawn.axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        drawn.legend(5)
    return drawn.picture


class Mark(NamedTuple):
    """A point: where it lies across, with its spread where it has one, and the figure upwards."""

    x: float
    y: Figure
    across: Figure | None = None


def _marks(axes: Axes, marks: Sequence[Mark], **look: Any) -> None:
    spreads = [mark.across or Figure(mark.x, mark.x, mark.x) for mark in marks]
    errors: Any = {"xerr": _errors(spreads), "yerr": _errors([mark.y for mark in marks]), "capsize": 0}
    look |= {"markeredgecolor": "black", "markeredgewidth": 0.5}
    axes.errorbar([mark.x for mark in marks], [mark.y.median for mark in marks], **errors, **look)


def _edge(axes: Axes, edge: Sequence[Mark], where: Any) -> None:
    """A broad step through the points that no other one beats in both."""
    xs, ys = [mark.x for mark in edge], [mark.y.median for mark in edge]
    axes.step(xs, ys, where=where, color=_PALE, linewidth=7, label="best of all formats")


def curves(
    series: Mapping[str, Sequence[Mark]], edge: Sequence[Mark], title: str, label: str, unit: str, looks: Looks
) -> Picture:
    """The area that a delay needs: steps through each format's points from fast to small, over the ``edge`` of all
    formats.
    """
    with sheet(title, 3.7 + 0.1 * len(series)) as drawn:
        _edge(drawn.axes, edge, "post")
        for name, marks in series.items():
            _marks(drawn.axes, marks, drawstyle="steps-post", linewidth=1.1, markersize=4, label=name, **looks[name])
        drawn.axes.set(xlabel=label, ylabel=unit)
        drawn.legend(2)
    return drawn.picture


def scatter(
    points: Mapping[str, Mark], edge: Collection[str], title: str, label: str, unit: str, looks: Looks
) -> Picture:
    """A point for each format; those on the ``edge``, which no other beats in both, are joined; of many only these are
    named.
    """
    with sheet(title, 3.6) as drawn:
        _edge(drawn.axes, sorted((points[name] for name in edge), key=lambda mark: mark.x), "pre")
        for name in sorted(points, key=lambda name: -points[name].y.median):
            is_named = len(points) <= MOST_NAMES or name in edge
            look = {"label": name, **looks[name]} if is_named else {"color": "0.6", "marker": "."}
            _marks(drawn.axes, [points[name]], linestyle="", **look)
        drawn.axes.set(xlabel=label, ylabel=unit)
        drawn.axes.margins(x=0.15)
        drawn.axes.figure.legend(loc="outside right upper")
    return drawn.picture


def slopes(series: Mapping[str, Mapping[str, float]], title: str, label: str) -> Picture:
    """Lines over the same formats; the first one, the reference, is drawn heavy."""
    with sheet(title, 3.8) as drawn:
        for place, (name, values) in enumerate(series.items()):
            look: Any = {} if place else {"color": "black", "linewidth": 3}
            drawn.axes.plot(list(values), list(values.values()), marker="o", label=name, **look)
        drawn.axes.set_ylabel(label)
        drawn.axes.set_ylim(bottom=0)
        drawn.legend(3)
    return drawn.picture
