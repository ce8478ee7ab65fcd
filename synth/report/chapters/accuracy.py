"""The chapters on accuracy: how well formats represent data beside the area of their MACs, and formats on real data."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

import golden
from golden import Format, Refusal
from synth.report.data import Accuracy, Ratio, Score
from synth.report.figures import Figure, front, have_spreads, listing, number, ranked
from synth.report.measured import Measured
from synth.report.plan import REPORT_ACCUMULATOR
from synth.report.render import plots
from synth.report.sections import Cell, Section, number_cell

_DIGITS = 1
"""Decimals of a ratio in dB; formats with the same rounded ratio count as equally accurate."""
SCALES = range(-16, 17)
"""Exponents of the standard deviations over which the mean and the lowest ratio are taken."""
_SCALINGS = {"none": "unscaled"}
"""Scalings of the study of real data whose column has another name."""


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


def tradeoff(measured: Measured, accuracy: Mapping[str, Ratio]) -> Section | None:
    """Area against accuracy, on each target with MACs of more than one format, all with spreads; None without one."""
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
    mean = {name: round(fmean(known.by_scale), _DIGITS) for name, known in accuracy.items() if known.by_scale}
    for target, figures in by_target.items():
        column = measured.columns[target]
        edge = best_formats(figures, ratio)
        points = {name: [(Figure.exact(ratio[name]), value)] for name, value in figures.items()}
        best = [point for name in edge for point in points[name]]
        title = f"Area against SNR, {column.title}"
        picture = plots.fronts(points, best, title, "quantization SNR [dB]", column.axis, "pre")
        snr = (f"python -c \"import golden; print(golden.best_scale('{name}'))\"" for name in figures)
        sentence = f"{column.title}, best trade-offs between median area and SNR: {_points(edge, ratio, figures)}."
        section.plot_finding(sentence, picture, "Accuracy for area" if target == "gates" else "", *snr)
    names = dict.fromkeys(name for figures in by_target.values() for name in ranked(figures))
    scaled = {name: accuracy[name].by_scale for name in names if name in mean}
    if 1 < len(scaled) <= plots.MOST_NAMES:
        series = {name: dict(zip(SCALES, map(Figure.exact, each), strict=True)) for name, each in scaled.items()}
        title, axes = "SNR over the scale of Gaussian data", ("standard deviation, 2^n", "quantization SNR [dB]")
        caption = "One scale for all data: formats with range keep their SNR where others lose it."
        snr = (f"python -c \"import golden; print(golden.quantization_snr('{name}', 1.0))\"" for name in scaled)
        section.plot(caption, plots.lines(series, title, *axes), *snr)
    for target, figures in by_target.items():
        edge = best_formats({name: figures[name] for name in figures if name in mean}, mean)
        if len(scaled) > 1:
            text = f"best trade-offs between median area and the mean SNR over scales from 2^{SCALES[0]} to"
            sentence = f"{measured.columns[target].title}, {text} 2^{SCALES[-1]}: {_points(edge, mean, figures)}."
            section.find(sentence, "Range for area" if target == "gates" else "")
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


def _points(names: Iterable[str], ratio: Mapping[str, float], figures: Mapping[str, Figure]) -> str:
    areas = {name: f"{number(figures[name].median)} {figures[name].unit}" for name in names}
    return listing([f"{name} ({ratio[name]} dB, {area})" for name, area in areas.items()])


def best_formats(figures: Mapping[str, Figure], ratio: Mapping[str, float]) -> list[str]:
    """The formats that no other format beats in both area and accuracy, from small to large."""
    return front(figures, lambda name: (figures[name].median, -ratio[name]))


def digits(accuracy: Accuracy | None) -> Section | None:
    """Accuracy by format, and the study; None if the report has no such data."""
    if accuracy is None:
        return None
    section = Section(
        "accuracy",
        "The formats on real data",
        f"A small classifier of handwritten digits, trained in float32, runs on {accuracy.images} test images "
        "(examples/digits.py). Weights and activations are quantized, either unscaled or calibrated: scaled by powers "
        "of two that HiFloat8's Algorithm 1 finds on training images. Products are summed in each accumulator. The "
        f"task is easy, and one image is {1 / accuracy.images:.1%} of accuracy; the signal-to-noise ratio (SNR) of the "
        "network's outputs, compared with float32, distinguishes formats better.",
    )
    body = []
    for score in accuracy.scores:
        steps = Cell(f"equal in {score.rtl_cases:,} steps", value=score.rtl_cases) if score.rtl_cases else ""
        body.append((score.format, number_cell(score.accuracy, ".1%"), _snr(score), steps))
    columns = ("format", "accuracy", "SNR of outputs", "Verilog and reference model")
    caption = f"Accuracy by format, calibrated scales, sums in {accuracy.accumulator}"
    section.table(caption, columns, body)
    if accuracy.study:
        _study(section, accuracy.study)
    return section


def _study(section: Section, scores: Sequence[Score]) -> None:
    """SNR and accuracy: a row for each format, a column for each scaling and accumulator."""
    cells = {(score.format, score.scaling, score.accumulator): _snr(score, f"{score.accuracy:.1%}") for score in scores}
    formats, scalings, accumulators = (dict.fromkeys(key[place] for key in cells) for place in range(3))
    columns = [(scaling, accumulator) for scaling in scalings for accumulator in accumulators]
    head = (f"{accumulator}, {'unscaled' if scaling == 'none' else scaling}" for scaling, accumulator in columns)
    rows = ((name, *(cells.get((name, *column)) for column in columns)) for name in formats)
    section.table("SNR of outputs, and accuracy, by format, accumulator and scaling", ("format", *head), rows)


def _snr(score: Score, small: str = "") -> Cell:
    if score.is_reference:
        return Cell("reference", small)
    if score.snr_db is None:
        return Cell("overflow", small)
    return Cell(f"{score.snr_db:.1f} dB", small, value=score.snr_db)
