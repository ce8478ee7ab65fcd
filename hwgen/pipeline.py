"""Pipelines: a combinational component cut into stages by ranks of registers, and still a component.

The cut is made in the component's netlist (:mod:`hwgen.dataflow`), not in its source: whatever computes without a clock can be cut, and
no datapath has to know of it. An operation goes into the first stage in which it ends in time; the time that a stage is given is the
shortest that makes do with the ranks asked for. Then operations move to later stages where that saves registers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import log2

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwgen.dataflow import BITWISE, COMPARISONS, LOGIC, REDUCTIONS, Bit, Bits, Netlist, Operation
from hwgen.emit import netlist

MAX_STAGES = 16

DELAYS: dict[str, tuple[float, ...]] = {
    "add": (2.7, 3.7, 7.5, 10.0, 13.0, 16.2), "increment": (1.7, 2.4, 3.4, 5.2, 6.7, 9.4), "multiply": (2.2, 10.1, 20.4, 31.1),
    "choose": (1.3, 1.4, 1.5, 1.8, 2.3, 3.4), "reduce": (0.8, 1.0, 1.5, 2.0, 3.1, 3.8), "equal": (1.9, 2.8, 3.6, 4.5, 5.1, 5.9),
    "compare": (1.8, 3.1, 5.1, 6.1, 7.9, 8.8), "shift": (1.0, 2.9, 3.7, 6.3, 8.2, 11.1),
}  # fmt: skip
"""Delays of operations on 2, 4, 8, 16, 32 and 64 bits, in FO4: each alone on our own gates, by the fastest recipe of the portfolio
``speed`` (``python -m synth.operations`` measures them)."""

_GATE, _XOR = 0.6, 0.9


def delay(operation: Operation) -> float:
    """How long an operation takes, in FO4."""
    kind, operands = operation.kind, operation.operands
    width = max(len(bits) for bits in operands)
    match kind:
        case "$xor" | "$xnor":
            return _XOR
        case "$and" | "$or" | "$not" | "$pos":
            return _GATE
        case "$add" | "$sub":
            varying = [sum(not isinstance(bit, str) for bit in bits) for bits in operands]
            return _at("increment" if min(varying) <= 1 else "add", _added(operands))
        case "$neg":
            return _at("increment", width)
        case "$mul":
            return _at("multiply", min(_varying(bits) for bits in operands))
        case "$mux":
            return _at("choose", len(operation.result))
        case "$pmux" | "case":
            choices = _at("equal" if kind == "case" else "reduce", len(operands[0]))
            return choices + _at("reduce", len(operands)) + _GATE
        case "$eq" | "$ne":
            constant = any(all(isinstance(bit, str) for bit in bits) for bits in operands)
            return _at("reduce" if constant else "equal", width)
        case "$lt" | "$le" | "$gt" | "$ge":
            return _at("compare", width)
        case "$shl" | "$shr":
            return _at("shift", 1 << len(operands[1]))
    return _at("reduce", width)


def _varying(bits: Bits) -> int:
    return sum(not isinstance(bit, str) for bit in bits)


def _added(operands: tuple[Bits, ...]) -> int:
    """Bits through which a sum's carry can run: those from the lowest place on where both operands vary."""
    left, right = operands
    low = next((place for place, pair in enumerate(zip(left, right, strict=True)) if "0" not in pair), len(left))
    return max(len(left) - low, 1)


def _at(kind: str, width: int) -> float:
    """A delay of the table, between two of its widths on a straight line over the logarithm."""
    row = DELAYS[kind]
    place = min(max(log2(max(width, 1)) - 1, 0), len(row) - 1.0)
    below = min(int(place), len(row) - 2)
    return row[below] + (place - below) * (row[below + 1] - row[below])


# -- where the cuts are ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Schedule:
    """In which stage everything happens.

    Attributes
    ----------
    stages : tuple of int
        Of the netlist's operations.
    entries : dict
        Of the input ports: the stage that first reads them.
    period : float
        Time of the slowest stage, in FO4, registers not counted.
    """

    stages: tuple[int, ...]
    entries: dict[str, int]
    period: float


def schedule(parts: Netlist, ranks: int, entries: Mapping[str, int] | None = None) -> Schedule:
    """The cut by ``ranks`` ranks of registers into ``ranks + 1`` stages.

    Parameters
    ----------
    parts : Netlist
        Of something combinational.
    ranks : int
    entries : mapping, optional
        Stages in which input ports come that do not come in stage 0.
    """
    graph = _Graph(parts, dict(entries or {}))
    low, high = 0.0, sum(graph.delays)  # the shortest period, by bisection: 2**-20 of the whole is finer than any delay here
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if graph.fits(middle, ranks) else (middle, high)
    stages = graph.earliest(high)
    graph.save_registers(stages, high, ranks)
    return Schedule(tuple(stages), {name: graph.entries.get(name, 0) for name in graph.inputs}, graph.slowest(stages))


