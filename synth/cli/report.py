"""The command ``hwgen report``."""

import argparse
import os
import re
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import golden
from golden import Format
from golden.refusal import BadValue, about
from hwgen.blocks.arguments import code_format
from hwgen.cli.parser import DEFAULT_EVIDENCE
from hwgen.tools.files import check_writable, writing
from hwgen.tools.progress import Progress
from synth.area import liberty
from synth.area.digest import ROOT, sha256
from synth.area.jobs import Job
from synth.area.rows import Row
from synth.area.runner import LocalPool, Outcome, measure_all
from synth.area.store import Store
from synth.cli import compare
from synth.cli.checks import check_jobs, check_renamings, print_failures
from synth.proof.choose import PROVERS
from synth.proof.evidence import (
    EMITTED,
    EQUAL,
    PROVED,
    SWEPT,
    Evidence,
    EvidenceStore,
    program_digits,
    program_hashes,
    read_verdicts,
)
from synth.proof.verify import is_current
from synth.report import load
from synth.report.chapters.method import BY_TABLE
from synth.report.data import Report, assemble, with_earlier, with_sweeps
from synth.report.plan import FORMATS, report_jobs
from synth.report.points import DEFAULT
from synth.report.write import RENEWED, render
from synth.studies import ledger
from synth.studies.ratios import ratios

VERDICTS = ROOT / "docs" / "proofs.csv"
"""Verdicts on the program's modules; part of the clone alone."""
_Older = tuple[Sequence[Row] | None, float | None]
"""Rows of an older report, and the share by which figures may grow."""


def report(arguments: argparse.Namespace) -> int:
    """Measure a set of formats, write the report, and compare it with an older one.

    Returns 0 if all jobs succeeded and no figure grew by more than allowed, else 1.
    """
    check_renamings(arguments)
    check_jobs(arguments.jobs)
    formats = _formats(arguments.formats)
    with about("--liberty"):
        libraries = liberty.read_all(arguments.liberty)
    with about("--sweep"):
        swept = [load.sweep(file, "sweep") for file in arguments.sweep or []]
    measures = bool(arguments.formats or not swept)
    if not measures and arguments.liberty:
        raise BadValue("--liberty", "with --sweep nothing is measured unless --formats is given", ": ")
    with about("--accuracy"):
        accuracy = None if arguments.accuracy is None else load.accuracy(arguments.accuracy)
    rows = [row for sweep in swept for row in sweep.rows]
    with about("--study"):
        study = load.study(arguments.study)
    older, above = _older(arguments, rows, measures)
    if older is not None and not measures and arguments.output is None:  # compare two files only
        return _compared(older, rows, above)
    folder = Path(arguments.output or "build/report")
    with about("-o"):
        check_writable(folder)
    with about("--store"):
        store = Store(arguments.store)
    with LocalPool(arguments.jobs) as pool, ThreadPoolExecutor(pool.slots) as executor:
        jobs: list[Job] = []
        whole = measures and arguments.formats in (None, "all")
        if measures:
            jobs = report_jobs(formats, executor, store, arguments.renamings, libraries, whole, arguments.seed)
        names = {*(job.top for job in jobs), *(row.name for row in rows)}
        if older is not None and names.isdisjoint(row.name for row in older):
            raise _nothing_common()  # before measuring for minutes
        outcomes: dict[Job, Outcome] = {}
        modules = {job.top: sha256(job.verilog) for job in jobs}
        others: dict[str, Any] = {
            **({name: getattr(load, name)() for name in load.STUDIES} if measures else {}),
            **({"study": study} if measures or arguments.study is not None else {}),
        }
        with about("--evidence"):
            evidence = _evidence(arguments.evidence, jobs, replace(assemble([], []), rows=tuple(rows), **others).shown)
        earlier, recorded = (load.areas(), ledger.recorded(modules)) if measures else ((), [])

        def written(is_stopped: bool = False) -> Report:
            """The report on the outcomes, in its folder."""
            finished = [outcomes[job] for job in jobs if job in outcomes]
            data = replace(with_sweeps(assemble(finished, list(formats), accuracy, evidence), swept), **others)
            data = with_earlier(data, earlier, recorded, len(jobs) - len(finished), modules)
            names = dict.fromkeys((*data.formats, *DEFAULT, *(row.format for row in data.shown)))
            data = replace(data, ratios=ratios(formats.get(name, name) for name in names), is_stopped=is_stopped)
            with about("-o"), writing(folder):
                render(data, folder)
            return data

        with _Renewing(written, folder / "index.html") as progress:
            measure_all(jobs, pool, store, progress, outcomes)
    data = written()
    print(folder / "index.html")
    return max(print_failures([*outcomes.values()]), 0 if older is None else _compared(older, data.rows, above))


