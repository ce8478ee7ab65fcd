"""Options of an encoder: source, rounding, overflow, NaN, random bits."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from golden.catalog import get
from golden.formats import Format
from golden.refusal import BadKind, BadValue, about, check_flag, check_integer, shown
from golden.rows import MAX_RANDOM_BITS, Overflow, Rounding
from golden.wide import WIDE, check_wide


@dataclass(frozen=True)
class Options:
    """A checked combination of source, rounding and overflow."""

    source: Format
    rounding: Rounding
    overflow: Overflow
    nan_to_zero: bool = False


def options(
    fmt: Format,
    source: str | Format = "binary32",
    rounding: str | None = None,
    overflow: str | None = None,
    nan_to_zero: bool = False,
) -> Options:
    """Check options against the tables of the specification, section 0; None selects the format's default."""
    wide = check_source(source)
    if not fmt.roundings:
        raise BadValue("fmt", f"{fmt.name!r} is two formats in one unit; encode to one of the two")
    chosen = _choice("rounding", rounding, fmt.roundings, fmt)
    if chosen is Rounding.HYBRID and wide.name not in _SOURCES_OF_HYBRID:
        problem = f"is defined for source {', '.join(_SOURCES_OF_HYBRID[:-1])} or {_SOURCES_OF_HYBRID[-1]}"
        raise BadValue("rounding", f"'hybrid' {problem}, not {wide.name!r}")
    rule = _choice("overflow", _synonym(overflow, fmt), fmt.overflows, fmt)
    if chosen is Rounding.MPTORCH and rule is not Overflow.INFINITY:
        raise BadValue("overflow", f"with rounding 'mptorch' must be infinity, not {rule.value!r}")
    if check_flag("nan_to_zero", nan_to_zero) and not fmt.has_zero:
        raise BadValue("nan_to_zero", f"needs a zero, and {fmt.name} has none")
    return Options(wide, chosen, rule, bool(nan_to_zero))


_SOURCES_OF_HYBRID = ("binary16", "bfloat16", "binary32")


def check_source(source: str | Format) -> Format:
    """Return a source of an encoder: a wide format, or a single format of codes."""
    if isinstance(source, Format) and source.name in WIDE:
        return check_wide("source", source)
    with about("source"):
        fmt = get(source)
    if len(fmt.members) > 1:
        raise BadValue("source", f"must be one format, not the two of {fmt.name!r}")
    return fmt


def _synonym(overflow: str | None, fmt: Format) -> str | None:
    """``none`` and ``infinity`` are the same rule in formats with infinities, which have one of the two names."""
    if fmt.has_infinity and isinstance(overflow, str) and overflow in _SAME and overflow not in fmt.overflows:
        return next((rule for rule in _SAME if rule in fmt.overflows), overflow)
    return overflow


_SAME = (Overflow.INFINITY, Overflow.NONE)


def target_options(
    fmt: Format, rounding: str | None = None, overflow: str | None = None, nan_to_zero: bool = False
) -> Options:
    """Check options for values that are not bits of a source; this refuses ``hybrid`` as well, see :func:`options`."""
    chosen = options(fmt, "binary32", rounding, overflow, nan_to_zero)
    if chosen.rounding is Rounding.HYBRID:
        raise BadValue("rounding", "'hybrid' looks at the bits of a source, and an exact accumulator has none")
    return chosen


def check_random_bits(random_bits: int) -> int:
    """Check the width of the random words of the stochastic roundings: 1 to 32."""
    return check_integer("random_bits", random_bits, 1, MAX_RANDOM_BITS)


_C = TypeVar("_C", bound=StrEnum)


def _choice(argument: str, value: str | None, allowed: tuple[_C, ...], fmt: Format) -> _C:
    if value is None:
        return allowed[0]
    if not isinstance(value, str):
        raise BadKind(argument, f"must be a word, not {shown(value)}")
    if value not in allowed:
        raise BadValue(argument, f"of {fmt.name} must be one of {', '.join(allowed)}, not {shown(value)}")
    return allowed[allowed.index(value)]