@dataclass
class _Graph:
    """A netlist's operations by number, what they read, and who reads them."""

    parts: Netlist
    entries: Mapping[str, int]
    inputs: dict[str, Bits] = field(init=False)

    def __post_init__(self) -> None:
        operations = self.parts.operations
        self.inputs = {name: bits for way, name, bits in self.parts.ports if way == "input"}
        self.delays = [delay(operation) for operation in operations]
        home = {bit: number for number, operation in enumerate(operations) for bit in operation.result}
        entries = {bit: self.entries.get(name, 0) for name, bits in self.inputs.items() for bit in bits}
        reads = [{bit for bits in operation.operands for bit in bits} for operation in operations]
        self.sources = [sorted({home[bit] for bit in bits if bit in home}) for bits in reads]
        self.earliest_stages = [max([entries[bit] for bit in bits if bit in entries], default=0) for bits in reads]
        # Registers are counted by bit: where each arises (an operation, or None for an input) and who reads it.
        readers: dict[Bit, set[int]] = {}
        for number, bits in enumerate(reads):
            for bit in bits:
                if not isinstance(bit, str):
                    readers.setdefault(bit, set()).add(number)
        self.outputs = {bit for way, _, bits in self.parts.ports if way == "output" for bit in bits if not isinstance(bit, str)}
        self.nets: list[list[tuple[tuple[int, ...], bool]]] = [[] for _ in operations]  # by operation: readers, output
        self.input_nets = [(entries[bit], (tuple(readers.get(bit, ())), bit in self.outputs)) for bit in entries]
        for bit, number in home.items():
            self.nets[number].append((tuple(readers.get(bit, ())), bit in self.outputs))

    def earliest(self, period: float) -> list[int]:
        """The first stage in which each operation ends in time."""
        stages: list[int] = []
        ends: list[float] = []
        for number, lasts in enumerate(self.delays):
            stage = max([stages[k] for k in self.sources[number]] + [self.earliest_stages[number]])
            end = max([ends[k] for k in self.sources[number] if stages[k] == stage], default=0.0) + lasts
            if end > period:
                stage, end = stage + 1, lasts
            stages.append(stage)
            ends.append(end)
        return stages

    def slowest(self, stages: list[int]) -> float:
        """Time of the slowest stage."""
        ends: list[float] = []
        for number, lasts in enumerate(self.delays):
            ends.append(max([ends[k] for k in self.sources[number] if stages[k] == stages[number]], default=0.0) + lasts)
        return max(ends, default=0.0)

    def fits(self, period: float, ranks: int) -> bool:
        """Whether the ranks are enough for a period."""
        return max(self.delays, default=0.0) <= period and max(self.earliest(period), default=0) <= ranks

    def save_registers(self, stages: list[int], period: float, ranks: int) -> None:
        """Move operations to later stages, in place, one by one as long as each saves registers and all end in time."""
        moved = True
        while moved:
            moved = False
            for number in reversed(range(len(stages))):
                limit = min([stages[k] for k in self._readers(number)], default=ranks)
                before = self._registers(stages, number, ranks)
                for stage in range(limit, stages[number], -1):
                    trial = stages.copy()
                    trial[number] = stage
                    if self._registers(trial, number, ranks) < before and self.slowest(trial) <= period:
                        stages[number] = stage
                        moved = True
                        break

    def _readers(self, number: int) -> set[int]:
        return {reader for readers, _ in self.nets[number] for reader in readers}

    def _registers(self, stages: list[int], number: int, ranks: int) -> int:
        """Registers behind an operation and behind what it reads."""
        own = sum(self._life(net, stages[number], stages, ranks) for net in self.nets[number])
        for source in self.sources[number]:
            own += sum(self._life(net, stages[source], stages, ranks) for net in self.nets[source] if number in net[0])
        own += sum(self._life(net, since, stages, ranks) for since, net in self.input_nets if number in net[0])
        return own

    @staticmethod
    def _life(net: tuple[tuple[int, ...], bool], since: int, stages: list[int], ranks: int) -> int:
        readers, output = net
        return max([stages[reader] for reader in readers] + ([ranks] if output else []), default=since) - since


