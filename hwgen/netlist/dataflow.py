"""A Yosys netlist as a list of operations in dataflow order, every operand as wide as its result.

Yosys's word-level cells leave much to conventions. This module resolves them: operands are extended or cut to one
width, unread bits on top of a result are cut off, and selections among patterns of one signal become a case table
again. :mod:`hwgen.netlist.verilog` writes the text.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, count

Bit = int | str
"""A net's number, or the constant ``"0"`` or ``"1"``."""

Bits = tuple[Bit, ...]
"""Least significant bit first."""

BITWISE = {"$and": "&", "$or": "|", "$xor": "^", "$xnor": "~^"}
MODULAR = {"$add": "+", "$sub": "-", "$mul": "*"} | BITWISE
COMPARISONS = {"$eq": "==", "$ne": "!=", "$lt": "<", "$le": "<=", "$gt": ">", "$ge": ">="}
REDUCTIONS = {
    "$reduce_and": "&",
    "$reduce_or": "|",
    "$reduce_bool": "|",
    "$reduce_xor": "^",
    "$reduce_xnor": "~^",
    "$logic_not": "~|",
}
LOGIC = {"$logic_and": "&", "$logic_or": "|"}
RIGHT_SHIFTS = ("$shr", "$sshr", "$shift", "$shiftx")
LEFT_SHIFTS = ("$shl", "$sshl")


@dataclass(frozen=True)
class Instance:
    """An instance of a module: its path, the name of the module, names of inputs, and widths of outputs by name."""

    path: str
    module: str
    inputs: tuple[str, ...]
    outputs: Mapping[str, int]


@dataclass(frozen=True)
class Operation:
    """``result = kind(operands)``; ``signed`` says whether a comparison, product or right shift is in two's complement.

    ``kind`` is a Yosys cell type, or one of ours. The operands of ``"case"`` are the subject, the default and a value
    for each item of ``patterns``: strings of 0, 1 and ?, msb first. The result of ``"instance"`` is one ``output`` of
    an instance, the operands are its inputs. ``chapter`` is the title of a chapter, see :mod:`hwgen.netlist.book`.

    Operands have all one width in modular and bitwise operations, comparisons and multiplexers (except the select).
    ``$mux`` has (select, value if 1, value if 0), ``$pmux`` (select, a value for each of its bits ..., default),
    ``$dff`` (clock, data).
    """

    kind: str
    result: Bits
    operands: tuple[Bits, ...]
    signed: bool = False
    patterns: tuple[tuple[str, ...], ...] = ()
    chapter: str = ""
    instance: Instance | None = None
    output: str = ""

    @property
    def reads(self) -> Iterator[Bit]:
        """Bits of all operands."""
        return chain.from_iterable(self.operands)


@dataclass(frozen=True)
class Label:
    """The name of a signal, its bits from ``low`` on (nothing reads those below), the title of its chapter, a note."""

    name: str
    bits: Bits
    chapter: str = ""
    low: int = 0
    note: str = ""

    @property
    def identifier(self) -> str:
        """The name in Verilog, which may be a keyword."""
        plain = re.sub(r"[^A-Za-z0-9_]", "_", self.name.replace(".", "__"))
        return plain if re.match(r"[A-Za-z_]", plain) else f"_{plain}"


@dataclass(frozen=True)
class Netlist:
    """A module: ``ports`` as (direction, name, bits), ``labels`` for other bits, ``operations`` in dataflow order."""

    name: str
    ports: tuple[tuple[str, str, Bits], ...]
    labels: tuple[Label, ...]
    operations: tuple[Operation, ...]

    @cached_property
    def inputs(self) -> dict[str, Bits]:
        """Bits of the input ports."""
        return {name: bits for direction, name, bits in self.ports if direction == "input"}

    @cached_property
    def outputs(self) -> dict[str, Bits]:
        """Bits of the output ports."""
        return {name: bits for direction, name, bits in self.ports if direction == "output"}

    @cached_property
    def label_by_bits(self) -> dict[Bits, Label]:
        """The labels by their bits."""
        return {label.bits: label for label in self.labels}

    @cached_property
    def read(self) -> frozenset[Bit]:
        """The bits that operations and outputs read."""
        return frozenset(chain(*(item.reads for item in self.operations), *self.outputs.values()))


