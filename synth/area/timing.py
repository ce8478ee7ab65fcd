"""Delays of mapped netlists before layout, measured by ABC's timer or by OpenSTA, in picoseconds and in *FO4*.

FO4 is the delay of an inverter that drives four copies of itself: a unit for comparing delays across processes. Each
run also measures a chain of such inverters, made of the library's smallest inverter, with the same timer.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from hwgen.tools.process import ToolError, supervised
from synth.area.liberty import GATES, Cell, Library, parse, smallest_inverter

ABC = "abc"
"""The timer that is always available."""

STAGES = 10
FANOUT = 4
_CHAIN_FO4 = STAGES + 1 / (1 + FANOUT)
"""Delay of the chain: it ends in an inverter without a load, which takes a fifth of the time of a loaded one."""

_TAU = 20.0
"""Picoseconds per unit of delay of our own gates; an FO4 is 5 units."""


class TimingError(ToolError):
    """A timer, or place and route, failed."""


DRIVES = (1, 2, 4, 8)

EFFORTS: dict[str, tuple[Mapping[str, float], Mapping[str, float]]] = {
    # input capacitances and delays without load, relative to the inverter
    "INV": ({"A": 1}, {"A": 1}),
    "BUF": ({"A": 1}, {"A": 3}),
    "NAND2": (dict.fromkeys("AB", 4 / 3), dict.fromkeys("AB", 2)),
    "NAND3": (dict.fromkeys("ABC", 5 / 3), dict.fromkeys("ABC", 3)),
    "NAND4": (dict.fromkeys("ABCD", 2), dict.fromkeys("ABCD", 4)),
    "NOR2": (dict.fromkeys("AB", 5 / 3), dict.fromkeys("AB", 2)),
    "NOR3": (dict.fromkeys("ABC", 7 / 3), dict.fromkeys("ABC", 3)),
    "NOR4": (dict.fromkeys("ABCD", 3), dict.fromkeys("ABCD", 4)),
    "AND2": (dict.fromkeys("AB", 4 / 3), dict.fromkeys("AB", 4)),
    "OR2": (dict.fromkeys("AB", 5 / 3), dict.fromkeys("AB", 4)),
    "XOR2": (dict.fromkeys("AB", 11 / 3), dict.fromkeys("AB", 6)),
    "XNOR2": (dict.fromkeys("AB", 10 / 3), dict.fromkeys("AB", 6)),
    "AOI21": ({"A": 2, "B": 2, "C": 5 / 3}, dict.fromkeys("ABC", 7 / 3)),
    "OAI21": ({"A": 2, "B": 2, "C": 4 / 3}, dict.fromkeys("ABC", 8 / 3)),
    "AOI22": (dict.fromkeys("ABCD", 2), dict.fromkeys("ABCD", 4)),
    "OAI22": (dict.fromkeys("ABCD", 2), dict.fromkeys("ABCD", 4)),
    "MAJI3": ({"A": 4, "B": 4, "C": 2}, dict.fromkeys("ABC", 4)),
    "MUX2": ({"A": 2, "B": 2, "S": 3}, {"A": 6, "B": 6, "S": 9}),
}
"""Logical efforts of the gates in gates.lib, from Sutherland, Sproull and Harris, Logical Effort, chapter 4.

