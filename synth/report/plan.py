"""What the report and its studies measure: families of designs as data, which expand to points, and their jobs."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from itertools import pairwise
from math import inf
from typing import Any, NamedTuple

import golden
from golden import DEFAULT_TERMS, Format
from hwgen.blocks.block import Design
from hwgen.blocks.catalog import BLOCKS, build
from synth.area.jobs import DEFAULT_RENAMINGS, Job
from synth.area.liberty import Libraries
from synth.area.plan import NO_LIBRARIES, area_jobs
from synth.area.store import Store, verilog
from synth.area.targets import LIBERTY, TARGETS
from synth.studies.family import NONE, Family


class Block(NamedTuple):
    """A single block of a comparison."""

    kind: str
    format: str
    """Its format, or pair of formats behind a select pin."""
    options: Mapping[str, Any] = NONE

    @property
    def design(self) -> Design:
        """The block to be built."""
        return build(self.kind, self.format, **self.options)

    def family(self, targets: Sequence[str]) -> Family:
        """The block on these targets."""
        return Family(self.kind, (self.format,), self.options, targets)


PAIR = "ocp_e4m3+ocp_e5m2"
"""OCP's two formats of eight bits behind a select pin: what training with FP8 needs."""
STUDIED = "hif8"
"""The format that is compared with the pair that it replaces."""
FORMATS = (
    STUDIED,
    "ocp_e4m3",
    "ocp_e5m2",
    PAIR,
    "binary8p3",
    "binary8p4",
    "e5m2_nosub",
    "e5m3",
    "e5m3_nosub",
    "e5m2b1",
    "gc_1_4_3_b7",
    "ibm_fp9_1_5_3",
)
"""The formats, and the pair of formats, that a report compares by default."""

PARTS = {"mac": "MAC", "multiplier": "Decode + multiply", "adder": "Adder"}
"""Titles of a MAC and its parts."""
REPORT_ACCUMULATOR = "binary16"
WIDTH_STUDY = ("hif8", "e5m2b1", "ocp_e4m3")
"""Formats whose MAC is measured with every accumulator."""
WIDTH_TARGETS = ("gates", "cyclonev")
ACCUMULATORS = ("binary16", "bfloat16", "dlfloat16", "binary32", "exact")
TERMS = DEFAULT_TERMS
REGISTERED = ("exact", "binary32")
"""Accumulators whose processing elements, which have the register inside, are compared on gates."""
REFERENCES = ("int8", "binary16", "bfloat16")
"""Formats of operands that the papers compare theirs with."""
ENCODER_SOURCE = "binary32"
ENCODER_TARGETS = ("gates",)
ROUNDING_STUDY = ("hif8", ("ties_to_away", "hybrid"))
"""The format whose encoder has all roundings on :data:`ENCODER_TARGETS`, and two, which are compared, everywhere."""
PROJECTION_STUDY = "Binary8p4se"
"""The P3109 format whose encoder is measured in all its roundings and overflows, on :data:`ENCODER_TARGETS`."""


class Comparison(NamedTuple):
    """A block beside its base. A paper may claim that it has at most ``most`` times the area; less holds, too."""

    text: str
    """The option, or second format, that the base lacks; or the claim and its source."""
    block: Block
    base: Block
    most: float = inf

    @property
    def sides(self) -> str:
        """The two blocks that are compared."""
        (kind, fmt, options), base = self.block, self.base
        changed = (item for item in options.items() if item not in base.options.items())
        words = [f"{fmt} {kind}", *(f"{name.replace('_', '-')} {value}" for name, value in changed)]
        return ", ".join((*words, f"against {base.format} {base.kind}", *map(str, base.options.values())))


def part_of_mac(kind: str, name: str, accumulator: str = REPORT_ACCUMULATOR) -> Block:
    """The MAC of a format, or a part of it."""
    return Block(kind, name, {} if kind == "multiplier" else {"accumulator": accumulator})


