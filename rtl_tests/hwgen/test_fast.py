"""MACs, dot products and readouts built for speed: results of all options, excluded cases, refusals."""

import re

import pytest

import golden
from golden.wide import wide
from hwgen import Adder, Decoder, Dot, Mac, Pe, Readout
from hwgen.blocks.catalog import build
from hwgen.datapath.adder_shape import TwoPathShape
from hwgen.datapath.fast.product import fast_product_shape
from hwgen.datapath.product import ProductShape
from hwgen.reference import reference
from rtl_tests.support.blocks import stimuli, texts
from rtl_tests.support.gates import mismatches
from rtl_tests.support.proofs import check
from rtl_tests.support.selection import exhaustive
from synth.proof.evidence import DIFFERENT, EQUAL

SOME = [
    build("mac", "hif8", optimize="speed", flags=True),
    build("mac", "ocp_e4m3", accumulator="binary32", optimize="speed", flags=True),
    build("mac", "gc_1_0_7_b0", accumulator="dlfloat16", optimize="speed", flags=True),
    build("mac", "ocp_e4m3", "gc_1_2_5_b1", accumulator="bfloat16", scale_bits=10, optimize="speed", flags=True),
    build("dot", "int8", accumulator="exact", lanes=8, optimize="speed"),
    build("dot", "hif8", accumulator="exact", lanes=3, optimize="speed", flags=True),
    build("dot", "ocp_e4m3", accumulator="aligned13", lanes=4, optimize="speed", flags=True),
]
MORE = [
    build("mac", "e8m0", accumulator="bfloat16", optimize="speed"),
    build("mac", "ue4m3", "hif8", optimize="speed", zero="positive"),
    build("mac", "ocp_e4m3+ocp_e5m2", "hif8", accumulator="binary32", optimize="speed"),
    build("mac", "ibm_1_4_3", accumulator="dlfloat16", scale_bits=3, optimize="speed", flags=True),
    build("mac", "gc_1_0_7_b0", "ocp_e5m2", accumulator="binary32", optimize="speed", flags=True),
    build("dot", "ocp_e4m3", accumulator="binary32", lanes=8, optimize="speed"),
    build("dot", "hif8", "ocp_e5m2", accumulator="bfloat16", lanes=5, optimize="speed", flags=True, zero="positive"),
    build("dot", "ocp_e4m3+ocp_e5m2", accumulator="binary16", lanes=3, optimize="speed"),
    build("dot", "gc_1_0_7_b0", accumulator="dlfloat16", lanes=4, optimize="speed", flags=True),
    build("dot", "ocp_e5m2", accumulator="binary16", lanes=3, scale_bits=6, optimize="speed", flags=True),
    build("dot", "e2m1", accumulator="binary32", lanes=16, block_scale="ue4m3", optimize="speed"),
    build("dot", "ibm_1_4_3", accumulator="binary16", lanes=1, optimize="speed"),
    build("dot", "hif8", "e5m2b1", accumulator="aligned25", lanes=5, optimize="speed", flags=True, zero="positive"),
    build("dot", "ocp_e4m3+ocp_e5m2", accumulator="aligned40", lanes=3, optimize="speed"),
    build("dot", "ocp_e4m3", accumulator="aligned25", lanes=32, optimize="speed"),
]
CLOCKED = [
    build("mac", "e2m1", optimize="speed", stages=3, clock_enable=True),
    build("pe", "e2m1", accumulator="dlfloat16", optimize="speed", stages=2, interleave=2, flags=True),
    build("pe", "int8", "int4", accumulator="exact", lanes=3, optimize="speed", stages=2),
]
SUMS = [
    build("dot", "int4", accumulator="exact", lanes=1, optimize="speed", flags=True),
    build("dot", "int8", "int4", accumulator="exact", lanes=3, terms=3, optimize="speed"),
    build("dot", "e2m1", "ocp_e4m3", accumulator="exact", lanes=4, scale_bits=2, optimize="speed", flags=True),
    exhaustive(build("dot", "int8", accumulator="exact", lanes=8, optimize="speed")),
]
READOUTS = [
    build("readout", "ocp_e4m3", optimize="speed"),
    build("readout", "e2m1", target="dlfloat16", optimize="speed", zero="positive"),
    build("readout", "e2m1", "e2m3", target="binary16", optimize="speed", scale_bits=2),
    exhaustive(build("readout", "hif8", "ocp_e5m2", target="binary16", optimize="speed", scale_bits=2)),
    exhaustive(build("readout", "e8m0", target="bfloat16", optimize="speed")),  # two minutes
]


@pytest.mark.parametrize("design", [*SOME, *map(exhaustive, MORE)], ids=lambda design: design.name)
def test_results_are_those_of_the_reference_model(design):
    """On directed and random vectors; test_exhaustive.py and ``hwgen verify all`` check all inputs."""
    assert not mismatches(design, stimuli(design))


