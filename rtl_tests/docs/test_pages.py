"""README and docs: every block of code does what it says, every link leads somewhere, every public name has its entry.

Blocks of a page share a folder, in which each begins; files of the repository's ``examples`` are in it. What a language
means:

``sh``
    Commands, run by bash. One with ``# prints TEXT`` behind it prints that text.
``console``
    Commands after ``$``, each with all that it prints; ``...`` stands for anything.
``python``
    Statements; each ``print(...)  # TEXT`` prints that text.
``toml``
    A file, whose name is the first line; where the repository has that file, it is the file. A command of the page uses
    it.
``verilog``
    A part of the file of the repository that the first line names, which has a test of its own.
``text``
    No code.
``{...}``
    Sphinx's, and read when the pages are made (``make docs``).

A comment before a block, ``<!-- not run, because REASON -->`` or ``<!-- not run: COMMAND, because REASON -->``, takes
the block or one command of it out. Such commands stand in ``NOT_RUN``, too; that they are accepted is tested.
"""

import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

import golden
import hwgen
from golden.refusal import Refusal
from hwgen.__main__ import COMMANDS
from hwgen.cli.parser import parser
from rtl_tests.support.paths import ROOT
from rtl_tests.support.simulators import available
from synth.sweep import space

PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text()
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}

NOT_RUN = {
    "README.md": (
        "make report",
        "make test",
        "pip install .",
        "hwgen verify mac --format hif8 --verilog mine.v --top my_mac",
        "hwgen verify mac --format hif8 --liberty my_cells.lib",
    ),
    "docs/area.md": (
        "hwgen area mac --format hif8 --target gates,cyclonev,xc7,ice40,ecp5",
        "hwgen area multiplier --format e5m2b1 --target cyclonev --json",
        "hwgen area mac --format hif8 --liberty my_cells.lib",
        "hwgen area mac --format hif8 --portfolio speed",
        "hwgen area mac --format hif8 --portfolio speed --target ice40",
        "hwgen report --formats all -o build/report",
        "hwgen report --liberty sky130.lib --liberty asap7_a.lib,asap7_b.lib -o build/report",
        "hwgen report --compare main/report.json --fail-above 2%",
        "hwgen report --sweep new/report.json --compare old/report.json",
    ),
    "docs/start.md": ("pip install .",),
    "docs/sweep.md": (
        "hwgen sweep space.toml -o build/sweep --jobs 4",
        "hwgen sweep space.toml -o build/sweep --dask tcp://127.0.0.1:8786",
        "dask scheduler --host 127.0.0.1 --no-dashboard",
        "dask worker tcp://127.0.0.1:8786 --host 127.0.0.1 --nworkers 4 --nthreads 1",
    ),
    "docs/verification.md": (
        "SEED=7 SIM=verilator .venv/bin/python -m pytest rtl_tests/hwgen/test_mac.py -k mixed",
        "make exhaustive",
    ),
}
"""Every command that is shown and not run, by page."""

_BLOCK = re.compile(
    r"(?:^ *<!-- not run(?P<one>: .*?)?, because (?P<reason>.*?) -->\n)?"
    r"^(?P<indent> *)```(?P<language>.*?)\n(?P<text>.*?)^(?P=indent)```$",
    re.M | re.S,
)
_NEXT = "---- the next command"
_ICARUS = ("iverilog", "vvp")


@dataclass(frozen=True)
class Command:
    """A command of a block, and what it must print: text of which ``...`` stands for anything, None for whatever it
    likes.
    """

    line: str
    prints: str | None
    runs: bool


@dataclass(frozen=True)
class Block:
    """A block of code."""

    language: str
    text: str
    commands: tuple[Command, ...]


