"""Runs jobs through an executor, and says how far it is."""

import queue
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from functools import partial
from typing import Any, TextIO

from hwgen.tools import process, yosys
from hwgen.tools.process import ToolError
from synth.area.jobs import Job, Row, execute, rows
from synth.area.store import Store


@dataclass(frozen=True)
class Outcome:
    """What became of a job.

    Attributes
    ----------
    job : Job
    rows : tuple of dict
        Empty when the job failed.
    error : str or None
        One sentence when it did, and
    log : str
        what the tool had said.
    """

    job: Job
    rows: tuple[Row, ...]
    error: str | None = None
    log: str = ""


class Progress:
    """Counts finished jobs on a stream: one line that is rewritten on a terminal, a line now and then elsewhere.

    Parameters
    ----------
    stream : text stream, optional
        Standard error unless given.
    every : float
        Seconds between lines where there is no terminal.
    """

    def __init__(self, stream: TextIO | None = None, every: float = 30.0):
        self._stream = sys.stderr if stream is None else stream
        self._terminal = self._stream.isatty()
        self._every = every

    def start(self, jobs: int, effort: float) -> None:
        """Begin to count ``jobs`` jobs of ``effort`` in all."""
        self._jobs, self._effort = jobs, effort
        self._done = self._failed = 0
        self._spent = 0.0
        self._began = self._told = time.monotonic()

    def advance(self, outcome: Outcome) -> None:
        """Count a job that has finished."""
        self._done += 1
        self._failed += outcome.error is not None
        self._spent += outcome.job.effort
        now = time.monotonic()
        if not self._terminal and now - self._told < self._every and self._done < self._jobs:
            return
        self._told = now
        left = (now - self._began) * (self._effort - self._spent) / self._spent
        failed = f", {self._failed} failed" if self._failed else ""
        text = f"{self._done}/{self._jobs} jobs{failed}, about {_minutes(left)} left, last: {outcome.job.label}"
        self._stream.write(f"\r\x1b[2K{text[:110]}" if self._terminal else f"{text}\n")
        self._stream.flush()

    def close(self) -> None:
        """Leave the line behind."""
        if self._terminal:
            self._stream.write("\n")


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def _announce(finished: queue.SimpleQueue[int], number: int, _: Future[Any]) -> None:
    finished.put(number)


def _submit(job: Job, executor: Executor, timeout: float | None, store: Store | None) -> Future[dict[str, Any]]:
    """A job under way, or what the store holds of it."""
    known = store.get(job.key) if store is not None else None
    if known is None:
        return executor.submit(execute, job, timeout)
    future: Future[dict[str, Any]] = Future()
    future.set_result({"samples": known})
    return future


def outcome_of(job: Job, future: Future[dict[str, Any]], store: Store | None) -> Outcome:
    """What became of a job that has finished; the store keeps what succeeded."""
    error = future.exception()
    if error is not None:
        kind = "" if isinstance(error, ToolError) else f"{type(error).__name__}: "
        return Outcome(job, (), f"{job.label}: {kind}{' '.join(str(error).split())}", repr(error))
    result = future.result()
    if "samples" not in result:
        return Outcome(job, (), result["error"], result["log"])
    if store is not None:
        store.put(job.key, result["samples"])
    return Outcome(job, tuple(rows(job, result["samples"])))


def measure(
    jobs: Iterable[Job],
    executor: Executor,
    progress: Progress | None = None,
    timeout: float | None = None,
    store: Store | None = None,
) -> Iterator[Outcome]:
    """Run jobs and yield their outcomes in the order of the jobs, whatever the order in which they finish.

    A job that fails yields an outcome with its error; the others go on. Long jobs start first. When the iteration is broken off, by
    an interrupt or otherwise, jobs that have not begun are cancelled and Yosys runs of this process are ended.

    Parameters
    ----------
    jobs : iterable of Job
    executor : concurrent.futures.Executor
        Threads do: the work is Yosys's, in processes of its own.
    progress : Progress, optional
    timeout : float, optional
        Seconds that each job may take.
    store : Store, optional
        Keeps what succeeds; what it holds already is not run.
    """
    todo = list(jobs)
    yosys.version()  # its first call ever compiles the tool, which no two workers should do at once
    if progress is not None:
        progress.start(len(todo), sum(job.effort for job in todo))
    finished: queue.SimpleQueue[int] = queue.SimpleQueue()
    futures: dict[int, Future[dict[str, Any]]] = {}
    outcomes: dict[int, Outcome] = {}
    following = 0
    try:
        for number in sorted(range(len(todo)), key=lambda number: -todo[number].effort):
            futures[number] = _submit(todo[number], executor, timeout, store)
            futures[number].add_done_callback(partial(_announce, finished, number))
        for _ in todo:
            number = finished.get()
            future = futures.pop(number)
            outcomes[number] = outcome_of(todo[number], future, store)
            if progress is not None:
                progress.advance(outcomes[number])
            while following in outcomes:
                yield outcomes.pop(following)
                following += 1
    finally:
        if futures:
            for future in futures.values():
                future.cancel()
            process.stop()
        if progress is not None:
            progress.close()
