"""Gate netlists as data, also with changes: gates in an order in which operands precede their readers."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product, takewhile
from typing import Any

import numpy as np

from hwgen.datapath.ports import Bits

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "BUF": lambda a: a,
    "NOT": lambda a: ~a,
    "AND": lambda a, b: a & b,
    "OR": lambda a, b: a | b,
    "XOR": lambda a, b: a ^ b,
    "NAND": lambda a, b: ~(a & b),
    "NOR": lambda a, b: ~(a | b),
    "XNOR": lambda a, b: ~(a ^ b),
    "ANDNOT": lambda a, b: a & ~b,
    "ORNOT": lambda a, b: a | ~b,
    "MUX": lambda a, b, s: (b & s) | (a & ~s),
    "SUM": lambda a, b, c: a ^ b ^ c,
    "CARRY": lambda a, b, c: (a & b) | (c & (a | b)),
}
BUF, *GATES, SUM, CARRY = _FUNCTIONS
ADDER = SUM, CARRY
"""The two outputs of a full adder."""
INVERTER = "NOT"


class NetlistError(ValueError):
    """The module is not a combinational block of the expected form."""


class NotShownError(Exception):
    """A proof by decomposition does not go through; the sentence says where.

    ``cases`` are inputs on which the module may be wrong.
    """

    def __init__(self, sentence: str, cases: Sequence[dict[str, int]] = ()):
        super().__init__(sentence)
        self.cases = list(cases)

    def __reduce__(self) -> tuple[type["NotShownError"], tuple[str, list[dict[str, int]]]]:
        """For processes that prove parts."""
        return NotShownError, (str(self), self.cases)


@dataclass(frozen=True)
class Gate:
    """One of :data:`GATES` or :data:`ADDER`, and the nets at its pins.

    These are A; A, B; A, B, S of a MUX, whose output is B if S is 1; or the three addends of a full adder.
    """

    kind: str
    pins: tuple[int, ...]


@dataclass(frozen=True)
class Netlist:
    """A combinational module.

    Nets are numbers: 0 and 1 are the constants. The bits of the inputs follow in the order of the ports, least
    significant first, then the outputs of the gates. The operands of a gate have smaller numbers than its output.
    """

    top: str
    inputs: Mapping[str, int]  # widths by port
    outputs: Mapping[str, int]
    gates: tuple[Gate, ...]
    driven: tuple[int, ...]  # nets of the bits of the outputs
    named: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Nets of the bits of named words inside; only of words all of whose bits some output depends on."""

    @property
    def first_gate(self) -> int:
        """Net that the first gate drives."""
        return 2 + sum(self.inputs.values())

    def input_nets(self, port: str) -> range:
        """Nets of the bits of an input."""
        start = 2 + sum(width for _, width in takewhile(lambda item: item[0] != port, self.inputs.items()))
        return range(start, start + self.inputs[port])

    @cached_property
    def output_nets(self) -> dict[str, tuple[int, ...]]:
        """Nets of the bits of each output."""
        driven = iter(self.driven)
        return {name: tuple(next(driven) for _ in range(width)) for name, width in self.outputs.items()}

    def evaluate(self, pins: Mapping[str, int]) -> dict[str, int]:
        """The outputs for one case."""
        return self.answers([pins])[0]

    def answers(self, cases: Sequence[Mapping[str, int]]) -> list[dict[str, int]]:
        """The outputs for each case; the values of a net in all cases are one integer, a bit for each case."""
        ones = (1 << len(cases)) - 1
        values = [0, ones]
        for port, width in self.inputs.items():
            values += transposed([pins[port] for pins in cases], width)
        for gate in self.gates:
            values.append(apply(gate.kind, [values[pin] for pin in gate.pins]) & ones)
        ports = (transposed([values[net] for net in nets], len(cases)) for nets in self.output_nets.values())
        return [dict(zip(self.outputs, words, strict=True)) for words in zip(*ports, strict=True)]

    def value(self, nets: Sequence[int], pins: Mapping[str, int]) -> int:
        """The word of some nets for one case."""
        return Netlist(self.top, self.inputs, {"word": len(nets)}, self.gates, tuple(nets)).evaluate(pins)["word"]

    def supports(self, free: Collection[int] = ()) -> list[int]:
        """For each net, a bit set of the inputs, and of ``free`` nets inside, that it depends on: bit n for net n."""
        masks = [1 << net if net > 1 or net in free else 0 for net in range(self.first_gate)]
        for net, gate in enumerate(self.gates, self.first_gate):
            mask = 1 << net if net in free else 0
            for pin in () if mask else gate.pins:
                mask |= masks[pin]
            masks.append(mask)
        return masks

    def cone(self, nets: Iterable[int], known: Collection[int]) -> list[int]:
        """The nets of the gates that ``nets`` depend on, up to ``known`` nets, operands first.

        It is a NotShownError if they depend on another input.
        """
        needed: set[int] = set()
        waiting = [net for net in nets if net > 1 and net not in known]
        while waiting:
            net = waiting.pop()
            if net not in needed:
                if net < self.first_gate:
                    raise NotShownError("a net depends on other inputs than it should")
                needed.add(net)
                waiting += [pin for pin in self.gates[net - self.first_gate].pins if pin > 1 and pin not in known]
        return sorted(needed)

    def reached_from(self, nets: Collection[int]) -> set[int]:
        """The nets that depend on any of ``nets``, which are included."""
        reached = set(nets)
        for net, gate in enumerate(self.gates, self.first_gate):
            if any(pin in reached for pin in gate.pins):
                reached.add(net)
        return reached


