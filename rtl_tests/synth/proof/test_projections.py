"""IEEE P3109's roundings and saturation, formats without a sign, and +0, on the gates for all inputs."""

import re

import pytest

import golden
from golden import Rounding
from hwgen.blocks.catalog import build
from rtl_tests.support.blocks import texts
from rtl_tests.synth.proof.test_exhaustive import check
from synth.proof.everything import CONVERTED, PROJECTED, designs
from synth.proof.evidence import DIFFERENT, EQUAL

ENCODERS = [design for design in designs() if design.kind == "encoder" and design.core.fmt.name in PROJECTED]
ROWS = [
    design
    for design in ENCODERS
    if design.core.source.name in ("binary16", "bfloat16", "binary32") and not design.core.nan_to_zero
]
STOCHASTIC = [design for design in ROWS if design.core.rounding.is_stochastic]
TENTH = [
    design if place % 3 == 0 else pytest.param(design, marks=pytest.mark.exhaustive)
    for place, design in enumerate([*(design for design in ROWS if design not in STOCHASTIC), *STOCHASTIC][::10])
]
"""Every tenth encoder; ``make test`` has every thirtieth."""


def test_the_rows_are_all_roundings_and_overflows():
    expected = 0
    for name in PROJECTED:
        fmt = golden.get(name)
        roundings = [rounding for rounding in fmt.roundings if rounding is not Rounding.MPTORCH]
        mptorch = len(fmt.roundings) - len(roundings)  # with infinity only
        expected += 3 * (len(roundings) * len(fmt.overflows) + mptorch)
    pinned = sum(design.core.rounding_pin for design in ROWS)
    flagged = sum(design.core.has_flags for design in ROWS)
    piped = sum(design.stages > 0 for design in ROWS)
    assert len(ROWS) - pinned - flagged - piped == expected


@pytest.mark.parametrize("design", TENTH, ids=lambda design: design.name)
def test_a_tenth_of_the_encoders(design):
    evidence = check(design)
    assert (evidence.verdict, evidence.counterexamples) == (EQUAL, [])
    assert evidence.cases == 1 << (design.core.source.width + (design.core.random_bits or 0))


FAULTS = {
    "a direction": ("toward_positive", r"~sign", "sign"),
    "the odd neighbour": ("to_odd", r"~lower_ordinal\[0\]", "lower_ordinal[0]"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_directed_roundings_are_found(fault):
    rounding, pattern, replacement = FAULTS[fault]
    design = build("encoder", "Binary8p3se", source="bfloat16", rounding=rounding)
    text = texts([design])[design.name]
    faulty = re.sub(pattern, replacement, text, count=1)
    assert faulty != text
    assert check(design, faulty).verdict == DIFFERENT


@pytest.mark.parametrize("rounding", ["stochastic_b", "stochastic_c"])
def test_another_stochastic_rounding_is_found(rounding):
    design, other = (build("encoder", "Binary8p4se", rounding=word, name="top") for word in (rounding, "stochastic"))
    assert check(design, other.verilog()).verdict == DIFFERENT


@pytest.mark.parametrize("source", CONVERTED)
def test_conversions_between_codes(source):
    for target in CONVERTED[:3]:
        design = build("encoder", target, source=source, rounding="toward_negative", flags=True)
        evidence = check(design)
        assert (evidence.verdict, evidence.cases) == (EQUAL, 1 << golden.get(source).width), design.name


@pytest.mark.parametrize("name", ["e8m0", "Binary6p3ue"])
def test_flags_of_encoders_to_formats_without_a_sign(name):
    for rounding in ("ties_to_even", "toward_negative"):
        for overflow in golden.get(name).overflows:
            design = build("encoder", name, source="bfloat16", rounding=rounding, overflow=overflow, flags=True)
            assert check(design).verdict == EQUAL, design.name


WITHOUT_SIGN = {
    "mac": lambda: build("mac", "ue4m3", "e2m1"),
    "mac with powers of two": lambda: build("mac", "e8m0", "e2m1", accumulator="bfloat16", flags=True),
    "mac of a pair": lambda: build("mac", "ue4m3+Binary7p2uf", "e2m1", accumulator="dlfloat16"),
    "mac of an integer": lambda: build("mac", "Binary5p5uf", "Binary4p2sf", accumulator="binary16"),
    "exact mac": lambda: build("mac", "ue4m3", "e2m1", accumulator="exact", terms=16),
    "readout": lambda: build("readout", "ue4m3", "e2m1", target="ue5m3", rounding="toward_positive", terms=4),
    "readout to powers of two": lambda: build("readout", "e2m1", "e3m2", target="e8m0", terms=4),
    "decoder of a pair": lambda: build("decoder", "ue5m3+e8m0", target="bfloat16"),
}


@pytest.mark.parametrize("name", WITHOUT_SIGN)
def test_formats_without_a_sign(name):
    evidence = check(WITHOUT_SIGN[name]())
    assert (evidence.verdict, evidence.counterexamples) == (EQUAL, [])


ZERO = {
    "mac": ("mac", ("Binary4p2sf",), {"accumulator": "binary16"}),
    "mac into binary32": ("mac", ("e2m1",), {"accumulator": "binary32"}),
    "mac into dlfloat16": ("mac", ("e2m1",), {"accumulator": "dlfloat16"}),
    "dot product": ("dot", ("e2m1",), {"lanes": 1}),
    "readout": ("readout", ("hif8",), {"target": "binary16", "terms": 4}),
    "readout to codes": ("readout", ("hif8",), {"target": "e2m1", "terms": 4}),
}


@pytest.mark.parametrize("name", ZERO)
def test_a_zero_result_is_positive(name):
    block, formats, options = ZERO[name]
    design = build(block, *formats, zero="positive", **options)
    assert check(design).verdict == EQUAL
    plain = build(block, *formats, name=design.name, **options)
    assert check(design, plain.verilog()).verdict == DIFFERENT


def test_an_exact_accumulator_has_one_zero():
    with pytest.raises(golden.BadValue, match="zero 'positive' needs an accumulator that rounds"):
        build("mac", "hif8", accumulator="exact", zero="positive")
