"""Checks of a format's description, which refuse formats that no decoder or encoder could implement."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from golden.refusal import BadKind, BadValue, check_flag, check_integer, is_integer, shown
from golden.rows import FATES, Exponent, Fixed, Kind, Overflow, Rounding, Row, Special

if TYPE_CHECKING:
    from golden.formats import Format

MIN_WIDTH, MAX_WIDTH = 3, 16
"""Bits of a code in a format of a user (``binary32`` is the only wider format)."""

EXPONENT_LIMIT = 400
"""Largest magnitude of an exponent: products of values, and their sums with a binary32, stay normal in binary64."""


def check_fields(fmt: Format) -> None:
    """Refuse fields that are inconsistent or out of range."""

    def require(condition: object, sentence: str) -> None:
        if not condition:
            raise BadValue(None, f"Format {fmt.name!r}: {sentence}")

    _check_kinds(fmt)
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", fmt.name):
        raise BadValue("name", f"must be an identifier, not {fmt.name!r}")
    if "".join(fmt.cite.splitlines()) != fmt.cite:  # headers show it as a comment
        raise BadValue("cite", f"must be one line, not {fmt.cite!r}")
    check_integer("width", fmt.width, MIN_WIDTH, fmt.max_width)
    require(fmt.rows, "there must be at least one row")
    for row in fmt.rows:
        _check_row(fmt, row, require)
    total = 1 << fmt.width
    for special in fmt.specials:
        require(
            0 <= special.value < total and 0 <= special.mask < total and special.value & ~special.mask == 0,
            f"special value {special.value:#x} must lie inside its mask {special.mask:#x} and in {fmt.width} bits",
        )
        require(special.kind is not Kind.FINITE, "a special must be zero, inf or nan, not finite")
    nan = fmt.canonical_nan
    require(
        (nan is not None) == any(s.kind is Kind.NAN for s in fmt.specials),
        "canonical_nan must be given exactly where a special is NaN",
    )
    if nan is not None:
        hit = next((s.kind for s in fmt.specials if nan & s.mask == s.value), None)
        require(0 <= nan < total and hit is Kind.NAN, f"canonical_nan {nan:#x} must be the code of a NaN")
    require(fmt.roundings and fmt.overflows, "there must be at least one rounding and one overflow rule")
    plain = fmt.roundings == (Rounding.TIES_TO_EVEN,) and fmt.signed and not fmt.flush
    require(plain or not fmt.posit_rounding, "posit_rounding needs a sign, no flush, and ties_to_even as only rounding")
    own = {Kind.FINITE, *(Kind.INF,) * fmt.has_infinity, *(Kind.NAN,) * fmt.has_nan}
    words = {Kind.INF: "infinity", Kind.NAN: "NaN", Kind.FINITE: "a number"}
    for rule in fmt.overflows:
        for kinds in FATES[rule]:
            needed = " or ".join(words[kind] for kind in kinds)
            require(not own.isdisjoint(kinds), f"overflow {rule.value!r} needs a code for {needed}")
    for flag in ("nan_keeps_sign", "twos_complement"):
        require(fmt.signed or not getattr(fmt, flag), f"{flag} needs a sign")
    keeps = nan is not None and not nan & fmt.sign_bit
    require(keeps or not fmt.nan_keeps_sign, "nan_keeps_sign needs a canonical_nan whose sign bit is 0")


def _check_kinds(fmt: Format) -> None:
    """Refuse fields of the wrong type, also in rows and specials."""

    def require(condition: bool, argument: str, what: str) -> None:
        if not condition:
            raise BadKind(argument, f"must be {what}, not {shown(getattr(fmt, argument))}")

    require(isinstance(fmt.name, str), "name", "an identifier")
    require(isinstance(fmt.cite, str), "cite", "text")
    require(fmt.canonical_nan is None or is_integer(fmt.canonical_nan), "canonical_nan", "an integer or None")
    for flag in ("nan_keeps_sign", "signed", "twos_complement", "flush", "posit_rounding"):
        check_flag(flag, getattr(fmt, flag))
    for argument, kind in (("rows", Row), ("specials", Special), ("roundings", Rounding), ("overflows", Overflow)):
        values = getattr(fmt, argument)
        is_tuple = isinstance(values, tuple) and all(isinstance(value, kind) for value in values)
        require(is_tuple, argument, f"a tuple of {kind.__name__}s")
    for row in fmt.rows:
        has_kinds = isinstance(row.prefix, str) and isinstance(row.exponent, Exponent)
        numbers = (row.fraction_bits, row.hidden, *vars(row.exponent).values()) if has_kinds else ()
        require(has_kinds and all(map(is_integer, numbers)), "rows", "of a prefix, an exponent rule and integers each")
    for special in fmt.specials:
        are_kinds = isinstance(special.kind, Kind) and is_integer(special.mask) and is_integer(special.value)
        require(are_kinds, "specials", "of integers and a Kind each")


def _check_row(fmt: Format, row: Row, require: Callable[[object, str], None]) -> None:
    where, body, rule = f"row {row.prefix!r}", fmt.magnitude_bits, row.exponent
    require(re.fullmatch("[01]*", row.prefix), f"{where}: a prefix must be of 0s and 1s")
    require(row.hidden in (0, 1), f"{where}: the hidden bit must be 0 or 1, not {row.hidden}")
    require(
        isinstance(rule, Fixed) or rule.bits >= 1, f"{where}: the exponent must have at least 1 bit, not {rule.bits}"
    )
    require(row.fraction_bits >= 0, f"{where}: fraction_bits must not be negative, not {row.fraction_bits}")
    used, prefix = row.fraction_bits + rule.bits, len(row.prefix)
    require(
        used <= body <= used + prefix and prefix <= body,
        f"{where}: {prefix} prefix, {rule.bits} exponent and {row.fraction_bits} fraction bits must make up "
        f"{body} bits",
    )
    require(row.hidden or isinstance(rule, Fixed), f"{where}: a row without hidden bit needs a fixed exponent")
    extremes = rule.exponents(np.array([0, (1 << rule.bits) - 1, (1 << rule.bits) >> 1], dtype=object))  # of any size
    require(np.abs(extremes).max() <= fmt.max_exponent, f"{where}: exponents must lie within ±{fmt.max_exponent}")


def check_values(fmt: Format) -> None:
    """Refuse values that no encoder could produce by rounding."""

    def refuse(sentence: str) -> None:
        raise BadValue(None, f"Format {fmt.name!r}: {sentence}")

    unmatched = np.flatnonzero(fmt.magnitude_rows < 0)
    if unmatched.size:
        refuse(f"no row matches magnitude {unmatched[0]:0{fmt.magnitude_bits}b}")
    codes, values = fmt.magnitude_codes, fmt.magnitudes
    if len(values) < 2 or codes[0] != 0 or (fmt.signed and values[0] != 0):
        what = "zero" if fmt.signed else "zero or the smallest value"
        refuse(f"code 0 must be {what}, and there must be at least one larger value")
    low, high, distances = codes[:-1], codes[1:], np.diff(values)
    is_equal, has_same_parity = distances == 0, (low ^ high) & 1 == 0
    (fractions, exponents), steps = np.frexp(values), np.diff(np.frexp(values)[1])
    are_powers, steps = (fractions[:-1] == 0.5) & (fractions[1:] == 0.5), np.maximum(steps, 1)
    of_posits = fmt.posit_rounding & are_powers & (steps & steps - 1 == 0) & ((exponents[:-1] - 1) % steps == 0)
    has_hole = (values[:-1] > 0) & (distances != fmt.quanta(low)) & ~of_posits
    for place in np.flatnonzero(is_equal | has_same_parity | has_hole)[:1]:
        pair = f"codes {low[place]:#x} and {high[place]:#x}"
        if is_equal[place]:
            refuse(f"{pair} have the same value")
        if has_same_parity[place]:
            refuse(f"{pair} are neighbours of the same parity, so that ties have no even code")
        posit = ", unless these are 2 to successive multiples of 2, 4, 8 and so on"
        but = posit if fmt.posit_rounding else ""
        refuse(f"there must be no hole between the values of {pair}{but}")
    if fmt.has_zero:
        first = codes[1].item()
        binade = 2.0 ** fmt.exponent_range[0] if fmt.rows[fmt.magnitude_rows[first]].hidden else 0.0
        if values[1] not in (binade or fmt.quantum(first), binade + fmt.quantum(first)):  # at most one unused pattern
            refuse(f"there must be no hole below the smallest value, that of code {first:#x}, but the pattern of zero")
    if fmt.signed:
        negative = fmt.values[fmt.sign_bit :]
        mirrored = np.sort(np.abs(negative[np.isfinite(negative)]))
        expected = values if fmt.has_negative_zero else values[1:]
        expected = np.append(expected, fmt.above_largest) if fmt.has_lowest else expected
        if not np.array_equal(mirrored, expected):
            refuse("the negative values must mirror the positive ones")
    if fmt.signed and fmt.has_infinity:
        inf = fmt.infinity or 0
        minus_inf = (1 << fmt.width) - inf if fmt.twos_complement else inf | fmt.sign_bit
        if not inf or fmt.kinds[minus_inf] is not Kind.INF:
            refuse("infinity must have a positive code and its negative")
    if fmt.has_lowest and (len(fmt.rows) > 1 or fmt.rows[0].hidden):
        refuse("in two's complement the lowest code must be NaN, unless all codes are one row without hidden bit")
    if fmt.flush and fmt.smallest <= 2.0 ** fmt.exponent_range[0]:
        refuse("flush needs an unused pattern below the smallest value")
