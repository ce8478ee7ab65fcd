"""``hwgen simulate``: every block passes, faults are reported, and bad input is refused."""

import errno
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from cocotb_tools.runner import get_results

import golden
from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from hwgen.cli import simulate as command
from hwgen.coverage.suite import suite
from hwgen.simulate.simulators import SIMULATORS, available
from hwgen.tools.files import reserved
from rtl_tests.hwgen.simulate.test_faults import MAC, faulty
from rtl_tests.support.bench import simulate
from rtl_tests.support.blocks import suite_case, texts
from rtl_tests.support.optional import NEEDS_ICARUS
from rtl_tests.support.paths import ROOT
from rtl_tests.support.processes import running, wait_until
from rtl_tests.support.selection import exhaustive

TOML = str(ROOT / "examples" / "formats" / "e3m2b1.toml")
"""A user's format of 6 bits."""
FORMAT = golden.get(TOML)
ROUNDINGS = [str(rounding) for rounding in FORMAT.roundings]
ACCUMULATORS = (*golden.ACCUMULATORS, "aligned13")
COMMANDS = [
    *(f"decoder --to {target}" for target in ("binary16", "binary32", "unpacked")),
    *(f"encoder --rounding {rounding}" for rounding in ROUNDINGS),
    *(f"encoder --from binary16 --rounding {rounding} --flags" for rounding in ROUNDINGS[:3]),
    "encoder --from bfloat16 --stages 2 --clock-enable --nan-to-zero",
    *(f"mac --accumulator {name} --stages {stages}" for name in ACCUMULATORS for stages in (0, 2)),
    "mac --scale-bits 4 --flags --stages 1 --reset none",
    *(f"dot --lanes 4 --accumulator {name}" for name in ("binary16", "exact", "aligned13")),
    "dot --lanes 3 --accumulator binary32 --block-scale e8m0 --stages 2",
    *(f"pe --accumulator {name}" for name in ("binary16", "binary32", "exact")),
    "pe --lanes 2 --stages 3 --interleave 2 --flags",
    *(f"readout --to {target}" for target in ("binary16", "binary32", TOML)),
    f"readout --to {TOML} --rounding stochastic --random-bits 5 --stages 1",
    "quantizer --lanes 4",
    f"amax --lanes 3 --from {TOML} --nan ignore --stages 1",
    "quantizer --from bfloat16 --policy nearest --stages 1",
]
"""Blocks with their options, without the format."""
SOME = ("encoder --rounding stochastic",)


@pytest.mark.parametrize(
    ("block_words", "simulator"),
    [
        pytest.param(words, name, marks=() if words in SOME and name == "icarus" else pytest.mark.exhaustive)
        for words in COMMANDS
        for name in SIMULATORS
    ],
)
def test_every_block_passes(block_words, simulator, tmp_path, capsys):
    if simulator not in available():
        pytest.skip(f"{simulator} is not installed")
    junit = tmp_path / "results" / "junit.xml"
    words = [*block_words.split(), "--sim", simulator, "--vectors", "1500", "--junit", str(junit)]
    block, *options = words
    assert main(["simulate", block, "--format", TOML, *options, "-o", str(tmp_path)]) == 0
    verdict, classes, coverage = capsys.readouterr().out.splitlines()
    assert re.search(rf": equal to the reference model on \d+ \w+ of \d+ class(es)? in {simulator}, ", verdict)
    assert re.fullmatch(r"  coverage: \d+ of \d+ bins hit(, \d+ cannot be reached)?", coverage)
    tests, failures = get_results(junit)
    assert (tests, failures) == (len(re.findall(r"\d+(?:, |$)", classes)), 0)


@pytest.mark.parametrize("simulator", available())
def test_some_blocks_pass_under_one_top(simulator, tmp_path):
    """In Verilator a build of each would take long."""
    designs = [
        build("mac", TOML, stages=2),
        build("pe", TOML, stages=1, flags=True),
        build("decoder", "ocp_e4m3+ocp_e5m2", target="unpacked"),
    ]
    texts(designs)
    simulate([suite_case(design) for design in designs], tmp_path, simulator)


def wrong_mac(folder: Path) -> Path:
    """The MAC of HiFloat8 with ties away from zero."""
    design, text = MAC, faulty("ties away")
    file = folder / "my mac.v"
    file.write_text(text.replace(f"module {design.name} ", "module my_mac "))
    return file


