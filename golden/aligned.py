"""Sums that are aligned to their largest exponent and truncated, as tensor cores compute them.

The accumulator ``aligned13`` keeps 13 fraction bits of every addend under the largest exponent. Its state is binary32
(specification, section 10).

References
----------
P. Xie et al., MMA-Sim: Bit-Accurate Reference Model of Tensor Cores and Matrix Cores, 2025, arXiv 2511.10909.
F. A. Khattak and M. Mikaitis, on the same hardware, 2025, arXiv 2512.07004.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from golden.fixed import bit_length
from golden.rows import Kind
from golden.wide import wide

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from golden.formats import Format

_BELOW_ALL = -(1 << 20)
"""An exponent below those of all addends."""


def aligned_sums(
    fa: Format,
    fb: Format,
    left: NDArray[Any],
    right: NDArray[Any],
    scale: NDArray[np.int64],
    acc: NDArray[np.uint32],
    fraction_bits: int,
) -> NDArray[np.uint32]:
    """Bits of binary32: the aligned sums of accumulators and products; wrong where an addend is infinite or NaN.

    An addend is its codes' significands, not normalized, times a power of two: that of the row of a code, or of the
    accumulator's exponent field. Its magnitude is truncated ``fraction_bits`` below the largest such exponent of the
    addends that are not zero. The sum is truncated to ``fraction_bits``, at most 23. A negative sum that becomes zero
    keeps its sign; the sum of nothing but zeros, and an exact zero, are +0.

    Parameters
    ----------
    fa, fb : Format
    left, right : unsigned integers, shape (sums, lanes)
        Codes.
    scale : int64, shape (sums, 1) or (1, 1)
        Products are multiplied by ``2**scale``.
    acc : uint32, shape (sums,)
        Bits of binary32.
    fraction_bits : int
        6 to 40.
    """
    target = wide("binary32")
    (sig_a, exp_a, frac_a), (sig_b, exp_b, frac_b) = _parts(fa), _parts(fb)
    products = sig_a.take(left) * sig_b.take(right)
    exponents = exp_a.take(left) + exp_b.take(right) + scale
    field = (acc >> target.fraction_bits & 0xFF).astype(np.int64)
    fraction = (acc & ((1 << target.fraction_bits) - 1)).astype(np.int64)
    start = fraction | np.where(field != 0, 1 << target.fraction_bits, 0)
    acc_exponent = np.maximum(field, 1) - target.bias

    reach = np.where(products != 0, exponents, _BELOW_ALL).max(axis=-1)
    top = np.maximum(reach, np.where(start != 0, acc_exponent, _BELOW_ALL))
    kept = _moved(products, fraction_bits - frac_a - frac_b + exponents - top[..., np.newaxis])
    negative = ((left & fa.sign_bit) != 0) ^ ((right & fb.sign_bit) != 0)
    total = np.where(negative, -kept, kept).sum(axis=-1)
    kept = _moved(start, fraction_bits - target.fraction_bits + acc_exponent - top)
    total += np.where(acc & target.sign_bit, -kept, kept)
    return _truncated(total, top - fraction_bits, min(fraction_bits, target.fraction_bits))


def _moved(magnitude: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
    """``magnitude * 2**places``, truncated; places may be far below zero."""
    moved: NDArray[np.int64] = magnitude << np.clip(places, 0, 63) >> np.clip(-places, 0, 63)
    return moved


def _truncated(total: NDArray[np.int64], lsb_exponent: NDArray[np.int64], fraction_bits: int) -> NDArray[np.uint32]:
    """Bits of binary32 of ``total * 2**lsb_exponent``, truncated to ``fraction_bits``; 2**128 and beyond: infinity."""
    target = wide("binary32")
    magnitude = np.abs(total)
    exponent = bit_length(magnitude.astype(np.uint64)) - 1 + lsb_exponent
    binade = np.maximum(exponent, 1 - target.bias)
    kept = _moved(magnitude, lsb_exponent - binade + fraction_bits)
    codes = (binade - 1 + target.bias << target.fraction_bits) + (kept << target.fraction_bits - fraction_bits)
    codes = np.where(total == 0, 0, np.minimum(codes, target.largest_code + 1))
    return (codes | np.where(total < 0, target.sign_bit, 0)).astype(np.uint32)


@cache
def _parts(fmt: Format) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Significands of all codes, in integers, 0 of specials; exponents of their rows; fraction bits of significands."""
    codes = np.arange(1 << fmt.width)
    significand, lsb_exponent = fmt.scaled_magnitudes(codes)
    fraction_bits = np.array([row.fraction_bits for row in fmt.rows])
    most = int(fraction_bits.max())
    own = fraction_bits[fmt.magnitude_rows[fmt.magnitudes_of(codes) & (1 << fmt.magnitude_bits) - 1]]
    finite = np.array([kind is Kind.FINITE for kind in fmt.kinds])
    return np.where(finite, significand << most - own, 0), lsb_exponent + own, most
