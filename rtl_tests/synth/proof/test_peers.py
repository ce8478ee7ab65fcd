"""Other people's modules: SystemVerilog with packages, several files, own ports, own clocks, and planted bugs."""

import json
import re
import shutil
import subprocess
from argparse import Namespace
from dataclasses import replace
from itertools import chain
from pathlib import Path
from shlex import split
from xml.etree import ElementTree

import pytest

from golden.refusal import BadValue
from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from hwgen.blocks.pe import Pe
from hwgen.simulate.simulators import available
from hwgen.sources import ListFile, sources
from rtl_tests.support.optional import NEEDS_ICARUS
from rtl_tests.support.paths import ROOT
from synth.proof import files
from synth.proof.elaborated import UnreadError, elaborate
from synth.proof.equivalence import are_equal
from synth.proof.gates import Gate, Netlist
from synth.proof.kinds import by_kind
from synth.proof.mapping import read

PEERS = ROOT / "rtl_tests" / "support" / "peers"
SMALL = "-D EXPONENT=2 -D FRACTION=1 -D HAS_NAN=0 -D EXACT=19"
"""Macros that make the peers those of e2m1, whose MAC into binary16 has 2^24 inputs."""
WITH_NAN = SMALL.replace("HAS_NAN=0 -D EXACT=19", "HAS_NAN=1 -D EXACT=18")
"""Those of e2m1_nan.toml, whose largest code is NaN."""
LINKS = "a=op_a_i,b=op_b_i,acc_in=acc_i,acc_out=acc_o"
READ = "read by slang and by Verilator"
NEEDS_VERILATOR = pytest.mark.skipif("verilator" not in available(), reason="Verilator is not installed")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A copy of the peers, in which commands run."""
    copy = tmp_path / "rtl"
    shutil.copytree(PEERS, copy)
    monkeypatch.chdir(copy)
    return copy


def run(capsys, words):
    """Status, output and errors of a command."""
    status = main(split(words))
    output = capsys.readouterr()
    return status, output.out, output.err


MAC = (
    f"mac --format e2m1 {SMALL} -f peers.f --verilog fp_mac.sv --top fp_mac --ports {LINKS}"
    ' --tie "mode_i=2\'b11" --parameter Mode=3'
)
PIPE = (
    f"mac --format e2m1 --stages 2 {SMALL} -f peers.f --verilog fp_mac.sv --verilog fp_mac_pipe.sv --top fp_mac_pipe"
    f" --ports clk=clk_i,rst=~rst_ni,in_valid=valid_i,out_valid=valid_o --ports {LINKS}"
)
STREAM = (
    f"mac --format e2m1 --stages 1 {SMALL} -f peers.f --verilog fp_mac.sv --verilog fp_mac_stream.sv"
    f" --top fp_mac_stream --handshake --ports clk=clk_i,rst=rst_i,in_valid=valid_i,in_ready=ready_o,{LINKS}"
    " --ports out_valid=valid_o,out_ready=ready_i"
)
DOT = (
    f"dot --format e2m1 --lanes 4 --accumulator exact {SMALL} -f peers.f --verilog fp_dot.sv --top fp_dot"
    " --ports a=a_i,b=b_i,acc_in=state_i,acc_out=state_o"
)
RIGHT = {
    "mac": (MAC, ["2^24", "not compared: busy_o[1]"]),
    "pipeline": (PIPE, ["2^24", "the asynchronous reset rst_ni is 1'b1, released before the first input"]),
    "stream": (STREAM, ["2^24", "the receiver is always ready: what the module does while it waits is not checked"]),
    "dot": (DOT, ["2^54", "every lane adds its product"]),
}


@NEEDS_VERILATOR
@pytest.mark.parametrize(("words", "phrases"), RIGHT.values(), ids=RIGHT)
def test_a_right_module_is_proved_from_its_own_files(folder, capsys, words, phrases):
    status, out, err = run(capsys, f"verify {words} -o evidence")
    assert status == 0, err + out
    assert all(phrase in out for phrase in [*phrases, "equal to the reference model on all", READ])
    record = json.loads(next(Path("evidence").glob("*.json")).read_text())
    assert READ in record["method"]
    assert record["command"].startswith(f"hwgen verify {words.split()[0]} --format e2m1 ")
    assert " -f peers.f --verilog " in record["command"]
    assert record["module"] == re.search(r"--top (\w+)", words)[1]


@NEEDS_VERILATOR
def test_a_loop_may_count_down(folder, capsys):
    package = Path("fp_pkg.sv").read_text()
    upwards = "foreach (x[i]) if (x[43-i]) leading_one = 6'(i);"
    assert upwards in package
    downwards = "for (int i = 43; i >= 0; i--) if (x[i]) leading_one = 6'(43 - i);"
    Path("fp_pkg.sv").write_text(package.replace(upwards, downwards))
    status, out, err = run(capsys, f"verify {MAC} -o evidence")
    assert (status, "equal to the reference model on all" in out) == (0, True), err + out


@NEEDS_VERILATOR
@pytest.mark.exhaustive
def test_a_mac_of_8_bits_is_proved(folder, capsys):
    words = MAC.replace("e2m1", "ocp_e4m3").replace(SMALL, "")
    status, out, err = run(capsys, f"verify {words} -o evidence")
    assert (status, "on all 2^32 inputs" in out) == (0, True), err + out


@NEEDS_VERILATOR
@pytest.mark.parametrize("words", [MAC, PIPE, STREAM, DOT], ids=RIGHT)
@pytest.mark.exhaustive
def test_the_same_files_are_simulated(folder, capsys, words):
    status, out, err = run(capsys, f"simulate {words} --sim verilator --vectors 500 -o simulation")
    assert (status, "equal to the reference model on" in out) == (0, True), err + out


PEER_FILES = {"mac": MAC, "pipeline": PIPE, "stream": STREAM, "dot": DOT}
STICKY = "sticky = |(lost & ~half);", "sticky = ~subtracts & |(lost & ~half);"
BYPASS = (
    "      2'(Mode): begin\n        if (",
    ("      2'(Mode): begin\n        if (is_zero(op_a_i) || is_zero(op_b_i)) acc_o = acc_i;\n        else if ("),
)
CARRY = "? -size : size", "? ~size : size"  # of the negation, which an exact subtraction needs
DROPPED = "| is_nan(b_i[lane]);", "| is_nan(b_i[lane]) & ~is_zero(a_i[lane]) & ~is_zero(a_i[3-lane]);"
SIGN = "return a.sign ^ b.sign ?", "return a.sign & ~b.sign ?"
BUGS = {
    f"{peer}, {bug}": (change, "fp_dot.sv" if peer == "dot" else "fp_mac.sv", words, kind)
    for peer, words in PEER_FILES.items()
    for bug, change, words, kind in (
        ("lost bit", CARRY if peer == "dot" else STICKY, words, "one unit in the last place"),
        (
            "zero bypass",
            DROPPED if peer == "dot" else BYPASS,
            words.replace(SMALL, WITH_NAN).replace("e2m1", "e2m1_nan.toml"),
            "number for NaN",
        ),
    )
}
BUGS["mac of 8 bits, zero bypass"] = (
    BYPASS,
    "fp_mac.sv",
    MAC.replace("e2m1", "ocp_e4m3").replace(SMALL, ""),
    "number for NaN",
)
BUGS["dot, sign"] = (SIGN, "fp_dot.sv", DOT, "larger error")


def plant(change, file):
    text = Path(file).read_text()
    assert change[0] in text
    Path(file).write_text(text.replace(*change))


@NEEDS_VERILATOR
@pytest.mark.parametrize(("change", "file", "words", "kind"), BUGS.values(), ids=BUGS)
def test_planted_bugs_are_found(folder, capsys, change, file, words, kind):
    plant(change, file)
    status, out, err = run(capsys, f"verify {words} -o evidence --junit verify.xml")
    assert status == 1, err + out
    assert out.splitlines()[0].endswith(": differs from the reference model")
    (record,) = (json.loads(path.read_text()) for path in Path("evidence").glob("*.json"))
    assert record["verdict"] == "different"
    kinds = [case["kind"] for case in record["counterexamples"]]
    assert kind in kinds
    assert kinds == [line.split(" (")[0].strip() for line in out.splitlines() if " vectors): " in line]
    assert len(kinds) == len(set(kinds))
    (failure,) = ElementTree.parse("verify.xml").getroot().iter("failure")
    assert f"{kind} (" in failure.text
    for case in record["counterexamples"]:
        wrong, right = case["wrong"], case["right"]
        ((port, word),) = right.items() - wrong.items()
        assert (int(word, 16) ^ int(wrong[port], 16)).bit_count() == 1
        sentence = f"with {port} {word} instead of {wrong[port]} it is right"
        assert case["sentence"].endswith(sentence)
        assert sentence in out
        assert sentence in failure.text
        assert wrong == case["inputs"] or " is wrong, too, but with " in case["sentence"]


@NEEDS_VERILATOR
@pytest.mark.parametrize(
    ("change", "file", "words", "kind"),
    [
        pytest.param(*bug, marks=() if name.endswith("lost bit") else pytest.mark.exhaustive, id=name)
        for name, bug in BUGS.items()
    ],
)
def test_planted_bugs_are_simulated(folder, capsys, change, file, words, kind):
    plant(change, file)
    status, out, err = run(capsys, f"simulate {words} --sim verilator -o simulation")
    assert (status, "differs from the reference model" in out) == (1, True), err + out
    assert re.search(rf" (vector|cycle)s differ \(seed 1\): .*\b{kind} \d+", out), out


REGISTERS = {
    "pipeline": (("acc_o <= sum;", "acc_o <= valid_o ? sum : '0;"), "fp_mac_pipe.sv", PIPE),  # of the inputs before
    "stream": (
        ("if (ready_o) acc_o <= sum;", "if (ready_o) acc_o <= sum ^ {15'd0, valid_o};"),
        "fp_mac_stream.sv",
        STREAM,
    ),
}


@NEEDS_VERILATOR
@pytest.mark.parametrize(("change", "file", "words"), REGISTERS.values(), ids=REGISTERS)
def test_results_that_depend_on_earlier_inputs_are_found(folder, capsys, change, file, words):
    plant(change, file)
    status, out, err = run(capsys, f"verify {words} -o evidence")
    assert (status, out) == (2, "")
    assert re.search(r" must have a latency of \d cycles? from every input to every output, as --stages says\n$", err)


OTHERS = {
    "reset from a gate with glitches": "always_ff @(posedge clk_i or posedge clear) if (clear) acc_o <= 0;",
    "load from a register": "always_ff @(posedge clk_i or posedge clear) if (clear) acc_o <= first.acc;",
}


@NEEDS_VERILATOR
@pytest.mark.parametrize("block", OTHERS.values(), ids=OTHERS)
def test_only_the_asynchronous_reset_that_is_tied_is_taken_for_inactive(folder, capsys, block):
    file = Path("fp_mac_pipe.sv")
    text = file.read_text()
    for old in ("      acc_o <= '0;\n", "      acc_o <= sum;\n"):
        assert text.count(old) == 1
        text = text.replace(old, "")
    wire = "  wire clear = first.a[0] & ~first.a[0];\n"
    file.write_text(text.replace("endmodule", f"{wire}  {block} else acc_o <= sum;\nendmodule"))
    status, out, err = run(capsys, f"verify {PIPE} -o evidence")
    assert (status, out) == (2, "")
    problem = "must have no asynchronous reset or load but the reset that --ports links\n"
    assert err.endswith(problem), err


@NEEDS_VERILATOR
def test_a_wrong_reading_of_verilator_is_found(folder, capsys, monkeypatch):
    def misread(text, top, code):
        plain, lines = elaborate(text, top, code)
        assert "&" in plain
        return plain.replace("&", "|"), lines

    monkeypatch.setattr(files, "elaborate", misread)
    status, out, err = run(capsys, f"verify {DOT} -o evidence")
    assert (status, out) == (2, "")
    assert "fp_dot must be understood alike by slang and Verilator" in err


def test_without_verilator_only_slang_reads_the_file(folder, capsys, monkeypatch):
    monkeypatch.setattr("synth.proof.elaborated.verilator_environment", lambda: {"PATH": ""})
    status, _, err = run(capsys, f"verify {DOT} -o evidence")
    assert status == 2
    assert "fp_dot must be read by two readers, and Verilator is not installed" in err
    assert "Yosys's own reader stops at fp_pkg.sv, line " in err


LINKED = {
    "missing": (
        LINKS.replace(",acc_in=acc_i", ""),
        "must say which input of fp_mac is acc_in[16]; it is missing; try --ports acc_in=acc_i",
    ),
    "unknown": (
        LINKS.replace("=acc_i", "=acc"),
        "must say which input of fp_mac is acc_in[16]; fp_mac has no input acc; try --ports acc_in=acc_i",
    ),
    "width": (
        LINKS.replace("=acc_o", "=busy_o"),
        "must link acc_out[16] to as many bits, not to busy_o[1]; try --ports acc_out=acc_o",
    ),
    "twice": (LINKS.replace("=op_b_i", "=op_a_i"), "and --tie must name op_a_i once"),
    "two of theirs": (f"{LINKS},acc_in=acc", "must name acc_in once"),
    "ours": (f"{LINKS},c=op_b_i", "must name ports of ours, a, b, acc_in, acc_out; 'c' is none"),
    "spelling": (
        f"{LINKS},a=1",
        "must be OURS=THEIRS, OURS=~THEIRS or OURS={THEIRS,...}, which 'a=1' is not",
    ),
}


@pytest.mark.parametrize(("links", "sentence"), LINKED.values(), ids=LINKED)
def test_links_that_do_not_fit(folder, capsys, links, sentence):
    status, _, err = run(capsys, f"verify {MAC.replace(LINKS, links)} -o evidence")
    assert (status, err) == (2, f"hwgen: --ports {sentence}\n")


TIED = {
    "nothing": ("", "--ports or --tie must name the input mode_i[2] of fp_mac"),
    "width": ('--tie "mode_i=3\'b0"', "--tie must give mode_i[2] as many bits, not 3'b0"),
    "too large": ("--tie mode_i=4", "--tie must give mode_i[2] as many bits, not 4"),
    "two constants": ("--tie mode_i=1 --tie mode_i=0", "--tie must name mode_i once"),
    "its own width": (
        '--tie "mode_i=2\'hff"',
        "--tie must have a number that fits its own size and base, not mode_i=2'hff",
    ),
    "base": ('--tie "mode_i=2\'b7"', "--tie must have a number that fits its own size and base, not mode_i=2'b7"),
    "spelling": ("--tie mode_i=x", "--tie must be PORT=CONSTANT, e.g. mode=2'b01, which 'mode_i=x' is not"),
}


@pytest.mark.parametrize(("ties", "sentence"), TIED.values(), ids=TIED)
def test_ties_that_do_not_fit(folder, capsys, ties, sentence):
    words = MAC.replace('--tie "mode_i=2\'b11"', ties)
    status, _, err = run(capsys, f"verify {words} -o evidence")
    assert (status, err) == (2, f"hwgen: {sentence}\n")


PARAMETERS = {
    "two values": ("--parameter Mode=2", "must name Mode once"),
    "its own width": ('--parameter "N=8\'shfff"', "must have a number that fits its own size and base, not N=8'shfff"),
    "base": ('--parameter "N=8\'o9"', "must have a number that fits its own size and base, not N=8'o9"),
    "no digit": ('--parameter "N=8\'d_"', "must have a number that fits its own size and base, not N=8'd_"),
    "no bits": ('--parameter "N=0\'d0"', "must have a number that fits its own size and base, not N=0'd0"),
}


@pytest.mark.parametrize(("words", "sentence"), PARAMETERS.values(), ids=PARAMETERS)
def test_parameters_that_do_not_fit(folder, capsys, words, sentence):
    status, _, err = run(capsys, f"verify {MAC} {words} -o evidence")
    assert (status, err) == (2, f"hwgen: --parameter {sentence}\n")


DECODER = "e2m1_decoder_binary16"
DECODE = "decoder --format e2m1 --verilog d.v --verilog u.v --top user"
"""A user's module u.v, which may contain the right decoder in d.v."""


