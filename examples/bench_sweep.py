"""What a sweep costs besides its jobs: workers, a warm store, a cluster, and ten thousand jobs.

Usage: python examples/bench_sweep.py
"""

import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from distributed import LocalCluster

from hwgen import build
from synth.jobs import Job
from synth.plan import area_jobs
from synth.store import Store
from synth.sweep import engine, pools, space
from synth.sweep.pools import DaskPool, LocalPool


def stub(job: Job, timeout: float | None = None, *, seconds: float = 0.0) -> dict[str, Any]:
    """Samples without synthesis, after a while."""
    del timeout
    time.sleep(seconds)
    return {"samples": {recipe: [{"area": 1.0, "cells": 1.0}] * job.renamings for recipe in job.recipes()}}


def real_jobs(count: int) -> list[Job]:
    """Decoders on gates, one renaming each: jobs of about a second."""
    designs = [
        build.decoder(name, to) for name in ("hif8", "e5m2b1", "ocp_e4m3", "binary8p3") for to in ("binary16", "bfloat16", "binary32")
    ]
    return [job for design in designs for job in area_jobs(design, design.verilog(), ["gates", "ice40"], renamings=1)][:count]


def run(todo: Any, pool: Any, store: Store) -> float:
    """Seconds that the jobs take; all of them must deliver."""
    start = time.perf_counter()
    failed = [outcome.error for outcome in engine.run(todo, pool, store) if outcome.error]
    if failed:
        raise RuntimeError(failed[0])
    return time.perf_counter() - start


def workers(folder: Path) -> None:
    """Print jobs a minute with one worker and with two."""
    todo = real_jobs(24)
    rates = []
    for count in (1, 2):
        pool = LocalPool(count)
        rates.append(60 * len(todo) / run(todo, pool, Store(folder / f"workers{count}")))
        pool.close()
    print(f"{len(todo)} real jobs: {rates[0]:.0f} a minute with 1 worker, {rates[1]:.0f} with 2: {rates[1] / rates[0]:.2f} times")


def warm_store(folder: Path) -> None:
    """Print how long 500 jobs take that the store holds."""
    (folder / "space.toml").write_text('[decoder]\nto = ["unpacked", "binary16", "bfloat16", "binary32"]\n')
    described = space.read(folder / "space.toml")
    store = Store(folder / "warm")
    with ThreadPoolExecutor() as executor:  # emission of 100 modules, which the store keeps, too
        list(executor.map(partial(engine.verilog, store=store), described.designs()))
    count = 0
    for job in engine.jobs(described, store):
        metrics = dict.fromkeys(("area", "cells", "alm", "alut", "carry", "lut", "mux"), 1.0)
        store.put(job.key, {recipe: [metrics] * job.renamings for recipe in job.recipes()})
        count += 1
    command = [sys.executable, "-m", "hwgen", "sweep", str(folder / "space.toml"), "-o", str(folder / "out"), "--store", str(store.path)]
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print(f"{count} jobs that the store holds: {time.perf_counter() - start:.1f} s, start of the command included")


def cluster(folder: Path, count: int = 60) -> None:
    """Print what Dask adds to jobs of a second, on two workers."""
    base = real_jobs(1)[0]
    todo = [replace(base, verilog=f"{base.verilog}// {number}\n") for number in range(count)]
    with mock.patch.object(pools, "execute", partial(stub, seconds=1.0)):
        local = LocalPool(2)
        here = run(todo, local, Store(folder / "local"))
        local.close()
        with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as workers:
            pool = DaskPool(workers.scheduler_address)
            there = run(todo, pool, Store(folder / "dask"))
            pool.close()
    print(f"{count} jobs of a second on two workers: {here:.1f} s in threads, {there:.1f} s by Dask: {there / here - 1:+.1%}")


def ten_thousand(folder: Path, count: int = 10_000) -> None:
    """Print time and memory of each fifth of many stub jobs."""
    base = real_jobs(1)[0]

    def endless() -> Iterator[Job]:
        for number in range(count):
            yield replace(base, verilog=f"{base.verilog}// {number}\n")

    with mock.patch.object(pools, "execute", stub):
        pool, store = LocalPool(2), Store(folder / "many")
        marks, start = [], time.perf_counter()
        tracemalloc.start()
        for done, _ in enumerate(engine.run(endless(), pool, store), 1):
            if done % (count // 5) == 0:
                now = time.perf_counter()
                marks.append((1000 * (now - start) / (count // 5), tracemalloc.get_traced_memory()[0] / 1e6))
                start = now
        tracemalloc.stop()
        pool.close()
    told = ", ".join(f"{milliseconds:.1f} ms and {megabytes:.1f} MB" for milliseconds, megabytes in marks)
    print(f"{count} stub jobs, time a job and memory in use after each fifth: {told}")


def main() -> None:
    """Print a line for each measurement."""
    for measurement in (workers, warm_store, cluster, ten_thousand):
        with tempfile.TemporaryDirectory() as folder:
            measurement(Path(folder))


if __name__ == "__main__":
    main()
