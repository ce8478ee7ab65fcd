"""Cells as a simulation sees them: truth tables, capacitances, delays, and energies, in the units of a technology."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from hwgen.tools.process import ToolError

Truth = bytes
"""Values of a function, 0 or 1, by the values of the input pins, pin 0 least significant, and of the state above."""


class CellError(ToolError):
    """A library lacks what a simulation needs to know about a cell."""


@dataclass(frozen=True)
class Table:
    """Values by input slew and output load, interpolated linearly, and continued linearly beyond the ends.

    ``values`` has a row for each slew with a value for each load. A table may have a single slew or load.
    """

    slews: tuple[float, ...]
    loads: tuple[float, ...]
    values: tuple[tuple[float, ...], ...]

    def at(self, slew: float, load: float) -> float:
        """The value at a slew and a load."""
        row, right = _place(self.slews, slew)
        column, up = _place(self.loads, load)
        below, *above = self.values[row : row + 2]
        value = _between(below, column, up)
        return value + right * (_between(above[0], column, up) - value) if above else value


def _place(points: Sequence[float], value: float) -> tuple[int, float]:
    """The interval of a value, and the value's place in it, where 0 is the interval's start and 1 its end."""
    if len(points) == 1:
        return 0, 0.0
    start = min(max(bisect_right(points, value) - 1, 0), len(points) - 2)
    return start, (value - points[start]) / (points[start + 1] - points[start])


def _between(row: Sequence[float], column: int, up: float) -> float:
    first, *others = row[column : column + 2]
    return first + up * (others[0] - first) if others else first


Edges = tuple[Table | None, Table | None]
"""Tables for a fall and for a rise; None stands for 0."""


@dataclass(frozen=True)
class Arc:
    """Delays and slews of an output after a change of the input ``pin``."""

    pin: int
    delays: Edges
    slews: Edges


@dataclass(frozen=True)
class Power:
    """Energy inside a cell for a transition of a pin."""

    pin: int
    """The input that causes the transition of an output, or that has the transition."""
    when: Truth | None
    """Only where this is 1; None is a default, for where no other group of the pin applies."""
    energies: Edges


@dataclass(frozen=True)
class Output:
    """An output pin, or one without a function, whose ``truth`` is None."""

    name: str
    truth: Truth | None
    arcs: tuple[Arc, ...]
    powers: tuple[Power, ...]


@dataclass(frozen=True)
class State:
    """A flip-flop: it takes the value ``next`` when ``clock`` becomes 1.

    ``asynchronous`` are set and reset; only cells whose are constantly 0 can be simulated.
    """

    next: Truth
    clock: Truth
    clock_pin: int
    asynchronous: tuple[Truth, ...] = ()


@dataclass(frozen=True)
class Cell:
    """A cell: its input pins with their capacitances, its outputs, and its state if it is a flip-flop."""

    name: str
    inputs: tuple[str, ...]
    capacitances: tuple[float, ...]
    outputs: tuple[Output, ...]
    passive: tuple[Power, ...] = ()
    """Energies for transitions of inputs."""
    leakage: float = 0.0
    """Energy per unit of time."""
    state: State | None = None


@dataclass(frozen=True)
class Technology:
    """The cells of a netlist by name, and the conditions of a measurement.

    A transition of a net needs half its capacitance times the square of the ``voltage``.
    """

    cells: Mapping[str, Cell]
    unit: str
    """Unit of energies; the next field is the same in words."""
    unit_text: str
    time: str
    """Unit of times in results: ``ns`` or ``fo4``."""
    times: float
    """Units of times in tables per :attr:`time`."""
    tick: float
    """Resolution of the simulation, in units of times in tables."""
    voltage: float
    load: float
    """Capacitance at each output port."""
    slew: float
    """Slew of the input ports."""

    def shown(self, ticks: int) -> float:
        """A number of ticks in units of :attr:`time`."""
        return ticks * self.tick / self.times

    def cell(self, name: str) -> Cell:
        """The cell called ``name``; a CellError if the library has none."""
        try:
            return self.cells[name]
        except KeyError:
            raise CellError(f"the netlist has a cell {name}, which the library does not describe") from None


FANOUT = 4
"""Load of an output port, in input capacitances of the smallest inverter."""


def mean_edge(
    arcs: Sequence[Arc], tables: Callable[[Arc], Edges], slews: Sequence[float], load: float, edge: int | None = None
) -> float:
    """The mean of tables over arcs, and over both edges or one, at the slew of each arc's input and the output's load.

    ``slews`` are those of the inputs. The mean of no tables is 0.
    """
    values = [
        table.at(slews[arc.pin], load)
        for arc in arcs
        for number, table in enumerate(tables(arc))
        if table is not None and edge in (None, number)
    ]
    return fmean(values) if values else 0.0
