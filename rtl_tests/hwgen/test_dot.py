"""Fused dot products: gates against the reference model, and refusals."""

import pytest

from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from hwgen.bundle.files import cases
from rtl_tests.support.bench import simulate
from rtl_tests.support.blocks import answer, clocked_case, stimuli, texts
from rtl_tests.support.gates import mismatches

DESIGNS = [
    build("dot", "hif8"),
    build("dot", "ocp_e4m3", "ocp_e5m2", accumulator="exact", lanes=2, terms=4),
    build("dot", "ocp_e4m3+ocp_e5m2", "binary8p3", lanes=2),
    build("dot", "gc_1_4_3_b7", accumulator="dlfloat16"),
    build("dot", "Binary4p1ue", "e2m1", accumulator="bfloat16", scale_bits=3, flags=True, zero="positive"),
]
MORE = [
    build("dot", "ocp_e4m3", lanes=4),
    build("dot", "e5m2b1", lanes=3),
    build("dot", "hif8", lanes=1),
    build("dot", "ocp_e5m2", accumulator="bfloat16"),
    build("dot", "ocp_e4m3", accumulator="binary32"),
    build("dot", "hif8", accumulator="exact", lanes=8, terms=64),
    build("dot", "ibm_fp9_1_5_3", accumulator="dlfloat16", lanes=3),
    build("dot", "binary8p4", "hif8", accumulator="dlfloat16", lanes=4),
    build("dot", "e5m3_nosub", lanes=8),
    build("dot", "gc_1_0_7_b0", accumulator="bfloat16", lanes=4),
    build("dot", "e5m2_nosub", accumulator="dlfloat16", lanes=16),
    build("dot", "ocp_e4m3", lanes=16),
]


@pytest.mark.parametrize(
    "design",
    [*DESIGNS, *(pytest.param(design, marks=pytest.mark.exhaustive) for design in MORE)],
    ids=lambda design: design.name,
)
def test_gates_equal_golden(design):
    vectors = stimuli(design)
    assert len(vectors) == 2000
    wrong = mismatches(design, vectors)
    assert not wrong, f"{len(wrong)} differ, first {wrong[0]}, expected {answer(design, wrong[0][0])}"


def test_a_wrong_gate_is_found():
    design = build("dot", "e5m2b1")
    text = texts([design])[design.name]
    faulty_text = text.replace("sum_sign = total[", "sum_sign = ~total[", 1)
    assert faulty_text != text
    assert mismatches(design, stimuli(design), faulty_text)


def test_a_lane_is_a_mac():
    """A dot product with one lane computes the same sums as the fused MAC, with different hardware."""
    assert not mismatches(build("mac", "hif8"), stimuli(build("dot", "hif8", lanes=1)))


TRIO = ("hif8", "e5m2b1", "ocp_e4m3")


def test_simulation_of_random_patterns(tmp_path):
    """Pipelines with bubbles, stalls and a reset."""
    designs = [build("dot", name, stages=2, clock_enable=True) for name in TRIO]
    texts(designs)
    simulate([clocked_case(design, cases(design)) for design in designs], tmp_path)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--lanes", "17"], "--lanes must be an integer from 1 to 16, not 17"),
        (["--lanes", "0"], "--lanes must be an integer from 1 to 16, not 0"),
        (["--accumulator", "exact", "--terms", "3", "--lanes", "4"], "--terms must be at least the 4 lanes, not 3"),
    ],
)
@pytest.mark.parametrize("block", ["dot", "pe"])
def test_refusals(block, words, sentence, tmp_path, capsys):
    assert main(["generate", block, "--format", "hif8", *words, "-o", str(tmp_path)]) == 2
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
