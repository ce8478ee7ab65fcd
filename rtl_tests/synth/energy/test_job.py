"""Energy jobs and the command: rows like those of areas, one netlist with the area's, refusals in a sentence."""

import json
import pickle
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from hwgen.tools import yosys
from rtl_tests.support.blocks import texts
from rtl_tests.support.optional import NEEDS_OSU018, OSU018
from rtl_tests.support.paths import ROOT
from rtl_tests.synth.energy.test_workload import DESIGNS
from synth.area.liberty import GATES
from synth.area.rows import Row
from synth.area.timing import gates_with_drives
from synth.energy import simulator
from synth.energy.data import Data
from synth.energy.job import EnergyJob, MismatchError, energy_jobs
from synth.proof.bitslice import compiler

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no C++ compiler")

DECODER = build("decoder", "e2m1")
ENERGY = ["energy", "decoder", "--format", "e2m1", "--renamings", "2", "--operations", "100"]
PARTS = {"switching", "internal", "leakage", "glitch_free", "clock", "transitions", "area", "cells"}


def job_of(design=DECODER, **options):
    options = {"renamings": 2, "operations": 100} | options
    (job,) = energy_jobs(
        design, texts([design])[design.name], ["gates"], options.pop("data", Data("gaussian")), **options
    )
    return job


def test_rows():
    job = job_of()
    samples = job.execute()
    (recipe,) = samples
    areas = job.mapped()[0]
    assert samples[recipe][0]["area"] == areas[recipe][0]["area"]
    assert min(areas, key=lambda name: sum(sample["area"] for sample in areas[name])) == recipe
    plain, best = (row.to_json() for row in job.rows(samples))
    assert (plain["recipe"], best["recipe"], best["best_recipe"]) == (recipe, "best", recipe)
    assert (best["component"], best["format"], best["target"], best["metric"]) == ("decoder", "e2m1", "gates", "energy")
    assert (best["unit"], best["tool"], best["data"]) == ("C·V²", yosys.version(), "gaussian")
    assert (best["operations"], best["simulator"], best["renamings"]) == (100, "compiled", 2)
    assert "unit inverter" in best["unit_text"]
    assert {f"median_{name}" for name in PARTS} <= set(best)
    total = sum(best[f"median_{part}"] for part in ("switching", "internal", "leakage"))
    assert best["min"] <= total * 1.001
    assert 0 < best["median_glitch_free"] <= best["median"]
    read = Row.from_json(json.loads(json.dumps(best)))
    assert read.to_json() == best
    assert read.is_energy
    assert set(read.conditions) == {"unit_text", "data", "simulator", "operations"}


def test_operations_that_are_all_alike_need_no_energy():
    job = job_of(build("encoder", "e2m1", source="binary16"), data=Data("x.npy", np.ones((2, 1))), recipe="amap")
    best = job.rows(job.execute())[-1]
    assert (best.min, best.max, best.medians["transitions"]) == (0, 0, 0)
    assert Row.from_json(best.to_json()).to_json() == best.to_json()


@pytest.mark.usefixtures("unshared")
def test_a_job_gives_the_same_samples_again():
    job = job_of()
    copy = pickle.loads(pickle.dumps(job))
    assert copy.key == job.key
    assert copy.execute() == job.execute()


def test_keys_depend_on_all_that_is_measured():
    numbers = Data("x.npy", np.ones((2, 3)))
    others = [
        job_of(operations=99),
        job_of(data=Data("laplace")),
        job_of(data=numbers),
        job_of(data=Data("x.npy", np.full((2, 3), 2.0))),
        job_of(period=3.0),
        job_of(recipe="amap"),
    ]
    assert len({job.key for job in (job_of(), *others)}) == len(others) + 1
    assert job_of().key == job_of().key


def test_a_curve_has_a_figure_for_each_recipe():
    job = job_of(build("encoder", "e2m1", source="binary16"), portfolio="speed", renamings=1)
    measured = job.rows(job.execute())
    assert len(measured) == len(job.recipes()) + 1
    assert all({"delay_fo4", "area", "switching"} <= set(row.medians) for row in measured)
    assert len({row.median for row in measured}) > 3
    assert measured[-1].median == min(row.median for row in measured)


