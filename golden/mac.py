"""The fused multiply-accumulate: one rounding of the exact sum of an accumulator and a product.

Products of two codes are exact in binary64. Their sum with an accumulator is rounded to odd in binary64 (Boldo and Melquiond, 2008), so
that the one rounding to at most 24 bits that follows is the rounding of the exact sum.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from golden.bits import BLOCK, as_codes
from golden.catalog import WIDE, get
from golden.exact import ExactAccumulator, as_scale, scale_range
from golden.fixed import add, rounded_to_odd
from golden.flags import of_sum
from golden.formats import Format
from golden.rows import Biased
from golden.validation import MAX_WIDTH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

ACCUMULATORS = (*WIDE, "exact")


def mac(
    a: ArrayLike,
    b: ArrayLike,
    acc: ArrayLike,
    a_format: str | Format = "hif8",
    b_format: str | Format | None = None,
    accumulator: str = "binary16",
    terms: int = 1024,
    scale: ArrayLike | None = None,
    scale_bits: int = 0,
) -> NDArray[Any]:
    """``round(acc + a * b * 2**scale)``, rounded once (specification, section 2, "Fused MAC").

    Parameters
    ----------
    a, b : unsigned integers
        Codes; the three arrays are broadcast against each other.
    acc : unsigned integers
        Bits of the accumulator; for ``exact`` uint64 limbs on a further, last axis, little end first.
    a_format, b_format : str or Format
        Of ``a`` and of ``b``; ``b_format`` defaults to ``a_format``.
    accumulator : str
        ``binary16``, ``bfloat16``, ``binary32``, ``dlfloat16`` or ``exact``.
    terms : int
        Products that an ``exact`` accumulator has room for.
    scale : integers, optional
        Exponents of the powers of two that products are multiplied by: a scale of tensors, blocks (OCP MX's E8M0) or exponent biases.
    scale_bits : int
        Bits of ``scale`` in two's complement, up to 10; 0 where there is none.

    Returns
    -------
    Bits of the accumulator, in the broadcast shape.
    """
    fa, fb = _operands(a_format, b_format)
    if accumulator == "exact":
        return exact(fa, fb, terms, scale_bits).accumulate(a, b, acc, scale)
    target = _wide(accumulator)
    products, product_sign = _products(fa, fb, a, b, as_scale(fa, fb, scale, scale_bits))
    bits = as_codes(acc, target.width, f"Bits of {target.name}")
    shape = np.broadcast_shapes(products.shape, bits.shape)
    sums = np.empty(shape, target.code_dtype)
    flat = sums.reshape(-1)
    for block, product, sign, before in _blocks(shape, products, product_sign, bits):
        start = target.decode(before)
        flat[block] = _finished(target, _odd_sum(start, product), start, sign, before)
    return sums


def mac_with_flags(
    a: ArrayLike,
    b: ArrayLike,
    acc: ArrayLike,
    a_format: str | Format = "hif8",
    b_format: str | Format | None = None,
    accumulator: str = "binary16",
    terms: int = 1024,
    scale: ArrayLike | None = None,
    scale_bits: int = 0,
) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """:func:`mac`, and what each sum has to report.

    Parameters
    ----------
    a, b, acc, a_format, b_format, accumulator, terms, scale, scale_bits
        See :func:`mac`.

    Returns
    -------
    bits, flags
        As of :func:`mac`; and words of :class:`golden.Flag`, uint8, see :func:`golden.flags.of_sum`. An ``exact`` accumulator overflows
        where it has no room for the sum, and is never inexact.
    """
    fa, fb = _operands(a_format, b_format)
    if accumulator == "exact":
        unit = exact(fa, fb, terms, scale_bits)
        left, right = (np.asarray(codes)[..., np.newaxis] for codes in (a, b))
        return unit.accumulate(a, b, acc, scale), unit.flags(left, right, acc, scale)
    target = _wide(accumulator)
    products, product_sign = _products(fa, fb, a, b, as_scale(fa, fb, scale, scale_bits))
    bits = as_codes(acc, target.width, f"Bits of {target.name}")
    shape = np.broadcast_shapes(products.shape, bits.shape)
    sums, flags = np.empty(shape, target.code_dtype), np.empty(shape, np.uint8)
    flat, flat_flags = sums.reshape(-1), flags.reshape(-1)
    for block, product, sign, before, none in _blocks(shape, products, product_sign, bits, _undefined(fa, fb, a, b)):
        start = target.decode(before)
        total = _odd_sum(start, product)
        flat[block] = _finished(target, total, start, sign, before)
        flat_flags[block] = of_sum(target, before, product[..., np.newaxis], none[..., np.newaxis], total, flat[block])
    return sums, flags


def _blocks(shape: tuple[int, ...], *arrays: NDArray[Any]) -> Iterator[tuple[Any, ...]]:
    """Places in a flat array of a shape, and what broadcast arrays hold there: so many at a time as the cache holds."""
    columns = [np.broadcast_to(array, shape).reshape(-1) for array in arrays]
    for start in range(0, columns[0].size, BLOCK):
        block = slice(start, start + BLOCK)
        yield block, *(column[block] for column in columns)


def fused_dot(
    a: ArrayLike,
    b: ArrayLike,
    acc: ArrayLike,
    a_format: str | Format = "hif8",
    b_format: str | Format | None = None,
    accumulator: str = "binary16",
    terms: int = 1024,
    scale: ArrayLike | None = None,
    scale_bits: int = 0,
) -> NDArray[Any]:
    """``round(acc + 2**scale * sum of a * b along the last axis)``, rounded once; of one product it is :func:`mac`.

    Parameters
    ----------
    a, b : unsigned integers, shape (..., lanes)
        Codes.
    acc : unsigned integers, shape (...)
        Bits of the accumulator; for ``exact`` uint64 limbs on a further, last axis.
    a_format, b_format, accumulator, terms
        See :func:`mac`; a product of each lane is a term.
    scale : integers, shape (...), optional
        For all products of a sum.
    scale_bits : int
        See :func:`mac`.

    Returns
    -------
    Bits of the accumulator. An exact zero is -0 if all that is added is, else +0. Where an accumulator keeps a NaN's or infinity's sign
    (``dlfloat16``), it is its own, else that of the first lane whose product is none.
    """
    fa, fb = _operands(a_format, b_format)
    left, right = _lanes(fa, fb, a, b)
    if accumulator == "exact":
        state: NDArray[Any] = np.asarray(acc)
        for lane in range(left.shape[-1]):
            state = exact(fa, fb, terms, scale_bits).accumulate(left[..., lane], right[..., lane], state, scale)
        return state
    target = _wide(accumulator)
    products, product_sign, bits, total = _lanes_sum(target, fa, fb, left, right, acc, scale, scale_bits)
    return _finished_lanes(target, products, product_sign, bits, total)


def fused_dot_with_flags(
    a: ArrayLike,
    b: ArrayLike,
    acc: ArrayLike,
    a_format: str | Format = "hif8",
    b_format: str | Format | None = None,
    accumulator: str = "binary16",
    terms: int = 1024,
    scale: ArrayLike | None = None,
    scale_bits: int = 0,
) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """:func:`fused_dot`, and what each sum has to report.

    Parameters
    ----------
    a, b, acc, a_format, b_format, accumulator, terms, scale, scale_bits
        See :func:`fused_dot`.

    Returns
    -------
    bits, flags
        As of :func:`fused_dot`, and of :func:`mac_with_flags`.
    """
    fa, fb = _operands(a_format, b_format)
    left, right = _lanes(fa, fb, a, b)
    if accumulator == "exact":
        after = fused_dot(left, right, acc, fa, fb, accumulator, terms, scale, scale_bits)
        return after, exact(fa, fb, terms, scale_bits).flags(left, right, acc, scale)
    target = _wide(accumulator)
    products, product_sign, bits, total = _lanes_sum(target, fa, fb, left, right, acc, scale, scale_bits)
    after = _finished_lanes(target, products, product_sign, bits, total)
    return after, of_sum(target, bits, products, np.broadcast_to(_undefined(fa, fb, left, right), products.shape), total, after)


def _lanes(fa: Format, fb: Format, a: ArrayLike, b: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Checked codes, with lanes on the last axis."""
    left, right = np.broadcast_arrays(as_codes(a, fa.width, f"Codes of {fa.name}"), as_codes(b, fb.width, f"Codes of {fb.name}"))
    if left.ndim == 0 or left.shape[-1] == 0:
        raise ValueError("fused_dot needs at least one product, on a last axis of a and b")
    return left, right


def _lanes_sum(
    target: Format, fa: Format, fb: Format, left: NDArray[Any], right: NDArray[Any], acc: ArrayLike, scale: ArrayLike | None,
    scale_bits: int,
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[Any], NDArray[np.float64]]:  # fmt: skip
    """Products with their signs, the accumulator's bits, and the exact sum, rounded to odd."""
    bits = as_codes(acc, target.width, f"Bits of {target.name}")
    powers = as_scale(fa, fb, scale, scale_bits)
    shape, lanes = np.broadcast_shapes(left.shape[:-1], bits.shape, powers.shape), left.shape[-1]
    products, product_sign = _products(
        fa, fb, np.broadcast_to(left, (*shape, lanes)), np.broadcast_to(right, (*shape, lanes)), powers[..., np.newaxis]
    )
    lsb = fa.ulp_exponent + fb.ulp_exponent + scale_range(scale_bits)[0]
    bits = np.broadcast_to(bits, shape)
    return products, product_sign, bits, _odd_sum_of(target, products, product_sign, bits, lsb)


def _odd_sum_of(
    target: Format, products: NDArray[np.float64], product_sign: NDArray[np.bool_], bits: NDArray[Any], lsb_exponent: int
) -> NDArray[np.float64]:
    """The sum of an accumulator and any number of products, which are multiples of ``2**lsb_exponent``, rounded to odd."""
    start = target.decode(bits)
    normal = target.rows[-1]
    assert isinstance(normal.exponent, Biased)
    lsb = min(lsb_exponent, -normal.exponent.bias - normal.fraction_bits)
    addends = [(start, (bits & target.sign_bit) != 0), *((products[..., k], product_sign[..., k]) for k in range(products.shape[-1]))]
    with np.errstate(invalid="ignore"):
        specials = sum(np.where(np.isfinite(value), 0.0, value) for value, _ in addends)
    top = max(float(np.max(np.abs(np.where(np.isfinite(value), value, 0.0)), initial=0.0)) for value, _ in addends)
    limbs = max(int(np.frexp(top)[1]) - lsb + len(addends).bit_length() + 1, 1) // 64 + 1
    state = np.zeros((*bits.shape, limbs), np.uint64)
    for value, negative in addends:
        fraction, exponent = np.frexp(np.where(np.isfinite(value), np.abs(value), 0.0))
        state = add(state, np.ldexp(fraction, 53).astype(np.uint64), exponent.astype(np.int64) - 53 - lsb, negative)
    total = rounded_to_odd(state, lsb)
    all_negative = np.logical_and.reduce([negative for _, negative in addends])
    total = np.where(total == 0, np.where(all_negative, -0.0, 0.0), total)
    found: NDArray[np.float64] = np.where(np.isfinite(specials), total, specials)
    return found


def _finished_lanes(
    target: Format, products: NDArray[np.float64], product_sign: NDArray[np.bool_], bits: NDArray[Any], total: NDArray[np.float64]
) -> NDArray[Any]:
    """Bits of a sum of several products; a special that keeps a sign has that of the first product that is one."""
    unusual = ~np.isfinite(products)
    first = np.take_along_axis(product_sign, np.argmax(unusual, axis=-1)[..., np.newaxis], axis=-1)[..., 0]
    return _finished(target, total, target.decode(bits), first, bits)


def dot(
    a: ArrayLike,
    b: ArrayLike,
    a_format: str | Format = "hif8",
    b_format: str | Format | None = None,
    accumulator: str = "binary16",
    terms: int | None = None,
) -> NDArray[Any]:
    """Chain of :func:`mac` along the last axis of ``a`` and ``b``, in order, from an accumulator of +0.

    ``terms`` defaults to the length of that axis. Returns accumulator bits without that axis.
    """
    fa, fb = _operands(a_format, b_format)
    left, right = np.broadcast_arrays(as_codes(a, fa.width, f"Codes of {fa.name}"), as_codes(b, fb.width, f"Codes of {fb.name}"))
    if left.ndim == 0:
        raise ValueError("dot needs at least one axis, along which to accumulate")
    length = left.shape[-1]
    if accumulator == "exact":
        unit = exact(fa, fb, max(length, 1) if terms is None else terms)
        total = unit.zeros(left.shape[:-1])
    else:
        total = np.zeros(left.shape[:-1], _wide(accumulator).code_dtype)
    for k in range(length):
        total = (
            unit.accumulate(left[..., k], right[..., k], total)
            if accumulator == "exact"
            else mac(left[..., k], right[..., k], total, fa, fb, accumulator)
        )
    return total


def _operands(a_format: str | Format, b_format: str | Format | None) -> tuple[Format, Format]:
    fa = get(a_format)
    fb = fa if b_format is None else get(b_format)
    for fmt in (fa, fb):
        if fmt.width > MAX_WIDTH:
            raise ValueError(f"Operands of a MAC must have at most {MAX_WIDTH} bits, not {fmt.width} as {fmt.name}")
    return fa, fb


def _wide(accumulator: str) -> Format:
    if accumulator not in WIDE:
        raise ValueError(f"Accumulator must be one of {', '.join(ACCUMULATORS)}, not {accumulator!r}")
    return get(accumulator)


@cache
def exact(a_format: Format, b_format: Format, terms: int, scale_bits: int = 0) -> ExactAccumulator:
    """The fixed-point accumulator of a pair of formats."""
    return ExactAccumulator(a_format, b_format, terms, scale_bits)


def _products(
    fa: Format, fb: Format, a: ArrayLike, b: ArrayLike, scale: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Exact products (NaN for 0 * Inf) times their power of two, and the exclusive or of the sign bits."""
    left, right = as_codes(a, fa.width, f"Codes of {fa.name}"), as_codes(b, fb.width, f"Codes of {fb.name}")
    with np.errstate(invalid="ignore"):
        product = fa.values.take(left) * fb.values.take(right)
    sign = ((left & fa.sign_bit) != 0) ^ ((right & fb.sign_bit) != 0)
    if scale.ndim or scale:
        product = np.ldexp(product, scale)
        sign = np.broadcast_to(sign, product.shape)
    return product, sign


def _undefined(fa: Format, fb: Format, a: ArrayLike, b: ArrayLike) -> NDArray[np.bool_]:
    """Which products are 0 * Inf: NaN of two operands that are none."""
    left, right = fa.values.take(np.asarray(a)), fb.values.take(np.asarray(b))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.isnan(left * right) & ~np.isnan(left) & ~np.isnan(right))


def _odd_sum(acc: NDArray[np.float64], product: NDArray[np.float64]) -> NDArray[np.float64]:
    """The exact sum, rounded to odd."""
    with np.errstate(invalid="ignore"):
        total = acc + product
        odd: NDArray[np.float64] = np.where(np.isfinite(total), _round_to_odd(total, _two_sum_error(acc, product, total)), total)
    return odd


def _finished(
    target: Format, total: NDArray[np.float64], acc: NDArray[np.float64], product_sign: NDArray[np.bool_], bits: NDArray[Any]
) -> NDArray[Any]:
    """Bits of a sum that is rounded to odd."""
    with np.errstate(invalid="ignore"):
        codes = _pack(target, np.abs(total))  # rubbish where the sum is not finite
    finite = np.isfinite(total)
    sign = np.where(np.signbit(total), target.sign_bit, 0)
    if target.nan_keeps_sign:  # dlfloat16: one code for NaN and infinity, with the sign of what brought it in
        acc_sign = (bits & target.sign_bit) != 0
        assert target.canonical_nan is not None
        special_sign = np.where(np.where(np.isnan(acc), acc_sign, product_sign), target.sign_bit, 0)
        return np.where(finite, codes | sign, target.canonical_nan | special_sign).astype(target.code_dtype)
    assert target.infinity is not None
    assert target.canonical_nan is not None
    result = np.where(finite, codes, target.infinity) | sign
    return np.where(np.isnan(total), target.canonical_nan, result).astype(target.code_dtype)


def _two_sum_error(a: NDArray[np.float64], b: NDArray[np.float64], total: NDArray[np.float64]) -> NDArray[np.float64]:
    """What ``a + b`` lost when it was rounded to ``total`` (Knuth's two-sum)."""
    virtual = total - a
    return (a - (total - virtual)) + (b - virtual)


def _round_to_odd(total: NDArray[np.float64], error: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rounding to odd of ``total + error``, ``total`` being that sum's rounding to nearest."""
    pattern = total.view(np.int64)
    outwards = (error > 0) == (total > 0)
    step = np.where((error != 0) & (pattern & 1 == 0), np.where(outwards, 1, -1), 0)
    return (pattern + step).view(np.float64)


def _pack(target: Format, magnitude: NDArray[np.float64]) -> NDArray[np.int64]:
    """Magnitude bits of an accumulator format: nearest, ties to even (``dlfloat16``: away from zero, flushed below)."""
    normal = target.rows[-1]
    assert isinstance(normal.exponent, Biased)
    fraction_bits, bias = normal.fraction_bits, normal.exponent.bias
    dropped = 52 - fraction_bits  # of a binary64's pattern, whose exponent and fraction are those of the target, but for the bias
    pattern = magnitude.view(np.int64)
    offset = (1023 - bias) << fraction_bits
    if target.flush:
        assert target.canonical_nan is not None
        flushed: NDArray[np.int64] = np.clip(((pattern + (1 << (dropped - 1))) >> dropped) - offset, 0, target.canonical_nan)
        return flushed
    codes = ((pattern + ((1 << (dropped - 1)) - 1) + (pattern >> dropped & 1)) >> dropped) - offset
    subnormal = magnitude < 2.0 ** (1 - bias)
    if subnormal.any():
        multiples = np.rint(np.where(subnormal, magnitude, 0.0) * 2.0 ** (bias - 1 + fraction_bits)).astype(np.int64)
        codes = np.where(subnormal, multiples, codes)
    assert target.infinity is not None
    packed: NDArray[np.int64] = np.minimum(codes, target.infinity)
    return packed
