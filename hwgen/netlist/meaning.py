"""Names of intermediate results without a label, after what they are: ``field_is_12``, ``sign_and_any_of_tail``."""

from collections.abc import Mapping

from hwgen.netlist.dataflow import LOGIC, Bit, Bits, Operation
from hwgen.netlist.vectors import Result, Vector, Vectors

LONGEST = 64
"""Characters of the longest such name."""

LONGEST_COMPARED = 12
"""Bits of the longest vector that is said to be compared: a longer one is a NaN."""

_WORDS = {
    "$and": "and", "$or": "or", "$xor": "xor", "$logic_and": "and", "$logic_or": "or", "$add": "plus", "$sub": "minus",
    "$mul": "times", "$eq": "equals", "$ne": "differs_from", "$lt": "below", "$ge": "reaches", "$gt": "above",
}  # fmt: skip
_PREFIXES = {
    "$not": "not", "$neg": "minus", "$reduce_or": "any_of", "$reduce_bool": "any_of", "$reduce_and": "all_of",
    "$reduce_xor": "parity_of", "$logic_not": "none_of",
}  # fmt: skip
_TRUE, _FALSE = ("$and", "$logic_and", "$reduce_and"), ("$or", "$logic_or", "$reduce_or", "$reduce_bool")

Literals = dict[Bit, bool]
"""The values of some bits."""


