"""Jobs on a Dask cluster, which must be trusted: jobs, results and errors are pickled by Dask.

If a worker is lost, its jobs run again, up to :data:`synth.area.pool.TRIES` times.
"""

import threading
import time
from concurrent.futures import Future
from functools import partial
from typing import Any

from synth.area.jobs import Measurement, Samples
from synth.area.pool import TRIES, execute_with_retries
from synth.sweep.cluster import PoolError, check_program, checked, connect, program, threads

RECONNECT = 60.0
"""Seconds to wait for a scheduler that has gone away."""


def remote(job: Measurement, timeout: float | None, expected: str) -> Samples:
    """Run a job on a worker of a cluster, which must have the expected version of the program."""
    check_program(expected)
    return execute_with_retries(job, timeout)


class DaskPool:
    """Workers of a Dask cluster. The scheduler may restart; workers may join and leave.

    Parameters
    ----------
    address : str
        Address of the scheduler, e.g. ``tcp://127.0.0.1:8786``.
    patience : float
        Seconds to wait for a scheduler that has gone away.
    expected : str, optional
        Required value of :func:`program` on every worker; default: its value here.

    Raises
    ------
    BadValue
        If Dask is not installed, the scheduler does not answer, or a worker has another version.

    The future of a job fails with the job's ToolError or OSError, or with a PoolError if too many of its workers are
    lost or the scheduler does not return. Any other exception is a bug; the future has it with the worker's traceback.
    """

    def __init__(self, address: str, patience: float = RECONNECT, expected: str | None = None):
        self.address, self.patience = address, patience
        self.expected = program() if expected is None else expected
        self._lock = threading.RLock()
        self._waiting: dict[Future[Samples], tuple[Measurement, float | None, int, Any]] = {}
        self._closed = False
        self._client = checked(address, self.expected)
        self.slots = threads(self._client)
        threading.Thread(target=self._watch_connection, daemon=True).start()

    def submit(self, job: Measurement, timeout: float | None) -> Future[Samples]:
        """Send a job to the scheduler."""
        future: Future[Samples] = Future()
        with self._lock:
            self._send(future, job, timeout, 1)
        return future

    def _send(self, future: Future[Samples], job: Measurement, timeout: float | None, tries: int) -> None:
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
