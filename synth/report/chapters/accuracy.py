"""The report on real data: what ``examples/digits.py`` has found of formats, accumulators and scales."""

from collections.abc import Mapping, Sequence
from typing import Any

from synth.report.figures import listing, number
from synth.report.sections import Cell, Section, Table

EXACT, NONE, CALIBRATED = "exact", "none", "calibrated"
_SHOWN_DB, _FEW_DB = 0.1, 1.0

Row = Mapping[str, Any]


def section(found: Mapping[str, Any] | None) -> Section | None:
    """None where the example was not run."""
    if not found:
        return None
    made = Section(
        "accuracy", "The formats on real data",
        f"A small classifier of handwritten digits, trained in float32, on {found['images']} test images: weights and activations "
        "quantized, as they are and scaled by powers of two that HiFloat8's Algorithm 1 finds on training images; products summed in each "
        f"accumulator (examples/digits.py). The task is easy, and one image is {1 / found['images']:.1%} of accuracy: what tells formats "
        "apart is the signal-to-noise ratio (SNR) of the network's outputs against float32.",
    )  # fmt: skip
    body = tuple((Cell(row["format"]), _accuracy(row), _snr(row), _checked(row)) for row in found["rows"])
    columns = ("format", "accuracy", "SNR of outputs", "Verilog against golden")
    made.tables.append(Table(f"Accuracy by format, scales calibrated, sums in {found['accumulator']}", columns, body))
    if rows := found.get("study"):
        made.findings = [*_accumulators(rows), *_scales(rows, found["accumulator"])]
        made.tables.append(_study(rows))
    return made


def _study(rows: Sequence[Row]) -> Table:
    """SNR with the accuracy below: a line for each format, a column for each scaling and accumulator."""
    cells = {(row["format"], row["scaling"], row["accumulator"]): _snr(row, _accuracy(row).text) for row in rows}
    formats, scalings, accumulators = (dict.fromkeys(key[place] for key in cells) for place in range(3))
    columns = [(scaling, accumulator) for scaling in scalings for accumulator in accumulators]
    words = {NONE: "no scales", CALIBRATED: "calibrated"}
    head = (f"{accumulator}, {words.get(scaling, scaling)}" for scaling, accumulator in columns)
    body = tuple((Cell(name), *(cells.get((name, *column), Cell("–")) for column in columns)) for name in formats)
    return Table("SNR of outputs, and accuracy, by format, accumulator and scaling", ("format", *head), body)


def _ratios(rows: Sequence[Row], scaling: str, accumulator: str) -> dict[str, float]:
    """SNR by format, where no sum has overflowed."""
    wanted = [row for row in rows if row["scaling"] == scaling and row["accumulator"] == accumulator]
    return {row["format"]: row["snr_db"] for row in wanted if row["snr_db"] is not None}


def _accumulators(rows: Sequence[Row]) -> list[str]:
    """What rounded sums cost at most."""
    exact = _ratios(rows, CALIBRATED, EXACT)
    costs = []
    for accumulator in dict.fromkeys(row["accumulator"] for row in rows if row["accumulator"] != EXACT):
        found = _ratios(rows, CALIBRATED, accumulator)
        losses = {name: exact[name] - found[name] for name in exact if name in found}
        if losses:
            worst = max(losses, key=lambda name: losses[name])
            most = f"up to {losses[worst]:.1f} dB with {accumulator} ({worst})"
            costs.append(most if losses[worst] >= _SHOWN_DB else f"less than {_SHOWN_DB} dB with {accumulator}")
    return [f"Rounded sums lose against exact ones, scales calibrated: {listing(costs)}."] if costs else []


def _scales(rows: Sequence[Row], accumulator: str) -> list[str]:
    """Which formats the search of scales helps."""
    before, after = (_ratios(rows, scaling, accumulator) for scaling in (NONE, CALIBRATED))
    gains = {name: after[name] - before[name] for name in before if name in after}
    if not gains:
        return []
    helped = sorted((name for name in gains if gains[name] >= _FEW_DB), key=lambda name: -gains[name])
    hurt = [name for name in gains if gains[name] <= -_FEW_DB]
    words = f"the search of scales gains {number(_FEW_DB)} dB or more for {len(helped)} of {len(gains)} formats"
    words += f": {listing([f'{name} ({gains[name]:+.1f} dB)' for name in helped])}" if helped else ""
    words += f"; it costs as much for {listing(hurt)}" if hurt else ""
    return [f"With sums in {accumulator}, {words}."]


def _accuracy(row: Row) -> Cell:
    return Cell(f"{row['accuracy']:.1%}", value=row["accuracy"])


def _snr(row: Row, small: str = "") -> Cell:
    """Signal-to-noise ratio of a row; the reference has none."""
    if "snr_db" not in row:
        return Cell("reference", small)
    return Cell("overflow", small) if row["snr_db"] is None else Cell(f"{row['snr_db']:.1f} dB", small, value=row["snr_db"])


def _checked(row: Row) -> Cell:
    cases = row.get("rtl_cases", 0)
    return Cell(f"equal in {cases:,} steps", value=cases) if cases else Cell("")
