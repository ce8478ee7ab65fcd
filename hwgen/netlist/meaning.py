"""Names of intermediate results without a label, after what they are: ``field_is_12``, ``sign_and_any_of_tail``."""

from __future__ import annotations

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


def described(vectors: Vectors, result: Result) -> str:
    """The name, or nothing if it were too long and the result is no part of a vector, and no choice of one."""
    namer = _Namer(vectors)
    own = namer.operation(result.operation, result.bits)
    if own and not own[0].isdigit() and len(own) <= LONGEST:
        return own
    others = _place(vectors, result), namer.choice(result), namer.chain(result), namer.register(result)
    return next((other for other in others if other and len(other) <= LONGEST), "")


def _place(vectors: Vectors, result: Result) -> str:
    """The name of bits that are part of one vector only, such as ``code_3``, or ``not_code_3`` for their complement."""
    (use, *others) = vectors.uses[result]
    reader = use.reader
    if others or not use.whole:
        return ""
    kind = reader.operation.kind if isinstance(reader, Result) else "$pos"
    if kind == "$not" and isinstance(reader, Result) and reader.name is None and len(reader.bits) == 1:
        name = _place(vectors, reader)
        return f"not_{name}" if name else ""
    if kind != "$pos" or reader.name is None:
        return ""
    bits = reader.operation.operands[0] if isinstance(reader, Result) else reader.bits
    low = bits.index(result.bits[0]) + reader.low
    if len(result.bits) == 1:
        return f"{reader.name}_{low}"
    return f"{reader.name}_{low + len(result.bits) - 1}_to_{low}"


def comparison(vectors: Vectors, result: Result) -> str:
    """The comparison of a vector with a constant that a bit is, such as ``bits[30:23] >= 131``, if it is one.

    It is a comparison of the last bits, behind first bits that must all be ones, or that need one 1 among them.
    """
    reached = _reached(vectors, result.bits[0]) if len(result.bits) == 1 else None
    if reached is None:
        return ""
    bits, constant = reached
    pieces = vectors.pieces(bits)
    if len(pieces) != 1 or len(bits) > LONGEST_COMPARED or constant in (1, (1 << len(bits)) - 1):
        return ""
    source, low, width = pieces[0]
    if not isinstance(source, Vector) or source.name is None:
        return ""
    low += source.low
    whole = width == len(source.bits) and not source.low
    return f"{source.name}{'' if whole else f'[{low + width - 1}:{low}]'} >= {constant}"


def _reached(vectors: Vectors, bit: Bit) -> tuple[Bits, int] | None:
    """Bits and a constant: ``bit`` is whether the number of these bits is at least the constant."""
    if not isinstance(bit, int):
        return None
    source = vectors.home[bit][0]
    if not isinstance(source, Result) or len(source.bits) > 1 or source.operation.kind not in (*_TRUE, *_FALSE):
        return (bit,), 1
    is_or = source.operation.kind in _FALSE
    terms: list[tuple[Bits, int]] = []
    for operand in source.operation.operands:
        if len(operand) > 1:  # a reduction, or an operand of a logic operator
            ones = 1 if source.operation.kind not in _TRUE[:2] else 0
            terms.append((operand, 1 if is_or or not ones else (1 << len(operand)) - 1))
        elif (inner := _reached(vectors, operand[0])) is not None:
            terms.append(inner)
        else:
            return None
    ordered = sorted(terms, key=lambda term: vectors.home[term[0][0]][1] if term[0][0] in vectors.home else -1)
    bits, constant = ordered[0]
    for upper, value in ordered[1:]:
        home = [vectors.home.get(item) for item in (*bits, *upper)]
        if None in home or len({id(item[0]) for item in home if item}) > 1:
            return None
        places = [item[1] for item in home if item]
        if places != [*range(places[0], places[0] + len(places))] or value != (1 if is_or else (1 << len(upper)) - 1):
            return None
        constant += 0 if is_or else value << len(bits)
        bits = (*bits, *upper)
    return bits, constant


