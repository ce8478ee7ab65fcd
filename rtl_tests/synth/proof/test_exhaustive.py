"""Checks of all inputs: inputs are counted, faults are found and reported, and an interrupted check resumes."""

import re

import numpy as np
import pytest

import golden
from hwgen.blocks.catalog import build
from rtl_tests.support.blocks import answer, texts
from rtl_tests.support.proofs import check
from rtl_tests.support.roundings import DIRECTED_AND_ODD, STOCHASTIC_B_AND_C
from rtl_tests.support.selection import exhaustive, first_of_each, kind_of_format, only
from synth.proof import verify as checks
from synth.proof.bitslice import from_planes
from synth.proof.cases import input_sweep
from synth.proof.evidence import DIFFERENT, EQUAL, EvidenceStore

KINDS = first_of_each(kind_of_format, sorted(golden.names(), key=lambda name: golden.get(name).width))
"""The narrowest format of each kind."""
NARROW = [name for name in KINDS if golden.get(name).width < 8]

# -- whole blocks ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [exhaustive("hif8"), *NARROW])
def test_every_case_of_macs_into_binary16(name):
    """``hwgen verify all`` checks the MACs of all formats, a block of README that of hif8; test_mac.py simulates all
    kinds.
    """
    evidence = check(build("mac", name))
    assert (evidence.verdict, evidence.counterexamples) == (EQUAL, [])
    assert evidence.cases == 1 << (2 * golden.get(name).width + 16)


@pytest.mark.parametrize(
    ("name", "accumulator"),
    [
        ("e2m3", "binary16"),
        ("e3m2", "bfloat16"),
        ("e2m1", "dlfloat16"),
        exhaustive("ocp_e5m2", "binary16"),
        exhaustive("ieee_e3m4", "bfloat16"),
        exhaustive("gc_1_2_5_b1", "binary16"),
    ],
)
def test_every_case_of_macs_built_for_speed(name, accumulator):
    """``hwgen verify all`` checks those of all formats into all three accumulators of 16 bits."""
    evidence = check(build("mac", name, accumulator=accumulator, flags=True, optimize="speed"))
    assert (evidence.verdict, evidence.counterexamples) == (EQUAL, [])
    assert evidence.cases == 1 << (2 * golden.get(name).width + 16)


@pytest.mark.parametrize("rounding", ["ties_to_away", "hybrid"])
def test_every_case_of_hif8s_encoders_from_binary32(rounding):
    evidence = check(build("encoder", "hif8", rounding=rounding))
    assert (evidence.verdict, evidence.cases) == (EQUAL, 1 << 32)


@pytest.mark.parametrize(
    "source", ["binary16", *(pytest.param(name, marks=pytest.mark.exhaustive) for name in ("bfloat16", "binary32"))]
)
def test_every_case_of_both_roundings_behind_a_pin(source):
    evidence = check(build("encoder", "hif8", source=source, rounding="hybrid", rounding_pin=True))
    assert (evidence.verdict, evidence.cases) == (EQUAL, 1 << (golden.get(source).width + 1))


def test_an_ignored_pin_is_found():
    design = build("encoder", "hif8", source="bfloat16", rounding="hybrid", rounding_pin=True)
    evidence = check(design, re.sub(r"\bhybrid \?", "1'b1 ?", texts([design])[design.name]))
    assert evidence.verdict == DIFFERENT


@pytest.mark.parametrize(
    "source", ["dlfloat16", *(pytest.param(name, marks=pytest.mark.exhaustive) for name in ("binary16", "bfloat16"))]
)
def test_every_case_of_hif8s_encoders_from_16_bits(source):
    """test_projections.py has each rounding from binary16 and bfloat16, of one format each."""
    for rounding in golden.get("hif8").roundings:
        if (source, rounding) == ("dlfloat16", "hybrid"):
            continue
        if source != "binary16" and rounding in (*DIRECTED_AND_ODD, *STOCHASTIC_B_AND_C):
            continue  # test_projections.py has these
        random = {"random_bits": 4} if golden.Rounding(rounding).is_stochastic else {}
        evidence = check(build("encoder", "hif8", source=source, rounding=rounding, overflow="infinity", **random))
        assert (evidence.verdict, evidence.cases) == (EQUAL, 1 << (16 + random.get("random_bits", 0)))


@pytest.mark.parametrize("name", KINDS)
def test_every_code_of_the_unpacked_decoders(name):
    """``hwgen verify all`` checks those of all formats, and test_decoder.py simulates them."""
    evidence = check(build("decoder", name, target="unpacked"))
    assert (evidence.verdict, evidence.cases) == (EQUAL, 1 << golden.get(name).width)


