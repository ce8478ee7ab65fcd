"""Liberty files: passed to Yosys as text, and parsed in outline (cells, areas, functions) to check a library."""

import gzip
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from operator import and_, or_, xor
from pathlib import Path

from golden.refusal import BadValue
from synth.area.digest import sha256

Libraries = Mapping[tuple[str, ...], tuple["Library", ...]]
"""Libraries by the names of their files; one library may consist of several files."""

GATES = Path(__file__).with_name("data") / "gates.lib"
"""Our own technology-neutral library; its header states how areas are computed."""


class _Unreadable(ValueError):
    """The text does not follow the Liberty format."""


def _bad(problem: str) -> BadValue:
    return BadValue("liberty", problem, ": ")


@dataclass(frozen=True)
class Cell:
    """Outline of a cell.

    ``area`` is in the library's unit. ``inputs`` lists the input pins in the file's order, ``functions`` the functions
    of output pins in Liberty notation. A cell with a flip-flop or a latch is ``sequential``.
    """

    name: str
    area: float
    inputs: tuple[str, ...]
    functions: Mapping[str, str]
    sequential: bool
    flip_flop: bool

    def truth(self) -> tuple[bool, ...] | None:
        """Truth table of a combinational cell with one output, first input most significant; None for other cells."""
        if self.sequential or len(self.functions) != 1:
            return None
        (function,) = self.functions.values()
        rows = product((False, True), repeat=len(self.inputs))
        try:
            return tuple(evaluate(function, dict(zip(self.inputs, row, strict=True))) for row in rows)
        except _Unreadable:  # the function reads internal nodes
            return None


@dataclass(frozen=True)
class Library:
    """A Liberty file: ``name`` is the name of its ``library`` group, ``text`` its content."""

    name: str
    text: str = field(repr=False)

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the text, in hexadecimal digits."""
        return sha256(self.text)

    @property
    def has_delays(self) -> bool:
        """Whether cells have delay tables."""
        return re.search(r"\bcell_rise\b", self.text) is not None

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The cells that have an area and that synthesis may use, in the file's order."""
        (library,) = (child for child in _outline(self.text) if child.kind == "library")
        cells = (
            group for group in library.children if group.kind == "cell" and group.attributes.get("dont_use") != "true"
        )
        return tuple(_cell(group) for group in cells if "area" in group.attributes)


@dataclass
class _Group:
    """``kind (argument) { attributes children }``."""

    kind: str
    argument: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list["_Group"] = field(default_factory=list)


_PIECE = re.compile(r'/\*.*?\*/|"[^"]*"|[{}]', re.DOTALL)
_HEAD = re.compile(r"(\w+)\s*\(([^(){};]*)\)\s*$")
_ATTRIBUTE = re.compile(r'(\w+)\s*:\s*("[^"]*"|[^;"\n]*?)\s*(?:;|\n|$)')


def _outline(text: str) -> list[_Group]:
    """Groups of a Liberty text, three levels deep: library, cell, pin (or ff, latch)."""
    stack: list[tuple[_Group, list[str]]] = [(_Group("file", ""), [])]
    last = 0
    for piece in _PIECE.finditer(text):
        group, own = stack[-1]
        if len(stack) <= 4:
            own.append(text[last : piece.start()])
        last = piece.end()
        match piece[0][0]:
            case '"' if len(stack) <= 4:
                own.append(piece[0])
            case "{":
                head = _HEAD.search("".join(own[-8:]))
                child = _Group(head[1], head[2].strip().strip('"')) if head else _Group("", "")
                if len(stack) <= 3:
                    group.children.append(child)
                stack.append((child, []))
            case "}":
                if len(stack) == 1:
                    raise _Unreadable(
                        f"line {text.count(chr(10), 0, piece.start()) + 1} has an unmatched closing brace"
                    )
                group.attributes = {name: value.strip('"') for name, value in _ATTRIBUTE.findall("".join(own))}
                stack.pop()
    if len(stack) > 1:
        group = stack[-1][0]
        raise _Unreadable(f"the group {group.kind} ({group.argument}) is never closed")
    return stack[0][0].children


def _cell(group: _Group) -> Cell:
    pins = [child for child in group.children if child.kind == "pin"]
    kinds = {child.kind for child in group.children}
    text = group.attributes["area"]
    try:
        area = float(text)
    except ValueError:
        raise _Unreadable(f"the area of cell {group.argument} must be a number, not {text!r}") from None
    return Cell(
        name=group.argument,
        area=area,
        inputs=tuple(pin.argument for pin in pins if pin.attributes.get("direction") == "input"),
        functions={pin.argument: pin.attributes["function"] for pin in pins if "function" in pin.attributes},
        sequential=not kinds.isdisjoint({"ff", "latch", "ff_bank", "latch_bank", "statetable"}),
        flip_flop="ff" in kinds,
    )


_OPERATORS: tuple[tuple[str, Callable[[int, int], int]], ...] = (("+|", or_), ("^", xor), ("*&", and_))
"""Binary operators, the weakest first; AND may also be written without an operator."""

_NO_OPERAND = {"end", ")", "+", "|", "^"}


def evaluate(function: str, values: Mapping[str, bool]) -> bool:
    """Value of a Liberty function; see :func:`evaluate_rows`."""
    return bool(evaluate_rows(function, values, 1))


