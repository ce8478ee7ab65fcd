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

from golden.refusal import LARGEST, BadValue, about, read_bytes
from hwgen.tools.files import check_writable, read_text, writing

MOST_DEEP = 16
"""Largest number of files that include each other."""
MOST_FILES = 10_000
"""Largest number of files that are read, each as often as it is included."""

_DIRECTIVE = re.compile(
    r'//[^\n]*|/\*.*?\*/|`include\s+"(?P<file>[^"\n]+)"|"(?:\\.|[^"\\])*"'
    r"|`(?P<word>ifn?def|elsif|else|endif|define|undef|undefineall)\b(?:[ \t]+(?P<name>\w+))?",
    re.S,
)

_OPTIONS = {
    "top": "--top",
    "include": "-I",
    "define": "-D",
    "parameter": "--parameter",
    "ports": "--ports",
    "tie": "--tie",
    "handshake": "--handshake",
    "nan": "--nan",
}
"""The options that go with ``--verilog``, by their attributes."""

_WRAPPED = "the wrapper of --ports, --tie, --parameter, --handshake or --nan"
"""Place of a line that is in none of the user's files."""


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
    choices: tuple[str, ...]
    """Macros, also those of lists, and all options but those that name the files."""
    read: frozenset[str]
    """Paths of all files that are read, without links: also lists and included files."""

    @property
    def main(self) -> Path:
        """The file whose suffix says the language of all: the last one of SystemVerilog, if any is, else the last."""
        return ([file for file in self.files if file.suffix == ".sv"] or self.files)[-1]

    def place(self, line: int) -> str:
        """Where a line of the text is, e.g. ``line 7``; of several files also which one."""
        if line > len(self.lines) + 1:  # a wrapper's; a file that ends too early is blamed for the next line
            return _WRAPPED
        if not 0 < line <= len(self.lines):
            return f"line {line}"
        name, number = self.lines[line - 1]
        return f"line {number}" if len({file for file, _ in self.lines}) == 1 else f"{name}, line {number}"

    def named(self, message: str) -> str:
        """A tool's message about the text, with the user's file and line."""

        def place(match: re.Match[str]) -> str:
            line = int(match[1] or 0)
            if line > len(self.lines) + 1:
                return _WRAPPED
            name, number = self.lines[line - 1] if 0 < line <= len(self.lines) else (self.main.name, line)
            return f"{name}:{number}" if match[1] else self.main.name

        return re.sub(r"\bmodule\.s?v\b(?::(\d+))?", place, message)


def sources(arguments: Namespace) -> Sources | None:
    """The files of the options ``--verilog``, ``-f``, ``-I`` and ``-D``; None if no file is named.

    Files that cannot be read, bad lists and macros that contain themselves are refused.
    """
    given = [name for name, option in _OPTIONS.items() if getattr(arguments, name, None)]
    if arguments.verilog is None:
        if given:
            raise BadValue(_OPTIONS[given[0]], "needs --verilog")
        return None
    folders, defines = [Path(folder) for folder in arguments.include], list(arguments.define)
    reader = _Reader(folders)
    files = list(_files(arguments.verilog, folders, defines, reader, 0))
    if not files:
        raise BadValue("-f", "must name a file of Verilog")
    for folder in folders:
        if not os.path.isdir(folder):
            raise BadValue("-I", f"{str(folder)!r} is no folder", ": ")
    lines = [_defined(define) for define in defines]
    reader.known.update(define.partition("=")[0] for define in defines)
    for file in files:
        lines += reader.expanded(file, 0)
    text = "".join(f"{line}\n" for line, _, _ in lines)
    _check_macros(text)
    words = [f"{'-f' if isinstance(file, ListFile) else '--verilog'} {shlex.quote(file)}" for file in arguments.verilog]
    choices = list[str]()
    for name in given:
        value = getattr(arguments, name)
        values = value if isinstance(value, list) else [value]
        choices += [_OPTIONS[name] if item is True else f"{_OPTIONS[name]} {shlex.quote(item)}" for item in values]
    places = tuple((name, number) for _, name, number in lines)
    command = " ".join([*words, *choices])
    return Sources(text, tuple(files), places, command, (*choices, *defines), frozenset(reader.read))


def junit_file(name: str | None, read: Iterable[str]) -> Path | None:
    """The file of ``--junit``; it is refused if it cannot be written to, or if it is one of those that are read."""
    if name is None:
        return None
    file = Path(name)
    with about("--junit"), writing(file.parent):
        if file.is_dir():
            raise BadValue("file", f"{name!r} is a folder", ": ")
        if os.path.realpath(file) in map(os.path.realpath, read):
            raise BadValue("file", f"{name!r} is read, and would be replaced", ": ")
        check_writable(file.parent, [file.name])
    return file


_Line = tuple[str, str, int]


def _defined(define: str) -> _Line:
    name, _, value = define.partition("=")
    if not re.fullmatch(r"[A-Za-z_]\w*", name) or "\n" in value:
        raise BadValue("-D", f"must be NAME or NAME=VALUE, which {define!r} is not")
    return f"`define {name} {value or '1'}", "-D", 1


