"""The default report: which blocks are measured on which targets."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from hwgen.blocks.design import Design
from hwgen.netlist.ports import ports
from synth.area.jobs import DEFAULT_RENAMINGS, Job
from synth.area.liberty import Libraries
from synth.area.recipes import DEFAULT_PORTFOLIO, SPEED
from synth.area.route import is_routed, router
from synth.area.targets import LIBERTY, TARGETS
from synth.area.timing import ABC, opensta
from synth.report.chapters.claims import CLAIMS

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
SPEED_STUDY = ("hif8", "ocp_e4m3", "ocp_e5m2", "binary8p3", "e5m2b1")
"""Formats whose MAC is measured from small to fast; `make speed` takes more of them, and more targets."""
SPEED_TARGETS = ("gates",)
ACCUMULATORS = ("binary16", "bfloat16", "dlfloat16", "binary32", "exact")
TERMS = 1024
ENCODER_SOURCE = "binary32"
ENCODER_TARGETS = ("gates",)
ROUNDING_STUDY = ("hif8", ("ties_to_away", "hybrid"))
"""The format whose encoder is measured on every target, and the roundings that are compared."""
EVERY_ROUNDING = ("hif8",)
"""Formats whose encoder is measured in all their roundings, on :data:`ENCODER_TARGETS`."""


@dataclass(frozen=True)
class Extra:
    """An option whose cost is measured: a block with it against one without; or a pair of formats against one of them.

    Attributes
    ----------
    text : str
        What the option is.
    kind, base_kind : str
        Of the two blocks.
    format : str
        Of the block without the option.
    options, base : dict
        By the argument names of :mod:`hwgen.blocks.build`.
    pair : str
        Formats of the block with the option, if they are two behind a select pin.
    """

    text: str
    kind: str
    format: str
    options: dict[str, Any]
    base: dict[str, Any]
    base_kind: str
    pair: str = ""

    @property
    def unit(self) -> str:
        """Format or formats of the block with the option."""
        return self.pair or self.format

    @property
    def comparison(self) -> str:
        """What is measured."""
        more = [f"{name.replace('_', '-')} {value}" for name, value in self.options.items() if self.base.get(name) != value]
        said = ", ".join([f"{self.unit} {self.kind}", *more])
        return f"{said}, against {self.format} {self.base_kind}, {' '.join(map(str, self.base.values()))}"


def _extra_of_mac(text: str, fmt: str, kind: str = "mac", pair: str = "", **options: Any) -> Extra:
    base = {"accumulator": REPORT_ACCUMULATOR}
    return Extra(text, kind, fmt, base | options, base, "mac", pair)


_PINNED = {"rounding": "hybrid"}
_PAIR = "ocp_e4m3+ocp_e5m2"
EXTRAS = (
    _extra_of_mac("a port for a scale of 8 bits", "hif8", scale_bits=8),
    Extra("half away and hybrid behind a pin", "encoder", "hif8", _PINNED | {"rounding_pin": True}, _PINNED, "encoder"),
    Extra("status flags", "encoder", "hif8", _PINNED | {"flags": True}, _PINNED, "encoder"),
    _extra_of_mac("status flags", "hif8", flags=True),
    _extra_of_mac("a second product before the rounding", "ocp_e4m3", "dot", lanes=2),
    _extra_of_mac("ocp_e5m2 as a second format, chosen by a pin for each operand", "ocp_e4m3", pair=_PAIR),
    _extra_of_mac("ocp_e4m3 as a second format, chosen by a pin for each operand", "ocp_e5m2", pair=_PAIR),
)
"""Options whose cost the report tells, on :data:`EXTRA_TARGETS`."""
EXTRA_TARGETS = ("gates", "cyclonev")
OPTIONAL = frozenset({"scale_bits", "rounding_pin", "flags", "lanes", "stages"})
"""Keys of rows that only blocks with such options have."""


Build = Callable[..., Design]
"""``build(kind, format, **options)``, by the argument names of `hwgen.blocks.build`."""


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
    libraries: Libraries = MappingProxyType({}),
    seed: int = 1,
) -> list[Job]:
    """Jobs that measure one design, one for each target; of target ``liberty`` one for each library.

    Parameters
    ----------
    design : Design
    verilog : str
        Text of the design's module.
    targets : iterable of str
    portfolio, renamings, seed
        See :class:`synth.area.jobs.Job`.
    libraries : mapping
        Cell libraries for target ``liberty``, by the names of their files.
    """
    jobs = []
    for target, files in [(name, files) for name in targets for files in (libraries if name == LIBERTY else [()])]:
        timer = router(target) if portfolio == SPEED and is_routed(target) else ABC if design.latency else opensta() or ABC
        command = f"hwgen area {design.command()} --target {target}"
        command += f" --liberty {shlex.quote(','.join(files))}" if files else ""
        command += f" --portfolio {portfolio}" if portfolio != DEFAULT_PORTFOLIO else ""
        command += f" --renamings {renamings}" if renamings != DEFAULT_RENAMINGS else ""
        command += f" --seed {seed}" if seed != 1 else ""
        jobs.append(Job(
            design.kind, tuple(design.options.items()), verilog, design.name, target, portfolio, renamings,
            libraries[files] if files else (), command, _facts(verilog, design.name), timer, seed,
        ))  # fmt: skip
    return jobs


def _facts(verilog: str, top: str) -> tuple[tuple[str, Any], ...]:
    """The width of a block's accumulator, which its rows carry for the plots."""
    return tuple(("accumulator_bits", port.width) for port in ports(verilog, top) if port.name == "acc_out")


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
    for extra in EXTRAS:
        if extra.format in formats:
            yield Measurement(build(extra.base_kind, extra.format, **extra.base), EXTRA_TARGETS)
            yield Measurement(build(extra.kind, extra.unit, **extra.options), EXTRA_TARGETS)
    for claim in CLAIMS if claims else ():
        for name in (claim.base, claim.unit):
            yield Measurement(build(claim.part, name, **claim.options), everywhere)


def report_jobs(
    formats: Sequence[str],
    build: Build,
    renamings: int = DEFAULT_RENAMINGS,
    emit: Callable[[Sequence[Design]], Iterable[str]] | None = None,
    libraries: Libraries = MappingProxyType({}),
    claims: bool = True,
    seed: int = 1,
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
    seed : int
        See :class:`synth.area.jobs.Job`.
    """
    planned = list(measurements(formats, build, bool(libraries), claims))
    designs = {one.design.name: one.design for one in planned}
    texts = dict(zip(designs, emit(list(designs.values())) if emit else (design.verilog() for design in designs.values()), strict=True))
    jobs = (
        job for one in planned
        for job in area_jobs(one.design, texts[one.design.name], one.targets, one.portfolio, renamings, libraries, seed)
    )  # fmt: skip
    return list(dict.fromkeys(jobs))
