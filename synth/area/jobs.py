"""Area jobs as data: Verilog in, rows out. A job runs in one Yosys process; its result depends on the job alone."""

import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from statistics import median
from typing import Any

from golden.refusal import check_choice, check_integer
from hwgen.netlist.emit import CLOCK, Port
from hwgen.tools import yosys
from hwgen.tools.process import ToolError
from synth.area.digest import fingerprint, sha256
from synth.area.liberty import Library, check_flip_flop
from synth.area.recipes import DEFAULT_PORTFOLIO, RECIPES, SPEED, portfolio
from synth.area.route import DEVICES, WRAPPER, clock, router, wrapper
from synth.area.rows import ENERGY, Row, Timing
from synth.area.targets import LIBERTY, Target, find, timed
from synth.area.timing import ABC, CHAIN, MEASURE_CHAIN, STATS, abc_delays, chain_blif, opensta, opensta_delays

DEFAULT_RENAMINGS = 4
MAX_RENAMINGS = 64
AS_EMITTED, MAX_SEED = 0, 1_000_000
"""Limits of seeds; the first one stands for the module as emitted, without a renaming."""
Samples = dict[str, list[dict[str, float]]]
"""Metrics of each renaming, by recipe."""

_SWAP = Path(__file__).with_name("data") / "swap.v"

_RENAMING = """\
design -load prepared
rename -scramble-name -seed {seed} {top}
sort
techmap -max_iter 1 -autoproc -map swap.v {top}/c:*[02468]_
sort
design -save renamed
"""
"""A renaming: signals and cells get random names and are sorted by them, and commutative gates whose name now ends in
an even digit (about half of them) swap their inputs. Names alone do not change LUT counts in this Yosys. The order in
which a designer happened to write operands does, so the spread must include it.

The second ``sort`` makes a renaming depend on its seed alone: without it, the order of the cells that ``techmap``
replaced depends on what Yosys did before.
"""


