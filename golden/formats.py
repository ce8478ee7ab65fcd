"""A format: a list of rows, a list of specials, and the roundings and overflow rules of its encoders.

The values and every width in the hardware are derived from the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from golden.bits import as_codes, look_up
from golden.refusal import BadKind, BadValue, PlainFields, check_choice, is_integer
from golden.rows import ALL_ROUNDINGS, DEFAULT_RANDOM_BITS, Fixed, Kind, Overflow, Rounding, Row, Special
from golden.validation import EXPONENT_LIMIT, MAX_WIDTH, check_fields, check_values


@dataclass(frozen=True)
class Format(PlainFields):
    """An immutable, validated floating-point format.

    Parameters
    ----------
    name : str
        An identifier.
    width : int
        Bits of a code.
    rows : tuple of Row
        The first row that matches a code applies; every code must match a row.
    specials : tuple of Special
        Infinities, NaNs, and zeros that the rows do not describe; the first special that matches applies.
    cite : str
        Where the format is defined.
    canonical_nan : int, optional
        The NaN that golden and hardware emit. None for formats without NaN.
    nan_keeps_sign : bool
        Whether NaNs keep their sign (only ``dlfloat16``).
    signed : bool
        Whether the most significant bit is a sign. Formats without a sign need no zero.
    twos_complement : bool
        Whether negative codes are two's complements instead of sign and magnitude. Unless the code of the sign bit
        alone is special, it continues the last row, see :attr:`has_lowest`.
    flush : bool
        For formats whose pattern of 2**E, just below the smallest value, stands for zero: numbers that round to 2**E or
        lower become zero. Otherwise they become the nearer of zero and the smallest value.
    posit_rounding : bool
        Whether ``ties_to_even`` is that of posits: numbers below the smallest value become that value, and only zero
        becomes zero; neighbouring powers of two may be further apart, with the tie at their geometric mean.
    roundings, overflows : tuple
        Choices of an encoder; the first is the default.
    source_name, source_sha256 : str, optional
        Name (without folders) and SHA-256 of the file that describes the format.
    """

    name: str
    width: int
    rows: tuple[Row, ...]
    specials: tuple[Special, ...]
    cite: str
    canonical_nan: int | None = None
    nan_keeps_sign: bool = False
    signed: bool = True
    twos_complement: bool = False
    flush: bool = False
    posit_rounding: bool = False
    roundings: tuple[Rounding, ...] = ALL_ROUNDINGS
    overflows: tuple[Overflow, ...] = (Overflow.INFINITY, Overflow.SATURATE, Overflow.PROPAGATE)
    source_name: str | None = field(default=None, compare=False)
    source_sha256: str | None = field(default=None, compare=False)

    max_width: ClassVar[int] = MAX_WIDTH
    """Largest width that a description may have."""
    max_exponent: ClassVar[int] = EXPONENT_LIMIT
    """Largest magnitude of an exponent that a description may have."""
    has_tables: ClassVar[bool] = True
    """Whether there are tables of all codes: ``values``, ``kinds``, ``magnitudes`` and so on."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for argument, kind in (("roundings", Rounding), ("overflows", Overflow)):  # users may pass plain strings
            words = getattr(self, argument)
            if isinstance(words, (tuple, list)):
                object.__setattr__(self, argument, tuple(check_choice(argument, word, tuple(kind)) for word in words))
        check_fields(self)
        check_values(self)

    def __getstate__(self) -> dict[str, Any]:  # tables that are cached need not be copied, and some cannot be pickled
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @property
    def identifier(self) -> str:
        """The name as part of a Verilog name."""
        return self.name

    @property
    def members(self) -> tuple[Format, ...]:
        """The formats that share the codes: this one alone, or the two of a :class:`golden.multi.MultiFormat`."""
        return (self,)

    @property
    def sign_bit(self) -> int:
        """Mask of the sign, the most significant bit of a code; 0 for formats without a sign."""
        return 1 << (self.width - 1) if self.signed else 0

    @property
    def magnitude_bits(self) -> int:
        """Bits of a code without its sign."""
        return self.width - self.signed

    @property
    def code_dtype(self) -> DTypeLike:
        """Smallest unsigned NumPy type that holds all codes."""
        return np.uint8 if self.width <= 8 else np.uint16 if self.width <= 16 else np.uint32

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """Value of every code; float64, shape ``(2**width,)``."""
        return _frozen(self._decode_by_rows(np.arange(1 << self.width)))

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """Kind of every code."""
        return self._kinds(self.values == 0)

    def _kinds(self, is_zero: NDArray[np.bool_]) -> tuple[Kind, ...]:
        codes = np.arange(1 << self.width)
        kinds = [Kind.ZERO if zero else Kind.FINITE for zero in is_zero.tolist()]
        for special in reversed(self.specials):
            for code in np.flatnonzero(codes & special.mask == special.value).tolist():
                kinds[code] = special.kind
        return tuple(kinds)

    @cached_property
    def magnitude_codes(self) -> NDArray[np.int64]:
        """Codes of zero, if there is one, and of the positive finite values, in order of value."""
        magnitudes = range(1 << self.magnitude_bits)
        codes = np.array([c for c in magnitudes if self.kinds[c] in (Kind.ZERO, Kind.FINITE)], np.int64)
        return _frozen(codes[np.argsort(self.values[codes], kind="stable")])

    @cached_property
    def magnitudes(self) -> NDArray[np.float64]:
        """Zero, if there is one, and the positive finite values, ascending."""
        return _frozen(self.values[self.magnitude_codes])

    @cached_property
    def has_zero(self) -> bool:
        """Whether any code is a zero."""
        return Kind.ZERO in self.kinds

    @property
    def largest_code(self) -> int:
        """Code of the largest value."""
        return int(self.magnitude_codes[-1])

    @property
    def smallest(self) -> float:
        """Smallest positive value."""
        return float(self.magnitudes[int(self.has_zero)])

    @cached_property
    def smallest_normal(self) -> float:
        """Smallest positive value with a hidden bit; magnitudes below it underflow.

        If no row has a hidden bit, or no row is subnormal, it is the smallest value. HiFloat8 has no subnormals in this
        sense: the denormals of its paper are powers of two.
        """
        hidden = np.array([row.hidden == 1 for row in self.rows])[self.magnitude_rows[self.magnitude_codes]]
        normals = self.magnitudes[hidden & (self.magnitudes > 0)]
        return float(normals[0]) if normals.size else self.smallest

    @property
    def largest(self) -> float:
        """Largest finite value."""
        return float(self.magnitudes[-1])

    @cached_property
    def largest_precise(self) -> float:
        """Largest value of the largest binade with the most significant bits: the largest unless precision tapers."""
        return self.largest_in_binade(self.most_precise[1])

    @cached_property
    def binades(self) -> Mapping[int, int]:
        """Significand bits, with the hidden one, of the values ``1.xxx * 2**e`` by their exponent e, ascending."""
        positive = self.magnitude_codes[self.magnitudes > 0]
        exponents = np.frexp(self.values[positive])[1]
        bits = exponents - np.frexp(self.quanta(positive))[1] + 1
        return MappingProxyType({int(e) - 1: int(bits[exponents == e].max()) for e in np.unique(exponents)})

    @property
    def most_precise(self) -> tuple[int, int]:
        """Exponents of the first and the last binade with the most significand bits."""
        most = max(self.binades.values())
        exponents = [exponent for exponent, bits in self.binades.items() if bits == most]
        return exponents[0], exponents[-1]

    def largest_in_binade(self, exponent: int) -> float:
        """Largest value below 2**(exponent + 1); ``exponent`` is one of :attr:`exponent_range`."""
        return float(self.magnitudes[self.magnitudes < 2.0 ** (exponent + 1)][-1])

    @cached_property
    def above_largest(self) -> float:
        """The next grid point above the largest value, if its binade continued."""
        return self.largest + self.quantum(self.largest_code)

    @cached_property
    def ulp_exponent(self) -> int:
        """Largest ``e`` such that every finite value is an integer multiple of ``2**e``."""
        return min(int(np.frexp(v)[1]) - _significant_bits(float(v)) for v in self.magnitudes[self.magnitudes > 0])

    @cached_property
    def precision(self) -> int:
        """Bits of the widest significand, normalized, hidden bit included."""
        return max(_significant_bits(float(v)) for v in self.magnitudes[self.magnitudes > 0])

    @cached_property
    def exponent_range(self) -> tuple[int, int]:
        """Exponents ``e`` of the smallest and the largest magnitude, as ``1.xxx * 2**e``."""
        return int(np.frexp(self.smallest)[1]) - 1, int(np.frexp(self.largest_magnitude)[1]) - 1

    @cached_property
    def has_lowest(self) -> bool:
        """Whether two's complement has a lowest number, whose negative is no value: -128 for 8-bit integers."""
        return self.twos_complement and all(self.sign_bit & s.mask != s.value for s in self.specials)

    @cached_property
    def largest_magnitude(self) -> float:
        """Largest finite magnitude: the largest value's, or that of the lowest number in two's complement."""
        return self.above_largest if self.has_lowest else self.largest

    @property
    def has_infinity(self) -> bool:
        """Whether any code is an infinity."""
        return any(s.kind is Kind.INF for s in self.specials)

    @property
    def has_nan(self) -> bool:
        """Whether any code is a NaN."""
        return self.canonical_nan is not None

    @cached_property
    def has_negative_zero(self) -> bool:
        """Whether the code with only the sign bit set is a zero."""
        special = next((s.kind for s in self.specials if self.sign_bit & s.mask == s.value), Kind.ZERO)
        return self.signed and not self.twos_complement and special is Kind.ZERO

    @cached_property
    def infinity(self) -> int | None:
        """Code of +Inf; None for formats without infinities."""
        return next((code for code in range(1 << self.magnitude_bits) if self.kinds[code] is Kind.INF), None)

    @cached_property
    def magnitude_rows(self) -> NDArray[np.int64]:
        """Index of the row that each magnitude (a code without its sign) matches; -1 if no row matches."""
        magnitude = np.arange(1 << self.magnitude_bits)
        index = np.full(magnitude.shape, -1)
        for i in reversed(range(len(self.rows))):
            prefix = self.rows[i].prefix
            index[magnitude >> (self.magnitude_bits - len(prefix)) == int(prefix or "0", 2)] = i
        return _frozen(index)

    def quanta(self, magnitudes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Distances from the values of finite magnitude codes to the next grid points above them."""
        rows, binades = self.magnitude_rows[magnitudes], np.frexp(self.values[magnitudes])[1] - 1
        exponents = np.zeros_like(binades)
        for place, row in enumerate(self.rows):
            own = row.exponent.exponent if isinstance(row.exponent, Fixed) else binades
            exponents = np.where(rows == place, own - row.fraction_bits, exponents)
        result: NDArray[np.float64] = np.ldexp(1.0, exponents)
        return result

    def quantum(self, magnitude: int) -> float:
        """:meth:`quanta` of one code."""
        return float(self.quanta(np.array([magnitude]))[0])

    def magnitudes_of(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Checked codes without their signs; of negative codes in two's complement, the positive ones."""
        if self.twos_complement:
            return np.where(codes & self.sign_bit, (1 << self.width) - codes, codes)
        return codes & ((1 << self.magnitude_bits) - 1)

    def scaled_magnitudes(self, codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Integers ``n`` and ``e``: the rows give checked codes the magnitudes ``n * 2**e``, also those of specials."""
        magnitude = self.magnitudes_of(codes)
        significand, exponent = np.zeros_like(codes), np.zeros_like(codes)
        for row in reversed(self.rows):
            hit = (not row.prefix) | (magnitude >> (self.magnitude_bits - len(row.prefix)) == int(row.prefix or "0", 2))
            exponent_field = (magnitude >> row.fraction_bits) & ((1 << row.exponent.bits) - 1)
            is_whole = row.fraction_bits == self.magnitude_bits  # the lowest integer has a further bit
            fraction = magnitude if is_whole else magnitude & ((1 << row.fraction_bits) - 1)
            significand = np.where(hit, fraction + (row.hidden << row.fraction_bits), significand)
            exponent = np.where(hit, row.exponent.exponents(exponent_field) - row.fraction_bits, exponent)
        return significand, exponent

    def _decode_by_rows(self, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        significand, exponent = self.scaled_magnitudes(codes)
        value = np.ldexp(significand.astype(np.float64), exponent)
        for special in reversed(self.specials):
            number = {Kind.ZERO: 0.0, Kind.INF: np.inf, Kind.NAN: np.nan}[special.kind]
            value = np.where(codes & special.mask == special.value, number, value)
        return np.where(np.isnan(value), np.nan, np.copysign(value, np.where(codes & self.sign_bit, -1.0, 1.0)))

    def as_codes(self, codes: ArrayLike, argument: str = "codes") -> NDArray[Any]:
        """Check codes with :func:`golden.bits.as_codes` and convert to a type that holds all codes of the format."""
        array = as_codes(argument, codes, self.width, self.name)
        return array.astype(np.promote_types(array.dtype, self.code_dtype), copy=False)

    def check_code(self, code: int) -> int:
        """Return a code as an integer; refuse other types and integers out of range."""
        if not is_integer(code):
            raise BadKind("code", f"must be an integer, not {code!r}")
        if not 0 <= code < 1 << self.width:
            raise BadValue("code", f"must lie in 0 to {(1 << self.width) - 1:#x} for {self.name}, not {code:#x}")
        return int(code)

    def exact_value(self, code: int) -> Fraction | float:
        """Exact value of a code: a Fraction, or an infinity or NaN as float; there is no -0 among Fractions."""
        code = self.check_code(code)
        kind, sign = self.kinds[code], -1 if code & self.sign_bit else 1
        if kind is Kind.NAN or kind is Kind.INF:
            return float("nan") if kind is Kind.NAN else sign * float("inf")
        (significand,), (exponent,) = (part.tolist() for part in self.scaled_magnitudes(np.array([code])))
        return Fraction(0) if kind is Kind.ZERO else sign * significand * Fraction(2) ** exponent

    def split(self, code: int) -> tuple[Format, int]:
        """Return the member of :attr:`members` that a code selects, and the member's code."""
        return self, self.check_code(code)

    def decode(self, codes: ArrayLike) -> NDArray[np.float64]:
        """Exact values of codes (unsigned integers of any shape) as float64, including infinities and NaNs."""
        return look_up(self.values, self.as_codes(codes))

    def encode(
        self,
        bits: ArrayLike,
        source: str | Format | None = None,
        rounding: str | None = None,
        overflow: str | None = None,
        nan_to_zero: bool = False,
        random: ArrayLike | None = None,
        random_bits: int = DEFAULT_RANDOM_BITS,
        scale: ArrayLike | None = None,
    ) -> NDArray[Any]:
        """Round raw bits of a wide format, or codes of another one; :meth:`quantize` takes arrays of floats.

        Parameters
        ----------
        bits : unsigned integers, any shape
            Raw bits of the source format.
        source : str or Format, optional
            ``binary32`` (the default), ``binary16``, ``bfloat16``, ``dlfloat16``, or another format of codes. Arrays of
            8-bit and 16-bit integers need it, because they are rarely bits of binary32.
        rounding, overflow : str, optional
            One of :attr:`roundings` and :attr:`overflows`; by default the first of each.
        nan_to_zero : bool
            Whether NaN becomes code 0 instead of the canonical NaN.
        random : unsigned integers of the shape of ``bits``
            Random words below ``2**random_bits``; required by the stochastic roundings, refused otherwise.
        random_bits : int
            1 to 32.
        scale : integers that broadcast to the shape of ``bits``, optional
            Exponents from -512 to 511: numbers are multiplied by 2**scale and rounded once. ``hybrid`` compares with
            the bits of the source all the same.

        Returns
        -------
        uint8 (up to 8 bits), uint16 or uint32 array of the same shape.

        Raises
        ------
        BadKind, BadValue
            If bits are out of range for the source, or the options are not allowed together (specification, section 0).
        """
        from golden.encode import encode  # late import: golden.encode needs formats

        return encode(self, bits, source, rounding, overflow, nan_to_zero, random, random_bits, scale)[0]

    def encode_with_flags(
        self,
        bits: ArrayLike,
        source: str | Format | None = None,
        rounding: str | None = None,
        overflow: str | None = None,
        nan_to_zero: bool = False,
        random: ArrayLike | None = None,
        random_bits: int = DEFAULT_RANDOM_BITS,
        scale: ArrayLike | None = None,
    ) -> tuple[NDArray[Any], NDArray[np.uint8]]:
        """:meth:`encode`, and words of :class:`golden.Flag`, see :func:`golden.flags.of_conversion`."""
        from golden.encode import encode

        return encode(self, bits, source, rounding, overflow, nan_to_zero, random, random_bits, scale, flagged=True)

    def decode_bits(self, codes: ArrayLike, target: str | Format) -> NDArray[Any]:
        """Convert codes to bits of ``binary16``, ``bfloat16``, ``binary32`` or ``dlfloat16``.

        Values that the target cannot represent round to nearest (ties to even, in ``dlfloat16`` away), overflow to
        infinity and underflow gradually (specification, section 0).
        """
        from golden.encode import decode_bits

        return decode_bits(self, codes, target)

    def is_signaling(self, bits: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether bits are a signaling NaN; NaNs of codes are quiet."""
        return np.zeros(bits.shape, np.bool_)

    def numbers(self, bits: NDArray[Any]) -> NDArray[Any]:
        """Values of checked bits, equal to those of :meth:`decode`, in any type of floats."""
        return self.values.take(bits)

    def codes(self, x: ArrayLike, **choices: Any) -> NDArray[Any]:
        """Codes of a float32, float16 or ``ml_dtypes.bfloat16`` array, in its shape.

        ``choices`` are the options of :meth:`encode` from ``rounding`` on; ``overflow="saturate"`` saturates.
        """
        from golden.encode import codes

        return codes(self, x, **choices)

    def quantize(self, x: NDArray[Any], **choices: Any) -> NDArray[Any]:
        """Round a float32, float16 or ``ml_dtypes.bfloat16`` array to values of the format; shape and type are kept.

        ``choices`` are the options of :meth:`encode` from ``rounding`` on.
        """
        from golden.encode import quantize

        return quantize(self, x, **choices)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array


def _significant_bits(value: float) -> int:
    numerator = value.as_integer_ratio()[0]
    return numerator.bit_length() - ((numerator & -numerator).bit_length() - 1)
