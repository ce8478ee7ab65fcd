"""Sweeps on a Dask cluster, on this machine's loopback: the same bytes as without one, whatever dies on the way."""

import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace

import pytest

import golden
from golden.refusal import BadValue
from hwgen.tools.process import ToolError
from rtl_tests.synth.area.test_jobs import JOB
from synth.area import pool as pool_module
from synth.area.pool import LocalPool
from synth.area.runner import measure
from synth.area.store import Store
from synth.sweep import engine, space
from synth.sweep.pools import DaskPool

SPACE = """
formats = ["hif8", "e5m2b1", "ocp_e4m3"]
targets = ["gates"]
renamings = 1
[decoder]
to = ["unpacked", "binary16"]
[multiplier]
"""


class Cluster:
    """A scheduler and workers in processes of their own."""

    def __init__(self, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address, self.folder = f"tcp://127.0.0.1:{self.port}", folder
        self.scheduler, self.workers = None, []

    def _start(self, *words):
        command = [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "distributed.cli." + words[0],
            *words[1:],
            "--host",
            "127.0.0.1",
            "--no-dashboard",
        ]
        return subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )

    def start_scheduler(self):
        self.scheduler = self._start("dask_scheduler", "--port", str(self.port))

    def start_worker(self):
        self.workers.append(self._start("dask_worker", self.address, "--nthreads", "1", "--no-nanny"))

    def stop(self):
        for process in [*self.workers, self.scheduler]:
            if process is not None and process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@pytest.fixture
def cluster(tmp_path):
    found = Cluster(tmp_path)
    found.start_scheduler()
    found.start_worker()
    found.start_worker()
    yield found
    found.stop()


def connect(cluster):
    until = time.monotonic() + 60
    pool = DaskPool(cluster.address, patience=60)
    while len(pool._client.nthreads()) < 2 and time.monotonic() < until:
        time.sleep(0.2)
    return pool


def test_the_same_bytes_whatever_dies(cluster, tmp_path):
    """A worker is killed twice, then the scheduler and all workers; the sweep reconnects and sends again what has no
    result.
    """
    (tmp_path / "space.toml").write_text(SPACE)
    described = space.read(tmp_path / "space.toml")
    store, pool = Store(tmp_path / "war"), connect(cluster)
    outcomes = []
    for outcome in measure(engine.jobs(described, store), pool, store):
        outcomes.append(outcome)
        if len(outcomes) in (1, 3):
            os.killpg(cluster.workers[-1].pid, signal.SIGKILL)
            cluster.start_worker()
        if len(outcomes) == 5:
            os.killpg(cluster.scheduler.pid, signal.SIGKILL)
            cluster.stop()
            cluster.start_scheduler()
            cluster.start_worker()
    pool.close()
    assert [outcome.error for outcome in outcomes] == [None] * 9
    here, local = Store(tmp_path / "peace"), LocalPool(2)
    assert [outcome.error for outcome in measure(engine.jobs(described, here), local, here)] == [None] * 9
    local.close()
    first, second = (engine.write(described, kept, [], tmp_path / name) for kept, name in ((store, "a"), (here, "b")))
    assert first.read_bytes() == second.read_bytes()


LARGE = """
targets = ["gates", "ice40"]
renamings = 1
[decoder]
to = ["unpacked", "binary16", "bfloat16", "binary32", "dlfloat16"]
[multiplier]
[encoder]
from = ["bfloat16"]
"""
"""14 jobs for each format of the catalogue."""

ENDLESS = "module endless (input [255:0] a, input [255:0] b, output [255:0] y); assign y = a / b; endmodule"


def troubled(described, store):
    """The jobs of a space, and among them one that never ends and one whose tool fails."""
    odd = [("endless", ENDLESS), ("broken", "module broken (input a; endmodule")]
    for number, job in enumerate(engine.jobs(described, store)):
        if number in (40, 200):
            name, verilog = odd.pop(0)
            yield replace(job, top=name, verilog=verilog)
        yield job


@pytest.mark.exhaustive
def test_a_large_sweep_survives_everything(cluster, tmp_path):
    """At least 300 real jobs; a worker is killed twice, the scheduler and all workers are started anew, a job hangs, a
    tool fails.
    """
    (tmp_path / "space.toml").write_text(LARGE)
    described = space.read(tmp_path / "space.toml")
    written = []
    for name in ("war", "peace"):
        store, pool = Store(tmp_path / name), connect(cluster) if name == "war" else LocalPool(2)
        outcomes = []
        for outcome in measure(troubled(described, store), pool, store, timeout=30):
            outcomes.append(outcome)
            if name == "war" and len(outcomes) in (60, 120):
                os.killpg(cluster.workers[-1].pid, signal.SIGKILL)
                cluster.start_worker()
            if name == "war" and len(outcomes) == 220:
                cluster.stop()
                cluster.start_scheduler()
                cluster.start_worker()
                cluster.start_worker()
        pool.close()
        failures = [outcome for outcome in outcomes if outcome.error is not None]
        assert len(outcomes) == 14 * len(golden.names()) + 2  # the two of troubled()
        assert sorted(outcome.job.top for outcome in failures) == ["broken", "endless"]
        assert "no result within 30 s" in next(outcome.log for outcome in failures if outcome.job.top == "endless")
        written.append(engine.write(described, store, failures, tmp_path / f"{name}.written").read_bytes())
    assert written[0] == written[1]


def with_a_bug(job, timeout):
    """Stands for :func:`synth.area.jobs.execute` on a worker."""
    if job.top == "broken":
        raise ToolError("Yosys did not write it", "a log")
    return list(zip((1,), (), strict=True))


def test_a_bug_on_a_worker_comes_out_as_it_is(cluster):
    """With the place where it is; a tool that fails is a failed job there as here."""
    pool = connect(cluster)
    pool._client.run(setattr, pool_module, "execute", with_a_bug)
    (outcome,) = measure([replace(JOB, top="broken")], pool)
    assert (outcome.error, outcome.log) == ("broken on gates: Yosys did not write it", "a log")
    with pytest.raises(ValueError, match="zip") as caught:
        list(measure([JOB], pool))
    assert caught.traceback[-1].name == "with_a_bug"
    pool.close()


def test_another_version_is_refused(cluster):
    connect(cluster).close()
    with pytest.raises(
        BadValue, match=r"^dask: the worker .* runs another version of the program or its tools; install the same one "
    ):
        DaskPool(cluster.address, expected="0" * 64)
