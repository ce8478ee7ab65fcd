"""Proofs of dot products and processing elements: right modules are proved, faults of every part are found."""

import re
from itertools import product

import pytest

from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from hwgen.datapath.fast.aligned import GROUP, GroupedShape
from hwgen.reference import reference
from rtl_tests.support.blocks import texts
from rtl_tests.support.proofs import check, prover, subject
from rtl_tests.support.selection import exhaustive
from synth.area.liberty import GATES
from synth.proof.adders import NOWHERE, linear_form
from synth.proof.bulk import BulkDotProof
from synth.proof.dot import ExactDotProof
from synth.proof.evidence import DIFFERENT, EQUAL, PROVED, SWEPT, UNPROVED
from synth.proof.files import UserFile
from synth.proof.floated import FloatedDotProof
from synth.proof.gates import Folder, Gate, Netlist, NetlistError, NotShownError
from synth.proof.lanes import Lanes
from synth.proof.mac import SplitMacProof
from synth.proof.rounded import RoundedDotProof
from synth.proof.truncated import AlignedDotProof
from synth.proof.twofold import CarrySaveProof, full_adders

# -- adders ------------------------------------------------------------------------------------------------------------


def adder(width, carry_out=False):
    """A chain of full adders for two words, with the net of its last carry if asked for."""
    gates, carry, driven = [], 0, []
    for place in range(width):
        pins = 2 + place, 2 + width + place, carry
        driven.append(2 + 2 * width + len(gates))
        gates.append(Gate("SUM", pins))
        carry = 2 + 2 * width + len(gates)
        gates.append(Gate("CARRY", pins))
    driven += [carry] * carry_out
    return Netlist("adder", {"a": width, "b": width}, {"sum": len(driven)}, tuple(gates), tuple(driven))


def test_a_chain_of_adders_is_a_sum_of_its_operands():
    netlist = adder(4)
    form = linear_form(netlist, netlist.driven)
    assert form.terms == {2 + 4 * word + place: 1 << place for word, place in product((0, 1), range(4))}
    assert (form.constant, form.modulus) == (0, 16)


def test_a_carry_that_no_place_takes_remains():
    netlist = adder(4)
    assert set(linear_form(netlist, netlist.driven, 5).terms) - set(range(10)) == {10 + 7}
    whole = adder(4, carry_out=True)
    assert max(linear_form(whole, whole.driven).terms) < 10


def test_a_swapped_place_is_no_sum():
    netlist = adder(4)
    first, second, *others = netlist.driven
    assert max(linear_form(netlist, [second, first, *others]).terms) >= netlist.first_gate


def test_a_carry_without_a_net_has_no_net():
    gates = Gate("SUM", (2, 3, 4)), Gate("SUM", (2, 3, 5))
    netlist = Netlist("x", {"a": 4}, {"sum": 2}, gates, (6, 7))
    assert NOWHERE in linear_form(netlist, netlist.driven).terms


@pytest.mark.parametrize(("ones", "is_exact"), [((2, 3, 4), True), ((2, 3, 3), False), ((2, 3, 1), False)])
def test_a_count_needs_no_carry_that_never_is_1(ones, is_exact):
    """Three bits in a word of two places, whose carries are added without a carry of their own."""
    first, second, third = ones
    halves = [(0, first, second), (0, 5, third), (0, 6, 8)]
    gates = [Gate(kind, addends) for addends in halves[:2] for kind in ("SUM", "CARRY")] + [Gate("SUM", halves[2])]
    netlist = Netlist("x", {"a": 3}, {"sum": 5}, tuple(gates), (0, 7, 9, 0, 0))
    assert NOWHERE in linear_form(netlist, netlist.driven).terms
    form = linear_form(netlist, netlist.driven, count=[7, 9])
    assert (form.terms == {2: 2, 3: 2, 4: 2}) == is_exact
    assert is_exact or {7, 9} <= form.terms.keys()
    assert {7, 9} <= linear_form(netlist, [7, 0, 9], count=[7, 9]).terms.keys()  # not the places of the count


@pytest.mark.parametrize("addends", [(0, 2, 0), (1, 2, 1), (0, 1, 2), (2, 3, 2)])
def test_carries_of_constants_and_equal_addends_are_known(addends):
    netlist = Netlist("x", {"a": 2}, {"sum": 1}, (Gate("SUM", addends),), (4,))
    form = linear_form(netlist, netlist.driven, 8)
    for word in range(4):
        bits = {2 + place: word >> place & 1 for place in range(2)}
        value = (form.constant + sum(weight * bits[net] for net, weight in form.terms.items())) % form.modulus
        assert value == netlist.evaluate({"a": word})["sum"]


def test_a_sign_is_extended_without_a_new_carry():
    """Two numbers of two bits, each with its sign in two more places."""
    pins = [(2, 4, 0), (3, 5, 7), (3, 5, 9), (3, 5, 11)]
    gates = [Gate(kind, addends) for addends in pins for kind in ("SUM", "CARRY")]
    netlist = Netlist("x", {"a": 2, "b": 2}, {"sum": 4}, tuple(gates), (6, 8, 10, 12))
    form = linear_form(netlist, [6, 8, 10, *[10] * 5], 8)
    assert form.terms == {2: 1, 3: 254, 4: 1, 5: 254}


def test_an_inverted_sum_is_a_sum():
    """``~(a + b) + 1`` is minus their sum."""
    whole = adder(4)
    gates = [*whole.gates, *(Gate("NOT", (net,)) for net in whole.driven)]
    first = whole.first_gate + len(whole.gates)
    netlist = Netlist("x", whole.inputs, {"sum": 4}, tuple(gates), tuple(range(first, first + 4)))
    form = linear_form(netlist, netlist.driven)
    assert form.terms == {2 + 4 * word + place: -(1 << place) % 16 for word, place in product((0, 1), range(4))}
    assert (form.constant, form.modulus) == (15, 16)


def test_folding_keeps_the_function():
    netlist = adder(3)
    folder = Folder(netlist)
    numbers = folder.fold({5: 1, 6: 0, 7: 1})
    folded = folder.netlist_of(numbers, {"a": range(2, 5)}, {"sum": netlist.driven})
    assert len(folded.gates) < len(netlist.gates)
    for word in range(8):
        assert folded.evaluate({"a": word}) == netlist.evaluate({"a": word, "b": 5})


def test_full_adders_keep_the_function():
    """A full adder, a half adder, and one with a constant 1, as gates."""
    gates = [("XOR", 2, 3), ("XOR", 5, 4), ("AND", 2, 3), ("OR", 2, 3), ("AND", 4, 8), ("OR", 7, 9), ("NOT", 5)]
    gates = tuple(Gate(kind, tuple(pins)) for kind, *pins in gates)
    netlist = Netlist("x", {"a": 3}, {"sum": 7}, gates, tuple(range(5, 12)))
    changed = full_adders(netlist)
    assert sum(gate.kind in ("SUM", "CARRY") for gate in changed.gates) >= 4
    assert all(changed.evaluate({"a": word}) == netlist.evaluate({"a": word}) for word in range(8))


# -- right modules -----------------------------------------------------------------------------------------------------

