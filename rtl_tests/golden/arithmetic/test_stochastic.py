"""Accumulators that round stochastically, in fractions and beside the encoders; sums in chunks; no accumulator."""

from fractions import Fraction

import numpy as np
import pytest

import golden
from golden import Flag
from golden.arithmetic.options import STOCHASTIC
from rtl_tests.golden.arithmetic.test_mac import NAN, SHAPE, accumulators_near, nearest
from rtl_tests.support.blocks import generator
from rtl_tests.support.boundaries import INFINITE, SIGN
from rtl_tests.support.paper_tables import power, wide_values

STOCHASTICALLY = {"accumulator_rounding": "stochastic"}


def position(target, x):
    """The code of the lower neighbour of a positive fraction, and the position above it, from 0 to 1."""
    f, bias = SHAPE[target]
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    exponent -= x < power(exponent)
    if target == "dlfloat16":
        smallest = power(-bias) * (1 + power(-f))
        if x < smallest:
            return 0, x / smallest
        code = ((exponent + bias) << f) - (1 << f)
    else:
        exponent = max(exponent, 1 - bias)
        code = exponent + bias - 1 << f
    places = x / power(exponent - f)
    return code + places.__floor__(), places - places.__floor__()


def stochastic(target, x, word, random_bits):
    """Magnitude bits of a positive fraction: away from zero iff floor(2^R t) + r >= 2^R."""
    code, t = position(target, x)
    up = (t * 2**random_bits).__floor__() + word >= 2**random_bits
    return min(code + up, NAN[target] if target == "dlfloat16" else INFINITE[target])


def stimuli(target, name, lanes, count, random_bits, rng):
    """Codes, accumulators, exact sums as fractions or None, and words: any, the ends, and both sides of the step."""
    fmt = golden.get(name)
    finite = np.flatnonzero(np.isfinite(fmt.values))
    a, b = rng.choice(finite if rng.random() < 0.8 else np.arange(256), (2, count, lanes)).astype(np.uint8)
    with np.errstate(invalid="ignore"):
        products = fmt.values[a] * fmt.values[b]
        acc = accumulators_near(rng, target, products.sum(axis=-1))
    values, words, sums = wide_values(target, acc), rng.integers(0, 1 << random_bits, count), []
    for row in range(count):
        addends = [*products[row].tolist(), float(values[row])]
        exact = sum(map(Fraction, addends)) if np.isfinite(addends).all() else None
        sums.append(exact)
        if exact and row % 4:
            step = 2**random_bits - (position(target, abs(exact))[1] * 2**random_bits).__floor__()
            words[row] = min(max((step, step - 1, 0)[row % 4 - 1], 0), 2**random_bits - 1)
    return a, b, acc, sums, words


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("target", STOCHASTIC)
def test_the_definition(target, lanes):
    rng, moved = generator("stochastic", target, str(lanes)), 0
    for name in ("hif8", "ocp_e4m3", "ocp_e5m2", "gc_1_5_2_b33", "e5m2b4"):
        for random_bits in (1, 4, 16, 32):
            a, b, acc, sums, words = stimuli(target, name, lanes, 300, random_bits, rng)
            options = {"accumulator": target, **STOCHASTICALLY, "random": words, "random_bits": random_bits}
            bits, flags = golden.fused_dot_with_flags(a, b, acc, name, **options)
            plain, plain_flags = golden.fused_dot_with_flags(a, b, acc, name, accumulator=target)
            for row, exact in enumerate(sums):
                if not exact:  # specials and zeros are those of the other rounding
                    assert (bits[row], flags[row]) == (plain[row], plain_flags[row])
                    continue
                expected = stochastic(target, abs(exact), int(words[row]), random_bits) | (exact < 0) * SIGN[target]
                assert bits[row] == expected, (name, random_bits, a[row], b[row], acc[row], words[row])
                assert bool(flags[row] & Flag.INEXACT) == (wide_values(target, bits[row : row + 1])[0] != exact)
                moved += expected != plain[row]
    assert moved > 500


