"""What commands that measure print, and how they end, when jobs fail or are interrupted."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from hwgen.__main__ import COMMANDS, main
from hwgen.tools.process import ToolError
from rtl_tests.support.paths import ROOT
from synth.area.jobs import Job
from synth.area.liberty import GATES
from synth.area.targets import find
from synth.energy.job import EnergyJob

AREA = ["area", "decoder", "--format", "e2m1", "--to", "bfloat16", "--jobs", "1", "--renamings", "1"]
ENERGY = ["energy", "mac", "--format", "e2m1", "--jobs", "1", "--renamings", "1"]


@pytest.fixture
def ends(monkeypatch):
    """Replaces jobs by functions that are called one after the other; the last one is called again."""

    def set_ends(*functions):
        left = list(functions)

        def execute(job, timeout):
            return (left.pop(0) if len(left) > 1 else left[0])(job)

        for kind in (Job, EnergyJob):
            monkeypatch.setattr(kind, "execute", execute)

    return set_ends


def fails(job):
    raise ToolError(f"the tool for {job.target} is out of order", "first line\nlast line")


def ends_well(job):
    sample = dict.fromkeys((find(job.target).metric, "cells"), 1.0)
    return {recipe: [sample] for recipe in job.recipes()}


def terminated(_):
    """As ``timeout`` does it: the signal comes twice, here after the outcome of the job before."""
    time.sleep(0.5)
    for _ in range(2):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.02)
    raise ToolError("the tool was killed")


@pytest.mark.parametrize(("words", "places"), [(AREA, ["gates", "xc7"]), (ENERGY, ["gates"])])
def test_the_reason_is_printed_if_every_job_fails(ends, capsys, words, places):
    ends(fails)
    assert main([*words, "--target", ",".join(places)]) == 1
    stdout, stderr = capsys.readouterr()
    assert stdout == ""
    for place in places:
        name = "e2m1_decoder_bfloat16" if words is AREA else "e2m1_mac_binary16"
        assert f"{name} on {place}: the tool for {place} is out of order\nfirst line\nlast line\n" in stderr
    assert main([*words, "--target", ",".join(places), "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == []


def test_an_interrupt_leaves_the_results_so_far(ends, capsys):
    before = signal.getsignal(signal.SIGTERM)
    ends(ends_well, terminated)
    with pytest.raises(SystemExit) as caught:
        main([*AREA, "--target", "gates,ice40"])
    assert caught.value.code == 143
    stdout, stderr = capsys.readouterr()
    assert len([line for line in stdout.splitlines() if " 1.0 " in line]) == 4
    assert stderr == "hwgen: 1 of 2 jobs are done\n"
    assert signal.getsignal(signal.SIGTERM) is before


def test_commands_leave_no_signal_handler(capsys):
    before = signal.getsignal(signal.SIGTERM)
    assert main(["formats"]) == 0
    assert main(["area", "decoder", "--format", "hif9"]) == 2
    assert signal.getsignal(signal.SIGTERM) is before


class Interrupted:
    """An object whose destructor is interrupted by a signal."""

    def __init__(self, number):
        self.number = number

    def __del__(self):
        os.kill(os.getpid(), self.number)
        time.sleep(0.01)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_amid_a_destructor_ends_the_command(monkeypatch, capsys, number, status):
    """Python swallows its exception there, and the command ran on, deaf to all later signals."""

    def run(_):
        Interrupted(number)
        time.sleep(5)

    hook, before = sys.unraisablehook, signal.signal(number, signal.SIG_DFL)  # nohup ignores SIGHUP
    monkeypatch.setitem(COMMANDS, "formats", run)
    with pytest.raises(SystemExit) as caught:
        main(["formats"])
    signal.signal(number, before)
    assert caught.value.code == status
    assert capsys.readouterr().err == ""
    assert sys.unraisablehook is hook


def test_memory_that_a_tool_lacks_is_not_the_users_file(tmp_path):
    """The module is fine: a machine with more memory maps it."""
    generate = [sys.executable, "-m", "hwgen", "generate", *AREA[1:6], "-o", str(tmp_path)]
    subprocess.run(generate, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    file = tmp_path / "e2m1_decoder_bfloat16" / "e2m1_decoder_bfloat16.v"
    words = ["verify", *AREA[1:6], "--verilog", str(file), "--liberty", str(GATES), "-o", str(tmp_path)]
    limit = f"ulimit -v 3000000 && exec {sys.executable} -m hwgen {' '.join(words)}"
    result = subprocess.run(["bash", "-c", limit], cwd=ROOT, check=False, capture_output=True, text=True)
    assert result.returncode == 1
    message = r"hwgen: Yosys did not write [\w.]+( and 1 more)?: ERROR: the tool crashed: Cannot allocate memory"
    assert re.match(message, result.stderr), result.stderr
