"""What ``hwgen sweep`` does with its options."""

import argparse
import sys
from pathlib import Path

from hwgen.cli.parser import check_jobs, option
from hwgen.tools.files import check_writable
from synth.area.runner import Outcome
from synth.area.store import Store, StoreError
from synth.sweep import engine, space
from synth.sweep.pools import DaskPool, LocalPool, Pool, PoolError


def sweep(arguments: argparse.Namespace) -> int:
    """Run the jobs of a file; 0 if all delivered, else 1.

    Raises
    ------
    ValueError
        One sentence that names the option.
    """
    check_jobs(arguments.jobs)
    if arguments.jobs is not None and arguments.dask:
        raise ValueError("--jobs goes with this machine's cores, not with --dask")
    if arguments.timeout <= 0:
        raise ValueError(f"--timeout must be positive, not {arguments.timeout:g}")
    with option("-o"):
        check_writable(Path(arguments.output))
    with option("FILE"):
        described = space.read(arguments.file)
    with option("--store"):
        store = Store(arguments.store)
    total = sum(1 for _ in described.designs()) * described.places
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
