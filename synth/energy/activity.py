"""What a simulation counts: transitions of nets, and the groups of internal energy that they belong to."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.energy.cells import Cell, Power


@dataclass(frozen=True)
class Stimuli:
    """Values of the inputs, operation by operation; a clock rises with each of them.

    Attributes
    ----------
    bits : uint8 array, shape (operations, bits of the inputs)
    warm_up : int
        Operations that are not counted.
    """

    bits: NDArray[np.uint8]
    warm_up: int


@dataclass(frozen=True)
class Activity:
    """Counts of falls and rises after the warm-up.

    Attributes
    ----------
    transitions : int64 array, shape (nets, 2)
    groups : int64 array, shape (groups, 2)
        Of :attr:`synth.energy.circuit.Circuit.groups`.
    observed : uint8 array, shape (operations, bits of the outputs)
        At the end of each period.
    settled : int
        Ticks from the start of an operation to the last transition; 0 without delays.
    """

    transitions: NDArray[np.int64]
    groups: NDArray[np.int64]
    observed: NDArray[np.uint8]
    settled: int


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


def selections(cell: Cell) -> tuple[NDArray[Any], NDArray[Any]]:
    """Places among a cell's groups: for each output, input and row; and for each input and row. -1 stands for none."""
    pins, rows = range(len(cell.inputs)), range(1 << len(cell.inputs) + (cell.state is not None))
    arcs, start = np.full((len(cell.outputs), len(pins), len(rows)), -1, np.int16), 0
    for number, output in enumerate(cell.outputs):
        for pin in pins:
            for row in rows:
                place = cause(output.powers, pin, row)
                arcs[number, pin, row] = -1 if place is None else start + place
        start += len(output.powers)
    passive = np.full((len(pins), len(rows)), -1, np.int16)
    for pin in pins:
        for row in rows:
            place = chosen(cell.passive, pin, row)
            passive[pin, row] = -1 if place is None else start + place
    return arcs, passive
