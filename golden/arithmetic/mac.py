"""The fused multiply-accumulate: the exact sum of an accumulator and a product, rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.arithmetic.aligned import aligned_sums
from golden.arithmetic.exact import DEFAULT_TERMS, exact_sums
from golden.arithmetic.options import SumOptions
from golden.arithmetic.sums import Products, odd_sum, pack, product_sums
from golden.bits import BLOCK, broadcast, check_shapes, one_lane
from golden.flags import of_sum
from golden.formats import Format
from golden.refusal import BadValue
from golden.wide import IEEE, POSITIVE, WideFormat, aligned_bits


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
        are those of :func:`golden.arithmetic.aligned.aligned_sums`, in bits of binary32.
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
    options = SumOptions.of(a_format, b_format, accumulator, terms, scale_bits, zero)
    return fused_sums(options, *one_lane(a, b), acc, scale)[0]


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
    options = SumOptions.of(a_format, b_format, accumulator, terms, scale_bits, zero, flags=True)
    return fused_sums(options, *one_lane(a, b), acc, scale)


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
        Codes of the scales of two blocks (:mod:`golden.arithmetic.blocks`), which take the place of ``2**scale``, so
        that ``scale`` must be 0 if it is given. A NaN makes the sum NaN. The accumulators ``aligned6`` to ``aligned40``
        take ``e8m0`` only, and ``exact`` takes none.
    scale_format : str or Format
        One of :data:`golden.arithmetic.blocks.SCALES`.

    Returns
    -------
    Bits of the accumulator. An exact zero sum is -0 if all addends are -0 and ``zero`` is ``ieee``, else +0. In
    ``dlfloat16``, NaN and infinity have the sign of the accumulator if it is NaN, else of the first product that is NaN
    or infinite.
    """
    options = SumOptions.of(a_format, b_format, accumulator, terms, scale_bits, zero)
    return fused_sums(options.with_scales(a_scale, b_scale, scale_format), a, b, acc, scale, a_scale, b_scale)[0]


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
    options = SumOptions.of(a_format, b_format, accumulator, terms, scale_bits, zero, flags=True)
    return fused_sums(options.with_scales(a_scale, b_scale, scale_format), a, b, acc, scale, a_scale, b_scale)


def fused_sums(
    options: SumOptions,
    a: ArrayLike,
    b: ArrayLike,
    acc: ArrayLike,
    scale: ArrayLike | None = None,
    a_scale: ArrayLike | None = None,
    b_scale: ArrayLike | None = None,
) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Add the products along the last axis to accumulators: bits, and flags, which are empty unless asked for."""
    fa, fb, flagged = options.a_format, options.b_format, options.has_flags
    left, right = broadcast(fa.as_codes(a, "a"), fb.as_codes(b, "b"))
    if left.ndim == 0 or left.shape[-1] == 0:
        raise BadValue("a", "and b must have a last axis with at least one product")
    if options.exact is not None:
        return exact_sums(options.exact, left, right, acc, scale, flagged=flagged)
    target, kept_bits = options.state, aligned_bits(options.accumulator)
    bits, factors = target.as_codes(acc, "acc"), options.factors(scale, a_scale, b_scale)
    scaled = {} if scale is None and options.block_scale is None else {"scale": factors.shape}
    shape, lanes = check_shapes(acc=bits.shape, a=left.shape[:-1], **scaled), left.shape[-1]
    left, right = (np.broadcast_to(array, (*shape, lanes)).reshape(-1, lanes) for array in (left, right))
    before = np.broadcast_to(bits, shape).reshape(-1)
    factors = np.broadcast_to(factors, shape).reshape(-1)
    sums, flags = np.empty(before.shape, target.code_dtype), np.empty(before.shape if flagged else 0, np.uint8)
    for start in range(0, before.size, BLOCK):
        block = slice(start, start + BLOCK)
        products, state = Products(fa, fb, left[block], right[block], factors[block]), before[block]
        if kept_bits is not None:
            sums[block] = aligned_sums(products, state, kept_bits)
        if kept_bits is None or flagged:
            parts = product_sums(fa, fb, products.left, products.right, options.spare_bits)
            with np.errstate(invalid="ignore"):  # 0 * Inf
                if scaled:
                    parts *= products.factors
            values = target.numbers(state)
            total = odd_sum(values, parts, options.lsb_exponent)
        if kept_bits is None:
            sums[block] = pack(target, total, _negative(products, target, state, values, total))
        if options.zero == POSITIVE:
            sums[block] = np.where(sums[block] == target.sign_bit, 0, sums[block])
        if flagged:
            flags[block] = _flags(products, target, state, total, sums[block])
    return sums.reshape(shape), flags.reshape(shape) if flagged else flags


def _negative(
    products: Products,
    target: WideFormat,
    before: NDArray[Any],
    values: NDArray[np.float64],
    total: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """The signs of sums; ``before`` and ``values`` are the accumulators."""
    negative = np.signbit(total)
    zero = np.flatnonzero((total == 0) & (before == target.sign_bit))  # -0 if all products are -0, too
    if zero.size:
        negative[zero] = np.signbit(products.rows(zero).exact()).all(axis=0)
    if target.nan_keeps_sign:  # the sign of the accumulator, else that of the first lane with a special product
        special = np.flatnonzero(~np.isfinite(total))
        few = products.rows(special)
        first = np.argmax(~np.isfinite(few.exact()), axis=0)
        of_product = few.signs()[np.arange(special.size), first]
        negative[special] = np.where(np.isnan(values[special]), before[special] & target.sign_bit != 0, of_product)
    return negative


def _flags(
    products: Products, target: WideFormat, before: NDArray[Any], total: NDArray[np.float64], after: NDArray[Any]
) -> NDArray[np.uint8]:
    """Flags of sums. Products are looked at only if the sum is not finite; all others are as if there were none."""
    none = np.empty((total.size, 0))
    flags = of_sum(target, before, none, none.astype(np.bool_), total, after)
    special = np.flatnonzero(~np.isfinite(total))
    few = products.rows(special)
    flags[special] = of_sum(target, before[special], few.exact().T, few.undefined(), total[special], after[special])
    return flags