@pytest.fixture
def user(tmp_path, monkeypatch):
    """Writes u.v; commands run beside it."""
    monkeypatch.chdir(tmp_path)
    Path("d.v").write_text(build("decoder", "e2m1").verilog())
    return Path("u.v").write_text


@pytest.mark.parametrize("command", ["verify", pytest.param("simulate --sim icarus", marks=NEEDS_ICARUS)])
@pytest.mark.parametrize("ready", ["1'b1", "1'b0", "code[0]"])
def test_a_module_without_valid_bits_must_be_ready(user, capsys, ready, command):
    user(
        "module user (input clk, input rst, input [3:0] code, output in_ready, input out_ready,"
        f" output reg [15:0] bits); wire [15:0] d; {DECODER} u (.code(code), .bits(d)); assign in_ready = {ready};"
        " always @(posedge clk) if (out_ready) bits <= d; endmodule"
    )
    verb, *words = command.split()
    status, out, err = run(
        capsys, f"{verb} {DECODE} {' '.join(words)} --stages 1 --handshake --ports in_ready={{in_ready}} -o out"
    )
    is_equal = "user: equal to the reference model on" in out
    assert (status == 0, is_equal) == (ready == "1'b1", ready == "1'b1"), err + out


def test_a_string_may_have_any_letters(user, capsys):
    """The module has our ports only if the readers get the whole string."""
    string = "a b;c'$HOME#//"
    user(
        f'module user #(parameter M = "x") (input [M == "{string}" ? 3 : 0:0] op, output [15:0] bits);'
        f" {DECODER} u (.code(op), .bits(bits)); endmodule"
    )
    words = [*f"verify {DECODE} --ports code=op -o out --parameter".split(), f'M="{string}"']
    assert main(words) == 2
    assert capsys.readouterr().err.startswith("hwgen: --verilog: user must not have // or /* in a string")
    string = string.removesuffix("//")
    Path("u.v").write_text(Path("u.v").read_text().replace("#//", "#"))
    assert main([*words[:-1], f'M="{string}"']) == 0


