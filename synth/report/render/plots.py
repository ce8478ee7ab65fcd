"""The report's plots: from figures to SVG, each with title, units, spreads and direct labels instead of a legend."""

from collections.abc import Collection, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from matplotlib.container import BarContainer
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from synth.report.figures import Figure, compared, number, ranked
from synth.report.render.labels import name_points
from synth.report.render.palette import SERIES, Style
from synth.report.render.svg import CARD, INK, LINE, SOFT, Sheet, sheet

Styles = Mapping[str, Style]

_SPREAD: Any = {"ecolor": INK, "capsize": 3, "error_kw": {"elinewidth": 1.3, "capthick": 1.3}}
_EN = "\N{EN SPACE}"
_FAINT = 0.45
"""Opacity of what is the second of two things in one colour."""


def bars(figures: Mapping[str, Figure], title: str, unit: str, styles: Styles) -> str:
    """Bars, smallest on top, with their spreads; a band marks the spread of the smallest, which the others are compared
    with.
    """
    order = ranked(figures)
    smallest = figures[order[0]]
    with sheet(title, 0.55 + 0.25 * len(order)) as drawn:
        drawn.axes.axvspan(smallest.low, smallest.high, color=LINE, linewidth=0)
        values = [figures[name] for name in order]
        boxes = _bars(drawn, range(len(order)), values, [styles[name].colour for name in order])
        words = []
        for value in values:
            share = compared(value, smallest) if value.differs(smallest) else "≈"
            words.append(f"{number(value.median)}{_EN}{'' if value == smallest else share}")
        drawn.axes.bar_label(boxes, words, padding=5, fontsize=8.5)
        _rows(drawn, order, unit)
    return drawn.svg


def _bars(
    drawn: Sheet, places: Sequence[float], figures: Sequence[Figure], colours: str | Sequence[str], **more: Any
) -> BarContainer:
    medians = [value.median for value in figures]
    return drawn.axes.barh(places, medians, xerr=_errors(figures), color=colours, **{"height": 0.7, **_SPREAD, **more})


def _errors(figures: Sequence[Figure]) -> list[list[float]]:
    """How far spreads go below and above medians."""
    return [[value.median - value.low for value in figures], [value.high - value.median for value in figures]]


def _rows(drawn: Sheet, names: Sequence[str], label: str) -> None:
    """Named rows from top to bottom, room for words right of them, and the label of the axis."""
    drawn.axes.set_yticks(range(len(names)), names, color=INK)
    drawn.axes.set_ylim(len(names) - 0.4, -0.6)
    drawn.axes.margins(x=0.38)
    drawn.axes.set_xlabel(label)
    drawn.axes.grid(visible=False, axis="y")
    drawn.axes.spines["left"].set_visible(False)


class Stack(NamedTuple):
    """Two parts, and the whole that they are of, where it was measured."""

    first: Figure
    second: Figure
    whole: Figure | None = None


def stacks(by_name: Mapping[str, Stack], parts: tuple[str, str, str], title: str, unit: str, styles: Styles) -> str:
    """Bars of two parts, each with its spread, and a stroke at the whole; ``parts`` name first, second and whole."""
    order = sorted(by_name, key=lambda name: by_name[name].first.median + by_name[name].second.median)
    ones, colours, places = (
        [by_name[name] for name in order],
        [styles[name].colour for name in order],
        range(len(order)),
    )
    with sheet(title, 0.85 + 0.25 * len(order)) as drawn:
        starts = [one.first.median for one in ones]
        _bars(drawn, places, [one.first for one in ones], colours)
        faint = _bars(drawn, places, [one.second for one in ones], colours, left=starts, alpha=_FAINT)
        sums = [f"{number(one.first.median)} + {number(one.second.median)}" for one in ones]
        drawn.axes.bar_label(faint, sums, padding=8, fontsize=8.5)
        wholes = [(one.whole.median, place) for place, one in enumerate(ones) if one.whole is not None]
        if wholes:
            drawn.axes.plot(*zip(*wholes, strict=True), **_WHOLE)
        _rows(drawn, order, unit)
        marks = [Patch(color=SOFT), Patch(color=SOFT, alpha=_FAINT), Line2D([], [], **_WHOLE)]
        drawn.canvas.legend(marks, parts, loc="outside lower center", ncols=3)
    return drawn.svg


