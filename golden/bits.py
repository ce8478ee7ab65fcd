"""Arrays of raw bits: checks of arguments that are codes or bit patterns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.refusal import BadKind, BadValue, check_integer, is_integer, shown

MAX_SCALE_BITS = 10
BLOCK = 1 << 14
"""Elements processed at a time, so that NumPy's intermediate arrays stay in the cache."""


def as_array(argument: str, values: ArrayLike) -> NDArray[Any]:
    """Convert to an array of any type; refuse ragged lists, masked numbers, and what fails to become an array."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise BadValue(argument, "must have no masked numbers: fill them, or leave them out")
    try:
        return np.asarray(values)
    except ValueError:
        raise BadKind(argument, f"must be an array, not {shown(values)}") from None
    except (TypeError, RuntimeError) as error:  # of __array__: a tensor of another device, or with gradients
        reason = " ".join(str(error).split())
        raise BadKind(argument, f"must be an array, not {type(values).__name__}: {reason}") from error


def as_binary64(argument: str, numbers: NDArray[Any]) -> NDArray[np.float64]:
    """Convert to binary64; refuse what is no real number, and finite ones beyond its range."""
    try:
        with np.errstate(over="raise", under="ignore", invalid="ignore"):
            return numbers.astype(np.float64)
    except (OverflowError, FloatingPointError):
        raise BadValue(argument, "must have no number beyond the range of binary64") from None
    except (TypeError, ValueError):
        raise BadKind(argument, f"must be real numbers, not {numbers.dtype}") from None


def with_large_integers(argument: str, values: ArrayLike) -> NDArray[Any]:
    """Convert to an array of any type; integers for which NumPy has no type become objects, not floats."""
    array = as_array(argument, values)
    if array.size and (array.dtype.kind == "O" or (array.dtype.kind == "f" and isinstance(values, (list, tuple)))):
        objects = np.asarray(values, object)
        return objects if are_integers(objects) else array
    return array


def are_integers(array: NDArray[Any]) -> bool:
    """Whether an array of :func:`with_large_integers` is one of integers."""
    return array.dtype.kind in "iu" or (array.dtype.kind == "O" and array.size > 0 and all(map(is_integer, array.flat)))


def as_codes(argument: str, codes: ArrayLike, width: int, name: str | None = None) -> NDArray[Any]:
    """Convert to an array of integers; refuse elements that are negative or need more than ``width`` bits.

    Messages name ``argument`` and, if given, ``name``, the format of the codes. Signed types are accepted.
    """
    array = with_large_integers(argument, codes)
    if array.size == 0 and array.dtype == np.float64:
        array = array.astype(np.uint8)
    if not are_integers(array):
        raise BadKind(argument, f"must be unsigned integers, not {array.dtype}")
    bits_of_type = array.dtype.itemsize * 8
    if (array.dtype.kind in "iO" or bits_of_type > width) and array.size:
        low, high = int(array.min()), int(array.max())
        if low < 0 or high >> width:
            allowed = f"0 to {(1 << width) - 1:#x}" + (f" for {name}" if name else "")
            wrong = low if low < 0 else high
            problem = f"must lie in {allowed}, not {shown(wrong) if wrong.bit_length() > 256 else hex(wrong)}"
            raise BadValue(argument, problem)
    return array.astype(np.uint64) if array.dtype.kind == "O" else array


def as_integers(argument: str, values: ArrayLike, least: int, most: int, reason: str = "") -> NDArray[Any]:
    """Convert to an array of integers from ``least`` to ``most``, the limits for a ``reason``; refuse other values."""
    array = with_large_integers(argument, values)
    if not are_integers(array):
        raise BadKind(argument, f"must be integers, not {array.dtype if array.dtype.kind in 'bfc' else shown(values)}")
    for extreme in (array.min(), array.max()) if array.size else ():
        check_integer(argument, int(extreme), least, most, reason)
    return array.astype(np.int64) if array.dtype.kind == "O" else array


def scale_range(scale_bits: int) -> tuple[int, int]:
    """Smallest and largest scale of ``scale_bits`` bits, at most 10, in two's complement; (0, 0) for 0 bits."""
    half = 1 << check_integer("scale_bits", scale_bits, 0, MAX_SCALE_BITS) >> 1
    return -half, max(half - 1, 0)


def as_axes(axis: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Axes of an array, from 0 to ``ndim - 1``, all for None; refuse those that it lacks, and repeated ones."""
    given = range(ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    if not ndim and given:
        raise BadValue("axis", f"must be None for a number, which has no axes, not {shown(axis)}")
    axes = tuple(check_integer("axis", place, -ndim, ndim - 1) % ndim for place in given)
    if len(set(axes)) < len(axes):
        raise BadValue("axis", f"must not name an axis twice, not {axis}")
    return axes


def as_exponents(argument: str, scale: ArrayLike, shape: tuple[int, ...], low: int, high: int) -> NDArray[np.int32]:
    """Check exponents of powers of two, integers from ``low`` to ``high``, and broadcast them to a shape."""
    exponents = as_integers(argument, scale, low, high)
    try:
        full = np.broadcast_to(exponents, shape)
    except ValueError:
        raise BadValue(argument, f"must broadcast to shape {shape}, not have shape {exponents.shape}") from None
    return full.astype(np.int32)


def check_shapes(**shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that these shapes broadcast to; refuse shapes that do not broadcast."""
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        first, *others = shapes
        sizes = ", ".join(map(str, shapes.values()))
        raise BadValue(first, f"and {' and '.join(others)} must have shapes that broadcast, not {sizes}") from None


def broadcast(a: NDArray[Any], b: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Arrays ``a`` and ``b``, broadcast to their common shape."""
    shape = check_shapes(a=a.shape, b=b.shape)
    return np.broadcast_to(a, shape), np.broadcast_to(b, shape)


def one_lane(a: ArrayLike, b: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Arrays ``a`` and ``b`` with a last axis of one element; refuse shapes that do not broadcast."""
    first, second = as_array("a", a), as_array("b", b)
    check_shapes(a=first.shape, b=second.shape)
    return first[..., np.newaxis], second[..., np.newaxis]


def look_up(table: NDArray[Any], index: NDArray[Any]) -> NDArray[Any]:
    """``table[index]`` for indices known to be in range; for large arrays five times as fast as indexing."""
    flat = np.ascontiguousarray(index).reshape(-1)
    out = np.empty(flat.shape, table.dtype)
    for start in range(0, flat.size, BLOCK):
        table.take(flat[start : start + BLOCK], out=out[start : start + BLOCK], mode="wrap")
    return out.reshape(index.shape)
