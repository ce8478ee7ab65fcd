"""The file of the study of energies is current: its netlists and energies are those of today's program."""

import pytest

from hwgen.blocks.catalog import build
from hwgen.tools import yosys
from rtl_tests.support.selection import first_of_each, kind_of_design, one_of_each
from synth.area.jobs import DEFAULT_RENAMINGS
from synth.area.recipes import SPEED
from synth.area.store import Store
from synth.report import load
from synth.studies.energies import ROUNDED, Energies, point

STALE = "`make energy` measures it again"
POINTS = Energies.labelled()
ENERGIES = load.energies()


def kind(label):
    """What sets measurements apart: the structure of the design, and how it is measured."""
    design, *how = POINTS[label]
    return kind_of_design(design), *how


def job_of(label, monkeypatch, tmp_path):
    monkeypatch.setattr(Energies, "points", lambda: [POINTS[label]])
    ((job,),) = Energies.jobs(Store(tmp_path / "store")).values()
    return job


def test_all_rows_are_by_one_tool():
    assert {(row.tool, row.renamings) for row in ENERGIES.rows} == {(yosys.version(), DEFAULT_RENAMINGS)}, STALE


@pytest.mark.parametrize(
    "label", one_of_each(lambda label: (kind_of_design(POINTS[label].design), POINTS[label].portfolio), POINTS)
)
def test_the_netlists_are_those_of_the_verilog(label, monkeypatch, tmp_path):
    job = job_of(label, monkeypatch, tmp_path)
    for row in ENERGIES.curve(POINTS[label]):
        hashes = {"verilog_sha256": row.verilog_sha256, "script_sha256": row.script_sha256}
        assert job.hashes() == hashes, STALE
        assert job.command == row.command


@pytest.mark.exhaustive
@pytest.mark.parametrize("label", first_of_each(kind, POINTS))
def test_the_energies_are_those_of_the_program(label, monkeypatch, tmp_path):
    check(label, monkeypatch, tmp_path)


def test_an_energy_is_that_of_the_program(monkeypatch, tmp_path):
    check(point(build("encoder", ROUNDED, source="binary32", rounding="hybrid")).label, monkeypatch, tmp_path)


def check(label, monkeypatch, tmp_path):
    job, known = job_of(label, monkeypatch, tmp_path), ENERGIES.curve(POINTS[label])
    again = [row for row in job.rows(job.execute()) if row.is_figure]
    assert [row.recipe for row in again] == [row.recipe for row in known]
    for new, old in zip(again, known, strict=True):
        assert new.samples == pytest.approx(old.samples, rel=1e-6), STALE
        assert len(new.medians) == len(old.medians) >= 12
        assert (new.is_best, old.is_best) == (POINTS[label].portfolio != SPEED,) * 2
