"""Area jobs as data: text in, rows out. A job runs in one Yosys process and depends on nothing but itself."""

import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

from hwgen.bundle.testbench import CLOCK
from hwgen.netlist.ports import ports
from hwgen.tools import yosys
from hwgen.tools.process import ToolError
from synth.area.digest import sha256
from synth.area.liberty import Library, check_flip_flop
from synth.area.recipes import DEFAULT_PORTFOLIO, RECIPES, SPEED, portfolio
from synth.area.route import WRAPPER, clock, is_routed, router, wrapper
from synth.area.targets import LIBERTY, Target, find, timed
from synth.area.timing import ABC, CHAIN, MEASURE_CHAIN, STATS, abc_delays, chain_blif, opensta, opensta_delays

DEFAULT_RENAMINGS = 4
MAX_RENAMINGS = 64
MAX_SEED = 1_000_000
Row = dict[str, Any]

_SWAP = Path(__file__).with_name("data") / "swap.v"
_TIMING = tuple(Path(__file__).with_name(name) for name in ("timing.py", "route.py"))
"""What delays depend on besides the script: the chain and the wrapper that are made there, and how the tools are called."""

_RENAMING = """\
design -load prepared
rename -scramble-name -seed {seed} {top}
sort
techmap -max_iter 1 -autoproc -map swap.v {top}/c:*[02468]_
design -save renamed
"""
"""A renaming: new names for all internal signals and cells, cells and wires put in the order of the new names, and the inputs of the
commutative gates whose new name ends in an even digit exchanged (half of them, at random). Names alone do not move the figures of LUTs
in this Yosys; the order in which a designer happened to write operands does, so that belongs to the spread."""


@dataclass(frozen=True)
class Job:
    """One module measured on one target.

    Attributes
    ----------
    component : str
        Kind of block, e.g. ``mac``.
    options : tuple of (str, value)
        What made the block, by the command line's option names.
    verilog, top : str
        Text and name of the module.
    target : str
        A name of :data:`synth.area.targets.TARGETS`, or ``liberty``.
    portfolio : str
        A name of :data:`synth.area.recipes.PORTFOLIOS`.
    renamings : int
        How many renamings to take median and spread over.
    libraries : tuple of Library
        Cell libraries of target ``liberty``.
    command : str
        The command that repeats the job.
    facts : tuple of (str, value)
        Further entries for the job's rows.
    seed : int
        Of the first renaming; the others follow.
    timer : str
        Who tells the delays of portfolio ``speed``: :data:`synth.area.timing.ABC`, or name and version of OpenSTA.

    Raises
    ------
    ValueError
        When target, portfolio, renamings or libraries do not go together, or a library has no flip-flop for a module with registers.
    """

    component: str
    options: tuple[tuple[str, Any], ...]
    verilog: str = field(repr=False)
    top: str
    target: str
    portfolio: str = DEFAULT_PORTFOLIO
    renamings: int = DEFAULT_RENAMINGS
    libraries: tuple[Library, ...] = field(default=(), repr=False)
    command: str = ""
    facts: tuple[tuple[str, Any], ...] = ()
    timer: str = ABC
    seed: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.seed <= MAX_SEED:
            raise ValueError(f"seed must be from 1 to {MAX_SEED}, not {self.seed}")
        if not 1 <= self.renamings <= MAX_RENAMINGS:
            raise ValueError(f"renamings must be from 1 to {MAX_RENAMINGS}, not {self.renamings}")
        self._target()
        self.recipes()
        if self.target == LIBERTY and self.is_clocked:
            check_flip_flop(self.libraries, self.top)

    @property
    def is_clocked(self) -> bool:
        """Whether the module has registers."""
        return any(port.name == CLOCK for port in ports(self.verilog, self.top))

    @property
    def is_timed(self) -> bool:
        """Whether delays are measured, too."""
        return self.portfolio == SPEED

    @property
    def is_routed(self) -> bool:
        """Whether they are those of place and route."""
        return self.is_timed and is_routed(self.target)

    def _target(self) -> Target:
        return self._timed()[0] if self.is_timed else find(self.target, self.libraries)

    def _timed(self) -> tuple[Target, tuple[Library, ...]]:
        """Target and libraries of a job that is timed."""
        return timed(find(self.target, self.libraries), self.libraries)

    def recipes(self) -> dict[str, str | None]:
        """ABC script of each recipe, by name."""
        return portfolio(self.portfolio, self._target().kind)

    @property
    def seeds(self) -> range:
        """Of the renamings."""
        return range(self.seed, self.seed + self.renamings)

    @property
    def label(self) -> str:
        """Short name for people, e.g. ``hif8_mac_binary16 on xc7``."""
        return f"{self.top} on {self.target}"

    @property
    def effort(self) -> float:
        """Relative computing time, for the order of work and the time left."""
        return (2000 + len(self.verilog)) * len(self.recipes()) * self.renamings

    @cached_property
    def script(self) -> str:
        """The Yosys script."""
        target, top = self._target(), WRAPPER if self.is_routed else self.top
        lines = ["read_verilog module.v wrapper.v", f"setattr -mod -set keep_hierarchy 1 {self.top}"] if self.is_routed else []
        lines = lines or ["read_verilog module.v"]
        lines += [target.prepare.format(top=top), "scratchpad -set abc9.verify 0", "design -save prepared"]
        if self.is_timed and not self.is_routed:
            lines += _mapping(target, top, MEASURE_CHAIN)
        for seed in self.seeds:
            lines.append(_RENAMING.format(seed=seed, top=self.top))
            for recipe, abc in self.recipes().items():
                name = f"{recipe}.{seed}"
                timed_abc = f"{abc}; stime -d" if self.is_timed and not self.is_routed else abc
                lines += ["design -load renamed", *_mapping(target, top, timed_abc)]
                if self.is_routed:
                    lines += [f"setattr -mod -unset keep_hierarchy {self.top}", "flatten"]
                lines.append(f"tee -q -o {name}.json stat -json {_libraries(target)}")
                if self.is_routed:
                    lines += ["blackbox =A:whitebox", f"write_json {name}.netlist"]
                elif self.is_timed and self.timer != ABC:
                    lines += ["clean -purge", "splitnets -ports", "clean -purge", f"write_verilog -noattr -noexpr {name}.netlist"]
        return "\n".join(lines) + "\n"

    def hashes(self) -> dict[str, str]:
        """SHA-256 of the module, and of the script with every other file that it reads: together with ``tool`` they fix the result."""
        timing = [self.timer, *map(Path.read_text, _TIMING)] if self.is_timed else []
        script = sha256(self.script, _SWAP.read_text(), *self._target().inputs().values(), *timing)
        return {"verilog_sha256": sha256(self.verilog), "script_sha256": script}

    @property
    def key(self) -> str:
        """SHA-256 of all that the samples depend on: Verilog, script, every file that it reads, and the tool's version."""
        return sha256(*self.hashes().values(), yosys.version())


