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
def fingerprint(*entries: str, root: Path = ROOT, below: str = "", leaf: str = "") -> str:
    """SHA-256 of the program that results of the modules ``entries`` depend on: see :func:`program`.

    With a folder, such as ``golden/``, it is that of the program's files in it.
    """
    contents = program(*entries, root=root, leaf=leaf)
    files = sorted((name, text) for name, text in contents.items() if name.startswith(below))
    return sha256(*(f"{name} {hashlib.sha256(without_docstrings(name, text)).hexdigest()}" for name, text in files))


def without_docstrings(name: str, content: bytes) -> bytes:
    """What of a file computes: all but the docstrings of a module, so that better words invalidate no result."""
    return _DOCSTRING.sub(rb"\1...", content) if name.endswith(".py") else content


def program(*entries: str, root: Path = ROOT, leaf: str = "") -> dict[str, bytes]:
    """Contents, by relative path, of the files that modules, e.g. ``synth.area.jobs``, depend on in our packages.

    These are the modules that they import or start, also inside functions, those that these import, and so on; the
    ``__init__.py`` of each package on the way; and files beside them that are no modules. Of a package that is only on
    the way to a module (``a`` in ``from a.b import c``), the imports and exports do not count. An entry that is no
    module is a FileNotFoundError. Of a package that does nothing but export, those modules count that the names come
    from which are imported from it, or which follow its name and a dot. What the module ``leaf`` imports does not
    count: it chooses a module, and that one is an entry.
    """
    modules: dict[Path, bytes] = {}
    todo = [_file(entry, root) or root / entry for entry in entries]
    while todo:
        path = todo.pop()
        if path not in modules:
            modules[path] = path.read_bytes()
            if path != _file(leaf, root):
                todo += (
                    each for name in _imported(path, modules[path].decode(), root) for each in _sources(name, root)
                )
    folders = {root / part for path in modules for part in path.relative_to(root).parents if part.name}
    others = {path: path.read_bytes() for folder in folders for path in _data(folder)}
    packages = (path for folder in folders if (path := folder / "__init__.py").exists())
    files = others | {path: _EXPORTS.sub("", path.read_text("utf-8")).encode() for path in packages} | modules
    return {path.relative_to(root).as_posix(): content for path, content in files.items()}


def _sources(name: str, root: Path) -> list[Path]:
    """The file of a module, or those of the modules that export a name; those of a package for ``*``."""
    package, _, last = name.rpartition(".")
    if last == "*" or (path := _file(name, root)) is None:
        exports = _exports(package, root)
        names = list(exports or ()) if last == "*" else [last]
        return [path for word in names for path in (exports or {}).get(word, [])]
    return [path] if _exports(name, root) is None else []


@cache
def _exports(package: str, root: Path) -> dict[str, list[Path]] | None:
    """The files that the names come from which a package exports; None if it does anything else, or is no package."""
    file = _file(package, root)
    if file is None or file.name != "__init__.py":
        return None
    text = file.read_text("utf-8")
    if without_docstrings(file.name, _EXPORTS.sub("", text).encode()).strip() not in (b"", b"..."):
        return None
    exports: dict[str, list[Path]] = {}
    for module, names, _ in _IMPORT.findall(text):
        for word in re.findall(r"[\w*]+", names):
            exports.setdefault(word, []).extend(_sources(f"{module}.{word}", root) or _sources(module, root))
    return exports


@cache
def _file(module: str, root: Path) -> Path | None:
    """The file of a module of our packages."""
    if module.partition(".")[0] not in ("golden", "hwgen", "synth", "rtl_tests"):
        return None
    base = root.joinpath(*module.split("."))
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)


def _imported(path: Path, text: str, root: Path) -> Iterator[str]:
    """Absolute names of the modules that a file imports or starts; some are no modules but names inside one."""
    for package, names, plain in _IMPORT.findall(text):
        if package:
            yield package
        yield from (f"{package}.{name}" for name in re.findall(r"[\w*]+", re.sub(r"\bas \w+", "", names)))
        for word, alias in re.findall(r"([\w.]+)(?: +as +(\w+))?", plain):  # a.b.c makes a, a.b and a.b.c available
            yield from (word[:end] for end in range(1, len(word) + 1) if word[end : end + 1] in (".", ""))
            yield from (f"{word}.{name}" for name in re.findall(rf"\b{alias or word}\.(\w+)", text))
    yield from (".".join([*path.relative_to(root).parts[:-1], name]) for name in _SCRIPT.findall(text))


def _data(folder: Path) -> Iterator[Path]:
    """Files of a package that are no modules, also those in folders that are no packages."""
    for path in folder.iterdir():
        if path.is_dir() and path.name != "__pycache__" and not (path / "__init__.py").exists():
            yield from _data(path)
        elif path.is_file() and path.suffix != ".py" and not path.name.startswith("."):
            yield path
