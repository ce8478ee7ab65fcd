"""Place and route for the FPGAs that open tools know to the end: a module between registers, and the clock that it reaches.

The module's inputs and outputs get a register each, so that every path that counts runs through the module alone; it is mapped by itself,
so that its LUTs are those of its area and nothing of it moves into the registers. nextpnr places by a random seed; a figure is the median
of several.
"""

import functools
import importlib.util
import json
import sys
import tempfile
import threading
from importlib.metadata import version
from pathlib import Path

from hwgen.bundle.testbench import CLOCK
from hwgen.netlist.ports import ports
from hwgen.tools.process import supervised
from synth.area.timing import TimingError

WRAPPER = "between_registers"

_FREQUENCY = 1000
"""MHz that are asked for: more than these devices have, so that the placer never rests."""

_DEVICES = {
    "ice40": ("--hx8k", "--package", "ct256", "--pcf-allow-unconstrained"),
    "ecp5": ("--85k", "--package", "CABGA756", "--lpf-allow-unconstrained"),
}
"""Targets that can be routed, and the device: the largest package there is."""

_LOCK = threading.Lock()


def is_routed(target: str) -> bool:
    """Whether there is place and route for a target."""
    return target in _DEVICES


def router(target: str) -> str:
    """Package and version of a target's place and route.

    Raises
    ------
    ValueError
        When it is not installed.
    """
    package = f"yowasp_nextpnr_{target}"
    if importlib.util.find_spec(package) is None:
        raise ValueError(f"place and route for {target} needs the package {package.replace('_', '-')}: pip install 'minifloat-rtl[route]'")
    return f"{package.replace('_', '-')} {version(package)}"


def wrapper(verilog: str, top: str) -> str:
    """A module with a register at every input and output of ``top``, but its clock, which is the registers', too."""
    every = [(port.direction, port.range, port.name) for port in ports(verilog, top)]
    found = [port for port in every if port[2] != CLOCK]
    heads = ["input wire between_clock", *(f"{way} {'reg' if way == 'output' else 'wire'} {size}{name}" for way, size, name in found)]
    nets = [f"  {'reg' if way == 'input' else 'wire'} {size}between_{name};" for way, size, name in found]
    links = ", ".join(f".{name}(between_{'clock' if name == CLOCK else name})" for _, _, name in every)
    moves = [f"    between_{name} <= {name};" if way == "input" else f"    {name} <= between_{name};" for way, _, name in found]
    body = [
        f"module {WRAPPER} ({', '.join(heads)});",
        *nets,
        f"  {top} inside ({links});",
        "  always @(posedge between_clock) begin",
        *moves,
    ]
    return "\n".join([*body, "  end", "endmodule", ""])


def _run(target: str, arguments: list[str], folder: Path, timeout: float | None = None) -> tuple[str, int]:
    package = f"yowasp_nextpnr_{target}"
    call = f"import sys, {package}; sys.exit({package}.run_nextpnr_{target}(sys.argv[1:]))"
    return supervised([sys.executable, "-c", call, *arguments], folder, timeout)


@functools.cache
def _compiled(target: str) -> None:
    """The first run ever compiles the tool, which no two workers should do at once."""
    _run(target, ["--version"], Path.cwd())


def clock(target: str, netlist: str, seed: int, timeout: float | None = None) -> float:
    """MHz that the wrapped module reaches after place and route.

    Parameters
    ----------
    target : str
    netlist : str
        Yosys's JSON of the wrapper.
    seed : int
    timeout : float, optional
        Seconds.

    Raises
    ------
    TimingError
        When the tool does not deliver.
    subprocess.TimeoutExpired
        When the time is up.
    """
    with _LOCK:
        _compiled(target)
    with tempfile.TemporaryDirectory(prefix="hwgen-") as folder:
        (Path(folder) / "netlist.json").write_text(netlist)
        words = [*_DEVICES[target], "--json", "netlist.json", "--report", "report.json", "--seed", str(seed)]
        words += ["--freq", str(_FREQUENCY), "--timing-allow-fail", "--quiet"]
        said, status = _run(target, words, Path(folder), timeout)
        report = Path(folder) / "report.json"
        clocks = json.loads(report.read_text())["fmax"] if report.exists() else {}
    if len(clocks) != 1:
        silent = "it was killed" if status < 0 else "no clock in its report"
        complaint = next((line for line in said.splitlines() if "ERROR" in line), silent)
        raise TimingError(f"place and route failed: {complaint}", said, status < 0)
    ((_, found),) = clocks.items()
    return float(found["achieved"])
