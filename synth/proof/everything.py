"""The modules that ``hwgen verify all`` checks: decoders, encoders, readouts, MACs of all formats in the catalogue."""

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import golden
from golden import Rounding
from golden.refusal import Refusal
from hwgen.blocks.block import Design
from hwgen.blocks.catalog import build
from hwgen.blocks.options import TARGETS

SOME = ("hif8", "e5m2b1", "ocp_e4m3", "ocp_e5m2")
"""A prefix code, a supernormal format, and formats with and without infinity.

They stand for all formats where an option affects all formats alike or takes long to check.
"""

MIXED = (("ocp_e4m3", "ocp_e5m2"), ("hif8", "ocp_e4m3"))
"""Pairs of different formats."""

UNITS = ("ocp_e4m3+ocp_e5m2", "ibm_1_4_3+ibm_1_5_2")
"""Pairs of formats in one unit, selected by a pin."""

_NARROW = ("binary16", "bfloat16", "dlfloat16")
_PIPELINED = ("decoder", "encoder", "mac")


def designs() -> list[Design]:
    """All modules, the quick ones of each format first."""
    blocks = [name for name in golden.names() if name not in golden.WIDE]
    return [
        *(build("decoder", name, target=target) for name, target in product((*blocks, *UNITS), TARGETS)),
        *_encoders(blocks),
        *(build("readout", name, **options) for name in blocks for options in ({}, {"target": name})),
        *(build("mac", name, accumulator=accumulator) for name, accumulator in product(blocks, golden.ACCUMULATORS)),
        *(build("mac", *pair, accumulator=accumulator) for pair, accumulator in product(MIXED, golden.ACCUMULATORS)),
        *(build("mac", name, accumulator=word) for name, word in product(UNITS, ("binary16", "dlfloat16", "exact"))),
        *_flags(blocks),
        *(build("mac", name, accumulator=word, scale_bits=2) for name, word in product(SOME, _NARROW)),
        *(build("mac", name, accumulator="exact", terms=16, scale_bits=2) for name in ("e5m2_nosub", "ocp_e4m3")),
        *(build(kind, name, stages=ranks) for name, ranks, kind in product(SOME, (1, 3), _PIPELINED)),
    ]


def _encoders(blocks: Iterable[str]) -> Iterator[Design]:
    for name, source in product(blocks, golden.WIDE):
        fmt = golden.get(name)
        for rounding, overflow, nan_to_zero in product(fmt.roundings, fmt.overflows, (False, True)):
            options: dict[str, Any] = {"rounding": rounding, "overflow": overflow, "nan_to_zero": nan_to_zero}
            try:
                yield build("encoder", name, source=source, **options)
            except Refusal:  # this source or overflow rule does not have the rounding
                assert rounding in (Rounding.HYBRID, Rounding.MPTORCH)
    for source in ("binary16", "bfloat16"):
        yield build("encoder", "hif8", source=source, rounding=Rounding.HYBRID, rounding_pin=True)


def _flags(blocks: Iterable[str]) -> Iterator[Design]:
    for name in blocks:
        for overflow in golden.get(name).overflows:
            yield build("encoder", name, overflow=overflow, flags=True)
        for accumulator in golden.ACCUMULATORS:
            if accumulator != "binary32" or name in SOME:
                yield build("mac", name, accumulator=accumulator, flags=True)
    yield build("encoder", "hif8", rounding=Rounding.HYBRID, flags=True)
