"""Sweeps: a space from a file, the same bytes whoever runs it, and nothing lost when workers, tools or runs are."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace

import pytest

import golden
import hwgen
import synth
from hwgen import process
from hwgen.__main__ import main
from synth import jobs as jobs_module
from synth.liberty import GATES
from synth.store import Store
from synth.sweep import engine, pools, space
from synth.sweep.engine import Progress
from synth.sweep.pools import LocalPool

SMALL = """
formats = ["hif8", "ocp_e4m3"]
targets = ["gates"]
renamings = 1
[decoder]
to = ["unpacked", "bfloat16"]
[encoder]
from = ["binary16"]
rounding = ["default", "hybrid"]
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "space.toml"
    path.write_text(SMALL)
    return path


def stub(job, timeout=None):
    """As good as a real job, and quick: samples that depend on the job's text."""
    del timeout
    areas = [float(len(job.verilog) + seed) for seed in range(job.renamings)]
    return {"samples": {recipe: [{"area": area, "cells": 1} for area in areas] for recipe in job.recipes()}}


class Stub:
    """A pool of the engine that does nothing but remember."""

    slots = 3

    def __init__(self, work=stub):
        self.work, self.ran = work, []

    def submit(self, job, timeout):
        self.ran.append(job.top)
        future = Future()
        future.set_result(self.work(job))
        return future

    def close(self):
        pass


# -- the space -----------------------------------------------------------------------------------------------------------------


def test_a_space_is_every_combination_that_the_formats_have(file):
    names = [design.name for design in space.read(file).designs()]
    assert names == [
        "hif8_decoder_unpacked", "hif8_decoder_bfloat16", "ocp_e4m3_decoder_unpacked", "ocp_e4m3_decoder_bfloat16",
        "hif8_encoder_binary16_ties_to_away", "hif8_encoder_binary16_hybrid", "ocp_e4m3_encoder_binary16_ties_to_even",
    ]  # fmt: skip


def test_the_space_of_the_documentation_is_one(tmp_path):
    page = (Path(__file__).resolve().parents[1] / "docs" / "sweep.md").read_text()
    path = tmp_path / "space.toml"
    path.write_text(re.search(r"^```toml\n(.*?)^```", page, re.M | re.S)[1])
    assert len(list(space.read(path).designs())) == 3 * (2 + 2) * 2 + 3 * 2 + 2


def test_terms_count_for_exact_only(tmp_path):
    path = tmp_path / "space.toml"
    path.write_text('formats = ["hif8"]\n[mac]\naccumulator = ["binary16", "exact"]\nterms = [2, 1024]\n')
    names = [design.name for design in space.read(path).designs()]
    assert names == ["hif8_mac_binary16", "hif8_mac_exact_n2", "hif8_mac_exact"]
    path.write_text('formats = ["hif8"]\n[mac]\nstages = [0, 3]\n[multiplier]\n')
    assert [design.name for design in space.read(path).designs()] == ["hif8_multiplier", "hif8_mac_binary16", "hif8_mac_binary16_s3"]


