"""The values of every format, against other implementations, the papers' equations and the papers' tables."""

import dataclasses
import pickle

import en_dtypes
import gfloat
import ml_dtypes
import numpy as np
import pytest
from gfloat.formats import (
    format_info_bfloat16,
    format_info_binary16,
    format_info_ocp_e4m3,
    format_info_ocp_e5m2,
    format_info_p3109,
)

import golden
import golden.lfsr
from golden.formats import Format
from golden.rows import Biased, Fixed, Kind, Overflow, Row, Special
from golden.wide import Binary32, ieee
from rtl_tests.support import paper_tables
from rtl_tests.support.values import same_values

DTYPES = {
    "hif8": en_dtypes.hifloat8,
    "ocp_e4m3": ml_dtypes.float8_e4m3fn,
    "ocp_e5m2": ml_dtypes.float8_e5m2,
    "gc_1_5_2_b16": ml_dtypes.float8_e5m2fnuz,
    "gc_1_4_3_b8": ml_dtypes.float8_e4m3fnuz,
    "gc_1_4_3_b11": ml_dtypes.float8_e4m3b11fnuz,
    "ieee_e4m3": ml_dtypes.float8_e4m3,
    "ieee_e3m4": ml_dtypes.float8_e3m4,
    "bfloat16": ml_dtypes.bfloat16,
    "binary16": np.float16,
}


def gfloat_info(name, width, precision, bias, *, minus_zero, high_nans, subnormals, twos_complement=False):
    return gfloat.FormatInfo(
        name,
        width,
        precision,
        bias=bias,
        is_signed=True,
        domain=gfloat.Domain.Finite,
        has_nz=minus_zero,
        num_high_nans=high_nans,
        has_subnormals=subnormals,
        is_twos_complement=twos_complement,
    )


def without_subnormals(k, precision):
    return dataclasses.replace(format_info_p3109(k, precision), has_subnormals=False)


def graphcore(name):
    e, p, b = (int(part.lstrip("b")) for part in name.split("_")[2:])
    return gfloat_info(name, 1 + e + p, p + 1, b, minus_zero=False, high_nans=0, subnormals=True)


GRAPHCORE = tuple(n for n in paper_tables.CATALOGUE if n.startswith("gc") and n != "gc_1_0_7_b0")
GRAPHCORE_EXPERIMENTS = tuple(f"gc_1_4_3_b{b}" for b in (7, 10, 14, 16, 20)) + tuple(
    f"gc_1_5_2_b{b}" for b in (15, 24, 28, 31, 32, 33, 34)
)
GFLOAT = {
    "binary8p3": format_info_p3109(8, 3),
    "binary8p4": format_info_p3109(8, 4),
    "e5m3": format_info_p3109(9, 4),
    "e5m2_nosub": without_subnormals(8, 3),
    "e4m3_nosub": without_subnormals(8, 4),
    "e5m3_nosub": without_subnormals(9, 4),
    "ocp_e4m3": format_info_ocp_e4m3,
    "ocp_e5m2": format_info_ocp_e5m2,
    "ibm_1_4_3": gfloat_info("ibm_1_4_3", 8, 4, 11, minus_zero=True, high_nans=0, subnormals=False),
    "ibm_1_5_2": gfloat_info("ibm_1_5_2", 8, 3, 15, minus_zero=True, high_nans=0, subnormals=False),
    "ibm_fp9_1_5_3": gfloat_info("ibm_fp9_1_5_3", 9, 4, 15, minus_zero=True, high_nans=0, subnormals=False),
    "dlfloat16": gfloat_info("dlfloat16", 16, 10, 31, minus_zero=True, high_nans=1, subnormals=False),
    "binary16": format_info_binary16,
    "bfloat16": format_info_bfloat16,
} | {name: graphcore(name) for name in dict.fromkeys(GRAPHCORE + GRAPHCORE_EXPERIMENTS)}


def all_codes(fmt):
    return np.arange(1 << fmt.width, dtype=np.uint16)


@pytest.mark.parametrize("name", DTYPES)
def test_every_code_decodes_as_in_the_dtype_of_another_library(name):
    fmt = golden.get(name)
    codes = all_codes(fmt).astype(fmt.code_dtype)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        theirs = codes.view(DTYPES[name]).astype(np.float64)
    same_values(fmt.decode(codes), theirs)
    assert theirs.size == 1 << fmt.width


