"""Conversions of bits of wide formats to codes and back, by tables where the rounding permits.

Tables of 16-bit sources have 65,536 entries; :mod:`golden.steps` has the tables of binary32.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.bits import (
    BLOCK,
    MAX_SCALE_BITS,
    as_array,
    as_codes,
    as_exponents,
    look_up,
    scale_range,
    with_large_integers,
)
from golden.flags import of_conversion
from golden.formats import Format
from golden.options import Options, check_random_bits, options, target_options
from golden.refusal import BadKind, BadValue
from golden.rounding import codes_of, encode_directly
from golden.steps import Steps, by_binades, steps
from golden.wide import WideFormat, check_wide, wide

FLOATS = {"float32": ("binary32", np.uint32), "float16": ("binary16", np.uint16), "bfloat16": ("bfloat16", np.uint16)}
"""Source and type of the bits, by the name of a NumPy or ``ml_dtypes`` type."""


def encode(
    fmt: Format,
    bits: ArrayLike,
    source: str | Format | None,
    rounding: str | None,
    overflow: str | None,
    nan_to_zero: bool,
    random: ArrayLike | None,
    random_bits: int,
    scale: ArrayLike | None,
    *,
    flagged: bool = False,
) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Codes and flags, see :meth:`golden.Format.encode_with_flags`; flags are empty unless ``flagged``."""
    raw = with_large_integers("bits", bits)
    if source is None and raw.dtype.kind in "iu" and raw.dtype.itemsize <= 2:
        choice = "'binary16' or 'bfloat16'" if raw.dtype.itemsize == 2 else "the format of the codes"
        problem = f"must be given for {raw.dtype} bits: {choice} (or view bits of binary32 as uint32)"
        raise BadValue("source", problem)
    if raw.dtype.name in FLOATS or (raw.dtype == np.float64 and raw.size):
        way = "quantize(x) rounds an array x of float32, and codes(x) returns its codes"
        raise BadKind("bits", f"must be unsigned integers, not {raw.dtype}: {way}")
    chosen = options(fmt, "binary32" if source is None else source, rounding, overflow, nan_to_zero)
    raw = chosen.source.as_codes(raw, "bits")
    words, random_bits = random_words(chosen, random, random_bits, raw.shape)
    powers = None if scale is None else as_exponents("scale", scale, raw.shape, *scale_range(MAX_SCALE_BITS))
    if powers is not None:
        codes = encode_directly(fmt, raw, chosen, words, random_bits, scale=powers, marked=flagged)
    elif words is not None and chosen.source.name == "binary32" and fmt.has_tables:
        codes = by_binades(fmt, raw, chosen, words, random_bits, marked=flagged)
    elif words is None and chosen.source.has_tables:
        codes = look_up(_table(fmt, chosen, flagged), raw)
    elif words is None and (table := steps(fmt, chosen, marked=flagged)):
        codes = table.codes(raw.astype(np.uint32, copy=False))
    else:
        codes = encode_directly(fmt, raw, chosen, words, random_bits, marked=flagged)
    return _unmarked(fmt, raw, chosen, codes, powers) if flagged else (codes, np.empty(0, np.uint8))


def decode_bits(fmt: Format, codes: ArrayLike, target: str | Format) -> NDArray[Any]:
    """Convert codes to bits of a wide format, see :meth:`golden.Format.decode_bits`."""
    wide = check_wide("target", target)
    checked = fmt.as_codes(codes)
    if fmt.has_tables:
        return look_up(_decode_table(fmt, wide), checked)
    return _bits_of(fmt, checked.astype(np.int64), wide)


def codes(fmt: Format, x: ArrayLike, **choices: Any) -> NDArray[Any]:
    """Codes of numbers, see :meth:`golden.Format.codes`."""
    source, bits = bits_of("x", as_array("x", x))
    return fmt.encode(bits, source, **choices)


def quantize(fmt: Format, x: NDArray[Any], **choices: Any) -> NDArray[Any]:
    """Round numbers to values of the format, see :meth:`golden.Format.quantize`."""
    array = as_array("x", x)
    source, bits = bits_of("x", array)
    values = decode_bits(fmt, fmt.encode(bits, source, **choices), source)
    return values.view(array.dtype.newbyteorder("=")).reshape(array.shape).astype(array.dtype, copy=False)


