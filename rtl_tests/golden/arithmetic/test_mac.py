"""The fused multiply-accumulate against the exact sum, rounded once, in fractions and by NumPy's casts."""

from fractions import Fraction

import numpy as np
import pytest

import golden
from rtl_tests.support.boundaries import INFINITE, SIGN
from rtl_tests.support.paper_tables import CATALOGUE, RANGES, definition, power, values, wide_values

SHAPE = {"binary16": (10, 15), "bfloat16": (7, 127), "binary32": (23, 127), "dlfloat16": (9, 31)}
"""Fraction bits and bias."""
NAN = {"binary16": 0x7E00, "bfloat16": 0x7FC0, "binary32": 0x7FC00000, "dlfloat16": 0x7FFF}
WIDE = tuple(SHAPE)


def nearest(target, x):
    """Magnitude bits of a positive fraction: ties to even, with subnormals; ``dlfloat16`` ties away and flushes."""
    f, bias = SHAPE[target]
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    exponent -= x < power(exponent)
    if target == "dlfloat16":
        significand = (x / power(exponent - f) + Fraction(1, 2)).__floor__()
        return min(max(((exponent + bias) << f) + significand - (1 << f), 0), NAN[target])
    exponent = max(exponent, 1 - bias)
    significand = round(x / power(exponent - f))  # Python rounds halves to even
    return min(((exponent + bias - 1) << f) + significand, INFINITE[target])


def reference(a_name, b_name, target, a, b, acc):
    """Bits of round(acc + a * b): specification, section 2, "Fused MAC"."""
    va, vb = values(a_name)[a], values(b_name)[b]
    vc = wide_values(target, np.array([acc]))[0]
    product_sign = bool(a & definition(a_name).sign) != bool(b & definition(b_name).sign)
    invalid = np.isnan([va, vb, vc]).any() or (np.isinf(va) and vb == 0) or (va == 0 and np.isinf(vb))
    infinite_product = not invalid and (np.isinf(va) or np.isinf(vb))
    if target == "dlfloat16" and (invalid or infinite_product):  # its one code has the sign of its operand
        return NAN[target] | ((acc & SIGN[target]) if np.isnan(vc) else product_sign * SIGN[target])
    if invalid or (infinite_product and np.isinf(vc) and product_sign != (vc < 0)):
        return NAN[target]
    if infinite_product or np.isinf(vc):
        return INFINITE[target] | (product_sign if infinite_product else vc < 0) * SIGN[target]
    total = Fraction(vc) + Fraction(va) * Fraction(vb)
    if total == 0:
        both_negative = bool(acc & SIGN[target]) and product_sign
        return SIGN[target] if vc == 0 and both_negative else 0
    return nearest(target, abs(total)) | (total < 0) * SIGN[target]


def accumulators_near(rng, target, products):
    """Accumulators for each product: far apart, at half an ulp, overlapping, cancelling, subnormal and special."""
    f, bias = SHAPE[target]
    exponent = np.frexp(np.where(np.isfinite(products) & (products != 0), products, 1))[1] - 1
    field = exponent + bias + rng.integers(-f - 4, f + 5, products.size)
    fraction = rng.integers(0, 1 << f, products.size)
    few = rng.integers(0, 4, products.size)
    fraction = np.select([few == 0, few == 1], [np.zeros_like(fraction), (1 << f) - 1 - (fraction & 1)], fraction)
    near = (np.clip(field, 0, 2 * bias) << f) + fraction
    magnitudes = [0 if p == 0 or not np.isfinite(p) else nearest(target, abs(Fraction(p))) for p in products.tolist()]
    cancelling = np.clip(np.array(magnitudes) + rng.integers(-1, 2, products.size), 0, INFINITE[target])
    anything = rng.integers(0, SIGN[target], products.size)
    special = rng.choice(
        [0, 1, (1 << f) - 1, 1 << f, INFINITE[target] - 1, INFINITE[target], NAN[target]], products.size
    )
    kind = rng.integers(0, 8, products.size)
    bits = np.select([kind < 4, kind < 6, kind < 7], [near, cancelling, special], anything)
    signs = np.where(kind == 4, ~np.signbit(products), rng.integers(0, 2, products.size).astype(bool))
    return bits | signs * SIGN[target]


def check(a_name, b_name, target, count, seed):
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(0, 1 << definition(name).width, count) for name in (a_name, b_name))
    with np.errstate(invalid="ignore"):
        acc = accumulators_near(rng, target, values(a_name)[a] * values(b_name)[b])
    ours = golden.mac(a, b, acc, a_name, b_name, target)
    expected = [
        reference(a_name, b_name, target, *case) for case in zip(a.tolist(), b.tolist(), acc.tolist(), strict=True)
    ]
    wrong = np.flatnonzero(ours != expected)
    assert not wrong.size, [
        f"{a[i]:#x} * {b[i]:#x} + {acc[i]:#x} = {expected[i]:#x}, not {ours[i]:#x}" for i in wrong[:5]
    ]
    return ours