Cells of several stages (BUF, AND2, OR2, XOR2 = NOR2 + AOI21, XNOR2 = NAND2 + OAI21, MUX2 = INV + AOI22 + INV) have the
sum over their stages; each drives the next.
"""

_LOADS = (0, 100, 1000)
"""Points of the delay tables, which are linear. Two points are too few: ABC takes its slope at the second to last."""


@cache
def gates_with_drives() -> Library:
    """Our own gates in four sizes, with delays by logical effort: parasitic + load / drive, no wires, no slopes."""
    points = ", ".join(map(str, _LOADS))
    lines = [
        "library (gates_with_drives) {",
        '  delay_model : table_lookup; time_unit : "1ps"; capacitive_load_unit (1, ff);',
        *(f"  {name}_threshold_pct_{edge} : 50;" for name in ("input", "output") for edge in ("rise", "fall")),
        *(
            f"  slew_{name}_threshold_pct_{edge} : {at};"
            for name, at in (("lower", 20), ("upper", 80))
            for edge in ("rise", "fall")
        ),
        "  lu_table_template (by_load) { variable_1 : input_net_transition; variable_2 : total_output_net_capacitance;",
        f'    index_1 ("{points}"); index_2 ("{points}"); }}',
    ]
    for cell in parse(GATES.read_text(encoding="utf-8"), GATES.name).cells:
        lines += _flip_flop(cell) if cell.sequential else [line for drive in DRIVES for line in _sized(cell, drive)]
    return parse("\n".join([*lines, "}"]) + "\n", "gates with drives")


def _flip_flop(cell: Cell) -> list[str]:
    """A flip-flop in one size, without delays: only the logic between registers is timed."""
    return [
        f'  cell ({cell.name}) {{ area : {cell.area:g}; ff (IQ, IQN) {{ clocked_on : "C"; next_state : "D"; }}',
        "    pin (C) { direction : input; clock : true; capacitance : 1; }"
        " pin (D) { direction : input; capacitance : 1; }",
        '    pin (Q) { direction : output; function : "IQ"; }',
        "  }",
    ]


def _sized(cell: Cell, drive: int) -> list[str]:
    loads, parasitics = EFFORTS[cell.name]
    ((output, function),) = cell.functions.items()
    lines = [f"  cell ({cell.name}X{drive}) {{ area : {cell.area * drive:g};"]
    lines += [
        f"    pin ({pin}) {{ direction : input; capacitance : {loads[pin] * drive:.6g}; }}" for pin in cell.inputs
    ]
    lines.append(f'    pin ({output}) {{ direction : output; function : "{function}"; max_capacitance : {40 * drive};')
    for pin in cell.inputs:
        row = ", ".join(f"{_TAU * (parasitics[pin] + load / drive):.6g}" for load in _LOADS)
        table = f"(by_load) {{ values ({', '.join([f'{chr(34)}{row}{chr(34)}'] * len(_LOADS))}); }}"
        names = ("cell_rise", "rise_transition", "cell_fall", "fall_transition")
        lines.append(f'      timing () {{ related_pin : "{pin}"; {" ".join(f"{name} {table}" for name in names)} }}')
    return [*lines, "    }", "  }"]


def _chain(libraries: Sequence[Library], gate: str) -> tuple[list[str], list[str]]:
    """A chain of the smallest inverters, each written as ``gate`` says, and the nets at its ends."""
    if not any(library.has_delays for library in libraries):
        raise TimingError("the library's cells have no delays")
    inverter = smallest_inverter(libraries)
    if inverter is None:
        raise TimingError("the library has no inverter to measure delays in")
    links, ends, before = [], [], "a"
    for stage in range(STAGES):
        links.append((before, f"n{stage}"))
        before = f"n{stage}"
        for load in range(FANOUT - (stage < STAGES - 1)):
            links.append((before, f"y{stage}_{load}"))
            ends.append(f"y{stage}_{load}")
    names = {"cell": inverter.name, "pin": inverter.inputs[0], "out": next(iter(inverter.functions))}
    return [gate.format(**names, before=before, after=after) for before, after in links], ends


def chain_blif(libraries: Sequence[Library]) -> str:
    """The inverter chain in BLIF, for ABC."""
    gates, ends = _chain(libraries, ".gate {cell} {pin}={before} {out}={after}")
    return "\n".join([".model netlist", ".inputs a", f".outputs {' '.join(ends)}", *gates, ".end", ""])


def chain_verilog(libraries: Sequence[Library]) -> str:
    """The inverter chain in Verilog, for OpenSTA."""
    gates, ends = _chain(libraries, "  {cell} to_{after} (.{pin}({before}), .{out}({after}));")
    nets = [f"  wire n{stage};" for stage in range(STAGES)]
    ports = "".join(f", output {end}" for end in ends)
    return "\n".join([f"module chain (input a{ports});", *nets, *gates, "endmodule", ""])


CHAIN = "chain.blif"
STATS = "stats.txt"
"""Output of ABC's ``stime -d``: cells, area and delay in ps of the first netlist; of the others in per cent of it."""

