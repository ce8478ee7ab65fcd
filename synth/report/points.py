"""The table of points behind Compare: every figure that a choice of formats has, each with its interval and command.

A choice is a format, or a pair of formats behind a select pin such as ``ocp_e4m3+ocp_e5m2``. The page's script only
selects points and divides them; whether two of them differ is :meth:`synth.area.figures.Figure.differs`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, starmap
from statistics import fmean
from typing import Any, NamedTuple

from synth.area.figures import Figure
from synth.area.rows import Row
from synth.area.targets import TARGETS
from synth.energy.job import DEFAULT_DATA
from synth.report.chapters import speed, training
from synth.report.data import Report
from synth.report.measured import figure, is_own
from synth.report.plan import ENCODER_SOURCE, FORMATS, OPTIONAL, P3109_PAIR, PAIR, REPORT_ACCUMULATOR
from synth.report.training.policy import KINDS, TENSOR, UNSCALED
from synth.report.training.results import Task
from synth.studies import energies
from synth.studies.ratios import SCALES

AREA, DELAY, ENERGY = "area", "delay", "energy"
SHORTEST, FASTEST = "shortest delay", "area at the shortest delay"
"""Metrics of another netlist than that of the smallest area, whose delay and energy the others are at any speed."""
LANES = 8
UNITS = {
    "mac": "MAC",
    "dot": f"dot product of {LANES}",
    "pe": "processing element",
    "encoder": f"encoder from {ENCODER_SOURCE}",
    "decoder": "decoder",
}
"""Units that may be compared; encoders have a rounding in the place of an accumulator, and decoders nothing."""
_INTO = "accumulator", "rounding"
_PLAIN = {"format", "from", *_INTO}
"""Options of recorded figures that are those of plain units."""
_FREE = {"lanes", "optimize", "fabric"}
"""Optional properties of a unit that has no other ones, and so is a plain one."""
DEFAULT = (PAIR, "hif8", "e5m2b1", P3109_PAIR)
"""The choices that are compared first; a user's formats follow, up to :data:`_MOST`."""
_MOST = 6
_OVER_SCALES = f"quantization_snr(f, [2.0**e for e in range({SCALES[0]}, {SCALES[-1] + 1})]).mean()"
_SCALINGS = {UNSCALED: "unscaled", TENSOR: "with scales of tensors"}
_Key = tuple[str, str, str, str]
"""The first four fields of a point."""


class Point(NamedTuple):
    """A figure of a choice; figures of the format alone have no unit and target, and those of data no accumulator."""

    choice: str
    unit: str
    accumulator: str
    target: str
    metric: str
    delay: float | None
    """Of a point of a curve: its delay in FO4."""
    low: float
    value: float
    high: float
    samples: int
    of: str
    """Unit of the value."""
    command: str
    mark: str = ""
    """Whether the module has changed since, or the figure is that of an earlier run."""
    note: str = ""
    """What else the figure is of."""
    tool: str = ""
    """The tool that measured it."""
    soonest: float | None = None
    latest: float | None = None
    """Of a point of a curve: the spread of its delay."""

    @property
    def figure(self) -> Figure:
        """The value with its spread."""
        return Figure(self.low, self.value, self.high, self.of, "", self.tool, self.command, self.samples)


def points(report: Report) -> list[Point]:
    """The table: of each unit areas and energies at any speed, and the fronts of area and energy against delay."""
    studies = (report.speeds, report.dots, report.energies, report.references)
    rows = [*report.rows, *(report.study.rows.values() if report.study else ())]
    rows += (row for study in studies if study for row in study.rows)
    found: dict[tuple[object, ...], Point] = {}
    curves: dict[_Key, dict[str, list[Row]]] = {}
    tools: dict[tuple[str, ...], str] = {}  # a figure and its curve are by one tool: the first one
    for row in filter(_is_plain, rows):
        key = row.format, row.component, _into(row.options), row.place
        metric = ENERGY if row.is_energy else AREA
        if row.tool != tools.setdefault((*key, metric, row.portfolio), row.tool):
            continue
        if row.timing is None and row.is_best:
            note = f"overflow {row.options['overflow']}" if "overflow" in row.options else ""
            found.setdefault((*key, metric), _point(key, metric, figure(row))._replace(note=note))
            if "period_fo4" in row.medians:  # operations of a simulation are as far apart as the longest path is long
                delay = energies.summary(row, "period_fo4", "FO4")
                found.setdefault((*key, DELAY), _point(key, DELAY, delay)._replace(note="median"))
            if row.is_energy and row.target in TARGETS:
                found.setdefault((*key, AREA), _point(key, AREA, energies.area(row))._replace(note="median"))
        elif not row.is_best and (row.is_energy or (row.timing is not None and row.timing.unit == "FO4")):
            curves.setdefault(key, {}).setdefault(metric, []).append(row)
    for point in _recorded(report):
        found.setdefault((*point[:4], AREA), point)
    table = [*found.values(), *chain.from_iterable(starmap(_curve, curves.items()))]
    marks = report.marks
    return [*(point._replace(mark=marks.get(point.command, "")) for point in table), *_formats(report)]


def _is_plain(row: Row) -> bool:
    """Whether a row is that of a unit with both operands of one choice and without options."""
    options = row.options
    is_unit = row.component in UNITS and "format_b" not in options and not OPTIONAL & options.keys() - _FREE
    is_unit &= not row.is_energy or row.data == DEFAULT_DATA
    lanes = LANES if row.component == "dot" else None
    is_unit &= options.get("lanes") == lanes and options.get("from", ENCODER_SOURCE) == ENCODER_SOURCE
    return is_unit and is_own(row, "overflow")


