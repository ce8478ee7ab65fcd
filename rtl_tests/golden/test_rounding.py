"""Every rounding and overflow rule of every format, against its definition in exact fractions.

The grid comes from the papers' equations (:mod:`rtl_tests.support.paper_tables`), not from golden. Between each two
neighbours, the eighths of their distance are probed with source values at, just below and just above each eighth.
Codes' values never fall as the source rises, which is tested for all values of the 16-bit sources. So the two sides of
each boundary determine all inputs between boundaries.
"""

import bisect
import inspect
import re
from fractions import Fraction
from functools import cache
from math import floor

import ml_dtypes
import numpy as np
import pytest

import golden
from rtl_tests.support import paper_tables
from rtl_tests.support.paper_tables import CATALOGUE, definition, power, wide_values

HALF = Fraction(1, 2)
SIGN = {"binary32": 1 << 31, "binary16": 1 << 15, "bfloat16": 1 << 15, "dlfloat16": 1 << 15}
INFINITE = {"binary32": 0x7F800000, "binary16": 0x7C00, "bfloat16": 0x7F80, "dlfloat16": 0x7FFF}
"""The first magnitude that is not finite."""

TARGETS = (*CATALOGUE, "dlfloat16")
VARIED = ("hif8", "e5m2b1", "e5m3_nosub", "ocp_e4m3", "gc_1_0_7_b0", "ibm_1_4_3", "e8m0", "ue5m3")
"""Formats of all kinds."""

OVERFLOWED, NO_ZERO = -1, -2
DETERMINISTIC = ("ties_to_even", "ties_to_away", "toward_zero", "toward_positive", "toward_negative", "to_odd")
STOCHASTIC = ("stochastic", "stochastic_b", "stochastic_c")


@cache
def grid(name):
    """Exact positive values in order and their codes; the last is the point past the largest value, OVERFLOWED."""
    d = definition(name)
    codes = [c for c in range(d.magnitudes) if c not in d.nans | d.zeros and c != d.infinity]
    points = sorted((d.equation(c), c) for c in codes)
    largest = points[-1][1]
    points.append((d.equation(0x6F if name == "hif8" else largest + 1), OVERFLOWED))
    return [value for value, _ in points], [code for _, code in points]


def rounded(name, x, rounding, word=0, word_bits=0, *, negative=False):
    """Magnitude code that a number of magnitude ``x``, a fraction, rounds to (specification, section 0).

    OVERFLOWED is past the largest value, NO_ZERO is zero in a format without zero.
    """
    d = definition(name)
    values, codes = grid(name)
    if not d.zeros and x < values[0]:
        return codes[0] if x else NO_ZERO
    i = bisect.bisect_right(values, x)
    if i == len(values):
        return OVERFLOWED
    low, low_code = (values[i - 1], codes[i - 1]) if i else (Fraction(0), 0)
    if rounding == "mptorch":
        return mptorch(name, x, low, low_code, values[i], codes[i])
    if i == 0 and d.flush and not rounding.startswith("stochastic"):
        low = d.equation(0)  # the unused pattern below the smallest value, which flushes to zero
        if x <= low:
            return 0
    t = (x - low) / (values[i] - low)
    match rounding:
        case "toward_zero":
            up = False
        case "ties_to_even":
            up = t > HALF or (t == HALF and low_code % 2 == 1)
        case "ties_to_away":
            up = t >= HALF
        case "toward_positive":
            up = t > 0 and not negative
        case "toward_negative":
            up = t > 0 and negative
        case "to_odd":
            up = t > 0 and low_code % 2 == 0
        case "stochastic":
            up = floor(2**word_bits * t) + word >= 2**word_bits
        case "stochastic_b":
            up = floor(2 ** (word_bits + 1) * t) + 2 * word + 1 >= 2 ** (word_bits + 1)
        case "stochastic_c":
            up = round(2**word_bits * t) + word >= 2**word_bits  # Python rounds ties to even
    return codes[i] if up else low_code


def mptorch(name, x, low, low_code, high, high_code):
    """Specification, section 2: half away in the regions of powers of two, flush below, Inf above."""
    if low_code == 0:
        return 0
    if high_code == OVERFLOWED:
        return low_code if x == low else OVERFLOWED
    exponent_bits, _, binades = (int(n) for n in re.fullmatch(r"e(\d+)m(\d+)b(\d+)", name).groups())
    bottom, top = power(binades - (1 << (exponent_bits - 1))), power((1 << (exponent_bits - 1)) - binades)
    t = (x - low) / (high - low)
    if x < bottom or x >= top:
        return high_code if t >= HALF else low_code
    return high_code if t > HALF or (t == HALF and low_code % 2 == 1) else low_code


