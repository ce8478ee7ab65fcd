"""The engine: it detects errors, counts vectors, and reports how to repeat a run."""

import os
import re
import struct
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hwgen.simulate import engine
from hwgen.simulate.case import VECTOR_STEPS, Case
from hwgen.simulate.simulators import available
from rtl_tests.support.bench import DEFAULT_SEED, chosen_simulator, seed, simulate
from rtl_tests.support.optional import NEEDS_ICARUS

CODES = np.arange(256, dtype=np.uint64)


def adder(name: str = "adder", expression: str = "a + 8'd3", vectors: int = 256, **options: object) -> Case:
    """A case that expects ``y = a + 3`` of a module with ``y = expression``."""
    text = f"module {name} (input wire [7:0] a, output wire [7:0] y);\n  assign y = {expression};\nendmodule\n"
    codes = CODES[:vectors]
    return Case(name, text, {"a": 8, "y": 8}, {"a": codes}, {"y": (codes + 3) & 255}, **options)


def wide(name: str = "wide") -> Case:
    """A case with ports of 90, 1 and 3 bits."""
    ports = "input wire [89:0] value, input wire flip, input wire [2:0] low, output wire [89:0] y, output wire last"
    text = (
        f"module {name} ({ports});\n  assign y = flip ? ~value : value + {{87'd0, low}};\n"
        "  assign last = value[89];\nendmodule\n"
    )
    rng = np.random.default_rng(seed())
    numbers = [0, 1, (1 << 90) - 1, 1 << 64, (1 << 64) - 1]
    numbers += [int.from_bytes(rng.bytes(12), "little") >> 6 for _ in range(200)]
    flip, low = rng.integers(0, 2, len(numbers), dtype=np.uint8), rng.integers(0, 8, len(numbers), dtype=np.uint16)
    results = [(~v if f else v + k) % (1 << 90) for v, f, k in zip(numbers, flip.tolist(), low.tolist(), strict=True)]
    widths = {"value": 90, "flip": 1, "low": 3, "y": 90, "last": 1}
    inputs = {"value": limbs(numbers), "flip": flip, "low": low}
    outputs = {"y": limbs(results), "last": np.array([v >> 89 for v in numbers], np.uint8)}
    return Case(name, text, widths, inputs, outputs)


def limbs(numbers: list[int]) -> np.ndarray:
    """Convert numbers of up to 128 bits to two uint64 limbs, little end first."""
    return np.array([[v & (1 << 64) - 1, v >> 64] for v in numbers], np.uint64)


@pytest.mark.parametrize("name", available())
def test_right_modules_pass(tmp_path, name):
    simulate([adder(), wide(), adder("short", vectors=10), adder("single", vectors=1)], tmp_path, name)
    assert not [*tmp_path.rglob("*.vcd"), *tmp_path.rglob("*.fst")]


def last_change(file: Path) -> tuple[int, str]:
    """Return the last time in a file of waves and, for a VCD, the changes at that time.

    An FST file begins with block type, length, first and last time.
    """
    if file.suffix == ".fst":
        return struct.unpack(">BQQQ", file.read_bytes()[:25])[-1], ""
    time, changes = file.read_text().rpartition("\n#")[2].split("\n", 1)
    return int(time), changes


@pytest.mark.parametrize("name", available())
def test_wrong_module_is_caught(tmp_path, name, monkeypatch):
    monkeypatch.setattr(engine, "WAVE_VECTORS", 100)

    def explain(inputs, got, expected):
        return f"{inputs['a']} became {got['y']}, not {expected['y']}"

    wrong = adder("wrong", "a == 8'd200 ? 8'd1 : a + 8'd3", explain=explain, seed=7)
    worse = adder("worse", "a - 8'd3", vectors=100)
    with pytest.raises(AssertionError) as caught:
        simulate([adder(), wrong, worse], tmp_path, name)
    lines = str(caught.value).splitlines()
    assert lines[:3] == [
        "wrong: 1 of 256 vectors differ (seed 7)",
        "  vector 200: a=0xc8, y=0x1 (expected 0xcb)",
        "    200 became 1, not 203",
    ]
    assert lines[3] == "worse: 100 of 100 vectors differ"
    assert lines[4] == "  vector 0: a=0x0, y=0xfd (expected 0x3)"
    assert len(lines) == 11
    waves = re.fullmatch(rf"waves of wrong, vectors 101 to 200, each for {VECTOR_STEPS} steps of time: (.*)", lines[-2])
    assert waves
    time, changes = last_change(Path(waves[1]))
    assert time in (99 * VECTOR_STEPS, 100 * VECTOR_STEPS)  # Icarus ends with vector 200, Verilator begins it
    assert not changes or "b11001000" in changes
    command = re.fullmatch(rf"repeat with: SEED=7 SIM={name} \.venv/bin/python -m pytest '?([^']*)'?", lines[-1])
    assert command
    assert command[1].endswith(f"rtl_tests/hwgen/simulate/test_engine.py::test_wrong_module_is_caught[{name}]")


