"""Sweeps on a Dask cluster on the loopback: the same bytes as without a cluster, even if workers or scheduler die."""

import os
import signal
import time
from dataclasses import replace

import pytest

import golden
from golden.refusal import BadValue
from hwgen.tools.process import ToolError
from rtl_tests.support.cluster import cluster_of
from rtl_tests.synth.area.test_jobs import JOB
from synth.area.jobs import Job
from synth.area.runner import LocalPool, measure
from synth.area.store import Store
from synth.sweep import space
from synth.sweep.cluster import DaskPool

SPACE = """
formats = ["hif8", "e5m2b1", "ocp_e4m3"]
targets = ["gates"]
renamings = 1
[decoder]
to = ["unpacked", "binary16"]
[multiplier]
"""


@pytest.fixture
def cluster(tmp_path):
    with cluster_of(2, tmp_path) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def small_cluster(tmp_path_factory):
    """A cluster with one worker, for tests that leave its processes as they are."""
    with cluster_of(1, tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


def connect(cluster):
    deadline = time.monotonic() + 60
    pool = DaskPool(cluster.address, patience=60)
    while len(pool._client.nthreads()) < len(cluster.workers) and time.monotonic() < deadline:
        time.sleep(0.2)
    return pool


@pytest.mark.exhaustive
def test_lost_workers_and_schedulers_do_not_change_the_bytes(cluster, tmp_path):
    """A worker is killed twice, then the scheduler and all workers; the sweep reconnects and sends lost jobs again."""
    (tmp_path / "space.toml").write_text(SPACE)
    described = space.read(tmp_path / "space.toml")
    store, pool = Store(tmp_path / "disturbed"), connect(cluster)
    outcomes = []
    for outcome in measure(space.jobs(described, store), pool, store):
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
    other, local = Store(tmp_path / "undisturbed"), LocalPool(2)
    assert [outcome.error for outcome in measure(space.jobs(described, other), local, other)] == [None] * 9
    local.close()
    paths = [space.write(described, kept, [], tmp_path / f"{kept.path.name}.out") for kept in (store, other)]
    assert paths[0].read_bytes() == paths[1].read_bytes()


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
    """The jobs of a space, with two more: one never ends, and the tool of the other fails."""
    odd = [("endless", ENDLESS), ("broken", "module broken (input a; endmodule")]
    for number, job in enumerate(space.jobs(described, store)):
        if number in (40, 200):
            name, verilog = odd.pop(0)
            yield replace(job, top=name, verilog=verilog)
        yield job


@pytest.mark.exhaustive
def test_a_large_sweep_survives_everything(cluster, tmp_path):
    """350 real jobs: a worker is killed twice, scheduler and workers restart, one job hangs, one tool fails."""
    (tmp_path / "space.toml").write_text(LARGE)
    described = space.read(tmp_path / "space.toml")
    written = []
    for name in ("disturbed", "undisturbed"):
        is_disturbed = name == "disturbed"
        store, pool = Store(tmp_path / name), connect(cluster) if is_disturbed else LocalPool(2)
        outcomes = []
        for outcome in measure(troubled(described, store), pool, store, timeout=30):
            outcomes.append(outcome)
            if is_disturbed and len(outcomes) in (60, 120):
                os.killpg(cluster.workers[-1].pid, signal.SIGKILL)
                cluster.start_worker()
            if is_disturbed and len(outcomes) == 220:
                cluster.stop()
                cluster.start_scheduler()
                cluster.start_worker()
                cluster.start_worker()
        pool.close()
        failures = [outcome for outcome in outcomes if outcome.error is not None]
        assert len(outcomes) == 14 * len(golden.names()) + 2  # the two of troubled()
        assert sorted(outcome.job.top for outcome in failures) == ["broken", "endless"]
        assert "no result within 30 s" in next(outcome.log for outcome in failures if outcome.job.top == "endless")
        written.append(space.write(described, store, failures, tmp_path / f"{name}.written").read_bytes())
    assert written[0] == written[1]


def with_a_bug(job, timeout):
    """Replaces :meth:`synth.area.jobs.Job.execute` on a worker."""
    if job.top == "broken":
        raise ToolError("Yosys did not write it", "a log")
    return list(zip((1,), (), strict=True))


def test_a_bug_on_a_worker_is_raised_unchanged(small_cluster):
    """The traceback has the place of the bug. A tool that fails on a worker is a failed job."""
    pool = connect(small_cluster)
    pool._client.run(setattr, Job, "execute", with_a_bug)
    (outcome,) = measure([replace(JOB, top="broken")], pool)
    assert (outcome.error, outcome.log) == ("broken on gates: Yosys did not write it", "a log")
    with pytest.raises(ValueError, match="zip") as caught:
        list(measure([JOB], pool))
    assert caught.traceback[-1].name == "with_a_bug"
    pool.close()


def test_another_version_is_refused(small_cluster):
    connect(small_cluster).close()
    with pytest.raises(
        BadValue, match=r"^dask: the worker .* runs another version of the program or its tools; install the same one "
    ):
        DaskPool(small_cluster.address, expected="0" * 64)
