"""The chapter on area against accuracy: the area of a MAC and how well its format represents data."""

from collections.abc import Iterable, Mapping

import golden
from golden import Format, Refusal
from synth.report.data import Ratio
from synth.report.figures import Figure, listing, number, ranked
from synth.report.measured import Measured
from synth.report.plan import REPORT_ACCUMULATOR
from synth.report.render import plots
from synth.report.sections import Cell, Finding, Plot, Section, Table, commands, figure_cell

_DIGITS = 1
"""Decimals of a ratio in dB; formats with the same rounded ratio count as equally accurate."""


def ratios(formats: Iterable[Format | str]) -> dict[str, Ratio]:
    """Signal-to-noise ratios by format, without unknown names and pairs of formats behind a select pin."""
    known = {}
    for fmt in formats:
        try:
            best = golden.best_scale(fmt)
        except Refusal:
            continue
        known[fmt if isinstance(fmt, str) else fmt.name] = Ratio(round(best.snr, 4), best.exponent)
    return known


def section(measured: Measured, accuracy: Mapping[str, Ratio]) -> Section | None:
    """A plot for every target with MACs of more than one format; None if there is no such target."""
    macs = {
        target: {name: value for name, value in figures.items() if name in accuracy}
        for target, figures in measured.parts("mac").items()
    }
    by_target = {target: figures for target, figures in macs.items() if len(figures) > 1}
    if not by_target:
        return None
    section = Section(
        "tradeoff",
        "Area against accuracy",
        f"Area of a MAC into {REPORT_ACCUMULATOR} over the signal-to-noise ratio (SNR) of Gaussian data rounded to its "
        "format. The data is scaled by the power of two that gives the format its highest SNR. The best trade-offs, "
        "joined by the grey line, are the formats that no other format beats in both area and SNR. Formats of equal "
        "precision have nearly the same SNR at that scale; docs/accuracy.md shows what range and tapered precision "
        "achieve on data without such a scale.",
    )
    ratio = {name: round(known.snr_db, _DIGITS) for name, known in accuracy.items()}
    for target, figures in by_target.items():
        column = measured.columns[target]
        edge = front(figures, ratio)
        best = [f"{name} ({ratio[name]} dB, {number(figures[name].median)} {figures[name].unit})" for name in edge]
        sentence = f"{column.title}, best trade-offs between area and SNR: {listing(best)}."
        points = {name: (Figure.exact(ratio[name]), value) for name, value in figures.items()}
        title = f"Area against SNR, {column.title}"
        picture = plots.scatter(points, edge, title, "quantization SNR [dB]", column.axis)
        snr = tuple(f"python -c \"import golden; print(golden.best_scale('{name}'))\"" for name in figures)
        section.plots.append(Plot(sentence, picture, commands(figures.values()) + snr))
        section.findings.append(Finding(sentence, target, is_caption=True))
    section.tables.append(_table(measured, by_target, accuracy))
    return section


def front(figures: Mapping[str, Figure], ratio: Mapping[str, float]) -> list[str]:
    """The formats that no other format beats in both area and accuracy, from small to large."""
    kept: list[str] = []
    for name in sorted(figures, key=lambda name: (figures[name].median, -ratio[name])):
        if not kept or ratio[name] > ratio[kept[-1]]:
            kept.append(name)
    return kept


def _table(measured: Measured, by_target: Mapping[str, Mapping[str, Figure]], accuracy: Mapping[str, Ratio]) -> Table:
    body = []
    for name in dict.fromkeys(name for figures in by_target.values() for name in ranked(figures)):
        snr_db, exponent = accuracy[name].snr_db, accuracy[name].exponent
        snr = Cell(f"{snr_db:.{_DIGITS}f}", f"at scale 2^{exponent}", value=snr_db)
        body.append((Cell(name), snr, *(figure_cell(figures.get(name)) for figures in by_target.values())))
    head = ("format", "SNR [dB]", *(measured.columns[target].head for target in by_target))
    return Table(f"Accuracy and area of MACs into {REPORT_ACCUMULATOR}", head, tuple(body))