@NEEDS_ICARUS
def test_unknown_bits_fail(tmp_path):
    unknown = adder("unknown", "a == 8'd5 ? 8'bx : a + 8'd3", explain=lambda *_: "must not be asked")
    with pytest.raises(
        AssertionError,
        match=r"^unknown: 1 of 256 vectors differ\n  vector 5: a=0x5, y=X{8} \(expected 0x8\)\nwaves of ",
    ):
        simulate([unknown], tmp_path, "icarus")


FOREIGN = {"COCOTB_RESOLVE_X": "zeros", "COCOTB_TEST_FILTER": "none", "COCOTB_TESTCASE": "none", "PYTHONOPTIMIZE": "1"}
FOREIGN |= {"COCOTB_RANDOM_TEST_ORDER": "1", "PYGPI_USERS": "none:none", "GPI_USERS": "none", "WAVES": "1", "GUI": "1"}
FOREIGN |= {"SIM_CMD_PREFIX": "false", "PYTHONWARNINGS": "error"}


@NEEDS_ICARUS
def test_the_environment_changes_nothing(tmp_path, monkeypatch):
    """An X is an X, and all tests run, whatever is exported."""
    for name, value in FOREIGN.items():
        monkeypatch.setenv(name, value)
    before = dict(os.environ)
    unknown = adder("unknown", "a == 8'd5 ? 8'bx : a + 8'd3")
    with pytest.raises(AssertionError, match=r"^unknown: 1 of 256 vectors differ\n  vector 5: a=0x5, y=X{8} "):
        simulate([unknown], tmp_path, "icarus")
    simulate([adder()], tmp_path / "right", "icarus")
    assert not [*tmp_path.glob("right/**/*.fst")]
    assert dict(os.environ) == before


IMPOSTOR = """
import json, os, pathlib, cocotb
folder = pathlib.Path(os.environ["BENCH_FOLDER"])
plan = json.loads((folder / "plan.json").read_text())
@cocotb.test()
async def t(dut):
    steps = max(case["vectors"] for case in plan["cases"])
    (folder / "results.json").write_text(json.dumps({"steps": steps, "seconds": 1, "bad": [{}], "mismatches": []}))
"""


