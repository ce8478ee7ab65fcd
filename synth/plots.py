"""Plots as inline SVG: the same bytes every time, colours by CSS variables of the page, so that they follow its theme."""

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure as Canvas

from synth.figures import Figure, number, ranked

_INK, _FAINT = "#0a0b0c", "#0d0e0f"
_SERIES = ("#01a101", "#01a102", "#01a103", "#01a104", "#01a105", "#01a106", "#01a107")
_VARIABLES = {_INK: "var(--ink)", _FAINT: "var(--line)"} | {colour: f"var(--c{number})" for number, colour in enumerate(_SERIES, 1)}
"""Colours that stand for the page's variables."""

FAMILIES = ("HiF8", "supernormal", "others")
_FONT = "system-ui, sans-serif"
_SETTINGS: Any = {
    "svg.fonttype": "none", "font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": _FAINT,
    "axes.labelcolor": _INK, "text.color": _INK, "xtick.color": _INK, "ytick.color": _INK, "xtick.labelcolor": _INK, "grid.color": _FAINT,
    "axes.axisbelow": True, "legend.frameon": False, "figure.facecolor": "none", "axes.facecolor": "none", "grid.linewidth": 0.8,
    "xtick.major.size": 0, "ytick.major.size": 0,
}  # fmt: skip


def family(name: str) -> str:
    """Which of :data:`FAMILIES` a label's first word, a format, belongs to."""
    name = name.split(maxsplit=1)[0]
    if name == "hif8":
        return "HiF8"
    return "supernormal" if re.fullmatch(r"e\d+m\d+b\d+(_\d+)?", name) else "others"


def _svg(canvas: Canvas, title: str) -> str:
    """SVG element of a plot; the title is for those who cannot see it, and makes its ids unlike those of other plots."""
    out = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": title}):
        FigureCanvasSVG(canvas).print_svg(out, metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = re.sub(r'^<svg [^>]*?viewBox="([^"]*)"[^>]*>', rf'<svg viewBox="\1" role="img" aria-label="{title}">', text)
    text = re.sub(r"'[^']*'(?:, '[^']*')*, sans-serif|'DejaVu Sans'[^;\"]*", _FONT, text)
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour, variable)
    return re.sub(r"\s*\n\s*", "\n", text).strip()


def _canvas(width: float, height: float) -> tuple[Canvas, Axes]:
    canvas = Canvas(figsize=(width, height), layout="constrained")
    return canvas, canvas.add_subplot()


def bars(figures: Mapping[str, Figure], title: str, unit: str) -> str:
    """Horizontal bars by format, smallest on top, the spread as a line across the end."""
    with mpl.rc_context(_SETTINGS):
        order = ranked(figures)
        canvas, axes = _canvas(4.6, 0.75 + 0.26 * len(order))
        for place, name in enumerate(order):
            value = figures[name]
            axes.barh(place, value.median, height=0.7, color=_SERIES[FAMILIES.index(family(name))])
            axes.plot([value.low, value.high], [place, place], color=_INK, linewidth=1.4, marker="|", markersize=6)
            axes.annotate(number(value.median), (value.high, place), (5, 0), textcoords="offset points", va="center", fontsize=9)
        axes.set_yticks(range(len(order)), order)
        axes.invert_yaxis()
        axes.set_xlim(0, 1.16 * max(value.high for value in figures.values()))
        axes.set_xlabel(unit)
        axes.grid(axis="x")
        axes.spines["left"].set_visible(False)
        return _svg(canvas, title)


