"""The bundle's folder tb/cocotb: its tests pass with cocotb and a simulator alone, and find faults."""

import os
import re
import shutil
import subprocess
import sys
import venv
from dataclasses import replace
from importlib.metadata import distribution, requires
from pathlib import Path

import pytest
from cocotb_tools.runner import get_results

import golden
from golden.rows import ALL_ROUNDINGS
from golden.tables import format_text, read_format
from hwgen.blocks.catalog import build
from hwgen.bundle import files as bundle
from hwgen.cocotb import new_vectors
from hwgen.simulate.simulators import available, verilator_environment
from hwgen.tile.block import TILE
from rtl_tests.support.blocks import texts
from rtl_tests.support.optional import NEEDS_ICARUS
from rtl_tests.support.paths import ROOT
from rtl_tests.support.selection import exhaustive

TOML = str(ROOT / "examples" / "formats" / "e3m2b1.toml")
MAC, PE = build("mac", TOML), build("pe", "hif8", stages=1, flags=True)
TILE_OF_CODES = TILE.design(TOML, rows=2, columns=2, accumulator="exact", target=TOML, readout_stages=2)
MORE = [
    build("decoder", "hif8", target="unpacked"),
    build("encoder", TOML, source="bfloat16", rounding="stochastic", stages=2, clock_enable=True),
    build("mac", "ocp_e4m3+ocp_e5m2", TOML, accumulator="exact", terms=64, stages=1, reset="none"),
    build("dot", "ocp_e4m3", lanes=4, stages=1, block_scale="e8m0", accumulator="binary32"),
    build("readout", "hif8", target=TOML),
    build("quantizer", "e2m1", lanes=8),
    build("amax", "e2m1", source="hif8", lanes=3, stages=1, nan="ignore"),
    TILE_OF_CODES,
]
LATER = [pytest.param(design, marks=pytest.mark.exhaustive) for design in MORE]


def write(design, folder):
    for name, text in bundle.files(design, texts([design])[design.name]).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder / "tb" / "cocotb"


def break_a_bit(design, folder):
    """Invert the last bit of an output."""
    file = folder / f"{design.name}.v"
    text = file.read_text()
    name = [port.name for port in design.ports if port.direction == "output" and port.name != "out_valid"][-1]
    old = next(old for old in (f"assign {name} = ", f"assign {{{name}, ", f"{name} <= ") if old in text)
    assert text.count(old) == 1
    start = text.index("= ", text.index(old)) + 2
    file.write_text(f"{text[:start]}1'b1 ^ {text[start:]}")