def evaluate_rows(function: str, values: Mapping[str, int], ones: int) -> int:
    """Values of a Liberty function in several rows: the bits of the result and of each pin's integer.

    ``ones`` has a 1 for each row.

    NOT is ``!x`` or ``x'``, AND is ``*``, ``&`` or a blank, XOR is ``^``, OR is ``+`` or ``|``; constants are 0 and 1.

    Raises
    ------
    ValueError
        If the function cannot be parsed, or names a pin without a value.
    """
    tokens = ["end", *reversed(re.findall(r"[A-Za-z_]\w*(?:\[\d+\])?|\S", function))]

    def operation(level: int = 0) -> int:
        if level == len(_OPERATORS):
            return operand()
        symbols, combine = _OPERATORS[level]
        value = operation(level + 1)
        while tokens[-1] in symbols or (combine is and_ and tokens[-1] not in _NO_OPERAND):
            if tokens[-1] in symbols:
                tokens.pop()
            value = combine(value, operation(level + 1))
        return value

    def operand() -> int:
        token = tokens.pop()
        if token == "!":
            return operand() ^ ones
        if token == "(":
            value = operation()
            if tokens.pop() != ")":
                raise _Unreadable(f"a parenthesis is never closed in the function {function!r}")
        elif token in "01":
            value = ones if token == "1" else 0
        elif token in values:
            value = values[token]
        else:
            raise _Unreadable(f"{token!r} in the function {function!r} is not an input pin")
        while tokens[-1] == "'":
            tokens.pop()
            value ^= ones
        return value

    value = operation()
    if tokens[-1] != "end":
        raise _Unreadable(f"{tokens[-1]!r} is out of place in the function {function!r}")
    return value


def nand2_area(libraries: Iterable[Library]) -> float | None:
    """Area of the NAND2 equivalent: the smallest cell with the function of a two-input NAND; None if there is none."""
    nand = (True, True, True, False)
    cells = (cell for library in libraries for cell in library.cells)
    return min((cell.area for cell in cells if len(cell.inputs) == 2 and cell.truth() == nand), default=None)


def has_flip_flop(libraries: Iterable[Library]) -> bool:
    """Whether registers can be mapped to a library, given by its files."""
    return any(cell.flip_flop for library in libraries for cell in library.cells)


_ADD_FILE = "add the file that contains {}, separated by a comma"


def check_flip_flop(libraries: Iterable[Library], top: str) -> None:
    """Refuse a library, given by its files, that has no flip-flop for the registers of the module ``top``."""
    libraries = tuple(libraries)
    if not has_flip_flop(libraries):
        names = " + ".join(library.name for library in libraries)
        raise _bad(f"the library {names} has no flip-flop, which {top} needs; {_ADD_FILE.format('one')}")


def richest_first(libraries: Iterable[Library]) -> list[Library]:
    """The files of a library, most gates first: ABC stops if the first file has only inverters and buffers."""
    return sorted(libraries, key=lambda library: -sum(not cell.sequential for cell in library.cells))


_NEEDED: dict[str, Callable[[tuple[bool, ...]], bool]] = {
    "inverter": lambda truth: truth == (True, False),
    "buffer": lambda truth: truth == (False, True),
    "two-input gate": lambda truth: len(truth) == 4 and sum(truth) in (1, 3),  # AND or OR, inverted or not
}
"""Gates without which ABC crashes, or produces netlists with another function."""


def check_gates(libraries: Iterable[Library], name: str) -> None:
    """Refuse a library, given by its files and called ``name``, that lacks a gate that every mapping needs."""
    truths = [cell.truth() for library in libraries for cell in library.cells if len(cell.inputs) <= 2]
    missing = [gate for gate, matches in _NEEDED.items() if not any(truth and matches(truth) for truth in truths)]
    if missing:
        them = "it" if len(missing) == 1 else "them"
        raise _bad(f"the library {name} has no {', no '.join(missing)}; {_ADD_FILE.format(them)}")


def parse(text: str, name: str) -> Library:
    """Parse a Liberty text; errors call it ``name``.

    Raises
    ------
    BadValue
        If the text is not a Liberty library with cells.
    """
    try:
        groups = [group for group in _outline(text) if group.kind == "library"]
        if len(groups) != 1:
            raise _Unreadable(f"there must be one library group, not {len(groups)}")
        library = Library(groups[0].argument, text)
        if not library.cells:
            raise _Unreadable("no cell states an area")
    except _Unreadable as error:
        raise _bad(f"{name} is not a liberty library: {error}") from error
    return library


def read(path: str | Path) -> Library:
    """Read a ``.lib`` file, or a ``.lib.gz`` one.

    Raises
    ------
    BadValue
        If the file cannot be read or is not a Liberty library; the sentence names the file.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise _bad(f"{path} cannot be read: {error.strerror}") from error
    try:
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise _bad(f"{path} is not a liberty library: it is neither text nor compressed text") from error
    return parse(text, str(path))


def read_all(groups: Iterable[str]) -> Libraries:
    """Read libraries; each item of ``groups`` lists the files of one library, separated by commas.

    Raises
    ------
    BadValue
        See :func:`read` and :func:`check_gates`; also if an item names no file, or has a cell in two files.
    """
    libraries = {}
    for group in groups:
        files = tuple(file for file in group.split(",") if file)
        if not files:
            raise _bad(f"{group!r} names no file")
        libraries[files] = tuple(read(file) for file in files)
        _check_homes(libraries[files], files)
        check_gates(libraries[files], ",".join(files))
    return libraries


def _check_homes(libraries: Iterable[Library], files: Iterable[str]) -> None:
    """Refuse a library with a cell in two of its files, which ABC cannot read."""
    homes: dict[str, str] = {}
    for library, file in zip(libraries, files, strict=True):
        for cell in library.cells:
            if cell.name in homes:
                where = f"twice in {file}" if homes[cell.name] == file else f"in {homes[cell.name]} and in {file}"
                raise _bad(f"the cell {cell.name} is {where}")
            homes[cell.name] = file
