"""The simulator in ``engine.cpp``, which is compiled when it is first used in a process."""

import ctypes
import subprocess
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.compiler import compiler, library
from hwgen.tools.process import ToolError
from synth.energy.activity import Activity, Stimuli, selections
from synth.energy.circuit import Circuit

ENGINE = Path(__file__).with_name("engine.cpp")


class UnsettledError(ToolError):
    """An operation has not settled within the period; ``operation`` is its number."""

    def __init__(self, operation: int):
        super().__init__(f"operation {operation} has not settled within the period")
        self.operation = operation


@cache
def _engine() -> ctypes.CDLL:
    path = compiler()
    if path is None:
        raise ToolError("there is no C++ compiler for the simulator")
    try:
        code = library(path, ENGINE.read_text(encoding="utf-8"), ("-O2", "-std=c++17"))
    except (OSError, subprocess.CalledProcessError) as error:
        text = getattr(error, "stderr", str(error).encode()).decode(errors="replace")
        raise ToolError("the simulator cannot be compiled", text) from error
    code.simulate.restype = ctypes.c_int64
    return code


def simulate(
    circuit: Circuit, stimuli: Stimuli, period: int, *, delays: bool = True, trace: NDArray[np.int64] | None = None
) -> Activity:
    """Simulate a netlist; without ``delays`` every net takes its settled value at once.

    Parameters
    ----------
    period : int
        Ticks from an operation to the next.
    trace : int64 array, shape (n, 2), optional
        Receives time and net of the first n changes.

    Raises
    ------
    UnsettledError
        If there are changes left when an operation ends.
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
    late = _engine().simulate(*(array.ctypes.data_as(ctypes.c_void_p) for array in arrays))
    if late >= 0:
        raise UnsettledError(late)
    return Activity(transitions, groups[: len(circuit.groups)], observed, int(settled[0]))


def _structure(circuit: Circuit) -> list[NDArray[Any]]:
    """The arrays that describe a netlist, in the order of the engine's parameters."""
    kinds = {instance.cell.name: instance.cell for instance in circuit.instances}
    types, bits, selected = [], bytearray(), [np.zeros(0, np.int16)]
    start = 0
    for cell in kinds.values():
        arcs, passive = selections(cell)
        rows = passive.shape[1] if cell.inputs else 1
        state = cell.state
        words = [len(cell.inputs), len(cell.outputs), state is not None, len(bits)]
        for output in cell.outputs:
            bits += output.truth or bytes(rows)
        words.append(len(bits))
        bits += state.next if state else b""
        words.append(len(bits))
        bits += state.clock if state else b""
        types += [*words, start, start + arcs.size]
        selected += [arcs.ravel(), passive.ravel()]
        start += arcs.size + passive.size
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
