"""Options of an encoder: source, rounding, overflow, NaN, random bits."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from golden.formats import Format
from golden.refusal import BadKind, BadValue, check_flag, check_integer
from golden.rows import MAX_RANDOM_BITS, Overflow, Rounding
from golden.wide import WideFormat, check_wide


@dataclass(frozen=True)
class Options:
    """A checked combination of source, rounding and overflow."""

    source: WideFormat
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
    wide = check_wide("source", source)
    if not fmt.roundings:
        raise BadValue("fmt", f"{fmt.name!r} is two formats in one unit; encode to one of the two")
    chosen = _choice("rounding", rounding, fmt.roundings, fmt)
    if chosen is Rounding.HYBRID and wide.name == "dlfloat16":
        raise BadValue("rounding", "'hybrid' is defined for source binary16, bfloat16 or binary32, not 'dlfloat16'")
    rule = _choice("overflow", overflow, fmt.overflows, fmt)
    if chosen is Rounding.MPTORCH and rule is not Overflow.INFINITY:
        raise BadValue("overflow", f"with rounding 'mptorch' must be infinity, not {rule.value!r}")
    return Options(wide, chosen, rule, check_flag("nan_to_zero", nan_to_zero))


def target_options(
    fmt: Format, rounding: str | None = None, overflow: str | None = None, nan_to_zero: bool = False
) -> Options:
    """Check options for values that are not bits of a source; this refuses ``hybrid`` as well, see :func:`options`."""
    chosen = options(fmt, "binary32", rounding, overflow, nan_to_zero)
    if chosen.rounding is Rounding.HYBRID:
        raise BadValue("rounding", "'hybrid' looks at the bits of a source, and an exact accumulator has none")
    return chosen


def check_random_bits(random_bits: int) -> int:
    """Check the width of the random words of ``stochastic``: 1 to 32."""
    return check_integer("random_bits", random_bits, 1, MAX_RANDOM_BITS)


_C = TypeVar("_C", bound=StrEnum)


def _choice(argument: str, value: str | None, allowed: tuple[_C, ...], fmt: Format) -> _C:
    if value is None:
        return allowed[0]
    if not isinstance(value, str):
        raise BadKind(argument, f"must be a word, not {value!r}")
    if value not in allowed:
        raise BadValue(argument, f"of {fmt.name} must be one of {', '.join(allowed)}, not {value!r}")
    return allowed[allowed.index(value)]