@NEEDS_ICARUS
@pytest.mark.parametrize("place", ["beside", "current", "path"])
def test_python_files_of_the_user_are_not_run(place, tmp_path, monkeypatch):
    """Modules of our names, Python's and cocotb's: beside the Verilog, in the current directory, on Python's path."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "hwgen_compare.py").write_text(IMPOSTOR)
    for name in ("json", "signal", "cocotb", "cocotb_tools", "numpy", "golden", "pdb", "pytest"):
        (folder / f"{name}.py").write_text("raise SystemExit('theirs')\n")
    if place == "current":
        monkeypatch.chdir(folder)
    if place in ("current", "path"):
        monkeypatch.setattr(sys, "path", ["" if place == "current" else str(folder), *sys.path])
    wrong = adder("wrong", "a", folder=folder)
    with pytest.raises(AssertionError, match=r"^wrong: 256 of 256 vectors differ\n"):
        simulate([wrong], tmp_path, "icarus")
    simulate([adder(folder=folder)], tmp_path / "right", "icarus")


def with_lines(name: str, lines: str) -> Case:
    """The adder with more lines."""
    case = adder(name)
    return replace(case, verilog=case.verilog.replace("endmodule", f"{lines}\nendmodule"))


@pytest.mark.parametrize("task", ["$finish", "$stop"])
def test_simulation_that_ends_early_fails(task, tmp_path):
    case = with_lines("early", f"  always @(a) if (a == 8'd200) {task};")
    with pytest.raises(
        AssertionError, match=r"^the simulation ended before all vectors were driven\n(?s:.*)repeat with: SIM="
    ):
        simulate([case], tmp_path)


@NEEDS_ICARUS
@pytest.mark.parametrize(
    ("lines", "place"),
    [
        ("  wire z;\n  assign z = a == 8'd200 ? ~z : 1'b0;", "vector 192 of class late"),
        ("  initial while (1);", "vector 0 of class early"),
    ],
)
def test_a_loop_without_delay_ends(lines, place, tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "LIMIT", 1.0)
    case = replace(with_lines("loop", lines), classes={"early": 130, "late": 126})
    outcome = engine.simulate([case], tmp_path, "icarus")
    problem = "needed more than 1 seconds of processor time, as a loop without delay does"
    assert outcome.complaints == (f"loop: what follows {place} {problem}",)
    assert outcome.built
    assert not outcome.complete


def test_a_module_with_delays_passes(tmp_path):
    text = "`timescale 1ns/1ps\nmodule slow (input wire [7:0] a, output wire [7:0] y);\n  assign #1 y = a + 8'd3;\n"
    simulate([replace(adder("slow"), verilog=f"{text}endmodule\n")], tmp_path)


def test_a_folder_belongs_to_one_case(tmp_path):
    with pytest.raises(ValueError, match=r"^a case with a folder must be the only case$"):
        engine.simulate([adder(folder=tmp_path), adder("other")], tmp_path, "icarus")


def test_bench_that_visits_too_few_fails(tmp_path, monkeypatch):
    write = engine.write_bench

    def lose_the_last(cases, folder):
        sources = write(cases, folder)
        data = (folder / "stimuli.bin").read_bytes()
        (folder / "stimuli.bin").write_bytes(data[: -len(data) // 256])
        return sources

    monkeypatch.setattr(engine, "write_bench", lose_the_last)
    with pytest.raises(AssertionError, match=r"^adder: 255 of 256 vectors were visited\nrepeat with: SIM="):
        simulate([adder()], tmp_path)


@pytest.mark.parametrize("name", available())
def test_module_that_does_not_compile_fails(tmp_path, name):
    with pytest.raises(AssertionError, match=r"^the build failed\n(?s:.*)nonsense"):
        simulate([adder(expression="nonsense + 8'd3")], tmp_path, name)


def test_vectors_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"^big: a value for a has more than 7 bits$"):
        simulate([Case("big", "", {"a": 7, "y": 8}, {"a": CODES}, {"y": CODES})], tmp_path)
    problem = r"must be unsigned integers, in uint64 limbs above 64 bits, not int64\(256, 1\)"
    with pytest.raises(ValueError, match=rf"^signed: values of 8 bits for a {problem}$"):
        simulate([Case("signed", "", {"a": 8, "y": 8}, {"a": CODES.astype(np.int64)}, {"y": CODES})], tmp_path)
    with pytest.raises(
        ValueError,
        match=r"^few: all ports must have the same number of vectors, at least one, not {'a': 256, 'y': 9}$",
    ):
        Case("few", "", {"a": 8, "y": 8}, {"a": CODES}, {"y": CODES[:9]})
    with pytest.raises(ValueError, match=r"^odd: ports are \['a'\], vectors are for \['a', 'y'\]$"):
        Case("odd", "", {"a": 8}, {"a": CODES}, {"y": CODES})
    with pytest.raises(ValueError, match=r"^cases must have different names, not \['adder', 'adder'\]$"):
        simulate([adder(), adder()], tmp_path)


def test_environment_chooses_simulator_and_seed(monkeypatch):
    monkeypatch.delenv("SIM", raising=False)
    monkeypatch.delenv("SEED", raising=False)
    assert chosen_simulator() == available()[0]
    assert seed() == DEFAULT_SEED
    monkeypatch.setenv("SIM", "verilator")
    monkeypatch.setenv("SEED", "12")
    assert chosen_simulator() == "verilator"
    assert seed() == 12


def test_bad_environment_is_refused(monkeypatch):
    monkeypatch.setenv("SIM", "modelsim")
    with pytest.raises(ValueError, match=r"^SIM must be one of icarus, verilator, not 'modelsim'$"):
        chosen_simulator()
    monkeypatch.setenv("SIM", "icarus")
    monkeypatch.setenv("PATH", "")
    assert available() == ()
    with pytest.raises(ValueError, match=r"^SIM=icarus is not installed$"):
        chosen_simulator()
    monkeypatch.setenv("SEED", "-1")
    with pytest.raises(ValueError, match=r"^SEED must be a non-negative integer, not '-1'$"):
        seed()
