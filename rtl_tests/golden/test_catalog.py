"""Names, families, and formats in TOML files."""

import dataclasses
import itertools
import math
import os
import re
import socket
from fractions import Fraction
from functools import partial
from pathlib import Path

import gfloat
import ml_dtypes
import numpy as np
import pytest
from gfloat.formats import format_info_ocp_e2m1, format_info_ocp_e2m3, format_info_ocp_e3m2

import golden
from golden import Biased, Fixed, Format, Kind, Overflow, Rounding, Row, SignMagnitude, Special
from golden.refusal import read_bytes
from rtl_tests.support import paper_tables
from rtl_tests.support.paths import ROOT
from rtl_tests.support.values import same_values

HINT = f"(any {', '.join(golden.catalog.FAMILIES)} and a path to a .toml file are allowed too)"


def refuses(error, sentence, call, *arguments):
    with pytest.raises(error, match=f"^{re.escape(sentence)}$"):
        call(*arguments)


# -- names ------------------------------------------------------------------------------------------------------------


def test_the_catalogue_is_the_specifications():
    assert golden.names() == (*paper_tables.CATALOGUE, *paper_tables.REFERENCES)
    assert golden.WIDE == ("binary16", "bfloat16", "binary32", "dlfloat16")
    assert golden.ACCUMULATORS == ("binary16", "bfloat16", "binary32", "dlfloat16", "exact")


def test_every_name_gives_one_valid_format_with_a_citation():
    for name in (*golden.names(), *golden.WIDE):
        fmt = golden.get(name)
        assert fmt.name == name
        assert fmt is golden.get(name)
        assert fmt is golden.get(fmt)
        assert "specification, section" in fmt.cite
        assert dataclasses.replace(fmt) == fmt  # replace() validates again
        assert hash(dataclasses.replace(fmt)) == hash(fmt)


