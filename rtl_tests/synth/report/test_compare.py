"""Comparison of two reports: which figures changed, the exit status, and what is refused."""

import json
from dataclasses import replace

import pytest

from golden.refusal import BadValue
from hwgen.__main__ import main
from rtl_tests.synth.report.test_report import made_up
from rtl_tests.synth.report.test_speed import timed_rows
from synth.cli.compare import compare, lines, percentage
from synth.report.data import assemble


def row(name, area, **options):
    rows = made_up("mac", "gates", area, format=name, accumulator="binary16")
    return [replace(line, verilog_sha256=name, **options) for line in rows]


OLD = [*row("same", 100), *row("noisy", 100), *row("grown", 100), *row("shrunk", 100), *row("gone", 100)]
NEW = [
    *row("grown", 105, tool="yosys 1"),
    *row("same", 100),
    *row("noisy", 101),
    *row("shrunk", 90),
    *row("added", 7),
    *row("more", 7),
]


def test_a_change_is_beyond_the_spreads():
    comparison = compare(OLD, NEW)
    growth = {change.key.module: round(change.growth, 6) for change in comparison.changes}
    assert list(growth.items()) == [("mac_grown_binary16", 0.05), ("mac_shrunk_binary16", -0.1)]
    assert (comparison.common, comparison.added, comparison.gone) == (4, 2, 1)
    assert [change.key.module for change in comparison.grown(0.049)] == ["mac_grown_binary16"]
    assert comparison.grown(0.051) == []
    assert list(lines(comparison, 0.02)) == [
        "figure                                                        old                    new   change",
        "mac_grown_binary16 on gates, area [NAND2]         100 (99 to 101)       105 (104 to 106)    +5.0%  above 2%",
        "mac_shrunk_binary16 on gates, area [NAND2]        100 (99 to 101)          90 (89 to 91)   -10.0%",
        "2 of 4 figures changed beyond their spreads: 1 grew, 1 shrank; 2 new, 1 gone.",
        "The old figures are by yosys 0, the new ones by yosys 0 and yosys 1.",
    ]


def test_nothing_changes_against_itself():
    assert list(lines(compare(OLD, OLD))) == [
        "0 of 5 figures changed beyond their spreads: 0 grew, 0 shrank; 0 new, 0 gone."
    ]


def test_one_sample_is_compared_with_nothing():
    """It is counted apart, not as unchanged."""
    single = [replace(line, renamings=1, samples=(line.median,), min=line.median, max=line.median) for line in OLD[:4]]
    comparison = compare([*single, *OLD[4:]], NEW)
    assert (comparison.common, comparison.single) == (4, 2)
    assert list(lines(comparison))[-3:-1] == [
        "2 of 2 figures changed beyond their spreads: 1 grew, 1 shrank; 2 new, 1 gone.",
        "2 more were not compared: one renaming has no spread (--renamings).",
    ]
    assert list(lines(compare(single, single))) == [
        "0 of 0 figures changed beyond their spreads: 0 grew, 0 shrank; 0 new, 0 gone.",
        "2 more were not compared: one renaming has no spread (--renamings).",
    ]


def test_a_curve_has_its_smallest_area_and_its_fastest_delay():
    old, new = timed_rows("hif8", [(40, 100), (10, 200)]), timed_rows("hif8", [(40, 110), (9, 200)])
    changes = {change.key.quantity: round(change.growth, 6) for change in compare(old, new).changes}
    assert changes == {"smallest area [NAND2]": 0.1, "fastest delay [FO4]": -0.1}
    other = timed_rows("hif8", [(40, 110)], timer="opensta, before layout")
    assert compare(old, other).common == 0  # other timers are no change of the module


def test_figures_of_libraries_compare_by_their_content():
    of = {"target": "liberty", "libraries": ("cells",)}
    old, same, other = (row("a", 100, **of, libraries_sha256=(digest * 64,)) for digest in "001")
    assert compare(old, same).common == 1
    assert compare(old, other).common == 0


