"""The file of the study of energies is current: its netlists and energies are those of today's program."""

import pytest

from hwgen.tools import yosys
from rtl_tests.support.selection import every
from synth.area.jobs import DEFAULT_RENAMINGS, execute, rows
from synth.area.recipes import SPEED
from synth.area.store import Store
from synth.report import load
from synth.report.energies import Point, encoder, points
from synth.studies import energies as study

STALE = "`make energy` measures it again"
POINTS = {point.key: point for point in points()}
ROWS = load.energies().rows


def job_of(key, monkeypatch, tmp_path):
    monkeypatch.setattr(study, "points", lambda: [POINTS[key]])
    (job,) = study.jobs(Store(tmp_path / "store"))
    return job


def test_all_rows_are_by_one_tool():
    assert {(row.tool, row.renamings) for group in ROWS.values() for row in group} == {
        (yosys.version(), DEFAULT_RENAMINGS)
    }, STALE


@pytest.mark.parametrize(("name", "portfolio", "data"), every(10, POINTS))
def test_the_netlists_are_those_of_the_verilog(name, portfolio, data, monkeypatch, tmp_path):
    key = name, portfolio, data
    job = job_of(key, monkeypatch, tmp_path)
    for row in ROWS[key]:
        hashes = {"verilog_sha256": row.verilog_sha256, "script_sha256": row.script_sha256}
        assert job.area.hashes() == hashes, STALE
        assert job.command == row.command


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "portfolio", "data"), POINTS)
def test_the_energies_are_those_of_the_program(name, portfolio, data, monkeypatch, tmp_path):
    check((name, portfolio, data), monkeypatch, tmp_path)


def test_an_energy_is_that_of_the_program(monkeypatch, tmp_path):
    check(Point(encoder("hybrid")).key, monkeypatch, tmp_path)


def check(key, monkeypatch, tmp_path):
    job = job_of(key, monkeypatch, tmp_path)
    again = [row for row in rows(job, execute(job)) if row.is_figure]
    assert [row.recipe for row in again] == [row.recipe for row in ROWS[key]]
    for new, old in zip(again, ROWS[key], strict=True):
        assert new.samples == pytest.approx(old.samples, rel=1e-6), STALE
        assert len(new.medians) == len(old.medians) >= 12
        assert (new.is_best, old.is_best) == (key[1] != SPEED,) * 2
