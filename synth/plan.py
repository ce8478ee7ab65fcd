"""The default report: which blocks are measured on which targets."""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hwgen.build import Design
from synth.jobs import DEFAULT_RENAMINGS, Job
from synth.liberty import Library
from synth.recipes import DEFAULT_PORTFOLIO
from synth.targets import TARGETS

FORMATS = (
    "hif8", "ocp_e4m3", "ocp_e5m2", "binary8p3", "binary8p4", "e5m2_nosub", "e5m3", "e5m3_nosub", "e5m2b1", "gc_1_4_3_b7",
    "ibm_fp9_1_5_3",
)  # fmt: skip
"""The formats that are compared unless others are asked for."""

MAC_PARTS = ("mac", "multiplier", "adder")
REPORT_ACCUMULATOR = "binary16"
WIDTH_STUDY = ("hif8", "e5m2b1", "ocp_e4m3")
"""Formats whose MAC is measured with every accumulator."""
WIDTH_TARGETS = ("gates", "cyclonev")
ACCUMULATORS = ("binary16", "bfloat16", "dlfloat16", "binary32", "exact")
TERMS = 1024
ENCODER_SOURCE = "binary32"
ENCODER_TARGETS = ("gates",)
ROUNDING_STUDY = ("hif8", ("ties_to_away", "hybrid"))
"""The format whose encoder is measured on every target, and the roundings that are compared."""


Build = Callable[..., Design]
"""``build(kind, format, **options)``, by the argument names of `hwgen.build`."""


@dataclass(frozen=True)
class Measurement:
    """A design and the targets it is measured on."""

    design: Design
    targets: tuple[str, ...]


def area_jobs(
    design: Design,
    verilog: str,
    targets: Iterable[str],
    portfolio: str = DEFAULT_PORTFOLIO,
    renamings: int = DEFAULT_RENAMINGS,
    libraries: tuple[Library, ...] = (),
    library_files: Sequence[str] = (),
) -> list[Job]:
    """Jobs that measure one design, one for each target.

    Parameters
    ----------
    design : Design
    verilog : str
        Text of the design's module.
    targets : iterable of str
    portfolio, renamings
        See :class:`synth.jobs.Job`.
    libraries, library_files
        Cell libraries for target ``liberty``, and how the command line calls their files.
    """
    jobs = []
    for target in targets:
        command = f"hwgen area {design.command()} --target {target}"
        command += "".join(f" --liberty {shlex.quote(file)}" for file in library_files) if target == "liberty" else ""
        command += f" --portfolio {portfolio}" if portfolio != DEFAULT_PORTFOLIO else ""
        command += f" --renamings {renamings}" if renamings != DEFAULT_RENAMINGS else ""
        jobs.append(Job(
            design.kind, tuple(design.options.items()), verilog, design.name, target, portfolio, renamings,
            libraries if target == "liberty" else (), command, _facts(verilog),
        ))  # fmt: skip
    return jobs


def _facts(verilog: str) -> tuple[tuple[str, Any], ...]:
    """The width of a block's accumulator, which its rows carry for the plots."""
    port = re.search(r"\boutput\s+(?:wire\s+)?\[(\d+):0\]\s+acc_out\b", verilog)
    return (("accumulator_bits", int(port[1]) + 1),) if port else ()


def measurements(formats: Sequence[str], build: Build) -> Iterator[Measurement]:
    """What the report measures: the parts of every format's MAC, encoders by rounding, MACs by accumulator."""
    everywhere = tuple(TARGETS)
    for name in formats:
        for part in MAC_PARTS:
            options = {} if part == "multiplier" else {"accumulator": REPORT_ACCUMULATOR}
            yield Measurement(build(part, name, **options), everywhere)
    studied, roundings = ROUNDING_STUDY
    for name in formats:
        if name != studied:
            yield Measurement(build("encoder", name, source=ENCODER_SOURCE), ENCODER_TARGETS)
            continue
        for rounding in roundings:
            yield Measurement(build("encoder", name, source=ENCODER_SOURCE, rounding=rounding), everywhere)
    for name in formats:
        for accumulator in ACCUMULATORS:
            if name in WIDTH_STUDY and accumulator != REPORT_ACCUMULATOR:
                choice: dict[str, Any] = {"accumulator": accumulator} | ({"terms": TERMS} if accumulator == "exact" else {})
                yield Measurement(build("mac", name, **choice), WIDTH_TARGETS)


def report_jobs(
    formats: Sequence[str],
    build: Build,
    renamings: int = DEFAULT_RENAMINGS,
    emit: Callable[[Sequence[Design]], Iterable[str]] | None = None,
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
    """
    planned = list(measurements(formats, build))
    designs = [one.design for one in planned]
    texts = [design.verilog() for design in designs] if emit is None else emit(designs)
    return [job for one, text in zip(planned, texts, strict=True) for job in area_jobs(one.design, text, one.targets, renamings=renamings)]
