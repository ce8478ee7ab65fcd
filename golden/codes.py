"""Codes by the definition of the roundings: exact values against the grid of a format's values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from golden.bits import BLOCK
from golden.formats import Format
from golden.options import Options
from golden.rounding import grid, round_to_grid
from golden.rows import Overflow, Rounding

if TYPE_CHECKING:
    from numpy.typing import NDArray


def encode_directly(
    fmt: Format,
    raw: NDArray[Any],
    chosen: Options,
    words: NDArray[Any] | None = None,
    random_bits: int = 0,
    *,
    marked: bool = False,
) -> NDArray[Any]:
    """Codes by the definition of the rounding, block by block.

    Marked codes have a further bit above, a 1 where a finite number rounded past the largest value.
    """
    flat = np.ascontiguousarray(raw).reshape(-1)
    codes = np.empty(flat.shape, np.min_scalar_type((2 << fmt.width) - 1) if marked else fmt.code_dtype)
    for start in range(0, flat.size, BLOCK):
        block = flat[start : start + BLOCK].astype(np.int64)
        threshold, tail_bits = None, random_bits
        if words is not None:
            threshold = 2.0**random_bits - words.reshape(-1)[start : start + BLOCK].astype(np.float64)
        elif chosen.rounding is Rounding.HYBRID:
            threshold, tail_bits = _hybrid_threshold(block, chosen.source)
        values = chosen.source.decode(block)
        negative = (block & chosen.source.sign_bit) != 0
        codes[start : start + BLOCK] = codes_of(fmt, values, negative, chosen, threshold, tail_bits, marked=marked)
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
    *,
    marked: bool = False,
) -> NDArray[Any]:
    """Codes that exact float64 values round to; ``negative`` holds the signs, those of zeros and NaNs too."""
    nan, infinite = np.isnan(values), np.isinf(values)
    magnitude = np.where(nan | infinite, 0.0, np.abs(values))
    past_largest: NDArray[np.bool_] = np.zeros(values.shape, np.bool_)
    if not fmt.has_tables:  # binary32, which has every source's numbers; those of a user's format may overflow
        with np.errstate(over="ignore"):
            codes = np.abs(values.astype(np.float32)).view(np.uint32).astype(np.int64)
    else:
        index = round_to_grid(fmt, magnitude, chosen.rounding, threshold, tail_bits)
        overflow = index >= len(fmt.magnitude_codes)
        codes = fmt.magnitude_codes[np.minimum(index, len(fmt.magnitude_codes) - 1)]
        codes = np.where(overflow, _overflow_code(fmt, chosen.overflow, infinite=False), codes)
        past_largest = magnitude >= grid(fmt).values[-1] if chosen.rounding is Rounding.TOWARD_ZERO else overflow
    codes = np.where(infinite, _overflow_code(fmt, chosen.overflow, infinite=True), codes)
    if fmt.twos_complement:
        signed = np.where(negative, (1 << fmt.width) - codes, codes) & ((1 << fmt.width) - 1)
    else:
        signed = codes | np.where(negative & ((codes != 0) | fmt.has_negative_zero), fmt.sign_bit, 0)
    if fmt.canonical_nan is None:
        result = np.where(nan, 0, signed)
    else:
        canonical = fmt.canonical_nan | np.where(negative & fmt.nan_keeps_sign, fmt.sign_bit, 0)
        result = np.where(codes == fmt.canonical_nan, canonical, signed)  # overflow to NaN
        result = np.where(nan, 0 if chosen.nan_to_zero else canonical, result)
    return result | past_largest.astype(np.int64) << fmt.width if marked else result.astype(fmt.code_dtype)


def _overflow_code(fmt: Format, overflow: Overflow, *, infinite: bool) -> int:
    """Magnitude code of an infinite input, or of a finite one that rounds past the largest value."""
    match overflow:
        case Overflow.INFINITY:
            code = fmt.infinity
        case Overflow.NAN:
            code = fmt.canonical_nan
        case Overflow.SATURATE:
            code = fmt.largest_code
        case Overflow.OCP_PAPER:
            code = (fmt.canonical_nan if fmt.infinity is None else fmt.infinity) if infinite else fmt.largest_code
    assert code is not None
    return code
