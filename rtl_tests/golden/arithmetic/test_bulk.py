"""Bulk normalization: the rule of RISC-V typed a second time in exact integers, in Python and in C++; all pairs."""

import ctypes
from fractions import Fraction
from itertools import product
from math import inf, isnan

import numpy as np
import pytest

import golden
from golden import Flag
from golden.arithmetic import native
from golden.compiler import compiler, library
from golden.wide import MAX_BULK_LANES
from rtl_tests.golden.arithmetic.test_aligned import FORMATS, PLACES, binary32, code, multiplied, split, stimuli
from rtl_tests.support.blocks import generator

OCP_PAIRS = list(product(("ocp_e4m3", "ocp_e5m2"), repeat=2))
NAN, INFINITY, SIGN = 0x7FC00000, 0x7F800000, 1 << 31
BITS, LEAST, MOST = 24, -126, 127
"""Bits of a significand of binary32, and exponents of its normal numbers."""


# -- the rule in Python's integers ------------------------------------------------------------------------------------


def jammed(number, places):
    """A natural number without its last bits: any 1 among these sets the last bit that stays."""
    return number >> places | ((number & (1 << places) - 1) != 0) if places > 0 else number << -places


def packed(negative, magnitude, unit):
    """Bits of magnitude * 2^unit, rounded to odd."""
    if magnitude == 0:
        return 0
    exponent = magnitude.bit_length() - 1 + unit
    if exponent > MOST:
        return negative * SIGN | INFINITY
    place = max(exponent, LEAST)
    return negative * SIGN | ((place - LEAST << BITS - 1) + jammed(magnitude, place - BITS + 1 - unit))


def bulk(products, acc, lanes):
    """Bits and flags of the dot product (value, exponent, significand, 0 * infinity) and its addition."""
    fraction_bits = BITS - 1 + lanes.bit_length() - 1
    values = [value for value, *_ in products]
    flags = Flag.INVALID if any(undefined for *_, undefined in products) else 0
    if any(isnan(value) for value in values):
        dot = NAN
    elif inf in values or -inf in values:
        both = inf in values and -inf in values
        dot, flags = (NAN, Flag.INVALID) if both else ((INFINITY if inf in values else SIGN | INFINITY), flags)
    else:
        used = [row for row in products if row[0] != 0]
        top = max((exponent for _, exponent, _, _ in used), default=0)
        total = 0
        for value, exponent, significand, _ in used:
            total += (1 if value > 0 else -1) * jammed(significand, PLACES - fraction_bits + top - exponent)
        dot = packed(total < 0, abs(total), top - fraction_bits)
        flags = Flag.OVERFLOW if dot & INFINITY == INFINITY else 0
    (x, _, _), (y, _, _) = binary32(acc), binary32(dot)
    if isnan(x) or isnan(y):
        signaling = isnan(x) and not acc >> 22 & 1
        return NAN, flags | signaling * Flag.INVALID
    if abs(x) == inf or abs(y) == inf:
        return (NAN, flags | Flag.INVALID) if x == -y else ((acc if abs(x) == inf else dot), flags)
    exact = (x + y) * Fraction(2) ** 149
    assert exact.denominator == 1
    bits = packed(exact < 0, abs(int(exact)), -149)
    return bits, flags | (bits & INFINITY == INFINITY) * Flag.OVERFLOW


def compare(a_format, b_format, lanes, codes, acc, scale_bits=0, scale=None):
    """Compare golden with the second implementation; count results that are finite, subnormal, and have each flag."""
    a, b = codes
    scale = np.zeros(len(a), np.int64) if scale is None else scale
    options = {"scale": scale, "scale_bits": scale_bits} if scale_bits else {}
    bits, flags = golden.fused_dot_with_flags(a, b, acc, a_format, b_format, "rvbna", **options)
    assert np.array_equal(golden.fused_dot(a, b, acc, a_format, b_format, "rvbna", **options), bits)
    left, right, known = split(a_format), split(b_format), {}
    seen = np.zeros(4, int)
    for row in range(len(a)):
        power = int(scale[row])
        keys = [(x, y, power) for x, y in zip(a[row].tolist(), b[row].tolist(), strict=True)]
        for key in keys:
            if key not in known:
                known[key] = multiplied(left[key[0]], right[key[1]], power)
        expected = bulk([known[key] for key in keys], int(acc[row]), lanes)
        assert (bits[row], flags[row]) == expected, (a[row], b[row], hex(acc[row]), scale[row], hex(expected[0]))
        magnitude = int(bits[row]) & SIGN - 1
        seen += [magnitude < INFINITY, 0 < magnitude < 1 << 23, *(flags[row] & flag != 0 for flag in (4, 8))]
    return seen


