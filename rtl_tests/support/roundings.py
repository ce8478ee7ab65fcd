"""Names of the roundings, and a second definition of rounding and overflow, of exact numbers on the papers' grid.

Nothing here comes from golden.
"""

import bisect
import re
from fractions import Fraction
from functools import cache

import numpy as np

from rtl_tests.support.paper_tables import definition, power

COMMON = ("ties_to_even", "ties_to_away", "toward_zero")
"""The roundings that papers besides IEEE P3109 also have."""

DIRECTED_AND_ODD = ("toward_positive", "toward_negative", "to_odd")
DETERMINISTIC = (*COMMON, *DIRECTED_AND_ODD)
"""The roundings of all formats that take no random bits."""

STOCHASTIC_B_AND_C = ("stochastic_b", "stochastic_c")
STOCHASTIC = ("stochastic", *STOCHASTIC_B_AND_C)

OVERFLOWED, NO_ZERO = -1, -2
"""In place of a magnitude code: past the largest value, and zero in a format without zero."""


@cache
def grid(name):
    """Exact positive values in order and their codes; the last is the point past the largest value, OVERFLOWED."""
    d = definition(name)
    codes = [c for c in range(d.magnitudes) if c not in d.nans | d.zeros and c != d.infinity]
    points = sorted((d.equation(c), c) for c in codes)
    largest = points[-1][1]
    points.append((d.equation(0x6F if name == "hif8" else largest + 1), OVERFLOWED))
    return [value for value, _ in points], [code for _, code in points]


@cache
def place(name, x, *, flushes=False):
    """Where a magnitude ``x``, a float, lies on the grid.

    The codes of its two neighbours, and integers n and d: its distance from the lower one is n / d of their distance.
    Comparisons of integers are much faster than those of fractions.
    """
    values, codes = grid(name)
    x, i = Fraction(x), bisect.bisect_right(values, x)
    if i == len(values):
        return OVERFLOWED, OVERFLOWED, 0, 1
    low, low_code = (values[i - 1], codes[i - 1]) if i else (Fraction(0), 0)
    if i == 0 and flushes:
        low = definition(name).equation(0)  # the unused pattern below the smallest value, which flushes to zero
        if x <= low:
            return 0, codes[0], 0, 1
    t = (x - low) / (values[i] - low)
    return low_code, codes[i], t.numerator, t.denominator


def rounded(name, x, rounding, word=0, word_bits=0, *, negative=False):
    """Magnitude code that a number of magnitude ``x``, a float, rounds to (specification, section 0).

    OVERFLOWED is past the largest value, NO_ZERO is zero in a format without zero.
    """
    of = definition(name)
    if not of.zeros and x < grid(name)[0][0]:
        return grid(name)[1][0] if x else NO_ZERO
    if rounding == "mptorch":
        return mptorch(name, x)
    low, high, n, d = place(name, x, flushes=of.flush and not rounding.startswith("stochastic"))
    match rounding:
        case "toward_zero":
            up = False
        case "ties_to_even":
            up = 2 * n > d or (2 * n == d and low % 2 == 1)
        case "ties_to_away":
            up = 2 * n >= d
        case "toward_positive":
            up = n > 0 and not negative
        case "toward_negative":
            up = n > 0 and negative
        case "to_odd":
            up = n > 0 and low % 2 == 0
        case "stochastic":
            up = (n << word_bits) // d + word >= 1 << word_bits
        case "stochastic_b":
            up = (n << word_bits + 1) // d + 2 * word + 1 >= 1 << word_bits + 1
        case "stochastic_c":
            up = round(Fraction(n << word_bits, d)) + word >= 1 << word_bits  # Python rounds ties to even
    return high if up else low


@cache
def mptorch(name, x):
    """Specification, section 2: half away in the regions of powers of two, flush below, Inf above."""
    low, high, n, d = place(name, x)
    if low in (0, OVERFLOWED):
        return low
    if high == OVERFLOWED:
        return low if n == 0 else OVERFLOWED
    exponent_bits, _, binades = (int(n) for n in re.fullmatch(r"e(\d+)m(\d+)b(\d+)", name).groups())
    bottom, top = power(binades - (1 << (exponent_bits - 1))), power((1 << (exponent_bits - 1)) - binades)
    if x < bottom or x >= top:
        return high if 2 * n >= d else low
    return high if 2 * n > d or (2 * n == d and low % 2 == 1) else low


def outside(rounding, overflow, *, negative, infinite, signed, has_infinity):
    """What replaces numbers outside a format's range: the table of specification, section 8, and OCP's rule.

    One of ``largest`` and ``infinity``, with the number's sign, ``zero`` and ``nan``. Overflow ``nan`` is SatNone of a
    later draft in finite domains.
    """
    truncates = rounding in ("toward_zero", "toward_positive" if negative else "toward_negative")
    if negative and not signed:
        keeps = overflow in ("saturate", "propagate") or (truncates and not infinite)
        return "zero" if keeps else "nan"
    best = "infinity" if has_infinity else "largest"
    if infinite:
        without = {"nan": "nan", "saturate": "largest", "ocp_paper": "infinity" if has_infinity else "nan"}
        return without.get(overflow, best)
    if overflow in ("saturate", "propagate", "ocp_paper") or truncates:
        return "largest"
    if overflow == "nan":
        return "nan"
    return "largest" if rounding == "to_odd" and not signed else best


@cache
def finished(name, magnitude, rounding, overflow, *, negative=False, infinite=False):
    """The code of a rounded magnitude of any sign, with the rules for what is no value of the format."""
    d = definition(name)
    if magnitude == NO_ZERO:
        return d.canonical_nan if overflow == "nan" else 0
    if magnitude == OVERFLOWED or (negative and not d.signed and (magnitude != 0 or not d.zeros)):
        facts = {"negative": negative, "infinite": infinite, "signed": d.signed}
        zero = 0 if 0 in d.zeros else d.canonical_nan
        codes = {"largest": grid(name)[1][-2], "infinity": d.infinity, "nan": d.canonical_nan, "zero": zero}
        magnitude = codes[outside(rounding, overflow, **facts, has_infinity=d.infinity is not None)]
        if not d.signed:
            return magnitude
    return int(negated(name, np.array(magnitude), magnitude == d.canonical_nan)) if negative else magnitude


def negated(name, magnitude, nan):
    """Codes of the negated values (specification, sections 1 to 5); NaN keeps its code, and zero if there is no -0."""
    d = definition(name)
    if name == "dlfloat16":
        return magnitude | d.sign
    if d.twos_complement:
        negative = (1 << d.width) - magnitude & ((1 << d.width) - 1)
    else:
        negative = np.where((magnitude != 0) | (d.sign in d.zeros), magnitude | d.sign, magnitude)
    return np.where(nan, magnitude, negative)
