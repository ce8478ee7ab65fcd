"""Many runs at the same time, on this machine or a cluster, in parts of limited length, with the time left.

The folder of a study has a file of each run that was begun: its result or its last state, by the run's key.
"""

import json
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from examples.training.runs import Run, train
from examples.training.tasks import TASKS
from golden.refusal import BadValue, check_integer
from hwgen.tools.files import write_whole
from hwgen.tools.process import ToolError
from hwgen.tools.progress import Progress
from synth.sweep.cluster import checked, program, threads

PART = 60.0
"""Most seconds of a part of a run."""


@dataclass(frozen=True)
class Trainers:
    """Where parts of runs are trained: ``slots()`` at the same time, with ``threads`` each for their products.

    A part whose worker is lost fails with one of the ``losses``, which ``sentence`` reports.
    """

    executor: Executor
    slots: Callable[[], int]
    threads: int
    losses: tuple[type[Exception], ...]
    sentence: str


@contextmanager
def local(jobs: int | None = None) -> Iterator[Trainers]:
    """Processes of this machine, by default one for each processor; parts that have not started are dropped after."""
    processors = os.cpu_count() or 1
    slots = processors if jobs is None else check_integer("jobs", jobs, 1, 1 << 10)
    executor = ProcessPoolExecutor(slots, multiprocessing.get_context("spawn"))  # a fork would share JAX's locks
    try:
        sentence = "a worker of the study was killed; start it again to resume"
        yield Trainers(executor, lambda: slots, max(processors // slots, 1), (BrokenProcessPool,), sentence)
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


@contextmanager
def cluster(address: str) -> Iterator[Trainers]:
    """Workers of a Dask cluster; parts of a lost worker go to another one.

    Raises
    ------
    BadValue
        If Dask is not installed, the scheduler does not answer or has no workers, or a worker has another version, or
        cannot import this package.
    """
    client: Any = checked(address, program())
    from distributed import KilledWorker

    with closing(client):
        try:
            client.wait_for_workers(1, timeout=60)
            client.run(exec, "import examples.training.runs")
        except TimeoutError:
            raise BadValue("dask", f"the scheduler at {address!r} has no workers", ": ") from None
        except ImportError as error:
            raise BadValue("dask", f"a worker cannot import the study: {error}", ": ") from None
        sentence = "the cluster was lost ({}); start the study again to resume"
        losses = (KilledWorker, CancelledError, ImportError, OSError)
        yield Trainers(client.get_executor(pure=False), lambda: threads(client), 1, losses, sentence)


def study(
    runs: Sequence[Run], folder: Path, trainers: Trainers, progress: Progress | None = None, seconds: float = PART
) -> dict[Run, dict[str, Any]]:
    """The result of each run; those finished in ``folder`` are not repeated, others resume there.

    They are trained in parts of some seconds, and the state is saved after each part. The ``progress`` is that of
    iterations, weighted by the tasks' costs. If a worker is killed, or the cluster lost, there is a ToolError, and what
    was saved is used the next time.
    """
    keys = {run: run.key() for run in runs}
    results = {run: folder / f"{key}.json" for run, key in keys.items()}
    states = {run: folder / f"{key}.npz" for run, key in keys.items()}
    work = {run: run.iterations * TASKS[run.task].cost for run in runs}
    waiting = [run for run in keys if not results[run].exists()]
    unfinished, active = list(waiting), dict[Future[tuple[int, int, bytes]], Run]()
    if progress is not None:
        progress.start(sum(work.values()))
        if known := sum(work[run] for run in work if run not in waiting):
            progress.advance(f"{len(keys) - len(waiting)}/{len(keys)} runs", known, known=True)
    folder.mkdir(parents=True, exist_ok=True)
    while unfinished or active:
        try:
            while unfinished and len(active) < trainers.slots():
                run = unfinished.pop(0)
                state = states[run].read_bytes() if states[run].exists() else None
                active[trainers.executor.submit(train, run, keys[run], state, seconds, trainers.threads)] = run
            done = {part: part.result() for part in wait(active, return_when=FIRST_COMPLETED).done}
        except trainers.losses as error:
            raise ToolError(trainers.sentence.format(" ".join(str(error).split()))) from error
        for part, (before, after, content) in done.items():
            run = active.pop(part)
            if after < run.iterations:
                write_whole(states[run], content)
                unfinished.insert(0, run)
            else:
                write_whole(results[run], content)
                states[run].unlink(missing_ok=True)
                waiting.remove(run)
            if progress is not None:
                text = f"{len(keys) - len(waiting)}/{len(keys)} runs"
                progress.advance(text, (after - before) * TASKS[run.task].cost, label=f"{run.task}: {run.policy.name}")
    return {run: json.loads(path.read_bytes()) for run, path in results.items()}
