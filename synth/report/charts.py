"""The report's charts: each is data and layout of Plotly, with units, spreads and commands, and no colours.

The page gives colours: a trace has the place of its colour in ``meta``, so that charts follow the reader's theme.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import median
from typing import Any, Literal, NamedTuple

from synth.report.figures import Figure, compared, number, ranked
from synth.report.plan import FORMATS
from synth.report.sections import Chart

_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-left", "triangle-right", "triangle-down")
MOST_NAMES = 14
"""Most formats in one legend; sections draw no curves of more."""
BLACK, GREY = "ink", "band"
"""Colours in ``meta`` besides the places of a palette."""


def chart(title: str, data: list[dict[str, Any]], figures: Iterable[Figure], height: float, **layout: Any) -> Chart:
    """A chart, with the commands, units and tools of its figures."""
    used = list(figures)
    commands = dict.fromkeys(value.command for value in used if value.command)
    sources = dict.fromkeys(word for value in used for word in (value.unit, value.tool) if word)
    return Chart(title, data, {"height": round(height), **layout}, tuple(commands), ", ".join(sources))


def looks(names: Iterable[str], known: Iterable[str] = FORMATS) -> dict[str, tuple[int, str]]:
    """Colour and marker by name; the ``known`` names, by default the report's formats, have the same ones always."""
    return {
        name: (place, _SYMBOLS[place % len(_SYMBOLS)]) for place, name in enumerate(dict.fromkeys((*known, *names)))
    }


def _medians(figures: Iterable[Figure]) -> list[float]:
    return [value.median for value in figures]


def _errors(figures: Sequence[Figure]) -> dict[str, Any]:
    """Spreads as Plotly has them; none if all are empty."""
    if all(value.low == value.high for value in figures):
        return {"visible": False}
    above, below = ([getattr(value, end) - value.median for value in figures] for end in ("high", "low"))
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": [-share for share in below]}


def _bars(names: Sequence[str], figures: Sequence[Figure], colour: int, **others: Any) -> dict[str, Any]:
    """Bars with spreads, which are labelled with their medians unless there is another ``text``."""
    bars = {"type": "bar", "orientation": "h", "y": list(names), "x": _medians(figures), "error_x": _errors(figures)}
    text = [number(value.median) for value in figures]
    return {**bars, "text": text, "textposition": "outside", "cliponaxis": False, "meta": colour, **others}


def _names(count: int, legend: int = 0) -> float:
    """The height of a chart with this many rows of names."""
    return 96 + 23 * count + (34 if legend else 0)


_ROWS: dict[str, Any] = {"autorange": "reversed", "automargin": True, "type": "category", "showgrid": False}


def bars(figures: Mapping[str, Figure], title: str, xlabel: str) -> Chart:
    """Bars with spreads, smallest on top; each is compared with the smallest, whose spread is a grey band."""
    order = ranked(figures)
    values = [figures[name] for name in order]
    least = values[0]
    shares = ("" if value == least else compared(value, least).replace("no difference", "≈") for value in values)
    text = [f"{number(value.median)} {share}" for value, share in zip(values, shares, strict=True)]
    band = {"type": "rect", "yref": "paper", "x0": least.low, "x1": least.high, "y0": 0, "y1": 1, "layer": "below"}
    axes = {"xaxis": _axis(xlabel, values), "yaxis": _ROWS, "shapes": [band], "showlegend": False}
    return chart(title, [_bars(order, values, 0, text=text)], values, _names(len(order)), **axes)


def _axis(label: str, values: Iterable[Figure]) -> dict[str, Any]:
    """An axis from 0 with room for text behind the longest bar."""
    return {"title": {"text": label}, "range": [0, 1.3 * max(value.high for value in values) or 1]}


class Stack(NamedTuple):
    """Two parts of a block, and the whole block if it was measured."""

    first: Figure
    second: Figure
    whole: Figure | None = None


