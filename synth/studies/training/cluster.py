"""A study's runs on a Dask cluster. Workers need not see the folder: the state of a run travels with its parts."""

import os
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hwgen.tools.process import ToolError
from synth.studies.training.runs import Run, files
from synth.studies.training.study import part
from synth.sweep.cluster import check_program, checked, program, threads

State = dict[str, bytes]
"""Files of a run in its folder, by name."""


def remote(run: Run, state: State, seconds: float, expected: str) -> tuple[tuple[int, int], State]:
    """Train a part on a worker, which must have the expected version of the program; return also the state after it."""
    check_program(expected)
    with TemporaryDirectory() as name:
        folder = Path(name)
        _write(state, folder)
        iterations = part(run, folder, seconds, 1)
        return iterations, _read(run, folder)


class Cluster:
    """Workers of a Dask cluster: a :class:`synth.studies.training.study.Pool`.

    Dask gives the parts of a lost worker to another one.

    Parameters
    ----------
    address : str
        Address of the scheduler, e.g. ``tcp://127.0.0.1:8786``.

    Raises
    ------
    BadValue
        If Dask is not installed, the scheduler does not answer, or a worker has another version.
    """

    def __init__(self, address: str):
        self._client: Any = checked(address, program())
        self.slots = threads(self._client)
        self._waiters = ThreadPoolExecutor(self.slots)

    def submit(self, run: Run, folder: Path, seconds: float) -> Future[tuple[int, int]]:
        """Send a part to the scheduler; its state is in the folder when it is done.

        The part fails with a ToolError if it was lost too often or the scheduler has gone away.
        """
        return self._waiters.submit(self._part, run, folder, seconds)

    def _part(self, run: Run, folder: Path, seconds: float) -> tuple[int, int]:
        from distributed import KilledWorker

        sent = self._client.submit(remote, run, _read(run, folder), seconds, program(), pure=False)
        try:
            iterations, state = sent.result()
        except (KilledWorker, CancelledError, OSError) as error:
            raise ToolError(f"the cluster lost a part of the study ({error}); start it again to resume") from error
        folder.mkdir(parents=True, exist_ok=True)
        _write(state, folder)
        for path in files(run, folder):
            if path.name not in state:
                path.unlink(missing_ok=True)
        assert isinstance(iterations, tuple)
        return iterations

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close(timeout=5)
        self._waiters.shutdown(wait=False, cancel_futures=True)


def _read(run: Run, folder: Path) -> State:
    return {path.name: path.read_bytes() for path in files(run, folder) if path.exists()}


def _write(state: State, folder: Path) -> None:
    for name, content in state.items():
        partial = folder / f"{name}.partial"
        partial.write_bytes(content)
        os.replace(partial, folder / name)
