"""The energy of a netlist per operation, by part, with and without glitches.

Switching is that of the nets: capacitance times V² / 2 for each transition, of the pins and output ports at the net.
Internal energy is that inside the cells, for transitions of their pins. Leakage is the cells' over the period. The
energy of the clock is the part of the other two that its net and the clock pins have.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from hwgen.tools.process import ToolError
from synth.energy import compiled, icarus
from synth.energy.activity import Activity, Stimuli
from synth.energy.circuit import Circuit
from synth.energy.workload import Workload
from synth.proof.bitslice import compiler

Simulator = Literal["compiled", "icarus"]
COMPILED: Simulator = "compiled"
ICARUS: Simulator = "icarus"
SIMULATORS: tuple[Simulator, ...] = (COMPILED, ICARUS)

_STILL = 4
"""Ticks of a period without delays; any number will do."""


class MismatchError(ToolError):
    """A netlist and the reference model differ: a bug of ours, or of a library."""


@dataclass(frozen=True)
class Parts:
    """Energies per operation."""

    switching: float
    internal: float
    clock: float


def is_available(simulator: Simulator) -> bool:
    """Whether this machine can run a simulator."""
    return icarus.installed() if simulator == ICARUS else compiler() is not None


def available() -> Simulator | None:
    """The simulator to use: the compiled one, which is much faster, or Icarus where there is no C++ compiler."""
    return next(filter(is_available, SIMULATORS), None)


def simulate(circuit: Circuit, work: Workload, period: int, simulator: Simulator, *, delays: bool = True) -> Activity:
    """Simulate a workload and check its results.

    Raises
    ------
    MismatchError
        If an output is not what the reference model says.
    UnsettledError
        If there are changes left when an operation ends; Icarus shows a wrong result instead.
    """
    stimuli: Stimuli = work.stimuli({name: len(nets) for name, nets in circuit.inputs.items()})
    run = compiled.simulate if simulator == COMPILED else icarus.simulate
    activity = run(circuit, stimuli, period, delays=delays)
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


def measure(circuit: Circuit, work: Workload, period: int, simulator: Simulator) -> dict[str, float]:
    """The metrics of a netlist; see :func:`simulate` for errors.

    Parameters
    ----------
    period : int
        Ticks from an operation to the next.
    """
    technology = circuit.technology
    active = simulate(circuit, work, period, simulator)
    still = simulate(circuit, work, _STILL, simulator, delays=False)
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
