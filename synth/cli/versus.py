"""The command ``hwgen compare``: other people's module and ours in one table."""

import argparse
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence

from golden.refusal import BadValue, about
from hwgen.blocks.block import Design
from hwgen.tools.progress import Progress
from synth.area.jobs import Job
from synth.area.plan import area_jobs
from synth.area.recipes import DEFAULT_PORTFOLIO, SPEED
from synth.area.rows import Row
from synth.area.runner import LocalPool, Outcome, measure_all
from synth.area.store import Store, verilog
from synth.cli import verify
from synth.cli.checks import check_jobs, check_renamings, places, print_failures
from synth.cli.compare import figures
from synth.cli.others import Subject, subject
from synth.report.figures import Figure, compared

_Key = tuple[str, str, str]
"""Place, quantity and recipe or timer of a figure."""


def compare(design: Design, arguments: argparse.Namespace) -> int:
    """Check a user's module, measure it and ours, and print a table; return 0 if it is equal and all was measured."""
    if arguments.verilog is None:
        raise BadValue("--verilog", "must name the module to compare with ours")
    check_renamings(arguments)
    check_jobs(arguments.jobs)
    libraries, targets = places(arguments)
    theirs = subject(design, Namespace(**{**vars(arguments), "json": True}))  # its remark is no part of the table
    status = verify.one(design, Namespace(**{**vars(arguments), "liberty": []}))
    ours = Subject(design, None, ())
    with LocalPool(arguments.jobs) as pool:
        with about("--store"):
            store = Store(arguments.store) if arguments.store else None
        jobs: list[list[Job]] = []
        for module in (ours, theirs):
            text = module.text or verilog(module.design, store)
            options = arguments.renamings, libraries, arguments.seed
            jobs.append(
                [
                    job
                    for portfolio in (DEFAULT_PORTFOLIO, SPEED)
                    for job in module.jobs(area_jobs(module.design, text, targets, portfolio, *options))
                ]
            )
        outcomes: dict[Job, Outcome] = {}
        measure_all([*jobs[0], *jobs[1]], pool, store, Progress() if sys.stderr.isatty() else None, outcomes)
    columns = [_figures([row for job in side for row in outcomes[job].rows]) for side in jobs]
    print("\n".join(_table(columns, (design.name, theirs.design.name))))
    return print_failures(outcomes.values()) or status


def _figures(rows: Sequence[Row]) -> Mapping[_Key, Figure]:
    return {key[1:]: figure for key, figure in figures(rows).items()}


def _table(columns: Sequence[Mapping[_Key, Figure]], names: tuple[str, str]) -> Iterator[str]:
    """A line for each figure of both modules, with its spread over the renamings."""
    ours, theirs = columns
    names = names if names[0] != names[1] else (f"{names[0]} (ours)", f"{names[1]} (theirs)")
    lines = [("figure", *names, "theirs against ours")]
    for key, figure in ours.items():
        if key in theirs:
            lines.append((f"{key[1]}, {key[0]}", figure.text, theirs[key].text, compared(theirs[key], figure)))
    widths = [max(len(line[place]) for line in lines) for place in range(3)]
    for line in lines:
        yield "  ".join(
            [line[0].ljust(widths[0]), line[1].rjust(widths[1]), line[2].rjust(widths[2]), line[3]]
        ).rstrip()
