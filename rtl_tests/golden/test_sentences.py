"""Bad input to golden: one sentence each, which names the argument, the value and what is allowed."""

import itertools
import re
from dataclasses import replace
from functools import partial
from math import inf, nan

import numpy as np
import pytest

import golden
from golden.lfsr import Lfsr
from golden.refusal import shown
from golden.rows import Fixed, Row

BINARY32 = np.float32([1.0, 2.0]).view(np.uint32)
FAMILIES = "e{x}m{y}b{l}, e{x}m{y}b{l}_{u}, gc_1_{e}_{p}_b{bias}, ibm_1_{e}_{p}_b{bias}, Binary{K}p{P}{s|u}{e|f}"
OTHERS = f"(any {FAMILIES} and a path to a .toml file are allowed too)"
DIRECTED = "toward_zero, toward_positive, toward_negative, to_odd, stochastic, stochastic_b, stochastic_c"
HIF8_ROUNDINGS = f"rounding of hif8 must be one of ties_to_away, ties_to_even, {DIRECTED}, hybrid, not"
HYBRID_SOURCES = "rounding 'hybrid' is defined for source binary16, bfloat16 or binary32, not 'dlfloat16'"
WITHOUT_STOCHASTIC = "random must be given with stochastic roundings only, not with 'ties_to_away'"
WITHOUT_RANDOM = "random must be given with rounding 'stochastic': unsigned integers of the shape of bits"
RANDOM_BITS = "random_bits must be an integer from 1 to 32, not"

ENCODE = [
    (
        "hif8",
        {"source": "binary64"},
        ValueError,
        f"source must be a known format, not 'binary64'; the nearest are binary16, binary8p4, binary32 {OTHERS}",
    ),
    (
        "hif8",
        {"source": "ocp_e4m3+ocp_e5m2"},
        ValueError,
        "source must be one format, not the two of 'ocp_e4m3+ocp_e5m2'",
    ),
    ("hif8", {"source": 32}, TypeError, "source must be a format's name, a path or a Format, not 32"),
    ("hif8", {"source": "ocp_e4m3", "rounding": "hybrid"}, ValueError, f"{HYBRID_SOURCES[:-11]}'ocp_e4m3'"),
    ("e8m0", {"nan_to_zero": True}, ValueError, "nan_to_zero needs a zero, and e8m0 has none"),
    ("hif8", {"source": "binary16"}, ValueError, "bits must lie in 0 to 0xffff for binary16, not 0x40000000"),
    ("hif8", {"rounding": "up"}, ValueError, f"{HIF8_ROUNDINGS} 'up'"),
    ("hif8", {"rounding": "mptorch"}, ValueError, f"{HIF8_ROUNDINGS} 'mptorch'"),
    ("hif8", {"rounding": "hybrid", "source": "dlfloat16"}, ValueError, HYBRID_SOURCES),
    ("hif8", {"rounding": 1}, TypeError, "rounding must be a word, not 1"),
    ("hif8", {"overflow": False}, TypeError, "overflow must be a word, not False"),
    ("hif8", {"nan_to_zero": 1}, TypeError, "nan_to_zero must be True or False, not 1"),
    ("hif8", {"random": [0, 0]}, ValueError, WITHOUT_STOCHASTIC),
]
CHOICES = [
    ("ocp_e4m3", "rounding", "hybrid", f"ties_to_even, ties_to_away, {DIRECTED}"),
    ("hif8", "overflow", "nan", "infinity, saturate, propagate"),
    ("hif8", "overflow", "ocp_paper", "infinity, saturate, propagate"),
    ("e8m0", "overflow", "propagate", "nan, saturate"),
    ("ocp_e4m3", "overflow", "infinity", "nan, saturate, ocp_paper"),
    ("gc_1_4_3_b7", "overflow", "infinity", "saturate, nan"),
    ("ibm_1_4_3", "overflow", "nan", "saturate"),
]
"""A format, an option, a value that the format does not allow, and the values that it allows."""

