"""Fused dot products: gates against the reference model, and refusals."""

import re
from functools import cache

import numpy as np
import pytest
from amaranth.sim import Simulator

import golden
from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from hwgen.datapath.bounded import BoundedShape
from hwgen.datapath.operand import Operand, OperandShape
from hwgen.datapath.rows import zero_is_silent
from hwgen.datapath.summation import sum_product_shape
from rtl_tests.support.bench import simulate
from rtl_tests.support.blocks import answer, near, stimuli, suite_case, texts
from rtl_tests.support.gates import mismatches
from rtl_tests.support.selection import exhaustive, in_turn, kind_of_design, kind_of_format, one_of_each
from synth.proof.everything import designs

DESIGNS = [
    build("dot", "hif8"),
    build("dot", "ocp_e4m3", "ocp_e5m2", accumulator="exact", lanes=2, terms=4),
    build("dot", "ocp_e4m3+ocp_e5m2", "binary8p3", lanes=2),
    build("dot", "gc_1_4_3_b7", accumulator="dlfloat16"),
]
OTHERS = [
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
    [*DESIGNS, *(pytest.param(design, marks=pytest.mark.exhaustive) for design in OTHERS)],
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
    faulty_text = text.replace("sum_sign = (total_negative", "sum_sign = (~total_negative", 1)
    assert faulty_text != text
    assert mismatches(design, stimuli(design), faulty_text)


BOUNDED = [
    build("dot", "ocp_e4m3", accumulator="binary32", lanes=4),
    build("dot", "hif8", accumulator="binary32", lanes=3, flags=True),
    build("dot", "e2m1", accumulator="binary32", lanes=4, zero="positive"),
    build("dot", "ue4m3", "e2m1", accumulator="bfloat16", lanes=1),
    build("dot", "ocp_e5m2", accumulator="bfloat16", lanes=2, flags=True, zero="positive"),
]
SPANNING = [
    build("dot", "ocp_e4m3", lanes=4, flags=True),
    build("dot", "hif8", lanes=2, flags=True),
    build("dot", "e2m1", lanes=3, flags=True, zero="positive"),
    build("dot", "binary8p3", lanes=3, flags=True),
    build("dot", "gc_1_0_7_b0", lanes=2, flags=True),
]
FLOATED = [
    build("dot", "ocp_e4m3", "hif8", accumulator="dlfloat16", lanes=3, flags=True),
    build("dot", "ocp_e5m2", accumulator="binary32", lanes=2, scale_bits=4, flags=True, zero="positive"),
    build("dot", "hif8", accumulator="bfloat16", lanes=2, scale_bits=10, flags=True),
    build("dot", "ocp_e4m3", accumulator="dlfloat16", lanes=2, scale_bits=9),
]
CHAINED = [
    build("dot", "ocp_e4m3", accumulator="binary32", lanes=3, fabric="fpga"),
    build("dot", "ocp_e5m2", accumulator="binary16", lanes=4, fabric="fpga", flags=True),
    build("dot", "hif8", accumulator="exact", lanes=2, fabric="fpga", flags=True, terms=4),
    build("dot", "e5m2b1", accumulator="aligned13", lanes=5, fabric="fpga"),
    build("dot", "e2m1", accumulator="binary32", lanes=7, fabric="fpga", block_scale="ue4m3"),
]
MORE = [
    build("dot", "e8m0", accumulator="binary32", lanes=2, flags=True),
    *(
        build("dot", *pair, accumulator=accumulator, lanes=lanes)
        for pair in (("ocp_e4m3+ocp_e5m2",), ("ocp_e4m3", "ocp_e5m2"), ("ue4m3", "e2m1"))
        for accumulator in ("binary32", "bfloat16", "dlfloat16", "exact")
        for lanes in (1, 2, 4, 8)
    ),
]
ENGINES = [
    build("dot", name, accumulator=accumulator, lanes=lanes)
    for accumulator in (
        *("binary32", "binary16", "exact"),
        *("aligned6", "aligned13", "aligned23", "aligned25", "aligned40"),
    )
    for lanes in (1, 2, 4, 8, 16, 32)
    for name in ("hif8", "ocp_e4m3", "ocp_e5m2", "e5m2b1", "e2m1")
]
COUNT = 100_000
"""Cases of a design in ``make exhaustive``."""


@cache
def proved():
    """Modules that ``make exhaustive`` proves on all inputs before it runs the tests."""
    return {design.name for design in designs()}


def kind_of_engine(design):
    """The accumulator, and whether the design has one lane, a few or many."""
    return kind_of_design(design), design.lanes > 1, design.lanes > 8


@pytest.mark.parametrize(
    ("design", "count"),
    [
        *one_of_each(kind_of_design, [(design, 2000) for design in (*BOUNDED, *SPANNING, *FLOATED, *CHAINED)]),
        *((design, 2000) for design in in_turn(kind_of_engine, ENGINES)),
        *(exhaustive(design, COUNT) for design in (*ENGINES, *MORE)),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_sums_and_accumulators_near_each_other(design, count):
    if count == COUNT and design.name in proved():
        pytest.skip("make exhaustive has proved it")
    wrong = mismatches(design, near(design, count))
    assert not wrong, f"{len(wrong)} differ, first {wrong[0]}, expected {answer(design, wrong[0][0])}"


def shape(design):
    core = design.component
    product = sum_product_shape(core.a_format, core.b_format, core.accumulator)
    return BoundedShape(product, core.lanes, golden.get(core.accumulator))


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("raised", lambda frame: frame.precision),
        ("dominant_field", lambda frame: frame.products_field + frame.sum_bits),
        ("sum_bits", lambda frame: frame.product_bits + frame.lanes.bit_length() - 1),
        ("steps", lambda _: [32, 16, 8, 4, 1, 1]),
    ],
)
def test_a_frame_that_is_too_small_is_found(attribute, value, monkeypatch):
    design = BOUNDED[0]
    right = texts([design])[design.name]
    monkeypatch.setattr(BoundedShape, attribute, property(value))
    wrong = design.verilog()
    assert wrong != right
    assert mismatches(design, near(design, 20_000), wrong)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("unit_missing = total_negative &", "unit_missing = 1'b0 & total_negative &"),
        ("sticky = (|", "sticky = (&"),
        ("sum_sign = total_negative ^", "sum_sign = ~total_negative ^"),
        ("any_sum = |products_sum", "any_sum = 1'b1 | (|products_sum)"),
        ("{7'h00, one_complement[24]", "{7'h00, 1'b1"),
    ],
)
def test_a_wrong_gate_of_a_bounded_frame_is_found(right, wrong):
    design = BOUNDED[0]
    text = texts([design])[design.name]
    assert text.count(right) == 1
    assert mismatches(design, near(design, 20_000), text.replace(right, wrong))


