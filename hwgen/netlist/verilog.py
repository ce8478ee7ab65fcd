"""Verilog-2005 text of a netlist: declarations where the values arise, one statement for each value that has a name or
two readers.

Expressions are nested only where Verilog's rules of width and sign cannot change their meaning: every operand is as
wide as its result, and what is signed stands alone on a right-hand side.
"""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise

from hwgen.netlist.dataflow import BITWISE, COMPARISONS, LOGIC, MODULAR, REDUCTIONS, Bit, Bits, Netlist, Operation

INLINE = 60
"""Longest expression, in characters, that is written into the one statement that reads it; chains of one operator may be longer."""

LINE = 100
"""Longest multiplexer, in characters, that stays on one line."""

LONGEST = 120
"""Longest line, in characters, that is not broken."""

CHAIN = 400
"""Longest chain of one operator, in characters."""

CHAINED = ("&", "|", "^")
"""Signs of operations that may be chained without parentheses."""

OPERATORS = {*CHAINED, "+", "-", "*", "=="}
"""In front of these a line may be broken."""

ATOM, UNARY, BINARY, CHOICE = range(4)
"""How tightly an expression holds together: an atom needs no parentheses anywhere, a choice (``?:``) everywhere."""


@dataclass(eq=False)
class Vector:
    """Bits that stand in the text under one name, the first with the index ``low``; without a name until it is written."""

    bits: Bits
    name: str | None
    low: int = 0
    port: bool = False


@dataclass(eq=False, kw_only=True)
class Alias(Vector):
    """A named vector of bits that arise elsewhere."""

    chapter: str


@dataclass(eq=False, kw_only=True)
class Result(Vector):
    """The vector in which the bits of an operation arise, but for ``below`` and ``above`` it, which nothing reads."""

    operation: Operation
    below: int = 0
    above: int = 0


@dataclass(frozen=True)
class Text:
    """An expression: the choices ``(condition, value)`` that come first, and what remains when none holds.

    ``sign`` is that of an associative operation, which may be chained without parentheses.
    """

    value: str
    level: int
    choices: tuple[tuple[str, str], ...] = ()
    sign: str = ""


@dataclass(frozen=True)
class Use:
    """How a vector is read: by which operation, as all of an operand, all of it, where a choice may stand bare."""

    reader: Operation | str
    alone: bool
    whole: bool
    bare: bool

    @property
    def chain(self) -> str:
        """The sign of the reader, if it is an associative operation."""
        sign = BITWISE.get(self.reader.kind, "") if isinstance(self.reader, Operation) and self.alone else ""
        return sign if sign in CHAINED else ""


def module(name: str, netlist: Netlist, keywords: frozenset[str]) -> str:
    """The module called ``name``; given names that are no identifiers, or in ``keywords``, are bent until they are free
    to use.
    """
    return _Module(netlist, keywords).text(name)


