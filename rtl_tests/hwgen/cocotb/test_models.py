"""The models: each agrees with its block cycle by cycle, and finds faults; the systolic array of the examples."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from cocotb_tools.runner import get_results, get_runner

import golden
from hwgen.blocks.catalog import build
from hwgen.cocotb import DotModel, EncoderModel, MacModel, PeModel
from hwgen.simulate.simulators import SIMULATORS, available, environment, verilator_environment
from rtl_tests.support.blocks import texts
from rtl_tests.support.lint import lint
from rtl_tests.support.optional import NEEDS_ICARUS
from rtl_tests.support.paths import ROOT
from rtl_tests.support.selection import exhaustive

SYSTOLIC = ROOT / "examples" / "systolic"
DESIGNS = [
    ("encoder", ["hif8"], {"source": "bfloat16", "rounding": "stochastic", "random": "lfsr"}),
    ("mac", ["hif8"], {}),
    ("pe", ["ocp_e4m3"], {"stages": 2, "interleave": 2, "flags": True, "lanes": 2}),
]
MORE = [
    ("encoder", ["hif8"], {"source": "bfloat16", "stages": 2, "clock_enable": True}),
    ("mac", ["ocp_e4m3+ocp_e5m2", "hif8"], {"accumulator": "bfloat16", "stages": 1, "reset": "none"}),
    ("mac", ["ocp_e4m3"], {"accumulator": "exact", "terms": 16, "stages": 3}),
    ("dot", ["ocp_e4m3"], {"lanes": 4, "accumulator": "aligned13"}),
    ("dot", ["e2m1"], {"lanes": 4, "block_scale": "ue4m3", "accumulator": "binary32", "stages": 2}),
    ("pe", ["hif8"], {"accumulator": "exact", "terms": 8}),
    ("random", [], {"width": 48, "lanes": 5, "random_bits": 14}),
    ("encoder", ["ocp_e5m2"], {"rounding": "stochastic", "random_bits": 7}),
    ("decoder", ["hif8"], {"stages": 1}),
    ("readout", ["hif8"], {"target": "hif8"}),
    ("quantizer", ["e2m1"], {"lanes": 3, "stages": 1}),
    ("amax", ["e2m1"], {"source": "hif8", "lanes": 3, "stages": 1}),
]
ALL = [(design, "icarus") for design in DESIGNS]
ALL += [exhaustive(design, "icarus") for design in MORE]
ALL += [exhaustive(design, "verilator") for design in (*DESIGNS, *MORE)]


VERILATOR = ["-Wno-fatal", "-CFLAGS", "-O0", "--output-split", "0"]
"""Faults may have other widths; the package's compiler has no headers compiled ahead."""


def with_a_clock(design, text):
    """The text of a module with a clock; around a combinational one a design that has the input ``tick``."""
    if design.is_clocked:
        return text, design.name
    ports = ", ".join(f"{port.direction} wire {port.range}{port.name}" for port in design.ports)
    links = ", ".join(f".{port.name}({port.name})" for port in design.ports)
    around = f"module around (input wire tick, {ports});\n  {design.name} inner ({links});\nendmodule\n"
    return f"{text}\n{around}", "around"


def run(sources, top, module, folder, simulator="icarus", **variables):
    """Simulate; return the number of tests, of failures, and the log."""
    changes = verilator_environment() if simulator == "verilator" else {}
    folder.mkdir(exist_ok=True)
    with environment({**changes, **variables, "PYTHONPATH": str(ROOT)}):
        runner = get_runner(simulator)
        runner.build(
            sources=sources,
            hdl_toplevel=top,
            build_args=VERILATOR if simulator == "verilator" else [],
            build_dir=folder,
            always=True,
            log_file=folder / "build.log",
        )
        results = runner.test(module, hdl_toplevel=top, test_dir=folder, log_file=folder / "test.log")
    return (*get_results(results), (folder / "test.log").read_text())


