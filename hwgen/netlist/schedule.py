"""Assignment of a netlist's operations to the stages of a pipeline.

An operation goes into the first stage in which it fits into the clock period. The period is the shortest one that the
given number of ranks of registers allows. Then operations move to later stages where that saves registers. Delays of
operations are accurate enough for that.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log2

from hwgen.netlist.dataflow import Bit, Bits, Netlist, Operation

DELAYS: dict[str, tuple[float, ...]] = {
    "add": (2.7, 3.7, 7.5, 10.0, 13.0, 16.2),
    "increment": (1.7, 2.4, 3.4, 5.2, 6.7, 9.4),
    "multiply": (2.2, 10.1, 20.4, 31.1),
    "choose": (1.3, 1.4, 1.5, 1.8, 2.3, 3.4),
    "reduce": (0.8, 1.0, 1.5, 2.0, 3.1, 3.8),
    "equal": (1.9, 2.8, 3.6, 4.5, 5.1, 5.9),
    "compare": (1.8, 3.1, 5.1, 6.1, 7.9, 8.8),
    "shift": (1.0, 2.9, 3.7, 6.3, 8.2, 11.1),
}
"""Delays in FO4 of operations on 2, 4, 8, 16, 32 and 64 bits, each measured alone on the project's own gates with the
fastest recipe of the portfolio ``speed`` without don't-cares (``python -m synth.studies.delays``).
"""

_GATE, _XOR = 0.6, 0.9


@dataclass(frozen=True)
class Schedule:
    """The stages of a pipeline, numbered from 0: that of each operation, and for each input port the first to read it.

    ``period`` is the delay of the slowest stage, in FO4, without its registers.
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


def delay(operation: Operation) -> float:
    """The delay of an operation, in FO4."""
    kind, operands = operation.kind, operation.operands
    width = max(len(bits) for bits in operands)
    match kind:
        case "$xor" | "$xnor":
            return _XOR
        case "$and" | "$or" | "$not" | "$pos":
            return _GATE
        case "$add" | "$sub":
            return _measured("increment" if min(map(_varying, operands)) <= 1 else "add", _added(operands))
        case "$neg":
            return _measured("increment", width)
        case "$mul":
            return _measured("multiply", min(map(_varying, operands)))
        case "$mux":
            return _measured("choose", len(operation.result))
        case "$pmux" | "case":
            choices = _measured("equal" if kind == "case" else "reduce", len(operands[0]))
            return choices + _measured("reduce", len(operands)) + _GATE
        case "$eq" | "$ne":
            return _measured("equal" if all(map(_varying, operands)) else "reduce", width)
        case "$lt" | "$le" | "$gt" | "$ge":
            return _measured("compare", width)
        case "$shl" | "$shr":
            return _measured("shift", 1 << len(operands[1]))
    return _measured("reduce", width)


def _varying(bits: Bits) -> int:
    return sum(not isinstance(bit, str) for bit in bits)


def _added(operands: tuple[Bits, ...]) -> int:
    """Length of a sum's carry chain: it starts at the lowest place where neither operand is a constant 0."""
    left, right = operands
    low = next((place for place, pair in enumerate(zip(left, right, strict=True)) if "0" not in pair), len(left))
    return max(len(left) - low, 1)


def _measured(kind: str, width: int) -> float:
    """A delay from the table, interpolated linearly over the logarithm of the width."""
    row = DELAYS[kind]
    place = min(max(log2(max(width, 1)) - 1, 0), len(row) - 1.0)
    below = min(int(place), len(row) - 2)
    return row[below] + (place - below) * (row[below + 1] - row[below])
