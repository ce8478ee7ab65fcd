"""Binades without values, which posits have where exponent bits are cut off: rounding as if there were none.

There, neighbours are powers of two whose exponents are multiples of 2**s, and a longer code's next bits are the last s
bits of the exponent. So these become the first bits of the fraction, and what is left of the exponent counts binades:
a rounder that knows no holes then finds the posits' neighbours, and their ties in the middle.
"""

from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
from amaranth.hdl import Cat, Const, Module, Mux, Value

from golden import Biased, Fixed, Format
from golden.rows import Exponent
from hwgen.datapath.arithmetic import named, range_shape, reaches
from hwgen.netlist.book import chapter
from hwgen.rounding.position import Parts


class Piece(NamedTuple):
    """Exponents E from ``low`` on: every 2**``shift``-th has values, and E >> shift, plus ``offset``, counts these."""

    low: int
    shift: int
    offset: int


@cache
def pieces(fmt: Format) -> tuple[Piece, ...]:
    """All exponents, in order; the first piece has no lower end. There are none if there are no holes."""
    if not fmt.posit_rounding:
        return ()
    present = np.unique(np.frexp(fmt.magnitudes[fmt.magnitudes > 0])[1] - 1).tolist()
    if present[-1] - present[0] == len(present) - 1:
        return ()
    first = -sum(exponent < 0 for exponent in present)  # counts of exponents around 0 are the exponents
    found = [Piece(present[0], 0, first - present[0])]
    for count, (low, high) in enumerate(zip(present, [*present[1:], present[-1] + 1], strict=True), first):
        shift = (high - low).bit_length() - 1
        piece = Piece(low, shift, count - (low >> shift))
        if (piece.shift, piece.offset) != (found[-1].shift, found[-1].offset):
            found.append(piece)
    return tuple(found)


def _count(fmt: Format, exponent: int) -> int:
    piece = [pieces(fmt)[0], *(piece for piece in pieces(fmt)[1:] if piece.low <= exponent)][-1]
    return (exponent >> piece.shift) + piece.offset


@cache
def closed(fmt: Format) -> Format:
    """The format with the same codes and with counts as exponents."""
    if not pieces(fmt):
        return fmt

    def counted(rule: Exponent) -> Exponent:
        if isinstance(rule, Biased):
            return replace(rule, bias=-_count(fmt, -rule.bias))
        assert isinstance(rule, Fixed)
        return Fixed(_count(fmt, rule.exponent))

    return replace(fmt, rows=tuple(replace(row, exponent=counted(row.exponent)) for row in fmt.rows))


def closed_parts(m: Module, fmt: Format, parts: Parts) -> Parts:
    """The number that a rounder to :func:`closed` rounds as the given one."""
    if not pieces(fmt):
        return parts
    chapter(m, "Holes: where only some exponents have values, the others' last bits become the first of the fraction")
    low, high = parts.exponents
    least = min(low, -1, -parts.offset)  # of zero it may be lower than that of any number
    exponent = named(m, "true_exponent", parts.exponent - parts.offset, range_shape(least, high))
    most = max(piece.shift for piece in pieces(fmt))
    shape = range_shape(min(_count(fmt, least), -1), _count(fmt, high))

    choices: list[tuple[Value, Value]] = []
    for piece in pieces(fmt):
        count = (exponent >> piece.shift) + piece.offset
        fraction = Cat(Const(0, most - piece.shift), parts.fraction, exponent[: piece.shift])
        if choices:
            name = f"at_least_2_to_{piece.low}".replace("-", "minus_")
            here = named(m, f"true_{name}", reaches(exponent, piece.low))
            count, fraction = (Mux(here, own, other) for own, other in zip((count, fraction), choices[-1], strict=True))
        choices.append((count, fraction))
    count, fraction = choices[-1]
    special, zero = (
        None if place is None else _count(fmt, place) for place in (parts.special_exponent, parts.zero_exponent)
    )
    return replace(
        parts,
        exponent=named(m, "count", count, shape),
        offset=0,
        exponents=(_count(fmt, low), _count(fmt, high)),
        fraction=named(m, "count_fraction", fraction),
        special_exponent=special,
        zero_exponent=zero,
        bound="count",
    )
