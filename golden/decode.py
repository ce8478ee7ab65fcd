"""From codes to the bits of wider formats, and numbers taken through a format and back."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from golden.bits import as_codes, look_up
from golden.catalog import WIDE, get
from golden.codes import codes_of
from golden.encode import encode
from golden.formats import Format
from golden.options import Options, options
from golden.validation import MAX_WIDTH

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def decode_bits(fmt: Format, codes: ArrayLike, target: str | Format) -> NDArray[Any]:
    """Bits of a wider format that hold the codes' values.

    Parameters
    ----------
    codes : unsigned integers, any shape
    target : str
        ``binary16``, ``bfloat16``, ``binary32`` or ``dlfloat16``.

    Returns
    -------
    uint16 or uint32 array of the same shape
        Values that the target cannot hold round to nearest (ties to even, in ``dlfloat16`` away), overflow to infinity and underflow
        gradually (specification, section 0).
    """
    name = target.name if isinstance(target, Format) else target
    if name not in WIDE:
        raise ValueError(f"Target must be one of {', '.join(WIDE)}, not {name!r}")
    checked = as_codes(codes, fmt.width, f"Codes of {fmt.name}")
    if fmt.width > MAX_WIDTH:
        return _bits_of(fmt, checked.astype(np.int64), get(name))
    return look_up(_decode_table(fmt, get(name)), checked)


@cache
def _decode_table(fmt: Format, target: Format) -> NDArray[Any]:
    return _bits_of(fmt, np.arange(1 << fmt.width), target)


def _bits_of(fmt: Format, codes: NDArray[np.int64], target: Format) -> NDArray[Any]:
    values = fmt.decode(codes)
    negative = np.signbit(values) | (np.isnan(values) & ((codes & fmt.sign_bit) != 0))
    if fmt.width > target.width:
        default = options(target, fmt)
        return codes_of(target, values, negative, default)
    return codes_of(target, values, negative, Options(fmt, target.roundings[0], target.overflows[0]))


_SOURCE_OF_DTYPE = {"float32": ("binary32", np.uint32), "float16": ("binary16", np.uint16), "bfloat16": ("bfloat16", np.uint16)}


def quantize(fmt: Format, x: NDArray[Any], **choices: Any) -> NDArray[Any]:
    """Floating-point numbers taken through the format and back.

    Parameters
    ----------
    x : float32, float16 or ``ml_dtypes.bfloat16`` array
    choices
        The options of :func:`encode` from ``rounding`` on.

    Returns
    -------
    Array of the same shape and type.
    """
    array = np.asarray(x)
    if array.dtype.name not in _SOURCE_OF_DTYPE:
        raise TypeError(f"x must be a float32, float16 or bfloat16 array, not {array.dtype}")
    source, unsigned = _SOURCE_OF_DTYPE[array.dtype.name]
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    codes = encode(fmt, native.view(unsigned), source, **choices)
    return decode_bits(fmt, codes, source).view(native.dtype).reshape(array.shape).astype(array.dtype, copy=False)
