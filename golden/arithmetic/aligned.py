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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.sums import Products, add_lanes, cuts, lane_products, odd_sum
from golden.formats import Format
from golden.rows import Kind
from golden.wide import wide

_BELOW_ALL = -8000
"""The exponent of a zero or special code: products with it are below all addends, and fit 16 bits."""


def aligned_sums(products: Products, acc: NDArray[Any], fraction_bits: int) -> NDArray[np.uint32]:
    """Bits of binary32: the aligned sums of accumulators and products.

    An addend is its codes' significands, not normalized, times a power of two: that of the row of a code, or of the
    accumulator's exponent field. Its magnitude is truncated ``fraction_bits`` below the largest such exponent of the
    addends that are not zero. The sum is truncated to ``fraction_bits``, at most 23. A negative sum that becomes zero
    keeps its sign; the sum of nothing but zeros, and an exact zero, are +0.

    ``acc``, shape (sums,), holds bits of binary32. The products' factors are powers of two, or NaN. There are 6 to 40
    ``fraction_bits``.
    """
    target = wide("binary32")
    a_format, b_format, left, right, factors = products
    exponents = row_exponents(a_format).take(left.T)
    exponents += row_exponents(b_format).take(right.T)
    powers = np.frexp(factors)[1].astype(np.int64) - 1
    reach = exponents.max(axis=0) + powers
    field = (acc >> target.fraction_bits & 0xFF).astype(np.int64)
    acc_exponent = np.where(acc & (target.sign_bit - 1) != 0, np.maximum(field, 1) - target.bias, _BELOW_ALL)
    top = np.maximum(reach, acc_exponent)
    units = power(fraction_bits + powers - top)
    np.copyto(units, np.nan, where=np.isnan(factors))
    exact = lane_products(a_format, b_format, left, right)
    with np.errstate(under="ignore"):  # what is truncated to 0
        exact *= units
        kept = np.trunc(target.numbers(acc) * power(fraction_bits - top))
    exponents_of_parts = cuts(fraction_bits + 2, 0, len(exact))  # two significands are less than 4
    parts = np.empty((len(exponents_of_parts) + 1, acc.size))
    add_lanes(np.trunc(exact, out=exact), exponents_of_parts, parts)
    total = odd_sum(kept, parts, 0)
    return _truncated(total * power(top - fraction_bits), min(fraction_bits, target.fraction_bits))


def power(exponents: NDArray[np.int64]) -> NDArray[np.float64]:
    """Powers of two; those beyond 2**1000 and 2**-1000 multiply zeros, or sums far below binary32."""
    return (np.clip(exponents, -1000, 1000) + 1023 << 52).view(np.float64)


def _truncated(total: NDArray[np.float64], fraction_bits: int) -> NDArray[np.uint32]:
    """Bits of binary32 of sums, truncated to ``fraction_bits``; 2**128 and beyond: infinity."""
    target = wide("binary32")
    magnitude, dropped = np.abs(total), target.fraction_bits - fraction_bits
    codes = (magnitude.view(np.int64) >> 52 - fraction_bits) - (1023 - target.bias << fraction_bits)
    subnormal = magnitude < target.smallest_normal
    if subnormal.any():
        multiples = np.where(subnormal, magnitude, 0.0) * 2.0 ** (target.bias - 1 + fraction_bits)
        codes = np.where(subnormal, multiples.astype(np.int64), codes)
    codes = np.minimum(codes << dropped, target.largest_code + 1) | np.where(total < 0, target.sign_bit, 0)
    assert target.canonical_nan is not None
    return np.where(np.isnan(total), target.canonical_nan, codes).astype(np.uint32)


@cache
def row_exponents(fmt: Format) -> NDArray[np.int16]:
    """Exponents of the rows of all codes; :data:`_BELOW_ALL` for zeros and specials."""
    codes = np.arange(1 << fmt.width)
    _, lsb_exponent = fmt.scaled_magnitudes(codes)
    fraction_bits = np.array([row.fraction_bits for row in fmt.rows])
    own = fraction_bits[fmt.magnitude_rows[fmt.magnitudes_of(codes) & (1 << fmt.magnitude_bits) - 1]]
    finite = np.array([kind is Kind.FINITE for kind in fmt.kinds])
    return np.where(finite, lsb_exponent + own, _BELOW_ALL).astype(np.int16)