def load(text: str, chapters: Mapping[str, Mapping[str, str]], notes: Mapping[str, Mapping[str, str]]) -> list[Netlist]:
    """The netlists of modules in ``text``, which Yosys's ``write_json`` wrote, without ports that no instance needs.

    ``chapters`` are by module, each before those that it has instances of, the names that become labels, in order, with
    the titles of their chapters; ``notes`` are comments on some of these.
    """
    modules = json.loads(text)["modules"]
    used: dict[str, dict[str, bool]] = {name: dict.fromkeys(modules[name]["ports"], True) for name in chapters}
    used |= {name: _read_inside(modules[name]) for name in [*chapters][1:]}
    netlists = []
    for name, titles in chapters.items():
        netlist = _load(name, modules[name], titles, notes[name], used)
        for operation in netlist.operations:
            if operation.instance:
                used[operation.instance.module][operation.output] = True
        netlists.append(netlist)
    return [replace(item, operations=tuple(_with_outputs(part, used) for part in item.operations)) for item in netlists]


def _read_inside(module: dict) -> dict[str, bool]:
    """The ports of a module, and whether they are inputs that it reads."""
    read = [bits for cell in module["cells"].values() for bits in cell["connections"].values()]
    read += [port["bits"] for port in module["ports"].values() if port["direction"] == "output"]
    inside = {*chain(*read)}
    return {
        name: port["direction"] == "input" and not inside.isdisjoint(port["bits"])
        for name, port in module["ports"].items()
    }


def _load(
    name: str,
    module: dict,
    chapters: Mapping[str, str],
    notes: Mapping[str, str],
    used: Mapping[str, Mapping[str, bool]],
) -> Netlist:
    """The netlist of a module with the ports that are ``used``, and with instances of the modules that are keys."""
    ports = tuple(
        (port["direction"], key, _bits(port["bits"])) for key, port in module["ports"].items() if used[name][key]
    )
    nets = {key: _bits(net["bits"]) for key, net in module["netnames"].items()}
    labels = [Label(key, nets[key], title, note=notes.get(key, "")) for key, title in chapters.items() if key in nets]
    fresh = _fresh(module)
    cells = []
    for path, cell in module["cells"].items():
        is_instance = cell["type"] in used
        cells += _outputs(path, cell, used[cell["type"]]) if is_instance else [_operation(cell, fresh)]
    outputs = [bits for direction, _, bits in ports if direction == "output"]
    ordered = in_dataflow_order(cells, outputs)
    vectors = [bits for _, _, bits in ports] + [label.bits for label in labels] + [item.result for item in ordered]
    netlist = Netlist(name, ports, (), _trimmed(ordered, outputs, vectors))
    return replace(netlist, labels=_final_labels(_without_inputs(labels, netlist), netlist))


def _without_inputs(labels: list[Label], netlist: Netlist) -> list[Label]:
    """The labels without those of inputs of instances that are no operation's result."""
    instances = [item.instance for item in netlist.operations if item.instance]
    inputs = {f"{instance.path}.{pin}" for instance in instances for pin in instance.inputs}
    results = {item.result for item in netlist.operations}
    return [label for label in labels if label.name not in inputs or label.bits in results]


def _outputs(path: str, cell: dict, used: Mapping[str, bool]) -> list[Operation]:
    """The outputs of an instance, each as an operation on its inputs that are ``used``."""
    pins = {pin: _bits(cell["connections"][pin]) for pin in used}
    directions = cell["port_directions"]
    inputs = tuple(pin for pin in pins if directions[pin] == "input" and used[pin])
    outputs = {pin: bits for pin, bits in pins.items() if directions[pin] == "output"}
    widths = {pin: len(bits) for pin, bits in outputs.items()}
    instance = Instance(path.rpartition(".")[0], cell["type"], inputs, widths)
    operands = tuple(pins[pin] for pin in inputs)
    return [Operation("instance", bits, operands, instance=instance, output=pin) for pin, bits in outputs.items()]


def _with_outputs(operation: Operation, used: Mapping[str, Mapping[str, bool]]) -> Operation:
    """The operation, its instance without the outputs that no instance of the module needs."""
    instance = operation.instance
    if instance is None:
        return operation
    outputs = {name: width for name, width in instance.outputs.items() if used[instance.module][name]}
    return replace(operation, instance=replace(instance, outputs=outputs))


