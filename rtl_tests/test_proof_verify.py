"""`hwgen verify`: the same evidence for a user's own Verilog, for mapped cells, and in a folder that is gone on with."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from hwgen import build, yosys
from hwgen.__main__ import main
from rtl_tests.blocks import texts
from rtl_tests.optional import WHOLE
from synth import liberty
from synth.proof import mapping as module
from synth.proof.evidence import Store
from synth.proof.mapping import prove_mapping
from synth.proof.verify import Subject, begin

GATES = liberty.GATES
ENCODER = ["verify", "encoder", "--format", "hif8", "--from", "binary16"]


def own(tmp_path, design, change=lambda text: text, top="mine"):
    """A user's file: the emitted text under another name, changed."""
    text = change(texts([design])[design.name]).replace(f"module {design.name} ", f"module {top} ")
    file = tmp_path / "mine.v"
    file.write_text(text)
    return ["--verilog", str(file), "--top", top, "-o", str(tmp_path / "evidence")]


def test_the_emitted_module_is_equal(tmp_path, capsys):
    assert main([*ENCODER, "-o", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("hif8_encoder_binary16_ties_to_away: equal to golden on all 2^16 inputs, in ")
    record = json.loads((tmp_path / "hif8_encoder_binary16_ties_to_away.json").read_text())
    assert (record["verdict"], record["cases"], record["inputs"]) == ("equal", 65536, 65536)
    assert record["method"] == "every input, evaluated on the gates"
    assert set(record["hashes"]) == {"verilog", "formats", "golden", "checks"}
    assert set(record["tools"]) == {"yosys", "numpy", "python", "compiler"}
    assert record["command"] == "hwgen verify encoder --format hif8 --from binary16 --rounding ties_to_away --overflow infinity"
    assert main([*ENCODER, "-o", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "equal"


def test_a_users_own_file_is_held_against_golden(tmp_path, capsys):
    design = build.encoder("hif8", "binary16")
    assert main([*ENCODER, *own(tmp_path, design)]) == 0
    assert capsys.readouterr().out.startswith("mine: equal to golden on all 2^16 inputs")
    broken = own(tmp_path, design, lambda text: text.replace("assign code = ", "assign code = (bits == 16'h3c01) ? 8'h09 : "))
    assert main([*ENCODER, *broken]) == 1
    out = capsys.readouterr().out
    assert "mine: differs from golden\n  bits 0x3c01: code 0x9, golden code 0x8 (1.000976562 " in out
    record = json.loads((tmp_path / "evidence" / "mine.mine.v.json").read_text())
    assert record["verdict"] == "different"
    assert record["counterexamples"][0]["inputs"] == {"bits": "0x3c01"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--verilog", "{tmp}/none.v"], "--verilog: '{tmp}/none.v' cannot be read: No such file or directory"),
        (["--top", "x"], "--top: it goes with --verilog only"),
        (["--jobs", "0"], "--jobs must be at least 1, not 0"),
        (["--liberty", "{tmp}/none.lib"], "--liberty: {tmp}/none.lib cannot be read: No such file or directory"),
        (
            ["--liberty", str(GATES), "--liberty", f"{GATES},{GATES}"],
            "--liberty: a module is mapped to one library; there are commas between the files of one",
        ),
        (["--verilog", "{tmp}/ports.v", "--top", "ports"], "--verilog: ports must have the inputs bits[16], not x[16]"),
        (
            ["--verilog", "{tmp}/clocked.v", "--top", "clocked"],
            "--verilog: clocked must be combinational; it holds a register or latch ($dff)",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(tmp_path, capsys, words, sentence):
    (tmp_path / "ports.v").write_text("module ports (input [15:0] x, output [7:0] code); assign code = x[7:0]; endmodule")
    (tmp_path / "clocked.v").write_text(
        "module clocked (input [15:0] bits, output reg [7:0] code); always @(posedge bits[0]) code <= bits[8:1]; endmodule"
    )
    folder = tmp_path / "evidence"
    assert main([*ENCODER, "-o", str(folder), *(word.replace("{tmp}", str(tmp_path)) for word in words)]) == 2
    assert capsys.readouterr().err == f"hwgen: {sentence.replace('{tmp}', str(tmp_path))}\n"
    assert not folder.exists() or not list(folder.iterdir())


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("assign code = ;", "syntax error"),
        ("wire [7:0] n; assign code = n;", "is used but has no driver"),
        ("assign code = bits[7:0]; assign code = bits[15:8];", "multiple conflicting drivers"),
        ("wire n; assign n = n & bits[0]; assign code = {8{n}};", "found logic loop"),
        ("reg r; always @(posedge bits[0]) r <= 1; assign code = {8{r}};", "it holds a register or latch ($dff)"),
        ("reg r; always @* if (bits[0]) r = 1; assign code = {8{r}};", "it holds a register or latch ($adlatch)"),
        ("assign code = bits[0] ? 8'h00 : 8'hzz;", "must not use the value z"),
        ("assign code = bits[0] ? 8'h00 : 8'hxx;", "outputs that may depend on the undefined value x"),
        ("missing m (bits, code);", "missing"),
    ],
)
def test_what_simulators_and_synthesis_see_differently_is_refused(tmp_path, capsys, body, sentence):
    file = tmp_path / "mine.v"
    file.write_text(f"module mine (input [15:0] bits, output [7:0] code); {body} endmodule")
    assert main([*ENCODER, "--verilog", str(file), "--top", "mine", "-o", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("hwgen: --verilog: mine ")
    assert sentence in said
    assert not list(tmp_path.glob("*.json"))


@pytest.mark.parametrize("top", ["", "mine; log hi", "x\nwrite_verilog y.v", "\\a/b ", "nope"])
def test_a_top_that_is_none_is_refused(tmp_path, capsys, top):
    file = tmp_path / "mine.v"
    file.write_text(texts([build.encoder("hif8", "binary16")])["hif8_encoder_binary16_ties_to_away"])
    assert main([*ENCODER, "--verilog", str(file), "--top", top, "-o", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_what_was_covered_for_one_block_counts_for_no_other(tmp_path):
    """A file that is right for half of the inputs under one option, and for the other half under another, is wrong for both."""
    designs = [build.encoder("hif8", overflow=overflow) for overflow in ("saturate", "infinity")]
    store = Store(tmp_path)
    subjects = [Subject(design, "some text", "mine", "mine.v", (), f"hwgen verify {design.command()}") for design in designs]
    partial = begin(subjects[0], store)
    partial.done, partial.cases = [0, 1], 1 << 25
    store.save(partial)
    assert begin(subjects[0], store).done == [0, 1]
    assert begin(subjects[1], store).done == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("done", [0, 0]),
        ("done", [-1]),
        ("done", None),
        ("done", ["0"]),
        ("seconds", "x"),
        ("seconds", -1.0),
        ("cases", "all"),
        ("hashes", []),
    ],
)
def test_a_record_that_is_none_counts_for_nothing(tmp_path, key, value):
    store, this = Store(tmp_path), Subject(build.encoder("hif8"), "some text", "mine", "mine.v", (), "")
    partial = begin(this, store)
    store.save(partial)
    path = store.path(partial.name)
    path.write_text(json.dumps({**json.loads(path.read_text()), "done": [3], key: value}))
    assert begin(this, store).done == []


def test_equal_needs_every_input(tmp_path):
    store, this = Store(tmp_path), Subject(build.encoder("hif8"), "some text", "mine", "mine.v", (), "")
    partial = begin(this, store)
    partial.verdict, partial.cases = "equal", 5
    store.save(partial)
    assert begin(this, store).verdict == "incomplete"


def test_a_compiler_that_does_not_compile_is_not_used(tmp_path):
    command = [sys.executable, "-m", "hwgen", *ENCODER[:-2], "--from", "bfloat16", "-o", str(tmp_path)]
    done = subprocess.run(command, env={**os.environ, "CXX": "/bin/false"}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "library",
    [
        pytest.param(GATES, id=GATES.name),
        *(pytest.param(*one.values, marks=[*one.marks, pytest.mark.exhaustive], id=one.id) for one in WHOLE),
    ],
)
def test_mapped_cells_are_checked_by_their_own_functions(tmp_path, capsys, library):
    assert main(["verify", "mac", "--format", "e5m2_nosub", "--liberty", str(library), "-o", str(tmp_path), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["verdict"], record["cases"]) == ("equal", 1 << 32)
    assert record["libraries"] == [liberty.read(library).name]
    assert "libraries" in record["hashes"]


def test_a_cell_with_a_wrong_function_is_found():
    """The cells are taken for what the library says they do, not for what they were chosen for."""
    text = GATES.read_text()
    design = build.decoder("hif8")
    wrong = liberty.parse(text.replace('function : "!(A&B)"', 'function : "!(A|B)"', 1), "wrong")
    assert wrong.text != text
    files, _, cells = module._mapped(texts([design])[design.name], design.name, [liberty.read(GATES)], False)
    assert "NAND2 " in cells
    script = module._cells_script(design.name, files) + "write_json netlist.json"
    right, other = (
        module.parse(yosys.run(script, {"cells.v": cells, "cells0.lib": lib}, ["netlist.json"])["netlist.json"], design.name)
        for lib in (text, wrong.text)
    )
    assert any(right.evaluate({"code": code}) != other.evaluate({"code": code}) for code in range(256))


@pytest.mark.parametrize("kind", ["decoder", "encoder"])
def test_yosys_proves_the_mapping_by_itself(kind):
    design = build.BLOCKS[kind]("hif8")
    assert "Equivalence successfully proven!" in prove_mapping(texts([design])[design.name], design.name, [liberty.read(GATES)])


@pytest.mark.exhaustive
@pytest.mark.parametrize("library", [pytest.param(GATES, id=GATES.name), *WHOLE])
@pytest.mark.parametrize("name", ["hif8", "e5m2b1", "ocp_e4m3"])
def test_yosys_proves_the_mapping_of_macs(name, library):
    """With every library that is whole in one file."""
    design = build.mac(name)
    assert "Equivalence successfully proven!" in prove_mapping(texts([design])[design.name], design.name, [liberty.read(library)])


def test_a_killed_run_goes_on(tmp_path):
    """Killed without a chance to say anything, a run leaves what it has covered, and no verdict."""
    command = [sys.executable, "-m", "hwgen", "verify", "encoder", "--format", "hif8", "-o", str(tmp_path)]
    file = tmp_path / "hif8_encoder_binary32_ties_to_away.json"
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        for _ in range(600):
            if file.exists() and json.loads(file.read_text())["cases"]:
                break
            time.sleep(0.1)
        process.kill()
    record = json.loads(file.read_text())
    assert record["verdict"] == "incomplete"
    assert 0 < record["cases"] < 1 << 32
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode in (0, 130)
    if process.returncode == 130:
        assert out == ""
        assert "no verdict; run the same command again to go on" in err
        later = json.loads(file.read_text())
        assert later["cases"] >= record["cases"]
        assert set(later["done"]) >= set(record["done"])
