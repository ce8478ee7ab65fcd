"""What golden says to bad input: one sentence each, with the option, the value and what is allowed."""

import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import golden
from golden.rows import Fixed, Row

HIF8_ROUNDINGS = "ties_to_away, ties_to_even, toward_zero, stochastic, hybrid"
BINARY32 = np.float32([1.0, 2.0]).view(np.uint32)

ENCODE = [
    (
        "hif8",
        {"source": "binary64"},
        ValueError,
        "source must be one of binary16, bfloat16, binary32, dlfloat16, not 'binary64'",
    ),
    (
        "hif8",
        {"source": "exact"},
        ValueError,
        "source must be one of binary16, bfloat16, binary32, dlfloat16, not 'exact'",
    ),
    ("hif8", {"rounding": "up"}, ValueError, f"rounding of hif8 must be one of {HIF8_ROUNDINGS}, not 'up'"),
    ("hif8", {"rounding": "mptorch"}, ValueError, f"rounding of hif8 must be one of {HIF8_ROUNDINGS}, not 'mptorch'"),
    (
        "ocp_e4m3",
        {"rounding": "hybrid"},
        ValueError,
        "rounding of ocp_e4m3 must be one of ties_to_even, ties_to_away, toward_zero, stochastic, not 'hybrid'",
    ),
    (
        "hif8",
        {"rounding": "hybrid", "source": "dlfloat16"},
        ValueError,
        "rounding 'hybrid' is defined for source binary16, bfloat16 or binary32, not 'dlfloat16'",
    ),
    ("hif8", {"source": 32}, TypeError, "source must be one of binary16, bfloat16, binary32, dlfloat16, not 32"),
    ("hif8", {"rounding": 1}, TypeError, "rounding must be a word, not 1"),
    ("hif8", {"overflow": False}, TypeError, "overflow must be a word, not False"),
    ("hif8", {"overflow": "nan"}, ValueError, "overflow of hif8 must be one of infinity, saturate, not 'nan'"),
    (
        "hif8",
        {"overflow": "ocp_paper"},
        ValueError,
        "overflow of hif8 must be one of infinity, saturate, not 'ocp_paper'",
    ),
    (
        "ocp_e4m3",
        {"overflow": "infinity"},
        ValueError,
        "overflow of ocp_e4m3 must be one of nan, saturate, ocp_paper, not 'infinity'",
    ),
    (
        "gc_1_4_3_b7",
        {"overflow": "infinity"},
        ValueError,
        "overflow of gc_1_4_3_b7 must be one of saturate, nan, not 'infinity'",
    ),
    ("ibm_1_4_3", {"overflow": "nan"}, ValueError, "overflow of ibm_1_4_3 must be one of saturate, not 'nan'"),
    (
        "e5m2b1",
        {"rounding": "mptorch", "overflow": "saturate"},
        ValueError,
        "overflow with rounding 'mptorch' must be infinity, not 'saturate'",
    ),
    ("hif8", {"nan_to_zero": 1}, TypeError, "nan_to_zero must be True or False, not 1"),
    (
        "hif8",
        {"random": [0, 0]},
        ValueError,
        "random must be given with rounding 'stochastic' only, not with 'ties_to_away'",
    ),
    (
        "hif8",
        {"rounding": "stochastic"},
        ValueError,
        "random must be given with rounding 'stochastic': unsigned integers of the shape of bits",
    ),
    (
        "hif8",
        {"rounding": "stochastic", "random": [0]},
        ValueError,
        "random must have the shape of bits, (2,), not (1,)",
    ),
    (
        "hif8",
        {"rounding": "stochastic", "random": [0.5, 0.5]},
        TypeError,
        "random must be unsigned integers, not float64",
    ),
    (
        "hif8",
        {"rounding": "stochastic", "random": [0, 1 << 16]},
        ValueError,
        "random must lie in 0 to 0xffff, not 0x10000",
    ),
    (
        "hif8",
        {"rounding": "stochastic", "random": [0, 8], "random_bits": 3},
        ValueError,
        "random must lie in 0 to 0x7, not 0x8",
    ),
    ("hif8", {"rounding": "stochastic", "random": [-1, 0]}, ValueError, "random must lie in 0 to 0xffff, not -0x1"),
    (
        "hif8",
        {"rounding": "stochastic", "random": [0, 0], "random_bits": 0},
        ValueError,
        "random_bits must be an integer from 1 to 32, not 0",
    ),
    (
        "hif8",
        {"rounding": "stochastic", "random": [0, 0], "random_bits": 33},
        ValueError,
        "random_bits must be an integer from 1 to 32, not 33",
    ),
    (
        "hif8",
        {"rounding": "stochastic", "random": [0, 0], "random_bits": True},
        TypeError,
        "random_bits must be an integer from 1 to 32, not True",
    ),
    (
        "hif8",
        {"rounding": "stochastic", "random": [0, 0], "random_bits": 8.0},
        TypeError,
        "random_bits must be an integer from 1 to 32, not 8.0",
    ),
    ("hif8", {"source": "binary16"}, ValueError, "bits must lie in 0 to 0xffff for binary16, not 0x40000000"),
]


