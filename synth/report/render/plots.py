"""The report's plots: each draws figures, with units and spreads, on white as SVG, with the same bytes every time."""

import io
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import log10
from statistics import median
from typing import Any, Literal, NamedTuple

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import PercentFormatter

from synth.report.figures import Figure, compared, number, ranked
from synth.report.plan import FORMATS
from synth.report.sections import Picture

_SHORT = 20  # characters; three such names fit beside each other
_EN = "\N{EN SPACE}"  # keeps its width in SVG
_PALE = "0.87"  # grey, for lines and bands behind the figures
_MARKERS = "osD^v<>"
_RAISED = str.maketrans("-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")
MOST_NAMES = 12
"""Most formats in one legend; sections draw no curves of more."""


_WIDTH = 4.7
"""Inches; fits on the screen of a phone."""
_SETTINGS: Any = {
    "svg.fonttype": "none", "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: the same layout everywhere
    "font.size": 9, "figure.titlesize": 11, "figure.titleweight": "bold", "figure.constrained_layout.use": True,
    "figure.constrained_layout.w_pad": 0.07, "figure.constrained_layout.h_pad": 0.07,
    "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True, "axes.edgecolor": "0.8",
    "axes.grid": True, "grid.color": "0.9", "xtick.bottom": False, "ytick.left": False, "errorbar.capsize": 2,
    "text.parse_math": False,  # names of formats may have dollar signs
    "legend.frameon": False, "legend.handlelength": 1.4, "legend.columnspacing": 1.2,
}  # fmt: skip


class Sheet:
    """Axes to draw on, others to the right of them and, when the context ends, the picture."""

    axes: Axes
    others: list[Axes]
    picture: Picture


@contextmanager
def sheet(
    title: str, height: float, figures: Iterable[Figure] = (), legend: int = 0, columns: int = 1, **labels: str
) -> Iterator[Sheet]:
    """A sheet with a title, ``height`` inches high, with a number of axes side by side, for use as a context.

    ``figures`` are those whose commands the picture has. ``labels`` are those of the first axes, ``xlabel`` and
    ``ylabel``; a ``legend`` below has this number of columns.
    """
    with style.context(["petroff10", _SETTINGS, {"svg.hashsalt": title}], after_reset=True):
        figure, page, out = Drawing((_WIDTH, height)), Sheet(), io.StringIO()
        figure.suptitle(title, x=0.02, ha="left", wrap="$" not in title)  # wrapping parses it
        page.axes, *page.others = (figure.add_subplot(1, columns, place + 1) for place in range(columns))
        yield page
        page.axes.set(**labels)
        if legend:
            figure.legend(loc="outside lower center", ncols=legend)
        FigureCanvasSVG(figure).print_svg(out, metadata={"Title": title, "Date": None, "Creator": None})
        commands = dict.fromkeys(value.command for value in figures if value.command)
        page.picture = Picture(title, out.getvalue(), tuple(commands))


def looks(names: Iterable[str], known: Iterable[str] = FORMATS) -> dict[str, dict[str, Any]]:
    """Colour and marker by name; the ``known`` names, by default the report's formats, have the same ones always."""
    order = enumerate(dict.fromkeys((*known, *names)))
    return {name: {"color": f"C{place}", "marker": _MARKERS[place % len(_MARKERS)]} for place, name in order}


# -- bars


def _bars(
    axes: Axes,
    places: Sequence[float],
    figures: Iterable[Figure],
    labels: Sequence[str] | None = None,
    padding: float = 5,
    height: float = 0.7,
    **look: Any,
) -> None:
    """Bars with spreads and labels, which are by default the medians."""
    values = [*figures]
    boxes = axes.barh(places, _medians(values), height, xerr=_errors(values), **look)
    axes.bar_label(boxes, [number(value.median) for value in values] if labels is None else labels, padding=padding)


def _medians(figures: Iterable[Figure]) -> list[float]:
    return [value.median for value in figures]


def _errors(figures: Sequence[Figure]) -> list[list[float]]:
    return [[value.median - value.low for value in figures], [value.high - value.median for value in figures]]