@pytest.mark.parametrize("target", STOCHASTIC)
def test_all_words_of_a_sum(target):
    """As many of the 2^R words round up as the position has units of 2^-R."""
    fmt, random_bits = golden.get("hif8"), 9
    codes, words = np.array([[0x0B, 0x7E, 0x31]]), np.arange(1 << random_bits)
    for acc in (0, 1, SHAPE[target][1] << SHAPE[target][0], 0x123):
        exact = sum(Fraction(v) ** 2 for v in fmt.values[codes[0]]) + Fraction(wide_values(target, np.array([acc]))[0])
        code, t = position(target, exact)
        options = {**STOCHASTICALLY, "random": words, "random_bits": random_bits}
        bits = golden.fused_dot(codes, codes, np.full(words.size, acc), "hif8", accumulator=target, **options)
        assert set(bits.tolist()) <= {code, code + 1}
        assert (bits == code + 1).sum() == (t * 2**random_bits).__floor__()


@pytest.mark.parametrize("target", STOCHASTIC)
def test_a_sum_is_rounded_as_encoders_round(target):
    """Sums with few bits are numbers of binary32, which an encoder takes."""
    rng = generator("stochastic encoder", target)
    a, b = rng.integers(0, 0x7F, (2, 5000), np.uint8)
    words = rng.integers(0, 1 << 12, 5000)
    options = {"random": words, "random_bits": 12}
    products = golden.mac(a, b, None, "ocp_e4m3", accumulator="binary32")
    expected = golden.get(target).encode(products, "binary32", "stochastic", **options)
    ours = golden.mac(a, b, None, "ocp_e4m3", accumulator=target, **STOCHASTICALLY, **options)
    np.testing.assert_array_equal(ours, expected)
    np.testing.assert_array_equal(
        golden.mac_with_flags(a, b, None, "ocp_e4m3", accumulator=target, **STOCHASTICALLY, **options)[0], expected
    )