def _final_labels(labels: list[Label], netlist: Netlist) -> tuple[Label, ...]:
    """One label for the same bits: the one with the shortest path, without the instances that its name does not need.

    Ports get none. Labels lose the unread bits at both ends, and constants around an operation's result; those of
    outputs of instances remain whole.
    """
    ports = {bits for _, _, bits in netlist.ports}
    results = {operation.result for operation in netlist.operations}
    whole = {operation.result for operation in netlist.operations if operation.instance}
    nets = {bit for bit in netlist.read if isinstance(bit, int)}
    endings: dict[str, set[Bits]] = {}
    for label in labels:
        for ending in _endings(label.name):
            endings.setdefault(ending, set()).add(label.bits)
    short: dict[Bits, Label] = {}
    for label in sorted(labels, key=lambda label: ("$" in label.name, label.name.count("."))):
        varying, used = read_range(label.bits, nets), read_range(label.bits, netlist.read)
        if varying and used and label.bits not in ports:
            low, top = varying if label.bits[slice(*varying)] in results else used
            if label.bits in whole:
                low, top = 0, len(label.bits)
            bits = label.bits[low:top]
            short.setdefault(bits, replace(label, bits=bits, low=low))
    order = {label.name: place for place, label in enumerate(labels)}
    return tuple(
        replace(label, name=next((ending for ending in _endings(label.name) if len(endings[ending]) == 1), label.name))
        for label in sorted(short.values(), key=lambda label: order[label.name])
        if label.bits not in ports
    )


def read_range(bits: Bits, read: Collection[Bit]) -> tuple[int, int] | None:
    """Place of the first of ``bits`` that is in ``read``, and the place after the last; None if there is none."""
    places = [place for place, bit in enumerate(bits) if bit in read]
    return (places[0], places[-1] + 1) if places else None


def _endings(path: str) -> list[str]:
    """The ends of a path, from its last name to all of it."""
    names = path.split(".")
    return [".".join(names[start:]) for start in reversed(range(len(names)))]


def _bits(items: Iterable[Bit]) -> Bits:
    return tuple("0" if item in ("x", "z") else item for item in items)


def _fresh(module: dict) -> Iterator[int]:
    """Unused net numbers."""
    nets = [net["bits"] for net in module["netnames"].values()]
    nets += [bits for cell in module["cells"].values() for bits in cell["connections"].values()]
    return count(max((bit for bits in nets for bit in bits if isinstance(bit, int)), default=1) + 1)


def extend(bits: Bits, width: int, signed: bool) -> Bits:
    """``bits`` cut to ``width``, or extended by zeros or the sign."""
    sign = bits[-1] if signed and bits else "0"
    return bits[:width] + (sign,) * (width - len(bits))


def _operation(cell: dict, fresh: Iterator[int]) -> Operation:
    """A cell of ``write_json`` as an operation."""
    kind = cell["type"]
    pins = {pin: _bits(bits) for pin, bits in cell["connections"].items()}
    parameters = {key: int(value, 2) for key, value in cell["parameters"].items()}
    if kind == "$dff" and parameters["CLK_POLARITY"]:
        return Operation(kind, pins["Q"], (pins["CLK"], pins["D"]))
    a, b, y = (pins.get(pin, ()) for pin in "ABY")
    signed = bool(parameters.get("A_SIGNED", 0)) and bool(parameters.get("B_SIGNED", 1))
    one_bit = kind in COMPARISONS or kind in REDUCTIONS or kind in LOGIC
    if one_bit and len(y) != 1:
        raise ValueError(f"a {kind} cell has {len(y)} result bits instead of one")
    if kind in MODULAR:
        return Operation(kind, y, (extend(a, len(y), signed), extend(b, len(y), signed)), signed and kind == "$mul")
    if kind in ("$not", "$neg", "$pos"):
        return Operation(kind, y, (extend(a, len(y), bool(parameters["A_SIGNED"])),))
    if kind in COMPARISONS:
        width = max(len(a), len(b))
        operands = extend(a, width, signed), extend(b, width, signed)
        return Operation(kind, y, operands, signed and kind not in ("$eq", "$ne"))
    if kind in LOGIC or kind in REDUCTIONS:
        return Operation(kind, y, (a, b) if kind in LOGIC else (a,))
    if kind in LEFT_SHIFTS:
        return Operation("$shl", y, (extend(a, len(y), bool(parameters["A_SIGNED"])), b))
    if kind in RIGHT_SHIFTS and not (kind in ("$shift", "$shiftx") and parameters["B_SIGNED"]):
        signed = bool(parameters["A_SIGNED"])
        width = max(len(a), len(y))
        rest = tuple(next(fresh) for _ in range(width - len(y)))
        return Operation("$shr", y + rest, (extend(a, width, signed), b), signed and kind == "$sshr")
    if kind == "$mux":
        return Operation(kind, y, (pins["S"], b, a))
    if kind == "$pmux":
        values = (b[start : start + len(y)] for start in range(0, len(b), len(y)))
        return Operation(kind, y, (pins["S"][::-1], *list(values)[::-1], a))  # Yosys counts from the last pattern
    raise ValueError(f"no Verilog for a {kind} cell")