class _Module:
    def __init__(self, netlist: Netlist, keywords: frozenset[str]):
        self.netlist = netlist
        self.taken = set(keywords) | {name for _, name, _ in netlist.ports}
        self.lines: list[str] = []
        self.inlined: dict[Vector, Text] = {}
        self.declared: set[Alias] = set()
        self.written: set[Vector] = set()
        self.home: dict[Bit, tuple[Vector, int]] = {}  # where a bit arises
        self.aliases: dict[Bit, list[Alias]] = {}  # by their lowest bit
        self.results = self._vectors()
        self.driven = {id(result.operation): result for result in self.results}
        self.uses = self._count_uses()

    def _vectors(self) -> list[Result]:
        """Fill ``home`` and ``aliases``; return the operations' results in order."""
        outputs = {bits: name for name, bits in reversed(self.netlist.outputs.items())}
        for port, bits in self.netlist.inputs.items():
            self._settle(Vector(bits, port, port=True))
        labels = self.netlist.label
        results: list[Result] = []
        for operation in self.netlist.operations:
            whole = operation.result
            below = next((place for place, bit in enumerate(whole) if bit in self.netlist.read), 0)
            above = next((place for place, bit in enumerate(reversed(whole)) if bit in self.netlist.read), 0)
            bits = whole[below : len(whole) - above]
            name: str | None = (
                outputs[bits] if bits in outputs else self._free(labels[bits].name) if bits in labels else None
            )
            low = labels[bits].low if name and bits not in outputs else 0
            results.append(Result(bits, name, low, bits in outputs, operation=operation, below=below, above=above))
            self._settle(results[-1])
        for bits, label in labels.items():
            arises = isinstance(bits[0], int) and all(isinstance(bit, str) or bit in self.home for bit in bits)
            if arises and self.home[bits[0]][0].bits != bits:
                alias = Alias(bits, self._free(label.name), label.low, chapter=label.chapter)
                self.aliases.setdefault(bits[0], []).append(alias)
        return results

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

    def _temporary(self, result: Result) -> str:
        """A name for a result without one, after the first vector that reads it and has one."""
        seen = {result}
        name = result.name
        while name is None:
            reader = self.uses[result][0].reader
            result = result if isinstance(reader, str) else self.driven[id(reader)]
            name = reader if isinstance(reader, str) else "loop" if result in seen else result.name
            seen.add(result)
        return self._free(f"{name}_part")

    def _pieces(self, bits: Bits, aliases: bool = True) -> Iterator[tuple[Vector | str, int, int]]:
        """``bits`` from the lowest up as (vector, lowest index, width) and (constant or repeated bit, 0, width)."""
        at = 0
        while at < len(bits):
            first = bits[at]
            if isinstance(first, str):
                width = next((k for k, bit in enumerate(bits[at:]) if not isinstance(bit, str)), len(bits) - at)
                yield "".join(str(bit) for bit in reversed(bits[at : at + width])), 0, width
            else:
                piece: Vector
                piece, low = self.home[first]
                width = 1
                while (
                    low + width < len(piece.bits)
                    and at + width < len(bits)
                    and bits[at + width] == piece.bits[low + width]
                ):
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

        def note(bits: Bits, reader: Operation | str, aliases: bool = True, bare: bool = False) -> None:
            pieces = list(self._pieces(bits, aliases))
            for piece, _, width in pieces:
                if isinstance(piece, Vector):
                    uses.setdefault(piece, []).append(Use(reader, len(pieces) == 1, width == len(piece.bits), bare))

        for operation in self.netlist.operations:
            first, *others = operation.operands
            for bits in [(bit,) for bit in first] if operation.kind == "$pmux" else [first]:
                note(bits, operation)
            for index, bits in enumerate(others, 1):
                note(bits, operation, bare=operation.kind in ("$mux", "$pmux", "$dff") and index == len(others))
        for port, bits in self.netlist.outputs.items():
            note(bits, port)
        for alias in [vector for vectors in self.aliases.values() for vector in vectors if vector in uses]:
            note(alias.bits, str(alias.name), aliases=False)
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
        if isinstance(piece, Alias):
            self._declare(piece)
        if width == len(piece.bits):
            return str(piece.name)
        low += piece.low
        return f"{piece.name}[{low}]" if width == 1 else f"{piece.name}[{low + width - 1}:{low}]"

    def _declare(self, alias: Alias) -> None:
        if alias not in self.declared:
            self.declared.add(alias)
            text = self._reference(alias.bits, aliases=False)
            self.lines += _assignment(f"  wire {_range(len(alias.bits), alias.low)}{alias.name} =", text)

    def _operand(self, bits: Bits, level: int, sign: str = "") -> str:
        """``bits`` inside an expression where only what holds together at least as ``level``, or a chain of ``sign``,
        may stand bare.
        """
        text = self._reference(bits)
        return text.value if text.level <= level or (sign and text.sign == sign) else f"({text.value})"

    def _expression(self, operation: Operation) -> Text:
        kind, operands = operation.kind, operation.operands
        if kind in ("$mux", "$pmux"):
            select, *values, otherwise = operands
            choices = tuple(
                (self._operand((bit,), UNARY), self._operand(bits, BINARY))
                for bit, bits in zip(select, values, strict=True)
            )
            rest = self._reference(otherwise)
            return Text(rest.value, CHOICE, choices + rest.choices)
        if kind in REDUCTIONS:
            (bits,) = operands
            sign = REDUCTIONS[kind] if len(bits) > 1 else ("~" if "~" in REDUCTIONS[kind] else "")
            return Text(f"{sign}{self._operand(bits, ATOM)}", BINARY if len(sign) == 1 and sign != "~" else UNARY)
        if kind in ("$not", "$neg"):
            return Text(
                f"{'~' if kind == '$not' else '-'}{self._operand(operands[0], ATOM)}",
                UNARY if kind == "$not" else BINARY,
            )
        if kind == "$pos":
            return self._reference(operands[0])
        left, right = operands
        if kind in LOGIC:
            sides = [
                self._operand(bits, UNARY) if len(bits) == 1 else f"(|{self._operand(bits, ATOM)})" for bits in operands
            ]
            return Text(f"{sides[0]} {LOGIC[kind]} {sides[1]}", BINARY)
        shifts = {"$shl": "<<", "$shr": ">>>" if operation.signed else ">>"}
        sign = (MODULAR | COMPARISONS | shifts)[kind]
        if operation.signed:
            sides = [f"$signed({self._reference(left).value})"]
            sides.append(self._operand(right, UNARY) if kind == "$shr" else f"$signed({self._reference(right).value})")
        else:
            sides = [self._operand(left, UNARY, sign), self._operand(right, UNARY)]
        return Text(f"{sides[0]} {sign} {sides[1]}", BINARY, sign=sign if sign in CHAINED else "")

    def _inline(self, result: Result, text: Text) -> bool:
        """Whether ``text`` stands where ``result`` is read: complements of bits everywhere, the rest in one place."""
        operation, (use, *others) = result.operation, self.uses[result]
        if result.name is not None or (operation.signed and operation.kind not in COMPARISONS):
            return False
        if operation.kind == "$not" and len(result.bits) == 1 and re.fullmatch(r"~\w+(\[\d+\])?", text.value):
            return True
        if others or not use.whole or result.below or result.above:
            return False
        if text.choices:
            return use.alone and use.bare
        return len(text.value) <= (CHAIN if text.sign and text.sign == use.chain else INLINE)

    def _statement(self, result: Result) -> None:
        self.written.add(result)
        match result.operation.kind:
            case "$dff":
                return
            case "case":
                self._case(result)
                return
        text = self._expression(result.operation)
        if self._inline(result, text):
            self.inlined[result] = text
            return
        result.name = result.name or self._temporary(result)
        left = f"assign {result.name}" if result.port else f"wire {_range(len(result.bits), result.low)}{result.name}"
        if result.below or result.above:  # linters expect no reader of a net with "unused" in its name
            around = [(width, self._free("unused") if width else "") for width in (result.above, result.below)]
            self.lines += [] if result.port else [f"  {left};"]
            self.lines += [f"  wire {_range(width)}{name};" for width, name in around if width]
            left = f"assign {{{', '.join(name for name in (around[0][1], str(result.name), around[1][1]) if name)}}}"
        self.lines += _assignment(f"  {left} =", text)

    def _finish(self, chapter: str) -> None:
        """Declare the aliases of a chapter at its end, if all of their bits have arisen."""
        for alias in [alias for aliases in self.aliases.values() for alias in aliases]:
            homes = {self.home[bit][0] for bit in alias.bits if isinstance(bit, int)}
            arisen = all(not isinstance(home, Result) or home in self.written for home in homes)
            if alias.chapter == chapter and alias in self.uses and arisen:
                self._declare(alias)

    def _case(self, result: Result) -> None:
        subject, default, *values = result.operation.operands
        patterns = result.operation.patterns
        select, *texts = [self._reference(bits).value for bits in (subject, *values, default)]
        arms = [", ".join(_constant(pattern) for pattern in group) for group in patterns]
        keyword = "casez" if any("?" in pattern for group in patterns for pattern in group) else "case"
        result.name = result.name or self._temporary(result)
        if not result.port:
            self.lines.append(f"  reg {_range(len(result.bits), result.low)}{result.name};")
        self.lines += ["  always @*", f"    {keyword} ({select})"]
        self.lines += [
            f"      {arm}: {result.name} = {text};" for arm, text in zip([*arms, "default"], texts, strict=True)
        ]
        self.lines.append("    endcase")

    def text(self, name: str) -> str:
        """The whole module."""
        registers = [result for result in self.results if result.operation.kind == "$dff"]
        for register in registers:
            register.name = register.name or self._temporary(register)
            if not register.port:
                self.lines.append(f"  reg {_range(len(register.bits), register.low)}{register.name};")
        for chapter, results in groupby(self.results, key=lambda result: result.operation.chapter):
            self.lines += ["", *_broken(f"  // {chapter}", "  //")] if chapter else []
            for result in results:
                self._statement(result)
            self._finish(chapter)
        driven = {result.name: result.operation.kind for result in self.results if result.port}
        for port, bits in self.netlist.outputs.items():
            if port not in driven:
                self.lines += _assignment(f"  assign {port} =", self._reference(bits))
        for clock in dict.fromkeys(register.operation.operands[0] for register in registers):
            self.lines.append(f"  always @(posedge {self._reference(clock).value}) begin")
            for register in registers:
                if register.operation.operands[0] == clock:
                    self.lines += _assignment(
                        f"    {register.name} <=", self._reference(register.operation.operands[1])
                    )
            self.lines.append("  end")
        self._sink()
        ports = [
            f"  {direction} {'reg' if driven.get(port) in ('case', '$dff') else 'wire'} {_range(len(bits))}{port}"
            for direction, port, bits in self.netlist.ports
        ]
        return "\n".join([f"module {name} (", ",\n".join(ports), ");", *self.lines, "endmodule", ""])

    def _sink(self) -> None:
        """Read what nobody reads, so that linters know it for intended."""
        homes = dict.fromkeys(vector for vector, _ in self.home.values() if vector not in self.inlined)
        unread = tuple(bit for vector in homes for bit in vector.bits if bit not in self.netlist.read)
        if unread:
            text = Text(f"|{self._reference(unread, aliases=False).value}", BINARY)
            self.lines += _assignment(f"  wire {self._free('unused')} =", text)