def stacks(by_name: Mapping[str, Stack], parts: tuple[str, str, str], title: str, xlabel: str) -> Chart:
    """Bars of two parts with their spreads, and a stroke at the whole; ``parts`` name first, second and whole."""
    order = sorted(by_name, key=lambda name: by_name[name].first.median + by_name[name].second.median)
    data = [
        _bars(order, [by_name[name][place] for name in order], place, name=part, textposition="inside")  # type: ignore[misc]
        for place, part in enumerate(parts[:2])
    ]
    wholes = {name: whole for name in order if (whole := by_name[name].whole)}
    stroke = {"symbol": "line-ns", "size": 14, "line": {"width": 2}}
    marks = {"type": "scatter", "mode": "markers", "name": parts[2], "marker": stroke, "meta": BLACK}
    data += [marks | {"x": _medians(wholes.values()), "y": list(wholes)}] if wholes else []
    used = [value for stack in by_name.values() for value in stack[:2]]
    axes = {"barmode": "stack", "xaxis": {"title": {"text": xlabel}}, "yaxis": _ROWS}
    return chart(title, data, used, _names(len(order), 1), **axes)


def groups(series: Mapping[str, Mapping[str, Figure]], title: str, xlabel: str) -> Chart:
    """For each row a bar of every series, in one unit."""
    rows = dict.fromkeys(row for values in series.values() for row in values)
    used = [value for values in series.values() for value in values.values()]
    data = [
        _bars(list(values), list(values.values()), place, name=name)
        for place, (name, values) in enumerate(series.items())
    ]
    height = _names(round(len(rows) * (0.35 + 0.75 * len(series))), 1)
    return chart(title, data, used, height, barmode="group", xaxis=_axis(xlabel, used), yaxis=_ROWS)


def ranges(columns: Mapping[str, Mapping[str, Figure]], title: str, xlabel: str) -> Chart:
    """Area of each format above the smallest, as a share: a point for every column."""
    shares: dict[str, dict[str, float]] = {}
    for where, figures in columns.items():
        least = figures[ranked(figures)[0]].median
        for name, value in figures.items():
            shares.setdefault(name, {})[where] = value.median / least - 1
    order = sorted(shares, key=lambda name: median(shares[name].values()))
    data = []
    for place, where in enumerate(columns):
        known = [name for name in order if where in shares[name]]
        marker = {"symbol": _SYMBOLS[place % len(_SYMBOLS)], "size": 9}
        points = {"x": [shares[name][where] for name in known], "y": known}
        data.append({"type": "scatter", "mode": "markers", "name": where, **points, "marker": marker, "meta": place})
    used = [value for figures in columns.values() for value in figures.values()]
    xaxis = {"title": {"text": xlabel}, "tickformat": ".0%", "rangemode": "tozero"}
    return chart(title, data, used, _names(len(order), 1), xaxis=xaxis, yaxis=_ROWS | {"showgrid": True})


def bars_and_errors(
    figures: Mapping[str, Figure],
    errors: Mapping[str, Mapping[str, Figure]],
    levels: Mapping[str, float],
    title: str,
    xlabels: tuple[str, str],
) -> Chart:
    """For each row a bar and, beside it, a point of every series on a logarithmic scale, unless it is 0.

    ``levels`` are dashed lines across the points of a series.
    """
    values = list(figures.values())
    data = [_bars(list(figures), values, 0, showlegend=False)]
    shapes = []
    for place, (name, series) in enumerate(errors.items(), 1):
        shown = {row: value for row in figures if (value := series.get(row)) and value.low > 0}
        points = {"x": _medians(shown.values()), "y": list(shown), "error_x": _errors([*shown.values()])}
        look = {"marker": {"symbol": _SYMBOLS[place], "size": 8}, "xaxis": "x2", "meta": place}
        data.append({"type": "scatter", "mode": "markers", "name": name, **points, **look})
        if name in levels:
            line = {"type": "line", "xref": "x2", "yref": "paper", "x0": levels[name], "x1": levels[name]}
            shapes.append({**line, "y0": 0, "y1": 1, "line": {"dash": "dash", "width": 1}, "name": str(place)})
    left = _axis(xlabels[0], values) | {"domain": [0, 0.47]}
    right = {"title": {"text": xlabels[1]}, "type": "log", "domain": [0.53, 1], "exponentformat": "power", "dtick": 2}
    axes = {"xaxis": left, "xaxis2": right, "yaxis": _ROWS, "shapes": shapes}
    return chart(title, data, values, _names(len(figures), 1), **axes)


