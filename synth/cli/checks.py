"""What several commands share: checks of options, the measurement of a design, and messages."""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence

from golden.refusal import BadValue, about
from hwgen.blocks.block import Design
from hwgen.tools.progress import Progress
from synth.area import liberty
from synth.area.jobs import AS_EMITTED, MAX_RENAMINGS, MAX_SEED, Job
from synth.area.liberty import Libraries
from synth.area.rows import Row
from synth.area.runner import LocalPool, Outcome, measure_all
from synth.area.store import Store, verilog
from synth.area.targets import LIBERTY
from synth.cli.others import Subject

MAX_JOBS = 1024
"""More than a machine can run at once; each job may take a thread, a process and open files."""


def check_jobs(jobs: int | None) -> None:
    """Refuse numbers of parallel jobs that are out of range; None stands for one per core."""
    if jobs is not None and not 1 <= jobs <= MAX_JOBS:
        raise BadValue("--jobs", f"must be from 1 to {MAX_JOBS}, not {jobs}")


def check_renamings(arguments: argparse.Namespace) -> None:
    """Refuse numbers of renamings, and seeds, that are out of range."""
    for name, value, least, most in (
        ("--renamings", arguments.renamings, 1, MAX_RENAMINGS),
        ("--seed", arguments.seed, AS_EMITTED, MAX_SEED),
    ):
        if not least <= value <= most:
            raise BadValue(name, f"must be from {least} to {most}, not {value}")


def places(arguments: argparse.Namespace) -> tuple[Libraries, list[str]]:
    """The libraries of a command, and the names of its targets: by default the libraries, or else ``gates``."""
    with about("--liberty"):
        libraries = liberty.read_all(arguments.liberty)
    from_libraries = [LIBERTY] if libraries else []
    names = (from_libraries or ["gates"]) if arguments.target is None else arguments.target.split(",")
    return libraries, list(dict.fromkeys([*names, *from_libraries]))


def print_failures(outcomes: Iterable[Outcome]) -> int:
    """Print each failure with the end of its log; return the exit status."""
    failed = [outcome for outcome in outcomes if outcome.error]
    for outcome in failed:
        print(f"hwgen: {outcome.error}", file=sys.stderr)
        if outcome.log:
            print("\n".join(outcome.log.splitlines()[-10:]), file=sys.stderr)
    return 1 if failed else 0


def measure_and_print(
    modules: Sequence[Subject],
    arguments: argparse.Namespace,
    plan: Callable[[Design, str], Sequence[Job]],
    table: Callable[[Sequence[Row]], Iterable[str]],
) -> int:
    """Measure modules and print their rows, also those before an interrupt, and the failures; return the exit status.

    ``plan`` makes the jobs from a module and its Verilog.
    """
    with LocalPool(arguments.jobs) as pool:
        with about("--store"):
            store = Store(arguments.store) if arguments.store else None
        texts = [module.text or verilog(module.design, store) for module in modules]
        jobs = [
            job for module, text in zip(modules, texts, strict=True) for job in module.jobs(plan(module.design, text))
        ]
        outcomes: dict[Job, Outcome] = {}
        try:
            measure_all(jobs, pool, store, Progress() if sys.stderr.isatty() else None, outcomes)
        except (KeyboardInterrupt, SystemExit):
            _print(jobs, outcomes, table, arguments.json)
            raise
        return _print(jobs, outcomes, table, arguments.json)


def _print(
    jobs: Sequence[Job], outcomes: Mapping[Job, Outcome], table: Callable[[Sequence[Row]], Iterable[str]], as_json: bool
) -> int:
    """Print the rows of the outcomes and the failures; return the exit status."""
    done = [outcomes[job] for job in jobs if job in outcomes]
    rows = [row for outcome in done for row in outcome.rows]
    if as_json:
        print(json.dumps([row.to_json() for row in rows], indent=2))
    elif rows:
        print("\n".join(table(rows)))
    if len(done) < len(jobs):
        print(f"hwgen: {len(done)} of {len(jobs)} jobs are done", file=sys.stderr)
    return print_failures(done)
