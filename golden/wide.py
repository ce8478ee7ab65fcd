"""Wide formats: sources of encoders, targets of decoders, accumulators; a biased exponent field, then a fraction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.formats import Format
from golden.names import check_name
from golden.refusal import BadValue, check_choice
from golden.rows import AWAY_FIRST, Biased, Kind, Overflow, Row, Special, with_subnormals
from golden.validation import check_fields


@dataclass(frozen=True)
class WideFormat(Format):
    """A format whose last row, for normal numbers, has a biased exponent field and a fraction."""

    @property
    def fraction_bits(self) -> int:
        """Stored bits of the significand."""
        return self.rows[-1].fraction_bits

    @property
    def exponent_bits(self) -> int:
        """Bits of the exponent field."""
        return self.rows[-1].exponent.bits

    @property
    def bias(self) -> int:
        """Bias of the exponent field."""
        rule = self.rows[-1].exponent
        assert isinstance(rule, Biased)
        return rule.bias

    @property
    def has_subnormals(self) -> bool:
        """Whether some numbers have no hidden bit."""
        return not self.rows[0].hidden

    def nearest(self, magnitudes: NDArray[np.float64], *, truncates: bool = False) -> NDArray[np.int64]:
        """Codes of magnitudes, rounded to nearest: ties to even; in ``dlfloat16`` ties away from zero, and flushed.

        With ``truncates`` they are rounded toward zero, and those from the next power of two on exceed the largest.

        What exceeds the largest value, and NaN, has the next code: infinity, or dlfloat16's NaN-or-infinity. Magnitudes
        below binary64's normal numbers are zeros. Integers and normal binary64 numbers are all that is computed with,
        so that a processor that flushes subnormals changes nothing.
        """
        dropped = 52 - self.fraction_bits  # bits of a binary64 pattern; with another bias, the others are the target's
        pattern = magnitudes.view(np.int64)
        below_half = (1 << (dropped - 1)) - 1
        ties_up = 1 if self.flush else pattern >> dropped & 1
        codes: NDArray[np.int64] = (pattern if truncates else pattern + below_half + ties_up) >> dropped
        codes = codes - ((1023 - self.bias) << self.fraction_bits)
        subnormal = magnitudes < self.smallest_normal
        if self.has_subnormals and subnormal.any():
            multiples = np.where(subnormal, magnitudes, 0.0) * 2.0**-self.ulp_exponent
            multiples = (np.floor(multiples) if truncates else np.rint(multiples)).astype(np.int64)
            codes = np.where(subnormal, multiples, codes)
        return codes.clip(0, self.largest_code + 1)

    def is_signaling(self, bits: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether bits are a signaling NaN: its first fraction bit is 0. ``dlfloat16`` has none."""
        rest_bits, special = self.fraction_bits - 1, (2 << self.exponent_bits) - 2  # exponent and first fraction bit
        first, rest = bits >> rest_bits & (special + 1), bits & ((1 << rest_bits) - 1)
        signaling: NDArray[np.bool_] = (first == special) & (rest != 0)
        return signaling & (not self.nan_keeps_sign)