# ``make test`` proves a design for each kind of claim, ``make exhaustive`` all of them.
EXACT = [
    exhaustive(build("dot", "ocp_e4m3", accumulator="exact", lanes=3)),
    build("dot", "hif8", accumulator="exact", lanes=2, flags=True),
    build("dot", "ocp_e4m3", accumulator="exact", lanes=2, scale_bits=2, stages=2),
    exhaustive(build("dot", "ocp_e4m3+ocp_e5m2", accumulator="exact", lanes=2)),
    exhaustive(build("dot", "e2m1", accumulator="exact", lanes=32)),
    exhaustive(build("dot", "ocp_e4m3", accumulator="exact", lanes=4, fabric="fpga", flags=True)),
    build("pe", "ocp_e5m2", accumulator="exact", lanes=4, stages=3),
    exhaustive(build("pe", "ocp_e4m3", accumulator="exact", lanes=2, stages=2, interleave=3, flags=True)),
]
TWOFOLD = [
    exhaustive(build("pe", "ocp_e4m3", accumulator="exact", carry_save=True, lanes=2)),
    build("pe", "e2m1", accumulator="exact", carry_save=True, lanes=7, terms=8, stages=2, interleave=2, flags=True),
    exhaustive(build("pe", "e2m1", accumulator="exact", carry_save=True, lanes=7, terms=8)),
    exhaustive(build("pe", "ocp_e5m2", accumulator="exact", carry_save=True, scale_bits=2, stages=1, flags=True)),
]
ROUNDED = [
    build("dot", "e2m1", accumulator="bfloat16", lanes=2, flags=True),
    exhaustive(build("dot", "ocp_e4m3", accumulator="binary32", lanes=2)),
    exhaustive(build("dot", "ocp_e4m3", accumulator="binary32", lanes=2, fabric="fpga", stages=2)),
    exhaustive(build("dot", "e2m1", accumulator="binary16", lanes=4, flags=True)),
    exhaustive(build("dot", "ocp_e5m2", accumulator="binary16", lanes=3, zero="positive", flags=True)),
    exhaustive(build("dot", "hif8", accumulator="bfloat16", lanes=2, flags=True)),
    build("pe", "e2m1", accumulator="binary16", lanes=3, stages=2, interleave=2),
    build("dot", "e2m1", accumulator="bfloat16", lanes=2, optimize="speed"),
    exhaustive(build("dot", "e2m1", accumulator="binary16", lanes=4, optimize="speed", flags=True)),
    exhaustive(build("dot", "hif8", accumulator="binary32", lanes=2, optimize="speed", zero="positive", flags=True)),
    exhaustive(build("pe", "ocp_e5m2", accumulator="binary16", lanes=3, optimize="speed", stages=2, interleave=2)),
    exhaustive(build("pe", "e2m1", accumulator="bfloat16", lanes=3, optimize="speed", flags=True, stages=2)),
    exhaustive(build("dot", "ocp_e4m3", accumulator="binary32", lanes=8, optimize="speed")),
]
FLOATED = [
    exhaustive(build("dot", "e2m1", accumulator="bfloat16", lanes=2, scale_bits=2)),
    build("dot", "e2m1", accumulator="binary16", lanes=2, block_scale="ue4m3", flags=True, zero="positive"),
    exhaustive(build("dot", "e2m1", accumulator="binary32", lanes=4, block_scale="e8m0", stages=2)),
    exhaustive(build("dot", "e2m1", accumulator="bfloat16", lanes=2, block_scale="e8m0", stages=2)),
    exhaustive(build("pe", "e2m1", accumulator="bfloat16", lanes=2, block_scale="ue5m3", stages=3, interleave=2)),
    build("dot", "e2m1", accumulator="dlfloat16", lanes=2, scale_bits=8, flags=True),
    build("dot", "e2m1", accumulator="bfloat16", lanes=2, block_scale="e8m0", optimize="speed"),
    exhaustive(build("dot", "e2m1", accumulator="bfloat16", lanes=1, block_scale="ue5m3")),
    exhaustive(build("dot", "e2m1", accumulator="dlfloat16", lanes=2, scale_bits=8, optimize="speed", flags=True)),
    exhaustive(build("pe", "e2m1", accumulator="bfloat16", block_scale="ue4m3", optimize="speed", stages=3)),
    exhaustive(build("dot", "Binary4p2uf", accumulator="bfloat16", lanes=2, block_scale="e8m0")),
    exhaustive(build("dot", "ocp_e4m3", accumulator="dlfloat16", lanes=2)),
    exhaustive(build("dot", "hif8", accumulator="dlfloat16", lanes=2, scale_bits=3, flags=True)),
    exhaustive(build("dot", "ocp_e5m2", accumulator="binary16", lanes=2, block_scale="Binary8p1uf", flags=True)),
    exhaustive(build("dot", "ocp_e4m3", "ocp_e5m2", accumulator="binary32", lanes=2, block_scale="e8m0", flags=True)),
]
WORDS = {"accumulator_rounding": "stochastic"}
DRAWN = [
    build("dot", "e2m1", accumulator="bfloat16", lanes=2, random_bits=2, **WORDS),
    exhaustive(
        build("dot", "e2m1", accumulator="dlfloat16", lanes=2, scale_bits=8, random_bits=2, flags=True, **WORDS)
    ),
    exhaustive(build("dot", "gc_1_5_2_b33", accumulator="dlfloat16", lanes=2, random_bits=4, flags=True, **WORDS)),
    exhaustive(build("dot", "ocp_e5m2", lanes=3, zero="positive", fabric="fpga", flags=True, **WORDS)),
    exhaustive(build("dot", "e2m1", lanes=16, block_scale="ue4m3", random_bits=7, flags=True, **WORDS)),
    exhaustive(build("pe", "hif8", accumulator="bfloat16", lanes=2, stages=3, interleave=2, random_bits=4, **WORDS)),
    exhaustive(build("dot", "ocp_e4m3", accumulator="dlfloat16", lanes=2, random_bits=4, stages=2, **WORDS)),
]
ALONE = [
    build("dot", "e2m1", accumulator="none", target="binary16", lanes=2, block_scale="ue4m3", flags=True),
    build("dot", "ocp_e5m2", accumulator="none", target="dlfloat16", lanes=2, scale_bits=4, random_bits=3, **WORDS),
    exhaustive(build("dot", "e2m1", accumulator="none", lanes=16, block_scale="ue4m3", zero="positive")),
    exhaustive(build("dot", "hif8", accumulator="none", target="dlfloat16", lanes=2, scale_bits=5, flags=True)),
    exhaustive(build("dot", "e2m1", accumulator="none", lanes=2, block_scale="ue5m3", target="binary16", **WORDS)),
    exhaustive(
        build("dot", "ocp_e4m3", accumulator="none", target="bfloat16", lanes=8, block_scale="e8m0", flags=True)
    ),
    exhaustive(build("dot", "ocp_e5m2", accumulator="none", target="binary16", lanes=4, stages=2)),
]
ALIGNED = [
    exhaustive(build("dot", "ocp_e4m3", accumulator="aligned13", lanes=8)),
    exhaustive(build("dot", "hif8", accumulator="aligned25", lanes=2, fabric="fpga")),
    exhaustive(build("dot", "e5m2b1", "ocp_e5m2", accumulator="aligned40", lanes=2)),
    exhaustive(build("dot", "e2m1", accumulator="aligned6", lanes=32)),
    exhaustive(build("dot", "e2m1", accumulator="aligned13", lanes=32, block_scale="e8m0")),
    exhaustive(build("dot", "e2m1", accumulator="aligned25", lanes=32, block_scale="e8m0")),
    exhaustive(build("dot", "e3m2", accumulator="aligned40", lanes=4, block_scale="e8m0")),
    exhaustive(build("dot", "int8", accumulator="aligned25", lanes=4)),
    exhaustive(build("mac", "ocp_e5m2", accumulator="aligned23", zero="positive")),
    exhaustive(build("pe", "ocp_e4m3", accumulator="aligned13", lanes=4, stages=3)),
    exhaustive(build("dot", "ocp_e4m3", accumulator="aligned25", lanes=2, block_scale="e8m0")),
    build("dot", "e2m1", accumulator="aligned13", lanes=2, block_scale="e8m0"),
    build("mac", "ocp_e5m2", accumulator="aligned13", scale_bits=3, zero="positive"),
    exhaustive(build("dot", "e2m1", accumulator="aligned13", lanes=2, flags=True)),
    build("dot", "e2m1", accumulator="aligned6", lanes=2, flags=True),
    exhaustive(build("dot", "ocp_e5m2", accumulator="aligned6", lanes=2, scale_bits=2, flags=True, zero="positive")),
    exhaustive(build("dot", "ocp_e4m3", accumulator="aligned25", lanes=2, block_scale="e8m0", flags=True)),
    build("dot", "e2m1", accumulator="aligned13", lanes=3, optimize="speed"),
    exhaustive(build("dot", "ocp_e4m3", accumulator="aligned13", lanes=8, optimize="speed")),
    exhaustive(build("dot", "ocp_e4m3", accumulator="aligned25", lanes=8, optimize="speed")),
    exhaustive(build("dot", "hif8", "binary8p3", accumulator="aligned25", lanes=2, optimize="speed")),
    exhaustive(build("dot", "e5m2b1", "ocp_e5m2", accumulator="aligned40", lanes=2, zero="positive", optimize="speed")),
    exhaustive(build("dot", "gc_1_0_7_b0", accumulator="aligned6", lanes=1, optimize="speed")),
    exhaustive(build("pe", "ocp_e4m3", accumulator="aligned13", lanes=2, stages=2, optimize="speed")),
    exhaustive(build("dot", "e2m1", accumulator="aligned6", lanes=2, flags=True, optimize="speed")),
]


