"""Sums of products and an accumulator, rounded once.

The products of a sum are cut into a few parts whose sums are exact in binary64. Their sum with an accumulator is
rounded to odd in binary64 (Boldo and Melquiond, 2008), so that the following rounding to at most 24 bits equals the
rounding of the exact sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.fixed import add_numbers, rounded_to_odd
from golden.bits import BLOCK
from golden.formats import Format
from golden.wide import WideFormat


class Products(NamedTuple):
    """Scaled products of codes: ``left`` and ``right`` have the shape (sums, lanes), factors (sums,)."""

    a_format: Format
    b_format: Format
    left: NDArray[Any]
    right: NDArray[Any]
    factors: NDArray[np.float64]

    def rows(self, index: NDArray[np.intp]) -> Products:
        """The products of some sums."""
        return self._replace(left=self.left[index], right=self.right[index], factors=self.factors[index])

    def exact(self) -> NDArray[np.float64]:
        """The products, exact; shape (lanes, sums)."""
        products = lane_products(self.a_format, self.b_format, self.left, self.right)
        with np.errstate(invalid="ignore"):
            products *= self.factors
        return products

    def signs(self) -> NDArray[np.bool_]:
        """The exclusive or of the codes' sign bits; shape (sums, lanes)."""
        signs: NDArray[np.bool_] = ((self.left & self.a_format.sign_bit) != 0) ^ (
            (self.right & self.b_format.sign_bit) != 0
        )
        return signs

    def undefined(self) -> NDArray[np.bool_]:
        """Which products are 0 * Inf; shape (sums, lanes)."""
        operands = self.a_format.values.take(self.left), self.b_format.values.take(self.right), self.factors[:, None]
        undefined = np.isnan(self.exact().T)
        for operand in operands:
            undefined &= ~np.isnan(operand)
        return undefined


