"""The fused multiply-accumulate: the exact sum of an accumulator and a product, rounded once.

Products of two codes are exact in binary64. Their sum with an accumulator is rounded to odd in binary64 (Boldo and
Melquiond, 2008), so that the following rounding to at most 24 bits equals the rounding of the exact sum.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from golden.aligned import aligned_sums
from golden.bits import BLOCK, as_array, broadcast, check_shapes
from golden.blocks import BlockScales, block_scales
from golden.exact import DEFAULT_TERMS, MAX_TERMS, ExactAccumulator, as_scale, operand, scale_range
from golden.fixed import add, rounded_to_odd
from golden.flags import of_sum
from golden.formats import Format
from golden.refusal import BadValue, check_integer
from golden.wide import IEEE, POSITIVE, WideFormat, aligned_bits, check_accumulator, check_zero, state_format

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def mac(
    a: ArrayLike,
    b: ArrayLike,
    acc: ArrayLike,
    a_format: str | Format = "hif8",
    b_format: str | Format | None = None,
    accumulator: str = "binary16",
    terms: int = DEFAULT_TERMS,
    scale: ArrayLike | None = None,
    scale_bits: int = 0,
    zero: str = IEEE,
) -> NDArray[Any]:
    """``round(acc + a * b * 2**scale)``, rounded once (specification, section 2, "Fused MAC").

    Parameters
    ----------
    a, b : unsigned integers
        Codes; ``a``, ``b`` and ``acc`` are broadcast against each other.
    acc : unsigned integers
        Bits of the accumulator; for ``exact``, uint64 limbs on an additional last axis, little end first.
    a_format, b_format : str or Format
        ``b_format`` defaults to ``a_format``.
    accumulator : str
        ``binary16``, ``bfloat16``, ``binary32``, ``dlfloat16``, ``exact``, or ``aligned6`` to ``aligned40``, whose sums
        are those of :func:`golden.aligned.aligned_sums`, in bits of binary32.
    terms : int
        Number of products that an ``exact`` accumulator can sum.
    scale : integers, optional
        Products are multiplied by ``2**scale``: a scale of tensors, blocks (OCP MX's E8M0) or exponent biases.
    scale_bits : int
        Bits of ``scale`` in two's complement, up to 10; 0 without a scale.
    zero : str
        Sign of a zero result: ``ieee``, as IEEE 754 has it; or ``positive``, always +0, as IEEE P3109 has it (draft
        4.0, section 4.8.2). The zero of an ``exact`` accumulator has no sign, so it takes ``ieee`` only.

    Returns
    -------
    Bits of the accumulator, in the broadcast shape.
    """
    a, b = _one_lane(a, b)
    return _sums(a, b, acc, a_format, b_format, accumulator, terms, scale, scale_bits, zero)[0]


def mac_with_flags(
    a: ArrayLike,
    b: ArrayLike,
    acc: ArrayLike,
    a_format: str | Format = "hif8",
    b_format: str | Format | None = None,
    accumulator: str = "binary16",
    terms: int = DEFAULT_TERMS,
    scale: ArrayLike | None = None,
    scale_bits: int = 0,
    zero: str = IEEE,
) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """:func:`mac` with status flags.

    Returns
    -------
    bits, flags
        Flags are uint8 words of :class:`golden.Flag`, see :func:`golden.flags.of_sum`. An ``exact`` accumulator
        overflows if the sum does not fit, and is never inexact.
    """
    a, b = _one_lane(a, b)
    return _sums(a, b, acc, a_format, b_format, accumulator, terms, scale, scale_bits, zero, flagged=True)


def fused_dot(
    a: ArrayLike,
    b: ArrayLike,
    acc: ArrayLike,
    a_format: str | Format = "hif8",
    b_format: str | Format | None = None,
    accumulator: str = "binary16",
    terms: int = DEFAULT_TERMS,
    scale: ArrayLike | None = None,
    scale_bits: int = 0,
    zero: str = IEEE,
    a_scale: ArrayLike | None = None,
    b_scale: ArrayLike | None = None,
    scale_format: str | Format = "e8m0",
) -> NDArray[Any]:
    """``round(acc + 2**scale * sum of a * b along the last axis)``, rounded once.

    Parameters that are not listed are those of :func:`mac`, which equals a fused dot product of one lane.

    Parameters
    ----------
    a, b : unsigned integers, shape (..., lanes)
        Codes; each lane is one of the ``terms`` of an ``exact`` accumulator.
    acc : unsigned integers, shape (...)
        Bits of the accumulator, as in :func:`mac`.
    scale : integers, shape (...), optional
        One scale for all products of a sum.
    a_scale, b_scale : unsigned integers, shape (...), optional
        Codes of the scales of two blocks (:mod:`golden.blocks`), which take the place of ``2**scale``. A NaN makes the
        sum NaN. The accumulators ``aligned6`` to ``aligned40`` take ``e8m0`` only, and ``exact`` takes none.
    scale_format : str or Format
        One of :data:`golden.blocks.SCALES`.

    Returns
    -------
    Bits of the accumulator. An exact zero sum is -0 if all addends are -0 and ``zero`` is ``ieee``, else +0. In
    ``dlfloat16``, NaN and infinity have the sign of the accumulator if it is NaN, else of the first product that is NaN
    or infinite.
    """
    blocks = a_scale, b_scale, scale_format
    return _sums(a, b, acc, a_format, b_format, accumulator, terms, scale, scale_bits, zero, blocks)[0]


def fused_dot_with_flags(
    a: ArrayLike,
    b: ArrayLike,
    acc: ArrayLike,
    a_format: str | Format = "hif8",
    b_format: str | Format | None = None,
    accumulator: str = "binary16",
    terms: int = DEFAULT_TERMS,
    scale: ArrayLike | None = None,
    scale_bits: int = 0,
    zero: str = IEEE,
    a_scale: ArrayLike | None = None,
    b_scale: ArrayLike | None = None,
    scale_format: str | Format = "e8m0",
) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """:func:`fused_dot` with status flags, as in :func:`mac_with_flags`."""
    blocks = a_scale, b_scale, scale_format
    return _sums(a, b, acc, a_format, b_format, accumulator, terms, scale, scale_bits, zero, blocks, flagged=True)


def dot(
    a: ArrayLike,
    b: ArrayLike,
    a_format: str | Format = "hif8",
    b_format: str | Format | None = None,
    accumulator: str = "binary16",
    terms: int | None = None,
    zero: str = IEEE,
) -> NDArray[Any]:
    """Chain :func:`mac` along the last axis of ``a`` and ``b``, in order, starting from an accumulator of +0.

    ``terms`` defaults to the length of that axis. The result, bits of the accumulator, does not have that axis.
    """
    fa, fb = _operands(a_format, b_format)
    left, right = broadcast(fa.as_codes(a, "a"), fb.as_codes(b, "b"))
    if left.ndim == 0:
        raise BadValue("a", "or b must have an axis to accumulate along")
    shape, length = left.shape[:-1], left.shape[-1]
    terms = max(length, 1) if terms is None else terms
    accumulator = check_accumulator(accumulator)
    if accumulator == "exact":
        total: NDArray[Any] = exact(fa, fb, terms).zeros(shape)
    else:
        total = np.zeros(shape, state_format(accumulator).code_dtype)
    for k in range(length):
        lane = slice(k, k + 1)
        total, _ = _sums(left[..., lane], right[..., lane], total, fa, fb, accumulator, terms, zero=zero)
    return total


def _one_lane(a: ArrayLike, b: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    first, second = as_array("a", a), as_array("b", b)
    check_shapes(a=first.shape, b=second.shape)
    return first[..., np.newaxis], second[..., np.newaxis]


def _operands(a_format: str | Format, b_format: str | Format | None) -> tuple[Format, Format]:
    fa = operand("a_format", a_format)
    return fa, fa if b_format is None else operand("b_format", b_format)


@lru_cache(maxsize=None, typed=True)  # 1024.0 is not 1024: it is refused
def exact(a_format: Format, b_format: Format, terms: int, scale_bits: int = 0) -> ExactAccumulator:
    """The ``exact`` accumulator of two formats, cached."""
    return ExactAccumulator(a_format, b_format, terms, scale_bits)


def _sums(
    a: ArrayLike,
    b: ArrayLike,
    acc: ArrayLike,
    a_format: str | Format,
    b_format: str | Format | None,
    accumulator: str,
    terms: int,
    scale: ArrayLike | None = None,
    scale_bits: int = 0,
    zero: str = IEEE,
    blocks: tuple[ArrayLike | None, ArrayLike | None, str | Format] = (None, None, "e8m0"),
    *,
    flagged: bool = False,
) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Add the products along the last axis to accumulators: bits and flags; flags are empty unless ``flagged``."""
    fa, fb = _operands(a_format, b_format)
    left, right = broadcast(fa.as_codes(a, "a"), fb.as_codes(b, "b"))
    if left.ndim == 0 or left.shape[-1] == 0:
        raise BadValue("a", "and b must have a last axis with at least one product")
    terms = check_integer("terms", terms, 1, MAX_TERMS)
    accumulator = check_accumulator(accumulator)
    positive = check_zero(zero, accumulator) == POSITIVE
    scales = _block_scales(fa, fb, accumulator, blocks, scale_bits)
    if accumulator == "exact":
        unit = exact(fa, fb, terms, scale_bits)
        state: NDArray[Any] = np.asarray(acc)
        for lane in range(left.shape[-1]):
            state = unit.accumulate(left[..., lane], right[..., lane], state, scale)
        return state, unit.flags(left, right, acc, scale) if flagged else np.empty(0, np.uint8)
    target, kept_bits = state_format(accumulator), aligned_bits(accumulator)
    powers = as_scale(fa, fb, scale, scale_bits) if scales is None else scales.powers
    factors = powers if scales is None else scales.factors
    products, signs, undefined = _products(fa, fb, left, right, factors[..., np.newaxis])
    bits = target.as_codes(acc, "acc")
    scaled = {} if scale is None and scales is None else {"scale": powers.shape}
    shape, lanes = check_shapes(acc=bits.shape, a=products.shape[:-1], **scaled), products.shape[-1]
    columns: list[NDArray[Any]] = [products, signs, undefined, left, right]
    columns = [np.broadcast_to(array, (*shape, lanes)).reshape(-1, lanes) for array in columns]
    before = np.broadcast_to(bits, shape).reshape(-1)
    moves = np.broadcast_to(powers, shape if kept_bits is not None else powers.shape).reshape(-1, 1)
    sums, flags = np.empty(before.shape, target.code_dtype), np.empty(before.shape if flagged else 0, np.uint8)
    lowest = scale_range(scale_bits)[0] if scales is None else 2 * scales.fmt.ulp_exponent
    lsb_exponent = min(fa.ulp_exponent + fb.ulp_exponent + lowest, target.ulp_exponent)
    for start in range(0, before.size, BLOCK):
        block = slice(start, start + BLOCK)
        product, sign, is_undefined, first, second = (array[block] for array in columns)
        values = target.decode(before[block])
        if kept_bits is not None and not flagged:  # only whether the sum is infinite or NaN matters
            with np.errstate(invalid="ignore"):
                total = values + product.sum(axis=-1)
        else:
            total = _odd_sum(values, product[:, 0]) if lanes == 1 else _odd_sum_of_many(values, product, lsb_exponent)
        sums[block] = _rounded(target, before[block], values, product, sign, total)
        if kept_bits is not None:
            finite = np.isfinite(total)
            aligned = aligned_sums(fa, fb, first, second, moves[block], before[block], kept_bits)
            sums[block] = np.where(finite, aligned, sums[block])
        if positive:
            sums[block] = np.where(sums[block] == target.sign_bit, 0, sums[block])
        if flagged:
            flags[block] = of_sum(target, before[block], product, is_undefined, total, sums[block])
    return sums.reshape(shape), flags.reshape(shape) if flagged else flags


def _rounded(
    target: WideFormat,
    before: NDArray[Any],
    values: NDArray[np.float64],
    products: NDArray[np.float64],
    signs: NDArray[np.bool_],
    total: NDArray[np.float64],
) -> NDArray[Any]:
    """Bits of sums that are rounded to odd; ``before`` and ``values`` are the accumulators."""
    negative = np.signbit(total)
    if target.nan_keeps_sign:  # the sign of the accumulator, else that of the first lane with a special product
        special = np.flatnonzero(~np.isfinite(total))
        product_sign = signs[special, np.argmax(~np.isfinite(products[special]), axis=-1)]
        acc_sign = before[special] & target.sign_bit != 0
        negative[special] = np.where(np.isnan(values[special]), acc_sign, product_sign)
    return _pack(target, total, negative)


def _block_scales(
    fa: Format,
    fb: Format,
    accumulator: str,
    blocks: tuple[ArrayLike | None, ArrayLike | None, str | Format],
    scale_bits: int,
) -> BlockScales | None:
    a_scale, b_scale, name = blocks
    scales = block_scales(fa, fb, accumulator, name, a_scale, b_scale)
    if scales is not None and scale_bits:
        raise BadValue("scale_bits", "must be 0 with the scales of blocks")
    return scales


def _products(
    fa: Format, fb: Format, left: NDArray[Any], right: NDArray[Any], scale: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Exact scaled products, the exclusive or of the sign bits, and which products are 0 * Inf.

    Scales are exponents of powers of two, or factors as floats.
    """
    first, second = fa.values.take(left), fb.values.take(right)
    is_factor = scale.dtype.kind == "f"
    with np.errstate(invalid="ignore"):
        product = first * second * scale if is_factor else first * second
    undefined = np.isnan(product) & ~np.isnan(first) & ~np.isnan(second)
    if is_factor:
        undefined &= ~np.isnan(scale)
    sign = ((left & fa.sign_bit) != 0) ^ ((right & fb.sign_bit) != 0)
    return product if is_factor or not scale.any() else np.ldexp(product, scale), sign, undefined


def _odd_sum(acc: NDArray[np.float64], product: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum rounded to odd: where Knuth's two-sum has an error, an even pattern moves by 1 towards the exact sum."""
    with np.errstate(invalid="ignore"):
        total = acc + product
        virtual = total - acc
        error = (acc - (total - virtual)) + (product - virtual)
    pattern = total.view(np.int64)
    outwards = (error > 0) == (total > 0)
    step = np.where((error != 0) & (pattern & 1 == 0), np.where(outwards, 1, -1), 0)
    odd: NDArray[np.float64] = np.where(np.isfinite(total), (pattern + step).view(np.float64), total)
    return odd


def _odd_sum_of_many(acc: NDArray[np.float64], products: NDArray[np.float64], lsb_exponent: int) -> NDArray[np.float64]:
    """The sum with all products on the last axis rounded to odd, in fixed point: multiples of ``2**lsb_exponent``."""
    addends = np.stack([acc, *products.T])
    finite = np.isfinite(addends)
    fraction, exponent = np.frexp(np.where(finite, np.abs(addends), 0.0))
    magnitude, shift = np.ldexp(fraction, 53).astype(np.uint64), exponent.astype(np.int64) - 53 - lsb_exponent
    negative = np.signbit(addends)
    limbs = max(int(exponent.max()) - lsb_exponent + len(addends).bit_length() + 1, 1) // 64 + 1
    state = np.zeros((*addends.shape[1:], limbs), np.uint64)
    for addend in zip(magnitude, shift, negative, strict=True):
        state = add(state, *addend)
    total = rounded_to_odd(state, lsb_exponent)
    total = np.where((total == 0) & negative.all(axis=0), -0.0, total)
    with np.errstate(invalid="ignore"):
        specials = np.where(finite, 0.0, addends).sum(axis=0)
    return np.where(np.isfinite(specials), total, specials)


def _pack(target: WideFormat, total: NDArray[np.float64], negative: NDArray[np.bool_]) -> NDArray[Any]:
    """Round sums, rounded to odd before, to bits: ties to even; in ``dlfloat16`` ties away from zero, and flushed."""
    magnitude = np.abs(total)
    fraction_bits, bias = target.fraction_bits, target.bias
    dropped = 52 - fraction_bits  # bits of a binary64 pattern; with another bias, the others are the target's
    pattern = magnitude.view(np.int64)
    below_half = (1 << (dropped - 1)) - 1
    ties_up = 1 if target.flush else pattern >> dropped & 1
    codes = ((pattern + below_half + ties_up) >> dropped) - ((1023 - bias) << fraction_bits)
    subnormal = magnitude < target.smallest_normal
    if target.has_subnormals and subnormal.any():
        multiples = np.rint(np.where(subnormal, magnitude, 0.0) * 2.0**-target.ulp_exponent).astype(np.int64)
        codes = np.where(subnormal, multiples, codes)
    codes = np.clip(codes, 0, target.largest_code + 1)  # infinity, or dlfloat16's NaN-or-infinity
    packed: NDArray[Any] = codes | np.where(negative, target.sign_bit, 0)
    if not target.nan_keeps_sign:
        assert target.canonical_nan is not None
        packed = np.where(np.isnan(total), target.canonical_nan, packed)
    return packed.astype(target.code_dtype)
