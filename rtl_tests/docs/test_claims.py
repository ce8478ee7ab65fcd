"""The ledger of the papers' claims: its page, its data, and its figures of numbers, recomputed from golden."""

import itertools
import json
import math
from collections import Counter

import numpy as np
import pytest

import golden
from golden.loss import ADAPTIVE, CHANGES, FIRST_ADAPTIVE, WINDOWS
from hwgen.__main__ import main
from hwgen.blocks.catalog import BLOCKS
from synth.area.digest import sha256
from synth.area.figures import Figure, number
from synth.report import load
from synth.studies import ledger
from synth.studies.ledger import NOT_REPRODUCED, PAPERS, REPRODUCED, UNDECIDED, UNMEASURED, UNTESTABLE, VERDICTS
from synth.studies.references import unit

NAN, INFINITY = 0x7FC00000, 0x7F800000
HALF, BRAIN = np.arange(1 << 16, dtype=np.uint16), np.arange(1 << 16, dtype=np.uint32)

CHECKS = {}
"""Functions that return whether a claim holds, and the figure, by the names in claims.toml."""


def check(function):
    CHECKS[function.__name__] = function
    return function


def finite(fmt):
    """Positive finite values, ascending."""
    values = golden.get(fmt).values
    return np.unique(values[np.isfinite(values) & (values > 0)])


def ends(fmt):
    """Exponents of the smallest and the largest value, as text."""
    low, high = golden.get(fmt).exponent_range
    return f"{low} to {high}"


def encoded(fmt, *numbers, **options):
    """Codes of float32 numbers as two hexadecimal digits."""
    codes = golden.get(fmt).encode(np.float32(numbers).view(np.uint32), **options)
    return [f"{code:02X}" for code in codes.tolist()]


def counted(fmt, kind):
    return Counter(word.value for word in golden.get(fmt).kinds)[kind]


def powers(value):
    """A number as significand and power of two."""
    significand, exponent = math.frexp(value)
    return f"2^{exponent - 1}" if significand == 0.5 else f"{2 * significand:g}·2^{exponent - 1}"


# -- HiFloat8


@check
def hif8_bits():
    sizes = Counter(golden.get("hif8").binades.values())
    return [sizes[bits] for bits in (4, 3, 2)] == [
        7,
        8,
        16,
    ], f"{sizes[4]}, {sizes[3]} and {sizes[2]}; {sizes[1]} more have none"


@check
def hif8_binades():
    binades, half = golden.get("hif8").binades, golden.get("binary16").binades
    normal = sum(bits > 1 for bits in binades.values())
    text = (
        f"{normal} normal binades, {len(binades)} in all, 2^{min(binades)} to 2^{max(binades)}; binary16: {len(half)}"
    )
    return (normal, len(binades), len(half)) == (31, 38, 40), text


@check
def hif8_specials():
    counts = [counted("hif8", kind) for kind in ("zero", "nan", "inf")]
    return counts == [1, 1, 2], "codes: {} zero, {} NaN, {} infinities".format(*counts)


def hif8_value(code):
    """Equations (1) and (2), with Tables 1 to 3, typed from the paper."""
    bits = f"{code:08b}"
    if code in (0x00, 0x80, 0x6F, 0xEF):
        return {0x00: 0.0, 0x80: math.nan, 0x6F: math.inf, 0xEF: -math.inf}[code]
    sign, body = (-1) ** int(bits[0]), bits[1:]
    for prefix, size in (("11", 4), ("10", 3), ("01", 2), ("001", 1), ("0001", 0)):
        if body.startswith(prefix):
            rest = body[len(prefix) :]
            field, mantissa = rest[:size], rest[size:]
            exponent = (-1) ** int(field[0]) * int(f"1{field[1:]}", 2) if size else 0
            return sign * 2.0**exponent * (1 + int(mantissa, 2) / 2 ** len(mantissa))
    return sign * 2.0 ** (int(body[4:], 2) - 23)


@check
def hif8_mapping():
    wrong = ~np.isclose(golden.get("hif8").values, [hif8_value(code) for code in range(256)], rtol=0, equal_nan=True)
    return not wrong.any(), f"{wrong.sum()} of 256 codes differ from the equations"


@check
def hif8_smooth():
    bits = [*golden.get("hif8").binades.values()]
    step = max(abs(high - low) for low, high in itertools.pairwise(bits))
    return step == 1, f"largest step: {step} bit"


