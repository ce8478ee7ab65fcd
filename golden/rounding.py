"""Rounding by its definition: find a value's two neighbours on a format's grid, choose one, and return its code.

All comparisons are exact in binary64: a source has at most 24 significant bits, a random word at most 32, and a grid
step is a power of two (or, below the smallest value of a format without subnormals, a number of at most 16 bits).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.bits import BLOCK
from golden.formats import Format
from golden.options import Options
from golden.overflow import replacements, with_sign
from golden.rows import Rounding
from golden.wide import WideFormat


@dataclass(frozen=True)
class Grid:
    """The non-negative values of a format, with properties that rounding needs.

    ``values[i]`` is the lower neighbour of all numbers in [``values[i]``, ``values[i + 1]``). The first is zero, also
    in formats without zero. The last is the grid point past the largest finite value: from there, numbers overflow. If
    two's complement has a lowest number, its magnitude is the last but one, and positive numbers overflow from there.
    """

    values: NDArray[np.float64]
    codes: NDArray[np.int64]
    power_of_two_row: NDArray[np.bool_]
    """Whether each code's row has no fraction bits."""
    flush_below: float
    """The unused grid point below the smallest value, which flushes to zero; 0 if there is none."""

    @cached_property
    def middles(self) -> NDArray[np.float64]:
        """Where numbers between each two values are a tie.

        In binades without values of their own, between powers of two, that is the geometric mean: there, a longer
        code's next bit is one of the exponent's (Posit Standard 2022, section 4.1). Elsewhere it is the arithmetic one.
        """
        low, high = self.values[:-1], self.values[1:]
        is_hole = (low > 0) & (high > 2 * low)
        return np.where(is_hole, np.sqrt(low * high), (low + high) / 2)


@cache
def grid(fmt: Format) -> Grid:
    """The grid of a format of at most 16 bits."""
    values, codes = fmt.magnitudes, fmt.magnitude_codes
    if not fmt.has_zero:
        values, codes = np.append(0.0, values), np.append(0, codes)
    powers, end = np.array([row.fraction_bits == 0 for row in fmt.rows])[fmt.magnitude_rows[codes]], fmt.above_largest
    flush_below = 2.0 ** fmt.exponent_range[0] if fmt.flush else 0.0
    if fmt.has_lowest:
        values, codes, powers = np.append(values, end), np.append(codes, fmt.sign_bit), np.append(powers, False)
        end += fmt.quantum(fmt.largest_code)
    return Grid(np.append(values, end), codes, powers, flush_below)


def round_to_grid(
    fmt: Format,
    magnitude: NDArray[np.float64],
    negative: NDArray[np.bool_] | bool,
    rounding: Rounding,
    threshold: NDArray[np.float64] | None = None,
    tail_bits: int = 0,
) -> NDArray[np.int64]:
    """Round numbers, given as finite magnitudes and signs, to indices into the format's grid.

    Overflow has indices from ``len(grid.codes)`` on. ``stochastic`` and ``hybrid`` round up iff floor(2**tail_bits * t)
    reaches the threshold, an integer of at most 2**tail_bits; t in [0, 1) is the position between the neighbours.
    """
    table = grid(fmt)
    overflow = len(table.values) - 1
    below = np.searchsorted(table.values, magnitude, side="right") - 1
    low = table.values[below]
    high = table.values[np.minimum(below + 1, overflow)]
    if table.flush_below and not rounding.is_stochastic:
        low = np.where(below == 0, table.flush_below, low)
    middle = np.append(table.middles, table.values[-1])[below]
    if table.flush_below and not rounding.is_stochastic:
        middle = np.where(below == 0, (low + high) / 2, middle)
    past_half, at_half = magnitude > middle, magnitude == middle
    odd = (table.codes[np.minimum(below, overflow - 1)] & 1).astype(bool)
    match rounding:
        case Rounding.TOWARD_ZERO:
            up = np.zeros(magnitude.shape, bool)
        case Rounding.TIES_TO_EVEN:
            up = past_half | (at_half & odd)
        case Rounding.TIES_TO_AWAY:
            up = past_half | at_half
        case Rounding.TOWARD_POSITIVE | Rounding.TOWARD_NEGATIVE:
            up = (magnitude > low) & (np.asarray(negative) == (rounding is Rounding.TOWARD_NEGATIVE))
        case Rounding.TO_ODD:
            up = (magnitude > low) & ~odd
        case Rounding.STOCHASTIC | Rounding.STOCHASTIC_B | Rounding.STOCHASTIC_C:
            assert threshold is not None
            up = _stochastic(rounding, (magnitude - low) * 2.0**tail_bits, threshold, high - low)
        case Rounding.HYBRID:
            assert threshold is not None
            up = _hybrid(magnitude, low, high, past_half | at_half, threshold, tail_bits)
        case Rounding.MPTORCH:
            ties_away = table.power_of_two_row[np.minimum(below, overflow - 1)]
            up = past_half | (at_half & (odd | ties_away))
            up = np.where(below == 0, False, np.where(magnitude > fmt.largest, True, up))
    index = below + up
    return index if fmt.has_zero and not fmt.posit_rounding else np.maximum(index, magnitude > 0)


