"""The chapter on dot products: sentences that follow from the study's file, with made-up results and with the real."""

from dataclasses import replace

import pytest

from golden.refusal import BadKind, BadValue
from hwgen.__main__ import main
from rtl_tests.synth.report.test_report import made_up
from synth.cli import report as commands
from synth.report import load
from synth.report.chapters import dots as chapter
from synth.report.plan import Point
from synth.studies.dots import (
    ACCUMULATORS,
    BLOCK_DATA,
    BLOCKS,
    DATA,
    FORMAT,
    LANES,
    OPERANDS,
    SEEDS,
    STEP,
    SUMMED,
    TERMS,
    Dots,
    dot,
    readout,
)

AREA = {
    "binary16": 600,
    "binary32": 900,
    "exact": 500,
    "aligned13": 400,
    "aligned16": 550,
    "aligned25": 700,
    "readout": 800,
}
"""Made-up areas of 8 lanes, by accumulator."""
ERRORS = {OPERANDS: 1e-3, "aligned6": 0.5, "aligned8": 0.2, "aligned10": 1e-4, "binary16": 8e-5, "binary32": 1e-8}
"""Made-up errors; other accumulators have 1e-5, and exact has none."""
SNR = {"MXFP8": 28, "MXFP4": 15, "NVFP4": 17, "HiF8": 28, "E4M3": 27}


def study(**areas):
    """The content of a file; the lanes share 80 units of area, and spreads are 1 to both sides.

    binary16 has larger errors with fewer than 8 lanes.
    """
    areas, rows = AREA | areas, {}
    for label, (design, target, *_) in Dots.labelled().items():
        name = str(design.options.get("accumulator", design.kind))
        lanes = int(design.options.get("lanes", 8))
        (row, _) = made_up(design.kind, target, areas.get(name, 500) * lanes / 8 + 80, format="ocp_e4m3")
        rows[label] = [replace(row.best(), name=design.name, tool="yosys 0")]
    all_errors = {**dict.fromkeys(SUMMED[STEP], 1e-5), **ERRORS, "exact": 0.0}
    errors = []
    for kind in DATA:
        for lanes, names in {**SUMMED, TERMS: (OPERANDS,)}.items():
            for name in names:
                error = all_errors[name] * (2 if name == "binary16" and lanes < STEP else 1)
                errors.append([kind, lanes, name, [error, 1.01 * error], [2 * error, 3 * error]])
    snr = [[name, kind, [SNR[name], SNR[name] + 0.5]] for name in BLOCKS for kind in BLOCK_DATA]
    return {"numpy": "0", "errors": errors, "snr": snr, **Dots.packed(rows)}


def findings(data, tool="yosys 0"):
    return [finding.text for finding in chapter.section(Dots.from_json(data), tool).shown]


def test_the_smallest_accumulators_by_lanes():
    texts = findings(study())
    smallest = "Gates, ocp_e4m3, the smallest accumulator"
    assert texts[:3] == [
        f"{smallest} in the table, by area per product: aligned13 with 1 to 32 lanes.",
        f"{smallest} with negligible errors in the table, by area per product: aligned13 with 1 to 32 lanes.",
        f"{smallest} with no larger errors than binary32 in the table, by area per product: exact with 1 to 32 lanes. "
        "With a readout for each unit with an exact accumulator: binary32 with 1 to 16 lanes; exact with 32 "
        "lanes.",
    ]
    changes = "Gates, ocp_e4m3, from 1 to 32 lanes the area per product changes: -50% with binary16, "
    assert texts[3].startswith(changes)
    assert texts[4] == (
        "Gates: a product of ocp_e4m3 with 8 lanes costs 41% less with an exact accumulator than with binary32 (72.5 "
        "against 122.5 NAND2)."
    )
    both = "49% more with an exact accumulator and a readout than with binary32 (182.5 against 122.5 NAND2)."
    assert texts[5].endswith(both)
    assert any(text.startswith("Cyclone V, ocp_e4m3, the smallest accumulator in ") for text in texts)


def test_a_ranking_is_claimed_beyond_the_spreads_only():
    """With few lanes, the areas of two accumulators differ by less than their spreads."""
    text = findings(study(exact=405))[0]
    assert ": aligned13, no different from exact, with 1 to 2 lanes; aligned13 with 4 to 32 lanes. With a" in text


