"""A second computation of energies: from waves, and from the text of a library or the tables of logical efforts.

It shares no code with ``synth.energy`` except the list of cells with their nets. It reads the library with a reader of
its own, and walks through the waves step by step.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import CodeType
from typing import Any

import numpy as np

from synth.area.timing import EFFORTS

Waves = Sequence[tuple[int, Sequence[tuple[int, str]]]]
"""Time steps: each has a time, and nets with their new values."""


@dataclass
class Node:
    """A group of a library."""

    kind: str
    name: str
    values: dict[str, str] = field(default_factory=dict)
    nodes: list["Node"] = field(default_factory=list)

    def of(self, kind: str) -> list["Node"]:
        return [node for node in self.nodes if node.kind == kind]


def parse(text: str, used: set[str]) -> Node:
    """Read a library, but of its cells only the used ones."""
    text = re.sub(r"/\*.*?\*/", "", text.replace("\\\n", " "), flags=re.S)
    tokens = re.findall(r'"[^"]*"|[{}();:,]|[^\s{}();:,"]+|\n', text)
    stack, word, place = [Node("", "")], "", 0
    while place < len(tokens):
        token = tokens[place]
        if token == "}":
            stack.pop()
        elif token == ":":
            end = place + 1
            while tokens[end] not in (";", "\n", "}"):
                end += 1
            stack[-1].values[word] = " ".join(tokens[place + 1 : end]).strip('"')
            place = end - 1
        elif token == "(":
            end = tokens.index(")", place)
            inside = " ".join(tokens[place + 1 : end]).replace('"', "")
            after = end + 1
            while after < len(tokens) and tokens[after] == "\n":
                after += 1
            if after < len(tokens) and tokens[after] == "{":
                node = Node(word, inside.strip())
                if word == "cell" and node.name not in used:
                    depth, after = 1, after + 1
                    while depth:
                        depth += (tokens[after] == "{") - (tokens[after] == "}")
                        after += 1
                    place = after
                    continue
                stack[-1].nodes.append(node)
                stack.append(node)
                end = after
            else:
                stack[-1].values[word] = inside
            place = end
        elif token not in (";", ",", "\n", ")"):
            word = token
        place += 1
    (library,) = stack[0].of("library")
    return library


def condition(text: str, pins: Mapping[str, int]) -> int:
    """Value of a Liberty expression, by Python."""
    return int(eval(_python(text), {}, dict(pins))) & 1


@cache
def _python(text: str) -> CodeType:
    python = re.sub(r"([A-Za-z_]\w*)\s*'", r"(1-\1)", text.replace("*", "&").replace("+", "|"))
    python = re.sub(r"(?<=[\w)])\s+(?=[\w(!])", "&", python.strip())
    return compile(re.sub(r"!\s*", "~", python), text, "eval")


class Library:
    """Capacitances, tables and leakage of a library's cells, in fF, ps and fJ."""

    def __init__(self, texts: Iterable[str], used: set[str]):
        roots = [parse(text, used) for text in texts]
        self.cells = {cell.name: (cell, root) for root in roots for cell in root.of("cell")}
        head = roots[0]
        unit, prefix = re.split(r"\s*,\s*", head.values["capacitive_load_unit"])
        self.c = float(unit) * {"pf": 1e3, "ff": 1.0}[prefix.strip().lower()]
        self.t = {"1ns": 1e3, "1ps": 1.0}[head.values["time_unit"]]
        self.leak = {"1nW": 1e-6, "1pW": 1e-9}[head.values["leakage_power_unit"]]
        self.v = float(head.values["nom_voltage"])
        self._known: dict[tuple[Any, ...], float] = {}

    def capacitance(self, cell: str, pin: str) -> float:
        return float(self.pin(cell, pin).values["capacitance"]) * self.c

    def pin(self, cell: str, pin: str) -> Node:
        (node,) = (node for node in self.cells[cell][0].of("pin") if node.name == pin)
        return node

    def leakage(self, cell: str) -> float:
        node = self.cells[cell][0]
        free = [float(group.values["value"]) for group in node.of("leakage_power") if "when" not in group.values]
        return (sum(free) if free else float(node.values["cell_leakage_power"])) * self.leak

    def table(self, cell: str, node: Node, slew: float, load: float) -> float:
        """Bilinear interpolation, continued beyond the ends."""
        root = self.cells[cell][1]
        forms = {form.name: form for form in root.nodes if form.kind in ("lu_table_template", "power_lut_template")}
        form = forms.get(node.name, Node("", ""))
        values = np.array([float(word) for word in re.split(r"[\s,]+", node.values["values"].strip()) if word])
        if values.size == 1:
            return float(values[0])
        axes, where = [], []
        for number in "12":
            key = f"index_{number}"
            text = node.values.get(key, form.values.get(key))
            if text is not None:
                axes.append(np.array([float(word) for word in re.split(r"[\s,]+", text.strip()) if word]))
                is_load = "capacitance" in form.values[f"variable_{number}"]
                where.append(load / self.c if is_load else slew / self.t)
        grid = values.reshape([axis.size for axis in axes])
        for axis, at in zip(axes, where, strict=True):
            place = int(np.clip(np.searchsorted(axis, at, side="right") - 1, 0, axis.size - 2))
            share = (at - axis[place]) / (axis[place + 1] - axis[place])
            grid = grid[place] * (1 - share) + grid[place + 1] * share
        return float(grid)

    def mean(self, cell: str, pin: str, kinds: Sequence[str], slews: Mapping[str, float], load: float) -> float:
        found = []
        for timing in self.pin(cell, pin).of("timing"):
            if not re.match(r"combinational|rising_edge", timing.values.get("timing_type", "combinational")):
                continue
            for related in timing.values["related_pin"].split():
                nodes = [node for node in timing.nodes if node.kind in kinds]
                found += [self.table(cell, node, slews[related], load) * self.t for node in nodes]
        return float(np.mean(found)) if found else 0.0

    def inside(
        self, cell: str, pin: str, cause: str, rises: int, pins: Mapping[str, int], slew: float, load: float
    ) -> float:
        """Internal energy of a transition of ``pin`` that ``cause`` has caused."""
        key = cell, pin, cause, rises, tuple(pins.values()), slew, load
        if key not in self._known:
            self._known[key] = self._inside(cell, pin, cause, rises, pins, slew, load)
        return self._known[key]

    def _inside(
        self, cell: str, pin: str, cause: str, rises: int, pins: Mapping[str, int], slew: float, load: float
    ) -> float:
        groups = [
            group
            for group in self.pin(cell, pin).of("internal_power")
            if cause in group.values.get("related_pin", cause).split()
        ]
        with_condition = [group for group in groups if "when" in group.values]
        chosen = [group for group in with_condition if condition(group.values["when"], pins)]
        if not chosen:
            chosen = [group for group in groups if "when" not in group.values]
        if not chosen and pin != cause and groups:
            chosen = [group for group in groups if group.values.get("when") == groups[0].values.get("when")]
        energy = 0.0
        for group in chosen:
            for node in group.of("rise_power" if rises else "fall_power"):
                energy += self.table(cell, node, slew, load) * self.c
        return energy


