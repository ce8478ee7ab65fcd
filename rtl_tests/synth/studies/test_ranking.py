"""The comparison of two rankings of the same modules, and its messages."""

import sys

import pytest

from hwgen.tools.yosys import YosysError
from rtl_tests.synth.report.test_speed import timed_rows
from synth.area.figures import Figure
from synth.area.liberty import GATES
from synth.area.runner import Outcome
from synth.studies import ranking, study
from synth.studies.script import status


def run(areas):
    rows = []
    for target in ("gates", "xc7"):
        for name, area in areas.items():
            rows += timed_rows(name, [(1, area)], target, portfolio="standard", component="multiplier")
            rows += timed_rows(name, [(1, 2 * area)], target, portfolio="standard")
    return rows


def test_orders():
    figures = {"b": Figure(10, 11, 12), "a": Figure(3, 4, 5), "c": Figure(12, 13, 14)}
    assert ranking.order(figures) == "a 4 < b 11 = c 13"
    assert ranking.ranked_pairs(figures) == {("a", "b"), ("a", "c")}


def test_the_same_ranking():
    first, second = run({"hif8": 20, "e5m3": 10, "e5m2b1": 21}), run({"hif8": 20, "e5m3": 11, "e5m2b1": 30})
    text, total = ranking.document([first, second], ["hif8", "e5m3", "e5m2b1"], 2)
    assert total == (12, 8, 4, 0)
    assert text.count("no ranking contradicted; of 3 pairs 2 ranked in both runs, 1 in one only, 0 contradicted") == 4
    assert "1. e5m3 10 < hif8 20 = e5m2b1 21" in text
    counts = "of 12 pairs 8 ranked in both runs, 4 in one only, 0 contradicted"
    assert text.endswith(f"\nNo ranking contradicted: {counts}.\nNo cell library was given.\n")


def test_pairs_ranked_in_a_single_run_are_counted_separately():
    """Every ``<`` of the first run is a ``=`` in the second."""
    first, second = run({"hif8": 20, "e5m3": 10, "e5m2b1": 30}), run({"hif8": 20, "e5m3": 20, "e5m2b1": 20})
    text, total = ranking.document([first, second], ["hif8", "e5m3", "e5m2b1"], 2)
    assert total == (12, 0, 12, 0)
    assert "1. e5m3 10 < hif8 20 < e5m2b1 30\n2. hif8 20 = e5m3 20 = e5m2b1 20" in text
    assert text.count("no ranking contradicted; of 3 pairs 0 ranked in both runs, 3 in one only, 0 contradicted") == 4
    assert "the same" not in text


def test_a_contradiction():
    first, second = run({"hif8": 20, "e5m3": 10, "e5m2b1": 30}), run({"hif8": 10, "e5m3": 20, "e5m2b1": 21})
    text, total = ranking.document([first, second], ["hif8", "e5m3", "e5m2b1"], 2)
    assert total.contradicted == 4
    assert "contradicted: e5m3 < hif8; of 3 pairs 1 ranked in both runs, 1 in one only, 1 contradicted.**" in text
    counts = "of 12 pairs 4 ranked in both runs, 4 in one only, 4 contradicted"
    assert f"\nOne run's rankings contradict the other's: {counts}.\n" in text


@pytest.mark.parametrize(("hif8", "e5m3", "expected"), [(20, 10, 0), (20, 20, 0), (10, 20, 1)])
def test_contradictions_alone_make_the_status(hif8, e5m3, expected, tmp_path, monkeypatch, capsys):
    areas = {1: {"hif8": 20, "e5m3": 10}, 1001: {"hif8": hif8, "e5m3": e5m3}}
    monkeypatch.setattr(ranking, "jobs", lambda formats, libraries, renamings, seed, store: run(areas[seed]))
    monkeypatch.setattr(study, "measure_all", lambda rows, *_, **__: [Outcome(None, tuple(rows))])
    monkeypatch.setattr(sys, "argv", ["ranking", "--formats", "hif8,e5m3", "--store", str(tmp_path / "store")])
    assert status("ranking", ranking.main) == expected
    assert ("4 contradicted" in capsys.readouterr().out) == bool(expected)


def assert_refused(monkeypatch, capsys):
    for words, sentence in (
        (["--renamings", "1"], "--renamings must be at least 2"),
        (["--seeds", "1", "3"], "--seeds must be at least 4 apart"),
        (["--formats", "hif9"], "ranking: --formats must be a known format, not 'hif9'"),
        (["--liberty", "nope"], "--liberty: nope cannot be read"),
        (["--formats", "hif8,binary16"], "--formats: 'binary16' is a source, decoder target or accumulator"),
        (["--store", "/dev/null/store"], "--store '/dev/null/store' cannot be used"),
    ):
        monkeypatch.setattr(sys, "argv", ["ranking", *words])
        assert status("ranking", ranking.main) == 2
        message = capsys.readouterr().err
        assert sentence in message
        assert message.count("\n") == 1


def test_a_failure_is_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(ranking, "MEASURED", ("multiplier",))
    monkeypatch.setattr(ranking, "TARGETS", {"gates": ranking.TARGETS["gates"]})
    monkeypatch.setattr(
        study, "measure_all", lambda jobs, *_, **__: [Outcome(job, (), f"{job.label}: no") for job in jobs]
    )
    monkeypatch.setattr(sys, "argv", ["ranking", "--formats", "gc_1_0_7_b0", "--store", str(tmp_path / "store")])
    assert status("ranking", ranking.main) == 1
    assert capsys.readouterr().err == "ranking: gc_1_0_7_b0_multiplier on gates: no\n"

    def emitted(design, store):
        raise YosysError("Yosys did not write module.json: no")

    monkeypatch.setattr(ranking, "verilog", emitted)
    assert status("ranking", ranking.main) == 1
    assert capsys.readouterr().err == "ranking: Yosys did not write module.json: no\n"


def test_the_whole_study(tmp_path, monkeypatch, capsys):
    assert_refused(monkeypatch, capsys)
    monkeypatch.setattr(ranking, "MEASURED", ("multiplier",))
    monkeypatch.setattr(ranking, "TARGETS", {"gates": ranking.TARGETS["gates"]})
    words = [
        "--formats",
        "gc_1_0_7_b0",
        "--renamings",
        "2",
        "--store",
        str(tmp_path / "store"),
        "--liberty",
        str(GATES),
    ]
    monkeypatch.setattr(sys, "argv", ["ranking", *words])
    assert status("ranking", ranking.main) == 0
    text = capsys.readouterr().out
    assert "Decode + multiply, gates [the library's unit]" in text
    assert text.endswith(
        "\nNo ranking contradicted: of 0 pairs 0 ranked in both runs, 0 in one only, 0 contradicted.\n"
    )
