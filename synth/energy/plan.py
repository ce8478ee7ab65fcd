"""The energy jobs of a design."""

import shlex
from collections.abc import Iterable
from dataclasses import replace

from hwgen.blocks.block import Design
from synth.area.jobs import DEFAULT_RENAMINGS
from synth.area.liberty import Libraries
from synth.area.plan import NO_LIBRARIES, area_jobs
from synth.area.recipes import DEFAULT_PORTFOLIO
from synth.area.targets import LIBERTY
from synth.energy.data import Data
from synth.energy.job import OPERATIONS, EnergyJob
from synth.energy.measure import COMPILED, Simulator

GATES = "gates"
PLACES = (GATES, LIBERTY)
"""Targets with cells, whose energy can be measured."""
DEFAULT_DATA = "gaussian"


def energy_jobs(
    design: Design,
    verilog: str,
    targets: Iterable[str],
    data: Data,
    *,
    portfolio: str = DEFAULT_PORTFOLIO,
    recipe: str = "",
    renamings: int = DEFAULT_RENAMINGS,
    libraries: Libraries = NO_LIBRARIES,
    seed: int = 1,
    operations: int = OPERATIONS,
    period: float | None = None,
    simulator: Simulator = COMPILED,
) -> list[EnergyJob]:
    """One job for each target of :data:`PLACES`, and for ``liberty`` one for each library.

    See :func:`synth.area.plan.area_jobs`, :class:`synth.area.jobs.Job` and :class:`EnergyJob` for the parameters.
    """
    words = [f"--recipe {recipe}"] if recipe else []
    words += [f"--data {shlex.quote(data.name)}"] if data.name != DEFAULT_DATA else []
    words += [f"--operations {operations}"] if operations != OPERATIONS else []
    words += [f"--period {period:g}"] if period is not None else []
    words += [f"--simulator {simulator}"] if simulator != COMPILED else []
    jobs = []
    for area in area_jobs(design, verilog, targets, portfolio, renamings, libraries, seed):
        command = " ".join([area.command.replace("hwgen area", "hwgen energy", 1), *words])
        job = replace(area, recipe=recipe, keeps_cells=True)
        jobs.append(EnergyJob(job, design, data, operations, period, simulator, command))
    return jobs
