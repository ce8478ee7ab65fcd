"""Rounding by its definition: a value, its two neighbours on a format's grid, and a choice between them.

All comparisons are exact in binary64: a source has at most 24 significant bits, a random word at most 32, a grid step is a power of
two (or, below the smallest value of a format without subnormals, a number of at most 16 bits).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from golden.formats import Format
from golden.rows import Rounding

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Grid:
    """The non-negative values of a format, and what rounding must know of the steps between them.

    ``values[i]`` is the lower neighbour of everything in [``values[i]``, ``values[i + 1]``); the last value is the grid point past
    the largest finite one, where overflow is certain.
    """

    values: NDArray[np.float64]
    codes: NDArray[np.int64]
    power_of_two_row: NDArray[np.bool_]
    flush_below: float
    """0, or the unused grid point under the smallest value: what rounds to it becomes zero."""


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
    """Index into the format's grid that each magnitude, finite and not negative, rounds to.

    ``len(grid.codes)`` and more is overflow. ``stochastic`` and ``hybrid`` go up iff floor(2**tail_bits * t) reaches
    the threshold, an integer of at most 2**tail_bits; t in [0, 1) is the position between the neighbours.
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
    """HiFloat8's hybrid rounding (specification, 1.3): half away near 1, a bit comparison elsewhere, nothing below 2**-23."""
    exponent = np.frexp(magnitude)[1] - 1
    reached = (magnitude - low) * 2.0**tail_bits >= threshold * (high - low)
    up = np.where(np.abs(exponent) <= 3, half, reached)
    up |= magnitude >= 1.25 * 2.0**15
    return np.where((magnitude == 0) | (exponent < -23), False, up)
