"""Runs jobs through a pool, on this machine or elsewhere, and a store, each job once, and reports progress."""

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from golden.refusal import BadValue
from hwgen.tools import process, yosys
from hwgen.tools.ahead import completed
from hwgen.tools.process import ToolError
from hwgen.tools.progress import Progress
from synth.area.jobs import Job, Samples
from synth.area.rows import Row
from synth.area.store import Store

AHEAD = 2
"""Jobs submitted per slot of a pool: no slot waits for work, and memory does not grow with the number of jobs."""
TRIES = 4
"""How often a job is started before it counts as failed."""


class Pool(Protocol):
    """Runs jobs."""

    slots: int
    """Number of jobs that run at the same time."""

    def submit(self, job: Job, timeout: float | None) -> Future[Samples]:
        """Schedule the execution of a job."""

    def close(self) -> None:
        """Cancel the jobs that have not started."""


class LocalPool:
    """Workers on this machine, one per core by default. Leaving its context closes the pool.

    Threads are enough, because the work is done in processes of the synthesis tool.
    """

    def __init__(self, jobs: int | None = None):
        if jobs is not None and jobs < 1:
            raise BadValue("jobs", f"must be at least 1, not {jobs}")
        yosys.version()  # its very first call compiles the tool, which two workers must not do at once
        self.slots = jobs or os.cpu_count() or 1
        self._executor = ThreadPoolExecutor(self.slots)
        self._closed = threading.Event()

    def submit(self, job: Job, timeout: float | None) -> Future[Samples]:
        """Run a job as soon as a worker is free."""
        return self._executor.submit(execute_with_retries, job, timeout, self._closed)

    def close(self) -> None:
        """Cancel the jobs that have not started, and stop the tools of the others."""
        self._closed.set()
        self._executor.shutdown(wait=False, cancel_futures=True)
        process.stop()

    def __enter__(self) -> "LocalPool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._executor.shutdown()  # the workers remove their temporary folders


def execute_with_retries(job: Job, timeout: float | None, closed: threading.Event | None = None) -> Samples:
    """Run a job, and run it again if its process was killed, unless its pool is ``closed``."""
    with process.job():
        for _ in range(TRIES - 1):
            try:
                return job.execute(timeout)
            except ToolError as error:
                if not error.killed or (closed is not None and closed.is_set()):
                    raise
        return job.execute(timeout)


@dataclass(frozen=True)
class Outcome:
    """The rows of a job, or a sentence on its failure with the output of the tool that failed."""

    job: Job
    rows: tuple[Row, ...]
    error: str | None = None
    log: str = ""
    known: bool = False
    """Whether the result came from the store."""


def measure(
    jobs: Iterable[Job], pool: Pool, store: Store | None = None, timeout: float | None = None
) -> Iterator[Outcome]:
    """Run jobs and yield their outcomes as they finish, in any order.

    A job whose tool or file access fails yields an outcome with the error, and the other jobs continue. Any other
    exception is a bug and is raised unchanged. A result is stored before it is yielded, so it survives an interrupt,
    and jobs whose results are in the store are not run. ``jobs`` are consumed as the pool has room; each may take
    ``timeout`` seconds.
    """

    def submit(job: Job) -> Future[Samples]:
        samples = None if store is None else store.get(job.key)
        return pool.submit(job, timeout) if samples is None else _Known(samples)

    for job, future in completed(jobs, submit, AHEAD * pool.slots):
        try:
            samples = future.result()
        except (ToolError, OSError) as error:
            kind = "" if isinstance(error, ToolError) else f"{type(error).__name__}: "
            log = error.log if isinstance(error, ToolError) else ""
            yield Outcome(job, (), f"{job.label}: {kind}{' '.join(str(error).split())}", log)
            continue
        known = isinstance(future, _Known)
        if store is not None and not known:
            store.put(job.key, samples)
        yield Outcome(job, tuple(job.rows(samples)), known=known)


class _Known(Future[Samples]):
    """A result from the store."""

    def __init__(self, samples: Samples):
        super().__init__()
        self.set_result(samples)


def measure_all(
    jobs: Sequence[Job],
    pool: Pool,
    store: Store | None = None,
    progress: Progress | None = None,
    outcomes: dict[Job, Outcome] | None = None,
) -> list[Outcome]:
    """Run jobs as :func:`measure` does, long ones first; return the outcomes in the order of ``jobs``.

    ``outcomes`` receives them as well, so that those before an interrupt are not lost.
    """
    outcomes = {} if outcomes is None else outcomes
    todo = sorted(dict.fromkeys(jobs), key=lambda job: -job.effort)
    if progress is not None:
        progress.start(sum(job.effort for job in todo))
    try:
        for outcome in measure(todo, pool, store):
            outcomes[outcome.job] = outcome
            if progress is not None:
                advance(progress, outcome, len(outcomes), len(todo), outcome.job.effort)
    finally:
        if progress is not None:
            progress.clear()
    return [outcomes[job] for job in jobs]


def advance(progress: Progress, outcome: Outcome, done: int, jobs: int, work: float = 1.0) -> None:
    """Report that ``done`` of the ``jobs`` are done, the last one with this outcome."""
    failed = outcome.error is not None
    progress.advance(f"{done}/{jobs} jobs", work, known=outcome.known, failed=failed, label=outcome.job.label)
