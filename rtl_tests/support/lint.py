"""Lint of emitted Verilog: each tool reads all modules in one call, and any output is a finding."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from hwgen.simulate.simulators import verilator_environment

# Each module of a call is a top.
_VERILATOR = ("verilator_bin", "--lint-only", "-Wall", "-Wno-MULTITOP", "--quiet", "--language", "1364-2005")
_ICARUS = ("iverilog", "-g2005", "-Wall", "-t", "null")
# -e .: every warning is an error
_YOSYS = ("yosys", "-q", "-e", ".")


def lint(modules: Mapping[str, str], folder: Path) -> tuple[str, ...]:
    """Check modules with Verilator ``-Wall`` and, if installed, with Icarus ``-Wall`` and the system's Yosys.

    Parameters
    ----------
    modules : mapping of name to text
        Texts of one module each.
    folder : Path
        Folder for their files.

    Returns
    -------
    tuple of str
        The tools that were run.

    Raises
    ------
    AssertionError
        If a tool reports anything; with its output.
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
        process = subprocess.run(
            [path, *command[1:]], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        output = (process.stdout + process.stderr).strip()
        if process.returncode or output:
            findings.append(f"{tool} (exit status {process.returncode}):\n{output}")
    assert not findings, "\n".join(findings)
    return tuple(commands)