_WHOLE: Any = {"color": INK, "marker": "|", "markersize": 13, "markeredgewidth": 2, "linestyle": ""}


def pairs(
    groups: Mapping[str, tuple[Figure, Figure]], names: tuple[str, str], title: str, label: str, colour: str
) -> str:
    """Pairs of bars, each scaled to its first one: for comparisons across units."""
    with sheet(title, 0.85 + 0.42 * len(groups)) as drawn:
        marks: list[Patch] = []
        for index, (shift, alpha) in enumerate(((-0.2, _FAINT), (0.2, 1.0))):
            values = [pair[index] for pair in groups.values()]
            bases = [pair[0].median for pair in groups.values()]
            scaled = [
                Figure(one.low / base, one.median / base, one.high / base)
                for one, base in zip(values, bases, strict=True)
            ]
            boxes = _bars(
                drawn, [place + shift for place in range(len(groups))], scaled, colour, height=0.36, alpha=alpha
            )
            drawn.axes.bar_label(boxes, [number(one.median) for one in values], padding=5, fontsize=8.5)
            marks.append(Patch(color=colour, alpha=alpha))
        _rows(drawn, list(groups), label)
        drawn.canvas.legend(marks, names, loc="outside lower center", ncols=2)
    return drawn.svg


def ranges(columns: Mapping[str, Mapping[str, Figure]], title: str, label: str, styles: Styles) -> str:
    """How much more than the smallest each format takes: a point for every column, and a line from least to most."""
    shares: dict[str, list[float]] = {}
    for figures in columns.values():
        least = figures[ranked(figures)[0]].median
        for name, value in figures.items():
            shares.setdefault(name, []).append(100 * (value.median / least - 1) if least else 0.0)
    order = sorted(shares, key=lambda name: median(shares[name]))
    with sheet(title, 0.55 + 0.25 * len(order)) as drawn:
        for place, name in enumerate(order):
            points, style = shares[name], styles[name]
            least, most = min(points), max(points)
            line = drawn.axes.barh(
                place, max(most - least, 0.01), left=least, height=0.18, color=style.colour, alpha=_FAINT
            )
            drawn.axes.plot(
                points, [place] * len(points), style.marker, color=style.colour, markersize=6, markeredgecolor=CARD
            )
            edges = [f"{edge:+.0f}%" if round(edge) else "0%" for edge in (least, most)]
            drawn.axes.bar_label(line, [" to ".join(dict.fromkeys(edges))], padding=7, fontsize=8.5)
        _rows(drawn, order, label)
        drawn.axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0f}%")
    return drawn.svg


MOST_NAMES = len(SERIES)
"""Formats that a plot of points can hold apart: as many as there are colours."""


class Mark(NamedTuple):
    """A point: where it lies across, with its spread where it has one, and the figure upwards."""

    x: float
    y: Figure
    across: Figure | None = None


def _marks(drawn: Sheet, marks: Sequence[Mark], style: Style, **more: Any) -> None:
    spreads = [mark.across or Figure(mark.x, mark.x, mark.x) for mark in marks]
    look: Any = {
        "fmt": style.marker,
        "color": style.colour,
        "markersize": 5.5,
        "elinewidth": 1.2,
        "markeredgecolor": style.colour,
    }
    xs, ys = [mark.x for mark in marks], [mark.y.median for mark in marks]
    drawn.axes.errorbar(xs, ys, xerr=_errors(spreads), yerr=_errors([mark.y for mark in marks]), **{**look, **more})


def curves(
    series: Mapping[str, Sequence[Mark]], edge: Sequence[Mark], title: str, label: str, unit: str, styles: Styles
) -> str:
    """The area that a delay needs: steps through each format's points from fast to small, over the ``edge`` of all
    formats.
    """
    with sheet(title, 3.5) as drawn:
        _edge(drawn, edge, "post")
        for name, marks in series.items():
            xs, ys = [mark.x for mark in marks], [mark.y.median for mark in marks]
            drawn.axes.step(xs, ys, where="post", color=styles[name].colour, linewidth=1.1)
            _marks(drawn, marks, styles[name], markersize=4)
        _axes(drawn, label, unit)
        name_points(
            drawn, [(name, marks[-1].x, marks[-1].y.median, styles[name].colour) for name, marks in series.items()]
        )
    return drawn.svg