@pytest.mark.parametrize("design", CLOCKED, ids=lambda design: design.name)
def test_every_input_of_pipelines_and_processing_elements(design):
    evidence = check(design)
    assert (evidence.verdict, evidence.cases) == (EQUAL, evidence.inputs)


@pytest.mark.parametrize("design", [*SUMS, *READOUTS], ids=lambda design: design.name)
def test_every_input_of_exact_sums_and_readouts(design):
    evidence = check(design)
    assert (evidence.verdict, evidence.cases) == (EQUAL, evidence.inputs)


@pytest.mark.parametrize(
    ("net", "fault"),
    [
        ("sum_3_0", "a[3:0] == 4'h6"),
        ("carry_5_0", "acc_in[5] & b[0]"),
        ("total_generate_3_down_to_2", "total_half_sum[7]"),
        ("total", "18'h20 & {18{total_propagate[4] & ~total_generate[4]}}"),
    ],
)
def test_a_fault_of_an_exact_sum_is_found(net, fault):
    design = build("dot", "int4", accumulator="exact", lanes=3, optimize="speed")
    text = design.verilog()
    broken, count = re.subn(rf"(wire (?:\[17:0\] )?{net} =\s+)([^;]+);", rf"\1({fault}) ^ (\2);", text)
    assert count == 1
    assert check(design, broken).verdict == DIFFERENT


@pytest.mark.parametrize(
    ("net", "fault"),
    [
        ("magnitude_carries", "value[6:3] == 9"),
        ("magnitude_from_above", "value[7:0] == 8'h5a"),
        ("one_from_above_after_4", "value[9]"),
    ],
)
def test_a_fault_of_a_readout_is_found(net, fault):
    text = READOUTS[0].verilog()
    broken, count = re.subn(rf"({net} =\s+)([^;]+);", rf"\1({fault}) ? 0 : (\2);", text)
    assert count == 1
    assert check(READOUTS[0], broken).verdict == DIFFERENT


@pytest.mark.parametrize(
    ("a", "b", "acc_in"),
    [(0x777BF77D, 0x6CFE7DFE, 0x7E2D), (0x73FEFD79, 0x6EFCFE7A, 0xFE3F), (0x79FDFEFE, 0xE67E787C, 0x7F02)],
)
def test_a_difference_that_is_cut_to_the_special_value_is_not_rounded_up(a, b, acc_in):
    """It overflows already: all ones are the one special value of ``dlfloat16``."""
    design = build("dot", "e5m2b1", accumulator="dlfloat16", lanes=4, flags=True, optimize="speed")
    case = {"a": a, "b": b, "acc_in": acc_in}
    assert not mismatches(design, [case])
    assert reference(design).answer(case) == {"acc_out": 0x7FFF | (~acc_in & 0x8000), "flags": 5}


def shape(name, accumulator, scale_bits=0):
    return TwoPathShape(wide(accumulator), ProductShape.of(*[golden.get(name)] * 2, scale_bits=scale_bits))


@pytest.mark.parametrize(
    ("name", "accumulator", "exceeds", "reaches", "rounds"),
    [
        ("ocp_e5m2", "binary16", True, True, False),
        ("ocp_e4m3", "binary16", True, False, False),
        ("e2m1", "binary16", False, False, False),
        ("ocp_e5m2", "binary32", False, False, False),
        ("ocp_e4m3", "bfloat16", False, False, True),
        ("gc_1_0_7_b0", "binary16", False, False, True),
        ("e8m0", "bfloat16", True, True, False),
    ],
)
def test_cases_that_a_format_excludes_are_left_out(name, accumulator, exceeds, reaches, rounds):
    """A product above a subnormal accumulator, one with bits below all accumulators, rounding in the close path."""
    widths = shape(name, accumulator)
    assert (widths.exceeds_smallest, widths.reaches_below, widths.close_rounds) == (exceeds, reaches, rounds)
    text = build("mac", name, accumulator=accumulator, optimize="speed").verilog()
    assert ("wire product_exceeds = " in text) == exceeds
    assert ("wire exceeding_rounds_up = " in text) == (exceeds and reaches)
    assert ("// Close round" in text) == rounds


@pytest.mark.parametrize("accumulator", ["binary16", "bfloat16", "dlfloat16", "binary32"])
@pytest.mark.parametrize("name", [name for name in golden.names() if name not in golden.WIDE])
def test_biases_leave_no_constant_but_a_small_one(name, accumulator):
    """The constant that is added to the accumulator's exponent is at most half of a field's range, or 1."""
    plain = ProductShape.of(golden.get(name), golden.get(name))
    chosen = fast_product_shape(wide(accumulator), plain)
    constant = wide(accumulator).bias - 1 - chosen.bias
    fields = [row.exponent.bits for row in golden.get(name).rows]
    assert abs(constant) <= max(1, 1 << max(fields) >> 1)


