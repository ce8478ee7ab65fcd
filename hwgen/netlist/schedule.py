"""Assignment of a netlist's operations to the stages of a pipeline.

An operation goes into the first stage in which it fits into the clock period. The period is the shortest one that the
given number of ranks of registers allows. Then operations move to later stages where that saves registers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hwgen.netlist.dataflow import Bit, Netlist
from hwgen.netlist.delays import delay


@dataclass(frozen=True)
class Schedule:
    """Stages of a pipeline, numbered from 0.

    Attributes
    ----------
    stages : tuple of int
        The stage of each operation.
    entries : dict
        For each input port the stage that first reads it.
    period : float
        Delay of the slowest stage, in FO4, without its registers.
    """

    stages: tuple[int, ...]
    entries: dict[str, int]
    period: float


def schedule(parts: Netlist, ranks: int, entries: Mapping[str, int] | None = None) -> Schedule:
    """Schedule a combinational netlist with ``ranks`` ranks of registers, which separate ``ranks + 1`` stages.

    ``entries`` are the stages of those input ports that are not read in stage 0.
    """
    entry_stages = {name: (entries or {}).get(name, 0) for name in parts.inputs}
    graph = _Graph(parts, entry_stages)
    low, high = 0.0, sum(graph.delays)
    for _ in range(20):  # bisection: 2**-20 of the whole delay is finer than any difference of delays
        middle = (low + high) / 2
        low, high = (low, middle) if graph.fits(middle, ranks) else (middle, high)
    stages = graph.earliest(high)
    graph.save_registers(stages, high, ranks)
    return Schedule(tuple(stages), entry_stages, graph.slowest(stages))


class _Graph:
    """Dependencies between a netlist's operations, which are numbers here."""

    def __init__(self, parts: Netlist, entry_stages: dict[str, int]):
        operations = parts.operations
        self.delays = [delay(operation) for operation in operations]
        home = {bit: number for number, operation in enumerate(operations) for bit in operation.result}
        entries = {bit: entry_stages[name] for name, bits in parts.inputs.items() for bit in bits}
        reads = [{*operation.reads} for operation in operations]
        self.sources = [sorted({home[bit] for bit in bits if bit in home}) for bits in reads]
        self.earliest_stages = [max([entries[bit] for bit in bits if bit in entries], default=0) for bits in reads]
        # Registers are counted by net: the operations that read it, and whether an output does.
        readers: dict[Bit, list[int]] = {}
        for number, bits in enumerate(reads):
            for bit in bits:
                readers.setdefault(bit, []).append(number)
        outputs = {bit for bits in parts.outputs.values() for bit in bits}
        self.nets: list[list[tuple[tuple[int, ...], bool]]] = [[] for _ in operations]
        self.input_nets = [(entries[bit], (tuple(readers.get(bit, ())), bit in outputs)) for bit in entries]
        for bit, number in home.items():
            self.nets[number].append((tuple(readers.get(bit, ())), bit in outputs))

    def earliest(self, period: float) -> list[int]:
        """The first stage in which each operation fits into the period."""
        stages: list[int] = []
        ends: list[float] = []
        for number, duration in enumerate(self.delays):
            stage = max([stages[k] for k in self.sources[number]] + [self.earliest_stages[number]])
            end = max([ends[k] for k in self.sources[number] if stages[k] == stage], default=0.0) + duration
            if end > period:
                stage, end = stage + 1, duration
            stages.append(stage)
            ends.append(end)
        return stages

    def slowest(self, stages: list[int]) -> float:
        """Delay of the slowest stage."""
        ends: list[float] = []
        for number, duration in enumerate(self.delays):
            starts = [ends[k] for k in self.sources[number] if stages[k] == stages[number]]
            ends.append(max(starts, default=0.0) + duration)
        return max(ends, default=0.0)

    def fits(self, period: float, ranks: int) -> bool:
        """Whether the ranks allow the period."""
        return max(self.delays, default=0.0) <= period and max(self.earliest(period), default=0) <= ranks

    def save_registers(self, stages: list[int], period: float, ranks: int) -> None:
        """Move single operations to later stages, in place, as long as that saves registers and keeps the period."""
        moved = True
        while moved:
            moved = False
            for number in reversed(range(len(stages))):
                limit = min([stages[k] for readers, _ in self.nets[number] for k in readers], default=ranks)
                before = self._registers(stages, number, ranks)
                for stage in range(limit, stages[number], -1):
                    trial = stages.copy()
                    trial[number] = stage
                    if self._registers(trial, number, ranks) < before and self.slowest(trial) <= period:
                        stages[number] = stage
                        moved = True
                        break

    def _registers(self, stages: list[int], number: int, ranks: int) -> int:
        """Registers for the results of an operation and of those that it reads."""
        own = sum(self._life(net, stages[number], stages, ranks) for net in self.nets[number])
        for source in self.sources[number]:
            own += sum(self._life(net, stages[source], stages, ranks) for net in self.nets[source] if number in net[0])
        own += sum(self._life(net, since, stages, ranks) for since, net in self.input_nets if number in net[0])
        return own

    @staticmethod
    def _life(net: tuple[tuple[int, ...], bool], since: int, stages: list[int], ranks: int) -> int:
        readers, output = net
        return max([stages[reader] for reader in readers] + ([ranks] if output else []), default=since) - since
