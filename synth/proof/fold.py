"""Changed netlists: with constants at some inputs, or with inputs in place of a word inside."""

from collections.abc import Mapping, Sequence
from itertools import product

from synth.proof.gates import Gate, Netlist, NotShownError, apply


class Folder:
    """Folds a netlist for different constants; nets of equal numbers have equal functions.

    The numbers of constants and inputs are those of the netlist.
    """

    def __init__(self, netlist: Netlist):
        self.netlist = netlist
        self._numbers: dict[Gate, int] = {}
        self._gates: dict[int, Gate] = {}

    def fold(self, constants: Mapping[int, int]) -> list[int]:
        """The number of each net if some inputs are constants."""
        netlist = self.netlist
        numbers = [constants.get(net, net) for net in range(netlist.first_gate)]
        for gate in netlist.gates:
            numbers.append(self._number(gate.kind, tuple(numbers[pin] for pin in gate.pins)))
        return numbers

    def _number(self, kind: str, pins: tuple[int, ...]) -> int:
        """The net that a gate equals, or the number of the gate."""
        free = sorted({pin for pin in pins if pin > 1})
        rows = list(product((0, 1), repeat=len(free)))
        column = []
        for row in rows:
            values = {0: 0, 1: 1, **dict(zip(free, row, strict=True))}
            column.append(apply(kind, [values[pin] for pin in pins]) & 1)
        if len(set(column)) == 1:
            return column[0]
        for place, pin in enumerate(free):
            if column == [row[place] for row in rows]:
                return pin
        gate = Gate(kind, pins)
        if gate not in self._numbers:
            self._numbers[gate] = self.netlist.first_gate + len(self._numbers)
            self._gates[self._numbers[gate]] = gate
        return self._numbers[gate]

    def netlist_of(
        self, numbers: Sequence[int], inputs: Mapping[str, Sequence[int]], outputs: Mapping[str, Sequence[int]]
    ) -> Netlist:
        """The folded netlist between words of nets of the netlist; its other inputs must be constants."""
        nets = {0: 0, 1: 1}
        for word in inputs.values():
            for net in word:
                nets[net] = len(nets)
        gates: list[Gate] = []
        needed, waiting = set(), [numbers[net] for word in outputs.values() for net in word]
        while waiting:
            number = waiting.pop()
            if number in self._gates and number not in needed:
                needed.add(number)
                waiting += self._gates[number].pins
        for number in sorted(needed):
            gate = self._gates[number]
            nets[number] = len(nets)
            gates.append(Gate(gate.kind, tuple(nets[pin] for pin in gate.pins)))
        driven = tuple(nets[numbers[net]] for word in outputs.values() for net in word)
        named = {
            name: tuple(nets[numbers[net]] for net in word)
            for name, word in self.netlist.named.items()
            if all(numbers[net] in nets for net in word)
        }
        first, last = ({name: len(word) for name, word in words.items()} for words in (inputs, outputs))
        return Netlist(self.netlist.top, first, last, tuple(gates), driven, named)


def cut(netlist: Netlist, name: str, word: Sequence[int]) -> Netlist:
    """The netlist with a word inside as another input, ``name``; the gates' nets move by the width of the word."""
    width, first = len(word), netlist.first_gate
    if min(word) < first or len(set(word)) < width:
        raise NotShownError(f"some bits of {name} are constants, inputs, or equal")
    inputs = {net: first + place for place, net in enumerate(word)}

    def moved(net: int) -> int:
        return inputs.get(net, net if net < first else net + width)

    gates = tuple(Gate(gate.kind, tuple(map(moved, gate.pins))) for gate in netlist.gates)
    driven = tuple(map(moved, netlist.driven))
    return Netlist(netlist.top, {**netlist.inputs, name: width}, netlist.outputs, gates, driven)
