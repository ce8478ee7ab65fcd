"""Codes as text for ``$readmemh``."""

from __future__ import annotations

from numpy.typing import ArrayLike

from golden.catalog import get
from golden.formats import Format
from golden.refusal import BadValue, check_integer


def pack(codes: ArrayLike, name: str | Format, lanes: int = 1) -> str:
    """Words of ``lanes`` codes each, in hexadecimal, one a line: the file that ``$readmemh`` reads.

    Parameters
    ----------
    codes : unsigned integers, any shape
        Codes of a format, or bits of a wide one, in the order of NumPy, the last axis first. The codes of a word are
        consecutive, lane 0 in the least significant bits as in the ports of dot products and quantizers.
    name : str or Format
        Its width is that of a lane.
    lanes : int
        Their number must be a divisor of the number of codes.
    """
    fmt, count = get(name), check_integer("lanes", lanes, 1, 1 << 16)
    flat = fmt.as_codes(codes).reshape(-1)
    if flat.size % count:
        raise BadValue("codes", f"must be a multiple of {count} codes, the lanes of a word, not {flat.size}")
    digits = -(-fmt.width * count // 4)
    words = (
        sum(code << lane * fmt.width for lane, code in enumerate(word)) for word in flat.reshape(-1, count).tolist()
    )
    return "".join(f"{word:0{digits}x}\n" for word in words)