def finished(name, magnitude, rounding, overflow, *, negative=False, infinite=False):
    """The code of a rounded magnitude: the table of specification, section 8, and the rules of other formats."""
    d = definition(name)
    if magnitude == NO_ZERO:
        return d.canonical_nan if overflow == "nan" else 0
    if negative and not d.signed and (magnitude != 0 or not d.zeros):
        return negative_without_sign(d, rounding, overflow, infinite)
    if magnitude == OVERFLOWED:
        magnitude = overflowed(d, grid(name)[1][-2], rounding, overflow, negative, infinite)
    return int(negated(name, np.array(magnitude), magnitude == d.canonical_nan)) if negative else magnitude


def negative_without_sign(d, rounding, overflow, infinite):
    """Of the table: the rows "finite, below, unsigned" and "-Inf"; NaN instead of 0 in formats without zero."""
    nearest = 0 if 0 in d.zeros else d.canonical_nan
    if overflow in ("saturate", "propagate"):
        return nearest
    return nearest if rounding in ("toward_zero", "toward_positive") and not infinite else d.canonical_nan


def overflowed(d, largest, rounding, overflow, negative, infinite):
    """The magnitude code past the largest value: the other rows of the table."""
    best = largest if d.infinity is None else d.infinity
    if infinite:
        return {
            "infinity": d.infinity,
            "none": best,
            "nan": d.canonical_nan,
            "saturate": largest,
            "propagate": best,
            "ocp_paper": d.canonical_nan if d.infinity is None else d.infinity,
        }[overflow]
    inwards = ("toward_zero", "toward_positive" if negative else "toward_negative")
    if overflow in ("saturate", "propagate", "ocp_paper") or rounding in inwards:
        return largest
    if overflow == "nan":
        return d.canonical_nan
    return largest if rounding == "to_odd" and not d.signed else best


@cache
def source_values(source):
    """All finite non-negative values of a 16-bit source, indexed by their bits."""
    return wide_values(source, np.arange(INFINITE[source]))


def around(points, source):
    """Bits of a source at, just below and just above each point."""
    top = INFINITE[source] - 1
    if source == "binary32":
        with np.errstate(over="ignore"):  # the point past the largest value of e8m0
            nearest = np.asarray(points).astype(np.float32).view(np.uint32).astype(np.int64)
        return np.unique(np.clip(np.concatenate([nearest + k for k in (-1, 0, 1)]), 0, top))
    index = np.searchsorted(source_values(source), points)
    return np.unique(np.clip(np.concatenate([index + k for k in (-1, 0, 1)]), 0, top))


@cache
def probes(name, source):
    """Source bits around all values and all eighths between neighbours, and the extremes of the source."""
    values = np.array([0.0] + [float(v) for v in grid(name)[0]])
    if name == "dlfloat16":
        step = np.random.default_rng(7).choice(len(values) - 1, 600, replace=False)
        pairs = np.unique(np.concatenate([step, [0, 1, 2, len(values) - 3, len(values) - 2]]))
    else:
        pairs = np.arange(len(values) - 1)
    low, high = values[pairs], values[pairs + 1]
    points = np.concatenate([low + (high - low) * k / 8 for k in range(9)] + [[float(definition(name).equation(0))]])
    extremes = np.array([0, 1, 2, INFINITE[source] - 1, INFINITE[source] // 2])
    return np.unique(np.concatenate([around(points, source), extremes]))


def exact(source, bits):
    return [Fraction(v) for v in wide_values(source, bits).tolist()]


def roundings(name, source="binary32"):
    """All roundings without random bits; of the directed ones and to_odd fewer formats from each source."""
    extra = definition(name).extra_rounding
    usual = DETERMINISTIC if source == "binary32" or name in VARIED else DETERMINISTIC[:3]
    return [*usual, *(["mptorch"] if extra == "mptorch" else [])]


def negated(name, magnitude, nan):
    """Codes of the negated values (specification, sections 1 to 5); NaN keeps its code, and zero if there is no -0."""
    d = definition(name)
    if name == "dlfloat16":
        return magnitude | d.sign
    if d.twos_complement:
        negative = (1 << d.width) - magnitude & ((1 << d.width) - 1)
    else:
        negative = np.where((magnitude != 0) | (d.sign in d.zeros), magnitude | d.sign, magnitude)
    return np.where(nan, magnitude, negative)


@pytest.mark.parametrize("source", golden.catalog.WIDE)
@pytest.mark.parametrize("name", TARGETS)
def test_each_rounding_at_each_side_of_every_boundary(name, source):
    bits = probes(name, source)
    xs, d = exact(source, bits), definition(name)
    for rounding in roundings(name, source):
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
    xs, d = exact(source, bits), definition(name)
    for rounding in roundings(name):
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
    for rounding in roundings(name, source):
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
    for rounding in roundings(name):
        for overflow in definition(name).overflows if rounding != "mptorch" else ["infinity"]:
            magnitudes = [rounded(name, x, rounding) for x in exact("binary32", bits)]
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
    xs = exact("binary32", bits)
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
        cases = zip(exact(source, bits), words.tolist(), strict=True)
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
    assert golden.names() == CATALOGUE
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
    assert not re.search(r"^\s*(import|from) golden", inspect.getsource(paper_tables), re.MULTILINE)