def check_stages(stages: object, least: int = 0) -> int:
    """Return a number of ranks, or raise ValueError."""
    if isinstance(stages, bool) or not isinstance(stages, int) or not least <= stages <= MAX_STAGES:
        raise ValueError(f"stages must be an integer from {least} to {MAX_STAGES}, not {stages!r}")
    return stages


# -- the component --------------------------------------------------------------------------------------------------------------------


class Pipelined(wiring.Component):
    """A combinational component with ranks of registers in it; takes one input a cycle.

    Parameters
    ----------
    core : wiring.Component
        Combinational; not to be used elsewhere.
    stages : int
        Ranks of registers, 1 to 16: the latency in cycles.
    reset : bool
        Whether the domain's reset clears the valid bits. Data registers are never reset: nobody reads them before they are written.
    clock_enable : bool
        Whether everything stands still while ``enable`` is 0.
    entries : mapping, optional
        Cycles after which input ports are read that are not read together with the others.

    Members
    -------
    enable : ``In(1)``
        With ``clock_enable`` only.
    in_valid : ``In(1)``
        Whether the inputs are to be computed on.
    out_valid : ``Out(1)``
        ``in_valid``, as many cycles later as there are stages; the outputs are of those inputs.
    others
        The core's.
    """

    def __init__(
        self,
        core: wiring.Component,
        stages: int,
        *,
        reset: bool = True,
        clock_enable: bool = False,
        entries: Mapping[str, int] | None = None,
    ):
        check_stages(stages, 1)
        self.stages, self.reset, self.clock_enable = stages, reset, clock_enable
        self.parts = netlist(core, "core")
        self.schedule = schedule(self.parts, stages, entries)
        inputs = {name: In(len(bits)) for way, name, bits in self.parts.ports if way == "input"}
        outputs = {name: Out(len(bits)) for way, name, bits in self.parts.ports if way == "output"}
        enable = {"enable": In(1)} if clock_enable else {}
        super().__init__({**enable, "in_valid": In(1), **inputs, "out_valid": Out(1), **outputs})

    @property
    def registers(self) -> int:
        """Bits of the registers, valid bits included."""
        return sum(len(bits) for _, _, bits in _kept(self.parts, self.schedule, self.stages)) + self.stages

    def elaborate(self, _platform: object) -> Module:
        """The netlist again, each operation in its stage."""
        m = Module()
        build = _Builder(m, self, self._enabled)
        for number, operation in enumerate(self.parts.operations):
            build.operation(number, operation)
        for way, name, bits in self.parts.ports:
            if way == "output":
                m.d.comb += getattr(self, name).eq(build.read(bits, self.stages))
        valid: Value = self.in_valid
        for stage in range(1, self.stages + 1):
            kept = Signal(name=f"valid_{stage}", reset_less=not self.reset)
            self._enabled(m, kept, valid)
            valid = kept
        m.d.comb += self.out_valid.eq(valid)
        return m

    def _enabled(self, m: Module, register: Signal, value: Value) -> None:
        m.d.sync += register.eq(Mux(self.enable, value, register) if self.clock_enable else value)


def _kept(parts: Netlist, cut: Schedule, ranks: int) -> list[tuple[int, int, Bits]]:
    """What registers hold: the operation (or -1 - the input port's number), for how many cycles by then, and which of its bits."""
    last: dict[Bit, int] = {}
    for stage, operation in zip(cut.stages, parts.operations, strict=True):
        for bits in operation.operands:
            last.update((bit, max(stage, last.get(bit, 0))) for bit in bits)
    last.update((bit, ranks) for way, _, bits in parts.ports if way == "output" for bit in bits)
    inputs = [(name, bits) for way, name, bits in parts.ports if way == "input"]
    homes = [(-1 - place, cut.entries[name], bits) for place, (name, bits) in enumerate(inputs)]
    homes += [(number, cut.stages[number], operation.result) for number, operation in enumerate(parts.operations)]
    found = []
    for home, since, bits in homes:
        longest = max((last.get(bit, since) for bit in bits), default=since) - since
        found += [(home, age, tuple(bit for bit in bits if last.get(bit, since) - since >= age)) for age in range(1, longest + 1)]
    return found