def test_ports_may_have_escaped_names(user, capsys):
    user(
        "module user (input \\op[0] , input \\op[1] , input \\op[2] , input \\op[3] , output [15:0] bits);"
        f" {DECODER} u (.code({{\\op[3] , \\op[2] , \\op[1] , \\op[0] }}), .bits(bits)); endmodule"
    )
    status, out, err = run(capsys, f"verify {DECODE} --ports code={{op[3],op[2],op[1],op[0]}} -o out")
    assert status == 0, err + out


def test_no_line_behind_the_files_is_blamed(user):
    user("module user;\nendmodule\n")
    text = sources(named(["u.v"]))
    assert text.place(2) == "line 2"
    assert text.place(4) == "the wrapper of --ports, --tie, --parameter, --handshake or --nan"
    assert text.named("module.v:4: ERROR") == "the wrapper of --ports, --tie, --parameter, --handshake or --nan: ERROR"


def named(verilog, **others):
    defaults = {"include": [], "define": [], "top": None, "parameter": [], "ports": [], "tie": [], "handshake": False}
    return Namespace(verilog=verilog, **{**defaults, **others})


def test_lines_of_several_files_know_their_places(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "d.vh").write_text("// d\nwire d;")
    (tmp_path / "a.v").write_text('wire a; `include "d.vh"\nwire b; // `include "e.vh"\n')
    (tmp_path / "b.sv").write_text('initial $display("`include \\"f\\"");\n')
    (tmp_path / "l.f").write_text("a.v // first\n+incdir+in +define+N=3\n")
    user = sources(named([ListFile(tmp_path / "l.f"), str(tmp_path / "b.sv")], define=["M"]))
    lines = user.text.splitlines()
    assert lines[:2] == ["`define M 1", "`define N 3"]
    places = {line.strip(): user.place(number) for number, line in enumerate(lines, 1)}
    assert places["wire a;"] == "a.v, line 1"
    assert places["wire d;"] == "d.vh, line 2"
    assert places['wire b; // `include "e.vh"'] == "a.v, line 2"
    assert places['initial $display("`include \\"f\\"");'] == "b.sv, line 1"
    number = lines.index("wire d;") + 1
    assert user.named(f"module.v:{number}: ERROR") == "d.vh:2: ERROR"
    assert user.main.name == "b.sv"