def make(folder, environment, *words):
    command = ["make", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def with_tools(python):
    return os.environ | {"PATH": os.pathsep.join([str(Path(python).parent), os.environ["PATH"]])}


def needed(name, known=()):
    """A package and those that it requires, without extras."""
    names = {*known, name}
    for line in requires(name) or ():
        word, marker = re.match(r"[\w.-]+", line)[0], line.partition(";")[2]
        if word not in names and not marker:
            names |= needed(word, names)
    return names


@pytest.fixture(scope="module")
def empty_environment(tmp_path_factory):
    """A virtual environment with cocotb, copied from ours, and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    target = next((folder / "lib").glob("python*/site-packages"))
    for name in needed("cocotb"):
        for path in distribution(name).files or ():
            if ".." not in path.parts and "__pycache__" not in path.parts:
                (target / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path.locate(), target / path)
    script = folder / "bin" / "cocotb-config"
    script.write_text(f"#!{folder}/bin/python\nimport cocotb_tools.config as c\nc.main()\n")
    script.chmod(0o755)
    python = folder / "bin" / "python"
    assert subprocess.run([python, "-c", "import golden"], capture_output=True, check=False).returncode == 1
    assert subprocess.run([python, "-c", "import numpy"], capture_output=True, check=False).returncode == 1
    return with_tools(python)


@NEEDS_ICARUS
@pytest.mark.parametrize("design", [MAC, exhaustive(PE), *LATER], ids=lambda design: design.name)
def test_make_passes_with_cocotb_alone_and_fails_on_a_wrong_bit(design, tmp_path, empty_environment):
    folder = write(design, tmp_path)
    process = make(folder, empty_environment)
    assert process.returncode == 0, process.stdout + process.stderr
    tests, failures = get_results(folder / "results.xml")
    classes = (tmp_path / f"tb/{design.name}.hex").read_text().count("// class ")
    assert (tests, failures) == (classes + 1, 0)
    assert "<skipped" in (folder / "results.xml").read_text()  # the reference model is not installed
    break_a_bit(design, tmp_path)
    assert make(folder, empty_environment).returncode != 0
    tests, failures = get_results(folder / "results.xml")
    assert tests == classes + 1
    assert failures > 0


@NEEDS_ICARUS
@pytest.mark.parametrize("design", [MAC, exhaustive(PE)], ids=lambda design: design.name)
def test_make_passes_in_a_folder_with_a_space(design, tmp_path):
    folder = write(design, tmp_path / "my modules")
    environment = with_tools(sys.executable) | {"VECTORS": "50", "PYTHONPATH": str(ROOT)}
    process = make(tmp_path, environment, "-C", str(folder))
    assert process.returncode == 0, process.stdout + process.stderr
    tests, failures = get_results(folder / "results.xml")
    assert tests > 1
    assert failures == 0


@NEEDS_ICARUS
@pytest.mark.parametrize("design", [PE, exhaustive(MAC), *LATER], ids=lambda design: design.name)
def test_new_vectors_of_the_reference_model(design, tmp_path):
    """Where this package is installed, one more test runs; without the file's vectors it alone finds the fault."""
    folder = write(design, tmp_path)
    environment = with_tools(sys.executable) | {"SEED": "3", "VECTORS": "300", "PYTHONPATH": str(ROOT)}
    process = make(folder, environment)
    assert process.returncode == 0, process.stdout + process.stderr
    assert "of seed 3" in process.stdout
    assert "<skipped" not in (folder / "results.xml").read_text()
    break_a_bit(design, tmp_path)
    process = make(folder, environment, "COCOTB_TEST_FILTER=reference_model")
    assert process.returncode != 0
    assert get_results(folder / "results.xml") == (1, 1)
    assert "vectors differ (seed 3)" in (folder / "results.xml").read_text()


@pytest.mark.exhaustive
@pytest.mark.parametrize("simulator", available())
def test_pytest_runs_them(simulator, tmp_path):
    design = PE
    folder = write(design, tmp_path)
    environment = with_tools(sys.executable) | {"SIM": simulator, "PYTHONPATH": str(ROOT)}
    environment |= verilator_environment() if simulator == "verilator" else {}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"test_{design.name}.py"]

    def run():
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    process = run()
    assert process.returncode == 0, process.stdout
    assert "1 passed" in process.stdout
    break_a_bit(design, tmp_path)
    assert run().returncode == 1


def test_missing_vectors_fail(tmp_path):
    design = PE
    folder = write(design, tmp_path)
    (tmp_path / f"tb/{design.name}.hex").write_text("")
    command = [sys.executable, "-c", f"import {design.name}_cocotb"]
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert f"AssertionError: tb/{design.name}.hex has no vectors" in process.stderr
    (tmp_path / f"tb/{design.name}.hex").write_text("ff\n")
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert f"AssertionError: tb/{design.name}.hex does not belong to {design.name}.json" in process.stderr


@NEEDS_ICARUS
@pytest.mark.exhaustive
@pytest.mark.parametrize("design", [MAC, TILE_OF_CODES], ids=lambda each: each.kind)
def test_fusesoc_runs_them(design, tmp_path):
    """cocotb 2.1 needs the variable GPI_USERS, which the core sets, because this version of edalize does not."""
    write(design, tmp_path / "core")
    environment = with_tools(sys.executable) | {"HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    environment.pop("GPI_USERS", None)
    name = f"minifloat-rtl:{design.kind}:{design.name}"
    command = ["fusesoc", "--cores-root", "core", "run", "--target=cocotb", name]
    process = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stdout + process.stderr
    (results,) = (tmp_path / "build").rglob("results.xml")
    tests, failures = get_results(results)
    assert tests > 8
    assert failures == 0


def test_new_vectors_are_those_of_the_seed(tmp_path):
    design = MAC
    folder = write(design, tmp_path)
    description = {"command": f"hwgen generate {design.command()}"}
    first, again, other = (new_vectors(description, folder, 200, seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    for vectors in first.values():
        for vector in vectors[:20]:
            assert vector["acc_out"] == int(golden.mac(vector["a"], vector["b"], vector["acc_in"], TOML))


@pytest.mark.parametrize("name", ["hif8", "ocp_e4m3", "ibm_1_4_3", "gc_1_0_7_b0", "e8m0", TOML])
def test_text_of_a_format_describes_it(name, tmp_path):
    fmt = replace(golden.get(name), roundings=ALL_ROUNDINGS)  # users' files have no others
    file = tmp_path / "format.toml"
    file.write_text(format_text(fmt))
    assert read_format(file) == fmt
