"""Arrays of raw bits: what is accepted where codes or bit patterns are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

BLOCK = 1 << 14
"""Elements that pass through a table at a time, so that NumPy's intermediate arrays stay in the cache."""


def as_codes(codes: ArrayLike, width: int, what: str) -> NDArray[Any]:
    """Check an array of unsigned integers of ``width`` bits and return it as such.

    Parameters
    ----------
    codes : integers, any shape
        Signed types are accepted as long as no element is negative.
    width : int
        Bits that an element may need.
    what : str
        Names the array in an error's sentence.

    Raises
    ------
    TypeError
        If the elements are not integers.
    ValueError
        If an element is negative or needs more bits.
    """
    array = np.asarray(codes)
    if array.size == 0 and array.dtype == np.float64:
        array = array.astype(np.uint8)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{what} must be unsigned integers, not {array.dtype}")
    bits_of_type = array.dtype.itemsize * 8
    if (array.dtype.kind == "i" or bits_of_type > width) and array.size:
        low, high = int(array.min()), int(array.max())
        if low < 0 or high >> width:
            raise ValueError(f"{what} must lie in 0 to {(1 << width) - 1:#x}, not {low if low < 0 else high:#x}")
    return array


def look_up(table: NDArray[Any], index: NDArray[Any]) -> NDArray[Any]:
    """``table[index]`` for indices that are known to be inside, five times as fast for large arrays as indexing."""
    flat = np.ascontiguousarray(index).reshape(-1)
    out = np.empty(flat.shape, table.dtype)
    for start in range(0, flat.size, BLOCK):
        table.take(flat[start : start + BLOCK], out=out[start : start + BLOCK], mode="wrap")
    return out.reshape(index.shape)