# -- the inputs and expected outputs of a sweep ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "design",
    [
        build("decoder", "hif8"),
        build("decoder", "ibm_fp9_1_5_3", target="unpacked"),
        build("encoder", "ocp_e4m3"),
        build("encoder", "hif8", source="bfloat16"),
        build("encoder", "hif8", rounding="hybrid"),
        build("encoder", "hif8", rounding="hybrid", flags=True),
        build("encoder", "gc_1_0_7_b0", flags=True),
        build("encoder", "e5m2b1", source="binary16", rounding="stochastic", random_bits=6),
        build("mac", "hif8"),
        build("mac", "ocp_e4m3", "ibm_fp9_1_5_3"),
        build("mac", "gc_1_0_7_b0", accumulator="dlfloat16"),
    ],
    ids=lambda design: design.name,
)
def test_a_sweep_has_every_case_once_with_its_expected_output(design):
    """The held bits take every value once; random cases have the output that the reference model gives them alone."""
    sweep = input_sweep(design)
    groups = np.concatenate([sweep.groups(chunk) for chunk in range(sweep.chunks)])
    assert np.array_equal(np.sort(groups), np.arange(sweep.cases >> sweep.running_bits))
    rng = np.random.default_rng(5)
    place, spans = 0, {}
    for name, width in sweep.inputs.items():
        running = sweep.running_bits if name == sweep.running_port else 0
        spans[name] = (place, width - running, running)
        place += width - running
    for chunk in rng.permutation(sweep.chunks)[:2].tolist():
        batches = list(sweep.batches(chunk))
        assert np.array_equal(np.concatenate([batch.groups for batch in batches]), sweep.groups(chunk))
        for batch in [batches[i] for i in rng.integers(len(batches), size=2)]:
            row = int(rng.integers(len(batch.groups)))
            planes = batch.expected if batch.expected.ndim == 2 else batch.expected[row]
            values = from_planes(planes)
            for case in rng.integers(1 << sweep.running_bits, size=20).tolist():
                held = int(batch.groups[row])
                pins = {
                    name: (held >> start & ((1 << width) - 1)) << running | (case if running else 0)
                    for name, (start, width, running) in spans.items()
                }
                expected, word, place = answer(design, pins), 0, 0
                for name, width in sweep.outputs.items():
                    word |= expected[name] << place
                    place += width
                assert int(values[case]) == word, (design.name, pins)


# -- faults ------------------------------------------------------------------------------------------------------------

PATCHES = {
    "decoder, an exponent": (
        build("decoder", "hif8"),
        r"(assign bits = )([^;]+);",
        r"\1(\2) ^ {5'd0, code == 8'h5f, 10'd0};",
    ),
    "decoder, a subnormal": (build("decoder", "ocp_e4m3"), r"(assign bits = )([^;]+);", r"\1(\2) ^ (code == 8'h87);"),
    "decoder, a special": (build("decoder", "hif8"), r"(wire is_inf = )magnitude == 7'h6f;", r"\1magnitude == 7'h6e;"),
    "encoder, a tie": (
        build("encoder", "hif8", source="binary16"),
        r"(assign code = )([^;]+);",
        r"\1(\2) ^ (bits == 16'h4380);",
    ),
    "encoder, one rounding of all 2^32": (
        build("encoder", "hif8"),
        r"(assign code = )([^;]+);",
        r"\1(\2) ^ (bits == 32'h3fb7ffff);",
    ),
    "encoder, NaN": (
        build("encoder", "e5m2b1", source="bfloat16"),
        r"(assign code = )([^;]+);",
        r"\1(bits == 16'hff81) ? 8'h7f : (\2);",
    ),
    "MAC, the sticky bit": (
        build("mac", "e5m2b1"),
        r"(wire sticky = )([^;]+);",
        r"\1(\2) & ~(distance[3] & trailing[5]);",
    ),
    "MAC, a tie": (
        build("mac", "ocp_e4m3"),
        r"(wire round_up = )([^;]+);",
        r"\1(\2) & (below | ~(&acc_in[6:0]));",
    ),
    "MAC, the sign of zero": (
        build("mac", "hif8"),
        r"(wire plus_zero = )([^;]+);",
        r"\1(\2) & ~(&acc_in[4:1]);",
    ),
    "fast MAC, the sticky bit of the accumulator": (
        build("mac", "ocp_e5m2", optimize="speed"),
        r"(wire acc_sticky = )([^;]+);",
        r"\1(\2) & ~(places[3] & acc_in[5]);",
    ),
    "fast MAC, a product that exceeds a subnormal accumulator": (
        build("mac", "ocp_e5m2", optimize="speed"),
        r"(wire exceeding_rounds_up = )([^;]+);",
        r"\1(\2) & ~(&acc_in[2:0]);",
    ),
    "fast MAC, a subnormal difference": (
        build("mac", "e2m3", optimize="speed"),
        r"(wire \[10:0\] sentinel = )([^;]+);",
        r"\1(\2) & {11{acc_in[3]}};",
    ),
    "fast MAC, overflow by rounding": (
        build("mac", "ocp_e5m2", optimize="speed"),
        r"(wire high_is_infinite = )([^;]+);",
        r"\1(\2) & ~(acc_in[14:10] == 5'h1e);",
    ),
    "fast MAC, the close path at the limit of its range": (
        build("mac", "e2m3", optimize="speed"),
        r"(wire product_exponent_is_1_more = )([^;]+);",
        r"\1(\2) & ~(&acc_in[9:7]);",
    ),
    "fast MAC, the sign of a cancelled sum": (
        build("mac", "e2m3", optimize="speed"),
        r"(wire close_sign = )([^;]+);",
        r"\1(\2) | (acc_in[15] & ~(|close_difference));",
    ),
    "MAC, infinity less infinity": (
        build("mac", "ocp_e5m2"),
        r"(wire nan = )([^;]+);",
        r"\1(\2) & ~(a == 8'hfc & b == 8'h3c & acc_in == 16'h7c00);",
    ),
}