def test_names_and_headers_state_the_choice():
    fast, small = build("mac", "e2m1", optimize="speed"), build("mac", "e2m1", optimize="area")
    assert (fast.name, small.name) == ("e2m1_mac_binary16_speed", "e2m1_mac_binary16")
    assert small.options == build("mac", "e2m1").options
    written = texts([fast, small])
    assert "peed" not in written[small.name]
    assert build("adder", "e2m1", optimize="speed").verilog() != build("adder", "e2m1").verilog()


TWO_PATHS = "two paths, one for a shift before the addition and one for a shift after it"
BESIDE = "the places that a sum is shifted by are found beside the sum"


@pytest.mark.parametrize(
    ("block", "options", "how"),
    [
        ("mac", {}, TWO_PATHS),
        ("adder", {}, TWO_PATHS),
        ("pe", {"accumulator": "binary32"}, TWO_PATHS),
        ("pe", {"accumulator": "binary32", "lanes": 2}, BESIDE),
        ("dot", {"accumulator": "binary32", "lanes": 1}, BESIDE),
        ("dot", {"accumulator": "aligned13", "lanes": 2}, BESIDE),
        ("dot", {"accumulator": "dlfloat16", "lanes": 2}, TWO_PATHS),
        ("dot", {"accumulator": "binary32", "lanes": 2, "scale_bits": 1}, TWO_PATHS),
        ("pe", {"accumulator": "binary32", "block_scale": "e8m0"}, TWO_PATHS),
        ("readout", {}, "the places that a magnitude is shifted by are found beside the magnitude"),
    ],
)
def test_headers_state_how(block, options, how):
    text = build(block, "e2m1", optimize="speed", **options).verilog()
    assert f"// Optimized for speed: {how}\n" in text
    assert ("// Close subtract" in text) == (how == TWO_PATHS)


@pytest.mark.parametrize(
    ("component", "options", "sentence"),
    [
        (Mac, {"optimize": "power"}, "optimize must be one of area, speed, not 'power'"),
        *(
            (
                component,
                {"accumulator": "exact", "optimize": "speed"},
                "optimize 'speed' needs an accumulator that rounds each sum, not 'exact'",
            )
            for component in (Mac, Adder, Pe)
        ),
        *(
            (
                component,
                {"accumulator": "aligned13", "optimize": "speed"},
                "optimize 'speed' needs an accumulator that rounds each sum, not 'aligned13'",
            )
            for component in (Mac, Pe)
        ),
        (
            Dot,
            {"accumulator": "rvbna", "optimize": "speed"},
            "optimize 'speed' needs an accumulator that rounds each sum, an aligned one, or exact, not 'rvbna'",
        ),
        *(
            (
                component,
                {"accumulator": "aligned13", "lanes": 2, "optimize": "speed", **others},
                "optimize 'speed' needs signed formats, no integers among them, and no scale with 'aligned13'",
            )
            for component in (Dot, Pe)
            for others in ({"scale_bits": 2}, {"block_scale": "e8m0"}, {"b_format": "int8"})
        ),
        (
            Dot,
            {"b_format": "e8m0", "accumulator": "exact", "optimize": "speed"},
            "optimize 'speed' needs products whose sum has at most 160 bits, not 274 as with 'ocp_e4m3' and 'e8m0'",
        ),
        *(
            (
                component,
                {"fabric": "fpga", "optimize": "speed"},
                "optimize 'speed' needs fabric 'asic', not 'fpga': it has no carry chains",
            )
            for component in (Dot, Pe)
        ),
        *(
            (
                component,
                {"b_format": "e8m0", "lanes": 2, "accumulator": "binary32", "optimize": "speed"},
                "optimize 'speed' needs products whose sum has at most 160 bits, not 274 as with 'ocp_e4m3' and 'e8m0'",
            )
            for component in (Dot, Pe)
        ),
        (Dot, {"optimize": "power"}, "optimize must be one of area, speed, not 'power'"),
        (Readout, {"optimize": "power"}, "optimize must be one of area, speed, not 'power'"),
        (
            Readout,
            {"target": "hif8", "optimize": "speed"},
            "optimize 'speed' needs a readout to a wide format, not to 'hif8'",
        ),
    ],
)
def test_refusals(component, options, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        component("ocp_e4m3", **options)


def test_blocks_without_a_fast_structure_have_no_such_option():
    with pytest.raises(TypeError, match=r"^optimize is no option of the block decoder, "):
        build("decoder", "hif8", optimize="speed")
    with pytest.raises(TypeError, match="optimize"):
        Decoder("hif8", optimize="speed")
