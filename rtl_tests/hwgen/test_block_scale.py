"""Dot products of blocks with scales, in gates: against the reference model, wrong gates, refusals."""

import pytest

from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from hwgen.bundle.description import description
from rtl_tests.support.bench import simulate
from rtl_tests.support.blocks import answer, near, suite_case, texts
from rtl_tests.support.gates import mismatches
from rtl_tests.support.selection import kind_of_design, one_of_each

DESIGNS = [
    build("dot", "e2m1", accumulator="binary32", lanes=4, block_scale="e8m0"),
    build("dot", "e2m1", accumulator="binary32", lanes=4, block_scale="ue4m3", flags=True),
    build("dot", "ocp_e4m3", accumulator="binary32", lanes=2, block_scale="e8m0", flags=True, zero="positive"),
    build("dot", "ocp_e4m3", "ocp_e5m2", accumulator="binary32", lanes=3, block_scale="ue5m3", flags=True),
    build("dot", "ocp_e5m2", accumulator="bfloat16", lanes=2, block_scale="Binary8p1uf", flags=True),
    build("dot", "hif8", accumulator="binary16", lanes=2, block_scale="e8m0", flags=True),
    build("dot", "e3m2", "e2m3", accumulator="dlfloat16", lanes=2, block_scale="Binary8p1uf", flags=True),
    build("dot", "ocp_e4m3+ocp_e5m2", accumulator="dlfloat16", lanes=2, block_scale="e8m0"),
    build("dot", "e2m1", accumulator="binary32", lanes=1, block_scale="ue4m3"),
    build("dot", "e2m1", accumulator="aligned13", lanes=8, block_scale="e8m0", flags=True),
    build("dot", "ocp_e5m2", accumulator="aligned25", lanes=2, block_scale="e8m0", flags=True, zero="positive"),
    build("dot", "hif8", accumulator="aligned6", lanes=3, block_scale="e8m0"),
]
MORE = [
    build("dot", "e2m1", accumulator="binary32", lanes=32, block_scale="e8m0"),
    build("dot", "ocp_e4m3", accumulator="binary32", lanes=32, block_scale="e8m0"),
    build("dot", "e2m1", accumulator="binary32", lanes=16, block_scale="ue4m3"),
    build("dot", "e2m1", accumulator="aligned13", lanes=32, block_scale="e8m0"),
    build("dot", "ocp_e5m2", accumulator="aligned40", lanes=16, block_scale="e8m0"),
]


@pytest.mark.parametrize(
    ("design", "count"),
    [
        *one_of_each(kind_of_design, [(design, 2000) for design in DESIGNS]),
        *(pytest.param(design, 100_000, marks=pytest.mark.exhaustive) for design in (*DESIGNS, *MORE)),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_gates_equal_golden(design, count):
    wrong = mismatches(design, near(design, count))
    assert not wrong, f"{len(wrong)} differ, first {wrong[0]}, expected {answer(design, wrong[0][0])}"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("scaled_magnitude = ", "scaled_magnitude = 12'd1 ^ "),
        ("zero_times_infinity = ", "zero_times_infinity = 1'b0 & "),
        ("sum_is_zero = ", "sum_is_zero = 1'b0 & "),
        ("products_sum_negative = ", "products_sum_negative = ~"),
    ],
)
def test_a_wrong_gate_is_found(right, wrong):
    design = build("dot", "ocp_e5m2", accumulator="binary32", lanes=2, block_scale="ue4m3")
    text = texts([design])[design.name]
    assert text.count(right) == 1
    assert mismatches(design, near(design, 5000), text.replace(right, wrong))


def test_a_processing_element_for_mxfp4_in_simulation(tmp_path):
    """The first one's proof and bundle have 8 lanes."""
    designs = [
        build("pe", "e2m1", lanes=2, accumulator="aligned13", block_scale="e8m0", stages=3),
        build("pe", "e2m1", lanes=1, accumulator="binary32", block_scale="ue4m3"),
        build("dot", "e2m1", lanes=4, accumulator="binary32", block_scale="e8m0", stages=2, clock_enable=True),
    ]
    texts(designs)
    simulate([suite_case(design) for design in designs], tmp_path)


def test_description():
    design = build("dot", "e2m1", lanes=16, block_scale="ue4m3", accumulator="binary32")
    described = description(design, design.verilog())
    ports = {port["name"]: (port["width"], port["meaning"]) for port in described["ports"]}
    assert ports["a_scale"] == (7, "code of the scale of a, which multiplies the products")
    assert ports["b_scale"] == (7, "code of the scale of b, which multiplies the products")
    assert [fmt["name"] for fmt in described["formats"]] == ["e2m1", "ue4m3"]
    assert described["command"] == (
        "hwgen generate dot --format e2m1 --lanes 16 --accumulator binary32 --block-scale ue4m3"
    )
    assert "Scale: products are multiplied by a_scale * b_scale, codes of ue4m3" in design.header


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--block-scale", "ocp_e4m3"], "--block-scale must be one of e8m0, ue4m3, ue5m3, Binary8p1uf, not 'ocp_e4m3'"),
        (["--block-scale", "e8m0", "--scale-bits", "3"], "--block-scale needs 0 scale bits, not 3"),
        (["--block-scale", "e8m0", "--accumulator", "exact"], "--block-scale needs an accumulator that rounds"),
        (
            ["--block-scale", "ue4m3", "--accumulator", "aligned13"],
            "--block-scale must be e8m0 with accumulator 'aligned13', not 'ue4m3'",
        ),
    ],
)
@pytest.mark.parametrize("block", ["dot", "pe"])
def test_refusals(block, words, sentence, tmp_path, capsys):
    assert main(["generate", block, "--format", "e2m1", *words, "-o", str(tmp_path)]) == 2
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