@pytest.mark.parametrize("name", [*golden.names(), *golden.WIDE, "e5m2b2_1", "e3m2b1", "gc_1_4_3_b0"])
def test_every_citation_names_a_place_that_has_the_format(name):
    """The place exists in the paper and is about the format; the specification's section exists and names it."""
    *sources, ours = golden.get(name).cite.split("; ")
    text = (ROOT / "docs/specification.md").read_text()
    number = re.search(r"specification, section ([\d.]+)$", ours)[1]
    chapter = re.search(rf"^#+ {re.escape(number)}\.? .*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)[0]
    family = re.sub(r"^gc_1_\d_\d_b\d+$", "gc_1_{e}_{p}_b{bias}", re.sub(r"^e\dm\db\d(_\d)?$", "e{x}m{y}b{l}", name))
    assert f"`{family}`" in chapter
    for source in sources or [ours]:
        title = next((title for title in paper_tables.PLACES if source.startswith(title)), None)
        if title is None:
            assert source == paper_tables.UNPRINTED[name]
            continue
        cited = paper_tables.places(source.removeprefix(title))
        assert cited
        for place in cited:
            assert place in paper_tables.PLACES[title], (source, place)
            assert re.fullmatch(paper_tables.DEFINED_AT.get((title, place), ""), name), (name, source, place)


SUPERNORMALS = ("e3m2b1", "e4m3b0", "e5m2b1_3", "e2m1b0_1", "e6m1b2_0")
GRAPHCORE = ("gc_1_4_3_b0", "gc_1_4_3_bm3", "gc_1_2_1_b1", "gc_1_5_4_b400", "gc_1_0_4_b2")


@pytest.mark.parametrize(("e", "p", "bias"), [(4, 3, 7), (4, 3, -2), (5, 2, 31), (2, 1, 1), (6, 9, 40)])
def test_ibms_formats_have_any_bias(e, p, bias):
    """All fields are those of normal numbers but 0, whose place is that of the smallest one."""
    fmt = golden.get(f"ibm_1_{e}_{p}_b{bias}".replace("-", "m"))
    expected = [(1 + m / 2**p) * 2.0 ** (field - bias) for field in range(1 << e) for m in range(1 << p)]
    assert fmt.values.tolist() == [0.0, *expected[1:], -0.0, *(-value for value in expected[1:])]
    assert fmt.encode(np.float32([0.0, expected[1] / 4, 1e38]).view(np.uint32)).tolist() == [0, 0, (1 << e + p) - 1]


def test_ibms_formats_in_the_catalogue_have_one_name():
    for other, name in (("ibm_1_4_3_b11", "ibm_1_4_3"), ("IBM_1_5_2_B15", "ibm_1_5_2")):
        assert golden.get(other) is golden.get(name)


@pytest.mark.parametrize("name", golden.names())
def test_binades_are_those_of_exact_fractions(name):
    """A binade with at least two values has the bits that their distance needs."""
    fmt = golden.get(name)
    values = sorted({abs(Fraction(v)) for v in fmt.values.tolist() if math.isfinite(v) and v > 0})
    by_binade = {}
    for value in values:
        exponent = math.frexp(float(value))[1] - 1
        by_binade.setdefault(exponent, []).append(value)
    assert [*fmt.binades] == sorted(by_binade)
    for exponent, members in by_binade.items():
        steps = [high - low for low, high in itertools.pairwise(members)]
        if steps:
            assert fmt.binades[exponent] == 1 + exponent - math.log2(min(steps))
    most = [exponent for exponent, bits in fmt.binades.items() if bits == max(fmt.binades.values())]
    assert fmt.most_precise == (most[0], most[-1])


@pytest.mark.parametrize("name", [*SUPERNORMALS, *GRAPHCORE])
def test_members_of_families_have_names(name):
    fmt = golden.get(name)
    same_values(fmt.values, paper_tables.values(name))
    assert fmt.name == name


def test_unknown_names_get_the_nearest_known_ones():
    refuses(ValueError, f"name must be a known format, not 'hif9'; the nearest is hif8 {HINT}", golden.get, "hif9")
    refuses(
        ValueError,
        f"name must be a known format, not 'e5m2b1x'; the nearest are e5m2b1, e5m2b4, e5m2b2 {HINT}",
        golden.get,
        "e5m2b1x",
    )
    refuses(
        ValueError,
        f"name must be a known format, not ''; the nearest are hif8, binary8p3, binary8p4 {HINT}",
        golden.get,
        "",
    )
    refuses(
        ValueError,
        f"name must be a known format, not 'exact'; the nearest are hif8, binary8p3, binary8p4 {HINT}",
        golden.get,
        "exact",
    )
    refuses(TypeError, "name must be a format's name, a path or a Format, not 8", golden.get, 8)
    for endless in ("e" + "9" * 5000 + "m1b1", "hif8+" + "x" * 5000):
        with pytest.raises(golden.BadValue, match=r"^name must be a known format, not '"):
            golden.get(endless)
    refuses(TypeError, "name must be a format's name, a path or a Format, not b'hif8'", golden.get, b"hif8")


def test_a_path_is_a_string_or_a_path_object():
    path = ROOT / "examples/formats/mx_e2m3.toml"
    assert golden.get(path) == golden.get(str(path))
    assert golden.get(path).source_name == "mx_e2m3.toml"
    refuses(
        ValueError, "Format file 'none.toml' cannot be read: No such file or directory", golden.get, Path("none.toml")
    )


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("e1m6b0", "there must be at least 2 exponent bits, 1 fraction bit, and at most 16 bits in all"),
        ("e5m0b1", "there must be at least 2 exponent bits, 1 fraction bit, and at most 16 bits in all"),
        ("e9m7b1", "there must be at least 2 exponent bits, 1 fraction bit, and at most 16 bits in all"),
        ("e5m2b16", "16 low and 16 high binades must leave one of the 32 to the normals"),
        ("e3m2b2_6", "2 low and 6 high binades must leave one of the 8 to the normals"),
        ("e8m7b4", "row '000000': exponents must lie within ±400"),
        ("gc_1_8_8_b1", "there must be at least 1 fraction bit and 3 to 16 bits in all"),
        ("gc_1_7_0_b1", "there must be at least 1 fraction bit and 3 to 16 bits in all"),
        ("gc_1_0_1_b1", "there must be at least 1 fraction bit and 3 to 16 bits in all"),
        ("gc_1_4_3_b402", "row '0000': exponents must lie within ±400"),
        ("gc_1_4_3_bm387", "row '': exponents must lie within ±400"),
        (f"gc_1_4_3_b{10**30}", "row '0000': exponents must lie within ±400"),
    ],
)
def test_members_out_of_range_are_refused(name, sentence):
    refuses(ValueError, f"{'Format' if 'row' in sentence else 'name'} {name!r}: {sentence}", golden.get, name)


