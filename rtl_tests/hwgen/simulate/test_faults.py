"""Twenty faults in Verilog: each is found, and the class of vectors that finds it is named."""

import re
from dataclasses import replace

import numpy as np
import pytest

from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from hwgen.coverage.suite import suite
from hwgen.simulate.case import case
from hwgen.simulate.engine import simulate
from rtl_tests.support.bench import chosen_simulator
from rtl_tests.support.blocks import texts
from rtl_tests.support.selection import exhaustive

MAC = build("mac", "hif8")
ENCODER = build("encoder", "ocp_e4m3", source="binary16")
DECODER = build("decoder", "ocp_e4m3")
DOT = build("dot", "ocp_e4m3")
PE = build("pe", "ocp_e4m3", stages=1, interleave=2)
READOUT = build("readout", "ocp_e4m3")
QUANTIZER = build("quantizer", "e2m1", lanes=2)
MIXED = build("mac", "ocp_e4m3", "hif8", stages=1, clock_enable=True)

FAULTS = {
    "wrong constant": (MAC, "nan ? 10'h200", "nan ? 10'h201", "specials"),
    "sticky bit is lost": (MAC, "{2{unit_missing}})) | sticky", "{2{unit_missing}}))", "alignment"),
    "ties away": (MAC, "below ? moved_left_1[2] : round_up_at_tie", "moved_left_1[2]", "ties"),
    "shift off by one": (MAC, "{1'b0, moved_right_2[12:1]} : moved", "moved_right_2 : moved", "boundaries"),
    "half of the shift is not limited": (
        MAC,
        "too_far = |difference_or_complement[5:4]",
        "too_far = 1'b0",
        "alignment",
    ),
    "stuck sign": (MAC, "subtract = product__sign ^ acc_sign", "subtract = 1'b0", "cancellation"),
    "sign of zero": (MAC, "plus_zero = no_ones_in_sum & trailing_not_smaller", "plus_zero = 1'b0", "cancellation"),
    "hidden bit is stuck": (MAC, "acc_hidden = |acc_field", "acc_hidden = 1'b1", "subnormals"),
    "late overflow": (MAC, "(&exponent_less_1[4:1])", "(&exponent_less_1[4:0])", "overflow"),
    "wrong sticky of an encoder": (ENCODER, "rest = |bits[5:0]", "rest = |bits[5:1]", "boundaries"),
    "wrong range of subnormals": (
        ENCODER,
        "in_subnormal_range = below_normals &",
        "in_subnormal_range =",
        "boundaries",
    ),
    "wrong largest value": (ENCODER, "at_least_2_to_9 = &bits[14:13]", "at_least_2_to_9 = bits[14]", "overflow"),
    "wrong bias": (DECODER, "- 5'h07", "- 5'h08", "others"),
    "other lane's sign": (
        DOT,
        ".b(b[15:8]), .negate(acc_in[15])",
        ".b(b[15:8]), .negate(acc_in[15] ^ lane_0__product__sign ^ a[15] ^ b[15])",
        "ties",
    ),
    "stale register": (PE, "1'b0 : enable;", "1'b0 : enable_stage_1 | enable;", "idle"),
    "register that is not cleared": (PE, "acc_before = clear ?", "acc_before = 1'b0 ?", "clears"),
    "carry of the magnitude": (READOUT, "{46'h000000000000, acc[46]}", "47'h0", "ties"),
    "scale off by one": (QUANTIZER, "9'h1fe", "9'h1ff", "ends of the scale"),
    "swapped operands": (MIXED, "(a, b)", "(b, a)", "random"),
    "stalled register moves": (MIXED, "enable", "1'b1", "idle"),
}
"""By name: the design, a part of its text, what it is replaced with, and a class that fails."""


def faulty(name):
    """The text of a faulty module, which has the name of the right one."""
    design, right, wrong, _ = FAULTS[name]
    text = texts([design])[design.name]
    if name == "swapped operands":
        ports = ", ".join(f"{port.direction} wire {port.range}{port.name}" for port in design.ports)
        swapped = {"a": "b", "b": "a"}
        links = ", ".join(f".{port.name}({swapped.get(port.name, port.name)})" for port in design.ports)
        inner = text.replace(f"module {design.name} ", "module inner ")
        return f"{inner}\nmodule {design.name} ({ports});\n  inner whole ({links});\nendmodule\n"
    if name == "stalled register moves":
        first = re.search(r"if \(enable\)|enable \?", text)
        assert first
        return text[: first.start()] + first[0].replace("enable", "1'b1") + text[first.end() :]
    assert text.count(right) == 1, (name, text.count(right))
    return text.replace(right, wrong)


def test_there_are_twenty():
    assert len(FAULTS) == 20


def failing(lines):
    return {match[1] for line in lines if (match := re.search(r", class (.*?): \d+ of \d+ \w+ differ", line))}


@pytest.mark.parametrize("name", [name if name == "stale register" else exhaustive(name) for name in FAULTS])
def test_a_fault_is_found_and_the_class_named(name, tmp_path, capsys):
    design, _, _, expected = FAULTS[name]
    file = tmp_path / "mine.v"
    file.write_text(faulty(name))
    words = ["simulate", *design.command().split(), "--verilog", str(file), "--vectors", "2000"]
    assert main([*words, "-o", str(tmp_path / "out")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert expected in failing(lines), (name, failing(lines))
    assert lines[0].startswith(f"{design.name}: differs from the reference model in ")
    assert f"repeat with: hwgen simulate {design.kind} " in lines[-1]


TIED = {
    "dot": (r"assign flags = ([^;]+);", r"assign flags = (\1) & 4'b1011;"),
    "pe": (r"assign overflow = [^;]+;", "assign overflow = 1'b0;"),
}


@pytest.mark.parametrize("kind", ["pe", exhaustive("dot")])
def test_sums_that_never_overflow_are_found(kind, tmp_path, capsys):
    """Exact sums overflow in the class that is named so, though it takes many products."""
    design = build(kind, "e2m1", accumulator="exact", lanes=2, flags=True)
    text, count = re.subn(*TIED[kind], texts([design])[design.name])
    assert count == 1
    file = tmp_path / "mine.v"
    file.write_text(text)
    words = ["simulate", *design.command().split(), "--verilog", str(file), "--vectors", "4000"]
    assert main([*words, "-o", str(tmp_path / "out")]) == 1
    assert "overflow" in failing(capsys.readouterr().out.splitlines())


def test_all_faults_under_one_top(tmp_path):
    """Each module has a name of its own; without classes of the bench, each mismatch still shows its class."""
    cases = []
    for number, name in enumerate(FAULTS):
        design = FAULTS[name][0]
        vectors = suite(design, 1000, np.random.default_rng(number))
        text = re.sub(rf"\b(module {design.name}|module inner|inner whole)\b", rf"\1_{number}", faulty(name))
        text = text.replace(f"inner whole_{number}", f"inner_{number} whole")
        whole = case(design, text, vectors.vectors, vectors.classes, name=f"{design.name}_{number}")
        cases.append(replace(whole, explain=None))
    outcome = simulate(cases, tmp_path, chosen_simulator(), waves=False)
    wrong = {match[1] for line in outcome.complaints if (match := re.match(r"(\w+): \d+ of \d+ \w+ differ", line))}
    assert wrong == {case.name for case in cases}