LISTS = {
    "itself": ("-f l.f", "hwgen: -f: .*l.f' contains itself"),
    "option": (
        "-sv a.v",
        "hwgen: -f: .*l.f' has -sv; allowed are files, -f, -F, -I, -D, [+]incdir[+] and [+]define[+]",
    ),
    "nothing": ("// a.v", "hwgen: -f must name a file of Verilog"),
    "open quote": ('a.v "', "hwgen: -f: .*l.f' cannot be read: no closing quotation"),
    "empty name": ('a.v ""', "hwgen: -f: .*l.f' has an empty name"),
    "long name": ("x" * 300, "hwgen: --verilog: 'x*' cannot be read: File name too long"),
    "missing": ("none.v", "hwgen: --verilog: .*none.v' cannot be read: No such file or directory"),
}


@pytest.mark.parametrize(("content", "sentence"), LISTS.values(), ids=LISTS)
def test_bad_lists(tmp_path, monkeypatch, capsys, content, sentence):
    monkeypatch.chdir(tmp_path)
    Path("l.f").write_text(content)
    status, _, err = run(capsys, "verify decoder --format e2m1 -f l.f")
    assert status == 2
    assert re.fullmatch(sentence + "\n", err)


def test_a_file_that_includes_itself(tmp_path):
    (tmp_path / "a.v").write_text('`include "a.v"\n')
    with pytest.raises(BadValue, match="includes itself"):
        sources(named([str(tmp_path / "a.v")]))


