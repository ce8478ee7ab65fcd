"""Scales of tensors, channels and blocks, layers with scales, the loss's scale, and files for $readmemh."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import golden
from golden.accuracy import single_precision
from golden.loss import FIRST_ADAPTIVE, FIRST_BACKOFF, WINDOWS
from golden.scaling import SCALINGS

RNG = np.random.default_rng(5)
FORMATS = ("hif8", "ocp_e4m3", "ocp_e5m2", "e2m1", "e2m3", "e5m2b1", "gc_1_0_7_b0")


def ratio(x, exponents, name):
    """Signal-to-noise ratio in dB of numbers that are scaled, rounded and scaled back."""
    fmt, numbers = golden.get(name), x.astype(np.float64)
    values = np.ldexp(fmt.decode(fmt.codes(np.ldexp(x, exponents), overflow="saturate")), -exponents)
    return 10 * np.log10(np.sum(numbers**2) / np.sum((values - numbers) ** 2))


# -- codes of floats


@pytest.mark.parametrize("kind", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", FORMATS)
def test_codes_have_the_values_of_quantize(kind, name):
    fmt, x = golden.get(name), (RNG.normal(size=(20, 30)) * 50).astype(kind)
    for choices in ({}, {"overflow": "saturate"}, {"rounding": "toward_zero"}):
        codes = fmt.codes(x, **choices)
        assert (codes.dtype, codes.shape) == (fmt.code_dtype, x.shape)
        np.testing.assert_array_equal(fmt.decode(codes), fmt.quantize(x, **choices).astype(np.float64))


def test_codes_saturate_on_request():
    x = np.float32([1e9, -1e9, np.inf])
    assert golden.get("hif8").codes(x).tolist() == [0x6F, 0xEF, 0x6F]
    assert golden.get("hif8").codes(x, overflow="saturate").tolist() == [0x6E, 0xEE, 0x6E]


# -- scales


@pytest.mark.parametrize("name", FORMATS)
def test_max_is_the_largest_scale_without_a_number_beyond_the_largest(name):
    top = Fraction(golden.get(name).largest_precise)
    for x in RNG.normal(size=(50, 40)) * 2.0 ** RNG.integers(-100, 100, (50, 1)):
        exponent = int(golden.scale_for(x, name)[0])
        largest = max(map(abs, map(Fraction, x.tolist())))
        assert largest * Fraction(2) ** exponent <= top < largest * Fraction(2) ** (exponent + 1)


def test_a_center_takes_the_place_of_the_largest():
    assert golden.scale_for([1.875], "hif8").tolist() == [3]
    assert golden.scale_for([1.876], "hif8").tolist() == [2]
    assert golden.scale_for([1.75], "hif8", center=6).tolist() == [6]
    assert golden.scale_for([1.76], "hif8", center=6).tolist() == [5]
    assert golden.scale_for([0, 1.0, 1.4, -1.5], "hif8", "center", center=-5).tolist() == [-5]
    assert golden.scale_for([0, 1.0, 1.42, -1.5], "hif8", "center", center=-5).tolist() == [-6]


def test_percentiles_are_of_nonzero_magnitudes():
    x = np.append(np.zeros(1000), [*range(1, 100), 2.0**20])
    scales = {q: int(golden.scale_for(x, "ocp_e5m2", "percentile", percentile=q)[0]) for q in (1, 50, 99, 99.5, 100)}
    assert scales == {1: 15, 50: 10, 99: 9, 99.5: -5, 100: -5}
    assert golden.scale_for(x, "ocp_e5m2").tolist() == [-5]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("draw", [RNG.normal, RNG.laplace, lambda size: RNG.standard_t(3, size)])
def test_mse_is_the_best_of_all_scales(name, draw):
    x = draw(size=(3, 500)).astype(np.float32)
    chosen = golden.scale_for(x, name, "mse", axis=1)
    for row, exponent in zip(x, chosen, strict=True):
        best = max(ratio(row, np.int32(tried), name) for tried in range(-30, 31))
        assert ratio(row, exponent, name) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("name", ["hif8", "ocp_e4m3", "ocp_e5m2", "e5m2b1", "e5m2b4", "e2m1", "binary8p3"])
def test_the_median_of_gaussian_numbers_loses_at_most_half_a_decibel(name):
    for deviation in (0.01, 1.0, 300.0):
        x = np.float32(RNG.normal(size=4000) * deviation)
        best = ratio(x, golden.scale_for(x, name, "mse"), name)
        assert ratio(x, golden.scale_for(x, name, "center"), name) > best - 0.5


@pytest.mark.parametrize("policy", SCALINGS)
def test_axes_are_those_that_share_a_scale(policy):
    x = RNG.normal(size=(4, 6, 8)) * 2.0 ** RNG.integers(-9, 9, (4, 1, 8))
    x[1, :, 2] = 0
    shared = golden.scale_for(x, "hif8", policy, axis=1)
    assert (shared.shape, shared.dtype, shared[1, 0, 2]) == ((4, 1, 8), np.int32, 0)
    for i, k in np.ndindex(4, 8):
        assert golden.scale_for(x[i, :, k], "hif8", policy) == shared[i, 0, k]
    assert golden.scale_for(x, "hif8", policy).shape == (1, 1, 1)
    both = golden.scale_for(x, "hif8", policy, axis=(0, -1))
    assert both.shape == (1, 6, 1)
    assert all(golden.scale_for(x[:, j], "hif8", policy)[0, 0] == both[0, j, 0] for j in range(6))
    assert golden.scale_for(np.zeros((3, 0)), "hif8", policy, axis=1).tolist() == [[0], [0], [0]]


REFUSALS = {
    "policy": ({"policy": "min"}, "policy must be one of max, percentile, mse, center, not 'min'"),
    "specials": ({"x": [1.0, math.inf]}, "x must be finite: an infinity or a NaN has no scale"),
    "complex": ({"x": [1j]}, "x must be real numbers, not complex128"),
    "sign": ({"x": [-1.0], "name": "ue4m3"}, "x must not be negative, because ue4m3 has no sign"),
    "axis": ({"axis": 1}, "axis must be an integer from -1 to 0, not 1"),
    "center": ({"center": 16}, "center must be an integer from -22 to 15, not 16"),
    "mse": ({"center": 1, "policy": "mse"}, "center must not be given with policy 'mse', which tries all"),
    "percentile": ({"percentile": 0}, "percentile must be a number above 0, to 100, not 0"),
    "pair": (
        {"name": "ocp_e4m3+ocp_e5m2"},
        "name must be a single format of at most 16 bits, not 'ocp_e4m3+ocp_e5m2'",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals_of_scales(case):
    changed, sentence = REFUSALS[case]
    with pytest.raises(golden.Refusal) as caught:
        golden.scale_for(**({"x": [1.0], "name": "hif8"} | changed))
    assert str(caught.value) == sentence


def test_numbers_below_the_normal_ones_count_as_zeros():
    x = np.array([5e-324, 1e-310, 2.0**-1023])
    for policy in SCALINGS:
        assert golden.scale_for(x, "hif8", policy).tolist() == [0]
        expected = golden.scale_for([2.0**-1022, -3.0], "hif8", policy)
        assert golden.scale_for([*x, 2.0**-1022, -3.0], "hif8", policy) == expected
    assert golden.scale_for([1.0], "hif8", "percentile", percentile=np.float32(99)).tolist() == [3]


# -- layers


def relu(product):
    return np.maximum(product, 0)


def test_layers_by_algorithm_1():
    """The paper's loops, line by line, on three layers."""
    x = np.float32(RNG.normal(size=(12, 8)) * 100)
    weights = [np.float32(RNG.normal(size=shape) / 20) for shape in ((8, 9), (9, 5), (5, 3))]
    fmt, exponents = golden.get("hif8"), range(-4, 6)
    found = golden.calibrate_layers(x, [(w, relu) for w in weights])
    exact = quantized = x
    for w, scales in zip(weights, found, strict=True):
        product, least = exact.astype(np.float64) @ w, None
        for ea in exponents:
            for ew in exponents:
                a, b = (fmt.decode(fmt.codes(np.ldexp(y, e))) for y, e in ((quantized, ea), (w, ew)))
                restored = (a @ b) * 2.0 ** -(ea + ew)
                error = np.mean((restored - product) ** 2)
                if np.isfinite(error) and (least is None or error < least * (1 - 1e-12)):
                    least = error
        assert scales.error == pytest.approx(least)
        a, b = fmt.codes(np.ldexp(quantized, scales.activations)), fmt.codes(np.ldexp(w, scales.weights))
        restored = np.ldexp(fmt.decode(a) @ fmt.decode(b), -scales.activations - scales.weights)
        exact, quantized = np.float32(relu(product)), np.float32(relu(restored))


