"""Measures energies for the report: of MACs by format, delay and data, and what options cost.

Energies are measured as ``hwgen energy`` measures them, on our own gates.

Usage: python -m synth.studies.energies [--store FILE] [--jobs N] [--again] writes synth/report/energies.json; energies
that it already has, of netlists from the same Verilog by the same scripts and tool, are not measured again unless
``--again`` is given, which a change of the simulator needs
"""

import sys

from synth.report.energies import Energies
from synth.studies.script import parser, status

if __name__ == "__main__":
    sys.exit(status("energies", lambda: Energies.measure(parser(__doc__, files=True).parse_args())))