def bits_of(argument: str, array: NDArray[Any]) -> tuple[WideFormat, NDArray[Any]]:
    """The format and the bits of a float32, float16 or ``ml_dtypes.bfloat16`` array; refuse others."""
    if array.dtype.name not in FLOATS:
        raise BadKind(argument, f"must be a float32, float16 or bfloat16 array, not {array.dtype}")
    source, unsigned = FLOATS[array.dtype.name]
    return wide(source), array.astype(array.dtype.newbyteorder("="), copy=False).view(unsigned)


def _unmarked(
    fmt: Format, raw: NDArray[Any], chosen: Options, marked: NDArray[Any], scale: NDArray[np.int32] | None
) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Split marked codes (see :func:`golden.rounding.encode_directly`) into codes and flags."""
    words, flat = marked.reshape(-1), np.ascontiguousarray(raw).reshape(-1)
    codes, flags = np.empty(flat.shape, fmt.code_dtype), np.empty(flat.shape, np.uint8)
    for start in range(0, flat.size, BLOCK):
        block = slice(start, start + BLOCK)
        codes[block] = words[block] & ((1 << fmt.width) - 1)
        past, powers = words[block] >> fmt.width != 0, None if scale is None else scale.reshape(-1)[block]
        flags[block] = of_conversion(fmt, chosen.source, flat[block], codes[block], past, powers)
    return codes.reshape(raw.shape), flags.reshape(raw.shape)


def random_words(
    chosen: Options, random: ArrayLike | None, random_bits: int, shape: tuple[int, ...]
) -> tuple[NDArray[Any] | None, int]:
    """The random words of stochastic roundings and their width, checked; other roundings refuse words: None and 0."""
    if not chosen.rounding.is_stochastic:
        if random is not None:
            problem = f"must be given with stochastic roundings only, not with {chosen.rounding.value!r}"
            raise BadValue("random", problem)
        return None, 0
    random_bits = check_random_bits(random_bits)
    if random is None:
        needed = f"with rounding {chosen.rounding.value!r}: unsigned integers of the shape of bits"
        raise BadValue("random", f"must be given {needed}")
    words = as_codes("random", random, random_bits)
    if words.shape != shape:
        raise BadValue("random", f"must have the shape of bits, {shape}, not {words.shape}")
    return words, random_bits


@cache
def _table(fmt: Format, chosen: Options, marked: bool) -> NDArray[Any]:
    """Codes of all patterns of a source of at most 16 bits."""
    return encode_directly(fmt, np.arange(1 << chosen.source.width), chosen, marked=marked)


def by_upper_half(
    fmt: Format,
    rounding: str | None = None,
    overflow: str | None = None,
    nan_to_zero: bool = False,
    flags: bool = False,
) -> NDArray[np.int32] | None:
    """One row for each upper half of a binary32 input, as an int32 array of shape (65536, n).

    Inputs with equal rows and equal lower halves have equal codes and, with ``flags``, equal flags. None if the
    rounding has no table.
    """
    table = steps(fmt, options(fmt, "binary32", rounding, overflow, nan_to_zero), marked=flags)
    if table is None or (flags and not table.are_exact):
        return None
    if not flags:
        return table.by_upper_half()
    # All values of the format are boundaries of steps. So a number with nonzero lower bits is no value of the format,
    # and all such numbers of a step lie on the same side of the smallest normal value. Whether an input is a NaN, and
    # which kind, depends on the upper bits and on whether any lower bit is set.
    upper = np.arange(1 << table.upper_bits, dtype=np.uint32) << np.uint32(table.lower_bits)
    words = []
    for bits in (upper, upper | np.uint32(1)):
        codes, reports = fmt.encode_with_flags(bits, "binary32", rounding, overflow, nan_to_zero)
        words.append(codes | reports.astype(np.uint32) << np.uint32(fmt.width))
    return Steps(table.limits, *words).by_upper_half()


@cache
def _decode_table(fmt: Format, target: WideFormat) -> NDArray[Any]:
    return _bits_of(fmt, np.arange(1 << fmt.width), target)


def _bits_of(fmt: Format, codes: NDArray[np.int64], target: WideFormat) -> NDArray[Any]:
    values = fmt.decode(codes)
    negative = np.signbit(values) | (np.isnan(values) & ((codes & fmt.sign_bit) != 0))
    return codes_of(target, values, negative, target_options(target))
