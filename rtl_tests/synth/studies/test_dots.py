"""The file of the study of dot products is current: areas are those of today's Verilog, errors those of golden."""

import json
import sys
from dataclasses import replace
from operator import itemgetter

import pytest

from hwgen.tools import yosys
from rtl_tests.support.selection import in_turn, kind_of_design, one_of_each, only
from rtl_tests.synth.area.test_jobs import JOB
from synth.area.digest import fingerprint
from synth.area.jobs import DEFAULT_RENAMINGS
from synth.area.plan import area_jobs
from synth.area.runner import Outcome
from synth.report import load
from synth.studies import dots as study
from synth.studies import study as module
from synth.studies.dots import BLOCK_DATA, BLOCKS, DATA, OPERANDS, SEEDS, SUMMED, TERMS, Dots
from synth.studies.script import status

DOTS = load.dots()
ERRORS = {(data, lanes, name): both for data, lanes, name, *both in DOTS.source["errors"]}
RATIOS = {(block, data): ratios for block, data, ratios in DOTS.source["snr"]}
ROWS = {(row.name, row.target): row for row in DOTS.rows}
DESIGNS = {(point.design.name, point.target): point.design for point in Dots.points()}
STALE = "`make dots` measures it again"
NOTHING = json.dumps(Dots.packed(dict.fromkeys(Dots.labelled(), ())))


def test_the_file_has_every_design_once():
    assert list(ROWS) == list(DESIGNS)
    assert len(DOTS.rows) == len(DESIGNS)
    assert {(row.is_best, row.renamings) for row in DOTS.rows} == {(True, DEFAULT_RENAMINGS)}
    assert DOTS.tool == yosys.version(), STALE


@pytest.mark.parametrize(("name", "target"), one_of_each(lambda *key: (key[1], kind_of_design(DESIGNS[key])), DESIGNS))
def test_the_areas_are_those_of_the_verilog(name, target):
    design, row = DESIGNS[name, target], ROWS[name, target]
    (job,) = area_jobs(design, design.verilog(), (target,))
    hashes = {"verilog_sha256": row.verilog_sha256, "script_sha256": row.script_sha256}
    assert job.hashes() == hashes, STALE
    assert job.command == row.command


SUMS = [(data, lanes, seed) for seed in SEEDS for data in DATA for lanes in (TERMS, *SUMMED)]
SCALED = [(data, block, seed) for seed in SEEDS for data in BLOCK_DATA for block in BLOCKS]


@pytest.mark.parametrize(("data", "lanes", "seed"), only(in_turn(itemgetter(0), SUMS), SUMS))
def test_errors_are_those_of_the_reference_model(data, lanes, seed):
    lines = {name: both for (*place, name), both in ERRORS.items() if place == [data, lanes]}
    errors, place = study.errors(data, lanes, seed), SEEDS.index(seed)
    assert set(lines) == set(errors) == set(SUMMED.get(lanes, (OPERANDS,)))
    assert errors.get("exact", (0, 0)) == (0, 0)  # the exact accumulator's sum, and that of binary64
    for name, both in errors.items():
        assert [samples[place] for samples in lines[name]] == pytest.approx(both, rel=1e-5), STALE


@pytest.mark.parametrize(("data", "block", "seed"), only(in_turn(itemgetter(0), SCALED), SCALED))
def test_ratios_are_those_of_the_reference_model(data, block, seed):
    ratio = RATIOS[block, data][SEEDS.index(seed)]
    assert ratio == pytest.approx(study.snr(BLOCKS[block], data, seed), rel=1e-5), STALE


@pytest.fixture
def outcomes(monkeypatch, tmp_path):
    """The outcomes of the study's jobs: those of the file, unless a test changes them. Nothing is known before."""
    jobs = {label: [replace(JOB, command=DOTS.row(point).command)] for label, point in Dots.labelled().items()}
    outcomes = [Outcome(job, (row,)) for (job,), row in zip(jobs.values(), DOTS.rows, strict=True)]
    monkeypatch.setattr(Dots, "jobs", lambda store: jobs)
    monkeypatch.setattr(module, "measure_all", lambda todo, *arguments: outcomes)
    monkeypatch.setattr(study, "errors", lambda data, lanes, seed: {
        name: tuple(samples[SEEDS.index(seed)] for samples in both)
        for (*place, name), both in ERRORS.items() if place == [data, lanes]
    })  # fmt: skip
    ratios = {(BLOCKS[name], data): values for (name, data), values in RATIOS.items()}
    monkeypatch.setattr(study, "snr", lambda block, data, seed: ratios[block, data][SEEDS.index(seed)])
    monkeypatch.setattr(Dots, "file", tmp_path / "dots.json")
    Dots.file.write_text(NOTHING)
    monkeypatch.setattr(sys, "argv", ["dots", "--store", str(tmp_path / "store")])
    return outcomes


def test_the_study_writes_the_file(outcomes):
    assert status("dots", study.main) == 0
    content = json.loads(Dots.file.read_text())
    assert content == {**DOTS.source, "program": fingerprint(type(JOB).__module__)}


@pytest.mark.parametrize(("words", "todo"), [([], 0), (["--again"], 1)])
def test_areas_of_the_same_verilog_are_not_measured_again(words, todo, outcomes, monkeypatch):
    """Neither those of a job whose row is in the file; others are measured, and the file is written anew."""
    label, point = next(iter(Dots.labelled().items()))
    job = replace(JOB, command=DOTS.row(point).command)
    row = replace(DOTS.row(point), **job.hashes(), tool=yosys.version())
    rows = {label: [row]} | {other: () for other in Dots.labelled() if other != label}
    Dots.file.write_text(json.dumps({"program": fingerprint(type(JOB).__module__), **Dots.packed(rows)}))
    measured = []
    monkeypatch.setattr(Dots, "jobs", lambda store: {known: [job] * (known == label) for known in Dots.labelled()})
    monkeypatch.setattr(module, "measure_all", lambda jobs, *_: measured.extend(jobs) or [Outcome(job, (row,))] * todo)
    monkeypatch.setattr(sys, "argv", [*sys.argv, *words])
    assert status("dots", study.main) == 0
    assert len(measured) == todo
    assert Dots.load().rows == (row,)
    Dots.file.write_text(Dots.file.read_text().replace(fingerprint(type(JOB).__module__), "another"))
    assert Dots._known(fingerprint(type(JOB).__module__)) == {}


def test_a_job_that_fails_is_a_failure_in_one_sentence(outcomes, capsys):
    outcomes[:] = [Outcome(JOB, (), f"{JOB.label}: no")]
    assert status("dots", study.main) == 1
    assert capsys.readouterr().err == f"dots: {JOB.label}: no\n"
    assert Dots.file.read_text() == NOTHING