GUARDED = "`ifndef {0}_H\n`define {0}_H\n{1}\nin_{0}\n`endif\n"
INCLUDED = {
    "each other": '`include "a"\n`include "b"',
    "guard removed": '`include "c"\n`undef c_H\n`include "c"',
    "all guards removed": '`include "c"\n`undefineall\n`include "c"',
    "in a branch that is left out": '`ifdef N\n`include "a"\n`endif\n`include "a"\n`include "b"',
    "in one of two branches": '`ifdef N\n`include "c"\n`else\n`include "c"\n`endif\n`include "c"',
    "in a later branch": '`define M\n`ifdef N\n`include "c"\n`elsif M\n`include "c"\n`endif\n`include "c"',
    "guard of another file": '`define c_H\n`include "c"\n`include "a"',
    "guard in a branch": '`ifndef N\n`ifdef M\n`define c_H\n`endif\n`endif\n`include "c"',
    "guard removed in a branch": '`include "c"\n`ifndef N\n`undef c_H\n`endif\n`include "c"',
    "else of a guard": '`ifndef c_H\n`include "c"\n`else\nno\n`endif\n`ifndef c_H\nno\n`else\n`include "c"\n`endif',
    "guard with another branch": '`ifndef M\n`define c_H\n`else\n`undef c_H\n`endif\n`include "c"',
}


@NEEDS_ICARUS
@pytest.mark.parametrize("macros", [[], ["M"], ["N"], ["M", "N"], ["c_H"]])
@pytest.mark.parametrize("text", INCLUDED.values(), ids=INCLUDED)
def test_guarded_files_are_included_as_icarus_does(tmp_path, monkeypatch, text, macros):
    monkeypatch.chdir(tmp_path)
    for name, inside in {"a": '`include "b"', "b": '`include "a"', "c": ""}.items():
        Path(name).write_text(GUARDED.format(name, inside))
    Path("m.v").write_text(f"{text}\nend\n")

    def preprocessed(file):
        command = [
            "iverilog",
            "-E",
            *(f"-D{macro}=1" for macro in macros),
            "-o",
            str(tmp_path / "out"),
            Path(file).name,
        ]
        subprocess.run(command, check=True, capture_output=True, cwd=Path(file).parent)
        lines = Path("out").read_text().splitlines()
        return [line for line in lines if line and not line.startswith(("`line", "`define"))]

    Path("alone").mkdir()  # without the files to include, which Icarus then misses
    expected = preprocessed("m.v")
    assert expected[-1] == "end"
    Path("alone/m.v").write_text(sources(named(["m.v"], define=macros)).text)
    assert preprocessed("alone/m.v") == expected