@check
def hif8_typical():
    values = golden.get("hif8").values[[0x6E, 0x7E, 0x07, 0x01]]
    text = ", ".join(map(powers, values.tolist()))
    special = golden.get("hif8").values[[0x6F, 0x80]]
    return bool(special[0] == np.inf and np.isnan(special[1])), f"{text}; infinity, NaN"


def limits(fmt):
    """Smallest and largest normal number, smallest and largest subnormal."""
    known = golden.get(fmt)
    below = finite(fmt)[finite(fmt) < known.smallest_normal]
    return known.smallest_normal, known.largest, float(below[0]), float(below[-1])


@check
def hif8_e4m3():
    got = limits("ocp_e4m3")
    return got == (2**-6, 1.75 * 2**8, 2**-9, 1.75 * 2**-7), "{:g} to {:g}, {:.10g} to {:.10g}".format(*got)


@check
def hif8_e5m2():
    low, high, least, _ = limits("ocp_e5m2")
    return (low, high, least) == (2**-14, 1.75 * 2**15, 2**-16), f"{powers(low)} to {high:g}, and {powers(least)}"


@check
def hif8_e5m2_denormal():
    largest = limits("ocp_e5m2")[3]
    return largest == 1.5 * 2**-16, f"{powers(largest)}, as Table 1 of the FP8 paper has it: a misprint"


@check
def hif8_fp16():
    low, high, least, most = limits("binary16")
    got = f"{powers(low)} to {high:g}, {powers(least)} to {most / least:g}·{powers(least)}"
    return (low, high, least, most) == (2**-14, 2**15 * (2 - 2**-10), 2**-24, 2**-14 * (1 - 2**-10)), got


@check
def hif8_exponents():
    text = ", ".join(map(ends, ("binary16", "hif8", "ocp_e4m3", "ocp_e5m2")))
    return text == "-24 to 15, -22 to 15, -9 to 8, -16 to 15", text


@check
def hif8_posit():
    counts = [sum(bits > 1 for bits in golden.get(name).binades.values()) for name in ("hif8", "posit8_2")]
    return counts == [31, 24], "{} and {}".format(*counts)


@check
def hif8_range():
    (low, high), *others = (golden.get(name).exponent_range for name in ("hif8", "ocp_e4m3", "ocp_e5m2"))
    text = f"{ends('hif8')} contains {ends('ocp_e4m3')} and {ends('ocp_e5m2')}"
    return all(low <= first and last <= high for first, last in others), text


@check
def hif8_precision():
    binades, others = golden.get("hif8").binades, golden.get("ocp_e4m3").binades
    full = [exponent for exponent, bits in others.items() if bits == 4]
    kept = [exponent for exponent in full if binades[exponent] == 4]
    where = f"at {len(kept)} of the {len(full)} exponents at which E4M3 has them, 2^{kept[0]} to 2^{kept[-1]}"
    return kept == full, f"3 bits {where}"


def normal(size=20_000, low=-12, high=12):
    """float32 numbers at exponents that HiFloat8 has, with random fractions."""
    rng = np.random.default_rng(5)
    return np.ldexp(1 + rng.random(size), rng.integers(low, high, size)).astype(np.float32)


@check
def half_ulp():
    got = [golden.rounding_errors("hif8", normal(), rounding).largest for rounding in ("ties_to_away", "ties_to_even")]
    return max(got) <= 0.5, "{:.3f} for ties away, {:.3f} for ties to even".format(*got)


@check
def tie_probability():
    """The binary32 numbers of the binade of 1 that are in the middle of two values."""
    values = finite("hif8")
    values = values[(values >= 1) & (values <= 2)]
    middles = (values[:-1] + values[1:]) / 2
    ties = np.count_nonzero(middles.astype(np.float32) == middles)
    return ties == 8, f"{ties} ties among the 2^23 numbers of a binade: 2^{math.log2(ties) - 23:g}"


@check
def tie_example():
    integers, results = golden.get("gc_1_0_7_bm6"), []
    for rounding in ("ties_to_even", "ties_to_away"):
        codes = integers.encode(np.float32([0.5, 1.5, 2.5]).view(np.uint32), rounding=rounding)
        results.append(integers.decode(codes).astype(int).tolist())
    text = "even: {}, {}, {}; away: {}, {}, {}".format(*results[0], *results[1])
    return results == [[0, 2, 2], [1, 2, 3]], text


@check
def stochastic_ulp():
    """Stochastic rounding with all words; SR14 beyond 2^4, where hybrid rounding is SR14."""
    x = normal(20_000, 4, 12)
    got = [golden.rounding_errors("hif8", x, rounding).largest for rounding in ("stochastic", "hybrid")]
    return max(got) <= 1, "stochastic: {:.3f}; SR14: {:.3f}".format(*got)


