"""What the report measures: its formats, studies and claims, and the jobs that they come to."""

from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

from golden import DEFAULT_TERMS, Format
from hwgen.blocks.block import Design
from hwgen.blocks.catalog import BLOCKS, build
from synth.area.emission import verilog
from synth.area.jobs import DEFAULT_RENAMINGS, Job
from synth.area.liberty import Libraries
from synth.area.plan import NO_LIBRARIES, area_jobs
from synth.area.recipes import DEFAULT_PORTFOLIO, SPEED
from synth.area.store import Store
from synth.area.targets import LIBERTY, TARGETS

FORMATS = (
    "hif8", "ocp_e4m3", "ocp_e5m2", "binary8p3", "binary8p4", "e5m2_nosub", "e5m3", "e5m3_nosub", "e5m2b1",
    "gc_1_4_3_b7", "ibm_fp9_1_5_3",
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
TERMS = DEFAULT_TERMS
ENCODER_SOURCE = "binary32"
ENCODER_TARGETS = ("gates",)
ROUNDING_STUDY = ("hif8", ("ties_to_away", "hybrid"))
"""The format whose encoder is measured on every target, and the roundings that are compared."""
EVERY_ROUNDING = ("hif8",)
"""Formats whose encoder is measured in all their roundings, on :data:`ENCODER_TARGETS`."""


@dataclass(frozen=True)
class Extra:
    """An option whose cost is measured: a block with it against one without (``base_kind`` with the options ``base``),
    or a pair of formats against one of them.
    """

    text: str
    kind: str
    format: str
    options: dict[str, Any]
    base: dict[str, Any]
    base_kind: str
    pair: str = ""
    """Formats of the block with the option, if they are two behind a select pin."""

    @property
    def unit(self) -> str:
        """Format or formats of the block with the option."""
        return self.pair or self.format

    @property
    def comparison(self) -> str:
        """What is measured."""
        more = [
            f"{name.replace('_', '-')} {value}" for name, value in self.options.items() if self.base.get(name) != value
        ]
        block = ", ".join([f"{self.unit} {self.kind}", *more])
        return f"{block}, against {self.format} {self.base_kind}, {' '.join(map(str, self.base.values()))}"


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
"""Options whose cost the report shows, on :data:`EXTRA_TARGETS`."""
EXTRA_TARGETS = ("gates", "cyclonev")
OPTIONAL = frozenset(
    option.name.replace("-", "_")
    for block in BLOCKS.values() for option in block.all_options
    if option not in block.formats and not option.always and block.default(option) is not None
)  # fmt: skip
"""Options of rows that plain blocks lack. Where a default is None the component chooses a value, and all rows have it.
"""


@dataclass(frozen=True)
class Claim:
    """A paper's claim that one unit costs a certain share of another: between ``low`` and ``high``; 1.05 is 5% more."""

    text: str
    """What is claimed, where, and what is compared here."""
    part: str
    """Block that is measured."""
    base: str
    unit: str
    """Formats of the two units, or pairs of formats behind a select pin."""
    low: float
    high: float
    accumulator: str = REPORT_ACCUMULATOR

    @property
    def options(self) -> dict[str, str]:
        """Of the blocks beside their formats."""
        return {} if self.part == "multiplier" else {"accumulator": self.accumulator}

    @property
    def comparison(self) -> str:
        """What is measured."""
        into = f" into {self.accumulator}" if self.options else ""
        return f"{'MAC' if self.part == 'mac' else 'decode + multiply'}{into}: {self.unit} against {self.base}"


_SUBNORMALS = "Without subnormals at its inputs the multiplier of an 8-bit fused MAC saves 25% to 40% (Supernormals paper, section 1, citing [6])"
_REPLACES = "HiFloat8 takes the place of the pair E4M3 and E5M2 (HiFloat8 paper, section 1): is a unit for it no larger than one for both?"
CLAIMS = (
    Claim(
        "FPUs for both formats are only 5% larger than those for 1-5-2 alone (Hybrid 8-bit Floating Point paper, "
        "section 2).",
        "mac", "ibm_1_5_2", "ibm_1_4_3+ibm_1_5_2", 0.0, 1.05, "dlfloat16",
    ),
    Claim(f"{_SUBNORMALS}: 5-2.", "multiplier", "binary8p3", "e5m2_nosub", 0.60, 0.75),
    Claim(f"{_SUBNORMALS}: 4-3.", "multiplier", "binary8p4", "e4m3_nosub", 0.60, 0.75),
    Claim(_REPLACES, "multiplier", "ocp_e4m3+ocp_e5m2", "hif8", 0.0, 1.0),
    Claim(_REPLACES, "mac", "ocp_e4m3+ocp_e5m2", "hif8", 0.0, 1.0),
)  # fmt: skip


@dataclass(frozen=True)
class Measurement:
    """A design, the targets it is measured on, and by which portfolio."""

    design: Design
    targets: tuple[str, ...]
    portfolio: str = DEFAULT_PORTFOLIO


def measurements(formats: Mapping[str, Format], libraries: bool = False, claims: bool = True) -> Iterator[Measurement]:
    """The parts of every format's MAC, encoders by rounding, MACs by accumulator, MACs in small and in fast, options,
    claims.

    ``libraries`` says whether there are any besides the targets, ``claims`` whether to measure what the papers claim.
    """
    everywhere = (*TARGETS, LIBERTY) if libraries else tuple(TARGETS)

    def block(kind: str, name: str, **options: Any) -> Design:
        return build(kind, formats.get(name, name), **options)

    for name in formats:
        for part in PARTS:
            options = {} if part == "multiplier" else {"accumulator": REPORT_ACCUMULATOR}
            yield Measurement(block(part, name, **options), everywhere)
    studied, roundings = ROUNDING_STUDY
    for name in formats:
        if name == studied:
            for rounding in roundings:
                yield Measurement(block("encoder", name, source=ENCODER_SOURCE, rounding=rounding), everywhere)
        elif "+" not in name:  # two formats in one unit have no encoder
            yield Measurement(block("encoder", name, source=ENCODER_SOURCE), ENCODER_TARGETS)
    for name in (name for name in formats if name in EVERY_ROUNDING):
        for mode in formats[name].roundings:
            yield Measurement(block("encoder", name, source=ENCODER_SOURCE, rounding=mode.value), ENCODER_TARGETS)
    for name in (name for name in formats if name in WIDTH_STUDY):
        for accumulator in ACCUMULATORS:
            if accumulator != REPORT_ACCUMULATOR:
                terms = TERMS if accumulator == "exact" else None
                yield Measurement(block("mac", name, accumulator=accumulator, terms=terms), WIDTH_TARGETS)
    for name in (name for name in formats if name in SPEED_STUDY):
        yield Measurement(block("mac", name, accumulator=REPORT_ACCUMULATOR), SPEED_TARGETS, SPEED)
    for extra in EXTRAS:
        if extra.format in formats:
            yield Measurement(block(extra.base_kind, extra.format, **extra.base), EXTRA_TARGETS)
            yield Measurement(block(extra.kind, extra.unit, **extra.options), EXTRA_TARGETS)
    for claim in CLAIMS if claims else ():
        for name in (claim.base, claim.unit):
            yield Measurement(block(claim.part, name, **claim.options), everywhere)


def report_jobs(
    formats: Mapping[str, Format],
    executor: Executor,
    store: Store,
    renamings: int = DEFAULT_RENAMINGS,
    libraries: Libraries = NO_LIBRARIES,
    claims: bool = True,
    seed: int = 1,
) -> list[Job]:
    """The jobs of all :func:`measurements`, by :func:`synth.area.plan.area_jobs`.

    The ``executor`` emits the designs' Verilog, half a second each, and the ``store`` keeps it.
    """
    planned = list(measurements(formats, bool(libraries), claims))
    designs = {one.design.name: one.design for one in planned}
    texts = dict(zip(designs, executor.map(partial(verilog, store=store), designs.values()), strict=True))
    jobs: list[Job] = []
    for one in planned:
        jobs += area_jobs(one.design, texts[one.design.name], one.targets, one.portfolio, renamings, libraries, seed)
    return list(dict.fromkeys(jobs))