def test_each_library_of_a_space_is_a_target(tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.lib").write_text(GATES.read_text().replace("library (gates)", f"library ({name})"))
    path = tmp_path / "space.toml"
    path.write_text('formats = ["hif8"]\ntargets = ["gates", "liberty"]\nliberty = ["one.lib", "one.lib,two.lib"]\n[decoder]\n')
    described, store = space.read(path), Store(tmp_path / "store")
    found = [(job.target, [library.name for library in job.libraries]) for job in engine.jobs(described, store)]
    assert found == [("gates", []), ("liberty", ["one"]), ("liberty", ["one", "two"])]
    assert described.places == 3


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("formats = 1", "formats must be a list of strings, not 1"),
        ('formats = ["hif9"]', "Unknown format 'hif9'; the nearest known one is hif8"),
        ("[macs]", "the file has an unknown key 'macs'; did you mean 'mac'?"),
        ("[mac]\naccumulators = []", "mac has an unknown key 'accumulators'; did you mean 'accumulator'?"),
        (
            '[mac]\naccumulator = ["binary8"]',
            "mac.accumulator must be one of binary16, bfloat16, binary32, dlfloat16, exact, not 'binary8'",
        ),
        ("[mac]\nterms = [0]", "mac.terms must be a list of positive integers, not [0]"),
        ("[mac]\nstages = [17]", "mac.stages must be a list of integers from 0 to 16, not [17]"),
        ('targets = ["asic"]\n[mac]', "targets must be one of gates, cyclonev, xc7, ice40, ecp5, not 'asic'"),
        ("renamings = 0\n[mac]", "renamings must be an integer from 1 to 64, not 0"),
        ('portfolio = "all"\n[mac]', "portfolio must be one of standard, stock, speed, full, not 'all'"),
        ("renamings = 8", "there must be a table for at least one of decoder, encoder, multiplier, adder, mac"),
        ("mac = 3", "mac must be a table, not 3"),
        ('liberty = ["none.lib"]\n[mac]', "none.lib cannot be read: No such file or directory"),
        ("[mac", "'{path}' is no TOML file: "),
    ],
)
def test_a_bad_file_is_refused_in_one_sentence(tmp_path, capsys, text, sentence):
    path = tmp_path / "space.toml"
    path.write_text(text)
    assert main(["sweep", str(path), "-o", str(tmp_path / "out"), "--store", str(tmp_path / "store")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("hwgen: FILE: ")
    assert sentence.replace("{path}", str(path)) in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--jobs", "0"], "--jobs must be at least 1, not 0"),
        (["--jobs", "2", "--dask", "tcp://127.0.0.1:1"], "--jobs goes with this machine's cores, not with --dask"),
        (["--timeout", "0"], "--timeout must be positive, not 0"),
        (["--dask", "tcp://127.0.0.1:1"], "--dask: there is no Dask scheduler at 'tcp://127.0.0.1:1'"),
    ],
)
def test_bad_options_are_refused(file, tmp_path, capsys, monkeypatch, words, sentence):
    monkeypatch.setattr(pools, "CONNECT", 1.0)
    assert main(["sweep", str(file), "-o", str(tmp_path / "out"), "--store", str(tmp_path / "store"), *words]) == 2
    assert sentence in capsys.readouterr().err


# -- the engine ----------------------------------------------------------------------------------------------------------------


def test_what_the_store_holds_is_not_run(file, tmp_path):
    described, store = space.read(file), Store(tmp_path / "store")
    first, second = Stub(), Stub()
    assert len(list(engine.run(engine.jobs(described, store), first, store))) == 7
    assert len(list(engine.run(engine.jobs(described, store), second, store))) == 7
    assert (len(first.ran), second.ran) == (7, [])


def test_no_more_jobs_are_under_way_than_the_pool_needs(file, tmp_path):
    """So that memory stays flat; the source is asked for a job when there is room for one."""
    store, asked = Store(tmp_path / "store"), []
    (job, *_) = engine.jobs(space.read(file), store)

    def source():
        for number in range(1000):
            asked.append(number)
            yield jobs_module.Job(job.component, job.options, f"// {number}\n{job.verilog}", job.top, job.target, renamings=1)

    outcomes = engine.run(source(), Stub(), store)
    next(outcomes)
    assert len(asked) <= engine.AHEAD * Stub.slots + 1
    assert sum(1 for _ in outcomes) == 999
    assert len(store) >= 1000


def test_a_failing_job_is_told_and_the_rest_finish(file, tmp_path):
    described, store = space.read(file), Store(tmp_path / "store")

    def work(job):
        return {"error": f"{job.label}: no", "log": "", "killed": False} if "bfloat16" in job.top else stub(job)

    outcomes = list(engine.run(engine.jobs(described, store), Stub(work), store))
    assert sorted(outcome.error for outcome in outcomes if outcome.error) == [
        "hif8_decoder_bfloat16 on gates: no", "ocp_e4m3_decoder_bfloat16 on gates: no",
    ]  # fmt: skip
    path = engine.write(described, store, [outcome for outcome in outcomes if outcome.error], tmp_path / "out")
    found = json.loads(path.read_text())
    assert {row["name"] for row in found["rows"]}.isdisjoint({one["name"] for one in found["failures"]})
    assert len({row["name"] for row in found["rows"]}) == 5