def product_sums(
    fa: Format, fb: Format, left: NDArray[Any], right: NDArray[Any], spare_bits: int = 0
) -> NDArray[np.float64]:
    """Sums of the products of codes of shape (sums, lanes): exact parts of them, most significant first.

    The result has the shape (parts, sums). Every part has at most ``53 - spare_bits`` bits, so that it can be
    multiplied by a factor of ``spare_bits`` bits. Where a product is not finite, the first part is the infinity or NaN,
    and the others are 0. A zero has any sign.
    """
    count, lanes = left.shape
    exponents = product_cuts(fa, fb, lanes, spare_bits)
    parts = np.empty((len(exponents) + 1, count))
    rows = max(BLOCK // lanes, 1)
    for start in range(0, count, rows):
        block = slice(start, start + rows)
        add_lanes(lane_products(fa, fb, left[block], right[block]), exponents, parts[:, block])
    return parts


def lane_products(fa: Format, fb: Format, left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.float64]:
    """Products of codes of shape (sums, lanes), exact; shape (lanes, sums), in which lanes are added fast."""
    products = fa.values.take(left.T)
    with np.errstate(invalid="ignore"):
        products *= fb.values.take(right.T)
    return products


@cache
def product_cuts(fa: Format, fb: Format, lanes: int, spare_bits: int = 0) -> tuple[int, ...]:
    """:func:`cuts` of the products of two formats; one product is never cut."""
    if lanes == 1:
        return ()
    top = fa.exponent_range[1] + fb.exponent_range[1] + 2
    return cuts(top, fa.ulp_exponent + fb.ulp_exponent, lanes, spare_bits)


def cuts(top: int, lsb_exponent: int, lanes: int, spare_bits: int = 0) -> tuple[int, ...]:
    """Exponents at which multiples of ``2**lsb_exponent`` up to ``2**top`` are cut into parts that can be summed.

    Part i is a multiple of ``2**cuts[i]``, the last one of ``2**lsb_exponent``. A part is at most ``2**top``, the sum
    of all lanes' parts at most ``lanes * 2**top``; they are exact if that is at most ``2**(53 - spare_bits)`` units.
    What a cut leaves is at most half of its unit.
    """
    bits = 53 - max((lanes - 1).bit_length() + spare_bits, 2)  # a cut by addition needs the 2
    exponents = []
    while top - bits > lsb_exponent:
        exponents.append(top - bits)
        top = exponents[-1] - 1
    return tuple(exponents)


def add_lanes(numbers: NDArray[np.float64], exponents: Sequence[int], parts: NDArray[np.float64]) -> None:
    """Write sums of numbers of shape (lanes, sums) to ``parts``, shape (cuts + 1, sums); overwrite the numbers."""
    with np.errstate(invalid="ignore"):
        for exponent, part in zip(exponents, parts, strict=False):
            middle = 1.5 * 2.0 ** (exponent + 52)  # numbers of this binade are multiples of 2**exponent
            high = numbers + middle
            high -= middle
            np.add.reduce(high, axis=0, out=part)
            numbers -= high
        np.add.reduce(numbers, axis=0, out=parts[-1])
    for part in parts[1:]:
        np.copyto(part, 0.0, where=np.isnan(part))  # infinity less infinity


def odd_sum(acc: NDArray[np.float64], parts: NDArray[np.float64], lsb_exponent: int) -> NDArray[np.float64]:
    """The sum of accumulators and all parts, rounded to odd; a zero has any sign.

    ``parts``, shape (parts, sums), are those of :func:`product_sums`, scaled; all are multiples of ``2**lsb_exponent``.

    Two parts become s + e with abs(e) <= ulp(s) / 2 first. Then t + d = s + acc, y + f = d + e and z + g = t + y, so
    that z + g + f is the exact sum. Its tail g + f has the sign of g, or of f if g = 0, and is less than the distance
    from z to the next number:

    * If d = 0, then y = e and f = 0, and z + g is the sum of two numbers.
    * Otherwise s + acc is inexact, so that by Sterbenz's lemma s and acc cancel at most one bit: ulp(s) <= 2 ulp(t),
      and abs(y) <= 2 ulp(t). Thus f, at most half an ulp of y, is far below an ulp of z, and g, at most half the
      distance from z to the next number, is 0 or, as a multiple of ulp(y), at least twice f.
    """
    with np.errstate(invalid="ignore"):
        if len(parts) == 1:
            total, tail = _two_sum(parts[0], acc)
        elif len(parts) == 2:
            s, e = _two_sum(parts[0], parts[1])
            t, d = _two_sum(s, acc)
            y, f = _two_sum(d, e)
            total, tail = _two_sum(t, y)
            tail += f
            np.copyto(total, t, where=np.isnan(total))  # the errors of infinities are NaN
        else:
            return _fixed_sum(acc, parts, lsb_exponent)
    # the magnitude is truncated, and its last bit is set; errors of specials are NaN
    pattern, inexact = total.view(np.int64), np.abs(tail) > 0
    pattern -= ((tail.view(np.int64) ^ pattern) < 0) & inexact
    pattern |= inexact
    return total


def _two_sum(a: NDArray[np.float64], b: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The rounded sum and its error, exact (D. Knuth)."""
    total = a + b
    virtual = total - a
    error = total - virtual
    np.subtract(a, error, out=error)
    error += b - virtual
    return total, error


def _fixed_sum(acc: NDArray[np.float64], parts: NDArray[np.float64], lsb_exponent: int) -> NDArray[np.float64]:
    """:func:`odd_sum` for any number of parts."""
    addends = np.concatenate((acc[np.newaxis], parts))
    finite = np.isfinite(addends)
    numbers = np.where(finite, addends, 0.0)
    most = int(np.frexp(np.abs(numbers).max(initial=0.0))[1])
    limbs = max(most - lsb_exponent + len(addends).bit_length() + 1, 1) // 64 + 1
    state = np.zeros((*acc.shape, limbs), np.uint64)
    for number in numbers:
        state = add_numbers(state, number, lsb_exponent)
    specials = np.where(finite, 0.0, addends).sum(axis=0)
    return np.where(np.isfinite(specials), rounded_to_odd(state, lsb_exponent), specials)


def pack(
    target: WideFormat,
    total: NDArray[np.float64],
    negative: NDArray[np.bool_],
    *,
    truncates: bool = False,
    saturates: bool = False,
    flush_below: float = 0.0,
) -> NDArray[Any]:
    """Round sums, rounded to odd before, to bits, see :meth:`golden.WideFormat.nearest`.

    With ``saturates`` finite sums are at most the largest number; sums below ``flush_below`` are zeros of their sign.
    """
    magnitudes = np.abs(total)
    codes = target.nearest(magnitudes, truncates=truncates)
    if saturates:
        codes = np.where(np.isfinite(total), np.minimum(codes, target.largest_code), codes)
    if flush_below:
        codes = np.where(magnitudes < flush_below, 0, codes)
    packed: NDArray[Any] = codes | np.where(negative, target.sign_bit, 0)
    if not target.nan_keeps_sign:
        assert target.canonical_nan is not None
        packed = np.where(np.isnan(total), target.canonical_nan, packed)
    return packed.astype(target.code_dtype)
