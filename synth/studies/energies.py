"""Measures energies for the report: of MACs by format, delay and data, and what options cost.

Energies are measured as ``hwgen energy`` measures them, on our own gates.

Usage: python -m synth.studies.energies [--store FILE] [--jobs N] [--again] writes synth/report/energies.json; energies
that it already has, of netlists from the same Verilog by the same scripts and tool, are not measured again unless
``--again`` is given, which a change of the simulator needs
"""

import sys
from dataclasses import replace

from synth.area.emission import verilog
from synth.area.store import Store
from synth.area.timing import ABC
from synth.energy.data import read
from synth.energy.job import EnergyJob
from synth.energy.measure import COMPILED, available
from synth.energy.plan import GATES, energy_jobs
from synth.report.energies import RESULTS, points
from synth.studies import record
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


def main() -> None:
    """Measure, and write the file."""
    record.write(RESULTS, record.measured(record.options(__doc__), RESULTS, jobs, lambda _, row: row.is_figure))


if __name__ == "__main__":
    sys.exit(status("energies", main))
