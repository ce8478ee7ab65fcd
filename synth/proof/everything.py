"""Which modules make up everything: every block of every format in the catalogue."""

from collections.abc import Iterator
from itertools import product

import golden
from golden import Rounding
from hwgen.blocks import build
from hwgen.blocks.decoder import TARGETS
from hwgen.blocks.design import Design

SOME = ("hif8", "e5m2b1", "ocp_e4m3", "ocp_e5m2")
"""A prefix code, a supernormal format, one without infinity and one with it: for options that touch all formats alike, or take long."""

MIXED = (("ocp_e4m3", "ocp_e5m2"), ("hif8", "ocp_e4m3"))
"""Pairs of different formats."""

UNITS = ("ocp_e4m3+ocp_e5m2", "ibm_1_4_3+ibm_1_5_2")
"""Two formats in one unit, told apart by a pin."""


def designs() -> list[Design]:
    """Every module, the quick ones of each format first."""
    return [*_decoders(), *_encoders(), *_readouts(), *_macs(), *_flags(), *_scales(), *_pipelines()]


def _blocks() -> list[str]:
    return [name for name in golden.names() if name not in golden.WIDE]


def _decoders() -> Iterator[Design]:
    for name, target in product((*_blocks(), *UNITS), TARGETS):
        yield build.decoder(name, target)


def _encoders() -> Iterator[Design]:
    for name, source in product(_blocks(), golden.WIDE):
        fmt = golden.get(name)
        for rounding, overflow, nan_to_zero in product(fmt.roundings, fmt.overflows, (False, True)):
            try:
                yield build.encoder(name, source, rounding, overflow, nan_to_zero)
            except ValueError:  # a rounding that this source or overflow rule lacks
                assert rounding in (Rounding.HYBRID, Rounding.MPTORCH)
    for source in ("binary16", "bfloat16"):
        yield build.encoder("hif8", source, Rounding.HYBRID, rounding_pin=True)


def _readouts() -> Iterator[Design]:
    for name in _blocks():
        yield build.readout(name)
        yield build.readout(name, to=name)


def _macs() -> Iterator[Design]:
    for name, accumulator in product(_blocks(), golden.ACCUMULATORS):
        yield build.mac(name, accumulator=accumulator)
    for (a, b), accumulator in product(MIXED, golden.ACCUMULATORS):
        yield build.mac(a, b, accumulator)
    for name, accumulator in product(UNITS, ("binary16", "dlfloat16", "exact")):
        yield build.mac(name, accumulator=accumulator)


def _flags() -> Iterator[Design]:
    for name in _blocks():
        for overflow in golden.get(name).overflows:
            yield build.encoder(name, overflow=overflow, flags=True)
        for accumulator in golden.ACCUMULATORS:
            if accumulator != "binary32" or name in SOME:
                yield build.mac(name, accumulator=accumulator, flags=True)
    yield build.encoder("hif8", rounding=Rounding.HYBRID, flags=True)


def _scales() -> Iterator[Design]:
    for name in SOME:
        for accumulator in ("binary16", "bfloat16", "dlfloat16"):
            yield build.mac(name, accumulator=accumulator, scale_bits=2)
    for name in ("e5m2_nosub", "ocp_e4m3"):
        yield build.mac(name, accumulator="exact", terms=16, scale_bits=2)


def _pipelines() -> Iterator[Design]:
    for name, stages in product(SOME, (1, 3)):
        for block in (build.decoder(name), build.encoder(name), build.mac(name)):
            yield build.pipelined(block, stages)
