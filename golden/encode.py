"""Encoding, by tables wherever the roundings allow: a 16-bit source is one of 65,536 codes, :mod:`golden.steps` has those of binary32."""

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
from golden.rows import Rounding
from golden.steps import Steps, steps
from golden.validation import MAX_WIDTH

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


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
    found = steps(fmt, chosen)
    return encode_directly(fmt, raw, chosen) if found is None else found.codes(raw.astype(np.uint32, copy=False))


def by_upper_half(
    fmt: Format, rounding: str | None = None, overflow: str | None = None, nan_to_zero: bool = False, flags: bool = False
) -> NDArray[np.int32] | None:
    """What tells apart the upper halves of binary32 inputs: those with equal rows have equal codes, whatever the lower half is.

    Parameters
    ----------
    fmt, rounding, overflow, nan_to_zero
        See :func:`encode`.
    flags : bool
        Whether the flags of :func:`encode_with_flags` are to be equal, too.

    Returns
    -------
    int32 array of shape (65536, n); None where no tables say so.
    """
    chosen = replace(options(fmt, "binary32", rounding, overflow, nan_to_zero), marked=flags)
    found = steps(fmt, chosen) if fmt.width <= MAX_WIDTH else None
    if found is None or (flags and not found.are_exact):
        return None
    if not flags:
        return found.by_upper_half()
    # All values are boundaries, so that a number with lower bits is none of them, and on the same side of the smallest normal one as
    # the others of its step; whether it is a number or a NaN, and which NaN, upper bits say, or that there are lower bits.
    upper = np.arange(1 << found.upper_bits, dtype=np.uint32) << np.uint32(found.lower_bits)
    words = []
    for bits in (upper, upper | np.uint32(1)):
        codes, said = encode_with_flags(fmt, bits, "binary32", rounding, overflow, nan_to_zero)
        words.append(codes | said.astype(np.uint32) << np.uint32(fmt.width))
    return Steps(found.limits, *words).by_upper_half()


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
