"""Encoders in simulation against the reference model: all 16-bit inputs, rounding boundaries ± 1 ulp from binary32."""

import itertools

import pytest

import golden
from hwgen.blocks.catalog import build
from rtl_tests.support.bench import simulate
from rtl_tests.support.blocks import encoder_case, encoder_design, texts
from rtl_tests.support.selection import first_of_each, kind_of_format

FORMATS = [golden.get(name) for name in golden.names()]
KINDS = [golden.get(name) for name in first_of_each(kind_of_format, golden.names())]
HIF8 = golden.get("hif8")
NARROW = ("binary16", "bfloat16", "dlfloat16")


def allowed(fmt, source, rounding, overflow):
    """Whether the specification defines the combination."""
    return (rounding, source) != ("hybrid", "dlfloat16") and (rounding != "mptorch" or overflow == "infinity")


def options(fmt, sources):
    """Every allowed combination of source, rounding and overflow of a format."""
    for source, rounding, overflow in itertools.product(sources, fmt.roundings, fmt.overflows):
        if allowed(fmt, source, rounding, overflow):
            yield fmt, source, rounding, overflow


def run(arguments, folder):
    """Emit the encoders in parallel, then simulate them under one top."""
    texts([encoder_design(*case) for case in arguments])
    simulate([encoder_case(*case) for case in arguments], folder)


def test_simulation_from_16_bits(tmp_path):
    """A format of each kind; `make exhaustive` simulates all formats, from all sources of 16 bits, with all options."""
    arguments = [*zip(KINDS, itertools.cycle(("binary16", "bfloat16")), strict=False)]
    assert all(encoder_case(*case).vectors == 1 << 16 for case in arguments[:2])
    run(arguments, tmp_path)


def test_simulation_at_binary32_boundaries(tmp_path):
    """Some formats with default options, HiFloat8 with each rounding, the overflow rules in turn.

    `make exhaustive` simulates all pairs of them, for every format.
    """
    some = [
        golden.get(name) for name in ("ocp_e4m3", "ocp_e5m2", "e5m2b1", "gc_1_0_7_b0", "ibm_fp9_1_5_3", "e5m2_nosub")
    ]
    each = zip(HIF8.roundings, itertools.cycle(HIF8.overflows), strict=False)
    run([*((fmt, "binary32") for fmt in some), *((HIF8, "binary32", *rules) for rules in each)], tmp_path)


@pytest.mark.exhaustive
def test_simulation_of_all_roundings_at_binary32_boundaries(tmp_path):
    """Every format, rounding and overflow rule from binary32."""
    arguments = [case for fmt in FORMATS for case in options(fmt, ["binary32"])]
    run(arguments, tmp_path)


def test_simulation_of_hif8_with_nan_to_zero(tmp_path):
    """Both NaN rules with each of two roundings and overflow rules, all inputs of binary16.

    `make exhaustive` simulates all of them from all sources of 16 bits.
    """
    rules = [("ties_to_away", "infinity"), ("hybrid", "saturate")]
    run([(HIF8, "binary16", *rule, nan_to_zero) for rule in rules for nan_to_zero in (False, True)], tmp_path)


@pytest.mark.exhaustive
def test_simulation_of_stochastic_with_other_random_widths(tmp_path):
    """`test_choose.py` proves other formats and widths."""
    formats = [golden.get(name) for name in ("hif8", "e5m2_nosub", "ocp_e4m3", "gc_1_0_7_b0", "ibm_fp9_1_5_3")]
    widths = zip(formats, (1, 2, 7, 32, 3), strict=True)
    simulate([encoder_case(fmt, "binary32", "stochastic", random_bits=bits) for fmt, bits in widths], tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("source", NARROW)
def test_simulation_of_every_option_of_every_format_from_16_bits(source, tmp_path):
    combinations = [
        (*case, nan_to_zero)
        for fmt in FORMATS
        for case in options(fmt, [source])
        for nan_to_zero in (False, True)[: 1 + fmt.has_zero]
    ]
    for start in range(0, len(combinations), 60):
        run(combinations[start : start + 60], tmp_path / str(start))


@pytest.mark.parametrize("bad", [0, 33, -1, 2.5, True])
def test_bad_random_bits(bad):
    error = ValueError if type(bad) is int else TypeError
    with pytest.raises(error, match=rf"^random_bits must be an integer from 1 to 32, not {bad}$"):
        build("encoder", "hif8", rounding="stochastic", random_bits=bad)
