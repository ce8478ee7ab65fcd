"""Pipelines: components made of a combinational component and ranks of registers that separate stages.

The registers are inserted into the component's netlist (:mod:`hwgen.netlist.dataflow`), not into its source, so every
combinational component can be pipelined.
"""

import operator
from bisect import bisect_left
from collections.abc import Callable, Mapping
from functools import cached_property
from itertools import groupby
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden.refusal import BadKind, BadValue, check_flag, check_integer
from hwgen.netlist.book import ATTRIBUTE, NOTE
from hwgen.netlist.component import Checked
from hwgen.netlist.dataflow import Bit, Bits, Label, Netlist, Operation
from hwgen.netlist.emit import netlist
from hwgen.netlist.schedule import Schedule, schedule

MAX_STAGES = 16


class Pipelined(Checked, wiring.Component):
    """A combinational component with ranks of registers inside; it takes one input per cycle.

    Parameters
    ----------
    core : wiring.Component
        Combinational, and not used elsewhere. It is elaborated together with the pipeline.
    stages : int
        Ranks of registers, 1 to 16: the latency in cycles.
    reset : bool
        Whether the domain's reset clears the valid bits. Data registers are never reset, as they are written before
        they are read.
    clock_enable : bool
        Whether all registers keep their values while ``enable`` is 0.
    entries : mapping, optional
        By how many cycles input ports are read later than the others.

    Members
    -------
    enable : ``In(1)``
        With ``clock_enable`` only.
    in_valid : ``In(1)``
        Whether the inputs are valid.
    out_valid : ``Out(1)``
        ``in_valid``, ``stages`` cycles later; the outputs belong to the inputs of that cycle.
    others
        Those of the core.
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
        if not isinstance(core, wiring.Component):
            raise BadKind("core", f"must be a component, not {core!r}")
        self.core, self.stages = core, check_integer("stages", stages, 1, MAX_STAGES)
        self.reset, self.clock_enable = check_flag("reset", reset), check_flag("clock_enable", clock_enable)
        if not isinstance(entries, Mapping | None):
            raise BadKind("entries", f"must be a mapping of inputs to cycles, not {entries!r}")
        self.entries = dict(entries or {})
        ports = [("__".join(map(str, path)), member) for path, member, _ in core.signature.flatten(core)]
        inputs = {name: In(Shape.cast(member.shape).width) for name, member in ports if member.flow is In}
        outputs = {name: Out(Shape.cast(member.shape).width) for name, member in ports if member.flow is Out}
        for name, stage in self.entries.items():
            if name not in inputs:
                raise BadValue("entries", f"must name inputs of the core, not {name!r}")
            check_integer("entries", stage, 0, self.stages)
        enable = {"enable": In(1)} if clock_enable else {}
        super().__init__({**enable, "in_valid": In(1), **inputs, "out_valid": Out(1), **outputs})

    @cached_property
    def netlist(self) -> Netlist:
        """The netlist of the core; this runs Yosys.

        Raises
        ------
        BadValue
            If the core has a clock.
        """
        parts = netlist(self.core, "core")
        if not {*parts.inputs, *parts.outputs} <= self.signature.members.keys():
            raise BadValue("core", f"must be combinational, and {self.core!r} has a clock")
        return parts

    @cached_property
    def schedule(self) -> Schedule:
        """The stage of each operation."""
        return schedule(self.netlist, self.stages, self.entries)

    @property
    def registers(self) -> int:
        """Number of register bits, including the valid bits."""
        return sum(len(bits) for _, _, bits in _kept(self.netlist, self.schedule, self.stages)) + self.stages

    def elaborate(self, _platform: object) -> Module:
        """The operations of the netlist, each in its stage."""
        operations = self.netlist.operations
        m = Module()
        build = _Builder(m, self, self._enabled)
        for number, operation in enumerate(operations):
            build.operation(number, operation)
        for name, bits in self.netlist.outputs.items():
            m.d.comb += getattr(self, name).eq(build.read(bits, self.stages))
        valid: Value = self.in_valid
        for stage in range(1, self.stages + 1):
            register = Signal(name=f"valid_{stage}", reset_less=not self.reset)
            self._enabled(m, register, valid)
            valid = register
        m.d.comb += self.out_valid.eq(valid)
        return m

    def _enabled(self, m: Module, register: Signal, value: Value) -> None:
        m.d.sync += register.eq(Mux(self.enable, value, register) if self.clock_enable else value)


def _homes(parts: Netlist, cut: Schedule) -> list[tuple[int, int, Bits]]:
    """Results and input ports: number of the operation (of a port: -1 - its number), stage, and bits."""
    homes = [(-1 - place, cut.entries[name], bits) for place, (name, bits) in enumerate(parts.inputs.items())]
    return homes + [(number, cut.stages[number], operation.result) for number, operation in enumerate(parts.operations)]


def _kept(parts: Netlist, cut: Schedule, ranks: int) -> list[tuple[int, int, Bits]]:
    """Registers: number of the result or port as in :func:`_homes`, its age in cycles, and those bits still needed."""
    last: dict[Bit, int] = {}
    for stage, operation in zip(cut.stages, parts.operations, strict=True):
        last.update((bit, max(stage, last.get(bit, 0))) for bit in operation.reads)
    last.update((bit, ranks) for bits in parts.outputs.values() for bit in bits)
    kept = []
    for home, since, bits in _homes(parts, cut):
        lives = {bit: last.get(bit, since) - since for bit in bits}
        ages = range(1, max(lives.values(), default=0) + 1)
        kept += [(home, age, tuple(bit for bit in bits if lives[bit] >= age)) for age in ages]
    return kept


class _Builder:
    def __init__(self, m: Module, unit: Pipelined, clocked: Callable[[Module, Signal, Value], None]):
        self.m, self.parts, self.cut, self.clocked = m, unit.netlist, unit.schedule, clocked
        self.labels, homes = self.parts.label_by_bits, _homes(self.parts, self.cut)
        self.signals: dict[int, Signal] = {-1 - n: getattr(unit, name) for n, name in enumerate(self.parts.inputs)}
        self.since = {home: since for home, since, _ in homes}
        self.bits = {home: bits for home, _, bits in homes}
        # names of results and ports, and the index of the lowest bit under each
        self.names = {-1 - place: (name, 0) for place, name in enumerate(self.parts.inputs)}
        self.place = {bit: (home, place) for home, _, bits in homes for place, bit in enumerate(bits)}
        self.named_parts = self._named_parts()
        self.kept = {(home, age): bits for home, age, bits in _kept(self.parts, self.cut, unit.stages)}
        self.registers: dict[tuple[int, int], Signal] = {}

    def _named_parts(self) -> dict[int, tuple[int, Label]]:
        """By result: the label of all of it that is read, as of a sum without its last place, and where it begins."""
        parts: dict[int, tuple[int, Label]] = {}
        for label in self.parts.labels:
            home, start = self.place.get(label.bits[0], (-1, 0))
            whole = self.bits[home] if home >= 0 else ()
            if label.bits == whole[start : start + len(label.bits)] and {*label.bits} >= self.parts.read & {*whole}:
                parts[home] = start, label
        return parts

    def _name_part(self, number: int, result: Signal) -> None:
        """Name what is read of a result, and its registers."""
        start, label = self.named_parts[number]
        attrs = {ATTRIBUTE: label.chapter, NOTE: label.note}
        named = self._signal(len(label.bits), label.identifier, label.low, attrs=attrs)
        self.m.d.comb += named.eq(result[start : start + len(label.bits)])
        self.names[number] = label.identifier, label.low - start

    def read(self, bits: Bits, stage: int) -> Value:
        pieces = groupby(bits, lambda bit: None if isinstance(bit, str) else self.place[bit][0])
        return Cat(*(self._piece(home, list(piece), stage) for home, piece in pieces))

    def _piece(self, home: int | None, bits: list[Bit], stage: int) -> Value:
        if home is None:
            return Const(sum(int(bit) << place for place, bit in enumerate(bits)), len(bits))
        age = stage - self.since[home]
        signal = self._aged(home, age)
        places = [self.place[bit][1] for bit in bits]
        if age:
            kept = [self.place[bit][1] for bit in self.kept[home, age]]
            places = [bisect_left(kept, place) for place in places]
        if places == list(range(places[0], places[0] + len(places))):
            return signal[places[0] : places[-1] + 1]
        return Cat(*(signal[place] for place in places))

    def _aged(self, home: int, age: int) -> Signal:
        """The value of a result or port some cycles ago; only the bits that are still needed."""
        if age == 0:
            return self.signals[home]
        if (home, age) not in self.registers:
            bits = self.kept[home, age]
            before = self._piece(home, list(bits), self.since[home] + age - 1)
            self.registers[home, age] = register = self._register(home, age, bits)
            self.clocked(self.m, register, before)
        return self.registers[home, age]

    def _register(self, home: int, age: int, bits: Bits) -> Signal:
        """A register for some bits of a result or port. Bits side by side keep their indices."""
        if home not in self.names:
            return Signal(len(bits), name="", reset_less=True)
        name, low = self.names[home]
        place = self.place[bits[0]][1]
        is_range = bits == self.bits[home][place : place + len(bits)]
        label, low = (name, low + place) if is_range else (f"{name}_bits", 0)
        return self._signal(len(bits), f"{label}_stage_{self.since[home] + age}", low, reset_less=True)

    def _signal(self, width: int, name: str, low: int, **options: Any) -> Signal:
        """A signal whose bits have the indices from ``low`` on under its name."""
        if not low:
            return Signal(width, name=name, **options)
        signal = Signal(width, name="", **options)
        self.m.d.comb += Signal(low + width, name=name, attrs=signal.attrs)[low:].eq(signal)
        return signal

    def operation(self, number: int, operation: Operation) -> None:
        stage = self.cut.stages[number]
        label = self.labels.get(operation.result)
        if label:
            self.names[number] = name, low = label.identifier, label.low
            attrs = {ATTRIBUTE: label.chapter, NOTE: label.note}
            result = self._signal(len(operation.result), name, low, attrs=attrs)
        else:
            result = Signal(len(operation.result), name="")
            if number in self.named_parts:
                self._name_part(number, result)
        self.signals[number] = result
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


_UNARY: dict[str, Callable[[Value], Value]] = {
    "$not": operator.invert, "$neg": operator.neg, "$pos": lambda bits: bits,
    "$reduce_and": Value.all, "$reduce_or": Value.any, "$reduce_bool": Value.any, "$reduce_xor": Value.xor,
    "$reduce_xnor": lambda bits: ~bits.xor(), "$logic_not": lambda bits: ~bits.any(),
}  # fmt: skip
_BINARY: dict[str, Callable[[Value, Value], Value]] = {
    "$add": operator.add, "$sub": operator.sub, "$mul": operator.mul, "$shl": operator.lshift, "$shr": operator.rshift,
    "$and": operator.and_, "$or": operator.or_, "$xor": operator.xor, "$xnor": lambda left, right: ~(left ^ right),
    "$logic_and": lambda left, right: left.any() & right.any(),
    "$logic_or": lambda left, right: left.any() | right.any(),
    "$eq": operator.eq, "$ne": operator.ne,
    "$lt": operator.lt, "$le": operator.le, "$gt": operator.gt, "$ge": operator.ge,
}  # fmt: skip


def _expression(operation: Operation, operands: list[Value]) -> Value:
    kind = operation.kind
    if kind in ("$mux", "$pmux"):
        select, *values, value = operands
        for bit, choice in reversed(list(zip(select, values, strict=True))):
            value = Mux(bit, choice, value)
        return value
    if kind in _UNARY:
        return _UNARY[kind](operands[0])
    left, right = operands
    if operation.signed:
        left, right = left.as_signed(), right if kind == "$shr" else right.as_signed()
    return _BINARY[kind](left, right)
