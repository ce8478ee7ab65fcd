"""Limits in nanoseconds, with made-up delays; and their file is current, with delays and areas of today's program."""

import json
import re
import sys
from dataclasses import replace
from itertools import chain

import pytest

from hwgen.tools import yosys
from rtl_tests.support.optional import LIBERTY_FOLDER, NEEDS_OPENSTA, NEEDS_SHARED
from synth.area.digest import fingerprint
from synth.area.jobs import AS_EMITTED, DEFAULT_RENAMINGS
from synth.area.liberty import GATES
from synth.area.store import Store
from synth.studies import fast, study
from synth.studies.fast import Sky130
from synth.studies.script import parser, status
from synth.studies.speeds import Speeds

STALE = "`make fast` with the library measures it again"
SKY130 = Sky130.load()
ROWS = list(SKY130.rows)
LIMIT = fast.LIMITS_IN_NS[1]
FILE = LIBERTY_FOLDER / "sky130hd_tt.lib.gz"


def delayed(delay, seed, rows=ROWS):
    """The rows of the file, with another delay in ns of the netlists of :data:`LIMIT` that start from this seed."""
    name = LIMIT.designs()[1].name
    return [
        replace(row, medians=row.medians | {"delay_ps": delay * 1000}) if row.seed == seed and row.name == name else row
        for row in rows
    ]


@pytest.mark.parametrize(
    ("emitted", "renamed", "kept", "end"),
    [
        (3.5, 3.5, True, "depth_map: kept"),
        (3.5, 3.501, True, "depth_map: kept (median: NOT kept)"),
        (3.501, 3.5, False, "depth_map: NOT KEPT (median: kept)"),
        (3.501, 3.501, False, "depth_map: NOT KEPT"),
    ],
)
def test_a_limit_is_that_of_the_module_as_emitted(emitted, renamed, kept, end):
    checks = list(fast.timed(delayed(emitted, AS_EMITTED, delayed(renamed, 1))))
    assert [check.kept for check in checks] == [True, None, kept, None, True, None, True, None]
    assert checks[2].text.endswith(end)
    assert checks[2].text.split()[:4] == [
        "ocp_e4m3_mac_binary16_speed",
        "3.50",
        f"{emitted:.3f}",
        f"{renamed:.2f}",
    ]


def test_delays_of_renamings_are_converted_to_nanoseconds():
    design = LIMIT.designs()[1]
    (row,) = (row for row in ROWS if (row.name, row.recipe, row.seed) == (design.name, fast.RECIPE, 1))
    timing = replace(row.timing, samples=(36.0, 37.0, 38.0, 40.0))
    delays, emitted = fast.delay(design, fast.RECIPE, [replace(row, timing=timing, medians={"delay_ps": 3000.0})])
    assert (delays.low, delays.median, delays.high) == pytest.approx((2.88, 3.0, 3.2))
    assert emitted is None


def test_without_a_library_a_line_says_so(monkeypatch, capsys, tmp_path):
    lines = run(monkeypatch, tmp_path, [], capsys)
    assert lines[-1] == (
        "delays in ns on sky130_fd_sc_hd__tt_025C_1v80: not measured, no library (--liberty FILE): exit status 0"
    )


@pytest.mark.parametrize(("emitted", "number"), [(3.5, 0), (3.51, 1)])
def test_the_limits_take_part_in_the_exit_status(emitted, number, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(fast, "libraries", lambda file: {(file,): ()})
    monkeypatch.setattr(Sky130, "jobs_on", lambda known, store: {})
    monkeypatch.setattr(Sky130, "measure", lambda chosen, jobs: None)
    monkeypatch.setattr(Sky130, "load", lambda: replace(SKY130, rows=delayed(emitted, AS_EMITTED)))
    lines = run(monkeypatch, tmp_path, ["--liberty", "cells.lib"], capsys)
    assert lines[-9] == fast.HEAD
    assert lines[-1].endswith(f"exit status {number}")


def run(monkeypatch, folder, words, capsys):
    """Lines that the study prints if all other limits are kept; the last one ends with the exit status."""
    monkeypatch.setattr(Speeds, "measure", lambda chosen: None)
    monkeypatch.setattr(fast, "limits", list)
    monkeypatch.setattr(sys, "argv", ["fast", "--store", str(folder / "store"), *words])
    number = status("fast", fast.main)
    return f"{capsys.readouterr().out.rstrip()}: exit status {number}".splitlines()


@pytest.fixture
def library(tmp_path):
    """A library that only has the name of the right one."""
    file = tmp_path / "cells.lib"
    file.write_text(re.sub(r"library \(\w+\)", f"library ({fast.LIBRARY})", GATES.read_text()))
    return str(file)


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        ("none.lib", "--liberty: none.lib cannot be read: No such file or directory"),
        ("", "--liberty: '' names no file"),
        (str(GATES), f"--liberty must be {fast.LIBRARY}, which the limits in ns apply to, not gates"),
    ],
)
def test_other_libraries_are_refused(file, sentence, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["fast", "--liberty", file])
    assert status("fast", fast.main) == 2
    assert capsys.readouterr().err == f"fast: {sentence}\n"


