"""Formats of IEEE P3109, draft 4.0, against the draft's definitions in exact integers, gfloat and ml_dtypes.

The value rule and the roundings are typed a second time here, in the draft's own terms.
"""

from fractions import Fraction
from itertools import pairwise, product
from math import floor

import gfloat
import ml_dtypes
import numpy as np
import pytest
from gfloat import RoundMode
from gfloat.formats import format_info_p3109

import golden
from golden import Kind
from golden.catalog import described
from golden.explain import explain, number
from golden.p3109 import FarFormat
from rtl_tests.support.paper_tables import wide_values
from rtl_tests.support.roundings import DETERMINISTIC, STOCHASTIC, outside
from rtl_tests.support.values import same_values

PARAMETERS = [
    (k, p, s, e) for k in range(3, 17) for s in (True, False) for p in range(1, k + (not s)) for e in (True, False)
]


def name_of(k, p, signed, extended):
    return f"Binary{k}p{p}{'s' if signed else 'u'}{'e' if extended else 'f'}"


def power(exponent):
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


class Draft:
    """A format by the draft's sections 3 and 4.7.2, in exact numbers."""

    def __init__(self, k, p, signed, extended):
        self.k, self.p, self.signed, self.extended = k, p, signed, extended
        self.bias = 1 << (k - p - 1) if signed else 1 << (k - p)
        self.nan = 1 << (k - 1) if signed else (1 << k) - 1
        self.infinity = ((1 << (k - 1)) - 1 if signed else (1 << k) - 2) if extended else None
        finite = (1 << (k - 1)) - 1 if signed else (1 << k) - 2
        self.largest_code = finite - extended
        self.largest = self.magnitude(self.largest_code)

    def parts(self, x):
        """Integers n and q of codes without sign, numbers or arrays: the magnitude is n * 2**q."""
        t, e = x % (1 << (self.p - 1)), x // (1 << (self.p - 1))
        is_low = np.equal(e, 0)
        n = np.where(is_low, t, (1 << (self.p - 1)) + t)
        return n, np.where(is_low, 2 - self.p - self.bias, e - self.bias - self.p + 1)

    def magnitude(self, x):
        n, q = self.parts(x)
        return int(n) * power(int(q))

    def code(self, value):
        """The code of a finite value that the format has."""
        size = abs(value)
        if size == 0:
            return 0
        exponent = max(floor_log2(size), 1 - self.bias)
        scaled = size * power(self.p - 1 - exponent)
        assert scaled.denominator == 1
        code = scaled.numerator + ((exponent + self.bias - 1) << (self.p - 1))
        return code + (self.nan if value < 0 else 0)

    def project(self, x, rounding, saturation, word=0, bits=0):
        """Sections 4.7.3 to 4.7.5; ``x`` is a Fraction, +Inf or -Inf."""
        if isinstance(x, str):
            return self.saturated(x, rounding, saturation)
        return self.saturated(self.rounded(x, rounding, word, bits), rounding, saturation)

    def rounded(self, x, rounding, word, bits):
        if x == 0:
            return x
        q = max(floor_log2(abs(x)), 1 - self.bias) - self.p + 1
        s = abs(x) * power(-q)
        whole = floor(s)
        nu = s - whole
        even = whole % 2 == 0 if self.p > 1 else whole == 0 or (q + self.bias) % 2 == 0
        match rounding:
            case "ties_to_even":
                away = nu > Fraction(1, 2) or (nu == Fraction(1, 2) and not even)
            case "ties_to_away":
                away = nu >= Fraction(1, 2)
            case "toward_zero":
                away = False
            case "toward_positive":
                away = nu > 0 and x > 0
            case "toward_negative":
                away = nu > 0 and x < 0
            case "to_odd":
                away = nu > 0 and even
            case "stochastic":
                away = floor(nu * 2**bits) + word >= 2**bits
            case "stochastic_b":
                away = floor(nu * 2 ** (bits + 1)) + 2 * word + 1 >= 2 ** (bits + 1)
            case "stochastic_c":
                away = round(nu * 2**bits) + word >= 2**bits
        size = (whole + away) * power(q)
        return -size if x < 0 else size

    def saturated(self, x, rounding, saturation):
        """The code of a rounded number, also of one out of range."""
        lowest = -self.largest if self.signed else 0
        infinite = isinstance(x, str)
        if not infinite and lowest <= x <= self.largest:
            return self.code(x)
        negative = x == "-Inf" if infinite else x < 0
        facts = {"negative": negative, "infinite": infinite, "signed": self.signed, "has_infinity": self.extended}
        match outside(rounding, saturation, **facts):
            case "zero":
                return 0
            case "nan":
                return self.nan
            case size:
                return (self.infinity if size == "infinity" else self.largest_code) + (self.nan if negative else 0)