@dataclass(frozen=True)
class Binary32(WideFormat):
    """The only format with too many codes for tables; its properties follow from the widths of its fields."""

    max_width: ClassVar[int] = 32
    has_tables: ClassVar[bool] = False
    has_zero: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the fields only: users cannot describe such a format, so its values need no check."""
        check_fields(self)

    def decode(self, codes: ArrayLike) -> NDArray[np.float64]:
        """Exact values of codes, see :meth:`golden.Format.decode`."""
        return self._decode_by_rows(self.as_codes(codes).astype(np.int64))

    def numbers(self, bits: NDArray[Any]) -> NDArray[Any]:
        """Values of checked bits as float64; NaNs are quiet. Subnormals are multiplied as integers, never flushed."""
        magnitude = bits.astype(np.int64) & (self.sign_bit - 1)
        pattern = (magnitude << 29) + ((1023 - self.bias) << 52)
        small, special = magnitude < 1 << self.fraction_bits, magnitude >= self.infinity
        if small.any():
            pattern = np.where(small, (magnitude * 2.0**self.ulp_exponent).view(np.int64), pattern)
        if special.any():
            pattern = np.where(special, 0x7FF << 52 | (magnitude > self.infinity) << 51, pattern)
        return (pattern | (bits.astype(np.int64) & self.sign_bit) << 32).view(np.float64)

    @property
    def largest_code(self) -> int:
        """Code of the largest value."""
        return self.infinity - 1

    @cached_property
    def infinity(self) -> int:
        """Code of +Inf."""
        return ((1 << self.exponent_bits) - 1) << self.fraction_bits

    @property
    def smallest(self) -> float:
        """Smallest positive value."""
        return float(2.0**self.ulp_exponent)

    @cached_property
    def smallest_normal(self) -> float:
        """Smallest positive value with a hidden bit."""
        return float(2.0 ** (1 - self.bias))

    @property
    def largest(self) -> float:
        """Largest finite value."""
        return float((2.0 - 2.0**-self.fraction_bits) * 2.0**self.bias)

    @cached_property
    def ulp_exponent(self) -> int:
        """Exponent of the smallest value; all values are its multiples."""
        return 1 - self.bias - self.fraction_bits

    @cached_property
    def precision(self) -> int:
        """Bits of the significand, hidden bit included."""
        return self.fraction_bits + 1


_F = TypeVar("_F", bound=Format)


def biased(
    kind: type[_F], name: str, exponent_bits: int, fraction_bits: int, bias: int, cite: str, **fields: Any
) -> _F:
    """A format of a sign, a biased exponent field and a fraction; with subnormals, if there are no ``rows``."""
    described = {"rows": with_subnormals(exponent_bits, fraction_bits, bias), "specials": (), **fields}
    return kind(name=name, width=1 + exponent_bits + fraction_bits, cite=cite, **described)


def ieee(
    kind: type[_F],
    name: str,
    exponent_bits: int,
    fraction_bits: int,
    cite: str,
    nan: int,
    overflows: tuple[Overflow, ...] = Format.overflows,
) -> _F:
    """A format whose subnormals, infinities and NaNs have the codes that IEEE 754 defines."""
    bias, infinity = (1 << (exponent_bits - 1)) - 1, ((1 << exponent_bits) - 1) << fraction_bits
    magnitude = (1 << (exponent_bits + fraction_bits)) - 1
    specials = Special(magnitude, infinity, Kind.INF), Special(infinity, infinity, Kind.NAN)
    fields = {"specials": specials, "canonical_nan": nan, "overflows": overflows}
    return biased(kind, name, exponent_bits, fraction_bits, bias, cite, **fields)


def _dlfloat16() -> WideFormat:
    return WideFormat(
        name="dlfloat16",
        width=16,
        cite="Hybrid 8-bit Floating Point Training and Inference, section 2.3 (1-6-9); rounding and NaN of IBM's zDNN; "
        "specification, section 5",
        rows=(Row("", Biased(6, 31), 9),),
        specials=(Special(0x7FFF, 0, Kind.ZERO), Special(0x7FFF, 0x7FFF, Kind.NAN)),
        canonical_nan=0x7FFF,
        nan_keeps_sign=True,
        flush=True,
        roundings=AWAY_FIRST,
        overflows=(Overflow.NAN, Overflow.SATURATE),
    )


_CITE = "IEEE 754-2019, section 3.6; specification, section 6"
_BFLOAT16_CITE = "bfloat16 as in specification, section 6"
_FORMATS = {
    "binary16": lambda: ieee(WideFormat, "binary16", 5, 10, _CITE, 0x7E00),
    "bfloat16": lambda: ieee(WideFormat, "bfloat16", 8, 7, _BFLOAT16_CITE, 0x7FC0),
    "binary32": lambda: ieee(Binary32, "binary32", 8, 23, _CITE, 0x7FC00000),
    "dlfloat16": _dlfloat16,
}

WIDE = tuple(_FORMATS)
"""Names of the sources of encoders, targets of decoders, and accumulators."""

ACCUMULATORS = (*WIDE, "exact")
"""Names of the accumulators; ``exact`` is :class:`golden.ExactAccumulator`."""


_ALIGNED_BITS = {f"aligned{fraction_bits}": fraction_bits for fraction_bits in range(6, 41)}
ALIGNED = tuple(_ALIGNED_BITS)
"""Names of the accumulators of :mod:`golden.arithmetic.aligned`, by the fraction bits that they keep of every addend.

