"""README and docs: every block of code runs, every link has a target, every public name has an entry.

The blocks of a page share a folder, which also contains the repository's ``examples``. Each block starts in this
folder. The language of a block determines how it is tested:

``sh``
    Commands for bash. A command with the comment ``# prints TEXT`` must print that text.
``console``
    Commands after ``$``, each followed by its complete output; ``...`` matches any text.

    Commands of ``hwgen`` before the first other command of a block run in the process of the test, which has imported
    the packages and shares runs of Yosys with other tests; those of README run as programs.
``python``
    Statements. Each ``print(...)  # TEXT`` must print that text. Or a part of the repository's file that the first line
    names; that file has a separate test.
``toml``
    A file, with its name in the first line. If the repository has this file, both must be equal. A command of the page
    must use it.
``verilog``
    A part of the repository's file that the first line names. That file has a separate test.
``text``
    No code.
``{...}``
    A directive for Sphinx; ``make docs`` tests it.

A comment before a block, ``<!-- not run, because REASON -->`` or ``<!-- not run: COMMAND, because REASON -->``,
excludes the block or one of its commands. These commands are also listed in ``NOT_RUN``; a test checks that the command
line accepts them.
"""

import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from itertools import product, takewhile
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

import golden
import hwgen
from golden.refusal import Refusal
from hwgen.__main__ import COMMANDS, main
from hwgen.cli.parser import parser
from hwgen.simulate.simulators import available
from hwgen.tile.block import EVERY
from rtl_tests.support.paths import ROOT
from synth.sweep import space

PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text()
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}