class _Builder:
    """Amaranth statements of a netlist in stages."""

    def __init__(self, m: Module, unit: Pipelined, clocked: Callable[[Module, Signal, Value], None]):
        self.m, self.parts, self.cut, self.clocked = m, unit.parts, unit.schedule, clocked
        self.names = self.parts.given_names()
        inputs = [name for way, name, _ in self.parts.ports if way == "input"]
        self.signals: dict[int, Signal] = {-1 - place: getattr(unit, name) for place, name in enumerate(inputs)}
        self.since = {-1 - place: self.cut.entries[name] for place, name in enumerate(inputs)} | dict(enumerate(self.cut.stages))
        self.place: dict[Bit, tuple[int, int]] = {}
        for place, (_, _, bits) in enumerate(port for port in self.parts.ports if port[0] == "input"):
            self.place.update((bit, (-1 - place, at)) for at, bit in enumerate(bits))
        for number, operation in enumerate(self.parts.operations):
            self.place.update((bit, (number, at)) for at, bit in enumerate(operation.result))
        self.kept = {(home, age): bits for home, age, bits in _kept(self.parts, self.cut, unit.stages)}
        self.registers: dict[tuple[int, int], Signal] = {}

    def read(self, bits: Bits, stage: int) -> Value:
        """Bits as they are in a stage."""
        pieces: list[tuple[int | None, list[Bit]]] = []
        for bit in bits:
            home = None if isinstance(bit, str) else self.place[bit][0]
            if pieces and pieces[-1][0] == home:
                pieces[-1][1].append(bit)
            else:
                pieces.append((home, [bit]))
        return Cat(*(self._piece(home, piece, stage) for home, piece in pieces))

    def _piece(self, home: int | None, bits: list[Bit], stage: int) -> Value:
        if home is None:
            return Const(sum(int(bit) << at for at, bit in enumerate(bits)), len(bits))
        age = stage - self.since[home]
        signal = self._aged(home, age)
        places = [self.place[bit][1] for bit in bits]
        if age:
            kept = [self.place[bit][1] for bit in self.kept[home, age]]
            places = [bisect_left(kept, place) for place in places]
        if places == list(range(places[0], places[0] + len(places))):
            return signal[places[0] : places[-1] + 1]
        return Cat(*(signal[at] for at in places))

    def _aged(self, home: int, age: int) -> Signal:
        """What an operation or a port was some cycles ago: the bits of it that are still asked for."""
        if age == 0:
            return self.signals[home]
        if (home, age) not in self.registers:
            bits = self.kept[home, age]
            before = self._piece(home, list(bits), self.since[home] + age - 1)
            name = self.signals[home].name
            register = Signal(len(bits), name=f"{name}_stage_{self.since[home] + age}" if name else "", reset_less=True)
            self.registers[home, age] = register
            self.clocked(self.m, register, before)
        return self.registers[home, age]

    def operation(self, number: int, operation: Operation) -> None:
        """The signal of an operation's result."""
        stage = self.cut.stages[number]
        name = self.names.get(operation.result, "").replace(".", "__")
        result = self.signals[number] = Signal(len(operation.result), name=name)
        operands = [self.read(bits, stage) for bits in operation.operands]
        if operation.kind == "case":
            subject, default, *values = operands
            with self.m.Switch(subject):
                for patterns, value in zip(operation.patterns, values, strict=True):
                    with self.m.Case(*(pattern.replace("?", "-") for pattern in patterns)):
                        self.m.d.comb += result.eq(value)
                with self.m.Default():
                    self.m.d.comb += result.eq(default)
            return
        self.m.d.comb += result.eq(_expression(operation, operands))


def _expression(operation: Operation, operands: list[Value]) -> Value:
    kind = operation.kind
    if kind in ("$mux", "$pmux"):
        select, *values, value = operands
        for at, chosen in reversed(list(enumerate(values))):
            value = Mux(select[at], chosen, value)
        return value
    if kind in REDUCTIONS:
        (bits,) = operands
        return {"&": bits.all, "|": bits.any, "^": bits.xor, "~^": lambda: ~bits.xor(), "~|": lambda: ~bits.any()}[REDUCTIONS[kind]]()
    if kind in ("$not", "$neg", "$pos"):
        return {"$not": lambda x: ~x, "$neg": lambda x: -x, "$pos": lambda x: x}[kind](operands[0])
    left, right = operands
    if kind in LOGIC:
        return left.any() & right.any() if LOGIC[kind] == "&&" else left.any() | right.any()
    if operation.signed:
        left = left.as_signed()
        right = right if kind in ("$shl", "$shr") else right.as_signed()
    if kind == "$shl":
        return left << right
    if kind == "$shr":
        return left >> right
    if kind in BITWISE:
        return {"&": left & right, "|": left | right, "^": left ^ right, "~^": ~(left ^ right)}[BITWISE[kind]]
    if kind in COMPARISONS:
        compare = {"==": left == right, "!=": left != right, "<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}
        return compare[COMPARISONS[kind]]
    return {"$add": left + right, "$sub": left - right, "$mul": left * right}[kind]
