"""`hwgen verify`: the same evidence for a user's own Verilog, for mapped cells, and in a folder that is gone on with."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hwgen import build, yosys
from hwgen.__main__ import main
from rtl_tests.blocks import texts
from synth import liberty
from synth.proof import netlist as module
from synth.proof.netlist import prove_mapping

GATES = Path(liberty.GATES)
FOREIGN = sorted((Path(__file__).resolve().parents[2] / "shared" / "liberty").glob("*.lib.gz"))
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
    assert set(record["hashes"]) == {"verilog", "golden"}
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
    record = json.loads((tmp_path / "evidence" / "mine.mine.json").read_text())
    assert record["verdict"] == "different"
    assert record["counterexamples"][0]["inputs"] == {"bits": "0x3c01"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--verilog", "{tmp}/none.v"], "--verilog: '{tmp}/none.v' cannot be read: No such file or directory"),
        (["--top", "x"], "--top: it goes with --verilog only"),
        (["--jobs", "0"], "--jobs must be at least 1, not 0"),
        (["--liberty", "{tmp}/none.lib"], "--liberty: {tmp}/none.lib cannot be read: No such file or directory"),
        (["--verilog", "{tmp}/ports.v", "--top", "ports"], "--verilog: ports must have the inputs bits[16], not x[16]"),
        (
            ["--verilog", "{tmp}/clocked.v", "--top", "clocked"],
            "--verilog: clocked must be combinational and made of gates only; it holds a cell of type $_DFF_P_",
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


def test_verilog_that_yosys_cannot_read_is_a_failure(tmp_path, capsys):
    file = tmp_path / "bad.v"
    file.write_text("module bad (;")
    assert main([*ENCODER, "--verilog", str(file), "--top", "bad", "-o", str(tmp_path)]) == 1
    assert "syntax error" in capsys.readouterr().err


@pytest.mark.parametrize("library", [GATES, *FOREIGN[-2:]], ids=lambda path: path.name)
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
@pytest.mark.parametrize("library", [GATES, *FOREIGN], ids=lambda path: path.name)
@pytest.mark.parametrize("name", ["hif8", "e5m2b1", "ocp_e4m3"])
def test_yosys_proves_the_mapping_of_macs(name, library):
    if "SIMPLE" not in library.name and "asap7" in library.name:
        pytest.skip("a part of a library, which is too little to map to alone")
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
