"""Which modules make up everything: every block of every format in the catalogue."""

from collections.abc import Iterator
from itertools import product

import golden
from golden import Rounding
from hwgen import build
from hwgen.decoder import TARGETS
from hwgen.design import Design

EVERY_OPTION = ("hif8", "e5m2b1", "ocp_e4m3")
"""Formats whose encoders are checked with every combination of rounding, overflow and NaN option; the others with every rounding."""

MIXED = (("ocp_e4m3", "ocp_e5m2"), ("hif8", "ocp_e4m3"))
"""Pairs of different formats."""

UNITS = ("ocp_e4m3+ocp_e5m2", "ibm_1_4_3+ibm_1_5_2")
"""Two formats in one unit, told apart by a pin."""


def designs() -> list[Design]:
    """Every module, the quick ones of each format first."""
    return [*_decoders(), *_encoders(), *_readouts(), *_macs()]


def _blocks() -> list[str]:
    return [name for name in golden.names() if name not in golden.WIDE]


def _decoders() -> Iterator[Design]:
    for name, target in product(_blocks(), TARGETS):
        yield build.decoder(name, target)


def _encoders() -> Iterator[Design]:
    for name, source in product(_blocks(), golden.WIDE):
        fmt = golden.get(name)
        every = name in EVERY_OPTION
        for rounding, overflow, nan_to_zero in product(
            fmt.roundings, fmt.overflows if every else fmt.overflows[:1], (False, True) if every else (False,)
        ):
            try:
                yield build.encoder(name, source, rounding, overflow, nan_to_zero)
            except ValueError:  # a rounding that this source or overflow rule lacks
                assert rounding in (Rounding.HYBRID, Rounding.MPTORCH)


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
