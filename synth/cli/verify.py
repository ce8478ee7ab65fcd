"""What ``hwgen verify`` does with its options."""

import argparse
import json
import os
import re
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path

from hwgen.blocks.design import Design
from hwgen.cli.parser import check_jobs, option
from hwgen.netlist.emit import check_name
from hwgen.tools import yosys
from hwgen.tools.yosys import YosysError
from synth.area import liberty
from synth.area.digest import sha256
from synth.area.jobs import MAX_SEED
from synth.area.recipes import RECIPES, SIZING, STOCK
from synth.proof.everything import designs
from synth.proof.evidence import DIFFERENT, EQUAL, INCOMPLETE, UNPROVED, Evidence, Store, power
from synth.proof.exhaustive import IncompleteError
from synth.proof.gates import Netlist, NetlistError
from synth.proof.verify import Subject, begin, emitted, verify

BESIDE = (
    "Not in this table are dot products and processing elements: no method of ours reaches all codes of all lanes, or all sequences of "
    "cycles. They are simulated against golden in directed and random cases (rtl_tests/hwgen/test_dot.py, rtl_tests/hwgen/test_pe.py)."
)
"""What :func:`table` says of the blocks that it cannot list."""

AHEAD = 6
"""Modules that are emitted and mapped while others are checked."""


def one(design: Design, arguments: argparse.Namespace) -> int:
    """Check one module; 0 if it equals golden on all inputs, else 1.

    Raises
    ------
    ValueError
        One sentence that names the option.
    """
    check_jobs(arguments.jobs)
    subject = _subject(design, arguments)
    store = Store(Path(arguments.output))
    try:
        netlist = subject.netlist()
    except NetlistError as error:
        raise ValueError(f"{'--verilog' if arguments.verilog else design.name}: {error}") from error
    except YosysError as error:
        if not arguments.verilog and not arguments.liberty:
            raise
        where = "--verilog" if arguments.verilog else "--liberty"
        hint = "; name yours with --top" if arguments.verilog and not arguments.top and "not found" in _reason(error) else ""
        raise ValueError(f"{where}: {subject.top} cannot be mapped: {_reason(error)}{hint}") from error
    progress = Progress()
    try:
        found = verify(subject, netlist, store, arguments.jobs, progress)
    except (IncompleteError, KeyboardInterrupt) as error:
        progress.clear()
        return _broken_off(store, subject.evidence("").name, error)
    progress.clear()
    if arguments.json:
        print(json.dumps(found.record(), indent=2))
    else:
        print("\n".join(_said(found, store)))
    return 0 if found.verdict == EQUAL else 1


def everything(arguments: argparse.Namespace) -> int:
    """Check every block of every format, keep the evidence, and print it as a table; 0 if all are equal to golden, else 1.

    What the folder holds already, of the same Verilog, golden model and tools, is not checked again.
    """
    check_jobs(arguments.jobs)
    progress = Progress()
    rows: list[Evidence] = []
    patterns = arguments.only.split(",")
    plan = [design for design in designs() if any(fnmatch(design.name, pattern) for pattern in patterns)]
    if not plan:
        raise ValueError(f"--only: no module has a name like {arguments.only!r}")
    store = Store(Path(arguments.output))
    start = time.monotonic()
    try:
        with ThreadPoolExecutor(os.cpu_count()) as executor:
            for subject, known, netlist in _prepared(plan, store, executor):
                progress.title = f"{len(rows) + 1} of {len(plan)}, {(time.monotonic() - start) / 60:.0f} min: "
                rows.append(known if netlist is None else verify(subject, netlist, store, arguments.jobs, progress))
                progress.clear()
                if rows[-1].verdict != EQUAL:
                    print("\n".join(_said(rows[-1], store)), file=sys.stderr)
    except (IncompleteError, KeyboardInterrupt) as error:
        progress.clear()
        print(f"hwgen: {len(rows)} of {len(plan)} modules are done; run the same command again to go on", file=sys.stderr)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    print("\n".join(table(rows)))
    return 0 if all(row.verdict == EQUAL for row in rows) else 1


def _prepared(plan: Sequence[Design], store: Store, executor: ThreadPoolExecutor) -> Iterator[tuple[Subject, Evidence, Netlist | None]]:
    """Modules, what is known of them, and the gates of those that are still to be checked: in order, some of them ahead of time."""

    def prepare(design: Design) -> tuple[Subject, Evidence, Netlist | None]:
        subject = emitted(design)
        known = begin(subject, store)
        return subject, known, subject.netlist() if known.verdict == INCOMPLETE else None

    yosys.version()
    rest = iter(plan)
    waiting: list[Future[tuple[Subject, Evidence, Netlist | None]]] = [executor.submit(prepare, design) for design in islice(rest, AHEAD)]
    try:
        while waiting:
            yield waiting.pop(0).result()
            waiting += [executor.submit(prepare, design) for design in islice(rest, 1)]
    finally:
        for future in waiting:
            future.cancel()


