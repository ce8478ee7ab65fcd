"""The file of the study of references is current, and its chapters say what it has."""

import pytest

from hwgen.tools import yosys
from rtl_tests.support.selection import kind_of_design, one_of_each
from synth.area.digest import sha256
from synth.area.jobs import DEFAULT_RENAMINGS
from synth.report import load
from synth.report.chapters import references as chapter
from synth.studies.energies import area
from synth.studies.references import FORMATS, LONG, PORT, REFERENCES, REGISTER, SOURCES, References, stochastic, unit

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


def test_the_sentence_has_a_change_for_each_format_and_reference():
    text = chapter.sentence(DATA)
    assert text.count(" area and ") == text.count(" energy") == 6
    assert all(name in text for name in (*REFERENCES, "hif8", "ocp_e4m3", "e5m2b1"))


def test_biases_are_those_of_the_reference_model():
    """Stochastic rounding keeps the mean, ties away does not."""
    assert abs(chapter.errors("hif8", "stochastic", "binary32").bias) < 1e-4
    assert abs(chapter.errors("hif8", "ties_to_away", "binary16").bias) > 0.01


def test_points_say_how_often_they_are_measured():
    assert {point.renamings for point in POINTS.values()} == {2, DEFAULT_RENAMINGS}
