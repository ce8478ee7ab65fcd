"""Bulk normalization in gates: against the reference model, wrong gates, refusals."""

import pytest

from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from rtl_tests.support.bench import simulate
from rtl_tests.support.blocks import answer, near, suite_case, texts
from rtl_tests.support.gates import mismatches
from rtl_tests.support.selection import exhaustive

DESIGNS = [
    build("mac", "ocp_e5m2", accumulator="rvbna", flags=True),
    build("dot", "ocp_e5m2", accumulator="rvbna", lanes=8),
    build("dot", "ocp_e4m3", accumulator="rvbna", lanes=2, scale_bits=10, flags=True),
    build("dot", "hif8", accumulator="rvbna", lanes=4, block_scale="e8m0", flags=True),
]
MORE = [
    build("mac", "hif8", accumulator="rvbna", scale_bits=9, zero="positive"),
    build("mac", "int8", accumulator="rvbna"),
    build("dot", "ocp_e4m3", "ocp_e5m2", accumulator="rvbna", lanes=4, flags=True),
    build("dot", "e5m2b1", accumulator="rvbna", lanes=16, fabric="fpga"),
    build("dot", "e2m1", accumulator="rvbna", lanes=32, block_scale="e8m0"),
    build("dot", "bfloat16", accumulator="rvbna", lanes=2, flags=True),
    build("dot", "binary16", "ocp_e4m3", accumulator="rvbna", lanes=4),
    build("dot", "Binary8p1uf", accumulator="rvbna", lanes=2, flags=True),
]


@pytest.mark.parametrize("design", [*DESIGNS, *map(exhaustive, MORE)], ids=lambda design: design.name)
def test_options_and_formats(design):
    wrong = mismatches(design, near(design, 3000))
    assert not wrong, f"{len(wrong)} differ, first {wrong[0]}, expected {answer(design, wrong[0][0])}"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("  wire lost = ", "  wire lost = 1'b0 & "),
        ("  wire is_below = ", "  wire is_below = 1'b0 & "),
        ("below_normal = ", "below_normal = 1'b0 & "),
        ("below_subnormal = below_normal | ", "below_subnormal = "),
        ("last_place = {cuts, 1'b1}", "last_place = {cuts, 1'b0}"),
        ("round_up = ", "round_up = 1'b0 & "),
        ("products_opposite = ", "products_opposite = 1'b0 & "),
        ("products_overflow = ", "products_overflow = 1'b0 & "),
    ],
)
def test_a_wrong_gate_is_found(right, wrong):
    design = build("dot", "ocp_e5m2", accumulator="rvbna", lanes=4, scale_bits=10, flags=True)
    text = texts([design])[design.name]
    assert text.count(right) == 1
    assert mismatches(design, near(design, 20000), text.replace(right, wrong))


def test_a_processing_element_in_simulation(tmp_path):
    designs = [build("pe", "ocp_e4m3", accumulator="rvbna", lanes=2, stages=2)]
    texts(designs)
    simulate([suite_case(design) for design in designs], tmp_path)


@pytest.mark.parametrize("lanes", [3, 12])
def test_lanes_are_a_power_of_two(lanes, tmp_path, capsys):
    options = ["--format", "hif8", "--lanes", str(lanes), "--accumulator", "rvbna"]
    assert main(["generate", "dot", *options, "-o", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert f"--lanes must be a power of two up to 16384 with accumulator 'rvbna', not {lanes}" in error
    assert not list(tmp_path.iterdir())
