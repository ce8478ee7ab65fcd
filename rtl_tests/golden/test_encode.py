"""Encoders against the libraries of the formats' owners; HiF8's hybrid rounding; decoded bits; quantize."""

import math
from functools import cache

import gfloat
import ml_dtypes
import numpy as np
import pytest
from gfloat import RoundMode

import golden
from rtl_tests.golden.test_formats import DTYPES, GFLOAT
from rtl_tests.support.boundaries import INFINITE, probes
from rtl_tests.support.paper_tables import CATALOGUE, DO_NOT_FIT_BINARY16, definition, values, wide_values
from rtl_tests.support.values import same_values

FRACTION_BITS = {"binary32": 23, "binary16": 10, "bfloat16": 7}
SEED = 20241


def binary32_inputs(name):
    """All boundaries with their neighbours in both signs, all upper halves with six lower halves, and random bits."""
    print(f"seed {SEED}")
    random = np.random.default_rng(SEED).integers(0, 1 << 32, 100_000, dtype=np.uint32)
    lower = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    halves = (np.arange(1 << 16, dtype=np.uint32) << 16)[:, None] | lower
    near = probes(name, "binary32").astype(np.uint32)
    return np.concatenate([near, near | 0x80000000, halves.ravel(), random])


def inputs(name, source):
    return binary32_inputs(name) if source == "binary32" else np.arange(1 << 16, dtype=np.uint16)


# -- the owners' libraries --------------------------------------------------------------------------------------------

NATIVE = [
    ("hif8", "ties_to_away", "infinity"),
    ("ocp_e4m3", "ties_to_even", "nan"),
    ("ocp_e5m2", "ties_to_even", "infinity"),
    ("ieee_e4m3", "ties_to_even", "infinity"),
    ("ieee_e3m4", "ties_to_even", "infinity"),
] + [(name, "ties_to_even", "nan") for name in ("gc_1_5_2_b16", "gc_1_4_3_b8", "gc_1_4_3_b11")]


@pytest.mark.parametrize("source", FRACTION_BITS)
@pytest.mark.parametrize(("name", "rounding", "overflow"), NATIVE)
def test_codes_equal_those_of_the_dtype(name, rounding, overflow, source):
    """For all inputs of the 16-bit sources; NaN by class, because the libraries keep its sign."""
    bits = inputs(name, source)
    fmt = golden.get(name)
    with np.errstate(all="ignore"):
        numbers = wide_values(source, bits).astype(np.float32)
        theirs = numbers.astype(DTYPES[name]).view(np.uint8)
    ours = fmt.encode(bits, source, rounding, overflow)
    nan = np.isnan(fmt.decode(theirs))
    np.testing.assert_array_equal(np.isnan(fmt.decode(ours)), nan)
    np.testing.assert_array_equal(ours[~nan], theirs[~nan])
    np.testing.assert_array_equal(ours[nan], fmt.canonical_nan)


MODES = {
    "ties_to_even": RoundMode.TiesToEven,
    "ties_to_away": RoundMode.TiesToAway,
    "toward_zero": RoundMode.TowardZero,
}


@cache
def gfloat_inputs(name, source):
    return wide_values(source, inputs(name, source))


@pytest.mark.parametrize("source", FRACTION_BITS)
@pytest.mark.parametrize("name", [n for n in GFLOAT if n in CATALOGUE])
def test_values_equal_gfloats_rounding(name, source):
    """Three roundings and both kinds of overflow.

    Formats without subnormals are compared from their smallest value on (specification, section 7).
    """
    fmt, info = golden.get(name), GFLOAT[name]
    bits, numbers = inputs(name, source), gfloat_inputs(name, source)
    if not info.has_subnormals:
        keep = ~(np.abs(numbers) < fmt.smallest)
        bits, numbers = bits[keep], numbers[keep]
    if not fmt.has_nan:
        bits, numbers = bits[~np.isnan(numbers)], numbers[~np.isnan(numbers)]
    for rounding, mode in MODES.items():
        for overflow in (o for o in fmt.overflows if o not in ("ocp_paper", "propagate")):
            theirs = gfloat.round_ndarray(info, numbers, mode, sat=overflow == "saturate")
            same_values(fmt.decode(fmt.encode(bits, source, rounding, overflow)), theirs)


