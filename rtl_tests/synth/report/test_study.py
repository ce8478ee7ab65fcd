"""Families of designs, their points, and files of results: one entry for each point, without repeated facts."""

import json

import pytest

from hwgen.blocks.catalog import build
from synth.area.figures import Figure
from synth.report import load
from synth.report.sections import Cell, Section, cell, merged
from synth.studies.areas import Areas
from synth.studies.family import Family, Point
from synth.studies.fast import Sky130
from synth.studies.study import text_of

STUDIES = [load.dots, load.speeds, load.energies, load.tiles, Sky130.load, Areas.load]


def test_a_family_expands_in_the_order_of_its_fields():
    family = Family("mac", ("hif8", "e5m3"), {"accumulator": ("binary16", "binary32")}, ("gates", "xc7"))
    points = [(point.design.options["format"], point.design.options["accumulator"]) for point in family.expand()]
    assert points == [(fmt, acc) for fmt in ("hif8", "e5m3") for acc in ("binary16", "binary32") for _ in range(2)]
    assert [point.target for point in family.expand()] == ["gates", "xc7"] * 4
    (named,) = Family("mac", ("mine",), {"accumulator": "binary16"}).expand({"mine": build("mac", "e5m3").formats[0]})
    assert named.design.options["format"] == "e5m3"


def test_labels_name_what_is_unusual():
    mac = build("mac", "hif8")
    assert Point(mac, data="gaussian").label == "hif8_mac_binary16"
    assert Point(mac, "xc7", "speed", "sparse", 0).label == "hif8_mac_binary16 xc7 speed sparse 0"


@pytest.mark.parametrize("study", STUDIES)
def test_files_are_read_and_written_without_loss(study):
    results = study()
    assert results.labelled().keys() == results.source["points"].keys()
    again = results.packed({label: results.curve(point) for label, point in results.labelled().items()})
    assert again.items() <= dict(results.source).items()
    others = {key: value for key, value in results.source.items() if key not in again}
    assert text_of({**others, **again}) == results.file.read_text()
    assert json.loads(text_of({"key": [[1.5, 2.0]]})) == {"key": [[1.5, 2]]}


@pytest.mark.parametrize("study", STUDIES)
def test_a_point_that_the_file_lacks_has_no_rows(study):
    results = study()
    first, *others = results.labelled()
    without = type(results).from_json(
        {**results.source, "points": {label: results.source["points"][label] for label in others}}
    )
    assert without.curve(results.labelled()[first]) == []
    assert without.rows == results.rows[len(results.curve(results.labelled()[first])) :]


def test_cells_are_made_of_their_content():
    shown = Cell("2", "1 to 3", "recipe r, t: c", 2, "c", "t")
    assert [cell(Figure(1, 2, 3, "u", "r", "t", "c")), cell("a"), cell(shown)] == [shown, Cell("a"), shown]
    assert [cell(1234.5), cell(None)] == [Cell("1,234", value=1234.5), Cell("–")]
    with pytest.raises(TypeError, match=r"^a cell cannot be made of \[\]$"):
        cell([])


def test_findings_are_listed_unless_they_say_nothing():
    section = Section("anchor", "Title", "Intro.")
    for text in ("One.", "", "Two.", "One."):
        section.find(text, "subject")
    assert [finding.text for finding in section.findings] == ["One.", "Two.", "One."]
    section.name_missing(["a", "b"], ["a"], "command")
    section.name_missing(["a"], ["a"], "command")
    assert [finding.text for finding in section.findings[3:]] == [
        "Not in this study: b. command measures such a format."
    ]


def test_commands_that_differ_in_the_format_alone_are_a_loop():
    two = [f"hwgen area mac --format {name} --target gates" for name in ("hif8", "ocp_e4m3+ocp_e5m2")]
    code = [f"python -c \"print(golden.get('{name}'))\"" for name in ("hif8", "e5m3")]
    other = "hwgen area mac --format 'my own.toml' --target gates"
    sums = "hwgen area dot --format hif8; hwgen area readout --format e5m3"
    assert merged([two[0], other, *code, sums, two[1], two[0]]) == [
        "for f in hif8 ocp_e4m3+ocp_e5m2; do hwgen area mac --format $f --target gates; done",
        other,
        "for f in hif8 e5m3; do python -c \"print(golden.get('$f'))\"; done",
        sums,
    ]
    assert merged(two[:1]) == two[:1]