def _files(
    names: Iterable[str], folders: list[Path], defines: list[str], reader: "_Reader", depth: int
) -> Iterator[Path]:
    """The files that are named, also in lists, which may add folders and macros."""
    for name in names:
        if not isinstance(name, ListFile):
            yield Path(name)
            continue
        if depth > MOST_DEEP:
            raise BadValue("-f", f"{str(name)!r} contains itself", ": ")
        listed = _listed(Path(name), reader.text(Path(name), "-f"), folders, defines)
        yield from _files(listed, folders, defines, reader, depth + 1)


def _listed(path: Path, text: str, folders: list[Path], defines: list[str]) -> Iterator[str]:

    def beside(word: str) -> str:
        """A path in the list, relative to the current folder or else to that of the list."""
        word = os.path.expandvars(word)
        return word if os.path.exists(word) else str(path.parent / word)

    try:
        words = iter(shlex.split(re.sub(r"(?m)(//|#).*$|/\*(?:.|\n)*?\*/", "", text)))
    except ValueError as error:
        raise BadValue("-f", f"{str(path)!r} cannot be read: {str(error).lower()}", ": ") from None
    for word in words:
        if not word:
            raise BadValue("-f", f"{str(path)!r} has an empty name", ": ")
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


class _Reader:
    """Reads files with those that they include; the macros that are surely defined say which includes are left out."""

    def __init__(self, folders: Sequence[Path]):
        self.folders = folders
        self.read = list[str]()
        self.size = 0
        self.known = set[str]()
        """Macros that all tools have here, if they come here, and if none has a guard of a file by itself."""
        self.is_left_out = False
        """Whether no tool comes here, for an ``ifndef`` asks for one of them."""
        self._branches = list[tuple[bool, set[str], str | None]]()
        """What was so before each open condition, and the macro of an ``ifndef`` that has no other branch."""

    def text(self, file: Path, option: str) -> str:
        """The text of a file; too many files are refused."""
        text = read_text(str(file), option)
        self.read.append(os.path.realpath(file))
        self.size += len(text)
        if len(self.read) > MOST_FILES or self.size > LARGEST:
            most = f"{MOST_FILES} files or {LARGEST >> 20} MiB"
            raise BadValue(
                option, f"{str(file)!r} and the files before have more than {most} with all they include", ": "
            )
        return text

    def expanded(self, file: Path, depth: int) -> Iterator[_Line]:
        """The lines of a file with those of files that it includes; in a branch, the tools judge missing ones."""
        if depth > MOST_DEEP:
            raise BadValue("--verilog", f"{str(file)!r} includes itself, or is below {MOST_DEEP} other files", ": ")
        text = self.text(file, "--verilog")
        if re.search(rb"\r(?!\n)", read_bytes(file)):  # it ends a comment only for some tools
            raise BadValue("--verilog", f"{str(file)!r} must not have a carriage return without a line feed", ": ")
        start, line = 0, 1

        def lines(end: int) -> Iterator[_Line]:
            nonlocal line, start
            part = text[start:end]
            for content in part.split("\n"):
                yield content, file.name, line
                line += 1
            line, start = line - 1, end

        for match in _DIRECTIVE.finditer(text):
            if match["word"]:
                self._follow(match["word"], match["name"])
            if match["file"] is None or self.is_left_out:
                continue
            if _IN_MACRO.search(text, 0, match.start()):
                raise BadValue("--verilog", "must not include a file in the value of a macro")
            paths = [folder / match["file"] for folder in (file.parent, *self.folders)]
            found = next(filter(os.path.isfile, paths), None)
            if found is not None:
                yield from lines(match.start())
                yield from self.expanded(found, depth + 1)
                start = match.end()
            elif any(map(os.path.exists, paths)):
                raise BadValue("--verilog", f"{str(file)!r} includes {match['file']!r}, which is no regular file", ": ")
            elif not self._branches:
                raise BadValue("--verilog", f"{str(file)!r} includes {match['file']!r}, which is not found", ": ")
        *most, last = lines(len(text))
        yield from most
        if last[0]:
            yield last

    def _follow(self, word: str, name: str | None) -> None:
        """Keep what is known behind a directive."""
        if word in ("ifdef", "ifndef"):
            self._branches.append((self.is_left_out, set(self.known), name if word == "ifndef" else None))
            self.is_left_out |= word == "ifndef" and name in self.known
        elif word == "define" and name:
            self.known.add(name)
        elif word.startswith("undef"):
            for known in (self.known, *(before for _, before, _ in self._branches)):
                known.intersection_update(known - {name} if name else ())
        elif word in ("elsif", "else", "endif") and self._branches:
            self.is_left_out, before, guard = self._branches.pop()
            if word == "endif":
                self.known = self.known if guard in self.known - before else before
            else:
                self._branches.append((self.is_left_out, before, None))
                self.known = set(before)


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
