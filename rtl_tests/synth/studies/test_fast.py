"""The comparison of MACs built for speed with limits, without real measurements."""

from dataclasses import replace

import pytest

from hwgen.tools.process import ToolError
from synth.area.jobs import Job, rows
from synth.area.runner import Outcome
from synth.studies import fast

LIMIT = fast.limits()[0]


def curve(points):
    """Rows of the first recipes with these delays and areas."""
    design = LIMIT.design
    job = Job("mac", (), "module m;\nendmodule\n", design.name, design.ports, "gates", "speed", renamings=1)
    samples = {
        recipe: [{"area": area, "nand2_equivalents": area, "delay_fo4": delay}]
        for recipe, (delay, area) in zip(job.recipes(), points, strict=False)
    }
    return [replace(row, tool="t") for row in rows(job, samples)]


@pytest.mark.parametrize(
    ("points", "kept"),
    [
        ([(36.5, 2397), (40, 1999), (47, 1647), (65, 1397)], [True] * 4),
        ([(36.6, 1)], [False, True, True, True]),
        ([(20, 2398)], [False] * 4),
        ([(20, 1600)], [True, True, True, False]),
        ([(70, 1000)], [False] * 4),
    ],
)
def test_the_smallest_area_within_a_delay_counts(points, kept):
    assert [check.kept for check in fast.checked(LIMIT, curve(points))] == kept


def test_every_limit_is_of_a_module_for_speed_and_has_falling_areas():
    for limit in fast.limits():
        assert limit.design.options["optimize"] == "speed"
        delays, areas = zip(*limit.within, strict=True)
        assert list(delays) == sorted(delays)
        assert list(areas) == sorted(areas, reverse=True)


def test_a_failure_is_an_error(monkeypatch):
    monkeypatch.setattr(fast, "measure_all", lambda jobs, pool, progress=None: (Outcome(job, (), "no") for job in jobs))
    with pytest.raises(ToolError, match=r"^no$"):
        fast.measured([LIMIT], 1, None)