MEASURE_CHAIN = f"strash; write_blif before.blif; read_blif {CHAIN}; stime -d; read_blif before.blif; strash; map"
"""ABC's commands that time the chain first."""


def abc_delays(stats: str, count: int) -> tuple[float, list[float]]:
    """FO4 and the delays of ``count`` netlists, in ps, from ABC's output; a TimingError if that is incomplete."""
    words = stats.split()
    if len(words) != 6 + 4 * count or words[0] != "netlist":
        raise TimingError("ABC's timer failed: the library's cells need delays")
    chain = float(words[5])
    if chain <= 0:
        raise TimingError("the library's inverters have no delay")
    return chain / _CHAIN_FO4, [chain * float(word) / 100 for word in words[8::4]]


@cache
def opensta() -> str | None:
    """Name and version of OpenSTA, e.g. ``opensta 2.0.17``, or None where it is not installed, or says no version."""
    program = shutil.which("sta")
    if program is None:
        return None
    words, nothing = [program, "-version"], subprocess.DEVNULL  # another program of this name may ask for input
    try:
        stdout = subprocess.run(words, stdin=nothing, capture_output=True, check=False, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.match(r"\s*(\d[\w.]*)(?!\S)", stdout.decode(errors="replace"))
    return f"opensta {version[1]}" if version else None


_PERIOD = 1e5
"""Clock period, in ps, that delays are measured against. OpenSTA computes in binary32, here in steps below 0.01 ps."""

_TIME = """\
read_verilog {file}
link_design {top}
create_clock -name virtual -period {period}
set_input_delay 0 -clock virtual [all_inputs]
set_output_delay 0 -clock virtual [all_outputs]
puts "slack [worst_slack]"
"""


def opensta_delays(
    libraries: Sequence[Library], netlists: Sequence[str], top: str, timeout: float | None = None
) -> tuple[float, list[float]]:
    """FO4 and the delays of netlists of the module ``top``, in ps.

    If OpenSTA fails, that is a TimingError, and a TimeoutExpired if it takes longer than ``timeout`` seconds.
    """
    units = {"1ps": 1.0, "10ps": 10.0, "100ps": 100.0, "1ns": 1000.0}
    unit = units.get(libraries[0].content.attributes.get("time_unit", "1ns"))
    if unit is None:
        raise TimingError(f"the library's time_unit must be one of {', '.join(units)}")
    with tempfile.TemporaryDirectory(prefix="hwgen-") as folder:
        root = Path(folder)
        script, period = [], _PERIOD / unit
        for number, library in enumerate(libraries):
            (root / f"{number}.lib").write_text(library.for_tools, encoding="utf-8")
            script.append(f"read_liberty {number}.lib\n")
        modules = [(chain_verilog(libraries), "chain"), *((text, top) for text in netlists)]
        for number, (text, name) in enumerate(modules):
            (root / f"{number}.v").write_text(text, encoding="utf-8")
            script.append(_TIME.format(file=f"{number}.v", top=name, period=period))
        (root / "time.tcl").write_text("".join(script), encoding="utf-8")
        try:
            output, status = supervised(["sta", "-no_splash", "-exit", "time.tcl"], root, timeout)
        except OSError as error:
            raise TimingError(f"OpenSTA failed: {error}") from error
    slacks = re.findall(r"^slack (\S+)$", output, re.MULTILINE)
    if len(slacks) != len(netlists) + 1 or "rror:" in output:
        errors = (line for line in output.splitlines() if "rror" in line)
        message = "it was killed" if status < 0 else next(errors, "no message")
        raise TimingError(f"OpenSTA failed: {message}", output, status < 0)
    chain, *delays = ((period - float(slack)) * unit for slack in slacks)
    if not all(0 <= delay < 1e9 for delay in (chain, *delays)):
        raise TimingError("OpenSTA failed: there is no path from an input to an output", output)
    return chain / _CHAIN_FO4, delays
