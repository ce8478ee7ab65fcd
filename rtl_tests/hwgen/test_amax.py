"""Largest magnitudes in hardware: every input or a proof, wrong modules, simulation, refusals."""

import re

import pytest

from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from hwgen.reference import reference
from rtl_tests.support.bench import simulate
from rtl_tests.support.blocks import clocked_case, generator, texts
from rtl_tests.support.proofs import check
from rtl_tests.support.selection import exhaustive
from synth.proof.evidence import DIFFERENT, EQUAL, UNPROVED

SWEPT = [
    build("amax", "e2m1", source="hif8", lanes=1),
    build("amax", "hif8", source="e2m1", lanes=3, stages=2),
    exhaustive(build("amax", "gc_1_0_7_b0", source="ocp_e5m2", lanes=2, nan="ignore")),
    exhaustive(build("amax", "e2m1", source="int4", lanes=4, policy="ceil")),
    exhaustive(build("amax", "ocp_e4m3", source="e8m0", lanes=1, policy="rceil", infinity="ignore")),
]
PROVED = [
    build("amax", "e2m1", source="hif8", lanes=3),
    build("amax", "hif8", source="bfloat16", lanes=2, nan="ignore", infinity="ignore", center=0),
    exhaustive(build("amax", "ocp_e4m3", lanes=8, stages=3, policy="even")),
    exhaustive(build("amax", "e2m1", lanes=32)),
    exhaustive(build("amax", "gc_1_0_7_b0", lanes=2, policy="nearest")),
    exhaustive(build("amax", "e2m1", source="posit8_2", lanes=4, infinity="ignore")),
    exhaustive(build("amax", "e2m1", source="posit8_0", lanes=4, nan="ignore")),
    exhaustive(build("amax", "e2m1", source="e5m3", lanes=3)),
    exhaustive(build("amax", "hif8", source="int8", lanes=4)),
    exhaustive(build("amax", "hif8", source="binary16", lanes=2)),
]


@pytest.mark.parametrize("design", SWEPT, ids=lambda design: design.name)
def test_small_blocks_are_right_for_every_input_and_state(design):
    evidence = check(design)
    assert (evidence.kind, evidence.verdict) == ("swept", EQUAL)
    assert evidence.cases == 1 << sum(reference(design).arguments.values())


@pytest.mark.parametrize("design", PROVED, ids=lambda design: design.name)
def test_others_are_proved(design):
    evidence = check(design)
    assert (evidence.kind, evidence.verdict) == ("proved", EQUAL)
    assert evidence.cases == 1 << sum(reference(design).arguments.values())


HIF8 = build("amax", "e2m1", source="hif8", lanes=3)
WIDE = build("amax", "ocp_e4m3", lanes=2, policy="rceil", nan="ignore")
FAULTS = {
    "a key": (HIF8, r"bits\[6\] \^ number_0_key_part", "bits[6]"),
    "a bit of the largest lane": (HIF8, r"(wire largest_of_lanes_bit_4 = )", r"\1number_2_leads_to_bit_5 & "),
    "a lane that does not lead": (HIF8, r"(wire number_1_leads_to_bit_3 = )", r"\1~number_0_leads_to_bit_3 & "),
    "the magnitude before": (HIF8, r"(wire so_far_leads_to_bit_5 = )", r"\1~lanes_leads_to_bit_5 & "),
    "the code": (HIF8, r"largest_key_bit_3 \^", "largest_key_bit_3 & ~"),
    "the scale": (HIF8, r"9'h1fe", "9'h1ff"),
    "NaN counts": (WIDE, r"(number_1_key = )[^;]*;", r"\1bits[62:32];"),
    "a threshold of the scale": (WIDE, r"(wire \w*rounds_up\w* = )[^;]*;", r"\1|amax[21:0] & &amax[22:20];"),
    "the scale of infinity": (WIDE, r"\| \{8\{is_special\}\}", "| {8{1'b0}}"),
}
"""By name: the design, a pattern in its text, and what it is replaced with."""


@pytest.mark.parametrize("name", FAULTS)
def test_a_wrong_module_is_not_proved(name):
    design, right, wrong = FAULTS[name]
    text, count = re.subn(right, wrong, texts([design])[design.name], count=1)
    assert count == 1
    evidence = check(design, text)
    assert evidence.verdict in (DIFFERENT, UNPROVED)
    if name != "a lane that does not lead":  # with equal numbers only, for which the result may be right all the same
        assert evidence.verdict == DIFFERENT
        assert evidence.counterexamples


@pytest.mark.parametrize(
    ("right", "wrong", "sentence"),
    [
        ("amax_before = clear ?", "amax_before = 1'b0 ?", "must clear its accumulator"),
        ("enable ? amax_out : amax_before", "enable | ~clear ? amax_out : amax_before", "must keep its accumulator"),
        ("rst ? 8'h00", "1'b0 ? 8'h00", "must be 0 after rst is 1"),
        ("assign scale = ", "assign scale = {8{enable}} & ", "must have outputs that follow from amax alone"),
    ],
)
def test_wrong_controls_are_refused(right, wrong, sentence):
    text = texts([HIF8])[HIF8.name]
    assert text.count(right) == 1
    with pytest.raises(Exception, match=sentence):
        check(HIF8, text.replace(right, wrong))


SIMULATED = [
    build("amax", "e2m1", source="hif8", lanes=3),
    build("amax", "ocp_e4m3", lanes=4, stages=2, nan="ignore"),
    exhaustive(build("amax", "hif8", source="posit8_1", lanes=2, stages=1, infinity="ignore")),
    exhaustive(build("amax", "e3m2", source="binary16", lanes=5, policy="even")),
]


@pytest.mark.parametrize("design", SIMULATED, ids=lambda design: design.name)
def test_cycles_in_simulation(design, tmp_path):
    simulate([clocked_case(design, reference(design).cycles(300, generator(design.name)))], tmp_path)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--format", "e8m0"], "--format must be one format with a sign, not 'e8m0'"),
        (
            ["--format", "e2m1", "--nan", "skip"],
            "argument --nan: invalid choice: 'skip' (choose from 'propagate', 'ignore')",
        ),
        (["--format", "e2m1", "--from", "dlfloat16"], "is a source, decoder target or accumulator"),
        (["--format", "e2m1", "--from", "ocp_e4m3+ocp_e5m2"], "--from must be one format whose codes"),
        (["--format", "e2m1", "--from", "e9m3b0"], "--from must be a format whose values binary32 or bfloat16 has"),
        (["--format", "e2m1", "--center", "9"], "--center must be an integer from -1 to 2, not 9"),
    ],
)
def test_refusals(words, sentence, tmp_path, capsys):
    assert main(["generate", "amax", *words, "-o", str(tmp_path)]) == 2
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
