"""The largest magnitude against a definition in exact integers, and the scale that it gives against that of blocks."""

import numpy as np
import pytest

import golden
from golden import Kind
from golden.arithmetic.amax import SPECIALS
from golden.arithmetic.blocks import POLICIES
from rtl_tests.support.blocks import generator
from rtl_tests.support.toys import TOML_FORMAT

SOURCES = (*golden.names(), "binary16", "bfloat16", "dlfloat16", "binary32", "Binary8p1uf", "e5m2b1_3")


def magnitude(fmt, code):
    """Class and magnitude of a code in units of the last place, an integer, by the fields of the code."""
    if not fmt.has_tables:
        field, fraction = code >> 23 & 0xFF, code & (1 << 23) - 1
        if field == 0xFF:
            return (2 if fraction else 1), 0
        return 0, fraction if field == 0 else (fraction | 1 << 23) << field - 1
    value = fmt.exact_value(int(code))
    kind = fmt.kinds[code]
    if kind in (Kind.NAN, Kind.INF):
        return (2 if kind is Kind.NAN else 1), 0
    return 0, int(abs(value) / 2**fmt.ulp_exponent if fmt.ulp_exponent >= 0 else abs(value) * 2**-fmt.ulp_exponent)


def expected(fmt, codes, nan, infinity):
    """The class and magnitude of the largest; None if all are ignored."""
    found = [magnitude(fmt, code) for code in codes]
    return max(
        (one for one in found if not (one[0] == 2 and nan == "ignore") and not (one[0] == 1 and infinity == "ignore")),
        default=None,
    )


def blocks(fmt, count):
    """Codes of any kind, of neighbours in magnitude, and specials among small numbers."""
    rng = generator(fmt.name)
    rows = rng.integers(0, 1 << fmt.width, (count, 5))
    if fmt.has_tables:
        order = np.argsort(np.where(np.isfinite(fmt.values), np.abs(fmt.values), np.inf), kind="stable")
        places = np.clip(rng.integers(0, order.size, (count, 1)) + rng.integers(-3, 4, (count, 5)), 0, order.size - 1)
        rows[::2] = order[places][::2]
    else:
        special = rng.choice([0x7F800000, 0xFF800000, 0x7F800001, 0xFFC00000, 0, 0x80000000, 1, 0x807FFFFF], (count, 5))
        rows = np.where(rng.integers(0, 4, (count, 5)) == 0, special, rows)
    return rows


@pytest.mark.parametrize("name", SOURCES)
def test_the_largest_magnitude_is_that_of_exact_integers(name):
    fmt = golden.get(name)
    for nan in SPECIALS:
        for infinity in SPECIALS:
            rows = blocks(fmt, 60)
            codes = golden.amax(rows, fmt, -1, nan=nan, infinity=infinity)
            assert codes.shape == (len(rows),)
            assert codes.dtype == fmt.code_dtype
            for row, code in zip(rows.tolist(), codes.tolist(), strict=True):
                right = expected(fmt, row, nan, infinity)
                right = magnitude(fmt, 0) if right is None else right  # the smallest magnitude
                assert magnitude(fmt, code) == right
                if right[0] == 2:
                    assert code == fmt.canonical_nan
                elif code & fmt.sign_bit:
                    assert fmt.has_lowest
                    assert code == fmt.sign_bit


def test_axes_and_no_numbers():
    bits = np.float32([[1.0, -3.0, 2.0], [0.0, -0.0, np.inf]]).view(np.uint32)
    assert golden.amax(bits).view(np.float32) == np.inf
    assert golden.amax(bits, axis=1).view(np.float32).tolist() == [3.0, np.inf]
    assert golden.amax(bits, axis=0, infinity="ignore").view(np.float32).tolist() == [1.0, 3.0, 2.0]
    assert golden.amax(bits, axis=(0, 1)).shape == ()
    assert golden.amax(np.zeros((3, 0), np.uint32), axis=1).tolist() == [0, 0, 0]
    assert golden.amax(np.uint8([0x80, 0x7F]), "int8") == 0x80  # -128, whose magnitude no positive code has


def test_nan_is_canonical():
    bits = np.uint32([0x3F800000, 0xFFFFFFFF])
    assert golden.amax(bits) == 0x7FC00000
    assert golden.amax(bits, nan="ignore") == 0x3F800000


@pytest.mark.parametrize("elements", ["e2m1", "ocp_e4m3", "hif8", "e5m2b1", "gc_1_0_7_b0"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_the_scale_is_that_of_a_block(elements, dtype):
    rng = generator(elements)
    with np.errstate(over="ignore"):
        x = (rng.normal(size=(3000, 8)) * np.exp2(rng.integers(-149, 128, (3000, 1)))).astype(dtype)
    x[::7, 3] = rng.choice([np.inf, -np.inf, np.nan], len(x[::7]))
    bits, source = x.view(f"u{x.itemsize}"), "binary32" if dtype is np.float32 else "binary16"
    for policy in (None, *POLICIES):
        for center in (None, 0, -1):
            scales = golden.amax_scale(golden.amax(bits, source, -1), elements, source, policy, center)
            assert np.array_equal(scales, golden.quantize_block(x, elements, policy=policy, center=center)[1])


def test_the_scale_of_codes_is_that_of_their_values(tmp_path):
    (tmp_path / "toy.toml").write_text(TOML_FORMAT)
    for fmt in (golden.get("hif8"), golden.get("posit8_2"), golden.get("int8"), golden.get(tmp_path / "toy.toml")):
        codes = np.arange(1 << fmt.width)
        x = fmt.values.astype(np.float32)
        right = golden.quantize_block(x[:, np.newaxis], "e2m1")[1]
        assert np.array_equal(golden.amax_scale(codes, "e2m1", fmt), right)


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        ((np.uint32([1]),), {"nan": "skip"}, "nan must be one of propagate, ignore, not 'skip'"),
        ((np.uint32([1]),), {"infinity": None}, "infinity must be one of propagate, ignore, not None"),
        ((np.uint32([1]),), {"axis": 1}, "axis must be an integer from -1 to 0, not 1"),
        ((np.uint32([256]), "hif8"), {}, "bits must lie in 0 to 0xff for hif8, not 0x100"),
        ((np.float32([1]),), {}, "bits must be unsigned integers, not float32"),
        ((np.uint8([1]), "ocp_e4m3+ocp_e5m2"), {}, "source must be one format, not the two of 'ocp_e4m3+ocp_e5m2'"),
    ],
)
def test_refusals(arguments, options, sentence):
    with pytest.raises(golden.Refusal) as refusal:
        golden.amax(*arguments, **options)
    assert str(refusal.value) == sentence


def test_refusals_of_scales():
    with pytest.raises(golden.Refusal, match=r"^policy must be one of floor, ceil, rceil, even, nearest, not 'up'$"):
        golden.amax_scale(np.uint32([1]), "e2m1", policy="up")
    with pytest.raises(golden.Refusal, match=r"^element_format must be one format with a sign, not 'e8m0'$"):
        golden.amax_scale(np.uint32([1]), "e8m0")


@pytest.mark.parametrize("source", ["binary32", "binary16", "hif8"])
def test_one_magnitude_is_an_array_without_axes(source):
    largest = golden.amax([1, 2], source)
    assert isinstance(largest, np.ndarray)
    assert largest.shape == ()
