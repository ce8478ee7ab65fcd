"""Jobs on a Dask cluster, whose workers must have our version of the program.

It must be trusted: jobs, results and errors are pickled by Dask. If a worker is lost, its jobs run again, up to
:data:`synth.area.runner.TRIES` times.
"""

import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache, partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from golden.refusal import BadValue
from hwgen.tools import yosys
from hwgen.tools.process import ToolError
from synth.area.digest import fingerprint, sha256
from synth.area.jobs import Job, Samples
from synth.area.runner import TRIES, execute_with_retries

if TYPE_CHECKING:
    from distributed import Client

CONNECT = 10.0
"""Seconds to wait for the first answer of a scheduler."""
RECONNECT = 60.0
"""Seconds to wait for a scheduler that has gone away."""


class PoolError(ToolError):
    """The cluster cannot run its jobs any more."""


@cache
def program() -> str:
    """SHA-256 of everything results depend on besides the job: our program, its version and the tool's."""
    files = fingerprint(__name__, "synth.energy.job")
    return sha256(files, version("minifloat-rtl"), yosys.version())


def connect(address: str, patience: float, is_given_up: Callable[[], bool] = lambda: False) -> "Client":
    """Connect to a scheduler, trying for ``patience`` seconds; a PoolError if there is no Dask, or no answer."""
    if not re.fullmatch(r"((tcp|tls)://)?[^\s/]+:\d+", address):
        raise PoolError(f"{address!r} is no address of a scheduler, which is like tcp://127.0.0.1:8786")
    try:
        from distributed import Client
    except ImportError:
        raise PoolError("Dask is not installed: pip install '.[dask]' in the clone") from None
    deadline = time.monotonic() + patience
    while True:
        try:
            return Client(address, timeout="5s", set_as_default=False)
        except (OSError, TimeoutError):
            if time.monotonic() > deadline or is_given_up():
                raise PoolError(f"there is no Dask scheduler at {address!r}") from None
            time.sleep(0.5)


def checked(address: str, expected: str) -> "Client":
    """Connect to a scheduler whose workers all have the expected value of :func:`program`.

    It is refused if Dask is not installed, the scheduler does not answer, or a worker has another version.
    """
    try:
        client = connect(address, CONNECT)
    except PoolError as error:
        raise BadValue("dask", str(error), ": ") from error
    for worker, program_there in client.run(program).items():
        if program_there != expected:
            problem = "runs another version of the program or its tools; install the same one everywhere"
            raise BadValue("dask", f"the worker {worker} {problem}", ": ")
    return client


def threads(client: "Client") -> int:
    """Number of jobs that the workers run at the same time, at least 1."""
    return max(1, sum(client.nthreads().values()))


def remote(job: Job, timeout: float | None, expected: str) -> Samples:
    """Run a job on a worker of a cluster, which must have the expected version of the program."""
    here = program()
    if here != expected:
        versions = f"{here[:12]} instead of {expected[:12]}"
        raise PoolError(f"a worker runs another version of the program or its tools ({versions})")
    return execute_with_retries(job, timeout)


class DaskPool:
    """Workers of a Dask cluster. The scheduler may restart; workers may join and leave.

    ``patience`` are the seconds to wait for a scheduler that has gone away, ``expected`` is the required value of
    :func:`program` on every worker, by default the value here; see :func:`checked` for what is refused.

    The future of a job fails with the job's ToolError or OSError, or with a PoolError if too many of its workers are
    lost or the scheduler does not return. Any other exception is a bug; the future has it with the worker's traceback.
    """

    def __init__(self, address: str, patience: float = RECONNECT, expected: str | None = None):
        self.address, self.patience = address, patience
        self.expected = program() if expected is None else expected
        self._lock = threading.RLock()
        self._waiting: dict[Future[Samples], tuple[Job, float | None, int, Any]] = {}
        self._closed = False
        self._client = checked(address, self.expected)
        self.slots = threads(self._client)
        threading.Thread(target=self._watch_connection, daemon=True).start()

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
        """Deliver a result or a final failure; lost jobs are left to :meth:`_watch_connection`."""
        from distributed import KilledWorker  # raised if the worker of a job died repeatedly

        with self._lock:
            entry = self._waiting.get(future)
            if self._closed or entry is None or entry[-1] is not sent:
                return
            job, timeout, tries, _ = entry
            if sent.status == "finished":
                try:
                    result = sent.result(timeout=30)
                except Exception:  # the result was lost in transit
                    return
                del self._waiting[future]
                if future.set_running_or_notify_cancel():
                    future.set_result(result)
            elif sent.status == "error":
                error = sent.exception(timeout=30)
                if tries < TRIES and isinstance(error, (KilledWorker, OSError)):
                    self._send(future, job, timeout, tries + 1)
                elif isinstance(error, KilledWorker):
                    self._fail(future, PoolError(f"the worker was lost {tries} times"))
                else:
                    self._fail(future, error.with_traceback(sent.traceback(timeout=30)))

    def _fail(self, future: Future[Samples], error: Exception) -> None:
        del self._waiting[future]
        if future.set_running_or_notify_cancel():
            future.set_exception(error)

    def _watch_connection(self) -> None:
        """Send jobs again that are neither finished nor running: a scheduler that restarts has forgotten all jobs."""
        while not self._closed:
            time.sleep(0.5)
            try:
                if self._client.status not in ("running", "connecting"):
                    self._client = connect(self.address, self.patience, lambda: self._closed)
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
            except Exception:  # the connection broke meanwhile: try again in the next round
                continue

    def close(self) -> None:
        """Drop the jobs that have no result, and disconnect."""
        self._closed = True
        with self._lock:
            self._waiting.clear()
            self._client.close(timeout=5)