def _stochastic(
    rounding: Rounding, position: NDArray[np.float64], threshold: NDArray[np.float64], gap: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Whether a stochastic rounding rounds up (IEEE P3109 draft 4.0, section 4.7.3).

    With x = ``position / gap``, 2**N times the position between the neighbours, and T = ``threshold`` = 2**N - R:
    A rounds up iff floor(x) >= T; B iff floor(2 x) >= 2 T - 1; C iff x, rounded to an integer, ties to even, is >= T.
    """
    if rounding is Rounding.STOCHASTIC:
        return position >= threshold * gap
    doubled, middle = 2 * position, (2 * threshold - 1) * gap
    up: NDArray[np.bool_] = doubled >= middle
    return up if rounding is Rounding.STOCHASTIC_B else up & ((doubled > middle) | (threshold % 2 == 0))


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
    scale: NDArray[np.int32] | None = None,
    marked: bool = False,
) -> NDArray[Any]:
    """Encode raw bits by the definition of the rounding, in blocks; numbers are multiplied by 2**scale before.

    Marked codes have an additional upper bit, 1 if a finite number rounded past the largest value.
    """
    flat = np.ascontiguousarray(raw).reshape(-1)
    codes = np.empty(flat.shape, np.min_scalar_type((2 << fmt.width) - 1) if marked else fmt.code_dtype)
    for start in range(0, flat.size, BLOCK):
        block = flat[start : start + BLOCK].astype(np.int64)
        own = None if words is None else words.reshape(-1)[start : start + BLOCK]
        threshold, tail_bits = thresholds(block, chosen, own, random_bits)
        values = chosen.source.decode(block)
        if scale is not None:
            values = np.ldexp(values, scale.reshape(-1)[start : start + BLOCK])
        negative = (block & chosen.source.sign_bit) != 0
        codes[start : start + BLOCK] = codes_of(fmt, values, negative, chosen, threshold, tail_bits, marked=marked)
    return codes.reshape(raw.shape)


def thresholds(
    raw: NDArray[Any], chosen: Options, words: NDArray[Any] | None, random_bits: int
) -> tuple[NDArray[np.float64] | None, int]:
    """What :func:`codes_of` needs of random words, or with hybrid rounding of the source's bits; None if nothing.

    The threshold T of hybrid rounding consists of bits of the source (specification, 1.3).
    """
    if words is not None:
        return 2.0**random_bits - words.astype(np.float64), random_bits
    if chosen.rounding is not Rounding.HYBRID:
        return None, random_bits
    if chosen.source.name == "binary32":
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
    out_of_range: NDArray[np.bool_] = np.zeros(values.shape, np.bool_)
    if isinstance(fmt, WideFormat) and not fmt.has_tables:  # binary32, to which numbers are only rounded to nearest
        codes = fmt.nearest(magnitude)
    else:
        index, table = round_to_grid(fmt, magnitude, negative, chosen.rounding, threshold, tail_bits), grid(fmt).codes
        codes = table[np.minimum(index, len(table) - 1)]
        out_of_range = index >= len(table) - (fmt.has_lowest & ~negative)
        if not fmt.signed:
            out_of_range |= negative & (index > 0)
    instead = replacements(fmt, chosen.rounding, chosen.overflow)
    if fmt.twos_complement:
        signed = np.where(negative, (1 << fmt.width) - codes, codes) & ((1 << fmt.width) - 1)
    else:
        signed = codes | np.where(negative & ((codes != 0) | fmt.has_negative_zero), fmt.sign_bit, 0)
    if not fmt.has_zero:
        signed = np.where(magnitude == 0, instead.zero, signed)
    result = np.where(out_of_range, np.where(negative, with_sign(fmt, instead.below), instead.above), signed)
    result = np.where(infinite, np.where(negative, with_sign(fmt, instead.minus_inf), instead.plus_inf), result)
    canonical = 0 if fmt.canonical_nan is None else fmt.canonical_nan
    nan_code = canonical | np.where(negative & fmt.nan_keeps_sign, fmt.sign_bit, 0)
    result = np.where(nan, 0 if chosen.nan_to_zero else nan_code, result)
    return result | out_of_range.astype(np.int64) << fmt.width if marked else result.astype(fmt.code_dtype)
