"""Formats from TOML files: reference model, decoder, encoder and MAC, in simulation or on every input."""

import gfloat
import ml_dtypes
import numpy as np
import pytest
from gfloat import formats as gfloat_formats

import golden
from golden.rows import Rounding
from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from rtl_tests.support import paper_tables
from rtl_tests.support.bench import simulate
from rtl_tests.support.blocks import all_codes, decoder_case
from rtl_tests.support.paths import ROOT
from rtl_tests.support.proofs import check, inputs
from rtl_tests.support.toys import TOML_FORMAT
from synth.proof.evidence import EQUAL

EXAMPLES = {path.stem: str(path) for path in sorted((ROOT / "examples/formats").glob("*.toml"))}

FORMATS = {
    "three_bits": """
        width = 3
        canonical_nan = 3
        rows = [{ prefix = "", exponent = { rule = "fixed", exponent = 0 }, fraction_bits = 2, hidden = 0 }]
        specials = [{ mask = 2, value = 2, kind = "nan" }]
    """,
    "seven_tapered": """
        width = 7
        canonical_nan = 64
        rows = [
            { prefix = "11", exponent = { rule = "sign_magnitude", bits = 3 }, fraction_bits = 1 },
            { prefix = "10", exponent = { rule = "sign_magnitude", bits = 2 }, fraction_bits = 2 },
            { prefix = "01", exponent = { rule = "sign_magnitude", bits = 1 }, fraction_bits = 3 },
            { prefix = "001", exponent = { rule = "fixed", exponent = 0 }, fraction_bits = 3 },
            { prefix = "000", exponent = { rule = "biased", bits = 3, bias = 15 }, fraction_bits = 0 },
        ]
        specials = [
            { mask = 127, value = 0, kind = "zero" },
            { mask = 127, value = 64, kind = "nan" },
            { mask = 63, value = 55, kind = "inf" },
        ]
    """,
    "flushed": """
        width = 9
        flush = true
        overflows = ["saturate"]
        rows = [{ prefix = "", exponent = { rule = "biased", bits = 6, bias = 40 }, fraction_bits = 2 }]
        specials = [{ mask = 255, value = 0, kind = "zero" }]
    """,
    "ten_bits": """
        width = 10
        canonical_nan = 512
        rows = [
            { prefix = "00000", exponent = { rule = "fixed", exponent = -14 }, fraction_bits = 4, hidden = 0 },
            { prefix = "", exponent = { rule = "biased", bits = 5, bias = 15 }, fraction_bits = 4 },
        ]
        specials = [{ mask = 1023, value = 512, kind = "nan" }, { mask = 511, value = 511, kind = "inf" }]
    """,
}


@pytest.fixture
def formats(tmp_path):
    """The formats above, read from files."""
    for name, text in FORMATS.items():
        (tmp_path / f"{name}.toml").write_text(f'name = "{name}"\n{text}')
    return [golden.get(str(tmp_path / f"{name}.toml")) for name in FORMATS]


def test_simulation_of_file_formats_in_decoders(formats, tmp_path):
    simulate(
        [decoder_case(fmt, target) for fmt in formats for target in ("unpacked", "bfloat16")],
        tmp_path,
    )


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
def test_every_case_of_file_formats_in_encoders(formats, every):
    roundings = [(fmt, rounding) for fmt in formats for rounding in (fmt.roundings if every else fmt.roundings[:1])]
    assert not every or {rounding for _, rounding in roundings} == set(Rounding) - {Rounding.HYBRID, Rounding.MPTORCH}
    for fmt, rounding in roundings:
        design = build("encoder", fmt, source="binary16", rounding=rounding)
        evidence = check(design)
        assert (evidence.verdict, evidence.cases) == (EQUAL, inputs(design)), design.name


@pytest.mark.parametrize("width", [8, pytest.param(10, marks=pytest.mark.exhaustive)])
def test_every_case_of_file_formats_in_macs(formats, width):
    macs = [build("mac", fmt) for fmt in formats if fmt.width < width]
    for design in [*macs, build("mac", formats[1], formats[0], accumulator="exact", terms=5)]:
        evidence = check(design)
        assert (evidence.verdict, evidence.cases) == (EQUAL, inputs(design)), design.name


IBM = """
    name = "ibm_1_4_3"
    width = 8
    rows = [{ prefix = "", exponent = { rule = "biased", bits = 4, bias = 11 }, fraction_bits = 3 }]
    specials = [{ mask = 127, value = 0, kind = "zero" }]
"""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (TOML_FORMAT.replace('"tiny"', '"ocp_e5m2"'), "name 'ocp_e5m2' is that of a known format with other width"),
        (IBM.replace("bias = 11", "bias = 10"), "name 'ibm_1_4_3' is that of a known format with other rows"),
        (IBM + 'overflows = ["saturate"]', "name 'ibm_1_4_3' is that of a known format with other flush"),
        (TOML_FORMAT.replace('"tiny"', '"binary16"'), "name 'binary16' is that of a source and accumulator"),
    ],
)
def test_a_known_name_is_refused(text, sentence, tmp_path):
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(ValueError, match=rf"{sentence}; choose another one$"):
        golden.get(str(tmp_path / "x.toml"))