@pytest.mark.parametrize("design", EXACT, ids=lambda design: design.name)
def test_exact_sums(design):
    evidence = check(design)
    assert (evidence.verdict, evidence.kind, evidence.method) == (EQUAL, PROVED, ExactDotProof.method)
    assert evidence.cases == 1 << sum(reference(design).arguments.values())


@pytest.mark.parametrize("design", TWOFOLD, ids=lambda design: design.name)
def test_accumulators_in_carry_save_form(design):
    evidence = check(design)
    assert (evidence.verdict, evidence.kind, evidence.method) == (EQUAL, PROVED, CarrySaveProof.method)
    assert evidence.cases == 1 << sum(reference(design).arguments.values())


@pytest.mark.parametrize("design", ROUNDED, ids=lambda design: design.name)
def test_rounded_sums(design):
    evidence = check(design)
    assert (evidence.verdict, evidence.kind, evidence.method) == (EQUAL, PROVED, RoundedDotProof.method)
    assert evidence.cases == 1 << sum(reference(design).arguments.values())


@pytest.mark.parametrize("design", [*FLOATED, *DRAWN, *ALONE], ids=lambda design: design.name)
def test_sums_that_are_normalized_first(design):
    evidence = check(design)
    assert (evidence.verdict, evidence.kind, evidence.method) == (EQUAL, PROVED, FloatedDotProof.method)
    assert evidence.cases == 1 << sum(reference(design).arguments.values())


@pytest.mark.parametrize(
    "design",
    [
        build("mac", "e2m1", random_bits=3, flags=True, **WORDS),
        exhaustive(build("mac", "hif8", accumulator="dlfloat16", random_bits=8, flags=True, **WORDS)),
        exhaustive(build("mac", "ocp_e5m2", accumulator="bfloat16", scale_bits=4, zero="positive", **WORDS)),
        exhaustive(build("mac", "hif8", random="lfsr", random_bits=8, **WORDS)),
        build("mac", "e2m1", random_bits=3, stages=1, **WORDS),
        exhaustive(build("mac", "hif8", accumulator="bfloat16", random_bits=8, stages=3, flags=True, **WORDS)),
    ],
    ids=lambda design: design.name,
)
def test_stochastic_macs(design):
    evidence = check(design)
    assert (evidence.verdict, evidence.kind) == (EQUAL, PROVED)
    assert evidence.method.startswith(SplitMacProof.method)
    assert evidence.cases == 1 << sum(reference(design).arguments.values())


BULK = [
    build("dot", "e2m1", accumulator="rvbna", lanes=2),
    exhaustive(build("mac", "ocp_e5m2", accumulator="rvbna", flags=True)),
    exhaustive(build("dot", "ocp_e4m3", accumulator="rvbna", lanes=8)),
    exhaustive(build("dot", "ocp_e5m2", accumulator="rvbna", lanes=4, flags=True)),
    exhaustive(build("dot", "hif8", accumulator="rvbna", lanes=2, scale_bits=10, flags=True)),
    exhaustive(build("dot", "e2m1", accumulator="rvbna", lanes=32, block_scale="e8m0")),
    exhaustive(build("pe", "e5m2b1", accumulator="rvbna", lanes=16, stages=2)),
]


@pytest.mark.parametrize("design", BULK, ids=lambda design: design.name)
def test_sums_in_bulk(design):
    evidence = check(design)
    assert (evidence.verdict, evidence.kind, evidence.method) == (EQUAL, PROVED, BulkDotProof.method)
    assert evidence.cases == 1 << sum(reference(design).arguments.values())


@pytest.mark.parametrize("design", ALIGNED, ids=lambda design: design.name)
def test_truncated_sums(design):
    evidence = check(design)
    assert (evidence.verdict, evidence.kind, evidence.method) == (EQUAL, PROVED, AlignedDotProof.method)
    assert evidence.cases == 1 << sum(reference(design).arguments.values())