def check(design, text, folder, simulator="icarus"):
    text, top = with_a_clock(design, text)
    (folder / "design.v").write_text(text)
    kind, formats, options = design.kind, [fmt.name for fmt in design.formats], dict(design.core._call[1])
    pipeline = design.pipeline
    if pipeline.stages:
        options |= {"stages": pipeline.stages, "reset": pipeline.reset, "clock_enable": pipeline.clock_enable}
    options |= {"random": "lfsr"} if design.generator.random == "lfsr" else {}
    ports = json.dumps([port.name for port in design.ports if port.name != "clk"])
    formats = formats[: len(design.block.formats)]
    described = json.dumps([kind, formats, plain(options)])
    module = "rtl_tests.hwgen.cocotb.bench"
    return run([folder / "design.v"], top, module, folder / "run", simulator, DESIGN=described, PORTS=ports)


def plain(options):
    return {name: getattr(value, "name", value) for name, value in options.items() if value is not None}


@pytest.mark.parametrize(("arguments", "simulator"), ALL)
def test_a_model_agrees_with_its_block_and_finds_a_fault(arguments, simulator, tmp_path):
    if simulator not in available():
        pytest.skip(f"{simulator} is not installed")
    kind, formats, options = arguments
    design = build(kind, *formats, **options)
    text = texts([design])[design.name]
    tests, failures, log = check(design, text, tmp_path, simulator)
    assert (tests, failures) == (1, 0), log
    name = next(port.name for port in design.ports if port.direction == "output" and port.name != "out_valid")
    old = f"assign {name} = " if f"assign {name} = " in text else f"    {name} <= "
    assert text.count(old) == 1
    tests, failures, log = check(design, text.replace(old, f"{old}1'b1 ^ "), tmp_path, simulator)
    assert (tests, failures) == (1, 1)
    assert re.search(rf"{design.name}: \d+ of \d+ outputs were wrong", log)


class Handle:
    """Stands for a handle of cocotb."""

    def __init__(self, **children):
        self.__dict__ |= children
        self.value = "X"


def handle(**values):
    signals = {name: Handle() for name in values}
    for name, value in values.items():
        signals[name].value = value
    return Handle(**signals)


def test_a_combinational_block_is_compared_sample_by_sample():
    dut = handle(a="00111000", b="00111000", acc_in="0" * 16, acc_out="0011110000000000")
    model = MacModel(dut, "ocp_e4m3", clock=None)
    model.sample()
    model.check()
    dut.acc_out.value = "0011110000000001"
    model.sample()
    dut.acc_out.value = "X" * 16
    model.sample()
    dut.a.value = "X" * 8  # is not compared
    model.sample()
    assert model.compared == 3
    assert model.mismatches[0] == (
        "ocp_e4m3_mac_binary16, comparison 2: acc_out is 1.0009765625 * 2^0 = 1.0009765625; expected 1 * 2^0 = 1"
        " (a=0x38, b=0x38, acc_in=0x0)"
    )
    assert "acc_out is XXXXXXXXXXXXXXXX; expected 1 * 2^0 = 1" in model.mismatches[1]
    with pytest.raises(AssertionError, match=r"^ocp_e4m3_mac_binary16: 2 of 3 outputs were wrong\n"):
        model.check()
    with pytest.raises(AssertionError, match=r"^ocp_e4m3_mac_binary16: 3 outputs were compared, not 9$"):
        model.check(at_least=9)


def test_a_processing_element_is_unknown_until_a_reset():
    bits = {"rst": "0", "clear": "0", "enable": "1", "a": "00111000", "b": "00111000", "acc": "X" * 16, "overflow": "X"}
    dut = handle(**bits)
    model = PeModel(dut, "ocp_e4m3", clock=None)
    model.sample()
    assert model.compared == 0
    dut.rst.value = "1"
    model.sample()
    dut.rst.value, dut.acc.value, dut.overflow.value = "0", "0" * 16, "0"
    model.sample()
    dut.acc.value = "0011110000000000"
    assert model.accumulator == 0x3C00
    model.sample()
    model.check(at_least=4)
    dut.a.value, dut.acc.value = "X" * 8, "0100000000000000"
    model.sample()
    assert model.mismatches == ["ocp_e4m3_pe_binary16: an input has an X while enable is 1"]


