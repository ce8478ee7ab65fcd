"""What a code or a rule means, in words: for the command line, the headers of generated files, and messages of failing
tests.
"""

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
    Rounding.STOCHASTIC: "stochastic: away from zero iff floor(2^R t) + random >= 2^R, t being the position between the neighbours",
    Rounding.HYBRID: "HiFloat8's hybrid: ties away for exponents -3..3, elsewhere the tail against the source's own last bits",
    Rounding.MPTORCH: "as the supernormals' simulator: half away among powers of two, else ties to even; flush below, Inf above",
}
OVERFLOW_RULES = {
    Overflow.INFINITY: "overflow and infinities to infinity",
    Overflow.NAN: "overflow and infinities to NaN",
    Overflow.SATURATE: "overflow and infinities to the largest finite value",
    Overflow.OCP_PAPER: "overflow to the largest finite value; infinities to infinity, or to NaN where there is none",
}


def number(value: float) -> str:
    """A value as significand times power of two, and in decimal: exactly, or marked as approximate."""
    if not np.isfinite(value) or value == 0:
        return {"inf": "Inf", "-inf": "-Inf", "nan": "NaN"}.get(str(value), str(value).removesuffix(".0"))
    fraction, exponent = np.frexp(value)
    decimal = format(value, ".12g")
    relation = "=" if Decimal(decimal) == Decimal(value) else "≈"
    return f"{2 * fraction:.10g} * 2^{exponent - 1} {relation} {decimal}"


def _hexadecimal(fmt: Format, code: int) -> str:
    """The code in as many digits as all codes of its format need."""
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
    exponent_start = len(body) - row.fraction_bits - row.exponent.bits
    parts = [
        ("sign", text[0]),
        ("prefix", body[:exponent_start]),
        ("exponent", body[exponent_start : len(body) - row.fraction_bits]),
    ]
    parts.append(("fraction", body[len(body) - row.fraction_bits :]))
    return f"{_hexadecimal(fmt, code)} = " + ", ".join(f"{name} {bits}" for name, bits in parts if bits)


def describe(fmt: Format, code: int) -> str:
    """Fields and value of a code, in one line."""
    return f"{fields(fmt, code)}: {number(float(fmt.decode(np.array([code]))[0]))}"


def explain(fmt: Format, code: int) -> Iterator[str]:
    """Lines that tell a code's fields, value and neighbours, and from where each rounding leads to it (formats of at
    most 16 bits).

    Of two formats in one unit, they tell first which of them the code is of, and its code there.

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
    place = int(np.searchsorted(table.values, abs(value)))
    if place > 0:
        yield f"neighbour toward zero: {_place(fmt, place - 1, value)}"
    yield f"neighbour away from zero: {_place(fmt, place + 1, value)}"
    yield "magnitudes that round to it:"
    for rounding in fmt.roundings:
        yield f"  {rounding}: {_interval(fmt, place, rounding)}"


def _place(fmt: Format, place: int, value: float) -> str:
    table = grid(fmt)
    if place >= len(table.codes):
        return f"none; from {number(float(table.values[-1]))} overflow is certain, but toward zero"
    code = int(table.codes[place])
    if np.signbit(value) and (code or fmt.has_negative_zero):
        code = ((1 << fmt.width) - code) if fmt.twos_complement else code | fmt.sign_bit
    return describe(fmt, code)


_CHANCE = {
    Rounding.STOCHASTIC: "with a probability that falls linearly from 1 at the value itself to 0 at the ends",
    Rounding.HYBRID: "decided by the source's last bits (14 of binary32, 1 of binary16 and bfloat16) where the exponent is outside -3..3",
}


def _places(
    fmt: Format, points: NDArray[np.float64], rounding: Rounding, threshold: NDArray[np.float64] | None = None
) -> NDArray[np.int64]:
    """Places of the grid that points round to; where the format's default saturates, those past the largest value are
    its.
    """
    places = round_to_grid(fmt, points, rounding, threshold, 32)
    saturates = fmt.overflows[0] in (Overflow.SATURATE, Overflow.OCP_PAPER)
    return np.minimum(places, len(grid(fmt).codes) - 1) if saturates else places


def _interval(fmt: Format, place: int, rounding: Rounding) -> str:
    """The interval of magnitudes that a rounding can send to a place of the grid, found by rounding its possible ends."""
    table = grid(fmt)
    low, here, high = float(table.values[max(place - 1, 0)]), float(table.values[place]), float(table.values[place + 1])
    candidates = {
        low,
        (low + here) / 2,
        here,
        (here + high) / 2,
        high,
        table.flush_below,
        (table.flush_below + here) / 2,
    }
    ends = sorted(x for x in candidates if low <= x <= high)
    points = np.array([p for a, b in zip(ends, [*ends[1:], high * 2], strict=True) for p in (a, (a + b) / 2)])
    if rounding in _CHANCE:
        least, most = (np.full(points.shape, t) for t in (0.0 if rounding is Rounding.HYBRID else 1.0, 2.0**32))
        first, second = (_places(fmt, points, rounding, t) == place for t in (least, most))
        possible, certain = first | second, first & second
    else:
        possible = certain = _places(fmt, points, rounding) == place
    hits = np.flatnonzero(possible)
    start, stop = int(hits[0]), int(hits[-1])
    lower = ("[" if start % 2 == 0 else "(") + number(float(points[start - start % 2]))
    upper = (
        "Inf)" if stop == len(points) - 1 else number(float(points[stop + stop % 2])) + ("]" if stop % 2 == 0 else ")")
    )
    chance = "" if np.array_equal(possible, certain) else f", {_CHANCE[rounding]}"
    return f"{lower}, {upper}{chance}"
