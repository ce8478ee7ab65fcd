"""Checks of options and messages that several commands share."""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence

from golden.refusal import BadValue
from hwgen.tools.progress import Progress
from synth.area.jobs import AS_EMITTED, MAX_RENAMINGS, MAX_SEED, Measurement
from synth.area.pool import Pool
from synth.area.rows import Row
from synth.area.runner import Outcome, measure_all
from synth.area.store import Store


def check_jobs(jobs: int | None) -> None:
    """Refuse fewer than one parallel job; None stands for one per core."""
    if jobs is not None and jobs < 1:
        raise BadValue("--jobs", f"must be at least 1, not {jobs}")


def check_renamings(arguments: argparse.Namespace) -> None:
    """Refuse numbers of renamings, and seeds, that are out of range."""
    for name, value, least, most in (
        ("--renamings", arguments.renamings, 1, MAX_RENAMINGS),
        ("--seed", arguments.seed, AS_EMITTED, MAX_SEED),
    ):
        if not least <= value <= most:
            raise BadValue(name, f"must be from {least} to {most}, not {value}")


def print_failures(outcomes: Iterable[Outcome]) -> int:
    """Print each failure with the end of its log; return the exit status."""
    failed = [outcome for outcome in outcomes if outcome.error]
    for outcome in failed:
        print(f"hwgen: {outcome.error}", file=sys.stderr)
        if outcome.log:
            print("\n".join(outcome.log.splitlines()[-10:]), file=sys.stderr)
    return 1 if failed else 0


def measure_and_print(
    jobs: Sequence[Measurement],
    pool: Pool,
    store: Store | None,
    table: Callable[[Sequence[Row]], Iterable[str]],
    as_json: bool,
) -> int:
    """Measure jobs and print their rows, also those before an interrupt, and the failures; return the exit status."""
    outcomes: dict[Measurement, Outcome] = {}

    def print_all() -> int:
        done = [outcomes[job] for job in jobs if job in outcomes]
        rows = [row for outcome in done for row in outcome.rows]
        if as_json:
            print(json.dumps([row.to_json() for row in rows], indent=2))
        elif rows:
            print("\n".join(table(rows)))
        if len(done) < len(jobs):
            print(f"hwgen: {len(done)} of {len(jobs)} jobs are done", file=sys.stderr)
        return print_failures(done)

    try:
        measure_all(jobs, pool, store, Progress() if sys.stderr.isatty() else None, outcomes)
    except (KeyboardInterrupt, SystemExit):
        print_all()
        raise
    return print_all()