@check
def sr2_ulp():
    got = []
    for name in ("binary16", "bfloat16"):
        source, fmt = golden.get(name), golden.get("hif8")
        bits = np.arange(1 << 16, dtype=np.uint16)
        x = source.decode(bits)
        with np.errstate(invalid="ignore"):
            kept = np.isfinite(x) & (np.abs(x) >= 16) & (np.abs(x) < 2.0**15)
        error = np.abs(fmt.decode(fmt.encode(bits[kept], name, "hybrid")) - x[kept])
        exponents = np.frexp(np.abs(x[kept]))[1] - 1
        ulps = np.ldexp(1.0, exponents + 1 - np.array([fmt.binades[e] for e in exponents.tolist()]))
        got.append((error / ulps).max())
    return max(got) <= 0.75, "from binary16: {:.3f}; from bfloat16: {:.3f}".format(*got)


@check
def expected_value():
    """Positions k/64 between 1 and 1.125, all words of 8 bits."""
    fmt = golden.get("hif8")
    x = np.float32(1 + np.arange(64) / 512)
    bits, words = np.broadcast_arrays(x.view(np.uint32), np.arange(256)[:, np.newaxis])
    means = fmt.decode(fmt.encode(bits, rounding="stochastic", random=words, random_bits=8)).mean(axis=0)
    error = np.abs(means - x).max()
    return error == 0, f"mean over all words of 8 bits, less the number: {error:g} for 64 positions between neighbours"


def gaussian():
    return (np.random.default_rng(1).normal(size=40_000) * 4096).astype(np.float32)


def biases(x, *roundings):
    return [golden.rounding_errors("hif8", x, rounding).bias for rounding in roundings]


def signed(share):
    """A percentage with a sign; the sign of one that is zero to the last digit is +."""
    return f"{round(share, 3) + 0.0:+.1%}"


@check
def mean_gaussian():
    away, hybrid, stochastic = biases(gaussian(), "ties_to_away", "hybrid", "stochastic")
    text = f"ties away {signed(away)}, hybrid {signed(hybrid)}, stochastic {signed(stochastic)}"
    return abs(hybrid) < 0.002 < abs(away), f"Gaussian, sigma = 2^12: {text}"


@check
def mean_widened():
    x = (gaussian() / 8).astype(np.float16).astype(np.float32)
    hybrid, stochastic = biases(x, "hybrid", "stochastic")
    return abs(hybrid) < 0.002, f"hybrid {signed(hybrid)}, stochastic {signed(stochastic)}"


@check
def low_bits():
    fmt, rng = golden.get("hif8"), np.random.default_rng(2)
    shares = []
    for count in (1, 4, 64):
        a, b = (fmt.quantize((rng.normal(size=(10_000, count)) * 4).astype(np.float32)) for _ in range(2))
        total = np.zeros(10_000, np.float32)
        for place in range(count):
            total = total + a[:, place] * b[:, place]
        shares.append(np.mean(total.view(np.uint32) & 0x3FFF == 0))
    widened = np.mean(BRAIN << 16 & 0x3FFF == 0)
    text = (
        f"the last 14 bits are zero in {'all' if shares[0] == 1 else shares[0]} binary32 products of two HiF8 numbers, "
        f"and in {'all' if widened == 1 else widened} numbers widened from bfloat16; in {shares[1]:.0%} of sums of 4 "
        f"products, {shares[2]:.0%} of sums of 64"
    )
    return max(*shares, widened) < 2**-13, text


@check
def hybrid_rule():
    fmt = golden.get("hif8")
    x = golden.get("binary16").decode(HALF)
    hybrid, away = (fmt.encode(HALF, "binary16", rounding) for rounding in ("hybrid", "ties_to_away"))
    with np.errstate(invalid="ignore"):
        near = (np.abs(x) >= 2.0**-3) & (np.abs(x) < 2.0**4)
    differs = hybrid != away
    text = f"binary16: ties away at all {near.sum():,} numbers with |E| < 4; another code at some for |E| of 4 and more"
    return bool(not differs[near].any() and differs[~near].any()), text


