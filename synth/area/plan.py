"""From a design to the jobs that measure it."""

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
    """Jobs that measure one design, one for each target; of target ``liberty`` one for each library.

    ``verilog`` is the text of the design's module; ``libraries`` are by the names of their files. For the rest see
    :class:`synth.area.jobs.Job`.
    """
    facts = tuple(("accumulator_bits", port.width) for port in design.ports if port.name == "acc_out")
    choices = (
        ("portfolio", portfolio, DEFAULT_PORTFOLIO),
        ("renamings", renamings, DEFAULT_RENAMINGS),
        ("seed", seed, 1),
    )
    words = [f"--{name} {value}" for name, value, default in choices if value != default]
    jobs = []
    for target, files in [(name, files) for name in targets for files in (libraries if name == LIBERTY else [()])]:
        cells = [f"--liberty {shlex.quote(','.join(files))}"] if files else []
        command = " ".join(["hwgen area", design.command(), f"--target {target}", *cells, *words])
        timer = (
            router(target) if portfolio == SPEED and is_routed(target) else ABC if design.latency else opensta() or ABC
        )
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
                timer,
                seed,
            )
        )
    return jobs
