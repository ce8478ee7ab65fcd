"""A study's runs, in parts and at the same time, have the results of runs alone."""

import io
import os
import signal

import pytest

from golden.refusal import Refusal
from hwgen.tools.process import ToolError
from hwgen.tools.progress import Progress
from synth.studies.training import study as studies
from synth.studies.training.policy import Operand, Policy
from synth.studies.training.runs import Run, finished, train
from synth.studies.training.study import study

HIF8 = Operand("hif8")
RUNS = [
    Run("range", Policy("hif8", HIF8, HIF8, Operand("hif8", "stochastic"), scaling="adaptive"), 0, 25),
    Run("range", Policy("binary32"), 0, 25),
    Run("range", Policy("hif8", HIF8, HIF8, Operand("hif8", "stochastic"), scaling="adaptive"), 1, 25),
]


def alone(folder):
    for run in RUNS:
        train(run, folder)
    return files(folder)


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_parts_have_the_results_of_whole_runs(tmp_path):
    expected = alone(tmp_path / "alone")
    train(RUNS[1], tmp_path / "study")
    stream = io.StringIO()
    results = study(RUNS, tmp_path / "study", 2, Progress(stream, every=0), seconds=0.01)
    assert files(tmp_path / "study") == expected
    assert results == [finished(run, tmp_path / "alone") for run in RUNS]
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("1/3 runs")
    assert len(lines) > 3
    assert lines[-1].startswith("3/3 runs, about 0 s left, last: range: hif8")


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_worker_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(studies, "part", die)
    with pytest.raises(ToolError, match=r"^a worker of the study was killed; start it again to resume$"):
        study(RUNS, tmp_path, 1)


def test_jobs_are_checked(tmp_path):
    with pytest.raises(Refusal, match=r"^jobs must be an integer from 1 to 1024, not 0$"):
        study(RUNS, tmp_path, 0)
