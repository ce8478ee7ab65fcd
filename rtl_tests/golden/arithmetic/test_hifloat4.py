"""HiFloat4 against its rules, typed a second time in exact fractions."""

from fractions import Fraction
from math import floor, prod

import numpy as np
import pytest

import golden
from golden.arithmetic.hifloat4 import HiFloat4, scale_format
from rtl_tests.support.blocks import generator
from rtl_tests.support.selection import exhaustive


def rounded(number, bits):
    """A positive fraction, rounded to ``bits`` significant bits, ties to even; subnormals of binary32 are not met."""
    exponent = number.numerator.bit_length() - number.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > number
    unit = Fraction(2) ** (exponent - bits + 1)
    return round(number / unit) * unit  # Python rounds halves to even


def single(number):
    return rounded(number, 24) if number else number


def expected(block):
    """Codes, exponents and scale, and the values, of a block of fractions."""
    sizes = [abs(number) for number in block]
    largest = max(sizes)
    scale = rounded(single(largest * Fraction(73, 512)), 8) if largest else Fraction(0)
    scale = rounded(min(max(scale, Fraction(1, 2**48)), Fraction(49152)), 3)
    reciprocal = rounded(single(1 / scale), 8)
    eights = [int(single(max(sizes[8 * i : 8 * i + 8]) * reciprocal) >= 4) for i in range(8)]
    halves = [reciprocal / (1 << eights[i // 2]) for i in range(16)]
    fours = [int(single(max(sizes[4 * i : 4 * i + 4]) * halves[i]) >= 2) for i in range(16)]
    quarters = [single(sizes[i] * halves[i // 4] / (1 << fours[i // 4])) * 4 for i in range(64)]
    magnitudes = [min(floor(single(quarter + Fraction(1, 2))), 7) for quarter in quarters]
    values = [
        prod((-1 if block[i] < 0 else 1, Fraction(magnitudes[i], 4), 1 << fours[i // 4], 1 << eights[i // 8], scale))
        for i in range(64)
    ]
    return magnitudes, fours, eights, scale, values


def blocks(count):
    """Blocks of any size, of few bits (ties), near the limits of the scale, and of zeros; as float32."""
    rng = generator("hifloat4")
    x = rng.normal(size=(count, 64)) * np.exp2(rng.integers(-3, 4, (count, 64)))
    coarse = rng.integers(-56, 57, (count, 64)) / 8
    x = np.where(rng.integers(0, 3, (count, 1)) == 0, coarse, x)
    x *= np.exp2(np.where(rng.integers(0, 2, count) == 0, rng.integers(-60, 20, count), 0))[:, np.newaxis]
    x[::17] = 0
    x[5::17, 1:] = 0
    return x.astype(np.float32)


@pytest.mark.parametrize("count", [200, exhaustive(20_000)])
def test_blocks_by_their_rules(count):
    x = blocks(count)
    found = golden.quantize_hifloat4(x)
    values, scales = golden.dequantize_hifloat4(*found), scale_format().decode(found.scales)
    for place, row in enumerate(x):
        magnitudes, fours, eights, scale, right = expected([Fraction(float(number)) for number in row])
        assert (found.codes[place] & 7).tolist() == magnitudes
        assert ((found.codes[place] & 8) != 0).tolist() == np.signbit(row).tolist()
        assert int(found.fours[place]) == sum(bit << i for i, bit in enumerate(fours))
        assert int(found.eights[place]) == sum(bit << i for i, bit in enumerate(eights))
        assert Fraction(float(scales[place])) == scale
        assert [Fraction(float(value)) for value in values[place]] == right


def test_scales_are_those_of_e6m2():
    values = scale_format().values
    assert values[:-1].tolist() == [(1 + (code & 3) / 4) * 2.0 ** ((code >> 2) - 48) for code in range(255)]
    assert np.isnan(values[255])


@pytest.mark.parametrize("count", [300, exhaustive(100_000)])
def test_dot_products_are_exact(count):
    rng = generator("dot of hifloat4")
    a, b = (
        HiFloat4(
            rng.integers(0, 16, (count, 64)).astype(np.uint8),
            rng.integers(0, 1 << 16, count).astype(np.uint16),
            rng.integers(0, 256, count).astype(np.uint8),
            rng.integers(0, 255, count).astype(np.uint8),
        )
        for _ in range(2)
    )
    largest = HiFloat4(*(np.full(shape, value) for shape, value in (((1, 64), 7), (1, 65535), (1, 255), (1, 254))))
    for left, right in ((a, b), (a, a), (largest, largest)):
        sums = golden.dot_hifloat4(left, right)
        assert sums.dtype == np.float32
        for x, y, total in zip(
            golden.dequantize_hifloat4(*left), golden.dequantize_hifloat4(*right), sums.tolist(), strict=True
        ):
            exact = sum(Fraction(p) * Fraction(q) for p, q in zip(x.tolist(), y.tolist(), strict=True))
            assert Fraction(total) == exact


def test_specials_spoil_their_block_only():
    x = np.ones((3, 64), np.float32)
    x[0, 5], x[2, 63] = np.nan, -np.inf
    found = golden.quantize_hifloat4(x)
    assert found.scales.tolist() == [0xFF, found.scales[1], 0xFF]
    assert not found.codes[[0, 2]].any()
    assert np.isnan(golden.dequantize_hifloat4(*found)[[0, 2]]).all()
    assert np.isnan(golden.dot_hifloat4(found, found)).tolist() == [True, False, True]


def test_16_bit_floats_are_the_same_numbers():
    x = np.clip(blocks(50), -60000, 60000).astype(np.float16)
    for ours, theirs in zip(golden.quantize_hifloat4(x), golden.quantize_hifloat4(x.astype(np.float32)), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("kind", [np.uint64, np.int8, np.int64])
def test_codes_may_be_of_any_integer_type(kind):
    found = golden.quantize_hifloat4(blocks(3))
    others = golden.HiFloat4(found.codes.astype(kind), *(field.astype(np.uint64) for field in found[1:]))
    np.testing.assert_array_equal(golden.dequantize_hifloat4(*others), golden.dequantize_hifloat4(*found))
    np.testing.assert_array_equal(golden.dot_hifloat4(others, found), golden.dot_hifloat4(found, found))


def test_refusals():
    with pytest.raises(golden.Refusal, match=r"^x must have a last axis with 64 elements$"):
        golden.quantize_hifloat4(np.zeros(32, np.float32))
    with pytest.raises(golden.Refusal, match=r"^codes must lie in 0 to 0xf, not 0x10$"):
        golden.dequantize_hifloat4(np.full(64, 16), 0, 0, 0)
    with pytest.raises(golden.Refusal, match=r"^codes must have a last axis with 64 elements$"):
        golden.dequantize_hifloat4(np.zeros(63, np.uint8), 0, 0, 0)
