"""What ``hwgen verify`` does with its options."""

import argparse
import json
import os
import re
import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path

from golden.refusal import BadValue, about
from hwgen.blocks.block import Design
from hwgen.netlist.emit import check_name
from hwgen.tools import yosys
from hwgen.tools.ahead import completed
from hwgen.tools.progress import Progress
from hwgen.tools.yosys import YosysError
from synth.area import liberty
from synth.area.digest import sha256
from synth.area.jobs import MAX_SEED
from synth.area.recipes import RECIPES, SIZING, STOCK
from synth.cli.checks import check_jobs
from synth.proof.everything import designs
from synth.proof.evidence import DIFFERENT, EQUAL, INCOMPLETE, UNPROVED, Evidence, EvidenceStore, power
from synth.proof.gates import Netlist, NetlistError
from synth.proof.parts import IncompleteError
from synth.proof.verify import Report, Subject, begin, emitted, verify

BESIDE = (
    "Not in this table are dot products and processing elements: no method of ours reaches all codes of all lanes, or all sequences of "
    "cycles. They are simulated against golden in directed and random cases (rtl_tests/hwgen/test_dot.py, rtl_tests/hwgen/test_pe.py)."
)
"""What :func:`table` says of the blocks that it cannot list."""

AHEAD = 6
"""Modules that are emitted and mapped while others are checked."""


def one(design: Design, arguments: argparse.Namespace) -> int:
    """Check one module; 0 if it equals golden on all inputs, else 1."""
    check_jobs(arguments.jobs)
    subject = _subject(design, arguments)
    with about("-o"):
        store = EvidenceStore(Path(arguments.output))
    try:
        netlist = subject.netlist()
    except NetlistError as error:
        if not arguments.verilog:
            raise
        raise BadValue("--verilog", str(error), ": ") from error
    except YosysError as error:
        if error.killed or not (arguments.verilog or arguments.liberty):
            raise
        where = "--verilog" if arguments.verilog else "--liberty"
        hint = (
            "; name yours with --top"
            if arguments.verilog and not arguments.top and "not found" in _reason(error, "")
            else ""
        )
        raise BadValue(
            where, f"{subject.top} cannot be mapped: {_reason(error, subject.source)}{hint}", ": "
        ) from error
    progress = Progress()
    try:
        found = verify(subject, netlist, store, arguments.jobs, _shown(progress))
    except (IncompleteError, KeyboardInterrupt) as error:
        progress.clear()
        return _broken_off(store, subject.evidence("").name, error)
    progress.clear()
    print(json.dumps(found.record(), indent=2) if arguments.json else "\n".join(_said(found, store)))
    return 0 if found.verdict == EQUAL else 1


def everything(arguments: argparse.Namespace) -> int:
    """Check the modules of :mod:`synth.proof.everything`, keep the evidence, and print it as a table; 0 if all are
    equal, else 1.

    What the folder holds already, of the same Verilog, golden model and tools, is not checked again.
    """
    check_jobs(arguments.jobs)
    progress = Progress()
    rows: list[Evidence] = []
    patterns = arguments.only.split(",")
    plan = [design for design in designs() if any(fnmatch(design.name, pattern) for pattern in patterns)]
    if not plan:
        raise BadValue("--only", f"must match the name of a module, which {arguments.only!r} does not")
    with about("-o"):
        store = EvidenceStore(Path(arguments.output))
    start = time.monotonic()
    try:
        with ThreadPoolExecutor(os.cpu_count()) as executor:
            yosys.version()  # a fresh installation compiles the tool: once, not in every thread
            ahead = completed(plan, lambda design: executor.submit(_prepared, design, store), AHEAD, in_order=True)
            for subject, known, netlist in (future.result() for _, future in ahead):
                report = _shown(
                    progress, f"{len(rows) + 1} of {len(plan)}, {(time.monotonic() - start) / 60:.0f} min: "
                )
                rows.append(known if netlist is None else verify(subject, netlist, store, arguments.jobs, report))
                progress.clear()
                if rows[-1].verdict != EQUAL:
                    print("\n".join(_said(rows[-1], store)), file=sys.stderr)
    except (IncompleteError, KeyboardInterrupt) as error:
        progress.clear()
        print(
            f"hwgen: {len(rows)} of {len(plan)} modules are done; run the same command again to go on", file=sys.stderr
        )
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    print("\n".join(table(rows)))
    return 0 if all(row.verdict == EQUAL for row in rows) else 1


def _prepared(design: Design, store: EvidenceStore) -> tuple[Subject, Evidence, Netlist | None]:
    """A module, what is known of it, and its gates if it is still to be checked."""
    subject = emitted(design)
    known = begin(subject, store)
    return subject, known, subject.netlist() if known.verdict == INCOMPLETE else None


