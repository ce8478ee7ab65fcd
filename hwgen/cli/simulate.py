"""The command ``hwgen simulate``: a regression of a block, or of the user's Verilog, against the reference model."""

import argparse
import json
import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from golden.refusal import BadValue, about
from hwgen.blocks.block import Design
from hwgen.cli.parser import typed
from hwgen.coverage.suite import MAX_SEED, MAX_VECTORS, Suite, suite
from hwgen.netlist.emit import check_name
from hwgen.simulate.case import TOP, Case
from hwgen.simulate.engine import Outcome, simulate
from hwgen.simulate.regression import case
from hwgen.simulate.simulators import check_simulator
from hwgen.tools.files import check_writable, read_verilog, reserved, writing
from hwgen.tools.process import ToolError
from hwgen.tools.progress import Progress

SHOWN = 1
"""Mismatches of a class that are printed."""

_UNUSABLE = {"icarus": '"', "verilator": '" #'}
"""Letters that a simulator cannot have in a path, of those that can be printed."""


def run(design: Design, arguments: argparse.Namespace) -> int:
    """Simulate; return 0 if all outputs equal those of the reference model, else 1."""
    _check_number("--vectors", arguments.vectors, 1, MAX_VECTORS)
    _check_number("--seed", arguments.seed, 0, MAX_SEED)
    simulator = check_simulator(arguments.sim)
    top = _top(design, arguments)
    folder = Path(arguments.output) / top
    with about("-o"):
        check_writable(folder, ["coverage.json", "results.xml"])
        _check_letters(str(folder.resolve()), simulator)
    if arguments.junit is not None:
        junit = Path(arguments.junit)
        with about("--junit"):
            if junit.is_dir():
                raise BadValue("file", f"{arguments.junit!r} is a folder", ": ")
            check_writable(junit.parent, [junit.name])
    progress = Progress()
    text, suffix, beside = _verilog(design, arguments)
    vectors = _suite(design, arguments, progress)
    subject = case(
        design, text, vectors.vectors, vectors.classes, arguments.seed, name=top, suffix=suffix, folder=beside
    )
    with ExitStack() as held:
        with about("-o"), writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            held.enter_context(reserved(folder))
            (folder / "results.xml").unlink(missing_ok=True)  # an interrupted run leaves no older results
            coverage = json.dumps(_record(design, arguments, vectors), indent=2) + "\n"
            (folder / "coverage.json").write_text(coverage, encoding="utf-8")
        if arguments.junit is not None:
            Path(arguments.junit).unlink(missing_ok=True)
        outcome = _simulate(subject, folder, simulator, arguments.waves, progress)
        if not outcome.built:
            raise _build_error(outcome, arguments, folder)
        _copy_results(outcome, folder, arguments.junit)
    print("\n".join(_lines(subject, outcome, simulator)))
    print("\n".join(vectors.coverage.table()) if arguments.coverage else f"  coverage: {vectors.coverage.summary()}")
    if outcome.complaints:
        print(f"  repeat with: {_command(arguments, simulator)}")
    return 1 if outcome.complaints else 0


def _check_letters(folder: str, simulator: str) -> None:
    """Refuse a folder whose path the simulator, its makefile or cocotb's results cannot have."""
    bad = [letter for letter in folder if not letter.isprintable() or letter in _UNUSABLE[simulator]]
    if bad:
        raise BadValue("folder", f"{simulator} cannot work in {folder!r}, whose path has {bad[0]!r}", ": ")


def _copy_results(outcome: Outcome, folder: Path, junit: str | None) -> None:
    for file in outcome.junit:
        shutil.copy(file, folder / "results.xml")
        if junit is not None:
            with about("--junit"), writing(Path(junit).parent):
                Path(junit).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, junit)


