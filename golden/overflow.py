"""Results for what is no value of a format: numbers out of range, infinities, and zero where a format has none.

Numbers are rounded first, then replaced if they lie outside the format's range (IEEE P3109 draft 4.0, sections 4.7.4
and 4.7.5; specification, section 0). A format without a sign ranges from zero to its largest value.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from golden.formats import Format
from golden.rows import FATES, Kind, Overflow, Rounding


@dataclass(frozen=True)
class Replacements:
    """Codes of results: codes of magnitudes, without sign, or the canonical NaN."""

    above: int
    """The result for finite numbers that round past the largest value."""
    below: int
    """The result for those that round past its negative or, in a format without a sign, to a negative number; the next
    fields are those for infinities."""
    plus_inf: int
    minus_inf: int
    zero: int
    """The result for zero; 0 if the format has a zero."""


@cache
def replacements(fmt: Format, rounding: Rounding, overflow: Overflow) -> Replacements:
    """The results of an encoder for what is no value of the format."""
    nan, largest = fmt.canonical_nan, fmt.largest_code
    codes = {Kind.INF: fmt.infinity, Kind.NAN: nan, Kind.FINITE: largest}
    lowest = {**codes, Kind.FINITE: largest + fmt.has_lowest}
    finite_kinds, infinite_kinds = FATES[overflow]
    saturates = finite_kinds == (Kind.FINITE,)
    nothing = 0 if fmt.has_zero or nan is None else nan  # the nearest to a negative number where there is none

    def first(kinds: tuple[Kind, ...], *, negative: bool) -> int:
        by_kind = lowest if negative else codes
        return next(code for kind in kinds if (code := by_kind[kind]) is not None)

    def finite(*, negative: bool) -> int:
        stays = saturates or rounding.truncates(negative=negative)
        if negative and not fmt.signed:
            return nothing if stays or nan is None else nan
        if not fmt.signed and rounding is Rounding.TO_ODD and Kind.INF in finite_kinds:
            stays = True
        return first((Kind.FINITE,) if stays else finite_kinds, negative=negative)

    def infinite(*, negative: bool) -> int:
        if negative and not fmt.signed:
            return nothing if saturates or nan is None else nan
        return first(infinite_kinds, negative=negative)

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