@check
def hybrid_overflow():
    """Equation (3) with F2 and T2 of section 3.2, for the exponent 15, where HiFloat8 has 1 bit of mantissa."""
    codes = golden.get("hif8").encode(HALF, "binary16", "hybrid")
    magnitude = HALF & 0x7FFF
    here = (magnitude >= 0x7800 + 0x100) & (magnitude < 0x7800 + 0x200)  # 1.25 to 1.5 times 2^15
    fraction, threshold = magnitude >> 7 & 3, (magnitude & 1) * 2 + 1
    literal = np.where(fraction >= threshold, 0x6F, 0x6E)
    wrong = np.count_nonzero((codes & 0x7F)[here] != literal[here])
    always = bool((codes[here] & 0x7F == 0x6F).all())
    where = "always infinity there" if always else "not always infinity there"
    return wrong == 0, f"{where}, as the vendor's code has it: {wrong} numbers of binary16 differ from the equation"


@check
def hif8_options():
    high, low, nan = encoded("hif8", 1e9, -1e9, np.nan, overflow="saturate", nan_to_zero=True)
    return (high, low, nan) == ("6E", "EE", "00"), f"1e9: {high}, -1e9: {low}, NaN: {nan}"


@check
def calibration():
    rng, same = np.random.default_rng(6), True
    for _ in range(5):
        x, w = (np.float32(rng.normal(size=shape) * rng.choice([0.01, 1, 50])) for shape in ((6, 5), (5, 4)))
        best = (math.inf, 0, 0)
        fmt = golden.get("hif8")
        for ea, ew in itertools.product(range(-4, 6), repeat=2):
            a, b = (fmt.quantize(np.ldexp(m, e)).astype(float) for m, e in ((x, ea), (w, ew)))
            error = float(np.mean((np.ldexp(a @ b, -(ea + ew)) - x.astype(float) @ w) ** 2))
            best = min(best, (error, ea, ew), key=lambda item: item[0])
        found = golden.calibrate(x, w, x.astype(float) @ w)
        same &= math.isclose(found.error, best[0], rel_tol=1e-9)
    return same, "equal to the double loop on 5 layers" if same else "another scale"


@check
def adaptive_windows():
    same = WINDOWS == (1, 20, 50, 100, 200, 500, 1000) and FIRST_ADAPTIVE == 32 and CHANGES == 3
    scale = golden.LossScale(ADAPTIVE, 1.0)
    same &= scale.exponent == 32
    for _ in range(3 * 20 + 50):  # three increases in windows of 20, then one in a window of 50
        scale.update(1.0, overflowed=False)
    same &= scale.exponent == 36
    for _ in range(3):
        scale.update(1.0, overflowed=True)
    same &= scale.exponent == 33
    for _ in range(20):
        scale.update(1.0, overflowed=False)
    return (
        same and scale.exponent == 34,
        f"golden.LossScale has these windows and starts, and moves after {CHANGES} changes",
    )


# -- supernormals


def supernormal(code, low, high):
    """Table 1: e5m2 with ``low`` and ``high`` binades of supernormals; none of the lowest is P3109's subnormals."""
    magnitude, sign = code & 0x7F, -1.0 if code & 0x80 else 1.0
    if magnitude == 0:
        return math.nan if code else 0.0
    if magnitude == 0x7F:
        return sign * math.inf
    field, fraction = magnitude >> 2, magnitude & 3
    if not low:
        return sign * (2.0**-15 * fraction / 4 if field == 0 else 2.0 ** (field - 16) * (1 + fraction / 4))
    first, last = {1: (-19, 15), 2: (-22, 14)}[low]
    if field < low:
        return sign * 2.0 ** (magnitude + first)
    if field >= 32 - high:
        return sign * 2.0 ** (magnitude - (128 - 4 * high) + last)
    return sign * 2.0 ** (field - 16) * (1 + fraction / 4)


def differing(name, low, high):
    expected = [supernormal(code, low, high) for code in range(256)]
    wrong = np.count_nonzero(~np.isclose(golden.get(name).values, expected, rtol=0, atol=0, equal_nan=True))
    return wrong == 0, f"{wrong} of 256 codes differ"


@check
def supernormal_p3():
    return differing("binary8p3", 0, 0)


@check
def supernormal_b1():
    return differing("e5m2b1", 1, 1)


@check
def supernormal_b2():
    return differing("e5m2b2", 2, 2)


@check
def p3109_binades():
    counts = [len(golden.get(name).binades) for name in ("binary8p3", "binary8p4")]
    return counts == [33, 18], "{} and {}".format(*counts)


@check
def nosub_binades():
    count, lowest = len(golden.get("e5m2_nosub").binades), np.count_nonzero(finite("e5m2_nosub") < 2.0**-15)
    text = f"the lowest with {lowest} of its 4 values: section 4 makes the smallest binade one of normal numbers"
    return count == 31, f"{count}, {text}"


