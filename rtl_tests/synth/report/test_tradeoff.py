"""Area against accuracy: the formats that no other format beats in both."""

from dataclasses import replace

import pytest

import golden
from rtl_tests.synth.report.test_report import made_up
from synth.area.figures import Figure
from synth.report.chapters.accuracy import best_formats, tradeoff
from synth.report.measured import Measured
from synth.studies.ratios import SCALES, Ratio, ratios


def area(median):
    return Figure(median - 1, median, median + 1, "NAND2")


@pytest.mark.parametrize(
    ("areas", "ratio", "edge"),
    [
        ({"a": 1, "b": 2, "c": 3}, {"a": 10, "b": 20, "c": 15}, ["a", "b"]),
        ({"a": 3, "b": 1}, {"a": 10, "b": 10}, ["b"]),
        ({"a": 1, "b": 1}, {"a": 10, "b": 20}, ["b"]),
        ({"a": 1, "b": 1}, {"a": 10, "b": 10}, ["a"]),
    ],
)
def test_the_front(areas, ratio, edge):
    assert best_formats({name: area(median) for name, median in areas.items()}, ratio) == edge


def test_ratios_of_formats():
    known = ratios(["ocp_e4m3", "ocp_e4m3+ocp_e5m2", "unheard_of", golden.get("hif8")])
    assert list(known) == ["ocp_e4m3", "ocp_e4m3+ocp_e5m2", "hif8"]
    assert replace(known["ocp_e4m3"], by_scale=()) == Ratio(31.5211, 0, (), 18, 8)
    assert [known["ocp_e4m3"].by_scale[SCALES.index(exponent)] for exponent in (-16, -8, 0, 8, 16)] == [
        0.0,
        16.81,
        31.52,
        16.21,
        0.05,
    ]
    assert known["hif8"].binades == 38


def test_of_a_pair_the_better_format_counts():
    first, second, pair = ratios(["ocp_e4m3", "ocp_e5m2", "ocp_e4m3+ocp_e5m2"]).values()
    assert (pair.snr_db, pair.exponent) == (first.snr_db, first.exponent)
    assert pair.by_scale == tuple(map(max, zip(first.by_scale, second.by_scale, strict=True)))
    assert pair.binades == second.binades == 32


def test_a_section():
    names = ["ocp_e5m2", "ocp_e4m3", "hif8"]
    rows = [
        row
        for place, name in enumerate(names)
        for row in made_up("mac", "gates", 100 + place, format=name, accumulator="binary16")
    ]
    chapter = tradeoff(Measured(rows, names), ratios(names))
    best = "ocp_e5m2 (25.5 dB, 100 NAND2) and ocp_e4m3 (31.5 dB, 101 NAND2)"
    good = (
        "Gates, of 2 measured formats and pairs of 8 bits with an SNR of at least 30 dB of Gaussian data at the best "
        "scale: ocp_e4m3 has the smallest MAC "
    )
    assert [(finding.text, finding.subject) for finding in chapter.findings] == [
        (f"Gates, best trade-offs between median area and SNR: {best}.", ""),
        (f"{good}(101 NAND2), no different from hif8.", "Accuracy for area"),
    ]
    assert [[cell.text for cell in row[:5]] for row in chapter.tables[0].rows] == [
        ["ocp_e5m2", "8", "25.5", "23.9", "7.0"],
        ["ocp_e4m3", "8", "31.5", "15.8", "0.0"],
        ["hif8", "8", "31.5", "22.3", "3.8"],
    ]
    assert [chart.layout["xaxis"]["title"]["text"] for chart in chapter.charts] == [
        "quantization SNR [dB]",
        "standard deviation, 2^n",
    ]
    code = "python -c \"import golden; print(golden.best_scale('$f'))\""
    assert chapter.commands(chapter.tables[0]) == [f"for f in ocp_e5m2 ocp_e4m3 hif8; do {code}; done"]
    assert tradeoff(Measured(rows, names), {}) is None
    older = tradeoff(Measured(rows, names), {name: Ratio(25.0, 0) for name in names})  # a file without ratios by scale
    assert len(older.charts) == 1
    assert [cell.text for cell in older.tables[0].rows[0][2:5]] == ["25.0", "–", "–"]