def floor_log2(x):
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    return exponent - (x < power(exponent))


def test_all_tables_equal_the_drafts_definition():
    """Every code of all 504 formats in exact integers; 98 have exponents beyond those that golden computes with."""
    far, count = 0, 0
    for parameters in PARAMETERS:
        fmt, draft = described(name_of(*parameters).upper()), Draft(*parameters)
        assert (fmt.name, fmt.width, fmt.signed) == (name_of(*parameters), parameters[0], parameters[2])
        codes = np.arange(1 << fmt.width)
        negative = (codes > draft.nan) & draft.signed
        magnitude = np.where(negative, codes - draft.nan, codes)
        n, q = draft.parts(magnitude)
        kinds = np.where(n == 0, Kind.ZERO.value, Kind.FINITE.value)
        kinds[magnitude == draft.infinity] = Kind.INF.value
        kinds[draft.nan] = Kind.NAN.value
        assert list(fmt.kinds) == kinds.tolist()
        significand, exponent = fmt.scaled_magnitudes(codes)
        numbers = np.isin(kinds, [Kind.ZERO.value, Kind.FINITE.value])
        np.testing.assert_array_equal(significand[numbers], n[numbers])
        np.testing.assert_array_equal(exponent[numbers], q[numbers])
        np.testing.assert_array_equal(codes[numbers] & fmt.sign_bit != 0, negative[numbers])
        count += codes.size
        if isinstance(fmt, FarFormat):
            far += 1
        else:
            values = np.ldexp(np.where(negative, -n, n).astype(np.float64), q)
            np.testing.assert_array_equal(fmt.values[numbers], values[numbers])
        for code in codes[numbers][:: max(codes.size // 8, 1)].tolist():
            sign = -1 if negative[code] else 1
            assert fmt.exact_value(code) == sign * int(n[code]) * power(int(q[code]))
    assert (len(PARAMETERS), far, count) == (504, 98, sum(1 << k for k, *_ in PARAMETERS))


def gfloats(k, p, signed, extended):
    domain = gfloat.Domain.Extended if extended else gfloat.Domain.Finite
    return format_info_p3109(
        k, p, signedness=gfloat.Signedness.Signed if signed else gfloat.Signedness.Unsigned, domain=domain
    )


@pytest.mark.parametrize("k", range(3, 9))
def test_tables_equal_gfloats(k):
    for parameters in (parameters for parameters in PARAMETERS if parameters[0] == k):
        info = gfloats(*parameters)
        codes = np.arange(1 << k, dtype=np.int64)
        same_values(golden.get(name_of(*parameters)).values, gfloat.decode_ndarray(info, codes))


PROJECTED = ("8p3se", "8p4se", "8p4sf", "4p2sf", "8p1uf", "6p3ue", "8p8uf", "5p1se", "3p3ue", "7p6sf", "4p1ue", "9p2ue")
SOURCES = {"binary16": 0x7C00, "bfloat16": 0x7F80}


def split(short):
    k, p = short[:-2].split("p")
    return int(k), int(p), short[-2] == "s", short[-1] == "e"


def near_boundaries(draft, source):
    """Source bits of both signs at, just below and just above every quarter between neighbours, and the extremes."""
    values = sorted(draft.magnitude(code) for code in range(draft.largest_code + 1))
    values.append(2 * values[-1] - values[-2])
    points = [low + (high - low) * i / 4 for low, high in pairwise(values) for i in range(4)]
    numbers = wide_values(source, np.arange(SOURCES[source]))
    index = np.searchsorted(numbers, np.array([float(x) for x in (*points, values[-1], 4 * values[-1])]))
    bits = np.unique(np.clip(np.concatenate([index - 1, index, index + 1]), 0, SOURCES[source]))
    return np.concatenate([bits, bits | 0x8000])


@pytest.mark.parametrize("short", PROJECTED)
@pytest.mark.parametrize("source", ["binary16", pytest.param("bfloat16", marks=pytest.mark.exhaustive)])
def test_projections_equal_the_drafts_definition(short, source):
    parameters = split(short)
    fmt, draft = golden.get(f"Binary{short}"), Draft(*parameters)
    saturations = ("none", "saturate", "propagate") + (() if parameters[3] else ("nan",))
    assert fmt.overflows == saturations
    assert fmt.roundings == (*DETERMINISTIC, *STOCHASTIC)
    bits = near_boundaries(draft, source)
    numbers = [{np.inf: "+Inf", -np.inf: "-Inf"}.get(x) or Fraction(x) for x in wide_values(source, bits).tolist()]
    for rounding in DETERMINISTIC:
        results = [x if isinstance(x, str) else draft.rounded(x, rounding, 0, 0) for x in numbers]
        for saturation in saturations:
            expected = [draft.saturated(x, rounding, saturation) for x in results]
            codes = fmt.encode(bits, source, rounding, saturation)
            np.testing.assert_array_equal(codes, expected, err_msg=f"{rounding}, {saturation}")
    rng = np.random.default_rng(3109)
    for rounding, random_bits in product(STOCHASTIC, (1, 3, 16)):
        words = rng.integers(0, 1 << random_bits, bits.shape)
        cases = zip(numbers, words.tolist(), strict=True)
        expected = [draft.project(x, rounding, "none", word, random_bits) for x, word in cases]
        codes = fmt.encode(bits, source, rounding, random=words, random_bits=random_bits)
        np.testing.assert_array_equal(codes, expected, err_msg=f"{rounding} with {random_bits} random bits")


GFLOATS_MODES = {
    "ties_to_even": RoundMode.TiesToEven,
    "ties_to_away": RoundMode.TiesToAway,
    "toward_zero": RoundMode.TowardZero,
    "toward_positive": RoundMode.TowardPositive,
    "toward_negative": RoundMode.TowardNegative,
}


@pytest.mark.parametrize("name", ["binary8p3", "binary8p4", "ocp_e5m2", "ocp_e4m3", "e2m1", "e3m2", "gc_1_4_3_b8"])
def test_saturated_values_equal_gfloats_in_directed_roundings(name):
    infos = {
        "binary8p3": format_info_p3109(8, 3),
        "binary8p4": format_info_p3109(8, 4),
        "ocp_e5m2": gfloat.formats.format_info_ocp_e5m2,
        "ocp_e4m3": gfloat.formats.format_info_ocp_e4m3,
        "e2m1": gfloat.formats.format_info_ocp_e2m1,
        "e3m2": gfloat.formats.format_info_ocp_e3m2,
        "gc_1_4_3_b8": format_info_p3109(8, 4, domain=gfloat.Domain.Finite),
    }
    bits = np.arange(1 << 16)
    numbers = wide_values("binary16", bits)
    bits, numbers = bits[np.isfinite(numbers)], numbers[np.isfinite(numbers)]
    fmt = golden.get(name)
    for rounding, mode in GFLOATS_MODES.items():
        theirs = gfloat.round_ndarray(infos[name], numbers, mode, sat=True)
        same_values(fmt.decode(fmt.encode(bits, "binary16", rounding, "saturate")), theirs)


def test_e8m0_equals_ml_dtypes():
    """All codes, and encoding of bfloat16: the nearest power of two, ties away, and NaN out of range.

    Of all 2^16 inputs, 31 differ: ml_dtypes rounds numbers between 2^-127 and 1.5 * 2^-127 up to 2^-126.
    """
    fmt = golden.get("float8_e8m0fnu")
    codes = np.arange(256, dtype=np.uint8)
    same_values(fmt.values, codes.view(ml_dtypes.float8_e8m0fnu).astype(np.float64))
    bits = np.arange(1 << 16, dtype=np.uint16)
    with np.errstate(all="ignore"):
        theirs = bits.view(ml_dtypes.bfloat16).astype(np.float32).astype(ml_dtypes.float8_e8m0fnu).view(np.uint8)
    ours, numbers = fmt.encode(bits, "bfloat16"), wide_values("bfloat16", bits)
    np.testing.assert_array_equal(ours != theirs, (numbers > 2.0**-127) & (numbers < 1.5 * 2.0**-127))
    assert np.count_nonzero(ours != theirs) == 31
    specials = np.array([0, 0x8000, 0x7F80, 0xFF80, 0xBF80, 0x7FC0, 1, 0x7F7F], np.uint16)
    assert fmt.encode(specials, "bfloat16").tolist() == [255, 255, 255, 255, 255, 255, 0, 255]
    assert fmt.encode(specials, "bfloat16", overflow="saturate").tolist() == [0, 0, 254, 255, 255, 255, 0, 254]


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("float4_e2m1fn", ml_dtypes.float4_e2m1fn),
        ("float6_e2m3fn", ml_dtypes.float6_e2m3fn),
        ("float6_e3m2fn", ml_dtypes.float6_e3m2fn),
    ],
)
def test_elements_equal_ml_dtypes(name, dtype):
    """All codes, and encoding of all 2^16 bfloat16 inputs but NaN, which becomes 0 here and -0 there."""
    fmt = golden.get(name)
    codes = np.arange(1 << fmt.width, dtype=np.uint8)
    same_values(fmt.values, codes.view(dtype).astype(np.float64))
    bits = np.arange(1 << 16, dtype=np.uint16)
    bits = bits[~np.isnan(wide_values("bfloat16", bits))]
    with np.errstate(all="ignore"):
        theirs = bits.view(ml_dtypes.bfloat16).astype(dtype).view(np.uint8)
    np.testing.assert_array_equal(fmt.encode(bits, "bfloat16"), theirs)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("Binary8p9se", "name 'Binary8p9se': the precision must be from 1 to 7, not 9"),
        ("Binary8p8sf", "name 'Binary8p8sf': the precision must be from 1 to 7, not 8"),
        ("Binary8p9uf", "name 'Binary8p9uf': the precision must be from 1 to 8, not 9"),
        ("Binary8p0ue", "name 'Binary8p0ue': the precision must be from 1 to 8, not 0"),
        ("Binary17p3se", "name 'Binary17p3se': there must be 3 to 16 bits, not 17"),
        ("Binary2p1se", "name 'Binary2p1se': there must be 3 to 16 bits, not 2"),
        ("Binary8p3xe", "name 'Binary8p3xe': the suffix must be se, sf, ue or uf, not 'xe'"),
        ("Binary8p3s", "name 'Binary8p3s': the suffix must be se, sf, ue or uf, not 's'"),
    ],
)
def test_wrong_names_are_refused_in_a_sentence(name, sentence):
    with pytest.raises(golden.BadValue) as refusal:
        golden.get(name)
    assert str(refusal.value) == sentence


