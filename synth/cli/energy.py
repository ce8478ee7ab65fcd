"""The command ``hwgen energy``."""

import argparse
from collections.abc import Iterator, Sequence

from golden.refusal import BadValue, about
from hwgen.blocks.block import Design
from synth.area.figures import WITHOUT_GLITCHES, counted
from synth.area.recipes import DEFAULT_PORTFOLIO, PORTFOLIOS, SPEED
from synth.area.rows import Row
from synth.area.targets import LIBERTY
from synth.cli.checks import check_jobs, check_renamings, measure_and_print, places
from synth.cli.others import subject
from synth.energy import data, library
from synth.energy.job import GATES, MAX_OPERATIONS, MAX_PERIOD, PLACES, energy_jobs
from synth.energy.simulator import INSTALL, engine

_PARTS = ("switching", "internal", "leakage", "clock", "glitch_free")


def energy(design: Design, arguments: argparse.Namespace) -> int:
    """Measure one design and print its rows; return 0 if all targets succeeded, else 1."""
    check_renamings(arguments)
    check_jobs(arguments.jobs)
    if not 1 <= arguments.operations <= MAX_OPERATIONS:
        raise BadValue("--operations", f"must be from 1 to {MAX_OPERATIONS}, not {arguments.operations}")
    with about("--data"):
        numbers = data.read(arguments.data)
    libraries, targets = places(arguments)
    with about("--liberty"):
        for files in libraries.values():
            library.check(files)
    for name in targets:
        if name not in PLACES or (name == LIBERTY and not libraries):
            raise BadValue("--target", f"must be {GATES}, or {LIBERTY} together with --liberty, not {name!r}")
    options = {
        "portfolio": _portfolio(arguments),
        "recipe": arguments.recipe or "",
        "libraries": libraries,
        **{name: getattr(arguments, name) for name in ("renamings", "seed", "operations", "period")},
    }
    _check_period(arguments.period, targets)
    if arguments.simulator == "icarus":
        problem = f"icarus checks the compiled simulator in the tests only; without a C++ compiler, {INSTALL}"
        raise BadValue("--simulator", problem, ": ")
    engine()  # before anything is measured
    return measure_and_print(
        [subject(design, arguments)],
        arguments,
        lambda module, text: energy_jobs(module, text, targets, numbers, **options),
        lambda rows: _table(rows, arguments.recipe is None),
    )


def _portfolio(arguments: argparse.Namespace) -> str:
    """The portfolio; if none is given, the first one with the recipe."""
    recipe = arguments.recipe
    if arguments.portfolio is None:
        portfolios = [name for name in (DEFAULT_PORTFOLIO, *PORTFOLIOS) if recipe in PORTFOLIOS[name]["cells"]]
        return portfolios[0] if portfolios else DEFAULT_PORTFOLIO
    known = PORTFOLIOS[arguments.portfolio]["cells"]
    if recipe is not None and recipe not in known:
        raise BadValue("--recipe", f"must be one of {', '.join(known)} in {arguments.portfolio}, not {recipe!r}")
    return str(arguments.portfolio)


def _check_period(period: float | None, targets: Sequence[str]) -> None:
    if period is None:
        return
    if not 0 < period <= MAX_PERIOD:
        raise BadValue("--period", f"must be a positive number of nanoseconds up to {MAX_PERIOD:g}, not {period:g}")
    if GATES in targets:
        raise BadValue("--period", f"needs a library: {GATES} have no nanoseconds, and no leakage")


def _table(rows: Sequence[Row], is_smallest: bool) -> Iterator[str]:
    """The figure of each target, or of each recipe of a curve, with its parts.

    ``is_smallest`` says whether the recipe was chosen by its area.
    """
    figures = [row for row in rows if row.is_figure]
    places = [" + ".join(_short(row.libraries)) if row.target == LIBERTY else row.target for row in figures]
    width, wide = max(map(len, places), default=0), max(14, *(len(row.recipe) for row in figures))
    yield f"{'target':{width}} {'recipe':{wide}} {'energy':11} {'median':>10} {'min':>10} {'max':>10}  unit"
    for place, row in zip(places, figures, strict=True):
        medians, indent = dict(row.medians), " " * (width + wide + 2)
        spread = f"{row.median:10.1f} {row.min:10.1f} {row.max:10.1f}"
        yield f"{place:{width}} {row.recipe:{wide}} {'total':11} {spread}  {row.unit}"
        for name in _PARTS:
            yield f"{indent}{name:11} {medians.pop(name):10.1f}"
        counts = (f"{name} {value:g}" for name, value in medians.items() if name not in WITHOUT_GLITCHES)
        yield f"{indent}{', '.join(counts)}"
    for row in figures[:1]:
        operations = f"{counted(int(row.conditions['operations']), 'operation')} on {row.data} data"
        yield f"medians of {counted(row.renamings, 'renaming')}, each of {operations}, all with the right results"
        if is_smallest and row.portfolio != SPEED:
            yield f"the recipe is the one with the smallest area in the portfolio {row.portfolio}; {row.tool}"
    yield from dict.fromkeys(f"unit: {row.conditions['unit_text']}" for row in figures)


def _short(libraries: Sequence[str]) -> dict[str, None]:
    """The first words of the names of a library's files, each once."""
    return dict.fromkeys(name.split("_")[0] for name in libraries)