def transposed(words: Sequence[int], width: int) -> list[int]:
    """The transpose of a matrix of bits: its rows are integers of ``width`` bits, before and after."""
    octets = b"".join(word.to_bytes(-(-width // 8), "little") for word in words)
    rows = np.frombuffer(octets, np.uint8).reshape(len(words), -1)
    bits = np.unpackbits(rows, axis=1, count=width, bitorder="little")
    columns = np.packbits(bits.T, axis=1, bitorder="little")
    return [int.from_bytes(column.tobytes(), "little") for column in columns]


def apply(kind: str, pins: Sequence[Any]) -> Any:
    """Output of a gate whose inputs have the operators of integers, bit by bit."""
    return _FUNCTIONS[kind](*pins)


def arrange(
    netlist: Netlist, inputs: Mapping[str, int], outputs: Mapping[str, int], made_of: Mapping[str, Bits] | None = None
) -> Netlist:
    """The netlist with its ports in the order of ``inputs`` and ``outputs``.

    ``made_of`` has the bits of inputs that are not ports themselves but consist of bits of other ports. A netlist with
    other ports is a NetlistError.
    """
    sources = {port: tuple((port, place) for place in range(width)) for port, width in inputs.items()}
    sources |= made_of or {}
    bits = [bit for port in inputs for bit in sources[port]]
    ports: dict[str, int] = {}
    for name, place in bits:
        ports[name] = max(place + 1, ports.get(name, 0))
    for way, actual, expected in (("inputs", netlist.inputs, ports), ("outputs", netlist.outputs, outputs)):
        if dict(actual) != dict(expected):
            raise NetlistError(f"{netlist.top} must have the {way} {_listed(expected)}, not {_listed(actual)}")
    places = list(range(netlist.first_gate + len(netlist.gates)))
    for place, (name, bit) in enumerate(bits, 2):
        places[netlist.input_nets(name)[bit]] = place
    gates = tuple(Gate(gate.kind, tuple(places[pin] for pin in gate.pins)) for gate in netlist.gates)
    driven = tuple(places[net] for port in outputs for net in netlist.output_nets[port])
    named = {name: tuple(places[net] for net in nets) for name, nets in netlist.named.items()}
    return replace(netlist, inputs=dict(inputs), outputs=dict(outputs), gates=gates, driven=driven, named=named)


def _listed(ports: Mapping[str, int]) -> str:
    return ", ".join(f"{name}[{width}]" for name, width in ports.items()) or "none"


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
