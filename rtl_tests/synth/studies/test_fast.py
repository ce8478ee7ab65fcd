"""The study of speed: limits, with made-up rows; and its file is current, with delays and areas of today's program."""

from dataclasses import replace

import pytest

from hwgen.tools import yosys
from rtl_tests.support.selection import first_of_each, kind_of_design, one_of_each
from synth.area.jobs import DEFAULT_RENAMINGS, Job
from synth.area.recipes import PORTFOLIOS, SPEED
from synth.area.store import Store
from synth.report import load
from synth.studies import fast
from synth.studies.speeds import Speeds

STALE = "`make fast` measures it again"
LIMIT = fast.limits()[0]
SMALL, LARGE = LIMIT.designs()
POINTS = Speeds.labelled()
DESIGNS = {point.design.name: point for point in POINTS.values()}
SPEEDS = load.speeds()


def curve(design, points):
    """Rows of the first recipes with these delays and areas."""
    job = Job("mac", (), "module m;\nendmodule\n", design.name, design.ports, "gates", SPEED, renamings=1)
    samples = {
        recipe: [{"area": area, "nand2_equivalents": area, "delay_fo4": delay}]
        for recipe, (delay, area) in zip(job.recipes(), points, strict=False)
    }
    return [replace(row, tool="t") for row in job.rows(samples)]


@pytest.mark.parametrize(
    ("small", "large", "kept"),
    [
        ([(99, 900)], [(36.5, 2397), (40, 1999), (47, 1647), (65, 1397)], [True] * 4),
        ([(65, 1397)], [(36.5, 2397), (40, 1999), (47, 1647), (65, 1500)], [True] * 4),
        ([(99, 900)], [(36.6, 1)], [False, True, True, True]),
        ([(99, 900)], [(20, 2398)], [False] * 4),
        ([(99, 900)], [(20, 1600)], [True, True, True, False]),
        ([(70, 900)], [(70, 1000)], [False] * 4),
    ],
)
def test_the_smallest_area_within_a_delay_counts(small, large, kept):
    checks = fast.checked(LIMIT, Speeds((*curve(SMALL, small), *curve(LARGE, large)), {}))
    assert [check.kept for check in checks] == kept


def test_every_limit_is_of_modules_of_the_study_and_has_falling_areas():
    for limit in fast.limits():
        assert [design.options.get("optimize", "area") for design in limit.designs()] == ["area", "speed"]
        assert {design.name for design in limit.designs()} <= set(DESIGNS)
        delays, areas = zip(*limit.within, strict=True)
        assert list(delays) == sorted(delays)
        assert list(areas) == sorted(areas, reverse=True)


def rows_of(name):
    return [row for row in SPEEDS.rows if row.name == name]


def job_of(name, monkeypatch, tmp_path):
    monkeypatch.setattr(Speeds, "points", lambda: [DESIGNS[name]])
    ((job,),) = Speeds.jobs(Store(tmp_path / "store")).values()
    return job


def test_the_file_has_every_design_with_every_recipe():
    assert [(row.name, row.recipe) for row in SPEEDS.rows] == [
        (name, recipe) for name in DESIGNS for recipe in PORTFOLIOS[SPEED]["cells"]
    ], STALE
    assert {(row.tool, row.renamings) for row in SPEEDS.rows} == {(yosys.version(), DEFAULT_RENAMINGS)}, STALE


@pytest.mark.parametrize("name", one_of_each(lambda name: kind_of_design(DESIGNS[name].design), DESIGNS))
def test_the_rows_are_those_of_the_verilog(name, monkeypatch, tmp_path):
    job = job_of(name, monkeypatch, tmp_path)
    for row in rows_of(name):
        assert job.hashes() == {"verilog_sha256": row.verilog_sha256, "script_sha256": row.script_sha256}, STALE
        assert job.command == row.command


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", first_of_each(lambda name: kind_of_design(DESIGNS[name].design), DESIGNS))
def test_areas_and_delays_are_those_of_the_program(name, monkeypatch, tmp_path):
    job = job_of(name, monkeypatch, tmp_path)
    again = [row for row in job.rows(job.execute()) if not row.is_best]
    assert [(row.recipe, row.samples, row.timing) for row in again] == [
        (row.recipe, row.samples, row.timing) for row in rows_of(name)
    ], STALE
