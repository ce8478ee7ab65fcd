"""Checks of options and messages that several commands share."""

import argparse
import sys
from collections.abc import Iterable

from golden.refusal import BadValue
from synth.area.jobs import AS_EMITTED, MAX_RENAMINGS, MAX_SEED
from synth.area.runner import Outcome


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