# -- TOML files -------------------------------------------------------------------------------------------------------

HIF8 = """
name = "my_hif8"
width = 8
canonical_nan = 0x80
roundings = ["ties_to_away", "ties_to_even"]
rows = [
    { prefix = "11", exponent = { rule = "sign_magnitude", bits = 4 }, fraction_bits = 1 },
    { prefix = "10", exponent = { rule = "sign_magnitude", bits = 3 }, fraction_bits = 2 },
    { prefix = "01", exponent = { rule = "sign_magnitude", bits = 2 }, fraction_bits = 3 },
    { prefix = "001", exponent = { rule = "sign_magnitude", bits = 1 }, fraction_bits = 3 },
    { prefix = "0001", exponent = { rule = "fixed", exponent = 0 }, fraction_bits = 3 },
    { prefix = "0000", exponent = { rule = "biased", bits = 3, bias = 23 }, fraction_bits = 0 },
]
specials = [
    { mask = 0xff, value = 0x00, kind = "zero" },
    { mask = 0xff, value = 0x80, kind = "nan" },
    { mask = 0x7f, value = 0x6f, kind = "inf" },
]
"""


def mx(name, e, m, bias):
    """An OCP MX element format: subnormals and normals, no infinity, no NaN."""
    return f"""
name = "{name}"
width = {1 + e + m}
rows = [
    {{ prefix = "{"0" * e}", exponent = {{ rule = "fixed", exponent = {1 - bias} }}, fraction_bits = {m}, hidden = 0 }},
    {{ prefix = "", exponent = {{ rule = "biased", bits = {e}, bias = {bias} }}, fraction_bits = {m} }},
]
"""


