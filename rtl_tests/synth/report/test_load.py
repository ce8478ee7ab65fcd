"""Files that `hwgen report` reads: rows of sweeps and figures of accuracy, or a refusal and no output."""

import json
from dataclasses import replace

import pytest

from golden.refusal import BadValue
from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from rtl_tests.support.paths import ROOT
from synth.area.liberty import GATES, read_all
from synth.area.plan import area_jobs
from synth.area.targets import LIBERTY
from synth.cli import report as commands
from synth.proof.evidence import EvidenceStore, write_verdicts
from synth.proof.verify import emitted
from synth.report import load
from synth.report.chapters import method
from synth.report.data import assemble, with_sweeps
from synth.report.write import render

NOT_SWEPT = "is not what hwgen sweep or hwgen report writes"
NOT_ACCURACY = "is not what examples/digits.py --json writes"
TEXT = "module {} (input wire [15:0] acc_in, output wire [15:0] acc_out); endmodule"
ACCURACY = {
    "images": 450,
    "accumulator": "binary16",
    "rows": [
        {"format": "binary32", "accuracy": 0.98, "rtl_cases": 0},
        {"format": "hif8", "accuracy": 0.97, "rtl_cases": 12, "snr_db": 20.5},
    ],
    "study": [{"format": "hif8", "scaling": "none", "accumulator": "exact", "accuracy": 0.9, "snr_db": None}],
}


def made_up(design, target="gates", portfolio="standard"):
    """Rows of a design with invented areas and delays."""
    (job,) = area_jobs(design, TEXT.format(design.name), (target,), portfolio, 2, read_all([str(GATES)]))
    sample = {job.figure[0]: 50.0, "nand2_equivalents": 50.0} | ({"delay_fo4": 9.0} if job.is_timed else {})
    return job.rows({recipe: [sample, sample] for recipe in job.recipes()})


@pytest.fixture(scope="module")
def swept():
    lines = [
        *made_up(build("mac", "hif8")),
        *made_up(build("adder", "hif8")),
        *made_up(build("multiplier", "hif8"), LIBERTY),
        *made_up(build("encoder", "hif8")),
        *made_up(build("encoder", "hif8", rounding="hybrid")),
        *made_up(build("decoder", "hif8"), "xc7"),
        *made_up(build("mac", "hif8", accumulator="binary32")),
        *made_up(build("mac", "hif8"), portfolio="speed"),
    ]
    return {"rows": [row.to_json() for row in lines], "failures": [{"name": "n", "target": "gates", "error": "no"}]}


def test_evidence_of_another_version_is_ignored(tmp_path, capsys, swept):
    """Evidence says what today's program and tools show of today's modules; all else is named and left out."""
    sweep, folder, out = tmp_path / "sweep.json", tmp_path / "evidence", tmp_path / "out"
    store = EvidenceStore(folder)
    subject = emitted(build("decoder", "hif8"))
    right = replace(subject.evidence(*subject.method()), verdict="equal", cases=256)
    measured = {right.module: {"verilog_sha256": right.hashes["verilog"]}}
    rows = [row | measured.get(row["name"], {}) for row in swept["rows"]]
    sweep.write_text(json.dumps(swept | {"rows": rows}))
    store.save(right)
    for name, change in {
        "checks": {"hashes": {**right.hashes, "checks": "0"}},
        "golden": {"hashes": {**right.hashes, "golden": "0"}},
        "none": {"hashes": {"verilog": "0"}},
        "tools": {"tools": {**right.tools, "yosys": "another one"}},
    }.items():
        store.save(replace(right, module=name, **change))
    (folder / "odd.json").write_text(json.dumps({**right.record(), "hashes": [], "module": "odd"}))
    words = ["report", "--sweep", str(sweep), "--evidence", str(folder), "--store", str(tmp_path / "store")]
    assert main([*words, "-o", str(out)]) == 0
    assert capsys.readouterr().err == "".join(
        f"hwgen: evidence in {folder} is ignored: {ignored}\n"
        for ignored in (
            "1 of 6 records cannot be read",
            "4 of 6 records are of another version of the program, its tools or the module",
        )
    )
    (shown,) = json.loads((out / "report.json").read_text())["evidence"]
    assert shown["module"] == right.module


def test_a_folder_of_evidence_is_only_read(tmp_path, swept):
    sweep = tmp_path / "sweep.json"
    sweep.write_text(json.dumps(swept))
    words = ["report", "--sweep", str(sweep), "--store", str(tmp_path / "store"), "-o", str(tmp_path / "out")]
    assert main([*words, "--evidence", "/proc/self"]) == 0


