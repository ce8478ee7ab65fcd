"""Trains the study's networks by their policies, measures the MACs, and writes the results for the report.

Runs are kept by their content and resume where they stopped, however they were interrupted.

Usage, in the clone: python -m examples.training [--small] [--tasks T,...] [--jobs N | --dask ADDRESS] [-o FILE]
"""

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from golden.refusal import BadValue, about
from hwgen.tools.files import check_writable, write_whole
from hwgen.tools.process import ToolError
from hwgen.tools.progress import Progress
from synth.area.plan import area_jobs
from synth.area.runner import LocalPool, Pool, measure_all
from synth.area.store import Store, verilog
from synth.report.training.plan import PLANS, SEEDS, SMALL, SMALL_SEEDS, TARGET, Plan, macs
from synth.report.training.results import code_hash, text_of
from synth.studies.script import status
from synth.sweep.cluster import DaskPool


def areas(plans: Sequence[Plan], store: Store, pool: Pool) -> list[dict[str, Any]]:
    """The best row of each MAC; those that the store has are not measured again."""
    todo = [job for design in macs(plans) for job in area_jobs(design, verilog(design, store), (TARGET,))]
    outcomes = measure_all(todo, pool, store, Progress())
    for outcome in outcomes:
        if outcome.error:
            raise ToolError(outcome.error)
    return [row.to_json() for outcome in outcomes for row in outcome.rows if row.is_best]


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, measure, and write the file."""
    parser = argparse.ArgumentParser("python -m examples.training", description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("-o", "--output", metavar="FILE", help="default: build/study.json, with --small build/study-small.json")
    text = "folder of finished and interrupted runs (default: %(default)s)"
    add("--runs", default="build/study", metavar="DIR", help=text)
    text = "reuse the areas in this file and add new ones (default: %(default)s)"
    add("--store", default="build/store.sqlite", metavar="FILE", help=text)
    add("--jobs", type=int, metavar="N", help="runs at the same time (default: one for each processor)")
    text = "address of the scheduler of a Dask cluster that trains and measures, e.g. tcp://127.0.0.1:8786"
    add("--dask", metavar="ADDRESS", help=text)
    add("--tasks", metavar="T[,T...]", help="tasks to train (default: all)")
    add("--small", action="store_true", help="train a few iterations, and measure no areas, to test the study")
    chosen = parser.parse_args(arguments)
    if not all(map(find_spec, ("jax", "sklearn"))):
        raise BadValue(None, "The study needs JAX and scikit-learn: pip install '.[examples,jax]' in the clone")
    from examples.training.runs import planned, results
    from examples.training.workers import cluster, local, study

    plans = _named(SMALL if chosen.small else PLANS, chosen.tasks)
    seeds = SMALL_SEEDS if chosen.small else SEEDS
    default = "build/study-small.json" if chosen.small else "build/study.json"
    output, folder = Path(default if chosen.output is None else chosen.output), Path(chosen.runs)
    if not output.name:
        raise BadValue("output", f"must be the name of a file, not {chosen.output!r}")
    with about("output"):
        check_writable(output.parent, [output.name])
    with about("runs"):
        check_writable(folder)
    with about("store"):
        store = Store(chosen.store)
    if chosen.jobs is not None and chosen.dask is not None:
        raise BadValue("jobs", "sets the processes of this machine and cannot be combined with --dask")
    runs = [run for plan in plans for run in planned(plan, seeds)]
    with ExitStack() as pools:
        # what measures is connected first, so that what is missing is missed before an hour of training
        if not chosen.small:
            measurers = LocalPool(chosen.jobs) if chosen.dask is None else DaskPool(chosen.dask)
            pools.enter_context(closing(measurers))
        trainers = pools.enter_context(local(chosen.jobs) if chosen.dask is None else cluster(chosen.dask))
        trained = study(runs, folder, trainers, Progress())
        content = {
            "program": code_hash(),
            "versions": {name: version(name) for name in ("minifloat-rtl", "numpy", "jax", "scikit-learn")},
            "seeds": list(seeds),
            "tasks": results(plans, seeds, trained),
            "rows": [] if chosen.small else areas(plans, store, measurers),
        }
    output.parent.mkdir(parents=True, exist_ok=True)
    write_whole(output, text_of(content).encode())
    print(output)


def _named(plans: Sequence[Plan], names: str | None) -> list[Plan]:
    """The plans of the named tasks, or all."""
    chosen = [plan.task for plan in plans] if names is None else [name.strip() for name in names.split(",")]
    known = [plan.task for plan in plans]
    unknown = [name for name in chosen if name not in known]
    if unknown:
        raise BadValue("tasks", f"must be among {', '.join(known)}, not {unknown[0]!r}")
    return [plan for plan in plans if plan.task in chosen]


if __name__ == "__main__":
    sys.exit(status("study", main))
