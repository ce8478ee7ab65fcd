"""The chapter on real data: sentences from the rows of the study, and files that are refused."""

import json

import pytest

from hwgen.__main__ import main
from synth.report.chapters import accuracy
from synth.report.data import Accuracy


def rows(name, **ratios):
    """Rows of a format; for each accumulator the SNR without scales and with calibrated scales."""
    return [
        {
            "format": name,
            "scaling": scaling,
            "accumulator": accumulator,
            "accuracy": 0.5,
            "snr_db": snr,
            "scales": [[0, 0]],
        }
        for accumulator, pair in ratios.items()
        for scaling, snr in zip(("none", "calibrated"), pair, strict=True)
    ]


STUDY = [
    *rows("a", binary16=(10.0, 12.0), bfloat16=(9.0, 11.5), exact=(10.0, 12.02)),
    *rows("b", binary16=(20.0, 15.0), bfloat16=(20.0, 18.0), exact=(20.0, 15.05)),
    *rows("c", binary16=(30.0, 30.5), bfloat16=(None, None), exact=(30.0, 30.5)),
    *rows("d", binary16=(1.0, 33.0), bfloat16=(1.0, 30.6), exact=(1.0, 33.0)),
]
DIGITS = {
    "images": 200,
    "accumulator": "binary16",
    "study": STUDY,
    "rows": [
        {"format": "binary32", "accuracy": 0.98, "rtl_cases": 0},
        {"format": "hif8", "accuracy": 0.971, "snr_db": 28.66, "rtl_cases": 1234},
    ],
}


def section(data):
    return accuracy.digits(Accuracy.from_json(data))


def test_the_study_as_tables():
    chapter = section(DIGITS)
    assert "200 test images" in chapter.intro
    assert "one image is 0.5% of accuracy" in chapter.note
    (study,), (chart,) = chapter.tables, chapter.charts
    assert [finding.text for finding in chapter.findings] == [
        "Results of the Verilog and of the reference model are equal in 1,234 steps (hif8)."
    ]
    assert {trace["name"]: dict(zip(trace["y"], trace["x"], strict=True)) for trace in chart.data} == {
        "unscaled": {"a": 10, "b": 20, "c": 30, "d": 1},
        "calibrated": {"a": 12, "b": 15, "c": 30.5, "d": 33},
    }
    kinds = ("binary16", "bfloat16", "exact")
    assert study.columns == (
        "format",
        *(f"{kind}, unscaled" for kind in kinds),
        *(f"{kind}, calibrated" for kind in kinds),
    )
    assert " ".join(cell.text for cell in study.rows[0]) == "a 10.0 dB 9.0 dB 10.0 dB 12.0 dB 11.5 dB 12.0 dB"
    assert " ".join(cell.text for cell in study.rows[2]) == "c 30.0 dB overflow 30.0 dB 30.5 dB overflow 30.5 dB"
    assert {cell.small for row in study.rows for cell in row[1:]} == {"50.0%"}


def test_without_data_there_is_no_section():
    assert accuracy.digits(None) is None


@pytest.mark.parametrize(
    "change",
    [
        {"study": [{"format": "a"}]},
        {"study": [{key: value for key, value in STUDY[0].items() if key != "snr_db"}]},
        {"rows": [{"format": "a"}]},
        {"study": 1},
        {"study": None},
        {"images": None, "rows": None},
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path, capsys, change):
    """A valid file is accepted: the refusal is then about the output folder."""
    file = tmp_path / "digits.json"
    command = ["report", "--accuracy", str(file), "-o", str(file)]
    file.write_text(json.dumps(DIGITS))
    assert main(command) == 2
    assert capsys.readouterr().err == f"hwgen: -o: {str(file)!r} cannot be written to: {str(file)!r} is not a folder\n"
    file.write_text(json.dumps({**DIGITS, **change}))
    assert main(command) == 2
    assert capsys.readouterr().err == f"hwgen: --accuracy {str(file)!r} is not what examples/digits.py --json writes\n"