def test_negligible_errors_depend_on_the_lanes():
    dots = Dots.from_json(study())
    assert chapter.negligible(dots, 4) == ("binary32", "exact", "aligned13", "aligned16", "aligned25")
    assert chapter.negligible(dots, 16) == ACCUMULATORS
    assert [name for name in SUMMED[STEP] if name not in chapter.negligible(dots, STEP)] == [*SUMMED[STEP][:3]]
    assert chapter.no_worse(dots, STEP) == ("binary32", "exact")


def test_accumulators_by_error():
    texts = findings(study())
    assert (
        "Cancelling data, ocp_e4m3, steps of 8 products: aligned13 is the smallest accumulator with negligible errors "
        "(of all in the picture), by area per product without a readout (60 NAND2)."
    ) in texts
    assert any(text.startswith("ocp_e4m3, steps of 8 products: no aligned accumulator has smaller") for text in texts)


def test_accumulators_in_order_of_area():
    names = "e2m1, ocp_e5m2, ocp_e4m3, e5m2b1 and hif8"
    order = f"aligned13, then exact, then binary32 for {names}."
    assert f"Gates, 8 lanes, accumulators by area per product, without a readout: {order}" in findings(study())


def test_blocks_side_by_side():
    texts = findings(study())
    highest = "MXFP8 and HiF8 have the highest SNR of sums (28.2 dB, no different); MXFP4 has the lowest (15.2 dB)."
    assert [text for text in texts if "SNR" in text and "highest" in text] == [
        f"{kind} data, binary32: {highest}" for kind in ("Gaussian", "Heavy-tailed", "Varying")
    ]
    respects = "no more area, no more bits, no lower SNR on any of these data, and better in one of them."
    assert texts[-2:] == [f"{name} is beaten by HiF8: {respects}" for name in ("MXFP8", "E4M3")]


def test_areas_of_another_tool_are_not_compared():
    old, new = findings(study()), findings(study(), "yosys 1")
    assert new[0] == (
        "The areas of this section are by yosys 0, other figures by yosys 1: do not compare them. make dots "
        "measures them again."
    )
    assert new[1:] == old


@pytest.mark.parametrize("change", [{"points": None}, {"columns": 2}, {"recipes": None}, {"constants": {"tool": ""}}])
def test_a_file_of_something_else_is_refused(change):
    with pytest.raises((BadValue, BadKind)):
        Dots.from_json(study() | change)


def test_every_figure_that_is_shown_is_in_the_file():
    dots = load.dots()
    numbers = {lanes for numbers in LANES.values() for lanes in numbers}
    shown = {row.median / number for row in dots.rows for number in numbers}
    shown |= {value.median for errors in dots.errors.values() for value in errors}
    cases = [(target, lanes) for target in LANES for lanes in LANES[target]]
    both = [(readout(), dot(FORMAT, "exact", lanes, target), target) for target, lanes in cases]
    sums = [dots.row(Point(a, target)).median + dots.row(Point(b, target)).median for a, b, target in both]
    shown |= {value / n for value in sums for n in numbers}
    shown |= {value.median for value in dots.snr.values()} | {block.bits for block in BLOCKS.values()}
    tables = chapter.section(dots, dots.tool).tables
    cells = [cell for table in tables for row in table.rows for cell in row if cell.value is not None]
    assert len(cells) > 150
    assert {cell.value for cell in cells} <= shown
    assert all(value.samples == len(SEEDS) for value in dots.snr.values())


@pytest.mark.parametrize(("words", "shown"), [([], True), (["--formats", "all"], True), (["--formats", "hif8"], False)])
def test_reports_that_do_not_select_formats_have_the_section(words, shown, monkeypatch, tmp_path):
    monkeypatch.setattr(commands, "report_jobs", lambda *arguments: [])
    assert main(["report", *words, "-o", str(tmp_path), "--store", str(tmp_path / "store")]) == 0
    assert ('<section id="dots">' in (tmp_path / "index.html").read_text()) is shown


def test_without_the_study_there_is_no_section():
    assert chapter.section(None, "") is None
