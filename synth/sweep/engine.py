"""Runs a sweep's jobs through a pool and a store; and writes what came out, the same bytes whoever did the work."""

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any, TextIO

from synth.area.emission import verilog
from synth.area.jobs import Job, rows
from synth.area.runner import Outcome, outcome_of
from synth.area.store import Store
from synth.report.plan import area_jobs
from synth.sweep.pools import Pool
from synth.sweep.space import Space

AHEAD = 2
"""Jobs under way for each slot of a pool: the next one is there when one is done, and memory stays flat however many there are."""


def jobs(space: Space, store: Store) -> Iterator[Job]:
    """The jobs of a space, one after the other, in an order that depends on the space alone."""
    for design in space.designs():
        text = verilog(design, store)
        yield from area_jobs(design, text, space.targets, space.portfolio, space.renamings, space.libraries, space.seed)


def run(todo: Iterable[Job], pool: Pool, store: Store, timeout: float | None = None) -> Iterator[Outcome]:
    """Yield the outcome of each job as it is known, in no order; those in the store come at once.

    Results go to the store before they are yielded, so that nothing done is lost, whatever happens next.
    """
    source = iter(todo)
    running: dict[Future[dict[str, Any]], Job] = {}
    while True:
        while len(running) < AHEAD * pool.slots:
            job = next(source, None)
            if job is None:
                break
            known = store.get(job.key)
            if known is not None:
                yield Outcome(job, tuple(rows(job, known)))
            else:
                running[pool.submit(job, timeout)] = job
        if not running:
            return
        finished, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in finished:
            yield outcome_of(running.pop(future), future, store)


def write(space: Space, store: Store, failures: list[Outcome], folder: Path) -> Path:
    """Write ``sweep.json``: ``rows`` of every job in the order of the space, and ``failures``.

    The rows come from the store, one job at a time.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path, draft = folder / "sweep.json", folder / f".sweep-{os.getpid()}.json"
    with draft.open("w", encoding="utf-8", newline="\n") as out:
        out.write('{"rows": [')
        _write_rows(space, store, out)
        missing = sorted((one.job.top, one.job.target, one.error or "") for one in failures)
        found = [{"name": name, "target": target, "error": error} for name, target, error in missing]
        out.write(f'],\n"failures": {json.dumps(found, indent=1)}}}\n')
    os.replace(draft, path)
    return path


def _write_rows(space: Space, store: Store, out: TextIO) -> None:
    separator = "\n"
    for job in jobs(space, store):
        samples = store.get(job.key)
        for row in rows(job, samples) if samples is not None else ():
            out.write(separator + json.dumps(row))
            separator = ",\n"


class Progress:
    """How far a sweep is: a line that is rewritten on a terminal, a line a minute elsewhere.

    The time left is that of the jobs that were run, not of those that the store held.
    """

    def __init__(self, total: int, stream: TextIO | None = None, every: float = 60.0):
        self.total = total
        self._stream = sys.stderr if stream is None else stream
        self._terminal = self._stream.isatty()
        self._every = every
        self.done = self.failed = 0
        self._began = self._told = time.monotonic()
        self._first: tuple[float, int] | None = None

    def advance(self, outcome: Outcome) -> None:
        """Count an outcome."""
        now = time.monotonic()
        self.done += 1
        self.failed += outcome.error is not None
        if self._first is None and now - self._began > 1.0:
            self._first = now, self.done
        if now - self._told < (0.2 if self._terminal else self._every) and self.done < self.total:
            return
        self._told = now
        left = ""
        if self._first is not None and self.done > self._first[1]:
            seconds = (now - self._first[0]) * (self.total - self.done) / (self.done - self._first[1])
            left = f", about {seconds / 60:.0f} min left"
        failed = f", {self.failed} failed" if self.failed else ""
        text = f"{self.done}/{self.total} jobs{failed}{left}"
        self._stream.write(f"\r\x1b[2K{text}" if self._terminal else f"{text}\n")
        self._stream.flush()

    def close(self) -> None:
        """Leave the line behind."""
        if self._terminal and self.done:
            self._stream.write("\n")
