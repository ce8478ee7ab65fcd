"""The report's charts: each is data and layout of Plotly, with units, spreads and commands, and no colours.

The page gives colours: a trace has the place of its colour in ``meta``, so that charts follow the reader's theme.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, Literal

from synth.area.figures import Figure, compared, number, ranked
from synth.report.plan import FORMATS
from synth.report.sections import Chart

_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-left", "triangle-right", "triangle-down")
MOST_NAMES = 14
"""Most formats in one legend; sections draw no curves of more."""
_TICKS = [10, 13, 16, 20, 25, 32, 40, 50, 65, 80, 100, 130, 160, 200, 250, 320, 400, 500, 1000, 2000, 5000]
"""Delays that are marked on a logarithmic axis, about equally far apart."""
GREY = "band"
"""A colour in ``meta`` besides the places of a palette."""


def chart(title: str, data: list[dict[str, Any]], figures: Iterable[Figure], height: float, **layout: Any) -> Chart:
    """A chart, with the commands of its figures; axes have their units, and the page's end their tool."""
    commands = dict.fromkeys(value.command for value in figures if value.command)
    return Chart(title, data, {"height": round(height), **layout}, tuple(commands))


def looks(names: Iterable[str], known: Iterable[str] = FORMATS) -> dict[str, tuple[int, str]]:
    """Colour and marker by name; the ``known`` names, by default the report's formats, have the same ones always."""
    return {
        name: (place, _SYMBOLS[place % len(_SYMBOLS)]) for place, name in enumerate(dict.fromkeys((*known, *names)))
    }


def _along(axis: str, figures: Collection[Figure]) -> dict[str, Any]:
    """Medians along an axis, with spreads as Plotly has them, unless all are empty."""
    above, below = ([abs(getattr(value, end) - value.median) for value in figures] for end in ("high", "low"))
    spreads = {"type": "data", "symmetric": False, "array": above, "arrayminus": below}
    errors = spreads if any(above + below) else {"visible": False}
    return {axis: [value.median for value in figures], f"error_{axis}": errors}


def _bars(figures: Mapping[str, Figure], colour: int, **others: Any) -> dict[str, Any]:
    """Bars with spreads, which are labelled with their medians unless there is another ``text``.

    Labels are at the start of a bar, where its spread does not strike them through, and behind bars that are too short.
    """
    bars = {"type": "bar", "orientation": "h", "y": [*figures], **_along("x", figures.values())}
    text = [number(value.median) for value in figures.values()]
    look = {"textposition": "auto", "insidetextanchor": "start", "textangle": 0, "constraintext": "none"}
    return {**bars, "text": text, **look, "cliponaxis": False, "meta": colour, **others}


def _names(count: int, legend: int = 0) -> float:
    """The height of a chart with this many rows of names."""
    return 96 + 23 * count + (34 if legend else 0)


_ROWS: dict[str, Any] = {"autorange": "reversed", "automargin": True, "type": "category", "showgrid": False}


def bars(figures: Mapping[str, Figure], title: str, xlabel: str) -> Chart:
    """Bars with spreads, smallest on top; each is compared with the smallest, whose spread is a grey band."""
    ordered = {name: figures[name] for name in ranked(figures)}
    least, *others = values = [*ordered.values()]
    shares = ["", *(compared(value, least).replace("no difference", "≈") for value in others)]
    text = [f"{number(value.median)} {share}" for value, share in zip(values, shares, strict=True)]
    band = {"type": "rect", "yref": "paper", "x0": least.low, "x1": least.high, "y0": 0, "y1": 1, "layer": "below"}
    axes = {"xaxis": _axis(xlabel, values), "yaxis": _ROWS, "shapes": [band], "showlegend": False}
    return chart(title, [_bars(ordered, 0, text=text)], values, _names(len(values)), **axes)


def _axis(label: str, values: Iterable[Figure]) -> dict[str, Any]:
    """An axis from 0 with room for text behind the longest bar."""
    return {"title": {"text": label}, "range": [0, 1.3 * max(value.high for value in values) or 1]}