class _Namer:
    def __init__(self, vectors: Vectors):
        self.vectors = vectors

    def operation(self, operation: Operation, bits: Bits) -> str:
        """The name of an operation's result; empty if there is none."""
        kind, operands = operation.kind, operation.operands
        if len(bits) == 1:
            literals = self._literals(bits[0], True, is_root=True)
            if len(literals) > 1 and (name := self._pattern(literals)):
                return name
        if kind in _PREFIXES:
            return self._joined(_PREFIXES[kind], "", operands[0])
        if kind == "$and" and len(bits) > 1:
            masks = [item for item in operands if len({*item}) == 1]
            values = [item for item in operands if len({*item}) > 1]
            if masks and values:
                return self._joined("", "if", *values, *masks)
        if kind in _WORDS:
            return self._joined("", _WORDS[kind], *operands)
        if kind == "$mux":
            select, value, other = operands
            if {*other} == {"0"}:
                return self._joined("", "if", value, select)
            names = [self.bits(item) for item in (value, select, other)]
            return "{}_if_{}_else_{}".format(*names) if all(names) else ""
        return ""

    def choice(self, result: Result) -> str:
        """The name of a value that one other result chooses: that name, and when it is chosen."""
        (use, *others) = self.vectors.uses[result]
        reader = use.reader
        if others or not use.whole or not isinstance(reader, Result) or reader.operation.kind not in ("$mux", "$pmux"):
            return ""
        name = reader.name or self.choice(reader)
        select, *values, _ = reader.operation.operands
        selects = [bit for bit, value in zip(select, values, strict=True) if result.bits[0] in value]
        if not name or not selects:
            return name if name.endswith("_otherwise") else name and f"{name}_otherwise"
        condition = self.bits((selects[0],))
        return f"{name}_if_{condition}" if condition else ""

    def register(self, result: Result) -> str:
        """The name of a register for a result without a name."""
        name = self._brief(result.operation.operands[1]) if result.operation.kind == "$dff" else ""
        return f"{name}_registered" if name and not name[0].isdigit() else ""

    def chain(self, result: Result) -> str:
        """The name of a long chain of one operator: its first term "and others", or "or others"."""
        kind = result.operation.kind
        if kind not in ("$and", "$or"):
            return ""
        terms = self._terms(kind, result)
        name = next(filter(None, map(self._brief, terms)), "")
        return f"{name}_{_WORDS[kind]}_others" if name and not name[0].isdigit() else ""

    def _brief(self, bits: Bits) -> str:
        """The name of an operand, or, if that is long, the one by its first term."""
        name = self.bits(bits)
        source = self.vectors.home[bits[0]][0] if bits[0] in self.vectors.home else None
        is_long = len(name) > LONGEST // 2 and isinstance(source, Result) and source.name is None
        return self.chain(source) if is_long and isinstance(source, Result) else name

    def _terms(self, kind: str, result: Result) -> list[Bits]:
        terms: list[Bits] = []
        for bits in result.operation.operands:
            source = self.vectors.home[bits[0]][0] if bits[0] in self.vectors.home else None
            is_inner = isinstance(source, Result) and source.name is None and source.bits == bits
            if isinstance(source, Result) and is_inner and source.operation.kind == kind:
                terms += self._terms(kind, source)
            else:
                terms.append(bits)
        return terms

    def _joined(self, prefix: str, word: str, *operands: Bits) -> str:
        names = [self.bits(item) for item in operands]
        joint = f"_{word}_".join(names)
        return (f"{prefix}_{joint}" if prefix else joint) if all(names) else ""

    def bits(self, bits: Bits) -> str:
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
        if source.name is None:
            whole = isinstance(source, Result) and width == len(source.bits)
            return self.operation(source.operation, source.bits) if isinstance(source, Result) and whole else ""
        if width == len(source.bits):
            return source.name
        low += source.low
        return f"{source.name}_{low}" if width == 1 else f"{source.name}_{low + width - 1}_to_{low}"

    def _literals(self, bit: Bit, level: bool, *, is_root: bool = False) -> Literals:
        """The bits that must have certain values if ``bit`` is to have the value ``level``; empty if it cannot."""
        source = self.vectors.home[bit][0] if isinstance(bit, int) else None
        if not isinstance(source, Result) or (source.name is not None and not is_root) or len(source.bits) > 1:
            return {bit: level}
        kind, operands = source.operation.kind, source.operation.operands
        if kind == "$not":
            return self._literals(operands[0][0], not level)
        is_wide = kind in LOGIC and any(len(item) > 1 for item in operands)
        if kind in (_TRUE if level else _FALSE) and not is_wide:
            return self._all({item: level for bits in operands for item in bits})
        if (kind == "$logic_not" and level) or (kind in ("$eq",) and level and {*operands[1]} <= {"0", "1"}):
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


def _value(source: Vector, levels: Mapping[int, bool]) -> str:
    """A vector and the values of some of its bits."""
    low, high = min(levels), max(levels)
    digits = "".join("01"[levels[place]] if place in levels else "x" for place in reversed(range(low, high + 1)))
    if low == high:
        name = str(source.name) if len(source.bits) == 1 else f"{source.name}_{low + source.low}"
        return name if levels[low] else f"not_{name}"
    if len(levels) == len(source.bits):
        return f"{source.name}_is_{int(digits, 2)}"
    return f"{source.name}_{high + source.low}_to_{low + source.low}_is_{digits}"
