"""Encoding and decoding between a format's codes and the bits of wider formats.

A 16-bit source is a table of 65,536 codes. So is ``binary32`` wherever every rounding boundary of the format has at most seven
fraction bits: the upper half of the bits, its last bit set if anything is lost below, lies on the same side of every boundary.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from golden.bits import BLOCK, as_codes, look_up
from golden.catalog import WIDE, get
from golden.formats import Format
from golden.rounding import MAX_RANDOM_BITS, grid, round_to_grid
from golden.rows import Overflow, Rounding
from golden.validation import MAX_WIDTH

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_DETERMINISTIC = (Rounding.TIES_TO_EVEN, Rounding.TIES_TO_AWAY, Rounding.TOWARD_ZERO, Rounding.MPTORCH)


@dataclass(frozen=True)
class Options:
    """A checked combination of source, rounding and overflow."""

    source: Format
    rounding: Rounding
    overflow: Overflow
    nan_to_zero: bool = False


def options(
    fmt: Format, source: str | Format = "binary32", rounding: str | None = None, overflow: str | None = None, nan_to_zero: bool = False
) -> Options:
    """Check a combination against the specification's tables; None is the format's default.

    Raises
    ------
    ValueError
        With one sentence that names the option, the value and what is allowed.
    """
    name = source.name if isinstance(source, Format) else source
    if name not in WIDE:
        raise ValueError(f"Source must be one of {', '.join(WIDE)}, not {name!r}")
    if not fmt.roundings:
        raise ValueError(f"Format {fmt.name!r} is two formats in one unit; encode to one of the two")
    chosen = fmt.roundings[0] if rounding is None else rounding
    if chosen not in fmt.roundings:
        raise ValueError(f"Rounding of {fmt.name} must be one of {', '.join(fmt.roundings)}, not {chosen!r}")
    if chosen == Rounding.HYBRID and name == "dlfloat16":
        raise ValueError("Rounding 'hybrid' is defined for source binary16, bfloat16 or binary32, not 'dlfloat16'")
    rule = fmt.overflows[0] if overflow is None else overflow
    if rule not in fmt.overflows:
        raise ValueError(f"Overflow of {fmt.name} must be one of {', '.join(fmt.overflows)}, not {rule!r}")
    if chosen == Rounding.MPTORCH and rule != Overflow.INFINITY:
        raise ValueError(f"Overflow with rounding 'mptorch' must be infinity, not {rule!r}")
    if not isinstance(nan_to_zero, (bool, np.bool_)):
        raise TypeError(f"nan_to_zero must be True or False, not {nan_to_zero!r}")
    return Options(get(name), Rounding(chosen), Overflow(rule), bool(nan_to_zero))


def encode(
    fmt: Format,
    bits: ArrayLike,
    source: str | Format = "binary32",
    rounding: str | None = None,
    overflow: str | None = None,
    nan_to_zero: bool = False,
    random: ArrayLike | None = None,
    random_bits: int = 16,
) -> NDArray[Any]:
    """Codes that raw bits of a source format round to.

    Parameters
    ----------
    bits : unsigned integers, any shape
        Raw bits of the source format.
    source : str
        ``binary32``, ``binary16``, ``bfloat16`` or ``dlfloat16``.
    rounding, overflow : str, optional
        One of ``fmt.roundings`` and ``fmt.overflows``; None is the first of each.
    nan_to_zero : bool
        Whether NaN becomes code 0 instead of the canonical NaN.
    random : unsigned integers of the shape of ``bits``
        With ``stochastic`` only, where it is needed: below ``2**random_bits``.
    random_bits : int
        1 to 32.

    Returns
    -------
    uint8 (up to 8 bits), uint16 or uint32 array of the same shape.

    Raises
    ------
    TypeError, ValueError
        For bits that are none of the source's, and combinations outside the specification's tables (section 0).
    """
    chosen = options(fmt, source, rounding, overflow, nan_to_zero)
    raw = as_codes(bits, chosen.source.width, f"Bits of {chosen.source.name}")
    if chosen.rounding is Rounding.STOCHASTIC:
        words = _random_words(random, random_bits, raw.shape)
        return _encode_directly(fmt, raw, chosen, words, random_bits)
    if random is not None:
        raise ValueError(f"random must be given with rounding 'stochastic' only, not with {chosen.rounding.value!r}")
    if fmt.width > MAX_WIDTH:
        return _encode_directly(fmt, raw, chosen)
    if chosen.source.width == 16:
        return look_up(_table(fmt, chosen), raw)
    if chosen.rounding in _DETERMINISTIC and _boundaries_are_short(fmt):
        return _encode_by_halves(fmt, raw.astype(np.uint32, copy=False), chosen)
    if chosen.rounding is Rounding.HYBRID and _boundaries_are_short(fmt):
        return _encode_by_steps(fmt, raw.astype(np.uint32, copy=False), chosen)
    return _encode_directly(fmt, raw, chosen)


def check_random_bits(random_bits: int) -> None:
    """Raise ValueError unless ``stochastic`` can use so many random bits."""
    if isinstance(random_bits, bool) or not isinstance(random_bits, (int, np.integer)) or not 1 <= random_bits <= MAX_RANDOM_BITS:
        raise ValueError(f"random_bits must be an integer from 1 to {MAX_RANDOM_BITS}, not {random_bits!r}")


def _random_words(random: ArrayLike | None, random_bits: int, shape: tuple[int, ...]) -> NDArray[Any]:
    check_random_bits(random_bits)
    if random is None:
        raise ValueError("random must be given with rounding 'stochastic': unsigned integers of the shape of bits")
    words = as_codes(random, random_bits, "random")
    if words.shape != shape:
        raise ValueError(f"random must have the shape of bits, {shape}, not {words.shape}")
    return words


@cache
def _table(fmt: Format, chosen: Options) -> NDArray[Any]:
    """Code of every pattern of a 16-bit source."""
    return _encode_directly(fmt, np.arange(1 << 16), chosen)


@cache
def _boundaries_are_short(fmt: Format) -> bool:
    """Whether values and midpoints all have a binary32 pattern whose last 17 bits are zero."""
    values = grid(fmt).values
    boundaries = np.concatenate(
        [values, (values[:-1] + values[1:]) / 2, [grid(fmt).flush_below, (grid(fmt).flush_below + fmt.smallest) / 2]]
    )
    with np.errstate(over="ignore"):
        short = boundaries.astype(np.float32)
    return bool(np.all(short == boundaries) and not np.any(short.view(np.uint32) & 0x1FFFF))


def _encode_by_halves(fmt: Format, raw: NDArray[np.uint32], chosen: Options) -> NDArray[Any]:
    """binary32 through a table of the upper half with a sticky last bit."""
    table = _halves_table(fmt, chosen)
    exact = _halves_need_no_sticky(fmt, chosen)
    flat = np.ascontiguousarray(raw).reshape(-1)
    codes = np.empty(flat.shape, fmt.code_dtype)
    for start in range(0, flat.size, BLOCK):
        block = flat[start : start + BLOCK]
        index = block >> np.uint32(16)
        if not exact:
            index |= (block & np.uint32(0xFFFF)) != 0
        table.take(index, out=codes[start : start + BLOCK], mode="wrap")
    return codes.reshape(raw.shape)


@cache
def _halves_table(fmt: Format, chosen: Options) -> NDArray[Any]:
    return _encode_directly(fmt, np.arange(1 << 16) << 16, chosen)


@cache
def _halves_need_no_sticky(fmt: Format, chosen: Options) -> bool:
    """Whether a sticky bit never changes a code: every boundary belongs to the values above it.

    A NaN whose payload lies in the lower half alone looks like an infinity there, so formats that tell the two apart need it.
    """
    table = _halves_table(fmt, chosen)
    return bool(np.array_equal(table[0::2], table[1::2]))


def _encode_by_steps(fmt: Format, raw: NDArray[np.uint32], chosen: Options) -> NDArray[Any]:
    """binary32 with hybrid rounding through tables of the upper 18 bits; the lower 14 are compared with a limit."""
    limits, up, down = _steps(fmt, chosen)
    flat = np.ascontiguousarray(raw).reshape(-1)
    codes = np.empty(flat.shape, fmt.code_dtype)
    for start in range(0, flat.size, BLOCK):
        block = flat[start : start + BLOCK]
        index = block >> np.uint32(14)
        reached = (block & np.uint32(0x3FFF)) <= limits.take(index)
        codes[start : start + BLOCK] = np.where(reached, up.take(index), down.take(index))
    return codes.reshape(raw.shape)


@cache
def _steps(fmt: Format, chosen: Options) -> tuple[NDArray[np.uint16], NDArray[Any], NDArray[Any]]:
    """Of all inputs with the same upper 18 bits: the largest lower bits with the first one's code, that code, and the others' code.

    There are no more than two codes, one after the other: no boundary of the format lies between such inputs, and of what hybrid
    rounding compares, the threshold grows faster with the lower bits than the position between the neighbours does. So the place of
    the step is found by bisection. (Infinity and the NaNs above it are such a pair, too.)
    """
    upper = np.arange(1 << 18) << 14
    up, down = _encode_directly(fmt, upper, chosen), _encode_directly(fmt, upper | 0x3FFF, chosen)
    reached, failed = np.zeros(upper.shape, np.int64), np.full(upper.shape, 1 << 14)
    for _ in range(14):
        middle = (reached + failed) >> 1
        same = _encode_directly(fmt, upper | middle, chosen) == up
        reached, failed = np.where(same, middle, reached), np.where(same, failed, middle)
    return reached.astype(np.uint16), up, down


def _encode_directly(
    fmt: Format, raw: NDArray[Any], chosen: Options, words: NDArray[Any] | None = None, random_bits: int = 0
) -> NDArray[Any]:
    """Codes by the definition of the rounding, block by block."""
    flat = np.ascontiguousarray(raw).reshape(-1)
    codes = np.empty(flat.shape, fmt.code_dtype)
    for start in range(0, flat.size, BLOCK):
        block = flat[start : start + BLOCK].astype(np.int64)
        threshold, tail_bits = None, 0
        if words is not None:
            threshold = 2.0**random_bits - words.reshape(-1)[start : start + BLOCK].astype(np.float64)
            tail_bits = random_bits
        elif chosen.rounding is Rounding.HYBRID:
            threshold, tail_bits = _hybrid_threshold(block, chosen.source)
        values = chosen.source.decode(block)
        negative = (block & chosen.source.sign_bit) != 0
        codes[start : start + BLOCK] = codes_of(fmt, values, negative, chosen, threshold, tail_bits)
    return codes.reshape(raw.shape)


def _hybrid_threshold(raw: NDArray[np.int64], source: Format) -> tuple[NDArray[np.float64], int]:
    """The pseudo-random threshold T that hybrid rounding takes from the source's own bits (specification, 1.3), and its width."""
    if source.name == "binary32":
        return (raw & 0x3FFF).astype(np.float64), 14
    return ((raw & 1) * 2 + 1).astype(np.float64), 2


