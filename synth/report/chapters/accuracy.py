"""The chapters on accuracy: how well formats represent data beside the area of their MACs, and formats on real data."""

from collections.abc import Mapping
from statistics import fmean

from synth.area.figures import Figure, both, comparable, front, listing, number, ranked, smallest_sentence
from synth.report import charts
from synth.report.data import Accuracy, Score
from synth.report.measured import EIGHT, Measured
from synth.report.plan import REPORT_ACCUMULATOR, part_of_mac
from synth.report.sections import Cell, Section, number_cell
from synth.studies.ratios import SCALES, Ratio

_DIGITS = 1
"""Decimals of a ratio in dB; formats with the same rounded ratio count as equally accurate."""
_GOOD = 30
"""An SNR in dB that many formats of eight bits have, about that of four significand bits."""


def tradeoff(measured: Measured, accuracy: Mapping[str, Ratio]) -> Section | None:
    """Area against accuracy, on the first target with MACs of several formats, all with spreads; None without one."""
    for column in measured.columns.values():
        areas = ((name, measured.block(part_of_mac("mac", name), column.key)) for name in accuracy)
        figures = {name: value for name, value in areas if value}
        if len(figures) > 1 and comparable(figures.values()):
            break
    else:
        return None
    section = Section(
        "tradeoff",
        "Area against accuracy",
        f"How well a format represents Gaussian data, beside the area of its MAC into {REPORT_ACCUMULATOR}.",
        note="SNR is the signal-to-noise ratio of rounded data, at the power-of-two scale that suits the format best, "
        "which says nothing about range. Range shows in the mean and the lowest SNR over standard deviations of "
        f"2^{SCALES[0]} to 2^{SCALES[-1]}. Of a pair of formats, the better one counts at each scale. The grey line "
        "joins the formats that no other one beats in both median area and SNR.",
    )
    ratio = {name: round(known.snr_db, _DIGITS) for name, known in accuracy.items()}
    each = f"for f in {' '.join(dict.fromkeys('+'.join(figures).split('+')))}; do"
    section.command = f"{each} python -c \"import golden; print(golden.best_scale('$f'))\"; done"
    edge = best_formats(figures, ratio)
    points = {name: [(Figure.exact(ratio[name]), value)] for name, value in figures.items()}
    best, labels = [point for name in edge for point in points[name]], ("quantization SNR [dB]", column.axis)
    ends = [f"{name} ({ratio[name]} dB, {number(figures[name].median)} {column.unit})" for name in edge]
    sentence = f"{column.title}, best trade-offs between median area and SNR: {listing(ends)}."
    picture = charts.fronts(points, best, f"Area against SNR, {column.title}", *labels, "pre")
    section.chart(picture, sentence)
    good = {name: value for name, value in figures.items() if ratio[name] >= _GOOD}
    eight = measured.eight(good)
    of = f"{EIGHT} with an SNR of at least {_GOOD} dB of Gaussian data at the best scale"
    sentence = smallest_sentence(eight, "MAC", column.title, of)
    section.find(sentence, "Accuracy for area", picture)
    for name in ranked({name: value for name, value in good.items() if name not in eight})[:1] if sentence else []:
        what = f"{column.title}, of {measured.bits[name]} bits with such an SNR: {name} has the smallest MAC"
        least = ranked(eight)[0]
        section.find(f"{what}, against that of {least} {both(good[name], eight[least])}.")
    names = ranked(figures)
    scaled = {name: accuracy[name].by_scale for name in names if accuracy[name].by_scale}
    if 1 < len(scaled) <= charts.MOST_NAMES:
        series = {name: dict(zip(SCALES, map(Figure.exact, each), strict=True)) for name, each in scaled.items()}
        title, axes = "SNR over the scale of Gaussian data", ("standard deviation, 2^n", "quantization SNR [dB]")
        caption = "One scale for all data: formats with range keep their SNR where others lose it."
        section.chart(charts.lines(series, title, *axes), note=caption)
    rows = []
    for name in names:
        known = accuracy[name]
        own = number_cell(known.snr_db, f".{_DIGITS}f", f"at scale 2^{known.exponent}")
        over = [number_cell(of(known.by_scale), f".{_DIGITS}f") for of in (fmean, min) if known.by_scale]
        rows.append((name, known.bits, own, *(over or (None, None)), str(known.binades or "–")))
    head = ("format", "bits", "best SNR [dB]", "mean SNR over scales [dB]", "lowest SNR over scales [dB]", "binades")
    section.table("Accuracy of formats", head, rows)
    return section


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
        f"A classifier of handwritten digits, trained in float32 and then quantized, on {accuracy.images} test images.",
        note="examples/digits.py. Weights and activations are either unscaled or calibrated: scaled by powers of two "
        "that HiFloat8's Algorithm 1 finds on training images. The task is easy, and one image is "
        f"{1 / accuracy.images:.1%} of accuracy; the SNR of the outputs, against float32, says more.",
        command="python examples/digits.py --json build/digits.json",
    )
    equal: dict[int, list[str]] = {}
    for score in accuracy.scores:
        equal.setdefault(score.rtl_cases, []).append(score.format)
    texts = [f"equal in {cases:,} steps ({listing(names)})" for cases, names in equal.items() if cases]
    section.find(f"Results of the Verilog and of the reference model are {listing(texts)}." if texts else "")
    series: dict[str, dict[str, Figure]] = {}
    cells: dict[tuple[str, str, str], Cell] = {}
    for score in accuracy.study:
        scaling = "unscaled" if score.scaling == "none" else score.scaling
        cells[score.format, scaling, score.accumulator] = _snr(score)
        if score.snr_db is not None and score.accumulator == accuracy.accumulator:
            series.setdefault(scaling, {})[score.format] = Figure.exact(score.snr_db)
    title = f"SNR of the network's outputs, sums in {accuracy.accumulator}"
    section.chart(charts.groups(series, title, "SNR of outputs [dB]", are_points=True))
    formats, scalings, accumulators = (dict.fromkeys(key[place] for key in cells) for place in range(3))
    columns = [(scaling, accumulator) for scaling in scalings for accumulator in accumulators]
    head = (f"{accumulator}, {scaling}" for scaling, accumulator in columns)
    rows = ((name, *(cells.get((name, *column)) for column in columns)) for name in formats)
    section.table("SNR of outputs, and accuracy, by format, scaling and accumulator", ("format", *head), rows)
    return section


def _snr(score: Score) -> Cell:
    small = f"{score.accuracy:.1%}"
    if score.snr_db is None:
        return Cell("overflow", small)
    return Cell(f"{score.snr_db:.1f} dB", small, value=score.snr_db)
