"""Lint of emitted Verilog: each tool reads all modules in one call, and whatever it says is a finding."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from rtl_tests.support.simulators import verilator_environment

# Several modules in one call are as many tops.
_VERILATOR = ("verilator_bin", "--lint-only", "-Wall", "-Wno-MULTITOP", "--quiet", "--language", "1364-2005")
_ICARUS = ("iverilog", "-g2005", "-Wall", "-t", "null")
_YOSYS = ("yosys", "-q", "-e", ".")


def lint(modules: Mapping[str, str], folder: Path) -> tuple[str, ...]:
    """Hold modules against Verilator ``-Wall`` and, where they are installed, Icarus ``-Wall`` and a Yosys of the
    system.

    Parameters
    ----------
    modules : mapping of name to text
        Each text is one module of that name.
    folder : Path
        Where their files may be written.

    Returns
    -------
    tuple of str
        The tools that read them.

    Raises
    ------
    AssertionError
        With all that the tools said.
    """
    files = []
    for name, text in modules.items():
        (folder / f"{name}.v").write_text(text)
        files.append(f"{name}.v")
    commands = {"verilator": [*_VERILATOR, *files]}
    if shutil.which("iverilog"):
        commands["icarus"] = [*_ICARUS, *files]
    if shutil.which("yosys"):
        script = f"read_verilog {' '.join(files)}; hierarchy -check; proc; select -assert-none t:$dlatch; check -assert"
        commands["yosys"] = [*_YOSYS, "-p", script]
    findings = []
    for tool, command in commands.items():
        environment = os.environ | (verilator_environment() if tool == "verilator" else {})
        path = shutil.which(command[0], path=environment["PATH"])
        assert path, f"{command[0]} is not installed"
        done = subprocess.run(
            [path, *command[1:]], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        said = (done.stdout + done.stderr).strip()
        if done.returncode or said:
            findings.append(f"{tool} (exit status {done.returncode}):\n{said}")
    assert not findings, "\n".join(findings)
    return tuple(commands)