def codes_of(
    fmt: Format,
    values: NDArray[np.float64],
    negative: NDArray[np.bool_],
    chosen: Options,
    threshold: NDArray[np.float64] | None = None,
    tail_bits: int = 0,
) -> NDArray[Any]:
    """Codes that exact float64 values round to; ``negative`` holds the signs, those of zeros and NaNs too."""
    nan, infinite = np.isnan(values), np.isinf(values)
    magnitude = np.where(nan | infinite, 0.0, np.abs(values))
    if fmt.width > MAX_WIDTH:
        with np.errstate(over="ignore"):  # every source is exact in binary32; a user's format may lie outside it
            codes = np.abs(values.astype(np.float32)).view(np.uint32).astype(np.int64)
    else:
        index = round_to_grid(fmt, magnitude, chosen.rounding, threshold, tail_bits)
        overflow = index >= len(fmt.magnitude_codes)
        codes = fmt.magnitude_codes[np.minimum(index, len(fmt.magnitude_codes) - 1)]
        codes = np.where(overflow, _overflow_code(fmt, chosen.overflow, infinite=False), codes)
    codes = np.where(infinite, _overflow_code(fmt, chosen.overflow, infinite=True), codes)
    if fmt.twos_complement:
        signed = np.where(negative, (1 << fmt.width) - codes, codes) & ((1 << fmt.width) - 1)
    else:
        signed = codes | np.where(negative & ((codes != 0) | fmt.has_negative_zero), fmt.sign_bit, 0)
    if fmt.canonical_nan is None:
        return np.where(nan, 0, signed).astype(fmt.code_dtype)
    canonical = fmt.canonical_nan | np.where(negative & fmt.nan_keeps_sign, fmt.sign_bit, 0)
    result = np.where(codes == fmt.canonical_nan, canonical, signed)  # overflow to NaN
    return np.where(nan, 0 if chosen.nan_to_zero else canonical, result).astype(fmt.code_dtype)


