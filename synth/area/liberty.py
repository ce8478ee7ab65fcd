"""Liberty files: read in full as text for Yosys, and in outline (cells, areas, functions) for what is said about a library."""

import gzip
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path

from synth.area.digest import sha256

Libraries = Mapping[tuple[str, ...], tuple["Library", ...]]
"""Libraries by the names of their files; a library may come in several files."""

GATES = Path(__file__).with_name("data") / "gates.lib"
"""Our own technology-neutral library; the rule behind its areas stands at its top."""


@dataclass(frozen=True)
class Cell:
    """Outline of a cell.

    Attributes
    ----------
    name : str
    area : float
        In the library's unit.
    inputs : tuple of str
        Names of the input pins, in the file's order.
    functions : dict of str to str
        Boolean function of each output pin that states one, in liberty's notation.
    sequential, flip_flop : bool
        Whether the cell has a flip-flop or a latch, and whether the former.
    """

    name: str
    area: float
    inputs: tuple[str, ...]
    functions: Mapping[str, str]
    sequential: bool
    flip_flop: bool

    def truth(self) -> tuple[bool, ...] | None:
        """Truth table of a combinational cell with one output, first input as the most significant digit; None for other cells."""
        if self.sequential or len(self.functions) != 1:
            return None
        (function,) = self.functions.values()
        rows = product((False, True), repeat=len(self.inputs))
        try:
            return tuple(evaluate(function, dict(zip(self.inputs, row, strict=True))) for row in rows)
        except ValueError:  # a function of internal nodes
            return None


@dataclass(frozen=True)
class Library:
    """A liberty file: ``name`` is what its ``library`` group says, ``text`` its content."""

    name: str
    text: str = field(repr=False)

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the text, in hexadecimal digits."""
        return sha256(self.text)

    @property
    def has_delays(self) -> bool:
        """Whether cells state delays, as tables."""
        return re.search(r"\bcell_rise\b", self.text) is not None

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The cells that state an area, and that synthesis may use, in the file's order."""
        (library,) = (child for child in _outline(self.text) if child.kind == "library")
        cells = (group for group in library.children if group.kind == "cell" and group.attributes.get("dont_use") != "true")
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
    """Groups of a liberty text, three levels deep: library, cell, pin (or ff, latch).

    Raises
    ------
    ValueError
        When braces do not match.
    """
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
                    raise ValueError(f"a closing brace too many in line {text.count(chr(10), 0, piece.start()) + 1}")
                group.attributes = {name: value.strip('"') for name, value in _ATTRIBUTE.findall("".join(own))}
                stack.pop()
    if len(stack) > 1:
        group = stack[-1][0]
        raise ValueError(f"the group {group.kind} ({group.argument}) is never closed")
    return stack[0][0].children


def _cell(group: _Group) -> Cell:
    pins = [child for child in group.children if child.kind == "pin"]
    try:
        area = float(group.attributes["area"])
    except ValueError:
        raise ValueError(f"the area of cell {group.argument} must be a number, not {group.attributes['area']!r}") from None
    return Cell(
        name=group.argument,
        area=area,
        inputs=tuple(pin.argument for pin in pins if pin.attributes.get("direction") == "input"),
        functions={pin.argument: pin.attributes["function"] for pin in pins if "function" in pin.attributes},
        sequential=any(child.kind in {"ff", "latch", "ff_bank", "latch_bank", "statetable"} for child in group.children),
        flip_flop=any(child.kind == "ff" for child in group.children),
    )


def evaluate(function: str, values: Mapping[str, bool]) -> bool:
    """Value of a liberty function: ``!x``, ``x'``, ``*``, ``&`` or a blank for AND, ``^``, ``+`` or ``|`` for OR, ``0``, ``1``.

    Raises
    ------
    ValueError
        When the function cannot be read or names a pin without a value.
    """
    tokens = [*re.findall(r"[A-Za-z_]\w*(?:\[\d+\])?|\S", function), "end"]
    at = 0

    def take() -> str:
        nonlocal at
        at += 1
        return tokens[at - 1]

    def either() -> bool:
        value = differ()
        while tokens[at] in "+|":
            take()
            value = differ() or value
        return value

    def differ() -> bool:
        value = both()
        while tokens[at] == "^":
            take()
            value = both() != value
        return value

    def both() -> bool:
        value = single()
        while tokens[at] not in {"end", ")", "+", "|", "^"}:
            if tokens[at] in "*&":
                take()
            value = single() and value
        return value

    def single() -> bool:
        token = take()
        if token == "!":
            return not single()
        if token == "(":
            value = either()
            if take() != ")":
                raise ValueError(f"a parenthesis is never closed in the function {function!r}")
        elif token in "01":
            value = token == "1"
        elif token in values:
            value = values[token]
        else:
            raise ValueError(f"{token!r} is no pin in the function {function!r}")
        while tokens[at] == "'":
            take()
            value = not value
        return value

    value = either()
    if tokens[at] != "end":
        raise ValueError(f"{tokens[at]!r} is out of place in the function {function!r}")
    return value