def blocks(page: str) -> list[Block]:
    """The blocks of a page."""
    text = PAGES[page]
    found = list(_BLOCK.finditer(text))
    assert 2 * len(found) == len(re.findall(r"^ *```", text, re.M)), f"{page} has a block that is not understood"
    assert sum(match["reason"] is not None for match in found) == len(re.findall(r"^ *<!-- not run", text, re.M)), (
        f"{page} has a comment before no block"
    )
    return [Block(match["language"], dedent(match["text"]), tuple(_commands(match))) for match in found]


def _commands(match: re.Match[str]) -> list[Command]:
    """The commands of a block of ``sh`` or ``console``."""
    text = dedent(match["text"])
    if match["language"] == "sh":
        lines = text.replace("\\\n", " ").splitlines()
        found = [(line, re.search(r"  # prints (.*)$", line)) for line in lines if line]
        pairs = [(line.partition("  #")[0].strip(), f"...{said[1]}..." if said else None) for line, said in found]
    elif match["language"] == "console":
        pairs = [(said.partition("\n")[0], said.partition("\n")[2]) for said in re.split(r"^\$ ", text, flags=re.M)[1:]]
    else:
        return []
    taken_out = (match["one"] or "").removeprefix(": ")
    assert not taken_out or taken_out in [line for line, _ in pairs], (
        f"there is no command {taken_out!r} to be taken out"
    )
    return [Command(line, prints, match["reason"] is None or taken_out not in ("", line)) for line, prints in pairs]


def run(commands: list[Command], folder: Path) -> None:
    """Run commands in one shell, and hold what each prints against what it must."""
    script = "\n".join(f"echo {shlex.quote(_NEXT)}\n{command.line}" for command in commands)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=folder, env=os.environ | {"PATH": path}, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    said = done.stdout.split(f"{_NEXT}\n")[1:]
    for command, got in zip(commands, said, strict=True):
        if command.prints is not None:
            same = doctest.OutputChecker().check_output(command.prints, got, doctest.ELLIPSIS)
            assert same, f"$ {command.line}\n{got}\ninstead of\n{command.prints}"


def run_python(text: str) -> None:
    """Run statements, and hold what each ``print`` prints against the comment behind it."""
    claimed = re.findall(r"^print\(.*\)  +# (.*)$", text, re.M)
    assert claimed
    said = io.StringIO()
    with redirect_stdout(said), np.errstate(all="ignore"):
        exec(compile(text, "block", "exec"), {})
    assert said.getvalue().splitlines() == claimed


def accept(line: str, folder: Path) -> None:
    """Hold a command that is not run against the options that there are, and a design space against what it may say."""
    match shlex.split(line):
        case ["hwgen", *words]:
            asked = parser(COMMANDS).parse_args(words)
            if asked.command == "sweep":
                assert list(space.read(folder / asked.file).designs())
        case ["make", target]:
            assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.M), line


STANDS_FOR = {
    "F": "hif8",
    "G": "e5m2b1",
    "A": "exact",
    "R": "hybrid",
    "O": "saturate",
    "N": "2",
    "S": "2",
    "T": "64",
    "DIR": "build",
}
"""Words of the text that are to be filled in, with what may stand there."""


def in_text(text: str) -> Iterator[list[str]]:
    """The words behind each ``hwgen`` in a text: with everything optional, filled in, and once for each alternative."""
    for line in re.findall(r"`hwgen (\w[^`]*)`", text):
        words = re.sub(r"[\\\[\]…]", "", line).split()
        yield from map(list, product(*(STANDS_FOR.get(word, word).split("|") for word in words)))


def whole(command: str, *rest: str) -> list[str]:
    """A command, with the block and the format that a sentence may leave out, and without a last option whose value it
    leaves out.
    """
    words = [command, *rest]
    if command in ("generate", "area", "verify"):
        block, *options = rest if rest and not rest[0].startswith("-") else ("mac", *rest)
        words = [command, block, *([] if block == "all" else ["--format", "hif8"]), *options]
    try:
        parser(COMMANDS).parse_args(words)
    except Refusal as error:
        if str(error) == f"argument {words[-1]}: expected one argument":  # the option is known
            return words[:-1]
    return words


