"""Many runs at the same time, in parts of limited length, with the time left."""

import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, Protocol

from golden.refusal import check_integer
from hwgen.tools.process import ToolError
from hwgen.tools.progress import Progress
from synth.studies.training.runs import Run, finished, train

PART = 60.0
"""Most seconds of a part of a run."""


class Trainers(Protocol):
    """Trains parts of runs. Leaving its context drops the parts that have not started."""

    @property
    def slots(self) -> int:
        """Number of parts that run at the same time."""

    def submit(self, run: Run, folder: Path, seconds: float) -> Future[tuple[int, int]]:
        """Schedule :func:`part` for a run, whose state is in ``folder`` before and afterwards."""

    def __enter__(self) -> "Trainers": ...

    def __exit__(self, *_: object) -> None: ...


class LocalTrainers:
    """Processes on this machine.

    Parameters
    ----------
    jobs : int, optional
        Number of processes; by default one for each processor.
    """

    def __init__(self, jobs: int | None = None):
        processors = os.cpu_count() or 1
        self.slots = processors if jobs is None else check_integer("jobs", jobs, 1, 1 << 10)
        self._threads = max(processors // self.slots, 1)
        # a forked process would share the locks of NumPy's threads
        self._executor = ProcessPoolExecutor(self.slots, multiprocessing.get_context("spawn"))

    def submit(self, run: Run, folder: Path, seconds: float) -> Future[tuple[int, int]]:
        """Train a part as soon as a process is free."""
        return self._executor.submit(part, run, folder, seconds, self._threads)

    def __enter__(self) -> "LocalTrainers":
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)


def study(
    runs: Sequence[Run], folder: Path, trainers: Trainers, progress: Progress | None = None, seconds: float = PART
) -> dict[Run, dict[str, Any]]:
    """The result of each run; those finished in ``folder`` are not repeated, others resume there.

    Parameters
    ----------
    runs : sequence of Run
    folder : Path
    trainers : Trainers
        Where the parts run.
    progress : Progress, optional
        Reports parts by iterations, weighted by the tasks' costs.
    seconds : float
        Length of a part of a run. The state is saved at its end.

    Raises
    ------
    ToolError
        If a worker is killed. What it has saved is used the next time.
    """
    if progress is not None:
        progress.start(_work(runs))
    waiting = [run for run in runs if finished(run, folder) is None]
    known = _work(runs) - _work(waiting)
    if progress is not None and known:
        progress.advance(_text(runs, waiting), known, known=True)
    _train_all(runs, waiting, folder, trainers, progress, seconds)
    results = {run: result for run in runs if (result := finished(run, folder)) is not None}
    assert len(results) == len(set(runs))
    return results


def _train_all(
    runs: Sequence[Run], waiting: list[Run], folder: Path, trainers: Trainers, progress: Progress | None, seconds: float
) -> None:
    active: dict[Future[tuple[int, int]], Run] = {}
    unfinished = list(waiting)
    try:
        while unfinished or active:
            while unfinished and len(active) < trainers.slots:
                run = unfinished.pop(0)
                active[trainers.submit(run, folder, seconds)] = run
            for future in wait(active, return_when=FIRST_COMPLETED).done:
                run = active.pop(future)
                before, after = future.result()
                if after < run.iterations:
                    unfinished.insert(0, run)
                else:
                    waiting.remove(run)
                if progress is not None:
                    done = (after - before) * run.cost
                    progress.advance(_text(runs, waiting), done, label=f"{run.task}: {run.policy.name}")
    except BrokenProcessPool:
        raise ToolError("a worker of the study was killed; start it again to resume") from None


def part(run: Run, folder: Path, seconds: float, threads: int) -> tuple[int, int]:
    """Train a run for some seconds at most; return the iterations before and after.

    ``threads`` are those of :func:`golden.matmul`. NumPy's products have one, because their last bits may depend on
    the number of threads.
    """
    from threadpoolctl import threadpool_limits  # comes with scikit-learn, which the tasks ask for first

    with threadpool_limits(1):
        return train(run, folder, limit=seconds, threads=threads)


def _work(runs: Sequence[Run]) -> float:
    return sum(run.iterations * run.cost for run in runs)


def _text(runs: Sequence[Run], waiting: Sequence[Run]) -> str:
    return f"{len(runs) - len(waiting)}/{len(runs)} runs"