def _subject(design: Design, arguments: argparse.Namespace) -> Subject:
    with option("--liberty"):
        found = liberty.read_all(arguments.liberty)
        if len(found) > 1:
            raise ValueError("a module is mapped to one library; there are commas between the files of one")
    (files, libraries), *_ = [*found.items(), ((), ())]
    words = f" --liberty {shlex.quote(','.join(Path(file).name for file in files))}" if files else ""
    if arguments.recipe is not None:
        if arguments.verilog is not None or not libraries:
            raise ValueError("--recipe: it goes with --liberty, and not with --verilog")
        if arguments.recipe in SIZING and not any(library.has_delays for library in libraries):
            others = ", ".join(recipe for recipe in RECIPES["cells"] if recipe not in SIZING)
            name = libraries[0].name
            raise ValueError(f"--recipe: {arguments.recipe} sizes cells by their delays, and {name} states none; take {others}")
        words += f" --recipe {arguments.recipe} --renaming {arguments.renaming}"
    if not 1 <= arguments.renaming <= MAX_SEED:
        raise ValueError(f"--renaming must be an integer from 1 to {MAX_SEED}, not {arguments.renaming}")
    placed = (arguments.recipe or STOCK, arguments.renaming) if libraries and arguments.verilog is None else None
    if placed is not None and design.stages:
        with option("--liberty"):
            liberty.check_flip_flop(libraries, design.name)
    if arguments.verilog is None:
        if arguments.top is not None:
            raise ValueError("--top: it goes with --verilog only")
        return emitted(design, libraries, words, placed)
    try:
        text = Path(arguments.verilog).read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ValueError(f"--verilog: {arguments.verilog!r} cannot be read: {reason}") from error
    top = design.name if arguments.top is None else check_name(arguments.top, "--top")
    source = Path(arguments.verilog).name
    command = f"hwgen verify {design.command()} --verilog {shlex.quote(source)} --top {shlex.quote(top)}{words}"
    place = sha256(str(Path(arguments.verilog).resolve()))[:8]
    return Subject(design, text, top, source, libraries, command, place)


def _reason(error: YosysError) -> str:
    """The first complaint in a log, which tells more than the last."""
    complaint = re.compile(r"Warning: |ERROR: |[Ee]rror:|no Liberty library|same name")
    found = [line.strip() for line in error.log.splitlines() if complaint.search(line)]
    return found[0] if found else str(error)


def _broken_off(store: Store, name: str, error: BaseException) -> int:
    known = store.load(name)
    reason = f" ({error})" if str(error) else ""
    covered = f"{known.cases} of {known.inputs} inputs are covered" if known else "nothing is covered"
    print(f"hwgen: broken off{reason}: {covered}, no verdict; run the same command again to go on", file=sys.stderr)
    return 130 if isinstance(error, KeyboardInterrupt) else 1


def _said(found: Evidence, store: Store) -> Iterator[str]:
    count = power(found.inputs)
    match found.verdict:
        case verdict if verdict == EQUAL:
            yield f"{found.module}: equal to golden on all {count} inputs, in {found.seconds:.1f} s"
            yield "; ".join([f"  {found.method}", *(f"mapped to cells of {library}" for library in found.libraries)])
        case verdict if verdict == DIFFERENT:
            yield f"{found.module}: differs from golden"
            yield from (f"  {case['sentence']}" for case in found.counterexamples)
        case verdict if verdict == UNPROVED:
            yield f"{found.module}: no method reaches all {count} inputs; {found.method}"
    yield f"  evidence: {store.path(found.name)}"


def table(rows: Sequence[Evidence]) -> Iterator[str]:
    """Module, method, cases, verdict; and the sum."""
    width = max(len(row.name) for row in rows)
    yield f"{'module':{width}}  {'cases':>6}  {'verdict':9}  {'seconds':>7}  method"
    for row in rows:
        yield f"{row.name:{width}}  {power(row.cases):>6}  {row.verdict:9}  {row.seconds:7.1f}  {row.method.split(':')[0]}"
    verdicts = ", ".join(
        f"{sum(row.verdict == verdict for row in rows)} {verdict}" for verdict in dict.fromkeys(row.verdict for row in rows)
    )
    yield f"{len(rows)} modules: {verdicts}; {sum(row.seconds for row in rows) / 60:.0f} minutes of checking"
    yield BESIDE


class Progress:
    """One line that says how far the check is, rewritten on a terminal; a line a minute elsewhere."""

    def __init__(self) -> None:
        self.title = ""
        self._shown = False
        self._told = time.monotonic()

    def __call__(self, known: Evidence) -> None:
        """Say how far a module is."""
        share = known.cases / known.inputs
        eta = f", {known.seconds / share - known.seconds:.0f} s to go" if 0 < share < 1 else ""
        line = f"{self.title}{known.module}: {share:.0%} of {power(known.inputs)}{eta}"
        if sys.stderr.isatty():
            print(f"\r\x1b[2K{line}", end="", file=sys.stderr, flush=True)
            self._shown = True
        elif time.monotonic() - self._told > 60:
            self._told = time.monotonic()
            print(line, file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)
            self._shown = False