def groups(
    series: Mapping[str, Mapping[str, Figure]], title: str, xlabel: str, *, are_points: bool = False, **xaxis: Any
) -> Chart:
    """For each row a bar of every series, in one unit; or points with spreads, in the order of the rows' means."""
    rows = dict.fromkeys(row for values in series.values() for row in values)
    used = [value for values in series.values() for value in values.values()]
    if not are_points:
        data = [_bars(values, place, name=name) for place, (name, values) in enumerate(series.items())]
        height = _names(round(len(rows) * (0.35 + 0.75 * len(series))), 1)
        return chart(title, data, used, height, barmode="group", xaxis=_axis(xlabel, used) | xaxis, yaxis=_ROWS)
    data = []
    for place, (name, values) in enumerate(series.items()):
        marker = {"symbol": _SYMBOLS[place % len(_SYMBOLS)], "size": 9}
        points = {**_along("x", values.values()), "y": [*values], "orientation": "h"}
        data.append({"type": "scatter", "mode": "markers", "name": name, **points, "marker": marker, "meta": place})
    order = sorted(rows, key=lambda row: fmean(values[row].median for values in series.values() if row in values))
    yaxis = _ROWS | {"showgrid": True, "categoryorder": "array", "categoryarray": order}
    axes = {"xaxis": {"title": {"text": xlabel}, **xaxis}, "yaxis": yaxis}
    return chart(title, data, used, _names(len(order), 1), scattermode="group", scattergap=0.3, **axes)


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
    edge_name: str = "best of all",
    are_delays: bool = False,
) -> Chart:
    """Steps through each name's points, with spreads, on top of the ``edge``, which no other point beats in both.

    The legend names at most :data:`MOST_NAMES` names; if there are more, those on the edge. ``where`` the edge has its
    steps, before or after its points, depends on which values are better. Delays are on a logarithmic axis.
    """
    shape = {"post": "hv", "pre": "vh"}
    best = sorted((x.median, y.median) for x, y in edge)
    wide = {"shape": shape[where], "width": 8}
    ends = {"x": [x for x, _ in best], "y": [y for _, y in best], "line": wide, "meta": GREY, "hoverinfo": "skip"}
    data: list[dict[str, Any]] = [{"type": "scatter", "mode": "lines", "name": edge_name, **ends}]
    for name, (colour, symbol) in ((name, looks(series)[name]) for name in series):
        xs, ys = zip(*series[name], strict=True)
        points = {**_along("x", xs), **_along("y", ys)}
        marker = {"symbol": symbol + ("-open" if name in hollow else ""), "size": 8}
        is_named = len(series) <= MOST_NAMES or not set(edge).isdisjoint(series[name])
        line = {"shape": shape["post"], "width": 1.3}
        look = {"marker": marker, "meta": colour, "showlegend": is_named, "line": line}
        data.append({"type": "scatter", "mode": "lines+markers", "name": name, **points, **look})
    used = [y for points in series.values() for _, y in points]
    ticks = {"tickvals": _TICKS, "ticktext": [*map(str, _TICKS)]}  # the ends of a curve differ by a factor of ten
    xaxis = {"title": {"text": xlabel}} | ({"type": "log", **ticks} if are_delays else {})
    return chart(title, data, used, 330 + 8 * len(series), xaxis=xaxis, yaxis={"title": {"text": ylabel}})


def lines(series: Mapping[str, Mapping[Any, Figure]], title: str, xlabel: str, ylabel: str, **xaxis: Any) -> Chart:
    """Figures over numbers: a line for each series, from 0."""
    styles = looks(series, FORMATS if set(FORMATS) & series.keys() else ())
    data = []
    for name, values in series.items():
        colour, symbol = styles[name]
        points = {"x": list(values), **_along("y", values.values())}
        look = {"marker": {"symbol": symbol, "size": 6}, "line": {"width": 1.5}}
        kind = {"type": "scatter", "mode": "lines+markers", "name": name}
        data.append({**kind, **points, **look, "meta": colour})
    axes = {"xaxis": {"title": {"text": xlabel}} | xaxis, "yaxis": {"title": {"text": ylabel}, "rangemode": "tozero"}}
    used = [value for values in series.values() for value in values.values()]
    return chart(title, data, used, 330 + 8 * len(series), **axes)
