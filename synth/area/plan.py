"""The jobs that measure a design."""

import shlex
from collections.abc import Callable, Iterable, Sequence
from types import MappingProxyType

from hwgen.blocks.block import Design
from synth.area.jobs import DEFAULT_RENAMINGS, Job
from synth.area.liberty import Libraries
from synth.area.recipes import DEFAULT_PORTFOLIO, SPEED
from synth.area.route import DEVICES, router
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
    make: Callable[..., Job] = Job,
    verb: str = "area",
    words: Sequence[str] = (),
) -> list[Job]:
    """One job for each target, and for target ``liberty`` one for each library.

    ``verilog`` is the text of the design's module. ``make`` is the class of the jobs, or stands for it; their command
    is ``hwgen`` with this ``verb``, and ends in ``words``. See :class:`synth.area.jobs.Job` for the other parameters.
    """
    defaults = {"portfolio": DEFAULT_PORTFOLIO, "renamings": DEFAULT_RENAMINGS, "seed": 1}
    values = {"portfolio": portfolio, "renamings": renamings, "seed": seed}
    words = [*(f"--{name} {value}" for name, value in values.items() if value != defaults[name]), *words]
    jobs = []
    for target, files in [(name, files) for name in targets for files in (libraries if name == LIBERTY else [()])]:
        cells = [f"--liberty {shlex.quote(','.join(files))}"] if files else []
        job = make(
            component=design.kind,
            options=tuple(design.options.items()),
            verilog=verilog,
            top=design.name,
            ports=design.ports,
            target=target,
            libraries=libraries[files] if files else (),
            command=" ".join(["hwgen", verb, design.command(), f"--target {target}", *cells, *words]),
            timer=_timer(design, target, portfolio),
            **values,
        )
        jobs.append(job)
    return jobs


def _timer(design: Design, target: str, portfolio: str) -> str:
    if portfolio == SPEED and target in DEVICES:
        return router(target)
    return ABC if design.latency else opensta() or ABC