def _subject(design: Design, arguments: argparse.Namespace) -> Subject:
    with about("--liberty"):
        found = liberty.read_all(arguments.liberty)
        if len(found) > 1:
            raise BadValue(None, "a module is mapped to one library; there are commas between the files of one")
    (files, libraries), *_ = [*found.items(), ((), ())]
    words = f" --liberty {shlex.quote(','.join(Path(file).name for file in files))}" if files else ""
    if arguments.recipe is not None:
        if arguments.verilog is not None or not libraries:
            raise BadValue("--recipe", "goes with --liberty, and not with --verilog")
        if arguments.recipe in SIZING and not any(library.has_delays for library in libraries):
            others, name = ", ".join(recipe for recipe in RECIPES["cells"] if recipe not in SIZING), libraries[0].name
            problem = f"{arguments.recipe} sizes cells by their delays, and {name} states none; take {others}"
            raise BadValue("--recipe", problem, ": ")
        words += f" --recipe {arguments.recipe} --renaming {arguments.renaming}"
    if not 1 <= arguments.renaming <= MAX_SEED:
        raise BadValue("--renaming", f"must be an integer from 1 to {MAX_SEED}, not {arguments.renaming}")
    placed = (arguments.recipe or STOCK, arguments.renaming) if libraries and arguments.verilog is None else None
    if placed is not None and design.stages:
        with about("--liberty"):
            liberty.check_flip_flop(libraries, design.name)
    if arguments.verilog is None:
        if arguments.top is not None:
            raise BadValue("--top", "goes with --verilog only")
        return emitted(design, libraries, words, placed)
    try:
        text = Path(arguments.verilog).read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise BadValue("--verilog", f"{arguments.verilog!r} cannot be read: {reason}", ": ") from error
    top = design.name if arguments.top is None else check_name(arguments.top, "--top")
    source = Path(arguments.verilog).name
    command = (
        f"hwgen verify {design.command()} --verilog {shlex.quote(arguments.verilog)} --top {shlex.quote(top)}{words}"
    )
    place = sha256(str(Path(arguments.verilog).resolve()), design.command())[:8]
    return Subject(design, text, top, source, libraries, command, place)


def _reason(error: YosysError, source: str) -> str:
    """The first complaint in a log, which tells more than the last; about the user's file, not the tool's copy of it."""
    complaint = re.search(r"^.*(Warning: |ERROR: |[Ee]rror:|no Liberty library|same name).*$", error.log, re.MULTILINE)
    return re.sub(r"\bmodule\.s?v\b", lambda _: source, complaint[0].strip()) if complaint else str(error)


def _broken_off(store: EvidenceStore, name: str, error: BaseException) -> int:
    known, reason = store.load(name), f" ({error})" if str(error) else ""
    covered = f"{known.cases} of {known.inputs} inputs are covered" if known else "nothing is covered"
    print(f"hwgen: broken off{reason}: {covered}, no verdict; run the same command again to go on", file=sys.stderr)
    return 130 if isinstance(error, KeyboardInterrupt) else 1


def _said(found: Evidence, store: EvidenceStore) -> Iterator[str]:
    count = power(found.inputs)
    if found.verdict == EQUAL:
        yield f"{found.module}: equal to golden on all {count} inputs, in {found.seconds:.1f} s"
        yield "; ".join([f"  {found.method}", *(f"mapped to cells of {library}" for library in found.libraries)])
    elif found.verdict == DIFFERENT:
        yield f"{found.module}: differs from golden"
        yield from (f"  {case['sentence']}" for case in found.counterexamples)
    elif found.verdict == UNPROVED:
        yield f"{found.module}: no method reaches all {count} inputs; {found.method}"
    yield f"  evidence: {store.path(found.name)}"


def table(rows: Sequence[Evidence]) -> Iterator[str]:
    """Module, method, cases, verdict; and the sum."""
    width = max(len(row.name) for row in rows)
    yield f"{'module':{width}}  {'cases':>6}  {'verdict':9}  {'seconds':>7}  method"
    for row in rows:
        yield f"{row.name:{width}}  {power(row.cases):>6}  {row.verdict:9}  {row.seconds:7.1f}  {row.method.split(':')[0]}"
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in Counter(row.verdict for row in rows).items())
    yield f"{len(rows)} modules: {verdicts}; {sum(row.seconds for row in rows) / 60:.0f} minutes of checking"
    yield BESIDE


def _shown(progress: Progress, title: str = "") -> Report:
    begun = False

    def report(known: Evidence) -> None:
        nonlocal begun
        if not begun:
            progress.start(known.inputs)
        if known.verdict == INCOMPLETE:
            text = f"{title}{known.module}: {known.cases / known.inputs:.0%} of {power(known.inputs)}"
            progress.advance(text, known.cases - progress.done, known=not begun)
        begun = True

    return report
