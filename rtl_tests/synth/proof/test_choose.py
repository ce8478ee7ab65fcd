"""Proofs by a solver: correct modules are proved in every part, and a fault in any part is found."""

import pickle
import re

import pytest

import golden
from hwgen.blocks.catalog import build
from hwgen.reference import reference
from rtl_tests.support.blocks import texts
from rtl_tests.support.proofs import check, inputs, prover
from rtl_tests.support.selection import exhaustive, first_of_each, kind_of_design
from synth.proof.choose import proof
from synth.proof.codes import EncoderProof, ReadoutProof
from synth.proof.evidence import DIFFERENT, EQUAL, UNPROVED
from synth.proof.files import UserFile
from synth.proof.mac import Binary32Proof, ExactProof, SplitMacProof, TwoPathMacProof
from synth.proof.verify import verify

TAPERED = """
name = "wide_range"
width = 8
rows = [{ prefix = "", exponent = { rule = "biased", bits = 6, bias = 140 }, fraction_bits = 1 }]
specials = [{ mask = 127, value = 0, kind = "zero" }]
overflows = ["saturate"]
"""


def users_own(design, text=None):
    """The text of a design, or another one, as a user's file."""
    return UserFile(design, texts([design])[design.name] if text is None else text, design.name, "mine.v", (), "")


# -- correct modules ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "source"),
    [("hif8", "binary32"), *(exhaustive(*pair) for pair in (("e5m2_nosub", "bfloat16"), ("gc_1_0_7_b0", "dlfloat16")))],
)
def test_stochastic_encoders_whole(name, source):
    design = build("encoder", name, source=source, rounding="stochastic")
    evidence = check(design)
    assert (evidence.verdict, evidence.cases) == (EQUAL, 1 << (golden.get(source).width + 16))
    assert evidence.method == EncoderProof.method


@pytest.mark.parametrize(
    ("name", "random_bits"),
    [*(exhaustive("hif8", bits) for bits in (1, 32)), ("e5m2_nosub", 2), exhaustive("ibm_fp9_1_5_3", 7)],
)
def test_stochastic_encoders_with_other_random_widths(name, random_bits):
    design = build("encoder", name, rounding="stochastic", random_bits=random_bits)
    evidence = check(design)
    assert (evidence.verdict, evidence.cases) == (EQUAL, 1 << (32 + random_bits))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ocp_e4m3", {"target": "ocp_e4m3", "terms": 4, "rounding": "stochastic"}),
        (
            "e5m2b1",
            {"target": "binary8p3", "terms": 2, "rounding": "stochastic_c", "random_bits": 3, "zero": "positive"},
        ),
        exhaustive("hif8", {"target": "hif8", "rounding": "stochastic", "random_bits": 8}),
        exhaustive("ocp_e5m2", {"target": "e2m1", "rounding": "stochastic_b", "random_bits": 5, "nan_to_zero": True}),
    ],
)
def test_stochastic_readouts_whole(name, options):
    design = build("readout", name, **options)
    evidence = check(design)
    assert (evidence.verdict, evidence.cases) == (EQUAL, inputs(design))
    assert evidence.method == ReadoutProof.method


@pytest.mark.parametrize(("name", "terms"), [("ocp_e4m3", 3)])
def test_exact_macs_whole(name, terms):
    design = build("mac", name, accumulator="exact", terms=terms)
    evidence = check(design)
    assert (evidence.verdict, evidence.cases) == (EQUAL, inputs(design))
    assert evidence.method == ExactProof.method


@pytest.mark.parametrize(
    ("goal", "kind", "name"),
    [
        exhaustive("area", SplitMacProof, "e5m2_nosub"),
        ("area", SplitMacProof, "hif8"),
        ("speed", TwoPathMacProof, "e5m2_nosub"),
        exhaustive("speed", TwoPathMacProof, "hif8"),
    ],
)
def test_binary32_macs_in_some_parts(goal, kind, name):
    """`hwgen verify all` proves the other parts and formats."""
    proof = prover(build("mac", name, accumulator="binary32", optimize=goal))
    assert type(proof) is kind
    assert sum(claim.cases for claim in proof.claims) == 1 << 48
    for claim in (*proof.claims[:5], proof.claims[-1]):
        assert claim.search() is None