@check
def b1_binades():
    ours, base = len(golden.get("e5m2b1").binades), len(golden.get("binary8p3").binades)
    return (ours, ours - base) == (36, 3), f"{ours}, {ours - base} more than {base}"


@check
def supernormal_ends():
    counts, single = [], True
    for name, count in (("e5m2b1", 3), ("e5m2b2", 7), ("e5m2b4", 15)):
        bits = [*golden.get(name).binades.values()]
        counts.append(len(bits))
        single &= set(bits[:count] + bits[-count:]) == {1} and set(bits[count:-count]) == {3}
    text = "e5m2b1, e5m2b2, e5m2b4: {}, {}, {} binades; ".format(*counts)
    return single, text + ("powers of two only at both ends" if single else "other values at the ends")


@check
def e5m3_contains():
    holds = all(set(finite(name)) <= set(finite("e5m3")) for name in ("binary8p3", "binary8p4"))
    return holds, f"e5m3 has {'all' if holds else 'not all'} finite values of binary8p3 and binary8p4"


# -- Graphcore

TABLE_1 = {
    "binary32": "1667.7 and 151.9",
    "binary16": "240.8 and 73.7",
    "bfloat16": "1571.3 and 55.6",
    "dlfloat16": "385.3 and 67.6",
    "gc_1_5_2_b15": "197.5 and 25.5",
    "gc_1_4_3_b7": "107.8 and 31.5",
    "gc_1_3_4_b3": "66.0 and 37.5",
}
"""D and SNR as printed."""


def table_row(name):
    text = f"{golden.dynamic_range(name):.1f} and {golden.model_snr(name):.1f}"
    return text == TABLE_1[name], text


for printed in TABLE_1:
    CHECKS[f"table_{printed}"] = lambda name=printed: table_row(name)

INTEGER = "gc_1_0_7_b0"


@check
def integer_range():
    text = f"{golden.dynamic_range(INTEGER):.1f}"
    return text == "42.1", text


def integer_snr_at(step):
    """The step of gc_1_0_7_b0 is 2^-6; a step of ``step`` with sigma 1 is the same as that with another sigma."""
    return float(golden.quantization_snr(INTEGER, 2.0**-6 / step))


@check
def integer_snr():
    got = [f"{integer_snr_at(step):.1f}" for step in (0.031, 2**-5, 2**-4, 2**-6)]
    best = max(integer_snr_at(step) for step in np.linspace(0.02, 0.05, 61))
    text = "{} at 0.031, {} at 2^-5, {} at 2^-4, {} at 2^-6".format(*got)
    return got == ["40.5", "40.5", "34.9", "19.2"] and f"{best:.1f}" == "40.5", text


@check
def constant_snr():
    snr = golden.quantization_snr("gc_1_5_2_b15", 2.0 ** np.arange(-10, 13))
    text = f"gc_1_5_2_b15, normal numbers of sigma 2^-10 to 2^12: {snr.min():.1f} to {snr.max():.1f} dB"
    return bool(snr.max() - snr.min() < 0.1), text


@check
def wider_range():
    more = [golden.dynamic_range(name) - golden.dynamic_range(INTEGER) for name in [*TABLE_1][4:]]
    return min(more) > 0, "1.5.2, 1.4.3 and 1.3.4: {:.1f}, {:.1f} and {:.1f} dB more".format(*more)


@check
def scaled_integer():
    values = golden.get(INTEGER).values
    steps = sorted((values[np.isfinite(values)] * 64).tolist())
    holds = steps == [float(n) for n in range(-127, 128)]
    return holds, f"all values of {INTEGER} are n/64, n = {steps[0]:g} to {steps[-1]:g}"


@check
def bias_is_scale():
    one, other = (golden.get(f"gc_1_5_2_b{bias}").values for bias in (37, 15))
    holds = np.array_equal(one, other * 2.0**-22, equal_nan=True)
    return holds, f"gc_1_5_2_b37 has {'the' if holds else 'not the'} values of gc_1_5_2_b15 times 2^-22"


@check
def one_special():
    four, five = golden.get("gc_1_4_3_b7").largest, golden.get("gc_1_5_2_b15").largest
    usual = golden.get("ieee_e4m3").largest, golden.get("ocp_e5m2").largest
    holds = all(np.frexp(new)[1] == np.frexp(old)[1] + 1 for new, old in zip((four, five), usual, strict=True))
    return holds, f"1.4.3: {four:g} instead of {usual[0]:g}; 1.5.2: {five:.0f} instead of {usual[1]:.0f}"