RANDOM = [
    ({}, ValueError, WITHOUT_RANDOM),
    ({"random": [0]}, ValueError, "random must have the shape of bits, (2,), not (1,)"),
    ({"random": [0.5, 0.5]}, TypeError, "random must be unsigned integers, not float64"),
    ({"random": [0, 1 << 16]}, ValueError, "random must lie in 0 to 0xffff, not 0x10000"),
    ({"random": [0, 8], "random_bits": 3}, ValueError, "random must lie in 0 to 0x7, not 0x8"),
    ({"random": [-1, 0]}, ValueError, "random must lie in 0 to 0xffff, not -0x1"),
    ({"random": [0, 0], "random_bits": 0}, ValueError, f"{RANDOM_BITS} 0"),
    ({"random": [0, 0], "random_bits": 33}, ValueError, f"{RANDOM_BITS} 33"),
    ({"random": [0, 0], "random_bits": True}, TypeError, f"{RANDOM_BITS} True"),
    ({"random": [0, 0], "random_bits": 8.0}, TypeError, f"{RANDOM_BITS} 8.0"),
]
"""With rounding ``stochastic``."""


POSITIVE = "must be positive and finite"
AMAX = partial(golden.amax, bits=np.zeros((2, 2), np.uint32))
SCALED = partial(golden.scaled_matmul, x=[[1.0]], w=[[1.0]])
SCALE_FOR = partial(golden.scale_for, x=np.ones((2, 2), np.float32), name="hif8")
NVFP4 = partial(golden.quantize_nvfp4, np.ones(16, np.float32))
LOSS = partial(golden.LossScale, rule="backoff", largest=1.0)
UPDATE = partial(golden.LossScale("logmax", 1.0).update, largest_gradient=1.0, overflowed=False)
WORDS = partial(Lfsr(64).words, seed=1, count=2)
HIFLOAT4 = golden.quantize_hifloat4(np.linspace(-1, 1, 64, dtype=np.float32))
DOT_HIFLOAT4 = partial(golden.dot_hifloat4, a=HIFLOAT4, b=HIFLOAT4)
LAYERS = partial(golden.calibrate_layers, inputs=np.ones((1, 1)))
ERRORS = partial(golden.rounding_errors, "hif8", np.float32([1]))


