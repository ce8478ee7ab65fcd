"""Every rounding and overflow rule of every format, against its definition in exact fractions.

The grid comes from the papers' equations (:mod:`rtl_tests.support.paper_tables`), not from golden. Between each two
neighbours, the eighths of their distance are probed with source values at, just below and just above each eighth.
Codes' values never fall as the source rises, which is tested for all values of the 16-bit sources. So the two sides of
each boundary determine all inputs between boundaries.
"""

import inspect
import re

import ml_dtypes
import numpy as np
import pytest

import golden
from rtl_tests.support import paper_tables, roundings
from rtl_tests.support.boundaries import INFINITE, SIGN, around, numbers, probes
from rtl_tests.support.paper_tables import CATALOGUE, definition, wide_values
from rtl_tests.support.roundings import (
    COMMON,
    DETERMINISTIC,
    OVERFLOWED,
    STOCHASTIC,
    finished,
    grid,
    negated,
    rounded,
)  # fmt: skip

TARGETS = (*CATALOGUE, "dlfloat16")
VARIED = ("hif8", "e5m2b1", "e5m3_nosub", "ocp_e4m3", "gc_1_0_7_b0", "ibm_1_4_3", "e8m0", "ue5m3")
"""Formats of all kinds."""


def checked(name, source="binary32"):
    """All roundings without random bits; of the directed ones and to_odd fewer formats from each source."""
    extra = definition(name).extra_rounding
    usual = DETERMINISTIC if source == "binary32" or name in VARIED else COMMON
    return [*usual, *(["mptorch"] if extra == "mptorch" else [])]


@pytest.mark.parametrize("source", golden.catalog.WIDE)
@pytest.mark.parametrize("name", TARGETS)
def test_each_rounding_at_each_side_of_every_boundary(name, source):
    bits = probes(name, source)
    xs, d = numbers(source, bits), definition(name)
    for rounding in checked(name, source):
        magnitudes = [rounded(name, x, rounding) for x in xs]
        expected = [finished(name, magnitude, rounding, d.overflows[0]) for magnitude in magnitudes]
        codes = golden.get(name).encode(bits, source, rounding)
        np.testing.assert_array_equal(codes, expected, err_msg=f"{name} from {source}, {rounding}")
        default = golden.get(name).encode(bits, source)
        if rounding == d.default_rounding:
            np.testing.assert_array_equal(codes, default)


@pytest.mark.parametrize("name", [*VARIED, "ocp_e5m2", "e2m1", "ue4m3", "dlfloat16"])
def test_each_rounding_of_negative_numbers(name):
    source = "binary32" if name in ("e8m0", "dlfloat16") else "binary16"
    bits = probes(name, source)
    xs, d = numbers(source, bits), definition(name)
    for rounding in checked(name):
        magnitudes = [rounded(name, x, rounding, negative=True) for x in xs]
        for overflow in d.overflows if rounding != "mptorch" else ["infinity"]:
            expected = [finished(name, magnitude, rounding, overflow, negative=True) for magnitude in magnitudes]
            codes = golden.get(name).encode(bits | SIGN[source], source, rounding, overflow)
            np.testing.assert_array_equal(codes, expected, err_msg=f"{name}, {rounding}, {overflow}")
            code = golden.get(name).encode(INFINITE[source] | SIGN[source], source, rounding, overflow)
            assert code == finished(name, OVERFLOWED, rounding, overflow, negative=True, infinite=True)


@pytest.mark.parametrize("source", ["binary16", "bfloat16", "dlfloat16"])
@pytest.mark.parametrize("name", CATALOGUE)
def test_codes_never_fall_as_the_source_rises(name, source):
    for rounding in checked(name, source):
        overflow = "saturate" if rounding != "mptorch" else None
        codes = golden.get(name).encode(np.arange(INFINITE[source]), source, rounding, overflow)
        values = golden.get(name).decode(codes)
        assert values.size == INFINITE[source]
        assert np.all(values[1:] >= values[:-1])


@pytest.mark.parametrize("source", golden.catalog.WIDE)
@pytest.mark.parametrize("name", [name for name in TARGETS if definition(name).signed])
def test_negative_inputs_mirror_positive_ones(name, source):
    infinite = INFINITE[source]
    bits = np.arange(infinite + 1) if source != "binary32" else np.append(probes(name, source), infinite)
    fmt = golden.get(name)
    for overflow in definition(name).overflows:
        positive = fmt.encode(bits, source, overflow=overflow)
        nan = np.isnan(fmt.decode(positive)) | np.isnan(wide_values(source, bits))
        expected = negated(name, positive.astype(np.int64), nan)
        np.testing.assert_array_equal(fmt.encode(bits | SIGN[source], source, overflow=overflow), expected)


@pytest.mark.parametrize("name", TARGETS)
def test_each_overflow_rule(name):
    """Finite values around the last boundaries, and infinities, with every overflow rule of the format."""
    largest, past = grid(name)[0][-2:]
    points = [float(p) for p in (largest, (largest + past) / 2, past, 2 * past)]
    bits = around(points, "binary32")
    fmt = golden.get(name)
    for rounding in checked(name):
        magnitudes = [rounded(name, x, rounding) for x in numbers("binary32", bits)]
        for overflow in definition(name).overflows if rounding != "mptorch" else ["infinity"]:
            expected = [finished(name, magnitude, rounding, overflow) for magnitude in magnitudes]
            np.testing.assert_array_equal(fmt.encode(bits, "binary32", rounding, overflow), expected)
            for source in ("binary32", "binary16", "bfloat16"):
                code = fmt.encode(INFINITE[source], source, rounding, overflow)
                assert code == finished(name, OVERFLOWED, rounding, overflow, infinite=True)
    assert fmt.overflows == definition(name).overflows


