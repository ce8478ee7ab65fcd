"""Verilog-2005 text of a netlist: declarations where the values arise, one statement for each value that has a name or two readers.

Expressions are nested only where Verilog's rules of width and sign cannot change their meaning: every operand is as wide as its result,
and what is signed stands alone on a right-hand side.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hwgen.dataflow import COMPARISONS, LOGIC, MODULAR, REDUCTIONS, Bit, Bits, Netlist, Operation

INLINE = 48
"""Longest expression, in characters, that is written into the one statement which reads it."""

LINE = 110
"""Longest multiplexer, in characters, that stays on one line."""

ATOM, UNARY, BINARY, CHOICE = range(4)
"""How tightly an expression holds together: an atom needs no parentheses anywhere, a choice (``?:``) everywhere."""


@dataclass(eq=False)
class Vector:
    """Bits that stand in the text under one name; ``name`` of a temporary is None until it is written."""

    bits: Bits
    name: str | None
    operation: Operation | None = None
    port: bool = False


@dataclass(frozen=True)
class Text:
    """An expression: the choices ``(condition, value)`` that come first, and what remains when none holds."""

    value: str
    level: int
    choices: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Use:
    """Where a vector is read: by which operation, as which operand, and whether it is that whole operand."""

    reader: Operation | None
    operand: int
    alone: bool
    whole: bool


def module(name: str, netlist: Netlist, keywords: frozenset[str]) -> str:
    """The module called ``name``; given names that are no identifiers, or in ``keywords``, are bent until they are free to use."""
    return _Module(netlist, keywords).text(name)


class _Module:
    def __init__(self, netlist: Netlist, keywords: frozenset[str]):
        self.netlist = netlist
        self.taken = set(keywords) | {name for _, name, _ in netlist.ports}
        self.lines: list[str] = []
        self.inlined: dict[Vector, Text] = {}
        self.declared: set[Vector] = set()
        self.temporaries = 0
        self.home: dict[Bit, tuple[Vector, int]] = {}  # where a bit arises
        self.aliases: dict[Bit, list[Vector]] = {}  # vectors put together of bits from elsewhere, by their lowest bit
        self.values = self._vectors()
        self.uses = self._count_uses()

    # Names

    def _vectors(self) -> list[Vector]:
        """Fill ``home`` and ``aliases``; return the operations' vectors in order."""
        names = {bits: (name, direction == "output") for direction, name, bits in reversed(self.netlist.ports) if direction == "output"}
        for direction, name, bits in self.netlist.ports:
            if direction == "input":
                names[bits] = (name, False)
                self._settle(Vector(bits, name, port=True))
        given = [(name, bits) for name, bits in self.netlist.names.items() if name not in {port for _, port, _ in self.netlist.ports}]
        for name, bits in sorted(given, key=lambda item: item[0].count(".")):
            top = max((index + 1 for index, bit in enumerate(bits) if bit in self.netlist.read), default=0)
            names.setdefault(bits[:top], (name, None))
        values = []
        for operation in self.netlist.operations:
            name, output = names.pop(operation.result, (None, None))
            if name is not None and output is None:
                name = self._free(name)
            values.append(Vector(operation.result, name, operation, port=bool(output)))
            self._settle(values[-1])
        for bits, (name, output) in names.items():
            arises = bool(bits) and all(isinstance(bit, str) or bit in self.home for bit in bits)
            if output is None and arises and isinstance(bits[0], int) and self.home[bits[0]][0].bits != bits:
                self.aliases.setdefault(bits[0], []).append(Vector(bits, self._free(name)))
        return values

    def _settle(self, vector: Vector) -> None:
        for index, bit in enumerate(vector.bits):
            self.home[bit] = (vector, index)

    def _free(self, name: str) -> str:
        """An identifier like ``name`` that nothing has yet."""
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name.replace(".", "__"))
        plain = plain if re.match(r"[A-Za-z_]", plain) else f"_{plain}"
        free, number = plain, 2
        while free in self.taken:
            free, number = f"{plain}_{number}", number + 1
        self.taken.add(free)
        return free

    def _temporary(self) -> str:
        self.temporaries += 1
        return self._free(f"t{self.temporaries}")

    # References

    def _pieces(self, bits: Bits, aliases: bool = True) -> Iterator[tuple[Vector | str, int, int]]:
        """``bits`` from the lowest up as (vector, lowest index, width) and (constant or repeated bit, 0, width)."""
        at = 0
        while at < len(bits):
            first = bits[at]
            if isinstance(first, str):
                width = next((k for k, bit in enumerate(bits[at:]) if not isinstance(bit, str)), len(bits) - at)
                yield "".join(str(bit) for bit in reversed(bits[at : at + width])), 0, width
            else:
                piece, low = self.home[first]
                width = 1
                while low + width < len(piece.bits) and at + width < len(bits) and bits[at + width] == piece.bits[low + width]:
                    width += 1
                for alias in self.aliases.get(first, ()) if aliases else ():
                    size = len(alias.bits)
                    longer = size > width or (size == width and size < len(piece.bits))
                    if longer and bits[at : at + size] == alias.bits:
                        piece, low, width = alias, 0, size
                yield piece, low, width
            at += width

    def _count_uses(self) -> dict[Vector, list[Use]]:
        uses: dict[Vector, list[Use]] = {}

        def note(reader: Operation | None, operand: int, bits: Bits, aliases: bool = True) -> None:
            pieces = list(self._pieces(bits, aliases))
            for piece, _, width in pieces:
                if isinstance(piece, Vector):
                    uses.setdefault(piece, []).append(Use(reader, operand, len(pieces) == 1, width == len(piece.bits)))

        for operation in self.netlist.operations:
            for index, bits in enumerate(operation.operands):
                if operation.kind == "$pmux" and index == 0:
                    for bit in bits:
                        note(operation, 0, (bit,))
                else:
                    note(operation, index, bits)
        for direction, _, bits in self.netlist.ports:
            if direction == "output":
                note(None, 0, bits)
        for alias in [vector for vectors in self.aliases.values() for vector in vectors if vector in uses]:
            note(None, 0, alias.bits, aliases=False)
        return uses

    def _reference(self, bits: Bits, aliases: bool = True) -> Text:
        """The expression that reads ``bits``; an alias is declared when it is first read."""
        pieces = list(self._pieces(bits, aliases))
        if len(pieces) == 1 and isinstance(pieces[0][0], Vector) and pieces[0][0] in self.inlined:
            return self.inlined[pieces[0][0]]
        parts: list[tuple[str, int]] = []
        for piece, low, width in pieces:
            text = self._piece(piece, low, width)
            if parts and parts[-1][0] == text and width == 1 and isinstance(piece, Vector):
                text, count = parts.pop()
                parts.append((text, count + 1))
            else:
                parts.append((text, 1))
        texts = [text if count == 1 else f"{{{count}{{{text}}}}}" for text, count in reversed(parts)]
        return Text(texts[0] if len(texts) == 1 else f"{{{', '.join(texts)}}}", ATOM)

    def _piece(self, piece: Vector | str, low: int, width: int) -> str:
        if isinstance(piece, str):
            return _constant(piece)
        if piece in self.inlined:
            return self.inlined[piece].value
        if piece.operation is None and not piece.port and piece not in self.declared:
            self.declared.add(piece)
            self.lines.append(f"  wire {_range(len(piece.bits))}{piece.name} = {self._reference(piece.bits, aliases=False).value};")
        if width == len(piece.bits):
            return str(piece.name)
        return f"{piece.name}[{low}]" if width == 1 else f"{piece.name}[{low + width - 1}:{low}]"

    def _operand(self, bits: Bits, level: int) -> str:
        """``bits`` inside an expression where only what holds together at least as ``level`` may stand bare."""
        text = self._reference(bits)
        return text.value if text.level <= level else f"({text.value})"

    # Statements

    def _expression(self, operation: Operation) -> Text:
        kind, operands = operation.kind, operation.operands
        if kind in ("$mux", "$pmux"):
            select, *values, otherwise = operands
            choices = tuple((self._operand((bit,), UNARY), self._operand(bits, BINARY)) for bit, bits in zip(select, values, strict=True))
            rest = self._reference(otherwise)
            return Text(rest.value, CHOICE, choices + rest.choices)
        if kind in REDUCTIONS:
            (bits,) = operands
            sign = REDUCTIONS[kind] if len(bits) > 1 else ("~" if "~" in REDUCTIONS[kind] else "")
            return Text(f"{sign}{self._operand(bits, ATOM)}", BINARY if len(sign) == 1 and sign != "~" else UNARY)
        if kind in ("$not", "$neg"):
            return Text(f"{'~' if kind == '$not' else '-'}{self._operand(operands[0], ATOM)}", UNARY if kind == "$not" else BINARY)
        if kind == "$pos":
            return self._reference(operands[0])
        left, right = operands
        if kind in LOGIC:
            sides = [self._operand(bits, UNARY) if len(bits) == 1 else f"(|{self._operand(bits, ATOM)})" for bits in operands]
            return Text(f"{sides[0]} {LOGIC[kind]} {sides[1]}", BINARY)
        if kind in ("$shl", "$shr"):
            sign = "<<" if kind == "$shl" else ">>>" if operation.signed else ">>"
        else:
            sign = (MODULAR | COMPARISONS)[kind]
        if operation.signed:
            sides = [f"$signed({self._reference(left).value})"]
            sides.append(self._operand(right, UNARY) if kind == "$shr" else f"$signed({self._reference(right).value})")
        else:
            sides = [self._operand(left, UNARY), self._operand(right, UNARY)]
        return Text(f"{sides[0]} {sign} {sides[1]}", BINARY)

    def _inline(self, vector: Vector, text: Text) -> bool:
        """Whether ``text`` goes into the one statement that reads ``vector``."""
        operation, uses = vector.operation, self.uses[vector]
        if vector.name is not None or len(uses) > 1 or not uses[0].whole:
            return False
        if operation.signed and operation.kind not in COMPARISONS:
            return False
        (use,) = uses
        if text.choices:
            return use.alone and use.reader is not None and use.reader.kind in ("$mux", "$pmux") and use.operand == len(use.reader.operands) - 1
        return len(text.value) <= INLINE

    def _statement(self, vector: Vector) -> None:
        operation = vector.operation
        if operation.kind == "$dff":
            return
        if operation.kind == "case":
            self._case(vector)
            return
        text = self._expression(operation)
        if self._inline(vector, text):
            self.inlined[vector] = text
            return
        vector.name = vector.name or self._temporary()
        left = "assign " if vector.port else f"wire {_range(len(vector.bits))}"
        self.lines += _assignment(f"  {left}{vector.name} =", text)

    def _case(self, vector: Vector) -> None:
        subject, default, *values = vector.operation.operands
        select = self._reference(subject).value
        arms = [", ".join(_constant(pattern) for pattern in group) for group in vector.operation.patterns]
        texts = [self._flat(bits) for bits in (*values, default)]
        vector.name = vector.name or self._temporary()
        keyword = "casez" if any("?" in pattern for group in vector.operation.patterns for pattern in group) else "case"
        if not vector.port:
            self.lines.append(f"  reg {_range(len(vector.bits))}{vector.name};")
        self.lines += ["  always @*", f"    {keyword} ({select})"]
        self.lines += [f"      {arm}: {vector.name} = {text};" for arm, text in zip([*arms, "default"], texts, strict=True)]
        self.lines.append("    endcase")

    def _flat(self, bits: Bits) -> str:
        """The expression that reads ``bits``, on one line."""
        return self._reference(bits).value

    def _registers(self) -> list[Vector]:
        return [vector for vector in self.values if vector.operation.kind == "$dff"]

    def text(self, name: str) -> str:
        for register in self._registers():
            register.name = register.name or self._temporary()
            if not register.port:
                self.lines.append(f"  reg {_range(len(register.bits))}{register.name};")
        for vector in self.values:
            self._statement(vector)
        held = {vector.name for vector in self.values if vector.operation.kind in ("case", "$dff")}
        driven = {vector.name for vector in self.values if vector.port}
        for direction, port, bits in self.netlist.ports:
            if direction == "output" and port not in driven:
                self.lines += _assignment(f"  assign {port} =", self._reference(bits))
        for register in self._registers():
            clock, data = register.operation.operands
            self.lines.append(f"  always @(posedge {self._flat(clock)})")
            self.lines += _assignment(f"    {register.name} <=", self._reference(data))
        self._sink()
        ports = [
            f"  {direction} {'reg' if port in held else 'wire'} {_range(len(bits))}{port}" for direction, port, bits in self.netlist.ports
        ]
        return "\n".join([f"module {name} (", ",\n".join(ports), ");", *self.lines, "endmodule", ""])

    def _sink(self) -> None:
        """Read what nobody reads, so that linters know it for intended."""
        homes = dict.fromkeys(vector for vector, _ in self.home.values() if vector not in self.inlined)
        unread = tuple(bit for vector in homes for bit in vector.bits if bit not in self.netlist.read)
        if unread:
            self.lines.append(f"  wire {self._free('unused')} = |{self._reference(unread, aliases=False).value};")


def _assignment(left: str, text: Text) -> list[str]:
    """``left text;``, a choice on a line of its own unless all are short."""
    whole = " ".join([left, *(f"{condition} ? {value} :" for condition, value in text.choices), f"{text.value};"])
    if not text.choices or (len(whole) <= LINE and len(text.choices) < 3):
        return [whole]
    indent = " " * (len(left) - len(left.lstrip()) + 2)
    return [left, *(f"{indent}{condition} ? {value} :" for condition, value in text.choices), f"{indent}{text.value};"]


def _range(width: int) -> str:
    return "" if width == 1 else f"[{width - 1}:0] "


def _constant(digits: str) -> str:
    """Binary up to four bits and where there are don't-cares, else hexadecimal."""
    width = len(digits)
    if width <= 4 or "?" in digits:
        return f"{width}'b{digits}"
    return f"{width}'h{int(digits, 2):0{(width + 3) // 4}x}"
