"""Blocks with scales: gfloat's and ml_dtypes' blocks, and the rules typed a second time in exact fractions."""

from bisect import bisect
from fractions import Fraction
from functools import cache
from math import inf, isnan, nan

import gfloat
import ml_dtypes
import numpy as np
import pytest
from gfloat import formats as theirs

import golden
from golden import Flag
from golden.arithmetic.blocks import POLICIES, SCALES
from rtl_tests.golden.arithmetic.test_aligned import aligned, multiplied, split
from rtl_tests.golden.test_references import rounded_posit
from rtl_tests.support.selection import exhaustive

ELEMENTS = {
    "ocp_e4m3": (theirs.format_info_mxfp8_e4m3, ml_dtypes.float8_e4m3fn),
    "ocp_e5m2": (theirs.format_info_mxfp8_e5m2, ml_dtypes.float8_e5m2),
    "e3m2": (theirs.format_info_mxfp6_e3m2, ml_dtypes.float6_e3m2fn),
    "e2m3": (theirs.format_info_mxfp6_e2m3, ml_dtypes.float6_e2m3fn),
    "e2m1": (theirs.format_info_mxfp4_e2m1, ml_dtypes.float4_e2m1fn),
}


def blocks(count, size, seed=0):
    """Blocks of normal numbers of many scales, some small integers, powers of two, zeros, subnormals and extremes."""
    rng = np.random.default_rng([count, size, seed])
    x = rng.normal(size=(count, size)) * 2.0 ** rng.integers(-140, 120, (count, 1))
    x = np.where(rng.random((count, 1)) < 0.3, rng.integers(-12, 13, (count, size)) / 2.0, x)
    x = np.where(rng.random((count, 1)) < 0.1, 2.0 ** rng.integers(-149, 127, (count, size)), x)
    x = np.where(rng.random((count, size)) < 0.1, 0.0, x)
    x[0] = 0
    return np.where(rng.random((count, 1)) < 0.02, 3e38, x).astype(np.float32)


@pytest.mark.parametrize("name", ELEMENTS)
def test_scales_and_values_are_gfloats(name):
    info, _ = ELEMENTS[name]
    x = blocks(300, 32)
    codes, scales = golden.quantize_block(x, name)
    values = golden.dequantize_block(codes, scales, name)
    for block, scale, row in zip(x.astype(np.float64), scales, values, strict=True):
        with np.errstate(all="ignore"):
            expected = gfloat.quantize_block(info, block, gfloat.compute_scale_amax)
            assert golden.get("e8m0").decode(scale) == gfloat.compute_scale_amax(info.etype.emax, block)
        np.testing.assert_array_equal(row, expected)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", ELEMENTS)
def test_elements_are_those_of_ml_dtypes(name, policy):
    _, kind = ELEMENTS[name]
    x, largest = blocks(2000, 32, seed=1), golden.get(name).largest
    codes, scales = golden.quantize_block(x, name, policy=policy)
    scaled = x.astype(np.float64) / golden.get("e8m0").decode(scales)[:, None]
    expected = np.clip(scaled, -largest, largest).astype(kind)
    np.testing.assert_array_equal(codes, expected.view(np.uint8))


def exponent_of(x):
    """The exponent of a positive fraction."""
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    return exponent - (Fraction(2) ** exponent > x)


@cache
def magnitudes(name):
    """The values of a format that are not negative, in order, and the code of each."""
    fmt = golden.get(name)
    by_value = sorted((fmt.exact_value(int(code)), int(code)) for code in fmt.magnitude_codes)
    return [value for value, _ in by_value], by_value


def rounded(x, name, away=False):
    """The code of the value nearest to a fraction, ties to the even code or away, saturating."""
    values, by_value = magnitudes(name)
    place = bisect(values, x)
    beside = by_value[max(place - 1, 0) : place + 1]
    return min(beside, key=lambda pair: (abs(pair[0] - x), -pair[0] if away else pair[1] & 1))[1]


FORMATS = ("e2m1", "e2m3", "e3m2", "ocp_e4m3", "ocp_e5m2", "hif8", "e5m2b1")
FULL = {"hif8": 15, "e5m2b1": 28672, "e5m2b2": 14336, "e5m2b4": 3584, "e4m3b1": 120, "e3m3b3": Fraction(15, 8)}
FULL |= {"posit8_0": Fraction(63, 32), "posit8_1": Fraction(31, 8), "posit8_2": 15}
"""The largest value with the most significant bits, where it is not the largest value; from the formats' papers."""


@pytest.mark.parametrize("name", [*golden.names(), "e3m3b3", "bfloat16", "Binary8p1se", "Binary8p3ue"])
def test_the_largest_precise_value_is_the_largest_unless_precision_tapers(name):
    fmt = golden.get(name)
    assert fmt.largest_precise == FULL.get(name, fmt.largest)


