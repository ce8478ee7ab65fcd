"""Twins of every flag that a proof shows: set too seldom or too often, in right modules, by every class of proofs."""

import re

import pytest

from golden import Flag
from hwgen.blocks.catalog import build
from rtl_tests.support.blocks import texts
from rtl_tests.support.proofs import check, prover
from rtl_tests.support.selection import exhaustive
from synth.proof.bulk import BulkDotProof
from synth.proof.codes import EncoderProof
from synth.proof.dot import ExactDotProof
from synth.proof.evidence import DIFFERENT, EQUAL
from synth.proof.floated import FloatedDotProof
from synth.proof.gates import NetlistError
from synth.proof.mac import Binary32Proof, ExactProof, SplitMacProof, TwoPathMacProof
from synth.proof.prefix import PrefixDotProof
from synth.proof.rounded import PrefixRoundedProof, RoundedDotProof
from synth.proof.truncated import AlignedDotProof
from synth.proof.twofold import CarrySaveProof

OF_EXACT = Flag.OVERFLOW | Flag.INVALID
ALL = Flag.INEXACT | Flag.UNDERFLOW | OF_EXACT
WIDE = {"accumulator": "binary32", "scale_bits": 9, "flags": True}
STOCHASTIC = {"accumulator_rounding": "stochastic"}
SUMS = {
    "exact": (ExactDotProof, build("dot", "ocp_e5m2", accumulator="exact", lanes=2, flags=True), OF_EXACT),
    "exact with a scale": (
        ExactDotProof,
        build("dot", "ocp_e5m2", accumulator="exact", lanes=2, scale_bits=2, flags=True),
        OF_EXACT,
    ),
    "exact in a pipeline": (
        ExactDotProof,
        build("dot", "hif8", accumulator="exact", lanes=2, flags=True, stages=2),
        OF_EXACT,
    ),
    "element": (ExactDotProof, build("pe", "e2m1", accumulator="exact", lanes=2), Flag.OVERFLOW),
    "element with flags": (ExactDotProof, build("pe", "e2m1", accumulator="exact", lanes=2, flags=True), OF_EXACT),
    "prefix": (
        PrefixDotProof,
        build("dot", "e2m1", accumulator="exact", lanes=2, optimize="speed", flags=True),
        OF_EXACT,
    ),
    "two rows": (
        CarrySaveProof,
        build("pe", "ocp_e5m2", accumulator="exact", lanes=2, terms=4, carry_save=True, flags=True),
        OF_EXACT,
    ),
    "exact MAC": (ExactProof, build("mac", "ocp_e4m3", accumulator="exact", flags=True), OF_EXACT),
    "exact MAC with a scale": (
        ExactProof,
        build("mac", "ocp_e5m2", accumulator="exact", scale_bits=2, flags=True),
        OF_EXACT,
    ),
    "rounded": (RoundedDotProof, build("dot", "ocp_e5m2", accumulator="binary16", lanes=2, flags=True), ALL),
    "rounded in an element": (
        RoundedDotProof,
        build("pe", "ocp_e5m2", accumulator="binary16", lanes=2, flags=True),
        ALL,
    ),
    "prefix of bfloat16": (
        PrefixRoundedProof,
        build("dot", "e2m1", accumulator="bfloat16", lanes=2, optimize="speed", flags=True),
        ALL,
    ),
    "prefix of binary32": (
        PrefixRoundedProof,
        build("dot", "e2m1", accumulator="binary32", lanes=2, optimize="speed", flags=True),
        ALL,
    ),
    "bulk": (BulkDotProof, build("dot", "e2m1", accumulator="rvbna", lanes=2, flags=True), OF_EXACT),
    "floated": (
        FloatedDotProof,
        build("dot", "e2m1", accumulator="binary16", lanes=2, block_scale="e8m0", flags=True),
        ALL,
    ),
    "floated with a word": (
        FloatedDotProof,
        build("dot", "e2m1", accumulator="dlfloat16", lanes=2, scale_bits=8, random_bits=2, flags=True, **STOCHASTIC),
        ALL,
    ),
    "alone": (
        FloatedDotProof,
        build("dot", "ocp_e5m2", accumulator="none", target="binary16", lanes=2, flags=True),
        ALL,
    ),
    "truncated": (
        AlignedDotProof,
        build("dot", "e2m1", accumulator="aligned6", lanes=2, block_scale="e8m0", flags=True),
        ALL,
    ),
    "split": (SplitMacProof, build("mac", "e2m1", **WIDE), ALL),
    "split with a word": (
        SplitMacProof,
        build("mac", "e2m1", scale_bits=9, random_bits=3, flags=True, **STOCHASTIC),
        ALL,
    ),
    "two paths": (TwoPathMacProof, build("mac", "e2m1", optimize="speed", **WIDE), ALL),
    "binary32": (  # of other flags, twins take the solver more than ten minutes
        Binary32Proof,
        build("mac", "Binary8p1se", accumulator="binary32", flags=True, stages=1),
        Flag.INEXACT,
    ),
    "stochastic": (
        EncoderProof,
        build("encoder", "ocp_e4m3", source="binary16", rounding="stochastic", flags=True),
        ALL,
    ),
    "enumerated": (None, build("encoder", "ocp_e4m3", source="binary16", flags=True), ALL),
}
CONDITIONS = {"pe": "acc_before[0]", "encoder": "bits[0]"}
LATE = {"exact in a pipeline": "~acc_out[0]", "binary32": "~acc_out[31]", "two rows": "state[0]", "alone": "a[0]"}
"""Bits of the same stage as the flags, or where there is no accumulator."""