def _assignment(left: str, text: Text) -> list[str]:
    """``left text;``, a choice on a line of its own unless all are short."""
    choices = [f"{condition} ? {value} :" for condition, value in text.choices]
    whole = " ".join([left, *choices, f"{text.value};"])
    indent = " " * (len(left) - len(left.lstrip()) + 2)
    if choices and (len(whole) > LINE or len(choices) > 2):
        return [left, *(line for part in [*choices, f"{text.value};"] for line in _wrapped(indent + part, indent))]
    return _wrapped(whole, indent)


def _wrapped(line: str, indent: str) -> list[str]:
    """A line, or where it is too long several: broken in front of operators outside of all parentheses, and behind commas
    inside of one pair, if that will do.
    """
    if len(line) <= LONGEST:
        return [line]
    words, depth = line.split(), 0
    terms = [words[0]]
    for last, word in pairwise(words):
        depth += sum(map(last.count, "({[")) - sum(map(last.count, ")}]"))
        if (depth == 0 and word in OPERATORS) or (depth == 1 and last.endswith(",")):
            terms.append(word)
        else:
            terms[-1] += f" {word}"
    lines = [line[: len(line) - len(line.lstrip())] + terms[0]]
    for term in terms[1:]:
        if len(lines[-1]) + 1 + len(term) <= LONGEST:
            lines[-1] += f" {term}"
        else:
            lines.append(f"{indent}  {term}")
    return [part for text in lines for part in _broken(text, indent)]


def _broken(line: str, indent: str) -> list[str]:
    return textwrap.wrap(line, LONGEST, subsequent_indent=indent + "  ", break_long_words=False, break_on_hyphens=False)


def _range(width: int, low: int = 0) -> str:
    return "" if width == 1 and not low else f"[{low + width - 1}:{low}] "


def _constant(digits: str) -> str:
    """Binary up to four bits and where there are don't-cares, else hexadecimal."""
    width = len(digits)
    if width <= 4 or "?" in digits:
        return f"{width}'b{digits}"
    return f"{width}'h{int(digits, 2):0{(width + 3) // 4}x}"
