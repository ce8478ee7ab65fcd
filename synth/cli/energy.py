"""The command ``hwgen energy``."""

import argparse
from collections.abc import Iterator, Sequence

from golden.refusal import BadValue, about
from hwgen.blocks.block import Design
from hwgen.tools.process import ToolError
from synth.area import liberty
from synth.area.emission import verilog
from synth.area.liberty import Libraries
from synth.area.pool import LocalPool
from synth.area.recipes import DEFAULT_PORTFOLIO, PORTFOLIOS, SPEED
from synth.area.rows import Row
from synth.area.store import Store
from synth.area.targets import LIBERTY
from synth.cli.checks import check_jobs, check_renamings, measure_and_print
from synth.energy import data, library
from synth.energy.job import MAX_OPERATIONS, MAX_PERIOD
from synth.energy.measure import ICARUS, Simulator, available, is_available
from synth.energy.plan import PLACES, energy_jobs
from synth.report.figures import WITHOUT_GLITCHES, counted

_PARTS = ("switching", "internal", "leakage", "clock", "glitch_free")


def energy(design: Design, arguments: argparse.Namespace) -> int:
    """Measure one design and print its rows; return 0 if all targets succeeded, else 1."""
    check_renamings(arguments)
    check_jobs(arguments.jobs)
    if not 1 <= arguments.operations <= MAX_OPERATIONS:
        raise BadValue("--operations", f"must be from 1 to {MAX_OPERATIONS}, not {arguments.operations}")
    with about("--data"):
        numbers = data.read(arguments.data)
    with about("--liberty"):
        libraries = liberty.read_all(arguments.liberty)
        for files in libraries.values():
            library.check(files)
    targets = _targets(arguments, libraries)
    portfolio = _portfolio(arguments)
    _check_period(arguments.period, targets)
    simulator = _simulator(arguments.simulator)
    with LocalPool(arguments.jobs) as pool:
        with about("--store"):
            store = Store(arguments.store) if arguments.store else None
        jobs = energy_jobs(
            design,
            verilog(design, store),
            targets,
            numbers,
            libraries=libraries,
            portfolio=portfolio,
            recipe=arguments.recipe or "",
            renamings=arguments.renamings,
            seed=arguments.seed,
            operations=arguments.operations,
            period=arguments.period,
            simulator=simulator,
        )
        return measure_and_print(jobs, pool, store, lambda rows: _table(rows, arguments.recipe is None), arguments.json)


def _targets(arguments: argparse.Namespace, libraries: Libraries) -> list[str]:
    from_libraries = [LIBERTY] if libraries else []
    names = (from_libraries or list(PLACES[:1])) if arguments.target is None else arguments.target.split(",")
    for name in names:
        if name not in (PLACES[0], *from_libraries):
            raise BadValue("--target", f"must be {PLACES[0]}, or {LIBERTY} together with --liberty, not {name!r}")
    return list(dict.fromkeys([*names, *from_libraries]))


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
    if PLACES[0] in targets:
        raise BadValue("--period", f"needs a library: {PLACES[0]} have no nanoseconds, and no leakage")


def _simulator(chosen: Simulator | None) -> Simulator:
    found = available() if chosen is None else chosen
    if found is None:
        raise ToolError("simulations need a C++ compiler or Icarus Verilog, and this machine has neither")
    if not is_available(found):
        needed = "Icarus Verilog" if found == ICARUS else "a C++ compiler"
        raise BadValue("--simulator", f"{found} needs {needed}, which this machine does not have", ": ")
    return found


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
