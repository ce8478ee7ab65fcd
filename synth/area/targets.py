"""Targets: how Yosys maps a module to LUTs or cells, and what is counted.

Every target uses Yosys's own flow without block memories, DSP blocks, pads and clock buffers. The flow is split before
LUTs or cells are chosen, so that its first part runs once for all renamings and recipes.
"""

import functools
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from golden.refusal import BadValue
from hwgen.tools import yosys
from hwgen.tools.process import ToolError
from synth.area.liberty import GATES, Library, has_flip_flop, nand2_area, parse, richest_first
from synth.area.recipes import SPEED, Kind
from synth.area.route import DEVICES
from synth.area.timing import gates_with_drives

Counts = Mapping[str, int]
"""Number of cells of each type in a netlist."""

LIBERTY = "liberty"
"""Name of the target that maps to the user's own cell libraries."""


@dataclass(frozen=True)
class Target:
    """A technology that modules are mapped to and measured in."""

    name: str
    title: str
    metric: str
    """Name of the figure; the next field is its unit."""
    unit: str
    kind: Kind
    prepare: str
    """Yosys commands up to the choice of LUTs or cells; ``{top}`` is the module."""
    finish: str
    """Yosys commands from there to the netlist that is counted; for cells, ``{abc}`` are arguments of ABC."""
    measure: Callable[[Counts, float], dict[str, float]]
    """Computes metrics from cell counts and, for libraries, the area in the library's unit; the first metric is the
    figure. A cell that would count as nothing is a ToolError."""
    inputs: Callable[[], Mapping[str, str]]
    """Files that the commands read, by name."""
    note: str
    """What a reader must know about the figure."""
    libraries: tuple[Library, ...] = ()
    """The cells that the module is mapped to."""


def alm_estimate(counts: Counts) -> float:
    """Estimated number of adaptive logic modules (ALMs) of a Cyclone V that a netlist of ALUTs fills.

    An ALM holds one 6-input function, or two functions of up to 5 inputs with 8 inputs in all, or two bits of a carry
    chain. A 6-input function fills an ALM; a 5-input function leaves room for a 2- or 3-input function. Functions of 4
    inputs and the remaining ones of 2 and 3 inputs go in pairs, as do carry bits:
    ``n6 + n5 + max(0, n4 + n23 - min(n5, n23)) / 2 + arith / 2``. Quartus would also share inputs.
    """
    n6, n5, n4 = (counts.get(f"MISTRAL_ALUT{inputs}", 0) for inputs in (6, 5, 4))
    n23 = counts.get("MISTRAL_ALUT3", 0) + counts.get("MISTRAL_ALUT2", 0)
    return n6 + n5 + max(0, n4 + n23 - min(n5, n23)) / 2 + counts.get("MISTRAL_ALUT_ARITH", 0) / 2


def _cyclonev(counts: Counts, _: float) -> dict[str, float]:
    aluts = sum(count for cell, count in counts.items() if cell.startswith("MISTRAL_ALUT"))
    return {"alm": alm_estimate(counts), "alut": aluts, "carry": counts.get("MISTRAL_ALUT_ARITH", 0)}


def _xc7(counts: Counts, _: float) -> dict[str, float]:
    luts = sum(counts.get(f"LUT{inputs}", 0) for inputs in range(1, 7))
    return {"lut": luts, "carry": counts.get("CARRY4", 0), "mux": counts.get("MUXF7", 0) + counts.get("MUXF8", 0)}


def _ice40(counts: Counts, _: float) -> dict[str, float]:
    return {"lut": counts.get("SB_LUT4", 0), "carry": counts.get("SB_CARRY", 0)}


def _ecp5(counts: Counts, _: float) -> dict[str, float]:
    carry = counts.get("CCU2C", 0)
    muxes = counts.get("PFUMX", 0) + counts.get("L6MUX21", 0)
    return {"lut": counts.get("LUT4", 0) + 2 * carry, "carry": carry, "mux": muxes}


@functools.cache
def _xilinx_models() -> Mapping[str, str]:
    """The simulation models that mapping needs; reading the file of all Xilinx cells (161 kB) takes 1 s per run."""
    names = ["CARRY4", "MUXF7", "MUXF8", "INV", "FDRE", "FDSE", "FDCE", "FDPE"]
    names += [f"LUT{inputs}" for inputs in range(1, 7)]
    text = yosys.share("xilinx/cells_sim.v")
    models = []
    for name in names:
        model = re.search(rf"^(?:\(\*[^\n]*\*\)\n)*module {name}\b.*?^endmodule\n", text, re.MULTILINE | re.DOTALL)
        if model is None:
            raise RuntimeError(f"This Yosys has no model of the Xilinx cell {name}")
        models.append(model[0])
    return MappingProxyType({"cells.v": "".join(models)})


def _without_memories(command: str, section: str, first: str = "") -> str:
    """A flow up to the choice of LUTs without its section on block memories, whose models take 0.5 to 2 s to read."""
    return f"{command} -run {first}:{section}\n{command} -run map_ffram:map_luts"


