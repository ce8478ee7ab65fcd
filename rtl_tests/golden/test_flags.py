"""Status flags of the reference model, against their definitions in exact fractions and against cases done by hand."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import golden
from golden import Flag
from rtl_tests.golden.arithmetic.test_mac import NAN, SHAPE, accumulators_near
from rtl_tests.support.boundaries import INFINITE, SIGN
from rtl_tests.support.paper_tables import definition, values, wide_values
from rtl_tests.support.roundings import OVERFLOWED, grid, rounded

NOTHING, INEXACT, INVALID = 0, Flag.INEXACT, Flag.INVALID
UNDERFLOW, OVERFLOW = Flag.INEXACT | Flag.UNDERFLOW, Flag.INEXACT | Flag.OVERFLOW
NORMAL = {
    "hif8": -22,
    "binary8p3": -15,
    "binary8p4": -7,
    "e5m2_nosub": 1.25 * 2.0**-16,
    "e5m2b1": -18,
    "ocp_e4m3": -6,
    "ocp_e5m2": -14,
    "gc_1_4_3_b7": -6,
    "gc_1_0_7_b0": -6,
    "ibm_1_4_3": 1.125 * 2.0**-11,
    "dlfloat16": 2.0**-31 * (1 + 2.0**-9),
    "binary16": -14,
    "bfloat16": -126,
    "binary32": -126,
}
"""Smallest normal values: the exponent of a power of two, or the value if the power of two is missing."""


def exhaustive(*names):
    """Parameters that only ``make exhaustive`` tests."""
    return [pytest.param(name, marks=pytest.mark.exhaustive) for name in names]


@pytest.mark.parametrize("name", NORMAL)
def test_smallest_normal_value(name):
    normal = NORMAL[name]
    assert golden.get(name).smallest_normal == (2.0**normal if isinstance(normal, int) else normal)


def test_bits_of_the_word():
    assert [flag.value for flag in Flag] == [1, 2, 4, 8]


# -- conversions ------------------------------------------------------------------------------------------------------


def signaling(source, bits):
    """Whether a NaN's first fraction bit is 0 (IEEE 754, section 6.2.1)."""
    f = SHAPE[source][0]
    return source != "dlfloat16" and not bits >> (f - 1) & 1


@cache
def exact_values(name):
    """The values of a format and the largest of them, as floats, which hold them exactly."""
    return frozenset(values(name).tolist()), float(grid(name)[0][-2])


def conversion(name, source, bits, value, rounding, overflow, nan_to_zero):
    """Flags by their definition. A value is exact in every rounding; rounding decides above the largest value only."""
    d, magnitude = definition(name), bits & (SIGN[source] - 1)
    if np.isnan(value):
        return INVALID if signaling(source, magnitude) or nan_to_zero or d.canonical_nan is None else NOTHING
    if np.isinf(value):
        return NOTHING if d.infinity is not None and overflow in ("infinity", "propagate", "ocp_paper") else INVALID
    x, (own, largest) = abs(value), exact_values(name)
    if x == 0 or value in own:
        return NOTHING
    if x > largest and rounded(name, x, rounding, negative=value < 0) == OVERFLOWED:
        return OVERFLOW
    return UNDERFLOW if x < golden.get(name).smallest_normal else INEXACT


@pytest.mark.parametrize(
    "name", ["hif8", "e5m2_nosub", "gc_1_0_7_b0", *exhaustive("e5m2b1", "ocp_e4m3", "ocp_e5m2", "ibm_1_4_3")]
)
@pytest.mark.parametrize("source", ["binary16", *exhaustive("bfloat16", "dlfloat16")])
def test_every_input_of_16_bits(name, source):
    """With every rounding, the overflow rules in turn, and NaN to zero with every second rounding."""
    fmt, bits = golden.get(name), np.arange(1 << 16)
    numbers = wide_values(source, bits).tolist()
    for place, rounding in enumerate(r for r in fmt.roundings if not r.is_stochastic and r != "hybrid"):
        zero = place % 2 == 1
        overflow = fmt.overflows[place % len(fmt.overflows)] if rounding != "mptorch" else "infinity"
        codes, flags = fmt.encode_with_flags(bits, source, rounding, overflow, zero)
        np.testing.assert_array_equal(codes, fmt.encode(bits, source, rounding, overflow, zero))
        expected = {}  # by magnitude: the sign changes no flag, but in directed roundings
        by_sign = rounding in ("toward_positive", "toward_negative")
        for word, value, flag in zip(bits.tolist(), numbers, flags.tolist(), strict=True):
            key = word if by_sign else word & (SIGN[source] - 1)
            if key not in expected:
                expected[key] = conversion(name, source, word, value, rounding, overflow, zero)
            assert flag == expected[key], (name, source, rounding, overflow, hex(word))


