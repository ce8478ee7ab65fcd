"""SHA-256 of texts and of programs: the keys of stored results and evidence."""

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The folder of our packages."""

_IMPORT = re.compile(r"^[ \t]*(?:from ([\w.]+) import (\([^)]*\)|[^#\n]*)|import ([^#\n]*))", re.MULTILINE)
_EXPORTS = re.compile(rf"(?:{_IMPORT.pattern}|^__all__ = \[[^]]*\])[^\n]*\n", re.MULTILINE)
_SCRIPT = re.compile(r'"(\w+)\.py"')
"""A file that runs as a process of its own."""

_DOCSTRING = re.compile(rb'^([ \t]*)r?"""(?=\S)(?:[^"\\]|\\.|"(?!""))*"""[ \t]*$', re.MULTILINE | re.DOTALL)


def sha256(*texts: str) -> str:
    """SHA-256 of the texts, joined by NUL characters, in hexadecimal digits."""
    return hashlib.sha256("\0".join(texts).encode(errors="surrogateescape")).hexdigest()


@cache
def fingerprint(*entries: str, root: Path = ROOT) -> str:
    """SHA-256 of the program that results of the modules ``entries`` depend on: see :func:`program`."""
    files = sorted(program(*entries, root=root).items())
    return sha256(*(f"{name} {hashlib.sha256(without_docstrings(name, text)).hexdigest()}" for name, text in files))


def without_docstrings(name: str, content: bytes) -> bytes:
    """What of a file computes: all but the docstrings of a module, so that better words invalidate no result."""
    return _DOCSTRING.sub(rb"\1...", content) if name.endswith(".py") else content


def program(*entries: str, root: Path = ROOT) -> dict[str, bytes]:
    """Contents, by relative path, of the files that modules, e.g. ``synth.area.jobs``, depend on in our packages.

    These are the modules that they import or start, also inside functions, those that these import, and so on; the
    ``__init__.py`` of each package on the way; and files beside them that are no modules. Of a package that is only on
    the way to a module (``a`` in ``from a.b import c``), the imports and exports do not count. An entry that is no
    module is a FileNotFoundError.
    """
    modules: dict[Path, bytes] = {}
    todo = [_file(entry, root) or root / entry for entry in entries]
    while todo:
        path = todo.pop()
        if path not in modules:
            modules[path] = path.read_bytes()
            todo += filter(None, (_file(name, root) for name in _imported(path, modules[path].decode(), root)))
    folders = {root / part for path in modules for part in path.relative_to(root).parents if part.name}
    others = {path: path.read_bytes() for folder in folders for path in _data(folder)}
    packages = (path for folder in folders if (path := folder / "__init__.py").exists())
    files = others | {path: _EXPORTS.sub("", path.read_text("utf-8")).encode() for path in packages} | modules
    return {path.relative_to(root).as_posix(): content for path, content in files.items()}


@cache
def _file(module: str, root: Path) -> Path | None:
    """The file of a module of our packages."""
    if module.partition(".")[0] not in ("golden", "hwgen", "synth"):
        return None
    base = root.joinpath(*module.split("."))
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)


def _imported(path: Path, text: str, root: Path) -> Iterator[str]:
    """Absolute names of the modules that a file imports or starts; some are no modules but names inside one."""
    for package, names, plain in _IMPORT.findall(text):
        if package:
            yield package
        yield from (f"{package}.{name}" for name in re.findall(r"[\w*]+", re.sub(r"\bas \w+", "", names)))
        for word in re.findall(r"[\w.]+", plain):  # a.b.c makes a, a.b and a.b.c available
            yield from (word[:end] for end in range(1, len(word) + 1) if word[end : end + 1] in (".", ""))
    yield from (".".join([*path.relative_to(root).parts[:-1], name]) for name in _SCRIPT.findall(text))


def _data(folder: Path) -> Iterator[Path]:
    """Files of a package that are no modules, also those in folders that are no packages."""
    for path in folder.iterdir():
        if path.is_dir() and path.name != "__pycache__" and not (path / "__init__.py").exists():
            yield from _data(path)
        elif path.is_file() and path.suffix != ".py" and not path.name.startswith("."):
            yield path
