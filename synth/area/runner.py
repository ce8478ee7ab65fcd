"""Runs area jobs through a pool and a store, each job once, and reports progress."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from hwgen.tools.ahead import completed
from hwgen.tools.process import ToolError
from hwgen.tools.progress import Progress
from synth.area.jobs import Measurement, Samples, rows
from synth.area.pool import Pool
from synth.area.rows import Row
from synth.area.store import Store

AHEAD = 2
"""Jobs submitted per slot of a pool: no slot waits for work, and memory does not grow with the number of jobs."""


@dataclass(frozen=True)
class Outcome:
    """Result of a job, or its failure.

    Attributes
    ----------
    job : Measurement
    rows : tuple of Row
        Empty if the job failed.
    error : str or None
        One sentence if the job failed.
    log : str
        Output of the tool that failed.
    known : bool
        Whether the result came from the store.
    """

    job: Measurement
    rows: tuple[Row, ...]
    error: str | None = None
    log: str = ""
    known: bool = False


def measure(
    jobs: Iterable[Measurement], pool: Pool, store: Store | None = None, timeout: float | None = None
) -> Iterator[Outcome]:
    """Run jobs and yield their outcomes as they finish, in any order.

    A job whose tool or file access fails yields an outcome with the error, and the other jobs continue. Any other
    exception is a bug and is raised unchanged. A result is stored before it is yielded, so it survives an interrupt.

    Parameters
    ----------
    jobs : iterable of Job
        Consumed as the pool has room.
    pool : Pool
    store : Store, optional
        Keeps results; jobs whose results it has are not run.
    timeout : float, optional
        Seconds that each job may take.
    """

    def submit(job: Measurement) -> Future[Samples]:
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
        yield Outcome(job, tuple(rows(job, samples)), known=known)


class _Known(Future[Samples]):
    """A result from the store."""

    def __init__(self, samples: Samples):
        super().__init__()
        self.set_result(samples)


def measure_all(
    jobs: Sequence[Measurement],
    pool: Pool,
    store: Store | None = None,
    progress: Progress | None = None,
    outcomes: dict[Measurement, Outcome] | None = None,
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