@check
def clipping():
    high, low = encoded("gc_1_4_3_b7", 1e9, -1e9)
    nans = encoded("gc_1_4_3_b7", 1e9, -1e9, overflow="nan")
    text = f"1e9: {high}, -1e9: {low}; NaN: {nans[0]} and {nans[1]}"
    return (high, low, *nans) == ("7F", "FF", "80", "80"), text


def lacking(fmt, wide):
    """Positive numbers of a format that another one lacks, ascending."""
    return [value for value in finite(fmt).tolist() if value not in finite(wide)]


@check
def in_single():
    names = "gc_1_4_3_b7", "gc_1_5_2_b15"
    holds = not any((finite(name) != finite(name).astype(np.float32)).any() for name in names)
    return holds, f"{'all' if holds else 'not all'} numbers of {' and '.join(names)}"


@check
def in_half():
    four, five = (lacking(name, "binary16") for name in ("gc_1_4_3_b7", "gc_1_5_2_b15"))
    text = f"gc_1_5_2_b15 has {len(five)} magnitudes beyond the largest, {five[0]:g} to {five[-1]:g}"
    return not four + five, f"{'not all' if four else 'all'} numbers of gc_1_4_3_b7; {text}"


# -- FP8


@check
def fp8_e4m3():
    nan, zero, inf = (counted("ocp_e4m3", kind) for kind in ("nan", "zero", "inf"))
    low, high, least, most = limits("ocp_e4m3")
    holds = (nan, zero, inf, low, high, least, most) == (2, 2, 0, 2**-6, 448, 2**-9, 0.875 * 2**-6)
    holds &= bool(np.isnan(golden.get("ocp_e4m3").values[[0x7F, 0xFF]]).all())
    text = (
        f"{nan} NaN, {zero} zeros, {inf or 'no'} infinity; {high:g}, {powers(low)}, {most * 64:g}·2^-6, {powers(least)}"
    )
    return holds, text


@check
def fp8_e5m2():
    nan, zero, inf = (counted("ocp_e5m2", kind) for kind in ("nan", "zero", "inf"))
    low, high, least, most = limits("ocp_e5m2")
    holds = (nan, zero, inf, low, high, least, most) == (6, 2, 2, 2**-14, 57344, 2**-16, 0.75 * 2**-14)
    holds &= golden.get("ocp_e5m2").values[0x7C] == np.inf
    text = (
        f"{nan} NaN, {zero} zeros, {inf} infinities; {high:.0f}, {powers(low)}, {most * 2**14:g}·2^-14, {powers(least)}"
    )
    return bool(holds), text


@check
def fp8_extension():
    counts = [len(golden.get(name).binades) for name in ("ieee_e4m3", "ocp_e4m3")]
    return counts == [17, 18], "{} in IEEE's way, {}".format(*counts)


@check
def fp8_seven():
    more = sorted(set(finite("ocp_e4m3")) - set(finite("ieee_e4m3")))
    largest = finite("ieee_e4m3")[-1]
    return (len(more), largest) == (7, 240), f"{', '.join(f'{value:g}' for value in more)}; {largest:g}"


@check
def fp8_480():
    more = sorted(set(finite("gc_1_4_3_b7")) - set(finite("ocp_e4m3")))
    return more == [480], f"gc_1_4_3_b7 has {', '.join(f'{value:g}' for value in more)} besides all magnitudes of E4M3"


@check
def fp8_e5m2_binades():
    count = len(golden.get("ocp_e5m2").binades)
    return count == 32, str(count)


@check
def fp8_three():
    special = sum(kind.value in ("inf", "nan") for kind in golden.get("ocp_e5m2").kinds[:128])
    return special - 1 == 3, f"{special} positive special codes; NaN would keep 1"


@check
def fp8_order():
    holds = True
    for name in ("ocp_e4m3", "ocp_e5m2"):
        values = golden.get(name).values[:128]
        values = values[~np.isnan(values)]
        holds &= bool((np.diff(values) > 0).all())
    return holds, "E4M3 and E5M2: positive codes grow with their values" if holds else "not in order"


@check
def fp8_half():
    bits = golden.get("ocp_e5m2").decode_bits(np.arange(256), "binary16").astype(np.int64)
    padded = np.count_nonzero(bits == np.arange(256) << 8)
    others = np.flatnonzero(bits != np.arange(256) << 8)
    only_nans = np.isnan(golden.get("ocp_e5m2").values[others]).all()
    text = f"{padded} of 256 codes become binary16 by 8 zeros; {others.size} NaNs become one"
    return bool(only_nans), text