@dataclass(frozen=True)
class Job:
    """One module measured on one target.

    A BadValue or BadKind refuses a target, portfolio, renamings and libraries that do not fit together, and a library
    without a flip-flop for a module with registers.
    """

    component: str
    """Kind of block, e.g. ``mac``."""
    options: tuple[tuple[str, Any], ...]
    """Options of the block, by their names on the command line."""
    verilog: str = field(repr=False)
    top: str
    ports: tuple[Port, ...] = field(repr=False)
    target: str
    portfolio: str = DEFAULT_PORTFOLIO
    renamings: int = DEFAULT_RENAMINGS
    """Number of renamings that median and spread are taken over."""
    libraries: tuple[Library, ...] = field(default=(), repr=False)
    """Cell libraries of target ``liberty``."""
    command: str = ""
    """The command that repeats the job."""
    timer: str = ABC
    """Tool that measures the delays of portfolio ``speed``: ABC, or name and version of OpenSTA or of the router."""
    seed: int = 1
    """Seed of the first renaming; the others count up from it. :data:`AS_EMITTED` renames nothing."""
    recipe: str = ""
    """The only recipe of the portfolio to run; empty: all of them."""
    keeps_cells: bool = False
    """Whether :meth:`mapped` returns the netlists of cells."""

    def __post_init__(self) -> None:
        check_integer("seed", self.seed, AS_EMITTED, MAX_SEED)
        check_integer("renamings", self.renamings, 1, MAX_RENAMINGS)
        self.recipes()
        if self.target == LIBERTY and self.is_clocked:
            check_flip_flop(self.libraries, self.top)

    @property
    def is_clocked(self) -> bool:
        """Whether the module has registers."""
        return any(port.name == CLOCK for port in self.ports)

    @property
    def is_timed(self) -> bool:
        """Whether delays are measured as well as areas."""
        return self.portfolio == SPEED

    @property
    def is_routed(self) -> bool:
        """Whether delays are measured after place and route."""
        return self.is_timed and self.target in DEVICES

    @property
    def _place(self) -> Target:
        """The target; where delays are measured, the one that has delays."""
        target = find(self.target, self.libraries)
        return timed(target) if self.is_timed else target

    def recipes(self) -> dict[str, str | None]:
        """ABC scripts of the portfolio, or of the only recipe, by name."""
        scripts = portfolio(self.portfolio, self._place.kind)
        return {check_choice("recipe", self.recipe, tuple(scripts)): scripts[self.recipe]} if self.recipe else scripts

    @property
    def seeds(self) -> range:
        """Seeds of the renamings."""
        return range(self.seed, self.seed + self.renamings)

    @property
    def label(self) -> str:
        """Short name for messages, e.g. ``hif8_mac_binary16 on xc7``."""
        return f"{self.top} on {self.target}"

    @property
    def effort(self) -> float:
        """Relative computing time: long jobs start first, and progress estimates the time left from it."""
        return (2000 + len(self.verilog)) * len(self.recipes()) * self.renamings

    @cached_property
    def script(self) -> str:
        """The Yosys script: all renamings, each mapped by all recipes."""
        target, top = self._place, WRAPPER if self.is_routed else self.top
        by_abc = self.is_timed and not self.is_routed
        libraries = " ".join(f"-liberty {file}" for file in target.inputs() if file.endswith(".lib"))
        lines = ["read_verilog module.v"]
        if self.is_routed:
            lines = ["read_verilog module.v wrapper.v", f"setattr -mod -set keep_hierarchy 1 {self.top}"]
        lines += [target.prepare.format(top=top), "scratchpad -set abc9.verify 0", "design -save prepared"]
        if by_abc:
            lines += _mapping(target, top, MEASURE_CHAIN)
        for seed in self.seeds:
            lines.append(_renaming(seed, self.top))
            for recipe, abc in self.recipes().items():
                name = f"{recipe}.{seed}"
                lines += ["design -load renamed", *_mapping(target, top, f"{abc}; stime -d" if by_abc else abc)]
                if self.is_routed:
                    lines += [f"setattr -mod -unset keep_hierarchy {self.top}", "flatten"]
                lines.append(f"tee -q -o {name}.json stat -json {libraries}")
                if self.keeps_cells:
                    lines += ["clean -purge", f"write_json {name}.cells"]
                if self.is_routed:
                    lines += ["blackbox =A:whitebox", f"write_json {name}.netlist"]
                elif self.is_timed and self.timer != ABC:
                    lines += ["clean -purge", "splitnets -ports", "clean -purge"]
                    lines.append(f"write_verilog -noattr -noexpr {name}.netlist")
        return "\n".join(lines) + "\n"

    def hashes(self) -> dict[str, str]:
        """SHA-256 of the module, and of the script with the cells and the timer that it names."""
        timing = [self.timer] if self.is_timed else []
        script = sha256(self.script, _SWAP.read_text(encoding="utf-8"), *self._place.inputs().values(), *timing)
        return {"verilog_sha256": sha256(self.verilog), "script_sha256": script}

    @property
    def key(self) -> str:
        """SHA-256 of everything that the samples depend on: :meth:`hashes`, the program and the tool's version."""
        return sha256(*self.hashes().values(), fingerprint(__name__), yosys.version())

    def execute(self, timeout: float | None = None) -> Samples:
        """Run the job; a ToolError if a tool fails, or does not finish within ``timeout`` seconds."""
        return self.mapped(timeout)[0]

    def mapped(self, timeout: float | None = None) -> tuple[Samples, dict[str, list[str]]]:
        """The areas and delays, and by recipe the netlists in Yosys's JSON, if it keeps them; see :meth:`execute`."""
        target = self._place
        files = {"module.v": self.verilog, "swap.v": _SWAP.read_text(encoding="utf-8"), **target.inputs()}
        # ABC times the netlists in this order
        order = [f"{recipe}.{seed}" for seed in self.seeds for recipe in self.recipes()]
        results = [f"{name}.json" for name in order] + [f"{name}.cells" for name in order if self.keeps_cells]
        deadline = None if timeout is None else time.monotonic() + timeout
        if self.is_timed:
            if self.timer not in ((router(self.target),) if self.is_routed else (ABC, opensta())):
                raise ToolError(f"this machine has no {self.timer}")
            if self.is_routed:
                files["wrapper.v"] = wrapper(self.ports, self.top)
            else:
                files[CHAIN] = chain_blif(target.libraries)
            results += [STATS] if self.timer == ABC else [f"{name}.netlist" for name in order]
        texts = yosys.run(self.script, files, results, timeout)
        metrics = {}
        for name in order:
            statistics = json.loads(texts[f"{name}.json"])["design"]
            metrics[name] = target.measure(statistics["num_cells_by_type"], float(statistics.get("area", 0.0)))
        if self.is_timed:
            try:
                delays = self._delays(texts, order, deadline)
            except subprocess.TimeoutExpired as error:
                raise ToolError(f"{self.timer} did not finish within the job's {timeout:g} s") from error
            for name, delay in zip(order, delays, strict=True):
                metrics[name] |= delay
        samples = {recipe: [metrics[f"{recipe}.{seed}"] for seed in self.seeds] for recipe in self.recipes()}
        seeds = self.seeds if self.keeps_cells else ()
        return samples, {recipe: [texts[f"{recipe}.{seed}.cells"] for seed in seeds] for recipe in self.recipes()}

    def _delays(self, texts: Mapping[str, str], order: Sequence[str], deadline: float | None) -> list[dict[str, float]]:
        """Metrics of each netlist's delay; ``deadline`` is in seconds of :func:`time.monotonic`."""

        def remaining() -> float | None:
            return None if deadline is None else max(deadline - time.monotonic(), 0.01)

        if self.is_routed:
            seeds = [int(name.rpartition(".")[2]) for name in order]
            netlists = [texts[f"{name}.netlist"] for name in order]
            every = [clock(self.target, text, seed, remaining()) for text, seed in zip(netlists, seeds, strict=True)]
            return [{"delay_ps": round(1e6 / mhz, 1), "fmax_mhz": round(mhz, 2)} for mhz in every]
        if self.timer == ABC:
            fo4, delays = abc_delays(texts[STATS], len(order))
        else:
            netlists = [texts[f"{name}.netlist"] for name in order]
            fo4, delays = opensta_delays(self._place.libraries, netlists, self.top, remaining())
        if self.target != LIBERTY:  # gates without a process have no picoseconds
            return [{"delay_fo4": round(delay / fo4, 2)} for delay in delays]
        return [{"delay_ps": round(delay, 1), "delay_fo4": round(delay / fo4, 2)} for delay in delays]

    @property
    def figure(self) -> tuple[str, str]:
        """Metric and unit of the rows."""
        return self._place.metric, self._place.unit

    @property
    def conditions(self) -> Mapping[str, str | int]:
        """What else the figures depend on, for the rows."""
        return {}

    def rows(self, samples: Mapping[str, Sequence[Mapping[str, float]]]) -> list[Row]:
        """A row for each recipe, and one more that repeats the recipe with the lowest median as the best."""
        (metric, unit), hashes = self.figure, self.hashes()
        options = {name.replace("-", "_"): value for name, value in self.options}
        accumulator_bits = next((port.width for port in self.ports if port.name == "acc_out"), None)

        def row(recipe: str, group: Sequence[Mapping[str, float]]) -> Row:
            figures = tuple(sample[metric] for sample in group)
            return Row(
                component=self.component,
                options=options,
                target=self.target,
                recipe=recipe,
                metric=metric,
                min=min(figures),
                median=median(figures),
                max=max(figures),
                samples=figures,
                medians={name: median(sample[name] for sample in group) for name in group[0] if name != metric},
                unit=unit,
                tool=yosys.version(),
                portfolio=self.portfolio,
                renamings=self.renamings,
                seed=self.seed,
                name=self.top,
                command=self.command,
                libraries=tuple(library.name for library in self.libraries),
                libraries_sha256=tuple(library.sha256 for library in self.libraries),
                timing=self._timing(group) if self.is_timed and metric != ENERGY else None,
                conditions=self.conditions,
                accumulator_bits=accumulator_bits,
                verilog_sha256=hashes["verilog_sha256"],
                script_sha256=hashes["script_sha256"],
            )

        measured = [row(recipe, samples[recipe]) for recipe in self.recipes() if recipe in samples]
        return [*measured, min(measured, key=attrgetter("median")).best()]

    def _timing(self, group: Sequence[Mapping[str, float]]) -> Timing:
        metric = "delay_fo4" if "delay_fo4" in group[0] else "delay_ps"
        between = ("between registers",) if self.is_clocked and not self.is_routed else ()
        layout = "after place and route" if self.is_routed else "before layout"
        return Timing(metric, tuple(sample[metric] for sample in group), self.timer, (*between, layout))


