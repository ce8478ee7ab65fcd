"""Users' Verilog: several files, lists of files, includes and macros become one text whose lines know their files.

All tools read that text as one compilation unit, in the order of the command line.
"""

import os
import re
import shlex
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from golden.refusal import BadValue, read_bytes
from hwgen.tools.files import read_text

MOST_DEEP = 16
"""Largest number of files that include each other."""

_INCLUDE = re.compile(r'//[^\n]*|/\*.*?\*/|`include\s+"(?P<file>[^"\n]+)"|"(?:\\.|[^"\\])*"', re.S)


_OPTIONS = {
    "top": "--top",
    "include": "-I",
    "define": "-D",
    "parameter": "--parameter",
    "ports": "--ports",
    "tie": "--tie",
    "handshake": "--handshake",
}
"""The options that go with ``--verilog``, by their attributes."""


class ListFile(str):
    """The path of a list of files."""

    __slots__ = ()


@dataclass(frozen=True)
class Sources:
    """The user's files as one text."""

    text: str
    files: tuple[Path, ...]
    """Those that the user names, without included ones."""
    lines: tuple[tuple[str, int], ...]
    """For each line of the text, the file's name and the line there."""
    words: str
    """The options that name them and what is in them, for the command that repeats a run."""

    @property
    def main(self) -> Path:
        """The file whose suffix says the language of all: the last one of SystemVerilog, if any is, else the last."""
        return ([file for file in self.files if file.suffix == ".sv"] or self.files)[-1]

    def place(self, line: int) -> str:
        """Where a line of the text is, e.g. ``line 7``; of several files also which one."""
        if not 0 < line <= len(self.lines):
            return f"line {line}"
        name, number = self.lines[line - 1]
        return f"line {number}" if len({file for file, _ in self.lines}) == 1 else f"{name}, line {number}"

    def named(self, message: str) -> str:
        """A tool's message about the text, with the user's file and line."""

        def place(match: re.Match[str]) -> str:
            line = int(match[1] or 0)
            name, number = self.lines[line - 1] if 0 < line <= len(self.lines) else (self.main.name, line)
            return f"{name}:{number}" if match[1] else self.main.name

        return re.sub(r"\bmodule\.s?v\b(?::(\d+))?", place, message)


def sources(arguments: Namespace) -> Sources | None:
    """The files of the options ``--verilog``, ``-f``, ``-I`` and ``-D``; None if no file is named.

    Files that cannot be read, bad lists and macros that contain themselves are refused.
    """
    given = [name for name, option in _OPTIONS.items() if getattr(arguments, name)]
    if arguments.verilog is None:
        if given:
            raise BadValue(_OPTIONS[given[0]], "needs --verilog")
        return None
    folders, defines = [Path(folder) for folder in arguments.include], list(arguments.define)
    files = list(_files(arguments.verilog, folders, defines, 0))
    if not files:
        raise BadValue("-f", "must name a file of Verilog")
    for folder in folders:
        if not folder.is_dir():
            raise BadValue("-I", f"{str(folder)!r} is no folder", ": ")
    lines = [_defined(define) for define in defines]
    for file in files:
        lines += _expanded(file, folders, "--verilog", 0)
    text = "".join(f"{line}\n" for line, _, _ in lines)
    _check_macros(text)
    words = [f"{'-f' if isinstance(file, ListFile) else '--verilog'} {shlex.quote(file)}" for file in arguments.verilog]
    for name in given:
        value = getattr(arguments, name)
        values = value if isinstance(value, list) else [value]
        words += [_OPTIONS[name] if item is True else f"{_OPTIONS[name]} {shlex.quote(item)}" for item in values]
    return Sources(text, tuple(files), tuple((name, number) for _, name, number in lines), " ".join(words))


_Line = tuple[str, str, int]


def _defined(define: str) -> _Line:
    name, _, value = define.partition("=")
    if not re.fullmatch(r"[A-Za-z_]\w*", name) or "\n" in value:
        raise BadValue("-D", f"must be NAME or NAME=VALUE, which {define!r} is not")
    return f"`define {name} {value or '1'}", "-D", 1