def nand2_area(libraries: Iterable[Library]) -> float | None:
    """Area of the NAND2 equivalent: of all cells whose function is that of a two-input NAND, the smallest; None when there is none."""
    nand = (True, True, True, False)
    return min(
        (cell.area for library in libraries for cell in library.cells if len(cell.inputs) == 2 and cell.truth() == nand), default=None
    )


def has_flip_flop(libraries: Iterable[Library]) -> bool:
    """Whether registers can be mapped to a library, which may come in several files."""
    return any(cell.flip_flop for library in libraries for cell in library.cells)


def check_flip_flop(libraries: Iterable[Library], top: str) -> None:
    """Raise ValueError if a library, all its files together, has no flip-flop for the registers of the module ``top``."""
    libraries = tuple(libraries)
    if not has_flip_flop(libraries):
        names = " + ".join(library.name for library in libraries)
        raise ValueError(f"the library {names} has no flip-flop, which {top} needs; add the file that holds one, with a comma between")


def richest_first(libraries: Iterable[Library]) -> list[Library]:
    """The files of a library in the order that ABC wants: one of inverters and buffers alone in front ends it."""
    return sorted(libraries, key=lambda library: -sum(not cell.sequential for cell in library.cells))


_NEEDED: dict[str, Callable[[Sequence[bool]], bool]] = {
    "inverter": lambda truth: tuple(truth) == (True, False),
    "buffer": lambda truth: tuple(truth) == (False, True),
    "two-input gate": lambda truth: len(truth) == 4 and sum(truth) in (1, 3),  # AND or OR, inverted or not
}
"""Without which ABC crashes, or makes netlists of another function."""


def check_gates(libraries: Iterable[Library], name: str) -> None:
    """Raise ValueError if a library, all its files together and called ``name``, lacks a gate that every mapping needs."""
    truths = [cell.truth() for library in libraries for cell in library.cells if len(cell.inputs) <= 2]
    missing = [gate for gate, is_one in _NEEDED.items() if not any(truth and is_one(truth) for truth in truths)]
    if missing:
        them = "it" if len(missing) == 1 else "them"
        raise ValueError(f"the library {name} has no {', no '.join(missing)}; add the file that holds {them}, with a comma between")


def parse(text: str, name: str) -> Library:
    """Check a liberty text and name it by its ``library`` group.

    Parameters
    ----------
    text : str
    name : str
        What an error calls it.

    Raises
    ------
    ValueError
        When it is no liberty library that gates can be mapped to.
    """
    try:
        groups = [group for group in _outline(text) if group.kind == "library"]
        if len(groups) != 1:
            raise ValueError(f"there must be one library group, not {len(groups)}")
        library = Library(groups[0].argument, text)
        if not library.cells:
            raise ValueError("no cell states an area")
    except ValueError as error:
        raise ValueError(f"{name} is not a liberty library: {error}") from error
    return library


def read(path: str | Path) -> Library:
    """Read a ``.lib`` file, or a ``.lib.gz`` one.

    Raises
    ------
    ValueError
        When the file cannot be read, or is no liberty library; one sentence that names the file.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    try:
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a liberty library: it is neither text nor compressed text") from error
    return parse(text, str(path))


def read_all(groups: Iterable[str]) -> Libraries:
    """Libraries by the names of their files: each word is a file, or the files of one library with commas between them.

    Raises
    ------
    ValueError
        As of :func:`read` and :func:`check_gates`; or when a word names no file.
    """
    found = {}
    for group in groups:
        files = tuple(file for file in group.split(",") if file)
        if not files:
            raise ValueError(f"{group!r} names no file")
        found[files] = tuple(read(file) for file in files)
        check_gates(found[files], ",".join(files))
    return found