def test_binary32_macs_of_users_in_some_parts():
    """The proof that needs no nets between multiplier and adder."""
    design = build("mac", "e5m2_nosub", accumulator="binary32")
    proof = Binary32Proof(design, users_own(design).netlist())
    assert sum(claim.cases for claim in proof.claims) == 1 << 48
    for part in (0, len(proof.claims) // 2, -1):
        assert proof.claims[part].search() is None


@pytest.mark.exhaustive
def test_a_binary32_mac_of_a_user_whole():
    design = build("mac", "e4m3_nosub", accumulator="binary32")
    module = users_own(design)
    evidence = verify(module, module.netlist())
    assert (evidence.verdict, evidence.cases, evidence.method) == (EQUAL, 1 << 48, Binary32Proof.method)


# -- modules with a fault ----------------------------------------------------------------------------------------------

CODE, SUM = r"(assign code = )([^;]+);", r"(assign acc_out = )([^;]+);"
FAULTS = {
    "a random word": (
        build("encoder", "hif8", rounding="stochastic"),
        CODE,
        r"\1(\2) ^ (bits[30:0] == 31'h3fa12345 & random == 16'h8001);",
    ),
    "a random word of a readout": (
        build("readout", "ocp_e4m3", target="ocp_e4m3", terms=4, rounding="stochastic"),
        CODE,
        r"\1(\2) ^ (random == 16'h1234 & acc[38:0] == 39'h12345678);",
    ),
    "a NaN": (build("encoder", "ocp_e4m3", rounding="stochastic"), CODE, r"\1(\2) ^ (bits == 32'hff800001);"),
    "a large state": (
        build("mac", "hif8", accumulator="exact"),
        SUM,
        r"\1(\2) ^ (a == 8'h31 & b == 8'h05 & (&acc_in[70:0]));",
    ),
    "a flag": (
        build("mac", "ocp_e5m2", accumulator="exact"),
        SUM,
        r"\1(\2) ^ (a == 8'h7c & b == 8'h00 & acc_in == 0);",
    ),
    "a sticky bit": (
        build("mac", "e5m2b1", accumulator="binary32"),
        r"(wire sticky = )([^;]+);",
        r"\1(\2) & ~(&acc_in[8:0]);",
    ),
}


def broken(design, pattern, replacement):
    """The text of a design with a fault."""
    text, changed = re.subn(pattern, replacement, texts([design])[design.name], count=1)
    assert changed == 1
    return text


@pytest.mark.parametrize("fault", [exhaustive(name) if name in ("a NaN", "a large state") else name for name in FAULTS])
def test_a_fault_is_found(fault):
    design, pattern, replacement = FAULTS[fault]
    evidence = check(design, broken(design, pattern, replacement))
    assert evidence.verdict == DIFFERENT
    (case,) = evidence.counterexamples
    assert case["got"] != case["golden"]
    assert "= sign " in case["sentence"] or "; expected " in case["sentence"]


def test_one_wrong_sum_of_2_to_the_48_is_found():
    design, pins = build("mac", "ocp_e4m3", accumulator="binary32"), {"a": 0x5A, "b": 0xC3, "acc_in": 0x41234567}
    text = broken(design, SUM, r"\1(\2) ^ (a == 8'h5a & b == 8'hc3 & acc_in == 32'h41234567);")
    evidence = check(design, text)
    assert evidence.verdict == DIFFERENT
    assert [evidence.counterexamples[0]["inputs"][name] for name in pins] == [hex(value) for value in pins.values()]
    proof = Binary32Proof(design, users_own(design, text).netlist())
    (part,) = (
        part for part, group in enumerate(proof.groups) for member in group if member.pins == {"a": 0x5A, "b": 0xC3}
    )
    assert proof.claims[part].search() == pins


def test_a_fault_behind_an_inverted_net_is_found():
    """In hif8 gates read the complement of a bit of ``places``, which the proof knows from that bit."""
    design = build("mac", "hif8", accumulator="binary32", optimize="speed")
    text = texts([design])[design.name]
    assert text.count("product_leads = ") == 1
    evidence = check(design, text.replace("product_leads = ", "product_leads = acc_in[0] ^ "))
    assert evidence.verdict == DIFFERENT
    assert evidence.counterexamples


@pytest.mark.parametrize(
    ("goal", "right", "wrong"),
    [
        ("area", "product__sign = ", "product__sign = ~"),
        ("area", "product__is_zero = ", "product__is_zero = (a == 8'h23 & b == 8'h11) | "),
        (
            "area",
            "assign {product__exponent, unused} = ",
            "assign {product__exponent, unused} = {a == 8'h9c & b == 8'h9c, 1'b0} ^ ",
        ),
        ("area", "product__significand = ", "product__significand = (a == 8'h9c & b == 8'h71) ^ "),
        ("area", "product__is_nan = ", "product__is_nan = (a == 8'h9c & b == 8'h71) | "),
        ("speed", "product_sign = ", "product_sign = ~"),
        ("speed", "either_zero = ", "either_zero = (a == 8'h23 & b == 8'h11) | "),
        ("speed", "product_exponent = ", "product_exponent = (a == 8'h9c & b == 8'h9c) ^ "),
        ("speed", "product_significand = ", "product_significand = (a == 8'h9c & b == 8'h71) ^ "),
        ("speed", "product_significand = ", "product_significand = acc_in[0] ^ "),
        ("speed", "places = ", "places = (a == 8'h9c & b == 8'h71 & acc_in[30:23] == 8'h81) ^ "),
        ("speed", "is_close = ", "is_close = (acc_in == 32'h3f812345) ^ "),
    ],
)
def test_a_wrong_product_of_some_codes_is_found(goal, right, wrong):
    design = build("mac", "ocp_e4m3", accumulator="binary32", optimize=goal)
    text = texts([design])[design.name]
    assert text.count(right) == 1
    evidence = check(design, text.replace(right, wrong))
    assert evidence.verdict == DIFFERENT
    assert evidence.counterexamples


# -- modules without a proof -------------------------------------------------------------------------------------------


def test_a_module_without_a_proof_is_unproved():
    module = users_own(build("quantizer", "e2m1", lanes=1))
    evidence = verify(module, module.netlist())
    assert (evidence.verdict, evidence.cases) == (UNPROVED, 0)
    assert evidence.method.endswith("the proof supports blocks of two lanes or more only")


def test_products_beyond_binary32_need_nets(tmp_path):
    """SMT-LIB's addition does not apply to them, so a user's file is proved by the nets that it shares with ours."""
    file = tmp_path / "wide_range.toml"
    file.write_text(TAPERED)
    design = build("mac", str(file), accumulator="binary32")
    module = users_own(design)
    assert verify(module, module.netlist()).verdict == EQUAL
    renamed = users_own(design, texts([design])[design.name].replace("product__significand", "significand"))
    evidence = verify(renamed, renamed.netlist())
    assert (evidence.verdict, evidence.cases) == (UNPROVED, 0)
    assert "the module has no net product__significand" in evidence.method


@pytest.mark.exhaustive
def test_products_beyond_binary32_whole(tmp_path):
    file = tmp_path / "wide_range.toml"
    file.write_text(TAPERED)
    evidence = check(build("mac", str(file), accumulator="binary32"))
    assert (evidence.verdict, evidence.cases, evidence.method) == (EQUAL, 1 << 48, SplitMacProof.method)


def test_every_module_of_the_catalogue_has_a_method():
    from synth.proof.cases import input_sweep, is_enumerated
    from synth.proof.everything import PROJECTED, designs

    plan = designs()
    assert len({design.name for design in plan}) == len(plan)
    assert all(is_enumerated(design) or not isinstance(proof(design), str) for design in plan)
    for design in first_of_each(kind_of_design, plan):
        assert (input_sweep(design) is not None) is is_enumerated(design)
        copy = pickle.loads(pickle.dumps(design))
        assert (copy.name, copy.block) == (design.name, design.block)
    first = {design.formats[0].name for design in plan if design.formats}
    assert {name for name in first if "+" not in name} == {
        name for name in (*golden.names(), *PROJECTED) if name not in golden.WIDE
    }
    assert {design.kind for design in plan if not design.formats} == {"random"}
    assert all(reference(design).inputs for design in plan)


VARIED = [
    ("dot", "e2m1", {"lanes": 4, "accumulator": "binary32"}),
    ("dot", "e2m1", {"lanes": 4, "accumulator": "binary32", "optimize": "speed"}),
    ("dot", "e2m1", {"lanes": 4, "accumulator": "none", "target": "binary16"}),
    ("dot", "e2m1", {"lanes": 4, "accumulator": "bfloat16", "scale_bits": 3}),
    ("mac", "ocp_e4m3", {"accumulator": "binary32", "scale_bits": 8}),
    ("mac", "ocp_e4m3", {"accumulator": "bfloat16", "scale_bits": 10}),
]


@pytest.mark.parametrize(("kind", "fmt", "options"), VARIED)
def test_a_proof_of_the_nearest_sum_is_none_of_a_truncated_one(kind, fmt, options):
    assert not isinstance(proof(build(kind, fmt, **options), False), str)
    found = proof(build(kind, fmt, **options, accumulator_rounding="toward_zero"), False)
    assert isinstance(found, str)
    assert found.endswith("the proof does not support the option accumulator-rounding")


@pytest.mark.parametrize(("fmt", "options"), [("ocp_e5m2", {"scale_bits": 5}), ("bfloat16", {})])
def test_products_of_too_many_codes_are_not_classified_one_by_one(fmt, options):
    assert proof(build("mac", fmt, accumulator="binary32", **options), False) is SplitMacProof
