"""The base class of reference models: expected outputs in terms of a block's ports."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from amaranth.hdl import Value
from amaranth.lib import wiring
from numpy.typing import NDArray

from golden import ExactAccumulator, Format
from golden.explain import number
from golden.multi import MultiFormat
from hwgen.blocks.block import Design
from hwgen.datapath.ports import Bits, code_bits, code_widths, split
from hwgen.netlist.emit import Port
from hwgen.reference import trace

Pins = Mapping[str, int]
"""Values of ports. A code of a pair of formats is one word here; the module has a second port for its select bit."""
Columns = Mapping[str, NDArray[Any]]
"""Values of ports by name, a row for each case; above 64 bits the arrays hold Python integers."""
Table = dict[str, NDArray[Any]]
"""Columns that the caller may change."""


class Reference(ABC):
    """The reference model of a block."""

    def __init__(self, design: Design):
        self.design = design
        self.core: Any = design.core

    # -- ports

    @cached_property
    def inputs(self) -> dict[str, int]:
        """Widths of the core's inputs by name, codes first; a code includes its select bit."""
        widths = self._widths(wiring.In)
        for name, fmt in self.design.codes.items():
            for port in code_widths(name, fmt):
                widths.pop(port)
            widths[name] = self.design.lanes * fmt.width
        codes = {name: widths[name] for name in self.design.codes}
        return codes | widths

    @cached_property
    def outputs(self) -> dict[str, int]:
        """Widths of the core's outputs by name."""
        return self._widths(wiring.Out)

    @property
    def arguments(self) -> Mapping[str, int]:
        """Widths of what :meth:`columns` takes: the inputs, unless the block has registers of its own."""
        return self.inputs

    @property
    def results(self) -> Mapping[str, int]:
        """Widths of what :meth:`columns` returns: the outputs, unless the block has registers of its own."""
        return self.outputs

    def _widths(self, flow: wiring.Flow) -> dict[str, int]:
        flat = self.core.signature.flatten(self.core)
        return {path[-1]: len(Value.cast(value)) for path, member, value in flat if member.flow is flow}

    @cached_property
    def made_of(self) -> dict[str, Bits]:
        """Inputs that join bits of several ports of the module, with those bits: codes of pairs of formats."""
        lanes = self.design.lanes
        return {
            name: code_bits(name, fmt, lanes) for name, fmt in self.design.codes.items() if isinstance(fmt, MultiFormat)
        }

    def physical(self, pins: Pins) -> dict[str, int]:
        """Convert to values of the module's ports: codes of pairs of formats are split."""
        values = dict(pins)
        for name, fmt in self.design.codes.items():
            values |= split(name, fmt, values[name], self.design.lanes)
        return values

    def logical(self, values: Pins) -> dict[str, int]:
        """Convert values of the module's ports back; the inverse of :meth:`physical`."""
        pins = dict(values)
        for name, bits in self.made_of.items():
            pins[name] = sum((values[port] >> place & 1) << number for number, (port, place) in enumerate(bits))
            pins.pop(f"{name}_select")
        return pins

    # -- cases

    def answers(self, cases: Sequence[Pins]) -> list[dict[str, int]]:
        """Return the expected outputs of each case."""
        return rows(self.columns(columns(cases)))

    def answer(self, pins: Pins) -> dict[str, int]:
        """Return the expected outputs of one case."""
        return self.answers([pins])[0]

    def value(self, port: str, word: int) -> str:
        """The value of an output as text; of outputs that are no numbers, the word."""
        del port
        return f"{word:#x}"

    def cycles(self, count: int, rng: np.random.Generator) -> list[dict[str, int]]:
        """Return values of the module's ports for at least ``count`` cycles; for clocked blocks, which override it."""
        raise NotImplementedError(f"the reference of the block {self.design.kind} has no cycles")

    def near_stimuli(self, count: int, rng: np.random.Generator) -> list[dict[str, int]]:
        """Return values of all :attr:`arguments` that are likely to show a fault."""
        return self.stimuli(count, rng)

    # -- defined by each block

    @abstractmethod
    def stimuli(self, count: int, rng: np.random.Generator) -> list[dict[str, int]]:
        """Return inputs that exercise boundaries, specials and cancellation: at most ``count``, or all there are."""

    @abstractmethod
    def columns(self, inputs: Columns) -> Columns:
        """Return the expected outputs of many cases."""

    @abstractmethod
    def explain(self, pins: Pins, got: Pins, expected: Pins) -> str:
        """Describe a mismatch in one sentence with fields and exact values."""

    @abstractmethod
    def properties(self) -> list[str]:
        """Return the lines of a Verilog module, from its ports on, that asserts properties of the block."""

    def asserting(self, *lines: str, others: Sequence[Port] = ()) -> list[str]:
        """Return these lines: the ports, with ``others``, an instance of the block's module, and ``lines``."""
        ports = self.design.ports
        return [*head(ports, *others), *instance(self.design.name, ports), *lines, "endmodule"]


