"""Blocks: elements that share a scale, as in OCP's MX formats and NVFP4 (specification, section 11)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.arithmetic.exact import check_range, operand
from golden.bits import as_array, check_shapes
from golden.catalog import get
from golden.encode import bits_of
from golden.formats import Format
from golden.names import check_name
from golden.options import Options, target_options
from golden.refusal import BadValue, about, check_choice
from golden.rounding import codes_of

SCALES = ("e8m0", "ue4m3", "ue5m3", "Binary8p1uf")
"""Formats of scales."""

POLICIES = FLOOR, CEIL, NEAREST = "floor", "ceil", "nearest"
"""How the logarithm of a block's largest magnitude becomes the exponent of its scale; ``floor`` is OCP's."""

_QUANTIZED = ("e8m0", "ue4m3")
"""Formats of scales that :func:`quantize_block` can choose."""


def element_options(argument: str, fmt: Format) -> Options:
    """How the elements of blocks are rounded: by default, and saturated; refuse formats that elements cannot have."""
    if len(fmt.members) > 1 or not fmt.signed:
        raise BadValue(argument, f"must be one format with a sign, not {fmt.name!r}")
    with about(argument):
        return target_options(fmt, overflow="saturate")


def element_exponent(fmt: Format) -> int:
    """Exponent of the elements' binade to which a power of two scales a block's largest magnitude."""
    return int(np.frexp(fmt.largest_precise)[1]) - 1


def scales_named(name: str | Format, argument: str = "scale_format") -> Format:
    """The format of scales of this name; refuse any that is not in :data:`SCALES`."""
    if isinstance(name, Format):
        name = name.name
    known = {scale.lower(): scale for scale in SCALES}
    word = known.get(name.lower(), name) if isinstance(name, str) else name
    return get(check_name(argument, word, SCALES))


def quantize_block(
    x: ArrayLike, element_format: str | Format, scale_format: str | Format = "e8m0", policy: str | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Quantize blocks of numbers, each to a scale and to elements (specification, section 11).

    Elements are rounded as their format's encoder does by default, and saturate. With ``e8m0`` the scale is 2**k for
    k = policy(log2(largest magnitude)) - (exponent of the largest element), from -127 to 127 (OCP MX, version 1.0,
    section 6.3). With ``ue4m3`` it is the largest magnitude over the largest element, rounded to the nearest, ties to
    even, at least the smallest scale; a scale of the whole tensor, as NVFP4 has it, is the caller's. Where precision
    tapers, the largest element is that of full precision, :attr:`golden.Format.largest_precise`.

    Parameters
    ----------
    x : float32, float16 or bfloat16 array, shape (..., elements)
        The last axis is a block.
    element_format : str or Format
    scale_format : str or Format
        ``e8m0`` or ``ue4m3``.
    policy : str, optional
        With ``e8m0``, one of :data:`POLICIES`; ``floor`` by default.

    Returns
    -------
    codes, scales
        Codes of the elements, in the shape of ``x``, and codes of the scales, without the last axis. A block of zeros
        has the smallest scale. A block with a NaN or an infinity has a NaN as scale and zeros as elements.
    """
    elements = operand("element_format", element_format)
    rounding = element_options("element_format", elements)
    scales = _scales(scale_format, policy)
    source, bits = bits_of("x", as_array("x", x))
    if bits.ndim == 0 or bits.shape[-1] == 0:
        raise BadValue("x", "must have a last axis with at least one element")
    numbers = source.numbers(bits)
    finite = np.isfinite(numbers)
    is_special = ~finite.all(axis=-1)
    numbers = np.where(finite, numbers, 0.0)
    largest = np.abs(numbers).max(axis=-1)
    if scales.name == "e8m0":
        exponents = _exponents(largest, policy or FLOOR) - element_exponent(elements)
        exponents = np.where(largest == 0, -127, np.clip(exponents, -127, 127))
        scale_codes = (exponents + 127).astype(scales.code_dtype)
    else:
        quotients = largest / elements.largest_precise  # far from ties of the scale's few bits, unless it is exact
        nearest = codes_of(
            scales, quotients, np.zeros(quotients.shape, np.bool_), target_options(scales, overflow="saturate")
        )
        scale_codes = np.maximum(nearest, 1)
    quotients = numbers / scales.values.take(scale_codes)[..., np.newaxis]
    codes = codes_of(elements, quotients, np.signbit(quotients), rounding)
    assert scales.canonical_nan is not None
    scale_codes = np.where(is_special, scales.canonical_nan, scale_codes).astype(scales.code_dtype)
    return np.where(is_special[..., np.newaxis], 0, codes).astype(elements.code_dtype), scale_codes


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
    if fmt.name not in _QUANTIZED:
        raise BadValue("scale_format", f"must be {' or '.join(_QUANTIZED)} to choose a scale, not {fmt.name!r}")
    if policy is not None:
        check_choice("policy", policy, POLICIES)
        if fmt.name != "e8m0":
            raise BadValue("policy", f"needs scales that are powers of two, and {fmt.name} has others")
    return fmt


def _exponents(magnitude: NDArray[np.float64], policy: str) -> NDArray[np.int64]:
    """The binary logarithms of positive numbers of at most 26 bits, rounded to integers by a policy."""
    fraction, exponent = np.frexp(magnitude)
    match policy:
        case "floor":
            up = np.zeros(magnitude.shape, np.bool_)
        case "ceil":
            up = fraction > 0.5
        case _:
            up = (2 * fraction) ** 2 >= 2  # exact, and never equal
    return exponent.astype(np.int64) - 1 + up
