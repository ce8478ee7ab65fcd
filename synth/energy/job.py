"""Energy jobs: the netlists of an area job, simulated with and without delays; rows like those of areas.

The energy of an operation has parts. Switching is that of the nets: capacitance times V² / 2 for each transition, of
the pins and output ports at the net. Internal energy is that inside the cells, for transitions of their pins. Leakage
is the cells' over the period. The energy of the clock is the part of the first two that its net and the clock pins
have.
"""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from golden.refusal import BadValue
from hwgen.blocks.block import Design
from hwgen.tools.process import ToolError
from synth.area.digest import fingerprint, sha256
from synth.area.jobs import DEFAULT_RENAMINGS, Job, Samples
from synth.area.liberty import Libraries
from synth.area.plan import NO_LIBRARIES, area_jobs
from synth.area.recipes import DEFAULT_PORTFOLIO, SPEED
from synth.area.rows import ENERGY
from synth.area.targets import LIBERTY
from synth.energy import effort, library
from synth.energy.cells import Technology
from synth.energy.circuit import Circuit, cell_names
from synth.energy.data import Data
from synth.energy.simulator import Activity, UnsettledError, simulate
from synth.energy.workload import Workload, workload

GATES = "gates"
PLACES = (GATES, LIBERTY)
"""Targets with cells, whose energy can be measured."""
DEFAULT_DATA = "gaussian"
OPERATIONS = 2000
MAX_OPERATIONS = 100_000
MAX_PERIOD = 1e6
"""In nanoseconds."""

_STILL = 4
"""Ticks of a period without delays; any number will do."""


class MismatchError(ToolError):
    """A netlist and the reference model differ: a bug of ours, or of a library."""


@dataclass(frozen=True, kw_only=True)
class EnergyJob(Job):
    """The energy of one module on one target.

    With portfolio ``speed`` the netlists of each recipe count, else those of the recipe with the lowest median area.
    """

    design: Design = field(repr=False, compare=False)
    data: Data
    operations: int = OPERATIONS
    period: float | None = None
    """In nanoseconds; None: the longest path of the netlists."""

    @property
    def label(self) -> str:
        """Short name for messages."""
        return f"energy of {super().label}"

    @property
    def effort(self) -> float:
        """See :attr:`Job.effort`."""
        return 2 * super().effort

    @property
    def key(self) -> str:
        """SHA-256 of everything that the samples depend on."""
        words = [self.data.name, self.data.sha256, self.operations, self.period]
        return sha256("energy", super().key, fingerprint(__name__), *map(str, words))

    def execute(self, timeout: float | None = None) -> Samples:
        """Run the job.

        It is a ToolError if a tool fails, a netlist differs from the reference model, or the library lacks what is
        needed, and a BadValue if the netlists do not settle within the period.
        """
        areas, netlists = self.mapped(timeout)
        recipes = list(areas)
        if self.portfolio != SPEED:
            recipes = [min(areas, key=lambda recipe: median(sample["area"] for sample in areas[recipe]))]
        technology = self._technology({text for recipe in recipes for text in netlists[recipe]})
        work = workload(self.design, self.data, self.operations)
        samples: Samples = {}
        for recipe in recipes:
            circuits = [Circuit(text, self.top, technology) for text in netlists[recipe]]
            longest = max(circuit.longest for circuit in circuits) + 1
            period = longest if self.period is None else round(self.period * technology.times / technology.tick)
            samples[recipe] = []
            for circuit, area in zip(circuits, areas[recipe], strict=True):
                try:
                    metrics = measure(circuit, work, max(period, 2))
                except UnsettledError as error:
                    needed = f"{technology.shown(longest):.3f} ns is enough"
                    problem = f"must be longer: operation {error.operation} has not settled after {self.period} ns"
                    raise BadValue("period", f"{problem}; {needed}") from error
                samples[recipe].append(metrics | area)
        return samples

    def _technology(self, netlists: set[str]) -> Technology:
        if self.target != LIBERTY:
            return effort.technology()
        used = set().union(*(cell_names(text, self.top) for text in netlists))
        return library.technology(self.libraries, used)

    @property
    def figure(self) -> tuple[str, str]:
        """Metric and unit of the rows."""
        return ENERGY, "fJ" if self.target == LIBERTY else effort.technology().unit

    @property
    def conditions(self) -> dict[str, str | int]:
        """What else an energy depends on, for the rows."""
        return {
            "unit_text": "femtojoules per operation" if self.target == LIBERTY else effort.technology().unit_text,
            "data": self.data.name,
            **({"data_sha256": self.data.sha256} if self.data.sha256 else {}),
            "operations": self.operations,
            "simulator": "compiled",
        }