def _renaming(seed: int, top: str) -> str:
    """Yosys commands from design ``prepared`` to design ``renamed``."""
    if seed == AS_EMITTED:
        return "design -load prepared\ndesign -save renamed\n"
    return _RENAMING.format(seed=seed, top=top)


def _mapping(target: Target, top: str, abc: str | None) -> list[str]:
    """Yosys commands of one recipe, from design ``renamed`` to the netlist."""
    finish = target.finish.replace("{top}", top)
    if target.kind == "cells":
        return [finish.replace("{abc}", "" if abc is None else f"-script +{abc.replace('; ', ';').replace(' ', ',')}")]
    return ["scratchpad -unset abc9.script" if abc is None else f'scratchpad -set abc9.script "+{abc}"', finish]


def mapped_netlist(verilog: str, top: str, libraries: Sequence[Library], recipe: str, seed: int) -> str:
    """The netlist of cells, as Verilog, that a job on target ``liberty`` counts for this recipe and seed."""
    target = find(LIBERTY, tuple(libraries))
    check_choice("recipe", recipe, tuple(RECIPES[target.kind]))
    check_integer("seed", seed, AS_EMITTED, MAX_SEED)
    lines = ["read_verilog module.v", target.prepare.format(top=top), "design -save prepared"]
    lines += [_renaming(seed, top), "design -load renamed"]
    lines += [*_mapping(target, top, RECIPES[target.kind][recipe]), "write_verilog -noattr cells.v", ""]
    files = {"module.v": verilog, "swap.v": _SWAP.read_text(encoding="utf-8"), **target.inputs()}
    return yosys.run("\n".join(lines), files, ["cells.v"])["cells.v"]
