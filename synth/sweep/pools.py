"""Jobs on a Dask cluster: they go out as text and come back as plain data.

The pool loses workers without losing jobs: what was lost is run again, up to :data:`synth.area.pool.TRIES` times.
"""

import threading
import time
from concurrent.futures import Future
from functools import cache, partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import golden
import hwgen
import synth
from golden.refusal import BadValue
from hwgen.tools import yosys
from hwgen.tools.process import ToolError
from synth.area.digest import sha256, texts
from synth.area.jobs import Job, Samples
from synth.area.pool import TRIES, persistently

if TYPE_CHECKING:
    from distributed import Client

CONNECT = 10.0
"""Seconds that a scheduler may take to answer at first."""

RECONNECT = 60.0
"""Seconds for which a scheduler may be away."""

SUFFIXES = (".py", ".v", ".lib")
"""Of the files that results depend on."""


class PoolError(ToolError):
    """A pool that cannot go on."""


@cache
def program() -> str:
    """SHA-256 of all that makes a result besides the job: these packages' files and the tool's version."""
    files = [text for package in (golden, hwgen, synth) for text in texts(package, *SUFFIXES)]
    return sha256(*files, version("minifloat-rtl"), yosys.version())


def remote(job: Job, timeout: float | None, expected: str) -> Samples:
    """On a worker of a cluster: refuse to work for another version."""
    here = program()
    if here != expected:
        raise PoolError(
            f"a worker runs another version of the program or its tools ({here[:12]} instead of {expected[:12]})"
        )
    return persistently(job, timeout)


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
    BadValue
        If there is no such scheduler, no Dask, or a worker of another version.

    A job's future fails with a ToolError or OSError where the job does, and with a PoolError where its workers are lost
    too often or the scheduler stays away; any other exception of a job is a bug, and the future has it with the
    worker's traceback.
    """

    def __init__(self, address: str, patience: float = RECONNECT, expected: str | None = None):
        self.address, self.patience = address, patience
        self.expected = program() if expected is None else expected
        self._lock = threading.RLock()
        self._waiting: dict[Future[Samples], tuple[Job, float | None, int, Any]] = {}
        self._closed = False
        try:
            self._client = self._connect(CONNECT)
        except PoolError as error:
            raise BadValue("dask", str(error), ": ") from error
        for worker, program_there in self._client.run(program).items():
            if program_there != self.expected:
                problem = "runs another version of the program or its tools; install the same one everywhere"
                raise BadValue("dask", f"the worker {worker} {problem}", ": ")
        self.slots = max(1, sum(self._client.nthreads().values()))
        threading.Thread(target=self._watch_connection, daemon=True).start()

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
                    raise PoolError(
                        f"there is no Dask scheduler at {self.address!r}: {' '.join(str(error).split())}"
                    ) from None
                time.sleep(0.5)

    def submit(self, job: Job, timeout: float | None) -> Future[Samples]:
        """Send a job to the scheduler."""
        future: Future[Samples] = Future()
        with self._lock:
            self._send(future, job, timeout, 1)
        return future

    def _send(self, future: Future[Samples], job: Job, timeout: float | None, tries: int) -> None:
        sent = self._client.submit(remote, job, timeout, self.expected, pure=False)
        self._waiting[future] = job, timeout, tries, sent
        sent.add_done_callback(partial(self._finished, future))

    def _finished(self, future: Future[Samples], sent: Any) -> None:
        """Hand a result on, or a failure for good; what was lost is left to the watch."""
        from distributed import KilledWorker  # for a job whose worker died again and again

        with self._lock:
            entry = self._waiting.get(future)
            if self._closed or entry is None or entry[-1] is not sent:
                return
            job, timeout, tries, _ = entry
            if sent.status == "finished":
                try:
                    result = sent.result(timeout=30)
                except Exception:  # it was lost on its way, for whatever reason
                    return
                del self._waiting[future]
                if future.set_running_or_notify_cancel():
                    future.set_result(result)
            elif sent.status == "error":
                error = sent.exception(timeout=30)
                if tries < TRIES and isinstance(error, (KilledWorker, OSError)):
                    self._send(future, job, timeout, tries + 1)
                elif isinstance(error, KilledWorker):
                    self._fail(future, PoolError(f"its worker was lost {tries} times"))
                else:
                    self._fail(future, error.with_traceback(sent.traceback(timeout=30)))

    def _fail(self, future: Future[Samples], error: Exception) -> None:
        del self._waiting[future]
        if future.set_running_or_notify_cancel():
            future.set_exception(error)

    def _watch_connection(self) -> None:
        """Send again what has no result and is under way no more: a scheduler that goes takes all it knew with it."""
        while not self._closed:
            time.sleep(0.5)
            try:
                if self._client.status not in ("running", "connecting"):
                    self._client = self._connect(self.patience)
                with self._lock:
                    if self._client.status == "running" and not self._closed:
                        for future, (job, timeout, tries, sent) in list(self._waiting.items()):
                            if sent.client is not self._client or sent.status in ("cancelled", "lost"):
                                self._send(future, job, timeout, tries)
            except PoolError as error:
                with self._lock:
                    for future in list(self._waiting):
                        self._fail(future, error)
                return
            except Exception:  # the connection broke in the middle: the next round sees to it
                continue

    def close(self) -> None:
        """Forget what has no result."""
        self._closed = True
        with self._lock:
            self._waiting.clear()
            self._client.close(timeout=5)
