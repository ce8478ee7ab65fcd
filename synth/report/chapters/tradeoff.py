"""The chapter on area against accuracy: the area of a MAC and how well its format represents data."""

from collections.abc import Iterable, Mapping
from statistics import fmean

import golden
from golden import Format, Refusal
from synth.report.data import Ratio
from synth.report.figures import Figure, have_spreads, listing, number, ranked
from synth.report.figures import front as pareto
from synth.report.measured import Measured
from synth.report.plan import REPORT_ACCUMULATOR
from synth.report.render import plots
from synth.report.sections import Section, number_cell

_DIGITS = 1
"""Decimals of a ratio in dB; formats with the same rounded ratio count as equally accurate."""
SCALES = range(-16, 17)
"""Exponents of the standard deviations over which the mean and the lowest ratio are taken."""


def ratios(formats: Iterable[Format | str]) -> dict[str, Ratio]:
    """Signal-to-noise ratios by format, without unknown names and pairs of formats behind a select pin."""
    known = {}
    for fmt in formats:
        try:
            best = golden.best_scale(fmt)
        except Refusal:
            continue
        by_scale = golden.quantization_snr(fmt, [2.0**exponent for exponent in SCALES]).round(2).tolist()
        known[fmt if isinstance(fmt, str) else fmt.name] = Ratio(round(best.snr, 4), best.exponent, tuple(by_scale))
    return known


def section(measured: Measured, accuracy: Mapping[str, Ratio]) -> Section | None:
    """A plot for every target with MACs of more than one format, all with spreads; None if there is none."""
    by_target = {}
    for target, macs in measured.parts("mac").items():
        figures = {name: value for name, value in macs.items() if name in accuracy}
        if len(figures) > 1 and have_spreads(figures.values()):
            by_target[target] = figures
    if not by_target:
        return None
    section = Section(
        "tradeoff",
        "Area against accuracy",
        f"Area of a MAC into {REPORT_ACCUMULATOR} over the signal-to-noise ratio (SNR) of Gaussian data rounded to its "
        "format. The data is scaled by the power of two that gives the format its highest SNR. The best trade-offs, "
        "joined by the grey line, are the formats that no other format beats in both median area and SNR. Formats of "
        "equal precision have nearly the same SNR at that scale, which says nothing about range. What range and "
        "tapered precision achieve shows in data that is not scaled to suit: in the mean and the lowest SNR over "
        f"standard deviations of 2^{SCALES[0]} to 2^{SCALES[-1]}.",
    )
    ratio = {name: round(known.snr_db, _DIGITS) for name, known in accuracy.items()}
    for target, figures in by_target.items():
        column = measured.columns[target]
        edge = front(figures, ratio)
        sentence = f"{column.title}, best trade-offs between median area and SNR: {_points(edge, ratio, figures)}."
        points = {name: [(Figure.exact(ratio[name]), value)] for name, value in figures.items()}
        best = [point for name in edge for point in points[name]]
        title = f"Area against SNR, {column.title}"
        picture = plots.fronts(points, best, title, "quantization SNR [dB]", column.axis, "pre")
        snr = tuple(f"python -c \"import golden; print(golden.best_scale('{name}'))\"" for name in figures)
        section.plot_finding(sentence, picture, "Accuracy for area" if target == "gates" else "", *snr)
    names = dict.fromkeys(name for figures in by_target.values() for name in ranked(figures))
    _over_scales(section, measured, by_target, accuracy)
    rows = []
    for name in names:
        known = accuracy[name]
        own = number_cell(known.snr_db, f".{_DIGITS}f", f"at scale 2^{known.exponent}")
        over = [number_cell(of(known.by_scale), f".{_DIGITS}f") for of in (fmean, min) if known.by_scale]
        rows.append((name, own, *(over or (None, None)), *(figures.get(name) for figures in by_target.values())))
    heads = ("format", "best SNR [dB]", "mean SNR over scales", "lowest SNR over scales")
    head = (*heads, *(measured.columns[target].head for target in by_target))
    section.table(f"Accuracy and area of MACs into {REPORT_ACCUMULATOR}", head, rows)
    return section


def _over_scales(
    section: Section, measured: Measured, by_target: Mapping[str, Mapping[str, Figure]], accuracy: Mapping[str, Ratio]
) -> None:
    """SNR over the scale of the data, and the best trade-offs between area and its mean."""
    names = dict.fromkeys(name for figures in by_target.values() for name in figures)
    known = {name: accuracy[name].by_scale for name in names if accuracy[name].by_scale}
    if len(known) < 2:
        return
    if len(known) <= plots.MOST_NAMES:
        title = "SNR over the scale of Gaussian data"
        series = {name: dict(zip(SCALES, map(Figure.exact, ratios), strict=True)) for name, ratios in known.items()}
        picture = plots.lines(series, title, "standard deviation, 2^n", "quantization SNR [dB]")
        caption = "One scale for all data: formats with range keep their SNR where others lose it."
        snr = (f"python -c \"import golden; print(golden.quantization_snr('{name}', 1.0))\"" for name in known)
        section.plot(caption, picture, *snr)
    mean = {name: round(fmean(ratios), _DIGITS) for name, ratios in known.items()}
    for target, figures in by_target.items():
        edge = front({name: figures[name] for name in figures if name in mean}, mean)
        text = f"best trade-offs between median area and the mean SNR over scales from 2^{SCALES[0]} to 2^{SCALES[-1]}"
        sentence = f"{measured.columns[target].title}, {text}: {_points(edge, mean, figures)}."
        section.find(sentence, "Range for area" if target == "gates" else "")


def _points(names: Iterable[str], ratio: Mapping[str, float], figures: Mapping[str, Figure]) -> str:
    areas = {name: f"{number(figures[name].median)} {figures[name].unit}" for name in names}
    return listing([f"{name} ({ratio[name]} dB, {area})" for name, area in areas.items()])


def front(figures: Mapping[str, Figure], ratio: Mapping[str, float]) -> list[str]:
    """The formats that no other format beats in both area and accuracy, from small to large."""
    return pareto(figures, lambda name: (figures[name].median, -ratio[name]))
