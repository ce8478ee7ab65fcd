"""Dynamic range, signal-to-noise ratio, significand bits and scales, against papers, closed forms and brute force."""

import math
import re
from fractions import Fraction
from itertools import pairwise

import ml_dtypes
import numpy as np
import pytest

import golden
from golden.accuracy import BestScale, Scales
from rtl_tests.support.paper_tables import (
    CATALOGUE,
    GRAPHCORE_INTEGER,
    GRAPHCORE_TABLE_1,
    HIF8_BITS,
    definition,
    values,
)
from rtl_tests.support.paths import ROOT

# -- the Graphcore paper ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GRAPHCORE_TABLE_1)
def test_graphcore_table_1(name):
    """Every row, to the printed digit."""
    exponent_bits, fraction_bits, decibels, snr = GRAPHCORE_TABLE_1[name]
    normals = golden.get(name).rows[-1]
    assert (normals.exponent.bits, normals.fraction_bits) == (exponent_bits, fraction_bits)
    assert round(golden.dynamic_range(name), 1) == decibels
    assert round(golden.model_snr(name), 1) == snr


def test_both_forms_of_equation_5_give_table_1_and_pages_say_so():
    """The exact constant and the printed 7.44 + 6.02p give all rows; the printed 2.16 does not."""
    differing = {}
    for name, (_, fraction_bits, _, snr) in GRAPHCORE_TABLE_1.items():
        p = fraction_bits + 1
        assert round(7.44 + 6.02 * p, 1) == round(10 * math.log10(5.55 * 4**p), 1) == snr
        if (rounded := round(10 * math.log10(12 * 4**p / 2.16), 1)) != snr:
            differing[name] = rounded
    assert differing == {"dlfloat16": 67.7, "gc_1_3_4_b3": 37.6}
    page = " ".join((ROOT / "docs/accuracy.md").read_text().split())
    assert "The exact constant and the paper's 7.44 + 6.02p both give all seven printed rows" in page
    for text in (page, " ".join(golden.model_snr.__doc__.split())):
        assert "7.44 + 6.02p" in text
        assert "must be" not in text


def test_the_range_is_the_ratio_of_the_largest_to_the_smallest_value():
    for name, ratio in (("binary32", (2 - 2.0**-23) * 2.0**127 / 2.0**-149), ("hif8", 2.0**37), ("gc_1_0_7_b0", 127)):
        assert golden.dynamic_range(name) == pytest.approx(20 * math.log10(ratio), abs=1e-9)


def test_a_bias_does_not_change_the_dynamic_range():
    for first, second in (("gc_1_4_3_b7", "gc_1_4_3_b14"), ("gc_1_5_2_b15", "gc_1_5_2_b33")):
        assert golden.dynamic_range(first) == pytest.approx(golden.dynamic_range(second), abs=1e-9)


@pytest.mark.parametrize("p", range(1, 9))
def test_the_model_assumes_a_log_uniform_significand(p):
    """The mean of (rounded - x)^2 / x^2 over one binade, in closed form.

    The model assumes an error that is uniform between neighbours. Its difference to the exact mean falls with their
    distance, and is 0.06 dB with the two fraction bits of 1.5.2.
    """
    values_, half = 1 + np.arange(2**p + 1) / 2**p, 2.0 ** -(p + 1)
    low, high = np.maximum(values_ - half, 1), np.minimum(values_ + half, 2)
    noise = np.sum(
        np.log(high / low) + 2 * values_ * (1 / high - 1 / low) - values_**2 / 2 * (1 / high**2 - 1 / low**2)
    ) / math.log(2)
    difference = -10 * math.log10(noise) - golden.model_snr(f"gc_1_3_{p}_b3")
    assert 0.85 < difference * 4**p < 0.96


def test_graphcores_scaled_integer():
    """Section 2.2, on standard normal data; the ratio is highest at 0.031, to the printed digits."""
    decibels, ratios = GRAPHCORE_INTEGER
    fmt = golden.get("gc_1_0_7_b0")
    steps = np.array(list(ratios))
    assert round(golden.dynamic_range(fmt), 1) == decibels
    np.testing.assert_array_equal(golden.quantization_snr(fmt, fmt.smallest / steps).round(1), list(ratios.values()))
    fine = np.arange(0.020, 0.045, 0.001)
    assert fine[golden.quantization_snr(fmt, fmt.smallest / fine).argmax()] == pytest.approx(0.031)
    assert golden.best_scale(fmt).exponent == -1


