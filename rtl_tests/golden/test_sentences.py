"""What golden says to bad input: one sentence each, with the option, the value and what is allowed."""

import re

import numpy as np
import pytest

import golden

HIF8_ROUNDINGS = "ties_to_away, ties_to_even, toward_zero, stochastic, hybrid"
BINARY32 = np.float32([1.0, 2.0]).view(np.uint32)

ENCODE = [
    ("hif8", {"source": "binary64"}, ValueError, "Source must be one of binary16, bfloat16, binary32, dlfloat16, not 'binary64'"),
    ("hif8", {"source": "exact"}, ValueError, "Source must be one of binary16, bfloat16, binary32, dlfloat16, not 'exact'"),
    ("hif8", {"rounding": "up"}, ValueError, f"Rounding of hif8 must be one of {HIF8_ROUNDINGS}, not 'up'"),
    ("hif8", {"rounding": "mptorch"}, ValueError, f"Rounding of hif8 must be one of {HIF8_ROUNDINGS}, not 'mptorch'"),
    (
        "ocp_e4m3", {"rounding": "hybrid"}, ValueError,
        "Rounding of ocp_e4m3 must be one of ties_to_even, ties_to_away, toward_zero, stochastic, not 'hybrid'",
    ),
    (
        "hif8", {"rounding": "hybrid", "source": "dlfloat16"}, ValueError,
        "Rounding 'hybrid' is defined for source binary16, bfloat16 or binary32, not 'dlfloat16'",
    ),
    ("hif8", {"overflow": "nan"}, ValueError, "Overflow of hif8 must be one of infinity, saturate, not 'nan'"),
    ("hif8", {"overflow": "ocp_paper"}, ValueError, "Overflow of hif8 must be one of infinity, saturate, not 'ocp_paper'"),
    ("ocp_e4m3", {"overflow": "infinity"}, ValueError, "Overflow of ocp_e4m3 must be one of nan, saturate, ocp_paper, not 'infinity'"),
    ("gc_1_4_3_b7", {"overflow": "infinity"}, ValueError, "Overflow of gc_1_4_3_b7 must be one of saturate, nan, not 'infinity'"),
    ("ibm_1_4_3", {"overflow": "nan"}, ValueError, "Overflow of ibm_1_4_3 must be one of saturate, not 'nan'"),
    (
        "e5m2b1", {"rounding": "mptorch", "overflow": "saturate"}, ValueError,
        "Overflow with rounding 'mptorch' must be infinity, not 'saturate'",
    ),
    ("hif8", {"nan_to_zero": 1}, TypeError, "nan_to_zero must be True or False, not 1"),
    ("hif8", {"random": [0, 0]}, ValueError, "random must be given with rounding 'stochastic' only, not with 'ties_to_away'"),
    (
        "hif8", {"rounding": "stochastic"}, ValueError,
        "random must be given with rounding 'stochastic': unsigned integers of the shape of bits",
    ),
    ("hif8", {"rounding": "stochastic", "random": [0]}, ValueError, "random must have the shape of bits, (2,), not (1,)"),
    ("hif8", {"rounding": "stochastic", "random": [0.5, 0.5]}, TypeError, "random must be unsigned integers, not float64"),
    ("hif8", {"rounding": "stochastic", "random": [0, 1 << 16]}, ValueError, "random must lie in 0 to 0xffff, not 0x10000"),
    ("hif8", {"rounding": "stochastic", "random": [0, 8], "random_bits": 3}, ValueError, "random must lie in 0 to 0x7, not 0x8"),
    ("hif8", {"rounding": "stochastic", "random": [-1, 0]}, ValueError, "random must lie in 0 to 0xffff, not -0x1"),
    (
        "hif8", {"rounding": "stochastic", "random": [0, 0], "random_bits": 0}, ValueError,
        "random_bits must be an integer from 1 to 32, not 0",
    ),
    (
        "hif8", {"rounding": "stochastic", "random": [0, 0], "random_bits": 33}, ValueError,
        "random_bits must be an integer from 1 to 32, not 33",
    ),
    ("hif8", {"source": "binary16"}, ValueError, "Bits of binary16 must lie in 0 to 0xffff, not 0x40000000"),
]  # fmt: skip


def refuses(error, sentence, call, *arguments, **options):
    with pytest.raises(error, match=f"^{re.escape(sentence)}$"):
        call(*arguments, **options)


@pytest.mark.parametrize(("name", "options", "error", "sentence"), ENCODE)
def test_encode(name, options, error, sentence):
    refuses(error, sentence, golden.get(name).encode, BINARY32, **options)


@pytest.mark.parametrize(
    ("codes", "error", "sentence"),
    [
        ([256], ValueError, "Codes of hif8 must lie in 0 to 0xff, not 0x100"),
        ([3, -2], ValueError, "Codes of hif8 must lie in 0 to 0xff, not -0x2"),
        (np.array([1 << 63], np.uint64), ValueError, "Codes of hif8 must lie in 0 to 0xff, not 0x8000000000000000"),
        ([1.0], TypeError, "Codes of hif8 must be unsigned integers, not float64"),
        ([True], TypeError, "Codes of hif8 must be unsigned integers, not bool"),
        (["8"], TypeError, "Codes of hif8 must be unsigned integers, not <U1"),
        ([1 << 64], TypeError, "Codes of hif8 must be unsigned integers, not object"),
        (None, TypeError, "Codes of hif8 must be unsigned integers, not object"),
    ],
)
def test_codes(codes, error, sentence):
    refuses(error, sentence, golden.get("hif8").decode, codes)
    refuses(error, sentence, golden.get("hif8").decode_bits, codes, "binary16")


def test_nine_bit_codes_have_nine_bits():
    assert golden.get("e5m3").decode(0x1FE) == -57344
    refuses(ValueError, "Codes of e5m3 must lie in 0 to 0x1ff, not 0x200", golden.get("e5m3").decode, 0x200)


@pytest.mark.parametrize("target", ["hif8", "exact", "unpacked", 16])
def test_decode_bits(target):
    sentence = f"Target must be one of binary16, bfloat16, binary32, dlfloat16, not {target!r}"
    refuses(ValueError, sentence, golden.get("hif8").decode_bits, [0], target)


@pytest.mark.parametrize("x", [[1.0], np.array([1]), np.array([1.0 + 0j])])
def test_quantize(x):
    sentence = f"x must be a float32, float16 or bfloat16 array, not {np.asarray(x).dtype}"
    refuses(TypeError, sentence, golden.get("hif8").quantize, x)


def test_signed_codes_of_any_integer_type_are_taken():
    for dtype in (np.int16, np.int64, np.uint8, np.uint64, ">u2"):
        assert golden.get("hif8").decode(np.array([0x6E], dtype)) == 2**15
