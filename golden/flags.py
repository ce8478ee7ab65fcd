"""Status flags: what a conversion or a sum could not keep, and what has no answer. IEEE 754-2019, section 7, in formats
of any shape.

============== ===
==============================================================================================================
``INEXACT``      1 finite numbers came in, and the result is not what the exact one is; whatever overflows is inexact
``UNDERFLOW``    2 inexact, and the exact result lies between zero and the format's smallest normal value
``OVERFLOW``     4 finite numbers came in, and rounding led past the largest value, whatever replaces that
``INVALID``      8 there is no answer: 0 * infinity, infinity - infinity, a signaling NaN, a special that the result
cannot be ============== ===
==============================================================================================================

Tininess is detected before rounding, as section 7.5 allows: where binades hold fewer bits towards zero, or zero is next
to the normal values, "as if the exponent were unbounded" has no meaning, and the exact result's size has one
everywhere. The fifth flag of the standard, division by zero, cannot arise.
"""

from __future__ import annotations

from enum import IntFlag
from typing import TYPE_CHECKING, Any

import numpy as np

from golden.formats import Format
from golden.wide import WideFormat

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Flag(IntFlag):
    """The bits of a word of flags."""

    INEXACT = 1
    UNDERFLOW = 2
    OVERFLOW = 4
    INVALID = 8


def of_conversion(
    fmt: Format, source: WideFormat, bits: NDArray[Any], codes: NDArray[Any], past_largest: NDArray[np.bool_]
) -> NDArray[np.uint8]:
    """Flags of an encoder.

    * inexact: the number is finite, and the code's value is another one; or it overflows.
    * underflow: inexact, and the number's magnitude is below :attr:`Format.smallest_normal`.
    * overflow: the number is finite, and rounds past the largest value, as if the values of its binade went on;
    ``toward_zero``, which
      stays at the largest, overflows from one such step past it on.
    * invalid: a signaling NaN; a NaN that becomes a number; an infinity that becomes anything but an infinity of its
    sign.

    ``codes`` is what the source's ``bits`` became; ``past_largest`` is whether rounding led past the largest value.
    """
    number = source.numbers(bits)
    result = fmt.decode(codes)
    with np.errstate(invalid="ignore"):  # NumPy warns of comparisons with a signaling NaN
        finite, unequal = np.isfinite(number), number != result
    lost = finite & (unequal | past_largest)
    word = _word(lost, lost & (np.abs(number) < fmt.smallest_normal), past_largest)
    special = np.flatnonzero(~finite)  # few, and often none
    unanswered = np.where(
        np.isnan(number[special]), source.is_signaling(bits[special]) | ~np.isnan(result[special]), unequal[special]
    )
    word[special] = np.where(unanswered, Flag.INVALID, 0)
    return word


def of_sum(
    wide: WideFormat, before: NDArray[Any], products: NDArray[np.float64], undefined: NDArray[np.bool_], exact: NDArray[np.float64],
    after: NDArray[Any],
) -> NDArray[np.uint8]:  # fmt: skip
    """Flags of a sum of an accumulator and products, rounded once.

    * inexact, underflow: as of a conversion, of the exact sum of finite operands and the accumulator's format.
    * overflow: a sum of finite operands became infinite, or what ``dlfloat16`` has for that.
    * invalid: a product 0 * infinity, whatever else there is; infinities of both signs, and no NaN; an accumulator that
    is a signaling
      NaN. Codes' NaNs are quiet, and so is the one special of ``dlfloat16``.

    Parameters
    ----------
    wide : WideFormat
    before, after : unsigned integers, shape (...)
        Bits of the accumulator.
    products, undefined : float64 and bool arrays, shape (..., lanes)
        The products, and which of them are 0 * infinity.
    exact : float64 array, shape (...)
        The sum, rounded to odd where it has more than 53 bits: then it is no value of the accumulator's either.
    """
    start, result = wide.decode(before), wide.decode(after)
    finite = np.isfinite(start) & np.isfinite(products).all(axis=-1)
    lost = finite & (result != exact)
    overflow = finite & ~np.isfinite(result)
    tiny = np.abs(exact) < wide.smallest_normal
    nan = np.isnan(start) | np.isnan(products).any(axis=-1)
    plus, minus = ((start == one) | (products == one).any(axis=-1) for one in (np.inf, -np.inf))
    return _word(
        lost, lost & tiny, overflow, undefined.any(axis=-1) | (plus & minus & ~nan) | wide.is_signaling(before)
    )


def of_exact_sum(overflow: NDArray[np.bool_], invalid: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Flags of an ``exact`` accumulator, which rounds nothing: overflow (the sum does not fit) and invalid."""
    never = np.zeros(overflow.shape, np.bool_)
    return _word(never, never, overflow, invalid)


def _word(*flags: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Flags side by side, the first lowest."""
    word = np.zeros(flags[0].shape, np.uint8)
    for place, flag in enumerate(flags):
        word |= flag.view(np.uint8) << np.uint8(place)
    return word
