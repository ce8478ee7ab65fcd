"""A format's non-negative values in order: what an encoder needs to know of its rows.

The *ordinal* of a value is its place in that order, zero being 0. Rounding up is adding 1 to an ordinal, whatever the format; and within
a binade the ordinal is an offset, plus the exponent and the fraction side by side. In most formats the ordinal is the code without its
sign; where it is not (HiFloat8 counts negative exponents downwards), it becomes the code by an exclusive or that depends on its
leading bits.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from golden import Biased, Fixed, Format
from golden.validation import MAX_WIDTH


@dataclass(frozen=True)
class Segment:
    """Binades ``low`` to ``high`` in which 2**E * (1 + m / 2**k) has the ordinal (E << k) + m + ``offset``, k being ``fraction_bits``."""

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
        Below 2**``bottom_exponent`` the ordinals count multiples of 2**(``bottom_exponent`` - ``bottom_fraction_bits``) in a format
        with subnormals; in the others these are the lowest segment's ``low`` and ``fraction_bits``.
    subnormals : bool
        Whether there are values below 2**``bottom_exponent``.
    first_missing : bool
        Whether zero stands where 2**``bottom_exponent`` would.
    last : int
        Ordinal of the largest finite value.
    """

    segments: tuple[Segment, ...]
    bottom_exponent: int
    bottom_fraction_bits: int
    subnormals: bool
    first_missing: bool
    last: int

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
        return ((top.high + 1) << top.fraction_bits) + top.offset


@cache
def ordinals(fmt: Format) -> Ordinals:
    """Derive the order of values from a format's rows."""
    if fmt.width > MAX_WIDTH:
        return _of_binary32(fmt)
    binades: dict[int, tuple[int, int]] = {}
    bottom: tuple[int, int] | None = None
    for ordinal, (code, value) in enumerate(zip(fmt.magnitude_codes.tolist(), fmt.magnitudes.tolist(), strict=True)):
        row = fmt.rows[fmt.magnitude_rows[code]]
        if ordinal == 0:
            continue
        if not row.hidden:
            assert isinstance(row.exponent, Fixed)
            bottom = row.exponent.exponent, row.fraction_bits
            continue
        exponent = int(np.frexp(value)[1]) - 1
        fraction = int((value / 2.0**exponent - 1) * 2**row.fraction_bits)
        binades.setdefault(exponent, (row.fraction_bits, ordinal - fraction))
    segments: list[Segment] = []
    for exponent, (fraction_bits, start) in sorted(binades.items()):
        segment = Segment(exponent, exponent, fraction_bits, start - (exponent << fraction_bits))
        if segments and (segments[-1].fraction_bits, segments[-1].offset) == (fraction_bits, segment.offset):
            segment = Segment(segments.pop().low, exponent, fraction_bits, segment.offset)
        segments.append(segment)
    subnormals = bottom is not None
    if bottom is None:
        bottom = segments[0].low, segments[0].fraction_bits
    first_missing = not subnormals and fmt.smallest > 2.0 ** bottom[0]
    return Ordinals(tuple(segments), *bottom, subnormals, first_missing, len(fmt.magnitude_codes) - 1)


def _of_binary32(fmt: Format) -> Ordinals:
    normal = fmt.rows[-1]
    assert isinstance(normal.exponent, Biased)
    assert fmt.infinity is not None
    bias, k = normal.exponent.bias, normal.fraction_bits
    segment = Segment(1 - bias, bias, k, bias << k)
    return Ordinals((segment,), 1 - bias, k, subnormals=True, first_missing=False, last=fmt.infinity - 1)


def code_masks(fmt: Format, past_last: int | None) -> Iterator[tuple[str, int]]:
    """Leading bits of an ordinal, and what an exclusive or with it makes of it the code.

    Parameters
    ----------
    past_last : int or None
        Code that the ordinal after the last is to become; None if that does not matter.

    Yields
    ------
    (bits, mask)
        ``bits`` are the leading ones of ``width - 1``; together they cover all ordinals. One item, with no bits, where ordinal and
        code are the same everywhere.
    """
    order = ordinals(fmt)
    if fmt.width > MAX_WIDTH:
        yield "", 0
        return
    masks: list[int | None] = [None] * fmt.sign_bit
    for ordinal in range(order.last + 1):
        masks[ordinal] = ordinal ^ int(fmt.magnitude_codes[ordinal])
    if past_last is not None and order.last + 1 < fmt.sign_bit:
        masks[order.last + 1] = (order.last + 1) ^ past_last
    yield from _blocks(masks, "")


def _blocks(masks: list[int | None], bits: str) -> Iterator[tuple[str, int]]:
    known = {mask for mask in masks if mask is not None}
    if len(known) <= 1:
        yield bits, known.pop() if known else 0
        return
    half = len(masks) // 2
    yield from _blocks(masks[:half], bits + "0")
    yield from _blocks(masks[half:], bits + "1")
