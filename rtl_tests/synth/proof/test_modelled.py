"""Models in C equal the gates of their modules, and faults in either of them are found."""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from golden.compiler import compiler
from golden.refusal import Refusal
from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from hwgen.model.files import TEMPLATES, planes
from rtl_tests.hwgen.test_model import FORMATS
from rtl_tests.support.selection import exhaustive
from synth.proof import modelled
from synth.proof.cases import is_enumerated
from synth.proof.modelled import CASES, compare
from synth.proof.verify import emitted

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no C++ compiler")

SHARE = 1 << 20
"""Cases of modules whose inputs are not enumerated in the quick tests."""
QUICK = [
    build("decoder", "ocp_e4m3+ocp_e5m2", target="bfloat16"),
    build("encoder", "hif8", source="binary16", rounding="hybrid", flags=True),
    build("encoder", "e5m3", rounding="stochastic", random_bits=13, random="lfsr"),
    build("mac", "e2m1"),
    build("mac", "ocp_e5m2", accumulator="binary32", flags=True, stages=1),
    build("dot", "ocp_e4m3", lanes=3, accumulator="aligned13", block_scale="e8m0"),
    build("pe", "hif8", accumulator="exact"),
    build("pe", "ocp_e5m2", accumulator="exact", lanes=3, scale_bits=2, carry_save=True, flags=True, stages=1),
    build("readout", "ocp_e4m3", target="binary16"),
    build("quantizer", "e2m1", lanes=3, source="bfloat16"),
    build("amax", "e2m1", source="int8", lanes=2),
    build("random", width=16, random_bits=5),
]
LONG = build("pe", "ocp_e5m2", accumulator="exact", lanes=12, scale_bits=2, carry_save=True, flags=True, stages=1)
"""Its gates take a minute to compile."""
OPTIONS = {
    "decoder": {"target": "binary16"},
    "encoder": {"source": "binary16"},
    "mac": {},
    "dot": {"lanes": 4},
    "pe": {"accumulator": "binary32"},
    "readout": {"target": "binary32"},
    "quantizer": {"lanes": 2},
    "amax": {"source": "binary16", "lanes": 2},
}


def gates(design):
    return emitted(design).netlist()


@pytest.mark.parametrize("design", [*QUICK, exhaustive(LONG)], ids=lambda design: design.name)
def test_a_model_equals_the_gates(design):
    cases, difference = compare(design, gates(design), cases=SHARE)
    assert not difference
    inputs = gates(design).first_gate - 2
    assert cases == 1 << inputs if is_enumerated(design) else cases >= SHARE


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", OPTIONS)
@pytest.mark.parametrize("name", FORMATS)
def test_all_blocks_of_a_format_in_many_cases(name, kind):
    """All inputs where ``hwgen verify`` enumerates them, 10^9 cases of others."""
    try:
        design = build(kind, name, **OPTIONS[kind])
    except Refusal:  # formats without a sign have no scales
        assert kind in ("quantizer", "amax")
        return
    cases, difference = compare(design, gates(design))
    assert not difference
    assert cases >= CASES or is_enumerated(design)


FAULTS = [
    (build("decoder", "ocp_e5m2", target="binary16"), "{1,-16,-14,0,0}", "{1,-15,-14,0,0}"),
    (build("mac", "e2m1"), "rest + odd > half", "rest > half"),
    (build("mac", "ocp_e5m2", accumulator="binary32"), "-part : part", "-part : part + (p[i].e == 7 && p[i].n == 49)"),
    (build("dot", "ocp_e4m3", lanes=3, accumulator="exact"), "if ((seen & 3) == 3) seen |= 4;", ""),
    (
        build("pe", "ocp_e4m3", accumulator="exact", carry_save=True),
        "flags |= kept.limb[i] != total.limb[i]",
        "flags |= 0",
    ),
]
"""Models with a fault: all inputs are compared, or random and boundary cases."""


@pytest.mark.parametrize(("design", "old", "new"), FAULTS, ids=[fault[0].name for fault in FAULTS])
def test_a_fault_in_a_model_is_found(design, old, new, monkeypatch):
    assert old in planes(design)
    monkeypatch.setattr(modelled, "planes", lambda design: planes(design).replace(old, new))
    _, difference = compare(design, gates(design), cases=SHARE)
    assert " must give " in difference


