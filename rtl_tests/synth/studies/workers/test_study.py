"""A study's runs, in parts and at the same time, have the results of runs alone."""

import io
import os
import signal
import threading

import pytest
from threadpoolctl import threadpool_limits

from golden.refusal import Refusal
from hwgen.tools.process import ToolError
from hwgen.tools.progress import Progress
from rtl_tests.support.cluster import cluster_of_two
from rtl_tests.support.processes import wait_until
from synth.studies.training.policy import Operand, Policy
from synth.studies.training.runs import Run, finished, train
from synth.studies.workers import study as studies
from synth.studies.workers.cluster import DaskTrainers, train_remotely
from synth.studies.workers.study import LocalTrainers, part, study
from synth.sweep.cluster import PoolError

HIF8 = Operand("hif8")
RUNS = [
    Run("range", Policy("hif8", HIF8, HIF8, Operand("hif8", "stochastic"), scaling="adaptive"), 0, 25),
    Run("range", Policy("binary32"), 0, 25),
    Run("range", Policy("hif8", HIF8, HIF8, Operand("hif8", "stochastic"), scaling="adaptive"), 1, 25),
]


def alone(folder):
    with threadpool_limits(1):  # as in a study: sums of products in float32 may depend on the number of threads
        for run in RUNS:
            train(run, folder)
    return files(folder)


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_parts_have_the_results_of_whole_runs(tmp_path):
    expected = alone(tmp_path / "alone")
    part(RUNS[1], tmp_path / "study", 60, 1)
    stream = io.StringIO()
    with LocalTrainers(2) as pool:
        results = study(RUNS, tmp_path / "study", pool, Progress(stream, every=0), seconds=0.01)
    assert files(tmp_path / "study") == expected
    assert results == {run: finished(run, tmp_path / "alone") for run in RUNS}
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("1/3 runs")
    assert len(lines) > 3
    assert lines[-1].startswith("3/3 runs, about 0 s left, last: range: hif8")


def test_a_cluster_that_loses_a_worker_has_the_results_of_whole_runs(tmp_path):
    expected = alone(tmp_path / "alone")
    folder = tmp_path / "study"
    with cluster_of_two(tmp_path) as cluster, DaskTrainers(cluster.address) as pool:
        pool._client.wait_for_workers(2, timeout=60)

        def kill_a_worker():
            # after the first part, during another
            wait_until(lambda: folder.exists() and pool._client.processing(), cluster.scheduler)
            os.killpg(cluster.workers[0].pid, signal.SIGKILL)

        killer = threading.Thread(target=kill_a_worker, daemon=True)
        killer.start()
        results = study(RUNS, folder, pool, seconds=0.02)
        killer.join()
        assert cluster.workers[0].wait() == -signal.SIGKILL
    assert files(folder) == expected
    assert results == {run: finished(run, tmp_path / "alone") for run in RUNS}


def test_a_worker_with_another_version_is_refused():
    with pytest.raises(PoolError, match=r"^a worker runs another version of the program or of NumPy$"):
        train_remotely(RUNS[0], "another key", {}, 1.0)


def test_a_cluster_that_is_lost_is_reported(tmp_path):
    with cluster_of_two(tmp_path) as cluster, DaskTrainers(cluster.address) as pool:
        cluster.stop()
        with pytest.raises(ToolError, match=r"^the cluster was lost \(.*\); start the study again to resume$"):
            study(RUNS, tmp_path / "study", pool)
    with pytest.raises(Refusal, match=r"^dask: there is no Dask scheduler at 'tcp://127.0.0.1:1'$"):
        DaskTrainers("tcp://127.0.0.1:1")
    sentence = "dask: 'nonsense' is no address of a scheduler, which is like tcp://127.0.0.1:8786"
    with pytest.raises(Refusal, match=f"^{sentence}$"):
        DaskTrainers("nonsense")


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_worker_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(studies, "part", die)
    with (
        LocalTrainers(1) as pool,
        pytest.raises(ToolError, match=r"^a worker .* killed; start it again to resume$"),
    ):
        study(RUNS, tmp_path, pool)


def test_jobs_are_checked():
    with pytest.raises(Refusal, match=r"^jobs must be an integer from 1 to 1024, not 0$"):
        LocalTrainers(0)