def test_ocp_paper_overflow_saturates_finite_values_only():
    """FP8 paper, section 3.1: values past 448 and 57344 saturate; infinities become infinity, or NaN in E4M3."""
    bits = np.array([480.0, 1e9, -1e9, np.inf, -np.inf, 448.0], np.float32).view(np.uint32)
    np.testing.assert_array_equal(
        golden.get("ocp_e4m3").encode(bits, overflow="ocp_paper"), [0x7E, 0x7E, 0xFE, 0x7F, 0x7F, 0x7E]
    )
    bits = np.array([61440.0, 1e9, -1e9, np.inf, -np.inf], np.float32).view(np.uint32)
    np.testing.assert_array_equal(
        golden.get("ocp_e5m2").encode(bits, overflow="ocp_paper"), [0x7B, 0x7B, 0xFB, 0x7C, 0xFC]
    )


# -- HiF8: the specification's own examples ---------------------------------------------------------------------------


def test_hif8_carries_and_overflow_as_printed():
    """Specification, 1.2."""
    hif8 = golden.get("hif8")
    below = float(np.nextafter(np.float32(1.25 * 2**15), np.float32(0)))
    pairs = {
        7.9: 8,
        15.5: 16,
        240: 256,
        1.5 * 2**-16: 2**-15,
        1.5 * 2**-20: 2**-19,
        1.25 * 2**15: np.inf,
        below: 2**15,
        2**-23: 2**-22,
        float(np.nextafter(np.float32(2**-23), np.float32(0))): 0,
    }
    for x, y in pairs.items():
        assert hif8.decode(hif8.encode(np.float32(x).view(np.uint32))) == y, x
        assert hif8.decode(hif8.encode(np.float32(-x).view(np.uint32))) == -y, x
    assert hif8.encode(np.float16(2**-23).view(np.uint16), "binary16") == 0x01
    assert hif8.encode(np.float32(-0.0).view(np.uint32)) == hif8.encode(np.float32(-1e-20).view(np.uint32)) == 0x00


def hybrid(source, raw):
    """HiF8 code of a finite non-negative source, by the bit fields of the specification, section 1.3."""
    f = FRACTION_BITS[source]
    bias = 127 if f != 10 else 15
    e, fraction = raw >> f, raw & ((1 << f) - 1)
    if e:
        exponent = e - bias
    elif fraction:  # F uses the normalized fraction, T the raw bits
        shift = f + 1 - fraction.bit_length()
        exponent, fraction = 1 - bias - shift, fraction << shift & ((1 << f) - 1)
    else:
        return 0x00
    if exponent > 15:
        return 0x6F
    if exponent < -23:
        return 0x00
    t_bits = 14 if source == "binary32" else 2
    t = raw & 0x3FFF if source == "binary32" else (raw & 1) << 1 | 1
    if exponent == -23:
        return 0x01 if 1 << (t_bits - 1) | fraction >> (f - t_bits + 1) >= t else 0x00
    k = next(k for k, reach in ((3, 3), (2, 7), (1, 15), (0, 23)) if abs(exponent) <= reach)
    kept, discarded = fraction >> (f - k), fraction & ((1 << (f - k)) - 1)
    up = discarded >> (f - k - 1) if k == 3 else discarded >> (f - k - t_bits) >= t
    if exponent == 15 and fraction >= 1 << (f - 2):
        return 0x6F
    return CODE_OF_HIF8.get(math.ldexp(1 + (kept + up) / (1 << k), exponent), 0x6F)


CODE_OF_HIF8 = {values("hif8")[code]: code for code in range(0x80) if code != 0x6F}


@pytest.mark.parametrize("source", FRACTION_BITS)
def test_hybrid_rounding_bit_by_bit(source):
    """All inputs of the 16-bit sources; of binary32, a sample of its test inputs and all boundaries of SR14."""
    hif8 = golden.get("hif8")
    bits = inputs("hif8", source)
    if source == "binary32":
        bits = np.concatenate([np.random.default_rng(SEED).choice(bits, 60_000), sr14_boundaries()])
    positive = bits[bits < INFINITE[source]]
    expected = np.array([hybrid(source, raw) for raw in positive.tolist()])
    np.testing.assert_array_equal(hif8.encode(positive, source, "hybrid"), expected)
    negative = np.where(expected == 0, 0, expected | 0x80)
    np.testing.assert_array_equal(hif8.encode(positive | (1 << (bits.itemsize * 8 - 1)), source, "hybrid"), negative)
    saturated = np.where(expected == 0x6F, 0x6E, expected)
    np.testing.assert_array_equal(hif8.encode(positive, source, "hybrid", "saturate"), saturated)


