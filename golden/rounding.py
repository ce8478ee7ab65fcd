"""Rounding by its definition: find a value's two neighbours on a format's grid, choose one, and return its code.

All comparisons are exact in binary64: a source has at most 24 significant bits, a random word at most 32, and a grid
step is a power of two (or, below the smallest value of a format without subnormals, a number of at most 16 bits).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from golden.bits import BLOCK
from golden.formats import Format
from golden.options import Options
from golden.rows import Overflow, Rounding

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Grid:
    """The non-negative values of a format, with properties that rounding needs.

    ``values[i]`` is the lower neighbour of all numbers in [``values[i]``, ``values[i + 1]``). The last entry of
    ``values`` is the grid point past the largest finite value, from which every number overflows.
    """

    values: NDArray[np.float64]
    codes: NDArray[np.int64]
    power_of_two_row: NDArray[np.bool_]
    """Whether each code's row has no fraction bits."""
    flush_below: float
    """The unused grid point below the smallest value, which flushes to zero; 0 if there is none."""


@cache
def grid(fmt: Format) -> Grid:
    """The grid of a format of at most 16 bits."""
    rows = fmt.magnitude_rows[fmt.magnitude_codes]
    powers = np.array([row.fraction_bits == 0 for row in fmt.rows])[rows]
    flush_below = 2.0 ** fmt.exponent_range[0] if fmt.flush else 0.0
    return Grid(np.append(fmt.magnitudes, fmt.above_largest), fmt.magnitude_codes, powers, flush_below)


def round_to_grid(
    fmt: Format,
    magnitude: NDArray[np.float64],
    rounding: Rounding,
    threshold: NDArray[np.float64] | None = None,
    tail_bits: int = 0,
) -> NDArray[np.int64]:
    """Round magnitudes, finite and not negative, to indices into the format's grid.

    ``len(grid.codes)`` is overflow. ``stochastic`` and ``hybrid`` round up iff floor(2**tail_bits * t) reaches the
    threshold, an integer of at most 2**tail_bits; t in [0, 1) is the position between the neighbours.
    """
    table = grid(fmt)
    overflow = len(table.values) - 1
    below = np.searchsorted(table.values, magnitude, side="right") - 1
    low = table.values[below]
    high = table.values[np.minimum(below + 1, overflow)]
    if table.flush_below and rounding is not Rounding.STOCHASTIC:
        low = np.where(below == 0, table.flush_below, low)
    twice = 2 * magnitude
    past_half, at_half = twice > low + high, twice == low + high
    odd = (table.codes[np.minimum(below, overflow - 1)] & 1).astype(bool)
    match rounding:
        case Rounding.TOWARD_ZERO:
            up = np.zeros(magnitude.shape, bool)
        case Rounding.TIES_TO_EVEN:
            up = past_half | (at_half & odd)
        case Rounding.TIES_TO_AWAY:
            up = past_half | at_half
        case Rounding.STOCHASTIC:
            assert threshold is not None
            up = (magnitude - low) * 2.0**tail_bits >= threshold * (high - low)
        case Rounding.HYBRID:
            assert threshold is not None
            up = _hybrid(magnitude, low, high, past_half | at_half, threshold, tail_bits)
        case Rounding.MPTORCH:
            ties_away = table.power_of_two_row[np.minimum(below, overflow - 1)]
            up = past_half | (at_half & (odd | ties_away))
            up = np.where(below == 0, False, np.where(magnitude > fmt.largest, True, up))
    index = below + up
    if rounding is Rounding.TOWARD_ZERO:
        return np.minimum(index, overflow - 1)
    return index


def _hybrid(
    magnitude: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    half: NDArray[np.bool_],
    threshold: NDArray[np.float64],
    tail_bits: int,
) -> NDArray[np.bool_]:
    """Whether HiFloat8's hybrid rounding rounds up (specification, 1.3).

    It rounds half away for exponents -3..3, compares bits for others, and never rounds up below 2**-23.
    """
    exponent = np.frexp(magnitude)[1] - 1
    reached = (magnitude - low) * 2.0**tail_bits >= threshold * (high - low)
    up = np.where(np.abs(exponent) <= 3, half, reached)
    up |= magnitude >= 1.25 * 2.0**15
    return np.where((magnitude == 0) | (exponent < -23), False, up)


def encode_directly(
    fmt: Format,
    raw: NDArray[Any],
    chosen: Options,
    words: NDArray[Any] | None = None,
    random_bits: int = 0,
    *,
    marked: bool = False,
) -> NDArray[Any]:
    """Encode raw bits by the definition of the rounding, in blocks.

    Marked codes have an additional upper bit, 1 if a finite number rounded past the largest value.
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
    """The pseudo-random threshold T of hybrid rounding, bits of the source, and its width (specification, 1.3)."""
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
    """Round exact float64 values to codes; ``negative`` holds the signs, including the signs of zeros and NaNs."""
    nan, infinite = np.isnan(values), np.isinf(values)
    magnitude = np.where(nan | infinite, 0.0, np.abs(values))
    past_largest: NDArray[np.bool_] = np.zeros(values.shape, np.bool_)
    if not fmt.has_tables:  # binary32: no number of a source is rounded, and only numbers of users' formats overflow
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
    """Magnitude code of an infinite input, or of a finite input that rounds past the largest value."""
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
