"""Biases of roundings: those of docs/accuracy.md, and the data in which hybrid rounding is called safe."""

import re

from rtl_tests.support.paths import ROOT
from rtl_tests.synth.report.test_report import made_up
from synth.area.figures import Figure
from synth.report.chapters import blocks
from synth.report.measured import Measured
from synth.studies import biases as study


def test_the_biases_are_those_of_the_page():
    """All rows of its table except those of sources of 16 bits, in its order."""
    lines = (ROOT / "docs/accuracy.md").read_text().partition("| data, binary32 unless stated")[2].splitlines()[2:12]
    rows = [line.replace("−", "-").split("|")[1:-1] for line in lines if "SR2" not in line]
    for column, rounding in ((2, "ties_to_away"), (3, "hybrid")):
        shown = [f"{100 * bias.median:+.1f}" for bias in study.biases("hif8", rounding).values()]
        assert [float(text) for text in shown] == [float(row[column]) for row in rows]


def test_a_rounding_is_better_where_it_changes_the_mean_less(monkeypatch):
    shares = {"away": {"a": -0.012, "b": 0.01, "c": 0.02}, "hybrid": {"a": 0.0002, "b": -0.09, "c": -0.01}}
    known = {mode: {kind: Figure.exact(share) for kind, share in each.items()} for mode, each in shares.items()}
    monkeypatch.setattr(study, "biases", lambda name, mode: known[mode])
    assert study.better("hif8", "hybrid", "away") == (
        ["a (+0.0% against -1.2%)", "c (-1.0% against +2.0%)"],
        ["b (-9.0% against +1.0%)"],
    )
    assert study.better("hif8", "away", "away")[0] == ["none"]


def test_the_finding_has_areas_and_biases():
    """Of rows, or of recorded figures; without both roundings there is none."""
    mac = made_up("mac", "gates", 100, format="hif8", accumulator="binary16")
    recorded = [
        [f"hif8_encoder_binary32_{mode}", "gates", f"hwgen area encoder --rounding {mode}", area - 1, area, area + 1]
        for mode, area in (("ties_to_away", 100), ("hybrid", 180))
    ]
    recorded = [[blocks.Block("encoder", "hif8", {"source": "binary32", "rounding": mode}).design.name, *each[1:]]
                for mode, each in zip(("ties_to_away", "hybrid"), recorded, strict=True)]  # fmt: skip
    section = blocks.encoders(Measured(mac, ["hif8"], recorded=recorded))
    ((area, means), (chart,)) = section.findings, section.charts
    assert (area.subject, means.subject) == ("Rounding", "")
    assert area.text == (
        "hif8 encoder from binary32 with hybrid rounding, compared with ties_to_away: +80% (+77.2% to +82.8%; 180 "
        "against 100 NAND2) on Gates."
    )
    assert means.text.startswith("Hybrid keeps mean magnitudes better than ties_to_away in Gaussian numbers (+0.0% ")
    assert re.search(r"worse in numbers widened from binary16 \(\+9\.1% .*bfloat16 \(\+20\.6% ", means.text)
    assert {trace["name"] for trace in chart.data} == {"ties_to_away", "hybrid"}
    assert blocks.encoders(Measured(mac, ["hif8"], recorded=recorded[:1])) is None