IEEE = [
    # binary32 to OCP E5M2, which has the layout of IEEE 754: ties to even
    ("ocp_e5m2", {}, 1.25, NOTHING),
    ("ocp_e5m2", {}, 1.1, INEXACT),
    ("ocp_e5m2", {}, -57344.0, NOTHING),
    ("ocp_e5m2", {}, 61439.0, INEXACT),
    ("ocp_e5m2", {}, 61440.0, OVERFLOW),
    ("ocp_e5m2", {"overflow": "saturate"}, 61440.0, OVERFLOW),
    ("ocp_e5m2", {"rounding": "toward_zero"}, 65535.0, INEXACT),
    ("ocp_e5m2", {"rounding": "toward_zero"}, 65536.0, OVERFLOW),
    ("ocp_e5m2", {}, 2.0**-16, NOTHING),
    ("ocp_e5m2", {}, 1.5 * 2.0**-16, UNDERFLOW),
    ("ocp_e5m2", {}, 2.0**-40, UNDERFLOW),
    ("ocp_e5m2", {}, 2.0**-14 - 2.0**-30, UNDERFLOW),  # tiny before rounding; rounds to the smallest normal value
    ("ocp_e5m2", {}, 0.0, NOTHING),
    ("ocp_e5m2", {}, -0.0, NOTHING),
    ("ocp_e5m2", {}, np.inf, NOTHING),
    ("ocp_e5m2", {"overflow": "saturate"}, -np.inf, INVALID),
    ("ocp_e4m3", {}, np.inf, INVALID),
    ("ocp_e4m3", {}, 465.0, OVERFLOW),
    ("ocp_e5m2", {}, np.nan, NOTHING),
    ("ocp_e5m2", {"nan_to_zero": True}, np.nan, INVALID),
    ("ibm_1_5_2", {}, np.nan, INVALID),
    ("hif8", {}, -0.0, NOTHING),
    ("hif8", {}, 2.0**-22, NOTHING),
    ("hif8", {}, 1.25 * 2.0**-22, INEXACT),
    ("hif8", {}, 2.0**-23, UNDERFLOW),
    ("hif8", {"rounding": "hybrid"}, 16.0, INEXACT),  # hybrid rounding moves values of the format
    ("hif8", {"rounding": "hybrid", "overflow": "saturate"}, 2.0**15, OVERFLOW),  # moved past the largest, and back
    ("hif8", {"rounding": "hybrid"}, 1.5, NOTHING),
]


@pytest.mark.parametrize(("name", "options", "x", "flags"), IEEE, ids=str)
def test_conversions_from_binary32_by_hand(name, options, x, flags):
    bits = np.float32([x]).view(np.uint32)
    assert golden.get(name).encode_with_flags(bits, **options)[1][0] == flags


@pytest.mark.parametrize(("source", "bits"), [("binary32", 0x7FA00000), ("binary16", 0xFD00), ("bfloat16", 0x7F81)])
def test_signaling_nans(source, bits):
    quiet = bits | {"binary32": 1 << 22, "binary16": 1 << 9, "bfloat16": 1 << 6}[source]
    assert golden.get("hif8").encode_with_flags([bits, quiet], source)[1].tolist() == [INVALID, NOTHING]


def test_the_random_word_decides_on_overflow():
    fmt, bits = golden.get("ocp_e4m3"), np.float32([464.0] * 4).view(np.uint32)  # half a step past the largest
    for overflow in fmt.overflows:
        flags = fmt.encode_with_flags(bits, "binary32", "stochastic", overflow, random=[0, 1, 2, 3], random_bits=2)[1]
        assert flags.tolist() == [INEXACT, INEXACT, OVERFLOW, OVERFLOW]


