"""The parts of a format's description: rows of codes with their exponents, special codes, and the rules that an encoder
may follow.

A row is a bit prefix after the sign, a rule for the exponent behind it, the number of fraction bits that remain, and
the hidden bit; the first row that matches a code wins.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Kind(StrEnum):
    """What a code stands for."""

    FINITE = "finite"
    ZERO = "zero"
    INF = "inf"
    NAN = "nan"


class Rounding(StrEnum):
    """How a value between two neighbours becomes one of them (specification, section 0)."""

    TIES_TO_EVEN = "ties_to_even"
    TIES_TO_AWAY = "ties_to_away"
    TOWARD_ZERO = "toward_zero"
    STOCHASTIC = "stochastic"
    HYBRID = "hybrid"
    MPTORCH = "mptorch"


ALL_ROUNDINGS = (Rounding.TIES_TO_EVEN, Rounding.TIES_TO_AWAY, Rounding.TOWARD_ZERO, Rounding.STOCHASTIC)
"""The roundings that every format has unless its description says otherwise."""


MAX_RANDOM_BITS, DEFAULT_RANDOM_BITS = 32, 16
"""Bits of a random word of ``stochastic``."""


class Overflow(StrEnum):
    """What becomes of values past the largest, and of infinities (specification, section 0)."""

    INFINITY = "infinity"
    NAN = "nan"
    SATURATE = "saturate"
    OCP_PAPER = "ocp_paper"


@dataclass(frozen=True)
class Fixed:
    """The exponent is a constant; no bits of the code are spent on it."""

    exponent: int
    bits: int = field(default=0, init=False)

    def exponents(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Exponent of each exponent field."""
        return np.full_like(codes, self.exponent)


@dataclass(frozen=True)
class Biased:
    """The exponent is an unsigned field of ``bits`` bits, minus ``bias``."""

    bits: int
    bias: int

    def exponents(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Exponent of each exponent field."""
        return codes - self.bias


@dataclass(frozen=True)
class SignMagnitude:
    """The exponent is a sign (1 is negative) and a magnitude whose leading 1 is not stored (HiFloat8, section 3)."""

    bits: int

    def exponents(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Exponent of each exponent field."""
        leading = 1 << (self.bits - 1)
        magnitude = leading | (codes & (leading - 1))
        return np.where(codes & leading, -magnitude, magnitude)


Exponent = Fixed | Biased | SignMagnitude


@dataclass(frozen=True)
class Row:
    """Codes that start with ``prefix`` (after the sign): value = 2**exponent * (hidden + fraction / 2**fraction_bits).

    Bits are counted from the fraction upwards: fraction, then the exponent field, then the prefix, which may overlap
    the field.
    """

    prefix: str
    exponent: Exponent
    fraction_bits: int
    hidden: int = 1


@dataclass(frozen=True)
class Special:
    """Codes with ``code & mask == value`` are of ``kind``, whatever the rows say."""

    mask: int
    value: int
    kind: Kind