def sr14_boundaries():
    """binary32 inputs with F = T, and one ulp below and above them.

    F and T share bits. All kept bits of every binade that SR14 rounds are included.
    """
    equal = []
    for exponent in [*range(-23, -3), *range(4, 16)]:
        k = 2 if abs(exponent) <= 7 else 1 if abs(exponent) <= 15 else 0
        shift = (24 if exponent == -23 else 23 - k) - 14  # F is 14 bits of the fraction, from this one on
        for high in range(1 << (14 - shift)):
            tail = ((high << shift | high) << shift | high) & ((1 << (23 - k)) - 1)
            equal.extend((exponent + 127) << 23 | kept << (23 - k) | tail for kept in range(1 << k))
    return np.array([bits + step for bits in equal for step in (-1, 0, 1)], np.uint32)


def test_hybrid_from_binary32_moves_every_code_beyond_the_inner_binades():
    """Specification, 1.3: F = T = 0 rounds up, so all 140 finite codes with |E| >= 4 move by one step.

    No code moves from binary16 and bfloat16.
    """
    hif8 = golden.get("hif8")
    finite = np.array([c for c in range(256) if np.isfinite(hif8.values[c]) and hif8.values[c]])
    assert finite.size == 252
    again = hif8.encode(hif8.decode_bits(finite, "binary32"), "binary32", "hybrid")
    moved = finite[again != finite]
    exponents = np.frexp(hif8.values[finite])[1] - 1
    assert moved.size == 140
    np.testing.assert_array_equal(moved, finite[np.abs(exponents) >= 4])
    order = np.append(hif8.magnitudes, np.inf)
    places = (np.searchsorted(order, np.abs(hif8.decode(codes))) for codes in (moved, again[again != finite]))
    np.testing.assert_array_equal(np.subtract(*places), -1)
    assert hif8.decode(hif8.encode(np.float32(16).view(np.uint32), rounding="hybrid")) == 20
    for source in ("binary16", "bfloat16"):
        np.testing.assert_array_equal(hif8.encode(hif8.decode_bits(finite, source), source, "hybrid"), finite)


# -- decoders' bits ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CATALOGUE)
def test_decoded_bits_are_numpys_casts(name):
    """binary16, bfloat16 and binary32 of all codes: ties to even, overflow to infinity, subnormals, canonical NaN."""
    fmt = golden.get(name)
    codes = np.arange(1 << fmt.width)
    exact = values(name)
    for target, dtype in (("binary16", np.float16), ("bfloat16", ml_dtypes.bfloat16), ("binary32", np.float32)):
        unsigned = np.uint32 if target == "binary32" else np.uint16
        with np.errstate(over="ignore"):
            expected = exact.astype(dtype).view(unsigned)
        expected[np.isnan(exact)] = golden.get(target).canonical_nan
        bits = fmt.decode_bits(codes, target)
        assert bits.dtype == unsigned
        np.testing.assert_array_equal(bits, expected)
        lost = np.count_nonzero((wide_values(target, bits) != exact) & ~np.isnan(exact))
        assert lost == (DO_NOT_FIT_BINARY16.get(name, 0) if target == "binary16" else 0)


@pytest.mark.parametrize("name", CATALOGUE)
def test_values_decode_to_dlfloat16(name):
    """Values between 2^-31 and 2^33 are exact; smaller ones become zero, others S.7FFF, and they keep their sign."""
    fmt, exact = golden.get(name), values(name)
    bits = fmt.decode_bits(np.arange(1 << fmt.width), "dlfloat16")
    finite = np.isfinite(exact)
    fits = finite & (np.abs(exact) > 2.0**-31) & (np.abs(exact) < 2.0**33) | (exact == 0)
    same_values(wide_values("dlfloat16", bits)[fits], exact[fits])
    np.testing.assert_array_equal(bits[finite & (np.abs(exact) <= 2.0**-31)] & 0x7FFF, 0)
    np.testing.assert_array_equal(bits[~finite | (np.abs(exact) >= 2.0**33)] & 0x7FFF, 0x7FFF)
    np.testing.assert_array_equal(bits[np.isinf(exact)] >> 15, np.signbit(exact[np.isinf(exact)]))