def _check_number(option: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise BadValue(option, f"must be an integer from {least} to {most}, not {value}")


def _top(design: Design, arguments: argparse.Namespace) -> str:
    if arguments.verilog is None:
        if arguments.top is not None:
            raise BadValue("--top", "needs --verilog")
        return design.name
    return design.name if arguments.top is None else check_name(arguments.top, "--top")


def _verilog(design: Design, arguments: argparse.Namespace) -> tuple[str, str, Path | None]:
    """Text and suffix of the file, and of a user's file the folder in which files that it includes or reads are."""
    if arguments.verilog is None:
        return design.verilog(), ".v", None
    file = Path(arguments.verilog)
    suffix = file.suffix if file.suffix in (".v", ".sv") else ".v"
    return read_verilog(arguments.verilog), suffix, file.resolve().parent


def _suite(design: Design, arguments: argparse.Namespace, progress: Progress) -> Suite:
    """The vectors, with progress of the evaluation of all inputs."""
    progress.start(1.0)

    def tick(share: float) -> None:
        if share < 1:  # the last part always gets a line, also of work that took no time
            progress.advance(f"all inputs of the reference model: {share:.0%}", share - progress.done)

    until = arguments.until == "covered"
    vectors = suite(design, arguments.vectors, np.random.default_rng(arguments.seed), until_covered=until, tick=tick)
    progress.clear()
    return vectors


def _simulate(subject: Case, folder: Path, simulator: str, waves: bool, progress: Progress) -> Outcome:
    progress.start(subject.vectors)

    def tick(count: int) -> None:
        if count < subject.vectors:
            share = f"{count // subject.per_cycle} of {_amount(subject)}"
            progress.advance(f"{subject.name}: {share}", count - progress.done)

    try:
        return simulate([subject], folder, simulator, waves=waves, tick=tick, shown=SHOWN)
    finally:
        progress.clear()


def _build_error(outcome: Outcome, arguments: argparse.Namespace, folder: Path) -> Exception:
    """The refusal of a user's Verilog that the simulator does not accept; ours does not build without a compiler."""
    lines = outcome.complaints[1:]
    words = [line for line in lines if re.search(r"rror|\*\*\* ", line)] or lines[:1]
    reason = words[0].strip() if words else "the simulator says nothing"
    reason = re.sub(rf"\S*{re.escape(str(folder.resolve()))}/\S*?/", "", reason)  # the tool's copies
    bench = rf"(%[\w-]+: )?{TOP}\.v:[\d:]+ ((error|warning): )?"
    reason = re.sub(bench, "", reason).replace("dut_0", folder.name)
    if arguments.verilog is None:
        return ToolError(f"the simulator could not build {folder.name}: {reason}")
    reason = re.sub(rf"\b{folder.name}(\.s?v:)", lambda end: Path(arguments.verilog).stem + end[1], reason)
    is_misnamed = arguments.top is None and re.search("nknown module|[Cc]annot find|not find", reason)
    hint = "; name your module with --top" if is_misnamed else ""
    return BadValue("--verilog", f"{arguments.verilog!r} cannot be simulated: {reason}{hint}", ": ")


def _lines(subject: Case, outcome: Outcome, simulator: str) -> Iterator[str]:
    """The verdict, and what differs."""
    size = subject.per_cycle
    scope = f"{_amount(subject)} of {len(subject.classes)} class{'es' if len(subject.classes) > 1 else ''}"
    if not outcome.complaints:
        speed = subject.vectors / size / max(outcome.seconds, 1e-3)
        yield f"{subject.name}: equal to the reference model on {scope} in {simulator}, {speed:,.0f} a second"
        yield "  " + ", ".join(f"{name} {count // size}" for name, count in subject.classes.items())
        return
    verdict = "differs from the reference model" if outcome.complete else "was not simulated to the end"
    yield f"{subject.name}: {verdict} in {simulator}, {scope}"
    for text in outcome.complaints:
        yield from (f"  {line}" for line in text.splitlines())


def _amount(subject: Case) -> str:
    return f"{subject.vectors // subject.per_cycle} {subject.unit}s"


def _command(arguments: argparse.Namespace, simulator: str) -> str:
    words = f"hwgen simulate {typed(arguments)} --sim {simulator} --vectors {arguments.vectors} --seed {arguments.seed}"
    if arguments.verilog is not None:
        words += f" --verilog {shlex.quote(arguments.verilog)}"
    if arguments.top is not None:
        words += f" --top {shlex.quote(arguments.top)}"
    return words + (" --until covered" if arguments.until else "") + " --waves"


def _record(design: Design, arguments: argparse.Namespace, vectors: Suite) -> dict[str, object]:
    """The content of ``coverage.json``."""
    head = {"module": design.name, "command": design.command(), "seed": arguments.seed}
    return {**head, "classes": dict(vectors.classes), **vectors.coverage.record()}