def test_guarded_files_are_read_once_for_each_that_includes_them(tmp_path, monkeypatch):
    """Sixteen files that each include all later ones: without their guards, 2^15 files would be read."""
    monkeypatch.chdir(tmp_path)
    for place in range(16):
        later = "\n".join(f'`include "f{other}"' for other in range(place + 1, 16))
        Path(f"f{place}").write_text(GUARDED.format(f"f{place}", later))
    text = sources(named(["f0"])).text
    assert [text.count(f"in_f{place}\n") for place in range(16)] == [1, *range(1, 16)]


def test_too_many_files_are_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for place in range(15):
        Path(f"f{place}").write_text(f'`include "f{place + 1}"\n' * 10)
        Path(f"l{place}").write_text(f"-f l{place + 1}\n" * 10)
    Path("f15").write_text("wire x;\n")
    Path("l15").write_text("f15\n")
    for option, name in (("--verilog", "f"), ("-f", "l")):
        assert main(["verify", "decoder", "--format", "e2m1", option, f"{name}0"]) == 2
        most = "and the files before have more than 10000 files or 256 MiB with all they include"
        assert re.fullmatch(rf"hwgen: {option}: '{name}\d+' {most}\n", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("text", "words", "sentence"),
    [
        ('`include "/dev/zero"', "", "--verilog: 'm.v' includes '/dev/zero', which is no regular file"),
        ("// x \ry", "", "--verilog: 'm.v' must not have a carriage return without a line feed"),
        ('`include "nope.vh"', "--top m", "--verilog: 'm.v' includes 'nope.vh', which is not found"),
        (f'`include "{"x" * 300}"', "", f"--verilog: 'm.v' includes '{'x' * 300}', which is not found"),
        ('`ifndef x\n`include "nope.vh"\n`endif', "--top m", "--verilog: m must not use `file_notfound .*"),
        ("", f"-I {'x' * 300}", f"-I: '{'x' * 300}' is no folder"),
    ],
)
def test_what_cannot_be_included(tmp_path, monkeypatch, capsys, text, words, sentence):
    monkeypatch.chdir(tmp_path)
    Path("m.v").write_bytes(text.encode())
    status, _, err = run(capsys, f"verify decoder --format e2m1 --verilog m.v {words}")
    assert status == 2
    assert re.fullmatch(f"hwgen: {sentence}\n", err), err


@pytest.mark.parametrize(
    "option", ["-I .", "-D N", "--top t", "--parameter N=1", "--ports a=b", "--tie a=1", "--handshake"]
)
def test_options_that_need_a_file(capsys, option):
    status, _, err = run(capsys, f"verify decoder --format e2m1 {option}")
    assert (status, err) == (2, f"hwgen: {option.split()[0]} needs --verilog\n")


UNREAD = {
    "task": ("task t(output logic x); x = a; endtask always_comb t(y);", "TASK"),
    "stream": ("assign y = {<<{a}};", "STREAM"),
    "initial": ("initial y = a;", "initial value"),
    "value": ("logic k = 1; assign y = a & k;", "initial value"),
    "input": (
        "inner u (.y); endmodule module inner (input logic a = 1, output logic y); assign y = a;",
        "initial|value",
    ),
    "delay": ("assign #1 y = a;", "delay"),
    "while": ("logic [3:0] k; always_comb begin k = 0; y = 0; while (k < a) begin k = k + 2; y = ~y; end end", "loop"),
    "latch": ("always_latch if (a) y = a;", "always_latch"),
    "path": ("inner u (); assign y = u.k; endmodule module inner; logic k; assign k = 1;", "path|scope"),
    "real": ("real k; always_comb k = a; assign y = k > 1.0;", "type|translate"),
    "counter": (
        "integer i; always_comb begin y = 0; for (i = 0; i < 4; i++) if (a == i) break; y = i[0]; end",
        "use the counter of a loop after leaving it",
    ),
}


@NEEDS_VERILATOR
@pytest.mark.parametrize(("body", "problem"), UNREAD.values(), ids=UNREAD)
def test_what_is_not_translated_is_refused(body, problem):
    text = f"module top (input logic [2:0] a, output logic y);\n{body}\nendmodule\n"
    with pytest.raises(UnreadError) as caught:
        elaborate(text, "top", text)
    assert re.search(problem, caught.value.problem)
    assert caught.value.line == 2


def test_netlists_are_equal_if_their_functions_are():
    """Each gate of a decoder is replaced by another one: ABC says what an evaluation of all inputs says."""
    design = build("decoder", "e2m1")
    right = read(design.verilog(), design.name)
    cases = [{"code": code} for code in range(16)]
    changed = []
    for place, gate in enumerate(right.gates):
        if gate.kind in ("AND", "OR", "XOR"):
            other = Gate({"AND": "OR", "OR": "XOR", "XOR": "AND"}[gate.kind], gate.pins)
            changed.append(replace(right, gates=(*right.gates[:place], other, *right.gates[place + 1 :])))
    expected = [netlist.answers(cases) == right.answers(cases) for netlist in changed]
    assert not all(expected)
    assert [are_equal(right, netlist) for netlist in changed] == expected
    assert are_equal(right, right)
    assert not are_equal(right, replace(right, outputs={"other": sum(right.outputs.values())}))