def test_layers_must_fit():
    with pytest.raises(golden.BadValue) as caught:
        golden.calibrate_layers(np.ones((2, 3)), [(np.ones((3, 4)), relu), (np.ones((3, 4)), relu)])
    assert str(caught.value) == "layers[1] must have inputs (..., m, k) and weights (k, n), not (2, 4) and (3, 4)"
    with pytest.raises(golden.BadKind) as refused:
        golden.calibrate_layers(np.ones((2, 3)), [np.ones((3, 4))])
    assert str(refused.value) == "layers[0] must be a pair of weights and a function of their product"


@pytest.mark.parametrize("accumulator", ["binary32", "bfloat16", "exact", "aligned13"])
def test_products_with_scales_are_those_of_scaled_codes(accumulator):
    x, w = np.float32(RNG.normal(size=(7, 16)) * 99), np.float32(RNG.normal(size=(16, 5)) / 99)
    x_scale, w_scale = golden.scale_for(x, "hif8", axis=1), golden.scale_for(w, "ocp_e5m2", axis=0)
    lanes = 1 if accumulator == "bfloat16" else 4
    values = golden.scaled_matmul(x, w, x_scale, w_scale, "hif8", "ocp_e5m2", accumulator, lanes=lanes)
    a, b = golden.get("hif8").codes(np.ldexp(x, x_scale)), golden.get("ocp_e5m2").codes(np.ldexp(w, w_scale))
    exact = golden.get("hif8").decode(a) @ golden.get("ocp_e5m2").decode(b)
    sums = golden.matmul(a, b, "hif8", "ocp_e5m2", accumulator, lanes=lanes)
    if accumulator == "exact":
        np.testing.assert_array_equal(values, exact * 2.0 ** -(x_scale + w_scale))
    else:
        wide = golden.get("binary32" if accumulator == "aligned13" else accumulator)
        np.testing.assert_array_equal(values, wide.decode(sums) * 2.0 ** -(x_scale + w_scale))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([[1.0]], [1.0]), "x and w must have shapes (m, k) and (k, n), not (1, 1) and (1,)"),
        (([[1.0]], [[1.0]], 0.5), "x_scale must be integers, not float64"),
        (([[1.0]], [[1.0, 2.0]], 0, [1, 2, 3]), "w_scale must broadcast to shape (1, 2), not have shape (3,)"),
        (([[1.0]], [[1.0]], 1001), "x_scale must be an integer from -1000 to 1000, not 1001"),
        (([[1.0]], [[1.0]], 0, [-5000]), "w_scale must be an integer from -1000 to 1000, not -5000"),
        (([[1.0]], [[1.0]], "one"), "x_scale must be integers, not 'one'"),
    ],
)
def test_refusals_of_products(arguments, sentence):
    with pytest.raises(golden.Refusal) as caught:
        golden.scaled_matmul(*arguments)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("argument", ["flags", "scale", "scale_bits", "a_scale", "b_scale", "block", "acc", "other"])