def misspelt(words: list[str]) -> Iterator[list[str]]:
    """The words, of which the first, or one option, lacks its last letter."""
    for place, word in enumerate(words):
        if place == 0 or word.startswith("--"):
            yield [*words[:place], word[:-1], *words[place + 1 :]]


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_code(page, tmp_path, monkeypatch):
    found = blocks(page)
    commands = [command for block in found for command in block.commands]
    assert [command.line for command in commands if not command.runs] == list(NOT_RUN.get(page, ()))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    without_icarus = False
    for block in found:
        first, _, rest = block.text.partition("\n")
        match block.language:
            case "sh" | "console":
                running = [command for command in block.commands if command.runs]
                if "icarus" not in available():
                    without_icarus |= any(command.line.startswith(_ICARUS) for command in running)
                    running = [command for command in running if not command.line.startswith(_ICARUS)]
                run(running, tmp_path)
                for command in block.commands:
                    if not command.runs:
                        accept(command.line, tmp_path)
            case "python":
                run_python(block.text)
            case "toml":
                name = first.removeprefix("# ")
                assert any(name in command.line for command in commands), f"no command uses {name}"
                if (ROOT / name).exists():
                    assert rest == (ROOT / name).read_text()
                else:
                    (tmp_path / name).write_text(rest)
            case "verilog":
                assert rest.strip() in (ROOT / first.removeprefix("// ")).read_text()
            case language:
                assert language == "text" or language.startswith("{"), f"a block of {language!r}"
    if (
        without_icarus
    ):  # a reader's simulator, which PyPI lacks: all other commands of the page have run by now, and the report says so
        pytest.skip("all but the simulations: Icarus Verilog is not installed")


def test_commands_in_the_text_are_accepted():
    found = [words for text in PAGES.values() for words in in_text(text)]
    assert len(found) > 40
    for words in found:
        parser(COMMANDS).parse_args(whole(*words))


def test_a_misspelt_option_is_found(tmp_path):
    shown = [
        line.removeprefix("hwgen ").split() for lines in NOT_RUN.values() for line in lines if line.startswith("hwgen ")
    ]
    said = [words for text in PAGES.values() for words in in_text(text)]
    wrong = [one for words in shown for one in misspelt(words)] + [
        whole(*one) for words in said for one in misspelt(words)
    ]
    for words in wrong:
        with pytest.raises(
            Refusal, match=r"^unrecognized arguments: --|: invalid choice: |arguments are required: --format$"
        ):
            accept(shlex.join(["hwgen", *words]), tmp_path)


def test_links_lead_somewhere():
    for page, text in PAGES.items():
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            assert ((ROOT / page).parent / target).exists(), f"{page} links to {target}"


def test_pages_that_programs_name_are_there():
    """In help, messages and docstrings."""
    texts = [
        file.read_text()
        for folder in ("golden", "hwgen", "synth", "examples")
        for file in (ROOT / folder).rglob("*.py")
    ]
    named = {path for text in texts for path in re.findall(r"\bdocs/[\w./-]*\.(?:md|json)", text)}
    assert len(named) > 3
    assert not [path for path in named if not (ROOT / path).exists()]


def test_every_page_can_be_reached_from_the_readme():
    named = set(re.findall(r"\]\(docs/(\w+)\.md\)", PAGES["README.md"]))
    assert {f"docs/{name}.md" for name in named} == set(PAGES) - {"README.md", "docs/index.md"}


def test_every_public_name_has_its_entry():
    entries = set(re.findall(r"^\.\. (?:autoclass|autofunction|py:data):: (.*)$", PAGES["docs/api.md"], re.M))
    assert {f"{module.__name__}.{name}" for module in (golden, hwgen) for name in module.__all__} <= entries
