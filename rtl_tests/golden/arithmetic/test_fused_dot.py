"""The fused dot product: one product equals a MAC, several equal the rounded sum of fractions; refusals."""

from fractions import Fraction
from math import isfinite, isinf

import numpy as np
import pytest

import golden
from golden.arithmetic.fixed import add, rounded_to_odd
from golden.arithmetic.options import SumOptions
from hwgen.reference import vectors
from rtl_tests.support.blocks import generator

FORMATS = ("hif8", "e5m2b1", "ocp_e4m3", "gc_1_0_7_b0", "ibm_fp9_1_5_3")


@pytest.mark.parametrize("accumulator", golden.WIDE)
@pytest.mark.parametrize("name", FORMATS)
def test_one_product_equals_a_mac(name, accumulator):
    fmt, rng = golden.get(name), generator("fused", name, accumulator)
    a, b = rng.integers(0, 1 << fmt.width, (2, 20000)).astype(np.uint64)
    acc = vectors.accumulators(SumOptions.of(fmt, accumulator=accumulator), a, b, rng)
    np.testing.assert_array_equal(
        golden.fused_dot(a[:, None], b[:, None], acc, name, None, accumulator),
        golden.mac(a, b, acc, name, None, accumulator),
    )


def nearest_even(value, precision, lowest):
    """A fraction rounded to ``precision`` bits, or to a multiple of ``2**lowest`` if that is coarser."""
    if value == 0:
        return value
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    exponent -= abs(value) < Fraction(2) ** exponent
    unit = Fraction(2) ** max(exponent - precision + 1, lowest)
    return round(value / unit) * unit


@pytest.mark.parametrize("lanes", [2, 3, 8])
@pytest.mark.parametrize("name", FORMATS)
def test_the_exact_sum_is_rounded_once(name, lanes):
    fmt, half, rng = golden.get(name), golden.get("binary16"), generator("fractions", name, str(lanes))
    finite = np.flatnonzero(np.isfinite(fmt.values))
    a, b = rng.choice(finite, (2, 400, lanes)).astype(np.uint64)
    opposite = b[:, 0] ^ np.uint64(fmt.sign_bit)
    cancel = (np.arange(400) % 2 == 0) & np.isfinite(fmt.values[opposite])  # then small addends matter
    a[:, 1], b[:, 1] = np.where(cancel, a[:, 0], a[:, 1]), np.where(cancel, opposite, b[:, 1])
    acc = rng.integers(0, 0x7C00, 400).astype(np.uint16) | (rng.integers(0, 2, 400) << 15).astype(np.uint16)
    sums, before = half.decode(golden.fused_dot(a, b, acc, name)).tolist(), half.decode(acc).tolist()
    compared = 0
    for row in range(400):
        pairs = zip(fmt.values[a[row]].tolist(), fmt.values[b[row]].tolist(), strict=True)
        expected = nearest_even(Fraction(before[row]) + sum(Fraction(x) * Fraction(y) for x, y in pairs), 11, -24)
        if abs(expected) > 65504:
            assert isinf(sums[row])
            continue
        compared += 1
        assert isfinite(sums[row])
        assert Fraction(sums[row]) == expected
    assert compared > 20


def test_specials():
    inf, nan, one = 0x6F, 0x80, 0x08  # hif8
    minus_inf = 0xEF

    def bits(a, b, acc=0, accumulator="binary16"):
        return int(golden.fused_dot(a, b, acc, "hif8", None, accumulator))

    assert bits([inf, one], [one, one]) == 0x7C00
    assert bits([inf, minus_inf], [one, one]) == 0x7E00
    assert bits([inf, one], [0, one]) == 0x7E00
    assert bits([nan, one], [one, one]) == 0x7E00
    assert bits([minus_inf, one], [one, one], 0x7C00) == 0x7E00
    assert bits([0, 0], [one, one], 0x8000) == 0
    assert bits([minus_inf, inf], [one, one], 0, "dlfloat16") == 0xFFFF  # the sign of the first lane
    assert bits([inf, one], [one, one], 0xFFFF, "dlfloat16") == 0xFFFF  # the sign of the accumulator


def test_exact_accumulators_take_all_lanes():
    rng = generator("exact lanes")
    a, b = rng.integers(0, 256, (2, 50, 4)).astype(np.uint8)
    unit = golden.ExactAccumulator(golden.get("hif8"), golden.get("hif8"), 1024)
    zeros = unit.zeros((50,))
    np.testing.assert_array_equal(
        golden.fused_dot(a, b, zeros, "hif8", None, "exact"), golden.dot(a, b, "hif8", None, "exact", 1024)
    )


def test_rounding_to_odd():
    rng = generator("odd")
    for _ in range(300):
        bits = int(rng.integers(1, 190))
        value = int.from_bytes(rng.bytes(24), "little") >> (192 - bits)
        value = -value if rng.integers(0, 2) else value
        state = np.array([value >> 64 * limb & (1 << 64) - 1 for limb in range(3)], np.uint64)
        drop = max(abs(value).bit_length() - 53, 0)
        kept = abs(value) >> drop
        expected = (kept | (kept << drop != abs(value))) << drop
        rounded = Fraction(float(rounded_to_odd(state, -70))) * Fraction(2) ** 70
        assert rounded == (expected if value >= 0 else -expected)


def test_adding_shifts_and_wraps():
    state = np.zeros(2, np.uint64)
    assert add(state, np.array(3, np.uint64), np.array(63), np.array(False)).tolist() == [1 << 63, 1]
    assert add(state, np.array(1, np.uint64), np.array(0), np.array(True)).tolist() == [(1 << 64) - 1] * 2


def test_no_lanes_are_refused():
    with pytest.raises(ValueError, match=r"^a and b must have a last axis with at least one product$"):
        golden.fused_dot(np.zeros((3, 0), np.uint8), np.zeros((3, 0), np.uint8), np.zeros(3, np.uint16))
