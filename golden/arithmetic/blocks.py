"""Blocks: elements that share a scale, as in OCP's MX formats and NVFP4 (specification, section 11)."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, isqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.arithmetic.exact import check_range, operand
from golden.bits import BLOCK, as_array, check_shapes
from golden.catalog import get
from golden.encode import bits_of, random_words
from golden.formats import Format
from golden.names import check_name
from golden.options import Options, options, target_options
from golden.refusal import BadValue, check_choice, check_integer, check_number, shown
from golden.rounding import codes_of, thresholds
from golden.rows import DEFAULT_RANDOM_BITS, Family, Rounding
from golden.wide import wide

SCALES = ("e8m0", "ue4m3", "ue5m3", "Binary8p1uf")
"""Formats of scales."""

POLICIES = FLOOR, CEIL, RCEIL, EVEN, NEAREST = "floor", "ceil", "rceil", "even", "nearest"
"""How the logarithm of a block's largest magnitude becomes the exponent of its scale.

Each is a threshold: from which significand of the largest magnitude on the exponent is one more than with ``floor``.

``floor``
    Never. OCP MX 1.0, section 6.3; torchao's FLOOR. The largest number may saturate.
``ceil``
    Above 1: no number is beyond the largest power of two among the elements. torchao's CEIL.
``rceil``
    Above the significand of the largest element (1.5 for e2m1, 1.75 for E4M3): the smallest scale with which no number
    is beyond the largest element. cuBLAS, TransformerEngine, FlashInfer; torchao's RCEIL. The quotient is exact here;
    libraries that multiply by a rounded reciprocal may choose the next scale for numbers next to the threshold.
``even``
    From where the significand, rounded half up to the fraction bits of the elements, is 2 (1.75 for e2m1, 1.9375 for
    E4M3). AMD Quark's and torchao's EVEN.
``nearest``
    From √2 on: the logarithm, rounded to the nearest integer. No published policy.
"""

MX = ("ocp_e4m3", "ocp_e5m2", "e3m2", "e2m3", "e2m1")
"""Formats of the elements of OCP's MX formats, whose standard has the policy ``floor``."""

_POWERS = ("e8m0", "Binary8p1uf")
"""Formats of scales whose numbers are powers of two."""


def element_options(
    argument: str, fmt: Format, source: str | Format = "binary32", rounding: str | None = None
) -> Options:
    """How the elements of blocks are rounded; they saturate. Refuse formats that elements cannot have."""
    if len(fmt.members) > 1 or not fmt.signed:
        raise BadValue(argument, f"must be one format with a sign, not {fmt.name!r}")
    if isinstance(rounding, str) and rounding == Rounding.MPTORCH:
        raise BadValue("rounding", "must not be 'mptorch', which has overflow become infinity: elements saturate")
    return options(fmt, source, rounding, "saturate")


def element_exponent(fmt: Format, center: int | None = None) -> int:
    """Exponent of the elements' binade to which a power of two scales a block's largest magnitude.

    By default it is the largest of the binades with the most significant bits, so that of the largest element unless
    precision tapers.
    """
    if center is None:
        return int(np.frexp(fmt.largest_precise)[1]) - 1
    return check_integer("center", center, *fmt.exponent_range)


def default_policy(fmt: Format) -> str:
    """``floor`` for elements of OCP's formats; ``rceil`` for others, with which Gaussian data lose at most 0.1 dB."""
    return FLOOR if fmt.name in MX else RCEIL


def first_rounded_up(policy: str, fmt: Format, bits: int, center: int | None = None) -> int:
    """The smallest significand in [1, 2) whose exponent a policy raises by one, in units of 2**-bits.

    It is 2**(bits + 1) if the policy raises the exponent of no significand with this many fraction bits.
    """
    exponent = element_exponent(fmt, center)
    peak = fmt.largest_in_binade(exponent)
    one, two = 1 << bits, 2 << bits
    match policy:
        case "ceil":
            return one + 1
        case "rceil":
            return int(np.ldexp(peak, bits - exponent)) + 1
        case "even":  # half a unit of the elements' last fraction bit below 2
            unit = fmt.quanta(fmt.magnitude_codes[fmt.magnitudes == peak])[0]
            return two - int(np.ldexp(unit, bits - exponent - 1))
        case "nearest":
            return isqrt(2 * one * one) + 1  # √2 is irrational
    return two