def test_mismatches_are_counted_by_kind():
    """A MAC that returns its accumulator with another first bit: each kind has its first case, and its own sentence."""
    design = build("mac", "e2m1")
    right = read(design.verilog(), design.name)
    acc = right.input_nets("acc_in")
    wrong = replace(right, driven=(*right.driven[:-1], acc[-1]))  # the sign is that of the accumulator
    records = by_kind(design, wrong, [])
    kinds = [record["kind"] for record in records]
    assert {"sign of zero", "larger error", "NaN payload"} <= set(kinds)
    assert len(set(kinds)) == len(kinds)
    for record in records:
        assert record["count"] > 0
        assert record["sentence"].startswith(f"{record['kind']} ({record['count']:,} of ")
        pins, got, golden = (
            {port: int(word, 16) for port, word in record[key].items()} for key in ("inputs", "got", "golden")
        )
        assert wrong.evaluate(pins) == got != golden
    assert isinstance(wrong, Netlist)
    assert list(chain(right.driven[:-1], acc[-1:])) == list(wrong.driven)


@pytest.mark.parametrize("kind", ["AND", "NAND"])
def test_a_mismatch_has_two_neighbours_of_which_one_is_right(kind):
    """One bit makes the first wrong code of AND right; those of NAND without both bits are two away."""
    design = build("decoder", "ocp_e4m3")
    right = read(design.verilog(), design.name)
    net, code = right.first_gate + len(right.gates), right.input_nets("code")
    gates = Gate(kind, (code[3], code[4])), Gate("XOR", (right.driven[0], net))
    wrong = replace(right, gates=(*right.gates, *gates), driven=(net + 1, *right.driven[1:]))
    records = by_kind(design, wrong, [])
    assert records
    for record in records:
        here, start, end = (record[key]["code"] for key in ("inputs", "wrong", "right"))
        is_wrong = [
            wrong.evaluate({"code": int(word, 16)}) != right.evaluate({"code": int(word, 16)}) for word in (start, end)
        ]
        assert is_wrong == [True, False]
        assert (int(start, 16) ^ int(end, 16)).bit_count() == 1
        way = "" if start == here else f"code {start} is wrong, too, but "
        assert record["sentence"].endswith(f"); {way}with code {end} instead of {start} it is right")
    assert (records[0]["inputs"] == records[0]["wrong"]) == (kind == "AND")


def test_a_module_that_is_never_right_has_no_neighbours():
    design = build("decoder", "ocp_e4m3")
    right = read(design.verilog(), design.name)
    net = right.first_gate + len(right.gates)
    inverted = replace(right, gates=(*right.gates, Gate("NOT", right.driven[:1])), driven=(net, *right.driven[1:]))
    for record in by_kind(design, inverted, []):
        assert record.keys().isdisjoint({"wrong", "right"})
        assert "it is right" not in record["sentence"]


# -- variants of sums


FLUSHING = f"mac --format e2m1 {SMALL} -f peers.f --verilog fp_mac_flushing.sv --top fp_mac_flushing --ports {LINKS}"
TRUNCATING = {
    "NaN payload": "--nan any",
    "infinity": "--accumulator-overflow infinity",
    "one unit in the last place": "--accumulator-rounding toward_zero",
    "larger error": "--daz all",
}
"""The variants of the peer, and what is wrong without them."""
SATURATING = {
    "NaN payload": "--nan any",
    "infinity": "--accumulator-overflow saturate",
    "larger error": "--ftz before_rounding",
}
CHANGED = "--parameter Daz=0 --parameter Truncates=0 --parameter Saturates=1"
"""The peer to the nearest, with saturation, and with subnormal operands."""


@NEEDS_VERILATOR
@pytest.mark.parametrize(
    ("words", "variants", "missing"),
    [
        pytest.param(
            words, variants, missing, marks=() if missing in (None, "larger error") else pytest.mark.exhaustive
        )
        for words, variants in (("", TRUNCATING), (CHANGED, SATURATING))
        for missing in (None, *variants)
    ],
)
def test_each_variant_is_needed(folder, capsys, words, variants, missing):
    chosen = " ".join(word for kind, word in variants.items() if kind != missing)
    status, out, err = run(capsys, f"verify {FLUSHING} {words} {chosen} -o evidence")
    assert status == (missing is not None), err + out
    if missing is None:
        assert "equal to the reference model on all 2^24 inputs" in out
        assert "any NaN is right where the model has one" in out
        record = json.loads(next(Path("evidence").glob("*.json")).read_text())
        assert all(word in record["command"] for word in variants.values())
    else:
        assert missing in [line.split(" (")[0].strip() for line in out.splitlines() if " vectors): " in line]


