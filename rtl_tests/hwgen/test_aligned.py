"""Aligned sums in gates: against the reference model, wrong gates, refusals, and the shapes that they rest on."""

import pytest

import golden
import hwgen
from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from hwgen.datapath.aligned import AlignedShape
from hwgen.datapath.summation import sum_product_shape
from rtl_tests.support.bench import simulate
from rtl_tests.support.blocks import answer, near, suite_case, texts
from rtl_tests.support.gates import mismatches
from rtl_tests.support.selection import exhaustive, kind_of_design, one_of_each

FORMATS = ("hif8", "ocp_e4m3", "ocp_e5m2", "e5m2b1", "e2m1")
WIDTHS = ("aligned6", "aligned13", "aligned23", "aligned25", "aligned40")
OTHERS = [
    build("mac", "ocp_e4m3", accumulator="aligned13"),
    build("mac", "hif8", accumulator="aligned25", flags=True),
    build("mac", "e8m0", accumulator="aligned6"),
    build("dot", "ocp_e4m3", accumulator="aligned13", lanes=4, flags=True, zero="positive"),
    build("dot", "ocp_e4m3", "ocp_e5m2", accumulator="aligned10", lanes=3),
    build("dot", "ocp_e4m3+ocp_e5m2", "binary8p3", accumulator="aligned14", lanes=2),
    build("dot", "hif8", accumulator="aligned13", lanes=2, scale_bits=10, flags=True),
    build("dot", "ocp_e5m2", accumulator="aligned30", lanes=2, scale_bits=9, zero="positive"),
    build("dot", "e5m2b1", accumulator="aligned13", lanes=2, scale_bits=3),  # field_of_level_0 is negative
    build("dot", "gc_1_0_7_b0", accumulator="aligned7", lanes=2),
    build("dot", "e8m0", "e2m1", accumulator="aligned12", lanes=2),
    build("dot", "Binary8p1uf", accumulator="aligned9", lanes=2),
    build("dot", "binary8p4", accumulator="aligned8", lanes=2, flags=True),
    build("dot", "e2m1", accumulator="aligned13", lanes=5, block_scale="e8m0", flags=True),
    build("dot", "e2m3", "e2m1", accumulator="aligned25", lanes=4, scale_bits=10, zero="positive"),
    build("dot", "e3m2", accumulator="aligned40", lanes=3, block_scale="e8m0", fabric="fpga"),
    build("dot", "int8", accumulator="aligned25", lanes=4),
    build("mac", "int4", accumulator="aligned13", scale_bits=9),
]
SLOW = [
    build("mac", "e8m0", accumulator="aligned6", flags=True),
    build("dot", "Binary8p1uf", accumulator="aligned9", lanes=2, flags=True),
]
"""Their flags take exact sums of 500 bits."""


@pytest.mark.parametrize(
    "design",
    [*one_of_each(kind_of_design, OTHERS), *map(exhaustive, SLOW)],
    ids=lambda design: design.name,
)
def test_options_and_formats(design):
    wrong = mismatches(design, near(design, 2000))
    assert not wrong, f"{len(wrong)} differ, first {wrong[0]}, expected {answer(design, wrong[0][0])}"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("acc_dominates = ", "acc_dominates = 1'b0 & "),
        ("  wire is_below = |", "  wire is_below = &"),
        ("lane_2_leads_to_bit_3 = ", "lane_2_leads_to_bit_3 = 1'b1 | "),
        ("  wire [5:0] distance = largest_level", "  wire [5:0] distance = 6'd1 + largest_level"),
        ("largest_level} + 8'h71", "largest_level} + 8'h70"),
        ("19'h48000", "19'h48001"),
        ("negative_rows = ({1'b0, {1'b0, lane_0_negative}", "negative_rows = ({1'b0, {1'b0, 1'b0}"),
        ("choose_acc = ", "choose_acc = 1'b0 & "),
        ("sum_sign = (total_negative", "sum_sign = (~total_negative"),
    ],
)
def test_a_wrong_gate_is_found(right, wrong):
    design = build("dot", "ocp_e4m3", accumulator="aligned13", lanes=4)
    text = texts([design])[design.name]
    assert text.count(right) == 1
    assert mismatches(design, near(design, 5000), text.replace(right, wrong))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("keeps = {~not_keeps_7", "keeps = {1'b1"),
        ("10'h100", "10'h101"),
        ("negative_rows = ", "negative_rows = 3'd1 | "),
        ("raised_level = 8'h84", "raised_level = 8'h83"),
        ("sum_unit = acc_in[31] & ~", "sum_unit = acc_in[31] | "),
        ("total_inverts_bit_0 = total_negative & sum_lost", "total_inverts_bit_0 = 1'b0"),
    ],
)
def test_a_wrong_gate_behind_a_common_frame_is_found(right, wrong):
    design = build("dot", "e2m1", accumulator="aligned13", lanes=4, block_scale="e8m0")
    text = texts([design])[design.name]
    assert text.count(right) == 1
    assert mismatches(design, near(design, 5000), text.replace(right, wrong))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("cut_ones_in_place_2 = largest_level_bit_4 ?", "cut_ones_in_place_2 = 1'b0 ?"),
        ("cut_ones_in_place_2 = largest_level_bit_4 ? ", "cut_ones_in_place_2 = largest_level_bit_4 ? ~"),
        ("some_level_is_2 = ", "some_level_is_2 = 1'b0 & "),
    ],
)
def test_a_wrong_gate_behind_counted_ones_is_found(right, wrong):
    design = build("dot", "e2m1", accumulator="aligned13", lanes=8, block_scale="e8m0")
    text = texts([design])[design.name]
    assert text.count(right) == 1
    assert mismatches(design, near(design, 5000), text.replace(right, wrong))


