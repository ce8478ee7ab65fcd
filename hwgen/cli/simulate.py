"""The command ``hwgen simulate``: a regression of a block, or of the user's Verilog, against the reference model."""

import argparse
import json
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from golden.refusal import BadValue, about
from hwgen.blocks.block import Design
from hwgen.cli.parser import typed
from hwgen.coverage.suite import MAX_SEED, MAX_VECTORS, Suite, suite
from hwgen.netlist.emit import check_name
from hwgen.simulate.case import TOP, Case, case
from hwgen.simulate.engine import Outcome, simulate
from hwgen.simulate.simulators import check_simulator
from hwgen.sources import Sources, junit_file, sources
from hwgen.tools import yosys
from hwgen.tools.files import check_writable, reserved, write_whole, writing
from hwgen.tools.process import ToolError
from hwgen.tools.progress import Progress
from hwgen.tools.yosys import YosysError
from hwgen.wrapper import Wrapped, wrap

SHOWN = 1
"""Mismatches of a class that are printed."""

_UNUSABLE = {"icarus": '"', "verilator": '" #'}
"""Letters that a simulator cannot have in a path, of those that can be printed."""


def run(design: Design, arguments: argparse.Namespace) -> int:
    """Simulate; return 0 if all outputs equal those of the reference model, else 1."""
    return _Regression(design, arguments).run()


