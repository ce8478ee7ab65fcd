"""Encoders in simulation against golden: all inputs of 16-bit sources, every rounding boundary ± 1 ulp from binary32."""

import itertools

import pytest

import golden
from hwgen.blocks.catalog import build
from rtl_tests.support.bench import simulate
from rtl_tests.support.blocks import encoder_case, encoder_design, texts

FORMATS = [golden.get(name) for name in golden.names()]
HIF8 = golden.get("hif8")
NARROW = ("binary16", "bfloat16", "dlfloat16")


def allowed(fmt, source, rounding, overflow):
    """Whether the specification has the combination."""
    return not (rounding == "hybrid" and source == "dlfloat16") and not (
        rounding == "mptorch" and overflow != "infinity"
    )


def options(fmt, sources):
    """Every rounding and overflow rule of a format."""
    for source, rounding, overflow in itertools.product(sources, fmt.roundings, fmt.overflows):
        if allowed(fmt, source, rounding, overflow):
            yield fmt, source, rounding, overflow


def run(arguments, folder):
    """Emit side by side, then simulate under one top."""
    texts([encoder_design(*each) for each in arguments])
    simulate([encoder_case(*each) for each in arguments], folder)


def test_simulation_of_all_formats_from_16_bits(tmp_path):
    arguments = [(fmt, source) for fmt in FORMATS for source in ("binary16", "bfloat16")]
    assert all(encoder_case(*each).vectors == 1 << 16 for each in arguments[:2])
    run(arguments, tmp_path)


def test_simulation_at_binary32_boundaries(tmp_path):
    """Some formats by their default rules, HiFloat8 by all; make exhaustive has every format by all."""
    some = [
        golden.get(name) for name in ("ocp_e4m3", "ocp_e5m2", "e5m2b1", "gc_1_0_7_b0", "ibm_fp9_1_5_3", "e5m2_nosub")
    ]
    run([*((fmt, "binary32") for fmt in some), *options(HIF8, ["binary32"])], tmp_path)


@pytest.mark.exhaustive
def test_simulation_of_all_roundings_at_binary32_boundaries(tmp_path):
    """Every format, rounding and overflow rule from binary32."""
    arguments = [each for fmt in FORMATS for each in options(fmt, ["binary32"])]
    run(arguments, tmp_path)


def test_simulation_of_hif8_in_all_its_options(tmp_path):
    """Half away and hybrid, both overflow rules and NaN rules, all inputs of binary16 and bfloat16."""
    combinations = [
        (*each, nan_to_zero) for each in options(HIF8, ["binary16", "bfloat16"]) for nan_to_zero in (False, True)
    ]
    run([each for each in combinations if each[2] in ("ties_to_away", "hybrid")], tmp_path)


@pytest.mark.exhaustive
def test_simulation_of_stochastic_with_other_random_widths(tmp_path):
    """What a solver proves of these widths in test_choose.py, in simulation."""
    formats = [golden.get(name) for name in ("hif8", "e5m2_nosub", "ocp_e4m3", "gc_1_0_7_b0", "ibm_fp9_1_5_3")]
    simulate(
        [
            encoder_case(fmt, "binary32", "stochastic", random_bits=bits)
            for fmt, bits in zip(formats, (1, 2, 7, 32, 3), strict=True)
        ],
        tmp_path,
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize("source", NARROW)
def test_simulation_of_every_option_of_every_format_from_16_bits(source, tmp_path):
    combinations = [
        (*each, nan_to_zero) for fmt in FORMATS for each in options(fmt, [source]) for nan_to_zero in (False, True)
    ]
    for start in range(0, len(combinations), 60):
        run(combinations[start : start + 60], tmp_path / str(start))


@pytest.mark.parametrize("bad", [0, 33, -1, 2.5, True])
def test_bad_random_bits(bad):
    with pytest.raises(
        ValueError if type(bad) is int else TypeError,
        match=rf"^random_bits must be an integer from 1 to 32, not {bad}$",
    ):
        build("encoder", "hif8", rounding="stochastic", random_bits=bad)