# -- ratios on data ---------------------------------------------------------------------------------------------------


def gaussian(a, b):
    """Integrals from a to b of 1, x and x^2 times the density of the magnitude."""
    density = [math.sqrt(2 / math.pi) * math.exp(-x * x / 2) if x < 40 else 0.0 for x in (a, b)]
    mass = math.erfc(a / math.sqrt(2)) - math.erfc(b / math.sqrt(2))
    ends = [x * d if d else 0.0 for x, d in zip((a, b), density, strict=True)]
    return mass, density[0] - density[1], mass + ends[0] - ends[1]


def laplace(a, b):
    rate = math.sqrt(2)

    def tail(x):
        e = math.exp(-rate * x)
        return (e, e * (x + 1 / rate), e * (x * x + 2 * x / rate + 2 / rate**2)) if e else (0.0, 0.0, 0.0)

    return tuple(low - high for low, high in zip(tail(a), tail(b), strict=True))


def student_t3(a, b):
    if a >= 16:  # by the series in 1/x, because differences of arctangents cancel there

        def power(k, x):
            if x == math.inf:
                return 0.0
            return sum((-1) ** j * (j + 1) * x ** (k - 3 - 2 * j) / (k - 3 - 2 * j) for j in range(12))

        return tuple(4 / math.pi * (power(k, b) - power(k, a)) for k in range(3))
    if b > 16:
        return tuple(low + high for low, high in zip(student_t3(a, 16), student_t3(16, b), strict=True))

    def primitive(x):
        return (x / (1 + x * x) + math.atan(x)) / 2, -1 / (1 + x * x) / 2, (math.atan(x) - x / (1 + x * x)) / 2

    return tuple(4 / math.pi * (high - low) for low, high in zip(primitive(a), primitive(b), strict=True))


MOMENTS = {"gaussian": gaussian, "laplace": laplace, "student_t3": student_t3}


def thresholds(name):
    """Magnitudes of a format by its definition, and the bounds of the intervals that round to them."""
    table = values(name)
    magnitudes = np.unique(np.abs(table[np.isfinite(table)]))
    between = (magnitudes[:-1] + magnitudes[1:]) / 2
    if definition(name).flush:
        between[0] = (2.0 ** math.floor(math.log2(magnitudes[1])) + magnitudes[1]) / 2
    return magnitudes.tolist(), [0.0, *between.tolist(), math.inf]


@pytest.mark.parametrize("distribution", MOMENTS)
@pytest.mark.parametrize("name", CATALOGUE)
def test_ratios_in_closed_form(name, distribution):
    """The mean squared error, interval by interval, from the moments of the distribution."""
    scales = 2.0 ** np.array([-40, -12, -7, -3, 0, 1, 6, 25]) * [1, 1.3, 1, 1.9, 1, 0.7, 1, 1.1]
    magnitudes, ends = thresholds(name)
    moments = MOMENTS[distribution]
    assert sum(moments(a, b)[2] for a, b in pairwise([0.0, 0.5, 3.0, math.inf])) == pytest.approx(1, abs=1e-12)
    expected = []
    for scale in scales.tolist():
        noise = 0.0
        for v, a, b in zip(magnitudes, ends[:-1], ends[1:], strict=True):
            mass, mean, square = moments(a / scale, b / scale)
            noise += square - 2 * (v / scale) * mean + (v / scale) ** 2 * mass
        expected.append(-10 * math.log10(noise))
    np.testing.assert_allclose(golden.quantization_snr(name, scales, distribution), expected, atol=1e-6, rtol=0)


SAMPLES = {
    "gaussian": ("standard_normal", (), 1.0),
    "laplace": ("laplace", (), math.sqrt(2)),
    "student_t3": ("standard_t", (3,), math.sqrt(3)),
}
NARROW = ("ocp_e4m3", "binary8p4", "ibm_1_4_3", "gc_1_0_7_b0", "binary16")
"""Formats that saturate in Student's tail. Its fourth moment is infinite, so squared errors have no finite variance."""