def test_a_wrong_netlist_is_an_error_that_names_the_case(monkeypatch):
    """The twin: one gate has another function."""

    mapped = EnergyJob.mapped

    def wrong(job, timeout):
        areas, netlists = mapped(job, timeout)
        changed = {recipe: [text.replace('"INV"', '"BUF"', 1) for text in group] for recipe, group in netlists.items()}
        assert changed != netlists
        return areas, changed

    monkeypatch.setattr(EnergyJob, "mapped", wrong)
    problem = r"^e2m1_decoder_binary16 differs from the reference model: \d+ of 116 results are wrong; in operation "
    with pytest.raises(MismatchError, match=problem):
        job_of(recipe="amap").execute()


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", DESIGNS)
def test_every_block_has_the_right_results(name):
    job = job_of(DESIGNS[name], recipe="amap", renamings=1, operations=400)
    ((metrics,),) = job.execute().values()
    assert 0 < metrics["glitch_free"] <= metrics["energy"]
    assert 0 < metrics["settled_fo4"] <= metrics["period_fo4"]
    assert (metrics["clock"] > 0) == job.design.is_clocked


def test_the_command(capsys, tmp_path):
    numbers = tmp_path / "numbers.npy"
    np.save(numbers, np.array([1.0, -3.0, 0.5]))
    arguments = [*ENERGY, "--data", str(numbers), "--store", str(tmp_path / "store"), "--json"]
    assert main(arguments) == 0
    first = json.loads(capsys.readouterr().out)
    assert [row["recipe"] for row in first][-1] == "best"
    command = shlex.split(first[-1]["command"])
    expected = "hwgen energy decoder --format e2m1 --to binary16 --target gates --renamings 2 --data numbers.npy"
    assert command == [*expected.split(), "--operations", "100"]
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out) == first
    assert main([*ENERGY, "--recipe", "lut_amap"]) == 0
    text = capsys.readouterr().out
    assert "\ngates lut_amap       total  " in text
    assert "all with the right results" in text
    assert main([*ENERGY, "--recipe", "depth_map"]) == 0
    assert "delay_fo4" in capsys.readouterr().out


