"""Results for what is no value of a format: numbers out of range, infinities, and zero where a format has none.

Numbers are rounded first, then replaced if they lie outside the format's range (IEEE P3109 draft 4.0, sections 4.7.4
and 4.7.5; specification, section 0). A format without a sign ranges from zero to its largest value.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from golden.formats import Format
from golden.rows import Overflow, Rounding

_TO_LARGEST = (Overflow.SATURATE, Overflow.PROPAGATE, Overflow.OCP_PAPER)
"""Rules by which a finite number never becomes infinity or NaN."""


@dataclass(frozen=True)
class Replacements:
    """Codes of results: codes of magnitudes, without sign, or the canonical NaN.

    Attributes
    ----------
    above, below : int
        Of finite numbers that round past the largest value, and past its negative; in a format without a sign,
        ``below`` is that of numbers that round to a negative number.
    plus_inf, minus_inf : int
        Of infinities.
    zero : int
        Of zero; 0 if the format has a zero.
    """

    above: int
    below: int
    plus_inf: int
    minus_inf: int
    zero: int


@cache
def replacements(fmt: Format, rounding: Rounding, overflow: Overflow) -> Replacements:
    """The results of an encoder for what is no value of the format."""
    nan, infinity, largest = fmt.canonical_nan, fmt.infinity, fmt.largest_code
    nothing = 0 if fmt.has_zero or nan is None else nan  # the nearest to a negative number where there is none

    def finite(*, negative: bool) -> int:
        if overflow in _TO_LARGEST or rounding.truncates(negative=negative):
            return largest if fmt.signed or not negative else nothing
        if not fmt.signed and negative:
            return nothing if nan is None else nan
        if overflow is Overflow.NAN:
            assert nan is not None
            return nan
        if infinity is None or (not fmt.signed and rounding is Rounding.TO_ODD):
            return largest
        return infinity

    def infinite(*, negative: bool) -> int:
        if not fmt.signed and negative:
            return nothing if overflow in _TO_LARGEST or nan is None else nan
        if overflow is Overflow.NAN or (overflow is Overflow.OCP_PAPER and infinity is None):
            assert nan is not None
            return nan
        return largest if overflow is Overflow.SATURATE or infinity is None else infinity

    return Replacements(
        above=finite(negative=False),
        below=finite(negative=True),
        plus_inf=infinite(negative=False),
        minus_inf=infinite(negative=True),
        zero=nan if overflow is Overflow.NAN and not fmt.has_zero and nan is not None else 0,
    )


def with_sign(fmt: Format, code: int) -> int:
    """The code of the negative of what ``code`` stands for; NaN mostly has no sign."""
    if not fmt.signed or (code == fmt.canonical_nan and not fmt.nan_keeps_sign):
        return code
    return (1 << fmt.width) - code if fmt.twos_complement else code | fmt.sign_bit