@pytest.fixture
def describe(tmp_path):
    """A function that writes a description and returns its path."""

    def write(text, name="mine.toml"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write


def test_the_rows_of_hif8_in_a_file(describe):
    mine, hif8 = golden.get(describe(HIF8)), golden.get("hif8")
    same_values(mine.values, hif8.values)
    assert (mine.rows, mine.specials, mine.overflows) == (hif8.rows, hif8.specials, hif8.overflows)
    bits = np.arange(1 << 16)
    np.testing.assert_array_equal(mine.encode(bits, "bfloat16"), hif8.encode(bits, "bfloat16"))
    np.testing.assert_array_equal(golden.mac(0x08, 0x09, 0x3C00, describe(HIF8)), golden.mac(0x08, 0x09, 0x3C00))
    assert len(mine.source_sha256) == 64
    assert mine == golden.get(describe(HIF8 + "# the same, with a comment\n", "other.toml"))


@pytest.mark.parametrize(
    ("e", "m", "bias", "info", "dtype"),
    [
        (2, 1, 1, format_info_ocp_e2m1, ml_dtypes.float4_e2m1fn),
        (2, 3, 1, format_info_ocp_e2m3, ml_dtypes.float6_e2m3fn),
        (3, 2, 3, format_info_ocp_e3m2, ml_dtypes.float6_e3m2fn),
    ],
)
def test_ocp_mx_elements_in_a_file(describe, e, m, bias, info, dtype):
    """Values and rounding equal those of gfloat and ml_dtypes, for all binary16 inputs."""
    fmt = golden.get(describe(mx(f"ocp_e{e}m{m}", e, m, bias)))
    codes = np.arange(1 << fmt.width, dtype=np.uint8)
    same_values(fmt.values, gfloat.decode_ndarray(info, codes.astype(np.int64)))
    same_values(fmt.values, codes.view(dtype).astype(np.float64))
    assert (fmt.has_nan, fmt.has_infinity, fmt.has_negative_zero) == (False, False, True)
    assert fmt.overflows == (Overflow.SATURATE,)
    bits = np.arange(1 << 16, dtype=np.uint16)
    numbers = paper_tables.wide_values("binary16", bits)
    nan = np.isnan(numbers)
    ours = fmt.encode(bits, "binary16")
    same_values(fmt.decode(ours[~nan]), gfloat.round_ndarray(info, numbers[~nan], sat=True))
    np.testing.assert_array_equal(ours[nan], 0)
    with np.errstate(invalid="ignore", over="ignore"):
        theirs = bits.view(np.float16).astype(np.float32).astype(dtype).view(np.uint8)
    np.testing.assert_array_equal(ours[~nan], theirs[~nan])


def edited(old, new):
    assert HIF8.count(old) >= 1
    return HIF8.replace(old, new, 1)


ROW_6 = '{ prefix = "0000", exponent = { rule = "biased", bits = 3, bias = 23 }, fraction_bits = 0 },'
MALFORMED = {
    "no TOML": ("name = ", "is not valid TOML: Invalid value (at end of document)"),
    "no text": (b"\xff\xfe", "must be text in UTF-8, and line 1 is not"),
    "Latin-1": (HIF8.encode() + b"# \xe9", f"must be text in UTF-8, and line {HIF8.count(chr(10)) + 1} is not"),
    "no name": (edited('name = "my_hif8"', ""), "the file needs a key 'name'"),
    "no rows": ('name = "x"\nwidth = 8', "the file needs a key 'rows'"),
    "empty rows": ('name = "x"\nwidth = 8\nrows = []', "Format 'x': there must be at least one row"),
    "misspelt key": (edited("width", "widht"), "the file has an unknown key 'widht'; did you mean 'width'?"),
    "strange key": (
        edited("width = 8", "width = 8\nzzz = 1"),
        "the file has an unknown key 'zzz'; allowed are name, width, cite, rows, specials, canonical_nan, "
        "nan_keeps_sign, signed, twos_complement, flush, posit_rounding, roundings, overflows",
    ),
    "width of a string": (edited("width = 8", 'width = "8"'), "the file: width must be an integer, not '8'"),
    "width of a bool": (edited("width = 8", "width = true"), "the file: width must be an integer, not True"),
    "flag of an integer": (edited("width = 8", "width = 8\nflush = 1"), "the file: flush must be true or false, not 1"),
    "name of an integer": (edited('"my_hif8"', "8"), "the file: name must be a string, not 8"),
    "name of two words": (edited("my_hif8", "my hif8"), "name must be an identifier, not 'my hif8'"),
    "too narrow": (edited("width = 8", "width = 2"), "width must be an integer from 3 to 16, not 2"),
    "row of a number": ('name = "x"\nwidth = 8\nrows = [1]', "rows[0] must be a table, not 1"),
    "row without exponent": (
        'name = "x"\nwidth = 8\nrows = [{ prefix = "", fraction_bits = 3 }]',
        "rows[0] needs a key 'exponent'",
    ),
    "unknown rule": (
        edited('"fixed"', '"posit"'),
        "rows[4].exponent.rule must be one of fixed, biased, sign_magnitude, not 'posit'",
    ),
    "rule without bias": (edited(", bias = 23", ""), "rows[5].exponent needs a key 'bias'"),
    "fixed with bits": (
        edited("exponent = 0 }", "exponent = 0, bits = 1 }"),
        "rows[4].exponent has an unknown key 'bits'; allowed are rule, exponent",
    ),
    "prefix of letters": (edited('"0001"', '"00x1"'), "Format 'my_hif8': row '00x1': a prefix must be of 0s and 1s"),
    "too few bits": (
        edited('"0001"', '"001"'),
        "Format 'my_hif8': row '001': 3 prefix, 0 exponent and 3 fraction bits must make up 7 bits",
    ),
    "negative fraction": (
        edited("fraction_bits = 1", "fraction_bits = -1"),
        "Format 'my_hif8': row '11': fraction_bits must not be negative, not -1",
    ),
    "wide exponent": (edited("bits = 4", "bits = 99"), "rows[0].exponent.bits must be at most 16, not 99"),
    "no exponent bits": (
        edited("bits = 1 }, fraction", "bits = 0 }, fraction"),
        "Format 'my_hif8': row '001': the exponent must have at least 1 bit, not 0",
    ),
    "far exponent": (
        edited("exponent = 0 }", "exponent = 401 }"),
        "Format 'my_hif8': row '0001': exponents must lie within ±400",
    ),
    "endless bias": (
        edited("bias = 23", f"bias = {10**30}"),
        "Format 'my_hif8': row '0000': exponents must lie within ±400",
    ),
    "hidden bit 2": (
        edited("fraction_bits = 1 }", "fraction_bits = 1, hidden = 2 }"),
        "Format 'my_hif8': row '11': the hidden bit must be 0 or 1, not 2",
    ),
    "no hidden bit": (
        edited("fraction_bits = 1 }", "fraction_bits = 1, hidden = 0 }"),
        "Format 'my_hif8': row '11': a row without hidden bit needs a fixed exponent",
    ),
    "uncovered code": (edited(ROW_6, ""), "Format 'my_hif8': no row matches magnitude 0000000"),
    "no zero": (
        edited('value = 0x00, kind = "zero"', 'value = 0x6e, kind = "inf"'),
        "Format 'my_hif8': code 0 must be zero, and there must be at least one larger value",
    ),
    "a value twice": (edited("bias = 23", "bias = 22"), "Format 'my_hif8': codes 0x7 and 0x7e have the same value"),
    "a hole": (
        edited("bias = 23", "bias = 24"),
        "Format 'my_hif8': there must be no hole between the values of codes 0x7 and 0x7e",
    ),
    "special of a list": (
        edited('{ mask = 0x7f, value = 0x6f, kind = "inf" }', "[]"),
        "specials[2] must be a table, not []",
    ),
    "special of no kind": (edited('"inf"', '"finite"'), "specials[2].kind must be one of zero, inf, nan, not 'finite'"),
    "special outside its mask": (
        edited("mask = 0x7f, value = 0x6f", "mask = 0x7f, value = 0xef"),
        "Format 'my_hif8': special value 0xef must lie inside its mask 0x7f and in 8 bits",
    ),
    "special too wide": (
        edited("mask = 0x7f, value = 0x6f", "mask = 0x17f, value = 0x6f"),
        "Format 'my_hif8': special value 0x6f must lie inside its mask 0x17f and in 8 bits",
    ),
    "one infinity": (
        edited("mask = 0x7f, value", "mask = 0xff, value"),
        "Format 'my_hif8': the negative values must mirror the positive ones",
    ),
    "NaN of a number": (edited("= 0x80", "= 0x81"), "Format 'my_hif8': canonical_nan 0x81 must be the code of a NaN"),
    "NaN too wide": (edited("= 0x80", "= 0x180"), "Format 'my_hif8': canonical_nan 0x180 must be the code of a NaN"),
    "negative NaN": (edited("= 0x80", "= -128"), "Format 'my_hif8': canonical_nan -0x80 must be the code of a NaN"),
    "NaN without its code": (
        edited("canonical_nan = 0x80", ""),
        "Format 'my_hif8': canonical_nan must be given exactly where a special is NaN",
    ),
    "rounding unknown": (
        edited('"ties_to_even"', '"up"'),
        f"roundings must be one of {', '.join(golden.rows.ALL_ROUNDINGS)}, not 'up'",
    ),
    "rounding of HiF8 alone": (
        edited('"ties_to_even"', '"hybrid"'),
        f"roundings must be one of {', '.join(golden.rows.ALL_ROUNDINGS)}, not 'hybrid'",
    ),
    "no rounding": (
        edited('["ties_to_away", "ties_to_even"]', "[]"),
        "Format 'my_hif8': there must be at least one rounding and one overflow rule",
    ),
    "overflow of OCP alone": (
        mx("x", 2, 1, 1) + 'overflows = ["ocp_paper"]',
        "Format 'x': overflow 'ocp_paper' needs a code for infinity or NaN",
    ),
    "overflow without infinity": (
        mx("x", 2, 1, 1) + 'overflows = ["infinity"]',
        "Format 'x': overflow 'infinity' needs a code for infinity",
    ),
    "overflow without NaN": (
        mx("x", 2, 1, 1) + 'overflows = ["nan"]',
        "Format 'x': overflow 'nan' needs a code for NaN",
    ),
    "flush without a gap": (
        mx("x", 2, 1, 1) + "flush = true",
        "Format 'x': flush needs an unused pattern below the smallest value",
    ),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_a_malformed_description_gets_one_sentence(describe, kind):
    text, sentence = MALFORMED[kind]
    path = describe(text)
    refuses(
        ValueError,
        f"Format file {path!r}{'' if sentence.startswith(('is not valid', 'must be text')) else ':'} {sentence}",
        golden.get,
        path,
    )


def test_a_format_of_a_file_has_at_most_sixteen_bits(describe):
    """Even under the name of the wider ``binary32``."""
    path = describe(edited("my_hif8", "binary32").replace("width = 8", "width = 32"))
    with pytest.raises(ValueError, match=r"width must be an integer from 3 to 16, not 32$"):
        golden.get(path)


def test_missing_files_and_folders_are_refused(tmp_path):
    missing, folder = tmp_path / "none.toml", tmp_path / "folder.toml"
    folder.mkdir()
    refuses(
        ValueError, f"Format file {str(missing)!r} cannot be read: No such file or directory", golden.get, str(missing)
    )
    refuses(ValueError, f"Format file {str(folder)!r} cannot be read: Is a directory", golden.get, str(folder))


@pytest.mark.usefixtures("unblocked")
def test_files_that_may_have_no_end_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.toml")
    Path("link.toml").symlink_to("pipe.toml")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket.toml")
        for kind in ("pipe", "link", "socket"):
            reason = f"it is a {kind.replace('link', 'pipe')}"
            refuses(ValueError, f"Format file '{kind}.toml' cannot be read: {reason}", golden.get, f"{kind}.toml")


def test_a_pipe_of_a_shell_is_read():
    """As of ``hwgen build <(...)``: it has no other name than its number."""
    end, beginning = os.pipe()
    with open(beginning, "wb") as file:
        file.write(b"text")
    assert read_bytes(f"/dev/fd/{end}") == b"text"
    os.close(end)


def test_neighbours_of_equal_parity_are_refused():
    """Ties go to the even code, so neighbours must differ in parity; here codes 1 and 3 have the values 1 and 2."""
    exponents = {1: 0, 3: 1, 2: 2, 5: 3, 4: 4, 7: 5, 6: 6}
    rows = tuple(Row(f"{code:03b}", Fixed(exponent), 0) for code, exponent in exponents.items())
    parts = (Row("000", Fixed(0), 0), *rows), (Special(0x7, 0, Kind.ZERO),)
    sentence = "Format 'odd': codes 0x1 and 0x3 are neighbours of the same parity, so that ties have no even code"
    refuses(ValueError, sentence, partial(Format, overflows=(Overflow.SATURATE,)), "odd", 4, *parts, "test")


def test_formats_can_be_built_in_python():
    """The values equal those of the catalogue's format."""
    rows = (Row("0000", Fixed(-6), 3, hidden=0), Row("", Biased(4, 7), 3))
    nan = (Special(0x7F, 0x7F, Kind.NAN),)
    mine = Format(
        "mine", 8, rows, nan, "test", canonical_nan=0x7F, roundings=(Rounding.TIES_TO_EVEN,), overflows=(Overflow.NAN,)
    )
    same_values(mine.values, golden.get("ocp_e4m3").values)
    assert SignMagnitude(3).exponents(np.arange(8)).tolist() == [4, 5, 6, 7, -4, -5, -6, -7]


UNSIGNED = """\
name = "tiny"
width = 4
signed = false
rows = [
    { prefix = "00", exponent = { rule = "fixed", exponent = 0 }, fraction_bits = 2, hidden = 0 },
    { prefix = "", exponent = { rule = "biased", bits = 2, bias = 1 }, fraction_bits = 2 },
]
"""

SIGNED = UNSIGNED.replace("width = 4\nsigned = false", "width = 5")


def test_a_format_without_a_sign_in_a_file(describe):
    fmt = golden.get(describe(UNSIGNED))
    assert (fmt.signed, fmt.sign_bit, fmt.magnitude_bits, fmt.has_negative_zero) == (False, 0, 4, False)
    assert fmt.values.tolist() == [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 5, 6, 7]
    numbers = np.array([2.75, -1.0, -0.0, 100.0, np.nan, -np.inf], np.float32).view(np.uint32)
    assert fmt.encode(numbers).tolist() == [10, 0, 0, 15, 0, 0]
    special = 'specials = [{ mask = 15, value = 15, kind = "nan" }]\ncanonical_nan = 15\n'
    assert golden.get(describe(UNSIGNED + special)).encode(numbers).tolist() == [10, 15, 0, 15, 15, 15]


def test_powers_of_two_without_zero_in_a_file(describe):
    row = '{ prefix = "", exponent = { rule = "biased", bits = 4, bias = 7 }, fraction_bits = 0 }'
    fmt = golden.get(describe(f'name = "powers"\nwidth = 4\nsigned = false\nrows = [{row}]\n'))
    assert not fmt.has_zero
    assert (fmt.smallest, fmt.largest) == (2.0**-7, 2.0**8)
    numbers = np.array([0.0, 2.0**-20, 3.0, 1e9, -1.0], np.float32).view(np.uint32)
    assert fmt.encode(numbers).tolist() == [0, 0, 8, 15, 0]  # 3 is a tie of 2 and 4


WITHOUT_ZERO = """name = "without_zero"
width = 8
signed = false
canonical_nan = 250
overflows = ["nan", "infinity", "saturate", "none"]
rows = [{ prefix = "", exponent = { rule = "biased", bits = 5, bias = 13 }, fraction_bits = 3 }]
specials = [{ mask = 255, value = 248, kind = "inf" }, { mask = 248, value = 248, kind = "nan" }]
"""


@pytest.mark.parametrize("rounding", ["stochastic", "stochastic_b", "stochastic_c"])
def test_numbers_below_the_smallest_of_a_format_without_zero(describe, rounding):
    """By binades, as from binary32, and by the definition, as with a scale; each below and about the smallest."""
    fmt, rng = golden.get(describe(WITHOUT_ZERO)), np.random.default_rng(1)
    x = np.ldexp(rng.uniform(1, 2, 4000), rng.integers(-40, 20, 4000)) * rng.choice([-1, 1], 4000)
    bits = x.astype(np.float32).view(np.uint32)
    for overflow, random_bits in itertools.product(fmt.overflows, (1, 14, 32)):
        words = rng.integers(0, 1 << random_bits, 4000, np.uint32)
        options = {"rounding": rounding, "overflow": overflow, "random": words, "random_bits": random_bits}
        results = [fmt.encode_with_flags(bits, **options, **scale) for scale in ({}, {"scale": 0})]
        np.testing.assert_array_equal(*results)
        assert not results[0][0][(x > 0) & (x < fmt.smallest)].any()


def test_a_nan_that_keeps_its_sign_has_a_code_without_it(describe):
    """Golden and the hardware would mean other codes by a NaN of the other sign, and by none."""
    text = f"nan_keeps_sign = true\n{SIGNED}"
    refused = "nan_keeps_sign needs a canonical_nan whose sign bit is 0"
    with pytest.raises(golden.BadValue, match=refused):
        golden.get(describe(text))
    special = 'specials = [{ mask = 15, value = 15, kind = "nan" }]\ncanonical_nan = '
    assert golden.get(describe(f"{text}{special}15\n")).nan_keeps_sign
    with pytest.raises(golden.BadValue, match=refused):
        golden.get(describe(f"{text}{special}31\n"))


def test_specials_that_cover_all_codes_leave_no_value(describe):
    text = 'specials = [{ mask = 0, value = 0, kind = "nan" }]\ncanonical_nan = 0\n'
    with pytest.raises(golden.BadValue, match="code 0 must be zero, and there must be at least one larger value"):
        golden.get(describe(SIGNED + text))


@pytest.mark.parametrize("flag", ["twos_complement", "nan_keeps_sign"])
def test_flags_of_signs_need_a_sign(describe, flag):
    with pytest.raises(golden.BadValue, match=f"Format 'tiny': {flag} needs a sign"):
        golden.get(describe(f"{flag} = true\n{UNSIGNED}"))


def test_pairs_have_a_sign_both_or_neither():
    with pytest.raises(golden.BadValue, match="both must have a sign or none, and e8m0 alone has none"):
        golden.get("hif8+e8m0")
    assert golden.get("e8m0+ue5m3").split(0x1FF)[0].name == "ue5m3"
