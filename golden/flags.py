"""Status flags of conversions and sums: IEEE 754-2019, section 7, generalized to all formats.

* ``INEXACT``: finite operands, and the result differs from the exact result. Every overflow is inexact.
* ``UNDERFLOW``: inexact, and the exact result lies between zero and the format's smallest normal value.
* ``OVERFLOW``: finite operands, and rounding exceeded the largest value, whichever overflow rule applies.
* ``INVALID``: 0 * infinity, infinity - infinity, a signaling NaN, or a NaN or infinity that the result cannot hold.

Tininess is detected before rounding, which section 7.5 permits. Tininess after rounding rounds "as if the exponent
range were unbounded", which is undefined for formats whose precision falls towards zero or that have no subnormals; the
exact result's magnitude is always defined. Division by zero, the standard's fifth flag, cannot occur.
"""

from __future__ import annotations

from enum import IntFlag
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.formats import Format
from golden.wide import WideFormat


class Flag(IntFlag):
    """Bits of a flag word; :mod:`golden.flags` defines them."""

    INEXACT = 1
    UNDERFLOW = 2
    OVERFLOW = 4
    INVALID = 8


def of_conversion(
    fmt: Format,
    source: Format,
    bits: NDArray[Any],
    codes: NDArray[Any],
    out_of_range: NDArray[np.bool_],
    scale: NDArray[np.int32] | None = None,
) -> NDArray[np.uint8]:
    """Flags of encoding the source's ``bits``, multiplied by 2**scale, to ``codes``.

    * inexact: the number is finite and differs from the code's value, or it overflows.
    * underflow: inexact, and the number is not zero, but its magnitude is below :attr:`Format.smallest_normal`.
    * overflow: the number is finite and rounds past the largest value, as if the values of its binade continued, or to
      a negative number that a format without a sign does not have. Roundings that never leave the largest value
      overflow one step past it.
    * invalid: a signaling NaN; a NaN that becomes a number; an infinity that becomes no infinity of its sign.

    ``out_of_range`` says whether the rounded number lies outside the format's range.
    """
    number = source.numbers(bits)
    if scale is not None:
        number = np.ldexp(number.astype(np.float64), scale)
    result = fmt.decode(codes)
    finite, unequal = np.isfinite(number), number != result
    lost = finite & (unequal | out_of_range)
    tiny = (number != 0) & (np.abs(number) < fmt.smallest_normal)
    word = _word(lost, lost & tiny, out_of_range)
    special = np.flatnonzero(~finite)
    invalid_nan = source.is_signaling(bits[special]) | ~np.isnan(result[special])
    invalid = np.where(np.isnan(number[special]), invalid_nan, unequal[special])
    word[special] = np.where(invalid, Flag.INVALID, 0)
    return word


def of_sum(
    wide: WideFormat,
    before: NDArray[Any],
    products: NDArray[np.float64],
    undefined: NDArray[np.bool_],
    exact: NDArray[np.float64],
    after: NDArray[Any],
) -> NDArray[np.uint8]:
    """Flags of a sum of an accumulator and products, rounded once.

    * inexact, underflow: as for a conversion of the exact sum of finite operands to the accumulator's format.
    * overflow: a sum of finite operands became infinite, in ``dlfloat16`` its NaN-or-infinity code.
    * invalid: a product 0 * infinity; infinities of both signs without a NaN; an accumulator that is a signaling NaN.
      NaNs of codes are quiet, and so is the NaN-or-infinity code of ``dlfloat16``.

    Parameters
    ----------
    wide : WideFormat
        Format of the accumulator.
    before, after : unsigned integers, shape (...)
        Bits of the accumulator.
    products, undefined : float64 and bool arrays, shape (..., lanes)
        Products, and which of them are 0 * infinity.
    exact : float64 array, shape (...)
        The sum, rounded to odd if it has more than 53 bits; the rounded sum is no value of the accumulator either.
    """
    start, result = wide.decode(before), wide.decode(after)
    finite = np.isfinite(start) & np.isfinite(products).all(axis=-1)
    lost = finite & (result != exact)
    overflow = finite & ~np.isfinite(result)
    tiny = np.abs(exact) < wide.smallest_normal
    nan = np.isnan(start) | np.isnan(products).any(axis=-1)
    plus, minus = ((start == infinity) | (products == infinity).any(axis=-1) for infinity in (np.inf, -np.inf))
    invalid = undefined.any(axis=-1) | (plus & minus & ~nan) | wide.is_signaling(before)
    return _word(lost, lost & tiny, overflow, invalid)


def _word(*flags: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Flags packed into words, the first in bit 0."""
    word = np.zeros(flags[0].shape, np.uint8)
    for bit, flag in enumerate(flags):
        word |= flag.view(np.uint8) << np.uint8(bit)
    return word
