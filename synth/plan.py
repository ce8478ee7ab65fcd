"""The default report: which blocks are measured on which targets."""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hwgen.build import Design
from synth.claims import CLAIMS
from synth.jobs import DEFAULT_RENAMINGS, Job
from synth.liberty import Library
from synth.recipes import DEFAULT_PORTFOLIO, SPEED
from synth.route import is_routed, router
from synth.targets import LIBERTY, TARGETS
from synth.timing import ABC, opensta

FORMATS = (
    "hif8", "ocp_e4m3", "ocp_e5m2", "binary8p3", "binary8p4", "e5m2_nosub", "e5m3", "e5m3_nosub", "e5m2b1", "gc_1_4_3_b7",
    "ibm_fp9_1_5_3",
)  # fmt: skip
"""The formats that are compared unless others are asked for."""

PARTS = {"mac": "MAC", "multiplier": "Decode + multiply", "adder": "Adder"}
"""A MAC and its parts, and what they are called."""
REPORT_ACCUMULATOR = "binary16"
WIDTH_STUDY = ("hif8", "e5m2b1", "ocp_e4m3")
"""Formats whose MAC is measured with every accumulator."""
WIDTH_TARGETS = ("gates", "cyclonev")
SPEED_STUDY = ("hif8", "ocp_e4m3", "ocp_e5m2", "binary8p3", "e5m2_nosub", "e5m2b1", "e5m3")
"""Formats whose MAC is measured from small to fast; `make speed` takes more of them, and more targets."""
SPEED_TARGETS = ("gates",)
ACCUMULATORS = ("binary16", "bfloat16", "dlfloat16", "binary32", "exact")
TERMS = 1024
ENCODER_SOURCE = "binary32"
ENCODER_TARGETS = ("gates",)
ROUNDING_STUDY = ("hif8", ("ties_to_away", "hybrid"))
"""The format whose encoder is measured on every target, and the roundings that are compared."""
EVERY_ROUNDING = ("hif8", "ocp_e4m3")
"""Formats whose encoder is measured in all their roundings, on :data:`ENCODER_TARGETS`."""


Build = Callable[..., Design]
"""``build(kind, format, **options)``, by the argument names of `hwgen.build`."""


@dataclass(frozen=True)
class Measurement:
    """A design, the targets it is measured on, and by which portfolio."""

    design: Design
    targets: tuple[str, ...]
    portfolio: str = DEFAULT_PORTFOLIO


def area_jobs(
    design: Design,
    verilog: str,
    targets: Iterable[str],
    portfolio: str = DEFAULT_PORTFOLIO,
    renamings: int = DEFAULT_RENAMINGS,
    libraries: tuple[Library, ...] = (),
    library_files: Sequence[str] = (),
    first: int = 1,
) -> list[Job]:
    """Jobs that measure one design, one for each target.

    Parameters
    ----------
    design : Design
    verilog : str
        Text of the design's module.
    targets : iterable of str
    portfolio, renamings, first
        See :class:`synth.jobs.Job`.
    libraries, library_files
        Cell libraries for target ``liberty``, and how the command line calls their files.
    """
    jobs = []
    for target in targets:
        timer = router(target) if portfolio == SPEED and is_routed(target) else opensta() or ABC
        command = f"hwgen area {design.command()} --target {target}"
        command += "".join(f" --liberty {shlex.quote(file)}" for file in library_files) if target == "liberty" else ""
        command += f" --portfolio {portfolio}" if portfolio != DEFAULT_PORTFOLIO else ""
        command += f" --renamings {renamings}" if renamings != DEFAULT_RENAMINGS else ""
        command += f" --seed {first}" if first != 1 else ""
        jobs.append(Job(
            design.kind, tuple(design.options.items()), verilog, design.name, target, portfolio, renamings,
            libraries if target == "liberty" else (), command, _facts(verilog), timer, first,
        ))  # fmt: skip
    return jobs


def _facts(verilog: str) -> tuple[tuple[str, Any], ...]:
    """The width of a block's accumulator, which its rows carry for the plots."""
    port = re.search(r"\boutput\s+(?:wire\s+)?\[(\d+):0\]\s+acc_out\b", verilog)
    return (("accumulator_bits", int(port[1]) + 1),) if port else ()