@dataclass(frozen=True)
class Placed:
    """A cell with its nets by pin, functions of its outputs, and the state that they read."""

    cell: str
    inputs: dict[str, int]
    outputs: dict[str, int]


def placed(circuit: Any) -> list[Placed]:
    return [
        Placed(
            item.cell.name,
            dict(zip(item.cell.inputs, item.inputs, strict=True)),
            dict(zip((output.name for output in item.cell.outputs), item.outputs, strict=True)),
        )
        for item in circuit.instances
    ]


def loads(circuit: Any, capacitance: Any, port: float) -> dict[int, float]:
    total = dict.fromkeys(range(circuit.nets), 0.0)
    for item in placed(circuit):
        for pin, net in item.inputs.items():
            total[net] += capacitance(item.cell, pin)
    for nets in circuit.outputs.values():
        for net in nets:
            total[net] += port
    return total


def total(circuit: Any, waves: Waves, library: Library, port: float, slew: float, start: int) -> float:
    """Energy of all transitions from time ``start`` on, without leakage, in fJ."""
    at = loads(circuit, library.capacitance, port)
    slews = dict.fromkeys(range(circuit.nets), slew)
    items = placed(circuit)
    for item in items:
        for pin, net in item.outputs.items():
            inputs = {name: slews[read] for name, read in item.inputs.items()}
            slews[net] = library.mean(item.cell, pin, ("rise_transition", "fall_transition"), inputs, at[net])
    readers, drivers = _ends(items)
    levels = dict.fromkeys(range(circuit.nets), 0) | {1: 1}
    causes: dict[int, str] = {}
    energy = 0.0
    outputs_of = {}
    for item in items:
        node = library.cells[item.cell][0]
        states = re.split(r"[\s,]+", node.of("ff")[0].name) if node.of("ff") else []
        functions = {pin.name: pin.values["function"] for pin in node.of("pin") if "function" in pin.values}
        outputs_of[item.cell] = states, functions
    stored: dict[int, int] = {}

    def known(number: int) -> dict[str, int]:
        """Pins of a cell, with the outputs as functions of the inputs, or of the state."""
        item = items[number]
        states, functions = outputs_of[item.cell]
        values = {pin: levels[net] for pin, net in item.inputs.items()}
        if states:
            values |= {states[0]: stored.get(number, 0), states[1]: 1 - stored.get(number, 0)}
        return values | {pin: condition(text, values) for pin, text in functions.items()}

    for time, step in waves:
        moved = [net for net, value in step if int(value) != levels[net]]
        before = {number: known(number) for net in moved for number, _ in readers.get(net, ())}
        for net in moved:  # what changes now was caused before
            if time >= start:
                energy += at[net] * library.v**2 / 2 * (net > 1)
                if net in drivers:
                    number, pin = drivers[net]
                    item, cause = items[number], causes[number]
                    pins = before.get(number) or known(number)
                    near = slews[item.inputs[cause]]
                    energy += library.inside(item.cell, pin, cause, 1 - levels[net], pins, near, at[net])
        for net in moved:
            levels[net] ^= 1
        reached: dict[int, list[str]] = {}
        for net in moved:
            for number, pin in readers.get(net, ()):
                reached.setdefault(number, []).append(pin)
        for number, pins in reached.items():
            item = items[number]
            node = library.cells[item.cell][0]
            for pin in pins:
                if time >= start:
                    read = slews[item.inputs[pin]]
                    energy += library.inside(item.cell, pin, pin, levels[item.inputs[pin]], known(number), read, 0.0)
            if node.of("ff"):
                (flip_flop,) = node.of("ff")
                clock = flip_flop.values["clocked_on"]
                if not condition(clock, before[number]) and condition(clock, known(number)):
                    stored[number] = condition(flip_flop.values["next_state"], before[number])
                    causes[number] = next(pin for pin in item.inputs if re.search(rf"\b{pin}\b", clock))
            else:
                causes[number] = next(pin for pin in item.inputs if pin in pins)
    return energy


