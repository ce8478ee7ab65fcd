"""Encoding, by tables wherever the roundings allow it.

A 16-bit source is a table of 65,536 codes. So is ``binary32`` wherever every rounding boundary of the format has at most six
fraction bits: the upper half of the bits, its last bit set if anything is lost below, lies on the same side of every boundary.
Finer boundaries take a few bits more.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from golden.bits import BLOCK, as_codes, look_up
from golden.codes import encode_directly
from golden.flags import of_conversion
from golden.formats import Format
from golden.options import Options, check_random_bits, options
from golden.rounding import grid
from golden.rows import Rounding
from golden.validation import MAX_WIDTH

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_DETERMINISTIC = (Rounding.TIES_TO_EVEN, Rounding.TIES_TO_AWAY, Rounding.TOWARD_ZERO, Rounding.MPTORCH)

_FEWEST_UPPER_BITS, _MOST_UPPER_BITS = 16, 20
"""A table of 2^16 codes is made for any format; one of more than 2^20 does not stay in a processor's cache."""


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
    return _encode(fmt, as_codes(bits, chosen.source.width, f"Bits of {chosen.source.name}"), chosen, random, random_bits)


def encode_with_flags(
    fmt: Format,
    bits: ArrayLike,
    source: str | Format = "binary32",
    rounding: str | None = None,
    overflow: str | None = None,
    nan_to_zero: bool = False,
    random: ArrayLike | None = None,
    random_bits: int = 16,
) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Codes as :func:`encode` gives them, and what each conversion has to report.

    Parameters
    ----------
    fmt, bits, source, rounding, overflow, nan_to_zero, random, random_bits
        See :func:`encode`.

    Returns
    -------
    codes, flags
        Arrays of the same shape; the flags, uint8, are words of :class:`golden.Flag`, see :func:`golden.flags.of_conversion`.
    """
    chosen = replace(options(fmt, source, rounding, overflow, nan_to_zero), marked=True)
    raw = as_codes(bits, chosen.source.width, f"Bits of {chosen.source.name}")
    words, flat = _encode(fmt, raw, chosen, random, random_bits).reshape(-1), np.ascontiguousarray(raw).reshape(-1)
    codes, flags = np.empty(flat.shape, fmt.code_dtype), np.empty(flat.shape, np.uint8)
    for start in range(0, flat.size, BLOCK):
        block = slice(start, start + BLOCK)
        codes[block] = words[block] & ((1 << fmt.width) - 1)
        flags[block] = of_conversion(fmt, chosen.source, flat[block], codes[block], words[block] >> fmt.width != 0)
    return codes.reshape(raw.shape), flags.reshape(raw.shape)


def _encode(fmt: Format, raw: NDArray[Any], chosen: Options, random: ArrayLike | None, random_bits: int) -> NDArray[Any]:
    """Codes, or marked ones, of checked bits."""
    if chosen.rounding is Rounding.STOCHASTIC:
        words = random_words(random, random_bits, raw.shape)
        return encode_directly(fmt, raw, chosen, words, random_bits)
    if random is not None:
        raise ValueError(f"random must be given with rounding 'stochastic' only, not with {chosen.rounding.value!r}")
    if fmt.width > MAX_WIDTH:
        return encode_directly(fmt, raw, chosen)
    if chosen.source.width == 16:
        return look_up(_table(fmt, chosen), raw)
    if chosen.rounding in _DETERMINISTIC and (kept := _upper_bits(fmt)) <= _MOST_UPPER_BITS:
        return _encode_by_upper_bits(fmt, raw.astype(np.uint32, copy=False), chosen, kept)
    if chosen.rounding is Rounding.HYBRID and _upper_bits(fmt) == _FEWEST_UPPER_BITS:
        return _encode_by_steps(fmt, raw.astype(np.uint32, copy=False), chosen)
    return encode_directly(fmt, raw, chosen)


def random_words(random: ArrayLike | None, random_bits: int, shape: tuple[int, ...]) -> NDArray[Any]:
    """Checked random bits of ``stochastic``."""
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
    return encode_directly(fmt, np.arange(1 << 16), chosen)


@cache
def _upper_bits(fmt: Format) -> int:
    """How many upper bits of a binary32 pattern, the last one set if any below is, place it among the values and midpoints."""
    values = grid(fmt).values
    boundaries = np.concatenate(
        [values, (values[:-1] + values[1:]) / 2, [grid(fmt).flush_below, (grid(fmt).flush_below + fmt.smallest) / 2]]
    )
    with np.errstate(over="ignore"):
        exact = boundaries.astype(np.float32)
    if not np.all(exact == boundaries):
        return 32
    used = int(np.bitwise_or.reduce(exact.view(np.uint32)))
    zeros = (used & -used).bit_length() - 1
    return max(_FEWEST_UPPER_BITS, 33 - zeros)


def _encode_by_upper_bits(fmt: Format, raw: NDArray[np.uint32], chosen: Options, kept: int) -> NDArray[Any]:
    """binary32 through a table of the upper bits with a sticky last bit."""
    table = _upper_table(fmt, chosen, kept)
    exact = _needs_no_sticky(fmt, chosen, kept)
    lost = np.uint32(32 - kept)
    below = np.uint32((1 << (32 - kept)) - 1)
    flat = np.ascontiguousarray(raw).reshape(-1)
    codes = np.empty(flat.shape, table.dtype)
    for start in range(0, flat.size, BLOCK):
        block = flat[start : start + BLOCK]
        index = block >> lost
        if not exact:
            index |= (block & below) != 0
        table.take(index, out=codes[start : start + BLOCK], mode="wrap")
    return codes.reshape(raw.shape)


@cache
def _upper_table(fmt: Format, chosen: Options, kept: int) -> NDArray[Any]:
    return encode_directly(fmt, np.arange(1 << kept) << (32 - kept), chosen)


@cache
def _needs_no_sticky(fmt: Format, chosen: Options, kept: int) -> bool:
    """Whether a sticky bit never changes a code: every boundary belongs to the values above it.

    A NaN whose payload lies in the lower bits alone looks like an infinity there, so formats that tell the two apart need it.
    """
    table = _upper_table(fmt, chosen, kept)
    return bool(np.array_equal(table[0::2], table[1::2]))


def _encode_by_steps(fmt: Format, raw: NDArray[np.uint32], chosen: Options) -> NDArray[Any]:
    """binary32 with hybrid rounding through tables of the upper 18 bits; the lower 14 are compared with a limit."""
    limits, up, down = _steps(fmt, chosen)
    flat = np.ascontiguousarray(raw).reshape(-1)
    codes = np.empty(flat.shape, up.dtype)
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
    up, down = encode_directly(fmt, upper, chosen), encode_directly(fmt, upper | 0x3FFF, chosen)
    reached, failed = np.zeros(upper.shape, np.int64), np.full(upper.shape, 1 << 14)
    for _ in range(14):
        middle = (reached + failed) >> 1
        same = encode_directly(fmt, upper | middle, chosen) == up
        reached, failed = np.where(same, middle, reached), np.where(same, failed, middle)
    return reached.astype(np.uint16), up, down
