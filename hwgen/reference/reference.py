"""What the reference model says of a block, in the block's own ports: the base of all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from amaranth.hdl import Value
from amaranth.lib import wiring
from numpy.typing import NDArray

from golden import ExactAccumulator, Format
from golden.multi import MultiFormat
from hwgen.blocks.block import Design
from hwgen.datapath.ports import Bits, code_bits, code_widths, split
from hwgen.netlist.emit import Port

Pins = Mapping[str, int]
"""Values of ports. The codes of two formats, which come in two ports, are one word, as the reference model has them."""


class Reference(ABC):
    """What the reference model says of a block.

    Parameters
    ----------
    design : Design
    """

    def __init__(self, design: Design):
        self.design = design
        self.core: Any = design.core

    # -- ports
    # -------------------------------------------------------------------------------------------------------------

    @cached_property
    def inputs(self) -> dict[str, int]:
        """Widths of the block's inputs without a pipeline's; a code is one word."""
        widths = self._widths(wiring.In)
        for name, fmt in self.design.codes.items():
            for port in code_widths(name, fmt):
                widths.pop(port)
            widths[name] = self.design.lanes * fmt.width
        codes = {name: widths[name] for name in self.design.codes}
        return codes | widths

    @cached_property
    def outputs(self) -> dict[str, int]:
        """Widths of its outputs."""
        return self._widths(wiring.Out)

    def _widths(self, flow: wiring.Flow) -> dict[str, int]:
        flat = self.core.signature.flatten(self.core)
        return {path[-1]: len(Value.cast(value)) for path, member, value in flat if member.flow is flow}

    @cached_property
    def made_of(self) -> dict[str, Bits]:
        """Inputs that are made of bits of several ports of the module, and of which."""
        lanes = self.design.lanes
        return {
            name: code_bits(name, fmt, lanes) for name, fmt in self.design.codes.items() if isinstance(fmt, MultiFormat)
        }

    def physical(self, pins: Pins) -> dict[str, int]:
        """Values of the module's ports: codes of two formats come in two."""
        values = dict(pins)
        for name, fmt in self.design.codes.items():
            values |= split(name, fmt, values[name], self.design.lanes)
        return values

    # -- cases
    # ---------------------------------------------------------------------------------------------------------------

    def answers(self, cases: Sequence[Pins]) -> list[dict[str, int]]:
        """The outputs of each case."""
        inputs = {name: [pins[name] for pins in cases] for name in cases[0]}
        columns = self.columns(
            {name: np.array(values, np.uint64 if max(values) < 1 << 64 else object) for name, values in inputs.items()}
        )
        return [dict(zip(columns, map(int, row), strict=True)) for row in zip(*columns.values(), strict=True)]

    def answer(self, pins: Pins) -> dict[str, int]:
        """The outputs of one case."""
        return self.answers([pins])[0]

    def cycles(self, count: int, rng: np.random.Generator) -> list[dict[str, int]]:
        """What the module's ports show in each cycle, of a block that holds registers by itself: ``count`` cycles or
        more.
        """
        # not abstract, because most blocks are combinational: those that hold registers override it
        raise NotImplementedError(f"the reference of the block {self.design.kind} has no cycles")

    # -- what each block has of its own
    # --------------------------------------------------------------------------------------

    @abstractmethod
    def stimuli(self, count: int, rng: np.random.Generator) -> list[dict[str, int]]:
        """Inputs that show what the block does: boundaries, specials, cancellation, random ones; ``count`` at most, or
        every one.
        """

    @abstractmethod
    def columns(self, inputs: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
        """The outputs of many cases, from arrays of their inputs; of integers of Python where a port is wider than 64
        bits.
        """

    @abstractmethod
    def explain(self, pins: Pins, got: Pins, expected: Pins) -> str:
        """One case as a sentence with fields and exact values."""

    @abstractmethod
    def properties(self, ports: Sequence[Port], vectors: Sequence[Pins]) -> list[str]:
        """Lines of a Verilog module, from its ports on, that asserts what must hold of the block whoever wrote it.

        Parameters
        ----------
        ports : sequence of Port
            Of the block's module.
        vectors : sequence of mappings
            The testbench's; a decoder's are all codes, in order.
        """


# -- accumulators
# ------------------------------------------------------------------------------------------------------------


def limbs(unit: ExactAccumulator, bits: Any) -> NDArray[np.uint64]:
    """Bits of exact accumulators, integers or an array of them, as the reference model has them."""
    words = np.asarray(bits, object)[..., np.newaxis]
    places = np.array([64 * limb for limb in range(unit.limbs)], object)
    limbs: NDArray[np.uint64] = (words >> places & (1 << 64) - 1).astype(np.uint64)
    return limbs


def integers(state: NDArray[np.uint64]) -> NDArray[Any]:
    """Exact accumulators as integers of Python."""
    weights = np.array([1 << 64 * limb for limb in range(state.shape[-1])], object)
    total: NDArray[Any] = (state.astype(object) * weights).sum(axis=-1)
    return total


def integer(bits: Any) -> int:
    """Bits of an accumulator as one integer; those of an exact one come in limbs."""
    return int(integers(np.atleast_1d(np.asarray(bits, np.uint64))))


def codes_word(fmt: Format, codes: Sequence[int]) -> int:
    """Codes of lanes in one word, lane 0 lowest."""
    return sum(int(code) << lane * fmt.width for lane, code in enumerate(codes))


# -- properties
# --------------------------------------------------------------------------------------------------------------


def instance(name: str, ports: Sequence[Port], suffix: str = "", **changed: str) -> list[str]:
    """An instance whose outputs are wires with ``suffix``; inputs are this module's unless ``changed`` names other
    ones.
    """
    lines = [f"  wire {port.range}{port.name}{suffix};" for port in ports if port.direction == "output"]
    links = ", ".join(
        f".{p.name}({p.name + suffix if p.direction == 'output' else changed.get(p.name, p.name)})" for p in ports
    )  # fmt: skip
    return [*lines, f"  {name} dut{suffix} ({links});"]


def head(ports: Sequence[Port], *more: Port) -> list[str]:
    """The rest of a module's first line: its inputs are those of the block, and ``more``."""
    inputs = [*(port for port in ports if port.direction == "input"), *more]
    *first, last = inputs
    return [
        *(f"  input wire {port.range}{port.name}," for port in first),
        f"  input wire {last.range}{last.name}",
        ");",
    ]


def among(word: str, fmt: Format, kind: str) -> str:
    """A Verilog condition: whether a word is a code of a kind; empty where the format has none."""
    codes = [code for code, its_kind in enumerate(fmt.kinds) if its_kind == kind]
    return " || ".join(f"{word} == {fmt.width}'h{code:x}" for code in codes)
