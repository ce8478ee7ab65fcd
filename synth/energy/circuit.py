"""Netlists of cells with their nets, loads, slews and delays.

Loads are the capacitances of the pins that read a net, and that of an output port; wires have none. Slews are computed
once, from the ports onwards: the slew of a net is the mean of its driver's tables at the slews of the driver's inputs.
An output has one delay for a fall and one for a rise, the means of its tables over its inputs.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any

from synth.energy.cells import Cell, CellError, Power, Technology, mean_edge

CLOCK = "clk"


@dataclass(frozen=True)
class Instance:
    """A cell with the nets at its input and output pins."""

    cell: Cell
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class Group:
    """Internal energies of one instance: a group of an output, or of an input if ``output`` is None."""

    instance: int
    output: int | None
    power: Power


def cell_names(text: str, top: str) -> set[str]:
    """Names of the cells of a module in Yosys's JSON."""
    return {cell["type"] for cell in _cells(json.loads(text)["modules"][top])}


def _cells(module: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [cell for cell in module["cells"].values() if cell["type"] != "$scopeinfo"]


class Circuit:
    """A module of library cells from Yosys's JSON.

    ``nets`` counts the nets, which are numbers; 0 and 1 are the constants. An undefined bit, which synthesis may
    choose, is 0. ``inputs`` and ``outputs`` have the nets of each port, least significant first, and ``clock`` that of
    the port ``clk``, which is not among the inputs. ``instances`` has flip-flops first, then every cell behind the
    drivers of its inputs. A module with a loop is a CellError, and so is a cell that is not in the library or cannot be
    simulated.
    """

    def __init__(self, text: str, top: str, technology: Technology):
        module = json.loads(text)["modules"][top]
        self.technology, self.top = technology, top
        numbers: dict[Any, int] = {"0": 0, "1": 1, "x": 0}
        self.nets = 2

        def net(bit: Any) -> int:
            if bit is None:  # a pin that is not connected
                self.nets += 1
                return self.nets - 1
            if bit not in numbers:
                numbers[bit] = self.nets
                self.nets += 1
            return numbers[bit]

        ports: dict[str, dict[str, tuple[int, ...]]] = {"input": {}, "output": {}}
        for name, port in module["ports"].items():
            ports[port["direction"]][name] = tuple(map(net, port["bits"]))
        self.clock = ports["input"].pop(CLOCK, (None,))[0]
        self.inputs, self.outputs = ports["input"], ports["output"]
        instances = []
        for cell in _cells(module):
            kind, pins = technology.cell(cell["type"]), cell["connections"]
            known = {*kind.inputs, *(output.name for output in kind.outputs)}
            for pin in pins:
                if pins[pin] and pin not in known:
                    raise CellError(f"the cell {kind.name} has no pin {pin} in the library")
            reads = tuple(net(pins[pin][0]) if pins.get(pin) else 0 for pin in kind.inputs)
            drives = tuple(net(*pins.get(output.name) or (None,)) for output in kind.outputs)
            instances.append(Instance(kind, reads, drives))
        self.instances = self._ordered(instances)
        self._check()

    def _ordered(self, instances: Sequence[Instance]) -> tuple[Instance, ...]:
        flip_flops = [instance for instance in instances if instance.cell.state]
        gates = [instance for instance in instances if not instance.cell.state]
        known = {0, 1, self.clock, *self.stimulus_nets, *(net for item in flip_flops for net in item.outputs)}
        drivers = {net: number for number, gate in enumerate(gates) for net in gate.outputs}
        reads = [{net for net in gate.inputs if net not in known} for gate in gates]
        try:
            before = {number: [drivers[net] for net in nets] for number, nets in enumerate(reads)}
            order = list(TopologicalSorter(before).static_order())
        except (KeyError, CycleError):
            raise CellError(f"{self.top} has a loop of gates, or a net without a driver") from None
        return (*flip_flops, *(gates[number] for number in order))

    def _check(self) -> None:
        readers = (*self.outputs.values(), *(instance.inputs for instance in self.instances))
        read = {net for nets in readers for net in nets}
        for instance in self.instances:
            cell = instance.cell
            for output, net in zip(cell.outputs, instance.outputs, strict=True):
                if output.truth is None and net in read:
                    raise CellError(f"the output {output.name} of the cell {cell.name} has no function in the library")
            if cell.state is None:
                continue
            if self.clock is None or instance.inputs[cell.state.clock_pin] != self.clock:
                raise CellError(f"the flip-flops of {self.top} must be connected to the port {CLOCK}")
            half = 1 << len(cell.inputs)
            for output in cell.outputs:
                if output.truth and any(len(set(output.truth[start : start + half])) > 1 for start in (0, half)):
                    raise CellError(f"the output {output.name} of the cell {cell.name} depends on more than its state")
            constant = {pin: net for pin, net in enumerate(instance.inputs) if net in (0, 1)}
            for table in cell.state.asynchronous:
                rows = [row for row in range(len(table)) if all(row >> pin & 1 == net for pin, net in constant.items())]
                if any(table[row] for row in rows):
                    raise CellError(f"the asynchronous set and reset of the cell {cell.name} must not be used")

    @cached_property
    def stimulus_nets(self) -> tuple[int, ...]:
        """Nets of all inputs, port after port."""
        return tuple(net for nets in self.inputs.values() for net in nets)

    @cached_property
    def observed_nets(self) -> tuple[int, ...]:
        """Nets of all outputs, port after port."""
        return tuple(net for nets in self.outputs.values() for net in nets)

    @cached_property
    def loads(self) -> list[float]:
        """Capacitance at each net."""
        loads = [0.0] * self.nets
        for instance in self.instances:
            for net, capacitance in zip(instance.inputs, instance.cell.capacitances, strict=True):
                loads[net] += capacitance
        for net in self.observed_nets:
            loads[net] += self.technology.load
        loads[:2] = [0.0, 0.0]
        return loads

    @cached_property
    def slews(self) -> list[float]:
        """Slew of each net."""
        slews = [self.technology.slew] * self.nets
        for instance in self.instances:
            for output, net in zip(instance.cell.outputs, instance.outputs, strict=True):
                inputs = [slews[read] for read in instance.inputs]
                slews[net] = mean_edge(output.arcs, lambda arc: arc.slews, inputs, self.loads[net])
        return slews

    @cached_property
    def delays(self) -> list[tuple[int, int]]:
        """Ticks from a change of the inputs to a fall, and to a rise, of each output of each instance; at least 1."""
        delays = []
        for instance in self.instances:
            inputs = [self.slews[net] for net in instance.inputs]
            for output, net in zip(instance.cell.outputs, instance.outputs, strict=True):
                edges = [
                    mean_edge(output.arcs, lambda arc: arc.delays, inputs, self.loads[net], edge) for edge in (0, 1)
                ]
                fall, rise = (max(1, round(delay / self.technology.tick)) for delay in edges)
                delays.append((fall, rise))
        return delays

    @cached_property
    def longest(self) -> int:
        """Ticks of the longest path from inputs or registers to outputs or registers: then everything has settled."""
        arrivals = [0] * self.nets
        delays = iter(self.delays)
        for instance in self.instances:
            start = 0 if instance.cell.state else max((arrivals[net] for net in instance.inputs), default=0)
            for net in instance.outputs:
                arrivals[net] = start + max(next(delays))
        return max(arrivals)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Internal energies: for each instance, those of its outputs, then those of its inputs."""
        return tuple(
            group
            for number, instance in enumerate(self.instances)
            for group in (
                *(
                    Group(number, place, power)
                    for place, output in enumerate(instance.cell.outputs)
                    for power in output.powers
                ),
                *(Group(number, None, power) for power in instance.cell.passive),
            )
        )

    def energies(self, group: Group) -> tuple[float, float]:
        """Energy of a group for a fall and for a rise."""
        instance = self.instances[group.instance]
        load = 0.0 if group.output is None else self.loads[instance.outputs[group.output]]
        slew = self.slews[instance.inputs[group.power.pin]]
        fall, rise = (0.0 if table is None else table.at(slew, load) for table in group.power.energies)
        return fall, rise
