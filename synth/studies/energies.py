"""Measures energies for the report: of MACs by format, delay and data, and what options cost.

Energies are measured as ``hwgen energy`` measures them, on our own gates.

Usage: python -m synth.studies.energies [--store FILE] [--jobs N] [--again] writes synth/report/energies.json; energies
that it already has, of netlists from the same Verilog by the same scripts and tool, are not measured again unless
``--again`` is given, which a change of the simulator needs
"""

import argparse
import json
import sys
from collections.abc import Iterable
from dataclasses import replace

from hwgen.tools import yosys
from hwgen.tools.process import ToolError
from hwgen.tools.progress import Progress
from synth.area.emission import verilog
from synth.area.jobs import Measurement
from synth.area.pool import LocalPool
from synth.area.recipes import SPEED
from synth.area.rows import Row
from synth.area.runner import measure_all
from synth.area.store import Store
from synth.area.timing import ABC
from synth.energy.data import read
from synth.energy.job import EnergyJob
from synth.energy.measure import COMPILED, available
from synth.energy.plan import GATES, energy_jobs
from synth.report.energies import RESULTS, points
from synth.studies.script import status


def jobs(store: Store) -> list[EnergyJob]:
    """The jobs of all points; delays are ABC's, which every machine has."""
    return [
        replace(job, area=replace(job.area, timer=ABC))
        for point in points()
        for job in energy_jobs(
            point.design,
            verilog(point.design, store),
            [GATES],
            read(point.data),
            portfolio=point.portfolio,
            simulator=available() or COMPILED,
        )
    ]


def kept(job: Measurement, rows: Iterable[Row]) -> list[Row]:
    """The rows of a job that the file keeps: one, or all recipes of a curve."""
    return [row for row in rows if row.is_best != (job.portfolio == SPEED)]


def measured(again: bool) -> dict[tuple[str, ...], list[Row]]:
    """Rows of the present file, by what their netlists depend on; none of them if all are measured ``again``."""
    rows: dict[tuple[str, ...], list[Row]] = {}
    for row in map(Row.from_json, [] if again else json.loads(RESULTS.read_text())["rows"]):
        rows.setdefault((row.command, row.verilog_sha256, row.script_sha256, row.tool), []).append(row)
    return rows


def main() -> None:
    """Measure, and write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    text = "reuse the results in this file and add new ones (default: %(default)s)"
    parser.add_argument("--store", default="build/store.sqlite", metavar="FILE", help=text)
    parser.add_argument("--jobs", type=int, metavar="N", help="jobs that run at the same time")
    parser.add_argument("--again", action="store_true", help="measure all energies again")
    arguments = parser.parse_args()
    store, known = Store(arguments.store), measured(arguments.again)
    rows: dict[Measurement, list[Row] | None] = {
        job: known.get((job.command, *job.area.hashes().values(), yosys.version())) for job in jobs(store)
    }
    with LocalPool(arguments.jobs) as pool:
        todo = [job for job, group in rows.items() if group is None]
        for outcome in measure_all(todo, pool, store, Progress()):
            if outcome.error:
                raise ToolError(outcome.error)
            rows[outcome.job] = kept(outcome.job, outcome.rows)
    lines = [json.dumps(row.to_json()) for group in rows.values() for row in group or ()]
    RESULTS.write_text('{\n"rows": [\n' + ",\n".join(lines) + "\n]\n}\n")


if __name__ == "__main__":
    sys.exit(status("energies", main))
