"""A format's non-negative values in order: what an encoder needs to know about its rows.

The *ordinal* of a value is its place in this order. Rounding up adds 1 to an ordinal, in every format. Within a binade
the ordinal is an offset plus exponent and fraction side by side. In most formats zero has the ordinal 0, and every
ordinal is the code without its sign. HiFloat8 counts negative exponents downwards. There, an exclusive or that depends
on the ordinal's leading bits turns the ordinal into the code, and two choices keep both calculations simple:

* Exponents stored as sign and magnitude are counted in *one's complement*: as E if it is positive, else as E - 1. Their
  bits are those of the code, inverted if negative. E = 0 is counted as -1, so the count 0 is a second zero: it stands
  for the first value of E = 1, and only the carry out of E = 0 leads there.
* Zero has the ordinal with which the binades begin at round numbers. Then the offsets are leading bits in front of the
  exponent.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from golden import Fixed, Format, SignMagnitude, WideFormat
from hwgen.datapath.ports import magnitude_rows

_CANDIDATES = 16
"""How many of the orders with the simplest offsets are compared further."""


@dataclass(frozen=True)
class Segment:
    """Binades ``low`` to ``high``: 2**E * (1 + m / 2**k) has the ordinal (count of E << k) + m + ``offset``.

    k is ``fraction_bits``; for the count of E see :meth:`Ordinals.count`.
    """

    low: int
    high: int
    fraction_bits: int
    offset: int


@dataclass(frozen=True)
class Ordinals:
    """The order of a format's values: ascending segments without gaps.

    With ``subnormals`` there are values below 2**``bottom_exponent``: their ordinals count multiples of
    2**(``bottom_exponent`` - ``bottom_fraction_bits``). In other formats these are the lowest segment's ``low`` and
    ``fraction_bits``, and zero takes the place of 2**``bottom_exponent`` if that is ``first_missing``. ``zero`` and
    ``last`` are the ordinals of zero, in formats without zero of the smallest value, and of the largest finite value.
    ``ones_complement`` says how exponents are counted, see above.
    """

    segments: tuple[Segment, ...]
    bottom_exponent: int
    bottom_fraction_bits: int
    subnormals: bool
    first_missing: bool
    zero: int
    last: int
    ones_complement: bool

    def count(self, exponent: int) -> int:
        """The count of an exponent: E itself, or its one's complement."""
        return exponent - 1 if self.ones_complement and exponent <= 0 else exponent

    def ends(self, segment: Segment) -> tuple[int, int]:
        """Ordinals of the first values in the first and the last binade of a segment."""
        low, high = ((self.count(e) << segment.fraction_bits) + segment.offset for e in (segment.low, segment.high))
        return low, high

    def starting_at(self, zero: int) -> "Ordinals":
        """Return this order with another ordinal for zero."""
        distance = zero - self.zero
        segments = tuple(replace(segment, offset=segment.offset + distance) for segment in self.segments)
        return replace(self, segments=segments, zero=zero, last=self.last + distance)

    @property
    def fraction_bits(self) -> int:
        """Fraction bits of the most precise binade, or of the subnormals."""
        return max(self.bottom_fraction_bits, *(s.fraction_bits for s in self.segments), 0)

    @property
    def top_exponent(self) -> int:
        """Exponent of the largest finite value."""
        return self.segments[-1].high if self.segments else self.bottom_exponent - 1

    @property
    def past_top(self) -> int:
        """The largest ordinal that a value in the top binade can round to."""
        if not self.segments:
            return 1 << self.bottom_fraction_bits
        top = self.segments[-1]
        return ((self.count(top.high) + 1) << top.fraction_bits) + top.offset

    @property
    def width(self) -> int:
        """Bits of an ordinal, including the one after the last."""
        return max(self.past_top, self.last + 1).bit_length()


@cache
def ordinals(fmt: Format) -> Ordinals:
    """Derive the order of values from a format's rows."""
    if not fmt.has_tables:
        assert isinstance(fmt, WideFormat)
        assert fmt.infinity is not None
        bias, k = fmt.bias, fmt.fraction_bits
        segments = (Segment(1 - bias, bias, k, bias << k),)
        kind = {"subnormals": True, "first_missing": False, "ones_complement": False}
        return Ordinals(segments, 1 - bias, k, zero=0, last=fmt.infinity - 1, **kind)
    order = _from_zero(fmt)
    if np.array_equal(fmt.magnitude_codes, np.arange(len(fmt.magnitude_codes))):
        return order
    orders = sorted(map(order.starting_at, range(1 << fmt.magnitude_bits)), key=_carries)[:_CANDIDATES]
    simplest = [order for order in orders if _carries(order) == _carries(orders[0])]
    return min(simplest, key=lambda order: len(list(code_masks(fmt, order, None))))


