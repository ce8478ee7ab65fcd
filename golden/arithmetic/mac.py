"""The fused multiply-accumulate: the exact sum of an accumulator and a product, rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.arithmetic.aligned import aligned_sums
from golden.arithmetic.bulk import bulk_sums
from golden.arithmetic.exact import DEFAULT_TERMS, exact_sums
from golden.arithmetic.options import SumOptions
from golden.arithmetic.sums import Products, odd_sum, pack, product_sums
from golden.bits import BLOCK, as_codes, broadcast, check_shapes, one_lane
from golden.flags import of_sum
from golden.formats import Format
from golden.options import target_options
from golden.refusal import BadValue
from golden.rounding import codes_of
from golden.rows import DEFAULT_RANDOM_BITS, Rounding
from golden.wide import IEEE, POSITIVE, RVBNA, WideFormat, aligned_bits, check_bulk_lanes


def mac(
    a: ArrayLike,
    b: ArrayLike,
    acc: ArrayLike | None,
    a_format: str | Format = "hif8",
    b_format: str | Format | None = None,
    accumulator: str = "binary16",
    terms: int = DEFAULT_TERMS,
    scale: ArrayLike | None = None,
    scale_bits: int = 0,
    zero: str = IEEE,
    *,
    accumulator_rounding: str | None = None,
    random: ArrayLike | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
    accumulator_overflow: str | None = None,
    daz: str | None = None,
    ftz: str | None = None,
) -> NDArray[Any]:
    """``round(acc + a * b * 2**scale)``, rounded once (specification, section 2, "Fused MAC").

    Parameters
    ----------
    a, b : unsigned integers
        Codes; ``a``, ``b`` and ``acc`` are broadcast against each other.
    acc : unsigned integers, or None
        Bits of the accumulator; for ``exact``, uint64 limbs on an additional last axis, little end first. None adds
        nothing: the products' sum alone is rounded, to the format that ``accumulator`` names.
    a_format, b_format : str or Format
        ``b_format`` defaults to ``a_format``.
    accumulator : str
        ``binary16``, ``bfloat16``, ``binary32``, ``dlfloat16``, ``exact``; or, in bits of binary32, ``rvbna`` or
        ``aligned6`` to ``aligned40``, whose sums are those of :func:`golden.arithmetic.bulk.bulk_sums` and
        :func:`golden.arithmetic.aligned.aligned_sums`.
    terms : int
        Number of products that an ``exact`` accumulator can sum.
    scale : integers, optional
        Products are multiplied by ``2**scale``: a scale of tensors, blocks (OCP MX's E8M0) or exponent biases.
    scale_bits : int
        Bits of ``scale`` in two's complement, up to 10; 0 without a scale.
    zero : str
        Sign of a zero result: ``ieee``, as IEEE 754 has it; or ``positive``, always +0, as IEEE P3109 has it (draft
        4.0, section 4.8.2). The zero of an ``exact`` accumulator has no sign, so it takes ``ieee`` only.
    accumulator_rounding : str, optional
        ``stochastic`` rounds sums into ``binary16``, ``bfloat16`` or ``dlfloat16`` as encoders to these formats do
        (specification, section 0), instead of to the nearest. ``toward_zero`` truncates sums into ``binary16``,
        ``bfloat16`` or ``binary32``. This and the last three parameters are variants of other people's hardware.
    random : unsigned integers, in the broadcast shape
        Random words below ``2**random_bits``; required by ``stochastic``, refused otherwise.
    random_bits : int
        1 to 32.
    accumulator_overflow : str, optional
        What finite sums become that overflow: ``infinity``, or ``saturate``, the largest number of their sign. By
        default to the nearest infinity, and toward zero the largest number, as IEEE 754 has it. Toward zero, sums from
        the next power of two on become infinity.
    daz : str, optional
        "Denormals are zeros": subnormals of ``codes`` (``a`` and ``b``), of the ``accumulator``, or of ``all`` of them
        are replaced by the zero of their sign, or the only one of their format.
    ftz : str, optional
        "Flush to zero": results that are tiny become the zero of their sign, ``before_rounding`` all sums below the
        smallest normal number, ``after_rounding`` those that are below it rounded with unbounded exponents.

    Returns
    -------
    Bits of the accumulator, in the broadcast shape.
    """
    options = SumOptions.of(a_format, b_format, accumulator, terms, scale_bits, zero)
    options = options.with_rounding(accumulator_rounding, random_bits).with_variant(accumulator_overflow, daz, ftz)
    return fused_sums(options, *one_lane(a, b), acc, scale, random=random)[0]


def mac_with_flags(
    a: ArrayLike,
    b: ArrayLike,
    acc: ArrayLike | None,
    a_format: str | Format = "hif8",
    b_format: str | Format | None = None,
    accumulator: str = "binary16",
    terms: int = DEFAULT_TERMS,
    scale: ArrayLike | None = None,
    scale_bits: int = 0,
    zero: str = IEEE,
    *,
    accumulator_rounding: str | None = None,
    random: ArrayLike | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """:func:`mac` with status flags.

    Returns
    -------
    bits, flags
        Flags are uint8 words of :class:`golden.Flag`, see :func:`golden.flags.of_sum`. An ``exact`` accumulator
        overflows if the sum does not fit, and is never inexact.
    """
    options = SumOptions.of(a_format, b_format, accumulator, terms, scale_bits, zero, flags=True)
    options = options.with_rounding(accumulator_rounding, random_bits)
    return fused_sums(options, *one_lane(a, b), acc, scale, random=random)


def fused_dot(
    a: ArrayLike,
    b: ArrayLike,
    acc: ArrayLike | None,
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
    *,
    accumulator_rounding: str | None = None,
    random: ArrayLike | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
    accumulator_overflow: str | None = None,
    daz: str | None = None,
    ftz: str | None = None,
) -> NDArray[Any]:
    """``round(acc + 2**scale * sum of a * b along the last axis)``, rounded once.

    Parameters that are not listed are those of :func:`mac`, which equals a fused dot product of one lane.

    Parameters
    ----------
    a, b : unsigned integers, shape (..., lanes)
        Codes; each lane is one of the ``terms`` of an ``exact`` accumulator. ``rvbna`` needs a power of two of lanes,
        up to 16,384.
    acc : unsigned integers, shape (...), or None
        Bits of the accumulator, as in :func:`mac`.
    scale : integers, shape (...), optional
        One scale for all products of a sum.
    a_scale, b_scale : unsigned integers, shape (...), optional
        Codes of the scales of two blocks (:mod:`golden.arithmetic.blocks`), which take the place of ``2**scale``, so
        that ``scale`` must be 0 if it is given. A NaN makes the sum NaN. The accumulators ``rvbna`` and ``aligned6`` to
        ``aligned40`` take ``e8m0`` only, and ``exact`` takes none.
    scale_format : str or Format
        One of :data:`golden.arithmetic.blocks.SCALES`.

    Returns
    -------
    Bits of the accumulator. An exact zero sum is -0 if all addends are -0 and ``zero`` is ``ieee``, else +0. In
    ``dlfloat16``, NaN and infinity have the sign of the accumulator if it is NaN, else of the first product that is NaN
    or infinite.
    """
    options = SumOptions.of(a_format, b_format, accumulator, terms, scale_bits, zero)
    options = options.with_rounding(accumulator_rounding, random_bits).with_variant(accumulator_overflow, daz, ftz)
    options = options.with_scales(a_scale, b_scale, scale_format)
    return fused_sums(options, a, b, acc, scale, a_scale, b_scale, random=random)[0]


def fused_dot_with_flags(
    a: ArrayLike,
    b: ArrayLike,
    acc: ArrayLike | None,
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
    *,
    accumulator_rounding: str | None = None,
    random: ArrayLike | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """:func:`fused_dot` with status flags, as in :func:`mac_with_flags`."""
    options = SumOptions.of(a_format, b_format, accumulator, terms, scale_bits, zero, flags=True)
    options = options.with_rounding(accumulator_rounding, random_bits).with_scales(a_scale, b_scale, scale_format)
    return fused_sums(options, a, b, acc, scale, a_scale, b_scale, random=random)


def fused_sums(
    options: SumOptions,
    a: ArrayLike,
    b: ArrayLike,
    acc: ArrayLike | None,
    scale: ArrayLike | None = None,
    a_scale: ArrayLike | None = None,
    b_scale: ArrayLike | None = None,
    *,
    random: ArrayLike | None = None,
) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Add the products along the last axis to accumulators: bits, and flags, which are empty unless asked for."""
    fa, fb, flagged = options.a_format, options.b_format, options.has_flags
    left, right = options.flushed(*broadcast(fa.as_codes(a, "a"), fb.as_codes(b, "b")))
    if left.ndim == 0 or left.shape[-1] == 0:
        raise BadValue("a", "and b must have a last axis with at least one product")
    lanes = options.unit_lanes or left.shape[-1]
    check_bulk_lanes("a", options.accumulator, lanes, "and b must have a number of products that is")
    if options.exact is not None:
        random_words(options, random, ())
        acc = options.exact.zeros() if acc is None else acc
        return exact_sums(options.exact, left, right, acc, scale, flagged=flagged)
    target, kept_bits = options.state, aligned_bits(options.accumulator)
    bits = options.flushed_state(target.as_codes(target.sign_bit if acc is None else acc, "acc"))  # -0 + x = x
    factors = options.factors(scale, a_scale, b_scale)
    scaled = {} if scale is None and options.block_scale is None else {"scale": factors.shape}
    shape, depth = check_shapes(acc=bits.shape, a=left.shape[:-1], **scaled), left.shape[-1]
    words = random_words(options, random, shape).reshape(-1)
    left, right = (np.broadcast_to(array, (*shape, depth)).reshape(-1, depth) for array in (left, right))
    before = np.broadcast_to(bits, shape).reshape(-1)
    factors = np.broadcast_to(factors, shape).reshape(-1)
    sums, flags = np.empty(before.shape, target.code_dtype), np.empty(before.shape if flagged else 0, np.uint8)
    for start in range(0, before.size, BLOCK):
        block = slice(start, start + BLOCK)
        products, state = Products(fa, fb, left[block], right[block], factors[block]), before[block]
        if options.accumulator == RVBNA:
            sums[block], word = bulk_sums(products, state, lanes)
            if flagged:
                flags[block] = word
            continue
        if kept_bits is not None:
            sums[block] = _with_zeros(options, aligned_sums(products, state, kept_bits))
        if kept_bits is None or flagged:
            parts = product_sums(fa, fb, products.left, products.right, options.spare_bits)
            with np.errstate(invalid="ignore"):  # 0 * Inf
                if scaled:
                    parts *= products.factors
            values = target.numbers(state)
            total = odd_sum(values, parts, options.lsb_exponent)
        if kept_bits is None:
            sums[block] = _rounded(options, total, _negative(products, target, state, values, total), words[block])
        if flagged:
            flags[block] = _flags(products, target, state, total, sums[block])
    return sums.reshape(shape), flags.reshape(shape) if flagged else flags


def added(
    options: SumOptions, acc: NDArray[Any], addend: NDArray[Any], random: ArrayLike | None = None
) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Bits and flags of ``acc + addend``, both in the state's format of one shape: rounded as a product of the addend.

    Accumulators whose state is binary32 round this sum to the nearest, ties to even.
    """
    target, acc, addend = options.state, options.flushed_state(acc), options.flushed_state(addend)
    values, other = target.numbers(acc), target.numbers(addend)
    total = odd_sum(values, other[np.newaxis], options.lsb_exponent)
    negative = np.signbit(total)
    if target.nan_keeps_sign:
        sign = np.where(np.isnan(values), acc, addend) & target.sign_bit != 0
        negative = np.where(np.isnan(total), sign, negative)
    sums = _rounded(options, total, negative, random_words(options, random, acc.shape))
    if not options.has_flags:
        return sums, np.empty(0, np.uint8)
    addends = other[..., np.newaxis]
    return sums, of_sum(target, acc, addends, np.zeros(addends.shape, np.bool_), total, sums)


def random_words(options: SumOptions, random: ArrayLike | None, shape: tuple[int, ...]) -> NDArray[Any]:
    """Checked random words of stochastic accumulators; an empty array for others, which refuse words."""
    if options.random_bits is None:
        if random is not None:
            raise BadValue("random", "must be given with accumulator_rounding 'stochastic' only")
        return np.empty(0, np.uint32)
    if random is None:
        raise BadValue("random", f"must be given with accumulator_rounding 'stochastic', in the shape {shape}")
    words = as_codes("random", random, options.random_bits)
    if words.shape != shape:
        raise BadValue("random", f"must have the shape {shape}, not {words.shape}")
    return words


def _rounded(
    options: SumOptions, total: NDArray[np.float64], negative: NDArray[np.bool_], words: NDArray[Any]
) -> NDArray[Any]:
    """Bits of sums that were rounded to odd before.

    Of stochastic roundings, too, these are those of the exact sums: all thresholds are numbers of at most 11 + 32 bits.
    """
    target, random_bits = options.state, options.random_bits
    if random_bits is None:
        below, rules = options.flush_below, {"truncates": options.truncates, "saturates": options.saturates}
        bits = pack(target, total, negative, flush_below=below, **rules)
    else:
        rule = target_options(target, Rounding.STOCHASTIC)
        bits = codes_of(target, total, negative, rule, 2.0**random_bits - words.astype(np.float64), random_bits)
    return _with_zeros(options, bits)


def _with_zeros(options: SumOptions, bits: NDArray[Any]) -> NDArray[Any]:
    return np.where(bits == options.state.sign_bit, 0, bits) if options.zero == POSITIVE else bits


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