@check
def fp8_specials():
    bits = np.array([*np.float32([1e9, -1e9]).view(np.uint32), INFINITY, NAN], np.uint32)
    high, low, inf, nan = (f"{code:02X}" for code in golden.get("ocp_e4m3").encode(bits, overflow="ocp_paper").tolist())
    text = f"1e9: {high}, -1e9: {low}, infinity: {inf}, NaN: {nan}"
    return (high, low, inf, nan) == ("7E", "FE", "7F", "7F"), text


@check
def fp8_nonsaturating():
    (five,), (four,) = encoded("ocp_e5m2", 1e9), encoded("ocp_e4m3", 1e9)
    return (five, four) == (
        "7C",
        "7F",
    ), "1e9 into E5M2: infinity, into E4M3: NaN" if five == "7C" else f"{five}, {four}"


@check
def fp8_bias():
    fmt = golden.get("ocp_e4m3")
    scaled = fmt.encode(BRAIN.astype(np.uint16), "bfloat16", scale=3)
    with np.errstate(over="ignore", invalid="ignore"):
        product = (BRAIN << 16).view(np.float32) * np.float32(8)
    holds = np.array_equal(scaled, fmt.encode(product.view(np.uint32)))
    text = f"scale=3 in encode gives {'the' if holds else 'other'} codes of the numbers times 8"
    return holds, f"{text}, at all {BRAIN.size:,} bfloat16 numbers"


@check
def fp8_energy():
    eight, half = (
        load.references().figure(unit(name, "binary32", 1, registers=False)) for name in ("ocp_e4m3", "binary16")
    )
    text = f"{number(eight.median)} ({number(eight.low)} to {number(eight.high)}) against {number(half.median)}"
    return eight.high < half.low, f"{text} ({number(half.low)} to {number(half.high)}) C·V² an operation"


# -- HFP8


@check
def hfp8_top():
    got = golden.get("ibm_1_4_3").largest, golden.get("ibm_1_4_3_b7").largest
    return got == (30, 480), "ibm_1_4_3: {:g}; ibm_1_4_3_b7: {:g}".format(*got)


@check
def hfp8_bottom():
    got = golden.get("ibm_1_4_3").smallest, golden.get("ibm_1_4_3_b7").smallest
    text = "{} and {}: the code of the lower end is zero, which the printed intervals leave out".format(
        *map(powers, got)
    )
    return got == (2**-11, 2**-7), text


@check
def hfp8_152():
    count = len(golden.get("ibm_1_5_2").binades)
    return ends("ibm_1_5_2") == "-15 to 16", f"{ends('ibm_1_5_2')}, {count} binades"


@check
def hfp8_169():
    fmt = golden.get("dlfloat16")
    row = fmt.rows[-1]
    snr, size = golden.model_snr(fmt), golden.dynamic_range(fmt)
    holds = (fmt.width, row.exponent.bits, row.fraction_bits) == (16, 6, 9)
    return holds, f"{fmt.width} bits; SNR {snr:.1f} dB, D {size:.1f} dB"


@check
def hfp8_range():
    four, five, integer = (golden.dynamic_range(name) for name in ("ibm_1_4_3", "ibm_1_5_2", "int8"))
    return min(four, five) > integer, f"ibm_1_4_3 {four:.1f} dB, ibm_1_5_2 {five:.1f} dB, int8 {integer:.1f} dB"


@check
def hfp8_snr():
    four, five = (golden.best_scale(name).snr for name in ("ibm_1_4_3", "ibm_1_5_2"))
    return four > five, f"normal numbers, best scale: {four:.1f} against {five:.1f} dB"


@check
def hfp8_softmax():
    fmt, x = golden.get("ibm_1_4_3"), np.sort(np.random.default_rng(3).normal(10, 3, 10_000).astype(np.float32))[-32:]
    before, after = (len(np.unique(fmt.quantize(y))) for y in (x, x - x.max()))
    text = f"the 32 largest of 10,000 outputs (mean 10, sigma 3) have {before} values before, {after} after"
    return after > before, text


@check
def hfp8_fp9():
    holds = all(set(finite(name)) <= set(finite("ibm_fp9_1_5_3")) for name in ("ibm_1_4_3", "ibm_1_5_2"))
    return holds, f"ibm_fp9_1_5_3 has {'all' if holds else 'not all'} values of ibm_1_4_3 and ibm_1_5_2"


# -- the ledger

ENTRIES = ledger.entries()