NOT_RUN = {
    "README.md": (
        "pip install .",
        "make report",
        "make test",
        "hwgen verify mac --format hif8 --verilog mine.v --top my_mac",
        "hwgen verify mac --format hif8 --liberty my_cells.lib",
    ),
    "docs/accumulation.md": (
        "hwgen area dot --format ocp_e4m3 --lanes 32 --accumulator rvbna --target gates",
        "hwgen area dot --format ocp_e4m3 --lanes 8 --accumulator bfloat16 --accumulator-rounding stochastic "
        "--target gates",
        "hwgen area dot --format ocp_e4m3 --lanes 8 --accumulator aligned13 --target gates --portfolio speed",
        "hwgen energy dot --format ocp_e4m3 --lanes 8 --accumulator aligned13",
        "python examples/accumulation.py",
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
    "docs/dot.md": (
        "hwgen area compressor --format ocp_e4m3 --lanes 4 --target gates --portfolio speed",
        "hwgen verify dot --format ocp_e4m3 --lanes 8 --accumulator binary32",
        "hwgen verify pe --format hif8 --lanes 8 --accumulator exact --stages 2",
        "hwgen verify dot --format ocp_e4m3 --lanes 32 --accumulator binary32 --block-scale e8m0",
    ),
    "docs/energy.md": (
        "hwgen energy mac --format hif8",
        "hwgen energy mac --format hif8 --liberty my_cells.lib --json",
        "hwgen energy mac --format hif8 --liberty my_cells.lib --period 2",
        "hwgen energy mac --format hif8 --portfolio speed",
        "hwgen energy pe --format ocp_e4m3 --data sparse",
        "hwgen energy pe --format ocp_e4m3 --data layer.npy",
        "pip install ziglang",
        "export CXX='python -m ziglang c++'",
    ),
    "docs/regressions.md": (
        "pip install '.[simulate]'",
        "fusesoc --cores-root . run --target=cocotb minifloat-rtl:pe:hif8_pe_binary16_s1",
    ),
    "docs/start.md": ("pip install .",),
    "docs/sweep.md": (
        "hwgen sweep space.toml -o build/sweep --jobs 4",
        "hwgen sweep space.toml -o build/sweep --dask tcp://127.0.0.1:8786",
        "dask scheduler --host 127.0.0.1 --no-dashboard",
        "dask worker tcp://127.0.0.1:8786 --host 127.0.0.1 --nworkers 4 --nthreads 1",
    ),
    "docs/study.md": (
        "make study",
        "hwgen report --study build/study.json",
        "python -m examples.training --tasks digits,range --jobs 1 -o build/some.json",
        "python -m examples.training --small",
        "python -m examples.training --dask tcp://127.0.0.1:8786",
    ),
    "docs/tile.md": (
        "hwgen area tile --format ocp_e4m3 --rows 4 --columns 4 --accumulator exact --to binary32 --target ecp5",
        "python examples/tile/run.py verilator layers",
        "python -m examples.tile.route",
    ),
    "docs/verification.md": (
        "SEED=7 SIM=verilator .venv/bin/python -m pytest rtl_tests/hwgen/test_mac.py -k mixed",
        "make exhaustive",
        "hwgen verify mac --format ocp_e4m3 --stages 2 -f rtl.f --verilog fp8_mac.sv --top fp8_mac "
        "--parameter WIDTH=8    --ports clk=clk_i,rst=~rst_ni,in_valid=valid_i,out_valid=valid_o,a=op_a_i,b=op_b_i,"
        'acc_in=acc_i,acc_out=acc_o    --tie "mode_i=2\'b01" --junit verify.xml',
        "hwgen verify mac --format ocp_e4m3 --verilog fp8_mac.v --top fp8_mac --daz accumulator --ftz before_rounding"
        "    --accumulator-rounding toward_zero --nan any",
    ),
}
"""The commands of each page that are shown but not run."""

GRAMMAR = parser(COMMANDS)

_BLOCK = re.compile(
    r"(?:^ *<!-- not run(?P<one>: .*?)?, because (?P<reason>.*?) -->\n)?"
    r"^(?P<indent> *)```(?P<language>.*?)\n(?P<text>.*?)^(?P=indent)```$",
    re.M | re.S,
)
_NEXT = "---- the next command"
_OWN = re.compile(r"hwgen( [^\s|&;<>$`*?~(){}]+)+")
"""A command of ``hwgen`` that a shell does not change."""
_ICARUS = ("iverilog", "vvp", "make -C ")


@dataclass(frozen=True)
class Command:
    """A command of a block and its expected output: ``...`` matches any text; None is not checked."""

    line: str
    prints: str | None
    runs: bool


@dataclass(frozen=True)
class Block:
    """A block of code, and its commands if it has any."""

    language: str
    text: str
    commands: tuple[Command, ...]


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page."""
    text = PAGES[page]
    matches = list(_BLOCK.finditer(text))
    assert 2 * len(matches) == len(re.findall(r"^ *```", text, re.M)), f"{page} has a block that is not recognized"
    comments = re.findall(r"^ *<!-- not run", text, re.M)
    assert sum(match["reason"] is not None for match in matches) == len(comments), (
        f"{page} has a comment that no block follows"
    )
    return [Block(match["language"], dedent(match["text"]), tuple(_commands(match))) for match in matches]


def _commands(match: re.Match[str]) -> list[Command]:
    """Return the commands of a block of ``sh`` or ``console``."""
    text = dedent(match["text"])
    if match["language"] == "sh":
        lines = text.replace("\\\n", " ").splitlines()
        comments = [(line, re.search(r"  # prints (.*)$", line)) for line in lines if line]
        pairs = [(line.partition("  #")[0].strip(), comment and f"...{comment[1]}...") for line, comment in comments]
    elif match["language"] == "console":
        parts = [part.partition("\n") for part in re.split(r"^\$ ", text, flags=re.M)[1:]]
        pairs = [(line, output) for line, _, output in parts]
    else:
        return []
    excluded = (match["one"] or "").removeprefix(": ")
    assert not excluded or excluded in [line for line, _ in pairs], f"there is no command {excluded!r} to exclude"
    return [Command(line, prints, match["reason"] is None or excluded not in ("", line)) for line, prints in pairs]


def run(commands: list[Command], folder: Path, as_programs: bool) -> None:
    """Run the commands of a block, and check the output of each."""
    own = [] if as_programs else list(takewhile(lambda command: _OWN.fullmatch(command.line), commands))
    others = commands[len(own) :]
    outputs = [*map(run_here, own), *(run_in_shell(others, folder) if others else ())]
    for command, output in zip(commands, outputs, strict=True):
        if command.prints is not None:
            same = doctest.OutputChecker().check_output(command.prints, output, doctest.ELLIPSIS)
            assert same, f"$ {command.line}\n{output}\ninstead of\n{command.prints}"


def run_here(command: Command) -> str:
    """Run a command of ``hwgen`` in this process and return what it prints."""
    output = io.StringIO()
    with redirect_stdout(output), redirect_stderr(output):
        status = main(shlex.split(command.line)[1:])
    assert status == 0, f"$ {command.line}\n{output.getvalue()}"
    return output.getvalue()


def run_in_shell(commands: list[Command], folder: Path) -> list[str]:
    """Run commands in one shell and return the output of each."""
    script = "\n".join(f"echo {shlex.quote(_NEXT)}\n{command.line}" for command in commands)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment, shell = os.environ | {"PATH": path}, ["bash", "-euo", "pipefail", "-c", f"exec 2>&1\n{script}"]
    result = subprocess.run(shell, cwd=folder, env=environment, text=True, check=False, stdout=subprocess.PIPE)
    assert result.returncode == 0, result.stdout
    return result.stdout.split(f"{_NEXT}\n")[1:]


def run_python(text: str) -> None:
    """Run statements, and compare the output of each ``print`` with its comment."""
    expected = re.findall(r"^print\(.*\)  +# (.*)$", text, re.M)
    assert expected
    stdout = io.StringIO()
    with redirect_stdout(stdout), np.errstate(all="ignore"):
        exec(compile(text, "block", "exec"), {})
    assert stdout.getvalue().splitlines() == expected


def accept(line: str, folder: Path) -> None:
    """Check that the command line accepts a command that is not run, and that a design space is valid."""
    match shlex.split(line):
        case ["hwgen", *words]:
            args = GRAMMAR.parse_args(words)
            if args.command == "sweep":
                assert list(space.read(folder / args.file).designs())
        case ["make", target]:
            assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.M), line


STANDS_FOR = {
    "F": "hif8",
    "G": "e5m2b1",
    "A": "exact",
    "R": "to_odd",
    "O": "saturate",
    "N": "2",
    "S": "2",
    "T": "64",
    "DIR": "build",
}
"""Placeholders in the text, and a value for each."""


def in_text(text: str) -> Iterator[list[str]]:
    """Yield the arguments of each ``hwgen`` command in a text, with all options, for each alternative."""
    for line in re.findall(r"`hwgen (\w[^`]*)`", text):
        words = re.sub(r"[\\\[\]…]", "", line).split()
        yield from map(list, product(*(STANDS_FOR.get(word, word).split("|") for word in words)))


def whole(command: str, *rest: str) -> list[str]:
    """Complete a command: add a missing block and format, and drop a last option that has no value."""
    words = [command, *rest]
    if command in ("generate", "area", "energy", "verify", "compare", "simulate"):
        block, *options = rest if rest and not rest[0].startswith("-") else ("mac", *rest)
        has_format = block != "all" and (block not in EVERY or EVERY[block].formats)
        words = [command, block, *(["--format", "hif8"] if has_format else []), *options]
    try:
        GRAMMAR.parse_args(words)
    except Refusal as error:
        if str(error) == f"argument {words[-1]}: expected one argument":  # the option is known
            return words[:-1]
    return words


def misspelt(words: list[str]) -> Iterator[list[str]]:
    """Yield the words with the last letter of the first word or of one option removed."""
    for place, word in enumerate(words):
        if place == 0 or word.startswith("--"):
            yield [*words[:place], word[:-1], *words[place + 1 :]]


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_code(page, tmp_path, monkeypatch):
    page_blocks = blocks(page)
    commands = [command for block in page_blocks for command in block.commands]
    assert [command.line for command in commands if not command.runs] == list(NOT_RUN.get(page, ()))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    without_icarus = False
    for block in page_blocks:
        first, _, rest = block.text.partition("\n")
        match block.language:
            case "sh" | "console":
                running = [command for command in block.commands if command.runs]
                if "icarus" not in available():
                    without_icarus |= any(command.line.startswith(_ICARUS) for command in running)
                    running = [command for command in running if not command.line.startswith(_ICARUS)]
                run(running, tmp_path, as_programs=page == "README.md")
                for command in block.commands:
                    if not command.runs:
                        accept(command.line, tmp_path)
            case "python" if first.startswith("# examples/"):
                assert rest.strip() in (ROOT / first.removeprefix("# ")).read_text()
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
    if without_icarus:  # all other commands of the page have run
        pytest.skip("the simulations were not run: Icarus Verilog is not installed")


def test_commands_in_the_text_are_accepted():
    commands = [words for text in PAGES.values() for words in in_text(text)]
    assert len(commands) > 40
    for words in commands:
        GRAMMAR.parse_args(whole(*words))


def test_a_misspelt_option_is_detected(tmp_path):
    lines = [line for lines in NOT_RUN.values() for line in lines if line.startswith("hwgen ")]
    in_blocks = [line.removeprefix("hwgen ").split() for line in lines]
    in_sentences = [words for text in PAGES.values() for words in in_text(text)]
    wrong = [words for command in in_blocks for words in misspelt(command)]
    wrong += [whole(*words) for command in in_sentences for words in misspelt(command)]
    refused = r"^unrecognized arguments: --|: invalid choice: |arguments are required: --format$"
    for words in wrong:
        with pytest.raises(Refusal, match=refused):
            accept(shlex.join(["hwgen", *words]), tmp_path)


def test_links_have_a_target():
    for page, text in PAGES.items():
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            assert ((ROOT / page).parent / target).exists(), f"{page} links to {target}"


def test_pages_that_programs_name_exist():
    """Help, messages and docstrings name pages."""
    files = [file for folder in ("golden", "hwgen", "synth", "examples") for file in (ROOT / folder).rglob("*.py")]
    paths = {path for file in files for path in re.findall(r"\bdocs/[\w./-]*\.(?:md|json)", file.read_text())}
    assert len(paths) > 3
    assert not [path for path in paths if not (ROOT / path).exists()]


def test_every_page_can_be_reached_from_the_readme():
    names = set(re.findall(r"\]\(docs/(\w+)\.md\)", PAGES["README.md"]))
    assert {f"docs/{name}.md" for name in names} == set(PAGES) - {"README.md", "docs/index.md"}


def test_every_public_name_has_an_entry():
    entries = set(re.findall(r"^\.\. (?:autoclass|autofunction|py:data):: (.*)$", PAGES["docs/api.md"], re.M))
    assert {f"{module.__name__}.{name}" for module in (golden, hwgen) for name in module.__all__} <= entries