@pytest.mark.parametrize(
    ("name", "distribution"),
    [
        (name, distribution)
        for distribution in SAMPLES
        for name in ("hif8", "e5m2b1", "e5m3_nosub", *(() if distribution == "student_t3" else NARROW))
    ],
)
def test_ratios_of_random_numbers_that_are_encoded_and_decoded(name, distribution):
    """The mean squared error of a million seeded numbers, to within five of its standard deviations."""
    method, arguments, deviation = SAMPLES[distribution]
    fmt = golden.get(name)
    for exponent in (-6, 0, 3):
        x = getattr(np.random.default_rng(7), method)(*arguments, size=1_000_000) / deviation
        scaled = (x * 2.0**exponent).astype(np.float32)
        rounded = fmt.decode(fmt.encode(scaled.view(np.uint32), overflow="saturate"))
        squares = (rounded - scaled).astype(np.float64) ** 2 / 4.0**exponent
        noise = 10 ** (-golden.quantization_snr(fmt, 2.0**exponent, distribution) / 10)
        assert abs(squares.mean() - noise) < 5 * squares.std() / 1000
        assert squares.std() / 1000 < 0.3 * noise


def test_ratios_far_outside_a_format():
    """0 dB if all numbers become zero, and almost 0 dB far above the largest value."""
    for distribution in golden.DISTRIBUTIONS:
        np.testing.assert_allclose(golden.quantization_snr("hif8", [2.0**-500, 2.0**-60], distribution), 0, atol=1e-9)
        assert 0 < golden.quantization_snr("hif8", 2.0**30, distribution) < 0.01
    assert golden.quantization_snr("hif8", np.ones((2, 3))).shape == (2, 3)
    assert golden.quantization_snr("hif8", []).shape == (0,)


def test_best_scale():
    """The best scale of a scaled integer; the one nearest to 1 of the many best scales of a wide format."""
    for distribution in golden.DISTRIBUTIONS:
        for name in ("hif8", "gc_1_0_7_b0", "ocp_e4m3", "gc_1_4_3_b14", "gc_1_5_2_b33"):
            exponents = np.arange(-70, 71)
            snr = golden.quantization_snr(name, 2.0**exponents, distribution)
            near = exponents[snr >= snr.max() - 0.01]
            best = golden.best_scale(name, distribution)
            assert isinstance(best, BestScale)
            assert best.exponent == min(near, key=abs)
            assert best.snr == snr[exponents == best.exponent]
    assert golden.best_scale("e5m2b1").exponent == 0
    heavy = [golden.best_scale(f"gc_1_4_3_b{bias}", "student_t3") for bias in (7, 10, 14)]
    assert [best.exponent for best in heavy] == [-4, -7, -11]
    assert heavy[0].snr == pytest.approx(heavy[2].snr, abs=1e-9)


# -- significand bits -------------------------------------------------------------------------------------------------


def test_hif8_figure_1():
    exponents, bits = golden.significand_bits("hif8")
    expected = {exponent: count for reach, count in HIF8_BITS.items() for exponent in reach}
    assert dict(zip(exponents.tolist(), bits.tolist(), strict=True)) == expected
    assert len(expected) == 38


@pytest.mark.parametrize(
    ("name", "low", "normal", "high", "bits"),
    [("binary16", -24, -14, 15, 11), ("ocp_e4m3", -9, -6, 8, 4), ("ocp_e5m2", -16, -14, 15, 3)],
)
def test_hif8_table_4_exponents(name, low, normal, high, bits):
    """HiF8 paper, Table 4: Exponent and Exponent (+DML) of other formats; each subnormal binade has one bit less."""
    exponents, counts = golden.significand_bits(name)
    assert exponents.tolist() == list(range(low, high + 1))
    assert counts.tolist() == [*range(bits - (normal - low), bits), *[bits] * (high - normal + 1)]


