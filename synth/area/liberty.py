"""Liberty libraries as areas and mapping need them: cells with areas and functions, and what a library must have."""

import gzip
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from golden.refusal import BadValue, opened, shown
from hwgen.tools.files import text_of
from synth.area import groups
from synth.area.digest import sha256
from synth.area.groups import Group, Unreadable, columns, evaluate

Libraries = Mapping[tuple[str, ...], tuple["Library", ...]]
"""Libraries by the names of their files; one library may consist of several files."""

GATES = Path(__file__).with_name("data") / "gates.lib"
"""Our own technology-neutral library; its header states how areas are computed."""

LARGEST, LONGEST, MOST_INPUTS = 256, 10_000, 16
"""Most MiB of a library, unpacked, most characters of a function, and most inputs of a cell that ABC gets."""

_NAME = re.compile(r"[A-Za-z_][\w.$-]{,255}", re.ASCII)
_LIBRARY = re.compile(r'\(\s*("[^"]*"|[\w.+-]*)\s*\)\s*\{\Z', re.ASCII)
_REGISTERS = {"ff", "latch", "ff_bank", "latch_bank", "statetable"}

INVERTER = b"\1\0"
"""Truth table of an inverter."""


def _bad(problem: str) -> BadValue:
    return BadValue("liberty", problem, ": ")


@dataclass(frozen=True)
class Cell:
    """Outline of a cell.

    ``area`` is in the library's unit. ``inputs`` lists the input pins and the buses in the file's order, ``functions``
    the functions of output pins in Liberty notation; a three-state cell has none. One with a flip-flop or a latch is
    ``sequential``.
    """

    name: str
    area: float
    inputs: tuple[str, ...]
    functions: Mapping[str, str]
    sequential: bool
    flip_flop: bool

    def truth(self) -> bytes | None:
        """Truth table of a combinational cell with one output, first input least significant; None for other cells."""
        if self.sequential or len(self.functions) != 1:
            return None
        (function,) = self.functions.values()
        try:
            return evaluate(function, columns(self.inputs), 1 << len(self.inputs))
        except Unreadable:  # the function reads internal nodes
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

    @cached_property
    def for_tools(self) -> str:
        """The text that tools read; see :func:`synth.area.groups.for_tools`."""
        return groups.for_tools(self.text, (edit for found in self._all_cells for edit in _edits(self.text, *found)))

    @property
    def has_delays(self) -> bool:
        """Whether cells have delay tables."""
        return re.search(r"\bcell_rise\b", self.content.text) is not None

    @property
    def content(self) -> Group:
        """The only group of the file."""
        return _content(self.text)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The cells that have an area and that synthesis may use, in the file's order."""
        return tuple(cell for group, cell in self._all_cells if "area" in group.attributes and not _is_unused(group))

    @cached_property
    def _all_cells(self) -> list[tuple[Group, Cell]]:
        return [(group, _cell(group)) for group in self.content.all("cell")]


@cache
def _content(text: str) -> Group:
    file = groups.file(text)
    found = list(file.all("library"))
    if len(found) != 1:
        raise Unreadable(f"there must be one library group, not {len(found)}")
    if outside := [*file.attributes, *(group.kind for group in file.all() if group is not found[0])]:
        raise Unreadable(f"{shown(outside[0])} is outside the library group")
    (library,) = found
    if not (library.argument.isprintable() and _LIBRARY.search(library.text, 0, library.start)):
        allowed = "printable characters, in quotes unless they are letters, digits, _, ., + and -"
        raise Unreadable(f"the name of the library must be {allowed}, not {shown(library.argument)}")
    return library


def _is_unused(group: Group) -> bool:
    return group.attributes.get("dont_use", "").lower() == "true"


def _with_functions(group: Group) -> Iterator[Group]:
    for inner in group.all("pin", "bus", "bundle"):
        if "function" in inner.attributes:
            yield inner
        yield from _with_functions(inner)


def _edits(text: str, group: Group, cell: Cell) -> Iterator[tuple[int, int, str]]:
    """What tools get instead of parts of a cell, which ABC leaves out if it has ``dont_use``, whatever its value."""
    reads_others = not cell.sequential and groups.names(" ".join(cell.functions.values())) - {*cell.inputs}
    if "dont_use" in group.attributes:
        if group.attributes["dont_use"] != "true":
            yield *group.places["dont_use"], "dont_use : true" if _is_unused(group) else ""
    elif len(cell.inputs) > MOST_INPUTS or reads_others:
        yield group.start, group.start, " dont_use : true;"
    for pin in _with_functions(group):
        start, end = pin.places["function"]
        if whole := groups.rewritten(text[start:end], pin.attributes["function"]):
            yield start, end, f'function : "{whole}"'


