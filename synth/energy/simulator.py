"""The event-driven simulator of netlists, which is compiled from ``engine.cpp`` when it is first used, and kept.

It counts transitions of nets, and of the groups of internal energy that they belong to.
"""

import ctypes
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.compiler import compiler, kept_library
from hwgen.tools.process import ToolError
from synth.energy.cells import Cell, Power
from synth.energy.circuit import Circuit

ENGINE = Path(__file__).with_name("engine.cpp")

INSTALL = "pip install ziglang, and set CXX='python -m ziglang c++'"
"""The way to a C++ compiler without the rights to install one on the machine."""


@dataclass(frozen=True)
class Stimuli:
    """Values of the inputs, operation by operation; a clock rises with each of them."""

    bits: NDArray[np.uint8]
    """Shape (operations, bits of the inputs)."""
    warm_up: int
    """Operations that are not counted."""


@dataclass(frozen=True)
class Activity:
    """Counts of falls and rises after the warm-up."""

    transitions: NDArray[np.int64]
    """Shape (nets, 2)."""
    groups: NDArray[np.int64]
    """Of :attr:`synth.energy.circuit.Circuit.groups`; shape (groups, 2)."""
    observed: NDArray[np.uint8]
    """The outputs at the end of each period; shape (operations, bits of the outputs)."""
    settled: int
    """Ticks from the start of an operation to the last transition; 0 without delays."""


class UnsettledError(ToolError):
    """An operation has not settled within the period; ``operation`` is its number."""

    def __init__(self, operation: int):
        super().__init__(f"operation {operation} has not settled within the period")
        self.operation = operation


@cache
def engine() -> ctypes.CDLL:
    """The compiled simulator; a ToolError on a machine without a C++ compiler that compiles it."""
    command = compiler()
    if command is None:
        raise ToolError(f"there is no C++ compiler for the simulator; without rights on the machine: {INSTALL}")
    try:
        code = kept_library(command, ENGINE.read_text(encoding="utf-8"), ("-O2", "-std=c++17"), "energy")
    except (OSError, subprocess.CalledProcessError) as error:
        text = getattr(error, "stderr", str(error).encode()).decode(errors="replace")
        raise ToolError("the simulator cannot be compiled", text) from error
    code.simulate.restype = ctypes.c_int64
    return code


def simulate(
    circuit: Circuit, stimuli: Stimuli, period: int, *, delays: bool = True, trace: NDArray[np.int64] | None = None
) -> Activity:
    """Simulate a netlist; without ``delays`` every net takes its settled value at once.

    ``period`` are the ticks from an operation to the next; changes that are left then are an UnsettledError. ``trace``,
    of shape (n, 2), receives time and net of the first n changes.
    """
    operations, width = stimuli.bits.shape
    observed = np.zeros((operations, len(circuit.observed_nets)), np.uint8)
    transitions = np.zeros((circuit.nets, 2), np.int64)
    groups = np.zeros((max(len(circuit.groups), 1), 2), np.int64)
    settled = np.zeros(1, np.int64)
    clock = -1 if circuit.clock is None else circuit.clock
    sizes = [circuit.nets, len(circuit.instances), observed.shape[1], width, operations, stimuli.warm_up, clock]
    trace = np.zeros((0, 2), np.int64) if trace is None else trace
    arrays = [
        np.array([*sizes, period, period // 2, not delays, len(trace)], np.int64),
        *_structure(circuit),
        np.ascontiguousarray(stimuli.bits),
        observed,
        transitions,
        groups,
        settled,
        trace,
    ]
    late = engine().simulate(*(array.ctypes.data_as(ctypes.c_void_p) for array in arrays))
    if late >= 0:
        raise UnsettledError(late)
    return Activity(transitions, groups[: len(circuit.groups)], observed, int(settled[0]))


def _structure(circuit: Circuit) -> list[NDArray[Any]]:
    """The arrays that describe a netlist, in the order of the engine's parameters."""
    kinds = {instance.cell.name: instance.cell for instance in circuit.instances}
    types, bits, selected = [], bytearray(), [np.zeros(0, np.int16)]
    start = 0
    for cell in kinds.values():
        places = _selections(cell)
        state = cell.state
        words = [len(cell.inputs), len(cell.outputs), state is not None, len(bits)]
        for output in cell.outputs:
            bits += output.truth or bytes(places.shape[-1])
        words.append(len(bits))
        bits += state.next if state else b""
        words.append(len(bits))
        bits += state.clock if state else b""
        types += [*words, start, start + places[:-1].size]
        selected.append(places.ravel())
        start += places.size
    numbers = {name: number for number, name in enumerate(kinds)}
    first_inputs = [0, *accumulate(len(instance.inputs) for instance in circuit.instances)]
    first_outputs = [0, *accumulate(len(instance.outputs) for instance in circuit.instances)]
    own = (sum(len(out.powers) for out in item.cell.outputs) + len(item.cell.passive) for item in circuit.instances)
    first_groups = [0, *accumulate(own)]
    instances = [
        (numbers[instance.cell.name], first_inputs[number], first_outputs[number], first_groups[number])
        for number, instance in enumerate(circuit.instances)
    ]
    readers = sorted(
        (net, number, pin)
        for number, instance in enumerate(circuit.instances)
        for pin, net in enumerate(instance.inputs)
    )
    starts = np.searchsorted(np.array([net for net, _, _ in readers]), np.arange(circuit.nets + 1))
    return [
        np.array(types, np.int32),
        np.array(instances, np.int32),
        np.frombuffer(bytes(bits) or b"\0", np.uint8),
        np.concatenate(selected),
        np.array([net for instance in circuit.instances for net in instance.inputs], np.int32),
        np.array([net for instance in circuit.instances for net in instance.outputs], np.int32),
        np.array(circuit.delays, np.int64),
        starts.astype(np.int32),
        np.array([number for _, number, _ in readers], np.int32),
        np.array([pin for _, _, pin in readers], np.int32),
        np.array(circuit.stimulus_nets, np.int32),
        np.array(circuit.observed_nets, np.int32),
    ]


def chosen(powers: Sequence[Power], pin: int, row: int) -> int | None:
    """Place of the group of a pin that applies in a row of the cell's truth tables.

    That is the first whose condition holds, else the one without a condition; None if there is none.
    """
    others = None
    for place, power in enumerate(powers):
        if power.pin == pin:
            if power.when is None:
                others = place
            elif power.when[row]:
                return place
    return others


def cause(powers: Sequence[Power], pin: int, row: int) -> int | None:
    """Place of the group of an output that ``pin`` has changed: like :func:`chosen`, or else any group of the pin.

    Conditions cover the states in which one input changes the output; other inputs may have changed at the same time.
    """
    place = chosen(powers, pin, row)
    return next((other for other, power in enumerate(powers) if power.pin == pin), None) if place is None else place


def _selections(cell: Cell) -> NDArray[np.int16]:
    """Places among a cell's groups by output, input and row, and behind the outputs by input and row; or else -1."""
    groups = [*(output.powers for output in cell.outputs), cell.passive]
    first = [0, *accumulate(map(len, groups))]
    rows = 1 << len(cell.inputs) + (cell.state is not None)
    selected = np.full((len(groups), len(cell.inputs), rows), -1, np.int16)
    for number, pin, row in np.ndindex(selected.shape):
        choose = cause if number < len(cell.outputs) else chosen
        place = choose(groups[number], pin, row)
        if place is not None:
            selected[number, pin, row] = first[number] + place
    return selected