@pytest.mark.parametrize("name", CHECKS)
def test_a_figure_of_numbers_is_recomputed(name):
    (entry,) = (entry for entry in ENTRIES if entry.check == name)
    holds, text = CHECKS[name]()
    assert text == entry.ours
    assert entry.verdict == (REPRODUCED if holds else NOT_REPRODUCED)


def test_each_check_belongs_to_a_claim_and_each_verdict_has_a_figure():
    assert {entry.check for entry in ENTRIES if entry.check} == CHECKS.keys()
    for entry in ENTRIES:
        assert entry.verdict in VERDICTS, entry
        if entry.verdict not in (UNMEASURED, UNTESTABLE):
            assert entry.ours, entry
            assert entry.command, entry
        if entry.verdict == UNTESTABLE:
            assert entry.ours, entry
    written = [row for row in ledger.rows() if "verdict" in row]
    judged = [row for row in written if row["verdict"] not in (UNMEASURED, UNTESTABLE)]
    assert all("check" in row for row in judged)
    assert all("area" not in row for row in written)


def test_every_paper_has_claims_and_no_claim_stands_twice():
    counts = Counter(entry.paper for entry in ENTRIES)
    assert counts.keys() == PAPERS.keys()
    assert min(counts.values()) >= 15
    assert sum(counts.values()) >= 80
    keys = [(entry.paper, entry.place, entry.claim, entry.ours) for entry in ENTRIES]
    assert len(set(keys)) == len(keys)


def test_the_page_is_that_of_the_data():
    assert ledger.page() == ledger.PAGE.read_text(encoding="utf-8")


def test_commands_are_those_of_this_program(capsys):
    """Each area's command is one that hwgen accepts; it is not run."""
    commands = {part for entry in ENTRIES for part in entry.command.split("; ") if part.startswith("hwgen area")}
    assert len(commands) > 20
    for command in sorted(commands):
        with pytest.raises(SystemExit):
            main([*command.split()[1:], "--help"])
        block = command.split()[2]
        assert f"usage: hwgen area {block} " in capsys.readouterr().out
        names = [word for word in command.split() if word.startswith("--")]
        assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("unit", "limits", "expected"),
    [
        ((70, 74, 75), {"at_most": 0.75}, REPRODUCED),  # 75 of 100 at most
        ((50, 51, 52), {"at_most": 0.75}, REPRODUCED),  # a larger saving refutes nothing
        ((70, 74, 76), {"at_most": 0.75}, UNDECIDED),
        ((76, 77, 78), {"at_most": 0.75}, NOT_REPRODUCED),
        ((101, 102, 103), {"at_least": 1.0}, REPRODUCED),
        ((99, 102, 103), {"at_least": 1.0}, UNDECIDED),
        ((80, 90, 99), {"at_least": 1.0}, NOT_REPRODUCED),
    ],
)
def test_verdicts_on_areas_follow_from_the_spreads(monkeypatch, unit, limits, expected):
    figures = {("u", "gates"): Figure(*map(float, unit)), ("b", "gates"): Figure(100.0, 100.0, 100.0)}
    monkeypatch.setattr(ledger, "areas", lambda: figures)
    assert ledger._area({"base": "b", "unit": "u", **limits})[0] == expected
    commands = "hwgen area v --target gates; hwgen area b --target gates"
    assert ledger._area({"base": "b", "unit": "v", **limits}) == (UNMEASURED, "no figure is recorded", commands)


DATA = json.loads(ledger.AREAS.read_bytes())


def test_measured_areas_are_those_that_claims_compare():
    used = {command for row in ledger.rows() if "area" in row for command, _ in ledger.units(row["area"])}
    assert used >= {command.removeprefix("hwgen area ") for command, *_ in DATA["designs"].values()}
    assert DATA["designs"].keys() == DATA["verilog"].keys()


@pytest.mark.parametrize("name", [*DATA["designs"]][::3])
def test_areas_are_those_of_todays_verilog(name):
    """Else measure them again: python -m synth.studies.ledger measure, without their lines in docs/claims.json."""
    words = DATA["designs"][name][0].split()[2:]
    kind, options = words[0], dict(zip(words[1::2], words[2::2], strict=True))
    block = BLOCKS[kind]
    given = [option for option in block.all_options if f"--{option.name}" in options]
    kinds = {option.argument: int if option.kind is int else str for option in given}
    chosen = {option.argument: kinds[option.argument](options[f"--{option.name}"]) for option in given}
    formats = [chosen.pop(option.argument) for option in block.formats if option.argument in chosen]
    assert sha256(block.design(*formats, **chosen).verilog()) == DATA["verilog"][name]
