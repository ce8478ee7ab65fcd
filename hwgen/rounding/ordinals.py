"""A format's non-negative values in order: what an encoder needs to know of its rows.

The *ordinal* of a value is its place in an order of all of them. Rounding up is adding 1 to an ordinal, whatever the
format; and within a binade the ordinal is an offset, plus the exponent and the fraction side by side. In most formats
zero has the ordinal 0 and every ordinal is the code without its sign. Where that cannot be (HiFloat8 counts negative
exponents downwards), an exclusive or that depends on the ordinal's leading bits makes it the code, and two liberties
keep both ends of that simple:

* Exponents whose code is sign and magnitude are counted in *one's complement*: E where it is positive, E - 1 where it
is not. Their bits
  are then the code's, inverted where negative. The count 0 is a second zero, E = 0 being -1: it stands for the first
  value of E = 1, and only the carry out of E = 0 comes there.
* Zero's ordinal is whatever makes the binades begin at round numbers, so that the offsets are leading bits in front of
the exponent's.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from golden import Fixed, Format, SignMagnitude, WideFormat

_CANDIDATES = 16
"""How many of the orders with the simplest offsets are looked at more closely."""


@dataclass(frozen=True)
class Segment:
    """Binades ``low`` to ``high`` in which 2**E * (1 + m / 2**k) has the ordinal (count of E << k) + m + ``offset``.

    k is ``fraction_bits``; the count of E is E itself, or its one's complement, see :class:`Ordinals`.
    """

    low: int
    high: int
    fraction_bits: int
    offset: int


@dataclass(frozen=True)
class Ordinals:
    """The order of a format's values.

    Attributes
    ----------
    segments : tuple of Segment
        Ascending, without gaps.
    bottom_exponent, bottom_fraction_bits : int
        Below 2**``bottom_exponent`` the ordinals count multiples of 2**(``bottom_exponent`` - ``bottom_fraction_bits``)
        in a format with subnormals; in the others these are the lowest segment's ``low`` and ``fraction_bits``.
    subnormals : bool
        Whether there are values below 2**``bottom_exponent``.
    first_missing : bool
        Whether zero stands where 2**``bottom_exponent`` would.
    zero, last : int
        Ordinals of zero and of the largest finite value.
    ones_complement : bool
        Whether exponents are counted in one's complement.
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
        """An exponent as it is counted."""
        return exponent - 1 if self.ones_complement and exponent <= 0 else exponent

    def ends(self, segment: Segment) -> tuple[int, int]:
        """Ordinals of the first value of a segment, and of the first one in its last binade."""
        low, high = ((self.count(e) << segment.fraction_bits) + segment.offset for e in (segment.low, segment.high))
        return low, high

    def starting_at(self, zero: int) -> "Ordinals":
        """The same order with another ordinal for zero."""
        by = zero - self.zero
        segments = tuple(replace(segment, offset=segment.offset + by) for segment in self.segments)
        return replace(self, segments=segments, zero=zero, last=self.last + by)

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
        """Bits of an ordinal, the one past the last included."""
        return max(self.past_top, self.last + 1).bit_length()


@cache
def ordinals(fmt: Format) -> Ordinals:
    """Derive the order of values from a format's rows."""
    if not fmt.has_tables:
        assert isinstance(fmt, WideFormat)
        assert fmt.infinity is not None
        bias, k = fmt.bias, fmt.fraction_bits
        segments = (Segment(1 - bias, bias, k, bias << k),)
        last = fmt.infinity - 1
        return Ordinals(
            segments, 1 - bias, k, subnormals=True, first_missing=False, zero=0, last=last, ones_complement=False
        )
    order = _from_zero(fmt)
    if np.array_equal(fmt.magnitude_codes, np.arange(len(fmt.magnitude_codes))):
        return order
    orders = sorted(map(order.starting_at, range(fmt.sign_bit)), key=_carries)[:_CANDIDATES]
    return min(
        (o for o in orders if _carries(o) == _carries(orders[0])), key=lambda o: len(list(code_masks(fmt, o, None)))
    )


def _carries(order: Ordinals) -> int:
    """Through how many bits of exponents a carry runs where offsets are added to them."""
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
        row = fmt.rows[fmt.magnitude_rows[code]]
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
    return Ordinals(tuple(segments), *bottom, subnormals, first_missing, 0, places[-1], ones_complement)


def _counts_in_ones_complement(fmt: Format) -> bool:
    return any(isinstance(row.exponent, SignMagnitude) for row in fmt.rows)


def _places(fmt: Format, zero: int) -> list[int]:
    """Ordinals of all magnitudes, ascending; behind E = 0 those of the second zero are left out."""
    skipped = _second_zero(fmt)
    return [zero + i + (skipped if value >= 2 else 0) for i, value in enumerate(fmt.magnitudes.tolist())]


def _second_zero(fmt: Format) -> int:
    """How many ordinals the count 0 takes up: those of a binade as precise as E = 1."""
    if not _counts_in_ones_complement(fmt) or fmt.largest < 2 or fmt.smallest >= 2:
        return 0
    first = fmt.magnitude_codes[np.searchsorted(fmt.magnitudes, 2)]
    return int(2.0 / fmt.quantum(int(first)))


def code_masks(fmt: Format, order: Ordinals, past_last: int | None) -> Iterator[tuple[str, int]]:
    """Leading bits of an ordinal, and what an exclusive or with it makes of it the code.

    Parameters
    ----------
    past_last : int or None
        Code that the ordinal after the last is to become; None if that does not matter.

    Yields
    ------
    (bits, mask)
        ``bits`` are the leading ones of an ordinal; together they cover all ordinals. One item, with no bits, where
        ordinal and code are the same everywhere.
    """
    if not fmt.has_tables:
        yield "", 0
        return
    body, skipped = fmt.sign_bit - 1, _second_zero(fmt)
    masks: list[int | None] = [None] * (1 << max(order.width, fmt.width - 1))
    for ordinal, code, value in zip(
        _places(fmt, order.zero), fmt.magnitude_codes.tolist(), fmt.magnitudes.tolist(), strict=True
    ):
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
