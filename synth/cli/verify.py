"""The command ``hwgen verify``."""

import argparse
import errno
import json
import multiprocessing
import os
import re
import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import replace
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from golden.refusal import BadValue, about
from hwgen.blocks.block import Design
from hwgen.netlist.emit import check_name
from hwgen.sources import Sources, junit_file, sources
from hwgen.tile.block import TileDesign
from hwgen.tools import yosys
from hwgen.tools.ahead import completed
from hwgen.tools.files import check_writable, reserved, write_whole, writing
from hwgen.tools.process import ToolError
from hwgen.tools.progress import Progress
from hwgen.wrapper import wrap
from synth.area import liberty
from synth.area.digest import sha256
from synth.area.jobs import AS_EMITTED, MAX_SEED
from synth.area.recipes import RECIPES, SIZING, STOCK
from synth.cli import tile
from synth.cli.checks import check_jobs
from synth.cli.others import refusing
from synth.proof import mapping, modelled
from synth.proof.everything import designs
from synth.proof.evidence import (
    DIFFERENT,
    EQUAL,
    INCOMPLETE,
    UNPROVED,
    Evidence,
    EvidenceStore,
    VerdictRow,
    power,
    read_verdicts,
    write_verdicts,
)
from synth.proof.files import UserFile
from synth.proof.gates import Netlist
from synth.proof.verify import IncompleteError, Report, Subject, begin, emitted, processes, verify

SECONDS = 10
"""Time between writes of the file of verdicts."""

_NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Letters that XML cannot have, not even by their number."""


def one(design: Design, arguments: argparse.Namespace) -> int:
    """Check one module; return 0 if it equals the reference model on all inputs, else 1."""
    if isinstance(design, TileDesign):
        with about("--verdicts"):
            verdicts = Verdicts(arguments.verdicts)
        return tile.verify(design, arguments, verdicts.has)
    check_jobs(arguments.jobs)
    user = sources(arguments)
    if arguments.model and (arguments.verilog is not None or arguments.liberty):
        raise BadValue("--model", "compares the model of the bundle; it cannot be combined with --verilog or --liberty")
    if arguments.model:
        modelled.check_compiler()
    with about("-o"):
        check_writable(Path(arguments.output))
    libraries = [file for word in arguments.liberty for file in word.split(",")]
    junit_path = junit_file(arguments.junit, [*libraries, *(() if user is None else user.read)])
    with refusing(user, design, arguments):
        subject = _subject(design, arguments, user)
        netlist = subject.netlist()
    with about("-o"):
        store = _store(arguments.output, [subject.evidence("").name])
    progress = Progress()
    try:
        check = subject.verify if isinstance(subject, UserFile) else partial(verify, subject)
        with refusing(user, design, arguments):
            evidence = check(netlist, store, arguments.jobs, _reporter(progress))
    except (IncompleteError, KeyboardInterrupt, SystemExit) as error:
        progress.clear()
        return _interrupted(store, subject.evidence("").name, error)
    finally:
        progress.clear()
    record, lines, problem = evidence.record(), list(_summary(evidence, store)), None
    if arguments.model and evidence.verdict == EQUAL:
        record["model"], problem = _model(design, netlist, arguments.jobs)
        count = power(record["model"]["cases"])
        lines.append(f"  the model in C: {problem or f'its arithmetic equals that of the module in {count} cases'}")
    if junit_path is not None:
        with about("--junit"), writing(junit_path.parent):
            junit_path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(junit_path, junit(evidence, problem))
    print(json.dumps(record, indent=2) if arguments.json else "\n".join(lines))
    return int(evidence.verdict != EQUAL or bool(problem))


def _model(design: Design, netlist: Netlist, workers: int | None) -> tuple[dict[str, Any], str]:
    """What the record has on the model in C, and why it fails; empty if it equals the module."""
    progress, compared, error = Progress(), (0, ""), ""
    progress.start(0)

    def report(done: int, total: int) -> None:
        if not progress.done:
            progress.start(total)
        progress.advance(f"the model in C: {done / total:.0%} of {power(total)}", done - progress.done)

    try:
        compared = modelled.compare(design, netlist, workers, report=report)
    except ToolError as failure:
        error = str(failure)
    finally:
        progress.clear()
    cases, difference = compared
    record = {"cases": cases, "difference": difference, **({"error": error} if error else {})}
    return record, error or (f"differs: {difference}" if difference else "")


def everything(arguments: argparse.Namespace) -> int:
    """Check the modules of :mod:`synth.proof.everything` and print a table; return 0 if all are equal, else 1.

    Modules with a verdict in the folder, for the same Verilog, program and tools, are not checked again, nor those that
    are equal in the file of verdicts, which gets the others.
    """
    check_jobs(arguments.jobs)
    progress = Progress()
    rows: dict[str, Evidence] = {}
    patterns = arguments.only.split(",")
    modules = designs()
    plan = [design for design in modules if any(fnmatch(design.name, pattern) for pattern in patterns)]
    if not plan:
        raise BadValue("--only", f"must match the name of a module, which {arguments.only!r} does not")
    with about("-o"):
        store = _store(arguments.output, [design.name for design in plan])
    with about("--verdicts"):
        verdicts = Verdicts(arguments.verdicts, modules)
    known = len(plan)
    plan = [design for design in plan if not verdicts.has(design)]
    known -= len(plan)
    progress.start(len(plan))
    yosys.version()  # its very first call compiles the tool, which two processes must not do at once
    workers = arguments.jobs or os.cpu_count() or 1
    executor = processes(workers)
    try:
        checks = completed(plan, lambda design: executor.submit(checked, design, store), 2 * workers)
        for design, record in ((design, future.result()) for design, future in checks):
            rows[design.name] = record
            progress.advance(f"{len(rows)} of {len(plan)} modules", label=design.name)
            verdicts.add(record)
            if record.verdict != EQUAL:
                progress.clear()
                print("\n".join(_summary(record, store)), file=sys.stderr)
    except (BrokenExecutor, KeyboardInterrupt, SystemExit) as error:
        progress.clear()
        done = f"{len(rows)} of {len(plan)} modules are done"
        print(f"hwgen: interrupted: {done}; run the same command again to resume", file=sys.stderr)
        return _status(error)
    finally:
        for process in multiprocessing.active_children():
            process.terminate()
        executor.shutdown(cancel_futures=True)
        verdicts.write()
    progress.clear()
    if rows:
        print("\n".join(table([rows[design.name] for design in plan])))
    if known:
        print(f"{known} modules are equal according to {arguments.verdicts}")
    return 0 if all(row.verdict == EQUAL for row in rows.values()) else 1


class Verdicts:
    """A file of verdicts, in the order of ``modules``; written every few seconds, completely or not at all.

    Without ``modules`` it is only read, and must exist.
    """

    def __init__(self, file: str | None, modules: Sequence[Design] = ()):
        self._file = None if file is None else Path(file)
        if self._file is not None and self._file.exists() and not self._file.is_file():
            raise BadValue("file", f"{file!r} is not a file")
        if self._file is not None and not modules and not self._file.exists():
            raise BadValue("file", f"{file!r} cannot be read: {os.strerror(errno.ENOENT)}")
        self._order = {design.name: place for place, design in enumerate(modules)}
        self._known = {} if self._file is None else read_verdicts(self._file)
        self._copied = Counter(row.verilog for row in self._known.values())
        """Rows by Verilog: each has the name of its module, so that only a copied row has that of another."""
        self._new: dict[str, VerdictRow] = {}
        self._written = time.monotonic()
        if self._file is not None and modules:
            check_writable(self._file.parent, [self._file.name])
            self._file.parent.mkdir(parents=True, exist_ok=True)

    def has(self, design: Design) -> bool:
        """Whether the module is equal by the method, program and tools of today, which fix its Verilog as well."""
        subject, row = Subject(design, "", design.name, None, (), ""), self._known.get(design.name)
        if row is None or row.verdict != EQUAL or self._copied[row.verilog] > 1:
            return False
        today = subject.evidence(*subject.method()).verdict_row
        return (row.inputs, row.basis) == (today.inputs, today.basis)

    def add(self, record: Evidence) -> None:
        """Add or replace the verdict of a module."""
        self._new[record.module] = record.verdict_row
        if time.monotonic() > self._written + SECONDS:
            self.write()

    def write(self) -> None:
        """Write the file, without modules that exist no more."""
        if self._file is not None:
            with reserved(self._file.parent, wait=True):  # another process may have added some
                every = read_verdicts(self._file) | self._new
                rows = [row for row in every.values() if row.module in self._order]
                write_verdicts(self._file, sorted(rows, key=lambda row: self._order[row.module]))
        self._written = time.monotonic()


def _store(folder: str, names: Iterable[str]) -> EvidenceStore:
    """The folder of evidence; it is refused if records of these names cannot be written there."""
    store = EvidenceStore(Path(folder))
    store.check_writable(names)
    return store


def checked(design: Design, store: EvidenceStore) -> Evidence:
    """The record of an emitted module, which is checked in this process unless the store has a verdict."""
    subject = emitted(design)
    record = begin(subject, store)
    return verify(subject, subject.netlist(), store, workers=0) if record.verdict == INCOMPLETE else record


def _subject(design: Design, arguments: argparse.Namespace, user: Sources | None) -> Subject:
    """The module to be checked: that of the design, or the user's."""
    with about("--liberty"):
        groups = liberty.read_all(arguments.liberty)
        if len(groups) > 1:
            raise BadValue(None, "a module is mapped to one library; separate the files of one library by commas")
    (files, libraries), *_ = [*groups.items(), ((), ())]
    words = f" --liberty {shlex.quote(','.join(Path(file).name for file in files))}" if files else ""
    if arguments.recipe is not None:
        if arguments.verilog is not None or not libraries:
            raise BadValue("--recipe", "needs --liberty, and cannot be combined with --verilog")
        if arguments.recipe in SIZING and not any(library.has_delays for library in libraries):
            others, name = ", ".join(recipe for recipe in RECIPES["cells"] if recipe not in SIZING), libraries[0].name
            problem = f"{arguments.recipe} sizes cells by their delays, but {name} has none; use one of {others}"
            raise BadValue("--recipe", problem, ": ")
        words += f" --recipe {arguments.recipe} --renaming {arguments.renaming}"
    if not AS_EMITTED <= arguments.renaming <= MAX_SEED:
        raise BadValue("--renaming", f"must be an integer from {AS_EMITTED} to {MAX_SEED}, not {arguments.renaming}")
    placed = (arguments.recipe or STOCK, arguments.renaming) if libraries and arguments.verilog is None else None
    if placed is not None and design.stages:
        with about("--liberty"):
            liberty.check_flip_flop(libraries, design.name)
    if user is None:
        return emitted(design, libraries, words, placed)
    top, text = design.name if arguments.top is None else check_name(arguments.top, "--top"), user.text
    is_system_verilog, cells = user.main.suffix == ".sv", mapping.library_files(libraries)
    wrapper = wrap(design, arguments, text, top, is_system_verilog, mapping.functions(cells), cells)
    default = f" --top {shlex.quote(top)}" if arguments.top is None else ""
    command = f"hwgen verify {design.command()} {user.words}{default}{words}"
    place = sha256(*(str(file.resolve()) for file in user.files), design.command(), *user.choices)[:8]
    subject = UserFile(design, text, top, user.main.name, libraries, command, place, None, user.place)
    if wrapper is None:
        return subject
    text += wrapper.text
    subject = replace(subject, design=wrapper.design, verilog=text, top=wrapper.top, module=top)
    return replace(subject, notes=wrapper.notes, is_released=wrapper.is_released)