@pytest.mark.parametrize("zero", ["ieee", "positive"])
@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("target", STOCHASTIC)
def test_matrix_products_take_a_word_for_each_rounding(target, lanes, zero):
    rng = generator("stochastic matmul", target)
    a, b = rng.integers(0, 256, (3, 10), np.uint8), rng.integers(0, 256, (10, 2), np.uint8)
    steps = -(-10 // lanes)
    words = rng.integers(0, 1 << 16, (3, 2, steps))
    state, flags = np.zeros((3, 2), np.uint16), np.zeros((3, 2), np.uint8)
    for step in range(steps):
        some = slice(step * lanes, step * lanes + lanes)
        options = {**STOCHASTICALLY, "random": words[..., step], "zero": zero}
        codes = a[:, None, some], b[some].T[None]
        state, further = golden.fused_dot_with_flags(*codes, state, "ocp_e5m2", None, target, **options)
        flags |= further
    options = {"lanes": lanes, **STOCHASTICALLY, "random": words, "zero": zero}
    np.testing.assert_array_equal(golden.matmul(a, b, "ocp_e5m2", None, target, **options), state)
    both = golden.matmul(a, b, "ocp_e5m2", None, target, flags=True, **options)
    np.testing.assert_array_equal(both, (state, flags))


# -- chunks -----------------------------------------------------------------------------------------------------------


def added(target, x, y, word=None):
    """Bits of the sum of two bits, rounded once."""
    (u, v), sign = wide_values(target, np.array([x, y])), SIGN[target]
    if target == "dlfloat16" and (np.isnan(u) or np.isnan(v)):
        return NAN[target] | ((x if np.isnan(u) else y) & sign)
    if not np.isfinite([u, v]).all():
        with np.errstate(invalid="ignore"):
            total = u + v
        return NAN[target] if np.isnan(total) else INFINITE[target] | (total < 0) * sign
    exact = Fraction(u) + Fraction(v)
    if not exact:
        return sign if x == y == sign else 0
    rounded = nearest(target, abs(exact)) if word is None else stochastic(target, abs(exact), word, 16)
    return rounded | (exact < 0) * sign


@pytest.mark.parametrize("small", [-1, 1 << 62])
@pytest.mark.parametrize("accumulator", [*golden.WIDE, "aligned13", "rvbna"])
def test_chunks(accumulator, small, monkeypatch):
    """Each chunk is a matrix product from +0, the last one shorter; the results are added in the state's format."""
    monkeypatch.setattr("golden.arithmetic.matmul.SMALL", small)
    rng, target = generator("chunks", accumulator), accumulator if accumulator in golden.WIDE else "binary32"
    for name, lanes, chunk in (("hif8", 1, 4), ("ocp_e5m2", 4, 8), ("e5m2b4", 8, 8), ("ocp_e4m3", 2, 64)):
        a, b = rng.integers(0, 256, (6, 22), np.uint8), rng.integers(0, 256, (22, 7), np.uint8)
        a[1:] = np.where(np.isfinite(golden.get(name).values), np.arange(256), 1)[a[1:]]
        acc = rng.integers(0, 1 << SHAPE[target][0] + 5, (6, 7)).astype(golden.get(target).code_dtype)
        expected = acc
        for start in range(0, 22, chunk):
            some = slice(start, start + chunk)
            sums = golden.matmul(a[:, some], b[some], name, None, accumulator, lanes=lanes)
            pairs = zip(expected.ravel().tolist(), sums.ravel().tolist(), strict=True)
            expected = np.array([added(target, *pair) for pair in pairs]).reshape(6, 7)
        ours = golden.matmul(a, b, name, None, accumulator, acc, lanes=lanes, chunk=chunk)
        np.testing.assert_array_equal(ours, expected, f"{name} {lanes} {chunk}")
        with_flags, flags = golden.matmul(a, b, name, None, accumulator, acc, lanes=lanes, chunk=chunk, flags=True)
        np.testing.assert_array_equal(with_flags, expected)
        assert flags.any()


def test_chunks_with_stochastic_rounding():
    """A word for each step of a chunk, then one for its addition."""
    rng = generator("stochastic chunks")
    a, b = rng.integers(0, 0x78, (2, 11), np.uint8), rng.integers(0, 0x78, (11, 3), np.uint8)
    words, state, used = rng.integers(0, 1 << 16, (2, 3, 6 + 3)), np.zeros((2, 3), np.int64), 0
    options = {"lanes": 2, **STOCHASTICALLY}
    for start in range(0, 11, 4):
        some, steps = slice(start, start + 4), -(-min(11 - start, 4) // 2)
        of_steps = words[..., used : used + steps]
        sums = golden.matmul(a[:, some], b[some], "ocp_e4m3", random=of_steps, **options)
        triples = zip(state.ravel(), sums.ravel(), words[..., used + steps].ravel(), strict=True)
        state = np.array([added("binary16", *map(int, triple)) for triple in triples]).reshape(2, 3)
        used += steps + 1
    assert used == words.shape[-1]
    np.testing.assert_array_equal(golden.matmul(a, b, "ocp_e4m3", chunk=4, random=words, **options), state)


@pytest.mark.parametrize("shape", [(0, 5, 3), (2, 0, 3), (2, 5, 0)])
def test_empty_products(shape):
    rows, depth, columns = shape
    a, b = np.zeros((rows, depth), np.uint8), np.zeros((depth, columns), np.uint8)
    words = np.zeros((rows, columns, 5 + 3 if depth else 0), np.uint8)
    ours = golden.matmul(a, b, "hif8", chunk=2, random=words, **STOCHASTICALLY)
    assert ours.shape == (rows, columns)


def test_chunks_of_blocks_with_scales():
    rng = generator("chunks of blocks")
    a, b = rng.integers(0, 16, (3, 22), np.uint8), rng.integers(0, 16, (22, 2), np.uint8)
    a_scale, b_scale = rng.integers(120, 130, (3, 6)), rng.integers(120, 130, (6, 2))
    options = {"accumulator": "binary16", "lanes": 2, "block": 4}
    expected = np.zeros((3, 2), np.uint16)
    for first in range(0, 6, 2):
        some, blocks = slice(4 * first, 4 * first + 8), slice(first, first + 2)
        scales = {"a_scale": a_scale[:, blocks], "b_scale": b_scale[blocks]}
        sums = golden.matmul(a[:, some], b[some], "e2m1", **options, **scales)
        expected = np.vectorize(lambda x, y: added("binary16", int(x), int(y)))(expected, sums)
    scales = {"a_scale": a_scale, "b_scale": b_scale}
    np.testing.assert_array_equal(golden.matmul(a, b, "e2m1", chunk=8, **options, **scales), expected)


def test_chunks_keep_small_addends():
    """4,096 ones: a chain in binary16 stops at 2,048, chunks of 64 lose nothing (Wang et al., 2018)."""
    ones = np.full((1, 4096), 0x38, np.uint8)
    plain, chunked = (golden.matmul(ones, ones.T, "ocp_e4m3", chunk=chunk) for chunk in (None, 64))
    assert plain.astype(np.uint16).view(np.float16) == 2048
    assert chunked.astype(np.uint16).view(np.float16) == 4096


# -- no accumulator ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("accumulator", [*golden.WIDE, "exact", "aligned13", "rvbna"])
def test_sums_without_an_accumulator(accumulator):
    """They are the sums with +0, but for zeros: products that are all -0 leave -0."""
    rng = generator("no accumulator", accumulator)
    a, b = rng.integers(0, 256, (2, 500, 4), np.uint8)
    zero = golden.ExactAccumulator("ocp_e5m2", "ocp_e5m2", 1024).zeros() if accumulator == "exact" else 0
    for function in (golden.fused_dot, lambda *codes, **some: golden.fused_dot_with_flags(*codes, **some)[0]):
        ours, plain = (function(a, b, acc, "ocp_e5m2", accumulator=accumulator) for acc in (None, zero))
        np.testing.assert_array_equal(ours, plain)
    minus = golden.fused_dot([0x80] * 4, [0x3C] * 4, None, "ocp_e5m2", accumulator=accumulator)
    if accumulator in golden.WIDE:
        assert minus == SIGN[accumulator]
    else:
        assert not minus.any()


# -- refusals ---------------------------------------------------------------------------------------------------------

ONE = ([[0]], [[0]], "hif8")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"accumulator_rounding": "nearest"},
            "accumulator_rounding must be one of stochastic, toward_zero, not 'nearest'",
        ),
        (
            {**STOCHASTICALLY, "accumulator": "binary32", "random": [[[0]]]},
            "accumulator_rounding needs an accumulator in binary16, bfloat16 or dlfloat16, not 'binary32'",
        ),
        (STOCHASTICALLY, "random must be given with accumulator_rounding 'stochastic', in the shape (1, 1, 1)"),
        ({"random": [[[0]]]}, "random must be given with accumulator_rounding 'stochastic' only"),
        ({"random": 0, "accumulator": "exact"}, "random must be given with accumulator_rounding 'stochastic' only"),
        ({**STOCHASTICALLY, "random": [0]}, "random must have the shape (1, 1, 1), not (1,)"),
        ({**STOCHASTICALLY, "random": [[[4]]], "random_bits": 2}, "random must lie in 0 to 0x3, not 0x4"),
        ({**STOCHASTICALLY, "random_bits": 33}, "random_bits must be an integer from 1 to 32, not 33"),
        ({"chunk": 0}, "chunk must be an integer from 1 to 16777216, not 0"),
        ({"chunk": 3, "lanes": 2}, "chunk must be a multiple of the 2 lanes, not 3"),
        ({"chunk": 3, "accumulator": "exact"}, "chunk needs an accumulator that rounds, not 'exact'"),
        (
            {"chunk": 2, "block": 4, "a_scale": [[1]], "b_scale": [[1]]},
            "chunk must be a multiple of the 4 products of a block, not 2",
        ),
    ],
)
def test_refusals(options, sentence):
    with pytest.raises(golden.Refusal) as caught:
        golden.matmul(*ONE, **options)
    assert str(caught.value) == sentence


def test_words_of_sums():
    with pytest.raises(golden.BadValue, match=r"^random must have the shape \(2,\), not \(1,\)$"):
        golden.mac([0, 1], 0, 0, **STOCHASTICALLY, random=[0])
    with pytest.raises(golden.BadValue, match=r"^random must be given with accumulator_rounding 'stochastic' only$"):
        golden.fused_dot([0], [0], None, accumulator="exact", random=0)