def refuses(error, sentence, call, *arguments, **options):
    with pytest.raises(error, match=f"^{re.escape(sentence)}$") as caught:
        call(*arguments, **options)
    assert isinstance(caught.value, golden.Refusal)
    assert sentence == f"{caught.value.argument} {caught.value.problem}"


@pytest.mark.parametrize(("name", "options", "error", "sentence"), ENCODE)
def test_encode(name, options, error, sentence):
    refuses(error, sentence, golden.get(name).encode, BINARY32, **options)


@pytest.mark.parametrize("dtype", [np.uint16, np.int16, ">u2"])
def test_bits_of_16_bit_types_need_a_source(dtype):
    hif8, bits = golden.get("hif8"), np.array([0x3C00], dtype)
    sentence = (
        f"source must be given for {bits.dtype} bits: 'binary16' or 'bfloat16' (or view bits of binary32 as uint32)"
    )
    refuses(ValueError, sentence, hif8.encode, bits)
    refuses(ValueError, sentence, hif8.encode_with_flags, bits)
    assert hif8.encode(bits, "binary16") == 0x08
    for same in ([0x3C00], 0x3C00, bits.astype(np.int64), bits.astype(np.uint32)):
        assert hif8.encode(same) == hif8.encode(bits, "binary32") == 0
    refuses(TypeError, "bits must be unsigned integers, not float16", hif8.encode, bits.astype(np.float16))