@pytest.mark.parametrize("name", [*CATALOGUE, "e5m2b1_3", "e4m3b0", "gc_1_2_1_b1"])
def test_significand_bits_count_the_values(name):
    """A binade of n significand bits has 2^(n - 1) values; at both ends, zero, infinity and NaN take some codes."""
    exponents, bits = golden.significand_bits(name)
    table = values(name)
    positive = table[np.isfinite(table) & (table > 0)]
    binades, counts = np.unique(np.floor(np.log2(positive)).astype(int), return_counts=True)
    assert exponents.tolist() == binades.tolist() == list(range(binades[0], binades[-1] + 1))
    np.testing.assert_array_equal(2 ** (bits[1:-1] - 1), counts[1:-1])
    assert all(2 ** (bits[end] - 1) >= counts[end] > 2 ** (bits[end] - 1) - 4 for end in (0, -1))


# -- scales -----------------------------------------------------------------------------------------------------------


fractions = np.vectorize(Fraction, otypes=[object])


def search(name, a, w, reference, exponents):
    """Algorithm 1, lines 6 to 13, in exact fractions: errors by pair of exponents."""
    fmt = golden.get(name)

    def cast(matrix, exponent):
        with np.errstate(over="ignore"):
            return fmt.decode(fmt.encode((matrix * np.float32(2.0**exponent)).view(np.uint32)))

    errors = {}
    for ea in exponents:
        for ew in exponents:
            aq, wq = cast(a, ea), cast(w, ew)
            if np.isfinite(aq).all() and np.isfinite(wq).all():
                restored = fractions(aq) @ fractions(wq) / Fraction(2) ** (ea + ew)
                errors[ea, ew] = np.mean((restored - fractions(reference)) ** 2)
    return errors


@pytest.mark.parametrize("name", ["hif8", "ocp_e4m3", "e5m2b1", "gc_1_0_7_b0", "binary8p4", "ibm_1_4_3"])
def test_calibration_finds_the_least_error(name):
    """HiF8 paper, Algorithm 1, for scales 2^-4 to 2^5.

    In formats with infinities, the largest matrices overflow with some pairs of scales.
    """
    rng = np.random.default_rng(11)
    chosen, complete = set(), []
    for magnitude_a, magnitude_w in ((1, 1), (40, 0.01), (0.002, 9), (900, 0.3)):
        a = (rng.standard_normal((5, 6)) * magnitude_a).astype(np.float32)
        w = (rng.standard_normal((6, 4)) * magnitude_w).astype(np.float32)
        reference = a.astype(np.float64) @ w.astype(np.float64) + 0.01
        errors = search(name, a, w, reference, range(-4, 6))
        scales = golden.calibrate(a, w, reference, name)
        assert isinstance(scales, Scales)
        least = min(errors.values())
        assert scales.error == pytest.approx(float(least), rel=1e-12)
        first = min((pair for pair in errors if errors[pair] == least), key=lambda pair: [(abs(e), e) for e in pair])
        assert scales[:2] == first
        chosen.add(scales[:2])
        complete.append(len(errors) == 100)
    assert len(chosen) > 1
    assert all(complete) == (name not in ("hif8", "ocp_e4m3", "binary8p4"))


def test_calibration_by_default():
    """The reference is the product, the format HiF8 with TA; of equal errors, the scales nearest to 1 are taken."""
    powers = np.float32([[1, -2, 0.5], [4, 0, 8]])
    assert golden.calibrate(powers, powers.T) == Scales(0, 0, 0.0)
    assert golden.calibrate(powers, powers.T, exponents=[1, -1, 2]) == Scales(-1, -1, 0.0)
    assert golden.calibrate(powers * 2**18, powers.T, exponents=[0, -1, -6]) == Scales(-6, 0, 0.0)
    x = np.float32(np.random.default_rng(3).standard_normal((4, 7, 5)))  # with a leading axis
    y = np.float32(np.random.default_rng(4).standard_normal((5, 3)))
    stacked = golden.calibrate(x, y)
    flat = golden.calibrate(x.reshape(28, 5), y, None, "hif8", range(-4, 6), rounding="ties_to_away")
    assert stacked[:2] == flat[:2]
    assert stacked.error == pytest.approx(flat.error, rel=1e-12)
    assert golden.calibrate(x, y, rounding="toward_zero").error > stacked.error
    for shift, end in ((-9, 5), (9, -4)):
        shifted = powers * 1.5 * 2.0**shift
        assert golden.calibrate(shifted, powers.T * 1.0, name="gc_1_0_7_b0").activations == end