@pytest.mark.parametrize(("text", "share"), [("2%", 0.02), ("0%", 0.0), ("0.5%", 0.005), ("150%", 1.5)])
def test_percentages(text, share):
    assert percentage(text) == share


@pytest.mark.parametrize("text", ["2", "-2%", "two%", "", "%", "1e1%", "nan%", "2 %", "٢%"])
def test_no_percentages(text):
    with pytest.raises(BadValue, match=r"^fail_above must be a percentage such as 2%, not "):
        percentage(text)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    single = [replace(line, renamings=1, samples=(line.median,), min=line.median, max=line.median) for line in OLD]
    for name, rows in (("old", OLD), ("new", NEW), ("single", single), ("other", row("other", 7))):
        (tmp_path / f"{name}.json").write_text(json.dumps(replace(assemble([], []), rows=tuple(rows)).to_json()))
    (tmp_path / "word.json").write_text('{"rows": "many", "failures": []}')
    return tmp_path


NEWS = ["report", "--sweep", "new.json"]


@pytest.mark.parametrize(("words", "status"), [([], 0), (["--fail-above", "2%"], 1), (["--fail-above", "5%"], 0)])
def test_two_files_are_compared_and_nothing_is_written(words, status, files, capsys):
    before = sorted(files.rglob("*"))
    assert main([*NEWS, "--compare", "old.json", *words]) == status
    output = capsys.readouterr()
    assert output.err == ""
    assert output.out.splitlines()[-2].startswith("2 of 4 figures changed beyond their spreads")
    assert ("above 2%" in output.out) == (words[-1:] == ["2%"])
    assert sorted(files.rglob("*")) == before


def test_a_report_with_an_output_folder_is_written(files, capsys):
    assert main([*NEWS, "--compare", "old.json", "--fail-above", "2%", "-o", "out", "--store", "store"]) == 1
    assert capsys.readouterr().out.splitlines()[0] == "out/index.html"
    assert {row["name"] for row in json.loads((files / "out" / "report.json").read_text())["rows"]} == {
        row.name for row in NEW
    }
    assert main([*NEWS, "--compare", "out/report.json", "--fail-above", "0%"]) == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--fail-above", "2%"], "--fail-above needs --compare"),
        (["--compare", "old.json", "--fail-above", "2"], "--fail-above must be a percentage such as 2%, not '2'"),
        (["--compare", "none.json"], "--compare 'none.json' cannot be read: No such file or directory"),
        (["--compare", "word.json"], "--compare 'word.json' is not what hwgen sweep or hwgen report writes"),
        (["--compare", "other.json"], "--compare: the two reports have no figure in common"),
        (
            ["--compare", "single.json", "--fail-above", "2%"],
            "--fail-above: mac_same_binary16 was measured under one renaming, so its spread is unknown",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(words, sentence, files, capsys):
    before = sorted(files.rglob("*"))
    assert main([*NEWS, *words]) == 2
    output = capsys.readouterr()
    assert (output.out, output.err) == ("", f"hwgen: {sentence}\n")
    assert sorted(files.rglob("*")) == before


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--compare", "other.json"], "--compare: the two reports have no figure in common"),
        (
            ["--compare", "old.json", "--fail-above", "2%", "--renamings", "1"],
            "--fail-above: one renaming has no spread; ",
        ),
        (["--evidence", "old.json"], "--evidence: 'old.json' is no folder\n"),
        (["--evidence", "nope"], "--evidence: 'nope' is no folder\n"),
    ],
)
def test_refusals_come_before_measurements(words, sentence, files, capsys, monkeypatch):
    monkeypatch.setattr("synth.cli.report.measure_all", lambda *_, **__: pytest.fail("measured"))
    text = "module {}(acc_in);\n  input [15:0] acc_in;\nendmodule\n"
    monkeypatch.setattr("synth.report.plan.verilog", lambda design, store: text.format(design.name))
    assert main(["report", "--formats", "hif8", "-o", "out", "--store", "store", *words]) == 2
    assert capsys.readouterr().err.startswith(f"hwgen: {sentence}")
    assert not (files / "out").exists()