def in_dataflow_order(operations: list[Operation], roots: list[Bits]) -> list[Operation]:
    """The operations that ``roots`` depend on, each after those it reads; a register where it is first read."""
    driver = {bit: operation for operation in operations for bit in operation.result}
    ordered: list[Operation] = []
    visited: set[int] = set()
    registers: list[Operation] = []

    def visit(bits: Iterator[Bit]) -> None:
        stack: list[tuple[Operation | None, Iterator[Bit]]] = [(None, bits)]
        while stack:
            operation, reads = stack[-1]
            source = next((driver[bit] for bit in reads if bit in driver and id(driver[bit]) not in visited), None)
            if source is None:
                stack.pop()
                if operation is not None:
                    ordered.append(operation)
            else:
                visited.add(id(source))
                if source.kind == "$dff":
                    registers.append(source)
                    ordered.append(source)
                else:
                    stack.append((source, source.reads))

    visit(chain(*roots))
    for register in registers:  # visit() appends to this list
        visit(register.reads)
    return ordered


def _trimmed(ordered: list[Operation], outputs: list[Bits], vectors: list[Bits]) -> tuple[Operation, ...]:
    """The operations with read results, without unread bits at the ends.

    Selections become case tables where possible.
    """
    driver = {bit: operation for operation in ordered for bit in operation.result}
    read = set(chain(*outputs, *(operation.reads for operation in ordered if operation.kind == "$dff")))
    kept = []
    for whole in reversed(ordered):
        used = read_range(whole.result, read)
        if not used:
            continue
        operation = cut(whole, *used)
        if operation.kind == "$pmux":
            operation = _as_case(operation, driver, vectors) or operation
        read.update(operation.reads)
        kept.append(operation)
    return tuple(reversed(kept))


def cut(operation: Operation, low: int, top: int) -> Operation:
    """``operation`` with the bits ``low:top`` of its result, and lower ones where they are needed to compute these."""
    kind, operands = operation.kind, operation.operands
    if kind in BITWISE or kind in ("$not", "$pos"):
        operands = tuple(bits[low:top] for bits in operands)
    elif kind in ("$mux", "$pmux", "$dff"):
        operands = (operands[0], *(bits[low:top] for bits in operands[1:]))
    else:
        is_sum = kind in ("$add", "$sub")  # no carry comes from places where both operands are 0
        low = next((place for place in range(low) if not is_sum or any(bits[place] != "0" for bits in operands)), low)
        if kind in MODULAR or kind == "$neg":
            operands = tuple(bits[low:top] for bits in operands)
        elif kind == "$shl":
            operands = (operands[0][:top], operands[1])
        elif kind == "$shr":
            top = min(top + (1 << len(operands[1])) - 1, len(operation.result))
            operands = (operands[0][:top], operands[1])
        else:
            return operation
    return replace(operation, result=operation.result[low:top], operands=operands)


Pattern = dict[Bit, str]
"""Values of some bits."""


def _patterns(bit: Bit, driver: dict[Bit, Operation]) -> list[Pattern]:
    """Patterns of other bits; ``bit`` is 1 if one of them matches."""
    match driver.get(bit):
        case Operation("$eq", _, (bits, constant)) if {*constant} <= {"0", "1"} and len({*bits}) == len(bits):
            return [dict(zip(bits, map(str, constant), strict=True))]
        case Operation("$logic_not", _, (bits,)):
            return [dict.fromkeys(bits, "0")]
        case Operation("$reduce_and", _, (bits,)):
            return [dict.fromkeys(bits, "1")]
        case Operation("$not", (_,), ((source,),)):
            return [{source: "0"}]
        case Operation("$reduce_or" | "$reduce_bool", _, (bits,)):
            return [pattern for source in bits for pattern in _patterns(source, driver)]
        case Operation("$or" | "$logic_or", (_,), ((left,), (right,))):
            return _patterns(left, driver) + _patterns(right, driver)
    return [{bit: "1"}]


def _as_case(operation: Operation, driver: dict[Bit, Operation], vectors: list[Bits]) -> Operation | None:
    """A case table in place of a ``$pmux`` whose selects are patterns of one vector."""
    select, *values, default = operation.operands
    patterns = [_patterns(bit, driver) for bit in select]
    needed = {bit for group in patterns for pattern in group for bit in pattern}
    holders = [bits for bits in vectors if needed <= set(bits) and len(set(bits)) == len(bits)]
    if not holders or needed & {"0", "1"}:
        return None
    whole = min(holders, key=len)
    places = [place for place, bit in enumerate(whole) if bit in needed]
    subject = whole[places[0] : places[-1] + 1]
    if {"0", "1"} & {*subject}:
        return None
    texts = [["".join(pattern.get(bit, "?") for bit in reversed(subject)) for pattern in group] for group in patterns]
    return Operation("case", operation.result, (subject, default, *values), patterns=tuple(map(tuple, texts)))
