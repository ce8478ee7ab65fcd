"""The command of the study of training: a killed study ends with the same file, and the report shows it."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from examples.training import __main__ as command
from examples.training.__main__ import main
from golden.refusal import Refusal
from hwgen.__main__ import main as hwgen
from rtl_tests.support.paths import ROOT
from synth.report import load
from synth.report.training.plan import AFTER, SMALL, SMALL_SEEDS
from synth.report.training.results import code_hash

TASK = "range"
(PLAN,) = (plan for plan in SMALL if plan.task == TASK)


def words(folder):
    files = ["-o", str(folder / "study.json"), "--runs", str(folder / "runs"), "--store", str(folder / "store")]
    return [sys.executable, "-m", "examples.training", "--small", "--tasks", TASK, "--jobs", "1", *files]


def run(folder):
    subprocess.run(words(folder), check=True, capture_output=True, cwd=ROOT)
    return (folder / "study.json").read_bytes()


def killed(folder):
    """Start a study and kill it when some of its runs are finished."""
    process = subprocess.Popen(words(folder), cwd=ROOT, start_new_session=True, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and len([*folder.glob("runs/*.json")]) < 5:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (folder / "study.json").exists()
    assert 5 <= len([*folder.glob("runs/*.json")]) < len(PLAN.policies) * len(SMALL_SEEDS)


def test_a_killed_study_ends_with_the_same_file_and_the_report_shows_it(tmp_path, capsys):
    whole = run(tmp_path / "whole")
    killed(tmp_path / "parts")
    assert run(tmp_path / "parts") == whole
    file = tmp_path / "whole" / "study.json"
    study = load.study(str(file))
    assert study.program == code_hash()
    assert list(study.tasks[TASK].policies) == [
        PLAN.policies[0].name,
        *AFTER.values(),
        *(policy.name for policy in PLAN.policies[1:]),
    ]
    sweep, out = tmp_path / "sweep.json", tmp_path / "out"
    sweep.write_text('{"rows": [], "failures": []}')
    command = [
        "report",
        "--sweep",
        str(sweep),
        "--study",
        str(file),
        "-o",
        str(out),
        "--store",
        str(tmp_path / "store"),
    ]
    assert hwgen(command) == 0
    page = (out / "training.html").read_text()
    assert '<section id="training">' in page
    assert "These networks were trained from fewer seeds, or in fewer iterations, than the study has" in page
    assert json.loads((out / "report.json").read_text())["study"] == json.loads(whole)
    capsys.readouterr()
    sweep.write_text("{}")
    assert hwgen(["report", "--study", str(sweep), "-o", str(tmp_path / "other")]) == 2
    assert capsys.readouterr().err == f"hwgen: --study {str(sweep)!r} is not what make study writes\n"


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(command, "find_spec", lambda name: None if name == "jax" else name)
    sentence = r"^The study needs JAX and scikit-learn: pip install '.\[examples,jax\]' in the clone$"
    with pytest.raises(Refusal, match=sentence):
        main(["--small"])


def test_bad_input(tmp_path):
    with pytest.raises(Refusal, match=r"^tasks must be among letters, digits, range, not 'mnist'$"):
        main(["--small", "--tasks", "range,mnist", "-o", str(tmp_path / "s.json"), "--store", str(tmp_path / "store")])
    with pytest.raises(Refusal, match=r"^jobs must be an integer from 1 to 1024, not 0$"):
        main(["--small", "--jobs", "0", "-o", str(tmp_path / "s.json"), "--store", str(tmp_path / "store")])
    (tmp_path / "file").write_text("")
    files = ["-o", str(tmp_path / "s.json"), "--runs", str(tmp_path / "runs"), "--store", str(tmp_path / "store")]
    for words, sentence in {
        ("-o", str(tmp_path / "file" / "s.json")): "output.* is not a folder",
        ("-o", str(tmp_path)): "output.* is in the way",
        ("-o", ""): "output must be the name of a file, not ''",
        ("--runs", str(tmp_path / "file")): "runs.* is not a folder",
        ("--jobs", "2", "--dask", "tcp://127.0.0.1:1"): "jobs sets the processes of this machine and cannot be .*",
        ("--dask", ""): "dask: '' is no address of a scheduler, which is like tcp://127.0.0.1:8786",
    }.items():
        with pytest.raises(Refusal, match=f"^{sentence}$"):
            main(["--small", *files, *words])
    assert not [path for path in tmp_path.iterdir() if path.name != "file" and not path.name.startswith("store")]
