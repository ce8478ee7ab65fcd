"""The chapter on dot products: sentences that follow from the study's file, with made-up results and with the real."""

import pytest

from golden.refusal import BadKind, BadValue
from hwgen.__main__ import main
from rtl_tests.synth.report.test_report import made_up
from synth.cli import report as commands
from synth.report import load
from synth.report.chapters import dots as chapter
from synth.report.dots import BLOCK_DATA, BLOCKS, DATA, LANES, OPERANDS, SEEDS, SUMMED, Dots, designs

AREA = {"binary16": 600, "binary32": 900, "exact": 500, "aligned13": 400, "aligned25": 700, "readout": 800}
"""Made-up areas of 8 lanes, by accumulator."""
ERRORS = {OPERANDS: 1e-3, "aligned6": 0.5, "aligned8": 0.2, "aligned10": 1e-4, "binary16": 1.5e-4, "binary32": 1e-8}
"""Made-up errors; other accumulators have 1e-5, and exact has none."""
SNR = {"MXFP8": 28, "MXFP4": 15, "NVFP4": 17, "HiF8": 28, "E4M3": 27}


def study(**areas):
    """The content of a file; the lanes share 80 units of area, and spreads are 1 to both sides."""
    areas, rows = AREA | areas, {}
    for design, target in designs():
        name = str(design.options.get("accumulator", design.kind))
        lanes = int(design.options.get("lanes", 8))
        (row, _) = made_up(design.kind, target, areas.get(name, 500) * lanes / 8 + 80, format="ocp_e4m3")
        best = row.best().to_json() | {"name": design.name, "tool": "yosys 0"}
        rows[design.name, target] = best
    errors = [
        {"data": kind, "accumulator": name, "rms": [error, 1.01 * error], "p99": [2 * error, 3 * error]}
        for kind in DATA
        for name, error in {**dict.fromkeys((OPERANDS, *SUMMED), 1e-5), **ERRORS, "exact": 0.0}.items()
    ]
    snr = [{"block": name, "data": kind, "db": [SNR[name], SNR[name] + 0.5]} for name in BLOCKS for kind in BLOCK_DATA]
    return {"numpy": "0", "errors": errors, "snr": snr, "rows": list(rows.values())}


def findings(data, tool="yosys 0"):
    return [finding.text for finding in chapter.section(Dots.from_json(data), tool).findings]


def test_the_smallest_accumulators_by_lanes():
    texts = findings(study())
    everything = "binary16, binary32, exact, aligned13 and aligned25"
    assert texts[0] == f"Gates, smallest (of {everything}): aligned13 with 1 to 32 lanes."
    assert texts[1].startswith("Gates, smallest with negligible errors (of binary32, exact, aligned13 and aligned25): ")
    assert texts[2] == (
        "Gates, smallest with no larger errors than binary32 (of binary32 and exact): exact with 1 to 32 lanes."
    )
    assert texts[3].startswith("Gates, 32 lanes instead of 1: a product costs -50% with binary16, ")
    assert texts[4] == (
        "Gates: a product of 8 lanes costs 41% less with an exact accumulator than with binary32 (72.5 against 122.5 "
        "NAND2)."
    )
    assert "with an exact accumulator and a readout than with binary32 (182.5 against 122.5 NAND2)." in texts[5]
    assert any(text.startswith("Cyclone V, smallest (of ") for text in texts)


def test_a_ranking_is_claimed_beyond_the_spreads_only():
    """With few lanes, the areas of two accumulators differ by less than their spreads."""
    texts = findings(study(exact=405))
    assert ": aligned13, no different from exact, with 1 to 2 lanes; aligned13 with 4 to 32 lanes." in texts[0]


def test_negligible_errors():
    dots = Dots.from_json(study())
    assert chapter.negligible(dots, DATA) == [
        name for name in SUMMED if name not in ("aligned6", "aligned8", "aligned10", "binary16")
    ]
    assert chapter.no_worse(dots) == ["binary32", "exact"]


def test_blocks_side_by_side():
    texts = findings(study())
    highest = "MXFP8 has the highest SNR of sums (28.2 dB), no different from HiF8; MXFP4 has the lowest (15.2 dB)."
    assert [text for text in texts if "SNR" in text and "highest" in text] == [
        f"{kind} data: {highest}" for kind in ("Gaussian", "Heavy-tailed", "Varying")
    ]
    respects = "no more area, no more bits, no lower SNR on any of these data, and better in one of them."
    assert texts[-2:] == [f"{name} is beaten by HiF8: {respects}" for name in ("MXFP8", "E4M3")]


def test_areas_of_another_tool_are_not_compared():
    old, new = findings(study()), findings(study(), "yosys 1")
    assert new[0] == (
        "The areas of this section are by yosys 0, those of other sections by yosys 1: do not compare them. make dots "
        "measures them again."
    )
    assert new[1:] == old


@pytest.mark.parametrize("change", [{"rows": None}, {"numpy": 2}, {"errors": [{}]}, {"snr": [{"block": "a"}]}])
def test_a_file_of_something_else_is_refused(change):
    with pytest.raises((BadValue, BadKind)):
        Dots.from_json(study() | change)


def test_every_figure_that_is_shown_is_in_the_file():
    dots = load.dots()
    lanes = {lanes for numbers in LANES.values() for lanes in numbers}
    shown = {row.median / number for row in dots.rows for number in lanes}
    shown |= {value.median for errors in dots.errors.values() for value in errors}
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
