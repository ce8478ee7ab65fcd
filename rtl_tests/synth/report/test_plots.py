"""Plots: the same bytes every time, text as text, and formats that can be distinguished."""

import xml.etree.ElementTree as ET
from collections.abc import Callable

import pytest

from synth.report.figures import Figure
from synth.report.plan import FORMATS
from synth.report.render import plots
from synth.report.render.plots import Stack, looks
from synth.report.sections import Picture

TITLE = "A <title> long enough to need two lines, & with characters that XML escapes"
AREAS = {name: Figure(99 + place, 100 + place, 102 + place, "ALM") for place, name in enumerate(FORMATS)}
POINTS = {name: (Figure.exact(20 + place % 3), area) for place, (name, area) in enumerate(AREAS.items())}
SINGLE = {name: [point] for name, point in POINTS.items()}
RATIOS = dict.fromkeys(FORMATS[:4], Figure.exact(1.5))
LABELS = ("delay [ns]", "area [ALM]")
PLOTS: dict[str, Callable[[], Picture]] = {
    "bars": lambda: plots.bars({"hif8": AREAS["hif8"]}, TITLE, "area [ALM]"),
    "many bars": lambda: plots.bars(AREAS, TITLE, "area [ALM]"),
    "stacks": lambda: plots.stacks({"a": Stack(*[AREAS["hif8"]] * 3)}, ("one", "two", "both"), TITLE, "area [ALM]"),
    "groups": lambda: plots.groups({"a": AREAS, "b": AREAS}, TITLE, "area [ALM]"),
    "ranges": lambda: plots.ranges({"Gates": AREAS, "iCE40": {"hif8": AREAS["hif8"]}}, TITLE, "area [ALM]"),
    "curves": lambda: plots.fronts({"hif8": [*POINTS.values()]}, [POINTS["hif8"]], TITLE, *LABELS),
    "scatter": lambda: plots.fronts(SINGLE, SINGLE["hif8"], TITLE, *LABELS, "pre"),
    "lines": lambda: plots.lines({"one": {1: AREAS["hif8"], 8: AREAS["e5m3"]}}, TITLE, *LABELS, are_powers=True),
    "bars and errors": lambda: plots.bars_and_errors(
        AREAS,
        {"one": {"hif8": Figure.exact(0.1), "e5m3": Figure.exact(0)}},
        {"one": 0.2},
        TITLE,
        ("area [ALM]", "error"),
    ),
    "slopes": lambda: plots.lines({"paper": RATIOS, "Gates": RATIOS}, TITLE, "", "area [ALM]", "paper"),
}


def words(picture):
    root = ET.fromstring(picture.svg)
    return {"".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")}


@pytest.mark.parametrize("draw", PLOTS.values(), ids=PLOTS)
def test_a_plot_has_a_title_and_units_and_the_same_bytes_every_time(draw):
    picture = draw()
    assert picture == draw()
    assert picture.title == ET.fromstring(picture.svg).findtext("{http://www.w3.org/2000/svg}title") == TITLE
    assert "area [ALM]" in words(picture)
    assert not any(word in picture.svg for word in ("dc:date", "matplotlib.org", "@import", "<image"))


@pytest.mark.parametrize("name", ["$\\frac{$", "a$b$c", "\\$"])
def test_names_are_no_formulas(name):
    picture = plots.groups({name: {name: AREAS["hif8"], "hif8": AREAS["hif8"]}}, name, "area [ALM]")
    assert name in words(picture)


def test_a_title_is_no_formula():
    title = "MACs by $_$"
    assert plots.groups({"hif8": {"a": AREAS["hif8"], "b": AREAS["hif8"]}}, title, "area [ALM]").title == title


def test_a_format_looks_alike_in_every_report():
    alone, many = looks(["hif8"]), looks([*(f"mine{number}" for number in range(40)), "hif8"])
    assert alone["hif8"] == many["hif8"]
    assert len({(int(look["color"][1:]) % 10, look["marker"]) for look in many.values()}) == len(FORMATS) + 40


def test_of_many_formats_those_at_the_edge_are_named():
    many = {f"f{number}": [(Figure.exact(number), AREAS["hif8"])] for number in range(plots.MOST_NAMES + 1)}
    shown = words(plots.fronts(many, [*many["f3"], *many["f4"]], TITLE, *LABELS))
    assert shown & many.keys() == {"f3", "f4"}
