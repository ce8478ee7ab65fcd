"""The file of the study of references is current, and its chapters say what it has."""

from dataclasses import replace
from statistics import median

import pytest

from hwgen.tools import yosys
from rtl_tests.support.selection import kind_of_design, one_of_each
from synth.area.digest import sha256
from synth.area.jobs import DEFAULT_RENAMINGS
from synth.report import load
from synth.report.chapters import references as chapter
from synth.report.measured import Measured
from synth.report.plan import REFERENCES
from synth.studies.energies import area
from synth.studies.references import FORMATS, LONG, PORT, REGISTER, SOURCES, References, stochastic, unit

STALE = "`make references` measures it again"
POINTS = References.labelled()
DATA = load.references()
KNOWN = [label for label, point in POINTS.items() if DATA.curve(point)]


def test_all_rows_are_by_one_tool():
    assert {row.tool for row in DATA.rows} == {yosys.version()}, STALE
    assert len(KNOWN) == len(DATA.rows) > 30


@pytest.mark.parametrize("label", one_of_each(lambda label: kind_of_design(POINTS[label].design), KNOWN))
def test_the_netlists_are_those_of_the_verilog(label):
    point = POINTS[label]
    text = point.design.verilog()
    row = DATA.row(point)
    job = point.job(text)
    assert row.verilog_sha256 == sha256(text), STALE
    assert len(row.samples) == row.renamings >= 2
    if row.renamings == point.renamings:
        assert (job.hashes()["script_sha256"], job.command) == (row.script_sha256, row.command), STALE


@pytest.mark.parametrize("accumulator", ["exact", "binary32"])
def test_formats_are_beside_their_references(accumulator):
    """Without and with the registers of a processing element, whose area is larger."""
    assert {*REFERENCES} < {*FORMATS}
    for name in FORMATS:
        if (name, accumulator) != (LONG, "exact"):
            sizes = [area(DATA.row(unit(name, accumulator, 1, registers=each))).median for each in (False, True)]
            assert sizes[0] < sizes[1]


def test_a_register_of_random_words_costs_something():
    for source in SOURCES:
        without, inside = (DATA.row(stochastic(source, place)) for place in (PORT, REGISTER))
        assert area(without).median < area(inside).median
        assert without.median < inside.median


def test_a_row_that_was_not_measured_is_a_dash(monkeypatch):
    point = unit("int8", "exact", 1, registers=False)
    rows = tuple(row for row in DATA.rows if row.name != point.design.name)
    cells = {row[0].text: row[1].text for row in chapter.units(References(rows, DATA.source)).rows}
    assert cells["int8"] == "–"
    assert cells["hif8"] != "–"


def test_a_row_of_another_tool_is_marked():
    point = unit("int8", "exact", 1, registers=False)
    rows = tuple(replace(row, tool="another") if row.name == point.design.name else row for row in DATA.rows)
    body = chapter.units(References(rows, DATA.source)).rows
    assert [cell.small for row in body for cell in row if "another" in cell.small] == [
        f"{DATA.row(point).median:,.0f} · by another"
    ]


def samples(kind, name, accumulator, data=DATA, areas=None):
    """Of a processing element: all areas, or all energies, if there are enough for a claim."""
    module = f"{name}_pe_{accumulator}"
    rows = data.rows if kind == "energy" else load.areas() if areas is None else areas
    known = [row for row in rows if row.name == module and row.target == "gates"]
    return next((row.samples for row in known if row.renamings >= DEFAULT_RENAMINGS), None)


def change(values, base):
    """By which share values differ from a base, as medians and as the range that all of them allow."""
    if values is None or base is None:
        return "–", ""
    if min(values) <= max(base) and min(base) <= max(values):
        return "no difference", ""
    least, most = (f"{share - 1:+.1%}" for share in (min(values) / max(base), max(values) / min(base)))
    return f"{median(values) / median(base) - 1:+.0%}", f"{least} to {most}"


def few(rows, *words):
    """The rows, with those of modules whose names have a word as if they had two renamings."""
    return tuple(
        replace(row, renamings=2) if any(word in row.name for word in words) and "_pe_" in row.name else row
        for row in rows
    )


@pytest.mark.parametrize("words", [(), ("int8",), ("hif8", "bfloat16")])
def test_each_change_has_its_spread(words):
    """Recomputed from the samples; figures with fewer renamings claim nothing."""
    data, areas = References(few(DATA.rows, *words), DATA.source), few(load.areas(), *words)
    table = chapter.differences(data, Measured(areas, ()))
    lines = {row[0].text: [(each.text, each.small) for each in row[1:]] for row in table.rows}
    assert lines.keys() == {f"{name}, {kind}" for name in ("ocp_e4m3", "e5m2b1", "hif8") for kind in ("area", "energy")}
    heads = [head.removeprefix("into ").split(", against ") for head in table.columns[1:]]
    assert len(heads) == 5 - words.count("bfloat16") - 2 * words.count("int8")
    every = []
    for line, cells in lines.items():
        name, _, kind = line.partition(", ")
        of = [[samples(kind, each, into, data, areas) for each in (name, base)] for into, base in heads]
        assert cells == [change(*pair) for pair in of]
        every += [cell for cell, (_, base) in zip(cells, heads, strict=True) if base != "int8" and cell[0] != "–"]
    text = chapter.sentence(data, Measured(areas, ()))
    if "int8" in words:
        assert text == ""
        return
    for name in ("ocp_e4m3", "e5m2b1", "hif8"):
        (text_of, spread), known = lines[f"{name}, area"][0], name not in words
        assert (f"{name} {text_of} ({spread})" in text) is known
    less = sum(cell[0].startswith("-") for cell in every)
    assert f"area and energy are less in {less} of {len(every)} comparisons" in text
    assert text.count("%") == 3 * (3 - words.count("hif8"))


def test_overlapping_spreads_are_no_difference():
    """In the table and in the sentence."""
    base = next(row for row in load.areas() if row.name == "int8_pe_exact")
    areas = [replace(base, name=f"{name}_pe_exact", options=base.options | {"format": name}) for name in FORMATS]
    text = chapter.sentence(DATA, Measured(areas, ()))
    assert text.count(" no difference within the spreads") == 3
    rows = {row[0].text: row[1].text for row in chapter.differences(DATA, Measured(areas, ())).rows}
    assert {rows[f"{name}, area"] for name in ("ocp_e4m3", "e5m2b1", "hif8")} == {"no difference"}


def test_areas_that_nobody_measured_leave_energies():
    text = chapter.sentence(DATA, Measured((), ()))
    assert text.startswith("Energy of a processing element with an exact accumulator, against int8: ocp_e4m3 ")


def test_figures_of_two_tools_are_not_compared():
    areas = [replace(row, tool="another") if row.format == "hif8" else row for row in load.areas()]
    rows = {row[0].text: row[1].text for row in chapter.differences(DATA, Measured(areas, ())).rows}
    assert rows["hif8, area"] == "another tool"
    assert rows["e5m2b1, area"].endswith("%")
    assert "hif8" not in chapter.sentence(DATA, Measured(areas, ()))


def test_biases_are_those_of_the_reference_model():
    """Stochastic rounding keeps the mean, ties away does not."""
    assert abs(chapter.errors("hif8", "stochastic", "binary32").bias) < 1e-4
    assert abs(chapter.errors("hif8", "ties_to_away", "binary16").bias) > 0.01


def test_points_say_how_often_they_are_measured():
    assert {point.renamings for point in POINTS.values()} == {2, DEFAULT_RENAMINGS}