def test_formats_beyond_binary64_have_tables_only():
    problem = (
        "name 'Binary16p1se' has exponents beyond ±400; only its table (hwgen table) and hwgen explain are available"
    )
    with pytest.raises(golden.BadValue) as refusal:
        golden.get("binary16P1SE")
    assert str(refusal.value) == problem
    lines = list(explain(described("binary16p1se"), 0x8002))
    assert lines[2] == "value: -1 * 2^-16382 = -1/2^16382"
    assert number(described("binary16p1ue").exact_value(0xFFFD)) == "1 * 2^32765"
    assert number(described("binary16p2ue").exact_value(0xFFFB)) == "1.5 * 2^16381 = 3*2^16380"


def test_none_and_infinity_are_the_same_rule():
    bits = np.arange(1 << 16)
    for name in ("Binary8p3se", "hif8", "ocp_e5m2", "Binary6p3ue"):
        fmt = golden.get(name)
        for rounding in DETERMINISTIC:
            codes = [fmt.encode(bits, "binary16", rounding, overflow) for overflow in ("none", "infinity")]
            np.testing.assert_array_equal(*codes)
    for name in ("Binary8p4sf", "e8m0", "ocp_e4m3"):
        with pytest.raises(golden.BadValue, match=f"overflow of {name} must be one of"):
            golden.get(name).encode(bits, "binary16", overflow="infinity")


