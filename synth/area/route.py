"""Place and route for the FPGAs that open tools know to the end: a module between registers, and the clock that it
reaches.

The module's inputs and outputs get a register each, so that every path that counts runs through the module alone; it is
mapped by itself, so that its LUTs are those of its area and nothing of it moves into the registers. nextpnr places by a
random seed; a figure is the median of several.
"""

import functools
import importlib.util
import json
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from golden.refusal import BadValue
from hwgen.netlist.emit import CLOCK, Port
from hwgen.tools.process import alone, supervised
from synth.area.timing import TimingError

WRAPPER = "between_registers"

_FREQUENCY = 1000
"""MHz that are asked for: more than these devices have, so that the placer never rests."""

DEVICES = {
    "ice40": ("--hx8k", "--package", "ct256", "--pcf-allow-unconstrained"),
    "ecp5": ("--85k", "--package", "CABGA756", "--lpf-allow-unconstrained"),
}
"""Targets that can be routed, and the device: the largest package there is."""


def is_routed(target: str) -> bool:
    """Whether there is place and route for a target."""
    return target in DEVICES


def router(target: str) -> str:
    """Package and version of a target's place and route.

    Raises
    ------
    BadValue
        When it is not installed.
    """
    package = f"yowasp-nextpnr-{target}"
    if importlib.util.find_spec(_package(target)) is None:
        raise BadValue(
            "target", f"{target} needs the package {package} for place and route: pip install 'minifloat-rtl[route]'"
        )
    return f"{package} {version(package)}"


def wrapper(ports: Sequence[Port], top: str) -> str:
    """A module with a register at every input and output of ``top``, but its clock, which is the registers', too."""
    heads, nets, links, moves = ["input wire between_clock"], [], [], []
    for port in ports:
        name, inner = port.name, "between_clock" if port.name == CLOCK else f"between_{port.name}"
        links.append(f".{name}({inner})")
        if name == CLOCK:
            continue
        is_input = port.direction == "input"
        heads.append(f"{port.direction} {'wire' if is_input else 'reg'} {port.range}{name}")
        nets.append(f"  {'reg' if is_input else 'wire'} {port.range}{inner};")
        moves.append(f"    {inner} <= {name};" if is_input else f"    {name} <= {inner};")
    head, inside = f"module {WRAPPER} ({', '.join(heads)});", f"  {top} inside ({', '.join(links)});"
    return "\n".join([head, *nets, inside, "  always @(posedge between_clock) begin", *moves, "  end", "endmodule", ""])


def _package(target: str) -> str:
    return f"yowasp_nextpnr_{target}"


def _run(target: str, arguments: list[str], folder: Path, timeout: float | None = None) -> tuple[str, int]:
    package = _package(target)
    call = f"import sys, {package}; sys.exit({package}.run_nextpnr_{target}(sys.argv[1:]))"
    return supervised([sys.executable, "-c", call, *arguments], folder, timeout)


@functools.cache
def _compiled(target: str) -> None:
    """Have the tool compiled, which its first run ever does."""
    with alone(_package(target)):
        _run(target, ["--version"], Path.cwd())


def clock(target: str, netlist: str, seed: int, timeout: float | None = None) -> float:
    """MHz that the wrapped module reaches after place and route; ``netlist`` is Yosys's JSON of the wrapper.

    Raises
    ------
    TimingError
        When the tool does not deliver.
    subprocess.TimeoutExpired
        When the time is up.
    """
    _compiled(target)
    with tempfile.TemporaryDirectory(prefix="hwgen-") as folder:
        (Path(folder) / "netlist.json").write_text(netlist)
        words = [*DEVICES[target], "--json", "netlist.json", "--report", "report.json", "--seed", str(seed)]
        words += ["--freq", str(_FREQUENCY), "--timing-allow-fail", "--quiet"]
        output, status = _run(target, words, Path(folder), timeout)
        report = Path(folder) / "report.json"
        clocks = json.loads(report.read_text())["fmax"] if report.exists() else {}
    if len(clocks) != 1:
        silent = "it was killed" if status < 0 else "no clock in its report"
        complaint = next((line for line in output.splitlines() if "ERROR" in line), silent)
        raise TimingError(f"place and route failed: {complaint}", output, status < 0)
    (result,) = clocks.values()
    return float(result["achieved"])