FOUND_FIRST = (
    "decoder, an exponent", "decoder, a special", "encoder, one rounding of all 2^32", "MAC, the sticky bit",
    "MAC, the sign of zero", "fast MAC, a product that exceeds a subnormal accumulator",
    "fast MAC, overflow by rounding", "fast MAC, the sign of a cancelled sum",
)  # fmt: skip
"""Faults that ``make test`` looks for, too: each of the others is a neighbour of one of these."""


@pytest.mark.parametrize("where", only(FOUND_FIRST, PATCHES))
def test_a_wrong_bit_is_found_and_reported(where):
    """One wrong bit, in some designs in one case of 2^32."""
    design, pattern, replacement = PATCHES[where]
    text = texts([design])[design.name]
    broken, changed = re.subn(pattern, replacement, text, count=1)
    assert changed == 1, f"the Verilog of {design.name} no longer has this line"
    evidence = check(design, broken)
    assert evidence.verdict == DIFFERENT
    first = evidence.counterexamples[0]
    assert first["got"] != first["golden"]
    assert all(f"{port} {value}" in first["sentence"] for port, value in first["inputs"].items())
    assert "= sign " in first["sentence"]
    pins = {port: int(value, 16) for port, value in first["inputs"].items()}
    assert {port: int(value, 16) for port, value in first["golden"].items()} == answer(design, pins)


# -- interruptions -----------------------------------------------------------------------------------------------------


class FailureError(Exception):
    """Any failure during a run."""


@pytest.mark.parametrize("error", [KeyboardInterrupt, FailureError])
def test_an_interrupted_sweep_resumes(tmp_path, monkeypatch, error):
    monkeypatch.setattr(checks, "SAVE_EVERY", 0.0)
    store, design = EvidenceStore(tmp_path), build("mac", "e3m2")
    reports = []

    def stop(evidence):
        reports.append(evidence.cases)
        if len(reports) == 3:
            raise error

    with pytest.raises(error):
        check(design, store=store, report=stop)
    partial = store.load(design.name)
    assert partial.verdict == "incomplete"
    assert 0 < partial.cases < 1 << 28
    evaluated = []
    original = input_sweep(design).__class__.batches

    def batches(self, chunk):
        evaluated.append(chunk)
        return original(self, chunk)

    monkeypatch.setattr(input_sweep(design).__class__, "batches", batches)
    evidence = check(design, store=store)
    assert (evidence.verdict, evidence.cases) == (EQUAL, 1 << 28)
    assert set(evaluated).isdisjoint(partial.done)
    assert store.load(design.name).verdict == EQUAL


def test_partial_counts_of_other_verilog_do_not_count(tmp_path, monkeypatch):
    monkeypatch.setattr(checks, "SAVE_EVERY", 0.0)
    store, design = EvidenceStore(tmp_path), build("mac", "e3m2")

    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check(design, store=store, report=stop)
    partial = store.load(design.name)
    partial.hashes["verilog"] = "0" * 64
    partial.done = list(range(input_sweep(design).chunks))
    partial.cases = 1 << 28
    store.save(partial)
    text = texts([design])[design.name].replace("assign acc_out = ", "assign acc_out = 16'h0001 ^ ")
    assert check(design, text, store=store).verdict == DIFFERENT


def test_a_sweep_that_skips_cases_is_an_error(monkeypatch):
    design = build("encoder", "hif8", source="binary16", rounding="stochastic", random_bits=6)
    sweep = input_sweep(design)
    monkeypatch.setattr(sweep.__class__, "groups", lambda self, chunk: np.zeros(64, np.uint64))
    with pytest.raises(RuntimeError, match=r"^the groups do not contain every value of the held bits exactly once$"):
        check(design)