def _files(names: Iterable[str], folders: list[Path], defines: list[str], depth: int) -> Iterator[Path]:
    """The files that are named, also in lists, which may add folders and macros."""
    for name in names:
        if not isinstance(name, ListFile):
            yield Path(name)
            continue
        if depth > MOST_DEEP:
            raise BadValue("-f", f"{str(name)!r} contains itself", ": ")
        yield from _files(_listed(Path(name), folders, defines), folders, defines, depth + 1)


def _listed(path: Path, folders: list[Path], defines: list[str]) -> Iterator[str]:
    text = re.sub(r"(?m)(//|#).*$|/\*(?:.|\n)*?\*/", "", read_text(str(path), "-f"))

    def beside(word: str) -> str:
        """A path in the list, relative to the current folder or else to that of the list."""
        word = os.path.expandvars(word)
        return word if Path(word).exists() else str(path.parent / word)

    words = iter(shlex.split(text))
    for word in words:
        option, value = word[:2], word[2:]
        if option in ("-I", "-D", "-f", "-F") and not value:
            value = next(words, "")
        if option == "-I":
            folders.append(Path(beside(value)))
        elif option == "-D":
            defines.append(value)
        elif option in ("-f", "-F"):
            yield ListFile(beside(value) if option == "-f" else str(path.parent / value))
        elif word.startswith("+incdir+"):
            folders += [Path(beside(folder)) for folder in word.split("+")[2:]]
        elif word.startswith("+define+"):
            defines += word.split("+")[2:]
        elif word[0] in "+-":
            allowed = "files, -f, -F, -I, -D, +incdir+ and +define+"
            raise BadValue("-f", f"{str(path)!r} has {word}; allowed are {allowed}", ": ")
        else:
            yield beside(word)


def _expanded(file: Path, folders: Sequence[Path], option: str, depth: int) -> Iterator[_Line]:
    """The lines of a file, with those of the files that it includes; a file that is not found is left to the tools."""
    if depth > MOST_DEEP:
        raise BadValue(option, f"{str(file)!r} includes itself", ": ")
    text = read_text(str(file), option)
    if re.search(rb"\r(?!\n)", read_bytes(file)):  # it ends a comment only for some tools
        raise BadValue(option, "must not have a carriage return without a line feed")
    start, line = 0, 1

    def lines(end: int) -> Iterator[_Line]:
        nonlocal line, start
        part = text[start:end]
        for content in part.split("\n"):
            yield content, file.name, line
            line += 1
        line, start = line - 1, end

    for match in _INCLUDE.finditer(text):
        if match["file"] is None:
            continue
        if _IN_MACRO.search(text, 0, match.start()):
            raise BadValue(option, "must not include a file in the value of a macro")
        found = next((path for folder in (file.parent, *folders) if (path := folder / match["file"]).is_file()), None)
        if found is not None:
            yield from lines(match.start())
            yield from _expanded(found, folders, option, depth + 1)
            start = match.end()
    *most, last = lines(len(text))
    yield from most
    if last[0]:
        yield last


_IN_MACRO = re.compile(r"`define\b(?:\\\n|[^\n])*\Z")
"""The beginning of a macro, up to the place where the search ends."""

_IGNORED = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_DEFINITION = re.compile(r"`define\s+([A-Za-z_]\w*)((?:\\\r?\n|[^\n])*)")


def _check_macros(text: str) -> None:
    """Refuse a macro that contains itself, maybe through others; all definitions of a name count.

    Tools expand such a macro until no memory is left.
    """
    uses: dict[str, set[str]] = {}
    for name, body in _DEFINITION.findall(_IGNORED.sub(" ", text)):
        uses.setdefault(name, set()).update(re.findall(r"`(\w+)", body))
    try:
        TopologicalSorter(uses).prepare()
    except CycleError as error:
        raise BadValue("--verilog", f"the macro `{error.args[1][0]} contains itself", ": ") from None
