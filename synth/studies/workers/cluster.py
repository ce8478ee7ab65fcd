"""A study's runs on a Dask cluster. Workers need not see the folder: the state of a run travels with its parts."""

from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from golden.refusal import BadValue
from hwgen.tools.files import write_whole
from hwgen.tools.process import ToolError
from synth.studies.training.runs import Run, files
from synth.studies.workers.study import part
from synth.sweep.cluster import PoolError, checked, program, threads

WORKERS = 60.0
"""Seconds to wait for the first worker."""
MOST = 256
"""Most parts at the same time."""

State = dict[str, bytes]
"""Files of a run in its folder, by name."""


def train_remotely(run: Run, key: str, state: State, seconds: float) -> tuple[tuple[int, int], State]:
    """Train a part on a worker, and return also the state after it.

    Files have the run's key in their names, which depends on the code and on NumPy's version.
    """
    if run.key() != key:
        raise PoolError("a worker runs another version of the program or of NumPy")
    with TemporaryDirectory() as name:
        folder = Path(name)
        _write(state, folder)
        iterations = part(run, folder, seconds, 1)
        return iterations, _read(run, folder)


class DaskTrainers:
    """Workers of a Dask cluster: a :class:`synth.studies.workers.study.Trainers`.

    Dask gives the parts of a lost worker to another one.

    Parameters
    ----------
    address : str
        Address of the scheduler, e.g. ``tcp://127.0.0.1:8786``.

    Raises
    ------
    BadValue
        If Dask is not installed, the scheduler does not answer or has no workers, or a worker has another version.
    """

    def __init__(self, address: str):
        self._client: Any = checked(address, program())
        try:
            self._client.wait_for_workers(1, timeout=WORKERS)
        except TimeoutError:
            self._client.close(timeout=5)
            raise BadValue("dask", f"the scheduler at {address!r} has no workers", ": ") from None
        self._waiters = ThreadPoolExecutor(MOST)

    @property
    def slots(self) -> int:
        """Parts that the workers of this moment train at the same time."""
        try:
            return min(threads(self._client), MOST)
        except OSError as error:
            raise _lost(error) from error

    def submit(self, run: Run, folder: Path, seconds: float) -> Future[tuple[int, int]]:
        """Send a part to the scheduler; its state is in the folder when it is done.

        The part fails with a ToolError if it was lost too often or the scheduler has gone away.
        """
        return self._waiters.submit(self._part, run, folder, seconds)

    def _part(self, run: Run, folder: Path, seconds: float) -> tuple[int, int]:
        from distributed import KilledWorker

        sent = self._client.submit(train_remotely, run, run.key(), _read(run, folder), seconds, pure=False)
        result: tuple[tuple[int, int], State]
        try:
            result = sent.result()
        except (KilledWorker, CancelledError, OSError) as error:
            raise _lost(error) from error
        iterations, state = result
        folder.mkdir(parents=True, exist_ok=True)
        _write(state, folder)
        for path in files(run, folder):
            if path.name not in state:
                path.unlink(missing_ok=True)
        return iterations

    def __enter__(self) -> "DaskTrainers":
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close(timeout=5)
        self._waiters.shutdown(wait=False, cancel_futures=True)


def _lost(error: Exception) -> ToolError:
    return ToolError(f"the cluster was lost ({' '.join(str(error).split())}); start the study again to resume")


def _read(run: Run, folder: Path) -> State:
    return {path.name: path.read_bytes() for path in files(run, folder) if path.exists()}


def _write(state: State, folder: Path) -> None:
    for name, content in state.items():
        write_whole(folder / name, content)