@pytest.mark.parametrize("target", WIDE)
@pytest.mark.parametrize("name", CATALOGUE)
def test_mac_is_the_rounded_exact_sum(name, target):
    bits = check(name, name, target, 1200, seed=100)
    assert bits.dtype == golden.get(target).code_dtype


@pytest.mark.parametrize("target", WIDE)
@pytest.mark.parametrize(
    ("a_name", "b_name"),
    [
        ("ocp_e4m3", "ocp_e5m2"),
        ("hif8", "e5m2b4"),
        ("e5m3", "gc_1_0_7_b0"),
        ("ibm_1_5_2", "ibm_1_4_3"),
        ("e5m2b1_3", "dlfloat16"),
    ],
)
def test_mixed_formats(a_name, b_name, target):
    check(a_name, b_name, target, 1200, seed=200)


EXACT_IN_BINARY64 = ["ocp_e4m3", "binary8p4", "e4m3_nosub", "ibm_1_4_3", "gc_1_4_3_b7"]


@pytest.mark.parametrize("name", EXACT_IN_BINARY64)
def test_all_pairs_into_binary16_equal_numpys_cast(name):
    """NumPy's cast to float16 is the reference if all sums are exact in binary64: 2^16 pairs, 24 accumulators each."""
    smallest, largest, _ = RANGES[name]
    assert np.log2(max(largest**2, 2.0**16)) + 1 - min(np.log2(smallest / 2**3) * 2, -24) < 53
    rng = np.random.default_rng(300)
    a, b = np.arange(256)[:, None, None], np.arange(256)[None, :, None]
    acc = rng.integers(0, 1 << 16, (256, 256, 24))
    with np.errstate(all="ignore"):
        theirs = (values(name)[a] * values(name)[b] + wide_values("binary16", acc)).astype(np.float16)
    expected = np.where(np.isnan(theirs), 0x7E00, theirs.view(np.uint16))
    ours = golden.mac(a, b, acc, name)
    assert ours.size == 24 << 16
    np.testing.assert_array_equal(ours, expected)


def test_all_pairs_into_binary32_equal_numpys_cast():
    rng = np.random.default_rng(301)
    a, b = np.arange(256)[:, None, None], np.arange(256)[None, :, None]
    acc = rng.integers(122 << 23, 145 << 23, (256, 256, 8)) | rng.integers(0, 2, (256, 256, 8)) << 31
    with np.errstate(invalid="ignore"):
        theirs = (values("ocp_e4m3")[a] * values("ocp_e4m3")[b] + wide_values("binary32", acc)).astype(np.float32)
    expected = np.where(np.isnan(theirs), 0x7FC00000, theirs.view(np.uint32))
    np.testing.assert_array_equal(golden.mac(a, b, acc, "ocp_e4m3", accumulator="binary32"), expected)


def test_signs_of_zero():
    """x + (-x) = +0; -0 only from -0 plus a negative zero product; a product's sign is the XOR of the signs."""
    mac, hif8 = golden.mac, golden.get("hif8")
    one, minus_one, acc_minus_one = 0x08, 0x88, 0xBC00
    assert (hif8.decode(one), hif8.decode(minus_one)) == (1, -1)
    assert mac(one, one, acc_minus_one) == 0
    assert mac(one, minus_one, 0x3C00) == 0
    a, b = [0, 0, minus_one, minus_one], [one, minus_one, 0, 0]
    for accumulator, sign in SIGN.items():
        zeros = mac(a, b, np.array([1, 1, 1, 0]) * sign, accumulator=accumulator)
        np.testing.assert_array_equal(zeros, [0, sign, sign, 0])
    zeros = mac([0x80, 0x80, 0, 0x80], [0, 0x80, 0, 0], [0x8000, 0x8000, 0x8000, 0], "ocp_e4m3")
    np.testing.assert_array_equal(zeros, [0x8000, 0, 0, 0])


def test_nan_and_infinity():
    """NaN from any NaN, 0 * Inf and Inf - Inf; otherwise infinities stay."""
    nan, inf, one = 0x80, 0x6F, 0x08
    a = [nan, one, one, 0, inf, inf, inf, inf | 0x80, one]
    b = [one, nan, one, inf, 0, one, one, one, one]
    acc = [0, 0, 0x7C01, 0, 0, 0xFC00, 0x7C00, 0x3C00, 0xFC00]
    np.testing.assert_array_equal(golden.mac(a, b, acc), [0x7E00] * 6 + [0x7C00, 0xFC00, 0xFC00])


def test_the_product_is_not_rounded_before_the_sum():
    """Rounded alone in binary16, 1.125 * 2^-25 would become 2^-24, and 2^16 would overflow."""
    codes = {value: code for code, value in enumerate(golden.get("hif8").values.tolist())}
    odd = 0x0801  # 2^-13 + 2^-23; half an ulp is 2^-24
    assert golden.mac(codes[1.125 * 2**-3], codes[2.0**-22], odd) == odd
    assert golden.mac(codes[2.0**-2], codes[2.0**-22], odd) == 0x0802
    assert golden.mac(codes[2.0**8], codes[2.0**8], 0xF800) == 0x7800
    assert golden.mac(codes[2.0**8], codes[2.0**8], 0) == 0x7C00