@pytest.mark.parametrize("rounding", ["ties_to_away", "hybrid", "toward_zero"])
def test_flags_from_tables_equal_their_definition(rounding):
    """Codes of binary32 inputs come from tables; their flags are compared with exact fractions."""
    fmt = golden.get("hif8")
    rng = np.random.default_rng(3)
    own = fmt.decode_bits(np.arange(256), "binary32")
    bits = np.concatenate([rng.integers(0, 1 << 32, 3000, dtype=np.uint32), own])
    codes, flags = fmt.encode_with_flags(bits, rounding=rounding)
    for word, code, flag in zip(bits.tolist(), codes.tolist(), flags.tolist(), strict=True):
        x, result = wide_values("binary32", np.array([word]))[0], values("hif8")[code]
        if not np.isfinite(x):
            continue
        same = np.isfinite(result) and Fraction(x) == Fraction(result)
        past = not np.isfinite(result) or (rounding == "toward_zero" and abs(Fraction(x)) >= Fraction(3, 2) * 2**15)
        tiny = abs(Fraction(x)) < Fraction(1, 2**22)
        assert flag == (NOTHING if same else OVERFLOW if past else UNDERFLOW if tiny else INEXACT), hex(word)


# -- sums -------------------------------------------------------------------------------------------------------------


def special(bits, target):
    """Whether accumulator bits are infinite or NaN."""
    return (bits & (SIGN[target] - 1)) >= INFINITE[target]


def of_sum(target, va, vb, acc, vc, after, now):
    """Flags of round(acc + a * b) by their definition."""
    nan = [bool(np.isnan(v)) for v in (va, vb, vc)]
    undefined = not nan[0] and not nan[1] and ((va == 0 and np.isinf(vb)) or (vb == 0 and np.isinf(va)))
    infinite_product = bool(np.isinf(va) or np.isinf(vb)) and not undefined and not nan[0] and not nan[1]
    if undefined or (nan[2] and signaling(target, acc)):
        return INVALID
    if infinite_product and np.isinf(vc) and (np.signbit(va) != np.signbit(vb)) != (vc < 0):
        return INVALID
    if any(nan) or infinite_product or special(acc, target):
        return NOTHING
    total = Fraction(float(vc)) + Fraction(float(va)) * Fraction(float(vb))
    if special(after, target):
        return OVERFLOW
    if total == Fraction(float(now)):
        return NOTHING
    return UNDERFLOW if abs(total) < Fraction(golden.get(target).smallest_normal) else INEXACT


@pytest.mark.parametrize("target", SHAPE)
@pytest.mark.parametrize("name", ["hif8", "ocp_e5m2", *exhaustive("e5m2b4", "gc_1_0_7_b0", "ibm_fp9_1_5_3")])
def test_sums_against_fractions(name, target):
    rng = np.random.default_rng(11)
    a, b = rng.integers(0, 1 << definition(name).width, (2, 4000))
    with np.errstate(invalid="ignore"):
        acc = accumulators_near(rng, target, values(name)[a] * values(name)[b])
    bits, flags = golden.mac_with_flags(a, b, acc, name, None, target)
    np.testing.assert_array_equal(bits, golden.mac(a, b, acc, name, None, target))
    columns = a, b, acc, wide_values(target, acc), bits, wide_values(target, bits.astype(int)), flags
    for x, y, before, start, after, now, flag in zip(*(column.tolist() for column in columns), strict=True):
        expected = of_sum(target, values(name)[x], values(name)[y], before, start, after, now)
        assert flag == expected, (name, target, x, y, hex(before))
    dotted = golden.fused_dot_with_flags(a[:, None], b[:, None], acc, name, None, target)
    np.testing.assert_array_equal(dotted, (bits, flags))


ONE, HALF_ONE, LARGEST, INF, MINUS_INF, QUIET = 0x3C, 0x38, 0x7B, 0x7C, 0xFC, 0x7E  # codes of OCP E5M2
SUMS = [
    (ONE, ONE, 0x3C00, 0x4000, NOTHING),
    (ONE, ONE, 0x0001, 0x3C00, INEXACT),
    (LARGEST, ONE, 0x7BFF, 0x7C00, OVERFLOW),
    (0x01, 0x38, 0, 0x0080, NOTHING),  # 2**-16 * 0.5 is an exact subnormal number of binary16
    (0x01, 0x01, 0, 0, UNDERFLOW),
    (0x01, 0x01, 0x0400, 0x0400, INEXACT),
    (0x81, 0x01, 0x0400, 0x0400, UNDERFLOW),
    (0, INF, 0, 0x7E00, INVALID),
    (0, INF, 0x7E01, 0x7E00, INVALID),
    (INF, ONE, 0xFC00, 0x7E00, INVALID),
    (INF, ONE, 0x7C00, 0x7C00, NOTHING),
    (MINUS_INF, ONE, 0x7C00, 0x7E00, INVALID),
    (QUIET, ONE, 0, 0x7E00, NOTHING),
    (ONE, ONE, 0x7E00, 0x7E00, NOTHING),
    (ONE, ONE, 0x7D00, 0x7E00, INVALID),
    (QUIET, INF, 0xFC00, 0x7E00, NOTHING),
    (ONE, 0xBC, 0x3C00, 0, NOTHING),
]
"""Codes, accumulator, sum and flags with accumulator binary16."""


