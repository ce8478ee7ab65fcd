"""Where jobs run: on this machine's cores, or on a Dask cluster. Jobs go out as text and come back as plain data.

A pool loses workers without losing jobs: what was lost is run again, up to :data:`TRIES` times.
"""

import os
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Protocol

import golden
import hwgen
import synth
from hwgen.tools import process, yosys
from hwgen.tools.process import ToolError
from synth.area.digest import sha256, texts
from synth.area.jobs import Job, execute

if TYPE_CHECKING:
    from distributed import Client

TRIES = 4
"""How often a job is started before it counts as failed."""

CONNECT = 10.0
"""Seconds that a scheduler may take to answer at first."""

RECONNECT = 60.0
"""Seconds for which a scheduler may be away."""

SUFFIXES = (".py", ".v", ".lib")
"""Of the files that results depend on."""

Result = dict[str, Any]


class PoolError(ToolError):
    """A pool that cannot go on."""


class Pool(Protocol):
    """Runs jobs."""

    slots: int
    """Jobs that run at the same time."""

    def submit(self, job: Job, timeout: float | None) -> Future[Result]:
        """What :func:`synth.area.jobs.execute` says of a job, some time."""

    def close(self) -> None:
        """Give up what has not begun."""


@cache
def program() -> str:
    """SHA-256 of all that makes a result besides the job: these packages' files and the tool's version."""
    found = [text for package in (golden, hwgen, synth) for text in texts(package, *SUFFIXES)]
    return sha256(*found, version("minifloat-rtl"), yosys.version())


class LocalPool:
    """Workers on this machine: threads do, because the work is done in processes of the synthesis tool."""

    def __init__(self, workers: int | None = None):
        yosys.version()
        self.slots = workers or os.cpu_count() or 1
        self._executor = ThreadPoolExecutor(self.slots)
        self._closed = threading.Event()

    def submit(self, job: Job, timeout: float | None) -> Future[Result]:
        """Run a job when a worker is free."""
        return self._executor.submit(_persistently, job, timeout, self._closed)

    def close(self) -> None:
        """Give up what has not begun, and end what has."""
        self._closed.set()
        self._executor.shutdown(wait=False, cancel_futures=True)
        process.stop()


def _persistently(job: Job, timeout: float | None, closed: threading.Event | None = None) -> Result:
    """Run a job again when its process was killed, unless that was because its pool is ``closed``."""
    for _ in range(TRIES):
        result = execute(job, timeout)
        if not result.get("killed") or (closed is not None and closed.is_set()):
            break
    return result


def remote(job: Job, timeout: float | None, expected: str) -> Result:
    """On a worker of a cluster: refuse to work for another version."""
    found = program()
    if found != expected:
        raise PoolError(f"a worker runs another version of the program or its tools ({found[:12]} instead of {expected[:12]})")
    return _persistently(job, timeout)


class DaskPool:
    """Workers of a Dask cluster. The scheduler may go and come back, workers may come and go.

    Parameters
    ----------
    address : str
        Of the scheduler, e.g. ``tcp://127.0.0.1:8786``.
    patience : float
        Seconds for which the scheduler may be away.
    expected : str, optional
        What :func:`program` must say on every worker; default: what it says here.

    Raises
    ------
    PoolError
        If there is no such scheduler, no Dask, or a worker of another version.
    """

    def __init__(self, address: str, patience: float = RECONNECT, expected: str | None = None):
        self.address, self.patience = address, patience
        self.expected = program() if expected is None else expected
        self._lock = threading.RLock()
        self._waiting: dict[Future[Result], tuple[Job, float | None, int, Any]] = {}
        self._closed = False
        self._client = self._connect(CONNECT)
        self._check_workers()
        self.slots = max(1, sum(self._client.nthreads().values()))
        self._watch = threading.Thread(target=self._watch_connection, daemon=True)
        self._watch.start()

    def _connect(self, patience: float) -> "Client":
        try:
            from distributed import Client
        except ImportError:
            raise PoolError("it needs the package's extra: pip install 'minifloat-rtl[dask]'") from None
        until = time.monotonic() + patience
        while True:
            try:
                return Client(self.address, timeout="5s", set_as_default=False)
            except (OSError, TimeoutError) as error:
                if time.monotonic() > until or self._closed:
                    raise PoolError(f"there is no Dask scheduler at {self.address!r}: {' '.join(str(error).split())}") from None
                time.sleep(0.5)

    def _check_workers(self) -> None:
        for worker, found in self._client.run(program).items():
            if found != self.expected:
                raise PoolError(f"the worker {worker} runs another version of the program or its tools; install the same one everywhere")

    def submit(self, job: Job, timeout: float | None) -> Future[Result]:
        """Send a job to the scheduler."""
        future: Future[Result] = Future()
        with self._lock:
            self._send(future, job, timeout, 1)
        return future

    def _send(self, future: Future[Result], job: Job, timeout: float | None, tries: int) -> None:
        sent = self._client.submit(remote, job, timeout, self.expected, pure=False, retries=TRIES)
        self._waiting[future] = job, timeout, tries, sent
        sent.add_done_callback(partial(self._finished, future))

    def _finished(self, future: Future[Result], sent: Any) -> None:
        """Hand a result on, or a failure for good; what was lost is left to the watch."""
        with self._lock:
            if self._closed or future not in self._waiting:
                return
            job, timeout, tries, latest = self._waiting[future]
            if sent is not latest:
                return
            if sent.status == "finished":
                try:
                    result = sent.result(timeout=30)
                except Exception:  # it was lost on its way, for whatever reason
                    return
                del self._waiting[future]
                future.set_result(result)
            elif sent.status == "error":
                error = sent.exception(timeout=30)
                if isinstance(error, PoolError) or tries >= TRIES:
                    del self._waiting[future]
                    future.set_exception(error if isinstance(error, PoolError) else PoolError(f"its worker was lost {tries} times"))
                else:
                    self._send(future, job, timeout, tries + 1)

    def _watch_connection(self) -> None:
        """Send again what has no result and is under way no more: a scheduler that goes takes all it knew with it."""
        while not self._closed:
            time.sleep(0.5)
            try:
                if self._client.status not in ("running", "connecting"):
                    fresh = self._connect(self.patience)
                    with self._lock:
                        self._client = fresh
                with self._lock:
                    if self._client.status == "running" and not self._closed:
                        for future, (job, timeout, tries, sent) in list(self._waiting.items()):
                            if sent.client is not self._client or sent.status in ("cancelled", "lost"):
                                self._send(future, job, timeout, tries)
            except PoolError as error:
                with self._lock:
                    for future in self._waiting:
                        future.set_exception(error)
                    self._waiting.clear()
                return
            except Exception:  # the connection broke in the middle: the next round sees to it
                continue

    def close(self) -> None:
        """Forget what has no result."""
        self._closed = True
        with self._lock:
            self._waiting.clear()
            self._client.close(timeout=5)