def test_a_path_may_hold_a_plus(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c++").mkdir()
    (tmp_path / "c++" / "tiny.toml").write_text(TOML_FORMAT)
    (tmp_path / "c++" / "other.toml").write_text(TOML_FORMAT.replace('"tiny"', '"other"'))
    assert golden.get("c++/tiny.toml").name == "tiny"
    assert golden.get("ibm_1_4_3+ibm_1_5_2").name == "ibm_1_4_3+ibm_1_5_2"
    (tmp_path / "first.toml").write_text(TOML_FORMAT)
    assert golden.get("first.toml+c++/other.toml").name == "tiny+other"


def test_a_known_name_with_the_known_description_is_taken(tmp_path):
    (tmp_path / "x.toml").write_text(IBM + 'flush = true\noverflows = ["saturate"]')
    assert golden.get(str(tmp_path / "x.toml")).values.tolist() == golden.get("ibm_1_4_3").values.tolist()


@pytest.mark.parametrize(("inf", "nan"), [(55, 119), (119, 55)])
def test_infinities_come_in_pairs(inf, nan, tmp_path):
    text = FORMATS["seven_tapered"].replace(
        '{ mask = 63, value = 55, kind = "inf" }',
        f'{{ mask = 127, value = {inf}, kind = "inf" }}, {{ mask = 127, value = {nan}, kind = "nan" }}',
    )
    (tmp_path / "x.toml").write_text(f'name = "x"\n{text}')
    with pytest.raises(ValueError, match=r"infinity must have a positive code and its negative$"):
        golden.get(str(tmp_path / "x.toml"))


def test_values_missing_below_the_smallest_are_refused(tmp_path):
    (tmp_path / "x.toml").write_text("""
        name = "x"
        width = 6
        flush = true
        canonical_nan = 1
        rows = [{ prefix = "", exponent = { rule = "biased", bits = 3, bias = 3 }, fraction_bits = 2 }]
        specials = [
            { mask = 31, value = 0, kind = "zero" },
            { mask = 31, value = 1, kind = "nan" },
            { mask = 31, value = 2, kind = "nan" },
        ]
    """)
    with pytest.raises(ValueError, match=r"there must be no hole below the smallest value, that of code 0x3, but"):
        golden.get(str(tmp_path / "x.toml"))


# -- examples/formats


def test_all_example_formats_are_checked():
    assert sorted(EXAMPLES) == ["e3m2b1", "mx_e2m1", "mx_e2m3", "mx_e3m2", "mx_int8"]


@pytest.mark.parametrize(
    ("name", "dtype", "info"),
    [
        ("mx_e2m1", ml_dtypes.float4_e2m1fn, gfloat_formats.format_info_ocp_e2m1),
        ("mx_e2m3", ml_dtypes.float6_e2m3fn, gfloat_formats.format_info_ocp_e2m3),
        ("mx_e3m2", ml_dtypes.float6_e3m2fn, gfloat_formats.format_info_ocp_e3m2),
    ],
)
def test_microscaling_elements_are_those_of_ml_dtypes_and_gfloat(name, dtype, info):
    fmt = golden.get(EXAMPLES[name])
    codes = all_codes(fmt.width).astype(np.uint8)
    values = fmt.decode(codes)
    for others in (codes.view(dtype).astype(np.float64), gfloat.decode_ndarray(info, codes.astype(np.int64))):
        np.testing.assert_array_equal(values, others)
        np.testing.assert_array_equal(np.signbit(values), np.signbit(others))
    bits = all_codes(16).astype(np.uint16)
    bits = bits[np.isfinite(bits.view(np.float16))]
    np.testing.assert_array_equal(fmt.encode(bits, "binary16"), bits.view(np.float16).astype(dtype).view(np.uint8))


def test_blocks_of_microscaling_integers_are_gfloats():
    fmt = golden.get(EXAMPLES["mx_int8"])
    np.testing.assert_array_equal(fmt.values, gfloat.decode_ndarray(gfloat_formats.format_info_ocp_int8, all_codes(8)))
    rng = np.random.default_rng(1)
    x = (rng.normal(size=(300, 32)) * 2.0 ** rng.integers(-120, 120, (300, 1))).astype(np.float32)
    x[0], x[1, 1:] = 0, 0
    values = golden.dequantize_block(*golden.quantize_block(x, fmt, policy="floor"), fmt)
    for row, block in zip(values, x.astype(np.float64), strict=True):
        info = gfloat_formats.format_info_mxint8
        np.testing.assert_array_equal(row, gfloat.quantize_block(info, block, gfloat.compute_scale_amax))


@pytest.mark.parametrize(
    "words",
    [
        ["quantizer", "--lanes", "2", "--policy", "floor", "--from", "bfloat16"],
        pytest.param(["quantizer", "--policy", "floor"], marks=pytest.mark.exhaustive),
        pytest.param(
            ["dot", "--lanes", "4", "--accumulator", "binary32", "--block-scale", "e8m0"], marks=pytest.mark.exhaustive
        ),
    ],
)
def test_hardware_for_microscaling_integers(words, tmp_path, capsys):
    assert main(["verify", *words, "--format", EXAMPLES["mx_int8"], "-o", str(tmp_path)]) == 0
    assert ": equal to the reference model on all " in capsys.readouterr().out


def test_the_example_supernormal_equals_paper_and_family():
    fmt = golden.get(EXAMPLES["e3m2b1"])
    family = golden.get("e3m2b1")
    np.testing.assert_array_equal(fmt.values, paper_tables.values("e3m2b1"))
    assert (fmt.rows, fmt.specials, fmt.canonical_nan) == (family.rows, family.specials, family.canonical_nan)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.exhaustive) if name[3:] > "e2m1" else name for name in EXAMPLES]
)
def test_every_case_of_the_example_formats(name, tmp_path, capsys):
    blocks = [["decoder"], ["encoder", "--from", "binary16"], ["mac"]]
    for block in blocks:
        assert main(["generate", *block, "--format", EXAMPLES[name], "-o", str(tmp_path / "verilog")]) == 0
        assert main(["verify", *block, "--format", EXAMPLES[name], "-o", str(tmp_path / "evidence")]) == 0
    assert capsys.readouterr().out.count(": equal to the reference model on all ") == len(blocks)