def test_the_bounded_frame_takes_sums_well_within_normal_numbers():
    assert all(shape(design).fits for design in (*BOUNDED, *ENGINES[:30]))
    assert not any(shape(design).fits for design in ENGINES[30:60])
    assert not shape(build("dot", "ocp_e4m3", accumulator="dlfloat16")).fits
    assert not shape(build("dot", "e8m0", accumulator="binary32")).fits


@pytest.mark.parametrize(
    "name",
    [
        *one_of_each(kind_of_format, golden.names()),
        "ocp_e4m3+ocp_e5m2",
        "hif8+binary8p3",
    ],
)
@pytest.mark.parametrize("alike", [False, True])
def test_a_silent_zero_needs_no_mask(name, alike):
    """Significands of zeros are 0 in the gates where ``zero_is_silent`` says so."""
    fmt = golden.get(name)
    if not zero_is_silent(fmt, alike=alike):
        return
    layout = OperandShape(fmt, normalized=False, keeps_exponents=alike)
    zeros = np.flatnonzero(fmt.values == 0).tolist()
    operand, found = Operand(layout), []

    async def read(context):
        for code in zeros:
            context.set(operand.code, code)
            await context.delay(1e-9)
            found.append(context.get(operand.significand))

    simulator = Simulator(operand)
    simulator.add_testbench(read)
    simulator.run()
    assert found == [0] * len(zeros)


def test_carry_chains_have_two_addends():
    """Each sum drops a place in front; otherwise Yosys merges sums of sums into compressors of LUTs."""
    text = re.sub(r"\s+", " ", texts([CHAINED[0]])[CHAINED[0].name])
    assert re.search(r"lane_0__row, 1'b1} \+ {[^;]*lane_1__row, lane_\d__row\[\d+\]};", text)
    statements = text.partition("// Sum:")[2].partition("//")[0].split(";")
    assert [statement.count(" + ") for statement in statements if "+" in statement] == [1, 1, 1]


def test_a_lane_is_a_mac():
    """A dot product with one lane computes the same sums as the fused MAC, with different hardware."""
    assert not mismatches(build("mac", "hif8"), stimuli(build("dot", "hif8", lanes=1)))


TRIO = ("hif8", "e5m2b1", "ocp_e4m3")


def test_simulation_of_random_patterns(tmp_path):
    """Pipelines with bubbles, stalls and a reset."""
    designs = [build("dot", name, stages=2, clock_enable=True) for name in TRIO]
    texts(designs)
    simulate([suite_case(design) for design in designs], tmp_path)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--lanes", "33"], "--lanes must be an integer from 1 to 32, not 33"),
        (["--lanes", "0"], "--lanes must be an integer from 1 to 32, not 0"),
        (["--accumulator", "exact", "--terms", "3", "--lanes", "4"], "--terms must be at least the 4 lanes, not 3"),
    ],
)
@pytest.mark.parametrize("block", ["dot", "pe"])
def test_refusals(block, words, sentence, tmp_path, capsys):
    assert main(["generate", block, "--format", "hif8", *words, "-o", str(tmp_path)]) == 2
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("accumulator", ["binary16", exhaustive("binary32"), exhaustive("exact"), "aligned13"])
def test_the_fabric_changes_the_sums_of_every_block(accumulator):
    def lines(block, lanes, fabric):
        """All but the header, which names the fabric."""
        design = build(block, "hif8", accumulator=accumulator, lanes=lanes, fabric=fabric)
        return [line for line in texts([design])[design.name].splitlines() if not line.startswith(("//", "module"))]

    for block, lanes in (("dot", 2), ("pe", 1)):
        assert lines(block, lanes, "asic") != lines(block, lanes, "fpga"), (block, lanes)
