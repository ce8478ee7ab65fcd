"""The report on area against accuracy: what a MAC costs, and how well its format holds data."""

from collections.abc import Iterable, Mapping
from typing import Any

import golden
from golden import Format
from synth.report.figures import Figure, listing, number, ranked
from synth.report.measured import Measured
from synth.report.plan import REPORT_ACCUMULATOR
from synth.report.render import plots
from synth.report.sections import Cell, Plot, Section, Table, commands, figure_cell

_DIGITS = 1
"""Decimals of a ratio in dB that count; formats that agree to them are equally accurate."""


def ratios(formats: Iterable[Format | str]) -> dict[str, dict[str, float]]:
    """Signal-to-noise ratio ``snr_db`` of formats on Gaussian data at their best power-of-two scale, 2**``exponent``.

    Formats behind a select pin have none, and of a name that is not in the catalogue nothing is known.
    """
    found = {}
    for one in formats:
        try:
            best = golden.best_scale(one)
        except ValueError:
            continue
        found[one if isinstance(one, str) else one.name] = {"snr_db": round(best.snr, 4), "exponent": best.exponent}
    return found


def section(measured: Measured, accuracy: Mapping[str, Mapping[str, Any]]) -> Section | None:
    """A plot for every target on which MACs of more than one format were measured; None where there is no such target."""
    by_target = {}
    for target, figures in measured.parts("mac").items():
        if len(known := {name: value for name, value in figures.items() if name in accuracy}) > 1:
            by_target[target] = known
    if not by_target:
        return None
    made = Section(
        "tradeoff", "Area against accuracy",
        f"A MAC into {REPORT_ACCUMULATOR} against the signal-to-noise ratio (SNR) of Gaussian data rounded to its format, scaled by the "
        "power of two that suits the format best; the broad line joins the formats that no other one beats in both. At that scale formats "
        "of one precision are alike; docs/accuracy.md has what range and tapered precision do for data that have no such scale.",
    )  # fmt: skip
    ratio = {name: round(found["snr_db"], _DIGITS) for name, found in accuracy.items()}
    for target, figures in by_target.items():
        column = measured.columns[target]
        edge = front(figures, ratio)
        best = [f"{name} ({ratio[name]} dB, {number(figures[name].median)} {figures[name].unit})" for name in edge]
        said = f"{column.title}: no format beats {listing(best)} in both."
        marks = {name: plots.Mark(ratio[name], value) for name, value in figures.items()}
        svg = plots.scatter(marks, edge, f"Area against SNR, {column.title}", "quantization SNR [dB]", column.axis, measured.styles)
        snr = tuple(f"python -c \"import golden; print(golden.best_scale('{name}'))\"" for name in figures)
        made.plots.append(Plot(said, svg, commands(figures.values()) + snr))
        made.findings.append(said)
    made.tables.append(_table(measured, by_target, accuracy))
    return made


def front(figures: Mapping[str, Figure], ratio: Mapping[str, float]) -> list[str]:
    """The formats that no other one beats in area and accuracy, from small to large; of equals the first."""
    kept: list[str] = []
    for name in sorted(ranked(figures), key=lambda name: (figures[name].median, -ratio[name])):
        if not kept or ratio[name] > ratio[kept[-1]]:
            kept.append(name)
    return kept


def _table(measured: Measured, by_target: Mapping[str, Mapping[str, Figure]], accuracy: Mapping[str, Mapping[str, Any]]) -> Table:
    body = []
    for name in dict.fromkeys(name for figures in by_target.values() for name in ranked(figures)):
        found = accuracy[name]
        snr = Cell(f"{found['snr_db']:.{_DIGITS}f}", f"at 2^{found['exponent']}", value=found["snr_db"])
        body.append((Cell(name), snr, *(figure_cell(figures.get(name)) for figures in by_target.values())))
    head = ("format", "SNR [dB]", *(measured.columns[target].head for target in by_target))
    return Table(f"Accuracy and area of MACs into {REPORT_ACCUMULATOR}", head, tuple(body))