def test_numbers_and_codes():
    dut = handle(bits="0" * 32, code="0" * 8)
    with pytest.raises(
        golden.BadValue, match=r"^port must be an input with codes of one format, none here, not 'bits'$"
    ):
        EncoderModel(dut, "hif8", clock=None).codes("bits", 1.0)
    dut = handle(a="0", b="0", acc_in="0", acc_out="0")
    model = DotModel(dut, "ocp_e4m3", clock=None)
    word = model.codes("a", [1.0, -2.5])
    assert word == 0x38 | 0xC2 << 8
    assert model.numbers("a", word) == [1.0, -2.5]
    with pytest.raises(golden.BadValue, match=r"^numbers must be as many as lanes, 2, not of shape \(3,\)$"):
        model.codes("a", [1.0, 2.0, 3.0])
    with pytest.raises(golden.BadValue, match=r"^acc is no input of ocp_e4m3_dot2_binary16, which has a, b, acc_in$"):
        model.put(acc=0)
    with pytest.raises(golden.BadValue, match=r"^signals must be ports of ocp_e4m3_dot2_binary16, .*, not sum$"):
        DotModel(dut, "ocp_e4m3", clock=None, signals={"sum": None})
    with pytest.raises(golden.BadValue, match=r"^lanes must be an integer from 1 to 32, not 99$"):
        DotModel(dut, "ocp_e4m3", clock=None, lanes=99)


def test_the_systolic_array_has_no_lint_warnings(tmp_path):
    element = build("pe", "ocp_e4m3")
    modules = {**texts([element]), "systolic": (SYSTOLIC / "systolic.v").read_text()}
    lint(modules, tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_the_systolic_array_multiplies_matrices(simulator):
    """In Icarus, the page on regressions runs it in make test."""
    if simulator not in available():
        pytest.skip(f"{simulator} is not installed")
    command = [sys.executable, "examples/systolic/run.py", simulator]
    variables = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    assert process.stdout == f"systolic array in {simulator}: 1 test, 0 failures\n", process.stderr
    assert process.returncode == 0


@NEEDS_ICARUS
@pytest.mark.parametrize(
    ("file", "right", "wrong"),
    [
        ("element", "enable ? acc_out", "1'b1 ? acc_out"),
        exhaustive("element", "acc_before = clear ?", "acc_before = 1'b0 ?"),
        exhaustive("systolic", ".b(b0_down)", ".b(b[7:0])"),
        exhaustive("systolic", "clear_late[1]), .enable", "1'b0), .enable"),
    ],
)
def test_the_systolic_array_with_a_fault_fails(file, right, wrong, tmp_path):
    element = build("pe", "ocp_e4m3")
    sources = {"element": texts([element])[element.name], "systolic": (SYSTOLIC / "systolic.v").read_text()}
    assert sources[file].count(right) == 1
    sources[file] = sources[file].replace(right, wrong)
    for name, text in sources.items():
        (tmp_path / f"{name}.v").write_text(text)
    (tmp_path / "run").mkdir()
    shutil.copy(SYSTOLIC / "systolic_cocotb.py", tmp_path / "run")
    tests, failures, log = run(
        [tmp_path / f"{name}.v" for name in sources], "systolic", "systolic_cocotb", tmp_path / "run"
    )
    assert (tests, failures) == (1, 1), log


@pytest.mark.parametrize("name", ["cocotb.py", "bundle/cocotb/bench.py", "bundle/cocotb/runner.py"])
def test_verdicts_in_simulators_are_no_assertions(name):
    """They would vanish under PYTHONOPTIMIZE, and every module would pass; those that name a type may."""
    tree = ast.parse((ROOT / "hwgen" / name).read_text("utf-8"))
    asserted = [ast.unparse(node.test) for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    assert [test for test in asserted if not test.endswith(" is not None")] == []