# -- refusals ---------------------------------------------------------------------------------------------------------

A, W = np.ones((2, 3), np.float32), np.ones((3, 4), np.float32)
SINGLE = "name must be a single format of at most 16 bits, not"
SCALE = "scale must be from 2**-500 to 2**500, not"
SHAPES = "activations and weights must have shapes (..., m, k) and (k, n), not"
REFUSED = [
    (golden.model_snr, ("gc_1_0_7_b0",), "name must be a floating-point format, not the scaled integer 'gc_1_0_7_b0'"),
    (golden.significand_bits, ("binary32",), f"{SINGLE} 'binary32'"),
    (golden.significand_bits, ("ocp_e4m3+ocp_e5m2",), f"{SINGLE} 'ocp_e4m3+ocp_e5m2'"),
    (golden.quantization_snr, ("binary32",), f"{SINGLE} 'binary32'"),
    (golden.best_scale, ("ocp_e4m3+ocp_e5m2",), f"{SINGLE} 'ocp_e4m3+ocp_e5m2'"),
    (
        golden.quantization_snr,
        ("hif8", 1.0, "cauchy"),
        "distribution must be one of gaussian, laplace, student_t3, not 'cauchy'",
    ),
    (golden.quantization_snr, ("hif8", [1.0, 0.0]), f"{SCALE} 0.0"),
    (golden.quantization_snr, ("hif8", np.nan), f"{SCALE} nan"),
    (golden.quantization_snr, ("hif8", -1), f"{SCALE} -1.0"),
    (golden.quantization_snr, ("hif8", 2.0**501), f"{SCALE} {2.0**501}"),
    (golden.calibrate, (A, W, None, "hif8", []), "exponents must be at least one, not none"),
    (golden.calibrate, (A, A), f"{SHAPES} (2, 3) and (2, 3)"),
    (golden.calibrate, (A[0], W), f"{SHAPES} (3,) and (3, 4)"),
    (golden.calibrate, (A, W[0]), f"{SHAPES} (2, 3) and (4,)"),
    (golden.calibrate, (A, W, A), "reference must have the shape (2, 4), not (2, 3)"),
    (
        golden.calibrate,
        (A, W, None, "hif8", [20, 16]),
        "exponents must leave some pair without overflow in hif8, not 16, 20",
    ),
]


@pytest.mark.parametrize(("call", "arguments", "sentence"), REFUSED)
def test_bad_input_gets_one_sentence(call, arguments, sentence):
    with pytest.raises(golden.BadValue, match=f"^{re.escape(sentence)}$"):
        call(*arguments)


def test_scales_must_be_numbers():
    with pytest.raises(golden.BadKind, match=r"^scale must be numbers, not <U3$"):
        golden.quantization_snr("hif8", "1.0")


@pytest.mark.parametrize(("activations", "weights"), [((0, 4), (4, 3)), ((3, 4), (4, 0)), ((2, 0, 4), (4, 1))])
def test_calibrating_refuses_a_product_of_no_numbers(activations, weights):
    shape = (*activations[:-1], weights[1])
    sentence = f"activations and weights must have a product of at least one number, not of shape {shape}"
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        golden.calibrate(np.zeros(activations), np.zeros(weights))


def test_calibrating_subnormals_is_exact():
    """Numbers of any type become those of binary32, and scaled numbers are rounded there."""
    x = np.array([[3, 5]], np.uint32).view(np.float32)
    expected = golden.calibrate(x, np.ones((2, 1), np.float32), exponents=(0, 149))
    assert golden.calibrate(x.astype(np.float64), np.ones((2, 1), int), exponents=(0, 149)) == expected
    assert expected == (149, 0, 0.0)


# -- errors of roundings on data --------------------------------------------------------------------------------------


