"""The chapter on real data: what ``examples/digits.py`` measured for formats, accumulators and scales."""

from collections.abc import Sequence

from synth.report.data import Accuracy, Score
from synth.report.figures import listing, number
from synth.report.sections import Cell, Section, number_cell

EXACT, NONE, CALIBRATED = "exact", "none", "calibrated"
_SHOWN_DB, _FEW_DB = 0.1, 1.0


def section(accuracy: Accuracy | None) -> Section | None:
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
        section.find(_accumulators(accuracy.study))
        section.find(_scales(accuracy.study, accuracy.accumulator))
        _study(section, accuracy.study)
    return section


def _study(section: Section, scores: Sequence[Score]) -> None:
    """SNR and accuracy: a row for each format, a column for each scaling and accumulator."""
    cells = {(score.format, score.scaling, score.accumulator): _snr(score, f"{score.accuracy:.1%}") for score in scores}
    formats, scalings, accumulators = (dict.fromkeys(key[place] for key in cells) for place in range(3))
    columns = [(scaling, accumulator) for scaling in scalings for accumulator in accumulators]
    head = (f"{accumulator}, {'unscaled' if scaling == NONE else scaling}" for scaling, accumulator in columns)
    rows = ((name, *(cells.get((name, *column)) for column in columns)) for name in formats)
    section.table("SNR of outputs, and accuracy, by format, accumulator and scaling", ("format", *head), rows)


def _ratios(scores: Sequence[Score], scaling: str, accumulator: str) -> dict[str, float]:
    """SNR by format, without formats whose sums overflowed."""
    alike = [score for score in scores if (score.scaling, score.accumulator) == (scaling, accumulator)]
    return {score.format: score.snr_db for score in alike if score.snr_db is not None}


def _accumulators(scores: Sequence[Score]) -> str:
    exact = _ratios(scores, CALIBRATED, EXACT)
    costs = []
    for accumulator in dict.fromkeys(score.accumulator for score in scores if score.accumulator != EXACT):
        rounded = _ratios(scores, CALIBRATED, accumulator)
        losses = {name: exact[name] - rounded[name] for name in exact if name in rounded}
        if losses:
            worst = max(losses, key=lambda name: losses[name])
            most = f"up to {losses[worst]:.1f} dB with {accumulator} ({worst})"
            costs.append(most if losses[worst] >= _SHOWN_DB else f"less than {_SHOWN_DB} dB with {accumulator}")
    return f"With calibrated scales, rounding the sums costs {listing(costs)}." if costs else ""


def _scales(scores: Sequence[Score], accumulator: str) -> str:
    before, after = (_ratios(scores, scaling, accumulator) for scaling in (NONE, CALIBRATED))
    gains = {name: after[name] - before[name] for name in before if name in after}
    if not gains:
        return ""
    helped = sorted((name for name in gains if gains[name] >= _FEW_DB), key=lambda name: -gains[name])
    hurt = [name for name in gains if gains[name] <= -_FEW_DB]
    text = f"calibrated scales gain {number(_FEW_DB)} dB or more for {len(helped)} of {len(gains)} formats"
    text += f": {listing([f'{name} ({gains[name]:+.1f} dB)' for name in helped])}" if helped else ""
    text += f"; they lose {number(_FEW_DB)} dB or more for {listing(hurt)}" if hurt else ""
    return f"With sums in {accumulator}, {text}."


def _snr(score: Score, small: str = "") -> Cell:
    if score.is_reference:
        return Cell("reference", small)
    if score.snr_db is None:
        return Cell("overflow", small)
    return Cell(f"{score.snr_db:.1f} dB", small, value=score.snr_db)