def grouped(groups: Mapping[str, Mapping[str, Figure]], title: str, label: str) -> str:
    """Pairs of bars, each group scaled to its first member: for comparisons across units."""
    with mpl.rc_context(_SETTINGS):
        members = list(next(iter(groups.values())))
        canvas, axes = _canvas(4.6, 0.9 + 0.42 * len(groups))
        height = 0.8 / len(members)
        for place, figures in enumerate(groups.values()):
            base = figures[members[0]].median
            for index, name in enumerate(members):
                value = figures[name]
                at = place + (index - (len(members) - 1) / 2) * height
                axes.barh(at, value.median / base, height=0.9 * height, color=_SERIES[index], label=name if place == 0 else None)
                axes.plot([value.low / base, value.high / base], [at, at], color=_INK, linewidth=1.4, marker="|", markersize=5)
                axes.annotate(number(value.median), (value.high / base, at), (5, 0), textcoords="offset points", va="center", fontsize=8.5)
        axes.set_yticks(range(len(groups)), list(groups))
        axes.invert_yaxis()
        axes.set_xlim(0, 1.18 * max(f.high / g[members[0]].median for g in groups.values() for f in g.values()))
        axes.set_xlabel(label)
        axes.grid(axis="x")
        axes.spines["left"].set_visible(False)
        canvas.legend(loc="outside upper center", ncols=len(members))
        return _svg(canvas, title)


def steps(series: Mapping[str, Mapping[str, Figure]], places: Mapping[str, str], title: str, unit: str) -> str:
    """Points with spreads at named places, side by side for each series; ``places`` are the names and what is written below them."""
    with mpl.rc_context(_SETTINGS):
        canvas, axes = _canvas(4.6, 3.4)
        for index, (name, figures) in enumerate(series.items()):
            shift = 0.16 * (index - (len(series) - 1) / 2)
            found = [(place + shift, figures[key]) for place, key in enumerate(places) if key in figures]
            xs, heights = [x for x, _ in found], [value.median for _, value in found]
            axes.plot(xs, heights, color=_SERIES[index], linewidth=1.0, linestyle=":", marker="o", markersize=6, label=name)
            for x, value in found:
                axes.plot([x, x], [value.low, value.high], color=_SERIES[index], linewidth=1.4, marker="_", markersize=8)
        axes.set_xticks(range(len(places)), [f"{key}\n{below}" for key, below in places.items()], fontsize=9)
        axes.set_ylabel(unit)
        axes.set_ylim(bottom=0)
        axes.grid(axis="y")
        canvas.legend(loc="outside upper center", ncols=len(series))
        return _svg(canvas, title)


def slopes(series: Mapping[str, Mapping[str, float]], title: str, label: str) -> str:
    """Lines over the same names; the first series, the reference, is drawn heavy."""
    with mpl.rc_context(_SETTINGS):
        canvas, axes = _canvas(5.6, 3.4)
        names = list(next(iter(series.values())))
        for index, (name, values) in enumerate(series.items()):
            colour, width = (_INK, 3.0) if index == 0 else (_SERIES[(index - 1) % len(_SERIES)], 1.6)
            heights = [values[key] for key in names]
            axes.plot(range(len(names)), heights, marker="o", markersize=5, label=name, color=colour, linewidth=width)
        axes.set_xticks(range(len(names)), names)
        axes.tick_params("x", pad=6)
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0)
        axes.grid(axis="y")
        canvas.legend(loc="outside upper center", ncols=3)
        return _svg(canvas, title)


MOST_SERIES = 12
"""Curves that one plot can hold apart."""


def curves(series: Mapping[str, Sequence[tuple[float, Figure]]], title: str, across: str, unit: str) -> str:
    """Steps through points from fast to small, with the spread of each: what area a delay asks for."""
    with mpl.rc_context(_SETTINGS):
        canvas, axes = _canvas(5.6, 3.8)
        for index, (name, points) in enumerate(series.items()):
            colour = _SERIES[index % len(_SERIES)]
            xs, ys = [x for x, _ in points], [value.median for _, value in points]
            style = "-" if index < len(_SERIES) else "--"
            axes.step(xs, ys, where="post", color=colour, linewidth=1.3, linestyle=style, marker="o", markersize=4, label=name)
            for x, value in points:
                axes.plot([x, x], [value.low, value.high], color=colour, linewidth=1.2)
        axes.set_xlabel(across)
        axes.set_ylabel(unit)
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.grid()
        canvas.legend(loc="outside upper center", ncols=4)
        return _svg(canvas, title)
