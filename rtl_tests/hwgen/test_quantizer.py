"""Quantizers: gates against the reference model, every input, wrong gates, simulation, refusals."""

import re

import numpy as np
import pytest

import golden
from golden import Rounding
from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from hwgen.reference import reference
from rtl_tests.support.bench import simulate
from rtl_tests.support.blocks import answer, stimuli, suite_case, texts
from rtl_tests.support.gates import mismatches
from rtl_tests.support.proofs import check
from rtl_tests.support.selection import exhaustive, kind_of_design, one_of_each
from synth.proof.blocks import QuantizerProof
from synth.proof.cases import is_enumerated
from synth.proof.evidence import EQUAL, UNPROVED

POLICIES = ("floor", "ceil", "rceil", "even", "nearest")
TAPERED = ("hif8", "e5m2b1", "e5m2b2", "e5m2b4", "e4m3b1", "e5m2b1_3", "e3m3b3")
FORMATS = ("e2m1", "ocp_e4m3", "e3m2", "ocp_e5m2", *TAPERED, "gc_1_0_7_b0", "gc_1_5_2_b33", "gc_1_4_3_b40")
"""The last four have largest elements below 2, so that subnormals and zeros decide on scales too."""
DESIGNS = [
    build("quantizer", "e2m1"),
    build("quantizer", "e2m1", source="bfloat16", lanes=16, policy="nearest"),
    build("quantizer", "ocp_e4m3", lanes=4),
    build("quantizer", "e2m1", lanes=3, policy="rceil"),
    build("quantizer", "e2m1", lanes=2, policy="even"),
    build("quantizer", "ocp_e4m3", lanes=2, policy="rceil"),
    build("quantizer", "ocp_e4m3", source="bfloat16", lanes=2, policy="even"),
    build("quantizer", "hif8", lanes=2, policy="rceil"),
    build("quantizer", "hif8", lanes=2, policy="even"),
    build("quantizer", "gc_1_0_7_b0", lanes=2, policy="rceil"),
    build("quantizer", "gc_1_5_2_b33", lanes=2, policy="even"),
    build("quantizer", "ocp_e4m3", source="bfloat16", lanes=3, policy="ceil"),
    build("quantizer", "ocp_e5m2", lanes=2, policy="nearest"),
    build("quantizer", "e3m2", lanes=5, policy="ceil"),
    build("quantizer", "e2m3", source="bfloat16", lanes=4),
    build("quantizer", "hif8", lanes=2),
    build("quantizer", "e5m2b1", lanes=2),
    build("quantizer", "binary8p3", lanes=2, policy="nearest"),
    build("quantizer", "gc_1_0_7_b0", lanes=2, policy="ceil"),
    build("quantizer", "gc_1_5_2_b33", lanes=2, policy="nearest"),
    build("quantizer", "gc_1_4_3_b40", source="bfloat16", lanes=2),
    build("quantizer", "gc_1_4_3_bm3", lanes=2),
    build("quantizer", "Binary4p2sf", lanes=7),
    build("quantizer", "hif8", lanes=2, rounding="hybrid"),
    build("quantizer", "hif8", source="bfloat16", lanes=3, rounding="hybrid", center=-3),
    build("quantizer", "hif8", lanes=3, rounding="stochastic", random_bits=5, center=8),
    build("quantizer", "ocp_e4m3", lanes=6, rounding="stochastic_c", policy="rceil"),
    build("quantizer", "e2m1", lanes=2, rounding="to_odd", center=0),
    build("quantizer", "e4m3_nosub", lanes=2, rounding="stochastic_b", policy="even"),
    build("quantizer", "e5m2b1", lanes=2, rounding="toward_negative", center=17),
]
MORE = [
    build("quantizer", name, source=source, lanes=lanes, policy=policy)
    for name in (*FORMATS, "ibm_1_4_3", "e4m3_nosub", "ieee_e3m4", "gc_1_2_5_b1", "ibm_fp9_1_5_3", "Binary8p1se")
    for source in ("binary32", "bfloat16")
    for lanes, policy in zip((2, 3, 8, 2, 3), POLICIES, strict=True)
]
COUNT = 50_000
"""Cases of a design in ``make exhaustive``."""


def some(design, count):
    """Stimuli of the reference model, always the same."""
    return reference(design).stimuli(count, np.random.default_rng(list(design.name.encode())))


