"""Verilog-2005 text of a netlist: a value is declared where it arises. It has a statement of its own if it has a name,
several readers or a long expression; otherwise it is nested in the one that reads it.

Expressions are nested only where Verilog's rules of width and sign cannot change their meaning: every operand is as
wide as its result, and what is signed stands alone on a right-hand side.
"""

import re
from itertools import groupby

from hwgen.netlist import layout
from hwgen.netlist.dataflow import COMPARISONS, LOGIC, MODULAR, REDUCTIONS, Bits, Instance, Netlist, Operation
from hwgen.netlist.layout import ATOM, BINARY, CHAINED, CHOICE, UNARY, Expression, comment, literal, span, statement
from hwgen.netlist.meaning import Meanings
from hwgen.netlist.vectors import Alias, Piece, Result, Vector, Vectors

NESTED = 100
"""Longest expression, in characters, that is written into the one statement that reads it."""

NESTED_CHAIN = 400
"""The same for a chain of the operator that reads it."""


def module(name: str, netlist: Netlist, keywords: frozenset[str]) -> str:
    """The text of a module. Labels that are no identifiers, or in ``keywords``, are changed to names that are free."""
    return _Module(netlist, keywords).text(name)


class _Module:
    def __init__(self, netlist: Netlist, keywords: frozenset[str]):
        self.netlist, self.vectors = netlist, Vectors(netlist, keywords)
        self.meanings = Meanings(self.vectors)
        self.registers = [result for result in self.vectors.results if result.operation.kind == "$dff"]
        driven = {result.name for result in self.vectors.results if result.is_port}
        self.outputs = {port: bits for port, bits in netlist.outputs.items() if port not in driven}
        self.lines: list[str] = []
        self.nested: dict[Vector, Expression] = {}
        self.visited: set[Vector] = set()
        self.instances: set[str] = set()

    def text(self, name: str) -> str:
        """The whole module."""
        for register in self.registers:
            self._name(register)
            if not register.is_port:
                self._declare("reg", register)
        for chapter, group in groupby(self.vectors.results, key=lambda result: result.operation.chapter):
            start, results = len(self.lines), list(group)
            for result in results:
                self._write(result)
            self._write_aliases(chapter)
            self._write_outputs()
            if chapter and len(self.lines) > start:
                self.lines[start:start] = ["", *comment(self._with_widths(chapter, results))]
        self._write_outputs(is_last=True)
        self._write_registers()
        self._consume_unread()
        kinds = {result.name: result.operation.kind for result in self.vectors.results if result.is_port}
        ports = [
            f"  {direction} {'reg' if kinds.get(port) in ('case', '$dff') else 'wire'} {span(len(bits))}{port}"
            for direction, port, bits in self.netlist.ports
        ]
        return "\n".join([f"module {name} (", ",\n".join(ports), ");", *self.lines, "endmodule", ""])

    def _declare(self, kind: str, vector: Vector) -> None:
        self.lines.append(f"  {kind} {span(len(vector.bits), vector.low)}{vector.name};")

    def _name(self, result: Result) -> str:
        """The name of a result; without a label it says what the result is, or, if that is long, what depends on it."""
        if result.name is None and (name := self.meanings.name(result)):
            result.name = self.vectors.unique_name(name)
        return self.vectors.name(result)

    # Statements

    def _write(self, result: Result) -> None:
        """The statement of a result, unless the one that reads it includes it."""
        self.visited.add(result)
        kind = result.operation.kind
        if kind == "$dff":
            return
        if kind == "case":
            self._write_case(result)
            return
        if result.operation.instance:
            self._write_instance(result.operation.instance, result.operation.operands)
            return
        expression = self._expression(result.operation)
        if self._is_nested(result, expression):
            self.nested[result] = expression
            return
        name = self._name(result)
        left = f"assign {name}" if result.is_port else f"wire {span(len(result.bits), result.low)}{name}"
        if result.below or result.above:  # linters expect no reader of a net with "unused" in its name
            if not result.is_port:
                self._declare("wire", result)
            above, below = self._unused(result.above), self._unused(result.below)
            left = f"assign {{{', '.join([*above, name, *below])}}}"
        note = result.note or self.meanings.comparison(result)
        self.lines += layout.noted(statement(f"  {left} =", expression), note)

    def _unused(self, width: int) -> list[str]:
        """The name of a new net for bits that nothing reads; none if there are no bits."""
        if not width:
            return []
        name = self.vectors.unique_name("unused")
        self.lines.append(f"  wire {span(width)}{name};")
        return [name]

    def _is_nested(self, result: Result, expression: Expression) -> bool:
        """Whether an expression stands where it is read: the complement of a bit everywhere, others in one place."""
        operation, (use, *others) = result.operation, self.vectors.uses[result]
        if result.name is not None or (operation.signed and operation.kind not in COMPARISONS):
            return False
        if operation.kind == "$not" and len(result.bits) == 1 and re.fullmatch(r"~\w+(\[\d+\])?", expression.text):
            return True
        if others or not use.whole or result.below or result.above:
            return False
        if expression.choices:
            return use.alone and use.bare
        is_chained = expression.operator and expression.operator == use.operator
        return len(expression.text) <= (NESTED_CHAIN if is_chained else NESTED)

    def _write_case(self, result: Result) -> None:
        name, (subject, default, *values) = self._name(result), result.operation.operands
        select, *texts = [self._reference(bits).text for bits in (subject, *values, default)]
        patterns = result.operation.patterns
        keyword = "casez" if any("?" in pattern for group in patterns for pattern in group) else "case"
        arms = [", ".join(map(literal, group)) for group in patterns]
        if not result.is_port:
            self._declare("reg", result)
        self.lines += ["  always @*", f"    {keyword} ({select})"]
        self.lines += [f"      {arm}: {name} = {text};" for arm, text in zip([*arms, "default"], texts, strict=True)]
        self.lines.append("    endcase")

    def _write_instance(self, instance: Instance, operands: tuple[Bits, ...]) -> None:
        """The statement of an instance, where the first of its outputs is due."""
        if instance.path in self.instances:
            return
        self.instances.add(instance.path)
        pins = [(port, self._reference(bits).text) for port, bits in zip(instance.inputs, operands, strict=True)]
        results = {item.operation.output: item for item in self.vectors.results if item.operation.instance == instance}
        for port, width in instance.outputs.items():
            if port in results:
                pins.append((port, self._name(results[port])))
                if not results[port].is_port:
                    self._declare("wire", results[port])
            else:
                pins += [(port, name) for name in self._unused(width)]
        ports = ", ".join(f".{port}({text})" for port, text in pins)
        name = self.vectors.unique_name(instance.path.rpartition(".")[2])
        self.lines += statement(f"  {instance.module} {name}", Expression(f"({ports})", ATOM))

    def _write_alias(self, alias: Alias) -> None:
        """The statement of an alias, where it is first read."""
        if alias not in self.visited:
            self.visited.add(alias)
            text = self._reference(alias.bits, aliases=False)
            left = f"  wire {span(len(alias.bits), alias.low)}{alias.name} ="
            self.lines += layout.noted(statement(left, text), alias.note)

    def _write_aliases(self, chapter: str) -> None:
        """At the end of a chapter its other aliases whose bits have all arisen."""
        for alias in self.vectors.aliases:
            if alias.chapter == chapter and alias in self.vectors.uses and self._computed(alias.bits) <= self.visited:
                self._write_alias(alias)

    def _with_widths(self, title: str, results: list[Result]) -> str:
        """A chapter's title; where it names a net of the chapter, as in "exponent 5 bits", with the declared width."""
        aliases = [alias for alias in self.vectors.aliases if alias.chapter == title]
        widths = {str(item.name).rpartition("__")[2]: len(item.bits) for item in [*aliases, *results]}

        def with_width(match: re.Match[str]) -> str:
            width = widths.get(match[1], int(match[3]))
            return f"{match[1]} {match[2] or ''}{width} bit{'' if width == 1 else 's'}"

        return re.sub(r"\b(\w+) (\d+ x \d+ = )?(\d+) bits\b", with_width, title)

    def _write_outputs(self, *, is_last: bool = False) -> None:
        """The statements of output ports that no operation drives alone, once all their bits are computed."""
        for port, bits in [*self.outputs.items()]:
            if is_last or set() < self._computed(bits) <= self.visited:
                self.lines += statement(f"  assign {port} =", self._reference(self.outputs.pop(port)))

    def _computed(self, bits: Bits) -> set[Vector]:
        """The results that some bits are part of, without registers."""
        homes = {self.vectors.home[bit][0] for bit in bits if isinstance(bit, int)}
        return {home for home in homes if isinstance(home, Result) and home.operation.kind != "$dff"}

    def _write_registers(self) -> None:
        for clock in dict.fromkeys(register.operation.operands[0] for register in self.registers):
            self.lines.append(f"  always @(posedge {self._reference(clock).text}) begin")
            for register in self.registers:
                own_clock, data = register.operation.operands
                if own_clock == clock:
                    self.lines += statement(f"    {register.name} <=", self._reference(data))
            self.lines.append("  end")

    def _consume_unread(self) -> None:
        """Reduce the bits that nothing reads to one unused net, so that linters do not warn."""
        vectors = dict.fromkeys(vector for vector, _ in self.vectors.home.values() if vector not in self.nested)
        unread = tuple(bit for vector in vectors for bit in vector.bits if bit not in self.netlist.read)
        if unread:
            text = Expression(f"|{self._reference(unread, aliases=False).text}", BINARY)
            self.lines += statement(f"  wire {self.vectors.unique_name('unused')} =", text)

    # Expressions

    def _expression(self, operation: Operation) -> Expression:
        kind, operands = operation.kind, operation.operands
        if kind in ("$mux", "$pmux"):
            select, *values, otherwise = operands
            if (*values, otherwise) == (("1",), ("0",)):
                return self._reference(select)
            if (*values, otherwise) == (("0",), ("1",)):
                return Expression(f"~{self._operand(select, ATOM)}", UNARY)
            choices = tuple(
                (self._operand((bit,), UNARY), self._operand(bits, BINARY))
                for bit, bits in zip(select, values, strict=True)
            )
            rest = self._reference(otherwise)
            return Expression(rest.text, CHOICE, choices + rest.choices)
        if kind == "$pos":
            return self._reference(operands[0])
        if kind in REDUCTIONS:
            sign = REDUCTIONS[kind] if len(operands[0]) > 1 else "~" if "~" in REDUCTIONS[kind] else ""
            precedence = BINARY if sign in CHAINED else UNARY
            return Expression(f"{sign}{self._operand(operands[0], ATOM)}", precedence)
        if kind in ("$not", "$neg"):
            sign, precedence = ("~", UNARY) if kind == "$not" else ("-", BINARY)
            return Expression(f"{sign}{self._operand(operands[0], ATOM)}", precedence)
        return self._binary(operation, *operands)

    def _binary(self, operation: Operation, left: Bits, right: Bits) -> Expression:
        kind, signed = operation.kind, operation.signed
        if kind in LOGIC:
            sides = [
                self._operand(bits, UNARY) if len(bits) == 1 else f"(|{self._operand(bits, ATOM)})"
                for bits in (left, right)
            ]
            return Expression(f"{sides[0]} {LOGIC[kind]} {sides[1]}", BINARY)
        shifts = {"$shl": "<<", "$shr": ">>>" if signed else ">>"}
        sign = (MODULAR | COMPARISONS | shifts)[kind]
        if signed:
            sides = [f"$signed({self._reference(left).text})"]
            sides.append(self._operand(right, UNARY) if kind == "$shr" else f"$signed({self._reference(right).text})")
        else:
            sides = [self._operand(left, UNARY, sign), self._operand(right, UNARY)]
        return Expression(f"{sides[0]} {sign} {sides[1]}", BINARY, operator=sign if sign in CHAINED else "")

    def _operand(self, bits: Bits, precedence: int, operator: str = "") -> str:
        """``bits`` as an operand: in parentheses unless it binds as tightly as ``precedence``, or continues a chain of
        ``operator``.
        """
        value = self._reference(bits)
        is_bare = value.precedence <= precedence or (operator and value.operator == operator)
        return value.text if is_bare else f"({value.text})"

    def _reference(self, bits: Bits, *, aliases: bool = True) -> Expression:
        """The expression that reads ``bits``."""
        pieces = self.vectors.pieces(bits, aliases=aliases)
        if len(pieces) == 1 and isinstance(pieces[0].source, Vector) and pieces[0].source in self.nested:
            return self.nested[pieces[0].source]
        texts: list[str] = []
        are_bits = [isinstance(source, Vector) and width == 1 for source, _, width in pieces]
        for (text, is_bit), run in groupby(zip(map(self._piece, pieces), are_bits, strict=True)):
            count = sum(1 for _ in run)
            texts += [f"{{{count}{{{text}}}}}"] if is_bit and count > 1 else [text] * count
        return Expression(texts[0] if len(texts) == 1 else f"{{{', '.join(reversed(texts))}}}", ATOM)

    def _piece(self, piece: Piece) -> str:
        vector, low, width = piece
        if isinstance(vector, str):
            return literal(vector)
        if vector in self.nested:
            return self.nested[vector].text
        if isinstance(vector, Alias):
            self._write_alias(vector)
        if width == len(vector.bits):
            return str(vector.name)
        low += vector.low
        return f"{vector.name}[{low}]" if width == 1 else f"{vector.name}[{low + width - 1}:{low}]"