def _libraries(target: Target) -> str:
    return " ".join(f"-liberty {file}" for file in target.inputs() if file.endswith(".lib"))


def _mapping(target: Target, top: str, abc: str | None) -> list[str]:
    """Commands of one recipe, from ``renamed`` to the netlist."""
    finish = target.finish.replace("{top}", top)
    if target.kind == "cells":
        return [finish.replace("{abc}", "" if abc is None else f"-script +{abc.replace('; ', ';').replace(' ', ',')}")]
    return ["scratchpad -unset abc9.script" if abc is None else f'scratchpad -set abc9.script "+{abc}"', finish]


def mapped_netlist(verilog: str, top: str, libraries: Sequence[Library], recipe: str, seed: int) -> str:
    """The netlist of cells, as Verilog, that an untimed job on target ``liberty`` counts for a recipe and its first renaming, ``seed``.

    The job's next renamings, and those of timed jobs, differ a little, for names that Yosys makes up depend on what it did before.
    """
    target = find(LIBERTY, tuple(libraries))
    lines = ["read_verilog module.v", target.prepare.format(top=top), "design -save prepared", _RENAMING.format(seed=seed, top=top)]
    lines += ["design -load renamed", *_mapping(target, top, RECIPES[target.kind][recipe]), "write_verilog -noattr cells.v", ""]
    files = {"module.v": verilog, "swap.v": _SWAP.read_text(), **target.inputs()}
    return yosys.run("\n".join(lines), files, ["cells.v"])["cells.v"]


def execute(job: Job, timeout: float | None = None) -> dict[str, Any]:
    """Run a job.

    Returns
    -------
    dict
        ``{"samples": {recipe: [metrics, ...]}}``, metrics of each renaming; or ``{"error": sentence, "log": text, "killed": bool}`` when
        the tool did not deliver, or was ended by a signal. Plain data, so that it passes any process boundary.
    """
    if job.is_timed:
        return _execute_timed(job, timeout)
    target = find(job.target, job.libraries)
    files = {"module.v": job.verilog, "swap.v": _SWAP.read_text(), **target.inputs()}
    names = _results(job)
    try:
        found = yosys.run(job.script, files, [f"{name}.json" for group in names.values() for name in group], timeout)
        return {"samples": {recipe: [_metrics(target, found[f"{name}.json"]) for name in group] for recipe, group in names.items()}}
    except ToolError as error:
        return {"error": f"{job.label}: {error}", "log": error.log, "killed": error.killed}


def _results(job: Job) -> dict[str, list[str]]:
    """Names of a job's result files, by recipe, one for each renaming."""
    return {recipe: [f"{recipe}.{seed}" for seed in job.seeds] for recipe in job.recipes()}


