"""Vectors that a component names and puts together: they get operations of their own, so that their pieces need no names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import count

from hwgen.netlist.dataflow import Bit, Bits, Label, Netlist, Operation, cut, in_dataflow_order


def joined(netlist: Netlist) -> Netlist:
    """The netlist with an operation, which only puts bits side by side, for labels of several results.

    Such a label takes over the results that lie within it and have no label. It remains as it is where it has none, or where
    one of them depends on another.
    """
    joiner = _Joiner(netlist)
    labels = [joiner.join(label) for label in netlist.labels]
    operations = in_dataflow_order(joiner.operations, list(netlist.outputs.values()))
    read = {bit for operation in operations for bits in operation.operands for bit in bits}
    read |= {bit for bits in netlist.outputs.values() for bit in bits}
    ends = {label.bits: _ends(label.bits, read) for label in labels if label.bits in joiner.joins}
    return replace(
        netlist,
        labels=tuple(_cut_label(label, *ends[label.bits]) if label.bits in ends else label for label in labels),
        operations=tuple(cut(item, *ends[item.result]) if item.result in ends else item for item in operations),
        read=frozenset(read),
    )


def _ends(bits: Bits, read: set[Bit]) -> tuple[int, int]:
    """Where the bits that are read begin, and end."""
    places = [place for place, bit in enumerate(bits) if bit in read]
    return places[0], places[-1] + 1


def _cut_label(label: Label, low: int, top: int) -> Label:
    return replace(label, bits=label.bits[low:top], low=label.low + low)


class _Joiner:
    def __init__(self, netlist: Netlist):
        self.operations = list(netlist.operations)
        self.joins: set[Bits] = set()
        self.named = {*netlist.label, *netlist.outputs.values()}
        self.drivers = {bit: place for place, item in enumerate(self.operations) for bit in item.result}
        self.fresh = count(max((bit for bit in [*self.drivers, *netlist.read] if isinstance(bit, int)), default=1) + 1)

    def join(self, label: Label) -> Label:
        """Add the operation, if there is to be one; return the label of its result."""
        bits = label.bits
        places: dict[Bit, int] = {bit: place for place, bit in enumerate(bits) if isinstance(bit, int)}
        if len(places) < sum(isinstance(bit, int) for bit in bits):
            return label
        pieces = {
            driver
            for driver in map(self.drivers.get, places)
            if driver is not None and self._within(driver, bits, places)
        }
        if not pieces or any(self._reaches(piece, pieces) for piece in pieces):
            return label
        own = {bit: next(self.fresh) for piece in pieces for bit in self.operations[piece].result}
        result = tuple(bit if bit in own else next(self.fresh) for bit in bits)
        self.operations = [
            replace(operation, result=tuple(own.get(bit, bit) for bit in operation.result))
            if place in pieces
            else replace(
                operation, operands=tuple(_swapped(item, bits, result, own.keys()) for item in operation.operands)
            )
            for place, operation in enumerate(self.operations)
        ]
        self.joins.add(result)
        self.operations.append(Operation("$pos", result, (tuple(own.get(bit, bit) for bit in bits),)))
        self.drivers |= {new: self.drivers[old] for old, new in own.items()}
        self.drivers |= dict.fromkeys(result, len(self.operations) - 1)
        return replace(label, bits=result)

    def _within(self, driver: int, bits: Bits, places: dict[Bit, int]) -> bool:
        """Whether all of a result lies within ``bits``, in order, and it has no label."""
        operation = self.operations[driver]
        start = places.get(operation.result[0], len(bits))
        inside = bits[start : start + len(operation.result)] == operation.result
        return inside and operation.result not in self.named and operation.kind != "$dff"

    def _reaches(self, piece: int, targets: set[int]) -> bool:
        """Whether an operation depends on one of some others."""
        seen: set[int] = set()
        stack = [piece]
        while stack:
            operation = self.operations[stack.pop()]
            sources = {self.drivers[bit] for bits in operation.operands for bit in bits if bit in self.drivers} - seen
            if sources & targets:
                return True
            seen |= sources
            stack += [source for source in sources if self.operations[source].kind != "$dff"]
        return False


def _swapped(operand: Bits, bits: Bits, result: Bits, own: Iterable[Bit]) -> Bits:
    """An operand that reads ``result`` wherever it has read a run of ``bits`` with one of ``own`` in it."""
    owned = set(own)
    if owned.isdisjoint(operand):
        return operand
    places: dict[Bit, int] = {bit: place for place, bit in enumerate(bits) if isinstance(bit, int)}
    swapped: list[Bit] = []
    while len(swapped) < len(operand):
        at = len(swapped)
        place = places.get(operand[at], len(bits)) if isinstance(operand[at], int) else len(bits)
        run = 0
        while at + run < len(operand) and bits[place + run : place + run + 1] == operand[at + run : at + run + 1]:
            run += 1
        taken = run and not owned.isdisjoint(operand[at : at + run])
        swapped += result[place : place + run] if taken else operand[at : at + max(run, 1)]
    return tuple(swapped)
