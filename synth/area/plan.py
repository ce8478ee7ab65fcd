"""The jobs that measure a design."""

import shlex
from collections.abc import Iterable
from types import MappingProxyType

from hwgen.blocks.block import Design
from synth.area.jobs import DEFAULT_RENAMINGS, Job
from synth.area.liberty import Libraries
from synth.area.recipes import DEFAULT_PORTFOLIO, SPEED
from synth.area.route import is_routed, router
from synth.area.targets import LIBERTY
from synth.area.timing import ABC, opensta

NO_LIBRARIES: Libraries = MappingProxyType({})


def area_jobs(
    design: Design,
    verilog: str,
    targets: Iterable[str],
    portfolio: str = DEFAULT_PORTFOLIO,
    renamings: int = DEFAULT_RENAMINGS,
    libraries: Libraries = NO_LIBRARIES,
    seed: int = 1,
) -> list[Job]:
    """One job for each target, and for target ``liberty`` one for each library.

    ``verilog`` is the text of the design's module. See :class:`synth.area.jobs.Job` for the other parameters.
    """
    facts = tuple(("accumulator_bits", port.width) for port in design.ports if port.name == "acc_out")
    defaults = {"portfolio": DEFAULT_PORTFOLIO, "renamings": DEFAULT_RENAMINGS, "seed": 1}
    values = {"portfolio": portfolio, "renamings": renamings, "seed": seed}
    words = [f"--{name} {value}" for name, value in values.items() if value != defaults[name]]
    jobs = []
    for target, files in [(name, files) for name in targets for files in (libraries if name == LIBERTY else [()])]:
        cells = [f"--liberty {shlex.quote(','.join(files))}"] if files else []
        command = " ".join(["hwgen area", design.command(), f"--target {target}", *cells, *words])
        jobs.append(
            Job(
                design.kind,
                tuple(design.options.items()),
                verilog,
                design.name,
                design.ports,
                target,
                portfolio,
                renamings,
                libraries[files] if files else (),
                command,
                facts,
                _timer(design, target, portfolio),
                seed,
            )
        )
    return jobs


def _timer(design: Design, target: str, portfolio: str) -> str:
    if portfolio == SPEED and is_routed(target):
        return router(target)
    return ABC if design.latency else opensta() or ABC
