"""What ``hwgen sweep`` does with its options."""

import argparse
import sys
from pathlib import Path

from synth.runner import Outcome
from synth.store import Store, StoreError
from synth.sweep import engine, space
from synth.sweep.pools import DaskPool, LocalPool, Pool, PoolError


def sweep(arguments: argparse.Namespace) -> int:
    """Run the jobs of a file; 0 if all delivered, else 1.

    Raises
    ------
    ValueError
        One sentence that names the option.
    """
    if arguments.jobs is not None and (arguments.jobs < 1 or arguments.dask):
        raise ValueError("--jobs must be at least 1, and goes with this machine's cores, not with --dask")
    if arguments.timeout <= 0:
        raise ValueError(f"--timeout must be positive, not {arguments.timeout:g}")
    try:
        described = space.read(arguments.file)
    except ValueError as error:
        raise ValueError(f"FILE: {error}") from error
    try:
        store = Store(arguments.store)
    except ValueError as error:
        raise ValueError(f"--store: {error}") from error
    total = sum(1 for _ in described.designs()) * len(described.targets)
    try:
        pool: Pool = DaskPool(arguments.dask) if arguments.dask else LocalPool(arguments.jobs)
    except PoolError as error:
        raise ValueError(f"--dask: {error}") from error
    progress = engine.Progress(total)
    failures: list[Outcome] = []
    try:
        for outcome in engine.run(engine.jobs(described, store), pool, store, arguments.timeout):
            progress.advance(outcome)
            if outcome.error is not None:
                failures.append(outcome)
                print(f"hwgen: {outcome.error}", file=sys.stderr)
    except KeyboardInterrupt:
        print(f"hwgen: interrupted; {progress.done} of {total} jobs are done and kept, the same command goes on", file=sys.stderr)
        return 130
    finally:
        pool.close()
        progress.close()
    try:
        print(engine.write(described, store, failures, Path(arguments.output)))
    except StoreError:
        raise
    except OSError as error:
        raise ValueError(f"-o: {arguments.output!r} cannot be written to: {error.strerror}") from error
    return 1 if failures else 0