def test_old_names_keep_their_defaults():
    pairs = [
        ("binary8p3", "Binary8p3se"), ("binary8p4", "Binary8p4se"), ("e5m3", "Binary9p4se"),
        ("gc_1_4_3_b8", "Binary8p4sf"), ("gc_1_5_2_b16", "Binary8p3sf"), ("gc_1_2_1_b2", "Binary4p2sf"),
    ]  # fmt: skip
    for old, new in pairs:
        same_values(golden.get(old).values, golden.get(new).values)
        assert golden.get(new).overflows[0] == "none"
        assert golden.get(old).overflows[0] == ("saturate" if old.startswith("gc") else "infinity")


CONVERTED = ("hif8", "ocp_e4m3", "e8m0", "gc_1_0_7_b0", "ue5m3")


@pytest.mark.parametrize(("source", "target"), [*product(CONVERTED, repeat=2)])
def test_conversions_between_codes_round_once(source, target):
    """They equal the encoding of the codes' values as binary32, which holds them exactly."""
    fmt = golden.get(source)
    codes = np.arange(1 << fmt.width)
    bits = fmt.decode_bits(codes, "binary32")
    for rounding in DETERMINISTIC:
        ours = golden.get(target).encode(codes, source, rounding)
        np.testing.assert_array_equal(ours, golden.get(target).encode(bits, "binary32", rounding))
    ours, flags = golden.get(target).encode_with_flags(codes, source)
    theirs = golden.get(target).encode_with_flags(bits, "binary32")
    np.testing.assert_array_equal(ours, theirs[0])
    np.testing.assert_array_equal(flags, theirs[1])