class Meanings:
    """What the results of a netlist are, in the names that its vectors have so far."""

    def __init__(self, vectors: Vectors):
        self.vectors = vectors

    def name(self, result: Result) -> str:
        """The name, or nothing if it were too long and the result is no part of a vector, and no choice of one."""
        own = self._operation(result.operation, result.bits)
        if own and not own[0].isdigit() and len(own) <= LONGEST:
            return own
        others = self._place(result), self._choice(result), self._chain(result), self._register(result)
        return next((other for other in others if other and len(other) <= LONGEST), "")

    def comparison(self, result: Result) -> str:
        """The comparison of a vector with a constant that a bit is, such as ``bits[30:23] >= 131``, if it is one.

        It is a comparison of the last bits, behind first bits that must all be ones, or that need one 1 among them.
        """
        reached = self._reached(result.bits[0]) if len(result.bits) == 1 else None
        if reached is None:
            return ""
        bits, constant = reached
        pieces = self.vectors.pieces(bits)
        if len(pieces) != 1 or len(bits) > LONGEST_COMPARED or constant in (1, (1 << len(bits)) - 1):
            return ""
        source, low, width = pieces[0]
        if not isinstance(source, Vector) or source.name is None:
            return ""
        low += source.low
        whole = width == len(source.bits) and not source.low
        return f"{source.name}{'' if whole else f'[{low + width - 1}:{low}]'} >= {constant}"

    def _driver(self, bit: Bit) -> Result | None:
        """The result that a bit is part of."""
        source, _ = self.vectors.home.get(bit, (None, 0))
        return source if isinstance(source, Result) else None

    def _reached(self, bit: Bit) -> tuple[Bits, int] | None:
        """Bits and a constant: ``bit`` is whether the number of these bits is at least the constant."""
        if isinstance(bit, str):
            return None
        source = self._driver(bit)
        if source is None or len(source.bits) > 1 or source.operation.kind not in (*_TRUE, *_FALSE):
            return (bit,), 1
        kind = source.operation.kind
        terms: list[tuple[Bits, int]] = []
        for operand in source.operation.operands:
            if len(operand) > 1:  # a reduction, or an operand of a logic operator
                terms.append((operand, (1 << len(operand)) - 1 if kind == "$reduce_and" else 1))
            elif (inner := self._reached(operand[0])) is not None:
                terms.append(inner)
            else:
                return None
        terms.sort(key=lambda term: self.vectors.home.get(term[0][0], (None, -1))[1])
        bits, constant = terms[0]
        for upper, value in terms[1:]:
            bits, is_or = (*bits, *upper), kind in _FALSE
            if len(self.vectors.pieces(bits, aliases=False)) > 1 or value != (1 if is_or else (1 << len(upper)) - 1):
                return None
            constant += 0 if is_or else value << (len(bits) - len(upper))
        return bits, constant

    def _place(self, result: Result) -> str:
        """The name of bits that are part of one vector only, such as ``code_3``, or ``not_code_3`` for a complement."""
        (use, *others) = self.vectors.uses[result]
        reader, kind, bits = use.reader, "$pos", use.reader.bits
        if others or not use.whole:
            return ""
        if isinstance(reader, Result):
            kind, bits = reader.operation.kind, reader.operation.operands[0]
            if kind == "$not" and reader.name is None and len(reader.bits) == 1:
                name = self._place(reader)
                return name and f"not_{name}"
        if kind != "$pos" or reader.name is None:
            return ""
        return _part(reader.name, bits.index(result.bits[0]) + reader.low, len(result.bits))

    def _choice(self, result: Result) -> str:
        """The name of a value that one other result chooses: that name, and when it is chosen."""
        (use, *others) = self.vectors.uses[result]
        reader = use.reader
        if others or not use.whole or not isinstance(reader, Result) or reader.operation.kind not in ("$mux", "$pmux"):
            return ""
        name = reader.name or self._choice(reader)
        select, *values, _ = reader.operation.operands
        selects = [bit for bit, value in zip(select, values, strict=True) if result.bits[0] in value]
        if not name or not selects:
            return name if name.endswith("_otherwise") else name and f"{name}_otherwise"
        condition = self._bits((selects[0],))
        return condition and f"{name}_if_{condition}"

    def _register(self, result: Result) -> str:
        """The name of a register for a result without a name."""
        name = self._brief(result.operation.operands[1]) if result.operation.kind == "$dff" else ""
        return f"{name}_registered" if name and not name[0].isdigit() else ""

    def _chain(self, result: Result) -> str:
        """The name of a long chain of one operator: its first term "and others", or "or others"."""
        kind = result.operation.kind
        if kind not in ("$and", "$or"):
            return ""
        name = next(filter(None, map(self._brief, self._terms(result))), "")
        return f"{name}_{_WORDS[kind]}_others" if name and not name[0].isdigit() else ""

    def _brief(self, bits: Bits) -> str:
        """The name of an operand, or, if that is long, the one by its first term."""
        name, source = self._bits(bits), self._driver(bits[0])
        is_long = source is not None and source.name is None and len(name) > LONGEST // 2
        return self._chain(source) if is_long and source else name

    def _terms(self, result: Result) -> list[Bits]:
        """The terms of a chain of one operator."""
        terms: list[Bits] = []
        for bits in result.operation.operands:
            source = self._driver(bits[0])
            is_inner = source is not None and source.name is None and source.bits == bits
            if source and is_inner and source.operation.kind == result.operation.kind:
                terms += self._terms(source)
            else:
                terms.append(bits)
        return terms

    def _operation(self, operation: Operation, bits: Bits) -> str:
        """The name of an operation's result; empty if there is none."""
        kind, operands = operation.kind, operation.operands
        if len(bits) == 1:
            literals = self._literals(bits[0], True, is_root=True)
            if len(literals) > 1 and (name := self._pattern(literals)):
                return name
        if kind in _PREFIXES:
            name = self._bits(operands[0])
            return name and f"{_PREFIXES[kind]}_{name}"
        if kind == "$and" and len(bits) > 1:
            masks = [item for item in operands if len({*item}) == 1]
            values = [item for item in operands if len({*item}) > 1]
            if masks and values:
                return self._joined("if", *values, *masks)
        if kind in _WORDS:
            return self._joined(_WORDS[kind], *operands)
        if kind == "$mux":
            select, value, other = operands
            if {*other} == {"0"}:
                return self._joined("if", value, select)
            names = [self._bits(item) for item in (value, select, other)]
            return "{}_if_{}_else_{}".format(*names) if all(names) else ""
        return ""

    def _joined(self, word: str, *operands: Bits) -> str:
        names = [self._bits(item) for item in operands]
        return f"_{word}_".join(names) if all(names) else ""

    def _bits(self, bits: Bits) -> str:
        """The name of an operand: a vector or a part of it, without zeros above it."""
        if {*bits} <= {"0", "1"}:
            return str(sum(int(bit) << place for place, bit in enumerate(bits)))
        while len(bits) > 1 and bits[-1] == "0":
            bits = bits[:-1]
        pieces = self.vectors.pieces(bits[:1] if len({*bits}) == 1 else bits)
        if len(pieces) != 1:
            return ""
        source, low, width = pieces[0]
        assert isinstance(source, Vector)
        whole = width == len(source.bits)
        if source.name is None:
            return self._operation(source.operation, source.bits) if isinstance(source, Result) and whole else ""
        return source.name if whole else _part(source.name, low + source.low, width)

    def _literals(self, bit: Bit, level: bool, *, is_root: bool = False) -> Literals:
        """The bits that must have certain values if ``bit`` is to have the value ``level``; empty if it cannot."""
        source = self._driver(bit)
        if source is None or (source.name is not None and not is_root) or len(source.bits) > 1:
            return {bit: level}
        kind, operands = source.operation.kind, source.operation.operands
        if kind == "$not":
            return self._literals(operands[0][0], not level)
        is_wide = kind in LOGIC and any(len(item) > 1 for item in operands)
        if kind in (_TRUE if level else _FALSE) and not is_wide:
            return self._all({item: level for bits in operands for item in bits})
        if level and (kind == "$logic_not" or (kind == "$eq" and {*operands[1]} <= {"0", "1"})):
            constant = operands[1] if kind == "$eq" else ("0",) * len(operands[0])
            return self._all({item: value == "1" for item, value in zip(operands[0], constant, strict=True)})
        return {bit: level}

    def _all(self, levels: Mapping[Bit, bool]) -> Literals:
        literals: Literals = {}
        for bit, level in levels.items():
            own = self._literals(bit, level)
            if not own or any(literals.get(item, value) != value for item, value in own.items()):
                return {}
            literals |= own
        return literals

    def _pattern(self, literals: Literals) -> str:
        """The name of a product of bits: the value of each vector that they belong to."""
        groups: dict[Vector, dict[int, bool]] = {}
        for bit, level in literals.items():
            if bit not in self.vectors.home:
                return ""
            (source, low, _), *_ = self.vectors.pieces((bit,))
            if not isinstance(source, Vector) or source.name is None:
                return ""
            groups.setdefault(source, {})[low] = level
        return "_and_".join(_value(source, levels) for source, levels in groups.items())


def _part(name: str, low: int, width: int) -> str:
    """The name of some bits of a vector."""
    return f"{name}_{low}" if width == 1 else f"{name}_{low + width - 1}_to_{low}"


def _value(source: Vector, levels: Mapping[int, bool]) -> str:
    """A vector and the values of some of its bits."""
    low, high = min(levels), max(levels)
    digits = "".join("01"[levels[place]] if place in levels else "x" for place in reversed(range(low, high + 1)))
    part = _part(str(source.name), low + source.low, high + 1 - low)
    if low == high:
        name = str(source.name) if len(source.bits) == 1 else part
        return name if levels[low] else f"not_{name}"
    if len(levels) == len(source.bits):
        return f"{source.name}_is_{int(digits, 2)}"
    return f"{part}_is_{digits}"
