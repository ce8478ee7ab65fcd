"""The modules that ``hwgen verify all`` checks.

These are decoders, encoders, quantizers, readouts and MACs of all formats in the catalogue, and sums of
several lanes of some.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import golden
from golden import Overflow, Rounding
from golden.arithmetic.amax import SPECIALS
from golden.arithmetic.blocks import POLICIES
from golden.lfsr import EXPONENTS
from golden.refusal import Refusal
from hwgen.blocks.block import LFSR, Design
from hwgen.blocks.catalog import build
from hwgen.blocks.options import TARGETS
from hwgen.datapath.goal import SPEED
from hwgen.rounding.direct import ROUNDINGS

SOME = ("hif8", "e5m2b1", "ocp_e4m3", "ocp_e5m2")
"""A prefix code, a supernormal format, and formats with and without infinity.

They stand for all formats where an option affects all formats alike or takes long to check.
"""

MIXED = (("ocp_e4m3", "ocp_e5m2"), ("hif8", "ocp_e4m3"))
"""Pairs of different formats."""

UNITS = ("ocp_e4m3+ocp_e5m2", "ibm_1_4_3+ibm_1_5_2")
"""Pairs of formats in one unit, selected by a pin."""

PROJECTED = (
    "Binary8p3se", "Binary8p4se", "Binary8p4sf", "Binary4p2sf", "Binary8p1uf", "Binary6p3ue", "e8m0", "hif8", "e5m2b1",
)  # fmt: skip
"""Formats whose encoders are checked with every rounding and overflow rule."""

CONVERTED = ("hif8", "ocp_e4m3", "e8m0", "Binary8p3se", "gc_1_0_7_b0")
"""Formats between which conversions are checked."""

_IN_PART = (
    Rounding.TOWARD_POSITIVE, Rounding.TOWARD_NEGATIVE, Rounding.TO_ODD, Rounding.STOCHASTIC_B, Rounding.STOCHASTIC_C,
)  # fmt: skip
"""Roundings of IEEE P3109 that are checked with every source and overflow rule for :data:`PROJECTED` only."""

_NARROW = ["binary16", "bfloat16", "dlfloat16"]
_WIDE = [*_NARROW, "binary32"]


def each(kind: str, formats: Iterable[str | tuple[str, ...]], **choices: Any) -> Iterator[Design]:
    """Blocks of a kind: each format, or pair of formats, with each combination of options; a list has choices."""
    lists = [value if isinstance(value, list) else [value] for value in choices.values()]
    for name, values in product(formats, product(*lists)):
        yield build(kind, *([name] if isinstance(name, str) else name), **dict(zip(choices, values, strict=True)))


def designs() -> list[Design]:
    """All modules, the quick ones of each format first."""
    blocks, accumulators = [name for name in golden.names() if name not in golden.WIDE], [*golden.ACCUMULATORS]
    signed = [name for name in blocks if golden.get(name).signed]
    return [
        *each("decoder", (*blocks, *UNITS), target=[*TARGETS]),
        *_encoders(blocks),
        *each("quantizer", signed, source="bfloat16", lanes=1, policy=[*POLICIES]),
        *each("quantizer", signed),
        *_largest(blocks),
        *each("encoder", SOME, source=_WIDE, scale_bits=6),
        *each("readout", SOME, target=["binary32", "ocp_e4m3"], terms=16, result_scale_bits=4),
        *(build("readout", name, **options) for name in blocks for options in ({}, {"target": name})),
        *each("mac", (*blocks, *MIXED), accumulator=accumulators),
        *each("mac", UNITS, accumulator=["binary16", "dlfloat16", "exact"]),
        *_fast(blocks),
        *_flags(blocks),
        *each("mac", SOME, accumulator=_NARROW, scale_bits=2),
        *each("mac", ("e5m2_nosub", "ocp_e4m3"), accumulator="exact", terms=16, scale_bits=2),
        *each("mac", ("Binary8p3se", "Binary8p4se"), accumulator=["binary16", "bfloat16"], zero="positive"),
        *(build(kind, name, stages=n) for name in SOME for n in (1, 3) for kind in ("decoder", "encoder", "mac")),
        *(build("readout", name, target=name, rounding="stochastic") for name in SOME),
        *_random(),
        *_sums(),
        *_drawn(),
    ]


def _random() -> Iterator[Design]:
    """Registers of random words, alone and in modules that use them."""
    yield from each("random", [()], width=[*EXPONENTS], random_bits=[1, 14, 16], lanes=[1, 3, 32])
    yield from each("encoder", SOME, source=["bfloat16", "binary32"], rounding="stochastic", random=LFSR)
    yield build("encoder", "Binary8p3se", rounding="stochastic_c", flags=True, random=LFSR, random_width=64)
    yield build("encoder", "hif8", source="binary16", rounding="stochastic", random_bits=8, random=LFSR, random_seed=9)
    yield build("readout", "e2m1", target="e2m1", rounding="stochastic", terms=1, random=LFSR)
    yield build("quantizer", "e2m1", source="bfloat16", lanes=2, rounding="stochastic", random=LFSR, random_width=48)


def projections() -> Iterator[tuple[str, str, Rounding, Overflow]]:
    """Formats, sources, roundings and overflow rules of the encoders of :data:`PROJECTED`."""
    for name, source in product(PROJECTED, ("binary16", "bfloat16", "binary32")):
        fmt = golden.get(name)
        for rounding, overflow in product(fmt.roundings, fmt.overflows):
            if rounding is not Rounding.MPTORCH or overflow is Overflow.INFINITY:
                yield name, source, rounding, overflow


def _encoders(blocks: Iterable[str]) -> Iterator[Design]:
    """All choices of each format; of the roundings and overflows of IEEE P3109 in full only for some formats."""
    chosen: dict[str, Design] = {}

    def add(name: str, source: str, *choices: Iterable[Any]) -> None:
        for rounding, overflow, to_zero in product(*choices):
            try:
                options = {"rounding": rounding, "overflow": overflow, "nan_to_zero": to_zero}
                design = build("encoder", name, source=source, **options)
            except Refusal:  # this source or overflow rule does not have the rounding
                assert rounding in (Rounding.HYBRID, Rounding.MPTORCH)
            else:
                chosen.setdefault(design.name, design)

    for name, source in product(blocks, golden.WIDE):
        fmt = golden.get(name)
        overflows = [overflow for overflow in fmt.overflows if overflow is not Overflow.PROPAGATE]
        add(name, source, [r for r in fmt.roundings if r not in _IN_PART], overflows, (False, True)[: 1 + fmt.has_zero])
        if source == "bfloat16":
            add(name, source, [r for r in fmt.roundings if r in _IN_PART], overflows[:1], [False])
    for name, source, rounding, overflow in projections():
        add(name, source, [rounding], [overflow], [False])
    for name, source in product(CONVERTED, repeat=2):
        add(name, source, [Rounding.TIES_TO_EVEN, Rounding.TO_ODD], golden.get(name).overflows, [False])
    yield from chosen.values()
    for source in ("binary16", "bfloat16"):
        yield build("encoder", "hif8", source=source, rounding=Rounding.HYBRID, rounding_pin=True)


def _largest(blocks: Iterable[str]) -> Iterator[Design]:
    """Largest magnitudes of the codes of each format, and of the sources of quantizers."""
    yield from each("amax", ["e2m1"], source=[*blocks], lanes=4, nan=[*SPECIALS], infinity=[*SPECIALS])
    yield from each("amax", (*SOME, "e2m1"), source=["binary32", "bfloat16", "binary16"], lanes=8, policy=[*POLICIES])
    yield build("amax", "hif8", lanes=32, stages=4, center=0)
    yield build("amax", "gc_1_0_7_b0", lanes=2, policy="nearest")  # whose scales depend on subnormals


def _sums() -> Iterator[Design]:
    """Dot products and processing elements."""
    small: dict[str, Any] = {"accumulator": "exact", "lanes": 4}
    yield from each("dot", (*SOME, "e2m1"), accumulator="exact", lanes=[2, 8, 32])
    yield from each("dot", (*SOME, "e2m1"), accumulator=["binary32", "binary16", "bfloat16"], lanes=4)
    yield from each("dot", (*SOME, "e2m1"), accumulator=["aligned6", "aligned13", "aligned25"], lanes=[1, 2, 8, 32])
    yield from each("dot", (*SOME, "e2m1"), accumulator="rvbna", lanes=[2, 4, 8, 16, 32])
    yield from each("dot", SOME, accumulator="rvbna", lanes=2, scale_bits=3, flags=True)
    yield from each("dot", ("ocp_e4m3", "e2m1"), accumulator="rvbna", lanes=32, block_scale="e8m0", flags=True)
    for name in SOME:
        yield build("mac", name, accumulator="rvbna", flags=True)
        yield build("pe", name, accumulator="rvbna", lanes=8, stages=3)
        yield build("mac", name, accumulator="aligned13")
        yield build("dot", name, accumulator="aligned40", lanes=4, fabric="fpga", zero="positive")
        yield build("pe", name, accumulator="aligned13", lanes=8, stages=3)
        yield build("dot", name, **small, flags=True)
        yield build("dot", name, accumulator="binary32", lanes=2, flags=True)
        yield build("pe", name, **small, stages=3)
        yield build("pe", name, accumulator="exact")
        yield build("pe", name, **small, carry_save=True)
        yield build("pe", name, **small, carry_save=True, stages=2, interleave=2, flags=True)
        yield build("pe", name, accumulator="binary16")
    yield build("dot", "ocp_e4m3", accumulator="exact", lanes=3, scale_bits=2)
    yield build("dot", UNITS[0], **small)
    yield build("dot", *MIXED[0], accumulator="binary32", lanes=2, stages=2)
    yield build("dot", "ocp_e4m3", accumulator="dlfloat16", lanes=2)
    yield build("dot", "Binary8p4se", accumulator="binary16", lanes=2, zero="positive", flags=True)
    for accumulator, lanes in (("binary32", 8), ("exact", 8), ("binary16", 2)):
        yield build("dot", "ocp_e4m3", accumulator=accumulator, lanes=lanes, fabric="fpga")
    yield build("dot", "ocp_e4m3", accumulator="binary32", lanes=32)
    for name, scale, lanes in (
        *(("ocp_e4m3", "e8m0", lanes) for lanes in (2, 8, 32)),
        *((name, "e8m0", 32) for name in ("ocp_e5m2", "e3m2", "e2m3", "e2m1")),
        *(("e2m1", scale, 16) for scale in ("ue4m3", "ue5m3")),
        ("Binary8p4se", "Binary8p1uf", 4),
        ("ocp_e4m3", "ue5m3", 8),
    ):
        accumulators = ["binary32", *(["aligned25"] if scale == "e8m0" else [])]
        yield from each("dot", [name], accumulator=accumulators, lanes=lanes, block_scale=scale)
    yield from each("dot", SOME, accumulator=[*_WIDE, "aligned13"], lanes=2, scale_bits=3, flags=True)
    yield from each("dot", (*SOME, "e2m1"), accumulator=["aligned6", "aligned13", "aligned40"], lanes=2, flags=True)
    yield build("dot", *MIXED[0], accumulator="binary32", lanes=2, block_scale="e8m0", flags=True)
    yield build("dot", "ocp_e4m3", accumulator="aligned25", lanes=4, block_scale="e8m0", flags=True)
    yield build("pe", "e2m1", accumulator="binary32", lanes=8, block_scale="ue4m3", stages=3, interleave=2, flags=True)
    yield build("pe", "e2m1", accumulator="aligned13", lanes=8, block_scale="e8m0", stages=3)
    yield build("pe", "ocp_e4m3", accumulator="binary32", lanes=8, stages=3)
    yield build("pe", "hif8", accumulator="binary32", lanes=2, stages=2, interleave=2, flags=True)


def _drawn() -> Iterator[Design]:
    """Sums that are rounded stochastically, and sums without an accumulator."""
    words: dict[str, Any] = {"accumulator_rounding": "stochastic", "random_bits": 4, "flags": True}
    yield from each("mac", SOME, accumulator=_NARROW, **words)
    yield from each("dot", ("ocp_e4m3", "hif8"), accumulator=_NARROW, lanes=4, **words)
    yield build("mac", "ocp_e4m3", accumulator="bfloat16", accumulator_rounding="stochastic")
    yield build("dot", "e2m1", accumulator="bfloat16", lanes=16, block_scale="ue4m3", **words)
    yield build("pe", "ocp_e5m2", lanes=2, stages=3, interleave=2, **words)
    yield build("mac", "hif8", accumulator_rounding="stochastic", random_bits=8, random=LFSR)
    yield from each("dot", (*SOME, "e2m1"), accumulator="none", target=_WIDE, lanes=8, flags=True)
    yield from each("dot", ["e2m1"], accumulator="none", target=["binary32", "bfloat16"], lanes=16, block_scale="ue4m3")
    yield build("dot", "ocp_e4m3", accumulator="none", lanes=32, block_scale="e8m0", flags=True)
    yield build("dot", "hif8", accumulator="none", target="dlfloat16", lanes=2, scale_bits=5, **words)
    yield build("dot", "ocp_e5m2", accumulator="none", target="binary16", lanes=4, stages=2)


def _fast(blocks: Sequence[str]) -> Iterator[Design]:
    """Modules that are built for speed: MACs, encoders, readouts and sums of several lanes."""
    fast = partial(each, optimize=SPEED)
    yield from fast("mac", blocks, accumulator=_WIDE)
    yield from fast("mac", MIXED, accumulator="binary16")
    yield from fast("mac", UNITS, accumulator="bfloat16")
    yield from fast("mac", ("ocp_e5m2", "gc_1_0_7_b0"), accumulator=_NARROW, flags=True)
    yield from fast("mac", ["hif8"], accumulator="binary16", scale_bits=2)
    yield from fast("mac", ["Binary8p4se"], accumulator="binary16", zero="positive")
    yield from fast("mac", ["ocp_e4m3"], stages=3)
    yield from fast("mac", ["hif8"], accumulator="binary32", flags=True)
    yield from fast("mac", ["hif8"], accumulator="binary32", scale_bits=2)
    for fmt in map(golden.get, blocks):
        sources = ["bfloat16"] if fmt.name == "int8" else ["binary32", "binary16", "bfloat16"]  # too many fraction bits
        if fmt.signed and fmt.has_zero:
            roundings = [rounding for rounding in ROUNDINGS if rounding in fmt.roundings]
            yield from fast("encoder", [fmt.name], source=sources, rounding=roundings)
    for name in SOME:
        overflows = [overflow for overflow in Overflow if overflow in golden.get(name).overflows]
        yield from fast("encoder", [name], overflow=overflows, nan_to_zero=True)
    for name in blocks:
        if name != "e8m0":  # its sums are too long to be built for speed, its readout takes minutes
            yield from fast("readout", [name])
            yield from fast("dot", [name], accumulator="binary16", lanes=4)
    formats = (*SOME, "e2m1", "binary8p3", "gc_1_0_7_b0", "ibm_1_4_3")
    yield from fast("dot", formats, accumulator="binary32", lanes=4)
    yield from fast("dot", formats, accumulator=["aligned13", "aligned25"], lanes=[2, 8])
    yield from fast("dot", ["e2m1", "ocp_e4m3"], accumulator="aligned6", lanes=2, flags=True)
    for name in SOME:
        yield from fast("readout", [name], target=_NARROW)
        yield from fast("dot", [name], accumulator=["bfloat16", "dlfloat16"], lanes=2, flags=True)
    for name in ("hif8", "ocp_e4m3"):
        yield from fast("pe", [name], accumulator=["binary32", "aligned13"], lanes=8, stages=3)
        yield from fast("pe", [name], accumulator="binary16")
        yield from fast("readout", [name], zero="positive")
    yield from fast("dot", ["e2m1"], accumulator="binary32", lanes=16, block_scale=["e8m0", "ue4m3"])
    yield from fast("dot", ["ocp_e4m3"], accumulator="binary32", lanes=8, block_scale="e8m0")
    yield from fast("dot", ["ocp_e4m3"], accumulator="binary32", lanes=32)
    yield from fast("dot", ["hif8"], accumulator="binary16", lanes=2, scale_bits=3, flags=True)
    yield from fast("dot", ["int4", "int8", "ocp_e4m3"], accumulator="exact", lanes=[3, 8])


def _flags(blocks: Iterable[str]) -> Iterator[Design]:
    for name in blocks:
        yield from each("encoder", [name], overflow=[*golden.get(name).overflows], flags=True)
        accumulators = [word for word in golden.ACCUMULATORS if word != "binary32" or name in SOME]
        yield from each("mac", [name], accumulator=accumulators, flags=True)
    yield build("encoder", "hif8", rounding=Rounding.HYBRID, flags=True)
