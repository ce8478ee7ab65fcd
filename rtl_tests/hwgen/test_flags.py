"""Status flags in hardware: gates against the reference model, on every input if possible, and injected faults."""

import re
from itertools import cycle, product
from pathlib import Path

import pytest

import golden
from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from rtl_tests.support.blocks import stimuli, texts
from rtl_tests.support.gates import mismatches
from rtl_tests.support.proofs import check
from synth.proof.evidence import DIFFERENT, EQUAL

# -- every input


def encoders(fmt, source, rules):
    """An encoder with flags for each pair of a rounding and an overflow rule that the format defines."""
    for rounding, overflow in rules:
        if (rounding, source) == ("hybrid", "dlfloat16") or (rounding == "mptorch" and overflow != "infinity"):
            continue
        random = {"random_bits": 4} if rounding.is_stochastic else {}
        nan_to_zero = fmt.has_zero and overflow != fmt.overflows[0]
        options = {"rounding": rounding, "overflow": overflow, "nan_to_zero": nan_to_zero}
        yield build("encoder", fmt, source=source, **options, **random, flags=True)


def check_every_case(designs):
    for design in designs:
        evidence = check(design)
        assert (evidence.verdict, evidence.cases) == (EQUAL, 1 << (16 + design.options.get("random-bits", 0)))


def test_every_case_of_encoders_with_each_rounding():
    """The overflow rules take turns."""
    fmt = golden.get("gc_1_0_7_b0")
    check_every_case(encoders(fmt, "binary16", zip(fmt.roundings, cycle(fmt.overflows), strict=False)))


@pytest.mark.exhaustive
@pytest.mark.parametrize("source", ["binary16", "bfloat16", "dlfloat16"])
@pytest.mark.parametrize("name", golden.names())
def test_every_case_of_every_encoder_from_16_bits(name, source):
    fmt = golden.get(name)
    check_every_case(encoders(fmt, source, product(fmt.roundings, fmt.overflows)))


FROM_32 = [
    build("encoder", "ocp_e5m2", overflow="saturate", flags=True),
    build("encoder", "hif8", rounding="ties_to_away", flags=True),
]


@pytest.mark.parametrize("design", FROM_32, ids=lambda design: design.name)
def test_encoders_from_binary32_at_boundaries(design):
    """``make exhaustive`` checks all inputs, of all formats."""
    assert not mismatches(design, stimuli(design))


@pytest.mark.parametrize("source", ["binary16", pytest.param("bfloat16", marks=pytest.mark.exhaustive)])
def test_every_case_of_both_roundings_behind_a_pin(source):
    evidence = check(build("encoder", "hif8", source=source, rounding="hybrid", rounding_pin=True, flags=True))
    assert (evidence.verdict, evidence.cases) == (EQUAL, 1 << 17)


def test_every_case_of_a_mac():
    """``make exhaustive`` checks the MACs of all formats."""
    evidence = check(build("mac", "e5m2b1", flags=True))
    assert (evidence.verdict, evidence.cases) == (EQUAL, 1 << 32)


@pytest.mark.exhaustive
def test_every_case_with_every_scale():
    evidence = check(build("mac", "hif8", scale_bits=3, flags=True))
    assert (evidence.verdict, evidence.cases) == (EQUAL, 1 << 35)


PROVED = [
    build("encoder", "e5m2_nosub", source="binary32", rounding="stochastic", random_bits=2, flags=True),
    *(
        pytest.param(build("encoder", name, rounding="stochastic", flags=True, **options), marks=pytest.mark.exhaustive)
        for name, options in (
            ("ocp_e4m3", {}),
            ("hif8", {"overflow": "saturate", "nan_to_zero": True}),
            ("ocp_e5m2", {"overflow": "ocp_paper"}),
            ("gc_1_0_7_b0", {}),
            ("ibm_fp9_1_5_3", {}),
        )
    ),
    pytest.param(build("mac", "e5m2b1", accumulator="exact", terms=16, flags=True), marks=pytest.mark.exhaustive),
    pytest.param(
        build("mac", "ocp_e5m2", accumulator="exact", terms=2, scale_bits=2, flags=True), marks=pytest.mark.exhaustive
    ),
]


@pytest.mark.parametrize("design", PROVED, ids=lambda design: design.name)
def test_proofs_where_enumeration_ends(design):
    evidence = check(design)
    assert evidence.method.startswith("proof")
    assert (evidence.verdict, evidence.cases) == (EQUAL, evidence.inputs)


# -- some inputs