def energy_jobs(
    design: Design,
    verilog: str,
    targets: Iterable[str],
    data: Data,
    *,
    portfolio: str = DEFAULT_PORTFOLIO,
    recipe: str = "",
    renamings: int = DEFAULT_RENAMINGS,
    libraries: Libraries = NO_LIBRARIES,
    seed: int = 1,
    operations: int = OPERATIONS,
    period: float | None = None,
) -> list[Job]:
    """One job for each target of :data:`PLACES`, and for ``liberty`` one for each library.

    See :func:`synth.area.plan.area_jobs`, :class:`synth.area.jobs.Job` and :class:`EnergyJob` for the parameters.
    """
    words = [f"--recipe {recipe}"] if recipe else []
    words += [f"--data {shlex.quote(data.name)}"] if data.name != DEFAULT_DATA else []
    words += [f"--operations {operations}"] if operations != OPERATIONS else []
    words += [f"--period {period:g}"] if period is not None else []
    make = partial(
        EnergyJob, design=design, data=data, operations=operations, period=period, recipe=recipe, keeps_cells=True
    )
    return area_jobs(design, verilog, targets, portfolio, renamings, libraries, seed, make, "energy", words)


# -- energies of netlists


@dataclass(frozen=True)
class Parts:
    """Energies per operation."""

    switching: float
    internal: float
    clock: float


def _simulated(circuit: Circuit, work: Workload, period: int, *, delays: bool = True) -> Activity:
    """The activity of a workload, whose results are checked."""
    stimuli = work.stimuli({name: len(nets) for name, nets in circuit.inputs.items()})
    activity = simulate(circuit, stimuli, period, delays=delays)
    wrong = work.mismatch({name: len(nets) for name, nets in circuit.outputs.items()}, activity.observed)
    if wrong:
        raise MismatchError(f"{circuit.top} differs from the reference model: {wrong}")
    return activity


def parts(circuit: Circuit, activity: Activity, operations: int) -> Parts:
    """Energies per operation of what a simulation has counted."""
    counts = activity.transitions.sum(axis=1)
    switched = counts * np.array(circuit.loads) * circuit.technology.voltage**2 / 2
    clock = float(switched[circuit.clock]) if circuit.clock is not None else 0.0
    internal = 0.0
    for group, (falls, rises) in zip(circuit.groups, activity.groups.tolist(), strict=True):
        if falls or rises:
            fall, rise = circuit.energies(group)
            energy = falls * fall + rises * rise
            internal += energy
            state = circuit.instances[group.instance].cell.state
            if state is not None and group.output is None and group.power.pin == state.clock_pin:
                clock += energy
    return Parts(float(switched.sum()) / operations, internal / operations, clock / operations)


def measure(circuit: Circuit, work: Workload, period: int) -> dict[str, float]:
    """The metrics of a netlist with ``period`` ticks from an operation to the next.

    An output that is not what the reference model says is a MismatchError, and a change that comes after the end of an
    operation an UnsettledError.
    """
    technology = circuit.technology
    active = _simulated(circuit, work, period)
    still = _simulated(circuit, work, _STILL, delays=False)
    with_glitches, without = (parts(circuit, activity, work.counted) for activity in (active, still))
    leakage = sum(instance.cell.leakage for instance in circuit.instances) * period * technology.tick
    metrics: Mapping[str, Any] = {
        "energy": with_glitches.switching + with_glitches.internal + leakage,
        "switching": with_glitches.switching,
        "internal": with_glitches.internal,
        "leakage": leakage,
        "glitch_free": without.switching + without.internal + leakage,
        "glitch_free_switching": without.switching,
        "glitch_free_internal": without.internal,
        "clock": with_glitches.clock,
        "transitions": float(active.transitions.sum()) / work.counted,
        "glitch_free_transitions": float(still.transitions.sum()) / work.counted,
        f"settled_{technology.time}": technology.shown(active.settled),
        f"period_{technology.time}": technology.shown(period),
    }
    return {name: float(f"{value:.7g}") for name, value in metrics.items()}
