"""Two runs of the report: whether their rankings agree, and what is said when they do not."""

import json

from rtl_tests.test_synth_speed import timed_rows
from synth import ranking
from synth.figures import Figure


def report(areas):
    rows = []
    for target in ("gates", "xc7"):
        for name, area in areas.items():
            rows += timed_rows(name, [(1, area)], target, portfolio="standard", component="multiplier")
            rows += timed_rows(name, [(1, 2 * area)], target, portfolio="standard")
    return {"rows": rows, "formats": list(areas), "renamings": 2, "tool": "t"}


def test_orders():
    found = {"b": Figure(10, 11, 12), "a": Figure(3, 4, 5), "c": Figure(12, 13, 14)}
    assert ranking.order(found) == "a 4 < b 11 = c 13"
    assert ranking.told_apart(found) == {("a", "b"), ("a", "c")}


def test_the_same_ranking(tmp_path, capsys):
    first, second = tmp_path / "1.json", tmp_path / "2.json"
    first.write_text(json.dumps(report({"hif8": 20, "e5m3": 10, "e5m2b1": 21})))
    second.write_text(json.dumps(report({"hif8": 20, "e5m3": 11, "e5m2b1": 30})))
    assert ranking.main([str(first), str(second)]) == 0
    said = capsys.readouterr().out
    assert said.count("the same: 2 of 3 pairs told apart in both, 1 in one of the two, none contradicted") == 4
    assert "1. e5m3 10 < hif8 20 = e5m2b1 21" in said
    assert said.endswith("No ranking of one run contradicts the other's.\n")


def test_a_contradiction(tmp_path, capsys):
    first, second = tmp_path / "1.json", tmp_path / "2.json"
    first.write_text(json.dumps(report({"hif8": 20, "e5m3": 10})))
    second.write_text(json.dumps(report({"hif8": 10, "e5m3": 20})))
    assert ranking.main([str(first), str(second)]) == 1
    said = capsys.readouterr().out
    assert "contradicted: e5m3 < hif8" in said
    assert said.endswith("4 pairs are contradicted.\n")