def test_without_opensta_a_library_is_refused(library, monkeypatch, capsys):
    monkeypatch.setattr(fast, "opensta", lambda: None)
    monkeypatch.setattr(sys, "argv", ["fast", "--liberty", library])
    assert status("fast", fast.main) == 2
    assert capsys.readouterr().err == "fast: --liberty needs OpenSTA (sta), which times the limits in ns\n"


def test_jobs_and_commands_do_not_depend_on_the_place_of_the_library(library, monkeypatch, tmp_path):
    monkeypatch.setattr(fast, "opensta", lambda: "opensta 0")
    monkeypatch.setattr(fast, "verilog", lambda design, store: f"module {design.name};\nendmodule\n")
    todo = Sky130.jobs_on(fast.libraries(library), Store(tmp_path / "store"))
    assert [(job.top, job.recipe, job.seed, job.command) for jobs in todo.values() for job in jobs] == [
        (row.name, row.recipe, row.seed, row.command) for row in ROWS
    ]


def test_the_file_has_every_mac_with_both_recipes():
    seeds = ([1], [AS_EMITTED, 1])
    assert [(row.name, row.seed, row.recipe) for row in ROWS] == [
        (design.name, seed, recipe)
        for limit in fast.LIMITS_IN_NS
        for design, group in zip(limit.designs(), seeds, strict=True)
        for seed in group
        for recipe in fast.RECIPES
    ], STALE
    assert {(row.tool, row.renamings) for row in ROWS if row.seed} == {(yosys.version(), DEFAULT_RENAMINGS)}, STALE
    assert {row.renamings for row in ROWS if not row.seed} == {1}


@pytest.fixture
def measured_jobs(tmp_path):
    return Sky130.jobs_on(fast.libraries(str(FILE)), Store(tmp_path / "store"))


# Without the library nobody can measure the file again: a clone's change of the Verilog must not fail for that.
@NEEDS_SHARED
@NEEDS_OPENSTA
def test_the_rows_are_those_of_the_verilog(measured_jobs):
    for job, row in zip(chain(*measured_jobs.values()), ROWS, strict=True):
        assert job.hashes() == {"verilog_sha256": row.verilog_sha256, "script_sha256": row.script_sha256}, STALE


@NEEDS_SHARED
@NEEDS_OPENSTA
@pytest.mark.exhaustive
def test_delays_are_those_of_the_program(measured_jobs):
    for job, old in zip(chain(*measured_jobs.values()), ROWS, strict=True):
        new, best = job.rows(job.execute())
        assert best.is_best
        assert (new.samples, new.timing, new.medians) == (old.samples, old.timing, old.medians), STALE


@NEEDS_SHARED
@NEEDS_OPENSTA
def test_rows_of_the_file_are_not_measured_again(monkeypatch, tmp_path, measured_jobs):
    content = {**SKY130.source, "program": fingerprint("synth.area.jobs")}
    monkeypatch.setattr(Sky130, "file", tmp_path / "sky130.json")
    Sky130.file.write_text(json.dumps(content))

    def nothing(todo, *arguments):
        assert not todo, STALE
        return todo

    monkeypatch.setattr(study, "measure_all", nothing)
    chosen = parser("About", files=True).parse_args(["--store", str(tmp_path / "store")])
    Sky130.measure(chosen, measured_jobs)
    assert json.loads(Sky130.file.read_text()) == content