def _edge(drawn: Sheet, edge: Sequence[Mark], where: Any) -> None:
    """A broad step through the points that no other one beats in both."""
    xs, ys = [mark.x for mark in edge], [mark.y.median for mark in edge]
    drawn.axes.step(xs, ys, where=where, color=LINE, linewidth=7, solid_joinstyle="round", solid_capstyle="round")


def _axes(drawn: Sheet, label: str, unit: str) -> None:
    drawn.axes.set(xlabel=label, ylabel=unit)
    drawn.axes.margins(x=0.05, y=0.06)
    left, right = drawn.axes.get_xlim()
    drawn.axes.set_xlim(left, right + 0.3 * (right - left))  # for names


def scatter(
    points: Mapping[str, Mark], edge: Collection[str], title: str, label: str, unit: str, styles: Styles
) -> str:
    """A point for each format; those on the ``edge``, which no other beats in both, are joined; of many only these are
    named.
    """
    with sheet(title, 3.5) as drawn:
        _edge(drawn, sorted((points[name] for name in edge), key=lambda mark: mark.x), "pre")
        for name, mark in points.items():
            _marks(drawn, [mark], styles[name], markersize=7)
        _axes(drawn, label, unit)
        named = points if len(points) <= MOST_NAMES else {name: points[name] for name in edge}
        name_points(drawn, [(name, mark.x, mark.y.median, styles[name].colour) for name, mark in named.items()])
    return drawn.svg


def widths(
    rounded: Mapping[str, Mapping[str, Mark]],
    exact: Mapping[str, Mark],
    title: str,
    label: str,
    unit: str,
    styles: Styles,
) -> str:
    """Area over bits, on a logarithmic scale: rounded accumulators by name; hollow points are exact, named by format.

    ``rounded`` is by format, then by accumulator; formats stand side by side where they share a width.
    """
    with sheet(title, 3.6) as drawn:
        names = list(dict.fromkeys([*rounded, *exact]))
        shift = {name: 1.1 ** (index - (len(names) - 1) / 2) for index, name in enumerate(names)}
        for name in names:
            marks = [Mark(mark.x * shift[name], mark.y) for mark in rounded.get(name, {}).values()]
            _marks(drawn, marks, styles[name])
            if name in exact:
                _marks(drawn, [exact[name]], styles[name], markerfacecolor=CARD, markersize=7)
        drawn.axes.set_xscale("log", base=2)
        drawn.axes.xaxis.set_major_formatter("{x:g}")
        drawn.axes.set(xlabel=label, ylabel=unit)
        drawn.axes.set_ylim(bottom=0)
        left, right = drawn.axes.get_xlim()
        drawn.axes.set_xlim(left * (left / right) ** 0.32, right * (right / left) ** 0.36)  # for names
        first = min(shift.values())
        named = []
        for kind in dict.fromkeys(kind for by_kind in rounded.values() for kind in by_kind):
            marks = [by_kind[kind] for by_kind in rounded.values() if kind in by_kind]
            named.append((kind, marks[0].x * first, median(mark.y.median for mark in marks), SOFT))
        name_points(drawn, named, left=True)
        name_points(
            drawn, [(f"{name}, exact", mark.x, mark.y.median, styles[name].colour) for name, mark in exact.items()]
        )
    return drawn.svg


def slopes(series: Mapping[str, Mapping[str, float]], title: str, label: str) -> str:
    """Lines over the same formats, named at their ends; the first one, the reference, is drawn heavy."""
    with sheet(title, 3.3) as drawn:
        formats = list(next(iter(series.values())))
        for place, values in enumerate(series.values()):
            look: Any = {"color": INK, "linewidth": 2.6} if place == 0 else {"color": SOFT, "linewidth": 1.1}
            drawn.axes.plot(range(len(formats)), [values[name] for name in formats], marker="o", markersize=4, **look)
        drawn.axes.set_xticks(range(len(formats)), formats, color=INK)
        drawn.axes.set_xlim(-0.4, 0.4 + 1.25 * (len(formats) - 1))
        drawn.axes.set_ylabel(label)
        drawn.axes.set_ylim(bottom=0)
        name_points(drawn, [(name, len(formats) - 1, values[formats[-1]], SOFT) for name, values in series.items()])
    return drawn.svg