def test_progress_tells_what_is_left():
    import io

    stream = io.StringIO()
    progress = Progress(2, stream, every=0.0)
    job = jobs_module.Job("toy", (), "", "small", "gates")
    progress.advance(engine.Outcome(job, ()))
    progress.advance(engine.Outcome(job, (), "small: no"))
    assert stream.getvalue().splitlines() == ["1/2 jobs", "2/2 jobs, 1 failed"]


# -- pools ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
def test_a_killed_tool_is_started_again(file, tmp_path):
    """Twice killed in the middle of a job, the sweep gives the same bytes as one that was left in peace."""
    described = space.read(file)
    files = []
    for name, kills in (("peace", 0), ("war", 2)):
        store, pool = Store(tmp_path / name), LocalPool(2)

        def kill(kills=kills):
            for _ in range(kills):
                until = time.monotonic() + 60
                while not process._running and time.monotonic() < until:
                    time.sleep(0.01)
                time.sleep(0.2)
                for tool in list(process._running)[:1]:
                    os.kill(tool.pid, signal.SIGKILL)

        for _ in engine.jobs(described, store):
            pass  # the Verilog is in the store
        killer = threading.Thread(target=kill)
        killer.start()
        outcomes = list(engine.run(engine.jobs(described, store), pool, store))
        killer.join()
        pool.close()
        assert [outcome.error for outcome in outcomes] == [None] * 7
        files.append(engine.write(described, store, [], tmp_path / f"out_{name}").read_bytes())
    assert files[0] == files[1]


def test_the_program_is_known_by_every_file_that_results_depend_on(tmp_path, monkeypatch):
    """Workers whose files differ are refused, so no kind of file may be forgotten."""
    for package in (golden, hwgen, synth):
        found = {path.suffix for path in Path(package.__path__[0]).iterdir() if path.is_file()}
        assert found <= {*pools.SUFFIXES, ".css", ".js"}  # which are how a page looks
    files = {}
    for name in ("golden", "hwgen", "synth"):
        (tmp_path / name).mkdir()
        monkeypatch.setattr(pools, name, SimpleNamespace(__path__=[str(tmp_path / name)]))
        files |= {tmp_path / name / f"file{suffix}": f"{name}{suffix}" for suffix in pools.SUFFIXES}
    for path, text in files.items():
        path.write_text(text)
    before = pools.program.__wrapped__()
    for path, text in files.items():
        path.write_text("changed")
        assert pools.program.__wrapped__() != before, path
        path.write_text(text)
    assert pools.program.__wrapped__() == before


def test_a_job_that_hangs_is_given_up(file, tmp_path):
    store, pool = Store(tmp_path / "store"), LocalPool(2)
    outcomes = list(engine.run(engine.jobs(space.read(file), store), pool, store, timeout=0.05))
    pool.close()
    assert len(outcomes) == 7
    assert all("no result within 0.05 s" in outcome.log for outcome in outcomes)


def test_an_interrupted_sweep_goes_on(file, tmp_path):
    command = [
        sys.executable,
        "-m",
        "hwgen",
        "sweep",
        str(file),
        "-o",
        str(tmp_path / "out"),
        "--store",
        str(tmp_path / "store"),
        "--jobs",
        "1",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        until = time.monotonic() + 120
        while time.monotonic() < until:
            if (tmp_path / "store").exists() and len(Store(tmp_path / "store")) > 8:  # Verilog and some results
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    if process.returncode == 130:
        assert "the same command goes on" in said
        assert not (tmp_path / "out").exists()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len({row["name"] for row in json.loads((tmp_path / "out" / "sweep.json").read_text())["rows"]}) == 7