def test_evidence_of_another_module_of_the_same_name_is_ignored(tmp_path, monkeypatch):
    subject, folder = emitted(build("decoder", "hif8")), tmp_path / "evidence"
    right = replace(subject.evidence(*subject.method()), verdict="equal", cases=256)
    other = replace(right, hashes={**right.hashes, "verilog": "0"})
    jobs = area_jobs(subject.design, subject.verilog, ("gates",), "standard", 1, ())
    monkeypatch.setattr(commands, "VERDICTS", tmp_path / "missing.csv")
    for record, kept in ((right, [right]), (other, [])):
        EvidenceStore(folder).save(record)
        assert commands._evidence(str(folder), jobs) == kept
        rows = [replace(row, verilog_sha256=right.hashes["verilog"]) for row in made_up(subject.design)]
        assert commands._evidence(str(folder), (), rows) == kept
    assert commands._evidence(str(tmp_path), jobs) == []


def test_without_a_record_the_committed_table_counts(tmp_path, monkeypatch):
    """A row of the same module, Verilog and program; none of another program, another Verilog, or another verdict."""
    subject, file = emitted(build("decoder", "hif8")), tmp_path / "proofs.csv"
    monkeypatch.setattr(commands, "VERDICTS", file)
    jobs = area_jobs(subject.design, subject.verilog, ("gates",), "standard", 1, ())
    right = replace(subject.evidence(*subject.method()), verdict="equal", cases=256)

    def shown(record, folder=".", **change):
        write_verdicts(file, [record.verdict_row._replace(**change)])
        return commands._evidence(str(tmp_path / folder), jobs)

    (known,) = shown(right)
    assert (known.module, known.hashes["verilog"], known.verdict) == (right.module, right.hashes["verilog"], "equal")
    assert (known.cases, known.kind, known.tools) == (256, right.kind, right.tools)
    assert shown(replace(right, inputs=1 << 32))[0].cases == 1 << 32
    assert method.sentence([known]) == (
        "Verdicts on 1 module: 1 equal, 256 inputs evaluated; 1 of these verdicts by the committed table "
        "docs/proofs.csv, of this program and this Verilog."
    )
    assert shown(replace(right, hashes={**right.hashes, "golden": "0"})) == []
    assert shown(right, verilog="0" * 12) == []
    assert shown(right, module="other") == []
    assert shown(right, verdict="unproved") == []
    EvidenceStore(tmp_path / "evidence").save(right)
    assert shown(right, "evidence") == [right]  # a record goes before the table
    (row,) = made_up(subject.design)[-1:]
    row = replace(row, name=right.module, verilog_sha256=right.hashes["verilog"])
    write_verdicts(file, [right.verdict_row])
    assert commands._evidence(str(tmp_path), [], [row]) == [known]
    assert commands._evidence(str(tmp_path), [], [replace(row, verilog_sha256="0")]) == []


def refused(tmp_path, capsys, option, text, sentence):
    file = tmp_path / "data.json"
    file.write_text(text)
    words = ["report", option, str(file), "-o", str(tmp_path / "out"), "--store", str(tmp_path / "store")]
    assert main(words) == 2
    assert capsys.readouterr().err == f"hwgen: {option} {str(file)!r} {sentence}\n"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("read", "argument"),
    [(load.sweep, "sweep"), (load.sweep, "compare"), (load.accuracy, "accuracy")],
    ids=["sweep", "compare", "accuracy"],
)
def test_refusals_name_the_argument(read, argument, tmp_path):
    with pytest.raises(BadValue) as refused:
        read(str(tmp_path), argument)
    assert refused.value.argument == argument
    assert str(refused.value) == f"{argument} {str(tmp_path)!r} cannot be read: Is a directory"


def test_rows_of_a_sweep_are_shown(swept, tmp_path):
    file = tmp_path / "sweep.json"
    file.write_text(json.dumps(swept))
    words = ["report", "--sweep", str(file), "-o", str(tmp_path / "out"), "--store", str(tmp_path / "store")]
    assert main(words) == 0
    pages = "".join(page.read_text() for page in (tmp_path / "out").glob("*.html"))
    for anchor in ("mac", "encoders", "accumulators", "speed", "failures"):
        assert f'<section id="{anchor}">' in pages


def test_texts_of_a_sweep_are_no_markdown(swept, tmp_path):
    """Also in findings: of two formats, one has the smallest MAC."""
    larger = {"samples": [70.0] * 2, "min": 70.0, "median": 70.0, "max": 70.0, "verilog_sha256": "0" * 64}
    macs = [row for row in swept["rows"] if row["component"] == "mac" and row["portfolio"] == "standard"]
    rows = [row | {"format": "one\n\n<b>"} for row in macs] + [row | larger | {"format": "two"} for row in macs]
    file = tmp_path / "sweep.json"
    file.write_text(json.dumps(swept | {"rows": rows}))
    render(with_sweeps(assemble([], []), [load.sweep(str(file), "sweep")]), tmp_path / "out")
    text = (tmp_path / "out" / "report.md").read_text()
    assert "one &lt;b> has the smallest MAC" in text


