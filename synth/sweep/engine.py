"""The jobs of a sweep, and the file with their results: the same bytes from any pool."""

import json
from collections.abc import Iterator
from pathlib import Path

from hwgen.tools.files import staging
from synth.area.emission import verilog
from synth.area.jobs import Measurement, rows
from synth.area.plan import area_jobs
from synth.area.runner import Outcome
from synth.area.store import Store
from synth.energy.measure import COMPILED, available
from synth.energy.plan import PLACES, energy_jobs
from synth.energy.workload import MEASURED
from synth.sweep.space import Space


def jobs(space: Space, store: Store) -> Iterator[Measurement]:
    """The jobs of a space, in an order that depends on the space alone."""
    for design in space.designs():
        text = verilog(design, store)
        yield from area_jobs(design, text, space.targets, space.portfolio, space.renamings, space.libraries, space.seed)
        for data in space.energies if design.kind in MEASURED else ():
            yield from energy_jobs(
                design,
                text,
                [target for target in space.targets if target in PLACES],
                data,
                portfolio=space.portfolio,
                renamings=space.renamings,
                libraries=space.libraries,
                seed=space.seed,
                simulator=available() or COMPILED,
            )


def write(space: Space, store: Store, failures: list[Outcome], folder: Path) -> Path:
    """Write ``sweep.json``: the ``rows`` of all jobs in the order of the space, and the ``failures``.

    Rows are read from the store one job at a time, so that memory does not grow with the sweep.
    """
    with staging(folder) as draft, (draft / "sweep.json").open("w", encoding="utf-8", newline="\n") as out:
        out.write('{"rows": [')
        separator = "\n"
        for job in jobs(space, store):
            samples = store.get(job.key)
            for row in rows(job, samples) if samples is not None else ():
                out.write(separator + json.dumps(row.to_json()))
                separator = ",\n"
        missing = sorted((outcome.job.top, outcome.job.target, outcome.error or "") for outcome in failures)
        failed = [{"name": name, "target": target, "error": error} for name, target, error in missing]
        out.write(f'],\n"failures": {json.dumps(failed, indent=1)}}}\n')
    return folder / "sweep.json"
