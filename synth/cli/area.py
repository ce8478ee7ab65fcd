"""The command ``hwgen area``."""

import argparse
from collections.abc import Iterator, Sequence

from golden.refusal import about
from hwgen.blocks.block import Design
from synth.area import liberty
from synth.area.emission import verilog
from synth.area.plan import area_jobs
from synth.area.pool import LocalPool
from synth.area.rows import Row
from synth.area.store import Store
from synth.area.targets import LIBERTY, TARGETS, check_target
from synth.cli.checks import check_jobs, check_renamings, measure_and_print
from synth.report.figures import counted


def area(design: Design, arguments: argparse.Namespace) -> int:
    """Measure one design and print its rows; return 0 if all targets succeeded, else 1."""
    check_renamings(arguments)
    check_jobs(arguments.jobs)
    with about("--liberty"):
        libraries = liberty.read_all(arguments.liberty)
    from_libraries = [LIBERTY] if libraries else []
    names = (from_libraries or ["gates"]) if arguments.target is None else arguments.target.split(",")
    targets = list(dict.fromkeys([*names, *from_libraries]))
    for name in targets:
        check_target("--target", name, f"{LIBERTY} together with --liberty", (*TARGETS, *from_libraries))
    with LocalPool(arguments.jobs) as pool:
        with about("--store"):
            store = Store(arguments.store) if arguments.store else None
        text = verilog(design, store)
        jobs = area_jobs(design, text, targets, arguments.portfolio, arguments.renamings, libraries, arguments.seed)
        return measure_and_print(jobs, pool, store, _table, arguments.json)


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
