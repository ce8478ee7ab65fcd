"""Codes and rounding rules as text: for the command line, headers of generated files, and messages of failing tests."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from golden.formats import Format
from golden.rounding import grid, round_to_grid
from golden.rows import Kind, Overflow, Rounding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

ROUNDING_RULES = {
    Rounding.TIES_TO_EVEN: "to nearest, ties to the even code",
    Rounding.TIES_TO_AWAY: "to nearest, ties away from zero",
    Rounding.TOWARD_ZERO: "toward zero; finite values never become infinity or NaN",
    Rounding.STOCHASTIC: (
        "stochastic: away from zero iff floor(2^R t) + random >= 2^R, t being the position between the neighbours"
    ),
    Rounding.HYBRID: (
        "HiFloat8's hybrid: ties away for exponents -3..3, elsewhere the tail against the source's own last bits"
    ),
    Rounding.MPTORCH: (
        "as the supernormals' simulator: half away among powers of two, else ties to even; flush below, Inf above"
    ),
}
"""What each rounding does, as text."""

OVERFLOW_RULES = {
    Overflow.INFINITY: "overflow and infinities to infinity",
    Overflow.NAN: "overflow and infinities to NaN",
    Overflow.SATURATE: "overflow and infinities to the largest finite value",
    Overflow.OCP_PAPER: "overflow to the largest finite value; infinities to infinity, or to NaN where there is none",
}
"""What each overflow rule does, as text."""


def number(value: float) -> str:
    """A value as significand times power of two and in decimal, exactly (=) or approximately (≈)."""
    if not np.isfinite(value) or value == 0:
        return {"inf": "Inf", "-inf": "-Inf", "nan": "NaN"}.get(str(value), str(value).removesuffix(".0"))
    fraction, exponent = np.frexp(value)
    decimal = format(value, ".12g")
    relation = "=" if Decimal(decimal) == Decimal(value) else "≈"
    return f"{2 * fraction:.10g} * 2^{exponent - 1} {relation} {decimal}"


def _hexadecimal(fmt: Format, code: int) -> str:
    """The code with as many digits as the widest code of its format."""
    return f"{code:#0{-(-fmt.width // 4) + 2}x}"


def fields(fmt: Format, code: int) -> str:
    """The code's bits, field by field: ``0x5a = sign 0, prefix 10, exponent 110, fraction 10``."""
    member, inner = fmt.split(code)
    if member is not fmt:
        return f"{member.name} {fields(member, inner)}"
    text = format(code, f"0{fmt.width}b")
    if fmt.twos_complement:
        return f"{_hexadecimal(fmt, code)} = two's complement {text}"
    body = text[1:]
    row = next(row for row in fmt.rows if body.startswith(row.prefix))
    fraction = len(body) - row.fraction_bits
    exponent = fraction - row.exponent.bits
    parts = {
        "sign": text[0],
        "prefix": body[:exponent],
        "exponent": body[exponent:fraction],
        "fraction": body[fraction:],
    }
    return f"{_hexadecimal(fmt, code)} = " + ", ".join(f"{name} {bits}" for name, bits in parts.items() if bits)


def describe(fmt: Format, code: int) -> str:
    """Fields and value of a code in one line."""
    return f"{fields(fmt, code)}: {number(float(fmt.decode(np.array([code]))[0]))}"


