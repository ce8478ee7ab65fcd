"""Overhead of sweeps and reports: workers, a warm store, a cluster, and ten thousand jobs.

Usage: python examples/bench_sweep.py [workers|warm_store|cluster|ten_thousand]...
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import replace
from functools import partial, partialmethod
from itertools import islice
from pathlib import Path
from unittest import mock

import psutil
from distributed import Client, SubprocessCluster

from hwgen.__main__ import main as command_line
from hwgen.blocks.catalog import build
from synth.area.jobs import Job, Samples
from synth.area.plan import area_jobs
from synth.area.runner import LocalPool, Outcome, Pool, measure
from synth.area.store import Store
from synth.area.targets import TARGETS
from synth.sweep.cluster import DaskPool

METRICS = (*dict.fromkeys(target.metric for target in TARGETS.values()), "delay_fo4")
"""Keys that samples must have to become rows."""


def stub(job: Job, timeout: float | None = None, *, seconds: float = 0.0) -> Samples:
    """Return random samples after a pause, without synthesis; the same samples for the same job."""
    del timeout
    time.sleep(seconds)
    chance = random.Random(job.label)
    return {name: [{key: chance.uniform(100, 200) for key in METRICS} for _ in job.seeds] for name in job.recipes()}


def stubs(count: int) -> Iterator[Job]:
    """Yield jobs, all of them different."""
    base = real_jobs(1)[0]
    return (replace(base, verilog=f"{base.verilog}// {number}\n") for number in range(count))


def real_jobs(count: int) -> list[Job]:
    """Return decoders on gates and iCE40 with one renaming each: jobs of about a second."""
    designs = [
        build("decoder", name, target=to)
        for name in ("hif8", "e5m2b1", "ocp_e4m3", "binary8p3")
        for to in ("binary16", "bfloat16", "binary32")
    ]
    jobs = [job for design in designs for job in area_jobs(design, design.verilog(), ["gates", "ice40"], renamings=1)]
    return jobs[:count]


def outcomes(todo: Iterable[Job], pool: Pool, store: Store) -> Iterator[Outcome]:
    """Yield the outcomes of jobs; an error of a job is an exception."""
    for outcome in measure(todo, pool, store):
        if outcome.error:
            raise RuntimeError(outcome.error)
        yield outcome


def run(todo: Iterable[Job], pool: Pool, store: Store) -> float:
    """Run the jobs, and return how many seconds they take."""
    start = time.perf_counter()
    for _ in outcomes(todo, pool, store):
        pass
    return time.perf_counter() - start


def workers(folder: Path) -> None:
    """Print how many jobs run in a minute with one worker and with two."""
    todo = real_jobs(24)
    rates = []
    for count in (1, 2):
        pool = LocalPool(count)
        rates.append(60 * len(todo) / run(todo, pool, Store(folder / f"workers{count}")))
        pool.close()
    ratio = rates[1] / rates[0]
    print(f"{len(todo)} real jobs: {rates[0]:.0f} a minute with 1 worker, {rates[1]:.0f} with 2: {ratio:.2f} times")


def warm_store(folder: Path) -> None:
    """Print how long a report and a sweep take if the store holds every result: elapsed and processor time."""
    (folder / "space.toml").write_text(
        "[multiplier]\n[adder]\n[mac]\n[encoder]\n", encoding="utf-8"
    )  # the report emits their Verilog
    out = ["--store", str(folder / "store.sqlite"), "-o", str(folder)]
    for words, file in (
        (["report", "--formats", "all"], "report.json"),
        (["sweep", str(folder / "space.toml")], "sweep.json"),
    ):
        with mock.patch.object(Job, "execute", stub), open(os.devnull, "w", encoding="utf-8") as sink:
            with redirect_stdout(sink), redirect_stderr(sink):
                status = command_line([*words, *out])
            if status:
                raise RuntimeError(f"hwgen {words[0]} failed")
            start, before = time.perf_counter(), os.times()
            subprocess.run([sys.executable, "-m", "hwgen", *words, *out], check=True, stdout=sink, stderr=sink)
            seconds, after = time.perf_counter() - start, os.times()
        core = after.children_user + after.children_system - before.children_user - before.children_system
        count = sum(row["recipe"] == "best" for row in json.loads((folder / file).read_bytes())["rows"])
        times = f"{seconds:.1f} s ({core:.1f} s of processor time), including the start of the command"
        print(f"hwgen {words[0]}, {count} jobs that the store holds: {times}")


class Processes:
    """A pool of two local worker processes, for stubs of a second."""

    slots = 2

    def __init__(self) -> None:
        self._executor = ProcessPoolExecutor(self.slots)
        list(self._executor.map(time.sleep, [0.5] * self.slots))  # until all have started

    def submit(self, job: Job, timeout: float | None) -> Future[Samples]:
        """Run a stub as soon as a worker is free."""
        return self._executor.submit(stub, job, timeout, seconds=1.0)

    def close(self) -> None:
        """End the workers."""
        self._executor.shutdown()


@contextmanager
def dask(seconds: float) -> Iterator[tuple[DaskPool, Client]]:
    """Start a scheduler and two workers as processes, connected over TCP, whose jobs are stubs."""
    with (
        SubprocessCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(2)
        client.run(setattr, Job, "execute", partialmethod(stub, seconds=seconds))
        pool = DaskPool(cluster.scheduler_address)
        yield pool, client
        pool.close()


def cluster(folder: Path, count: int = 40) -> None:
    """Print the overhead of Dask for jobs of a second, on two workers."""
    local = Processes()
    here = run(stubs(count), local, Store(folder / "local"))
    local.close()
    with dask(seconds=1.0) as (pool, _):
        there = run(stubs(count), pool, Store(folder / "dask"))
    times = f"{here:.1f} s in local processes, {there:.1f} s with Dask over TCP: {there / here - 1:+.1%}"
    print(f"{count} jobs of a second on two workers: {times}")


def in_use() -> int:
    """Return the bytes that Python has allocated since tracing started."""
    return tracemalloc.get_traced_memory()[0]


def resident() -> int:
    """Return the resident bytes of the calling process."""
    size: int = psutil.Process().memory_info().rss
    return size


def by_thousands(pool: Pool, store: Store, memory: Callable[[], int], count: int = 10_000) -> str:
    """Run many stub jobs, and return time and memory for each thousand as text."""
    results = outcomes(stubs(count), pool, store)
    times, sizes, start = [], [], time.perf_counter()
    while done := sum(1 for _ in islice(results, 1000)):
        times.append(f"{1000 * (time.perf_counter() - start) / done:.1f}")
        sizes.append(f"{memory() / 1e6:.1f}")
        start = time.perf_counter()
    return f"{count} stub jobs, each thousand: {' '.join(times)} ms a job, {' '.join(sizes)} MB"


def ten_thousand(folder: Path) -> None:
    """Print whether time and memory stay flat, without and with Dask."""
    with mock.patch.object(Job, "execute", stub):
        local = LocalPool(2)
        tracemalloc.start()
        print(f"in threads, memory in use: {by_thousands(local, Store(folder / 'local'), in_use)}")
        tracemalloc.stop()
        local.close()
    with dask(seconds=0.0) as (pool, client):
        ask = partial(client.run_on_scheduler, resident)
        print(f"with Dask, memory of the scheduler's process: {by_thousands(pool, Store(folder / 'dask'), ask)}")


MEASUREMENTS = {"workers": workers, "warm_store": warm_store, "cluster": cluster, "ten_thousand": ten_thousand}


def main() -> None:
    """Print the measurements that the command line names, by default all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(MEASUREMENTS)} (default: all)")
    names = parser.parse_args().names
    for name in names:
        if name not in MEASUREMENTS:
            parser.error(f"NAME must be one of {', '.join(MEASUREMENTS)}, not {name!r}")
    for name in names or MEASUREMENTS:
        with tempfile.TemporaryDirectory() as folder:
            MEASUREMENTS[name](Path(folder))


if __name__ == "__main__":
    main()
