"""RISC-V's bulk normalization: products are aligned to their largest exponent and added, then the accumulator.

The accumulator ``rvbna`` rounds to odd wherever it rounds. Its state is binary32 (specification, section 10.1).

References
----------
The RISC-V Instruction Set Manual, Volume I, chapter RVBNA (2026), of the extensions Zvdota and Zvbdota.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.aligned import power, row_exponents
from golden.arithmetic.sums import Products, lane_products, odd_sum
from golden.flags import Flag
from golden.wide import bulk_bits, wide


def bulk_sums(products: Products, acc: NDArray[Any], lanes: int) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Bits of binary32, and flags: the accumulators plus bulk-normalized dot products.

    A product is its codes' significands, not normalized, times a power of two, that of the rows of both codes. Its
    magnitude is rounded to odd at :func:`bulk_bits` below the largest such exponent of the products that are not zero.
    The exact sum of these is rounded to odd in binary32, and the sum of that and the accumulator again; from 2**128 on
    both are infinities. A zero is +0.

    Flags are overflow, of either rounding, and invalid: a product 0 * infinity, infinities of both signs without a NaN
    among the products or in the addition, an accumulator that is a signaling NaN.

    ``acc``, shape (sums,), holds bits of binary32. The products' factors are powers of two, or NaN. A unit has at least
    as many ``lanes``, a power of two, as there are products; the others are zeros.
    """
    target, fraction_bits = wide("binary32"), bulk_bits(lanes)
    a_format, b_format, left, right, factors = products
    exponents = row_exponents(a_format).take(left.T)
    exponents += row_exponents(b_format).take(right.T)
    reach = exponents.max(axis=0).astype(np.int64)
    exact = lane_products(a_format, b_format, left, right)
    with np.errstate(invalid="ignore", under="ignore"):
        aligned = exact * power(fraction_bits - reach)
        np.copyto(aligned, np.copysign(0.5, exact), where=(aligned == 0) & (exact != 0))  # below binary64
        total = _jammed(aligned).sum(axis=0)
    np.copyto(total, np.nan, where=np.isnan(factors))
    scaled = total * power(reach - fraction_bits + np.frexp(factors)[1] - 1)
    dot, start = target.numbers(_to_odd(scaled)), target.numbers(acc)
    result = _to_odd(odd_sum(start, dot[np.newaxis], 0))
    infinite = np.isinf(dot) & np.isinf(start)
    invalid = target.is_signaling(acc) | (infinite & (dot != start))
    of_addition = np.isfinite(dot) & np.isfinite(start) & (result & (target.sign_bit - 1) == target.infinity)
    overflow = (np.isfinite(scaled) & np.isinf(dot)) | of_addition
    special = np.flatnonzero(~np.isfinite(scaled))
    few = products.rows(special)
    addends = few.exact()
    both = (addends == np.inf).any(axis=0) & (addends == -np.inf).any(axis=0) & ~np.isnan(addends).any(axis=0)
    invalid[special] |= few.undefined().any(axis=1) | both
    return result, (overflow * np.uint8(Flag.OVERFLOW)) | (invalid * np.uint8(Flag.INVALID))


def _jammed(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers rounded to odd integers: the magnitude is truncated, and its last bit is set if anything was lost."""
    whole = np.trunc(numbers)
    halves = whole / 2
    return whole + np.where((whole != numbers) & (halves == np.trunc(halves)), np.copysign(1.0, numbers), 0.0)


def _to_odd(numbers: NDArray[np.float64]) -> NDArray[np.uint32]:
    """Bits of binary32 of exact numbers, or of such that were rounded to odd before; zeros are +0."""
    target = wide("binary32")
    magnitude, dropped = np.abs(numbers), 52 - target.fraction_bits
    pattern = magnitude.view(np.int64)
    codes = (pattern >> dropped) - (1023 - target.bias << target.fraction_bits)
    codes |= (pattern & (1 << dropped) - 1 != 0).astype(np.int64)
    subnormal = magnitude < target.smallest_normal
    if subnormal.any():
        multiples = _jammed(np.where(subnormal, magnitude, 0.0) * 2.0**-target.ulp_exponent)
        codes = np.where(subnormal, multiples.astype(np.int64), codes)
    codes = np.minimum(codes, target.largest_code + 1) | np.where(numbers < 0, target.sign_bit, 0)
    assert target.canonical_nan is not None
    return np.where(np.isnan(numbers), target.canonical_nan, codes).astype(np.uint32)
