"""Forks of a server that has imported a tool: output and status, limits of time, ends by signals, many at once."""

import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hwgen.tools import process
from hwgen.tools.forks import Forks, _Run
from hwgen.tools.process import ToolError
from rtl_tests.support.paths import ROOT

TOOL = """
import os, sys, time

def run(words):
    print(os.getcwd(), *words, flush=True)
    print("beside", file=sys.stderr)
    if words[0] == "wait":
        time.sleep(60)
    if words[0] == "crash":
        raise ValueError("no such word")
    if words[0] == "exit":
        sys.exit(3)
    return int(words[-1])
"""


@pytest.fixture
def forks(tmp_path, monkeypatch):
    (tmp_path / "slow_tool.py").write_text(TOOL)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    forks = Forks("slow_tool", "run")
    yield forks
    forks.close()


def until(condition):
    """Wait until a condition is true."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_output_and_status(forks, tmp_path):
    assert forks.supervised(["a", "4"], tmp_path) == (f"{tmp_path} a 4\nbeside\n", 4)
    text, status = forks.supervised(["crash"], tmp_path)
    assert (text.splitlines()[-1], status) == ("ValueError: no such word", 1)
    assert forks.supervised(["exit"], tmp_path)[1] == 3


def test_many_at_once(forks, tmp_path):
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda number: forks.supervised(["x", str(number)], tmp_path), range(40)))
    assert results == [(f"{tmp_path} x {number}\nbeside\n", number) for number in range(40)]


def test_a_limit_of_time(forks, tmp_path):
    start = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        forks.supervised(["wait", "0"], tmp_path, 0.5)
    assert time.monotonic() - start < 30
    assert forks.supervised(["a", "0"], tmp_path, 30)[1] == 0


def test_a_tool_can_be_stopped(forks, tmp_path):
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(forks.supervised, ["wait", "0"], tmp_path)
        until(lambda: process._running)
        process.stop()
        assert future.result(30)[1] == -signal.SIGKILL
    assert not process._running


def test_a_stop_ends_the_tools_that_its_job_starts_later(forks, tmp_path):
    """Also those that are about to start; other jobs go on."""
    with process.job():
        process.stop()
        assert forks.supervised(["wait", "0"], tmp_path, 30)[1] == -signal.SIGKILL
        assert process.supervised([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path, 30)[1] < 0
    assert forks.supervised(["a", "0"], tmp_path, 30)[1] == 0


def test_a_server_that_was_killed_is_replaced(forks, tmp_path):
    forks.supervised(["a", "0"], tmp_path)
    forks._server.process.kill()
    forks._server.process.wait()
    with pytest.raises(ToolError, match=r"^slow_tool cannot be started") as caught:
        forks.supervised(["a", "0"], tmp_path)
    assert caught.value.killed
    assert forks.supervised(["a", "0"], tmp_path)[1] == 0


def test_the_server_ends_with_its_client(forks, tmp_path):
    text = (
        "import os, pathlib, subprocess\nfrom hwgen.tools.forks import Forks\n"
        f"Forks('slow_tool', 'run').supervised(['a', '0'], pathlib.Path({str(tmp_path)!r}))\n"
        "subprocess.run(['ps', '-o', 'pid=,args=', '--ppid', str(os.getpid())])\n"
        "os._exit(0)\n"
    )
    result = subprocess.run([sys.executable, "-c", text], cwd=ROOT, check=True, capture_output=True, text=True)
    (server,) = [line.split()[0] for line in result.stdout.splitlines() if "fork_server" in line]
    until(lambda: not Path(f"/proc/{server}").exists())


def test_tools_of_a_client_that_was_killed_end_and_leave_no_folder(forks, tmp_path):
    (folder := tmp_path / "work").mkdir()
    (tmp_path / "slow_tool.py").write_text(
        TOOL.replace("time.sleep(60)", "os.system('echo $PPID > ../number; sleep 60')")
    )
    text = (
        "import os, pathlib, signal, threading, time\nfrom hwgen.tools.forks import Forks\n"
        f"folder = pathlib.Path({str(folder)!r})\nrun = Forks('slow_tool', 'run').supervised\n"
        "threading.Thread(target=run, args=(['wait', '0'], folder), daemon=True).start()\n"
        "while not (folder.parent / 'number').exists():\n    time.sleep(0.01)\n"
        "time.sleep(0.2)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    client = subprocess.run([sys.executable, "-c", text], cwd=ROOT, check=False, stderr=subprocess.DEVNULL)
    assert client.returncode == -signal.SIGKILL
    until(lambda: not folder.exists())
    until(lambda: not Path(f"/proc/{(tmp_path / 'number').read_text().strip()}").exists())


def test_a_tool_that_has_just_ended_can_be_ended():
    """Ctrl-C comes between the end of a tool and the news of it."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    _Run(ended.pid).kill()