class Tensor:
    """What becomes no array, like a tensor of PyTorch that needs gradients."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("it needs\ngradients")


def refuses(error, sentence, call, *arguments, **options):
    with pytest.raises(error, match=f"^{re.escape(sentence)}$") as caught:
        call(*arguments, **options)
    assert isinstance(caught.value, golden.Refusal)
    assert sentence == f"{caught.value.argument} {caught.value.problem}"


@pytest.mark.parametrize(("name", "options", "error", "sentence"), ENCODE)
def test_encode(name, options, error, sentence):
    refuses(error, sentence, golden.get(name).encode, BINARY32, **options)


@pytest.mark.parametrize(("name", "option", "value", "allowed"), CHOICES)
def test_choices_of_a_format(name, option, value, allowed):
    sentence = f"{option} of {name} must be one of {allowed}, not {value!r}"
    refuses(ValueError, sentence, golden.get(name).encode, BINARY32, **{option: value})


def test_mptorch_overflows_to_infinity_only():
    sentence = "overflow with rounding 'mptorch' must be infinity, not 'saturate'"
    refuses(ValueError, sentence, golden.get("e5m2b1").encode, BINARY32, rounding="mptorch", overflow="saturate")


@pytest.mark.parametrize(("options", "error", "sentence"), RANDOM)
def test_random_words(options, error, sentence):
    refuses(error, sentence, golden.get("hif8").encode, BINARY32, rounding="stochastic", **options)


@pytest.mark.parametrize("dtype", [np.uint16, np.int16, ">u2"])
def test_bits_of_16_bit_types_need_a_source(dtype):
    hif8, bits = golden.get("hif8"), np.array([0x3C00], dtype)
    choice = "'binary16' or 'bfloat16' (or view bits of binary32 as uint32)"
    sentence = f"source must be given for {bits.dtype} bits: {choice}"
    refuses(ValueError, sentence, hif8.encode, bits)
    refuses(ValueError, sentence, hif8.encode_with_flags, bits)
    assert hif8.encode(bits, "binary16") == 0x08
    sentence = "source must be given for uint8 bits: the format of the codes (or view bits of binary32 as uint32)"
    refuses(ValueError, sentence, hif8.encode, np.array([0x3C], np.uint8))
    for wider in ([0x3C00], 0x3C00, bits.astype(np.int64), bits.astype(np.uint32)):
        assert hif8.encode(wider) == hif8.encode(bits, "binary32") == 0
    way = "quantize(x) rounds an array x of float32, and codes(x) returns its codes"
    refuses(TypeError, f"bits must be unsigned integers, not float16: {way}", hif8.encode, bits.astype(np.float16))


@pytest.mark.parametrize(
    ("codes", "error", "sentence"),
    [
        ([256], ValueError, "codes must lie in 0 to 0xff for hif8, not 0x100"),
        ([3, -2], ValueError, "codes must lie in 0 to 0xff for hif8, not -0x2"),
        (np.array([1 << 63], np.uint64), ValueError, "codes must lie in 0 to 0xff for hif8, not 0x8000000000000000"),
        ([1.0], TypeError, "codes must be unsigned integers, not float64"),
        ([True], TypeError, "codes must be unsigned integers, not bool"),
        (["8"], TypeError, "codes must be unsigned integers, not <U1"),
        ([1 << 64], ValueError, f"codes must lie in 0 to 0xff for hif8, not {1 << 64:#x}"),
        (None, TypeError, "codes must be unsigned integers, not object"),
    ],
)
def test_codes(codes, error, sentence):
    refuses(error, sentence, golden.get("hif8").decode, codes)
    refuses(error, sentence, golden.get("hif8").decode_bits, codes, "binary16")


def test_nine_bit_codes_have_nine_bits():
    assert golden.get("e5m3").decode(0x1FE) == -57344
    refuses(ValueError, "codes must lie in 0 to 0x1ff for e5m3, not 0x200", golden.get("e5m3").decode, 0x200)


@pytest.mark.parametrize("target", ["hif8", "exact", "unpacked", 16])
def test_decode_bits(target):
    sentence = f"target must be one of binary16, bfloat16, binary32, dlfloat16, not {target!r}"
    refuses(TypeError if target == 16 else ValueError, sentence, golden.get("hif8").decode_bits, [0], target)


@pytest.mark.parametrize("x", [[1.0], np.array([1]), np.array([1.0 + 0j])])
def test_quantize(x):
    sentence = f"x must be a float32, float16 or bfloat16 array, not {np.asarray(x).dtype}"
    refuses(TypeError, sentence, golden.get("hif8").quantize, x)


def test_codes_of_any_integer_type_are_accepted():
    for dtype in (np.int16, np.int64, np.uint8, np.uint64, ">u2"):
        assert golden.get("hif8").decode(np.array([0x6E], dtype)) == 2**15


HIF8 = golden.get("hif8")
UNIT = golden.ExactAccumulator(HIF8, HIF8, 4)
MAC = partial(golden.mac, 0, 0, 0)
EXACT = partial(golden.mac, 0, 0, UNIT.zeros(), accumulator="exact")
CALIBRATE = partial(golden.calibrate, activations=[[1.0]], weights=[[1.0]])
SNR = partial(golden.quantization_snr, "hif8")
UNKNOWN = f"must be a known format, not 'hif9'; the nearest is hif8 {OTHERS}"
WIDE = "must have at most 16 bits, not the 32 of binary32"
SCALE_BITS, TERMS = "must be an integer from 0 to 10, not", "must be an integer from 1 to 16777216, not"
WITHOUT_SOURCE = "'hybrid' looks at the bits of a source, and an exact accumulator has none"
STOCHASTIC = "must be given with stochastic roundings only, not with 'ties_to_away'"
ACCUMULATORS = (
    "must be one of binary16, bfloat16, binary32, dlfloat16, exact, rvbna, or aligned6 to aligned40, not 'hif8'"
)
EXPONENTS = "must be an integer from -300 to 300, not"
SHAPES = "must have shapes that broadcast, not"
BINARY16 = replace(golden.get("ocp_e4m3"), name="binary16")
NOT_A_NAME = "must be a format's name, a path or a Format, not 8"
RAGGED = "must be an array, not [[1], [1, 2]]"
MASKED = "must have no masked numbers: fill them, or leave them out"
BEYOND = "must have no number beyond the range of binary64"
SECONDS = np.timedelta64(3, "s")  # to NumPy, an integer
TENSOR = Tensor()
BAD_ROWS = (
    Row(0, Fixed(0), 3),
    Row("", None, 3),
    Row("", Fixed(0), 3.0),
    Row("", Fixed(-6.5), 3),
    Row("", Fixed(0), 3, True),
)
ROW = "must be of a prefix, an exponent rule and integers each, not"
NAMESAKE = "must be binary16 itself, not another format of its name"
ROUNDINGS, OVERFLOWS = (f"must be one of {', '.join(rules)}, not" for rules in (golden.Rounding, golden.Overflow))
MANY = "+".join(["hif8"] * 2000)

NAMES = [
    (golden.get, ("hif9",), "name", ValueError, UNKNOWN),
    (golden.get, (MANY,), "name", ValueError, f"'{MANY[:99]}...: two formats can share a unit, not more"),
    (golden.mac, (0, 0, 0, "hif9"), "a_format", ValueError, UNKNOWN),
    (golden.dot, ([0], [0], "hif8", "hif9"), "b_format", ValueError, UNKNOWN),
    (golden.fused_dot, ([0], [0], 0, 8), "a_format", TypeError, NOT_A_NAME),
    (golden.ExactAccumulator, ("hif9", HIF8, 4), "a_format", ValueError, UNKNOWN),
    (golden.ExactAccumulator, (HIF8, "binary32", 4), "b_format", ValueError, WIDE),
    (UNIT.encode, (UNIT.zeros(), "hif9"), "to", ValueError, UNKNOWN),
    (UNIT.encode, (UNIT.zeros(), HIF8, "hybrid"), "rounding", ValueError, WITHOUT_SOURCE),
    (partial(UNIT.encode, random=0), (UNIT.zeros(), HIF8), "random", ValueError, STOCHASTIC),
    (partial(HIF8.encode, source=BINARY16), (BINARY32,), "source", ValueError, NAMESAKE),
    (partial(golden.mac, accumulator="hif8"), (0, 0, 0), "accumulator", ValueError, ACCUMULATORS),
]
ARRAYS = [
    (golden.mac, (0.5, 0, 0), "a", TypeError, "must be unsigned integers, not float64"),
    (golden.mac, (0, 256, 0), "b", ValueError, "must lie in 0 to 0xff for hif8, not 0x100"),
    (golden.mac, (0, 0, 1 << 16), "acc", ValueError, "must lie in 0 to 0xffff for binary16, not 0x10000"),
    (HIF8.split, (256,), "code", ValueError, "must lie in 0 to 0xff for hif8, not 0x100"),
    (golden.mac, ([[1], [1, 2]], 1, 0), "a", TypeError, RAGGED),
    (HIF8.encode, ([[1], [1, 2]],), "bits", TypeError, RAGGED),
    (partial(golden.mac, scale=[[1], [1, 2]]), (0, 0, 0), "scale", TypeError, RAGGED),
    (golden.mac, ([1, 2], [1, 2, 3], 0), "a", ValueError, f"and b {SHAPES} (2,), (3,)"),
    (golden.mac, ([1, 2], 1, [0] * 3), "acc", ValueError, f"and a {SHAPES} (3,), (2,)"),
    (golden.dot, ([[1, 2]] * 3, [[1, 2, 3]] * 2), "a", ValueError, f"and b {SHAPES} (3, 2), (2, 3)"),
    (UNIT.flags, ([[1]] * 2, [[1]] * 3, UNIT.zeros()), "a", ValueError, f"and b {SHAPES} (2, 1), (3, 1)"),
]
NUMBERS = [
    (MAC, "scale", 1, ValueError, "must be 0 for scale_bits 0, not 1"),
    (MAC, "scale", 0.5, TypeError, "must be integers, not float64"),
    *((MAC, "scale_bits", bits, ValueError, f"{SCALE_BITS} {bits}") for bits in (-1, 11)),
    *((MAC, "scale_bits", bits, TypeError, f"{SCALE_BITS} {bits!r}") for bits in (True, 1.0, "1")),
    (MAC, "terms", -5, ValueError, f"{TERMS} -5"),
    *((EXACT, "terms", terms, TypeError, f"{TERMS} {terms!r}") for terms in (True, 4.0, "4", [4])),
    (CALIBRATE, "exponents", [1.5], TypeError, f"{EXPONENTS} 1.5"),
    (CALIBRATE, "exponents", 3, TypeError, "must be integers, not 3"),
    (CALIBRATE, "exponents", np.array(3), TypeError, "must be integers, not array(3)"),
]
CODES, NUMBERS_4 = np.arange(8, dtype=np.uint8).reshape(2, 4), np.ones((4, 4), np.float32)
FUSED = {"a": CODES, "b": CODES, "acc": 0, "a_format": "hif8", "accumulator": "binary16", "scale": 0}
CALLS = [
    (golden.amax, {"bits": CODES, "source": "hif8", "axis": 0, "nan": "ignore", "infinity": "ignore"}),
    (golden.amax_scale, {"largest": CODES, "element_format": "e2m1", "source": "hif8", "policy": "even", "center": 1}),
    (golden.best_scale, {"name": "e2m1", "distribution": "gaussian"}),
    (golden.calibrate, {"activations": NUMBERS_4, "weights": NUMBERS_4, "reference": NUMBERS_4, "exponents": [0]}),
    (golden.calibrate_layers, {"inputs": NUMBERS_4, "layers": [(NUMBERS_4, np.negative)], "exponents": [0]}),
    (
        golden.dequantize_block,
        {"codes": CODES, "scales": CODES[:, 0], "element_format": "e2m3", "scale_format": "e8m0"},
    ),
    (golden.dequantize_hifloat4, HIFLOAT4._asdict()),
    (golden.dot, {"a": CODES, "b": CODES, "a_format": "hif8", "b_format": None, "accumulator": "exact", "terms": 4}),
    (golden.fused_dot, FUSED),
    (golden.mac_with_flags, FUSED),
    (golden.get("hif8").codes, {"x": NUMBERS_4, "overflow": "saturate", "scale": 0}),
    (golden.get("hif8").decode_bits, {"codes": CODES, "target": "binary32"}),
    (golden.LossScale, {"rule": "logmax", "largest": 1.0, "window": 2, "deviations": 0.0, "first": 3, "mean": 0.0}),
    (golden.matmul, {"a": CODES, "b": CODES.T, "a_format": "hif8", "accumulator": "binary32", "lanes": 2, "terms": 4}),
    (golden.pack, {"codes": CODES, "name": "hif8", "lanes": 2}),
    (golden.quantization_snr, {"name": "e2m1", "scale": 1.0, "distribution": "gaussian"}),
    (
        golden.quantize_block,
        {"x": NUMBERS_4, "element_format": "e2m1", "policy": "floor", "center": 1, "rounding": None},
    ),
    (golden.quantize_block, {"x": NUMBERS_4, "element_format": "e2m1", "scale_format": "ue4m3"}),
    (golden.quantize_nvfp4, {"x": NUMBERS_4, "amax": 1.0}),
    (golden.rounding_errors, {"name": "hif8", "x": NUMBERS_4, "rounding": "stochastic", "random_bits": 3}),
    (golden.scale_for, {"x": NUMBERS_4, "name": "hif8", "policy": "max", "axis": 0, "percentile": 99, "center": 1}),
    (golden.scaled_matmul, {"x": NUMBERS_4, "w": NUMBERS_4, "x_scale": 0, "w_scale": 0, "accumulator": "exact"}),
    (Lfsr(64).words, {"seed": 1, "count": 2}),
]
"""Functions, and arguments that they accept."""
ODD = [
    "a",
    "x" * 300,
    b"a",
    None,
    True,
    0,
    -1,
    2**64 - 1,
    10**400,
    10**5000,
    1.5,
    nan,
    inf,
    1j,
    (0, 0),
    [],
    [[1], [1, 2]],
]
ODD += [
    {},
    object,
    range(0),
    1 << 63,
    np.array("a"),
    np.array([1.5, nan]),
    np.zeros(0),
    np.array([None]),
    "e8m0",
    "exact",
]

SCALES = [
    *((AMAX, "axis", axis, ValueError, f"must not name an axis twice, not {axis}") for axis in ((0, 0), [1, -1])),
    (partial(golden.amax, 1), "axis", 0, ValueError, "must be None for a number, which has no axes, not 0"),
    (SCALE_FOR, "axis", (1, 0, -1), ValueError, "must not name an axis twice, not (1, 0, -1)"),
    (SCALE_FOR, "percentile", "99", TypeError, "must be a number above 0, to 100, not '99'"),
    *((SCALE_FOR, "percentile", bad, ValueError, f"must be a number above 0, to 100, not {bad}") for bad in (0, 101)),
    (SCALE_FOR, "percentile", 10**999, ValueError, "must be a number above 0, to 100, not an integer of 3319 bits"),
    *((NVFP4, "amax", bad, TypeError, f"{POSITIVE} in binary32, not {bad!r}") for bad in ("a", True, 1j, [1.0])),
    *((NVFP4, "amax", bad, ValueError, f"{POSITIVE} in binary32, not {bad}") for bad in (0, -1, nan, inf, 1e39, 1e-46)),
    (DOT_HIFLOAT4, "a", 1, TypeError, "must be blocks of HiFloat4, not 1"),
    (DOT_HIFLOAT4, "b", HIFLOAT4[:2], TypeError, f"must be blocks of HiFloat4, not {shown(HIFLOAT4[:2])}"),
    (LOSS, "window", 0, ValueError, "must be an integer from 1 to 2147483648, not 0"),
    (LOSS, "window", "a", TypeError, "must be an integer from 1 to 2147483648, not 'a'"),
    (LOSS, "place", 7, ValueError, "must be an integer from 0 to 6, not 7"),
    (LOSS, "largest", "1", TypeError, "must be positive and finite, not '1'"),
    (LOSS, "largest", nan, ValueError, "must be positive and finite, not nan"),
    (LOSS, "deviations", inf, ValueError, "must be a number from -3000 to 3000, not inf"),
    (LOSS, "mean", 1e300, ValueError, "must be a number from -3000 to 3000, or None, not 1e+300"),
    (LOSS, "variance", -1, ValueError, "must be a number from 0 to 9000000, not -1"),
    (LOSS, "variance", np.ma.masked, TypeError, "must be a number from 0 to 9000000, not masked"),
    (NVFP4, "amax", np.array([2.0]), TypeError, "must be positive and finite in binary32, not array([2.])"),
    (SCALE_FOR, "center", SECONDS, TypeError, f"must be an integer from -22 to 15, not {SECONDS!r}"),
    (SCALE_FOR, "x", TENSOR, TypeError, "must be an array, not Tensor: it needs gradients"),
    (SCALE_FOR, "x", np.ma.masked_equal(np.float32([1, 2]), 2), ValueError, MASKED),
    (AMAX, "bits", [1 << 70], ValueError, f"must lie in 0 to 0xffffffff for binary32, not {1 << 70:#x}"),
    (AMAX, "bits", [1 << 63, -1], ValueError, "must lie in 0 to 0xffffffff for binary32, not -0x1"),
    (SCALED, "x_scale", 1 << 70, ValueError, f"must be an integer from -1000 to 1000, not {1 << 70}"),
    (SCALED, "x_scale", [1 << 70, 1.5], TypeError, f"must be integers, not {[1 << 70, 1.5]}"),
    (SCALE_FOR, "x", [np.longdouble("1e4000")], ValueError, BEYOND),
    (SNR, "scale", [np.longdouble("1e4000")], ValueError, BEYOND),
    (CALIBRATE, "weights", [[np.longdouble("1e4000")]], ValueError, BEYOND),
    (CALIBRATE, "weights", np.zeros((1, 1), [("a", "f4")]), TypeError, "must be real numbers, not [('a', '<f4')]"),
    (UPDATE, "largest_gradient", -1.0, ValueError, "must be a magnitude or NaN, not -1.0"),
    (UPDATE, "overflowed", 2, TypeError, "must be True or False, not 2"),
    (WORDS, "seed", [(1 << 64) - 1, 0], ValueError, "must lie in 1 to 2**64 - 1, not 0"),
    (WORDS, "seed", 1 << 64, ValueError, f"must lie in 1 to 2**64 - 1, not {1 << 64}"),
    (WORDS, "seed", [1, 1.5], TypeError, "must be integers, not float64"),
    (WORDS, "count", (1 << 64) - 1, ValueError, f"must be an integer from 0 to 4294967296, not {(1 << 64) - 1}"),
    (CALIBRATE, "reference", [[inf]], ValueError, "must be finite"),
    (CALIBRATE, "reference", "a", TypeError, "must be real numbers, not <U1"),
    (CALIBRATE, "reference", [[10**400]], ValueError, BEYOND),
    (
        LAYERS,
        "layers",
        3,
        TypeError,
        "must be pairs of weights and a function of their product, not 3",
    ),
    (ERRORS, "random_bits", 33, ValueError, "must be an integer from 1 to 32, not 33"),
]
FIELDS = [
    ("name", "my hif8", ValueError, "must be an identifier, not 'my hif8'"),
    ("name", 8, TypeError, "must be an identifier, not 8"),
    ("width", 8.0, TypeError, "must be an integer from 3 to 16, not 8.0"),
    ("rows", list(HIF8.rows), TypeError, f"must be a tuple of Rows, not {list(HIF8.rows)!r:.100}..."),
    *(("rows", (row,), TypeError, f"{ROW} {(row,)}") for row in BAD_ROWS),
    ("specials", None, TypeError, "must be a tuple of Specials, not None"),
    ("cite", "two\nlines", ValueError, "must be one line, not 'two\\nlines'"),
    ("cite", None, TypeError, "must be text, not None"),
    ("canonical_nan", 128.0, TypeError, "must be an integer or None, not 128.0"),
    ("flush", 0, TypeError, "must be True or False, not 0"),
    ("roundings", ("up",), ValueError, f"{ROUNDINGS} 'up'"),
    ("roundings", "hybrid", TypeError, "must be a tuple of Roundings, not 'hybrid'"),
    ("overflows", (1,), TypeError, f"{OVERFLOWS} 1"),
]


@pytest.mark.parametrize(("call", "arguments", "argument", "error", "problem"), [*NAMES, *ARRAYS])
def test_refusals_name_the_argument(call, arguments, argument, error, problem):
    refuses(error, f"{argument} {problem}", call, *arguments)


@pytest.mark.parametrize(("call", "argument", "value", "error", "problem"), NUMBERS)
def test_numbers(call, argument, value, error, problem):
    EXACT(terms=4)  # a cache must not mistake 4.0 for 4
    refuses(error, f"{argument} {problem}", call, **{argument: value})


@pytest.mark.parametrize(("call", "argument", "value", "error", "problem"), SCALES)
def test_scales_and_their_neighbours(call, argument, value, error, problem):
    refuses(error, f"{argument} {problem}", call, **{argument: value})


@pytest.mark.parametrize("bad", [inf, nan, 1e300, 3e38])
def test_calibration_blames_the_numbers_not_the_exponents(bad):
    problem = "activations and weights must have a finite product"
    refuses(ValueError, problem, golden.calibrate, np.array([[bad]]), [[1e300]])
    refuses(ValueError, "layers[1] must have a finite product of inputs and weights", golden.calibrate_layers,
            [[1.0]], [([[1.0]], lambda product: product * bad), ([[1e300]], np.negative)])  # fmt: skip


@pytest.mark.parametrize(("call", "arguments"), CALLS)
def test_odd_arguments_are_refused_or_accepted(call, arguments):
    """Whatever a user passes as one argument, nothing else is raised than a refusal, of one line."""
    call(**arguments)
    sentences = []
    for argument, odd in itertools.product(arguments, ODD):
        try:
            call(**{**arguments, argument: odd})
        except golden.Refusal as refusal:
            sentences.append(str(refusal))
    assert len(sentences) >= len(arguments)
    assert not [sentence for sentence in sentences if "\n" in sentence or len(sentence) > 1000]


@pytest.mark.parametrize(("field", "value", "error", "problem"), FIELDS)
def test_fields_of_a_format(field, value, error, problem):
    refuses(error, f"{field} {problem}", replace, HIF8, **{field: value})


def test_strings_become_roundings_and_overflow_rules():
    """Rules are compared by identity."""
    fmt = replace(HIF8, name="x", roundings=["toward_zero", "hybrid"], overflows=("saturate",))
    assert fmt.roundings == (golden.Rounding.TOWARD_ZERO, golden.Rounding.HYBRID)
    bits = np.arange(1 << 16)
    expected = HIF8.encode(bits, "binary16", "toward_zero", "saturate")
    np.testing.assert_array_equal(fmt.encode(bits, "binary16"), expected)


def test_refusals_of_files_name_no_argument():
    sentence = r"^Format file 'none.toml' cannot be read: No such file or directory$"
    with pytest.raises(golden.BadValue, match=sentence) as caught:
        golden.get("none.toml")
    assert caught.value.argument is None
    assert str(caught.value.about("--format")) == f"--format: {caught.value}"