@pytest.mark.parametrize("name", CATALOGUE)
def test_decoding_and_encoding_gives_the_same_code(name):
    fmt = golden.get(name)
    codes = np.arange(1 << fmt.width)
    codes = codes[~np.isnan(fmt.values)]
    for target in ("bfloat16", "binary32"):
        for rounding in ("ties_to_even", "ties_to_away", "toward_zero"):
            overflow = "saturate" if fmt.infinity is None else "infinity"
            np.testing.assert_array_equal(fmt.encode(fmt.decode_bits(codes, target), target, rounding, overflow), codes)


def test_values_outside_every_wide_format_overflow_and_underflow():
    """A format with exponents from -254 to 254: no warning, overflow to infinity, gradual underflow."""
    fmt = golden.get("e8m7b1")
    codes = np.arange(1 << 15)[:-1]
    for target, dtype in (("binary16", np.float16), ("binary32", np.float32)):
        with np.errstate(over="ignore", under="ignore"):
            expected = fmt.values[codes].astype(dtype).view(np.uint16 if target == "binary16" else np.uint32)
        np.testing.assert_array_equal(fmt.decode_bits(codes, target), expected)
    assert fmt.encode(np.float32(2.0**100).view(np.uint32)) == np.flatnonzero(fmt.values == 2.0**100)[0]


# -- quantize ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*CATALOGUE, "dlfloat16", "binary16"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_quantize_is_encode_then_decode(name, dtype):
    source = {"float32": "binary32", "float16": "binary16", "bfloat16": "bfloat16"}[np.dtype(dtype).name]
    fmt = golden.get(name)
    bits = probes(name, source) if name in CATALOGUE else probes("hif8", source)
    x = bits.astype(np.uint32 if source == "binary32" else np.uint16).view(dtype)
    y = fmt.quantize(x)
    assert y.dtype == x.dtype
    with np.errstate(over="ignore", invalid="ignore"):
        expected = fmt.decode(fmt.encode(bits, source)).astype(dtype)
    same_values(y.astype(np.float64), expected.astype(np.float64))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, ">f4"])
def test_quantize_takes_any_shape_layout_and_byte_order(dtype):
    fmt = golden.get("ocp_e4m3")
    x = (np.arange(2 * 300 * 301).reshape(2, 300, 301) / 2048).astype(dtype)
    flat = fmt.quantize(x.ravel())
    np.testing.assert_array_equal(fmt.quantize(x).ravel(), flat)
    for view in (x, x.transpose(2, 0, 1), x[:, ::3, ::-2], x[:0], x[1, 2, 3]):
        y = fmt.quantize(view)
        assert y.shape == view.shape
        assert y.dtype == view.dtype
        np.testing.assert_array_equal(np.ravel(y), fmt.quantize(np.ascontiguousarray(view).ravel()))
    assert np.count_nonzero(flat.astype(np.float32) != x.ravel().astype(np.float32)) > 100_000


def test_quantize_passes_its_options_on():
    fmt = golden.get("hif8")
    x = np.array([np.nan, 1e9, 1.06], np.float32)
    np.testing.assert_array_equal(
        fmt.quantize(x, overflow="saturate", nan_to_zero=True), np.array([0, 2**15, 1], np.float32)
    )
    np.testing.assert_array_equal(
        fmt.quantize(x[2:], rounding="stochastic", random=[0xFFFF]), np.array([1.125], np.float32)
    )
    assert fmt.quantize(np.float32(1.06), rounding="stochastic", random=np.uint16(0)) == 1


def test_encode_keeps_the_shape_of_a_million_inputs():
    fmt = golden.get("hif8")
    bits = np.random.default_rng(5).integers(0, 1 << 32, (8, 128, 1024), dtype=np.uint32)
    codes = fmt.encode(bits)
    assert codes.shape == bits.shape
    assert codes.dtype == np.uint8
    assert fmt.encode(bits[:, ::7].T).shape == bits[:, ::7].T.shape
    np.testing.assert_array_equal(fmt.encode(bits[:, ::7].T), codes[:, ::7].T)
    assert golden.get("e5m3").encode(bits[:0]).dtype == np.uint16
    assert definition("e5m3").width == 9
    assert np.shape(fmt.encode(0)) == ()


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.float64, ml_dtypes.bfloat16])
def test_floats_are_no_bits_and_the_refusal_names_the_way(kind):
    x, name = np.array([1.0, 2.5], kind), np.dtype(kind).name
    way = "quantize(x) rounds an array x of float32, and codes(x) returns its codes"
    with pytest.raises(TypeError) as caught:
        golden.get("hif8").encode(x)
    assert str(caught.value) == f"bits must be unsigned integers, not {name}: {way}"
