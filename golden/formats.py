"""What a format is: a list of rows, a list of specials, and the choices that go with them.

A row is a bit prefix after the sign, a rule for the exponent behind it, the number of fraction bits that remain, and the hidden bit;
the first row that matches a code wins. Everything else, the values and every width in the hardware, follows from the rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from golden.bits import as_codes, look_up

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

MIN_WIDTH, MAX_WIDTH = 3, 16
"""Bits of a code in a format that a user may describe (``binary32`` is the one wider format)."""

_EXPONENT_LIMIT = 400
"""Largest magnitude of an exponent: squares of all values, and sums of those with a binary32, stay normal in binary64."""


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

    Bits are counted from the fraction upwards: fraction, then the exponent field, then the prefix, which may overlap the field.
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


ALL_ROUNDINGS = (Rounding.TIES_TO_EVEN, Rounding.TIES_TO_AWAY, Rounding.TOWARD_ZERO, Rounding.STOCHASTIC)


@dataclass(frozen=True)
class Format:
    """An immutable, validated floating-point format.

    Parameters
    ----------
    name : str
        An identifier.
    width : int
        Bits of a code.
    rows : tuple of Row
        The first that matches wins; every code must match one.
    specials : tuple of Special
        Zeros that the rows do not give, infinities and NaNs; the first that matches wins.
    cite : str
        Where the format is defined.
    canonical_nan : int, optional
        The NaN that golden and hardware emit. None where there is no NaN.
    nan_keeps_sign : bool
        Whether the sign of a NaN survives (``dlfloat16`` alone).
    twos_complement : bool
        Negative codes are two's complements instead of sign and magnitude.
    flush : bool
        Below the smallest value, whatever rounds to the unused pattern under it, or below that, becomes zero; otherwise the
        nearest of zero and the smallest value.
    roundings, overflows : tuple
        What an encoder may be asked for; the first is the default.
    source_name, source_sha256 : str, optional
        Name, without folders, and SHA-256 of the file that the format was read from.
    """

    name: str
    width: int
    rows: tuple[Row, ...]
    specials: tuple[Special, ...]
    cite: str
    canonical_nan: int | None = None
    nan_keeps_sign: bool = False
    twos_complement: bool = False
    flush: bool = False
    roundings: tuple[Rounding, ...] = ALL_ROUNDINGS
    overflows: tuple[Overflow, ...] = (Overflow.INFINITY, Overflow.SATURATE)
    source_name: str | None = field(default=None, compare=False)
    source_sha256: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        _check_fields(self)
        if self.width <= MAX_WIDTH:
            _check_values(self)

    # -- codes and values ----------------------------------------------------------------------------------------------------

    @property
    def sign_bit(self) -> int:
        """The code's most significant bit, as a mask."""
        return 1 << (self.width - 1)

    @property
    def code_dtype(self) -> npt.DTypeLike:
        """Smallest unsigned NumPy type that holds a code."""
        return np.uint8 if self.width <= 8 else np.uint16 if self.width <= 16 else np.uint32

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """Value of every code; float64, shape ``(2**width,)``; formats of at most 16 bits."""
        return _frozen(self._decode_by_rows(np.arange(1 << self.width)))

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """Kind of every code; formats of at most 16 bits."""
        codes = np.arange(1 << self.width)
        kinds = np.where(self.values == 0, Kind.ZERO, Kind.FINITE).astype(object)
        for special in reversed(self.specials):
            kinds[codes & special.mask == special.value] = special.kind
        return tuple(kinds.tolist())

    @cached_property
    def magnitude_codes(self) -> NDArray[np.int64]:
        """Codes of zero and of the positive finite values, in order of value."""
        codes = np.array([c for c in range(self.sign_bit) if self.kinds[c] in (Kind.ZERO, Kind.FINITE)])
        return _frozen(codes[np.argsort(self.values[codes], kind="stable")])

    @cached_property
    def magnitudes(self) -> NDArray[np.float64]:
        """Zero and the positive finite values, ascending."""
        return _frozen(self.values[self.magnitude_codes])

    @property
    def smallest(self) -> float:
        """Smallest positive value."""
        return float(self.magnitudes[1])

    @property
    def largest(self) -> float:
        """Largest finite value."""
        return float(self.magnitudes[-1])

    @cached_property
    def above_largest(self) -> float:
        """The next grid point above the largest value: where overflow begins if no rounding intervenes."""
        return self.largest + self.quantum(int(self.magnitude_codes[-1]))

    @cached_property
    def ulp_exponent(self) -> int:
        """Largest ``e`` such that every finite value is an integer multiple of ``2**e``."""
        return min(int(np.frexp(v)[1]) - _significant_bits(float(v)) for v in self.magnitudes[1:])

    @cached_property
    def precision(self) -> int:
        """Bits of the widest significand, normalized, hidden bit included."""
        return max(_significant_bits(float(v)) for v in self.magnitudes[1:])

    @cached_property
    def exponent_range(self) -> tuple[int, int]:
        """Exponents of the smallest and of the largest value, as of ``1.xxx * 2**e``."""
        return int(np.frexp(self.smallest)[1]) - 1, int(np.frexp(self.largest)[1]) - 1

    @property
    def has_infinity(self) -> bool:
        """Whether a code stands for infinity."""
        return any(s.kind is Kind.INF for s in self.specials)

    @property
    def has_nan(self) -> bool:
        """Whether a code stands for NaN."""
        return self.canonical_nan is not None

    @cached_property
    def has_negative_zero(self) -> bool:
        """Whether the code of the sign alone is a zero."""
        special = next((s.kind for s in self.specials if self.sign_bit & s.mask == s.value), Kind.ZERO)
        return not self.twos_complement and special is Kind.ZERO

    @cached_property
    def infinity(self) -> int | None:
        """Code of +Inf, or None."""
        if self.width <= MAX_WIDTH:
            return next((code for code in range(self.sign_bit) if self.kinds[code] is Kind.INF), None)
        return next((s.value & ~self.sign_bit for s in self.specials if s.kind is Kind.INF), None)

    @cached_property
    def magnitude_rows(self) -> NDArray[np.int64]:
        """Index of the row that each magnitude (a code without its sign) matches; -1 where none does."""
        magnitude = np.arange(self.sign_bit)
        index = np.full(magnitude.shape, -1)
        for i in reversed(range(len(self.rows))):
            prefix = self.rows[i].prefix
            index[magnitude >> (self.width - 1 - len(prefix)) == int(prefix or "0", 2)] = i
        return _frozen(index)

    def quantum(self, magnitude: int) -> float:
        """Distance from the value of a finite magnitude code to the next grid point above it."""
        row = self.rows[self.magnitude_rows[magnitude]]
        rule = row.exponent
        exponent = rule.exponent if isinstance(rule, Fixed) else int(np.frexp(self.values[magnitude])[1]) - 1
        return float(2.0 ** (exponent - row.fraction_bits))

    def _decode_by_rows(self, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Values by the equation of each row."""
        sign = (codes & self.sign_bit) != 0
        magnitude = codes & (self.sign_bit - 1)
        if self.twos_complement:
            magnitude = np.where(sign, (1 << self.width) - codes, codes)
        value = np.zeros(codes.shape)
        for row in reversed(self.rows):
            shift = self.width - 1 - len(row.prefix)
            hit = magnitude >> shift == int(row.prefix or "0", 2)
            exponent_field = (magnitude >> row.fraction_bits) & ((1 << row.exponent.bits) - 1)
            fraction = magnitude & ((1 << row.fraction_bits) - 1)
            significand = fraction + (row.hidden << row.fraction_bits)
            exponent = row.exponent.exponents(exponent_field) - row.fraction_bits
            value = np.where(hit, np.ldexp(significand.astype(np.float64), exponent), value)
        for special in reversed(self.specials):
            number = {Kind.ZERO: 0.0, Kind.INF: np.inf, Kind.NAN: np.nan}[special.kind]
            value = np.where(codes & special.mask == special.value, number, value)
        return np.where(np.isnan(value), np.nan, np.copysign(value, np.where(sign, -1.0, 1.0)))

    # -- the public operations; the arithmetic is in encode.py ------------------------------------------------------------

    def decode(self, codes: ArrayLike) -> NDArray[np.float64]:
        """Exact values of codes.

        Parameters
        ----------
        codes : unsigned integers, any shape

        Returns
        -------
        float64 array of the same shape; infinities and NaN where the codes say so.

        Raises
        ------
        TypeError
            If the codes are not integers.
        ValueError
            If a code needs more than ``width`` bits.
        """
        checked = as_codes(codes, self.width, f"Codes of {self.name}")
        if self.width > MAX_WIDTH:
            return self._decode_by_rows(checked.astype(np.int64))
        return look_up(self.values, checked)

    def encode(
        self,
        bits: ArrayLike,
        source: str | Format = "binary32",
        rounding: str | None = None,
        overflow: str | None = None,
        nan_to_zero: bool = False,
        random: ArrayLike | None = None,
        random_bits: int = 16,
    ) -> NDArray[Any]:
        """Codes of raw bits of a wider format; see :func:`golden.encode.encode`."""
        from golden.encode import encode

        return encode(self, bits, source, rounding, overflow, nan_to_zero, random, random_bits)

    def decode_bits(self, codes: ArrayLike, target: str | Format) -> NDArray[Any]:
        """Bits of a wider format that hold the codes' values; see :func:`golden.encode.decode_bits`."""
        from golden.encode import decode_bits

        return decode_bits(self, codes, target)

    def quantize(self, x: NDArray[Any], **options: Any) -> NDArray[Any]:
        """Floating-point numbers taken through the format and back; see :func:`golden.encode.quantize`."""
        from golden.encode import quantize

        return quantize(self, x, **options)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array


def _significant_bits(value: float) -> int:
    numerator = value.as_integer_ratio()[0]
    return numerator.bit_length() - ((numerator & -numerator).bit_length() - 1)


def _check_fields(fmt: Format) -> None:
    """Refuse a description that cannot be a format, in one sentence."""

    def require(condition: object, sentence: str) -> None:
        if not condition:
            raise ValueError(f"Format {fmt.name!r}: {sentence}")

    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", fmt.name):
        raise ValueError(f"Format name must be an identifier, not {fmt.name!r}")
    wide = fmt.width == 32 and fmt.name == "binary32"
    require(MIN_WIDTH <= fmt.width <= MAX_WIDTH or wide, f"width must be {MIN_WIDTH} to {MAX_WIDTH} bits, not {fmt.width}")
    require(fmt.rows, "there must be at least one row")
    for row in fmt.rows:
        _check_row(fmt, row, require)
    total = 1 << fmt.width
    for special in fmt.specials:
        require(
            0 <= special.value < total and 0 <= special.mask < total and special.value & ~special.mask == 0,
            f"special value {special.value:#x} must lie inside its mask {special.mask:#x} and in {fmt.width} bits",
        )
        require(special.kind is not Kind.FINITE, "a special must be zero, inf or nan, not finite")
    nan = fmt.canonical_nan
    require(
        (nan is not None) == any(s.kind is Kind.NAN for s in fmt.specials), "canonical_nan must be given exactly where a special is NaN"
    )
    if nan is not None:
        hit = next((s.kind for s in fmt.specials if nan & s.mask == s.value), None)
        require(0 <= nan < total and hit is Kind.NAN, f"canonical_nan {nan:#x} must be the code of a NaN")
    require(fmt.roundings and fmt.overflows, "there must be at least one rounding and one overflow rule")
    require(fmt.has_infinity or Overflow.INFINITY not in fmt.overflows, "overflow 'infinity' needs a code for infinity")
    require(fmt.has_nan or Overflow.NAN not in fmt.overflows, "overflow 'nan' needs a code for NaN")


def _check_row(fmt: Format, row: Row, require: Callable[[object, str], None]) -> None:
    where, body, rule = f"row {row.prefix!r}", fmt.width - 1, row.exponent
    require(re.fullmatch("[01]*", row.prefix), f"{where}: a prefix must be of 0s and 1s")
    require(row.hidden in (0, 1), f"{where}: the hidden bit must be 0 or 1, not {row.hidden}")
    require(isinstance(rule, Fixed) or rule.bits >= 1, f"{where}: the exponent must have at least 1 bit, not {rule.bits}")
    require(row.fraction_bits >= 0, f"{where}: fraction_bits must not be negative, not {row.fraction_bits}")
    used = row.fraction_bits + rule.bits
    require(
        used <= body <= used + len(row.prefix) and len(row.prefix) <= body,
        f"{where}: {len(row.prefix)} prefix, {rule.bits} exponent and {row.fraction_bits} fraction bits must make up {body} bits",
    )
    require(row.hidden or isinstance(rule, Fixed), f"{where}: a row without hidden bit needs a fixed exponent")
    extremes = rule.exponents(np.array([0, (1 << rule.bits) - 1, (1 << rule.bits) >> 1], dtype=object))  # of any size
    require(np.abs(extremes).max() <= _EXPONENT_LIMIT, f"{where}: exponents must lie within ±{_EXPONENT_LIMIT}")


def _check_values(fmt: Format) -> None:
    """Refuse tables of values that no encoder could serve."""

    def refuse(sentence: str) -> None:
        raise ValueError(f"Format {fmt.name!r}: {sentence}")

    unmatched = np.flatnonzero(fmt.magnitude_rows < 0)
    if unmatched.size:
        refuse(f"no row matches magnitude {unmatched[0]:0{fmt.width - 1}b}")
    codes, values = fmt.magnitude_codes, fmt.magnitudes
    if len(values) < 2 or values[0] != 0 or codes[0] != 0:
        refuse("code 0 must be zero, and there must be at least one positive value")
    for low, high, v, w in zip(codes[:-1].tolist(), codes[1:].tolist(), values[:-1].tolist(), values[1:].tolist(), strict=True):
        if v == w:
            refuse(f"codes {low:#x} and {high:#x} have the same value")
        if (low ^ high) & 1 == 0:
            refuse(f"codes {low:#x} and {high:#x} are neighbours of the same parity, so that ties have no even code")
        if v > 0 and w - v != fmt.quantum(low):
            refuse(f"there must be no hole between the values of codes {low:#x} and {high:#x}")
    first = codes[1].item()
    binade = 2.0 ** fmt.exponent_range[0] if fmt.rows[fmt.magnitude_rows[first]].hidden else 0.0
    if not (binade and values[1] == binade) and values[1] != binade + fmt.quantum(first):  # one pattern at most under the smallest value
        refuse(f"there must be no hole below the smallest value, that of code {first:#x}, but the pattern of zero")
    negative = fmt.values[fmt.sign_bit :]
    mirrored = np.sort(np.abs(negative[np.isfinite(negative)]))
    if not np.array_equal(mirrored, values if fmt.has_negative_zero else values[1:]):
        refuse("the negative values must mirror the positive ones")
    if fmt.has_infinity:
        inf = fmt.infinity or 0
        minus_inf = (1 << fmt.width) - inf if fmt.twos_complement else inf | fmt.sign_bit
        if not inf or fmt.kinds[minus_inf] is not Kind.INF:
            refuse("infinity must have a positive code and its negative")
    if fmt.flush and fmt.smallest <= 2.0 ** fmt.exponent_range[0]:
        refuse("flush needs an unused pattern below the smallest value")