FRACTION_BITS = {"e2m1": 1, "e3m2": 2, "ocp_e5m2": 2, "e5m2b1": 2, "e5m2b2": 2, "e5m2b4": 2}
FRACTION_BITS |= {"posit8_0": 5, "posit8_1": 4}
"""Of elements of full precision; 3 in other formats."""


POWERS = {"e8m0": (0, 127), "Binary8p1uf": (1, 126)}
"""Code of 2**-127, and the largest exponent, of scales that are powers of two."""


def quantized(block, name, scale_name, policy):
    """One block by the rules."""
    fmt, scale_format = golden.get(name), golden.get(scale_name)
    largest = max((abs(Fraction(x)) for x in block), default=Fraction(0))
    top = Fraction(FULL.get(name, fmt.largest))
    if scale_name in POWERS:
        first, most = POWERS[scale_name]
        code = first
        if largest:
            exponent = exponent_of(largest)
            ratio = largest / Fraction(2) ** exponent
            peak = top / Fraction(2) ** exponent_of(top)
            half = Fraction(1, 2 << FRACTION_BITS.get(name, 3))
            exponent += {
                "floor": False,
                "ceil": ratio > 1,
                "rceil": ratio > peak,
                "even": ratio + half >= 2,
                "nearest": ratio**2 >= 2,
            }[policy]
            code = min(max(exponent - exponent_of(top), -127), most) + 127 + first
    else:
        code = max(rounded(largest / top, scale_name), 1)
    scale = scale_format.exact_value(code)
    codes = []
    for x in block:
        if name.startswith("posit"):
            codes.append(rounded_posit(int(name[-1]), Fraction(x) / scale))
            continue
        magnitude = rounded(abs(Fraction(x)) / scale, name, name == "hif8")
        is_negative = np.signbit(x) and (magnitude or fmt.kinds[fmt.sign_bit] is golden.Kind.ZERO)
        codes.append(magnitude | fmt.sign_bit if is_negative else magnitude)
    return codes, code


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("name", "scale"), [*((name, "e8m0") for name in sorted({*FORMATS, *FULL})), *(("e2m1", scale) for scale in POWERS)]
)
def test_powers_of_two_by_their_rule(name, scale, policy):
    x = np.concatenate([blocks(80, 4, seed=2), at_thresholds(100, 4, seed=2)])
    x = x[np.isfinite(x).all(axis=-1)]
    codes, scales = golden.quantize_block(x, name, scale, policy)
    for place, block in enumerate(x.tolist()):
        assert (codes[place].tolist(), scales[place]) == quantized(block, name, scale, policy)


TOP = dict(zip(FORMATS, (2, 2, 4, 8, 15, 3, 14), strict=True))
"""Exponents of the largest elements of full precision."""
PEAK = dict(zip(FORMATS, (1.5, 1.875, 1.75, 1.75, 1.75, 1.875, 1.75), strict=True))
"""Their significands: ``rceil`` rounds up above them."""
EVEN = dict(zip(FORMATS, (1.75, 1.9375, 1.875, 1.9375, 1.875, 1.9375, 1.875), strict=True))
"""``even`` rounds up from here on."""


def at_thresholds(count, size, seed):
    """Blocks with the largest magnitude at or next to a threshold, at every exponent; some subnormal, some special."""
    rng = np.random.default_rng([count, size, seed])
    marks = np.round(np.array([1, 2**0.5, *PEAK.values(), *EVEN.values(), 2]) * 2**23).astype(np.int64)
    significands = rng.choice(marks, count) + rng.integers(-2, 3, count)
    fields = rng.integers(0, 255, count)
    # of significands below 2**23 and from 2**24 on, neighbours of powers of two; field 0 drops bits, so: subnormals
    leaders = np.where(fields > 0, (fields << 23) + significands - 2**23, significands >> rng.integers(1, 25, count))
    leaders = np.clip(leaders, 0, 0x7F7FFFFF)
    shifts = rng.integers(0, 30, (count, size))
    bits = np.maximum(leaders[:, None] - (shifts << 22) - rng.integers(0, 1 << 22, (count, size)), 0)
    bits[np.arange(count), rng.integers(0, size, count)] = leaders
    bits = np.where(rng.random((count, size)) < 0.01, 0, bits)
    bits = np.where(rng.random((count, size)) < 0.003, rng.choice([0x7F800000, 0x7FC00000], (count, size)), bits)
    return (bits | rng.integers(0, 2, (count, size)) << 31).astype(np.uint32).view(np.float32)


