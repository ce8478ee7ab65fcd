"""Accumulators that round stochastically, and sums without accumulator, in gates: against the reference model."""

import numpy as np
import pytest

from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from hwgen.reference import reference
from rtl_tests.support.bench import simulate
from rtl_tests.support.blocks import answer, near, suite_case, texts
from rtl_tests.support.formal import symbiyosys
from rtl_tests.support.gates import mismatches
from rtl_tests.support.selection import exhaustive

WORDS = {"accumulator_rounding": "stochastic"}
ALONE = {"accumulator": "none"}
DESIGNS = [
    build("mac", "hif8", accumulator="dlfloat16", random_bits=4, flags=True, **WORDS),
    build("mac", "ocp_e5m2", accumulator="bfloat16", flags=True, zero="positive", **WORDS),
    build("dot", "ocp_e4m3", lanes=4, random_bits=8, flags=True, **WORDS),
    build("dot", "ocp_e5m2", target="binary16", lanes=4, flags=True, **ALONE),
    build(
        "dot", "e2m1", target="dlfloat16", lanes=16, block_scale="ue4m3", random_bits=7, flags=True, **ALONE, **WORDS
    ),
]
MORE = [
    build("mac", "gc_1_5_2_b33", accumulator="dlfloat16", random_bits=32, flags=True, **WORDS),
    build("mac", "ocp_e4m3+ocp_e5m2", "hif8", random_bits=1, scale_bits=6, **WORDS),
    build("mac", "int8", accumulator="bfloat16", random_bits=24, flags=True, **WORDS),
    build("dot", "gc_1_5_2_b33", accumulator="dlfloat16", lanes=2, random_bits=5, scale_bits=9, flags=True, **WORDS),
    build("dot", "e5m2b1", accumulator="bfloat16", lanes=32, random_bits=12, fabric="fpga", **WORDS),
    build("dot", "Binary8p4se", lanes=4, block_scale="Binary8p1uf", zero="positive", flags=True, **WORDS),
    build("dot", "hif8", target="dlfloat16", lanes=2, scale_bits=10, flags=True, **ALONE),
    build("dot", "Binary8p1uf", target="binary16", lanes=2, flags=True, zero="positive", **ALONE),
    build("dot", "ocp_e4m3", target="bfloat16", lanes=32, block_scale="e8m0", flags=True, **ALONE),
    build("dot", "Binary8p4se", target="bfloat16", lanes=4, block_scale="Binary8p1uf", flags=True, **ALONE),
    build("dot", "ocp_e4m3+ocp_e5m2", "int8", lanes=3, fabric="fpga", **ALONE),
    build("dot", "gc_1_0_7_b0", target="binary16", lanes=1, random_bits=5, flags=True, **ALONE, **WORDS),
]


@pytest.mark.parametrize("design", [*DESIGNS, *map(exhaustive, MORE)], ids=lambda design: design.name)
def test_options_and_formats(design):
    wrong = mismatches(design, near(design, 3000))
    assert not wrong, f"{len(wrong)} differ, first {wrong[0]}, expected {answer(design, wrong[0][0])}"


def test_words_are_at_the_thresholds():
    """The next word, or the one before, changes the result of many cases; of random words it would do so in 1 of 32."""
    design = DESIGNS[2]
    cases, last = near(design, 3000)[:500], (1 << design.core.random_bits) - 1
    changed = np.zeros(len(cases), np.bool_)
    for step in (-1, 1):
        others = [{**pins, "random": min(max(pins["random"] + step, 0), last)} for pins in cases]
        pairs = zip(*(reference(design).answers(some) for some in (cases, others)), strict=True)
        changed |= np.array([one["acc_out"] != other["acc_out"] for one, other in pairs])
    assert changed.sum() > 40