def test_a_fault_in_the_gates_is_found():
    design = build("decoder", "e2m1", target="binary16")
    netlist = gates(design)
    *others, exponent, sign = netlist.driven
    _, difference = compare(design, replace(netlist, driven=(*others, sign, exponent)), cases=SHARE)
    assert difference.startswith("code 0x")


@pytest.mark.parametrize("options", [{"accumulator": "binary32"}, {"accumulator": "exact", "carry_save": True}])
def test_the_first_difference_is_shown(options):
    design = build("pe", "e2m1", **options)
    netlist = gates(design)
    bits = netlist.input_nets("acc_in")[5:7]
    swap = dict(zip(bits, bits[::-1], strict=True))
    wrong = [replace(gate, pins=tuple(swap.get(pin, pin) for pin in gate.pins)) for gate in netlist.gates]
    _, difference = compare(design, replace(netlist, gates=tuple(wrong)), cases=SHARE)
    pins, outputs = (
        {name: int(word, 16) for name, word in re.findall(r"(\w+) (0x\w+)", text)}
        for text in difference.split(" must give ")
    )
    assert pins.get("enable", 1)
    assert netlist.evaluate(pins) != outputs


def test_verify_compares_the_model(tmp_path, capsys, monkeypatch):
    words = ["verify", "decoder", "--format", "e2m1", "--to", "binary16", "--model", "-o", str(tmp_path)]
    assert main(words) == 0
    assert capsys.readouterr().out.splitlines()[-1] == (
        "  the model in C: its arithmetic equals that of the module in 16 cases"
    )
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["model"] == {"cases": 16, "difference": ""}
    monkeypatch.setattr(modelled, "planes", lambda design: planes(design).replace("{1,-1,", "{1,0,"))
    assert main([*words, "--junit", str(tmp_path / "junit.xml")]) == 1
    sentence = "differs: code 0x1 must give bits 0x3800"
    assert capsys.readouterr().out.splitlines()[-1] == f"  the model in C: {sentence}"
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert [suite.get("tests"), suite.get("failures")] == ["2", "1"]
    assert [failure.get("message") for failure in suite.iter("failure")] == [sentence]


@pytest.mark.parametrize("as_json", [False, True])
def test_the_verdict_is_shown_if_the_model_does_not_compile(as_json, tmp_path, capsys, monkeypatch):
    words = ["verify", "decoder", "--format", "e2m1", "--model", "-o", str(tmp_path), "--junit", str(tmp_path / "x")]
    monkeypatch.setattr(modelled, "planes", lambda design: f"{planes(design)}\n#error no such model\n")
    assert main([*words, "--json"] if as_json else words) == 1
    output = capsys.readouterr().out
    sentence = "the C++ compiler fails on the model in C: "
    if as_json:
        record = json.loads(output)
        assert (record["verdict"], record["model"]["cases"]) == ("equal", 0)
        assert record["model"]["error"].startswith(sentence)
    else:
        assert "equal to the reference model on all 16 inputs" in output
        assert sentence in output.splitlines()[-1]
    assert ElementTree.parse(tmp_path / "x").getroot().get("failures") == "1"


def test_a_compiler_is_looked_for_before_the_proof(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(modelled, "compiler", lambda: None)
    assert main(["verify", "decoder", "--format", "e2m1", "--model", "-o", str(tmp_path)]) == 1
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "hwgen: there is no C++ compiler for the model in C\n")
    assert not list(tmp_path.glob("*.json"))


def test_progress_is_reported():
    design, seen = build("mac", "e2m1", accumulator="binary32"), []
    compare(design, gates(design), cases=SHARE, report=lambda *counts: seen.append(counts))
    assert seen
    assert seen[-1][0] == seen[-1][1]


def test_every_block_is_compared():
    assert set(OPTIONS) | {"random"} == set(TEMPLATES)


def test_a_users_file_has_no_model(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mac.v").write_text("module hif8_mac_binary16; endmodule\n")
    assert main(["verify", "mac", "--verilog", "mac.v", "--format", "hif8", "--model"]) == 2
    assert "it cannot be combined with --verilog or --liberty" in capsys.readouterr().err
