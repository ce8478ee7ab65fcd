"""IEEE P3109's roundings and saturation, formats without a sign, and +0, on the gates for all inputs."""

import re
from itertools import product
from operator import itemgetter

import pytest

import golden
from hwgen.blocks.catalog import build
from rtl_tests.support.blocks import texts
from rtl_tests.support.proofs import check, prover
from rtl_tests.support.selection import exhaustive, in_turn, kind_of_format, one_of_each, only
from synth.proof.everything import CONVERTED, PROJECTED, projections
from synth.proof.evidence import DIFFERENT, EQUAL

PROJECTIONS = list(projections())
SOME = in_turn(itemgetter(1, 2), PROJECTIONS)
"""One of each source and rounding; ``hwgen verify all`` checks all of them."""
FEW = [*in_turn(itemgetter(2), SOME), ("e8m0", "binary32", "toward_negative", "saturate")]
"""Of these, one of each rounding, in which sources take turns, and one of the format and the rule that remain."""


def test_projections_are_all_roundings_and_overflows():
    for name in PROJECTED:
        fmt = golden.get(name)
        rules = [(r, o) for r, o in product(fmt.roundings, fmt.overflows) if r != "mptorch" or o == "infinity"]
        expected = [(name, source, *pair) for source in ("binary16", "bfloat16", "binary32") for pair in rules]
        assert [row for row in PROJECTIONS if row[0] == name] == expected
    assert len(PROJECTIONS) == 795


def test_few_have_each_format_source_rounding_and_overflow():
    for place in range(4):
        assert {row[place] for row in FEW} == {row[place] for row in SOME}


@pytest.mark.parametrize(("name", "source", "rounding", "overflow"), only(FEW, SOME))
def test_every_rounding_of_each_source(name, source, rounding, overflow):
    design = build("encoder", name, source=source, rounding=rounding, overflow=overflow)
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


@pytest.mark.parametrize("source", one_of_each(kind_of_format, CONVERTED))
def test_conversions_between_codes(source):
    for target in CONVERTED[:3]:
        design = build("encoder", target, source=source, rounding="toward_negative", flags=True)
        evidence = check(design)
        assert (evidence.verdict, evidence.cases) == (EQUAL, 1 << golden.get(source).width), design.name


@pytest.mark.parametrize("name", ["e8m0", exhaustive("Binary6p3ue")])
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
    "readout": lambda: build("readout", "Binary4p2uf", "e2m1", target="ue5m3", rounding="toward_positive", terms=4),
    "readout to powers of two": lambda: build("readout", "e2m1", "e3m2", target="e8m0", terms=4),
    "decoder of a pair": lambda: build("decoder", "ue5m3+e8m0", target="bfloat16"),
}


@pytest.mark.parametrize("name", one_of_each(lambda name: name.split()[0], WITHOUT_SIGN))
def test_formats_without_a_sign(name):
    evidence = check(WITHOUT_SIGN[name]())
    assert (evidence.verdict, evidence.counterexamples) == (EQUAL, [])


def test_some_parts_of_a_readout_without_a_sign():
    """Its accumulator is too wide to enumerate; ``hwgen verify all`` proves all parts of others."""
    design = build("readout", "ue4m3", "e2m1", target="ue5m3", rounding="toward_positive", terms=4)
    text = re.sub(r"(assign code = )([^;]+);", r"\1(\2) ^ (acc == 1000);", texts([design])[design.name])
    claims, faulty = prover(design).claims, prover(design, text).claims
    for part in (0, 1, 10, len(claims) - 1):
        assert claims[part].search() is None
        assert faulty[part].search() == ({"acc": 1000} if part == 10 else None)


POSIT_FAULTS = {
    "small numbers become zero": (r"\(below_normals & moved_left_1\[127\]\)", "1'b0"),
    "ties at the values' middle": (r"\{true_exponent\[1:0\], ", "{2'b00, "),
}


def test_posits_are_rounded_by_their_bits():
    """Two parts of a proof, of numbers below the smallest value and between values with cut exponents."""
    design = build("readout", "posit8_2", target="posit8_2", terms=4)
    text = texts([design])[design.name]
    lsb = design.core.exact.lsb_exponent
    parts = [exponent - lsb + 1 for exponent in (-26, 22)]
    assert [prover(design, text).claims[part].search() for part in parts] == [None, None]
    for place, (pattern, replacement) in enumerate(POSIT_FAULTS.values()):
        faulty = re.sub(pattern, replacement, text)
        assert faulty != text
        assert prover(design, faulty).claims[parts[place]].search() is not None


ZERO = {
    "mac": ("mac", ("Binary4p2sf",), {"accumulator": "binary16"}),
    "mac into dlfloat16": ("mac", ("e2m1",), {"accumulator": "dlfloat16"}),
    "dot product": ("dot", ("e2m1",), {"lanes": 1}),
    "readout": ("readout", ("gc_1_2_1_b14",), {"target": "binary16", "terms": 4}),
    "readout to codes": ("readout", ("gc_1_2_1_b3",), {"target": "e2m1", "terms": 4}),
}
PROVED_ZERO = {
    "mac into binary32": ("mac", ("e2m1",), {"accumulator": "binary32"}),
    "readout": ("readout", ("hif8",), {"target": "binary16", "terms": 4}),
    "readout to codes": ("readout", ("hif8",), {"target": "e2m1", "terms": 4}),
}
"""These have too many inputs to enumerate."""


def with_positive_zero(block, formats, options):
    """A block with ``zero="positive"``, and the text of the block without, under the same name."""
    design = build(block, *formats, zero="positive", **options)
    return design, build(block, *formats, name=design.name, **options).verilog()


@pytest.mark.parametrize("case", ZERO)
def test_a_zero_result_is_positive(case):
    design, plain = with_positive_zero(*ZERO[case])
    assert check(design).verdict == EQUAL
    assert check(design, plain).verdict == DIFFERENT


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", PROVED_ZERO)
def test_a_zero_result_is_positive_in_all_parts_of_a_proof(case):
    design, plain = with_positive_zero(*PROVED_ZERO[case])
    assert check(design).verdict == EQUAL
    assert check(design, plain).verdict == DIFFERENT


@pytest.mark.parametrize(
    ("case", "different"),
    [
        ("mac into binary32", 2),  # products that are zeros
        ("readout", 10),  # sums so small that they round to zero
    ],
)
def test_a_zero_result_is_positive_in_some_parts_of_a_proof(case, different):
    """Only results of zero differ; part 0 of these has none that are negative."""
    design, plain = with_positive_zero(*PROVED_ZERO[case])
    claims, others = prover(design).claims, prover(design, plain).claims
    part = different % len(claims)
    assert claims[0].search() is None
    assert claims[part].search() is None
    assert others[0].search() is None
    assert others[part].search() is not None


def test_an_exact_accumulator_has_one_zero():
    with pytest.raises(golden.BadValue, match="zero 'positive' needs an accumulator that rounds"):
        build("mac", "hif8", accumulator="exact", zero="positive")