def _overflow_code(fmt: Format, overflow: Overflow, *, infinite: bool) -> int:
    """Magnitude code of an infinite input, or of a finite one that rounds past the largest value."""
    largest = int(fmt.magnitude_codes[-1]) if fmt.width <= MAX_WIDTH else 0x7F7FFFFF
    match overflow:
        case Overflow.INFINITY:
            code = fmt.infinity
        case Overflow.NAN:
            code = fmt.canonical_nan
        case Overflow.SATURATE:
            code = largest
        case Overflow.OCP_PAPER:
            code = (fmt.canonical_nan if fmt.infinity is None else fmt.infinity) if infinite else largest
    assert code is not None
    return code


def decode_bits(fmt: Format, codes: ArrayLike, target: str | Format) -> NDArray[Any]:
    """Bits of a wider format that hold the codes' values.

    Parameters
    ----------
    codes : unsigned integers, any shape
    target : str
        ``binary16``, ``bfloat16``, ``binary32`` or ``dlfloat16``.

    Returns
    -------
    uint16 or uint32 array of the same shape
        Values that the target cannot hold round to nearest (ties to even, in ``dlfloat16`` away), overflow to infinity and underflow
        gradually (specification, section 0).
    """
    name = target.name if isinstance(target, Format) else target
    if name not in WIDE:
        raise ValueError(f"Target must be one of {', '.join(WIDE)}, not {name!r}")
    checked = as_codes(codes, fmt.width, f"Codes of {fmt.name}")
    if fmt.width > MAX_WIDTH:
        return _bits_of(fmt, checked.astype(np.int64), get(name))
    return look_up(_decode_table(fmt, get(name)), checked)


