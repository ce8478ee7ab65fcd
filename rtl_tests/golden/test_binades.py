"""Stochastic roundings by the tables of binades in golden.steps, against their definition in golden.rounding."""

import numpy as np
import pytest

import golden
from golden import steps
from golden.options import options
from golden.rounding import encode_directly
from hwgen.reference import vectors
from rtl_tests.support.roundings import STOCHASTIC

FORMATS = (
    "hif8", "e5m2b1", "e5m3_nosub", "ocp_e4m3", "gc_1_0_7_b0", "ibm_1_4_3", "e2m1", "e8m0", "ue5m3", "Binary8p1uf",
    "Binary6p3ue", "dlfloat16",
)  # fmt: skip
"""A prefix code, a supernormal, formats without subnormals, of two's complement, without a sign and without zero."""


def inputs(name, rng):
    """Bits at all boundaries of the format, of dlfloat16 at some, with both signs and specials; and random bits."""
    with np.errstate(over="ignore"):  # the point past the largest value of e8m0
        bits = vectors.boundaries(golden.get(name))
    if bits.size > 10_000:
        bits = rng.choice(bits, 10_000, replace=False)
    return np.concatenate([bits, rng.integers(0, 1 << 32, 5000, dtype=np.uint32)])


def drawn(rng, random_bits, size):
    """Random words; a quarter of them are the extremes, which decide at neighbours."""
    words = rng.integers(0, 1 << random_bits, size)
    words[: size // 4] = rng.choice([0, (1 << random_bits) - 1], size // 4)
    return rng.permutation(words)


def differing(fmt, bits, chosen, words, random_bits):
    """How many codes, and how many marks of numbers past the largest, are not those of the definition."""
    own, expected = (
        encode(fmt, bits, chosen, words, random_bits, marked=True).astype(np.int64)
        for encode in (steps.by_binades, encode_directly)
    )
    wrong, mask = own ^ expected, (1 << fmt.width) - 1
    return np.count_nonzero(wrong & mask), np.count_nonzero(wrong & ~mask)


@pytest.mark.parametrize("random_bits", [1, 8, 16, 32])
@pytest.mark.parametrize("name", FORMATS)
def test_codes_and_marks_are_those_of_the_definition(name, random_bits):
    fmt, rng = golden.get(name), np.random.default_rng([*name.encode(), random_bits])
    bits = inputs(name, rng)
    words = drawn(rng, random_bits, bits.size)
    for rounding in STOCHASTIC:
        for overflow in fmt.overflows:
            chosen = options(fmt, "binary32", rounding, overflow, nan_to_zero=fmt.has_zero and overflow == "saturate")
            assert differing(fmt, bits, chosen, words, random_bits) == (0, 0), (rounding, overflow)
        codes = steps.by_binades(fmt, bits, chosen, words, random_bits)
        np.testing.assert_array_equal(codes, encode_directly(fmt, bits, chosen, words, random_bits))
        assert codes.dtype == fmt.code_dtype


def test_some_numbers_are_looked_up_and_some_rounded_by_definition(monkeypatch):
    """Without the table's escape, the definition would be compared with itself."""
    fmt, sizes = golden.get("hif8"), []
    bits = inputs("hif8", np.random.default_rng(1))

    def counted(fmt, raw, *choices, **options):
        sizes.append(raw.size)
        return encode_directly(fmt, raw, *choices, **options)

    monkeypatch.setattr(steps, "encode_directly", counted)
    steps.by_binades(fmt, bits, options(fmt, "binary32", "stochastic"), np.zeros(bits.shape, np.int64), 16)
    assert 0 < sum(sizes) < bits.size // 4


@pytest.mark.parametrize("rounding", STOCHASTIC)
def test_another_word_is_found(rounding):
    fmt, rng = golden.get("ocp_e4m3"), np.random.default_rng(2)
    bits = inputs("ocp_e4m3", rng)
    words = drawn(rng, 8, bits.size)
    chosen = options(fmt, "binary32", rounding)
    own, other = steps.by_binades(fmt, bits, chosen, words, 8), encode_directly(fmt, bits, chosen, words ^ 1, 8)
    assert np.count_nonzero(own != other)


def test_shapes_and_blocks(monkeypatch):
    """Codes are the same in blocks of any size, and have the shape of the inputs."""
    fmt, rng = golden.get("e5m2b1"), np.random.default_rng(3)
    bits = rng.integers(0, 1 << 32, (7, 143), dtype=np.uint32)
    words, chosen = rng.integers(0, 1 << 16, bits.shape), options(fmt, "binary32", "stochastic_c")
    whole = steps.by_binades(fmt, bits, chosen, words, 16)
    monkeypatch.setattr(steps, "BLOCK", 10)
    np.testing.assert_array_equal(steps.by_binades(fmt, bits, chosen, words, 16), whole)
    assert whole.shape == bits.shape