def _rows(axes: Axes, names: Sequence[str], xlabel: str, room: float = 0.38) -> None:
    """Name rows from top to bottom; leave a share of ``room`` for text to the right of them."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.margins(x=room)
    axes.set_xlabel(xlabel)
    axes.grid(visible=False, axis="y")


def bars(figures: Mapping[str, Figure], title: str, xlabel: str) -> Picture:
    """Bars with spreads, smallest on top; each is compared with the smallest, whose spread is a grey band."""
    order = ranked(figures)
    values = [figures[name] for name in order]
    least = values[0]
    shares = ("" if value == least else compared(value, least).replace("no difference", "≈") for value in values)
    labels = [f"{number(value.median)}{_EN}{share}" for value, share in zip(values, shares, strict=True)]
    with sheet(title, 1.1 + 0.22 * len(order), figures.values()) as page:
        page.axes.axvspan(least.low, least.high, color=_PALE)
        _bars(page.axes, range(len(order)), values, labels)
        _rows(page.axes, order, xlabel)
    return page.picture


class Stack(NamedTuple):
    """Two parts of a block, and the whole block if it was measured."""

    first: Figure
    second: Figure
    whole: Figure | None = None


def stacks(by_name: Mapping[str, Stack], parts: tuple[str, str, str], title: str, xlabel: str) -> Picture:
    """Bars of two parts with their spreads, and a stroke at the whole; ``parts`` name first, second and whole."""
    order = sorted(by_name, key=lambda name: by_name[name].first.median + by_name[name].second.median)
    firsts, seconds, wholes = zip(*(by_name[name] for name in order), strict=True)
    used, places = (value for stack in by_name.values() for value in stack[:2]), range(len(order))
    with sheet(title, 1.6 + 0.22 * len(order), used, legend=3) as page:
        _bars(page.axes, places, firsts, [""] * len(order), label=parts[0])
        sums = [" + ".join(map(number, pair)) for pair in zip(_medians(firsts), _medians(seconds), strict=True)]
        _bars(page.axes, places, seconds, sums, 12, left=_medians(firsts), label=parts[1])
        strokes = [(whole.median, place) for place, whole in enumerate(wholes) if whole is not None]
        if strokes:
            page.axes.plot(*zip(*strokes, strict=True), "k|", markersize=13, markeredgewidth=2, label=parts[2])
        _rows(page.axes, order, xlabel)
    return page.picture


def _all(series: Mapping[str, Mapping[Any, Figure]]) -> list[Figure]:
    return [value for values in series.values() for value in values.values()]


def groups(series: Mapping[str, Mapping[str, Figure]], title: str, xlabel: str) -> Picture:
    """For each row a bar of every series, in one unit."""
    rows = list(dict.fromkeys(row for values in series.values() for row in values))
    height = 0.8 / len(series)
    with sheet(title, 1.5 + 0.18 * len(rows) * len(series), _all(series), legend=3) as page:
        for index, (name, values) in enumerate(series.items()):
            places = [rows.index(row) + (index - (len(series) - 1) / 2) * height for row in values]
            _bars(page.axes, places, values.values(), height=0.9 * height, label=name)
        _rows(page.axes, rows, xlabel, 0.2)
    return page.picture


def ranges(columns: Mapping[str, Mapping[str, Figure]], title: str, xlabel: str) -> Picture:
    """Area of each format above the smallest, as a share: a point for every column, and a line from least to most."""
    shares: dict[str, dict[str, float]] = {}
    for where, figures in columns.items():
        least = figures[ranked(figures)[0]].median
        for name, value in figures.items():
            shares.setdefault(name, {})[where] = value.median / least - 1
    order = sorted(shares, key=lambda name: median(shares[name].values()))
    with sheet(title, 1.6 + 0.22 * len(order), legend=5) as page:
        ends = [(min(shares[name].values()), max(shares[name].values())) for name in order]
        page.axes.hlines(range(len(order)), *zip(*ends, strict=True), color=_PALE, linewidth=4)
        for marker, where in zip(_MARKERS * len(columns), columns, strict=False):
            points = [(shares[name][where], place) for place, name in enumerate(order) if where in shares[name]]
            page.axes.plot(*zip(*points, strict=True), marker, markersize=5, label=where)
        _rows(page.axes, order, xlabel, 0.05)
        page.axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    return page.picture


def bars_and_errors(
    figures: Mapping[str, Figure],
    errors: Mapping[str, Mapping[str, Figure]],
    levels: Mapping[str, float],
    title: str,
    xlabels: tuple[str, str],
) -> Picture:
    """For each row a bar and, beside it, a point of every series on a logarithmic scale, unless it is 0.

    ``levels`` are dashed lines across the points of a series.
    """
    with sheet(title, 1.6 + 0.22 * len(figures), figures.values(), legend=3, columns=2) as page:
        _bars(page.axes, range(len(figures)), figures.values())
        _rows(page.axes, list(figures), xlabels[0])
        (right,) = page.others
        for name, look in looks(errors, ()).items():
            known = enumerate(map(errors[name].get, figures))
            shown, rows = zip(*((value, place) for place, value in known if value and value.low > 0), strict=True)
            fmt = look.pop("marker")
            right.errorbar(_medians(shown), rows, xerr=_errors(shown), fmt=fmt, markersize=5, label=name, **look)
            if name in levels:
                right.axvline(levels[name], linestyle="--", linewidth=1, **look)
        _rows(right, list(figures), xlabels[1], 0.05)
        right.set_yticklabels([])
        right.set_xscale("log")
        right.xaxis.set_major_formatter(lambda power, _: "10" + f"{log10(power):.0f}".translate(_RAISED))
    return page.picture


# -- points and lines


Point = tuple[Figure, Figure]
"""A point of a plot: its horizontal and its vertical figure."""


def fronts(
    series: Mapping[str, Sequence[Point]],
    edge: Sequence[Point],
    title: str,
    xlabel: str,
    ylabel: str,
    where: Literal["pre", "post"] = "post",
    hollow: Collection[str] = (),
    *,
    are_losses: bool = False,
) -> Picture:
    """Steps through each name's points, with spreads, on top of the ``edge``, which no other point beats in both.

    The legend names at most :data:`MOST_NAMES` names; if there are more, those on the edge. ``where`` the edge has its
    steps, before or after its points, depends on which values are better. The axis of losses, in percent, is linear up
    to 1%, then logarithmic.
    """
    used, styles = [y for points in series.values() for _, y in points], looks(series)
    best = zip(*sorted((x.median, y.median) for x, y in edge), strict=True)
    with sheet(title, 3.7 + 0.1 * len(series), used, legend=2, xlabel=xlabel, ylabel=ylabel) as page:
        page.axes.step(*best, where=where, color=_PALE, linewidth=7, label="best of all")
        for name, points in series.items():
            is_named = len(series) <= MOST_NAMES or not set(edge).isdisjoint(points)
            look = {"label": name, **styles[name]} if is_named else {"color": "0.6", "marker": "."}
            look |= {"markerfacecolor": "white"} if name in hollow else {}
            xs, ys = zip(*points, strict=True)
            page.axes.errorbar(
                _medians(xs), _medians(ys), _errors(ys), _errors(xs), capsize=0, linewidth=1.1,
                drawstyle="steps-post", markersize=5, markeredgecolor="black", markeredgewidth=0.5, **look,
            )  # fmt: skip
        page.axes.margins(x=0.1)
        if are_losses:
            page.axes.set_xscale("symlog", linthresh=1)
            page.axes.xaxis.set_major_formatter("{x:g}")
            page.axes.axvline(0, color="0.6", linewidth=1)
    return page.picture


def lines(
    series: Mapping[str, Mapping[Any, Figure]],
    title: str,
    xlabel: str,
    ylabel: str,
    reference: str = "",
    *,
    are_powers: bool = False,
    are_shares: bool = False,
) -> Picture:
    """Figures over numbers, which may be powers of two, or over names: a line for each series, from 0.

    The ``reference`` is a thick line.
    """
    styles = looks(series, FORMATS if set(FORMATS) & series.keys() else ())
    styles |= {reference: {"color": "black", "marker": "o", "linewidth": 3}}
    height, legend = 3.7 + 0.1 * len(series), 3 if max(map(len, series)) < _SHORT else 2
    with sheet(title, height, _all(series), legend, xlabel=xlabel, ylabel=ylabel) as page:
        for name, values in series.items():
            figures = list(values.values())
            errors = _errors(figures) if any(value.low < value.high for value in figures) else None
            look: dict[str, Any] = {"linewidth": 1.1, "markersize": 3, "label": name, **styles[name]}
            page.axes.errorbar(list(values), _medians(figures), errors, **look)
        if are_powers:
            ticks = sorted({number for values in series.values() for number in values})
            page.axes.set_xscale("log", base=2)
            page.axes.set_xticks(ticks, map(str, ticks))
        if are_shares:
            page.axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        page.axes.set_ylim(bottom=0)
    return page.picture