def _mac(fmt: str, **options: Any) -> Block:
    return Block("mac", fmt, {"accumulator": REPORT_ACCUMULATOR, **options})


def _encoder(**options: Any) -> Block:
    return Block("encoder", "hif8", {"rounding": "hybrid", **options})


P3109_PAIR = "Binary8p4se+Binary8p3se"
"""The two formats of eight bits that an implementation of P3109 must have (draft 4.0, section 4.5)."""
EXTRAS = (
    Comparison("a port for a scale of 8 bits", _mac("hif8", scale_bits=8), _mac("hif8")),
    Comparison("a pin that selects half away or hybrid", _encoder(rounding_pin=True), _encoder()),
    Comparison("status flags", _encoder(flags=True), _encoder()),
    Comparison("status flags", _mac("hif8", flags=True), _mac("hif8")),
    Comparison("zero results that are always +0, as in P3109", _mac("hif8", zero="positive"), _mac("hif8")),
    Comparison(
        "a second product before the rounding", _mac("ocp_e4m3", lanes=2)._replace(kind="dot"), _mac("ocp_e4m3")
    ),
    Comparison("zero results that are always +0, as in P3109", _mac(P3109_PAIR, zero="positive"), _mac(P3109_PAIR)),
    Comparison("hif8 in the place of P3109's two formats", _mac("hif8"), _mac(P3109_PAIR)),
    Comparison("OCP's two formats in the place of P3109's", _mac(PAIR), _mac(P3109_PAIR)),
    Comparison("ocp_e5m2 as a second format, selected by a pin per operand", _mac(PAIR), _mac("ocp_e4m3")),
    Comparison("ocp_e4m3 as a second format, selected by a pin per operand", _mac(PAIR), _mac("ocp_e5m2")),
)
"""Options whose cost the report shows, on :data:`EXTRA_TARGETS`."""
EXTRA_TARGETS = ("gates", "cyclonev")
OPTIONAL = frozenset(
    option.name.replace("-", "_")
    for block in BLOCKS.values()
    for option in block.all_options
    if option not in block.formats and not option.always and block.default(option) is not None
)
"""Options that rows of plain blocks lack. If a default is None, the component chooses a value, and all rows have it."""


def _claim(text: str, part: str, base: str, unit: str, most: float, into: str = REPORT_ACCUMULATOR) -> Comparison:
    return Comparison(text, part_of_mac(part, unit, into), part_of_mac(part, base, into), most)


_SUBNORMALS = (
    "The multiplier of an 8-bit fused MAC is 25% to 40% smaller without subnormal inputs (Supernormals paper, "
    "section 1, citing [6]). Checked here: at least 25%, with"
)
_ORDER = "The order of the multipliers is that of the formats (Supernormals paper, Table 2). Checked here:"
_REPLACES = (
    "HiFloat8 replaces the pair E4M3 and E5M2 (HiFloat8 paper, section 2.2). Checked here: its unit is no larger than "
    "a unit for both."
)
_HYBRID = (
    "FPUs for both formats are only 5% larger than those for 1-5-2 alone (Hybrid 8-bit Floating Point paper, section "
    "2.2). Checked here:"
)
CLAIMS = (
    _claim(f"{_HYBRID} a pin for each operand selects its format.",
        "mac", "ibm_1_5_2", "ibm_1_4_3+ibm_1_5_2", 1.05, "dlfloat16"),
    _claim(
        f"{_HYBRID} FP9, as the HiFloat8 paper (section 1) calls their hardware: operands of 1-5-3 hold both formats.",
        "mac", "ibm_1_5_2", "ibm_fp9_1_5_3", 1.05, "dlfloat16"),
    _claim(f"{_SUBNORMALS} E5M2.", "multiplier", "binary8p3", "e5m2_nosub", 0.75),
    _claim(f"{_SUBNORMALS} E4M3.", "multiplier", "binary8p4", "e4m3_nosub", 0.75),
    *(
        _claim(f"{_ORDER} {unit} is no larger than {base}.", "multiplier", base, unit, 1.0)
        for unit, base in pairwise(("e5m3_nosub", "e5m2b1", "binary8p3", "e5m3"))
    ),
    _claim(_REPLACES, "multiplier", PAIR, "hif8", 1.0),
    _claim(_REPLACES, "mac", PAIR, "hif8", 1.0),
)  # fmt: skip