def explain(fmt: Format, code: int) -> Iterator[str]:
    """Describe a code line by line: fields, value, neighbours, and the interval that each rounding sends to it.

    Neighbours and intervals are listed for formats of at most 16 bits. For two formats in one unit, the first lines
    show the selected format and its code.

    Raises
    ------
    BadValue
        If the code needs more bits than the format has.
    """
    member, inner = fmt.split(code)
    if member is not fmt:
        bits = format(code, f"0{fmt.width}b")
        yield f"{fmt.name} ({fmt.width} bits: the code's sign, a bit that selects the format, the code's other bits)"
        parts = f"sign {bits[0]}, select {bits[1]}, others {bits[2:]}"
        yield f"{_hexadecimal(fmt, code)} = {parts}: code {_hexadecimal(member, inner)} of {member.name}"
        yield from explain(member, inner)
        return
    yield f"{fmt.name} ({fmt.width} bits; {fmt.cite})"
    yield fields(fmt, code)
    value = float(fmt.decode(np.array([code]))[0])
    yield f"value: {number(value)}"
    if not fmt.has_tables or fmt.kinds[code] not in (Kind.FINITE, Kind.ZERO):
        return
    table = grid(fmt)
    index = int(np.searchsorted(table.values, abs(value)))
    if index > 0:
        yield f"neighbour toward zero: {_neighbour(fmt, index - 1, value)}"
    yield f"neighbour away from zero: {_neighbour(fmt, index + 1, value)}"
    yield "magnitudes that round to it:"
    for rounding in fmt.roundings:
        yield f"  {rounding}: {_interval(fmt, index, rounding)}"


def _neighbour(fmt: Format, index: int, value: float) -> str:
    table = grid(fmt)
    if index >= len(table.codes):
        return f"none: this is the largest finite value; the next would be {number(float(table.values[-1]))}"
    code = int(table.codes[index])
    if np.signbit(value) and (code or fmt.has_negative_zero):
        code = ((1 << fmt.width) - code) if fmt.twos_complement else code | fmt.sign_bit
    return describe(fmt, code)


_CHANCE = {
    Rounding.STOCHASTIC: "with a probability that falls linearly from 1 at the value itself to 0 at the ends",
    Rounding.HYBRID: (
        "decided by the source's last bits (14 of binary32, 1 of binary16 and bfloat16) where the exponent is "
        "outside -3..3"
    ),
}
"""For roundings that depend on random or source bits: when a number of the interval rounds to the value."""


def _indices(
    fmt: Format, points: NDArray[np.float64], rounding: Rounding, threshold: NDArray[np.float64] | None = None
) -> NDArray[np.int64]:
    """Indices into the grid that points round to, saturated if the format's default overflow saturates."""
    indices = round_to_grid(fmt, points, rounding, threshold, 32)
    saturates = fmt.overflows[0] in (Overflow.SATURATE, Overflow.OCP_PAPER)
    return np.minimum(indices, len(grid(fmt).codes) - 1) if saturates else indices


def _interval(fmt: Format, index: int, rounding: Rounding) -> str:
    """The interval of magnitudes that a rounding can send to a point of the grid.

    Its ends can only be neighbours or midpoints. So these points, and one point between each two, are rounded.
    """
    table = grid(fmt)
    low, here, high = map(float, (table.values[max(index - 1, 0)], *table.values[index : index + 2]))
    flush = table.flush_below
    candidates = {low, (low + here) / 2, here, (here + high) / 2, high, flush, (flush + here) / 2}
    ends = sorted(x for x in candidates if low <= x <= high)
    points = np.array([p for a, b in zip(ends, [*ends[1:], high * 2], strict=True) for p in (a, (a + b) / 2)])
    if rounding in _CHANCE:
        least, most = (np.full(points.shape, t) for t in (0.0 if rounding is Rounding.HYBRID else 1.0, 2.0**32))
        first, second = (_indices(fmt, points, rounding, t) == index for t in (least, most))
        possible, certain = first | second, first & second
    else:
        possible = certain = _indices(fmt, points, rounding) == index
    hits = np.flatnonzero(possible)
    start, stop = int(hits[0]), int(hits[-1])  # even: an end, which belongs to the interval; odd: between two ends
    lower = ("[" if start % 2 == 0 else "(") + number(float(points[start - start % 2]))
    end = "Inf" if stop == len(points) - 1 else number(float(points[stop + stop % 2]))
    upper = end + ("]" if stop % 2 == 0 else ")")
    chance = "" if np.array_equal(possible, certain) else f", {_CHANCE[rounding]}"
    return f"{lower}, {upper}{chance}"
