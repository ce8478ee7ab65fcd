"""Readouts: the reference model against fractions, gates against the reference model, and refusals."""

import re
from fractions import Fraction

import numpy as np
import pytest

import golden
from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from rtl_tests.golden.arithmetic.test_fused_dot import nearest_even
from rtl_tests.support.blocks import generator, stimuli, texts
from rtl_tests.support.gates import mismatches
from rtl_tests.support.proofs import check, subject
from synth.proof.codes import ReadoutProof
from synth.proof.evidence import EQUAL

# -- golden


@pytest.mark.parametrize(
    ("target", "precision", "lowest"), [("binary32", 24, -149), ("binary16", 11, -24), ("bfloat16", 8, -133)]
)
def test_wide_formats_are_the_fraction_rounded_to_nearest_even(target, precision, lowest):
    fmt, wide, rng = golden.get("hif8"), golden.get(target), generator("readout", target)
    unit = golden.ExactAccumulator(fmt, fmt, 64)
    for _ in range(300):
        size = int(rng.integers(1, unit.value_width))
        value = int.from_bytes(rng.bytes(12), "little") & (1 << size) - 1
        value = value >> (size // 2) << (size // 2) | int(rng.integers(0, 2)) if rng.integers(0, 2) else value
        value *= (-1) ** int(rng.integers(0, 2))
        limbs = [(value & (1 << unit.value_width) - 1) >> 64 * limb & (1 << 64) - 1 for limb in range(unit.limbs)]
        result = float(wide.decode(unit.encode(np.array([limbs], np.uint64), wide))[0])
        expected = nearest_even(Fraction(value) * Fraction(2) ** unit.lsb_exponent, precision, lowest)
        if abs(expected) >= Fraction(2) ** (3 - precision - lowest):  # the first power of two that overflows
            assert abs(result) == float("inf")
        else:
            assert Fraction(result) == expected


@pytest.mark.parametrize("name", ["hif8", "e5m2b1", "ocp_e4m3", "gc_1_0_7_b0"])
def test_codes_are_those_of_the_same_number_in_binary32(name):
    """Numbers of up to 24 bits are exact there; other tests check Format.encode against other implementations."""
    fmt, rng = golden.get(name), generator("codes", name)
    unit = golden.ExactAccumulator(fmt, fmt, 64)
    size = min(unit.value_width - 1, 24)
    numbers = rng.integers(-(1 << size) + 1, 1 << size, 5000)
    limbs = np.zeros((5000, unit.limbs), np.uint64)
    limbs[:] = np.where(numbers < 0, ~np.uint64(0), np.uint64(0))[:, np.newaxis]
    limbs[:, 0] = numbers.astype(np.uint64)
    if 64 * unit.limbs > unit.value_width:
        limbs[:, -1] &= np.uint64((1 << (unit.value_width - 64 * (unit.limbs - 1))) - 1)
    bits = np.ldexp(numbers.astype(np.float64), unit.lsb_exponent).astype(np.float32).view(np.uint32)
    for rounding in fmt.roundings:
        if rounding == "hybrid":
            continue
        draws = {"random": rng.integers(0, 1 << 8, 5000), "random_bits": 8}
        choices = draws if golden.Rounding(rounding).is_stochastic else {}
        for overflow in fmt.overflows if rounding != "mptorch" else ("infinity",):
            result = unit.encode(limbs, fmt, rounding, overflow, **choices)
            np.testing.assert_array_equal(result, fmt.encode(bits, "binary32", rounding, overflow, **choices))


@pytest.mark.parametrize(("flags", "code"), [(1, 0x6F), (2, 0xEF), (3, 0x6F), (4, 0x80), (7, 0x80)])
def test_flags_are_infinities_and_nan(flags, code):
    fmt = golden.get("hif8")
    unit = golden.ExactAccumulator(fmt, fmt, 64)
    state = unit.zeros()
    limb, place = divmod(unit.value_width, 64)
    state[limb] |= np.uint64(flags << place)
    assert int(unit.encode(state, fmt)) == code


# -- hardware

DESIGNS = [
    build("readout", "hif8"),
    build("readout", "ocp_e4m3", target="binary16"),
    build("readout", "e5m2b1", "ocp_e4m3", terms=16, target="hif8"),
    build("readout", "gc_1_4_3_b0", terms=1, target="gc_1_4_3_b20"),  # every value but zero overflows
    build("readout", "ocp_e4m3", terms=4, target="ocp_e4m3", overflow="saturate"),
    build("readout", "ocp_e5m2", target="dlfloat16", scale_bits=3),
    build("readout", "posit8_2", target="posit8_2"),  # zero's exponent is below that of all numbers
    build("readout", "posit8_2", terms=4, target="posit8_1", result_scale_bits=3),
]
MORE = [
    build("readout", "hif8", target="e5m2b1", rounding="stochastic", random_bits=9),
    build("readout", "e5m3_nosub", target="e5m3_nosub", rounding="stochastic"),
    build("readout", "gc_1_0_7_b0", target="gc_1_0_7_b0"),
    build("readout", "gc_1_0_7_b0", target="bfloat16"),
    build("readout", "ibm_fp9_1_5_3", target="ocp_e5m2", rounding="toward_zero"),
    build("readout", "hif8", target="hif8", nan_to_zero=True),
    build("readout", "ocp_e4m3+ocp_e5m2", target="binary8p4"),
    build("readout", "e5m2_nosub", target="e5m2b1", rounding="mptorch"),
]


@pytest.mark.parametrize(
    "design",
    [*DESIGNS, *(pytest.param(design, marks=pytest.mark.exhaustive) for design in MORE)],
    ids=lambda design: design.name,
)
def test_gates_equal_golden(design):
    assert not mismatches(design, stimuli(design))


def test_a_wrong_gate_is_found():
    design = build("readout", "ocp_e4m3", terms=4, target="ocp_e4m3", overflow="saturate")
    text = texts([design])[design.name]
    faulty_text = text.replace("~pos_inf", "pos_inf", 1)
    assert faulty_text != text
    assert mismatches(design, stimuli(design), faulty_text)


PROVED = [
    build("readout", "ocp_e4m3", terms=4, target="ocp_e4m3", overflow="saturate"),
    build("readout", "ocp_e4m3", terms=4, target="binary16"),
]
MORE_PROVED = [
    build("readout", "hif8"),
    build("readout", "hif8", target="hif8"),
    build("readout", "e5m2b1", target="bfloat16", scale_bits=4),
    build("readout", "ocp_e5m2", target="dlfloat16"),
    build("readout", "gc_1_0_7_b0", target="gc_1_0_7_b0"),
    build("readout", "hif8", target="e5m2b1", terms=16),
]
ALL_PROVED = [*PROVED, *(pytest.param(design, marks=pytest.mark.exhaustive) for design in MORE_PROVED)]


@pytest.mark.parametrize("design", ALL_PROVED, ids=lambda design: design.name)
def test_proof(design):
    evidence = check(design)
    assert (evidence.verdict, evidence.cases) == (EQUAL, evidence.inputs)
    assert evidence.method == ReadoutProof.method


@pytest.mark.parametrize("design", PROVED, ids=lambda design: design.name)
def test_one_wrong_accumulator_is_found(design):
    acc = 0x1234567
    text = re.sub(r"(assign (?:bits|code) = )([^;]+);", rf"\1(\2) ^ (acc == {acc});", texts([design])[design.name])
    claims = ReadoutProof(design, subject(design, text).netlist()).claims
    assert claims[acc.bit_length()].search() == {"acc": acc}
    assert claims[acc.bit_length() + 1].search() is None


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["--to", "hif8", "--rounding", "hybrid"],
            "--rounding 'hybrid' looks at the bits of a source, and an exact accumulator has none",
        ),
        (["--rounding", "ties_to_even"], "--rounding needs a format of codes as target, not 'binary32'"),
        (["--to", "hif9"], "--to must be a known format, not 'hif9'"),
        (["--to", "ocp_e4m3+ocp_e5m2"], "--to must be one format, not the two of 'ocp_e4m3+ocp_e5m2'"),
        (["--terms", "0"], "--terms must be an integer from 1 to 16777216, not 0"),
    ],
)
def test_refusals(words, sentence, tmp_path, capsys):
    assert main(["generate", "readout", "--format", "ocp_e4m3", *words, "-o", str(tmp_path)]) == 2
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