def _cells(name: str, title: str, unit: str, libraries: tuple[Library, ...], note: str) -> Target:
    files = {f"cells{number}.lib": library.for_tools for number, library in enumerate(richest_first(libraries))}
    options = " ".join(f"-liberty {file}" for file in files)
    nand2 = nand2_area(libraries)
    known = {cell.name for library in libraries for cell in library.cells if cell.area > 0}

    def measure(counts: Counts, area: float) -> dict[str, float]:
        unknown = [cell for cell in counts if cell not in known and cell != "$scopeinfo"]
        if unknown:
            raise ToolError(f"the netlist has cells without an area in the library: {', '.join(unknown)}")
        equivalents = {} if nand2 is None or unit == "NAND2" else {"nand2_equivalents": round(area / nand2, 3)}
        cells = sum(count for cell, count in counts.items() if cell in known)
        return {"area": area, "cells": cells, **equivalents}

    prepare = "synth -noabc -flatten -top {top}" + (f"\ndfflibmap {options}" if has_flip_flop(libraries) else "")
    finish = f"abc {options} {{abc}}\nopt_clean\n"
    return Target(name, title, "area", unit, "cells", prepare, finish, measure, lambda: files, note, libraries)


def timed(target: Target) -> Target:
    """The target with delays: ``gates`` gets its gates in four sizes, an FPGA without place and route is refused."""
    if not (target.kind == "cells" or target.name in DEVICES):
        problem = f"{SPEED} goes with targets gates, {LIBERTY}, {' and '.join(DEVICES)}, not with {target.name}"
        raise BadValue("portfolio", problem)
    if target.name != "gates":
        return target
    return _cells(target.name, "Gates in four sizes", target.unit, (gates_with_drives(),), _SPEED_NOTE)


_GATES_NOTE = f"Transistors / 4 of static CMOS gates (synth/{GATES.name})."
_SPEED_NOTE = "Transistors / 4 times the gate's size; delays by logical effort (synth/area/timing.py)."
_LIBERTY_NOTE = "NAND2 equivalents divide by the area of the library's smallest two-input NAND."
_ALM_NOTE = "ALMs estimated from ALUTs and carry bits; not Quartus."
_CARRY_NOTE = "Carry cells are counted separately and not added to the LUTs."
_ECP5_NOTE = "A carry cell uses two LUTs and counts as two."

_ALM = "synth_intel_alm -family cyclonev -top {top} -nodsp -noiopad -noclkbuf -nobram -nolutram"
_ALM_FLOW = f"{_ALM} -run :map_luts", f"{_ALM} -run map_luts:check"
_XC7 = "synth_xilinx -family xc7 -top {top} -flatten -nodsp -noiopad -noclkbuf"
_XC7_MODELS = "read_verilog -lib -specify cells.v\nhierarchy -check -top {top}"
_XC7_PREPARE = f"{_XC7_MODELS}\n{_without_memories(_XC7, 'map_memory', 'prepare')}"
_XC7_FLOW = _XC7_PREPARE, f"{_XC7} -run map_luts:finalize"
_ICE40 = "synth_ice40 -top {top}"
_ICE40_FLOW = _without_memories(_ICE40, "map_ram"), f"{_ICE40} -run map_luts:check"
_ECP5 = "synth_ecp5 -top {top} -nodsp"
_ECP5_FLOW = _without_memories(_ECP5, "map_ram"), f"{_ECP5} -run map_luts:check"
"""Flows of the FPGA targets: the parts before and after the choice of LUTs."""

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        _cells("gates", "Gates", "NAND2", (parse(GATES.read_text(encoding="utf-8"), GATES.name),), _GATES_NOTE),
        Target("cyclonev", "Cyclone V", "alm", "ALM", "lut", *_ALM_FLOW, _cyclonev, dict, _ALM_NOTE),
        Target("xc7", "Xilinx 7", "lut", "LUT6", "lut", *_XC7_FLOW, _xc7, _xilinx_models, _CARRY_NOTE),
        Target("ice40", "iCE40", "lut", "LUT4", "lut", *_ICE40_FLOW, _ice40, dict, _CARRY_NOTE),
        Target("ecp5", "ECP5", "lut", "LUT4", "lut", *_ECP5_FLOW, _ecp5, dict, _ECP5_NOTE),
    )
}
"""Targets that need no library of the user's, by name."""


def check_target(argument: str, name: str, libraries: str, known: Collection[str] = TARGETS) -> None:
    """Refuse a name that is not among the ``known`` targets; ``libraries`` tells how to make ``liberty`` available."""
    if name not in known:
        raise BadValue(argument, f"must be one of {', '.join(TARGETS)}, or {libraries}, not {name!r}")


@functools.cache
def find(name: str, libraries: tuple[Library, ...] = ()) -> Target:
    """The target called ``name``; ``liberty`` maps to ``libraries``, with NAND2 equivalents if they have a NAND2.

    An unknown name is refused, and ``liberty`` without libraries, or another target with some.
    """
    if name == LIBERTY:
        if not libraries:
            raise BadValue("target", f"{LIBERTY} needs at least one library (--liberty FILE)")
        names = " + ".join(library.name for library in libraries)
        return _cells(LIBERTY, names, "library's unit of area", libraries, _LIBERTY_NOTE)
    check_target("target", name, f"{LIBERTY} with a library")
    if libraries:
        raise BadValue("libraries", f"go with target {LIBERTY} only, not with {name!r}")
    return TARGETS[name]