@pytest.mark.parametrize("name", GFLOAT)
def test_every_code_decodes_as_in_gfloat(name):
    fmt = golden.get(name)
    same_values(fmt.decode(all_codes(fmt)), gfloat.decode_ndarray(GFLOAT[name], all_codes(fmt).astype(np.int64)))


def test_the_scaled_integer_decodes_as_in_gfloat_except_its_nan():
    fmt = golden.get("gc_1_0_7_b0")
    info = gfloat_info("int8", 8, 8, 0, minus_zero=False, high_nans=0, subnormals=True, twos_complement=True)
    finite = all_codes(fmt) != 0x80
    theirs = gfloat.decode_ndarray(info, all_codes(fmt).astype(np.int64))
    same_values(fmt.decode(all_codes(fmt))[finite], theirs[finite])
    assert np.isnan(fmt.decode(0x80))


@pytest.mark.parametrize("name", [*paper_tables.CATALOGUE, "dlfloat16", *GRAPHCORE_EXPERIMENTS])
def test_every_code_decodes_by_the_papers_equation(name):
    fmt = golden.get(name)
    same_values(fmt.decode(all_codes(fmt)), paper_tables.values(name))


def supernormal_members():
    symmetric = [f"e{x}m{y}b{low}" for x, y in ((5, 2), (4, 3), (3, 2), (2, 1), (6, 1)) for low in range(1 << (x - 1))]
    lopsided = [
        f"e{x}m{y}b{low}_{high}" for x, y in ((4, 3), (3, 1)) for low in range(1 << x) for high in range((1 << x) - low)
    ]
    return [*symmetric, *lopsided]


def test_every_supernormal_of_a_shape_decodes_by_the_papers_equation():
    """All numbers of binades in five shapes; the paper prints only one and two binades of E5M2."""
    members = supernormal_members()
    assert len(members) == 16 + 8 + 4 + 2 + 32 + 136 + 36
    for name in members:
        fmt = golden.get(name)
        same_values(fmt.decode(all_codes(fmt)), paper_tables.values(name))


def test_supernormal_without_binades_is_nosub():
    np.testing.assert_array_equal(golden.get("e5m2b0").values, golden.get("e5m2_nosub").values)


def test_supernormal_table_1():
    """Supernormals paper, Table 1: the listed powers of two."""
    b1, b2 = golden.get("e5m2b1"), golden.get("e5m2b2")
    np.testing.assert_array_equal(b1.decode([0b1111100, 0b1111101, 0b1111110]), [2.0**15, 2.0**16, 2.0**17])
    np.testing.assert_array_equal(b1.decode([0b0000001, 0b0000010, 0b0000011]), [2.0**-18, 2.0**-17, 2.0**-16])
    np.testing.assert_array_equal(b1.decode([0b0000100, 0b1111011]), [2.0**-15, 2.0**14 * 1.75])
    np.testing.assert_array_equal(b2.decode(0b1111000 + np.arange(7)), 2.0 ** np.arange(14, 21))
    np.testing.assert_array_equal(b2.decode(np.arange(1, 8)), 2.0 ** np.arange(-21, -14))
    np.testing.assert_array_equal(b2.decode([0b0001000, 0b1110111]), [2.0**-14, 2.0**13 * 1.75])
    for fmt in (b1, b2, golden.get("binary8p3")):
        assert (fmt.decode(0x7F), fmt.decode(0xFF), fmt.decode(0)) == (np.inf, -np.inf, 0)
        assert np.isnan(fmt.decode(0x80))


@pytest.mark.parametrize(("name", "exponents"), [("e5m2b1", 36), ("e5m2b2", 42), ("e5m2b4", 54), ("hif8", 38)])
def test_range_in_binades(name, exponents):
    low, high = golden.get(name).exponent_range
    assert high - low + 1 == exponents


def test_hif8_table_4():
    """HiF8 paper, Table 4, with the bits that are missing in print (specification, 1.1)."""
    printed = {0x6F: np.inf, 0xEF: -np.inf, 0x00: 0.0, 0x6E: 2.0**15, 0x7E: 2.0**-15, 0x07: 2.0**-16, 0x01: 2.0**-22}
    np.testing.assert_array_equal(golden.get("hif8").decode(list(printed)), list(printed.values()))
    assert np.isnan(golden.get("hif8").decode(0x80))