def test_products_share_a_frame_that_is_no_longer_than_they_are():
    def is_framed(name, width):
        products = sum_product_shape(golden.get(name), golden.get(name), width)
        return AlignedShape(products, 4, int(width.removeprefix("aligned"))).is_framed

    assert [width for width in WIDTHS if is_framed("e2m1", width)] == list(WIDTHS)
    assert [width for width in WIDTHS if is_framed("e3m2", width)] == ["aligned23", "aligned25", "aligned40"]
    assert [width for width in WIDTHS if is_framed("ocp_e5m2", width)] == []
    assert is_framed("int8", "aligned25")


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("width", WIDTHS)
def test_sums_of_8_bit_formats_are_normal_or_the_accumulator(name, width):
    """So that most units need no logic for overflow and subnormals; those with wide scales do."""
    fraction_bits = int(width.removeprefix("aligned"))
    products = sum_product_shape(golden.get(name), golden.get(name), width)
    assert all(AlignedShape(products, lanes, fraction_bits).is_bounded for lanes in (1, 32))
    assert not AlignedShape(products, 2, fraction_bits, (-256, 255)).is_bounded


CLOCKED = [
    build("dot", "hif8", accumulator="aligned13", lanes=2, stages=2, clock_enable=True),
    build("pe", "e5m2b1", accumulator="aligned25", flags=True),
]
MORE_CLOCKED = [*CLOCKED, build("pe", "ocp_e4m3", lanes=8, accumulator="aligned13", stages=3)]


@pytest.mark.parametrize("designs", [CLOCKED, exhaustive(MORE_CLOCKED)], ids=["some", "more"])
def test_pipelines_and_processing_elements_in_simulation(designs, tmp_path):
    texts(designs)
    simulate([suite_case(design) for design in designs], tmp_path)


@pytest.mark.parametrize("block", ["mac", "dot", "pe"])
@pytest.mark.parametrize("name", ["aligned5", "aligned41", "aligned", "aligned013"])
def test_other_widths_are_refused(block, name, tmp_path, capsys):
    assert main(["generate", block, "--format", "hif8", "--accumulator", name, "-o", str(tmp_path)]) == 2
    accepted = "binary16, bfloat16, binary32, dlfloat16, exact, rvbna"
    accepted += (", none" if block == "dot" else "") + ", or aligned6 to aligned40"
    assert f"--accumulator must be one of {accepted}, not '{name}'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_any_case_will_do(tmp_path):
    assert main(["generate", "mac", "--format", "e2m1", "--accumulator", "Aligned40", "-o", str(tmp_path)]) == 0
    assert (tmp_path / "e2m1_mac_aligned40" / "e2m1_mac_aligned40.v").is_file()


@pytest.mark.parametrize("part", [hwgen.Adder, hwgen.Multiplier])
def test_a_mac_that_aligns_has_no_halves(part):
    with pytest.raises(golden.BadValue, match=r"accumulator must be one of binary16, .*exact, not 'aligned13'"):
        part("hif8", accumulator="aligned13")