class _Renewing(Progress):
    """Progress that also writes the report's pages, the first one as ``index``: at first, and every minute."""

    def __init__(self, write: Callable[[bool], Report], index: Path):
        super().__init__()
        self._write, self._index = write, index
        self._due = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Where the run is stopped, write pages that wait for no more figures."""
        if kind is not None and issubclass(kind, KeyboardInterrupt | SystemExit):
            self._write(True)

    def start(self, work: float) -> None:
        """Begin; the first report has only earlier figures."""
        super().start(work)
        if work:
            self._renew()
            text = f"hwgen: {self._index} opens now, with earlier figures; it is renewed while jobs are measured"
            print(text, file=sys.stderr)

    def advance(
        self, text: str, work: float = 1.0, *, known: bool = False, failed: bool = False, label: str = ""
    ) -> None:
        """Count a part of the work; the report is written again if the last one is a minute old."""
        super().advance(text, work, known=known, failed=failed, label=label)
        if time.monotonic() >= self._due:
            self._renew()

    def _renew(self) -> None:
        self._write(False)
        self._due = time.monotonic() + RENEWED


def _nothing_common() -> BadValue:
    return BadValue("--compare", "the two reports have no figure in common", ": ")


def _older(arguments: argparse.Namespace, rows: Sequence[Row], measures: bool) -> _Older:
    """The report to compare with; ``rows`` are new rows from files."""
    limit = arguments.fail_above
    if arguments.compare is None:
        if limit is not None:
            raise BadValue("--fail-above", "needs --compare")
        return None, None
    with about("--compare"):
        old = load.sweep(arguments.compare, "compare").rows
    if limit is None:
        return old, None
    with about("--fail-above"):
        above = compare.percentage(limit)
        compare.check_spreads([*old, *rows])
    if measures and arguments.renamings < 2:
        raise BadValue("--fail-above", "one renaming has no spread; --renamings must be at least 2", ": ")
    return old, above


def _compared(older: Sequence[Row], rows: Sequence[Row], above: float | None) -> int:
    comparison = compare.compare(older, rows)
    if not comparison.common:
        raise _nothing_common()
    print("\n".join(compare.lines(comparison, above)))
    return 1 if above is not None and comparison.grown(above) else 0


def _formats(text: str | None) -> dict[str, Format]:
    names = FORMATS if text is None else golden.names() if text == "all" else [name for name in text.split(",") if name]
    if not names:
        raise BadValue("--formats", "must name at least one format, or all")
    named: dict[str, Format] = {}
    for name in names:
        fmt = code_format("--formats", name)
        if named.setdefault(fmt.identifier, fmt) != fmt:
            raise BadValue("--formats", f"two formats are called {fmt.identifier!r}; rename one of them", ": ")
    return {fmt.name: fmt for fmt in named.values()}


def _evidence(name: str, jobs: Sequence[Job], rows: Sequence[Row] = ()) -> list[Evidence]:
    """The evidence in a folder and then, on other modules of the jobs and rows, that of the documentation's table."""
    if not os.path.isdir(name) and (os.path.lexists(name) or name != DEFAULT_EVIDENCE):  # which the first check makes
        raise BadValue("folder", f"{name!r} is no folder", ": ")
    measured = [(job.top, sha256(job.verilog)) for job in jobs]
    modules = dict.fromkeys([*measured, *((row.name, row.verilog_sha256) for row in rows)])
    records = _recorded(Path(name), modules) if Path(name).is_dir() else []
    known = {record.module for record in records if record.is_emitted}
    return [*records, *_by_table((module, digest) for module, digest in modules if module not in known)]


def _by_table(modules: Iterable[tuple[str, str]]) -> Iterator[Evidence]:
    """Equal verdicts of the documentation's table on modules, given by name and SHA-256 of their Verilog.

    Rows of another Verilog, or of another program than today's, do not count.
    """
    rows, programs = read_verdicts(VERDICTS), {program_digits(program_hashes(True, each)) for each in ("", *PROVERS)}
    for module, digest in modules:
        row = rows.get(module)
        if row is None or row.verdict != EQUAL or not digest.startswith(row.verilog):
            continue
        basis = re.fullmatch("(.*); program (.*?); (.*)", row.basis)
        if basis is None or basis[2] not in programs:
            continue
        method, _, names = basis.groups()
        tools = dict(name.split(" ", 1) for name in names.split(", "))
        base, _, exponent = row.inputs.partition("^")
        inputs, kind = int(base) ** int(exponent or 1), PROVED if "bitwuzla" in tools else SWEPT
        command, hashes = f"hwgen verify all --only {module}", {"verilog": digest}
        method += f"; {BY_TABLE}"
        yield Evidence(module, command, EMITTED, [], kind, method, inputs, hashes, tools, inputs, EQUAL)


def _recorded(folder: Path, modules: Collection[tuple[str, str]]) -> list[Evidence]:
    """The records in a folder that are of this version of the program and its tools.

    Those of modules given by name and SHA-256 of their Verilog are of one of these.
    """
    records, names = list(EvidenceStore(folder)), {name for name, _ in modules}

    def is_other(record: Evidence) -> bool:
        is_measured = record.is_emitted and record.module in names
        return is_measured and (record.module, record.hashes["verilog"]) not in modules

    current = [record for record in records if is_current(record) and not is_other(record)]
    files = len(list(folder.glob("*.json")))
    ignored = {
        "cannot be read": files - len(records),
        "are of another version of the program, its tools or the module": len(records) - len(current),
    }
    for problem, count in ignored.items():
        if count:
            print(f"hwgen: evidence in {folder} is ignored: {count} of {files} records {problem}", file=sys.stderr)
    return current
