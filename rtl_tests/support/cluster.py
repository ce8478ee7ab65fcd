"""A Dask cluster on the loopback, whose processes can be killed."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


class Cluster:
    """A scheduler and workers as separate processes."""

    def __init__(self, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address, self.folder = f"tcp://127.0.0.1:{self.port}", folder
        self.scheduler, self.workers = None, []

    def _start(self, program, *words):
        command = [sys.executable, "-W", "ignore", "-m", f"distributed.cli.{program}", *words]
        command += ["--host", "127.0.0.1", "--no-dashboard"]
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(command, cwd=self.folder, start_new_session=True, **silent)

    def start_scheduler(self):
        self.scheduler = self._start("dask_scheduler", "--port", str(self.port))

    def start_worker(self):
        self.workers.append(self._start("dask_worker", self.address, "--nthreads", "1", "--no-nanny"))

    def stop(self):
        for process in [*self.workers, self.scheduler]:
            if process is not None and process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@contextmanager
def cluster_of(workers, folder) -> Iterator[Cluster]:
    """A cluster with a number of workers."""
    cluster = Cluster(folder)
    cluster.start_scheduler()
    for _ in range(workers):
        cluster.start_worker()
    try:
        yield cluster
    finally:
        cluster.stop()