def test_products_take_only_their_own_options(argument):
    sentence = f"{argument} is no argument of scaled_matmul, which takes of those of matmul only lanes, terms, zero, "
    sentence += "chunk, accumulator_rounding, random, random_bits, threads"
    with pytest.raises(golden.Refusal) as caught:
        golden.scaled_matmul([[1.0]], [[1.0]], **{argument: None})
    assert isinstance(caught.value, TypeError)
    assert str(caught.value) == sentence
    assert golden.scaled_matmul([[1.0]], [[1.0]], lanes=1, chunk=1, threads=1) == [[1.0]]


# -- the loss


def test_backoff_halves_after_an_overflow_and_doubles_after_a_window():
    scale = golden.LossScale("backoff", 2.0**15)
    assert (scale.exponent, scale.window) == (FIRST_BACKOFF, 2000)
    assert not scale.update(1.0, overflowed=True)
    assert not scale.update(math.inf, overflowed=False)
    for _ in range(1999):
        assert scale.update(1.0, overflowed=False)
    assert scale.exponent == FIRST_BACKOFF - 2
    scale.update(1.0, overflowed=False)
    assert scale.exponent == FIRST_BACKOFF - 1


def test_the_adaptive_scale_by_the_papers_rules():
    """Window and scale by a second state machine, on random histories of overflows."""
    for rate in (0.0, 0.002, 0.03, 0.3):
        scale, exponent, place, rises, falls, quiet = golden.LossScale("adaptive", 1.0), FIRST_ADAPTIVE, 1, [], [], 0
        for overflow in (RNG.random(3000) < rate).tolist():
            assert scale.update(1.0, overflowed=overflow) != overflow
            quiet = 0 if overflow else quiet + 1
            if overflow:
                exponent, falls = exponent - 1, [*falls, 1]
            elif quiet == WINDOWS[place]:
                exponent, rises, falls, quiet = exponent + 1, [*rises, 1], [], 0
            if len(rises) == 3:
                place, rises = min(place + 1, 6), []
            if len(falls) == 3:
                place, falls = max(place - 1, 0), []
            exponent = min(max(exponent, -100), 100)
            assert (scale.exponent, scale.place) == (exponent, place)


