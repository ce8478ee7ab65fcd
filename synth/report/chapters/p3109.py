"""The chapter on IEEE P3109: its pair of formats beside others, and its encoder by rounding and saturation."""

from synth.report.figures import Figure, listing, pair_sentence, ranked, smallest_sentence
from synth.report.measured import Measured, figure, pick
from synth.report.plan import (
    ENCODER_SOURCE,
    ENCODER_TARGETS,
    EXTRA_TARGETS,
    P3109_PAIR,
    PARTS,
    POSITIVE_ZERO,
    PROJECTION_STUDY,
    REPORT_ACCUMULATOR,
    UNITS,
)
from synth.report.render import plots
from synth.report.sections import Section

_POSITIVE = ", zero results +0"


def section(measured: Measured) -> Section | None:
    """Units for P3109's pair, OCP's pair and HiF8, then the encoder's projections; None if nothing was measured."""
    section = Section(
        "p3109",
        "IEEE P3109: formats, roundings and saturation",
        f"A standard in preparation. Section 4.5 of its draft 4.0 demands {P3109_PAIR}, selected here by a pin per "
        "operand, and zero results that are always +0. OCP's pair and HiF8 serve the same purpose. Saturation decides "
        "what becomes of numbers past the largest: infinity (none), the largest number (saturate), or infinity only "
        "if the input is infinite (propagate).",
    )
    for target in EXTRA_TARGETS:
        if target in measured.columns:
            _units(section, measured, target)
    for target in ENCODER_TARGETS:
        if target in measured.columns:
            _projections(section, measured, target)
    return section if section.tables else None


def _units(section: Section, measured: Measured, target: str) -> None:
    column = measured.columns[target]
    macs: dict[str, Figure] = {}
    body = []
    for unit in UNITS:
        plain = {"format": unit, "format_b": None}
        mac = plain | {"accumulator": REPORT_ACCUMULATOR}
        figures = (
            pick(measured.rows, "multiplier", target, **plain),
            pick(measured.rows, "mac", target, **mac),
            pick(measured.optional, "mac", target, **mac | POSITIVE_ZERO),
        )
        if figures[1] is not None:
            macs[unit] = figures[1]
            body.append((unit, *figures))
    if P3109_PAIR not in macs:
        return
    ours = P3109_PAIR, macs[P3109_PAIR]
    for unit in (unit for unit in macs if unit != P3109_PAIR):
        section.find(pair_sentence((unit, macs[unit]), ours, "a MAC", column.title), target)
    head = ("unit", PARTS["multiplier"], PARTS["mac"], f"{PARTS['mac']}{_POSITIVE}")
    title = f"P3109's pair, OCP's pair and HiF8: {column.head}; MACs into {REPORT_ACCUMULATOR}"
    section.table(title, head, body)


def _projections(section: Section, measured: Measured, target: str) -> None:
    column = measured.columns[target]
    grid: dict[str, dict[str, Figure]] = {}
    for row in measured.rows:
        is_studied = (row.component, row.format, row.place, row.is_best) == ("encoder", PROJECTION_STUDY, target, True)
        if is_studied and row.options.get("from", ENCODER_SOURCE) == ENCODER_SOURCE:
            rounding, overflow = str(row.options["rounding"]), str(row.options["overflow"])
            grid.setdefault(overflow, {}).setdefault(rounding, figure(row))
    if not grid:
        return
    for overflow, figures in grid.items():
        where = f"{column.title}, {overflow}"
        section.find(smallest_sentence(figures, f"{PROJECTION_STUDY} encoder", where), target)
    title = f"{PROJECTION_STUDY} encoder from {ENCODER_SOURCE} by rounding and saturation, {column.title}"
    used = (value for figures in grid.values() for value in figures.values())
    picture = plots.groups(grid, title, column.axis)
    section.plot(f"Saturation: {listing(list(grid))}.", picture, used)
    order = ranked(next(iter(grid.values())))
    rows = ((rounding, *(figures.get(rounding) for figures in grid.values())) for rounding in order)
    section.table(f"{title} [{column.unit}]", ("rounding", *grid), rows)
