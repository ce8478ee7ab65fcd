"""The command ``hwgen compare``: other people's module and ours in one table."""

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from golden.compiler import compiler
from golden.refusal import BadValue
from hwgen.blocks.block import Design
from synth.area.figures import compared
from synth.area.jobs import Job
from synth.area.plan import area_jobs
from synth.area.recipes import DEFAULT_PORTFOLIO, SPEED
from synth.area.rows import Row
from synth.cli import verify
from synth.cli.checks import check_jobs, check_renamings, measure_and_print, places
from synth.cli.compare import figures
from synth.cli.others import Subject, subject
from synth.energy import data
from synth.energy.job import DEFAULT_DATA, GATES, energy_jobs


def compare(design: Design, arguments: argparse.Namespace) -> int:
    """Check a user's module, measure it and ours, and print a table; return 0 if it is equal and all was measured.

    Energies are those of simple gates, of a module that is equal; they need a C++ compiler.
    """
    if arguments.verilog is None:
        raise BadValue("--verilog", "must name the module to compare with ours")
    check_renamings(arguments)
    check_jobs(arguments.jobs)
    libraries, targets = places(arguments)
    modules = [Subject(design.ours), subject(design, arguments, is_second=True)]
    status = verify.one(design, argparse.Namespace(**{**vars(arguments), "liberty": []}))
    energies = [name for name in targets if name == GATES and compiler() and not status]
    options: dict[str, Any] = {"renamings": arguments.renamings, "libraries": libraries, "seed": arguments.seed}

    def plan(module: Design, text: str) -> list[Job]:
        jobs = [job for name in (DEFAULT_PORTFOLIO, SPEED) for job in area_jobs(module, text, targets, name, **options)]
        return [*jobs, *energy_jobs(module, text, energies, data.read(DEFAULT_DATA), **options)]

    return measure_and_print(modules, arguments, plan, lambda rows: _table(rows, *modules)) or status


def _table(rows: Sequence[Row], ours: Subject, theirs: Subject) -> Iterator[str]:
    """A line for each figure of both modules, with its spread over the renamings."""
    every = figures(rows)
    lines = [("figure", ours.design.name, theirs.design.name, "theirs against ours")]
    for key, own in every.items():
        other = every.get(key._replace(module=theirs.design.name))
        if key.module == ours.design.name and other is not None:
            lines.append((f"{key.quantity}, {key.target}", own.text, other.text, compared(other, own)))
    first, *others = ([len(line[place]) for line in lines] for place in range(3))
    for figure, *values, change in lines:
        cells = (value.rjust(max(widths)) for value, widths in zip(values, others, strict=True))
        yield "  ".join([figure.ljust(max(first)), *cells, change]).rstrip()