@pytest.mark.parametrize(
    ("design", "count"),
    [
        *one_of_each(kind_of_design, [(design, 2000) for design in DESIGNS]),
        *(exhaustive(design, COUNT) for design in (*DESIGNS, *MORE)),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_gates_equal_golden(design, count):
    wrong = mismatches(design, some(design, count))
    assert not wrong, f"{len(wrong)} differ, first {wrong[0]}, expected {answer(design, wrong[0][0])}"


@pytest.mark.parametrize(
    "design",
    [
        build("quantizer", name, source="bfloat16", lanes=1, policy=POLICIES[place % 5])
        for place, name in enumerate(FORMATS)
    ],
    ids=lambda design: design.name,
)
def test_one_lane_is_right_for_every_input(design):
    """``hwgen verify all`` has all formats with all policies."""
    evidence = check(design)
    assert (evidence.kind, evidence.verdict, evidence.cases) == ("swept", EQUAL, 1 << 16)


@pytest.mark.parametrize("name", ["hif8", "e2m1", "e4m3_nosub", "gc_1_0_7_b0"])
def test_one_lane_is_right_with_every_rounding_and_center(name):
    fmt = golden.get(name)
    low, high = fmt.exponent_range
    roundings = [rounding for rounding in fmt.roundings if rounding is not Rounding.MPTORCH]
    for place, rounding in enumerate(roundings):
        random_bits, center = 3 if rounding.is_stochastic else None, (None, low, high, (low + high) // 2)[place % 4]
        chosen = {"policy": POLICIES[place % 5], "center": center, "rounding": rounding.value}
        evidence = check(build("quantizer", name, source="bfloat16", lanes=1, random_bits=random_bits, **chosen))
        assert (evidence.verdict, evidence.cases) == (EQUAL, 1 << 16 + (random_bits or 0))


def test_a_center_of_its_own_has_a_name():
    names = [build("quantizer", "hif8", center=center).name for center in (None, 3, -3)]
    assert names == ["hif8_quantizer32_binary32", "hif8_quantizer32_binary32", "hif8_quantizer32_binary32_centerm3"]


PROVED = [
    build("quantizer", "e2m1", lanes=2, policy="rceil"),
    build("quantizer", "gc_1_4_3_b40", source="bfloat16", lanes=2),  # zeros and subnormals decide on the scale
]
MORE_PROVED = [
    *(build("quantizer", name, policy=policy) for name in ("e2m1", "ocp_e4m3", "hif8") for policy in POLICIES),
    *(build("quantizer", name, source="bfloat16", lanes=16) for name in FORMATS),
    *(build("quantizer", name, lanes=3, policy="even") for name in FORMATS),
    *(build("quantizer", "hif8", lanes=2, rounding=rounding) for rounding in golden.get("hif8").roundings),
    *(build("quantizer", "e2m1", lanes=2, policy="ceil", center=center) for center in (-1, 0, 1)),
    build("quantizer", "hif8", lanes=2, policy="nearest", center=-22),
    build("quantizer", "hif8", lanes=2, policy="floor", center=0),
    build("quantizer", "e4m3_nosub", lanes=2, rounding="to_odd"),
]


@pytest.mark.parametrize("design", [*PROVED, *map(exhaustive, MORE_PROVED)], ids=lambda design: design.name)
def test_blocks_are_proved_by_decomposition(design):
    assert not is_enumerated(design)
    evidence = check(design)
    assert (evidence.kind, evidence.verdict, evidence.cases) == ("proved", EQUAL, evidence.inputs)
    assert evidence.method == QuantizerProof.method


FAULTS = [
    ("bit of the largest level", "largest_level_bit_3 = ", "1'b0 & "),
    ("a lane leads", "lane_1_leads_to_bit_3 = ", "1'b1 | "),
    ("a lane rounds up", "lane_1_rounds_up = ", "(bits[40:32] == 9'd77) ^ "),
    ("some lane rounds up", "scale_rounds_up = ", "1'b0 & "),
    ("the scale of a level", "assign scale = ", "(&unlimited_scale[6:0]) ^ "),
    ("the finite scale", "finite_scale = ", "(largest_level == 8'd200) ^ "),
    ("special blocks", "is_special = ", "(largest_level == 8'd254) | "),
    ("an element", "assign code = ", "(bits[31:0] == 32'h12345678) ^ "),
]


@pytest.mark.parametrize(("right", "wrong"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS])
def test_a_fault_in_each_part_is_found_by_the_proof(right, wrong):
    """Of all blocks, few are wrong."""
    design = build("quantizer", "e2m1", lanes=2, policy="rceil")
    text = texts([design])[design.name]
    assert text.count(right) == 1
    evidence = check(design, re.sub(rf"{right}([^;]+);", rf"{right}{wrong}(\1);", text))
    assert evidence.verdict != EQUAL
    assert "may be wrong" in evidence.method or evidence.counterexamples


@pytest.mark.parametrize("right", ["", "assign scale = ", "offset_less_scale = "])
def test_a_scale_that_is_the_largest_level_is_proved(right):
    """There is no net finite_scale where no offset is added: its signals have the other name."""
    design = build("quantizer", "e2m1", source="bfloat16", lanes=2, policy="floor", center=0)
    text = texts([design])[design.name]
    assert "finite_scale =" not in text
    faulty = re.sub(rf"{right}([^;]+);", rf"{right}(largest_level == 8'd77) ^ (\1);", text) if right else text
    assert (faulty != text) == bool(right)
    evidence = check(design, faulty)
    assert (evidence.verdict == EQUAL) == (not right)
    assert not right or "may be wrong" in evidence.method or evidence.counterexamples


def test_the_proof_needs_the_nets_between_its_parts():
    design = build("quantizer", "e2m1", lanes=2)
    evidence = check(design, texts([design])[design.name].replace("finite_scale", "another_name"))
    assert (evidence.verdict, evidence.kind) == (UNPROVED, "")
    assert "the module has no net finite_scale" in evidence.method


def test_stimuli_reach_all_parts_of_the_range():
    design = build("quantizer", "e2m1", lanes=4)
    scales = [outputs["scale"] for outputs in reference(design).answers(some(design, 4000))]
    assert {0, 1, 2, 252, 255} <= set(scales)
    assert len(set(scales)) > 200


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("finite_scale = unlimited_scale[8] ?", "finite_scale = 1'b0 ?"),
        ("9'h1fe", "9'h1ff"),
        ("is_special = &largest_level", "is_special = 1'b0 & (&largest_level)"),
        ("lane_1_leads_to_bit_3 = ", "lane_1_leads_to_bit_3 = 1'b1 | "),
        ("round_up = ", "round_up = 1'b0 & "),
        ("is_normal = ", "is_normal = 1'b1 | "),
        (" below = ", " below = 1'b0 && "),
    ],
)
def test_a_wrong_gate_is_found(right, wrong):
    design = build("quantizer", "e2m1", lanes=2)
    text = texts([design])[design.name]
    assert text.count(right) == 1
    assert mismatches(design, stimuli(design), text.replace(right, wrong))


@pytest.mark.parametrize("policy", POLICIES[1:])
def test_a_wrong_decision_of_a_policy_is_found(policy):
    design = build("quantizer", "e2m1", lanes=2, policy=policy)
    text = texts([design])[design.name]
    for wrong in ("1'b0 & ", "1'b1 | "):
        assert mismatches(design, stimuli(design), text.replace("lane_0_rounds_up = ", f"lane_0_rounds_up = {wrong}"))


def test_simulation_of_random_patterns(tmp_path):
    """Pipelines with bubbles, stalls and a reset."""
    designs = [
        build("quantizer", name, source=source, lanes=lanes, stages=2, clock_enable=True)
        for name, source, lanes in (("e2m1", "binary32", 8), ("ocp_e4m3", "bfloat16", 4), ("hif8", "binary32", 2))
    ]
    texts(designs)
    simulate([suite_case(design) for design in designs], tmp_path)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--format", "e2m1", "--lanes", "33"], "--lanes must be an integer from 1 to 32, not 33"),
        (["--format", "hif8", "--center", "16"], "--center must be an integer from -22 to 15, not 16"),
        (["--format", "e5m2b1", "--rounding", "mptorch"], "--rounding must not be 'mptorch', which has overflow"),
        (["--format", "e2m1", "--rounding", "hybrid"], "--rounding of e2m1 must be one of ties_to_even,"),
        (["--format", "e2m1", "--random-bits", "4"], "--random-bits needs a stochastic rounding, not 'ties_to_even'"),
        (["--format", "e8m0"], "--format must be one format with a sign, not 'e8m0'"),
        (["--format", "ocp_e4m3+ocp_e5m2"], "--format must be one format with a sign, not 'ocp_e4m3+ocp_e5m2'"),
        (["--format", "binary16"], "--format: 'binary16' is a source, decoder target or accumulator"),
    ],
)
def test_refusals(words, sentence, tmp_path, capsys):
    assert main(["generate", "quantizer", *words, "-o", str(tmp_path)]) == 2
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
