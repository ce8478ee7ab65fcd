"""Classes of codes, and what rounding did to numbers, for arrays of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from golden import Flag, Format, WideFormat
from golden.multi import MultiFormat
from golden.rounding import grid
from hwgen.coverage.points import Point

OUTCOMES = ("exact", "down", "up", "tie down", "tie up")
"""What rounding does to the magnitude of a number; a tie lies in the middle between two values."""

EXACT, DOWN, UP, TIE_DOWN, TIE_UP = range(len(OUTCOMES))


class Classes(NamedTuple):
    """Names of the classes of a format's codes, and by kind (see :func:`_kinds`) the number of the class."""

    names: tuple[str, ...]
    of_kind: NDArray[np.int64]


_FIXED = ("0", "Inf", "smallest", "largest")
"""Classes with a sign; the rows of the format follow, for all other finite values."""


def class_names(fmt: Format) -> tuple[str, ...]:
    """Names of the classes of a format's codes: NaN, and by sign zero, infinity, smallest, largest, and each row."""
    return _classes(fmt).names


def classes(fmt: Format, codes: NDArray[Any]) -> NDArray[np.int64]:
    """The class of each code, an index into :func:`class_names`."""
    if fmt.has_tables:
        return _table(fmt).take(codes.astype(np.int64))
    return _classes(fmt).of_kind.take(_kinds(fmt, codes.astype(np.int64)))


@cache
def _table(fmt: Format) -> NDArray[np.int64]:
    return _classes(fmt).of_kind.take(_kinds(fmt, np.arange(1 << fmt.width)))


@cache
def _classes(fmt: Format) -> Classes:
    rows = [row_name(fmt, place) for place in range(len(fmt.rows))]
    names = ["NaN", "signaling NaN"]
    for sign in ("+", "-"):
        names += [f"{sign if fmt.signed else ''}{word}" for word in (*_FIXED, *rows)]
    every = np.arange(len(names))
    occurring = np.unique(_kinds(fmt, np.arange(1 << fmt.width))) if fmt.has_tables else every
    of_kind = np.full(len(names), -1)
    of_kind[occurring] = np.arange(occurring.size)
    return Classes(tuple(names[kind] for kind in occurring.tolist()), of_kind)


def row_name(fmt: Format, place: int) -> str:
    """What a row's values are called: subnormal, normal, or by the prefix of their codes."""
    row, owner = fmt.rows[place], ""
    prefix = row.prefix
    if isinstance(fmt, MultiFormat):
        owner, prefix = f" of {fmt.members[int(prefix[0])].name}", prefix[1:]
    name = "subnormal" if not row.hidden else f"row {prefix}" if prefix else "normal"
    return name + owner


def _kinds(fmt: Format, codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """0 is NaN, 1 a signaling NaN; the others are in the order of :func:`_classes`, the positive ones first."""
    values = fmt.decode(codes)
    size, negative = np.abs(values), codes & fmt.sign_bit != 0
    if fmt.has_tables:
        row = fmt.magnitude_rows[fmt.magnitudes_of(codes) & (1 << fmt.magnitude_bits) - 1]
    else:
        row = (size >= fmt.smallest_normal).astype(np.int64)
    word = np.select(
        [size == 0, np.isinf(size), size == fmt.smallest, size == fmt.largest], [0, 1, 2, 3], len(_FIXED) + row
    )
    kinds = 2 + negative * (len(_FIXED) + len(fmt.rows)) + word
    quiet = fmt.is_signaling(codes).astype(np.int64) if isinstance(fmt, WideFormat) else 0
    return np.where(np.isnan(values), quiet, kinds)


class Neighbours(NamedTuple):
    """For magnitudes: the grid points at or below and above, and the row of the one below (-1 past the largest)."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    row: NDArray[np.int64]

    @property
    def half(self) -> NDArray[np.float64]:
        """Half the distance between the neighbours; infinity past the largest value."""
        return (self.high - self.low) / 2


def neighbours(fmt: Format, numbers: NDArray[np.float64]) -> Neighbours:
    """The neighbours of magnitudes on the grid of a format's values: of finite ones, or else of 0.

    Past the largest value ``high`` is infinite.
    """
    magnitude = np.where(np.isfinite(numbers), np.abs(numbers), 0.0)
    if not fmt.has_tables:
        exponent = np.where(magnitude > 0, np.frexp(magnitude)[1] - fmt.precision, fmt.ulp_exponent)
        ulp = np.ldexp(1.0, np.maximum(exponent, fmt.ulp_exponent))
        low = np.floor(magnitude / ulp) * ulp
        return Neighbours(low, low + ulp, (magnitude >= fmt.smallest_normal).astype(np.int64))
    table = grid(fmt)
    last = len(table.values) - 1
    below = np.searchsorted(table.values, magnitude, side="right") - 1
    low = table.values[below]
    if table.flush_below:
        low = np.where((below == 0) & (magnitude > 0), table.flush_below, low)
    high = np.where(below >= last, np.inf, table.values[np.minimum(below + 1, last)])
    codes = table.codes[np.minimum(below, last - 1)] & (1 << fmt.magnitude_bits) - 1  # the lowest number is in any row
    row = np.where(below >= last, -1, fmt.magnitude_rows[codes])
    return Neighbours(low, high, row)


def outcomes(exact: NDArray[np.float64], result: NDArray[np.float64], half: NDArray[np.float64]) -> NDArray[np.int64]:
    """What rounding did: an index into :data:`OUTCOMES`; -1 where a number is not finite.

    Exact numbers of more than 53 bits are rounded to odd, which preserves the answer. ``half`` is half the distance
    between their neighbours.
    """
    with np.errstate(invalid="ignore"):
        before, after = np.abs(exact), np.abs(result)
        away = after - before
        tie = np.abs(away) == half
        answer = np.where(away == 0, EXACT, np.where(away < 0, DOWN, UP) + 2 * tie)
    return np.where(np.isfinite(away), answer, -1)


def flag_points(outputs: Mapping[str, NDArray[Any]]) -> list[Point]:
    """Each status flag, clear and set; none if there are no flags."""
    if "flags" not in outputs:
        return []
    word = outputs["flags"].astype(np.int64)
    return [Point(f"flag {str(flag.name).lower()}", ("0", "1"), word >> place & 1) for place, flag in enumerate(Flag)]