def _cell(group: Group) -> Cell:
    pins = list(group.all("pin"))
    for names in (re.findall(r'[^\s,"]+', pin.argument) for pin in pins):
        if len(names) > 1:
            raise Unreadable(f"the cell {group.argument} has one group for the pins {', '.join(names)}; write one each")
    if not _NAME.fullmatch(group.argument):
        allowed = "a letter or _, then at most 255 letters, digits, _, ., $ and -"
        raise Unreadable(f"the name of a cell must be {allowed}, not {shown(group.argument)}")
    kinds = {child.kind for child in group.all()}
    for pin in _with_functions(group):
        function = pin.attributes["function"]
        if len(function) > LONGEST:
            raise Unreadable(f"the cell {group.argument} has a function of more than {LONGEST:,} characters")
        try:
            groups.canonical(function)
        except Unreadable as error:
            raise Unreadable(f"in the cell {group.argument}, {error}") from error
        unknown = groups.names(function) - {other.argument for other in pins if other is not pin}
        if unknown and kinds.isdisjoint(_REGISTERS | {"bus", "bundle"}):
            problem = f"{shown(min(unknown))} in the function {shown(function)} is not another pin"
            raise Unreadable(f"in the cell {group.argument}, {problem}")
    area = groups.number(group.attributes.get("area", "0"), f"the area of cell {group.argument}", 0)
    if area and not 1e-30 <= area <= 1e30:  # sums and ratios stay finite
        raise Unreadable(f"the area of cell {group.argument} must be 0, or 1e-30 to 1e30, not {area:g}")
    logic = [] if any("three_state" in pin.attributes for pin in pins) else pins
    return Cell(
        name=group.argument,
        area=area,
        inputs=tuple(
            pin.argument
            for pin in group.all("pin", "bus", "bundle")
            if pin.kind != "pin" or pin.attributes.get("direction") == "input"
        ),
        functions={pin.argument: pin.attributes["function"] for pin in logic if "function" in pin.attributes},
        sequential=bool(kinds & _REGISTERS),
        flip_flop="ff" in kinds,
    )


def nand2_area(libraries: Iterable[Library]) -> float | None:
    """Area of the NAND2 equivalent: the smallest cell with the function of a two-input NAND; None if there is none."""
    cells = (cell for library in libraries for cell in library.cells if cell.area and len(cell.inputs) == 2)
    return min((cell.area for cell in cells if cell.truth() == b"\1\1\1\0"), default=None)


def smallest_inverter(libraries: Iterable[Library]) -> Cell | None:
    """The inverter of least area; of several the one with the shortest name, which is less likely one for clocks."""
    cells = (cell for library in libraries for cell in library.cells if len(cell.inputs) == 1)
    inverters = (cell for cell in cells if cell.truth() == INVERTER)
    return min(inverters, key=lambda cell: (cell.area, len(cell.name), cell.name), default=None)


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


_NEEDED: dict[str, Callable[[bytes], bool]] = {
    "inverter": lambda truth: truth == INVERTER,
    "buffer": lambda truth: truth == b"\0\1",
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
    """Parse a text, or refuse it as no Liberty library with cells; the sentence calls it ``name``."""
    try:
        library = Library(_content(text).argument, text)
        if not library.cells:
            raise Unreadable("no cell states an area")
    except Unreadable as error:
        raise _bad(f"{name} is not a liberty library: {error}") from error
    return library


def read(path: str | Path) -> Library:
    """Read a ``.lib`` file, or a ``.lib.gz`` one; a BadValue names a file that cannot be read or is no library."""
    try:
        with opened(path) as file:
            packed = file.peek(2)[:2] == b"\x1f\x8b"
            data = (gzip.GzipFile(fileobj=file) if packed else file).read((LARGEST << 20) + 1)
        text = text_of(data)
    except (gzip.BadGzipFile, EOFError, zlib.error, UnicodeError) as error:
        raise _bad(f"{path} is not a liberty library: it is neither text nor compressed text") from error
    except OSError as error:
        raise _bad(f"{path} cannot be read: {error.strerror}") from error
    if len(data) > LARGEST << 20:
        raise _bad(f"{path} is larger than {LARGEST} MiB{' when unpacked' if packed else ''}")
    return parse(text, str(path))


def read_all(groups: Iterable[str]) -> Libraries:
    """Read libraries; each item of ``groups`` lists the files of one library, separated by commas.

    An item is refused as by :func:`read` and :func:`check_gates`, and if it names no file or has a cell in two files.
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