class _Regression:
    """A regression as the command's arguments describe it, checked before anything is written."""

    def __init__(self, design: Design, arguments: argparse.Namespace):
        self.design, self.arguments, self.progress = design, arguments, Progress()
        _check_number("--vectors", arguments.vectors, 1, MAX_VECTORS)
        _check_number("--seed", arguments.seed, 0, MAX_SEED)
        self.simulator = check_simulator(arguments.sim)
        self.user = sources(arguments)
        self.top = design.name if arguments.top is None else check_name(arguments.top, "--top")
        self.wrapper = None if self.user is None else self._wrapper(self.user)
        self.design = design if self.wrapper is None else self.wrapper.design
        self.folder = Path(arguments.output) / self.top
        with about("-o"):
            check_writable(self.folder, ["coverage.json", "results.xml"])
            _check_letters(os.path.realpath(self.folder), self.simulator)
        self.junit = junit_file(arguments.junit, () if self.user is None else self.user.read)

    def run(self) -> int:
        """Simulate in the folder, which other runs leave alone meanwhile, and print what differs."""
        text, suffix, beside = self._verilog()
        vectors = self._suite()
        seed, name = self.arguments.seed, self.top if self.wrapper is None else self.wrapper.top
        subject = case(
            self.design, text, vectors.vectors, vectors.classes, seed, name=name, suffix=suffix, folder=beside
        )
        with ExitStack() as held:
            with about("-o"), writing(self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
                held.enter_context(reserved(self.folder))
                (self.folder / "results.xml").unlink(missing_ok=True)  # an interrupted run leaves no older results
                coverage = json.dumps(self._record(vectors), indent=2) + "\n"
                write_whole(self.folder / "coverage.json", coverage.encode())
            if self.junit is not None and self.junit.is_file() and not self.junit.is_symlink():
                self.junit.unlink()
            outcome = self._simulate(subject)
            if not outcome.built:
                raise self._build_error(outcome)
            self._copy_results(outcome)
        print("\n".join(line.replace(name, self.top) for line in self._lines(subject, outcome)))
        hits = vectors.coverage
        print("\n".join(hits.table()) if self.arguments.coverage else f"  coverage: {hits.summary()}")
        if outcome.complaints:
            print(f"  repeat with: {self._command()}")
        return 1 if outcome.complaints else 0

    def _wrapper(self, user: Sources) -> Wrapped | None:
        """The wrapper that gives the user's module our ports, if one is needed."""
        try:
            return wrap(self.design, self.arguments, user.text, self.top, user.main.suffix == ".sv")
        except YosysError as error:
            reason = user.named(yosys.reason(error.log))
            raise BadValue("--verilog", f"{self.top} cannot be read: {reason}", ": ") from error

    def _verilog(self) -> tuple[str, str, Path | None]:
        """Text and suffix of the file, and of a user's file the folder of the files that it includes or reads."""
        if self.user is None:
            return self.design.verilog(), ".v", None
        file, text = self.user.main, self.user.text
        if self.wrapper is not None:
            text += self.wrapper.text
        return text, file.suffix if file.suffix in (".v", ".sv") else ".v", file.resolve().parent

    def _suite(self) -> Suite:
        """The vectors, with progress of the evaluation of all inputs."""
        self.progress.start(1.0)

        def tick(share: float) -> None:
            if share < 1:  # the last part always gets a line, also of work that took no time
                text = f"all inputs of the reference model: {share:.0%}"
                self.progress.advance(text, share - self.progress.done)

        rng, until_covered = np.random.default_rng(self.arguments.seed), self.arguments.until == "covered"
        vectors = suite(self.design, self.arguments.vectors, rng, until_covered=until_covered, tick=tick)
        self.progress.clear()
        return vectors

    def _simulate(self, subject: Case) -> Outcome:
        self.progress.start(subject.vectors)

        def tick(count: int) -> None:
            if count < subject.vectors:
                share = f"{count // subject.per_cycle} of {_amount(subject)}"
                self.progress.advance(f"{subject.name}: {share}", count - self.progress.done)

        waves = self.arguments.waves
        try:
            return simulate([subject], self.folder, self.simulator, waves=waves, tick=tick, shown=SHOWN)
        finally:
            self.progress.clear()

    def _build_error(self, outcome: Outcome) -> Exception:
        """The refusal of a user's Verilog that the simulator does not accept; ours needs a compiler to build."""
        folder, arguments, lines = self.folder, self.arguments, outcome.complaints[1:]
        words = [line for line in lines if re.search(r"rror|\*\*\* ", line)] or lines[:1]
        reason = words[0].strip() if words else "the simulator says nothing"
        reason = re.sub(rf"\S*{re.escape(str(folder.resolve()))}/\S*?/", "", reason)  # the tool's copies
        bench = rf"(%[\w-]+: )?{TOP}\.v:[\d:]+ ((error|warning): )?"
        reason = re.sub(bench, "", reason).replace("dut_0", folder.name)
        if self.user is None:
            return ToolError(f"the simulator could not build {folder.name}: {reason}")
        module = folder.name if self.wrapper is None else self.wrapper.top
        reason = self.user.named(re.sub(rf"\b{module}(\.s?v:)", r"module\1", reason)).replace(module, folder.name)
        is_misnamed = arguments.top is None and re.search("nknown module|[Cc]annot find|not find", reason)
        hint = "; name your module with --top" if is_misnamed else ""
        return BadValue("--verilog", f"{str(self.user.main)!r} cannot be simulated: {reason}{hint}", ": ")

    def _copy_results(self, outcome: Outcome) -> None:
        for file in outcome.junit:
            write_whole(self.folder / "results.xml", file.read_bytes())
            if self.junit is not None:
                with about("--junit"), writing(self.junit.parent):
                    self.junit.parent.mkdir(parents=True, exist_ok=True)
                    write_whole(self.junit, file.read_bytes())

    def _lines(self, subject: Case, outcome: Outcome) -> Iterator[str]:
        """The verdict, and what differs."""
        size, simulator = subject.per_cycle, self.simulator
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

    def _command(self) -> str:
        arguments, simulator = self.arguments, self.simulator
        words = (
            f"hwgen simulate {typed(arguments)} --sim {simulator} --vectors {arguments.vectors} --seed {arguments.seed}"
        )
        words += "" if self.user is None else f" {self.user.words}"
        return words + (" --until covered" if arguments.until else "") + " --waves"

    def _record(self, vectors: Suite) -> dict[str, object]:
        """The content of ``coverage.json``."""
        head = {"module": self.design.name, "command": self.design.command(), "seed": self.arguments.seed}
        return {**head, "classes": dict(vectors.classes), **vectors.coverage.record()}


def _check_number(option: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise BadValue(option, f"must be an integer from {least} to {most}, not {value}")


def _check_letters(folder: str, simulator: str) -> None:
    """Refuse a folder whose path the simulator, its makefile or cocotb's results cannot have."""
    bad = [letter for letter in folder if not letter.isprintable() or letter in _UNUSABLE[simulator]]
    if bad:
        raise BadValue("folder", f"{simulator} cannot work in {folder!r}, whose path has {bad[0]!r}", ": ")


def _amount(subject: Case) -> str:
    return f"{subject.vectors // subject.per_cycle} {subject.unit}s"