def _execute_timed(job: Job, timeout: float | None) -> dict[str, Any]:
    """Run a job whose netlists are timed."""
    available = (router(job.target),) if job.is_routed else (ABC, opensta())
    if job.timer not in available:
        return {"error": f"{job.label}: this machine has no {job.timer}", "log": "", "killed": False}
    target, libraries = job._timed()
    names = _results(job)
    order = [f"{recipe}.{seed}" for seed in job.seeds for recipe in names]  # in which ABC has timed them
    files = {"module.v": job.verilog, "swap.v": _SWAP.read_text(), **target.inputs()}
    wanted = [f"{name}.json" for name in order] + ([STATS] if job.timer == ABC else [f"{name}.netlist" for name in order])
    until = None if timeout is None else time.monotonic() + timeout
    try:
        files |= {"wrapper.v": wrapper(job.verilog, job.top)} if job.is_routed else {CHAIN: chain_blif(libraries)}
        found = yosys.run(job.script, files, wanted, timeout)
        areas = [_metrics(target, found[f"{name}.json"]) for name in order]
        delays = _delays(job, libraries, found, order, until)
    except ToolError as error:
        return {"error": f"{job.label}: {error}", "log": error.log, "killed": error.killed}
    except subprocess.TimeoutExpired:
        return {"error": f"{job.label}: {job.timer} was not done when the job's {timeout:g} s were over", "log": "", "killed": False}
    measured = {name: area | delay for name, area, delay in zip(order, areas, delays, strict=True)}
    return {"samples": {recipe: [measured[name] for name in group] for recipe, group in names.items()}}


def _delays(
    job: Job, libraries: Sequence[Library], found: Mapping[str, str], order: Sequence[str], until: float | None
) -> list[dict[str, float]]:
    """Delay of each netlist, and what it is measured in; ``until`` is when the time is up."""

    def left() -> float | None:
        return None if until is None else max(until - time.monotonic(), 0.01)

    if job.is_routed:
        clocks = [clock(job.target, found[f"{name}.netlist"], int(name.rpartition(".")[2]), left()) for name in order]
        return [{"delay_ps": round(1e6 / clock, 1), "fmax_mhz": round(clock, 2)} for clock in clocks]
    if job.timer == ABC:
        fo4, delays = abc_delays(found[STATS], len(order))
    else:
        fo4, delays = opensta_delays(libraries, [found[f"{name}.netlist"] for name in order], job.top, left())
    if job.target != LIBERTY:  # gates of no process have no picoseconds
        return [{"delay_fo4": round(delay / fo4, 2)} for delay in delays]
    return [{"delay_ps": round(delay, 1), "delay_fo4": round(delay / fo4, 2)} for delay in delays]


def _metrics(target: Target, stat: str) -> dict[str, float]:
    """Metrics of one netlist, from Yosys's statistics."""
    design = json.loads(stat)["design"]
    return target.measure(design["num_cells_by_type"], float(design.get("area", 0.0)))


def rows(job: Job, samples: Mapping[str, Sequence[Mapping[str, float]]]) -> list[Row]:
    """A row for each recipe and one, ``recipe: "best"``, that quotes the recipe of the lowest median."""
    target = job._target()
    head: Row = {"component": job.component, **{name.replace("-", "_"): value for name, value in job.options}, **dict(job.facts)}
    tail = {
        "unit": target.unit, "tool": yosys.version(), "portfolio": job.portfolio, "renamings": job.renamings, "seed": job.seed,
        "name": job.top, "command": job.command, **job.hashes(),
    }  # fmt: skip
    if job.is_timed:
        delay = "delay_fo4" if "delay_fo4" in next(iter(samples.values()))[0] else "delay_ps"
        tail["delay"] = delay
        between = ", between registers" if job.is_clocked and not job.is_routed else ""
        tail["timer"] = job.timer + between + (", after place and route" if job.is_routed else ", before layout")
    if job.target == LIBERTY:
        tail["libraries"] = [library.name for library in job.libraries]
        tail["libraries_sha256"] = [library.sha256 for library in job.libraries]
    found: list[Row] = []
    for recipe, group in samples.items():
        figures = [sample[target.metric] for sample in group]
        others = {f"median_{name}": median(sample[name] for sample in group) for name in group[0] if name != target.metric}
        found.append({
            **head, "target": job.target, "recipe": recipe, "metric": target.metric,
            "min": min(figures), "median": median(figures), "max": max(figures), "samples": figures, **others, **tail,
        })  # fmt: skip
        if job.is_timed:
            found[-1]["delay_samples"] = [sample[delay] for sample in group]
    best = min(found, key=lambda row: row["median"])
    return [*found, {**best, "recipe": "best", "best_recipe": best["recipe"]}]