FLAGS, OVERFLOW = r"(assign flags = )([^;]+);", r"(wire mac__overflow = )([^;]+);"
STEP = r"(wire \[3:0\] mac__flags = )([^;]+);"
ROWS = {
    Flag.OVERFLOW: r"(assign flags = flags_so_far \| )([^;]+);",
    Flag.INVALID: r"(wire \[3:3\] mac__flags = )([^;]+);",
}
"""Where flags are made; in elements they are sticky afterwards."""

TWINS = {"never": "({0}) & ~{1}", "always": "({0}) | {1}", "seldom": "({0}) & ~({1} & {{4{{{2}}}}})"}


def twin(name, flag, kind):
    """The text of a module whose flag is never set, always set, or not if some bit is 1."""
    _, design, _ = SUMS[name]
    text = texts([design])[design.name]
    words = (ROWS[flag],) if name == "two rows" else (STEP, OVERFLOW) if design.kind == "pe" else (FLAGS,)
    pattern = next(word for word in words if re.search(word, text))
    mask = "1'b1" if pattern in (OVERFLOW, ROWS[Flag.INVALID]) else f"4'd{int(flag)}"
    condition = LATE.get(name, CONDITIONS.get(design.kind, "acc_in[3]"))
    changed = re.sub(
        pattern, lambda found: found[1] + TWINS[kind].format(found[2], mask, condition) + ";", text, count=1
    )
    assert changed != text
    return changed


def judged(design, text):
    """The evidence for a text, or the sentence that refuses it."""
    try:
        return check(design, text)
    except NetlistError as refusal:
        return str(refusal)


CASES = [(name, flag, kind) for name, (_, _, flags) in SUMS.items() for flag in flags for kind in TWINS]
NEVER_SET = {
    ("floated with a word", Flag.INVALID),
    *((f"prefix of {name}", flag) for name in ("bfloat16", "binary32") for flag in (Flag.OVERFLOW, Flag.UNDERFLOW)),
    ("bulk", Flag.OVERFLOW),
}
"""Flags that no input sets: e2m1 has no NaN and no infinity, dlfloat16 no signaling NaN.

Products of e2m1 are multiples of 1/4, and at most 36. Added to a number with eight bits of exponent, they make no
inexact subnormal sum, and no overflow.

Twins that set them never or seldom are the module itself.
"""
SOME = {
    ("exact", Flag.OVERFLOW),
    ("element", Flag.OVERFLOW),
    ("prefix", Flag.INVALID),
    ("prefix of bfloat16", Flag.INEXACT),
    ("bulk", Flag.INVALID),
    ("exact MAC", Flag.OVERFLOW),
    ("stochastic", Flag.UNDERFLOW),
    ("alone", Flag.UNDERFLOW),
}


@pytest.mark.parametrize(
    ("name", "flag", "kind"),
    [case if case[:2] in SOME else exhaustive(*case) for case in CASES],
    ids=lambda value: value.name.lower() if isinstance(value, Flag) else value,
)
def test_a_flag_that_is_set_too_seldom_or_too_often_is_found(name, flag, kind):
    evidence = judged(SUMS[name][1], twin(name, flag, kind))
    if isinstance(evidence, str):  # a sticky register is missing, or another one
        assert name == "two rows"
        assert re.search(
            r"must (keep its flags until clear is 1|clear its acc|have the registers state, and )", evidence
        )
        return
    if (name, flag) in NEVER_SET and kind != "always":
        assert evidence.verdict == EQUAL
        return
    assert evidence.verdict == DIFFERENT
    assert evidence.counterexamples
    for case in evidence.counterexamples:
        wrong = {port for port in case["got"] if case["got"][port] != case["golden"][port]}
        assert wrong
        assert wrong <= {"flags", "overflow"}


QUICK = {name for name, _ in SOME} - {"bulk"}


@pytest.mark.parametrize("name", [name if name in QUICK else exhaustive(name) for name in SUMS])
def test_the_modules_without_a_fault_are_equal(name):
    expected, design, _ = SUMS[name]
    assert expected is None or isinstance(prover(design), expected)
    assert check(design).verdict == EQUAL