def test_a_row_without_a_key_is_refused_or_the_key_is_not_needed(swept, tmp_path):
    file, needed = tmp_path / "sweep.json", set()
    for place, row in enumerate(swept["rows"]):
        if row["recipe"] != "best":
            continue
        for key in row:
            less = {name: value for name, value in row.items() if name != key}
            file.write_text(json.dumps({**swept, "rows": [*swept["rows"][:place], less, *swept["rows"][place + 1 :]]}))
            try:
                kept = load.sweep(str(file), "sweep")
            except BadValue:
                needed.add(key)
                continue
            if row["component"] in ("mac", "encoder") and row["target"] == "gates" and key not in ("metric", "samples"):
                render(with_sweeps(assemble([], []), [kept]), tmp_path / "out")
    assert needed >= {
        "best_recipe",
        "accumulator_bits",
        "accumulator",
        "rounding",
        "timer",
        "delay_samples",
        "libraries",
        "median",
    }


@pytest.mark.parametrize(
    ("component", "key", "value"),
    [
        ("mac", "best_recipe", None),
        ("mac", "accumulator_bits", "16"),
        ("mac", "accumulator", ["binary16"]),
        ("encoder", "rounding", 1),
        ("mac", "median", float("nan")),
        ("mac", "median_cells", "many"),
        ("mac", "min", 0),
        ("mac", "seed", True),
        ("mac", "format", " "),
        ("mac", "target", "tpu"),
        ("multiplier", "libraries", []),
        ("multiplier", "libraries_sha256", [1]),
        ("mac", "component", []),
    ],
)
def test_a_row_with_another_value_is_refused(swept, tmp_path, capsys, component, key, value):
    place = next(i for i, row in enumerate(swept["rows"]) if row["component"] == component and row["recipe"] == "best")
    rows = [{**row, key: value} if i == place else row for i, row in enumerate(swept["rows"])]
    refused(tmp_path, capsys, "--sweep", json.dumps({**swept, "rows": rows}), NOT_SWEPT)


@pytest.mark.parametrize("samples", [[], [1.0, "2"], None])
def test_invalid_delays_are_refused(swept, tmp_path, capsys, samples):
    rows = [{**row, "delay_samples": samples} if "timer" in row else row for row in swept["rows"]]
    refused(tmp_path, capsys, "--sweep", json.dumps({**swept, "rows": rows}), NOT_SWEPT)


DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        DEEP,
        '{"rows": [1], "failures": []}',
        '{"rows": [], "failures": [{"name": 1, "target": "x", "error": "y"}]}',
    ],
)
def test_files_of_other_programs_are_refused_as_sweeps(tmp_path, capsys, text):
    refused(tmp_path, capsys, "--sweep", text, NOT_SWEPT)


@pytest.mark.parametrize(
    "change",
    [
        {"samples": [10**400] * 2, "min": 10**400, "median": 10**400, "max": 10**400},
        {"samples": [1e300] * 2, "min": 1e300, "median": 1e300, "max": 1e300},
        {"median_nand2_equivalents": 10**400},
        {"seed": 10**31},
        {"tool": "\ud800"},
        {"rounding": "\ud800"},
    ],
    ids=["integers", "floats", "median", "seed", "surrogate", "option"],
)
def test_numbers_and_texts_that_no_page_can_show_are_refused(swept, tmp_path, capsys, change):
    rows = [row | change for row in swept["rows"] if row["component"] == "mac"]
    refused(tmp_path, capsys, "--sweep", json.dumps(swept | {"rows": rows}), NOT_SWEPT)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        DEEP,
        json.dumps({**ACCURACY, "images": "450"}),
        json.dumps({**ACCURACY, "accumulator": 16}),
        json.dumps({**ACCURACY, "images": 0}),
        *(
            json.dumps({**ACCURACY, "study": [{**ACCURACY["study"][0], key: value}]})
            for key, value in (
                ("scaling", 1),
                ("accumulator", []),
                ("accuracy", None),
                ("snr_db", "x"),
            )
        ),
        *(
            json.dumps({**ACCURACY, "rows": [{**ACCURACY["rows"][1], key: value}]})
            for key, value in (
                ("format", None),
                ("accuracy", "high"),
                ("accuracy", True),
                ("accuracy", 97.5),
                ("rtl_cases", 1.5),
                ("snr_db", True),
                ("snr_db", "x"),
                ("snr_db", float("inf")),
                ("snr_db", 10**400),
                ("format", "\udfff"),
            )
        ),
        json.dumps({**ACCURACY, "rows": ["hif8"]}),
    ],
)
def test_files_of_other_programs_are_refused_as_accuracy(tmp_path, capsys, text):
    refused(tmp_path, capsys, "--accuracy", text, NOT_ACCURACY)


def test_every_key_of_a_row_is_documented(swept):
    page = (ROOT / "docs" / "area.md").read_text()
    text = page[page.index("## Reading the rows") :]
    options = {"format", "accumulator", "from", "rounding", "overflow", "to"}
    keys = {key for row in swept["rows"] for key in row if not key.startswith("median_")} - options
    assert {key for key in keys if f"`{key}`" not in text} == set()


def test_accuracy_is_read(tmp_path):
    (tmp_path / "data.json").write_text(json.dumps(ACCURACY))
    assert load.accuracy(str(tmp_path / "data.json")).source == ACCURACY
