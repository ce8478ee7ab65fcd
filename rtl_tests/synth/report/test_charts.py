"""Charts: data for Plotly with titles, units, spreads and commands, and formats that can be distinguished."""

import json
from collections.abc import Callable

import pytest

from synth.area.figures import Figure
from synth.report import charts
from synth.report.charts import looks
from synth.report.plan import FORMATS
from synth.report.sections import Chart

TITLE = "A <title> with & and $"
AREAS = {
    name: Figure(99 + place, 100 + place, 102 + place, "ALM", tool="yosys 0", command=f"hwgen area {name}")
    for place, name in enumerate(FORMATS)
}
POINTS = {name: (Figure.exact(20 + place % 3), area) for place, (name, area) in enumerate(AREAS.items())}
SINGLE = {name: [point] for name, point in POINTS.items()}
LABELS = ("delay [ns]", "area [ALM]")
CHARTS: dict[str, Callable[[], Chart]] = {
    "bars": lambda: charts.bars({"hif8": AREAS["hif8"]}, TITLE, "area [ALM]"),
    "many bars": lambda: charts.bars(AREAS, TITLE, "area [ALM]"),
    "groups": lambda: charts.groups({"a": AREAS, "b": AREAS}, TITLE, "area [ALM]"),
    "points": lambda: charts.groups(
        {"Gates": AREAS, "iCE40": {"hif8": AREAS["hif8"]}}, TITLE, "area [ALM]", are_points=True, type="log"
    ),
    "curves": lambda: charts.fronts({"hif8": [*POINTS.values()]}, [POINTS["hif8"]], TITLE, *LABELS),
    "scatter": lambda: charts.fronts(SINGLE, SINGLE["hif8"], TITLE, *LABELS, "pre"),
    "lines": lambda: charts.lines({"one": {1: AREAS["hif8"], 8: AREAS["e5m3"]}}, TITLE, *LABELS, type="log"),
}


@pytest.mark.parametrize("draw", CHARTS.values(), ids=CHARTS)
def test_a_chart_has_a_title_and_units_and_the_same_bytes_every_time(draw):
    chart = draw()
    assert chart == draw()
    assert json.loads(json.dumps([chart.data, chart.layout])) == [chart.data, chart.layout]
    assert chart.title == TITLE
    axes = [chart.layout[axis].get("title", {}).get("text") for axis in ("xaxis", "yaxis")]
    assert "area [ALM]" in axes
    lines = [*chart.lines()]
    assert {len(line) for line in lines} == {7}
    assert len(lines) == 1 + sum(len(trace["x"]) for trace in chart.data)


def test_bars_have_their_figures_spreads_and_commands():
    """Smallest first; those that do not differ from the smallest say so."""
    areas = {"a": Figure(10, 12, 15, "ALM", tool="t", command="c"), "b": Figure(8, 9, 11), "c": Figure(20, 21, 22)}
    chart = charts.bars(areas, TITLE, "area [ALM]")
    assert [*chart.lines()][1:] == [("", 9, 1, 2, "b", 0, 0), ("", 12, 2, 3, "a", 0, 0), ("", 21, 1, 1, "c", 0, 0)]
    assert chart.data[0]["text"] == ["9 ", "12 ≈", "21 +133%"]
    (band,) = chart.layout["shapes"]
    assert (band["x0"], band["x1"]) == (8, 11)
    assert chart.commands == ("c",)


def test_a_format_looks_alike_in_every_report():
    alone, many = looks(["hif8"]), looks([*(f"mine{number}" for number in range(40)), "hif8"])
    assert alone["hif8"] == many["hif8"]
    assert len({(colour % 14, symbol) for colour, symbol in looks(FORMATS).values()}) == len(FORMATS)


def test_of_many_formats_those_at_the_edge_are_named():
    many = {f"f{number}": [(Figure.exact(number), AREAS["hif8"])] for number in range(charts.MOST_NAMES + 1)}
    chart = charts.fronts(many, [*many["f3"], *many["f4"]], TITLE, *LABELS)
    assert [trace["name"] for trace in chart.data[1:] if trace["showlegend"]] == ["f3", "f4"]