class ClockedReference(Reference):
    """The reference model of a block with a register, ``clear`` and ``enable``.

    ``columns`` describes single steps, from operands and the register's value before; ``cycles`` the clocked behaviour.
    """

    register: ClassVar[str]
    """The output that is the register."""
    follows: ClassVar[tuple[str, ...]] = ()
    """Outputs that follow from the register alone."""
    sequences: ClassVar[tuple[str, ...]]
    """Names of sequences of operands and controls."""
    patterns: ClassVar[Mapping[str, trace.Pattern]] = {}
    """Patterns of the controls of sequences; others have random ones."""

    @property
    def before(self) -> str:
        """The name of the register's value before a step."""
        return f"{self.register}_in"

    @property
    def after(self) -> str:
        """The name of the register's value after a step."""
        return f"{self.register}_out"

    @property
    def arguments(self) -> Mapping[str, int]:
        """The operands, and the register before the step."""
        operands = {name: width for name, width in self.inputs.items() if name not in ("clear", "enable")}
        return {**operands, self.before: self.outputs[self.register]}

    @property
    def results(self) -> Mapping[str, int]:
        """The register after the step, and the other outputs that the step alone gives."""
        names = {self.after: self.register} | {name: name for name in self.outputs if name != self.register}
        return {name: self.outputs[port] for name, port in names.items()}

    @property
    def sticky(self) -> tuple[str, ...]:
        """Outputs whose bits remain set until the register is cleared."""
        return ()

    @property
    def cleared(self) -> Mapping[str, int]:
        """The outputs after ``clear``."""
        return dict.fromkeys(self.outputs, 0)

    def step(self, pins: Pins, before: Mapping[str, int]) -> Mapping[str, int]:
        """The outputs after a step, from those before."""
        return self._joined(before, self.answer({**pins, self.before: before[self.register]}))

    def _joined(self, before: Mapping[str, int], results: Mapping[str, int]) -> Mapping[str, int]:
        outputs = {self.register if name == self.after else name: value for name, value in results.items()}
        return {name: value | before[name] if name in self.sticky else value for name, value in outputs.items()}

    def registers(self, step: trace.Step) -> trace.ElementState:
        """The registers, whose next outputs are those of ``step``."""
        core = self.design.core
        return trace.ElementState(self.cleared, core.interleave, core.stages, step)

    def operands(self, name: str, count: int, rng: np.random.Generator) -> list[dict[str, int]]:
        """Operands of a sequence."""
        del name
        return self.stimuli(count, rng)

    def cycles_of(self, name: str, each: int, most: int) -> int:
        """Number of operands of a sequence: ``each``, or as many as it takes, up to ``most``."""
        del name, most
        return each

    def cycles(self, count: int, rng: np.random.Generator) -> list[dict[str, int]]:
        """Values of the ports in each cycle: see :func:`hwgen.reference.trace.processing_element`."""
        return self.traced(self.stimuli(count, rng), trace.RANDOM, rng)[0]

    def sequence(self, name: str, count: int, rng: np.random.Generator) -> tuple[list[dict[str, int]], list[Step]]:
        """Values of the ports in each cycle of one of :attr:`sequences`, and its steps."""
        return self.traced(self.operands(name, count, rng), self.patterns.get(name, trace.RANDOM), rng)

    def traced(
        self, operands: list[dict[str, int]], pattern: trace.Pattern, rng: np.random.Generator
    ) -> tuple[list[dict[str, int]], list[Step]]:
        """Values of the ports in each cycle, and the steps."""
        steps: list[Step] = []

        def step(pins: Pins, before: Mapping[str, int]) -> Mapping[str, int]:
            inputs = {port: pins[port] for port in self.arguments if port != self.before}
            results = self.answer({**inputs, self.before: before[self.register]})
            steps.append((inputs, before[self.register], results))
            return self._joined(before, results)

        cycles = trace.processing_element(self.registers(step), operands, rng, pattern)
        return [self.physical(cycle) for cycle in cycles], steps