@pytest.mark.parametrize("name", TARGETS)
def test_every_nan_becomes_the_canonical_nan_or_zero(name):
    """NaNs of both signs and many payloads; code 0 for formats without NaN and with ``nan_to_zero``."""
    fmt, canonical = golden.get(name), definition(name).canonical_nan or 0
    for source in golden.catalog.WIDE:
        payloads = INFINITE[source] + (np.arange(1, 128) if source == "bfloat16" else np.array([1, 2, 0x200, 0x3FF]))
        if source == "binary32":
            payloads = np.append(payloads, [0x7F800001, 0x7F808000, 0x7FC00000, 0x7FFFFFFF])
        if source == "dlfloat16":
            payloads = np.array([0x7FFF])
        for bits, sign in ((payloads, 0), (payloads | SIGN[source], 0x8000 if name == "dlfloat16" else 0)):
            np.testing.assert_array_equal(fmt.encode(bits, source), canonical | sign)
            if definition(name).zeros:
                np.testing.assert_array_equal(fmt.encode(bits, source, nan_to_zero=True), 0)


@pytest.mark.parametrize(
    ("name", "rounding"),
    [(name, rounding) for name in TARGETS for rounding in STOCHASTIC if rounding == "stochastic" or name in VARIED],
)
def test_stochastic_with_all_words_of_three_bits(name, rounding):
    bits = probes(name, "binary32")
    xs = numbers("binary32", bits)
    fmt = golden.get(name)
    overflow = definition(name).overflows[0]
    for word in range(8):
        expected = [finished(name, rounded(name, x, rounding, word, 3), rounding, overflow) for x in xs]
        codes = fmt.encode(bits, "binary32", rounding, random=np.full(bits.shape, word), random_bits=3)
        np.testing.assert_array_equal(codes, expected, err_msg=f"{name}, random word {word} of 3 bits")


@pytest.mark.parametrize(
    ("source", "rounding"),
    [(source, "stochastic") for source in golden.catalog.WIDE]
    + [("binary32", "stochastic_b"), ("binary32", "stochastic_c"), ("binary16", "stochastic_c")],
)
@pytest.mark.parametrize("random_bits", [1, 16, 24, 32])
def test_stochastic_words_of_every_width(source, random_bits, rounding):
    seed = 20240 + random_bits
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    for name in VARIED:
        bits = rng.choice(probes(name, source), 300)
        words = rng.integers(0, 1 << random_bits, bits.shape)
        words[:4] = 0, (1 << random_bits) - 1, 0, (1 << random_bits) - 1
        overflow = definition(name).overflows[0]
        cases = zip(numbers(source, bits), words.tolist(), strict=True)
        magnitudes = [rounded(name, x, rounding, word, random_bits) for x, word in cases]
        expected = [finished(name, magnitude, rounding, overflow) for magnitude in magnitudes]
        codes = golden.get(name).encode(bits, source, rounding, random=words, random_bits=random_bits)
        np.testing.assert_array_equal(codes, expected, err_msg=f"{name} from {source}")


def test_stochastic_takes_sixteen_random_bits_by_default():
    fmt = golden.get("hif8")
    bits = np.full(1 << 16, np.float32(1 + 1 / 8 / 3).view(np.uint32))
    codes = fmt.encode(bits, rounding="stochastic", random=np.arange(1 << 16))
    assert np.count_nonzero(codes == fmt.encode(np.float32(1.125).view(np.uint32))) == (1 << 16) // 3


def test_defaults_and_choices_are_the_specifications():
    assert golden.names() == (*CATALOGUE, *paper_tables.REFERENCES)
    for name in TARGETS:
        fmt, d = golden.get(name), definition(name)
        assert fmt.roundings[0] == d.default_rounding
        assert set(fmt.roundings) == {*DETERMINISTIC, *STOCHASTIC, d.extra_rounding} - {None}
        assert fmt.overflows == d.overflows
        assert fmt.canonical_nan == d.canonical_nan
    assert [golden.get(n).canonical_nan for n in ("binary16", "bfloat16", "binary32")] == [0x7E00, 0x7FC0, 0x7FC00000]


@pytest.mark.parametrize("target", ["binary16", "bfloat16"])
def test_sixteen_bit_targets_round_as_numpy_does(target):
    """Encoding ``binary32`` to 16-bit formats equals the casts of NumPy and ml_dtypes."""
    rng = np.random.default_rng(11)
    bits = np.concatenate(
        [rng.integers(0, 1 << 32, 200_000, dtype=np.uint32), np.arange(1 << 16, dtype=np.uint32) << 16]
    )
    near = wide_values(target, rng.integers(0, INFINITE[target], 50_000)).astype(np.float32).view(np.uint32)
    bits = np.concatenate([bits, near, near + np.uint32(1 << 12), near + np.uint32(1 << 15), near - np.uint32(1)])
    bits = bits[(bits & 0x7FFFFFFF) <= INFINITE["binary32"]]
    dtype = np.float16 if target == "binary16" else ml_dtypes.bfloat16
    with np.errstate(over="ignore", under="ignore"):
        theirs = bits.view(np.float32).astype(dtype).view(np.uint16)
    np.testing.assert_array_equal(golden.get(target).encode(bits), theirs)


def test_the_grid_point_past_the_largest_value_of_each_format():
    for name in TARGETS:
        assert golden.get(name).above_largest == float(grid(name)[0][-1]), name


def test_paper_tables_are_not_goldens():
    """The reference must not import what it checks."""
    for module in (paper_tables, roundings):
        assert not re.search(r"^\s*(import|from) golden", inspect.getsource(module), re.MULTILINE)
