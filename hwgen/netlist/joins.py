"""Joins: a signal that a component concatenates from several results gets an operation of its own, so that these
results need no names.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import count

from hwgen.netlist.dataflow import Bit, Bits, Netlist, Operation, cut, in_dataflow_order, read_range


def joined(netlist: Netlist) -> Netlist:
    """The netlist with a join, an operation that only puts bits side by side, for each label of several results.

    Results without a label become part of the joins that contain all of them. A label gets no join if it contains no
    such result, or if one of these depends on another.
    """
    joiner = _Joiner(netlist)
    for label in netlist.labels:
        joiner.join(label.bits)
    operations = tuple(in_dataflow_order(joiner.operations, list(netlist.outputs.values())))
    labels = [replace(label, bits=joiner.joins.get(label.bits, label.bits)) for label in netlist.labels]
    whole = replace(netlist, labels=tuple(labels), operations=operations)
    ends = {bits: read_range(bits, whole.read) or (0, len(bits)) for bits in joiner.joins.values()}
    return replace(
        whole,
        labels=tuple(
            replace(label, bits=label.bits[low:top], low=label.low + low)
            for label in labels
            for low, top in [ends.get(label.bits, (0, len(label.bits)))]
        ),
        operations=tuple(cut(item, *ends[item.result]) if item.result in ends else item for item in operations),
    )


class _Joiner:
    """Builds the joins one label at a time.

    Attributes: ``operations`` with joins at the end; ``joins``, the results of joins by the bits of their labels.
    """

    def __init__(self, netlist: Netlist):
        self.operations = list(netlist.operations)
        self.joins: dict[Bits, Bits] = {}
        self.named = {*netlist.label_by_bits, *netlist.outputs.values()}
        self.drivers = {bit: number for number, item in enumerate(self.operations) for bit in item.result}
        inputs = [bit for bits in netlist.inputs.values() for bit in bits]
        self.fresh = count(1 + max(bit for bit in [0, *self.drivers, *inputs] if isinstance(bit, int)))

    def join(self, bits: Bits) -> None:
        """Add the join of some bits, if there is to be one.

        The bits of its parts become bits of the join, so that their readers read the join, and the parts get new bits.
        """
        places: dict[Bit, int] = {bit: place for place, bit in enumerate(bits) if isinstance(bit, int)}
        parts = {self.drivers[bit] for bit in places if bit in self.drivers and self._is_part(bit, bits, places)}
        if len(places) < sum(isinstance(bit, int) for bit in bits) or not parts or self._depend(parts):
            return
        renewed: dict[Bit, Bit] = {bit: next(self.fresh) for part in parts for bit in self.operations[part].result}
        result = tuple(bit if bit in renewed else next(self.fresh) for bit in bits)
        for number, operation in enumerate(self.operations):
            if number in parts:
                own = tuple(renewed[bit] for bit in operation.result)
                self.operations[number] = replace(operation, result=own)
            else:
                operands = tuple(_redirected(item, places, bits, result, renewed) for item in operation.operands)
                self.operations[number] = replace(operation, operands=operands)
        self.drivers |= {new: self.drivers[old] for old, new in renewed.items()}
        self.drivers |= dict.fromkeys(result, len(self.operations))
        self.operations.append(Operation("$pos", result, (tuple(renewed.get(bit, bit) for bit in bits),)))
        self.joins[bits] = result

    def _is_part(self, bit: Bit, bits: Bits, places: Mapping[Bit, int]) -> bool:
        """Whether all of the result that ``bit`` belongs to lies within ``bits``, in order, and has no name."""
        operation = self.operations[self.drivers[bit]]
        start = places.get(operation.result[0], len(bits))
        is_inside = bits[start : start + len(operation.result)] == operation.result
        return is_inside and operation.result not in self.named and operation.kind != "$dff"

    def _depend(self, numbers: set[int]) -> bool:
        """Whether one of these operations depends on another, within a cycle."""
        visited: set[int] = set()
        stack = [*numbers]
        while stack:
            operation = self.operations[stack.pop()]
            sources = {self.drivers[bit] for bit in operation.reads if bit in self.drivers} - visited
            if sources & numbers:
                return True
            visited |= sources
            stack += [source for source in sources if self.operations[source].kind != "$dff"]
        return False


def _redirected(operand: Bits, places: Mapping[Bit, int], bits: Bits, result: Bits, renewed: Mapping[Bit, Bit]) -> Bits:
    """An operand that reads ``result`` in place of each run of ``bits`` around one of those in ``renewed``."""
    redirected = list(operand)
    for start, bit in enumerate(operand):
        for step in (-1, 1) if bit in renewed else ():
            at, place = start + step, places[bit] + step
            while 0 <= at < len(operand) and 0 <= place < len(bits) and operand[at] == bits[place]:
                redirected[at] = result[place]
                at, place = at + step, place + step
    return tuple(redirected)
