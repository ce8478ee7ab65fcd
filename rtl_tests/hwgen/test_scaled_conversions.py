"""Encoders and readouts with a scale: the reference model, every input, proofs, wrong gates, refusals."""

import re
from fractions import Fraction

import numpy as np
import pytest

import golden
from golden import ExactAccumulator, Rounding
from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from hwgen.reference.reference import integers
from rtl_tests.support.blocks import stimuli, texts
from rtl_tests.support.gates import mismatches
from rtl_tests.support.proofs import check, subject
from rtl_tests.support.selection import exhaustive
from synth.proof.codes import EncoderProof, ReadoutProof
from synth.proof.evidence import EQUAL, PROVED, SWEPT

FORMATS = ("hif8", "ocp_e4m3", "e4m3_nosub", "e5m2b1", "gc_1_0_7_b0", "ibm_1_4_3", "e8m0", "Binary8p1se")


def chosen(rounding, shape, rng):
    """Keywords of a rounding, with random words if it needs them."""
    if not rounding.is_stochastic:
        return {"rounding": rounding.value}
    return {"rounding": rounding.value, "random": rng.integers(0, 1 << 7, shape), "random_bits": 7}


# -- the reference model


@pytest.mark.parametrize("name", FORMATS)
def test_a_scale_is_that_of_the_number(name):
    """Of normal numbers of binary32 that stay normal, in every rounding; hybrid looks at the same bits."""
    rng, fmt = np.random.default_rng(0), golden.get(name)
    x = (rng.normal(size=4000) * 2.0 ** rng.integers(-30, 30, 4000)).astype(np.float32)
    scale = rng.integers(-60, 60, x.shape)
    for rounding in fmt.roundings:
        options = chosen(rounding, x.shape, rng)
        codes, flags = fmt.encode_with_flags(x.view(np.uint32), scale=scale, **options)
        bits = np.ldexp(x, scale).view(np.uint32)
        for ours, same in zip((codes, flags), fmt.encode_with_flags(bits, **options), strict=True):
            np.testing.assert_array_equal(ours, same)
        np.testing.assert_array_equal(codes, fmt.encode(x.view(np.uint32), scale=scale, **options))


@pytest.mark.parametrize("name", FORMATS)
def test_subnormal_sources_are_scaled_before_they_are_rounded(name):
    """Numbers of binary16, times a power of two, are numbers of binary32."""
    rng, fmt, bits = np.random.default_rng(1), golden.get(name), np.arange(1 << 16, dtype=np.uint16)
    bits = bits[np.isfinite(bits.view(np.float16))]
    for scale in (-40, -3, 5, 31):
        wide = np.ldexp(bits.view(np.float16).astype(np.float32), scale).view(np.uint32)
        for rounding in set(fmt.roundings) - {Rounding.HYBRID}:
            options = chosen(rounding, bits.shape, rng)
            ours = fmt.encode_with_flags(bits, "binary16", scale=scale, **options)
            for pair in zip(ours, fmt.encode_with_flags(wide, **options), strict=True):
                np.testing.assert_array_equal(*pair)


def test_specials_have_no_scale():
    bits = np.uint32([0x7F800000, 0xFF800000, 0x7FC00000, 0x80000000, 0])
    codes = golden.get("ocp_e5m2").encode(bits, scale=[-512, 511, 3, 511, 511])
    assert codes.tolist() == [0x7C, 0xFC, 0x7E, 0x80, 0]


@pytest.mark.parametrize("target", ["hif8", "ocp_e4m3", "binary16", "binary32"])
def test_a_readout_is_scaled_before_it_is_rounded(target):
    rng, unit, fmt = np.random.default_rng(2), ExactAccumulator("hif8", "hif8", 64), golden.get(target)
    a, b = (rng.integers(0, 256, (300, 8)) for _ in "ab")
    state = unit.zeros((300,))
    for lane in range(8):
        state = unit.accumulate(a[:, lane], b[:, lane], state)
    scale = rng.integers(-40, 41, 300)
    codes = unit.encode(state, target, scale=scale)
    mask, half = (1 << unit.value_width) - 1, 1 << unit.value_width - 1
    for code, word, power in zip(codes.tolist(), integers(state).tolist(), scale.tolist(), strict=True):
        if word >> unit.value_width:
            continue
        exact = Fraction((word & mask ^ half) - half) * Fraction(2) ** (unit.lsb_exponent + power)
        value = fmt.decode(np.array([code]))[0]
        largest = Fraction(float(fmt.largest))
        if not np.isfinite(value):
            assert abs(exact) > largest
            continue
        near = [fmt.decode(np.array([other]))[0] for other in (code - 1, code, code + 1) if 0 <= other < 1 << fmt.width]
        others = [Fraction(float(number)) for number in near if np.isfinite(number)]
        assert abs(Fraction(float(value)) - exact) == min(abs(other - exact) for other in others)


# -- hardware