@pytest.mark.parametrize("deviations", [0.0, 1.0, 3.0])
def test_logmax_brings_mean_and_deviations_to_the_top(deviations):
    scale, rng = golden.LossScale("logmax", 2.0**15, deviations=deviations), np.random.default_rng(1)
    exponents = []
    for draw in rng.normal(size=4000).tolist():
        assert scale.update(2.0 ** (-20 + 2 * draw + scale.exponent), overflowed=True)
        exponents.append(scale.exponent)
    assert np.mean(exponents[100:]) == pytest.approx(15 + 20 - 2 * deviations - 0.5, abs=0.35)
    assert not scale.update(math.inf, overflowed=False)
    assert scale.update(0.0, overflowed=False)


def test_a_constant_scale_does_not_change():
    scale = golden.LossScale("constant", 1.0, first=7)
    assert scale.update(3.0, overflowed=True)
    assert not scale.update(math.nan, overflowed=False)
    assert scale.exponent == 7
    for wrong, sentence in (
        ({"rule": "logmax", "largest": math.nan}, "largest must be positive and finite, not nan"),
        ({"rule": "none"}, "rule must be one of constant, backoff, adaptive, logmax, not 'none'"),
        ({"rule": "logmax", "first": 101}, "first must be an integer from -100 to 100, not 101"),
    ):
        with pytest.raises(golden.BadValue) as caught:
            golden.LossScale(**({"largest": 1.0} | wrong))
        assert str(caught.value) == sentence


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble, np.array])
def test_a_loss_scale_does_not_depend_on_the_type_of_its_numbers_and_changes_none(kind):
    numbers = {"largest": 240, "deviations": 1.5, "mean": -3.25, "variance": 0.5}
    given = {field: kind(number) for field, number in numbers.items()}
    own, other = golden.LossScale("logmax", **numbers), golden.LossScale("logmax", **given)
    for gradient in (3.0, 1e-4, 7.0):
        assert own.update(gradient, overflowed=False) == other.update(gradient, overflowed=False)
        assert own == other
    assert given == numbers


def test_small_numbers_of_wide_types_raise_no_floating_point_error():
    tiny = np.full((1, 2), np.longdouble("1e-4000"))
    with np.errstate(all="raise"):
        assert golden.scale_for(tiny, "hif8").item() == 0
        assert golden.scale_for(np.ones(3), "hif8", "percentile", percentile=1e-320) == 3
        assert not golden.scaled_matmul(tiny, tiny.T).any()
        golden.LossScale("logmax", 1.0, deviations=1e-310, variance=1e-310).update(1.0, overflowed=False)


@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.longdouble])
def test_numbers_are_rounded_to_binary32_once(kind):
    number = (1 << 60) + (1 << 36) + 1  # just above a tie of binary32, and in binary64 the tie
    assert single_precision("x", np.array(number, kind)) == (1 << 60) + (1 << 37)


# -- files


def test_words_are_read_back_lane_0_lowest():
    for name, lanes in (("e2m1", 1), ("e2m1", 8), ("e2m3", 4), ("hif8", 3), ("binary32", 2), ("ue4m3", 1)):
        width = golden.get(name).width
        codes = RNG.integers(0, 1 << width, (6, 4 * lanes))
        words = golden.pack(codes, name, lanes).splitlines()
        assert {len(word) for word in words} == {-(-width * lanes // 4)}
        read = [int(word, 16) >> width * lane & (1 << width) - 1 for word in words for lane in range(lanes)]
        assert read == codes.reshape(-1).tolist()
    assert golden.pack([], "hif8") == ""
    with pytest.raises(golden.BadValue, match=r"^codes must be a multiple of 2 codes, the lanes of a word, not 3$"):
        golden.pack([1, 2, 3], "hif8", 2)
