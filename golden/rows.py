"""The parts of a format's description: rows, special codes, and the rules of encoders.

A row is a bit prefix after the sign, a rule for the exponent after the prefix, the number of remaining fraction bits,
and the hidden bit. The first row that matches a code applies.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Self

import numpy as np
from numpy.typing import NDArray

from golden.refusal import PlainFields


class Kind(StrEnum):
    """What a code stands for."""

    FINITE = "finite"
    ZERO = "zero"
    INF = "inf"
    NAN = "nan"


class Family(Enum):
    """What decides whether a rounding goes to the upper of two neighbours."""

    NEAREST = "the nearer neighbour"
    FIXED = "the neighbours alone"
    DIRECTED = "the number's sign"
    STOCHASTIC = "random bits"
    SOURCE = "bits of the source"
    SIMULATED = "a simulator's steps"


class Rounding(StrEnum):
    """How an encoder rounds a value between two neighbours to one of them (specification, section 0)."""

    _value_: str
    family: Family
    """What the decision depends on."""
    rule: str
    """What the rounding does, as text."""

    def __new__(cls, word: str, family: Family, rule: str) -> Self:
        """A member, whose value is its name as users write it."""
        member = str.__new__(cls, word)
        member._value_, member.family, member.rule = word, family, rule
        return member

    TIES_TO_EVEN = "ties_to_even", Family.NEAREST, "to nearest, ties to the even code"
    TIES_TO_AWAY = "ties_to_away", Family.NEAREST, "to nearest, ties away from zero"
    TOWARD_ZERO = "toward_zero", Family.FIXED, "toward zero"
    TOWARD_POSITIVE = "toward_positive", Family.DIRECTED, "toward +infinity"
    TOWARD_NEGATIVE = "toward_negative", Family.DIRECTED, "toward -infinity"
    TO_ODD = "to_odd", Family.FIXED, "to odd: values stay, other numbers become the neighbour with the odd code"
    STOCHASTIC = (
        "stochastic",
        Family.STOCHASTIC,
        "stochastic: away from zero iff floor(2^R t) + random >= 2^R, t being the position between the neighbours",
    )
    STOCHASTIC_B = (
        "stochastic_b",
        Family.STOCHASTIC,
        "stochastic B: away from zero iff floor(2^(R+1) t) + 2 random + 1 >= 2^(R+1), t as position of the number",
    )
    STOCHASTIC_C = (
        "stochastic_c",
        Family.STOCHASTIC,
        "stochastic C: away from zero iff 2^R t, rounded to an integer, ties to even, plus random is at least 2^R",
    )
    HYBRID = (
        "hybrid",
        Family.SOURCE,
        "HiFloat8's hybrid: ties away for exponents -3..3, elsewhere the tail against the source's own last bits",
    )
    MPTORCH = (
        "mptorch",
        Family.SIMULATED,
        "as the supernormals' simulator: half away among powers of two, else ties to even; flush below, Inf above",
    )

    @property
    def is_stochastic(self) -> bool:
        """Whether the rounding takes random bits."""
        return self.family is Family.STOCHASTIC

    @property
    def reads_source(self) -> bool:
        """Whether the rounding depends on bits of the source, not only on the number."""
        return self.family is Family.SOURCE

    @property
    def is_directed(self) -> bool:
        """Whether a number and its negative round to different magnitudes."""
        return self.family is Family.DIRECTED

    @property
    def is_monotonic(self) -> bool:
        """Whether a larger number never becomes a smaller one."""
        return self.family in (Family.NEAREST, Family.FIXED, Family.DIRECTED)

    def truncates(self, *, negative: bool) -> bool:
        """Whether numbers of this sign always round toward zero."""
        return self in (Rounding.TOWARD_ZERO, Rounding.TOWARD_POSITIVE if negative else Rounding.TOWARD_NEGATIVE)


ALL_ROUNDINGS = tuple(rounding for rounding in Rounding if rounding.family not in (Family.SOURCE, Family.SIMULATED))
"""The roundings of a format unless its description says otherwise; the first is the default."""

AWAY_FIRST = tuple(sorted(ALL_ROUNDINGS, key=lambda rounding: rounding is not Rounding.TIES_TO_AWAY))
"""The same roundings with another default."""

MAX_RANDOM_BITS, DEFAULT_RANDOM_BITS = 32, 16
"""Width of the random words of the stochastic roundings."""


class Overflow(StrEnum):
    """How an encoder replaces values past the largest, and infinities (specification, section 0)."""

    INFINITY = "infinity"
    NONE = "none"
    NAN = "nan"
    SATURATE = "saturate"
    PROPAGATE = "propagate"
    OCP_PAPER = "ocp_paper"
    POSIT = "posit"


FATES: dict[Overflow, tuple[tuple[Kind, ...], tuple[Kind, ...]]] = {
    Overflow.INFINITY: ((Kind.INF,), (Kind.INF,)),
    Overflow.NONE: ((Kind.INF, Kind.FINITE), (Kind.INF, Kind.FINITE)),
    Overflow.NAN: ((Kind.NAN,), (Kind.NAN,)),
    Overflow.SATURATE: ((Kind.FINITE,), (Kind.FINITE,)),
    Overflow.PROPAGATE: ((Kind.FINITE,), (Kind.INF, Kind.FINITE)),
    Overflow.OCP_PAPER: ((Kind.FINITE,), (Kind.INF, Kind.NAN)),
    Overflow.POSIT: ((Kind.FINITE,), (Kind.NAN,)),
}
"""What becomes of finite numbers past the largest, and of infinities: the first kind that the format has.

``FINITE`` is the largest value of the number's sign.
"""


@dataclass(frozen=True)
class Fixed(PlainFields):
    """The exponent is a constant and takes no bits of the code."""

    exponent: int
    bits: int = field(default=0, init=False)

    def exponents(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Exponent of each exponent field."""
        return np.full_like(codes, self.exponent)


@dataclass(frozen=True)
class Biased(PlainFields):
    """The exponent is an unsigned field of ``bits`` bits, minus ``bias``."""

    bits: int
    bias: int

    def exponents(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Exponent of each exponent field."""
        return codes - self.bias


@dataclass(frozen=True)
class SignMagnitude(PlainFields):
    """The exponent is a sign (1 is negative) and a magnitude whose leading 1 is not stored (HiF8 paper, Table 3)."""

    bits: int

    def exponents(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Exponent of each exponent field."""
        leading = 1 << (self.bits - 1)
        magnitude = leading | (codes & (leading - 1))
        return np.where(codes & leading, -magnitude, magnitude)


Exponent = Fixed | Biased | SignMagnitude


@dataclass(frozen=True)
class Row(PlainFields):
    """Codes that start with ``prefix`` (after the sign): value = 2**exponent * (hidden + fraction / 2**fraction_bits).

    Fields are placed from the lsb upwards: fraction, exponent field, prefix. The prefix may overlap the exponent field.
    """

    prefix: str
    exponent: Exponent
    fraction_bits: int
    hidden: int = 1


def with_subnormals(exponent_bits: int, fraction_bits: int, bias: int) -> tuple[Row, ...]:
    """The rows of subnormals and normals with a biased exponent."""
    subnormals = Row("0" * exponent_bits, Fixed(1 - bias), fraction_bits, hidden=0)
    return subnormals, Row("", Biased(exponent_bits, bias), fraction_bits)


@dataclass(frozen=True)
class Special(PlainFields):
    """Codes with ``code & mask == value`` are of ``kind``; specials override rows."""

    mask: int
    value: int
    kind: Kind