32 products and an accumulator add up to less than ``2**(40 + 8)`` times the last bit, which binary64 has room for.
"""

RVBNA = "rvbna"
"""Name of the accumulator of :mod:`golden.arithmetic.bulk`, RISC-V's bulk normalization."""

NONE = "none"
"""Stands for no accumulator: the sum of the products alone."""

MAX_BULK_LANES = 1 << 14
"""Most lanes whose sum is exact in binary64: they have 25 + log2(lanes) bits each."""


@cache
def wide(name: str) -> WideFormat:
    """The format of a name in :data:`WIDE`."""
    return _FORMATS[name]()


def check_wide(argument: str, name: str | Format) -> WideFormat:
    """Return a wide format; refuse any other."""
    known = wide(check_name(argument, name.name if isinstance(name, Format) else name, WIDE))
    if isinstance(name, Format) and name != known:
        raise BadValue(argument, f"must be {known.name} itself, not another format of its name")
    return known


def check_accumulator(name: str, others: tuple[str, ...] = ()) -> str:
    """Return one of :data:`ACCUMULATORS`, :data:`RVBNA`, :data:`ALIGNED` or ``others``; refuse any other."""
    if isinstance(name, str) and (lower := name.lower()) in (RVBNA, *others, *ALIGNED):
        return lower
    return check_name("accumulator", name, (*ACCUMULATORS, RVBNA, *others), f"{ALIGNED[0]} to {ALIGNED[-1]}")


def check_bulk_lanes(argument: str, accumulator: str, lanes: int, joint: str = "must be") -> None:
    """Refuse a number of lanes that bulk normalization does not have; other accumulators take any."""
    if accumulator == RVBNA and (lanes & (lanes - 1) or not 1 <= lanes <= MAX_BULK_LANES):
        allowed = f"a power of two up to {MAX_BULK_LANES} with accumulator {RVBNA!r}"
        raise BadValue(argument, f"{joint} {allowed}, not {lanes}")


def bulk_bits(lanes: int) -> int:
    """Fraction bits of an aligned product: those of binary32, and log2(lanes) guard bits."""
    return wide("binary32").fraction_bits + lanes.bit_length() - 1


def aligned_bits(accumulator: str) -> int | None:
    """The fraction bits that a checked accumulator keeps of every addend; None unless it is :data:`ALIGNED`."""
    return _ALIGNED_BITS.get(accumulator)


def state_format(accumulator: str) -> WideFormat:
    """The format of a checked accumulator other than ``exact``; of :data:`RVBNA` and :data:`ALIGNED`, binary32."""
    return wide(accumulator if accumulator in WIDE else "binary32")


ZEROS = IEEE, POSITIVE = "ieee", "positive"
"""Signs of a zero result: IEEE 754's, or always plus as in IEEE P3109, draft 4.0, section 4.8.2."""


def check_zero(zero: str, accumulator: str | None = None) -> str:
    """Return one of :data:`ZEROS`; refuse any other, and any but the first with an ``exact`` accumulator."""
    checked = check_choice("zero", zero, ZEROS)
    if checked != IEEE and accumulator == "exact":
        raise BadValue("zero", "'positive' needs an accumulator that rounds: the zero of an exact one has no sign")
    return checked
