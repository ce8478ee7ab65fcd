"""What ``hwgen area`` and ``hwgen report`` do with their options."""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import golden
from golden import Format
from hwgen.blocks import build
from hwgen.blocks.design import Design, block_format
from hwgen.cli.parser import check_jobs, option
from hwgen.tools import yosys
from hwgen.tools.files import check_writable
from synth.area import liberty
from synth.area.emission import verilog
from synth.area.jobs import MAX_RENAMINGS, MAX_SEED, Job, Row
from synth.area.runner import Outcome, Progress, measure
from synth.area.store import Store
from synth.area.targets import LIBERTY, TARGETS
from synth.proof.evidence import Store as EvidenceStore
from synth.proof.evidence import program_hashes
from synth.report import compare, load
from synth.report.chapters.tradeoff import ratios
from synth.report.figures import counted
from synth.report.plan import FORMATS, area_jobs, report_jobs
from synth.report.write import assemble, render, with_sweeps


@contextmanager
def _pool(jobs: int | None) -> Iterator[ThreadPoolExecutor]:
    """Workers; threads do, because the work is done by processes that Yosys runs in."""
    check_jobs(jobs)
    yosys.version()
    with ThreadPoolExecutor(jobs or os.cpu_count()) as executor:
        yield executor


def _check_renamings(arguments: argparse.Namespace) -> None:
    for name, value, most in (("renamings", arguments.renamings, MAX_RENAMINGS), ("seed", arguments.seed, MAX_SEED)):
        if not 1 <= value <= most:
            raise ValueError(f"--{name} must be from 1 to {most}, not {value}")


def area(design: Design, arguments: argparse.Namespace) -> int:
    """Measure one design; 0 if every target delivered, else 1.

    Raises
    ------
    ValueError
        One sentence that names the option.
    """
    _check_renamings(arguments)
    with option("--liberty"):
        libraries = liberty.read_all(arguments.liberty)
    targets = ([] if libraries else ["gates"]) if arguments.target is None else list(dict.fromkeys(arguments.target.split(",")))
    if libraries and LIBERTY not in targets:
        targets.append(LIBERTY)
    for name in targets:
        if name not in TARGETS and not (name == LIBERTY and libraries):
            raise ValueError(f"--target must be one of {', '.join(TARGETS)}, or {LIBERTY} together with --liberty, not {name!r}")
    with _pool(arguments.jobs) as executor:
        with option("--store"):
            store = Store(arguments.store) if arguments.store else None
        text = verilog(design, store)
        jobs = area_jobs(design, text, targets, arguments.portfolio, arguments.renamings, libraries, arguments.seed)
        outcomes = list(measure(jobs, executor, Progress() if sys.stderr.isatty() else None, store=store))
    rows = [row for outcome in outcomes for row in outcome.rows]
    if arguments.json:
        print(json.dumps(rows, indent=2))
    else:
        print("\n".join(_table(rows)))
    return _complain(outcomes)


def _table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    width = max((len(_where(row)) for row in rows), default=0)
    yield f"{'target':{width}} {'recipe':14} {'metric':8} {'median':>10} {'min':>10} {'max':>10}  unit"
    for row in rows:
        best = row["recipe"] == "best"
        if best and "timer" in row:  # a curve: each of its points is a figure
            continue
        recipe = f"{row['best_recipe']} *" if best else row["recipe"]
        told = best or "timer" in row
        others = [f"{key.removeprefix('median_')} {value:g}" for key, value in row.items() if told and key.startswith("median_")]
        yield (
            f"{_where(row):{width}} {recipe:14} {row['metric']:8} {row['median']:10.1f} {row['min']:10.1f} {row['max']:10.1f}"
            f"  {row['unit']}{'; ' if others else ''}{', '.join(others)}"
        )
    for timer in dict.fromkeys(row["timer"] for row in rows if "timer" in row):
        yield f"delays: medians of {counted(rows[0]['renamings'], 'renaming')} by {timer}"
    if any("timer" not in row for row in rows):
        yield f"* the figure: the lowest median over the recipes, of {counted(rows[0]['renamings'], 'renaming')} each; {rows[0]['tool']}"


def _where(row: dict[str, Any]) -> str:
    """The target as the table calls it: a library by its name."""
    return " + ".join(row["libraries"]) if row["target"] == LIBERTY else str(row["target"])


def _complain(outcomes: Iterable[Outcome]) -> int:
    failed = [outcome for outcome in outcomes if outcome.error]
    for outcome in failed:
        print(f"hwgen: {outcome.error}", file=sys.stderr)
        if outcome.log:
            print("\n".join(outcome.log.splitlines()[-10:]), file=sys.stderr)
    return 1 if failed else 0