@cache
def _decode_table(fmt: Format, target: Format) -> NDArray[Any]:
    return _bits_of(fmt, np.arange(1 << fmt.width), target)


def _bits_of(fmt: Format, codes: NDArray[np.int64], target: Format) -> NDArray[Any]:
    values = fmt.decode(codes)
    negative = np.signbit(values) | (np.isnan(values) & ((codes & fmt.sign_bit) != 0))
    if fmt.width > target.width:
        default = options(target, fmt)
        return codes_of(target, values, negative, default)
    return codes_of(target, values, negative, Options(fmt, target.roundings[0], target.overflows[0]))


_SOURCE_OF_DTYPE = {"float32": ("binary32", np.uint32), "float16": ("binary16", np.uint16), "bfloat16": ("bfloat16", np.uint16)}


def quantize(fmt: Format, x: NDArray[Any], **choices: Any) -> NDArray[Any]:
    """Floating-point numbers taken through the format and back.

    Parameters
    ----------
    x : float32, float16 or ``ml_dtypes.bfloat16`` array
    choices
        The options of :func:`encode` from ``rounding`` on.

    Returns
    -------
    Array of the same shape and type.
    """
    array = np.asarray(x)
    if array.dtype.name not in _SOURCE_OF_DTYPE:
        raise TypeError(f"x must be a float32, float16 or bfloat16 array, not {array.dtype}")
    source, unsigned = _SOURCE_OF_DTYPE[array.dtype.name]
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    codes = encode(fmt, native.view(unsigned), source, **choices)
    return decode_bits(fmt, codes, source).view(native.dtype).reshape(array.shape).astype(array.dtype, copy=False)