def test_another_delay_of_a_gate_is_another_figure_despite_a_store(tmp_path, capsys):
    """The same command by this program, and by a copy whose NAND2 has another delay without load."""
    store = ["--renamings", "1", "--recipe", "amap", "--store", str(tmp_path / "store"), "--json"]
    words = ["energy", "encoder", "--from", "binary16", "--format", "e2m1", "--operations", "100", *store]
    assert main(words) == 0
    before = json.loads(capsys.readouterr().out)[-1]
    for package in ("golden", "hwgen", "synth"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    file, gate = tmp_path / "synth" / "area" / "timing.py", '"NAND2": (dict.fromkeys("AB", 4 / 3), dict.fromkeys("AB", '
    text = file.read_text()
    assert text.count(f"{gate}2)") == 1
    file.write_text(text.replace(f"{gate}2)", f"{gate}2.5)"))
    process = subprocess.run([sys.executable, "-m", "hwgen", *words], cwd=tmp_path, capture_output=True, check=True)
    after = json.loads(process.stdout)[-1]
    assert after["script_sha256"] == before["script_sha256"]
    assert after["median_internal"] > before["median_internal"]


@NEEDS_OSU018
def test_the_command_with_a_library(capsys):
    assert main([*ENERGY, "--liberty", str(OSU018), "--recipe", "amap", "--json"]) == 0
    (_, short) = json.loads(capsys.readouterr().out)
    assert short["unit"] == "fJ"
    assert 0 < short["median_leakage"] < short["median_switching"]
    assert main([*ENERGY, "--liberty", str(OSU018), "--recipe", "amap", "--period", "1000", "--json"]) == 0
    (_, long) = json.loads(capsys.readouterr().out)
    assert long["median_period_ns"] == 1000
    assert long["median_switching"] == short["median_switching"]
    factor = 1000 / short["median_period_ns"]
    assert long["median_leakage"] == pytest.approx(short["median_leakage"] * factor, rel=1e-5)


BAD = {
    "data": (["--data", "gauss"], "--data must be one of gaussian, laplace, uniform, sparse, or a .npy file, not"),
    "file": (["--data", "none.npy"], "--data: none.npy cannot be read: No such file or directory"),
    "operations": (["--operations", "0"], "--operations must be from 1 to 100000, not 0"),
    "archive": (["--data", "archive.npy"], "--data: archive.npy is not an array of numbers in NumPy's format"),
    "broken archive": (["--data", "zip.npy"], "--data: zip.npy is not an array of numbers in NumPy's format"),
    "period on gates": (["--period", "2"], "--period needs a library: gates have no nanoseconds, and no leakage"),
    "no period": (["--period", "-1"], "--period must be a positive number of nanoseconds up to 1e+06, not -1"),
    "undefined period": (["--period", "nan"], "--period must be a positive number of nanoseconds up to 1e+06, not nan"),
    "target": (["--target", "xc7"], "--target must be gates, or liberty together with --liberty, not 'xc7'"),
    "liberty": (["--target", "liberty"], "--target must be gates, or liberty together with --liberty, not 'liberty'"),
    "no library": (["--liberty", "none.lib"], "--liberty: none.lib cannot be read: No such file or directory"),
    "recipe": (
        ["--portfolio", "standard", "--recipe", "depth_map"],
        "--recipe must be one of amap, amap2, lut_amap in standard, not 'depth_map'",
    ),
    "unknown recipe": (["--recipe", "map"], "argument --recipe: invalid choice: 'map'"),
    "simulator": (["--simulator", "vcs"], "argument --simulator: invalid choice: 'vcs'"),
    "another simulator": (
        ["--simulator", "icarus"],
        "--simulator: icarus checks the compiled simulator in the tests only; without a C++ compiler, pip install zig",
    ),
    "renamings": (["--renamings", "0"], "--renamings must be from 1 to 64, not 0"),
    "no delays": (
        ["--liberty", str(GATES)],
        "--liberty: gates cannot be used: the library has no inverter with delays, which energies need",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_one_sentence(case, capsys, tmp_path, monkeypatch):
    options, sentence = BAD[case]
    monkeypatch.chdir(tmp_path)
    np.savez(tmp_path / "archive.npz", a=np.ones(2))
    (tmp_path / "archive.npz").rename(tmp_path / "archive.npy")
    (tmp_path / "zip.npy").write_bytes(b"PK\3\4junk")
    assert main([*ENERGY, *options]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"hwgen: {sentence}")
    assert err.count("\n") == 1


@NEEDS_OSU018
def test_a_short_period_is_refused(capsys):
    assert main([*ENERGY, "--liberty", str(OSU018), "--recipe", "amap", "--period", "0.1"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("hwgen: --period must be longer: operation ")
    assert " has not settled after 0.1 ns; " in err


def test_a_machine_without_a_compiler(capsys, monkeypatch):
    monkeypatch.setattr("synth.energy.simulator.compiler", lambda: None)
    simulator.engine.cache_clear()
    for words in ([], ["--simulator", "compiled"]):
        assert main([*ENERGY, *words]) == 1
        problem = "there is no C++ compiler for the simulator; without rights on the machine: pip install ziglang, and "
        assert capsys.readouterr().err == f"hwgen: {problem}set CXX='python -m ziglang c++'\n"


def test_a_library_without_a_voltage(tmp_path, capsys):
    path = tmp_path / "gates.lib"
    path.write_text(gates_with_drives().text)
    assert main([*ENERGY, "--liberty", str(path)]) == 2
    expected = "gates_with_drives cannot be used: the library states no supply voltage (nom_voltage)"
    assert capsys.readouterr().err == f"hwgen: --liberty: {expected}\n"


def test_an_unfit_recipe_is_refused():
    with pytest.raises(ValueError, match=r"^recipe must be one of amap, amap2, lut_amap, not 'depth_map'$"):
        replace(job_of(), recipe="depth_map").recipes()