def junit(evidence: Evidence, model: str | None = None) -> bytes:
    """A record as JUnit XML: a test case, which fails unless the module is equal to the reference model.

    If the model in C was compared, there is one for it; ``model`` says why it fails, and is empty if it does not.
    """
    is_equal = evidence.verdict == EQUAL
    sentences = [str(record["sentence"]) for record in evidence.counterexamples] or [evidence.method]
    cases = [(evidence.command, evidence.seconds, evidence.verdict, [] if is_equal else sentences)]
    if model is not None:
        cases.append((f"{evidence.command} --model", 0.0, "model", [model] if model else []))
    failures, seconds = sum(bool(failed) for *_, failed in cases), f"{evidence.seconds:.2f}"
    counts = {"tests": str(len(cases)), "failures": str(failures), "errors": "0", "time": seconds}
    suite = ElementTree.Element("testsuite", {"name": "hwgen verify", **counts})
    for command, spent, kind, failed in cases:
        names = {"classname": evidence.module, "name": command, "time": f"{spent:.2f}"}
        case = ElementTree.SubElement(suite, "testcase", names)
        if failed:
            failure = ElementTree.SubElement(case, "failure", {"type": kind, "message": failed[0]})
            failure.text = "\n".join(failed)
    text = _NOT_IN_XML.sub(lambda match: repr(match[0])[1:-1], ElementTree.tostring(suite, encoding="unicode"))
    return f"<?xml version='1.0' encoding='utf-8'?>\n{text}".encode()