def _carries(order: Ordinals) -> int:
    """Length of all carry chains that add offsets to exponents, in bits."""
    carries = 0
    for segment in order.segments:
        low, high = order.ends(segment)
        changing = (low ^ high).bit_length()
        offset = segment.offset & ((1 << changing) - 1)
        if offset:
            carries += changing - (offset & -offset).bit_length()
    return carries


def _from_zero(fmt: Format) -> Ordinals:
    """The order in which zero has the ordinal 0."""
    binades: dict[int, tuple[int, int]] = {}
    bottom: tuple[int, int] | None = None
    places = _places(fmt, 0)
    for ordinal, code, value in zip(places, fmt.magnitude_codes.tolist(), fmt.magnitudes.tolist(), strict=True):
        row = magnitude_rows(fmt)[fmt.magnitude_rows[code]]
        if value == 0:
            continue
        if not row.hidden:
            assert isinstance(row.exponent, Fixed)
            bottom = row.exponent.exponent, row.fraction_bits
            continue
        exponent = int(np.frexp(value)[1]) - 1
        fraction = int((value / 2.0**exponent - 1) * 2**row.fraction_bits)
        binades.setdefault(exponent, (row.fraction_bits, ordinal - fraction))
    ones_complement = _counts_in_ones_complement(fmt)
    segments: list[Segment] = []
    for exponent, (fraction_bits, start) in sorted(binades.items()):
        count = exponent - 1 if ones_complement and exponent <= 0 else exponent
        segment = Segment(exponent, exponent, fraction_bits, start - (count << fraction_bits))
        if segments and (segments[-1].fraction_bits, segments[-1].offset) == (fraction_bits, segment.offset):
            segment = Segment(segments.pop().low, exponent, fraction_bits, segment.offset)
        segments.append(segment)
    subnormals = bottom is not None
    if bottom is None:
        bottom = segments[0].low, segments[0].fraction_bits
    first_missing = not subnormals and fmt.smallest > 2.0 ** bottom[0]
    return Ordinals(
        tuple(segments), *bottom, subnormals, first_missing, 0, places[-1] + fmt.has_lowest, ones_complement
    )


def _counts_in_ones_complement(fmt: Format) -> bool:
    return any(isinstance(row.exponent, SignMagnitude) for row in fmt.rows)


def _places(fmt: Format, zero: int) -> list[int]:
    """Ordinals of all magnitudes, ascending, without the second zero's."""
    skipped = _second_zero(fmt)
    return [zero + i + (skipped if value >= 2 else 0) for i, value in enumerate(fmt.magnitudes.tolist())]


def _second_zero(fmt: Format) -> int:
    """Number of ordinals with the count 0, the size of the binade of E = 1."""
    if not _counts_in_ones_complement(fmt) or fmt.largest < 2 or fmt.smallest >= 2:
        return 0
    first = fmt.magnitude_codes[np.searchsorted(fmt.magnitudes, 2)]
    return int(2.0 / fmt.quantum(int(first)))


def code_masks(fmt: Format, order: Ordinals, past_last: int | None) -> Iterator[tuple[str, int]]:
    """Masks that turn ordinals into codes by an exclusive or, by the ordinals' leading bits, which cover all ordinals.

    There is one mask, without bits, if one is enough. ``past_last`` is the code for the ordinal after the last; None if
    any will do.
    """
    if not fmt.has_tables:
        yield "", 0
        return
    body, skipped, places = (1 << fmt.magnitude_bits) - 1, _second_zero(fmt), _places(fmt, order.zero)
    masks: list[int | None] = [None] * (1 << max(order.width, fmt.magnitude_bits))
    for ordinal, code, value in zip(places, fmt.magnitude_codes.tolist(), fmt.magnitudes.tolist(), strict=True):
        masks[ordinal] = (ordinal & body) ^ code
        if value == 2 and skipped:
            masks[ordinal - skipped] = ((ordinal - skipped) & body) ^ code
    if past_last is not None and order.last + 1 < len(masks):
        masks[order.last + 1] = ((order.last + 1) & body) ^ past_last
    yield from _blocks(masks, "")


def _blocks(masks: list[int | None], bits: str) -> Iterator[tuple[str, int]]:
    known = {mask for mask in masks if mask is not None}
    if len(known) <= 1:
        yield bits, known.pop() if known else 0
        return
    half = len(masks) // 2
    yield from _blocks(masks[:half], bits + "0")
    yield from _blocks(masks[half:], bits + "1")