def test_hif8_exponents_by_width_of_fraction():
    """HiF8 paper, abstract: 7 exponents with 3 fraction bits, 8 with 2, 16 with 1, 7 denormal powers of two."""
    values = golden.get("hif8").magnitudes[1:]
    exponents, counts = np.unique(np.frexp(values)[1] - 1, return_counts=True)
    assert exponents.tolist() == list(range(-22, 16))
    assert dict(zip(*np.unique(counts[1:-1][6:], return_counts=True), strict=True)) == {2: 15, 4: 8, 8: 7}
    assert counts[:7].tolist() == [1] * 7
    assert counts[-1] == 1  # 2^15 alone: 1.5 * 2^15 is the infinity


def test_ocp_table_1():
    """FP8 Formats for Deep Learning, Table 1."""
    e4m3, e5m2 = golden.get("ocp_e4m3"), golden.get("ocp_e5m2")
    np.testing.assert_array_equal(
        e4m3.decode([0b1111_110, 0b0001_000, 0b0000_111, 1]), [448, 2.0**-6, 0.875 * 2**-6, 2.0**-9]
    )
    np.testing.assert_array_equal(
        e5m2.decode([0b11110_11, 0b00001_00, 0b00000_11, 1]), [57344, 2.0**-14, 0.75 * 2**-14, 2.0**-16]
    )
    np.testing.assert_array_equal(e4m3.decode(np.arange(0x78, 0x7F)), [256, 288, 320, 352, 384, 416, 448])


def test_ibm_ranges_as_printed():
    """HFP8 paper, section 2.1: all codes normal; the bias of 4 takes the largest from 480 to 30."""
    assert golden.get("ibm_1_4_3").largest == 30
    assert 2.0 ** golden.get("ibm_1_5_2").exponent_range[0] == 2.0**-15
    fp9 = set(golden.get("ibm_fp9_1_5_3").magnitudes)
    assert fp9 >= set(golden.get("ibm_1_4_3").magnitudes) | set(golden.get("ibm_1_5_2").magnitudes)


@pytest.mark.parametrize("name", paper_tables.RANGES)
def test_range_and_count_of_the_specifications_tables(name):
    fmt = golden.get(name)
    smallest, largest, count = paper_tables.RANGES[name]
    assert (fmt.smallest, fmt.largest) == (smallest, largest)
    assert np.count_nonzero(np.isfinite(fmt.values) & (fmt.values != 0)) == count


def test_values_that_formats_share():
    """Specification, section 2: e5m3 contains P3109's and OCP's formats; e5m3_nosub lacks four values of binary8p3."""
    finite = {name: {v for v in golden.get(name).values if np.isfinite(v)} for name in paper_tables.CATALOGUE}
    assert finite["e5m3"] >= finite["binary8p3"] | finite["binary8p4"] | finite["ocp_e4m3"] | finite["ocp_e5m2"]
    assert finite["e5m3_nosub"] >= finite["e5m2_nosub"] | finite["e4m3_nosub"] | finite["binary8p4"]
    assert finite["binary8p3"] - finite["e5m3_nosub"] == {2.0**-17, -(2.0**-17), 2.0**-16, -(2.0**-16)}


def test_binary32_decodes_as_numpy():
    bits = np.random.default_rng(1).integers(0, 1 << 32, 100_000, dtype=np.uint32)
    bits = np.concatenate([bits, np.arange(1 << 16, dtype=np.uint32) << 16])
    same_values(golden.get("binary32").decode(bits), paper_tables.wide_values("binary32", bits))


@pytest.mark.parametrize(
    ("name", "fields", "subnormals"),
    [
        ("binary16", (5, 10, 15), True),
        ("bfloat16", (8, 7, 127), True),
        ("binary32", (8, 23, 127), True),
        ("dlfloat16", (6, 9, 31), False),
    ],
)
def test_fields_of_the_wide_formats(name, fields, subnormals):
    fmt = golden.get(name)
    assert isinstance(fmt, golden.WideFormat)
    assert (fmt.exponent_bits, fmt.fraction_bits, fmt.bias) == fields
    assert fmt.has_subnormals is subnormals


def test_limits_of_binary32_are_numpys():
    fmt, limits = golden.get("binary32"), np.finfo(np.float32)
    expected = (limits.smallest_subnormal, limits.smallest_normal, limits.max)
    assert (fmt.smallest, fmt.smallest_normal, fmt.largest) == expected
    assert (fmt.precision, fmt.ulp_exponent, fmt.exponent_range) == (limits.nmant + 1, -149, (-149, limits.maxexp - 1))
    assert fmt.decode([fmt.largest_code, fmt.infinity]).tolist() == [limits.max, np.inf]


