"""Encoders whose codes are sums of products: covers of truth tables, all inputs, refusals."""

import itertools
import re
from operator import itemgetter

import pytest

import golden
from hwgen import Encoder
from hwgen.blocks.catalog import build
from hwgen.rounding.direct import ROUNDINGS, cover
from rtl_tests.support.proofs import check
from rtl_tests.support.selection import exhaustive, first_of_each, in_turn, kind_of_format, only
from synth.proof.evidence import DIFFERENT, EQUAL

CODES = [
    name for name in golden.names() if name not in golden.WIDE and golden.get(name).signed and golden.get(name).has_zero
]


def contains(cubes, number):
    return any(number & mask == value for mask, value in cubes)


def test_a_cover_has_all_needed_numbers_only_allowed_ones_and_no_product_too_many():
    """All pairs of sets of three bits."""
    for needed, allowed in itertools.product(range(256), repeat=2):
        inside, also = ({number for number in range(8) if word >> number & 1} for word in (needed, allowed))
        cubes = cover(3, inside, also)
        assert all(contains(cubes, number) for number in inside)
        assert all(number in inside | also for number in range(8) if contains(cubes, number))
        for cube in cubes:
            others = [other for other in cubes if other != cube]
            assert any(not contains(others, number) for number in inside)


def test_an_empty_cover_and_a_full_one():
    assert cover(4, [], range(16)) == ()
    assert cover(4, range(16), []) == ((0, 0),)


CASES = [
    (name, source, known[(place + turn // 3) % len(known)])
    for turn, name in enumerate(first_of_each(kind_of_format, CODES))
    for known in [[rounding for rounding in ROUNDINGS if rounding in golden.get(name).roundings]]
    for place, source in enumerate(("binary32", "binary16", "bfloat16"))
]
"""A format of each kind from each source."""


@pytest.mark.parametrize(("name", "source", "rounding"), only(in_turn(itemgetter(0), CASES), CASES))
def test_every_input(name, source, rounding):
    """Each kind of format; sources and roundings take turns. ``hwgen verify all`` has all formats with all of both."""
    evidence = check(build("encoder", name, source=source, rounding=rounding, optimize="speed"))
    assert (evidence.verdict, evidence.cases) == (EQUAL, 1 << golden.get(source).width)


DEEP = """
name = "deep"
width = 9
cite = "a test: values among the subnormals of binary32"
rows = [{ prefix = "", exponent = { rule = "biased", bits = 3, bias = 128 }, fraction_bits = 5 }]
specials = [{ mask = 255, value = 0, kind = "zero" }]
"""


@pytest.mark.parametrize("rounding", [ROUNDINGS[0], *map(exhaustive, ROUNDINGS[1:])])
def test_every_input_of_a_format_among_the_subnormals_of_the_source(rounding, tmp_path):
    path = tmp_path / "deep.toml"
    path.write_text(DEEP)
    design = build("encoder", str(path), rounding=rounding, optimize="speed")
    assert (design.core._direct().first, design.core._direct().deepest) == (6, 10 - (rounding == "toward_zero"))
    assert check(design).verdict == EQUAL


@pytest.mark.parametrize(
    ("name", "whole"),
    only(
        [("hif8", False), ("ocp_e4m3", False)],
        itertools.product(("hif8", "ocp_e4m3", "ocp_e5m2", "binary8p3"), (False, True)),
    ),
)
def test_every_input_with_every_overflow_rule(name, whole):
    """NaN to NaN and to zero take turns, or both with each rule."""
    rules = golden.get(name).overflows
    cases = itertools.product(rules, (False, True)) if whole else zip(rules, itertools.cycle((False, True)))
    for overflow, to_zero in cases:
        design = build("encoder", name, source="binary16", overflow=overflow, nan_to_zero=to_zero, optimize="speed")
        evidence = check(design)
        assert (evidence.verdict, evidence.cases) == (EQUAL, 1 << 16)


def test_a_fault_is_found():
    design = build("encoder", "hif8", optimize="speed")
    broken, count = re.subn(
        r"(wire fraction_is_in_\d+ =\s+)([^;]+);", r"\1(bits[30:23] != 8'd131) & (\2);", design.verilog(), count=1
    )
    assert count == 1
    assert check(design, broken).verdict == DIFFERENT


def test_name_and_header():
    design = build("encoder", "hif8", optimize="speed")
    text = design.verilog()
    assert design.name == "hif8_encoder_binary32_ties_to_away_speed"
    assert "// Optimized for speed: each bit of the code is a sum of products of exponent and fraction" in text


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("hif8", {"optimize": "power"}, "optimize must be one of area, speed, not 'power'"),
        ("hif8", {"flags": True}, "optimize 'speed' needs an encoder without flags"),
        (
            "hif8",
            {"rounding": "hybrid"},
            "optimize 'speed' needs one of the roundings ties_to_even, ties_to_away, toward_zero, not 'hybrid'",
        ),
        (
            "hif8",
            {"source": "ocp_e5m2"},
            "optimize 'speed' needs an encoder from binary32, binary16 or bfloat16, not from 'ocp_e5m2'",
        ),
        (
            "hif8",
            {"source": "dlfloat16"},
            "optimize 'speed' needs an encoder from binary32, binary16 or bfloat16, not from 'dlfloat16'",
        ),
        (
            "Binary12p9se",
            {},
            "optimize 'speed' needs codes that depend on at most 8 fraction bits, not on 9",
        ),
        (
            "Binary16p8se",
            {},
            "optimize 'speed' needs codes that depend on at most 10 fraction bits of the source's subnormals, "
            "not on 18",
        ),
        ("e8m0", {}, "optimize 'speed' needs a signed format with zero, not 'e8m0'"),
        ("ue4m3", {}, "optimize 'speed' needs a signed format with zero, not 'ue4m3'"),
    ],
)
def test_refusals(name, options, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        Encoder(name, **{"optimize": "speed"} | options)