SAMPLED = [
    build("encoder", "hif8", rounding="stochastic", flags=True),
    build("mac", "hif8", accumulator="binary32", flags=True),
    build("mac", "ocp_e4m3+ocp_e5m2", "hif8", accumulator="dlfloat16", scale_bits=4, flags=True),
    build("dot", "ocp_e5m2", flags=True),
    pytest.param(build("dot", "e5m2b1", accumulator="dlfloat16", lanes=3, flags=True), marks=pytest.mark.exhaustive),
    pytest.param(
        build("dot", "ocp_e5m2", accumulator="exact", lanes=2, terms=2, flags=True), marks=pytest.mark.exhaustive
    ),
    build("mac", "hif8", flags=True, stages=2),
]


@pytest.mark.parametrize("design", SAMPLED, ids=lambda design: design.name)
def test_gates_equal_golden(design):
    assert not mismatches(design, stimuli(design))


# -- faults

ENCODER = build("encoder", "ocp_e5m2", source="binary16", rounding="ties_to_even", overflow="saturate", flags=True)
MAC = build("mac", "ocp_e5m2", flags=True)
EXACT = build("mac", "e5m2b1", accumulator="exact", terms=16, flags=True)
WRONG = {
    "encoder, inexact": (ENCODER, "4'b0001 & {4{bits == 16'h3c01}}"),
    "encoder, underflow": (ENCODER, "4'b0010 & {4{bits == 16'h03ff}}"),
    "encoder, overflow": (ENCODER, "4'b0100 & {4{bits == 16'h7b80}}"),
    "encoder, invalid": (ENCODER, "4'b1000 & {4{bits == 16'hfdff}}"),
    "MAC, inexact": (MAC, "4'b0001 & {4{a == 8'h3c & b == 8'h3c & acc_in == 16'h0001}}"),
    "MAC, underflow": (MAC, "4'b0010 & {4{a == 8'h81 & b == 8'h01 & acc_in == 16'h0400}}"),
    "MAC, overflow": (MAC, "4'b0100 & {4{a == 8'h7b & b == 8'h3c & acc_in == 16'h7bff}}"),
    "MAC, invalid": (MAC, "4'b1000 & {4{a == 8'h7c & b == 8'h00 & acc_in == 16'h7e00}}"),
    "stochastic encoder, overflow": (
        build("encoder", "ocp_e4m3", rounding="stochastic", flags=True),
        "4'b0100 & {4{bits == 32'h43e80000 & random == 16'h8000}}",
    ),
    "exact MAC, overflow": (EXACT, "4'b0100 & {4{a == 8'h7e & b == 8'h7e & ~acc_in[0]}}"),
    "exact MAC, invalid": (EXACT, "4'b1000 & {4{a == 8'hff & b == 8'h01}}"),
}


LONG = ("stochastic encoder, overflow", "exact MAC, overflow", "MAC, underflow", "MAC, overflow")


@pytest.mark.parametrize(
    "where", [pytest.param(where, marks=pytest.mark.exhaustive) if where in LONG else where for where in WRONG]
)
def test_a_wrong_flag_is_found_and_named(where):
    """One wrong bit, in some designs for a single case of 2^32."""
    design, fault = WRONG[where]
    broken, changed = re.subn(r"(assign flags =)([^;]+);", rf"\1 ({fault}) ^ (\2);", texts([design])[design.name])
    assert changed == 1
    evidence = check(design, broken)
    assert evidence.verdict == DIFFERENT
    first = evidence.counterexamples[0]
    ports = [port for port in first["got"] if first["got"][port] != first["golden"][port]]
    assert ports == ["flags"]
    assert f"flags {first['got']['flags']}, expected" in first["sentence"]


# -- the command line


@pytest.mark.parametrize("block", ["encoder", "mac", "dot", "pe"])
def test_flags_are_a_port(block, tmp_path, capsys):
    assert main(["generate", block, "--format", "e5m2b1", "--flags", "-o", str(tmp_path)]) == 0
    text = Path(capsys.readouterr().out.strip()).read_text()
    assert re.search(r"output (wire|reg) \[3:0\] flags", text)
    assert re.search(r"^// Flags: inexact, underflow, overflow and invalid .*from bit 0 on$", text, re.M)
    assert re.search(r"^// e5m2b1_\w+_flags$", text, re.M)


def test_a_decoder_has_no_such_option(tmp_path, capsys):
    assert main(["generate", "decoder", "--format", "hif8", "--flags", "-o", str(tmp_path)]) == 2
    assert "unrecognized arguments: --flags" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
