"""Shift registers: their periods, proved or counted; the recurrence of their bits; what they do to a rounding."""

import math
from collections import deque

import numpy as np
import pytest

import golden
from golden.lfsr import EXPONENTS, Lfsr

PRIMES = {
    16: (3, 5, 17, 257),
    24: (3, 3, 5, 7, 13, 17, 241),
    32: (3, 5, 17, 257, 65537),
    48: (3, 3, 5, 7, 13, 17, 97, 241, 257, 673),
    64: (3, 5, 17, 257, 641, 65537, 6700417),
}
"""Factors of the number of states but 0."""


def power(width, exponent):
    """A power of x modulo the polynomial, whose coefficients are the bits of an integer."""
    polynomial = 1 | sum(1 << e for e in EXPONENTS[width])

    def product(a, b):
        total = 0
        while b:
            total ^= a if b & 1 else 0
            a, b = a << 1, b >> 1
            a ^= polynomial if a >> width else 0
        return total

    result, factor = 1, 2
    while exponent:
        result = product(result, factor) if exponent & 1 else result
        factor, exponent = product(factor, factor), exponent >> 1
    return result


@pytest.mark.parametrize("width", EXPONENTS)
def test_every_polynomial_is_primitive(width):
    """The order of x is 2**width - 1: it divides that, and no quotient by a prime."""
    states = (1 << width) - 1
    assert math.prod(PRIMES[width]) == states
    assert all(p % d for p in PRIMES[width] for d in range(2, math.isqrt(p) + 1))
    assert power(width, states) == 1
    assert all(power(width, states // p) != 1 for p in PRIMES[width])


@pytest.mark.parametrize("width", EXPONENTS)
@pytest.mark.parametrize("word_bits", [1, 14, 16])
def test_each_bit_is_the_exclusive_or_of_those_before_it(width, word_bits):
    seed = (1 << width) - 3
    words = Lfsr(width, word_bits).words(seed, 40 * 16 // word_bits).tolist()
    bits = [word >> place & 1 for word in words for place in range(word_bits)]
    before = deque(bits[:width], width)
    assert len(bits) > 4 * width
    for bit in bits[width:]:
        assert bit == sum(before[-e] for e in EXPONENTS[width]) % 2
        before.append(bit)


@pytest.mark.parametrize(("word_bits", "period"), [(1, 65535), (14, 65535), (15, 4369), (16, 65535)])
def test_a_whole_period_is_counted(word_bits, period):
    unit = Lfsr(16, word_bits)
    assert unit.period == period
    words = unit.words(0x1234, period + 2)
    np.testing.assert_array_equal(words[period:], words[:2])
    if word_bits in (1, 14, 16):
        counts = np.bincount(words[:period], minlength=1 << word_bits)
        assert (counts[1:] == 1 << 16 - word_bits).all()
        assert counts[0] == (1 << 16 - word_bits) - 1


@pytest.mark.parametrize("width", EXPONENTS)
def test_a_thousand_seeds_show_no_bias(width):
    """Numbers are rounded up as often as they should be, within four standard errors."""
    rng = np.random.default_rng(3)
    seeds = rng.integers(1, (1 << min(width, 62)) - 1, 1000)
    words = Lfsr(width, 16).words(seeds, 20)
    x = np.float32([1.0 + place / 1024 for place in range(1, 128, 7)] * 2)[:20]
    bits = np.broadcast_to(x.view(np.uint32), words.shape)
    up = golden.get("hif8").encode(bits, rounding="stochastic", random=words) != golden.get("hif8").encode(bits[0, 0])
    share = (x - 1) * 8
    error = up.mean(axis=0) - share
    assert (np.abs(error) <= 4 * np.sqrt(share * (1 - share) / len(seeds))).all()
    assert abs(error.sum()) <= 4 * np.sqrt(np.sum(share * (1 - share)) / len(seeds))


BAD = [
    (lambda: Lfsr(20), "width must be 16, 24, 32, 48, 64, not 20"),
    (lambda: Lfsr(16, 17), "word_bits must be an integer from 1 to 16, not 17"),
    (lambda: Lfsr().words(0, 1), "seed must lie in 1 to 2**32 - 1, not 0"),
    (lambda: Lfsr(16).words([1, 65536], 1), "seed must lie in 1 to 2**16 - 1, not 65536"),
    (lambda: Lfsr().words(1.5, 1), "seed must be integers, not float64"),
]


@pytest.mark.parametrize(("call", "sentence"), BAD)
def test_bad_input_gets_one_sentence(call, sentence):
    with pytest.raises(golden.Refusal) as refused:
        call()
    assert str(refused.value) == sentence
