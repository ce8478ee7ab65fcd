"""Codes and rounding rules as text: for the command line, headers of generated files, and messages of failing tests."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from golden.formats import Format
from golden.overflow import replacements, with_sign
from golden.p3109 import FarFormat
from golden.rounding import grid, round_to_grid
from golden.rows import Kind, Overflow, Rounding


def overflow_rule(fmt: Format, rounding: Rounding, overflow: Overflow) -> str:
    """What becomes of numbers that round to none of the format, and of infinities, as text."""
    instead = replacements(fmt, rounding, overflow)
    words = {fmt.largest_code: "the largest finite value", fmt.infinity: "infinity", fmt.canonical_nan: "NaN"}
    if fmt.has_lowest:
        words[fmt.sign_bit] = "the lowest one"
    above, below, plus_inf, minus_inf, zero = (
        words.get(code, f"code {hexadecimal(fmt, code)}")
        for code in (instead.above, instead.below, instead.plus_inf, instead.minus_inf, instead.zero)
    )
    if fmt.signed:
        past = above if above == below else f"{above} if positive, to {below} if negative"
        if past == plus_inf == minus_inf:
            return f"overflow and infinities to {past}"
        return f"overflow to {past}; infinities to {plus_inf}"
    text = f"overflow and infinity to {above}" if above == plus_inf else f"overflow to {above}, infinity to {plus_inf}"
    under = "numbers that round below zero" if fmt.has_zero else "negative numbers"
    same = below == minus_inf
    text += f"; {under} and -infinity to {below}" if same else f"; {under} to {below}, -infinity to {minus_inf}"
    return text if fmt.has_zero else f"{text}; zero to {zero}"


def number(value: float | Fraction) -> str:
    """A value as significand times power of two, exactly, and in decimal, exactly (=) or approximately (≈).

    Fractions that binary64 cannot hold are shown as integer or fraction instead of in decimal.
    """
    if isinstance(value, float) and (not np.isfinite(value) or value == 0):
        return {"inf": "Inf", "-inf": "-Inf", "nan": "NaN"}.get(str(value), str(value).removesuffix(".0"))
    exact = Fraction(value)
    if exact == 0:
        return "0"
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    significand = Decimal(float(exact / Fraction(2) ** exponent))
    power = f"{significand.normalize():f} * 2^{exponent}"
    if not -1022 <= exponent <= 1023:
        return power if significand == 1 and exponent > 0 else f"{power} = {ratio(exact)}"
    decimal = format(float(exact), ".12g")
    return f"{power} {'=' if Decimal(decimal) == Decimal(float(exact)) else '≈'} {decimal}"


def ratio(value: Fraction) -> str:
    """A number of few significant bits as integer or fraction, with powers of two: ``3*2^500``, ``3/2^500``."""
    places = max((value.numerator & -value.numerator).bit_length() - 1, 0)
    odd = value.numerator >> places
    if value.denominator > 1:
        return f"{odd}/2^{value.denominator.bit_length() - 1}"
    return f"{odd}*2^{places}" if places else str(odd)


def binades(fmt: Format) -> str:
    """The number of binades of a format, where they lie, and which of them are the most precise, as text."""
    first, last = fmt.exponent_range[0], max(fmt.binades)
    low, high = fmt.most_precise
    bits = fmt.binades[low]
    most = f"{bits} bit{'s' * (bits > 1)}, {_powers(low, high)}"
    return f"{len(fmt.binades)}, {_powers(first, last)}; most precise: {most}"


def _powers(low: int, high: int) -> str:
    return f"2^{low}" if low == high else f"2^{low} to 2^{high}"


def table(fmt: Format) -> Iterator[str]:
    """Describe every code of a format in a line: code, bits, value."""
    for code in range(1 << fmt.width):
        yield f"{hexadecimal(fmt, code)} {code:0{fmt.width}b} {number(_value(fmt, code))}"


def hexadecimal(fmt: Format, code: int) -> str:
    """The code with as many digits as the widest code of its format."""
    return f"{code:#0{-(-fmt.width // 4) + 2}x}"


def fields(fmt: Format, code: int) -> str:
    """The code's bits, field by field: ``0x5a = sign 0, prefix 10, exponent 110, fraction 10``."""
    member, inner = fmt.split(code)
    if member is not fmt:
        return f"{member.name} {fields(member, inner)}"
    text = format(code, f"0{fmt.width}b")
    if fmt.twos_complement:
        return f"{hexadecimal(fmt, code)} = two's complement {text}"
    body = text[int(fmt.signed) :]
    row = next(row for row in fmt.rows if body.startswith(row.prefix))
    fraction = len(body) - row.fraction_bits
    exponent = fraction - row.exponent.bits
    parts = {
        "sign": text[: int(fmt.signed)],
        "prefix": body[:exponent],
        "exponent": body[exponent:fraction],
        "fraction": body[fraction:],
    }
    return f"{hexadecimal(fmt, code)} = " + ", ".join(f"{name} {bits}" for name, bits in parts.items() if bits)


def describe(fmt: Format, code: int) -> str:
    """Fields and value of a code in one line."""
    return f"{fields(fmt, code)}: {number(_value(fmt, code))}"


def _value(fmt: Format, code: int) -> float | Fraction:
    """The value of a code; a float, which knows -0, unless the format's exponents are too large for floats."""
    return fmt.exact_value(code) if isinstance(fmt, FarFormat) else float(fmt.decode(np.array([code]))[0])