WIDE = "mac --accumulator binary32 --verilog fp32_mac.v --top fp32_mac"
LARGE = """
name = "large"
width = 4
cite = "e2m1 times 2^61"
rows = [
    { prefix = "00", exponent = { rule = "fixed", exponent = 61 }, fraction_bits = 1, hidden = 0 },
    { prefix = "", exponent = { rule = "biased", bits = 2, bias = -60 }, fraction_bits = 1 },
]
"""
"""A format whose products overflow."""
WITH_LARGE = "--format large.toml --parameter Least=247"


@pytest.mark.parametrize(
    ("words", "variants", "missing"),
    [
        pytest.param(words, variants, missing, marks=() if missing == "larger error" else pytest.mark.exhaustive)
        for words, variants in (("", TRUNCATING), (CHANGED, SATURATING))
        for missing in (None, *variants)
    ],
)
def test_each_variant_is_needed_into_binary32(folder, capsys, words, variants, missing):
    """Proofs: all 2^40 inputs."""
    Path("large.toml").write_text(LARGE)
    chosen = " ".join(word for kind, word in variants.items() if kind != missing)
    expected = f" {missing} (" if missing else "equal to the reference model on all 2^40 inputs"
    for formats in {None: ("--format e2m1", WITH_LARGE), "infinity": (WITH_LARGE,)}.get(missing, ("--format e2m1",)):
        status, out, err = run(capsys, f"verify {WIDE} {formats} {words} {chosen} -o evidence")
        assert status == (missing is not None), err + out
        assert expected in out


@NEEDS_VERILATOR
@pytest.mark.exhaustive
def test_variants_are_simulated(folder, capsys):
    chosen = " ".join(TRUNCATING.values())
    for words, status in ((chosen, 0), (chosen.replace("--daz all", ""), 1)):
        assert run(capsys, f"simulate {FLUSHING} {words} --sim verilator --vectors 2000 -o simulation")[0] == status


def test_a_proof_that_does_not_know_a_variant_says_so(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("d.v").write_text(build("dot", "e2m1", lanes=4, name="d").verilog())
    words = "verify dot --format e2m1 --lanes 4 --verilog d.v --top d -o evidence"
    status, out, err = run(capsys, f"{words} --ftz before_rounding")
    assert status == 1, err + out
    assert "d: no method reaches all 2^48 inputs; " in out
    assert "the proof does not support the option ftz" in out
    status, out, err = run(capsys, f"{words} --nan any")
    assert (status, "equal to the reference model on all 2^48 inputs" in out) == (0, True), err + out


FOR_OTHERS = "is for other people's modules, which verify, simulate and compare take with --verilog"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("generate mac --format e2m1 --daz all", f"--daz 'all' {FOR_OTHERS}"),
        ("area dot --format e2m1 --ftz after_rounding", f"--ftz 'after_rounding' {FOR_OTHERS}"),
        (
            "verify mac --format e2m1 --accumulator-rounding toward_zero --model",
            f"--accumulator-rounding 'toward_zero' {FOR_OTHERS}",
        ),
        ("build modules.toml", f"FILE: 'modules.toml': module 1: daz 'codes' {FOR_OTHERS}"),
        (
            "sweep space.toml",
            "FILE: 'space.toml': dot: no combination of format and options is valid; the first one fails: "
            f"dot.daz 'codes' {FOR_OTHERS}",
        ),
        ("simulate mac --format e2m1 --nan any", "--nan needs --verilog"),
        (
            "verify mac --format e2m1 --accumulator exact --nan any --verilog fp32_mac.v",
            "--nan 'any' needs an accumulator with IEEE 754's NaNs, not 'exact'",
        ),
        (
            "verify mac --format e2m1 --accumulator dlfloat16 --nan any --verilog fp32_mac.v",
            "--nan 'any' needs an accumulator with IEEE 754's NaNs, not 'dlfloat16'",
        ),
        ("verify mac --format e2m1 --flags --daz all --verilog f.v", "--daz 'all' cannot be combined with flags"),
    ],
)
def test_variants_are_refused(folder, capsys, words, sentence):
    Path("modules.toml").write_text('[[module]]\nblock = "mac"\nformat = "e2m1"\ndaz = "codes"\n')
    Path("space.toml").write_text('formats = ["e2m1"]\n[dot]\ndaz = ["codes"]\n')
    before = sorted(Path().rglob("*"))
    assert run(capsys, words) == (2, "", f"hwgen: {sentence}\n")
    assert sorted(Path().rglob("*")) == before


def test_no_hardware_has_variants():
    design = build("mac", "e2m1", accumulator_overflow="saturate", daz="codes")
    assert design.name == "e2m1_mac_binary16_saturate_daz_codes"
    assert design.ours.name == "e2m1_mac_binary16"
    for write in (design.verilog, lambda: design.core.elaborate(None), lambda: Pe("e2m1", daz="codes")):
        with pytest.raises(BadValue, match=FOR_OTHERS):
            write()