@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16, 32])
def test_the_definition_in_integers(lanes):
    """All kinds of formats; codes and accumulators uniform, small, cancelling, near minus the sum, and special."""
    rng, seen = generator("bulk", str(lanes)), np.zeros(4, int)
    for a_format, b_format in FORMATS:
        *codes, acc = stimuli(a_format, b_format, lanes, 4000 // lanes + 50, rng)
        seen += compare(a_format, b_format, lanes, codes, acc)
    assert all(seen[[0, 2, 3]])


@pytest.mark.parametrize("lanes", [1, 2, 8, 32])
def test_scales(lanes):
    """Products beyond binary32 at both ends: dot products overflow, and become subnormal."""
    rng = generator("bulk scales", str(lanes))
    *codes, acc = stimuli("ocp_e5m2", "hif8", lanes, 3000, rng)
    acc = np.where(rng.random(acc.size) < 0.5, 0, acc).astype(np.uint32)
    seen = compare("ocp_e5m2", "hif8", lanes, codes, acc, 10, rng.integers(-200, 200, acc.size))
    assert all(seen)


def test_scales_of_blocks():
    """The scales' exponents are added to those of the products; a NaN as scale makes the sum NaN."""
    rng = generator("bulk blocks")
    a, b, acc = stimuli("e2m1", "e2m1", 32, 2000, rng)
    scales = rng.integers(120, 134, (2, 2000))
    blocks = {"a_scale": scales[0], "b_scale": scales[1]}
    powers = {"scale": scales.sum(axis=0) - 254, "scale_bits": 5}
    ours, expected = (golden.fused_dot(a, b, acc, "e2m1", accumulator="rvbna", **some) for some in (blocks, powers))
    np.testing.assert_array_equal(ours, expected)
    blocks["a_scale"] = np.full(2000, 255)
    assert (golden.fused_dot(a, b, acc, "e2m1", accumulator="rvbna", **blocks) == NAN).all()
    problem = "scale_format must be e8m0 with accumulator 'rvbna', not 'ue4m3'"
    with pytest.raises(golden.BadValue, match=problem):
        golden.fused_dot(a, b, acc, "e2m1", accumulator="rvbna", a_scale=1, b_scale=1, scale_format="ue4m3")


def some_codes(name):
    """Zeros, subnormals, ends of two binades, large values, infinities and a NaN, of both signs."""
    positive = {"ocp_e4m3": (0, 1, 7, 0x0F, 0x38, 0x7E, 0x7F), "ocp_e5m2": (0, 1, 3, 0x07, 0x3D, 0x7B, 0x7C)}[name]
    return np.array([*positive, *(0x80 | each for each in positive)], np.uint8)


@pytest.mark.parametrize(("a_format", "b_format"), OCP_PAIRS)
def test_all_sums_of_some_codes_in_two_lanes(a_format, b_format):
    sides = some_codes(a_format), some_codes(a_format), some_codes(b_format), some_codes(b_format)
    a0, a1, b0, b1 = (grid.ravel() for grid in np.meshgrid(*sides, indexing="ij"))
    codes = np.stack([a0, a1], axis=-1), np.stack([b0, b1], axis=-1)
    assert a0.size == 14**4
    seen = compare(a_format, b_format, 2, codes, np.zeros(a0.size, np.uint32))
    assert seen[3] or (a_format, b_format) == ("ocp_e4m3", "ocp_e4m3")  # only E5M2 has infinities


# -- the same in C++ --------------------------------------------------------------------------------------------------

SOURCE = """
#include <cstdint>
enum { FINITE, INFINITE, NOT_A_NUMBER };
struct Code { int64_t kind, negative, exponent, significand; };  // significand: units of 2^-7

static uint64_t jam(uint64_t x, int64_t places) {
  if (places <= 0) return x << -places;
  return places > 63 ? x != 0 : x >> places | (x << (64 - places) != 0);
}
static uint32_t pack(bool negative, uint64_t magnitude, int64_t unit) {
  if (!magnitude) return 0;
  const int64_t exponent = 63 - __builtin_clzll(magnitude) + unit;
  if (exponent > 127) return negative << 31 | 0x7F800000u;
  const int64_t place = exponent < -126 ? -126 : exponent;
  return (uint32_t)negative << 31 | (uint32_t)(((place + 126) << 23) + jam(magnitude, place - 23 - unit));
}
static uint32_t add(uint32_t x, uint32_t y) {
  const uint32_t m = 0x7FFFFFFF, top = 0x7F800000, p = x & m, q = y & m;
  if (p > top || q > top) return 0x7FC00000;
  if (p == top || q == top) return p == q && x != y ? 0x7FC00000 : p == top ? x : y;
  if (p < q) return add(y, x);
  const int64_t e = p >> 23 ? p >> 23 : 1, f = q >> 23 ? q >> 23 : 1;
  const uint64_t large = (uint64_t)((p & 0x7FFFFF) | (p >> 23 ? 1 << 23 : 0)) << 36;
  const uint64_t small = jam((uint64_t)((q & 0x7FFFFF) | (q >> 23 ? 1 << 23 : 0)) << 36, e - f);
  return pack(x >> 31, (x ^ y) >> 31 ? large - small : large + small, e - 150 - 36);
}
extern "C" int64_t differences(const Code *left, const Code *right, const uint8_t *a, const uint8_t *b,
    const uint32_t *acc, const uint32_t *sums, int64_t rows, int64_t columns, int64_t lanes, uint32_t *first) {
  int64_t wrong = 0;
  const int64_t fraction = 23 + (63 - __builtin_clzll(lanes));
  for (int64_t i = 0; i < rows; i++) for (int64_t j = 0; j < columns; j++) {
    int64_t top = INT64_MIN / 2, total = 0;
    bool plus = false, minus = false, nan = false;
    for (int64_t l = 0; l < lanes; l++) {
      const Code &x = left[a[i * lanes + l]], &y = right[b[l * columns + j]];
      const bool zero = (x.kind == FINITE && !x.significand) || (y.kind == FINITE && !y.significand);
      const bool infinite = x.kind == INFINITE || y.kind == INFINITE;
      if (x.kind == NOT_A_NUMBER || y.kind == NOT_A_NUMBER || (zero && infinite)) nan = true;
      else if (infinite) (x.negative ^ y.negative ? minus : plus) = true;
      else if (!zero && x.exponent + y.exponent > top) top = x.exponent + y.exponent;
    }
    uint32_t dot = nan || (plus && minus) ? 0x7FC00000 : plus ? 0x7F800000 : 0xFF800000;
    if (!nan && !plus && !minus) {
      for (int64_t l = 0; l < lanes; l++) {
        const Code &x = left[a[i * lanes + l]], &y = right[b[l * columns + j]];
        const uint64_t product = (uint64_t)(x.significand * y.significand) << (fraction - 14);
        const int64_t addend = product ? jam(product, top - x.exponent - y.exponent) : 0;
        total += x.negative ^ y.negative ? -addend : addend;
      }
      dot = pack(total < 0, total < 0 ? -total : total, top - fraction);
    }
    const int64_t at = i * columns + j;
    if (add(acc ? acc[at] : 0, dot) != sums[at] && !wrong++) *first = at;
  }
  return wrong;
}
"""


class Second:
    """The compiled second implementation for two formats of 8 bits."""

    def __init__(self, a_format, b_format):
        self.code = library(compiler(), SOURCE, ("-O3", "-std=c++17"))
        self.code.differences.restype = ctypes.c_int64
        self.tables = [self.table(name) for name in (a_format, b_format)]

    @staticmethod
    def table(name):
        rows = []
        for number, (value, exponent, significand) in enumerate(split(name)):
            kind = 2 if isnan(value) else 1 if abs(value) == inf else 0
            negative = number >> golden.get(name).width - 1 if golden.get(name).signed else 0
            assert significand % (1 << PLACES // 2 - 7) == 0
            rows.append((kind, negative, exponent, significand >> PLACES // 2 - 7))
        return np.array(rows, np.int64)

    def differences(self, a, b, acc, sums):
        """Count the sums that differ from ours."""
        first = ctypes.c_uint32()
        codes = [np.ascontiguousarray(side, np.uint8) for side in (a, b)]
        state = None if acc is None else np.ascontiguousarray(acc, np.uint32)
        arrays = *self.tables, *codes, state, np.ascontiguousarray(sums, np.uint32)
        pointers = [None if array is None else ctypes.c_void_p(array.ctypes.data) for array in arrays]
        shape = [ctypes.c_int64(number) for number in (*sums.shape, codes[0].shape[1])]
        return self.code.differences(*pointers, *shape, ctypes.byref(first))


@pytest.fixture
def _compiled():
    if native.library() is None:
        pytest.skip("there is no C++ compiler")


def sums_in_the_field(fa, fb, lanes, rng, size):
    """Operands and accumulators: a third of the sums has few exponents, one many, one specials; accumulators near."""
    a, b = (rng.integers(0, 256, shape, np.uint8) for shape in ((size, lanes), (lanes, size)))
    a[: size // 3] = a[: size // 3] & 0x87 | rng.choice([0x30, 0x38, 0x40], (size // 3, 1)).astype(np.uint8)
    b[:, : size // 2] = b[:, : size // 2] & 0x87 | 0x38
    a[size // 3 : size - 9] = np.where(np.isfinite(fa.values), np.arange(256), 0x81)[a[size // 3 : size - 9]]
    b[:, : size - 9] = np.where(np.isfinite(fb.values), np.arange(256), 0x81)[b[:, : size - 9]]
    with np.errstate(invalid="ignore"):
        exact = np.nan_to_num(fa.values[a] @ fb.values[b], nan=0, posinf=0, neginf=0)
    near = (-exact).astype(np.float32).view(np.uint32).astype(np.int64) + rng.integers(-3, 4, exact.shape)
    apart = (exact * 2.0 ** rng.integers(-30, 31, exact.shape)).astype(np.float32).view(np.uint32)
    anything = rng.integers(0, 1 << 32, exact.shape)
    tiny = rng.integers(0, 1 << 23, exact.shape)
    acc = np.choose(rng.integers(0, 5, exact.shape), [near & 0xFFFFFFFF, apart, anything, tiny, np.zeros_like(tiny)])
    return a, b, acc.astype(np.uint32)


@pytest.mark.usefixtures("_compiled")
@pytest.mark.parametrize("count", [4 * 10**5, pytest.param(10**8, marks=pytest.mark.exhaustive)])
def test_many_lanes_and_accumulators(count, monkeypatch):
    """Sums of 4 to 32 lanes, compiled; of the usual share some in NumPy as well."""
    visited, rng, size = 0, generator("bulk lanes", str(count)), 100 if count < 10**6 else 1000
    while visited < count:
        for a_format, b_format in [*OCP_PAIRS, ("hif8", "hif8"), ("e5m2b1", "binary8p3")]:
            second, formats = Second(a_format, b_format), (golden.get(a_format), golden.get(b_format))
            for lanes in (4, 8, 16, 32):
                a, b, acc = sums_in_the_field(*formats, lanes, rng, size)
                for small in (-1,) if visited else (-1, 1 << 62):
                    monkeypatch.setattr("golden.arithmetic.matmul.SMALL", small)
                    ours = golden.matmul(a, b, *formats, "rvbna", acc, lanes=lanes)
                    assert not second.differences(a, b, acc, ours), (a_format, b_format, lanes)
                visited += ours.size


@pytest.mark.usefixtures("_compiled")
@pytest.mark.parametrize(("a_format", "b_format"), OCP_PAIRS)
@pytest.mark.parametrize("rows", [4, pytest.param(1 << 16, marks=pytest.mark.exhaustive)])
def test_all_operands_of_two_lanes(a_format, b_format, rows, monkeypatch):
    """All 2^32; of them, ``make test`` has some pairs of left operands with all pairs of right ones."""
    monkeypatch.setattr("golden.arithmetic.matmul.SMALL", -1)
    second, visited = Second(a_format, b_format), 0
    pairs = np.arange(1 << 16)
    left = pairs if rows == 1 << 16 else generator("bulk pairs", a_format, b_format).choice(pairs, rows, replace=False)
    b = np.stack([pairs & 0xFF, pairs >> 8]).astype(np.uint8)
    for start in range(0, rows, 64):
        some = left[start : start + 64]
        a = np.stack([some & 0xFF, some >> 8], axis=-1).astype(np.uint8)
        ours = golden.matmul(a, b, a_format, b_format, "rvbna", lanes=2)
        assert not second.differences(a, b, None, ours), start
        visited += ours.size
    assert visited == rows << 16


@pytest.mark.usefixtures("_compiled")
def test_the_second_implementations_agree():
    rng = generator("bulk second")
    for a_format, b_format in [*OCP_PAIRS, ("hif8", "e5m2b1")]:
        a, b, acc = sums_in_the_field(golden.get(a_format), golden.get(b_format), 4, rng, 40)
        left, right = split(a_format), split(b_format)
        expected = np.zeros(acc.shape, np.uint32)
        for i, j in np.ndindex(acc.shape):
            rows = [multiplied(left[x], right[y], 0) for x, y in zip(a[i], b[:, j], strict=True)]
            expected[i, j] = bulk(rows, int(acc[i, j]), 4)[0]
        second = Second(a_format, b_format)
        assert not second.differences(a, b, acc, expected)
        expected[7, 3] ^= 1
        assert second.differences(a, b, acc, expected) == 1


# -- the rule, point by point -----------------------------------------------------------------------------------------


def total(products, acc, lanes=None, **options):
    """The sum of products of ocp_e5m2's values and an accumulator, as a float."""
    products = [*products, *[(0, 0)] * ((lanes or len(products)) - len(products))]
    a, b = (np.array([code("ocp_e5m2", value) for value in column], np.uint8) for column in zip(*products, strict=True))
    state = None if acc is None else np.float32(acc).view(np.uint32)
    return float(golden.fused_dot(a, b, state, "ocp_e5m2", accumulator="rvbna", **options).view(np.float32))


def test_products_are_jammed():
    """2^-28 beside 2^0 is below the guard bits of 2 lanes; its jammed bit makes the sum odd."""
    small = (2.0**-14, 2.0**-14)
    assert total([(1, 1), small], None) == 1 + 2.0**-23
    assert total([(1, 1), (-small[0], small[1])], None) == 1 - 2.0**-24
    assert total([(1, 1), (-1, 1), small, (0, 0)], None) == 2.0**-25  # 23 + 2 places below 2^0
    assert total([(1, 1), (-1, 1), small], None, lanes=8) == 2.0**-26
    assert total([(1.5, 1.5), (-1.5, 1.5), small, (0, 0)], None) == 2.0**-25  # products are not normalized


def test_the_accumulator_is_added_to_odd():
    assert total([(2.0**-14, 2.0**-14)], 1) == 1 + 2.0**-23
    assert total([(2.0**-14, -(2.0**-14))], 1) == 1 - 2.0**-24
    assert total([(1, 1)], 2.0**-149) == 1 + 2.0**-23


def test_overflow_is_an_infinity():
    scale = {"scale": 97, "scale_bits": 8}
    largest = np.finfo(np.float32).max
    assert total([(57344, 57344)], 0, scale=96, scale_bits=8) == 57344.0**2 * 2.0**96
    assert total([(57344, 57344)], 0, **scale) == inf
    assert total([(2.0**15, 2.0**15), (-(2.0**15), 2.0**-8)], largest, scale=97, scale_bits=8) == inf
    assert total([(2.0**-14, 2.0**-14)], largest) == largest  # odd already
    assert total([(57344, -57344)], inf, **scale) != inf  # the dot product is -infinity


def test_zeros_are_positive():
    zero = [(-0.0, 1)]
    for acc in (-0.0, 0.0, None):
        assert np.signbit(total(zero, acc)) == 0
    assert np.signbit(total([(-1, 1)], 1)) == 0
    assert np.signbit(total([(-1, 1), (1, 1)], -0.0)) == 0


def test_subnormal_dot_products_are_odd():
    for scale, expected in ((-120, 2.0**-148), (-121, 2.0**-149), (-122, 2.0**-149), (-200, 2.0**-149)):
        assert total([(2.0**-14, 2.0**-14)], 0, scale=scale, scale_bits=10) == expected


def test_products_far_apart_are_jammed(monkeypatch):
    """Formats at the limit of exponents: a product may be below binary64's smallest number beside another."""
    rows = (golden.Row("0", golden.Biased(9, 367), 1), golden.Row("1", golden.Biased(8, -145), 2))
    specials = (golden.Special(0x7FF, 0, golden.Kind.ZERO),)
    fmt = golden.Format(
        name="far", width=12, cite="", rows=rows, specials=specials, overflows=("saturate",), flush=True
    )
    large = int(np.flatnonzero(fmt.values == 2.0**400)[0])
    a, b = np.array([[large, large | 0x800, 1, 0]]), np.array([[large, large, 1, 0]])
    assert fmt.values[1] == 1.5 * 2.0**-367
    assert golden.fused_dot(a, b, 0, fmt, accumulator="rvbna") == INFINITY  # 2^(800 - 25)
    assert golden.fused_dot(a[:, :2], b[:, :2], 0, fmt, accumulator="rvbna") == 0
    for small in (-1, 1 << 62):
        monkeypatch.setattr("golden.arithmetic.matmul.SMALL", small)
        assert golden.matmul(a, b.T, fmt, None, "rvbna", lanes=4) == INFINITY


@pytest.mark.parametrize("small", [-1, 1 << 62])
def test_a_last_group_is_filled_with_zeros(small, monkeypatch):
    monkeypatch.setattr("golden.arithmetic.matmul.SMALL", small)
    rng = generator("bulk groups")
    a, b = rng.integers(0, 0x78, (7, 11), np.uint8), rng.integers(0, 0x78, (11, 5), np.uint8)
    filled = np.pad(a, ((0, 0), (0, 5))), np.pad(b, ((0, 5), (0, 0)))
    for lanes in (8, 16):
        short, long = (golden.matmul(*codes, "ocp_e5m2", None, "rvbna", lanes=lanes) for codes in ((a, b), filled))
        np.testing.assert_array_equal(short, long)
    few = golden.fused_dot(a[:, :8], b[:8, 0], 0, "ocp_e5m2", accumulator="rvbna")
    np.testing.assert_array_equal(golden.matmul(a[:, :8], b[:8, :1], "ocp_e5m2", None, "rvbna", lanes=8)[:, 0], few)


@pytest.mark.parametrize("lanes", [3, 6, 2 * MAX_BULK_LANES])
def test_lanes_are_a_power_of_two(lanes):
    allowed = f"a power of two up to {MAX_BULK_LANES} with accumulator 'rvbna', not {lanes}"
    with pytest.raises(golden.BadValue) as caught:
        golden.matmul([[0]], [[0]], "hif8", None, "rvbna", lanes=lanes)
    assert str(caught.value) == f"lanes must be {allowed}"
    with pytest.raises(golden.BadValue) as caught:
        golden.fused_dot([0] * lanes, 0, 0, "hif8", accumulator="rvbna")
    assert str(caught.value) == f"a and b must have a number of products that is {allowed}"


def test_the_most_lanes():
    """Their sum is exact: half of them cancel the others but for the jammed bits."""
    lanes = MAX_BULK_LANES
    a, b = np.full((2, lanes), code("ocp_e5m2", 1.75), np.uint8)
    a[lanes // 2 :] |= 0x80
    a[-1], b[-1] = code("ocp_e5m2", -1.75), code("ocp_e5m2", 2.0**-16)
    sums = [(1.75 * 1.75, 1), (1.75 * 2.0**-16, -1)]
    expected = sum(value * sign for value, sign in sums)
    assert golden.fused_dot(a, b, 0, "ocp_e5m2", accumulator="rvbna").view(np.float32) == expected


def test_mac_and_dot_have_one_lane():
    rng = generator("bulk mac")
    a, b = rng.integers(0, 256, (2, 60, 5), np.uint8)
    state = rng.normal(size=60).astype(np.float32).view(np.uint32)
    single = golden.mac(a[:, 0], b[:, 0], state, "hif8", accumulator="RVBNA")
    np.testing.assert_array_equal(single, golden.fused_dot(a[:, :1], b[:, :1], state, "hif8", accumulator="rvbna"))
    chain = np.zeros(60, np.uint32)
    for k in range(5):
        chain = golden.mac(a[:, k], b[:, k], chain, "hif8", accumulator="rvbna")
    np.testing.assert_array_equal(golden.dot(a, b, "hif8", accumulator="rvbna"), chain)
