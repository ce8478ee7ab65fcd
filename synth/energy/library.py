"""Cells of Liberty libraries as a simulation sees them: times in ps, capacitances in fF, energies in fJ.

Where a library has several groups for the same pins with other conditions, delays and slews are their mean, because a
simulated output has one delay for each edge. Energies depend on the state of the cell, as the library's conditions say;
those of several supply pins are added.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from statistics import fmean

from golden.refusal import BadValue
from synth.area.groups import Group, Unreadable, columns, evaluate, number
from synth.area.liberty import Library, smallest_inverter
from synth.energy.cells import (
    FANOUT,
    Arc,
    Cell,
    CellError,
    Edges,
    Output,
    Power,
    State,
    Table,
    Technology,
    Truth,
    mean_edge,
)

_EDGES = "fall", "rise"
_TIMES = "cell_{}", "{}_transition"
_OTHERS = {"latch", "latch_bank", "ff_bank", "statetable", "bus", "bundle"}
"""Groups of cells that cannot be simulated."""
MOST_INPUTS = 16
"""Truth tables of more inputs would take too much memory."""
_ENERGIES = {
    re.compile(r"\binternal_power\b"): "internal energies (internal_power)",
    re.compile(r"leakage_power\b"): "leakage (leakage_power, cell_leakage_power or default_cell_leakage_power)",
}
"""What a library must state, because energies without it would be too small."""

_SCALES = {"f": 1e-15, "p": 1e-12, "n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3}


def _scaled(text: str, unit: str, target: float) -> float:
    """A number with a unit, e.g. ``10ps`` for the unit ``s``, in multiples of ``target``."""
    match = re.fullmatch(rf"\s*([\d.eE+-]+)\s*([a-z]?){unit}\s*", text, re.IGNORECASE)
    scale = match and _SCALES.get(match[2].lower())
    if match is None or scale is None:
        raise CellError(f"the library has the unit {text!r}, which is none of {unit}")
    value = number(match[1], f"the number of the unit {text!r}") * scale / target
    if value <= 0:
        raise CellError(f"the library has the unit {text!r}, which must be more than 0")
    return value


def _numbers(text: str) -> tuple[float, ...]:
    words = [word for word in re.split(r"[\s,]+", text) if word]
    return tuple(number(word, "a value of a table") for word in words)


def _increasing(points: tuple[float, ...], table: str) -> tuple[float, ...]:
    if not points or any(after <= before for before, after in pairwise(points)):
        raise CellError(f"the library has a table {table} whose indices do not increase")
    return points


def _words(text: str) -> list[str]:
    """Names that are separated by blanks or commas, with or without quotes."""
    return [word for word in re.split(r'[\s,"]+', text) if word]


class _Reader:
    """Reads cells of one file."""

    def __init__(self, library: Library):
        self.head = library.content
        self.cells = {found.argument: found for found in reversed([*self.head.all("cell")])}
        templates = self.head.all("lu_table_template", "power_lut_template")
        self._templates = {found.argument: found.attributes for found in templates}
        capacitance = re.sub(r"\s*,\s*", "", self.head.attributes.get("capacitive_load_unit", "1, pf"))
        self.volt = _scaled(self.head.attributes.get("voltage_unit", "1V"), "V", 1.0)
        self.time = _scaled(self.head.attributes.get("time_unit", "1ns"), "s", 1e-12)
        self.capacitance = _scaled(capacitance, "f", 1e-15)
        self.energy = self.capacitance * self.volt**2
        self.leakage = _scaled(self.head.attributes.get("leakage_power_unit", "1nW"), "W", 1e-3)  # mW = fJ/ps

    @property
    def voltage(self) -> float:
        """The supply voltage of the file's operating conditions, or the nominal one."""
        conditions = {found.argument: found for found in self.head.all("operating_conditions")}
        chosen = conditions.get(self.head.attributes.get("default_operating_conditions", ""))
        stated = "voltage" in chosen.attributes if chosen else False
        value = chosen.number("voltage") if chosen and stated else self.head.number("nom_voltage")
        if value <= 0:
            raise CellError("the library states no supply voltage (nom_voltage)")
        return value * self.volt

    def table(self, found: Group, scale: float) -> Table:
        """A table of a cell, with its values multiplied by ``scale``, by slew and load."""
        template = self._templates.get(found.argument, {})
        axes: dict[str, tuple[float, ...]] = {}
        for rank in (1, 2):
            variable = template.get(f"variable_{rank}", "")
            points = found.attributes.get(f"index_{rank}", template.get(f"index_{rank}", ""))
            if variable or points:
                axes["load" if "capacitance" in variable else "slew"] = _increasing(_numbers(points), found.argument)
        values = [value * scale for value in _numbers(found.attributes.get("values", ""))]
        slews = tuple(point * self.time for point in axes.get("slew", (0.0,)))
        loads = tuple(point * self.capacitance for point in axes.get("load", (0.0,)))
        if len(values) == 1:
            slews, loads = slews[:1], loads[:1]
        if len(values) != len(slews) * len(loads):
            raise CellError(f"the library has a table {found.argument} with {len(values)} values")
        by_load = next(iter(axes), "slew") == "load"  # the loads are the rows
        columns = len(slews if by_load else loads)
        lines = [tuple(values[start : start + columns]) for start in range(0, len(values), columns)]
        return Table(slews, loads, tuple(zip(*lines, strict=True) if by_load else lines))

    def edges(self, found: Group, names: str, scale: float) -> Edges:
        """The tables of a group for a fall and a rise; ``names`` has ``{}`` for ``fall`` and ``rise``."""
        tables = {inner.kind: self.table(inner, scale) for inner in found.all() if "values" in inner.attributes}
        fall, rise = (tables.get(names.format(edge)) for edge in _EDGES)
        return fall, rise

    def cell(self, name: str) -> Cell:
        """A cell of the file."""
        return _CellReader(self, name).cell()