def _interrupted(store: EvidenceStore, name: str, error: BaseException) -> int:
    record, reason = store.load(name), f" ({error})" if isinstance(error, IncompleteError) else ""
    checked = f"{record.cases} of {record.inputs} inputs are checked" if record else "no input is checked"
    print(f"hwgen: interrupted{reason}: {checked}, no verdict; run the same command again to resume", file=sys.stderr)
    return _status(error)


def _status(error: BaseException) -> int:
    """The exit status after an interrupt: that of the signal, or 1."""
    return 130 if isinstance(error, KeyboardInterrupt) else int(str(error)) if isinstance(error, SystemExit) else 1


def _summary(evidence: Evidence, store: EvidenceStore) -> Iterator[str]:
    count = power(evidence.inputs)
    if evidence.verdict == EQUAL:
        yield f"{evidence.module}: equal to the reference model on all {count} inputs, in {evidence.seconds:.1f} s"
        yield "; ".join([f"  {evidence.method}", *(f"mapped to cells of {library}" for library in evidence.libraries)])
    elif evidence.verdict == DIFFERENT:
        yield f"{evidence.module}: differs from the reference model"
        yield from (f"  {case['sentence']}" for case in evidence.counterexamples)
    elif evidence.verdict == UNPROVED:
        yield f"{evidence.module}: no method reaches all {count} inputs; {evidence.method}"
    yield f"  evidence: {store.path(evidence.name)}"


def table(rows: Sequence[Evidence]) -> Iterator[str]:
    """A line for each module, and the totals."""
    width = max(len(row.name) for row in rows)
    yield f"{'module':{width}}  {'cases':>6}  {'verdict':9}  {'seconds':>7}  method"
    for row in rows:
        method = row.method.partition(":")[0]
        yield f"{row.name:{width}}  {power(row.cases):>6}  {row.verdict:9}  {row.seconds:7.1f}  {method}"
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in Counter(row.verdict for row in rows).items())
    yield f"{len(rows)} modules: {verdicts}; {sum(row.seconds for row in rows) / 60:.0f} minutes of checking"


def _reporter(progress: Progress) -> Report:
    begun = False

    def report(record: Evidence) -> None:
        nonlocal begun
        if not begun:
            progress.start(record.inputs)
        if record.verdict == INCOMPLETE:
            text = f"{record.module}: {record.cases / record.inputs:.0%} of {power(record.inputs)}"
            progress.advance(text, record.cases - progress.done, known=not begun)
        begun = True

    return report