def registered(names: Sequence[str]) -> tuple[Family, Family]:
    """Processing elements with the accumulators of :data:`REGISTERED`, and the readouts of exact ones."""
    return Family("pe", names, {"accumulator": REGISTERED}), Family("readout", names, {"target": "binary32"})


BESIDE = (
    Family("pe", REFERENCES[:-1], {"accumulator": "exact"}),  # that of bfloat16 has some 600 bits
    Family("pe", REFERENCES, {"accumulator": "binary32"}),
)
"""Processing elements beside which those of :func:`registered` stand."""


def families(formats: Mapping[str, Format], libraries: bool = False, whole: bool = True) -> Iterator[Family]:
    """All designs of a report on ``formats``.

    They are the parts of every format's MAC, encoders by rounding, MACs by accumulator, and options. ``libraries``:
    also measure on cell libraries. ``whole``: also measure what does not depend on ``formats``: the papers' claims, and
    P3109's pair and projections.
    """
    everywhere = (*TARGETS, LIBERTY) if libraries else tuple(TARGETS)
    source = {"source": ENCODER_SOURCE}
    studied, roundings = ROUNDING_STUDY
    for name, fmt in formats.items():
        yield from (part_of_mac(part, name).family(everywhere) for part in PARTS)
        if name == studied:
            yield Family("encoder", (name,), source | {"rounding": roundings}, everywhere)
            modes = tuple(mode.value for mode in fmt.roundings)
            yield Family("encoder", (name,), source | {"rounding": modes}, ENCODER_TARGETS)
        elif "+" not in name:  # two formats in one unit have no encoder
            yield Family("encoder", (name,), source, ENCODER_TARGETS)
        for accumulator in ACCUMULATORS[1:] if name in WIDTH_STUDY else ():
            terms = TERMS if accumulator == "exact" else None
            yield Family("mac", (name,), {"accumulator": accumulator, "terms": terms}, WIDTH_TARGETS)
        if name in WIDTH_STUDY:
            yield from registered((name,))
    for extra in EXTRAS:
        if whole or extra.base.format in formats:
            yield from (block.family(EXTRA_TARGETS) for block in (extra.base, extra.block))
    if not whole:
        return
    yield from (block.family(everywhere) for claim in CLAIMS for block in (claim.base, claim.block))
    yield from BESIDE
    projected = golden.get(PROJECTION_STUDY)
    rules = {"rounding": projected.roundings, "overflow": projected.overflows}
    choices = {name: tuple(rule.value for rule in values) for name, values in rules.items()}
    yield Family("encoder", (PROJECTION_STUDY,), source | choices, ENCODER_TARGETS)


def report_jobs(
    formats: Mapping[str, Format],
    executor: Executor,
    store: Store,
    renamings: int = DEFAULT_RENAMINGS,
    libraries: Libraries = NO_LIBRARIES,
    whole: bool = True,
    seed: int = 1,
) -> list[Job]:
    """The jobs of all :func:`families`, without repetitions.

    The ``executor`` generates the Verilog of the designs, 0.5 s each; the ``store`` keeps it.
    """
    planned = [point for family in families(formats, bool(libraries), whole) for point in family.expand(formats)]
    designs = {point.design.name: point.design for point in planned}
    texts = dict(zip(designs, executor.map(partial(verilog, store=store), designs.values()), strict=True))
    jobs: list[Job] = []
    for design, target, *_ in planned:
        jobs += area_jobs(design, texts[design.name], [target], renamings=renamings, libraries=libraries, seed=seed)
    return list(dict.fromkeys(jobs))