@NEEDS_ICARUS
def test_a_mismatch_is_reported_and_can_be_repeated(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = wrong_mac(tmp_path)
    words = ["mac", "--format", "hif8", "--vectors", "700", "--seed", "5", "--waves", "--coverage", "--sim", "icarus"]
    junit = tmp_path / "junit.xml"
    whole = ["simulate", *words, "--verilog", file.name, "--top", "my_mac", "--junit", str(junit), "-o", "out"]
    assert main(whole) == 1
    first = capsys.readouterr().out
    assert re.match(r"my_mac: differs from the reference model in icarus, 700 vectors of 8 classes\n", first)
    assert re.search(
        r"\n  my_mac, class ties: \d+ of 50 vectors differ \(seed 5\): one unit in the last place \d+", first
    )
    assert re.search(r"\n    vector \d+: a=0x\w+, b=0x\w+, acc_in=0x\w+, acc_out=0x\w+ \(expected 0x\w+\)\n", first)
    assert re.search(r"\n      a 0x\w+ = sign .*; acc_in .*; acc_out .*; expected ", first)
    assert re.search(r"\nrounding of a normal sum +\d  +5", first)
    waves = re.search(r"waves of my_mac, vectors \d+ to \d+, each for 1000000 steps of time: (.*)\n", first)
    assert waves
    assert Path(waves[1]).stat().st_size > 0
    repeat = re.search(r"  repeat with: hwgen (simulate mac .*)\n", first)
    assert repeat
    assert repeat[1].endswith("--seed 5 --verilog 'my mac.v' --top my_mac --waves")
    tests, failures = get_results(junit)
    assert tests == 8
    assert 0 < failures < 8
    assert '<testcase classname="hwgen_compare" name="ties"' in junit.read_text()
    shell = subprocess.run(
        [sys.executable, "-m", "hwgen", *shlex.split(repeat[1])],
        capture_output=True,
        text=True,
        check=False,
    )
    assert shell.returncode == 1, shell.stderr
    assert shell.stdout.splitlines()[1:4] == first.splitlines()[1:4]


STALLED = {
    "clock enable": ("--clock-enable", "if (enable) ", "input wire enable,", ""),
    "refused": ("--handshake", "", "output wire in_ready, input wire out_ready,", "assign in_ready = ~code[0];"),
}


@NEEDS_ICARUS
@pytest.mark.parametrize(("option", "enabled", "port", "more"), STALLED.values(), ids=STALLED)
def test_a_vector_that_is_stalled_counts_once(option, enabled, port, more, tmp_path, capsys, monkeypatch):
    """Wrong codes count as often as the module takes them, though a stalled result is compared in each cycle."""
    monkeypatch.chdir(tmp_path)
    wrong = " ^ {15'd0, code[0]}" if enabled else ""
    Path("m.v").write_text(
        build("decoder", "e2m1").verilog()
        + f"""module mine (input wire clk, input wire rst, {port} input wire in_valid, input wire [3:0] code,
          output reg out_valid, output reg [15:0] bits);
          wire [15:0] now; e2m1_decoder_binary16 d (.code(code), .bits(now)); {more}
          always @(posedge clk) if (rst) out_valid <= 1'b0;
            else {enabled}begin out_valid <= in_valid; bits <= now{wrong}; end
        endmodule"""
    )
    words = f"--vectors 400 --seed 3 --sim icarus --verilog m.v --top mine --stages 1 {option} -o out"
    assert main(["simulate", "decoder", "--format", "e2m1", *words.split()]) == 1
    out = capsys.readouterr().out
    counts = re.findall(r"class .*: (\d+) of \d+ cycles differ \(seed 3\): ", out)
    vectors = suite(
        build("decoder", "e2m1", stages=1, clock_enable=bool(enabled)), 400, np.random.default_rng(3)
    ).vectors
    taken = (vectors["in_valid"] == 1) & (vectors["rst"] == 0) & (vectors["code"] % 2 == 1)
    if enabled:
        taken &= vectors["enable"] == 1
    assert sum(map(int, counts)) == taken.sum() > 5


@pytest.mark.parametrize("source", ["binary32", "bfloat16"])
def test_an_encoder_gets_as_many_vectors_as_asked_for(source):
    """More than there are boundaries, or bits of a 16-bit source."""
    for count in (300, 80_000 if source == "bfloat16" else 20_000):
        design = build("encoder", "e2m1", source=source, rounding="stochastic")
        vectors = suite(design, count, np.random.default_rng(1))
        assert sum(vectors.classes.values()) == count
        assert vectors.classes["random"] >= count // 2


def test_a_seed_makes_other_vectors_and_the_same_seed_the_same():
    design = build("encoder", "hif8")
    first, again, other = (suite(design, 300, np.random.default_rng(seed)).rows() for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_older_results_are_removed(tmp_path, monkeypatch):
    """An interrupted run must not leave the results of an earlier one."""
    junit, results = tmp_path / "junit.xml", tmp_path / "e2m1_decoder_binary16" / "results.xml"
    results.parent.mkdir()
    for file in (junit, results):
        file.write_text("old")
    monkeypatch.setattr(command, "simulate", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
    assert main(["simulate", "decoder", "--format", "e2m1", "--junit", str(junit), "-o", str(tmp_path)]) == 130
    assert not junit.exists()
    assert not results.exists()


def test_results_may_go_to_a_pipe(tmp_path):
    """A device, or a link such as /dev/stdout, is not removed before the run."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        reader = os.open(tmp_path / name, os.O_RDONLY | os.O_NONBLOCK)
        words = ["--junit", str(tmp_path / name), "-o", str(tmp_path / "out")]
        assert main(["simulate", "decoder", "--format", "e2m1", *words]) == 0
        assert os.read(reader, 1 << 16).startswith(b"<?xml")
        os.close(reader)
        assert (tmp_path / name).is_fifo()


def test_a_full_disk_leaves_no_half_of_a_file(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert main(["simulate", "decoder", "--format", "e2m1", "-o", str(tmp_path)]) == 1
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_the_record_of_coverage(tmp_path):
    assert main(["simulate", "decoder", "--format", "e2m1", "-o", str(tmp_path)]) == 0
    record = json.loads((tmp_path / "e2m1_decoder_binary16" / "coverage.json").read_text())
    assert record["command"] == "decoder --format e2m1 --to binary16"
    assert sum(record["classes"].values()) == 16
    points = {point["point"]: point["bins"] for point in record["points"]}
    assert [row["hits"] for row in points["code"]] == [1] * 16
    assert all(row["reachable"] == (row["hits"] > 0) for bins in points.values() for row in bins)
    assert record["bins"] == sum(map(len, points.values()))
    assert record["hit"] == sum(row["hits"] > 0 for bins in points.values() for row in bins)
    assert record["missing"] == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--vectors", "0"], "--vectors must be an integer from 1 to 1000000, not 0"),
        (["--vectors", "many"], "argument --vectors: invalid int value: 'many'"),
        (["--seed", "-1"], "--seed must be an integer from 0 to 9223372036854775807, not -1"),
        (["--sim", "modelsim"], "argument --sim: invalid choice: 'modelsim'"),
        (["--until", "bored"], "argument --until: invalid choice: 'bored'"),
        (["--top", "mine"], "--top needs --verilog"),
        (["--verilog", "none.v"], "--verilog: 'none.v' cannot be read: No such file or directory"),
        (["--verilog", "."], "--verilog: '.' cannot be read: Is a directory"),
        (["--verilog", "endless.v"], "--verilog: the macro `A contains itself"),
        (["--verilog", "binary.v"], "--verilog: 'binary.v' cannot be read: it is not a text file"),
        (["--verilog", "other.v"], "--verilog: 'other.v' cannot be simulated: "),
        (["--verilog", "other.v", "--top", "2 tops"], "--top must be a Verilog identifier"),
        (["--verilog", "other.v", "--top", "other"], "--verilog: 'other.v' cannot be simulated: "),
        (["--junit", "other.v/x.xml"], "--junit: 'other.v' cannot be written to: "),
        (["-o", "other.v"], "-o: 'other.v/hif8_decoder_binary16' cannot be written to: "),
        (["--format", "hif9"], "--format must be a known format, not 'hif9'"),
    ],
)
def test_refusals(words, sentence, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "binary.v").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "endless.v").write_text("`define A (`A + 1)\nmodule m;\n  wire [7:0] n = `A;\nendmodule\n")
    (tmp_path / "other.v").write_text("module other (input wire x, output wire y);\n  assign y = x;\nendmodule\n")
    format_words = [] if "--format" in words else ["--format", "hif8"]
    assert main(["simulate", "decoder", *format_words, *words]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"hwgen: {sentence}")
    assert error.count("\n") == 1
    if "cannot be simulated" not in sentence:
        assert not (tmp_path / "build").exists()


ENCODER = ["simulate", "encoder", "--format", "e2m1", "--from", "bfloat16", "--vectors", "100", "--sim", "icarus"]
HEADER = "module mine (input wire [15:0] bits, output wire [3:0] code);"


@NEEDS_ICARUS
@pytest.mark.parametrize(
    ("header", "sentence"),
    [
        (HEADER.replace("[3:0]", "[4:0]"), "Port 2 (code) of mine expects 5 bits, got 4."),
        (HEADER.replace("[15:0]", "[14:0]"), "Port 1 (bits) of mine expects 15 bits, got 16."),
        (HEADER.replace("input", "input wire more, input"), "Instantiating module mine with dangling input port 1"),
        (HEADER.replace("bits", "word"), "port ``bits'' is not a port of mine."),
        (HEADER.replace("mine", "yours"), "Unknown module type: mine"),
        (HEADER.replace("output", "output wire more, output"), "mine has the output more, which is not connected"),
        (HEADER.replace("output", "inout wire more, output"), "mine has the inout more, which is not connected"),
    ],
)
def test_other_ports_are_refused(header, sentence, tmp_path, capsys):
    file = tmp_path / "file.v"
    file.write_text(f"{header}\n  assign code = 0;\nendmodule\n")
    assert main([*ENCODER, "--verilog", str(file), "--top", "mine", "-o", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"hwgen: --verilog: '{file}' cannot be simulated: {sentence}")
    assert error.count("\n") == 1


@NEEDS_ICARUS
def test_files_that_a_module_includes_or_reads_are_beside_it(tmp_path, capsys, monkeypatch):
    design = build("encoder", "e2m1", source="bfloat16")
    folder = tmp_path / "my files"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    text, pieces = texts([design])[design.name], 'reg [3:0] same [0:15];\n  `include "read.vh"\n  wire [3:0] inner;\n'
    text = text.replace(f"module {design.name} ", "module mine ").replace("assign code = ", f"{pieces}assign inner = ")
    (folder / "mine.v").write_text(text.replace("endmodule", "  assign code = same[inner];\nendmodule"))
    (folder / "read.vh").write_text('initial $readmemh("same.hex", same);\n')
    (folder / "same.hex").write_text("\n".join(f"{code:x}" for code in range(16)) + "\n")
    words = [*ENCODER, "--verilog", "my files/mine.v", "--top", "mine", "-o", "out"]
    assert main(words) == 0
    assert sorted(file.name for file in folder.iterdir()) == ["mine.v", "read.vh", "same.hex"]
    (folder / "same.hex").unlink()
    capsys.readouterr()
    assert main(words) == 1
    assert re.search(r"\n  .*\$readmemh: Unable to open same.hex for reading", capsys.readouterr().out)


@NEEDS_ICARUS
def test_a_module_that_stops_is_not_called_different(tmp_path, capsys):
    file = tmp_path / "file.v"
    file.write_text(f"{HEADER}\n  assign code = 0;\n  initial $finish;\nendmodule\n")
    assert main([*ENCODER, "--verilog", str(file), "--top", "mine", "-o", str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "mine: was not simulated to the end in icarus, 100 vectors of 6 classes"
    assert "  repeat with: hwgen simulate " in lines[-1]


def test_a_folder_in_use_is_refused(tmp_path, capsys):
    folder = tmp_path / "e2m1_encoder_bfloat16_ties_to_even"
    folder.mkdir()
    with reserved(folder):
        assert main([*ENCODER, "-o", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"hwgen: -o: '{folder}' cannot be written to: another run is using it\n"
    assert not [*folder.iterdir()]


def test_a_missing_simulator_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["simulate", "decoder", "--format", "hif8", "--sim", "icarus"]) == 2
    text = "hwgen: --sim: icarus needs iverilog, vvp, not installed; install Icarus Verilog\n"
    assert capsys.readouterr().err == text
    assert main(["simulate", "decoder", "--format", "hif8"]) == 1
    assert "pip install '.[simulate]'" in capsys.readouterr().err
    assert main(["simulate", "decoder", "--format", "hif8", "--sim", "verilator"]) == 2
    assert "hwgen: --sim: verilator needs make, g++, perl, not installed" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "cocotb", None)
    assert main(["simulate", "decoder", "--format", "hif8"]) == 1
    text = (
        "hwgen: simulation needs the package cocotb, which is not installed: pip install '.[simulate]' in the clone\n"
    )
    assert capsys.readouterr().err == text
    assert list(tmp_path.iterdir()) == []


@NEEDS_ICARUS
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), exhaustive(signal.SIGHUP, 129)])
def test_an_interrupt_ends_the_simulator(number, status, tmp_path):
    words = ["simulate", "mac", "--format", "hif8", "--vectors", "100000", "--sim", "icarus", "-o", str(tmp_path)]
    with running([sys.executable, "-m", "hwgen", *words]) as process:
        wait_until(lambda: bool(list(tmp_path.rglob("progress"))), process)
        process.send_signal(number)
        assert process.wait(30) == status
    listing = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(tmp_path) not in listing


DECODER = ["simulate", "decoder", "--format", "e2m1", "--vectors", "16", "--sim"]
BROKEN = "#!/bin/sh\necho 'error: broken' >&2\nexit 1\n"


@pytest.mark.parametrize("simulator", available())
def test_our_own_module_that_cannot_be_built_is_a_failure(simulator, tmp_path, capsys, monkeypatch):
    file = tmp_path / "bin" / {"icarus": "iverilog", "verilator": "make"}[simulator]
    file.parent.mkdir()
    file.write_text(BROKEN, encoding="utf-8")
    file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{file.parent}:{os.environ['PATH']}")
    assert main([*DECODER, simulator, "-o", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert error == "hwgen: the simulator could not build e2m1_decoder_binary16: error: broken\n"


@pytest.mark.parametrize("letter", [" ", "é", "#", '"', "\udcff", "\n"], ids=ascii)
@pytest.mark.parametrize("simulator", available())
def test_a_folder_with_any_letter_works_or_is_refused(letter, simulator, tmp_path, capsys):
    folder = tmp_path / f"a{letter}b"
    if letter in {"icarus": " é#", "verilator": "é"}[simulator]:
        assert main([*DECODER, simulator, "-o", str(folder)]) == 0
        return
    assert main([*DECODER, simulator, "-o", str(folder)]) == 2
    where = str(folder / "e2m1_decoder_binary16")
    assert capsys.readouterr().err == f"hwgen: -o: {simulator} cannot work in {where!r}, whose path has {letter!r}\n"
    assert not folder.exists()


@pytest.mark.parametrize("command", ["verify", *(f"simulate --sim {name}" for name in available())])
def test_a_users_verilog_may_have_a_byte_order_mark_and_latin_letters(command, tmp_path):
    design = build("decoder", "e2m1")
    text = f"// café\r\n{texts([design])[design.name]}".replace("endmodule", "endmodule  // Größe")
    (tmp_path / "latin.v").write_bytes(text.encode("latin-1"))
    (tmp_path / "marked.v").write_bytes(text.encode("utf-8-sig"))
    for file in ("latin.v", "marked.v"):
        words = ["decoder", "--format", "e2m1", "--verilog", str(tmp_path / file), "-o", str(tmp_path / "out")]
        assert main([*command.split()[:1], *words, *command.split()[1:]]) == 0


@pytest.mark.parametrize("command", ["verify", "simulate"])
def test_hostile_verilog_files_are_refused(command, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop.v").symlink_to("loop.v")
    for name, problem in (
        ("/dev/zero", "it has more than 256 MiB"),
        ("loop.v", "Too many levels of symbolic links"),
        ("x" * 300, "File name too long"),
        ("a\0.v", "no file can have this name"),
        ("\ud800.v", "no file can have this name"),
    ):
        assert main([command, "decoder", "--format", "e2m1", "--verilog", name]) == 2
        assert capsys.readouterr().err == f"hwgen: --verilog: {name!r} cannot be read: {problem}\n"


@pytest.mark.parametrize("junit", [".", "/", ".."])
def test_a_junit_file_that_is_a_folder_is_refused(tmp_path, capsys, monkeypatch, junit):
    monkeypatch.chdir(tmp_path)
    assert main(["simulate", "decoder", "--format", "e2m1", "--junit", junit]) == 2
    assert capsys.readouterr().err == f"hwgen: --junit: {junit!r} is a folder\n"
    assert not [*tmp_path.iterdir()]


def test_the_temporary_folder_may_be_relative(tmp_path):
    (tmp_path / "scratch").mkdir()
    words = ["simulate", "decoder", "--format", "e2m1", "--vectors", "8", "-o", "out"]
    environment = {**os.environ, "TMPDIR": "scratch"}
    subprocess.run([sys.executable, "-m", "hwgen", *words], cwd=tmp_path, env=environment, check=True)


def test_the_simulator_ends_when_the_command_is_killed(tmp_path):
    words = ["simulate", "mac", "--format", "hif8", "--vectors", "100000", "--sim", "icarus", "-o", str(tmp_path)]
    progress = tmp_path / "hif8_mac_binary16" / "bench_icarus_0" / "progress"
    with subprocess.Popen([sys.executable, "-m", "hwgen", *words], cwd=tmp_path) as process:
        while not progress.exists() or int(progress.read_bytes() or b"0") < 128:
            assert process.poll() is None
            time.sleep(0.1)
        process.kill()
    time.sleep(1.0)
    last = progress.read_bytes()
    time.sleep(1.0)
    assert progress.read_bytes() == last
