"""The grammar of Liberty files: groups with attributes, numbers, and Boolean functions."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from math import inf, isfinite
from operator import and_, or_, xor
from typing import TypeVar

from golden.refusal import shown

DEEPEST, MOST = 64, 1_000_000
"""Most levels of groups, and most groups of a file."""

_T = TypeVar("_T")
_TOKEN = re.compile(r'"[^"]*"|/\*.*?(?:\*/|\Z)|//[^\n]*', re.DOTALL)
_BRACE = re.compile(r'"[^"]*"|[{}]')
_STATEMENT = re.compile(
    r"""\s*+(?:
    (?P<name>[^\s:(){};"]++)\s*+(?:
        :\s*+(?P<value>"[^"]*"(?=[ \t]*+(?:[;\n]|\Z))|[^;\n{}]*+) |
        \((?P<argument>(?:"[^"]*"|[^()"])*+)\)\s*+(?P<open>\{)?
    ) | ; | \Z
    )""",
    re.VERBOSE,
)


class Unreadable(ValueError):
    """The text does not follow the Liberty format."""


class Group:
    """``kind (argument) { attributes groups }``; its content is read when it is needed.

    ``start`` is the place in the text of its content; ``ends`` maps opening to closing braces.
    """

    def __init__(self, text: str, ends: Mapping[int, int], kind: str = "", argument: str = "", start: int = 0):
        self.text, self.kind, self.argument = text, kind, argument
        self._ends, self.start, self._end = ends, start, ends[start - 1]

    @cached_property
    def _content(self) -> tuple[dict[str, str], list["Group"], dict[str, tuple[int, int]]]:
        attributes: dict[str, str] = {}
        places: dict[str, tuple[int, int]] = {}
        groups, place = [], self.start
        while place < self._end:
            match = _STATEMENT.match(self.text, place, self._end)
            if match is None:
                rest = self.text[place : self._end].lstrip()
                raise Unreadable(f"{_line(self.text, self._end - len(rest))} cannot be read: {rest[:40].rstrip()!r}")
            if match["name"] == "include_file":
                line = _line(self.text, match.start("name"))
                raise Unreadable(f"{line} includes a file, which tools do not read; put its text there")
            place = match.end()
            if match["open"]:
                argument = match["argument"].strip().strip('"').strip()
                groups.append(Group(self.text, self._ends, match["name"], argument, place))
                place = self._ends[place - 1] + 1
            elif match["name"]:
                value = match["argument"] if match["value"] is None else match["value"]
                # as in Yosys, the first of several counts
                attributes.setdefault(match["name"], value.replace('"', "").strip())
                places.setdefault(match["name"], (match.start("name"), match.end()))
        return attributes, groups, places

    @property
    def attributes(self) -> Mapping[str, str]:
        """Values by name, without quotes; also the arguments of e.g. ``values (…);``."""
        return self._content[0]

    @property
    def places(self) -> Mapping[str, tuple[int, int]]:
        """Where each attribute, without its semicolon, begins and ends in the text of the file."""
        return self._content[2]

    def all(self, *kinds: str) -> Iterator["Group"]:
        """The groups of some kinds directly inside; of every kind if none is named."""
        return (group for group in self._content[1] if not kinds or group.kind in kinds)

    def number(self, name: str, default: float = 0.0) -> float:
        """The value of an attribute, or the default."""
        text = self.attributes.get(name)
        return default if text is None else number(text, f"the attribute {name}")


def file(text: str) -> Group:
    """The content of a file; it is Unreadable if braces do not match, or there are too many.

    Comments and continued lines become blanks, so that places and lines remain.
    """
    text = re.sub(r"\\[ \t]*\n", lambda match: " " * len(match[0]), without_comments(text))
    ends: dict[int, int] = {-1: len(text)}
    opened: list[int] = []
    for match in _BRACE.finditer(text):
        if match[0] == "{":
            opened.append(match.start())
            if len(opened) > DEEPEST or len(ends) > MOST:
                limit = f"{DEEPEST} levels of" if len(ends) <= MOST else f"{MOST:,}"
                raise Unreadable(f"{_line(text, match.start())} is beyond {limit} groups")
        elif match[0] == "}":
            if not opened:
                raise Unreadable(f"{_line(text, match.start())} has an unmatched closing brace")
            ends[opened.pop()] = match.start()
    if opened:
        raise Unreadable(f"{_line(text, opened[-1])} has an opening brace that is never closed")
    return Group(text, ends)


def _line(text: str, place: int) -> str:
    return f"line {text.count(chr(10), 0, place) + 1}"


def without_comments(text: str) -> str:
    """The text with blanks instead of comments."""
    return _TOKEN.sub(lambda match: match[0] if match[0][0] == '"' else re.sub(r"[^\n]", " ", match[0]), text)


def for_tools(text: str, edits: Iterable[tuple[int, int, str]] = ()) -> str:
    """The text as Yosys, ABC and OpenSTA read it alike; most libraries stay as they are.

    OpenSTA knows no ``//`` comments, ABC takes comments' marks and braces in strings for those and knows no line end
    before a brace, and Yosys no blanks behind the mark of a continued line. ``edits`` are places and their new texts.
    """
    pieces: list[str] = []
    place = 0
    for start, end, new in sorted(edits):
        pieces += text[place:start], new
        place = end
    text = "".join([*pieces, text[place:]])
    tokens = (match[0] for match in _TOKEN.finditer(text))
    if any("//" in token or (token[0] == '"' and re.search(r"/\*|[{}]", token)) for token in tokens):
        text = re.sub(r'"[^"]*"', lambda match: re.sub("/(?=[/*])|[{}]", "", match[0]), without_comments(text))
    text = re.sub(r"\\[ \t]+\n", "\\\n", text)
    return re.sub(r"\)(?:[ \t]|/\*[^*]*\*/)*+\n(?:\s|/\*[^*]*\*/)*+\{", ") {", text)


_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


def number(text: str, place: str, least: float = -inf) -> float:
    """The finite number that a text states, or else it is Unreadable; ``place`` names it in the message."""
    value = float(text) if _NUMBER.fullmatch(text) else inf
    if not isfinite(value) or value < least:
        allowed = "a number" if least == -inf else f"a number of {least:g} or more"
        raise Unreadable(f"{place} must be {allowed}, not {shown(text)}")
    return value


_OPERATORS = "+|", "*&", "^"
"""Binary operators as in Yosys and OpenSTA, the weakest first; AND may also be written without an operator."""


def _folded(
    function: str, leaf: Callable[[str], _T], invert: Callable[[_T], _T], binary: Mapping[str, Callable[[_T, _T], _T]]
) -> _T:
    tokens = ["the end", *reversed(re.findall(r"[^\s()!'^*&+|]+|\S", function))]
    after = ("the end", *")'*&+|^")

    def operation(level: int = 0) -> _T:
        if level == len(_OPERATORS):
            return operand()
        symbols, value = _OPERATORS[level], operation(level + 1)
        while tokens[-1] in symbols or (symbols[0] == "*" and tokens[-1] not in after):
            if tokens[-1] in symbols:
                tokens.pop()
            value = binary[symbols[0]](value, operation(level + 1))
        return value

    def operand() -> _T:
        token = tokens.pop()
        if token in after:
            raise Unreadable(f"{token} is out of place in the function {shown(function)}")
        if token == "!":
            return invert(operand())
        value = operation() if token == "(" else leaf(token)
        if token == "(" and tokens.pop() != ")":
            raise Unreadable(f"a parenthesis is never closed in the function {shown(function)}")
        while tokens[-1] == "'":
            tokens.pop()
            value = invert(value)
        return value

    try:
        value = operation()
    except RecursionError:
        raise Unreadable(f"too many parentheses are nested in the function {shown(function)}") from None
    if tokens[-1] != "the end":
        raise Unreadable(f"{tokens[-1]} is out of place in the function {shown(function)}")
    return value


def names(function: str) -> set[str]:
    """The pins and other nodes that a function names."""
    return set(re.findall(r"[^\s()!'^*&+|]+", function)) - {"0", "1"}


def canonical(function: str) -> str:
    """The function as all tools read it: ``!`` and, in parentheses, ``*``, ``+``, ``^``; a constant only by itself."""

    def invert(value: str) -> str:
        return {"0": "1", "1": "0"}.get(value) or (value[1:] if value[0] == "!" else f"!{value}")

    def joined(symbol: str, left: str, right: str) -> str:
        for one, other in ((left, right), (right, left)):
            if one in ("0", "1"):
                return {"*0": "0", "+1": "1", "^1": invert(other)}.get(symbol + one, other)
        return f"({left}{symbol}{right})"

    return _folded(function, str, invert, {symbol: partial(joined, symbol) for symbol in "+*^"})


def rewritten(statement: str, function: str) -> str | None:
    """The canonical form of a function if not all tools read it alike as its ``statement`` has it.

    ABC knows neither ``!!``, ``''``, continued lines nor constants within, and binds AND tighter than XOR.
    """
    whole = canonical(function)
    odd = ("^" in function and "*" in whole) or (re.search(r"\b[01]\b", function) and function != whole)
    return None if re.fullmatch(r'\w+\s*:\s*"(?:(?!!\s*!)[^\'\\\n"])*"', statement) and not odd else whole


def columns(pins: Sequence[str]) -> dict[str, int]:
    """The values of pins in all rows of a truth table, as the bits of integers; the first pin changes the fastest."""
    rows = range(1 << len(pins))
    return {pin: sum((row >> place & 1) << row for row in rows) for place, pin in enumerate(pins)}


def evaluate(function: str, values: Mapping[str, int], rows: int) -> bytes:
    """The values of a Liberty function, 0 or 1, in each of the rows; those of the pins are the bits of their integers.

    NOT is ``!x`` or ``x'``; then come XOR ``^``, AND ``*``, ``&`` or a blank, and OR ``+`` or ``|``, in the order in
    which they bind; constants are 0 and 1. The function is Unreadable if it cannot be parsed, or names another pin.
    """
    ones = (1 << rows) - 1

    def leaf(name: str) -> int:
        if name not in values and name not in ("0", "1"):
            raise Unreadable(f"{name!r} in the function {shown(function)} is not an input pin")
        return values[name] if name in values else ones * int(name)

    word = _folded(function, leaf, ones.__xor__, {"+": or_, "*": and_, "^": xor})
    return bytes(word >> row & 1 for row in range(rows))
