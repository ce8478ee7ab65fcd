"""Pipelines: a combinational component cut into stages by ranks of registers, and still a component.

The cut is made in the component's netlist (:mod:`hwgen.netlist.dataflow`), not in its source: whatever computes without a clock can be
cut, and no datapath has to know of it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwgen.netlist.dataflow import BITWISE, COMPARISONS, LOGIC, REDUCTIONS, Bit, Bits, Netlist, Operation
from hwgen.netlist.emit import netlist
from hwgen.netlist.schedule import Schedule, schedule

MAX_STAGES = 16


def check_stages(stages: object, least: int = 0) -> int:
    """Return a number of ranks, or raise ValueError."""
    if isinstance(stages, bool) or not isinstance(stages, int) or not least <= stages <= MAX_STAGES:
        raise ValueError(f"stages must be an integer from {least} to {MAX_STAGES}, not {stages!r}")
    return stages


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
