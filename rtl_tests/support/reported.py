"""What a written report says: its data, and the figures that a choice within a limit selects."""

from dataclasses import replace

from synth.area.rows import Row
from synth.proof.evidence import Evidence
from synth.report import data as module
from synth.report.data import Accuracy, Failure, Report
from synth.report.training.results import Study
from synth.studies.dots import Dots
from synth.studies.energies import Energies
from synth.studies.ratios import Ratio
from synth.studies.references import References
from synth.studies.speeds import Speeds
from synth.studies.tiles import Tiles

PARTS = {
    "accuracy": Accuracy,
    "dots": Dots,
    "energies": Energies,
    "references": References,
    "speeds": Speeds,
    "study": Study,
    "tiles": Tiles,
}
"""Parts of a report that are the content of a file."""


def read_report(data):
    """The report whose ``report.json`` has this content."""
    plain = {key: data[key] for key in module._PLAIN}
    known = {name: Ratio(**ratio | {"by_scale": (*ratio["by_scale"],)}) for name, ratio in (data["snr"] or {}).items()}
    return Report(
        **plain | {key: tuple(data[key]) for key in ("formats", "stale", "earlier", "recorded")},
        rows=tuple(map(Row.from_json, data["rows"])),
        evidence=tuple(Evidence(**record) for record in data["evidence"]),
        failures=tuple(replace(Failure.from_json(item), command=item["command"]) for item in data["failures"]),
        ratios=known or None,
        **{name: of.from_json(data[name]) for name, of in PARTS.items() if data[name]},
    )


def chosen(table, choice, metric, unit="mac", accumulator="binary16", target="gates", limit=None):
    """The figure of a choice: at any speed, or the last point of its front that is within a limit in FO4."""
    known = [point for point in table if point[:5] == (choice, unit, accumulator, target, metric)]
    if limit is None:
        return next((point for point in known if point.delay is None), None)
    most = limit * (1 + 1e-9)
    curve = sorted((point for point in known if point.delay is not None), key=lambda point: point.delay)
    within = [point for point in curve if point.delay <= most]
    if not within or within[-1].soonest is None:
        return within[-1] if within else None
    sure = max((point.delay for point in curve if point.latest <= most), default=0)
    possible = [point for point in curve if point.delay >= sure and point.soonest <= most]
    low, high = min(point.low for point in possible), max(point.high for point in possible)
    return within[-1]._replace(low=low, high=high)
