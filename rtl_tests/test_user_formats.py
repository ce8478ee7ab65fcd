"""Formats from users' files go through the whole of it: golden, decoder, encoder, MAC, equal in simulation or in every case."""

import pytest

import golden
from golden.rows import Rounding
from hwgen import build
from rtl_tests.bench import simulate
from rtl_tests.blocks import decoder_case
from rtl_tests.test_proof_sweep import check, inputs
from synth.proof.evidence import EQUAL

FORMATS = {
    "mx_e2m1": """
        width = 4
        rows = [
            { prefix = "00", exponent = { rule = "fixed", exponent = 0 }, fraction_bits = 1, hidden = 0 },
            { prefix = "", exponent = { rule = "biased", bits = 2, bias = 1 }, fraction_bits = 1 },
        ]
    """,
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
    found = []
    for name, text in FORMATS.items():
        (tmp_path / f"{name}.toml").write_text(f'name = "{name}"\n{text}')
        found.append(golden.get(str(tmp_path / f"{name}.toml")))
    return found


def test_simulation_of_their_decoders(formats, tmp_path):
    simulate([decoder_case(fmt, target) for fmt in formats for target in ("unpacked", "binary16", "bfloat16", "binary32")], tmp_path)


def test_every_case_of_their_encoders(formats):
    roundings = [(fmt, rounding) for fmt in formats for rounding in fmt.roundings]
    assert {rounding for _, rounding in roundings} == set(Rounding) - {Rounding.HYBRID, Rounding.MPTORCH}
    for fmt, rounding in roundings:
        design = build.encoder(fmt, "binary16", rounding)
        evidence = check(design)
        assert (evidence.verdict, evidence.cases) == (EQUAL, inputs(design)), design.name


def test_every_case_of_their_macs(formats):
    macs = [build.mac(fmt) for fmt in formats if fmt.width < 10]
    for design in [*macs, build.mac(formats[2], formats[0], "exact", 5)]:
        evidence = check(design)
        assert (evidence.verdict, evidence.cases) == (EQUAL, inputs(design)), design.name


def test_a_known_name_is_refused(tmp_path):
    (tmp_path / "x.toml").write_text(f'name = "ocp_e5m2"\n{FORMATS["mx_e2m1"]}')
    with pytest.raises(ValueError, match=r"name 'ocp_e5m2' is that of a known format with other rows; choose another one$"):
        golden.get(str(tmp_path / "x.toml"))


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
            { mask = 31, value = 0, kind = "zero" }, { mask = 31, value = 1, kind = "nan" }, { mask = 31, value = 2, kind = "nan" },
        ]
    """)
    with pytest.raises(ValueError, match=r"hole|unused|missing"):
        golden.get(str(tmp_path / "x.toml"))
