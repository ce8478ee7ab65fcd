"""What an encoder can be asked for: source, rounding, overflow, NaN, random bits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from golden.catalog import WIDE, get
from golden.formats import Format
from golden.rounding import MAX_RANDOM_BITS
from golden.rows import Overflow, Rounding


@dataclass(frozen=True)
class Options:
    """A checked combination of source, rounding and overflow.

    ``marked`` asks for words instead of codes: a code, and above it a 1 where a finite number rounded past the largest value.
    """

    source: Format
    rounding: Rounding
    overflow: Overflow
    nan_to_zero: bool = False
    marked: bool = False


def options(
    fmt: Format, source: str | Format = "binary32", rounding: str | None = None, overflow: str | None = None, nan_to_zero: bool = False
) -> Options:
    """Check a combination against the specification's tables; None is the format's default.

    Raises
    ------
    ValueError
        With one sentence that names the option, the value and what is allowed.
    """
    name = source.name if isinstance(source, Format) else source
    if name not in WIDE:
        raise ValueError(f"Source must be one of {', '.join(WIDE)}, not {name!r}")
    if not fmt.roundings:
        raise ValueError(f"Format {fmt.name!r} is two formats in one unit; encode to one of the two")
    chosen = fmt.roundings[0] if rounding is None else rounding
    if chosen not in fmt.roundings:
        raise ValueError(f"Rounding of {fmt.name} must be one of {', '.join(fmt.roundings)}, not {chosen!r}")
    if chosen == Rounding.HYBRID and name == "dlfloat16":
        raise ValueError("Rounding 'hybrid' is defined for source binary16, bfloat16 or binary32, not 'dlfloat16'")
    rule = fmt.overflows[0] if overflow is None else overflow
    if rule not in fmt.overflows:
        raise ValueError(f"Overflow of {fmt.name} must be one of {', '.join(fmt.overflows)}, not {rule!r}")
    if chosen == Rounding.MPTORCH and rule != Overflow.INFINITY:
        raise ValueError(f"Overflow with rounding 'mptorch' must be infinity, not {rule!r}")
    if not isinstance(nan_to_zero, (bool, np.bool_)):
        raise TypeError(f"nan_to_zero must be True or False, not {nan_to_zero!r}")
    return Options(get(name), Rounding(chosen), Overflow(rule), bool(nan_to_zero))


def target_options(fmt: Format, rounding: str | None = None, overflow: str | None = None, nan_to_zero: bool = False) -> Options:
    """The same for values that come from no source's bits; :func:`options` says what is refused, and ``hybrid`` is, too."""
    chosen = options(fmt, "binary32", rounding, overflow, nan_to_zero)
    if chosen.rounding is Rounding.HYBRID:
        raise ValueError("Rounding 'hybrid' looks at the bits of a source, of which an exact accumulator has none")
    return chosen


def check_random_bits(random_bits: int) -> None:
    """Raise ValueError unless ``stochastic`` can use so many random bits."""
    if isinstance(random_bits, bool) or not isinstance(random_bits, (int, np.integer)) or not 1 <= random_bits <= MAX_RANDOM_BITS:
        raise ValueError(f"random_bits must be an integer from 1 to {MAX_RANDOM_BITS}, not {random_bits!r}")