def _into(options: Mapping[str, object]) -> str:
    """The accumulator, or the rounding of an encoder."""
    random = f", {options['random_bits']} random bits" if "random_bits" in options else ""
    return next((f"{options[name]}{random}" for name in _INTO if name in options), "")


def _recorded(report: Report) -> Iterator[Point]:
    """Recorded figures of plain units."""
    for _, place, command, low, middle, high in report.recorded:
        _, _, unit, *words = command.partition(" --target ")[0].split()
        options = {name.removeprefix("--"): value for name, value in zip(words[::2], words[1::2], strict=False)}
        if unit in UNITS and unit != "dot" and options.keys() <= _PLAIN and len(words) == 2 * len(options):
            value = Figure(low, middle, high, TARGETS[place].unit, command=command)
            yield _point((options["format"], unit, _into(options), place), AREA, value)


def _point(key: _Key, metric: str, value: Figure, time: Figure | None = None) -> Point:
    ends, delay = (value.low, value.median, value.high), None if time is None else time.median
    point = Point(*key, metric, delay, *ends, value.samples, value.unit, value.command, tool=value.tool)
    return point._replace(soonest=time.low, latest=time.high) if time else point


def _curve(key: _Key, rows: dict[str, list[Row]]) -> Iterator[Point]:
    """The fronts of a unit, built for area or for speed, and the netlist with its shortest delay."""
    if curve := speed.front(speed.points(rows.get(AREA, ()))):
        times = [replace(point.time, tool=point.area.tool, command=point.area.command) for point in curve]
        yield _point(key, SHORTEST, times[0])
        yield _point(key, FASTEST, curve[0].area)
        for time, point in zip(times, curve, strict=True):
            yield _point(key, AREA, point.area, time)
            yield _point(key, DELAY, time, time)
    known = speed.front(speed.energies(rows.get(ENERGY, ()), rows.get(AREA, ())))
    yield from (_point(key, ENERGY, point.area, point.time) for point in known)


def _formats(report: Report) -> Iterator[Point]:
    """Figures of formats alone: ratios, binades, and losses of training."""
    for name, ratio in (report.ratios or {}).items():
        values = {
            "bits": (ratio.bits, "", "get(f).width"),
            "SNR at the best scale": (ratio.snr_db, "dB", "best_scale(f)"),
            "binades": (ratio.binades, "", "get(f).smallest, golden.get(f).largest"),
            "mean SNR over scales": (fmean(ratio.by_scale) if ratio.by_scale else None, "dB", _OVER_SCALES),
        }
        for metric, (value, unit, code) in values.items():
            if value is not None:
                command = f"python -c \"import golden; [print(golden.{code}) for f in '{name}'.split('+')]\""
                yield _point((name, "", "", ""), metric, Figure(value, value, value, unit, command=command))
    if study := report.study:
        losses = chain.from_iterable(map(_losses, study.tasks.values()))
        yield from (point._replace(mark="stale" * bool(training.changed(study))) for point in losses)


def _losses(task: Task) -> Iterator[Point]:
    """Of each choice, accumulator and kind of scaling the study's first policy, whatever its loss."""
    best: dict[tuple[str, str, str], tuple[Figure, str]] = {}
    for name, trained in task.policies.items():
        if trained.policy is None or not trained.policy.is_quantized:
            continue
        choice = "+".join(dict.fromkeys(trained.policy.operand(kind).fmt for kind in KINDS))
        kind = _SCALINGS.get(trained.policy.scaling, "with a scale of the loss")
        key, excess = (choice, trained.policy.accumulator, kind), task.excess(name)
        best.setdefault(key, (excess, name))
    for (choice, accumulator, kind), (excess, name) in best.items():
        if abs(excess.high) < float("inf"):
            value = replace(excess.over(0.01), unit="%", command=f"make study: policy {name}")
            point = _point((choice, "", accumulator, ""), f"loss above binary32, {task.name}, {kind}", value)
            yield point._replace(note=f"{training.against_base(task, name)}, policy {name}")


def chosen(
    table: Iterable[Point],
    choice: str,
    metric: str,
    unit: str = "mac",
    accumulator: str = REPORT_ACCUMULATOR,
    target: str = "gates",
) -> Point | None:
    """The figure of a choice at any speed."""
    key = choice, unit, accumulator, target, metric, None
    return next((point for point in table if point[:6] == key), None)


def as_json(table: Sequence[Point], formats: Sequence[str]) -> dict[str, Any]:
    """Content of ``compare.json``: the points, and what the page's script offers to choose from."""
    used = [point for point in table if point.unit]
    measured = dict.fromkeys(point.choice for point in used)
    choices = [*(name for name in formats if name in measured), *(name for name in measured if name not in formats)]
    own = [name for name in formats if name not in FORMATS]
    first = [name for name in (*DEFAULT, *own) if name in measured] or choices[:2]
    titles = {point.target: point.target for point in used} | {name: of.title for name, of in TARGETS.items()}
    return {
        "choices": choices,
        "default": [*dict.fromkeys((*first, *choices[:2]))][: max(2, min(len(first), _MOST))],
        "units": {name: title for name, title in UNITS.items() if any(point.unit == name for point in used)},
        "accumulators": {point.accumulator: point.accumulator for point in used if point.accumulator},
        "targets": {name: title for name, title in titles.items() if any(point.target == name for point in used)},
        "extras": list(dict.fromkeys(point.metric for point in table if not point.unit)),
        "columns": list(Point._fields),
        "points": [list(point) for point in table],
    }
