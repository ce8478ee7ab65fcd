"""Text of files and tools is read and written in a named encoding, because that of the machine may not be UTF-8."""

import ast
from collections.abc import Iterator

import pytest

from rtl_tests.support.paths import ROOT

FILES = [path for folder in ("golden", "hwgen", "synth", "examples") for path in sorted((ROOT / folder).rglob("*.py"))]
TEXT = {"read_text": 0, "write_text": 1}
"""Methods for text only, and the place of their encoding."""
MODES = {"open": "r", "fdopen": "r", "NamedTemporaryFile": "w+b", "TemporaryFile": "w+b"}
"""Functions for text or bytes, and their default modes."""
TOOLS = {"run", "Popen", "check_output"}
"""Functions that start a process; ``text`` and ``universal_newlines`` let them decode its output."""
NO_FILES = {"os", "webbrowser", "tarfile", "zipfile"}
"""Modules whose ``open`` has no encoding."""


def unnamed(source: str) -> Iterator[int]:
    """The lines of a program that read or write text in an encoding which is not named."""
    tree = ast.parse(source)
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in TEXT and id(node) not in called:
            yield node.lineno  # e.g. map(Path.read_text, files)
        if not isinstance(node, ast.Call):
            continue
        words = {word.arg: word.value for word in node.keywords}
        function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        module = node.func.value if isinstance(node.func, ast.Attribute) else None
        if function == "open" and isinstance(module, ast.Name) and module.id in NO_FILES:
            continue
        is_method = function == "open" and module is not None
        places = [*node.args[0 if is_method or function.endswith("File") else 1 :], ast.Constant(MODES.get(function))]
        mode = ast.literal_eval(words.get("mode", places[0])) if function in MODES else "b"
        decodes = function in TOOLS and not words.keys().isdisjoint({"text", "universal_newlines"})
        is_text = module is not None and function in TEXT and len(node.args) <= TEXT[function]
        if (is_text or "b" not in mode or decodes) and "encoding" not in words:
            yield node.lineno


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_text_file_is_read_and_written_in_a_named_encoding(path):
    assert not list(unnamed(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "line",
    [
        "file.read_text()",
        "path.write_text(text)",
        "map(Path.read_text, files)",
        "open(name)",
        "open(name, 'w')",
        "path.open()",
        "path.open(mode='a')",
        "os.fdopen(number)",
        "tempfile.NamedTemporaryFile('w')",
        "subprocess.run(command, text=True)",
        "subprocess.Popen(command, universal_newlines=True)",
    ],
)
def test_a_text_file_without_an_encoding_is_found(line):
    assert list(unnamed(line)) == [1]


@pytest.mark.parametrize(
    "line",
    [
        "file.read_text(encoding='utf-8')",
        "file.read_text('utf-8')",
        "open(name, 'rb')",
        "path.open('wb')",
        "os.open(name, os.O_RDONLY)",
        "read_text(name, option)",
        "os.fdopen(number, 'rb', 0)",
        "tempfile.TemporaryFile(dir=folder)",
        "subprocess.run(command, capture_output=True)",
        "subprocess.run(command, text=True, encoding='utf-8')",
    ],
)
def test_bytes_and_named_encodings_are_right(line):
    assert not list(unnamed(line))