def data():
    """The numbers of the table of biases on the page, by the beginning of the row."""
    rng = np.random.default_rng(1)
    gaussian = (rng.normal(size=40_000) * 4096).astype(np.float32)
    student = (rng.standard_t(3, 40_000) * 256).astype(np.float32)
    half, brain = (gaussian / 8).astype(np.float16), gaussian.astype(ml_dtypes.bfloat16)
    rows = {"Gaussian": gaussian, "Student": student, "the Gaussian numbers over 8": half.astype(np.float32)}
    rows |= {"the same in binary16": half, "the Gaussian numbers in bfloat16": brain.astype(np.float32)}
    rows |= {"the same in bfloat16": brain}
    fmt = golden.get("hif8")
    for count in (1, 4, 16, 64):
        factors = [
            fmt.quantize((rng.normal(size=(10_000, count)) * 16).astype(np.float32)).astype(np.float64)
            for _ in range(2)
        ]
        rows[f"sums of {count} product"] = (factors[0] * factors[1]).sum(axis=1).astype(np.float32)
    return rows


def test_biases_of_the_page():
    rows = [line.split("|")[1:-1] for line in (ROOT / "docs/accuracy.md").read_text().splitlines() if "| " in line]
    for start, x in data().items():
        (row,) = (row for row in rows if row[0].strip().startswith(start))
        for rounding, printed in zip(("ties_to_even", "ties_to_away", "hybrid", "stochastic"), row[1:], strict=True):
            errors = golden.rounding_errors("hif8", x, rounding)
            assert round(100 * errors.bias, 1) == float(printed.replace("−", "-"))
            assert errors.largest <= (0.5 if rounding.startswith("ties") else 1)


@pytest.mark.parametrize("rounding", ["stochastic", "stochastic_b", "stochastic_c"])
@pytest.mark.parametrize("name", ["hif8", "ocp_e4m3", "int8", "e8m0"])
def test_errors_of_stochastic_roundings_are_those_of_all_words(name, rounding):
    fmt, count = golden.get(name), 1 << 5
    x = np.random.default_rng(2).normal(size=300).astype(np.float16)
    x = np.append(np.abs(x) if not fmt.signed else x * 10, np.float16(fmt.smallest / 2)).astype(np.float16)
    x = x[x != 0]
    bits = np.repeat(x.view(np.uint16)[:, np.newaxis], count, axis=1)
    words = np.broadcast_to(np.arange(count, dtype=np.uint32), bits.shape)
    rounded = fmt.decode(fmt.encode(bits, "binary16", rounding, "saturate", random=words, random_bits=5))
    magnitude = np.abs(x.astype(np.float64))[:, np.newaxis]
    errors = golden.rounding_errors(name, x, rounding, random_bits=5)
    error = np.abs(rounded) - magnitude
    assert math.isclose(errors.bias, error.mean() / magnitude.mean(), abs_tol=1e-12)
    assert math.isclose(errors.snr, 10 * math.log10(np.mean(magnitude**2) / np.mean(error**2)))


def test_errors_of_a_few_numbers():
    """1.0625 is half an ulp from 1 and 1.125; 2**-11 and 500 are below the smallest and above the largest value."""
    x = np.array([1.0625, -1.0625, 0, 500, np.inf, np.nan], np.float32)
    errors = golden.rounding_errors("ocp_e4m3", x, "ties_to_away")
    assert (errors.bias, errors.standard_error, errors.largest) == (1 / 17, 0, 0.5)
    assert golden.rounding_errors("ocp_e4m3", x, "toward_zero").bias == -1 / 17
    assert golden.rounding_errors("ocp_e4m3", np.float32([2**-11]), "toward_zero").bias == -1
    assert golden.rounding_errors("ocp_e4m3", np.float32([1, 2])).snr == math.inf
    sentence = "x must have a number but 0 of at most 448, the largest value of ocp_e4m3"
    with pytest.raises(golden.BadValue, match=f"^{sentence}$"):
        golden.rounding_errors("ocp_e4m3", np.float32([0, 500]))
    halves = x.astype(np.float16)
    for rounding in ("ties_to_even", "stochastic"):
        same = golden.rounding_errors("ocp_e4m3", halves.view(np.uint16), rounding, source="binary16")
        assert same == golden.rounding_errors("ocp_e4m3", halves, rounding)
    with pytest.raises(golden.BadKind, match=r"^x must be a float32, float16 or bfloat16 array, not float64$"):
        golden.rounding_errors("ocp_e4m3", np.array([1.0]))