@pytest.mark.parametrize(
    ("number", "right", "wrong"),
    [
        (0, "unit_reaches_tail = ", "unit_reaches_tail = 1'b0 & "),
        (0, "below_smallest = ", "below_smallest = 1'b0 & "),
        (0, "gap_steps = 5'h10 - ", "gap_steps = 5'h0f - "),
        (0, "gap_some = ", "gap_some = 1'b0 & "),
        (2, "carry_1 = ", "carry_1 = 1'b0 & "),
        (2, "room_for_1 = ", "room_for_1 = 1'b1 | "),
        (3, "in_subnormal_range = ", "in_subnormal_range = 1'b0 & "),
        (3, "overflow_flag = ", "overflow_flag = 1'b0 & "),
    ],
)
def test_a_wrong_gate_is_found(number, right, wrong):
    design = DESIGNS[number]
    text = texts([design])[design.name]
    assert text.count(right) == 1
    assert mismatches(design, near(design, 20000), text.replace(right, wrong))


SIMULATED = [
    build("pe", "ocp_e5m2", lanes=2, stages=3, interleave=2, random_bits=6, flags=True, **WORDS),
    build("mac", "hif8", accumulator="bfloat16", stages=2, **WORDS),
    build("mac", "hif8", random="lfsr", **WORDS),
    build("dot", "ocp_e4m3", target="bfloat16", lanes=4, stages=1, clock_enable=True, **ALONE),
]


def test_words_of_pipelines_and_registers_in_simulation(tmp_path):
    texts(SIMULATED)
    simulate([suite_case(design) for design in SIMULATED], tmp_path)


@pytest.mark.parametrize(
    "words",
    [
        ["mac", "--format", "e2m1", "--accumulator-rounding", "stochastic", "--random-bits", "2"],
        ["dot", "--format", "e2m1", "--accumulator", "none", "--to", "binary16"],
        ["dot", "--format", "e2m1", "--accumulator", "bfloat16", "--block-scale", "e8m0"],
        ["dot", "--format", "e2m1", "--accumulator", "none", "--block-scale", "e8m0"],
    ],
    ids=lambda words: " ".join(words[3:]),
)
def test_the_properties_are_proved(words, tmp_path):
    assert main(["generate", *words, "-o", str(tmp_path)]) == 0
    (folder,) = tmp_path.iterdir()
    assert symbiyosys(folder, folder.name).returncode == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["mac", "--accumulator", "binary32", "--accumulator-rounding", "stochastic"],
            "--accumulator-rounding needs an accumulator in binary16, bfloat16 or dlfloat16, not 'binary32'",
        ),
        (["mac", "--random-bits", "4"], "--random-bits needs accumulator_rounding 'stochastic'"),
        (
            ["pe", "--accumulator-rounding", "stochastic", "--random-bits", "0"],
            "--random-bits must be an integer from 1 to 32, not 0",
        ),
        (
            ["dot", "--accumulator-rounding", "stochastic", "--optimize", "speed"],
            "--optimize 'speed' needs sums that are rounded to the nearest, not accumulator_rounding 'stochastic'",
        ),
        (
            ["mac", "--accumulator-rounding", "stochastic", "--random", "lfsr", "--stages", "2"],
            "--random 'lfsr' needs a module without stages; a pipeline takes the words of a port",
        ),
        (["dot", "--to", "binary16"], "--to needs accumulator 'none'"),
        (["dot", "--accumulator", "none", "--terms", "4"], "--terms needs accumulator 'exact', not 'none'"),
        (
            ["dot", "--accumulator", "none", "--optimize", "speed"],
            "--optimize 'speed' needs an accumulator that rounds each sum, an aligned one, or exact, not 'none'",
        ),
        (["pe", "--accumulator", "none"], "or aligned6 to aligned40, not 'none'"),
    ],
)
def test_refusals(words, sentence, tmp_path, capsys):
    block, *options = words
    assert main(["generate", block, "--format", "hif8", *options, "-o", str(tmp_path)]) == 2
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