def _ends(items: Sequence[Placed]) -> tuple[dict[int, list[tuple[int, str]]], dict[int, tuple[int, str]]]:
    """The pins that read, and the one that drives, each net."""
    readers: dict[int, list[tuple[int, str]]] = {}
    drivers: dict[int, tuple[int, str]] = {}
    for number, item in enumerate(items):
        for pin, net in item.inputs.items():
            readers.setdefault(net, []).append((number, pin))
        drivers |= {net: (number, pin) for pin, net in item.outputs.items()}
    return readers, drivers


def effort_total(circuit: Any, waves: Waves, start: int) -> float:
    """The same for combinational circuits of our own gates in one size, in C·V²."""
    items = placed(circuit)
    at = loads(circuit, lambda cell, pin: EFFORTS[cell][0][pin], 4.0)
    drivers = {net: number for number, item in enumerate(items) for net in item.outputs.values()}
    levels = dict.fromkeys(range(circuit.nets), 0) | {1: 1}
    causes: dict[int, str] = {}
    energy = 0.0
    for time, step in waves:
        moved = [net for net, value in step if int(value) != levels[net]]
        for net in moved:
            levels[net] ^= 1
            if time >= start:
                energy += at[net] / 2
                if net in drivers:
                    energy += EFFORTS[items[drivers[net]].cell][1][causes[drivers[net]]] / 2
        for number, item in enumerate(items):
            changed = [pin for pin, net in item.inputs.items() if net in moved]
            causes |= {number: changed[0]} if changed else {}
    return energy
