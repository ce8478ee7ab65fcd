"""A study's runs, in parts and at the same time, have the results of runs alone."""

import io
import os
import signal
import threading
from functools import cache

import pytest

from examples.training import workers
from examples.training.runs import Run, train
from examples.training.workers import cluster, local, study
from golden.refusal import Refusal
from hwgen.tools.process import ToolError
from hwgen.tools.progress import Progress
from rtl_tests.support.cluster import cluster_of
from rtl_tests.support.paths import ROOT
from rtl_tests.support.processes import wait_until
from synth.report.training.policy import Operand, Policy

HIF8 = Operand("hif8")
RUNS = [
    Run("range", Policy("hif8", HIF8, HIF8, Operand("hif8", "stochastic"), scaling="adaptive"), 0, 25),
    Run("range", Policy("binary32"), 0, 25),
    Run("range", Policy("hif8", HIF8, HIF8, Operand("hif8", "stochastic"), scaling="adaptive"), 1, 25),
]


@cache
def alone():
    return {f"{run.key()}.json": train(run, run.key())[2] for run in RUNS}


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_parts_have_the_results_of_whole_runs(tmp_path):
    expected, stream = alone(), io.StringIO()
    with local(2) as pool:
        study(RUNS[1:2], tmp_path / "study", pool)
        assert len(files(tmp_path / "study")) == 1
        results = study(RUNS, tmp_path / "study", pool, Progress(stream, every=0), seconds=0.01)
    assert files(tmp_path / "study") == expected
    assert list(results) == RUNS
    assert results[RUNS[0]]["history"][-1]["iteration"] == 25
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("1/3 runs")
    assert len(lines) > 3
    assert lines[-1].startswith("3/3 runs, about 0 s left, last: range: hif8")


def test_finished_runs_are_not_trained_again(tmp_path, monkeypatch):
    with local(1) as pool:
        whole = study(RUNS[:1], tmp_path, pool)
    monkeypatch.setattr(workers, "train", lambda *_: pytest.fail("trained again"))
    with local(1) as pool:
        assert study(RUNS[:1], tmp_path, pool) == whole


@pytest.fixture
def importing(monkeypatch):
    """Lets the processes of a test import the study."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))))


def test_a_cluster_that_loses_a_worker_has_the_results_of_whole_runs(tmp_path, importing):
    expected, folder = alone(), tmp_path / "study"
    with cluster_of(2, tmp_path) as two, cluster(two.address) as pool:
        wait_until(lambda: pool.slots() == 2, two.scheduler)

        def kill_a_worker():
            # after the first part, during another
            wait_until(lambda: folder.exists() and list(folder.iterdir()), two.scheduler)
            os.killpg(two.workers[0].pid, signal.SIGKILL)

        killer = threading.Thread(target=kill_a_worker, daemon=True)
        killer.start()
        results = study(RUNS, folder, pool, seconds=0.02)
        killer.join()
        assert two.workers[0].wait() == -signal.SIGKILL
    assert files(folder) == expected
    assert list(results) == RUNS


def test_a_cluster_that_is_lost_is_reported(tmp_path, importing):
    with cluster_of(2, tmp_path) as two, cluster(two.address) as pool:
        two.stop()
        with pytest.raises(ToolError, match=r"^the cluster was lost \(.*\); start the study again to resume$"):
            study(RUNS, tmp_path / "study", pool)
    for address, sentence in {
        "tcp://127.0.0.1:1": "dask: there is no Dask scheduler at 'tcp://127.0.0.1:1'",
        "http://127.0.0.1:1": "dask: 'http://127.0.0.1:1' is no address of a scheduler, which is like"
        " tcp://127.0.0.1:8786",
        "nonsense": "dask: 'nonsense' is no address of a scheduler, which is like tcp://127.0.0.1:8786",
    }.items():
        with pytest.raises(Refusal, match=f"^{sentence}$"), cluster(address):
            pass


def test_workers_that_cannot_import_the_study_are_refused(tmp_path, monkeypatch):
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "__init__.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    sentence = "dask: a worker cannot import the study: No module named 'examples.training'"
    with cluster_of(2, tmp_path) as two, pytest.raises(Refusal, match=f"^{sentence}$"), cluster(two.address):
        pass


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_worker_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "train", die)
    with (
        local(1) as pool,
        pytest.raises(ToolError, match=r"^a worker of the study was killed; start it again to resume$"),
    ):
        study(RUNS, tmp_path, pool)


def test_jobs_are_checked():
    with pytest.raises(Refusal, match=r"^jobs must be an integer from 1 to 1024, not 0$"), local(0):
        pass