def scales_named(name: str | Format, argument: str = "scale_format") -> Format:
    """The format of scales of this name; refuse any that is not in :data:`SCALES`."""
    if isinstance(name, Format):
        name = name.name
    known = {scale.lower(): scale for scale in SCALES}
    word = known.get(name.lower(), name) if isinstance(name, str) else name
    return get(check_name(argument, word, SCALES))


def quantize_block(
    x: ArrayLike,
    element_format: str | Format,
    scale_format: str | Format = "e8m0",
    policy: str | None = None,
    center: int | None = None,
    *,
    rounding: str | None = None,
    random: ArrayLike | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Quantize blocks of numbers, each to a scale and to elements (specification, section 11).

    Elements are rounded once, by default as their format's encoder does, and saturate. With ``e8m0`` the scale is 2**k
    for k = policy(log2(largest magnitude)) - (exponent of the largest element), from -127 to 127 (OCP MX, version 1.0,
    section 6.3); with ``Binary8p1uf`` it is the same to 126. With ``ue4m3`` and ``ue5m3`` it is the largest magnitude
    over the largest element, rounded to the nearest, ties to even, at least the smallest positive scale; a scale of the
    whole tensor, as NVFP4 has it, is the caller's. Where precision
    tapers, the largest element is that of full precision, :attr:`golden.Format.largest_precise`: blocks of Gaussian
    numbers then lose at most 0.5 dB against the best power of two. ``center`` takes another one.

    Parameters
    ----------
    x : float32, float16 or bfloat16 array, shape (..., elements)
        The last axis is a block.
    element_format : str or Format
    scale_format : str or Format
        One of :data:`SCALES`.
    policy : str, optional
        With powers of two, one of :data:`POLICIES`; by default ``floor`` for the elements of OCP's MX formats,
        ``rceil`` for others.
    center : int, optional
        Exponent of the binade of elements to which the largest magnitude is brought, among those of
        :attr:`golden.Format.exponent_range`; the largest value of this binade takes the place of the largest element.
    rounding, random, random_bits
        As in :meth:`golden.Format.encode`, of the elements; not ``mptorch``. ``hybrid`` looks at the bits of ``x``.

    Returns
    -------
    codes, scales
        Codes of the elements, in the shape of ``x``, and codes of the scales, without the last axis. A block of zeros
        has the smallest positive scale. A block with a NaN or an infinity has a NaN as scale and zeros as elements.
    """
    elements = operand("element_format", element_format)
    source, bits = bits_of("x", as_array("x", x))
    chosen = element_options("element_format", elements, source, rounding)
    words, random_bits = random_words(chosen, random, random_bits, bits.shape)
    return quantized(elements, bits, chosen, _scales(scale_format, policy), policy, center, words, random_bits)


def scale_exponents(
    largest: NDArray[np.float64], elements: Format, policy: str, center: int | None, most: int = 127
) -> NDArray[np.int64]:
    """The exponents of the scales, from -127 to ``most``, of blocks with these finite largest magnitudes of 24 bits."""
    fraction, exponent = np.frexp(largest)
    up = np.ldexp(fraction, 24) >= first_rounded_up(policy, elements, 23, center)  # exact
    exponents = exponent.astype(np.int64) - 1 + up - element_exponent(elements, center)
    return np.where(largest == 0, -127, np.clip(exponents, -127, most))


def quantized(
    elements: Format,
    bits: NDArray[Any],
    chosen: Options,
    scales: Format,
    policy: str | None,
    center: int | None,
    words: NDArray[Any] | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Codes and scales of blocks of bits of a source; see :func:`quantize_block`."""
    source, top = chosen.source, element_exponent(elements, center)
    if bits.ndim == 0 or bits.shape[-1] == 0:
        raise BadValue("x", "must have a last axis with at least one element")
    assert source.infinity is not None
    blocks = bits.reshape(-1, bits.shape[-1])
    peak, codes = np.empty(len(blocks), bits.dtype), np.empty(blocks.shape, elements.code_dtype)
    for rows in _cached(blocks):  # bits without signs are in the order of the magnitudes
        (blocks[rows] & (source.sign_bit - 1)).max(axis=-1, out=peak[rows])
    is_special, divisors = peak >= source.infinity, None
    largest = source.numbers(np.where(is_special, 0, peak))
    if scales.name in _POWERS:
        exponents = scale_exponents(
            largest, elements, policy or default_policy(elements), center, scales.exponent_range[1]
        )
        scale_codes = exponents + 127 + scales.has_zero
        divisors = _divisors(exponents, largest == 0, elements, chosen)
    else:
        quotients = largest / elements.largest_in_binade(top)  # far from ties of the scale's few bits, unless exact
        nearest = codes_of(
            scales, quotients, np.zeros(quotients.shape, np.bool_), target_options(scales, overflow="saturate")
        )
        scale_codes = np.maximum(nearest, 1)
    for rows in _cached(blocks):
        part = blocks[rows]
        if divisors is not None:
            with np.errstate(all="ignore"):  # of signaling NaNs and subnormal numbers
                quotients = (_in_binary32(part, source) / divisors[rows, np.newaxis]).view(np.uint32)
            codes[rows] = elements.encode(quotients, "binary32", chosen.rounding, chosen.overflow)
            continue
        numbers = source.numbers(np.where(is_special[rows, np.newaxis], 0, part))
        exact = numbers / scales.values.take(scale_codes[rows])[:, np.newaxis]
        own = thresholds(part, chosen, None if words is None else words.reshape(blocks.shape)[rows], random_bits)
        codes[rows] = codes_of(elements, exact, np.signbit(exact), chosen, *own)
    assert scales.canonical_nan is not None
    codes[is_special], scale_codes[is_special] = 0, scales.canonical_nan
    return codes.reshape(bits.shape), scale_codes.astype(scales.code_dtype).reshape(bits.shape[:-1])


def quantize_nvfp4(x: ArrayLike, amax: float | None = None) -> tuple[NDArray[Any], NDArray[Any], np.float32]:
    """Quantize blocks of a tensor to NVFP4 with a scale of the tensor, as NVIDIA's TransformerEngine does.

    Every operation is one of binary32, rounded to nearest, ties to even (specification, section 11). For blocks without
    a scale of the tensor, by one rounded quotient, see :func:`quantize_block` with ``e2m1`` and ``ue4m3``.

    Parameters
    ----------
    x : float32, float16 or bfloat16 array, shape (..., 16)
        The last axis is a block; it may have another length.
    amax : number, optional
        Largest magnitude of the tensor, positive and finite; by default that of the blocks without NaN or infinity.

    Returns
    -------
    codes, scales, tensor_scale
        Codes of ``e2m1`` and ``ue4m3`` as of :func:`quantize_block`, and the number by which the values of
        :func:`dequantize_block` are to be multiplied. The scale of a block may be zero.
    """
    source, bits = bits_of("x", as_array("x", x))
    if bits.ndim == 0 or bits.shape[-1] == 0:
        raise BadValue("x", "must have a last axis with at least one element")
    numbers = source.numbers(bits)
    is_special = np.asarray(~np.isfinite(numbers).all(axis=-1))
    largest = np.abs(np.where(is_special[..., np.newaxis], 0, numbers)).max(axis=-1, initial=0)
    elements, scales, target = get("e2m1"), get("ue4m3"), wide("binary32")
    limit, whole = target.largest, largest.max(initial=0)
    if amax is not None:
        number = check_number("amax", amax, "positive and finite in binary32", lambda number: 0 < number < inf)
        code = int(target.nearest(np.array([number], np.float64))[0])
        if not 0 < code <= target.largest_code:
            raise BadValue("amax", f"must be positive and finite in binary32, not {shown(amax)}")
        whole = target.decode(code)

    def rounded(x: Any) -> Any:
        """A result of binary32: of two of its numbers, binary64 is wide enough to round twice; none is flushed."""
        return np.minimum(target.numbers(target.nearest(x).astype(np.uint32)), limit)

    with np.errstate(divide="ignore", over="ignore"):
        encoding = rounded(elements.largest * scales.largest / whole) if whole else np.float64(1)
        quotients = rounded(largest * rounded(encoding * rounded(1 / np.float64(elements.largest))))
        scale_codes = scales.encode(target.nearest(quotients).astype(np.uint32), overflow="saturate")
        tensor_scale = rounded(1 / encoding)
        factors = rounded(scales.decode(scale_codes) * tensor_scale)
        scaled = rounded(np.abs(numbers) * rounded(1 / factors)[..., np.newaxis])
    signed = (target.nearest(scaled) | np.signbit(numbers).astype(np.int64) << 31).astype(np.uint32)
    codes = np.where(is_special[..., np.newaxis], 0, elements.encode(signed, overflow="saturate"))
    assert scales.canonical_nan is not None
    scale_codes = np.where(is_special, scales.canonical_nan, scale_codes).astype(scales.code_dtype)
    (tensor_code,) = target.nearest(np.atleast_1d(tensor_scale)).astype(np.uint32)
    return codes.astype(elements.code_dtype), scale_codes, tensor_code.view(np.float32)


def dequantize_block(
    codes: ArrayLike, scales: ArrayLike, element_format: str | Format, scale_format: str | Format = "e8m0"
) -> NDArray[np.float64]:
    """Values of blocks, scale times element, exact.

    Parameters
    ----------
    codes : unsigned integers, shape (..., elements)
    scales : unsigned integers, shape (...)
    element_format : str or Format
    scale_format : str or Format
        One of :data:`SCALES`.
    """
    elements, factor = operand("element_format", element_format), scales_named(scale_format)
    check_range("scale_format", [elements, factor])
    values, factors = elements.decode(elements.as_codes(codes)), factor.decode(factor.as_codes(scales, "scales"))
    if values.ndim == 0:
        raise BadValue("codes", "must have a last axis with the elements of a block")
    check_shapes(codes=values.shape[:-1], scales=factors.shape)
    with np.errstate(invalid="ignore"):
        return values * factors[..., np.newaxis]


def _scales(name: str | Format, policy: str | None) -> Format:
    fmt = scales_named(name)
    if policy is not None:
        check_choice("policy", policy, POLICIES)
        if fmt.name not in _POWERS:
            raise BadValue("policy", f"needs scales that are powers of two, and {fmt.name} has others")
    return fmt


def _cached(blocks: NDArray[Any]) -> Iterator[slice]:
    """Rows of so few elements at a time that NumPy's intermediate arrays stay in the cache."""
    count, length = blocks.shape
    step = max(4 * BLOCK // length, 1)
    return (slice(start, start + step) for start in range(0, count, step))


def _in_binary32(bits: NDArray[Any], source: Format) -> NDArray[np.float32]:
    """Numbers of binary32, binary16 or bfloat16 as the first of these."""
    if source.name == "binary16":
        return bits.view(np.float16).astype(np.float32)
    return (bits if source.width == 32 else bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def _divisors(
    exponents: NDArray[np.int64], is_zero: NDArray[np.bool_], elements: Format, chosen: Options
) -> NDArray[np.float32] | None:
    """The scales, for divisions in binary32; None if an element may need more than these hold.

    A quotient is exact, or it is below 2**-126, maybe flushed, and rounds to zero with the sign of the number.
    """
    powers = np.where(is_zero, 0, exponents)
    low, high = elements.exponent_range
    is_nearest = chosen.rounding.family is Family.NEAREST
    reads_binary32 = chosen.rounding.reads_source and chosen.source.name == "binary32"
    rounds_to_zero = elements.has_zero and not elements.posit_rounding  # what is far below the elements
    if not (is_nearest or reads_binary32) or not rounds_to_zero or low < -120 or high > 100:
        return None
    if int(powers.min(initial=0)) < max(-123 - low, -126):  # subnormals may reach an element, or be a divisor
        return None
    return np.ldexp(np.float32(1), powers.astype(np.int32))
