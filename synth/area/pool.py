"""Where jobs run: the interface of a pool, and the pool of workers on this machine."""

import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from golden.refusal import BadValue
from hwgen.tools import process, yosys
from hwgen.tools.process import ToolError
from synth.area.jobs import Measurement, Samples, execute

TRIES = 4
"""How often a job is started before it counts as failed."""


class Pool(Protocol):
    """Runs jobs."""

    slots: int
    """Number of jobs that run at the same time."""

    def submit(self, job: Measurement, timeout: float | None) -> Future[Samples]:
        """Schedule :func:`synth.area.jobs.execute` for a job."""

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

    def submit(self, job: Measurement, timeout: float | None) -> Future[Samples]:
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


def execute_with_retries(job: Measurement, timeout: float | None, closed: threading.Event | None = None) -> Samples:
    """Run a job, and run it again if its process was killed, unless its pool is ``closed``."""
    with process.job():
        for _ in range(TRIES - 1):
            try:
                return execute(job, timeout)
            except ToolError as error:
                if not error.killed or (closed is not None and closed.is_set()):
                    raise
        return execute(job, timeout)
