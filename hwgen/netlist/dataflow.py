"""A flattened Yosys netlist as a list of operations in dataflow order, every operand as wide as its result.

Here is all that Yosys's word-level cells leave to conventions: operands are extended or cut to one width, result bits
that nobody reads are cut off on top, and selections among the patterns of one signal become a case table again.
``verilog`` prints what comes out.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

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
class Operation:
    """``result = kind(operands)``.

    Members
    -------
    kind : str
        A Yosys cell type, or ``"case"``, whose operands are the subject, the default and one value for each item of
        ``patterns``.
    operands : tuple of Bits
        Of modular and bitwise operations, comparisons and multiplexers: all of one width (but a select is one bit).
        ``$mux`` is (select, if one, if zero), ``$pmux`` (select, one value per select bit ..., default), ``$dff``
        (clock, data).
    signed : bool
        Comparison, product or right shift in two's complement.
    patterns : tuple of tuples of str
        For a case table: what the subject looks like, one or more strings of 0, 1 and ? for each value, msb first.
    chapter : str
        The title of the chapter that it stands in, see :mod:`hwgen.netlist.chapters`; empty outside of all.
    """

    kind: str
    result: Bits
    operands: tuple[Bits, ...]
    signed: bool = False
    patterns: tuple[tuple[str, ...], ...] = ()
    chapter: str = ""


@dataclass(frozen=True)
class Label:
    """What a signal's bits from ``low`` on are called, and the title of its chapter, if any; ``low`` is more than 0 where
    nothing reads the bits below.
    """

    name: str
    bits: Bits
    chapter: str = ""
    low: int = 0


@dataclass(frozen=True)
class Netlist:
    """``ports`` are (direction, name, bits) in order; ``operations`` stand in dataflow order.

    ``labels`` name bits that are no port, different ones each. A bit in ``read`` is an operand of one of the operations,
    or leaves through an output.
    """

    ports: tuple[tuple[str, str, Bits], ...]
    labels: tuple[Label, ...]
    operations: tuple[Operation, ...]
    read: frozenset[Bit]

    @cached_property
    def inputs(self) -> dict[str, Bits]:
        """Bits of the input ports."""
        return {name: bits for direction, name, bits in self.ports if direction == "input"}

    @cached_property
    def outputs(self) -> dict[str, Bits]:
        """Bits of the output ports."""
        return {name: bits for direction, name, bits in self.ports if direction == "output"}

    @cached_property
    def label(self) -> dict[Bits, Label]:
        """The labels by their bits."""
        return {label.bits: label for label in self.labels}


def load(text: str, chapters: Mapping[str, str]) -> Netlist:
    """The netlist in the text that ``write_json`` made of one module.

    ``chapters`` holds the paths of names that become labels, in order, with the titles of their chapters.
    """
    (module,) = json.loads(text)["modules"].values()
    ports = tuple((port["direction"], name, _bits(port["bits"])) for name, port in module["ports"].items())
    nets = {name: _bits(net["bits"]) for name, net in module["netnames"].items()}
    labels = [Label(name, nets[name], chapter) for name, chapter in chapters.items() if name in nets]
    fresh = _fresh(module)
    cells = [_operation(cell, fresh) for cell in module["cells"].values()]
    outputs = [bits for direction, _, bits in ports if direction == "output"]
    ordered = in_dataflow_order(cells, outputs)
    vectors = [bits for _, _, bits in ports] + [label.bits for label in labels] + [item.result for item in ordered]
    operations, read = _trimmed(ordered, outputs, vectors)
    plain = _plain(labels, {bits for _, _, bits in ports}, {operation.result for operation in operations}, read)
    return Netlist(ports, plain, operations, read)


def _plain(labels: list[Label], ports: set[Bits], results: set[Bits], read: frozenset[Bit]) -> tuple[Label, ...]:
    """A label for bits that are no port, without those on either end that nothing reads, and without constants around a
    result.

    Of several the one with the shortest path, and of that no more than distinguishes it from those of other bits.
    """
    endings: dict[str, set[Bits]] = {}
    for label in labels:
        for ending in _endings(label.name):
            endings.setdefault(ending, set()).add(label.bits)
    plain: dict[Bits, Label] = {}
    order = {label.name: place for place, label in enumerate(labels)}
    for label in sorted(labels, key=lambda label: ("$" in label.name, label.name.count("."))):
        used = [place for place, bit in enumerate(label.bits) if bit in read]
        varying = [place for place in used if isinstance(label.bits[place], int)]
        if varying and label.bits not in ports:
            core = label.bits[varying[0] : varying[-1] + 1]
            low = varying[0] if core in results else used[0]
            bits = core if core in results else label.bits[low : used[-1] + 1]
            plain.setdefault(bits, replace(label, bits=bits, low=low))
    chosen = sorted(plain.values(), key=lambda label: order[label.name])
    return tuple(
        replace(label, name=next((ending for ending in _endings(label.name) if len(endings[ending]) == 1), label.name))
        for label in chosen
        if label.bits not in ports
    )


def _endings(path: str) -> list[str]:
    """The ends of a path, from its last name to all of it."""
    names = path.split(".")
    return [".".join(names[start:]) for start in reversed(range(len(names)))]


def _bits(items: Iterable[Bit]) -> Bits:
    return tuple("0" if item in ("x", "z") else item for item in items)


def _fresh(module: dict) -> Iterator[int]:
    """Numbers that no net of the module has."""
    nets = [net["bits"] for net in module["netnames"].values()]
    nets += [bits for cell in module["cells"].values() for bits in cell["connections"].values()]
    return count(max((bit for bits in nets for bit in bits if isinstance(bit, int)), default=1) + 1)


def extend(bits: Bits, width: int, signed: bool) -> Bits:
    """``bits`` cut or extended to ``width``."""
    sign = bits[-1] if signed and bits else "0"
    return bits[:width] + (sign,) * (width - len(bits))


def _operation(cell: dict, fresh: Iterator[int]) -> Operation:
    """One cell of ``write_json``, with operands of one width."""
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
        return Operation(
            kind, y, (extend(a, width, signed), extend(b, width, signed)), signed and kind not in ("$eq", "$ne")
        )
    if kind in LOGIC:
        return Operation(kind, y, (a, b))
    if kind in REDUCTIONS:
        return Operation(kind, y, (a,))
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
    """The operations that the roots depend on, each behind those it reads; registers come where they are first
    read.
    """
    driver = {bit: operation for operation in operations for bit in operation.result}
    ordered: list[Operation] = []
    seen: set[int] = set()
    registers: list[Operation] = []

    def visit(sources: Iterable[Bits]) -> None:
        stack: list[tuple[Operation | None, Iterator[Bit]]] = [(None, (bit for bits in sources for bit in bits))]
        while stack:
            operation, reads = stack[-1]
            source = next((driver[bit] for bit in reads if bit in driver and id(driver[bit]) not in seen), None)
            if source is None:
                stack.pop()
                if operation is not None:
                    ordered.append(operation)
            else:
                seen.add(id(source))
                if source.kind == "$dff":
                    registers.append(source)
                    ordered.append(source)
                else:
                    stack.append((source, (bit for bits in source.operands for bit in bits)))

    visit(roots)
    for register in registers:  # grows while it is walked
        visit(register.operands)
    return ordered


def _trimmed(
    ordered: list[Operation], outputs: list[Bits], vectors: list[Bits]
) -> tuple[tuple[Operation, ...], frozenset[Bit]]:
    """Without operations that nobody reads and without unread bits on top of a result; selections as case tables where
    they are.
    """
    driver = {bit: operation for operation in ordered for bit in operation.result}
    read: set[Bit] = {bit for bits in outputs for bit in bits}
    read |= {bit for operation in ordered if operation.kind == "$dff" for bits in operation.operands for bit in bits}
    kept = []
    for whole in reversed(ordered):
        used = [place for place, bit in enumerate(whole.result) if bit in read]
        if not used:
            continue
        operation = cut(whole, used[0], used[-1] + 1)
        if operation.kind == "$pmux":
            operation = _as_case(operation, driver, vectors) or operation
        read.update(bit for bits in operation.operands for bit in bits)
        kept.append(operation)
    return tuple(reversed(kept)), frozenset(read)


def cut(operation: Operation, low: int, top: int) -> Operation:
    """``operation`` without the bits of its result below ``low`` and from ``top`` on, as far as its operands allow."""
    kind, operands = operation.kind, operation.operands
    if kind in BITWISE or kind in ("$not", "$pos"):
        operands = tuple(bits[low:top] for bits in operands)
    elif kind in ("$mux", "$pmux", "$dff"):
        operands = (operands[0], *(bits[low:top] for bits in operands[1:]))
    else:
        low = 0
        if kind in MODULAR or kind == "$neg":
            operands = tuple(bits[:top] for bits in operands)
        elif kind == "$shl":
            operands = (operands[0][:top], operands[1])
        elif kind == "$shr":
            top = min(top + (1 << len(operands[1])) - 1, len(operation.result))
            operands = (operands[0][:top], operands[1])
        else:
            return operation
    return replace(operation, result=operation.result[low:top], operands=operands)


Pattern = dict[Bit, str]
"""Which bits must have which value."""


def _patterns(bit: Bit, driver: dict[Bit, Operation]) -> list[Pattern]:
    """Patterns of other bits of which one must hold for ``bit`` to be 1."""
    operation = driver.get(bit)
    match operation:
        case Operation("$eq", _, (bits, constant)) if all(isinstance(item, str) for item in constant) and len(
            set(bits)
        ) == len(bits):
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
    """A ``$pmux`` whose selects are patterns of one vector, as a case table over that vector."""
    select, *values, default = operation.operands
    patterns = [_patterns(bit, driver) for bit in select]
    needed = {bit for group in patterns for pattern in group for bit in pattern}
    holders = [bits for bits in vectors if needed <= set(bits) and len(set(bits)) == len(bits)]
    if not holders or any(isinstance(bit, str) for bit in needed):
        return None
    whole = min(holders, key=len)
    places = [index for index, bit in enumerate(whole) if bit in needed]
    subject = whole[places[0] : places[-1] + 1]
    if any(isinstance(bit, str) for bit in subject):
        return None
    text = tuple(
        tuple("".join(pattern.get(bit, "?") for bit in reversed(subject)) for pattern in group) for group in patterns
    )
    return Operation("case", operation.result, (subject, default, *values), patterns=text)
