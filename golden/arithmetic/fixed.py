"""Wide fixed-point numbers: uint64 limbs on the last axis, little end first, in two's complement."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_ONES = ~np.uint64(0)


def add(
    state: NDArray[np.uint64], magnitude: NDArray[np.uint64], shift: NDArray[np.int64], negative: NDArray[np.bool_]
) -> NDArray[np.uint64]:
    """``state ± (magnitude << shift)``, modulo ``2**(64 * limbs)``; negative shifts drop bits.

    ``state`` has the shape (..., limbs), the others have the shape (...).
    """
    out = np.empty_like(state)
    invert = np.where(negative, _ONES, np.uint64(0))
    carry = negative.astype(np.uint64)
    for limb in range(state.shape[-1]):
        addend = _limb(magnitude, shift - 64 * limb) ^ invert
        with np.errstate(over="ignore"):  # NumPy warns of carries out of scalars
            partial = state[..., limb] + addend
            total = partial + carry
        carry = ((partial < addend) | (total < partial)).astype(np.uint64)
        out[..., limb] = total
    return out


def add_numbers(state: NDArray[np.uint64], numbers: NDArray[np.float64], lsb_exponent: int) -> NDArray[np.uint64]:
    """``state + numbers``, modulo ``2**(64 * limbs)``; numbers are finite multiples of ``2**lsb_exponent``, the lsb."""
    fraction, exponent = np.frexp(np.abs(numbers))
    magnitude = (fraction * 2.0**53).astype(np.uint64)
    return add(state, magnitude, exponent.astype(np.int64) - 53 - lsb_exponent, np.signbit(numbers))


def _limb(magnitude: NDArray[np.uint64], shift: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Bits 63..0 of ``magnitude << shift`` for any shift, positive or negative."""
    left = magnitude << np.clip(shift, 0, 63).astype(np.uint64)
    right = magnitude >> np.clip(-shift, 0, 63).astype(np.uint64)
    limb: NDArray[np.uint64] = np.where(np.abs(shift) < 64, np.where(shift < 0, right, left), np.uint64(0))
    return limb


def rounded_to_odd(state: NDArray[np.uint64], lsb_exponent: int) -> NDArray[np.float64]:
    """Values, rounded to odd in binary64; a further rounding to at most 51 bits equals that of the exact value.

    The lsb of ``state`` (uint64, shape (..., limbs)) weighs ``2**lsb_exponent``; the result has shape (...).

    References
    ----------
    S. Boldo and G. Melquiond, Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd,
    2008.
    """
    negative = (state[..., -1] >> np.uint64(63)).astype(bool)
    magnitude = np.where(negative[..., np.newaxis], _negated(state), state)
    high, low = np.zeros((2, *state.shape[:-1]), np.uint64)
    leading, sticky = np.full(negative.shape, -2), np.zeros(negative.shape, np.bool_)  # -2: all limbs were 0
    for limb in reversed(range(state.shape[-1])):
        word = magnitude[..., limb]
        first = (leading < -1) & (word != 0)
        high, leading = np.where(first, word, high), np.where(first, limb, leading)
        low = np.where(leading == limb + 1, word, low)
        sticky |= (leading > limb + 1) & (word != 0)
    left = (64 - bit_length(high)).astype(np.uint64) & np.uint64(63)
    top = high << left | np.where(left != 0, low >> (np.uint64(64) - np.maximum(left, np.uint64(1))), np.uint64(0))
    sticky |= ((low << left) != 0) | ((top & np.uint64(0x7FF)) != 0)
    kept = (top >> np.uint64(11)) | sticky.astype(np.uint64)
    value = np.ldexp(kept.astype(np.float64), 64 * np.maximum(leading, 0) - left.astype(np.int64) + 11 + lsb_exponent)
    signed: NDArray[np.float64] = np.where(negative, -value, value)
    return signed


def _negated(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    carries = np.ones_like(state)  # a limb is incremented if all lower ones are 0
    carries[..., 1:] = np.logical_and.accumulate(state[..., :-1] == 0, axis=-1)
    return ~state + carries


def bit_length(word: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Position of the leading 1 of words, plus 1; 0 for 0."""
    upper = word >> np.uint64(32)
    part = np.where(upper != 0, upper, word).astype(np.float64)
    return np.where(upper != 0, 32, 0) + np.frexp(part)[1]
