"""The console command, interrupted while Python imports the program."""

import subprocess
import sys
import tomllib

import pytest

from rtl_tests.support.paths import ROOT

SCRIPT = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell makes background processes ignore the signal

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
from {module} import {function}
sys.exit({function}())
"""
"""What the installed script does, interrupted where a module is to be imported."""


@pytest.mark.parametrize(
    "name", ["golden", "numpy", "amaranth.hdl", "hwgen.blocks.pe", "hwgen.cli.write", "synth.cli.verify"]
)
def test_an_interrupt_ends_the_command_in_one_line(name):
    with (ROOT / "pyproject.toml").open("rb") as file:
        module, function = tomllib.load(file)["project"]["scripts"]["hwgen"].split(":")
    script = SCRIPT.format(name=name, module=module, function=function)
    words = [sys.executable, "-c", script, "verify", "decoder", "--format", "e2m1", "--verilog", "missing.v"]
    process = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (process.returncode, process.stdout, process.stderr) == (130, "", "hwgen: interrupted\n")