@pytest.mark.parametrize(("name", "exponent_bits", "fraction_bits"), [("binary16", 5, 10), ("bfloat16", 8, 7)])
def test_properties_of_binary32_equal_those_from_tables(name, exponent_bits, fraction_bits):
    """The formulas of ``Binary32``, with the fields of formats that have tables."""
    tabled = golden.get(name)
    derived = ieee(Binary32, name, exponent_bits, fraction_bits, tabled.cite, tabled.canonical_nan)
    values = ("smallest", "smallest_normal", "largest", "ulp_exponent", "precision", "exponent_range")
    for member in (*values, "largest_code", "infinity"):
        assert getattr(derived, member) == getattr(tabled, member), member
    codes = np.arange(1 << 16)
    same_values(derived.decode(codes), tabled.decode(codes))


def test_a_format_is_immutable_hashable_and_its_tables_read_only():
    fmt = golden.get("hif8")
    with pytest.raises(dataclasses.FrozenInstanceError):
        fmt.width = 9
    with pytest.raises(ValueError, match=r"^assignment destination is read-only$"):
        fmt.values[0] = 1
    assert len({fmt, golden.get("hif8"), golden.get("e5m2b1")}) == 2


@pytest.mark.parametrize("name", golden.names())
def test_a_format_whose_tables_were_made_can_be_pickled(name):
    fmt = golden.get(name)
    assert fmt.binades
    copy = pickle.loads(pickle.dumps(fmt))
    assert copy == fmt
    np.testing.assert_array_equal(copy.values, fmt.values)


def test_decode_keeps_the_shape():
    fmt = golden.get("hif8")
    for shape in ((), (0,), (3, 0, 2), (2, 3, 4)):
        codes = np.zeros(shape, np.uint8)
        assert np.shape(fmt.decode(codes)) == shape
    assert fmt.decode([]).shape == (0,)
    np.testing.assert_array_equal(fmt.decode(np.arange(256).reshape(16, 16).T[::2]), fmt.values.reshape(16, 16).T[::2])


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint16, np.int16, np.int64, np.uint64])
def test_integers_of_numpy_do_not_wrap(kind):
    """Codes, widths of random words and registers, and fields of descriptions, each also as Python's integers."""
    for name in ("hif8", "e2m1", "e8m0", "ocp_e5m2", "binary8p3", "binary16", "int8"):
        fmt = golden.get(name)
        codes = range(0, min(1 << fmt.width, np.iinfo(kind).max + 1), 1 if fmt.width <= 8 else 997)
        values = [repr(fmt.exact_value(kind(code))) for code in codes]
        assert values == [repr(fmt.exact_value(code)) for code in codes]
    hif8, x = golden.get("hif8"), np.linspace(-3, 3, 41, dtype=np.float32)
    for width in (1, 7, 8, 10, 16, 31, 32):
        words = {"random": np.full(41, (1 << width) - 1, np.uint64), "rounding": "stochastic"}
        for call in (hif8.codes, lambda x, **options: hif8.encode_with_flags(x.view(np.uint32), **options)):
            np.testing.assert_array_equal(*(call(x, **words, random_bits=cast(width)) for cast in (kind, int)))
        blocks = [golden.quantize_block(x, "hif8", **words, random_bits=cast(width)) for cast in (kind, int)]
        assert all(map(np.array_equal, *blocks))
        errors = [golden.rounding_errors("hif8", x, "stochastic", cast(width)) for cast in (kind, int)]
        assert errors[0] == errors[1]
    for width in (16, 32, 64):
        mine, plain = golden.lfsr.Lfsr(kind(width), kind(8)), golden.lfsr.Lfsr(width, 8)
        assert mine == plain
        assert (mine.mask, mine.period) == (plain.mask, plain.period)
        np.testing.assert_array_equal(mine.words(kind(7), kind(50)), plain.words(7, 50))
    if kind(127) == 127:
        rows = Row("0000", Fixed(kind(1) - kind(0)), kind(3), kind(0)), Row("", Biased(kind(4), kind(0)), kind(3))
        special = Special(kind(127), kind(127), Kind.NAN)
        rules = (Overflow.NAN, Overflow.SATURATE)
        mine = Format("own", kind(8), rows, (special,), "x", kind(127), overflows=rules, signed=np.True_)
        plain = Format(
            "own",
            8,
            (Row("0000", Fixed(1), 3, 0), Row("", Biased(4, 0), 3)),
            (Special(127, 127, Kind.NAN),),
            "x",
            127,
            overflows=rules,
        )
        assert mine == plain
        same_values(mine.values, plain.values)
