"""The file of the study of dot products is current: areas are those of today's Verilog, errors those of golden."""

import json
import sys
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

import pytest

from hwgen.tools import yosys
from rtl_tests.support.selection import every
from rtl_tests.synth.area.test_jobs import JOB
from synth.area.jobs import DEFAULT_RENAMINGS, rows
from synth.area.plan import area_jobs
from synth.area.runner import Outcome
from synth.report import load
from synth.report.dots import BLOCK_DATA, BLOCKS, DATA, OPERANDS, RESULTS, SEEDS, SUMMED, TERMS, designs
from synth.studies import dots as study
from synth.studies import record
from synth.studies.script import status

DOTS = load.dots()
LINES = DOTS.source
ROWS = {(row.name, row.target): row for row in DOTS.rows}
DESIGNS = {(design.name, target): design for design, target in designs()}
TENTH = 10
STALE = "`make dots` measures it again"
NOTHING = '{"rows": []}'


def test_the_file_has_every_design_once():
    assert list(ROWS) == list(DESIGNS)
    assert len(DOTS.rows) == len(DESIGNS)
    assert {(row.is_best, row.renamings) for row in DOTS.rows} == {(True, DEFAULT_RENAMINGS)}
    assert DOTS.tool == yosys.version(), STALE


@pytest.mark.parametrize(("name", "target"), every(TENTH, DESIGNS))
def test_the_areas_are_those_of_the_verilog(name, target):
    design, row = DESIGNS[name, target], ROWS[name, target]
    (job,) = area_jobs(design, design.verilog(), (target,))
    hashes = {"verilog_sha256": row.verilog_sha256, "script_sha256": row.script_sha256}
    assert job.hashes() == hashes, STALE
    assert job.command == row.command


@pytest.mark.parametrize(
    ("lanes", "data", "seed"),
    every(29, [(lanes, data, seed) for lanes in (TERMS, *SUMMED) for data in DATA for seed in SEEDS]),
)
def test_errors_are_those_of_the_reference_model(lanes, data, seed):
    lines = {line["accumulator"]: line for line in LINES["errors"] if (line["data"], line["lanes"]) == (data, lanes)}
    errors, place = study.errors(data, lanes, seed), SEEDS.index(seed)
    assert set(lines) == set(errors) == set(SUMMED.get(lanes, (OPERANDS,)))
    assert errors.get("exact", (0, 0)) == (0, 0)  # the exact accumulator's sum, and that of binary64
    for name, both in errors.items():
        assert (lines[name]["rms"][place], lines[name]["p99"][place]) == pytest.approx(both, rel=1e-5), STALE


@pytest.mark.parametrize(
    ("block", "data", "seed"),
    every(29, [(name, data, seed) for seed in SEEDS for data in BLOCK_DATA for name in BLOCKS]),
)
def test_ratios_are_those_of_the_reference_model(block, data, seed):
    (line,) = (line for line in LINES["snr"] if (line["block"], line["data"]) == (block, data))
    assert line["db"][SEEDS.index(seed)] == pytest.approx(study.snr(BLOCKS[block], data, seed), rel=1e-5), STALE


@pytest.fixture
def outcomes(monkeypatch, tmp_path):
    """The outcomes of the study's jobs: those of the file, unless a test changes them. Nothing is known before."""
    jobs = [replace(JOB, command=row.command) for row in DOTS.rows]
    outcomes = [Outcome(job, (row,)) for job, row in zip(jobs, DOTS.rows, strict=True)]
    monkeypatch.setattr(study, "jobs", lambda store: jobs)
    monkeypatch.setattr(record, "measure_all", lambda todo, *arguments: outcomes)
    lines = {key: list(group) for key, group in groupby(LINES["errors"], itemgetter("data", "lanes"))}
    monkeypatch.setattr(study, "error_lines", lambda data, lanes: lines[data, lanes])
    monkeypatch.setattr(study, "snr_lines", lambda: LINES["snr"])
    (tmp_path / "dots.json").write_text(NOTHING)
    monkeypatch.setattr(study, "RESULTS", tmp_path / "dots.json")
    monkeypatch.setattr(sys, "argv", ["dots", "--store", str(tmp_path / "store")])
    return outcomes


def test_the_study_writes_the_file(outcomes, tmp_path):
    assert status("dots", study.main) == 0
    lines = (tmp_path / "dots.json").read_text().splitlines()
    assert f'"program": "{record.program([JOB])}",' in lines
    kept = [line for line in RESULTS.read_text().splitlines() if not line.startswith('"program"')]
    assert [line for line in lines if not line.startswith('"program"')] == kept


@pytest.mark.parametrize(("words", "todo"), [([], []), (["--again"], [JOB])])
def test_areas_of_the_same_verilog_are_not_measured_again(words, todo, outcomes, monkeypatch, tmp_path):
    row = rows(JOB, {"amap": [{"area": 2.0}, {"area": 3.0}]})[-1]
    (tmp_path / "dots.json").write_text(json.dumps({"program": record.program([JOB]), "rows": [row.to_json()]}))
    outcomes[:] = [Outcome(JOB, (row,))] if todo else []
    monkeypatch.setattr(study, "jobs", lambda store: [JOB])
    monkeypatch.setattr(record, "measure_all", lambda jobs, *arguments: outcomes if jobs == todo else jobs)
    monkeypatch.setattr(sys, "argv", [*sys.argv, *words])
    assert status("dots", study.main) == 0
    assert json.loads((tmp_path / "dots.json").read_text())["rows"] == [row.to_json()]


def test_a_job_that_fails_is_a_failure_in_one_sentence(outcomes, tmp_path, capsys):
    outcomes[:] = [Outcome(JOB, (), f"{JOB.label}: no")]
    assert status("dots", study.main) == 1
    assert capsys.readouterr().err == f"dots: {JOB.label}: no\n"
    assert (tmp_path / "dots.json").read_text() == NOTHING