Step = tuple[dict[str, int], int, dict[str, int]]
"""Operands, the register before, and the results of a step."""


# -- cases as columns


def columns(cases: Sequence[Pins]) -> Table:
    """Cases as columns, one for each port."""
    return {name: column([pins[name] for pins in cases]) for name in cases[0]}


def column(values: Sequence[int]) -> NDArray[Any]:
    """Integers as an array: of uint64, or above 64 bits of Python integers."""
    return np.array(values, np.uint64 if max(values) < 1 << 64 else object)


def rows(table: Columns) -> list[dict[str, int]]:
    """Columns as cases; the inverse of :func:`columns`."""
    lists = [list(map(int, values.tolist())) for values in table.values()]
    return [dict(zip(table, row, strict=True)) for row in zip(*lists, strict=True)]


# -- words side by side


def parted(words: Any, width: int, count: int) -> NDArray[Any]:
    """Split an integer or an array into words of ``width`` bits on a last axis, the least significant one first.

    They are uint64, or Python integers if all words together have more than 64 bits.
    """
    kind = np.uint64 if width * count <= 64 else object
    places = np.array([width * place for place in range(count)], kind)
    return np.asarray(words).astype(kind)[..., np.newaxis] >> places & np.array((1 << width) - 1, kind)


def as_signed(words: Any, width: int) -> NDArray[np.int64]:
    """Numbers in two's complement of ``width`` bits, at least 1."""
    half = 1 << width >> 1
    return (np.asarray(words, np.int64) ^ half) - half


def limbs(unit: ExactAccumulator, bits: Any) -> NDArray[np.uint64]:
    """Convert bits of exact accumulators, an integer or an array, to uint64 limbs on a last axis, little end first."""
    return parted(bits, 64, unit.limbs).astype(np.uint64)


def integers(state: NDArray[np.uint64]) -> NDArray[Any]:
    """Convert limbs of exact accumulators to Python integers; the inverse of :func:`limbs`."""
    weights = np.array([1 << 64 * limb for limb in range(state.shape[-1])], object)
    return (state.astype(object) * weights).sum(axis=-1)


def codes_word(fmt: Format, codes: Sequence[int]) -> int:
    """Join the codes of all lanes to one word, lane 0 in the least significant bits."""
    return sum(int(code) << lane * fmt.width for lane, code in enumerate(codes))


def decoded(fmt: Format, bits: int) -> str:
    """The value of a code, or of bits of a wide format, as text."""
    return number(float(fmt.decode(np.array([bits]))[0]))


# -- properties


def instance(name: str, ports: Sequence[Port], suffix: str = "", **changed: str) -> list[str]:
    """Return an instance of a module with wires for its outputs, whose names end in ``suffix``.

    Inputs are connected to nets of the same names, or to the expressions in ``changed``.
    """
    outputs = [port for port in ports if port.direction == "output"]
    nets = {port.name: port.name for port in ports} | {port.name: port.name + suffix for port in outputs} | changed
    links = ", ".join(f".{port}({net})" for port, net in nets.items())
    return [*(f"  wire {port.range}{nets[port.name]};" for port in outputs), f"  {name} dut{suffix} ({links});"]


def head(ports: Sequence[Port], *others: Port) -> list[str]:
    """Return the port list of a properties module: the inputs among ``ports``, and ``others``."""
    inputs = [*(port for port in ports if port.direction == "input"), *others]
    return [",\n".join(f"  input wire {port.range}{port.name}" for port in inputs), ");"]


def among(word: str, fmt: Format, kind: str) -> str:
    """Return a Verilog condition that ``word`` is a code of a kind; empty if the format has none."""
    codes = [code for code, code_kind in enumerate(fmt.kinds) if code_kind == kind]
    return " || ".join(f"{word} == {fmt.width}'h{code:x}" for code in codes)