def in_integers(x, name, policy):
    """Codes and scales by the rules, from the fields of binary32; every number is exact in an integer or in binary64.

    A quotient has 24 significant bits, and values and midpoints of a format have few.
    """
    fmt, bits = golden.get(name), x.view(np.uint32).astype(np.int64)
    field, fraction = bits >> 23 & 255, bits & 0x7FFFFF
    numbers, powers = fraction + ((field > 0) << 23), np.maximum(field, 1) - 150
    largest = np.where((field == 255).any(axis=-1), 0, (bits & 0x7FFFFFFF).max(axis=-1))
    number, power = (largest & 0x7FFFFF) + ((largest >> 23 > 0) << 23), np.maximum(largest >> 23, 1) - 150
    length = np.array([n.bit_length() for n in number.tolist()])
    significand, exponent = number << 24 - length, power + length - 1  # in units of 2**-23
    one = 1 << 23
    up = {
        "floor": significand < 0,
        "ceil": significand > one,
        "rceil": significand > PEAK[name] * one,
        "even": significand >= EVEN[name] * one,
        "nearest": significand**2 >= 2 * one**2,
    }[policy]
    scale = np.where(number > 0, np.clip(exponent + up - TOP[name], -127, 127), -127)
    quotient = np.ldexp(numbers.astype(np.float64), powers - scale[:, None])
    order = [int(code) for code in fmt.magnitude_codes]
    values = np.array([float(fmt.exact_value(code)) for code in order])
    middles = (values[1:] + values[:-1]) / 2
    places = np.searchsorted(middles, quotient)
    at_tie = (places < len(middles)) & (quotient == np.append(middles, inf)[places])
    codes = np.array(order)[places + (at_tie & (name == "hif8" or np.array(order)[places] % 2 == 1))]
    codes |= np.where((codes > 0) | (name not in {"hif8", "e5m2b1"}), bits >> 31 << fmt.width - 1, 0)
    spoiled = (field == 255).any(axis=-1)
    return np.where(spoiled[:, None], 0, codes), np.where(spoiled, 255, scale + 127)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("name", "count"), [*((n, 3000) for n in FORMATS), *(exhaustive(n, 10**6) for n in FORMATS)])