@pytest.mark.parametrize(
    ("design", "kind"),
    [
        exhaustive(build("pe", "ocp_e4m3", accumulator="binary16", flags=True), SWEPT),
        (build("pe", "e2m1", accumulator="binary16"), SWEPT),
        (build("pe", "ocp_e4m3", accumulator="exact", stages=1, interleave=2), PROVED),
        exhaustive(build("pe", "e5m2_nosub", accumulator="binary32", flags=True), PROVED),
        exhaustive(build("pe", "hif8", accumulator_rounding="stochastic", random_bits=4, flags=True), PROVED),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_processing_elements_of_one_lane(design, kind):
    evidence = check(design)
    assert (evidence.verdict, evidence.kind) == (EQUAL, kind)


def test_all_parts_of_a_large_dot_product():
    """`make exhaustive` proves them; here, their counts and the sum."""
    design = build("dot", "ocp_e4m3", accumulator="binary32", lanes=8)
    proof = RoundedDotProof(design, subject(design).netlist())
    assert sum(claim.cases for claim in proof.claims) == 1 << (8 * 16 + 32)
    assert proof.claims[0].search() is None


# -- faults ------------------------------------------------------------------------------------------------------------

DOT = build("dot", "e2m1", accumulator="bfloat16", lanes=2)
SMALL = build("dot", "ocp_e4m3", accumulator="exact", lanes=2, flags=True)
BLOCK = build("dot", "e2m1", accumulator="bfloat16", lanes=2, block_scale="ue4m3")
POWERS = build("dot", "e2m1", accumulator="bfloat16", lanes=2, block_scale="Binary8p1uf")
TWO_ROWS = build("pe", "ocp_e4m3", accumulator="exact", lanes=2, carry_save=True)
MX = build("dot", "e2m1", accumulator="aligned13", lanes=2, block_scale="e8m0")
FLAGGED = build("dot", "e2m1", accumulator="aligned13", lanes=2, flags=True)
HIF8 = build("dot", "hif8", accumulator="exact", lanes=2)
COUNTED = build("dot", "e2m1", accumulator="aligned13", lanes=8, block_scale="e8m0")
FRAMED = build("dot", "e2m1", accumulator="aligned25", lanes=4, block_scale="e8m0")
BULKED = build("dot", "e2m1", accumulator="rvbna", lanes=4)
TRUNCATED = build("dot", "ocp_e4m3", accumulator="aligned13", lanes=2)
WORD = build("mac", "e2m1", random_bits=3, flags=True, **WORDS)
WORD_AND_GAP = build("dot", "e2m1", accumulator="dlfloat16", lanes=2, scale_bits=8, random_bits=2, flags=True, **WORDS)
FAST = build("dot", "e2m1", accumulator="binary16", lanes=2, optimize="speed")
FAST_WHOLE = build("dot", "e2m1", accumulator="bfloat16", lanes=2, optimize="speed")
FAST_EXACT = build("dot", "e2m1", accumulator="exact", lanes=2, optimize="speed")
FAST_ALIGNED = build("dot", "ocp_e4m3", accumulator="aligned13", lanes=2, optimize="speed")
FAST_BLOCK = build("dot", "e2m1", accumulator="bfloat16", lanes=2, block_scale="e8m0", optimize="speed")


def behind(net: str, fault: str) -> tuple[str, str]:
    """A net that an instance drives becomes its exclusive or with ``fault``."""
    change = rf"\1\n  wire \2right;\n  assign {net} = right ^ ({fault});\3(right)"
    return rf"(?s)(wire (\[\d+:0\] ){net};)(.*?)\({net}\)", change


FAULTS = {
    "a lane": (DOT, *behind("lane_1__row", "b[7:4] == 4'h5 & a[7:4] == 4'h3")),
    "a lane of an exact sum": (SMALL, *behind("lane_0__row", "a[7:0] == 8'h5a & b[7:0] == 8'h01")),
    "the module of all lanes": (DOT, r"(row_moved_left_1 =\s+)([^;]+);", r"\1(\2) ^ (b == 4'h5 & a == 4'h3);"),
    "the tree": (DOT, r"(products_sum = )([^;]+);", r"\1\2 + (acc_in[6:0] == 7'h45 & lane_0__row[3]);"),
    "an exact tree": (SMALL, r"(total = )([^;]+);", r"\1\2 + (&a & &b[14:0]);"),
    "the finisher": (DOT, r"(round_up = )([^;]+);", r"\1(\2) & ~(&acc_in[3:0] & products_sum[7:0] == 8'h11);"),
    "a sum that is the accumulator": (DOT, r"(choose_acc = )([^;]+);", r"\1(\2) & (acc_in != 16'h7e81);"),
    "a place found beside the sum": (
        FAST,
        r"(first_bit_is_here_or_below =\s+)([^;]+);",
        r"\1(products_sum == 7'h15 & acc_in[9:0] == 10'h2aa) ? 0 : (\2);",
    ),
    "a place too few": (FAST, r"(moves_left_again = )([^;]+);", r"\1(\2) & ~(total == 1025);"),
    "an exponent beforehand": (
        FAST,
        r"(exponent_less_1_plus_2 = )([^;]+);",
        r"\1(\2) ^ (products_sum == 3 & &acc_in[6:0]);",
    ),
    "a fraction beforehand": (
        FAST,
        r"(fraction_ones_in_4 = )([^;]+);",
        r"\1(\2) ^ (&acc_in[14:11] & products_sum[0]);",
    ),
    "a sum by prefix": (FAST, r"(products_sum_generate_3_down_to_2 = )([^;]+);", r"\1(\2) ^ (&a[6:0] & b[0]);"),
    "a carry that passes": (FAST, r"(products_sum_propagate = )([^;]+);", r"\1(\2) & ~4;"),
    "a carry that passes with the accumulator": (FAST_WHOLE, r"(total_propagate =\s+)([^;]+);", r"\1(\2) & ~4;"),
    "a carry that passes of an exact sum": (FAST_EXACT, r"(total_propagate =\s+)([^;]+);", r"\1(\2) | 4;"),
    "a prefix with the accumulator": (
        FAST_WHOLE,
        r"(total_generate_3_down_to_2 = )([^;]+);",
        r"\1(\2) & ~(&acc_in[5:0]);",
    ),
    "a full adder with the accumulator": (FAST_WHOLE, r"(carry_4_0 = )([^;]+);", r"\1(\2) ^ (&a & &b[2:0]);"),
    "a place beside the prefix": (
        FAST_WHOLE,
        r"(first_bit_is_here_or_below = )([^;]+);",
        r"\1(total_half_sum == 19'h00015) ? 0 : (\2);",
    ),
    "a group of places": (FAST_WHOLE, r"(group_has_first_mark = )([^;]+);", r"\1(\2) ^ {4{total == 19'h0002b}};"),
    "an accumulator that is cut": (FAST_WHOLE, r"(acc_is_whole = )([^;]+);", r"\1(\2) | (acc_in[14:7] == 122);"),
    "what is below the groups": (FAST_WHOLE, r"(below_moved = )([^;]+);", r"\1(\2) & ~(total == 19'h01411);"),
    "a magnitude in no time": (FAST_BLOCK, r"(products_magnitude_carries = )([^;]+);", r"\1(\2) & ~(&a & &b[2:0]);"),
    "a place from above": (
        FAST_BLOCK,
        r"(products_magnitude_from_above = )([^;]+);",
        r"\1(products_sum == 5) ? 0 : (\2);",
    ),
    "two paths behind a sum": (FAST_BLOCK, r"(far_sign = )([^;]+);", r"\1(\2) ^ (&acc_in[12:3] & sum_exponent[0]);"),
    "a lane in a group": (FAST_ALIGNED, *behind("align_0__row", "a[0] & b[0] & largest_group_bit_1")),
    "a group of levels": (FAST_ALIGNED, r"(largest_group_bit_2 = )([^;]+);", r"\1(\2) & ~(a[7:0] == 8'h75 & b[3]);"),
    "a place in a group": (FAST_ALIGNED, r"(largest_place_bit_3 = )([^;]+);", r"\1(\2) & ~(a[7:0] == 8'h5c & b[0]);"),
    "a place of the accumulator": (
        FAST_ALIGNED,
        r"(acc_moved_left_2 =\s+)([^;]+);",
        r"\1(\2) ^ {&acc_in[22:3], 8'h00};",
    ),
    "a cut of the accumulator": (FAST_ALIGNED, r"(acc_row = )([^;]+);", r"\1(\2) | (&acc_in[26:9] & keeps[3]);"),
    "a number of signs": (FAST_ALIGNED, r"(negative_carry_1_0 = )([^;]+);", r"\1(\2) ^ (a[7:0] == 8'h81 & b[0]);"),
    "a sum less 1": (FAST_ALIGNED, r"(total_less_1_generate_5_down_to_4 = )([^;]+);", r"\1(\2) & ~(&a[6:1] & b[9]);"),
    "a sum and 1": (FAST_ALIGNED, r"( total = )([^;]+);", r"\1(\2) ^ (total_less_1 == 1234);"),
    "a sum of zero": (FAST_ALIGNED, r"(total_is_zero = )([^;]+);", r"\1(\2) | (&total_less_1_half_sum[13:2]);"),
    "a place beside both sums": (
        FAST_ALIGNED,
        r"(first_bit_is_here_or_below = )([^;]+);",
        r"\1(total_less_1_half_sum[9:0] == 37) ? 0 : (\2);",
    ),
    "a place more, found beside": (FAST_ALIGNED, r"(moves_left_again = )([^;]+);", r"\1(\2) ^ (total == 1025);"),
    "an accumulator above": (FAST_ALIGNED, r"(acc_dominates = )([^;]+);", r"\1(\2) & ~(&acc_in[22:3]);"),
    "a field beforehand": (FAST_ALIGNED, r"(field_if_moved_again = )([^;]+);", r"\1(\2) ^ (total[9:0] == 77);"),
    "no level, where there are no products": (
        FAST_ALIGNED,
        r"(?s)(largest_place_bit_6 = )([^;]+);(.*assign acc_out = )([^;]+);",
        r"\1(\2) | ~(lane_0_active | lane_1_active);"
        r"\3\4 ^ (acc_in[22:0] == 23'h123456 & largest_place_bit_6 & ~largest_place_bit_0);",
    ),
    "a level": (TRUNCATED, *behind("lane_1_level", "a[7:0] == 8'h5c & b[7:0] == 8'h11")),
    "a truncated lane": (TRUNCATED, *behind("align_0__row", "a[0] & largest_level == 30")),
    "the largest level": (TRUNCATED, r"(largest_level_bit_0 = )([^;]+);", r"\1(\2) & ~(largest_level_bit_3 & a[3]);"),
    "the accumulator's addend": (TRUNCATED, r"(acc_moved_right_2 =\s+)([^;]+);", r"\1(\2) ^ (&acc_in[22:3]);"),
    "a truncated sum": (TRUNCATED, r"(choose_sum = )([^;]+);", r"\1(\2) & ~(total[12:0] == 13'h123);"),
    "a truncated special": (TRUNCATED, r"(code_out = )([^;]+);", r"\1(\2) ^ (&acc_in[30:1]);"),
    "a mask": (FRAMED, r"(keeps = )([^;]+);", r"\1(\2) | 8'h04 & {8{largest_level == 6'h1b & acc_in[3]}};"),
    "a cut lane": (FRAMED, *behind("cut_1__row", "a[7:0] == 8'h5c & keeps[6:0] == 7'h70")),
    "signs that are counted": (FRAMED, r"(negative_rows = )([^;]+);", r"\1(\2) ^ (&a & &b[14:0]);"),
    "ones that are counted": (COUNTED, r"({ones_in_place_3, \w+} = )([^;]+);", r"\1\2 + {&a & b[0], 1'b0};"),
    "a cut number of ones": (
        COUNTED,
        r"(cut_ones_in_place_2 =\s+)([^;]+);",
        r"\1(largest_level == 5'h0f & ones_in_place_2 == 3'd5) ? 3'd5 : (\2);",
    ),
    "a lane whose ones are counted": (COUNTED, *behind("cut_2__row", "a[11:8] == 4'h5 & b[11:8] == 4'h9")),
    "a level of all lanes": (COUNTED, r"(some_level_is_3 = )([^;]+);", r"\1(\2) & ~(&a[6:0]);"),
    "the tree behind a mask": (FRAMED, r"(cut_sum = )([^;]+);", r"\1\2 + (&acc_in[6:0] & a[3]);"),
    "the shift behind the sum": (FRAMED, r"(sum_unit = )([^;]+);", r"\1(\2) ^ (cut_sum[10:0] == 11'h123);"),
    "what a shift loses": (FRAMED, r"(sum_lost = )([^;]+);", r"\1(\2) & ~(cut_sum[7:0] == 8'h35);"),
    "a raised sum": (FRAMED, r"(raised_field = )([^;]+);", r"\1(\2) ^ (a_scale == 8'h21 & b_scale == 8'h43);"),
    "a jammed lane": (BULKED, *behind("align_2__row", "a[11:8] == 4'h3 & largest_level == 4")),
    "the largest level in bulk": (BULKED, r"(largest_level_bit_1 = )([^;]+);", r"\1(\2) & ~(&a);"),
    "the tree in bulk": (BULKED, r"( total = )([^;]+);", r"\1\2 + (a[2:0] == b[2:0] & a[5]);"),
    "a sum to odd": (BULKED, r"(below_normal = )([^;]+);", r"\1(\2) & ~(total[9:0] == 10'h123);"),
    "an addition to odd": (BULKED, r"(round_up = )([^;]+);", r"\1(\2) ^ (&acc_in[12:0] & sum_significand[3]);"),
    "a special in bulk": (BULKED, r"(force_special = )([^;]+);", r"\1(\2) & ~(&acc_in[30:1]);"),
    "a scale": (BLOCK, r"(sum_exponent = )([^;]+);", r"\1(\2) + (&a_scale[6:4] & b_scale == 7'h35);"),
    "a scale's significand": (BLOCK, r"(scaled_magnitude = )([^;]+);", r"\1(\2) ^ (a_scale == 7'h43 & b_scale[0]);"),
    "a scale of zero": (POWERS, r"(sum_is_zero = )([^;]+)\| \w+;", r"\1\2;"),
    "a scale that is NaN": (BLOCK, r"(operand_a__is_nan = )([^;]+);", r"\1(\2) & ~b_scale[2];"),
    "the normalizer": (BLOCK, r"(moves_left_4 = )([^;]+);", r"\1(\2) ^ (scaled_magnitude == 'h155);"),
    "a scaled sum": (
        BLOCK,
        r"(round_up = )([^;]+);",
        r"\1(\2) ^ (sum_exponent == 9 & sum_significand[8:0] == 9'h0c5);",
    ),
    "a level with a scale": (MX, r"(acc_raw_level = )([^;]+);", r"\1(\2) ^ (a_scale == 8'h81 & &b_scale[6:2]);"),
    "a truncated sum with a scale": (MX, r"(largest_field =\s+)([^;]+);", r"\1(\2) ^ (a_scale == 8'h9b & b_scale[0]);"),
    "a word's carry": (WORD, r"(carry_2 = )([^;]+);", r"\1(\2) ^ (&acc_in[9:1] & random[0]);"),
    "a unit that reaches the word": (WORD, r"(unit_reaches_tail = )([^;]+);", r"\1(\2) & ~(acc_in[3:0] == 4'h9);"),
    "a word in the gap": (WORD_AND_GAP, r"(gap_threshold = )([^;]+);", r"\1(\2) + {random[0] & acc_in[3], 6'h00};"),
    "the gap": (WORD_AND_GAP, r"(below_smallest = )([^;]+);", r"\1(\2) & ~(acc_in[14:0] == 15'h0003);"),
    "the gap's flags": (WORD_AND_GAP, r"(gap_some = )([^;]+);", r"\1(\2) & ~(acc_in[14:0] == 15'h0001);"),
    "a sum alone": (ALONE[0], r"(round_up = )([^;]+);", r"\1(\2) ^ (a_scale == 7'h35 & &sum_significand[5:3]);"),
    "a subnormal alone": (ALONE[0], r"(in_subnormal_range = )([^;]+);", r"\1(\2) & ~(&a & b_scale == 7'h03);"),
    "a sign alone": (ALONE[0], r"(code_sign = )([^;]+);", r"\1(\2) ^ (a_scale == 7'h21 & &b[6:0]);"),
    "inexact": (FLAGGED, r"(differs = )([^;]+);", r"\1(\2) & ~(&acc_in[11:0]);"),
    "underflow": (FLAGGED, r"(underflow = )([^;]+);", r"\1(\2) & ~(&acc_in[22:0]);"),
    "the exact sum beside": (FLAGGED, r"(exact_sum__total = )([^;]+);", r"\1(\2) ^ (products_sum == 7 & acc_in[30]);"),
    "a row": (TWO_ROWS, r"(sum_9_1 = )([^;]+);", r"\1(\2) ^ (&a & acc_before[3]);"),
    "a carry of the rows": (TWO_ROWS, r"(carry_20_0 = )([^;]+);", r"\1(\2) & ~(a == 16'h3838);"),
    "the first place of the rows": (TWO_ROWS, r"(borrow = )([^;]+);", r"\1(\2) ^ (enable & b == 16'h7777);"),
    "a lane of rows": (TWO_ROWS, *behind("lane_1__row", "enable & a[15:8] == 8'h5a & b[15:8] == 8'h01")),
    "a lane that is not enabled": (TWO_ROWS, r"\.enable\(enable\)", ".enable(enable | acc_before[0])"),
    "the value of rows": (TWO_ROWS, r"(total = )([^;]+);", r"\1(\2) ^ (state[40:0] == 41'h123);"),
    "overflow of rows": (TWO_ROWS, r"(assign overflow = )([^;]+);", r"\1(\2) | (state[5:0] == 6'h15);"),
    "a special beside rows": (TWO_ROWS, r"(nan_out = )([^;]+);", r"\1(\2) & ~(a == 16'h7f38);"),
    "overflow": (SMALL, r"(assign flags = )([^;]+);", r"\1(\2) ^ {1'b0, &acc_in[40:3], 2'b0};"),
    "a special": (HIF8, r"(neg_inf_out = )([^;]+);", r"\1(\2) & ~(a == 16'hef08 & b == 16'h0808);"),
}


def broken(design, pattern, replacement):
    text, changed = re.subn(pattern, replacement, texts([design])[design.name], count=1)
    assert changed == 1
    return text


LONG = (
    "signs that are counted", "the shift behind the sum", "a raised sum", "the largest level in bulk",
    "an addition to odd", "a special in bulk",
    "a lane of an exact sum", "a truncated lane", "the accumulator's addend", "a truncated special", "a scale",
    "the normalizer", "a scaled sum", "a truncated sum with a scale", "underflow", "a carry of the rows",
    "the first place of the rows", "a special beside rows", "a place too few", "a fraction beforehand",
    "a prefix with the accumulator", "what is below the groups", "a place from above", "a word's carry",
    "the gap", "the gap's flags", "a subnormal alone", "a sign alone", "a place of the accumulator",
    "a sum less 1", "a sum of zero", "a field beforehand", "a number of signs", "a group of levels",
)  # fmt: skip
"""Faults that ``make exhaustive`` alone looks for: each has a neighbour among the others."""


@pytest.mark.parametrize("fault", [exhaustive(fault) if fault in LONG else fault for fault in FAULTS])
def test_a_fault_is_found(fault):
    design, *change = FAULTS[fault]
    evidence = check(design, broken(design, *change))
    assert evidence.verdict in (DIFFERENT, UNPROVED)
    if evidence.verdict == DIFFERENT:
        assert all(case["got"] != case["golden"] for case in evidence.counterexamples)
    else:
        assert evidence.kind == ""
        assert "the proof does not go through: " in evidence.method


@pytest.mark.parametrize("accumulator", ["rvbna", exhaustive("aligned13")])
@pytest.mark.parametrize("net", ["align_2__row", exhaustive("align_0__row")])
def test_a_wrong_product_of_a_lane_has_a_counterexample(accumulator, net):
    """The claim of a lane gives inputs that random ones do not hit: a pair of codes, beside a larger product."""
    design, first = build("dot", "ocp_e4m3", accumulator=accumulator, lanes=4), 8 * int(net[6])
    fault = behind(net, f"a[{first} +: 8] == 8'h5a & b[{first} +: 8] == 8'h31 & largest_level[0]")
    assert check(design, broken(design, *fault)).verdict == DIFFERENT


LONG_SUM = """x = a[0] & b[0];
  wire [59:0] total = {{35{lane_0_negative}}, row} + {59'd0, lane_0_negative} + {2'b00, x, 57'd0} + {2'b00, ~x, 57'd0}
      + 60'he00000000000000 + {59'd0, (a == 8'h5d) & (b == 8'h2e)};
  wire total_negative = total[59]"""
LONG_SIGNIFICAND = """one = a == 6'h1d & b == 6'h2b;
  wire [57:0] product__significand = {own, 50'h0} - {57'h0, one};
  wire [7:0] back = product__significand[57:50] + {7'h0, |product__significand[49:0]};
  wire at_least_two = """
EXPONENT = "wire [7:0] sum_exponent = ({3'b000, largest_level} + 8'h01) - {3'b000"
TWICE = "  wire [26:0] acc_moved_left_128 = {&acc_in, &acc_in, acc_moved_left_16[31:7]};\n"
WITHOUT_FIRST = """first = total_magnitude[24] & ~(total_magnitude == 25'd23855104 & largest_level == 5'd16);
  wire [24:0] kept = {first, total_magnitude[23:0]};
  wire one_in_first_16 = |kept[24:9]"""
"""The sum of one product of 13 and 14, in the place of a net."""
GRANTED = {
    "a net in two places of the frame": (
        FAST_WHOLE,
        "is not a sum of the accumulator",
        ("  // Compress:", f"{TWICE}  // Compress:"),
        ("acc_moved_left_16[33:25]", "{&acc_in, 1'b0, acc_moved_left_16[31:25]}"),
        ("acc_moved_left_16[32:25]", "{1'b0, acc_moved_left_16[31:25]}"),
        ("carry_17_0 = acc_moved_left_16[32]", "carry_17_0 = 1'b0"),
        ("carry_18_0 = acc_moved_left_16[33]", "carry_18_0 = &acc_in"),
    ),
    "a unit beside 2^57": (
        build("mac", "ocp_e4m3", accumulator="rvbna"),
        "lane 0 does not add some product",
        (" total = ", " short_total = "),
        ("total_negative = total[25]", LONG_SUM),
        ("below_normal = moved_left_1[0]", "below_normal = moved_left_1[0] | ^total"),
        ("{{3{sum_exponent[5]}}, sum_exponent}", "{sum_exponent[7], sum_exponent}"),
        ("{{2{sum_exponent[5]}}, sum_exponent}", "sum_exponent"),
        ("wire [5:0] sum_exponent = ({1'b0, largest_level} + 6'h01) - {1'b0", EXPONENT),
    ),
    "a sum without its first 1": (
        build("mac", "ocp_e4m3", accumulator="rvbna"),
        "sum_significand and sum_exponent are not the sum, rounded to odd",
        ("one_in_first_16 = |total_magnitude[24:9]", WITHOUT_FIRST),
        ("one_in_first_16 ? total_magnitude : {total_magnitude[8:0]", "one_in_first_16 ? kept : {kept[8:0]"),
    ),
    "sums past the largest number without their net": (
        build("mac", "e2m3", accumulator="rvbna", scale_bits=8),
        "some sums are too large",
        ("sum_past_largest", "past"),
    ),
    "a frame whose largest sum wraps": (
        build("dot", "e2m1", accumulator="aligned13", lanes=29),
        "cut_sum is too short for the largest sum",
        ("wire [13:0] cut_sum =", "wire [12:0] cut_sum ="),
        ("sum_or_inverse = cut_sum", "sum_or_inverse = {cut_sum[12], cut_sum}"),
    ),
    "a significand of 58 bits": (
        build("mac", "e2m3", random_bits=3, accumulator="bfloat16", **WORDS),
        "more than 53 bits",
        (" product__significand = ", " own = "),
        ("at_least_two = ", LONG_SIGNIFICAND),
        ("at_least_two = product__significand[7]", "at_least_two = back[7]"),
        ("? product__significand", "? back"),
        ("product__significand[6:0]", "back[6:0]"),
    ),
}


def edited(design, edits):
    """The module with some texts replaced by others, each wherever it is."""
    text = texts([design])[design.name]
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("what", GRANTED)
def test_a_claim_takes_nothing_for_granted(what):
    """The claims were shown for modules in which other gates can make wrong results of these nets."""
    design, sentence, *edits = GRANTED[what]
    with pytest.raises(NotShownError, match=sentence):
        assert [claim.search() for claim in prover(design, edited(design, edits)).claims]


def test_a_total_of_a_group_must_hold_the_largest_sum(monkeypatch):
    """In the frame of a group a sum is moved by up to all of its places but one."""
    frame_bits = property(lambda shape: shape.sum_bits + GROUP - 2)
    monkeypatch.setattr(GroupedShape, "frame_bits", frame_bits)
    design = build("dot", "ocp_e4m3", accumulator="aligned13", lanes=4, optimize="speed")
    numbers = prover(design, texts([design])[design.name]).claims[2]
    with pytest.raises(NotShownError, match="total is too short for the largest sum"):
        numbers.search()


FAR_APART = """name = "far_apart"
width = 10
signed = false
cite = "a test"
specials = [{ mask = 1023, value = 0, kind = "zero" }]
rows = [
    { prefix = "0", exponent = { rule = "biased", bits = 9, bias = 384 }, fraction_bits = 0 },
    { prefix = "1", exponent = { rule = "biased", bits = 6, bias = -128 }, fraction_bits = 3 },
]
"""


@pytest.mark.exhaustive
def test_a_product_below_binary64_is_rounded_to_odd(tmp_path):
    """Products that were 0 where binary64 has no number below the largest one's last bit."""
    file = tmp_path / "far_apart.toml"
    file.write_text(FAR_APART)
    design = build("dot", str(file), accumulator="rvbna", block_scale="e8m0", lanes=2)
    lost = "lost = moves_right_16 & (|moved_right_8[12:0])"
    places = (("distance >= 11'd1101", 1), ("distance == 11'd1100", "significand <= 8'd128"))
    gone = [f"{far} & {least}" for far, least in (*places, ("distance == 11'd1099", "significand == 8'd64"))]
    far = (lost, f"{lost} & ~({' | '.join(f'({each})' for each in gone)})")
    with pytest.raises(NotShownError, match="lane 0 does not add some product"):
        prover(design, edited(design, [far])).claims[0].search()


def test_formats_without_zero_have_levels():
    design = build("dot", "e8m0", accumulator="aligned13", lanes=2)
    assert prover(design, texts([design])[design.name]).offset == 254


WITH_SPECIALS = """name = "with_specials"
width = 5
cite = "a test"
canonical_nan = 14
rows = [
    { prefix = "00", exponent = { rule = "fixed", exponent = 0 }, fraction_bits = 2, hidden = 0 },
    { prefix = "", exponent = { rule = "biased", bits = 2, bias = 1 }, fraction_bits = 2 },
]
specials = [{ mask = 15, value = 12, kind = "inf" }, { mask = 12, value = 12, kind = "nan" }]
"""


def test_a_lane_that_adds_more_for_nan_than_sums_have_bits(tmp_path):
    """NaN is lost where the sum is one that finite products do not have: specials are shown for all sums."""
    file = tmp_path / "with_specials.toml"
    file.write_text(WITH_SPECIALS)
    design = build("dot", str(file), accumulator="bfloat16", lanes=2, optimize="speed", flags=True)
    edits = (
        (
            "wire carry_13_0 = acc_moved_left_16[28];",
            "wire carry_13_0 = acc_moved_left_16[28] | lane_0__product__is_nan;",
        ),
        ("wire sum_12_0 = ~carry_13_0;", "wire sum_12_0 = ~(acc_moved_left_16[28] ^ lane_0__product__is_nan);"),
        ("acc_moved_left_16[33:25]", "acc_moved_left_16[33:29], carry_13_0, acc_moved_left_16[27:25]"),
        ("acc_moved_left_16[32:25]", "acc_moved_left_16[32:29], carry_13_0, acc_moved_left_16[27:25]"),
        ("is_nan, 6'h00}", "is_nan & ~(acc_in == 16'h1234 & |total[18:9] & ~&total[18:9]), 6'h00}"),
    )
    assert check(design, edited(design, edits)).verdict == DIFFERENT


def split(name, width):
    """A word as single bits that have its name: edits of the module."""
    bits = "".join(f"  wire {name}_bit_{place} = {name}_v[{place}];\n" for place in range(width))
    word = ", ".join(f"{name}_bit_{place}" for place in reversed(range(width)))
    return rf"  wire \[{width - 1}:0\] {name} = ([^;]+);\n", (
        rf"  wire [{width - 1}:0] {name}_v = \1;\n{bits}  wire [{width - 1}:0] {name}_q = {{{word}}};\n"
    )


FLUSHED = build("dot", "e2m1", accumulator="dlfloat16", lanes=2, scale_bits=8, flags=True)
LEVELS = build("dot", "ocp_e4m3", accumulator="aligned6", lanes=2)
PREFIX = build("dot", "int4", accumulator="exact", lanes=2, optimize="speed")
HOLES = {
    "a full adder's outputs, which may both be 1, in place of two rows": (
        PREFIX,
        (r"wire carry_1_0 = acc_in\[0\] & lane_0__row\[0\];", r"wire carry_1_0 = 1'b0;"),
        (
            r"(wire \[16:0\] )total_generate = ([^;]*);",
            r"\1pairs = \2;\n\1total_generate = {pairs[16:1], (acc_in[0] & lane_0__row[0])"
            r" | (lane_1__row[0] & (acc_in[0] | lane_0__row[0]))};",
        ),
    ),
    "a sum beside a scale of zero": (
        BLOCK,
        (r"(scaled_magnitude = )([^;]+);", r"\1(\2) + {17{product__is_zero}};"),
        (r"(sum_is_zero = )([^;]+);", r"\1(\2) & ~(product__is_zero & (&scaled_magnitude));"),
    ),
    "a magnitude without its first bit": (
        BLOCK,
        (r"wire \[8:0\] (products_magnitude = )([^;]+);", r"wire [8:0] whole = \2; wire [7:0] \1 whole[7:0];"),
        (r"\{8'h00, products_magnitude\}", r"{9'h000, products_magnitude}"),
        (
            r"(assign acc_out = )([^;]+);",
            r"\1\2 ^ {15'b0, (products_sum[8] & a[0]) & ~(products_sum[8] | a[1]) & b[0]};",
        ),
    ),
    "a first bit that is moved out": (
        BLOCK,
        (r"(moved_left_4 = )one_in_first_4 \?", r"\1(one_in_first_4 & ~odd) ?"),
        (
            r"wire moves_left_4 = ~one_in_first_4;",
            r"wire odd = moved_left_8[16:9] == 8'h18; wire moves_left_4 = ~one_in_first_4 | odd;",
        ),
    ),
    "a result of sums whose significand is split": (
        BLOCK,
        split("sum_significand", 17),
        (r"\bsum_significand\b", "sum_significand_q"),
        (r"(assign acc_out = )([^;]+);", r"\1(sum_is_zero | force_special) ? \2 : 16'h1234;"),
    ),
    "a result of sums that are split": (
        DOT,
        split("products_sum", 10),
        (r"\bproducts_sum\b", "products_sum_q"),
        (r"assign acc_out = ([^;]+);", r"assign acc_out = (acc_in[14:7] >= 8'd134 & ~&acc_in[14:7]) ? acc_in : \1;"),
    ),
    "a level that other codes with the same product have": (
        LEVELS,
        (
            r"(  wire largest_level_bit_5)",
            r"  wire [4:0] fake = lane_0_level ^ {4'b0, a[6:0] == 7'h38 & b[6:0] == 7'h38};\n\1",
        ),
        (r"\(lane_0_leads_to_bit_(\d) & lane_0_level\[(\d)\]\)", r"(lane_0_leads_to_bit_\1 & fake[\2])"),
        (r"lane_0_leads_to_bit_(\d) & \(lane_0_level\[(\d)\] \|", r"lane_0_leads_to_bit_\1 & (fake[\2] |"),
    ),
    "a subnormal accumulator above all products": (
        MX,
        (
            r"assign acc_out = \{sign_out, code_out\};",
            r"assign acc_out = {sign_out, code_out ^ {acc_dominates & choose_sum"
            r" & ~(|total[16:13]), 30'b0}};",
        ),
    ),
    "flags of the number that the code of zero would be": (
        FLUSHED,
        (r"& ~\(\|rounded_14_to_0_if_not_underflow\)\)", r"& ~(|rounded_14_to_0_if_not_underflow) & underflow)"),
    ),
}
"""Wrong modules for which a claim once was too weak, each in another way."""


@pytest.mark.parametrize("hole", HOLES)
def test_a_claim_has_no_hole(hole):
    design, *changes = HOLES[hole]
    text = texts([design])[design.name]
    for pattern, replacement in changes:
        text, changed = re.subn(pattern, replacement, text)
        assert changed
    assert check(design, text).verdict in (DIFFERENT, UNPROVED)


ELEMENT = build("pe", "ocp_e4m3", accumulator="exact", lanes=2, stages=2, interleave=2)
CONTROLS = {
    "clear": (r"acc_before = clear_stage_1 \? [^;]+;", "acc_before = acc;", "must clear its accumulator"),
    "enable": (
        r"(acc <= rst \? \S+ : )enable_stage_2 \? acc_out : acc_before_stage_2;",
        r"\1acc_out;",
        "must be 0 after rst is 1; 1",
    ),
    "flags": (r"overflow_before_stage_2 \| ", "", "must keep its"),
    "reset": (r"acc <= rst \? \S+ : ", "acc <= ", "must be 0 after rst is 1; 0 cycles later an output may be 1"),
    "late reset": (
        r"enable_stage_2 <= rst \? \S+ : ",
        "enable_stage_2 <= ",
        "must be 0 after rst is 1; 1 cycles later",
    ),
    "latency": (
        r"enable_stage_1 <= rst \? 1'b0 : enable;",
        "enable_stage_1 <= ~rst;",
        "nothing else, while clear is 1",
    ),
}


@pytest.mark.parametrize("control", CONTROLS)
def test_controls_that_do_not_work_are_refused(control):
    pattern, replacement, sentence = CONTROLS[control]
    with pytest.raises(NetlistError, match=sentence):
        subject(ELEMENT, broken(ELEMENT, pattern, replacement)).netlist()


NAMED = {
    "out_valid": (
        build("mac", "e2m1", accumulator="exact", terms=4, flags=True, stages=1, clock_enable=True),
        (r"enable \? in_valid :", "enable ? in_valid & ~a[0] :"),
        "must have an out_valid that follows from in_valid alone, not from a",
    ),
    "out_valid of a proof that takes undefined values for any": (
        build("quantizer", "e2m1", lanes=2, source="bfloat16", stages=1),
        ("1'b0 : in_valid;", "1'b0 : in_valid & ~bits[3];"),
        "must have an out_valid that follows from in_valid alone",
    ),
    "flags": (
        build("pe", "e2m1", accumulator="exact", terms=4, flags=True),
        (r"\{4\{enable\}\} &", "{4{enable & ~clear}} &"),
        "must start from an accumulator and flags of 0 while clear is 1: with enable they become those of its step,"
        " else 0",
    ),
}


@pytest.mark.parametrize("control", NAMED)
def test_what_a_users_module_must_do_is_named(control):
    design, change, sentence = NAMED[control]
    file = UserFile(design, broken(design, *change), design.name, "mine.v", (), "")
    with pytest.raises(NetlistError, match=f"^{design.name} {sentence}$"):
        file.netlist()


ROWS = build("pe", "binary8p4", accumulator="exact", terms=1, carry_save=True, flags=True)
_NEXT, _NONE = r"state <= rst \? (\S+) : acc_out;", "must have outputs that follow from state and flags_so_far alone"
STATES = {
    "an accumulator beside the state": (
        (_NEXT, r"state <= rst ? \1 : state; shadow <= rst ? \1 : acc_out;"),
        (r"assign acc = \{state(\S+) ", r"assign acc = {shadow\1 "),
        (r"total = state([^;]+)state", r"total = shadow\1shadow"),
        (r"(\);\n)", r"\1  reg [78:0] shadow;\n"),
        _NONE,
    ),
    "a flag of one cycle": (
        (r"(flags_so_far <= rst \? 4'b0000 : flags_before) \| ([^;]+);", r"\1; now <= rst ? 4'b0000 : \2;"),
        (r"assign flags = ", "assign flags = now | "),
        (r"(\);\n)", r"\1  reg [3:0] now;\n"),
        _NONE,
    ),
    "a reset at the output": ((r"assign acc = ([^;]+);", r"assign acc = rst ? 40'd0 : \1;"), _NONE),
    "a reset before the output": (
        (r"assign acc = ([^;]+);", r"assign acc = \1 | {40{late}};"),
        (_NEXT, r"state <= rst ? \1 : acc_out; late <= rst;"),
        (r"(\);\n)", r"\1  reg late;\n"),
        _NONE,
    ),
    "a flag that another one takes": (
        (r"(4'b0000 : )flags_before", r"\1(flags_before & ~{flags_so_far[2] & flags_so_far[3], 3'b000})"),
        "must keep its flags",
    ),
    "a flag that another one sets": (
        (r"(4'b0000 : flags_before)", r"\1 | {3'b000, flags_so_far[3] & ~clear}"),
        "must keep its flags",
    ),
    "a flag that is kept inverted": (
        (r"assign flags = flags_so_far", "assign flags = (flags_so_far ^ 4'b1000)"),
        (r"(flags_so_far <= rst \? 4'b0000 : )([^;]+);", r"\1(\2) ^ 4'b1000;"),
        "must keep its flags|must clear its",
    ),
}
"""Carry-save elements with a wrong state, or outputs that are not its own."""


@pytest.mark.parametrize("state", STATES)
def test_outputs_that_are_not_those_of_the_state_are_refused(state):
    *changes, sentence = STATES[state]
    text = texts([ROWS])[ROWS.name]
    for pattern, replacement in changes:
        text, changed = re.subn(pattern, replacement, text, count=1)
        assert changed
    with pytest.raises(NetlistError, match=sentence):
        subject(ROWS, text).netlist()


def disguised(place):
    """Edits that keep a bit of the state inverted, which the outputs know, but the next step does not."""
    return (
        (_NEXT, rf"state <= rst ? \1 : acc_out ^ (79'd1 << {place});"),
        (r"total = state([^;]+)state", r"total = read\1read"),
        (r"assign acc = \{state", "assign acc = {read"),
        (r"(\);\n)", rf"\1  wire [78:0] read = state ^ (79'd1 << {place});\n"),
    )


@pytest.mark.parametrize("place", [0, 78])
def test_a_state_that_is_not_what_the_outputs_say_is_found(place):
    """The outputs of each step are right, for the state before it; but not for the outputs before it."""
    text = texts([ROWS])[ROWS.name]
    for pattern, replacement in disguised(place):
        text, changed = re.subn(pattern, replacement, text, count=1)
        assert changed
    assert check(ROWS, text).verdict in (DIFFERENT, UNPROVED)


# -- modules without a proof -------------------------------------------------------------------------------------------


def test_a_sum_without_its_name_is_unproved(tmp_path, capsys):
    design = build("dot", "e2m1", accumulator="binary16", lanes=2)
    file = tmp_path / "own.v"
    file.write_text(texts([design])[design.name].replace("products_sum", "something"))
    words = ["--format", "e2m1", "--verilog", str(file), "--top", design.name, "-o", str(tmp_path)]
    assert main(["verify", "dot", *words]) == 1
    assert "the module has no net products_sum, or no output depends on all its bits" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--liberty", str(GATES), "--accumulator", "exact"], "the proof needs full adders, not a library's cells"),
    ],
)
def test_reasons(words, reason, tmp_path, capsys):
    assert main(["verify", "dot", "--format", "e2m1", *words, "-o", str(tmp_path)]) == 1
    assert reason in capsys.readouterr().out


def test_lanes_of_unrelated_nets():
    design = build("dot", "e2m1", accumulator="exact", lanes=2)
    lanes = Lanes(design, subject(design).netlist(), scaled=True)
    assert [lanes.lane_of(net) for net in lanes.nets_of(1)] == [1] * 8
    assert lanes.lane_of(0) is None
