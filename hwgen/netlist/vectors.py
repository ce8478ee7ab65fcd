"""Vectors of a netlist: the name under which each bit stands in the Verilog text, and who reads it."""

from collections.abc import Collection
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from hwgen.netlist.dataflow import BITWISE, Bit, Bits, Label, Netlist, Operation, read_range
from hwgen.netlist.layout import CHAINED


@dataclass(eq=False)
class Vector:
    """Bits under one name; the first has the index ``low``. A result may get its name late; ``note`` is a comment."""

    bits: Bits
    name: str | None = None
    low: int = 0
    is_port: bool = False
    note: str = ""


@dataclass(eq=False, kw_only=True)
class Alias(Vector):
    """A named vector of bits that other vectors drive."""

    chapter: str


@dataclass(eq=False, kw_only=True)
class Result(Vector):
    """The vector that an operation drives, without ``below`` and ``above`` unread bits at its ends."""

    operation: Operation
    below: int = 0
    above: int = 0


class Piece(NamedTuple):
    """Part of an operand: ``width`` bits of a vector, from its bit number ``low`` on, or the digits of a constant."""

    source: Vector | str
    low: int
    width: int


@dataclass(frozen=True)
class Use:
    """A read of a vector by ``reader``: a result, an alias or an output port.

    ``alone`` says that the operand is nothing else, ``whole`` that all of the vector is read, ``bare`` that a choice
    (``?:``) needs no parentheses there.
    """

    reader: Vector
    alone: bool
    whole: bool
    bare: bool

    @property
    def operator(self) -> str:
        """The reader's operator if it may be chained and the vector is all of the operand."""
        operation = self.reader.operation if isinstance(self.reader, Result) and self.alone else None
        sign = BITWISE.get(operation.kind, "") if operation else ""
        return sign if sign in CHAINED else ""


class Vectors:
    """All vectors of a netlist; none gets a name in ``reserved``.

    ``results`` and ``aliases`` are in the order of the operations and of the labels. ``home`` has for each bit the
    vector that drives it, and its number there; ``uses`` has those of each vector that something reads.
    """

    def __init__(self, netlist: Netlist, reserved: Collection[str]):
        self.netlist = netlist
        self.uses: dict[Vector, list[Use]] = {}
        self.home: dict[Bit, tuple[Vector, int]] = {}
        self._names = {*reserved, *(name for _, name, _ in netlist.ports)}
        for name, bits in netlist.inputs.items():
            self._set_home(Vector(bits, name, is_port=True))
        ports = {bits: name for name, bits in reversed(netlist.outputs.items())}
        self.results = [self._result(operation, ports) for operation in netlist.operations]
        self.aliases = [
            Alias(bits, self.unique_name(label.identifier), label.low, note=label.note, chapter=label.chapter)
            for bits, label in netlist.label_by_bits.items()
            if self._is_alias(label)
        ]
        self._by_lowest_bit: dict[Bit, list[Alias]] = {}
        for alias in self.aliases:
            self._by_lowest_bit.setdefault(alias.bits[0], []).append(alias)
        self._note_uses()

    def _set_home(self, vector: Vector) -> None:
        self.home |= {bit: (vector, place) for place, bit in enumerate(vector.bits)}

    def _result(self, operation: Operation, ports: dict[Bits, str]) -> Result:
        whole, labels = operation.result, self.netlist.label_by_bits
        below, top = read_range(whole, self.netlist.read) or (0, len(whole))
        if operation.instance:
            below, top = 0, len(whole)
        result = Result(whole[below:top], operation=operation, below=below, above=len(whole) - top)
        if result.bits in ports:
            result.name, result.is_port = ports[result.bits], True
        elif result.bits in labels:
            label = labels[result.bits]
            result.name, result.low, result.note = self.unique_name(label.identifier), label.low, label.note
        self._set_home(result)
        return result

    def _is_alias(self, label: Label) -> bool:
        first, *others = label.bits
        driven = first in self.home and all(isinstance(bit, str) or bit in self.home for bit in others)
        return driven and self.home[first][0].bits != label.bits

    def unique_name(self, name: str) -> str:
        """``name``, with a number if there is a net of that name; it now belongs to the caller."""
        unique, number = name, 2
        while unique in self._names:
            unique, number = f"{name}_{number}", number + 1
        self._names.add(unique)
        return unique

    def name(self, result: Result) -> str:
        """The name of a result; one without a label is named after the first named vector that depends on it."""
        if result.name is None:
            path: list[Vector] = [result]
            while path[-1].name is None and path[-1] not in path[:-1]:
                path.append(self.uses[path[-1]][0].reader)
            # 'loop': only registers read it, in a circle
            result.name = self.unique_name(f"{path[-1].name or 'loop'}_part")
        return result.name

    def pieces(self, bits: Bits, *, aliases: bool = True) -> list[Piece]:
        """``bits`` from the lowest up, in as long pieces as possible."""
        pieces: list[Piece] = []
        start = 0
        while start < len(bits):
            pieces.append(self._longest(bits[start:], aliases))
            start += pieces[-1].width
        return pieces

    def _longest(self, bits: Bits, aliases: bool) -> Piece:
        if isinstance(bits[0], str):
            digits = [bit for bit in takewhile(lambda bit: isinstance(bit, str), bits) if isinstance(bit, str)]
            return Piece("".join(reversed(digits)), 0, len(digits))
        vector, low = self.home[bits[0]]
        equal = takewhile(lambda pair: pair[0] == pair[1], zip(bits, vector.bits[low:], strict=False))
        width = sum(1 for _ in equal)
        for alias in self._by_lowest_bit.get(bits[0], ()) if aliases else ():
            size = len(alias.bits)
            is_better = size > width or (size == width and size < len(vector.bits))
            if is_better and bits[:size] == alias.bits:
                vector, low, width = alias, 0, size
        return Piece(vector, low, width)

    def _note_uses(self) -> None:
        for result in self.results:
            kind, (first, *others) = result.operation.kind, result.operation.operands
            for bits in [(bit,) for bit in first] if kind == "$pmux" else [first]:
                self._note(bits, result, bare=kind == "$pos")
            for left, bits in zip(reversed(range(len(others))), others, strict=True):
                self._note(bits, result, bare=left == 0 and kind in ("$mux", "$pmux", "$dff"))
        for port, bits in self.netlist.outputs.items():
            self._note(bits, Vector(bits, port, is_port=True))
        for alias in [alias for alias in self.aliases if alias in self.uses]:
            self._note(alias.bits, alias, aliases=False)

    def _note(self, bits: Bits, reader: Vector, *, aliases: bool = True, bare: bool = False) -> None:
        pieces = self.pieces(bits, aliases=aliases)
        for source, _, width in pieces:
            if isinstance(source, Vector):
                use = Use(reader, alone=len(pieces) == 1, whole=width == len(source.bits), bare=bare)
                self.uses.setdefault(source, []).append(use)
