"""HiFloat4: 64 numbers that share a scale, and exponents of one bit for eight and for four (specification, 15)."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.bits import as_array, as_codes, check_shapes
from golden.encode import bits_of
from golden.formats import Format
from golden.refusal import BadKind, BadValue, shown
from golden.rows import Biased, Kind, Overflow, Rounding, Row, Special

SIZE = 64
"""Numbers in a block."""
_NAN = 0xFF
_SEVENTH = np.float32(0.142578125)
"""1/7, rounded to bfloat16."""


class HiFloat4(NamedTuple):
    """Blocks of HiFloat4; the last axis of ``codes`` has 64 elements."""

    codes: NDArray[np.uint8]
    """Elements of four bits: sign, and m of the magnitude m/4."""
    fours: NDArray[np.uint16]
    """Exponents, 0 or 1, of four elements each; those of elements 0 to 3 are bit 0."""
    eights: NDArray[np.uint8]
    """Exponents, 0 or 1, of eight elements each; those of elements 0 to 7 are bit 0."""
    scales: NDArray[np.uint8]
    """Codes of the scales: six bits of exponent with bias 48, two of fraction; 0xFF is NaN."""


@cache
def scale_format() -> Format:
    """The format of the scales, from 2**-48 to 1.5 * 2**15."""
    return Format(
        name="hifloat4_scale",
        width=8,
        cite="HiFloat4, E6M2",
        rows=(Row("", Biased(6, 48), 2),),
        specials=(Special(_NAN, _NAN, Kind.NAN),),
        canonical_nan=_NAN,
        signed=False,
        roundings=(Rounding.TIES_TO_EVEN,),
        overflows=(Overflow.SATURATE,),
    )


def quantize_hifloat4(x: ArrayLike) -> HiFloat4:
    """Quantize blocks of 64 numbers to HiFloat4.

    Every operation is one of binary32, rounded to nearest, ties to even, but where the specification rounds to fewer
    bits. The published kernels compute in the type of the tensor and differ in whether they limit the scale; here, it
    is limited to the range of its format.

    Parameters
    ----------
    x : float32, float16 or bfloat16 array, shape (..., 64)

    Returns
    -------
    HiFloat4
        A block with a NaN or an infinity has a NaN as scale, and zeros as elements.
    """
    source, bits = bits_of("x", as_array("x", x))
    if bits.ndim == 0 or bits.shape[-1] != SIZE:
        raise BadValue("x", f"must have a last axis with {SIZE} elements")
    numbers = source.numbers(bits).astype(np.float32)
    is_special = np.asarray(~np.isfinite(numbers).all(axis=-1))
    magnitudes = np.abs(np.where(is_special[..., np.newaxis], np.float32(0), numbers))
    of_four = magnitudes.reshape(*bits.shape[:-1], 16, 4).max(axis=-1)
    of_eight = of_four.reshape(*bits.shape[:-1], 8, 2).max(axis=-1)
    with np.errstate(under="ignore"):
        limited = np.clip(_bfloat16(of_eight.max(axis=-1) * _SEVENTH), np.float32(2.0**-48), np.float32(49152))
        scales = scale_format().encode(limited.view(np.uint32))
        reciprocal = _bfloat16((1 / scale_format().decode(scales)).astype(np.float32))[..., np.newaxis]
        eights = of_eight * reciprocal >= 4
        halves = reciprocal * np.where(np.repeat(eights, 2, axis=-1), np.float32(0.5), np.float32(1))
        fours = of_four * halves >= 2
        factors = halves * np.where(fours, np.float32(0.5), np.float32(1))
        quarters = np.floor(magnitudes * np.repeat(factors, 4, axis=-1) * np.float32(4) + np.float32(0.5))
    codes = np.minimum(quarters, 7).astype(np.uint8) | (np.signbit(numbers) << 3).astype(np.uint8)
    kept = ~is_special
    return HiFloat4(
        np.where(kept[..., np.newaxis], codes, 0).astype(np.uint8),
        np.where(kept, _word(fours), 0).astype(np.uint16),
        np.where(kept, _word(eights), 0).astype(np.uint8),
        np.where(kept, scales, _NAN).astype(np.uint8),
    )


def dequantize_hifloat4(
    codes: ArrayLike, fours: ArrayLike, eights: ArrayLike, scales: ArrayLike
) -> NDArray[np.float64]:
    """Values of blocks of HiFloat4, exact; the arguments are the fields of :class:`HiFloat4`."""
    elements, factors = _parts(codes, fours, eights, scales)
    with np.errstate(invalid="ignore"):
        return elements * 0.25 * factors[..., np.newaxis]


def dot_hifloat4(a: HiFloat4, b: HiFloat4) -> NDArray[np.float32]:
    """Dot products of blocks of HiFloat4, exact: their sums fit binary32.

    A sum of zero is +0; a NaN as scale makes it NaN.
    """
    for argument, block in (("a", a), ("b", b)):
        if not isinstance(block, tuple) or len(block) != len(HiFloat4._fields):
            raise BadKind(argument, f"must be blocks of HiFloat4, not {shown(block)}")
    (left, factors), (right, others) = _parts(*a), _parts(*b)
    check_shapes(a=left.shape, b=right.shape)
    sums = (left.astype(np.int64) * right.astype(np.int64)).sum(axis=-1)
    dots: NDArray[np.float32] = (sums / 16 * factors * others).astype(np.float32)
    return dots


def _parts(
    codes: ArrayLike, fours: ArrayLike, eights: ArrayLike, scales: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Elements in units of a quarter, with their exponents, and scales."""
    words = as_codes("codes", codes, 4).astype(np.int64)
    if words.ndim == 0 or words.shape[-1] != SIZE:
        raise BadValue("codes", f"must have a last axis with {SIZE} elements")
    own, wide = as_codes("fours", fours, 16), as_codes("eights", eights, 8)
    factors = scale_format().decode(scale_format().as_codes(scales, "scales"))
    check_shapes(codes=words.shape[:-1], fours=own.shape, eights=wide.shape, scales=factors.shape)
    exponents = np.repeat(_bits(own, 16), 4, axis=-1) + np.repeat(_bits(wide, 8), 8, axis=-1)
    return np.where(words & 8, -1.0, 1.0) * ((words & 7) << exponents), factors


def _bits(words: NDArray[np.integer], count: int) -> NDArray[np.int64]:
    return words.astype(np.int64)[..., np.newaxis] >> np.arange(count) & 1


def _word(bits: NDArray[np.bool_]) -> NDArray[np.int64]:
    words: NDArray[np.int64] = (bits.astype(np.int64) << np.arange(bits.shape[-1])).sum(axis=-1)
    return words


def _bfloat16(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Positive finite numbers, rounded to the nearest of bfloat16, ties to even."""
    bits = x.view(np.uint32)
    return ((bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) & np.uint32(0xFFFF0000)).view(
        np.float32
    )