SWEPTS = [
    build("encoder", "hif8", source="bfloat16", rounding="hybrid", scale_bits=6),
    build("encoder", "ocp_e4m3", source="binary16", overflow="saturate", flags=True, scale_bits=6),
    build("encoder", "ocp_e4m3", source="hif8", rounding="stochastic", random_bits=4, flags=True, scale_bits=8),
]
MORE_SWEPTS = [
    build("encoder", name, source=source, rounding=rounding.value, scale_bits=6, **options)
    for place, name in enumerate(FORMATS)
    for source in ("binary16", "bfloat16", "dlfloat16")
    for rounding in golden.get(name).roundings
    for options in ({"random_bits": 2} if rounding.is_stochastic else {"flags": bool(place % 2)},)
    if not (rounding is Rounding.HYBRID and source == "dlfloat16")
]
PROVEDS = [
    build("encoder", "e2m1", rounding="ties_to_even", scale_bits=2),
    build("readout", "e2m1", target="ocp_e4m3", terms=4096, result_scale_bits=3, overflow="saturate"),
]
MORE_PROVEDS = [
    *(build("encoder", "hif8", rounding=rounding.value, scale_bits=6) for rounding in golden.get("hif8").roundings),
    *(build("encoder", name, flags=True, scale_bits=6) for name in FORMATS),
    build("encoder", "ocp_e4m3", overflow="saturate", scale_bits=10),
    build("encoder", "ocp_e4m3", nan_to_zero=True, scale_bits=6),
    build("encoder", "e5m2b1", rounding="mptorch", flags=True, scale_bits=6),
    *(
        build("readout", "ocp_e4m3", target=target, terms=4, result_scale_bits=6)
        for target in ("binary32", "dlfloat16")
    ),
    build("readout", "hif8", target="hif8", terms=4, result_scale_bits=4, rounding="stochastic", random_bits=4),
    build("readout", "e5m2b1", target="e4m3_nosub", terms=2, result_scale_bits=4, rounding="to_odd"),
]
READOUTS = [
    build("readout", "hif8", target="hif8", result_scale_bits=6),
    build("readout", "ocp_e4m3", target="binary16", terms=4, result_scale_bits=5, optimize="speed"),
    build("readout", "ocp_e5m2", target="dlfloat16", scale_bits=3, result_scale_bits=4),
    build("readout", "e5m2b1", target="e4m3_nosub", result_scale_bits=6, rounding="stochastic_b", random_bits=5),
    build("readout", "gc_1_0_7_b0", target="e8m0", result_scale_bits=3, rounding="toward_positive"),
]


@pytest.mark.parametrize("design", [*SWEPTS, *map(exhaustive, MORE_SWEPTS)], ids=lambda design: design.name)
def test_every_input_and_scale(design):
    evidence = check(design)
    assert (evidence.kind, evidence.verdict, evidence.cases) == (SWEPT, EQUAL, evidence.inputs)


@pytest.mark.parametrize("design", [*PROVEDS, *map(exhaustive, MORE_PROVEDS)], ids=lambda design: design.name)
def test_proofs(design):
    evidence = check(design)
    assert (evidence.kind, evidence.verdict, evidence.cases) == (PROVED, EQUAL, evidence.inputs)
    assert evidence.method == (EncoderProof if design.kind == "encoder" else ReadoutProof).method


@pytest.mark.parametrize("design", [*READOUTS, *SWEPTS], ids=lambda design: design.name)
def test_gates_equal_golden(design):
    assert not mismatches(design, stimuli(design))


@pytest.mark.parametrize("design", PROVEDS, ids=lambda design: design.name)
def test_a_wrong_scale_is_found(design):
    """The faults: a sum without its last bit's carry, and one wrong result for one scale and one number."""
    text = texts([design])[design.name]
    faulty = re.sub(r"(assign scaled_exponent = |wire \[\d+:0\] scaled_exponent = )([^;]+);", r"\1(\2) | 1'b1;", text)
    assert faulty != text
    assert mismatches(design, stimuli(design), faulty)
    port = "bits" if design.kind == "encoder" else "acc"
    number = 0x3F9A1234 if design.kind == "encoder" else 0x15
    faulty = re.sub(r"(assign code = )([^;]+);", rf"\1(\2) ^ ({port} == {number} && scale == 1);", text)
    prover = EncoderProof if design.kind == "encoder" else ReadoutProof
    claims = prover(design, subject(design, faulty).netlist()).claims
    what = "field and scale 128" if design.kind == "encoder" else "binade 4, scale 1"
    (claim,) = [claim for claim in claims if claim.what == what]
    assert claim.search() == {port: number, "scale": 1}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["encoder", "--scale-bits", "11"], "--scale-bits must be an integer from 0 to 10, not 11"),
        (
            ["encoder", "--scale-bits", "2", "--optimize", "speed"],
            "--optimize 'speed' needs an encoder without a scale",
        ),
        (["readout", "--result-scale-bits", "-1"], "--result-scale-bits must be an integer from 0 to 10, not -1"),
        (["readout", "--scale-bits", "11"], "--scale-bits must be an integer from 0 to 10"),
    ],
)
def test_refusals(words, sentence, tmp_path, capsys):
    assert main(["generate", *words, "--format", "hif8", "-o", str(tmp_path)]) == 2
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_scales_out_of_range_are_refused():
    bits = np.zeros(3, np.uint32)
    with pytest.raises(ValueError, match=r"^scale must be an integer from -512 to 511, not 512$"):
        golden.get("hif8").encode(bits, scale=[0, 1, 512])
    with pytest.raises(ValueError, match=r"^scale must broadcast to shape \(3,\), not have shape \(2,\)$"):
        golden.get("hif8").encode(bits, scale=[0, 1])
    with pytest.raises(TypeError, match=r"^scale must be integers, not float64$"):
        golden.get("hif8").encode(bits, scale=0.5)
