"""Kinds of mismatches: what is wrong with a result."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from golden import Format
from golden.arithmetic.exact import ExactAccumulator
from golden.wide import wide
from hwgen.blocks.readout import Readout
from hwgen.reference.reference import Pins, Reference, limbs

SIGN, NAN, NUMBER, PAYLOAD = "sign of zero", "NaN for a number", "number for NaN", "NaN payload"
INFINITY, ULP, LARGER, OTHER = "infinity", "one unit in the last place", "larger error", "other outputs"


def kinds(model: Reference, got: Pins, expected: Pins) -> set[str]:
    """The kinds of the outputs that differ."""
    return set(_kinds(model, got, expected))


def _kinds(model: Reference, got: Pins, expected: Pins) -> Iterator[str]:
    for port, right in expected.items():
        if got[port] != right:
            coding = _number(model, port)
            yield OTHER if coding is None else _kind(coding, got[port], right)


def _number(model: Reference, port: str) -> Format | ExactAccumulator | None:
    """What an output that is one number means; None for integers, flags and words of several numbers."""
    core: Any = model.core
    coding: Format | ExactAccumulator | None = None
    if port in ("acc", "acc_out"):
        coding = core.sums.state if core.exact is None else core.exact
    elif port in ("bits", "code"):
        coding = core.target if isinstance(core, Readout) else core.fmt if port == "code" else wide(core.target)
    return coding


def _kind(coding: Format | ExactAccumulator, got: int, expected: int) -> str:
    if isinstance(coding, ExactAccumulator) and (got ^ expected) >> coding.value_width == 0:  # the same flags
        return ULP if (got - expected) % (1 << coding.value_width) in (1, (1 << coding.value_width) - 1) else LARGER
    wrong, right = (_value(coding, bits) for bits in (got, expected))
    if np.isnan(wrong) or np.isnan(right):
        return PAYLOAD if np.isnan(wrong) and np.isnan(right) else NAN if np.isnan(wrong) else NUMBER
    if np.isinf(wrong) or np.isinf(right):
        return INFINITY
    if wrong == right:
        return SIGN if right == 0 else OTHER
    return ULP if abs(got - expected) == 1 and (wrong < 0) == (right < 0) else LARGER


def _value(coding: Format | ExactAccumulator, bits: int) -> float:
    word = limbs(coding, bits) if isinstance(coding, ExactAccumulator) else np.array(bits)
    return float(coding.decode(word))