def explain(fmt: Format, code: int) -> Iterator[str]:
    """Describe a code line by line: fields, value, neighbours, and the interval that each rounding sends to it.

    Neighbours and intervals are listed for formats of at most 16 bits. For two formats in one unit, the first lines
    show the selected format and its code. A code of more bits than the format has is refused.
    """
    member, inner = fmt.split(code)
    if member is not fmt:
        bits = format(code, f"0{fmt.width}b")
        sign = "the code's sign, " if fmt.signed else ""
        yield f"{fmt.name} ({fmt.width} bits: {sign}a bit that selects the format, the code's other bits)"
        sign = f"sign {bits[0]}, " if fmt.signed else ""
        parts = f"{sign}select {bits[int(fmt.signed)]}, others {bits[fmt.signed + 1 :]}"
        yield f"{hexadecimal(fmt, code)} = {parts}: code {hexadecimal(member, inner)} of {member.name}"
        yield from explain(member, inner)
        return
    yield f"{fmt.name} ({fmt.width} bits; {fmt.cite})"
    yield fields(fmt, code)
    value = _value(fmt, code)
    yield f"value: {number(value)}"
    if fmt.has_tables and not isinstance(fmt, FarFormat):
        yield f"binades of {fmt.name}: {binades(fmt)}"
    if not fmt.has_tables or fmt.kinds[code] not in (Kind.FINITE, Kind.ZERO):
        return
    if isinstance(value, Fraction):
        yield from _far_neighbours(fmt, code)
        return
    table = grid(fmt)
    index = int(np.searchsorted(table.values, abs(value)))
    if index > (not fmt.has_zero):
        yield f"neighbour toward zero: {_neighbour(fmt, index - 1, value)}"
    yield f"neighbour away from zero: {_neighbour(fmt, index + 1, value)}"
    yield f"magnitudes that round to it, with overflow {fmt.overflows[0]}:"
    for rounding in fmt.roundings:
        yield f"  {rounding}: {_interval(fmt, index, rounding, negative=bool(np.signbit(value)))}"


_NO_NEIGHBOUR = "none: no finite value is further from zero"


def _neighbour(fmt: Format, index: int, value: float) -> str:
    table = grid(fmt)
    if index >= len(table.codes):
        beyond = float(np.copysign(table.values[-1], value))
        return f"{_NO_NEIGHBOUR}; the next would be {number(beyond)}"
    code = int(table.codes[index])
    return describe(fmt, with_sign(fmt, code) if np.signbit(value) and (code or fmt.has_negative_zero) else code)


def _far_neighbours(fmt: Format, code: int) -> Iterator[str]:
    """The neighbours of a code of IEEE P3109, whose magnitudes are in the order of their values."""
    if code & ~fmt.sign_bit:
        lower = code - 1 if code & ~fmt.sign_bit > 1 else 0
        yield f"neighbour toward zero: {describe(fmt, lower)}"
    finite = fmt.kinds[code + 1 & (1 << fmt.width) - 1] is Kind.FINITE
    yield f"neighbour away from zero: {describe(fmt, code + 1) if finite else _NO_NEIGHBOUR}"


_LAST_BITS = (
    "decided by the source's last bits (14 of binary32, 1 of binary16 and bfloat16) where the exponent is outside -3..3"
)


def _indices(
    fmt: Format,
    points: NDArray[np.float64],
    rounding: Rounding,
    negative: bool,
    threshold: NDArray[np.float64] | None = None,
) -> NDArray[np.int64]:
    """Indices into the grid that magnitudes round to; the largest value's where overflow becomes that value."""
    indices, last = round_to_grid(fmt, points, negative, rounding, threshold, 32), len(grid(fmt).codes) - 1
    instead = replacements(fmt, rounding, fmt.overflows[0])
    last -= fmt.has_lowest and not negative
    saturates = (instead.below if negative else instead.above) == grid(fmt).codes[last]
    return np.minimum(indices, last) if saturates else indices


def _interval(fmt: Format, index: int, rounding: Rounding, *, negative: bool) -> str:
    """The interval of magnitudes that a rounding can send to a point of the grid.

    Its ends can only be neighbours or midpoints. So these points, and one point between each two, are rounded.
    """
    table = grid(fmt)
    low, here, high = map(float, (table.values[max(index - 1, 0)], *table.values[index : index + 2]))
    flush, middles = table.flush_below, table.middles[max(index - 1, 0) : index + 1].tolist()
    candidates = {low, *middles, here, high, flush, (flush + here) / 2}
    ends = sorted(x for x in candidates if low <= x <= high)
    points = np.array([p for a, b in zip(ends, [*ends[1:], high * 2], strict=True) for p in (a, (a + b) / 2)])
    if not (rounding.is_stochastic or rounding.reads_source):
        return _bounds(points, _indices(fmt, points, rounding, negative) == index)
    least, most = (np.full(points.shape, t) for t in (0.0 if rounding.reads_source else 1.0, 2.0**32))
    first, second = (_indices(fmt, points, rounding, negative, t) == index for t in (least, most))
    possible, certain = _bounds(points, first | second), first & second
    if np.array_equal(first, second):
        return possible
    if rounding.reads_source:
        return f"{possible}, {_LAST_BITS}"
    alone = np.count_nonzero(certain) == 1
    top, end = ("at the value itself", "ends") if alone else (f"in {_bounds(points, certain)}", "other end")
    return f"{possible}, with a probability that falls linearly from 1 {top} to 0 at the {end}"


def _bounds(points: NDArray[np.float64], hits: NDArray[np.bool_]) -> str:
    """The interval of the points that are hit; points of even index are possible ends, the others lie between."""
    start, stop = np.flatnonzero(hits)[[0, -1]].tolist()
    lower = ("[" if start % 2 == 0 else "(") + number(float(points[start - start % 2]))
    end = "Inf" if stop == len(points) - 1 else number(float(points[stop + stop % 2]))
    return f"{lower}, {end}{']' if stop % 2 == 0 else ')'}"