def report(arguments: argparse.Namespace) -> int:
    """Measure a set of formats, write the report, and hold it against an older one.

    Returns
    -------
    int
        0 if every job delivered and nothing grew by more than is allowed, else 1 (the report tells which job did not).

    Raises
    ------
    ValueError
        One sentence that names the option.
    """
    _check_renamings(arguments)
    formats = _formats(arguments.formats)
    with option("--liberty"):
        libraries = liberty.read_all(arguments.liberty)
    swept = [load.rows(file, "--sweep") for file in arguments.sweep or []]
    measures = bool(arguments.formats or not swept)
    if not measures and arguments.liberty:
        raise ValueError("--liberty: with --sweep nothing is measured unless --formats says what")
    accuracy = None if arguments.accuracy is None else load.accuracy(arguments.accuracy)
    rows = [row for sweep in swept for row in sweep["rows"]]
    older = _older(arguments, rows, measures)
    if older and not measures and arguments.output is None:  # two files are compared
        return _compared(older, rows)
    folder = Path(arguments.output or "build/report")
    with option("-o"):
        check_writable(folder)
    with option("--store"):
        store = Store(arguments.store)
    with _pool(arguments.jobs) as executor:
        jobs: list[Job] = []
        if measures:
            jobs = report_jobs(
                list(formats), lambda kind, name, **options: build.BLOCKS[kind](formats.get(name, name), **options), arguments.renamings,
                lambda designs: executor.map(lambda design: verilog(design, store), designs), libraries,
                arguments.formats in (None, "all"), arguments.seed,
            )  # fmt: skip
        if older and not {row["name"] for row in older.rows} & {*(job.top for job in jobs), *(row["name"] for row in rows)}:
            raise ValueError(_NOTHING_COMMON)  # before minutes are spent
        outcomes = list(measure(jobs, executor, Progress(), store=store))
    try:
        found = with_sweeps(assemble(outcomes, list(formats), accuracy, _evidence(arguments.evidence)), swept)
        found["snr"] = ratios(formats.get(name, name) for name in found["formats"])
        render(found, folder)
    except OSError as error:
        raise ValueError(f"-o: {str(folder)!r} cannot be written to: {error.strerror}") from error
    print(folder / "index.html")
    return max(_complain(outcomes), _compared(older, found["rows"]) if older else 0)


_NOTHING_COMMON = "--compare: the two reports have no figure in common"


class _Older(NamedTuple):
    """Rows of an older report, and by what share figures may grow, if that is limited."""

    rows: list[Row]
    above: float | None


def _older(arguments: argparse.Namespace, rows: Sequence[Row], measures: bool) -> _Older | None:
    """What to compare with; ``rows`` are the new ones that need not be measured."""
    limit = arguments.fail_above
    if arguments.compare is None:
        if limit is not None:
            raise ValueError("--fail-above: it goes with --compare only")
        return None
    old: list[Row] = load.rows(arguments.compare, "--compare")["rows"]
    if limit is None:
        return _Older(old, None)
    try:
        above = compare.percentage(limit)
        compare.check_spreads([*old, *rows])
    except ValueError as error:
        raise ValueError(f"--fail-above: {error}") from error
    if measures and arguments.renamings < 2:
        raise ValueError("--fail-above: of one renaming no spread is known; --renamings must be at least 2")
    return _Older(old, above)


def _compared(older: _Older, rows: Sequence[Row]) -> int:
    """Print what has changed; 1 if a figure grew by more than is allowed."""
    found = compare.compare(older.rows, rows)
    if not found.common:
        raise ValueError(_NOTHING_COMMON)
    print("\n".join(compare.lines(found, older.above)))
    return 1 if older.above is not None and found.grown(older.above) else 0


def _formats(text: str | None) -> dict[str, Format]:
    """The formats to compare, by name."""
    names = FORMATS if text is None else golden.names() if text == "all" else [name for name in text.split(",") if name]
    if not names:
        raise ValueError("--formats must name at least one format, or all")
    with option("--formats"):
        found = [block_format(name) for name in names]
    named: dict[str, Format] = {}
    for fmt in found:
        if named.setdefault(fmt.identifier, fmt) != fmt:
            raise ValueError(f"--formats: two of them are called {fmt.identifier!r}; give one another name")
    return {fmt.name: fmt for fmt in named.values()}


def _evidence(folder: str) -> list[dict[str, Any]]:
    """What is known of modules by the golden model of today; nothing where there is no such folder."""
    if not Path(folder).is_dir():
        return []
    today = program_hashes()["golden"]
    return [found.record() for found in EvidenceStore(Path(folder)) if found.hashes.get("golden") == today]
