"""Trains the study's networks by their policies, measures the MACs, and writes the results for the report.

Runs are kept by their content and resume where they stopped, however they were interrupted.

Usage: python -m synth.studies.learning [--small] [--tasks T,...] [--jobs N | --dask ADDRESS] [-o FILE]
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from golden.refusal import BadValue, about
from hwgen.tools.files import check_writable, write_whole, writing
from hwgen.tools.process import ToolError
from hwgen.tools.progress import Progress
from synth.area.emission import verilog
from synth.area.plan import area_jobs
from synth.area.pool import LocalPool, Pool
from synth.area.runner import measure_all
from synth.area.store import Store
from synth.report.training.claims import CALIBRATED_NAME, CAST_NAME
from synth.report.training.plan import PLANS, SEEDS, SMALL, SMALL_SEEDS, TARGET, Plan, macs
from synth.report.training.results import recorded
from synth.studies.script import status
from synth.studies.training.calibration import CALIBRATED, CAST
from synth.studies.training.runs import Run, code_hash
from synth.studies.training.tasks import TASKS
from synth.studies.workers.cluster import DaskTrainers
from synth.studies.workers.study import LocalTrainers, Trainers, study
from synth.sweep.pools import DaskPool

PACKAGES = ("minifloat-rtl", "numpy", "scikit-learn")
_DEPTHS = {"tasks": 3, "rows": 1}
"""Levels of nested data that are split into lines, by key."""
_DIGITS = 5
"""Significant digits of the file's numbers."""


def results(
    plans: Sequence[Plan], seeds: Sequence[int], trained: Mapping[Run, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The tasks' part of the file, from the results of all runs."""
    tasks = []
    for plan in plans:
        task = TASKS[plan.task]()
        weights = task.network.weights(np.random.default_rng(0))
        policies: list[dict[str, Any]] = []
        for policy in plan.policies:
            runs = [trained[Run(plan.task, policy, seed, plan.iterations)] for seed in seeds]
            policies.append({**recorded(policy), **_condensed(runs)})
            for kind, name in ((CAST, CAST_NAME), (CALIBRATED, CALIBRATED_NAME)):
                if not policy.is_quantized:
                    afterwards = [{"figures": run["quantized"][kind], "history": [], "skipped": 0} for run in runs]
                    policies.append({"name": name, **_condensed(afterwards)})
        facts = {"iterations": plan.iterations, "batch": task.batch, "data": task.digest()}
        facts["parameters"] = sum(array.size for array in weights.values())
        tasks.append({"task": plan.task, **facts, "policies": policies})
    return tasks


def _condensed(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The figures of all seeds, and the history of the first."""
    return {
        "figures": [_rounded(run["figures"]) for run in runs],
        "skipped": [run["skipped"] for run in runs],
        "history": _rounded(runs[0]["history"]),
    }


def _rounded(data: Any) -> Any:
    """Plain data with fewer digits; numbers that are not finite become None."""
    match data:
        case float():
            return float(f"{data:.{_DIGITS}g}") if np.isfinite(data) else None
        case dict():
            return {key: _rounded(value) for key, value in data.items()}
        case list() | tuple():
            return [_rounded(value) for value in data]
    return data


def areas(plans: Sequence[Plan], store: Store, pool: Pool) -> list[dict[str, Any]]:
    """The best row of each MAC; those that the store has are not measured again."""
    todo = [job for design in macs(plans) for job in area_jobs(design, verilog(design, store), (TARGET,))]
    outcomes = measure_all(todo, pool, store, Progress())
    for outcome in outcomes:
        if outcome.error:
            raise ToolError(outcome.error)
    return [row.to_json() for outcome in outcomes for row in outcome.rows if row.is_best]


def text(content: Mapping[str, Any]) -> str:
    """The file: JSON with a line for each policy and each row."""
    parts = [f"{json.dumps(key)}: {_lines(content[key], _DEPTHS.get(key, 0))}" for key in sorted(content)]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _lines(data: Any, depth: int) -> str:
    """Plain data as JSON, in which what is ``depth`` levels deep has a line of its own."""
    if depth == 0 or not isinstance(data, dict | list):
        return json.dumps(data, sort_keys=True)
    if isinstance(data, dict):
        parts = [f"{json.dumps(key)}: {_lines(data[key], depth - 1)}" for key in sorted(data)]
        return "{\n" + ",\n".join(parts) + "\n}"
    return "[\n" + ",\n".join(_lines(item, depth - 1) for item in data) + "\n]"


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, measure, and write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    text_of = "file to write (default: build/study.json, with --small build/study-small.json)"
    parser.add_argument("-o", "--output", metavar="FILE", help=text_of)
    text_of = "folder of finished and interrupted runs (default: %(default)s)"
    parser.add_argument("--runs", default="build/study", metavar="DIR", help=text_of)
    text_of = "reuse the areas in this file and add new ones (default: %(default)s)"
    parser.add_argument("--store", default="build/store.sqlite", metavar="FILE", help=text_of)
    parser.add_argument("--jobs", type=int, metavar="N", help="runs at the same time (default: one for each processor)")
    text_of = "address of the scheduler of a Dask cluster that trains and measures, e.g. tcp://127.0.0.1:8786"
    parser.add_argument("--dask", metavar="ADDRESS", help=text_of)
    parser.add_argument("--tasks", metavar="T[,T...]", help="tasks to train (default: all)")
    text_of = "train a few iterations, and measure no areas, to test the study"
    parser.add_argument("--small", action="store_true", help=text_of)
    chosen = parser.parse_args(arguments)
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
    runs = [run for plan in plans for run in plan.runs(seeds)]
    with ExitStack() as pools:
        # what measures is connected first, so that what is missing is missed before an hour of training
        measurers = None if chosen.small else pools.enter_context(closing(_measurers(chosen)))
        trainers = pools.enter_context(_trainers(chosen))
        for option, path in (("output", output.parent), ("runs", folder)):
            with about(option), writing(path):
                path.mkdir(parents=True, exist_ok=True)
        trained = study(runs, folder, trainers, Progress())
        content = {
            "program": code_hash(),
            "versions": {name: version(name) for name in PACKAGES},
            "seeds": list(seeds),
            "tasks": results(plans, seeds, trained),
            "rows": [] if measurers is None else areas(plans, store, measurers),
        }
    write_whole(output, text(content).encode())
    print(output)


def _trainers(chosen: argparse.Namespace) -> Trainers:
    """Where the networks are trained."""
    return LocalTrainers(chosen.jobs) if chosen.dask is None else DaskTrainers(chosen.dask)


def _measurers(chosen: argparse.Namespace) -> Pool:
    """Where the areas are measured."""
    return LocalPool(chosen.jobs) if chosen.dask is None else DaskPool(chosen.dask)


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