class _CellReader:
    """Reads one cell."""

    def __init__(self, reader: _Reader, name: str):
        self._reader, self._name = reader, name
        self._group = reader.cells[name]
        if {inner.kind for inner in self._group.all()} & _OTHERS:
            raise self._error("is neither a gate nor a single flip-flop, and cannot be simulated")
        pins = list(self._group.all("pin"))
        self._inputs = [pin for pin in pins if pin.attributes.get("direction") == "input"]
        self._outputs = [pin for pin in pins if pin.attributes.get("direction") == "output"]
        self._names = tuple(pin.argument for pin in self._inputs)
        self._flip_flop = next(self._group.all("ff"), None)
        self._states = _words(self._flip_flop.argument) if self._flip_flop else []
        functions = {pin.argument: pin.attributes["function"] for pin in pins if "function" in pin.attributes}
        indexed = (*self._names, *self._states[:1])
        if len(indexed) > MOST_INPUTS:
            raise self._error(f"has more than {MOST_INPUTS} inputs, and cannot be simulated")
        self._size = 1 << len(indexed)
        self._bits = columns(indexed)
        if len(self._states) > 1:
            self._bits[self._states[1]] = self._bits[self._states[0]] ^ (1 << self._size) - 1
        self._functions = {pin: self._truth(text) for pin, text in functions.items()}
        # conditions may read outputs
        words = {pin: sum(bit << row for row, bit in enumerate(truth)) for pin, truth in self._functions.items()}
        self._bits = words | self._bits

    def _error(self, problem: str) -> CellError:
        return CellError(f"the cell {self._name} {problem}")

    def _truth(self, function: str) -> Truth:
        try:
            return evaluate(function, self._bits, self._size)
        except Unreadable as error:
            raise self._error(f"has a function that cannot be read: {error}") from error

    def cell(self) -> Cell:
        """The cell."""
        reader = self._reader
        default = reader.head.number("default_input_pin_cap")
        outputs = (
            Output(
                pin.argument,
                self._functions.get(pin.argument),
                tuple(self._arcs(pin)),
                _merged(self._powers(pin, self._names)),
            )
            for pin in self._outputs
        )
        return Cell(
            self._name,
            self._names,
            tuple(pin.number("capacitance", default) * reader.capacitance for pin in self._inputs),
            tuple(outputs),
            _merged(power for pin in self._inputs for power in self._powers(pin, (pin.argument,))),
            self._leakage() * reader.leakage,
            None if self._flip_flop is None else self._state(self._flip_flop.attributes),
        )

    def _state(self, attributes: Mapping[str, str]) -> State:
        if not {"clocked_on", "next_state"} <= attributes.keys():
            raise self._error("has a flip-flop without clocked_on or next_state")
        clock = self._truth(attributes["clocked_on"])
        pins = [pin for pin in range(len(self._names)) if _depends(clock, pin)]
        if len(pins) != 1:
            raise self._error(f"has {len(pins)} clock pins instead of one")
        others = tuple(self._truth(attributes[key]) for key in ("clear", "preset") if key in attributes)
        return State(self._truth(attributes["next_state"]), clock, pins[0], others)

    def _arcs(self, pin: Group) -> Iterator[Arc]:
        for timing in pin.all("timing"):
            kind = timing.attributes.get("timing_type", "combinational")
            if not kind.startswith("combinational") and kind not in ("rising_edge", "falling_edge"):
                continue
            delays, slews = (self._reader.edges(timing, names, self._reader.time) for names in _TIMES)
            for name in _words(timing.attributes.get("related_pin", "")):
                if name in self._names and any(delays):
                    yield Arc(self._names.index(name), delays, slews)

    def _powers(self, pin: Group, causes: Sequence[str]) -> Iterator[Power]:
        """Energies of a pin; ``causes`` are the inputs that may cause them if the library names none."""
        for inner in pin.all("internal_power"):
            when = inner.attributes.get("when")
            energies = self._reader.edges(inner, "{}_power", self._reader.energy)
            both = next(inner.all("power"), None)
            if both is not None:
                energies = (self._reader.table(both, self._reader.energy),) * 2
            for name in _words(inner.attributes["related_pin"]) if "related_pin" in inner.attributes else causes:
                if name in self._names:
                    yield Power(self._names.index(name), None if when is None else self._truth(when), energies)

    def _leakage(self) -> float:
        """Leakage: stated without a condition, or for the cell, or the mean over the stated conditions."""
        stated: dict[str, float] = {}
        for inner in self._group.all("leakage_power"):  # one for each supply pin
            when = inner.attributes.get("when", "")
            stated[when] = stated.get(when, 0.0) + inner.number("value")
        if "" in stated:
            return stated[""]
        default = fmean(stated.values()) if stated else self._reader.head.number("default_cell_leakage_power")
        return self._group.number("cell_leakage_power", default)