# -- points and lines


Point = tuple[Figure, Figure]
"""A point of a chart: its horizontal and its vertical figure."""


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
) -> Chart:
    """Steps through each name's points, with spreads, on top of the ``edge``, which no other point beats in both.

    The legend names at most :data:`MOST_NAMES` names; if there are more, those on the edge. ``where`` the edge has its
    steps, before or after its points, depends on which values are better. Losses are in percent.
    """
    shape = {"post": "hv", "pre": "vh"}
    best = sorted((x.median, y.median) for x, y in edge)
    wide = {"shape": shape[where], "width": 8}
    ends = {"x": [x for x, _ in best], "y": [y for _, y in best], "line": wide, "meta": GREY, "hoverinfo": "skip"}
    data: list[dict[str, Any]] = [{"type": "scatter", "mode": "lines", "name": "best of all", **ends}]
    for name, (colour, symbol) in ((name, looks(series)[name]) for name in series):
        xs, ys = zip(*series[name], strict=True)
        points = {"x": _medians(xs), "y": _medians(ys), "error_x": _errors(xs), "error_y": _errors(ys)}
        marker = {"symbol": symbol + ("-open" if name in hollow else ""), "size": 8}
        is_named = len(series) <= MOST_NAMES or not set(edge).isdisjoint(series[name])
        line = {"shape": shape["post"], "width": 1.3}
        look = {"marker": marker, "meta": colour, "showlegend": is_named, "line": line}
        data.append({"type": "scatter", "mode": "lines+markers", "name": name, **points, **look})
    used = [y for points in series.values() for _, y in points]
    xaxis = {"title": {"text": xlabel}} | ({"ticksuffix": "%"} if are_losses else {})
    return chart(title, data, used, 330 + 8 * len(series), xaxis=xaxis, yaxis={"title": {"text": ylabel}})


def lines(
    series: Mapping[str, Mapping[Any, Figure]],
    title: str,
    xlabel: str,
    ylabel: str,
    reference: str = "",
    *,
    are_powers: bool = False,
    are_shares: bool = False,
) -> Chart:
    """Figures over numbers, which may be powers of two, or over names: a line for each series, from 0.

    The ``reference`` is a thick line.
    """
    styles = looks(series, FORMATS if set(FORMATS) & series.keys() else ())
    data = []
    for name, values in series.items():
        figures, (colour, symbol) = list(values.values()), styles[name]
        points = {"x": list(values), "y": _medians(figures), "error_y": _errors(figures)}
        look = {"marker": {"symbol": symbol, "size": 6}, "line": {"width": 4 if name == reference else 1.5}}
        kind = {"type": "scatter", "mode": "lines+markers", "name": name}
        data.append({**kind, **points, **look, "meta": BLACK if name == reference else colour})
    ticks = sorted({tick for values in series.values() for tick in values}) if are_powers else []
    powers = {"type": "log", "tickvals": ticks, "ticktext": [*map(str, ticks)]} if ticks else {}
    yaxis = {"title": {"text": ylabel}, "rangemode": "tozero"} | ({"tickformat": ".0%"} if are_shares else {})
    used = [value for values in series.values() for value in values.values()]
    return chart(title, data, used, 330 + 8 * len(series), xaxis={"title": {"text": xlabel}} | powers, yaxis=yaxis)