@pytest.mark.parametrize(
    ("codes", "error", "sentence"),
    [
        ([256], ValueError, "codes must lie in 0 to 0xff for hif8, not 0x100"),
        ([3, -2], ValueError, "codes must lie in 0 to 0xff for hif8, not -0x2"),
        (np.array([1 << 63], np.uint64), ValueError, "codes must lie in 0 to 0xff for hif8, not 0x8000000000000000"),
        ([1.0], TypeError, "codes must be unsigned integers, not float64"),
        ([True], TypeError, "codes must be unsigned integers, not bool"),
        (["8"], TypeError, "codes must be unsigned integers, not <U1"),
        ([1 << 64], TypeError, "codes must be unsigned integers, not object"),
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


def test_signed_codes_of_any_integer_type_are_taken():
    for dtype in (np.int16, np.int64, np.uint8, np.uint64, ">u2"):
        assert golden.get("hif8").decode(np.array([0x6E], dtype)) == 2**15


HIF8 = golden.get("hif8")
UNIT = golden.ExactAccumulator(HIF8, HIF8, 4)
EXACT = partial(golden.mac, accumulator="exact")
FAMILIES = "any e{x}m{y}b{l}, e{x}m{y}b{l}_{u}, gc_1_{e}_{p}_b{bias} and a path to a .toml file are allowed too"
UNKNOWN = f"must be a known format, not 'hif9'; the nearest is hif8 ({FAMILIES})"
SCALE_BITS, TERMS = "must be an integer from 0 to 10, not", "must be an integer from 1 to 16777216, not"
WITHOUT_SOURCE = "'hybrid' looks at the bits of a source, and an exact accumulator has none"
STOCHASTIC = "must be given with rounding 'stochastic' only, not with 'ties_to_away'"
ACCUMULATORS = "must be one of binary16, bfloat16, binary32, dlfloat16, exact, not 'hif8'"
ROWS = f"{list(HIF8.rows)!r:.100}..."
EXPONENTS = "must be an integer from -300 to 300, not"
BINARY16 = replace(golden.get("ocp_e4m3"), name="binary16")
PARTS = (HIF8.rows, HIF8.specials, "test")
ARGUMENTS = [
    (golden.get, ("hif9",), {}, "name", ValueError, UNKNOWN),
    (golden.mac, (0, 0, 0, "hif9"), {}, "a_format", ValueError, UNKNOWN),
    (golden.dot, ([0], [0], "hif8", "hif9"), {}, "b_format", ValueError, UNKNOWN),
    (
        golden.fused_dot,
        ([0], [0], 0, 8),
        {},
        "a_format",
        TypeError,
        "must be a format's name, a path or a Format, not 8",
    ),
    (UNIT.encode, (UNIT.zeros(), "hif9"), {}, "to", ValueError, UNKNOWN),
    (UNIT.encode, (UNIT.zeros(), HIF8, "hybrid"), {}, "rounding", ValueError, WITHOUT_SOURCE),
    (UNIT.encode, (UNIT.zeros(), HIF8), {"random": 0}, "random", ValueError, STOCHASTIC),
    (
        golden.mac,
        (0, 0, 0),
        {"scale": 1},
        "scale",
        ValueError,
        "must be from 0 to 0, which 0 bits hold, not from 1 to 1",
    ),
    (golden.mac, (0, 0, 0), {"scale": 0.5}, "scale", TypeError, "must be integers, not float64"),
    *(
        (golden.mac, (0, 0, 0), {"scale_bits": bad}, "scale_bits", ValueError, f"{SCALE_BITS} {bad}")
        for bad in (-1, 11)
    ),
    *(
        (golden.mac, (0, 0, 0), {"scale_bits": bad}, "scale_bits", TypeError, f"{SCALE_BITS} {bad!r}")
        for bad in (True, 1.0, "1")
    ),
    *(
        (EXACT, (0, 0, UNIT.zeros()), {"terms": bad}, "terms", TypeError, f"{TERMS} {bad!r}")
        for bad in (True, 4.0, "4")
    ),
    (golden.mac, (0.5, 0, 0), {}, "a", TypeError, "must be unsigned integers, not float64"),
    (golden.mac, (0, 256, 0), {}, "b", ValueError, "must lie in 0 to 0xff for hif8, not 0x100"),
    (golden.mac, (0, 0, 1 << 16), {}, "acc", ValueError, "must lie in 0 to 0xffff for binary16, not 0x10000"),
    (golden.mac, (0, 0, 0), {"accumulator": "hif8"}, "accumulator", ValueError, ACCUMULATORS),
    (HIF8.split, (256,), {}, "code", ValueError, "must lie in 0 to 0xff for hif8, not 0x100"),
    (golden.Format, ("my hif8", 8, *PARTS), {}, "name", ValueError, "must be an identifier, not 'my hif8'"),
    (golden.Format, (8, 8, *PARTS), {}, "name", TypeError, "must be an identifier, not 8"),
    (golden.Format, ("x", 8.0, *PARTS), {}, "width", TypeError, "must be an integer from 3 to 16, not 8.0"),
    (
        golden.Format,
        ("x", 8, list(HIF8.rows), HIF8.specials, "test"),
        {},
        "rows",
        TypeError,
        f"must be a tuple of Rows, not {ROWS}",
    ),
    (
        golden.Format,
        ("x", 8, HIF8.rows, None, "test"),
        {},
        "specials",
        TypeError,
        "must be a tuple of Specials, not None",
    ),
    (replace, (HIF8,), {"cite": "two\nlines"}, "cite", ValueError, "must be one line, not 'two\\nlines'"),
    (replace, (HIF8,), {"cite": None}, "cite", TypeError, "must be text, not None"),
    (replace, (HIF8,), {"canonical_nan": 128.0}, "canonical_nan", TypeError, "must be an integer or None, not 128.0"),
    (replace, (HIF8,), {"flush": 0}, "flush", TypeError, "must be True or False, not 0"),
    (
        replace,
        (HIF8,),
        {"roundings": ("up",)},
        "roundings",
        ValueError,
        f"must be one of {', '.join(golden.Rounding)}, not 'up'",
    ),
    (replace, (HIF8,), {"roundings": "hybrid"}, "roundings", TypeError, "must be a tuple of Roundings, not 'hybrid'"),
    (
        replace,
        (HIF8,),
        {"overflows": (1,)},
        "overflows",
        TypeError,
        f"must be one of {', '.join(golden.Overflow)}, not 1",
    ),
    *(
        (
            replace,
            (HIF8,),
            {"rows": (row,)},
            "rows",
            TypeError,
            f"must be of a prefix, an exponent rule and integers each, not {(row,)}",
        )
        for row in (
            Row(0, Fixed(0), 3),
            Row("", None, 3),
            Row("", Fixed(0), 3.0),
            Row("", Fixed(-6.5), 3),
            Row("", Fixed(0), 3, True),
        )
    ),
    (
        HIF8.encode,
        (BINARY32,),
        {"source": BINARY16},
        "source",
        ValueError,
        "must be binary16 itself, not another format of its name",
    ),
    (golden.mac, ([1, 2], [1, 2, 3], 0), {}, "a", ValueError, "and b must have shapes that broadcast, not (2,), (3,)"),
    (golden.mac, ([1, 2], 1, [0] * 3), {}, "acc", ValueError, "and a must have shapes that broadcast, not (3,), (2,)"),
    (golden.mac, ([[1], [1, 2]], 1, 0), {}, "a", TypeError, "must be an array, not [[1], [1, 2]]"),
    (HIF8.encode, ([[1], [1, 2]],), {}, "bits", TypeError, "must be an array, not [[1], [1, 2]]"),
    (golden.mac, (0, 0, 0), {"scale": [[1], [1, 2]]}, "scale", TypeError, "must be an array, not [[1], [1, 2]]"),
    (
        golden.dot,
        ([[1, 2]] * 3, [[1, 2, 3]] * 2),
        {},
        "a",
        ValueError,
        "and b must have shapes that broadcast, not (3, 2), (2, 3)",
    ),
    (
        UNIT.flags,
        ([[1]] * 2, [[1]] * 3, UNIT.zeros()),
        {},
        "a",
        ValueError,
        "and b must have shapes that broadcast, not (2, 1), (3, 1)",
    ),
    (golden.mac, (0, 0, 0), {"terms": -5}, "terms", ValueError, f"{TERMS} -5"),
    (EXACT, (0, 0, UNIT.zeros()), {"terms": [4]}, "terms", TypeError, f"{TERMS} [4]"),
    (golden.ExactAccumulator, ("hif9", HIF8, 4), {}, "a_format", ValueError, UNKNOWN),
    (
        golden.ExactAccumulator,
        (HIF8, "binary32", 4),
        {},
        "b_format",
        ValueError,
        "must have at most 16 bits, not the 32 of binary32",
    ),
    (golden.calibrate, ([[1.0]], [[1.0]]), {"exponents": [1.5]}, "exponents", TypeError, f"{EXPONENTS} 1.5"),
    (golden.calibrate, ([[1.0]], [[1.0]]), {"exponents": 3}, "exponents", TypeError, "must be integers, not 3"),
    (
        golden.calibrate,
        ([[1.0]], [[1.0]]),
        {"exponents": np.array(3)},
        "exponents",
        TypeError,
        "must be integers, not array(3)",
    ),
    (
        golden.get,
        ("+".join(["hif8"] * 2000),),
        {},
        "name",
        ValueError,
        f"'{'hif8+' * 19}hif8...: two formats can share a unit, not more",
    ),
]


@pytest.mark.parametrize(("call", "arguments", "options", "argument", "error", "problem"), ARGUMENTS)
def test_refusals_name_the_argument(call, arguments, options, argument, error, problem):
    EXACT(0, 0, UNIT.zeros(), terms=4)  # so that 4.0 could be found in a cache
    refuses(error, f"{argument} {problem}", call, *arguments, **options)


def test_words_of_rules_become_rules():
    """They are compared by identity."""
    fmt = replace(HIF8, name="x", roundings=["toward_zero", "hybrid"], overflows=("saturate",))
    assert fmt.roundings == (golden.Rounding.TOWARD_ZERO, golden.Rounding.HYBRID)
    bits = np.arange(1 << 16)
    np.testing.assert_array_equal(
        fmt.encode(bits, "binary16"), HIF8.encode(bits, "binary16", "toward_zero", "saturate")
    )


def test_refusals_of_files_name_no_argument():
    with pytest.raises(
        golden.BadValue, match=r"^Format file 'none.toml' cannot be read: No such file or directory$"
    ) as caught:
        golden.get("none.toml")
    assert caught.value.argument is None
    assert str(caught.value.about("--format")) == f"--format: {caught.value}"