def test_policies_by_their_thresholds(name, count, policy):
    for seed in range(-(-count // 50_000)):
        size = min(count, 50_000)
        x = np.concatenate([at_thresholds(size // 2, 4, seed), blocks(size // 2, 4, seed)])
        for ours, same in zip(golden.quantize_block(x, name, policy=policy), in_integers(x, name, policy), strict=True):
            np.testing.assert_array_equal(ours, same)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", [*FORMATS, "gc_1_4_3_b390", "posit8_1"])
def test_blocks_do_not_depend_on_their_neighbours(name, policy):
    """Whether a block with a tiny scale is in the array selects how all blocks are rounded."""
    x = np.concatenate([at_thresholds(3000, 4, 12), blocks(3000, 4, 12)])
    codes, scales = golden.quantize_block(x, name, policy=policy)
    usual = np.abs(x).max(axis=-1) > 2.0**-90
    for rows in (usual, ~usual, (x == 0).all(axis=-1)):
        for ours, part in zip(golden.quantize_block(x[rows], name, policy=policy), (codes, scales), strict=True):
            np.testing.assert_array_equal(ours, part[rows])


@pytest.mark.parametrize("kind", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("scale", ["e8m0", "ue4m3"])
@pytest.mark.parametrize("rounding", ["ties_to_away", "hybrid", "toward_zero", "stochastic"])
def test_arrays_of_several_pieces(monkeypatch, rounding, scale, kind):
    """Large arrays are quantized in pieces; a block longer than a piece is one."""
    with np.errstate(over="ignore"):
        x = np.concatenate([at_thresholds(300, 5, 17), blocks(300, 5, 17)]).astype(kind).reshape(3, 200, 5)
    words = np.random.default_rng(18).integers(0, 8, x.shape).astype(np.uint8)
    chosen = {"random": words, "random_bits": 3} if rounding == "stochastic" else {}
    whole = golden.quantize_block(x, "hif8", scale, rounding=rounding, **chosen)
    for size in (1, 17):
        monkeypatch.setattr("golden.arithmetic.blocks.BLOCK", size)
        for ours, same in zip(golden.quantize_block(x, "hif8", scale, rounding=rounding, **chosen), whole, strict=True):
            assert ours.dtype == same.dtype
            np.testing.assert_array_equal(ours, same)


@pytest.mark.parametrize("name", FORMATS)
def test_even_is_the_sum_of_bits_of_torchao(name):
    """It adds half a unit of the elements' last fraction bit to the bits of binary32, and reads the exponent field."""
    x = at_thresholds(4000, 1, seed=9)
    x = x[np.isfinite(x[:, 0]) & (np.abs(x[:, 0]) >= 2.0**-100)]
    field = (np.abs(x[:, 0]).view(np.uint32) + np.uint32(1 << 22 - FRACTION_BITS.get(name, 3))) >> 23
    expected = np.clip(field.astype(int) - 127 - TOP[name], -127, 127) + 127
    np.testing.assert_array_equal(golden.quantize_block(x, name, policy="even")[1], expected)


@pytest.mark.parametrize("name", FORMATS)
def test_rceil_is_the_smallest_scale_without_overflow(name):
    x = at_thresholds(2000, 4, seed=10)
    x = x[np.isfinite(x).all(axis=-1) & (np.abs(x).max(axis=-1) >= 2.0**-100)]
    scales = golden.get("e8m0").decode(golden.quantize_block(x, name, policy="rceil")[1])
    top, largest = FULL.get(name, golden.get(name).largest), np.abs(x.astype(np.float64)).max(axis=-1)
    assert (largest / scales <= top).all()
    assert (largest / (scales / 2) > top).all()


@pytest.mark.parametrize("scale", ["e8m0", "ue4m3"])
def test_a_center_moves_the_scale(scale):
    x = np.abs(blocks(300, 8, seed=11)) / np.float32(2.0**20)
    x = x[(x.max(axis=-1) > 2.0**-6) & (x.max(axis=-1) < 2.0**5)]
    for policy in (None,) if scale == "ue4m3" else POLICIES:
        codes, scales = golden.quantize_block(x, "hif8", scale, policy)
        same = golden.quantize_block(x, "hif8", scale, policy, center=3)
        assert all(np.array_equal(*pair) for pair in zip((codes, scales), same, strict=True))
    if scale == "e8m0":
        lower = golden.quantize_block(x, "hif8", center=-1)[1]
        np.testing.assert_array_equal(lower, golden.quantize_block(x, "hif8")[1] + 4)
        largest = golden.get("hif8").decode(golden.quantize_block(x, "hif8", policy="rceil", center=6)[0]).max(axis=-1)
        assert largest.max() == 112  # 1.75 * 2**6, the largest with two fraction bits
    else:  # 112 takes the place of 15: the same scales for numbers 112 / 15 times as large
        twelve = np.float32([[112.0 * 3, 1.0]])
        assert golden.get(scale).decode(golden.quantize_block(twelve, "hif8", scale, center=6)[1]) == 3


@pytest.mark.parametrize("scale", ["ue4m3", "ue5m3"])
@pytest.mark.parametrize("name", ["e2m1", "e2m3", "ocp_e4m3", "hif8", "e5m2b1"])
def test_scales_of_nvfp4_by_their_rule(name, scale):
    x = np.concatenate([blocks(60, 16, seed=3), np.random.default_rng(4).normal(size=(120, 16)).astype(np.float32)])
    x[-20:] *= np.float32(100)
    codes, scales = golden.quantize_block(x, name, scale)
    for place, block in enumerate(x.tolist()):
        assert (codes[place].tolist(), scales[place]) == quantized(block, name, scale, None)


def signal_to_noise(x, values):
    return 10 * np.log10(np.sum(x**2) / np.sum((values - x) ** 2))


STANDARD = dict.fromkeys(ELEMENTS, "floor")
"""The policy of OCP's standard, which loses more than others with one of these elements."""
SIGNED = [name for name in golden.names() if golden.get(name).signed]


@pytest.mark.parametrize("name", [*SIGNED, "e5m2b3", "e5m2b1_3", "bfloat16"])
def test_the_default_policy_is_that_of_the_standard_or_rceil(name):
    x = blocks(200, 8, seed=13)
    for ours, same in zip(
        golden.quantize_block(x, name),
        golden.quantize_block(x, name, policy=STANDARD.get(name, "rceil")),
        strict=True,
    ):
        np.testing.assert_array_equal(ours, same)


@pytest.mark.parametrize("name", [*(name for name in SIGNED if name != "ocp_e4m3"), "e5m2b3", "e5m2b1_3"])
def test_a_block_of_gaussian_numbers_loses_at_most_half_a_decibel(name):
    """Against the best power of two for all blocks, and for each block."""
    x = np.random.default_rng(7).normal(size=(2000, 32)).astype(np.float32)
    wide, fmt = x.astype(np.float64), golden.get(name)
    codes, scales = golden.quantize_block(x, name)
    ratio = signal_to_noise(wide, golden.dequantize_block(codes, scales, name))
    tried = []
    for power in range(-16, 30):
        scaled = np.ldexp(x, power)
        codes = fmt.encode(scaled.view(np.uint32), overflow="saturate")
        tried.append(np.ldexp(fmt.decode(codes), -power))
    errors = np.array([((values - wide) ** 2).sum(axis=1) for values in tried])
    best = max(signal_to_noise(wide, values) for values in tried)
    best_of_each = 10 * np.log10(np.sum(wide**2) / errors.min(axis=0).sum())
    # of formats whose steps are equal up to the largest, no threshold is near the best scale of each block
    has_equal_steps = name in ("int4", "posit8_0")
    assert ratio > (best if has_equal_steps else max(best, best_of_each)) - 0.5


def neighbours(name):
    """The values of a format that are not negative, and the next step of its last binade, as fractions."""
    fmt = golden.get(name)
    values = [fmt.exact_value(int(code)) for code in fmt.magnitude_codes]
    return [*values, 2 * values[-1] - values[-2]]


@pytest.mark.parametrize("rounding", ["toward_zero", "toward_positive", "to_odd", "stochastic", "stochastic_b"])
@pytest.mark.parametrize("name", ["e2m1", "ocp_e4m3", "hif8"])
def test_elements_in_any_rounding(name, rounding):
    """Each element lies between the neighbours of its quotient, on the side that the rounding's definition says."""
    rng, fmt, points = np.random.default_rng(15), golden.get(name), neighbours(name)
    x = np.concatenate([blocks(60, 4, seed=14), at_thresholds(60, 4, seed=14)])
    x = x[np.isfinite(x).all(axis=-1)]
    chosen, words = {"rounding": rounding}, np.zeros(x.shape, np.uint8)
    if rounding.startswith("stochastic"):
        words = rng.integers(0, 32, x.shape).astype(np.uint8)
        chosen |= {"random": words, "random_bits": 5}
    codes, scales = golden.quantize_block(x, name, policy="rceil", **chosen)
    np.testing.assert_array_equal(scales, golden.quantize_block(x, name, policy="rceil")[1])
    for row, scale in enumerate(golden.get("e8m0").decode(scales).tolist()):
        for number, code, word in zip(x[row].tolist(), codes[row].tolist(), words[row].tolist(), strict=True):
            quotient = abs(Fraction(number)) / Fraction(scale)
            place = sum(point <= quotient for point in points) - 1
            low, high = points[place], points[min(place + 1, len(points) - 1)]
            t = (quotient - low) / (high - low)
            odd = int(fmt.magnitude_codes[place]) & 1 if place + 1 < len(points) else 0
            up = {
                "toward_zero": False,
                "toward_positive": t > 0 and number > 0,
                "to_odd": t > 0 and not odd,
                "stochastic": int(32 * t) + word >= 32,
                "stochastic_b": int(64 * t) + 2 * word + 1 >= 64,
            }[rounding]
            expected = min(high if up else low, points[-2])
            assert abs(fmt.exact_value(code)) == expected, (number, scale, code)


def test_hybrid_elements_compare_bits_of_the_numbers_themselves():
    """At a scale of 1 they are the encoder's; the scale moves exponents only, and thresholds are bits of fractions."""
    x = np.random.default_rng(16).normal(size=(50, 8)).astype(np.float32)
    x[:, 0] = 8  # the binade of the center: the scale is 1
    bits = x.view(np.uint32)
    codes, scales = golden.quantize_block(x, "hif8", rounding="hybrid", policy="floor")
    assert (scales == 127).all()
    np.testing.assert_array_equal(codes, golden.get("hif8").encode(bits, rounding="hybrid", overflow="saturate"))
    moved, up = golden.quantize_block(np.ldexp(x, 9), "hif8", rounding="hybrid", policy="floor")
    assert (up == 136).all()
    np.testing.assert_array_equal(moved, codes)
    short = x.astype(ml_dtypes.bfloat16)
    codes = golden.quantize_block(short, "hif8", rounding="hybrid", policy="floor")[0]
    expected = golden.get("hif8").encode(short.view(np.uint16), "bfloat16", "hybrid", "saturate")
    np.testing.assert_array_equal(codes, expected)


def test_hifloat8_rounds_ties_away_in_blocks_too():
    codes, scale = golden.quantize_block(np.array([18 / 256, 8, -18 / 256, 0.3125], np.float32), "hif8")
    assert golden.dequantize_block(codes, scale, "hif8").tolist() == [20 / 256, 8, -20 / 256, 0.3125]


@pytest.mark.parametrize(
    ("scale", "spoiled"), [("e8m0", 0xFF), ("ue4m3", 0x7F), ("ue5m3", 0xFF), ("Binary8p1uf", 0xFF)]
)
@pytest.mark.parametrize("special", [nan, inf, -inf])
def test_a_special_number_spoils_its_block_only(scale, spoiled, special):
    x = blocks(8, 16, seed=5)
    plain = golden.quantize_block(x, "e2m1", scale)
    x[3, 7] = special
    codes, scales = golden.quantize_block(x, "e2m1", scale)
    assert scales[3] == spoiled
    assert not codes[3].any()
    assert np.isnan(golden.dequantize_block(codes, scales, "e2m1", scale)[3]).all()
    others = np.arange(8) != 3
    np.testing.assert_array_equal(codes[others], plain[0][others])
    np.testing.assert_array_equal(scales[others], plain[1][others])


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", [*FORMATS, "posit8_1"])
def test_16_bit_floats_are_the_same_numbers(name, policy):
    x = np.concatenate([blocks(200, 16, seed=6), at_thresholds(200, 16, seed=6)])
    for kind in (np.float16, ml_dtypes.bfloat16):
        with np.errstate(over="ignore"):
            short = x.astype(kind)
        results = [golden.quantize_block(y, name, policy=policy) for y in (short, short.astype(np.float32))]
        for ours, same in zip(*results, strict=True):
            np.testing.assert_array_equal(ours, same)


def single(x):
    """A positive fraction, rounded to binary32 as a fraction; the largest value if it is beyond."""
    bits = nearest_binary32(x)
    return Fraction(float(np.uint32(min(bits, 0x7F7FFFFF)).view(np.float32)))


def nearest_code(x, values):
    """The code of the value nearest to a fraction, ties to the even code."""
    return min(values, key=lambda code: (abs(values[code] - x), code & 1))


@pytest.mark.parametrize("amax", [None, 3.0, 1e-30, 3e38])
def test_nvfp4_with_a_scale_of_the_tensor_by_its_roundings(amax):
    """Each product and quotient of TransformerEngine's is rounded to binary32, typed a second time in fractions."""
    x = np.random.default_rng(17).normal(size=(40, 16)).astype(np.float32)
    x *= np.float32(2.0) ** np.random.default_rng(18).integers(-12, 3, (40, 1))
    x[3], x[5, 2] = 0, nan
    codes, scales, tensor = golden.quantize_nvfp4(x, amax)
    usual = np.isfinite(x).all(axis=-1)
    whole = Fraction(float(np.float32(np.abs(x[usual]).max() if amax is None else amax)))
    encoding = single(2688 / whole)
    decoding, sixth = single(1 / encoding), single(Fraction(1, 6))
    assert Fraction(float(tensor)) == decoding
    elements, scale_format = golden.get("e2m1"), golden.get("ue4m3")
    values = {code: scale_format.exact_value(code) for code in range(127)}
    magnitudes = {int(code): elements.exact_value(int(code)) for code in elements.magnitude_codes}
    for place, block in enumerate(x.tolist()):
        if place == 5:
            assert (scales[place], codes[place].any()) == (0x7F, False)
            continue
        largest = max(abs(Fraction(number)) for number in block)
        scale = nearest_code(single(largest * single(encoding * sixth)), values)
        assert scales[place] == scale
        factor = single(values[scale] * decoding)
        inverse = single(1 / factor) if factor else single(Fraction(2) ** 130)
        for number, code in zip(block, codes[place].tolist(), strict=True):
            assert code == nearest_code(single(abs(Fraction(number)) * inverse), magnitudes) | (
                8 if np.signbit(number) else 0
            )


def test_both_arithmetics_of_nvfp4_restore_the_numbers():
    x = np.random.default_rng(19).normal(size=(300, 16)).astype(np.float32)
    codes, scales, tensor = golden.quantize_nvfp4(x)
    scaled = golden.dequantize_block(codes, scales, "e2m1", "ue4m3") * float(tensor)
    plain = golden.dequantize_block(*golden.quantize_block(x, "e2m1", "ue4m3"), "e2m1", "ue4m3")
    assert min(signal_to_noise(x.astype(np.float64), values) for values in (scaled, plain)) > 20
    zeros = golden.quantize_nvfp4(np.zeros((2, 16), np.float32))
    assert not zeros[0].any()
    assert not zeros[1].any()
    assert zeros[2] == 1
    with pytest.raises(ValueError, match=r"^amax must be positive and finite in binary32, not 0$"):
        golden.quantize_nvfp4(x, 0)


# -- dot products


def factors(name):
    """Value, exponent and significand of the codes of scales, powers of two."""
    return [(value, 0 if isnan(value) else exponent_of(Fraction(value))) for value in golden.get(name).values.tolist()]


def sums(a, b, acc, a_scale, b_scale, a_format, b_format, scale_name):
    """Exact sums of blocks, and whether a product is undefined: NaN, an infinity, or a fraction."""
    left, right, scale = (golden.get(name).values for name in (a_format, b_format, scale_name))
    for row in range(len(acc)):
        one, two = float(scale[a_scale[row]]), float(scale[b_scale[row]])
        start = float(acc[row : row + 1].view(np.float32)[0])
        total, specials, undefined = Fraction(0), [] if np.isfinite(start) else [start], False
        total += Fraction(start) if np.isfinite(start) else 0
        for x, y in zip(left[a[row]].tolist(), right[b[row]].tolist(), strict=True):
            parts = (x, y, one, two)
            if any(map(isnan, parts)):
                specials.append(nan)
            elif any(map(np.isinf, parts)):
                is_undefined = 0 in parts
                undefined |= is_undefined
                specials.append(nan if is_undefined else inf if (x > 0) == (y > 0) else -inf)
            else:
                total += Fraction(x) * Fraction(y) * Fraction(one) * Fraction(two)
        if any(map(isnan, specials)) or {inf, -inf} <= set(specials):
            yield nan, undefined
        else:
            yield (specials[0] if specials else total), undefined


def nearest_binary32(x):
    """Bits of a fraction, rounded to the nearest, ties to even; the sign of zero is left to others."""
    magnitude = abs(x)
    if magnitude == 0:
        return 0
    unit = Fraction(2) ** (max(exponent_of(magnitude), -126) - 23)
    count, rest = divmod(magnitude, unit)
    count += rest * 2 > unit or (rest * 2 == unit and count & 1)
    fits = count * unit < Fraction(2) ** 128
    bits = int(np.float32(float(count * unit)).view(np.uint32)) if fits else 0x7F800000
    return bits | (0x80000000 if x < 0 else 0)


PAIRS = [
    ("e2m1", "e2m1"),
    ("ocp_e4m3", "ocp_e5m2"),
    ("ocp_e5m2", "ocp_e5m2"),
    ("binary8p3", "e3m2"),
    ("hif8", "hif8"),
]


def stimuli(a_format, b_format, scale_name, lanes, count):
    rng = np.random.default_rng([lanes, count, *a_format.encode(), *scale_name.encode()])
    fa, fb, fs = (golden.get(name) for name in (a_format, b_format, scale_name))
    a, b = (rng.integers(0, 1 << fmt.width, (count, lanes)).astype(fmt.code_dtype) for fmt in (fa, fb))
    mild = [fmt.magnitude_codes[: len(fmt.magnitude_codes) // 2 + 1] for fmt in (fa, fb)]
    keep = rng.random((count, 1)) < 0.5
    a, b = (np.where(keep, rng.choice(m, x.shape), x).astype(x.dtype) for x, m in zip((a, b), mild, strict=True))
    top, middle = 1 << fs.width, int(np.searchsorted(np.nan_to_num(fs.values, nan=inf), 1.0))
    s, t = (
        np.where(rng.random(count) < 0.6, middle + rng.integers(-6, 7, count), rng.integers(0, top, count))
        for _ in "ab"
    )
    s, t = (np.clip(x, 0, top - 1).astype(np.uint8) for x in (s, t))
    with np.errstate(all="ignore"):
        exact = (fa.values[a] * fb.values[b]).sum(-1) * fs.values[s] * fs.values[t]
        near = (-exact).astype(np.float32).view(np.uint32).astype(np.int64) + rng.integers(-3, 4, count)
    kinds = [near & 0xFFFFFFFF, rng.integers(0, 1 << 32, count), np.zeros(count, np.int64)]
    acc = np.choose(rng.integers(0, 3, count), kinds)
    return a, b, acc.astype(np.uint32), s, t


@pytest.mark.parametrize("scale_name", SCALES)
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_a_dot_product_of_blocks_is_rounded_once(pair, scale_name):
    for lanes in (1, 5):
        a, b, acc, s, t = stimuli(*pair, scale_name, lanes, 400)
        scales = {"a_scale": s, "b_scale": t, "scale_format": scale_name}
        bits, flags = golden.fused_dot_with_flags(a, b, acc, *pair, "binary32", **scales)
        np.testing.assert_array_equal(bits, golden.fused_dot(a, b, acc, *pair, "binary32", **scales))
        for row, (exact, undefined) in enumerate(sums(a, b, acc, s, t, *pair, scale_name)):
            if isinstance(exact, Fraction):
                expected = nearest_binary32(exact)
                sign = 0x80000000 if exact else 0  # of an exact zero, test_the_sign_of_zero has it
                assert bits[row] & (0x7FFFFFFF | sign) == expected
                value = float(bits[row : row + 1].view(np.float32)[0])
                assert bool(flags[row] & Flag.INEXACT) == (np.isinf(value) or Fraction(value) != exact)
            else:
                assert bits[row] == (0x7FC00000 if isnan(exact) else 0x7F800000 if exact > 0 else 0xFF800000)
                assert bool(flags[row] & Flag.INVALID) >= undefined


@pytest.mark.parametrize("width", [6, 13, 25, 40])
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_an_aligned_dot_product_of_blocks(pair, width):
    """Scales add to the exponents of all products."""
    left, right, scale = split(pair[0]), split(pair[1]), factors("e8m0")
    a, b, acc, s, t = stimuli(*pair, "e8m0", 4, 300)
    options = {"a_scale": s, "b_scale": t}
    bits, flags = golden.fused_dot_with_flags(a, b, acc, *pair, f"aligned{width}", **options)
    for row in range(len(acc)):
        (one, p), (two, q) = scale[s[row]], scale[t[row]]
        products = [multiplied(left[x], right[y], p + q) for x, y in zip(a[row].tolist(), b[row].tolist(), strict=True)]
        if isnan(one) or isnan(two):
            products = [(nan, 0, 0, product[3]) for product in products]
        expected = aligned(products, int(acc[row]), width)
        invalid = flags[row] if isnan(one) or isnan(two) else expected[1]
        assert (bits[row], flags[row]) == (expected[0], invalid)


def test_a_scale_of_0_beside_those_of_blocks_changes_nothing():
    codes, scales = [1, 2, 7], {"a_scale": [127], "b_scale": [130]}
    expected = golden.fused_dot(codes, codes, [0x3C00], "e2m1", **scales)
    np.testing.assert_array_equal(golden.fused_dot(codes, codes, [0x3C00], "e2m1", scale=0, **scales), expected)


def test_the_sign_of_zero_with_a_scale_of_zero():
    """Binary8p1uf has a zero: 0 times infinity is NaN, other products keep their sign."""
    code = {value: int(np.flatnonzero(golden.get("ocp_e5m2").values == value)[0]) for value in (-1, 1, inf)}
    scales = {"a_scale": [0], "b_scale": [0x80], "scale_format": "Binary8p1uf"}

    def total(x, acc=0):
        a, b = np.array([[code[x]]], np.uint8), np.array([[code[1]]], np.uint8)
        return int(golden.fused_dot(a, b, np.array([acc], np.uint32), "ocp_e5m2", accumulator="binary32", **scales)[0])

    assert total(-1, 0x80000000) == 0x80000000
    assert total(1, 0x80000000) == 0
    assert total(inf) == 0x7FC00000


REFUSALS = {
    "a block of codes": (
        lambda: golden.quantize_block(np.zeros(4, np.uint8), "e2m1"),
        "x must be a float32, float16 or bfloat16 array, not uint8",
    ),
    "no axis": (
        lambda: golden.quantize_block(np.float32(1), "e2m1"),
        "x must have a last axis with at least one element",
    ),
    "another scale": (
        lambda: golden.dequantize_block([0], 0, "e2m1", "hif8"),
        "scale_format must be one of e8m0, ue4m3, ue5m3, Binary8p1uf, not 'hif8'",
    ),
    "a policy without powers of two": (
        lambda: golden.quantize_block(np.zeros(4, np.float32), "e2m1", "ue4m3", "ceil"),
        "policy needs scales that are powers of two, and ue4m3 has others",
    ),
    "an unknown policy": (
        lambda: golden.quantize_block(np.zeros(4, np.float32), "e2m1", policy="up"),
        "policy must be one of floor, ceil, rceil, even, nearest, not 'up'",
    ),
    "a center beyond the elements": (
        lambda: golden.quantize_block(np.zeros(4, np.float32), "hif8", center=16),
        "center must be an integer from -22 to 15, not 16",
    ),
    "elements without a sign": (
        lambda: golden.quantize_block(np.zeros(4, np.float32), "ue4m3"),
        "element_format must be one format with a sign, not 'ue4m3'",
    ),
    "one scale": (
        lambda: golden.fused_dot([0], [0], 0, "e2m1", a_scale=0),
        "b_scale must be given with the scale of the other operand",
    ),
    "two kinds of scales": (
        lambda: golden.fused_dot([0], [0], 0, "e2m1", a_scale=0, b_scale=0, scale=0, scale_bits=3),
        "scale_bits must be 0 with the scales of blocks",
    ),
    "a scale beside those of blocks": (
        lambda: golden.fused_dot([0], [0], 0, "e2m1", a_scale=0, b_scale=0, scale=1),
        "scale must be 0 for scale_bits 0, not 1",
    ),
    "an exact accumulator": (
        lambda: golden.fused_dot([0], [0], [0], "e2m1", accumulator="exact", a_scale=0, b_scale=0),
        "a_scale needs an accumulator that rounds, not 'exact'",
    ),
    "aligned sums of other scales": (
        lambda: golden.fused_dot(
            [0], [0], 0, "e2m1", accumulator="aligned13", a_scale=0, b_scale=0, scale_format="ue4m3"
        ),
        "scale_format must be e8m0 with accumulator 'aligned13', not 'ue4m3'",
    ),
    "products beyond binary64": (
        lambda: golden.fused_dot([0], [0], 0, "gc_1_4_3_b390", a_scale=0, b_scale=0),
        "scale_format must leave products in the range of binary64, and those of gc_1_4_3_b390, e8m0 exceed it",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(case):
    call, sentence = REFUSALS[case]
    with pytest.raises(golden.Refusal) as caught:
        call()
    assert str(caught.value) == sentence
