"""The same modules measured twice: whether the rankings agree, and what is said when they do not."""

from hwgen.yosys import YosysError
from rtl_tests.test_synth_speed import timed_rows
from synth import ranking
from synth.figures import Figure
from synth.liberty import GATES
from synth.runner import Outcome


def run(areas):
    rows = []
    for target in ("gates", "xc7"):
        for name, area in areas.items():
            rows += timed_rows(name, [(1, area)], target, portfolio="standard", component="multiplier")
            rows += timed_rows(name, [(1, 2 * area)], target, portfolio="standard")
    return rows


def test_orders():
    found = {"b": Figure(10, 11, 12), "a": Figure(3, 4, 5), "c": Figure(12, 13, 14)}
    assert ranking.order(found) == "a 4 < b 11 = c 13"
    assert ranking.told_apart(found) == {("a", "b"), ("a", "c")}


def test_the_same_ranking():
    first, second = run({"hif8": 20, "e5m3": 10, "e5m2b1": 21}), run({"hif8": 20, "e5m3": 11, "e5m2b1": 30})
    said, contradictions = ranking.document([first, second], ["hif8", "e5m3", "e5m2b1"], 2)
    assert contradictions == 0
    assert said.count("the same: 2 of 3 pairs told apart in both, 1 in one of the two, none contradicted") == 4
    assert "1. e5m3 10 < hif8 20 = e5m2b1 21" in said
    assert said.endswith("No ranking of one run contradicts the other's.\nNo cell library was given.\n")


def test_a_contradiction():
    said, contradictions = ranking.document([run({"hif8": 20, "e5m3": 10}), run({"hif8": 10, "e5m3": 20})], ["hif8", "e5m3"], 2)
    assert contradictions == 4
    assert "contradicted: e5m3 < hif8" in said


def assert_refused(monkeypatch, capsys):
    for words, sentence in (
        (["--renamings", "1"], "--renamings must be at least 2"), (["--seeds", "1", "3"], "--seeds must be at least 4 apart"),
        (["--formats", "hif9"], "ranking: --formats: Unknown format 'hif9'"), (["--liberty", "nope"], "--liberty: nope cannot be read"),
        (["--formats", "hif8,binary16"], "--formats: 'binary16' is a source, decoder target or accumulator"),
        (["--store", "/dev/null/store"], "--store: Store '/dev/null/store' cannot be used"),
    ):  # fmt: skip
        monkeypatch.setattr(ranking.sys, "argv", ["ranking", *words])
        assert ranking.main() == 2
        said = capsys.readouterr().err
        assert sentence in said
        assert said.count("\n") == 1


def test_a_failure_on_the_way_is_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(ranking, "MEASURED", ("multiplier",))
    monkeypatch.setattr(ranking, "TARGETS", {"gates": ranking.TARGETS["gates"]})
    monkeypatch.setattr(ranking, "measure", lambda jobs, *_, **__: [Outcome(job, (), f"{job.label}: no") for job in jobs])
    monkeypatch.setattr(ranking.sys, "argv", ["ranking", "--formats", "gc_1_0_7_b0", "--store", str(tmp_path / "store")])
    assert ranking.main() == 1
    assert capsys.readouterr().err == "ranking: gc_1_0_7_b0_multiplier on gates: no\n"

    def emitted(design, store):
        raise YosysError("Yosys did not write module.json: no")

    monkeypatch.setattr(ranking, "verilog", emitted)
    assert ranking.main() == 1
    assert capsys.readouterr().err == "ranking: Yosys did not write module.json: no\n"


def test_the_whole_way(tmp_path, monkeypatch, capsys):
    library = str(GATES)
    assert_refused(monkeypatch, capsys)
    monkeypatch.setattr(ranking, "MEASURED", ("multiplier",))
    monkeypatch.setattr(ranking, "TARGETS", {"gates": ranking.TARGETS["gates"]})
    words = ["ranking", "--formats", "gc_1_0_7_b0", "--renamings", "2", "--store", str(tmp_path / "store"), "--liberty", library]
    monkeypatch.setattr(ranking.sys, "argv", words)
    assert ranking.main() == 0
    said = capsys.readouterr().out
    assert "Decode + multiply, gates [area]" in said
    assert said.endswith("No ranking of one run contradicts the other's.\n")
