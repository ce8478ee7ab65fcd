"""The command ``hwgen area``."""

import argparse
from collections.abc import Iterator, Sequence

from hwgen.blocks.block import Design
from hwgen.tile.block import TileDesign
from synth.area.figures import counted
from synth.area.jobs import Job
from synth.area.plan import area_jobs
from synth.area.recipes import DEFAULT_PORTFOLIO, SPEED
from synth.area.route import DEVICES
from synth.area.rows import Row
from synth.area.targets import LIBERTY, TARGETS, check_target
from synth.area.tile import TileJob
from synth.cli.checks import check_jobs, check_renamings, measure_and_print, places
from synth.cli.others import Subject, subject


def area(design: Design, arguments: argparse.Namespace) -> int:
    """Measure one design and print its rows; return 0 if all targets succeeded, else 1."""
    check_renamings(arguments)
    check_jobs(arguments.jobs)
    libraries, targets = places(arguments)
    for name in targets:
        known = (*TARGETS, *([LIBERTY] if libraries else []))
        check_target("--target", name, f"{LIBERTY} together with --liberty", known)

    def plan(module: Design, text: str) -> list[Job]:
        if not isinstance(module, TileDesign):
            return area_jobs(module, text, targets, arguments.portfolio, arguments.renamings, libraries, arguments.seed)
        jobs = []
        for name in targets:
            is_routed = arguments.portfolio is None and name in DEVICES
            portfolio = arguments.portfolio or (SPEED if is_routed else DEFAULT_PORTFOLIO)
            renamings, make = (1, TileJob.routed) if is_routed else (arguments.renamings, TileJob.of)
            jobs += area_jobs(module, text, [name], portfolio, renamings, libraries, arguments.seed, make=make)
        return jobs

    module = Subject(design) if isinstance(design, TileDesign) else subject(design, arguments)
    return measure_and_print([module], arguments, plan, _table)


def _table(rows: Sequence[Row]) -> Iterator[str]:
    places = [" + ".join(row.libraries) if row.target == LIBERTY else row.target for row in rows]
    width, wide = max(map(len, places)), max(14, *(len(row.recipe) + 2 for row in rows))
    yield f"{'target':{width}} {'recipe':{wide}} {'metric':8} {'median':>10} {'min':>10} {'max':>10}  unit"
    for place, row in zip(places, rows, strict=True):
        if row.is_best and row.timing is not None:  # in a curve each row is a figure
            continue
        recipe = f"{row.recipe} *" if row.is_best else row.recipe
        is_figure = row.is_best or row.timing is not None
        others = ", ".join(f"{name} {value:g}" for name, value in row.medians.items() if is_figure)
        figures = f"{row.metric:8} {row.median:10.1f} {row.min:10.1f} {row.max:10.1f}  {row.unit}"
        yield f"{place:{width}} {recipe:{wide}} {figures}{'; ' if others else ''}{others}"
    for timer in dict.fromkeys(row.timing.source for row in rows if row.timing is not None):
        yield f"delays: medians of {counted(rows[0].renamings, 'renaming')} by {timer}"
    if any(row.timing is None for row in rows):
        renamings = counted(rows[0].renamings, "renaming")
        yield f"* the figure: the lowest median over the recipes, of {renamings} each; {rows[0].tool}"
