"""The chapter on dot products: sentences that follow from the study's file, with made-up results and with the real."""

from dataclasses import replace

import pytest

from golden.refusal import BadKind, BadValue
from rtl_tests.synth.report.test_report import made_up
from synth.report import load
from synth.report.chapters import dots as chapter
from synth.report.data import assemble
from synth.studies.dots import (
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
from synth.studies.family import Point

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


def chapter_of(dots, tool=""):
    """The chapter of a report with this study, and areas by this tool."""
    return chapter.section(replace(assemble([], []), dots=dots, tool=tool))


def findings(data, tool="yosys 0"):
    return [finding.text for finding in chapter_of(Dots.from_json(data), tool).findings]


def test_the_smallest_accumulator_is_one_of_all_that_are_exact_enough():
    """Each that was measured with these lanes is in the chart; aligned6 and aligned8 have larger errors."""
    first, second = (each.text for each in chapter_of(Dots.from_json(study())).findings if each.subject)
    assert first == (
        "Gates, of 11 measured accumulators of ocp_e4m3 with 8 lanes whose errors are, on all data, below those "
        "of rounding operands: aligned13 has the smallest area per product (60 NAND2); binary32 has the largest, "
        "+104% (+103.5% to +104.8%)."
    )
    smaller = chapter_of(Dots.from_json(study(aligned20=390))).findings
    assert ": aligned20 has the smallest area per product (58.8 NAND2)" in smaller[0].text + smaller[1].text
    assert second.startswith("Gates, 8 lanes, area per product: hif8 against ocp_e4m3+ocp_e5m2 into binary32 no ")


def test_every_measured_accumulator_has_its_area_and_its_errors():
    dots = load.dots()
    section = chapter_of(dots, dots.tool)
    names = {row.options["accumulator"] for row in dots.rows if row.options.get("lanes") == STEP}
    names &= {row.options["accumulator"] for row in dots.rows if row.format == FORMAT and row.component == "dot"}
    (areas,) = (chart for chart in section.charts if chart.title == "ocp_e4m3, 8 lanes: area by accumulator")
    assert set(areas.data[0]["y"]) == names == set(SUMMED[STEP])
    errors, _ = section.tables
    assert {row[0].text for row in errors.rows if row[1].value is not None} == names


def test_blocks_side_by_side():
    """Each unit of a finding has its row; half a block has no errors of its own."""
    half = "MXFP4 with half a block"
    assert findings(study())[-1] == (
        f"Gates, area per product with 16 lanes into binary32: NVFP4 against {half} no difference (117.5 against 117.5 "
        "NAND2)."
    )
    rows = {row[0].text: row for row in chapter_of(Dots.from_json(study())).tables[-1].rows}
    assert (rows[half][2].text, rows[half][4].text, rows[half][5].text) == ("16", "117.5", "–")
    assert rows["MXFP4"][5].text == "15.2 dB"


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
    tables = chapter_of(dots, dots.tool).tables
    cells = [cell for table in tables for row in table.rows for cell in row if cell.value is not None]
    assert len(cells) > 100
    assert {cell.value for cell in cells} <= shown
    assert all(value.samples == len(SEEDS) for value in dots.snr.values())


def test_without_the_study_there_is_no_section():
    assert chapter_of(None) is None