def measurements(formats: Sequence[str], build: Build, libraries: bool = False, claims: bool = True) -> Iterator[Measurement]:
    """What the report measures: the parts of every format's MAC, encoders by rounding, MACs by accumulator, MACs in small and in fast.

    Parameters
    ----------
    formats, build
        See :func:`report_jobs`.
    libraries : bool
        Whether there are cell libraries besides the targets.
    claims : bool
        Whether to measure what the papers claim, too.
    """
    everywhere = (*TARGETS, LIBERTY) if libraries else tuple(TARGETS)
    for name in formats:
        for part in PARTS:
            options = {} if part == "multiplier" else {"accumulator": REPORT_ACCUMULATOR}
            yield Measurement(build(part, name, **options), everywhere)
    studied, roundings = ROUNDING_STUDY
    for name in formats:
        if "+" in name:  # two formats in one unit have no encoder
            continue
        if name != studied:
            yield Measurement(build("encoder", name, source=ENCODER_SOURCE), ENCODER_TARGETS)
            continue
        for rounding in roundings:
            yield Measurement(build("encoder", name, source=ENCODER_SOURCE, rounding=rounding), everywhere)
    for name in formats:
        if name in EVERY_ROUNDING:
            for rounding in build("encoder", name, source=ENCODER_SOURCE).formats[0].roundings:
                yield Measurement(build("encoder", name, source=ENCODER_SOURCE, rounding=rounding.value), ENCODER_TARGETS)
    for name in formats:
        for accumulator in ACCUMULATORS:
            if name in WIDTH_STUDY and accumulator != REPORT_ACCUMULATOR:
                choice: dict[str, Any] = {"accumulator": accumulator} | ({"terms": TERMS} if accumulator == "exact" else {})
                yield Measurement(build("mac", name, **choice), WIDTH_TARGETS)
    for name in formats:
        if name in SPEED_STUDY:
            yield Measurement(build("mac", name, accumulator=REPORT_ACCUMULATOR), SPEED_TARGETS, SPEED)
    for claim in CLAIMS if claims else ():
        for name in (claim.base, claim.unit):
            yield Measurement(build(claim.part, name, **claim.options), everywhere)


def report_jobs(
    formats: Sequence[str],
    build: Build,
    renamings: int = DEFAULT_RENAMINGS,
    emit: Callable[[Sequence[Design]], Iterable[str]] | None = None,
    libraries: Mapping[tuple[str, ...], tuple[Library, ...]] | None = None,
    claims: bool = True,
    first: int = 1,
) -> list[Job]:
    """The report's jobs.

    Parameters
    ----------
    formats : sequence of str
        Names, e.g. :data:`FORMATS`.
    build : callable
        ``build("mac", "hif8", accumulator="binary16")`` and the like give a Design.
    renamings : int
    emit : callable
        From designs to their Verilog, which takes half a second a module.
    libraries : mapping, optional
        Cell libraries by the names of their files.
    claims : bool
        Whether to measure what the papers claim, too.
    first : int
        See :class:`synth.jobs.Job`.
    """
    planned = list(measurements(formats, build, bool(libraries), claims))
    designs = {one.design.name: one.design for one in planned}
    texts = dict(zip(designs, emit(list(designs.values())) if emit else (design.verilog() for design in designs.values()), strict=True))
    jobs = [job for one in planned for job in _measured(one, texts[one.design.name], libraries or {}, renamings, first)]
    return list(dict.fromkeys(jobs))


def _measured(
    one: Measurement, text: str, libraries: Mapping[tuple[str, ...], tuple[Library, ...]], renamings: int, first: int
) -> Iterator[Job]:
    """Jobs of a measurement, each library by itself."""
    plain = [target for target in one.targets if target != LIBERTY]
    yield from area_jobs(one.design, text, plain, one.portfolio, renamings, first=first)
    if LIBERTY in one.targets:
        for files, cells in libraries.items():
            yield from area_jobs(one.design, text, (LIBERTY,), one.portfolio, renamings, cells, files, first)