def test_the_smallest_accumulator_breaks_a_tie():
    """(1 + 1/16)^2 = 1 + 16.5/128 is a tie between two bfloat16 values; adding ±2^-133 breaks it."""
    code = int(np.flatnonzero(golden.get("gc_1_3_4_b3").values == 1 + 1 / 16)[0])
    sums = golden.mac(code, code, [0x0000, 0x0001, 0x8001], "gc_1_3_4_b3", accumulator="bfloat16")
    np.testing.assert_array_equal(sums, [0x3F90, 0x3F91, 0x3F90])
    sums = golden.mac(code, code | 0x80, [0x0000, 0x0001, 0x8001], "gc_1_3_4_b3", accumulator="bfloat16")
    np.testing.assert_array_equal(sums, [0xBF90, 0xBF90, 0xBF91])


@pytest.mark.parametrize("accumulator", WIDE)
def test_dot_is_a_chain_of_macs(accumulator):
    rng = np.random.default_rng(400)
    a, b = rng.integers(0, 1 << 8, (4, 1, 9)), rng.integers(0, 1 << 8, (5, 9))
    a[values("ocp_e4m3")[a] != values("ocp_e4m3")[a]] = 0
    ours = golden.dot(a, b, "ocp_e4m3", "ocp_e5m2", accumulator)
    assert ours.shape == (4, 5)
    for i in range(4):
        for j in range(5):
            acc = 0
            for k in range(9):
                acc = reference("ocp_e4m3", "ocp_e5m2", accumulator, int(a[i, 0, k]), int(b[j, k]), acc)
            assert ours[i, j] == acc


def test_shapes_broadcast_and_empty_dots_are_zero():
    assert golden.mac(np.zeros((3, 1), int), np.zeros((1, 4), int), np.zeros((2, 1, 1), int)).shape == (2, 3, 4)
    assert np.shape(golden.mac(0x08, 0x08, 0)) == ()
    np.testing.assert_array_equal(golden.dot(np.zeros((3, 0), np.uint8), np.zeros((3, 0), np.uint8)), [0, 0, 0])
    big = golden.dot(np.full((64, 64, 16), 0x08), np.full((64, 16), 0x08), accumulator="binary32")
    np.testing.assert_array_equal(big, np.full((64, 64), np.float32(16).view(np.uint32)))


@pytest.mark.parametrize("accumulator", ["hif8", "binary64", 5])
def test_unknown_accumulators_are_refused(accumulator):
    allowed = "binary16, bfloat16, binary32, dlfloat16, exact, rvbna, or aligned6 to aligned40"
    sentence = rf"^accumulator must be one of {allowed}, not {accumulator!r}$"
    for operation in (
        lambda: golden.mac(0, 0, 0, accumulator=accumulator),
        lambda: golden.dot([0], [0], accumulator=accumulator),
    ):
        with pytest.raises(TypeError if accumulator == 5 else ValueError, match=sentence):
            operation()


def test_operands_of_the_wrong_kind_or_size_are_refused():
    with pytest.raises(TypeError, match=r"^a must be unsigned integers, not float64$"):
        golden.mac([1.0], [1], [0])
    with pytest.raises(ValueError, match=r"^b must lie in 0 to 0xff for hif8, not 0x100$"):
        golden.mac([1], [0x100], [0])
    with pytest.raises(ValueError, match=r"^acc must lie in 0 to 0xffff for binary16, not -0x1$"):
        golden.mac([1], [1], [-1])
    with pytest.raises(ValueError, match=r"^a_format must have at most 16 bits, not the 32 of binary32$"):
        golden.mac([1], [1], [0], "binary32")
    with pytest.raises(ValueError, match=r"^a or b must have an axis to accumulate along$"):
        golden.dot(1, 1)


def test_overflow_far_beyond_binary32():
    """The exponent of the product is far too large for the exponent field of the accumulator."""
    np.testing.assert_array_equal(golden.mac([0x5B8], [0x7FA], [0x132A55E6], "e4m7b1", None, "binary32"), [0x7F800000])


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int64])
def test_codes_and_bits_may_have_any_integer_type(dtype):
    codes = np.arange(128).astype(dtype)
    wide = codes.astype(np.uint32)
    for name in ("hif8", "e5m3", "ocp_e4m3+ocp_e5m2"):
        for accumulator in golden.WIDE:
            np.testing.assert_array_equal(
                *(golden.mac_with_flags(x, x, x, name, None, accumulator) for x in (codes, wide))
            )
    np.testing.assert_array_equal(*(golden.get("hif8").encode_with_flags(x, "binary16") for x in (codes, wide)))
