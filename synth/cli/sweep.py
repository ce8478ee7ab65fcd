"""The command ``hwgen sweep``."""

import argparse
import sys
from pathlib import Path

from golden.refusal import BadValue, about
from hwgen.tools.files import check_writable, writing
from hwgen.tools.progress import Progress
from synth.area.runner import LocalPool, Outcome, Pool, advance, measure
from synth.area.store import Store
from synth.cli.checks import check_jobs
from synth.sweep import space
from synth.sweep.cluster import DaskPool

_LONGEST = 1_000_000_000
"""Seconds that tools can wait; many systems know no more than nine times as much."""


def sweep(arguments: argparse.Namespace) -> int:
    """Run the jobs of a file and write their rows; return 0 if all jobs succeeded, else 1."""
    check_jobs(arguments.jobs)
    if arguments.jobs is not None and arguments.dask is not None:
        raise BadValue("--jobs", "sets the cores of this machine and cannot be combined with --dask")
    if not 0 < arguments.timeout <= _LONGEST:
        problem = f"must be a positive number of seconds up to {_LONGEST:,}, not {arguments.timeout:g}"
        raise BadValue("--timeout", problem)
    with about("-o"):
        check_writable(Path(arguments.output))
    with about("FILE"):
        described = space.read(arguments.file, Progress(every=None if sys.stderr.isatty() else 10.0))
    with about("--store"):
        store = Store(arguments.store)
    with about("--dask"):
        pool: Pool = DaskPool(arguments.dask) if arguments.dask is not None else LocalPool(arguments.jobs)
    progress = Progress()
    progress.start(described.total)
    done, total = 0, described.total
    failures: list[Outcome] = []
    try:
        for done, outcome in enumerate(measure(space.jobs(described, store), pool, store, arguments.timeout), 1):
            advance(progress, outcome, done, total)
            if outcome.error is not None:
                progress.clear()
                failures.append(outcome)
                print(f"hwgen: {outcome.error}", file=sys.stderr)
    except (KeyboardInterrupt, SystemExit) as reason:
        progress.clear()
        kept = f"{done} of {total} jobs are done and kept"
        print(f"hwgen: interrupted: {kept}; run the same command again to resume", file=sys.stderr)
        return 130 if isinstance(reason, KeyboardInterrupt) else int(str(reason))
    finally:
        progress.clear()
        pool.close()
    folder = Path(arguments.output)
    with about("-o"), writing(folder):
        print(space.write(described, store, failures, folder))
    return 1 if failures else 0
