"""Many runs on the processors of this machine, in parts of limited length, with the time left."""

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from golden.refusal import check_integer
from hwgen.tools.process import ToolError
from hwgen.tools.progress import Progress
from synth.studies.training.runs import Run, finished, train

PART = 60.0
"""Most seconds of a part of a run."""
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
"""Variables that keep NumPy's products on one thread: their last bits may depend on the number of threads."""


def study(
    runs: Sequence[Run], folder: Path, jobs: int | None = None, progress: Progress | None = None, seconds: float = PART
) -> list[dict[str, Any]]:
    """The results of runs, in their order; those finished in ``folder`` are not repeated, others resume there.

    Parameters
    ----------
    runs : sequence of Run
    folder : Path
    jobs : int, optional
        Runs at the same time; by default one for each processor.
    progress : Progress, optional
        Reports parts by iterations, weighted by the tasks' costs.
    seconds : float
        Length of a part of a run. The state is saved at its end, and every minute.

    Raises
    ------
    ToolError
        If a worker is killed. What it has saved is used the next time.
    """
    processors = os.cpu_count() or 1
    jobs = processors if jobs is None else check_integer("jobs", jobs, 1, 1 << 10)
    if progress is not None:
        progress.start(_work(runs))
    waiting = [run for run in runs if finished(run, folder) is None]
    known = _work(runs) - _work(waiting)
    if progress is not None and known:
        progress.advance(_text(runs, waiting), known, known=True)
    if waiting:
        _train_all(runs, waiting, folder, min(jobs, len(waiting)), max(processors // jobs, 1), progress, seconds)
    results = [finished(run, folder) for run in runs]
    assert all(result is not None for result in results)
    return [result for result in results if result is not None]


def _train_all(
    runs: Sequence[Run],
    waiting: list[Run],
    folder: Path,
    jobs: int,
    threads: int,
    progress: Progress | None,
    seconds: float,
) -> None:
    # a forked process would share the locks of NumPy's threads
    with _one_thread(), ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        active: dict[Future[tuple[int, int]], Run] = {}
        unfinished = list(waiting)
        try:
            while unfinished or active:
                while unfinished and len(active) < jobs:
                    run = unfinished.pop(0)
                    active[pool.submit(part, run, folder, seconds, threads)] = run
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
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def part(run: Run, folder: Path, seconds: float, threads: int) -> tuple[int, int]:
    """Train a run for some seconds at most; return the iterations before and after."""
    return train(run, folder, limit=seconds, threads=threads)


def _work(runs: Sequence[Run]) -> float:
    return sum(run.iterations * run.cost for run in runs)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Processes that start within this context have the variables :data:`ONE_THREAD`."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _text(runs: Sequence[Run], waiting: Sequence[Run]) -> str:
    return f"{len(runs) - len(waiting)}/{len(runs)} runs"