def _depends(table: Truth, pin: int) -> bool:
    return any(table[index] != table[index ^ 1 << pin] for index in range(len(table)))


def _merged(powers: Iterable[Power]) -> tuple[Power, ...]:
    """Groups of the same pin and condition, one for each supply pin, as one."""
    merged: dict[tuple[int, Truth | None], list[Edges]] = {}
    for power in powers:
        merged.setdefault((power.pin, power.when), []).append(power.energies)
    return tuple(
        Power(pin, when, (_sum([fall for fall, _ in edges]), _sum([rise for _, rise in edges])))
        for (pin, when), edges in merged.items()
    )


def _sum(tables: Sequence[Table | None]) -> Table | None:
    given = [table for table in tables if table is not None]
    if len(given) < 2:
        return given[0] if given else None
    slews = tuple(sorted({slew for table in given for slew in table.slews}))
    loads = tuple(sorted({load for table in given for load in table.loads}))
    values = tuple(tuple(sum(table.at(slew, load) for table in given) for load in loads) for slew in slews)
    return Table(slews, loads, values)


_reader = cache(_Reader)


def check(libraries: Sequence[Library]) -> None:
    """Refuse a library, given by its files, without one voltage, an inverter, delays, internal energies or leakage."""
    try:
        technology(libraries, ())
    except CellError as error:
        name = " + ".join(library.name for library in libraries)
        raise BadValue("liberty", f"{name} cannot be used: {error}", ": ") from error


def technology(libraries: Sequence[Library], used: Iterable[str]) -> Technology:
    """The ``used`` cells of a library, given by its files; its smallest inverter is the load of the output ports.

    It is a CellError if the library has no delays, no inverter or no energies, its files have several voltages, or it
    lacks what the simulation of a used cell needs.
    """
    try:
        return _technology(libraries, used)
    except Unreadable as error:
        raise CellError(f"the library cannot be read: {error}") from error


def _technology(libraries: Sequence[Library], used: Iterable[str]) -> Technology:
    readers = [_reader(library) for library in libraries]
    homes = {name: reader for reader in reversed(readers) for name in reader.cells}
    smallest = smallest_inverter(libraries)
    if smallest is None or not any(library.has_delays for library in libraries):
        raise CellError("the library has no inverter with delays, which energies need")
    voltages = sorted({reader.voltage for reader in readers})
    if len(voltages) > 1:
        raise CellError(f"its files are for {' and '.join(f'{volts:g}' for volts in voltages)} V, not for one voltage")
    for stated, what in _ENERGIES.items():
        if not any(stated.search(reader.head.text) for reader in readers):
            raise CellError(f"the library states no {what}")
    cells = {name: homes[name].cell(name) for name in {*used, smallest.name} if name in homes}
    inverter = cells[smallest.name]
    load = FANOUT * inverter.capacitances[0]
    slew = 0.0
    for _ in range(8):  # the slew of an inverter in a chain of inverters with this load
        slew = mean_edge(inverter.outputs[0].arcs, lambda arc: arc.slews, (slew,), load)
    return Technology(cells, "fJ", "femtojoules", "ns", 1000.0, 0.1, voltages[0], load, slew)