@pytest.mark.parametrize(("a", "b", "acc", "after", "flags"), SUMS)
def test_sums_by_hand(a, b, acc, after, flags):
    assert golden.mac_with_flags(a, b, acc, "ocp_e5m2") == (after, flags)


def test_the_special_of_dlfloat16_is_quiet_and_flushed_sums_underflow():
    assert golden.mac_with_flags(INF, ONE, NAN["dlfloat16"], "ocp_e5m2", None, "dlfloat16")[1] == NOTHING
    assert golden.mac_with_flags(0, INF, 0, "ocp_e5m2", None, "dlfloat16")[1] == INVALID
    assert golden.mac_with_flags(ONE, ONE, 0x7FFE, "ocp_e5m2", None, "dlfloat16")[1] == INEXACT
    assert golden.mac_with_flags(0x01, 0x04, 0, "ocp_e5m2", None, "dlfloat16")[1] == NOTHING  # 2**-30
    assert golden.mac_with_flags(0x01, 0x02, 0, "ocp_e5m2", None, "dlfloat16")[1] == UNDERFLOW  # 2**-31 is no value


def test_several_products_are_one_sum():
    """Overflowing products cancel; infinities of both signs are invalid, but not beside a NaN."""
    dot = golden.fused_dot_with_flags
    assert dot([LARGEST, LARGEST], [LARGEST, LARGEST | 0x80], 0x3C00, "ocp_e5m2")[1] == NOTHING
    assert dot([LARGEST, ONE], [LARGEST, ONE], 0, "ocp_e5m2")[1] == OVERFLOW
    assert dot([INF, MINUS_INF], [ONE, ONE], 0, "ocp_e5m2")[1] == INVALID
    assert dot([INF, MINUS_INF], [ONE, ONE], 0x7E00, "ocp_e5m2")[1] == NOTHING
    assert dot([INF, QUIET], [ONE, ONE], 0xFC00, "ocp_e5m2")[1] == NOTHING


@pytest.mark.parametrize("name", ["ocp_e5m2", "hif8"])
def test_exact_sums_against_integers(name):
    fmt = golden.get(name)
    unit = golden.ExactAccumulator(fmt, fmt, 2)
    rng, width = np.random.default_rng(5), unit.value_width
    a, b = rng.integers(0, 256, (2, 3000, 2))
    state = rng.integers(0, 1 << 64, (3000, unit.limbs), dtype=np.uint64)
    state[::3] = np.where(rng.integers(0, 2, (1000, 1)) == 1, ~np.uint64(0), 0)
    largest = fmt.magnitude_codes[-1]
    a[1::3], b[1::3] = largest, largest  # four of these overflow
    state[1::3] = golden.fused_dot(a[1::3], b[1::3], unit.zeros((1000,)), name, None, "exact", 2)
    state[:, -1] &= ~np.uint64(0) >> np.uint64(64 * unit.limbs - unit.width)
    words, flags = golden.fused_dot_with_flags(a, b, state, name, None, "exact", 2)
    visited = set()
    for row in range(3000):
        whole = sum(int(word) << 64 * limb for limb, word in enumerate(state[row]))
        before = (whole & (1 << width) - 1 ^ 1 << width - 1) - (1 << width - 1)
        pos, neg, nan = (bool(whole >> width + place & 1) for place in range(3))
        total, undefined = Fraction(before), False
        for x, y in zip(values(name)[a[row]].tolist(), values(name)[b[row]].tolist(), strict=True):
            if np.isnan(x) or np.isnan(y):
                nan = True
            elif np.isinf(x) or np.isinf(y):
                undefined |= x == 0 or y == 0
                nan |= x == 0 or y == 0
                pos, neg = pos or x * y == np.inf, neg or x * y == -np.inf
            else:
                total += Fraction(x) * Fraction(y) / Fraction(2) ** unit.lsb_exponent
        fits = -(1 << width - 1) <= total < 1 << width - 1
        invalid = undefined or (pos and neg and not nan)
        assert flags[row] == (0 if fits else Flag.OVERFLOW) | (Flag.INVALID if invalid else 0)
        visited.add(int(flags[row]))
    assert visited >= {0, Flag.OVERFLOW, Flag.INVALID}
    np.testing.assert_array_equal(words, golden.fused_dot(a, b, state, name, None, "exact", 2))
