"""Place and route for FPGAs with an open flow: the clock frequency that a module reaches between registers.

Every input and output of the module gets a register, so that all timed paths run through the module alone. The module
is mapped separately, so that its LUTs are the ones its area counts and no logic moves into the registers. nextpnr
places from a random seed; a figure is the median over several seeds.
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
"""Requested clock in MHz: more than these devices reach, so that the placer keeps optimizing."""

DEVICES = {
    "ice40": ("--hx8k", "--package", "ct256", "--pcf-allow-unconstrained"),
    "ecp5": ("--85k", "--package", "CABGA756", "--lpf-allow-unconstrained"),
}
"""Targets that can be routed, with nextpnr's options for the device in its largest package."""


def router(target: str) -> str:
    """Package and version of the place-and-route tool of a target; a BadValue if it is not installed."""
    package = f"yowasp-nextpnr-{target}"
    if importlib.util.find_spec(_package(target)) is None:
        problem = f"{target} needs the package {package} for place and route: pip install '.[route]' in the clone"
        raise BadValue("target", problem)
    return f"{package} {version(package)}"


def wrapper(ports: Sequence[Port], top: str) -> str:
    """Verilog that instantiates ``top`` with a register at every port except the clock, which the registers share."""
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
    """Run the tool once: its very first run compiles it."""
    with alone(_package(target)):
        _run(target, ["--version"], Path.cwd())


def clock(target: str, netlist: str, seed: int, timeout: float | None = None) -> float:
    """Clock in MHz that the wrapped module reaches after place and route; ``netlist`` is Yosys's JSON of the wrapper.

    A tool that fails is a TimingError, and one that takes longer than ``timeout`` seconds a TimeoutExpired.
    """
    _compiled(target)
    with tempfile.TemporaryDirectory(prefix="hwgen-") as folder:
        (Path(folder) / "netlist.json").write_text(netlist, encoding="utf-8")
        words = [*DEVICES[target], "--json", "netlist.json", "--report", "report.json", "--seed", str(seed)]
        words += ["--freq", str(_FREQUENCY), "--timing-allow-fail", "--quiet"]
        output, status = _run(target, words, Path(folder), timeout)
        report = Path(folder) / "report.json"
        clocks = json.loads(report.read_text(encoding="utf-8"))["fmax"] if report.exists() else {}
    if len(clocks) != 1:
        errors = (line for line in output.splitlines() if "ERROR" in line)
        message = "it was killed" if status < 0 else next(errors, "no clock in its report")
        raise TimingError(f"place and route failed: {message}", output, status < 0)
    (result,) = clocks.values()
    return float(result["achieved"])
