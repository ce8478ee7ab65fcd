"""The report's data: rows, failures, accuracy and evidence, and their JSON."""

import math
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from typing import Any

from golden.refusal import BadValue
from hwgen.tools import yosys
from synth.area.digest import ROOT
from synth.area.keys import Keys
from synth.area.rows import Row
from synth.area.runner import Outcome
from synth.proof.evidence import Evidence
from synth.report.training.results import Study
from synth.studies import study
from synth.studies.dots import Dots
from synth.studies.energies import Energies
from synth.studies.ratios import Ratio
from synth.studies.references import References
from synth.studies.speeds import Speeds
from synth.studies.tiles import Tiles


@dataclass(frozen=True)
class Failure:
    """A job that failed; ``output`` is the tool's complete output."""

    name: str
    target: str
    error: str
    command: str = "hwgen sweep"
    output: str = ""

    @property
    def log(self) -> str:
        """Name of the file with the tool's output, in the report's folder."""
        return f"logs/{self.name}.{self.target}.log"

    def to_json(self) -> dict[str, str]:
        """The failure without its output, as plain data."""
        return {"name": self.name, "target": self.target, "command": self.command, "error": self.error, "log": self.log}

    @classmethod
    def from_json(cls, data: object) -> "Failure":
        """Read an entry of a report or a sweep; BadValue or BadKind if it is something else."""
        keys = Keys(data, "failure")
        return cls(keys.text("name"), keys.text("target"), keys.text("error"))


@dataclass(frozen=True)
class Sweep:
    """Measurements of ``hwgen sweep`` or ``hwgen report``."""

    rows: tuple[Row, ...]
    failures: tuple[Failure, ...] = ()

    @classmethod
    def from_json(cls, data: object) -> "Sweep":
        """Read a ``sweep.json`` or ``report.json``; BadValue or BadKind if it is something else."""
        keys = Keys(data, "sweep")
        return cls(tuple(map(Row.from_json, keys.items("rows"))), tuple(map(Failure.from_json, keys.items("failures"))))


@dataclass(frozen=True)
class Score:
    """How well a network computes in a format."""

    format: str
    accuracy: float
    """Share of images that are classified correctly."""
    snr_db: float | None
    """Signal-to-noise ratio of the outputs compared with the reference; None of itself, or if a sum overflowed."""
    rtl_cases: int = 0
    """Steps in which the Verilog equals the reference model."""
    scaling: str = ""
    accumulator: str = ""

    @classmethod
    def from_json(cls, data: object, in_study: bool) -> "Score":
        """Read a row, or a row of the study, of ``examples/digits.py --json``; BadValue or BadKind otherwise."""
        keys = Keys(data, "row")
        is_known, ratio = "snr_db" in keys.rest or not in_study, keys.take("snr_db")
        if not is_known or not (ratio is None or (type(ratio) in (float, int) and math.isfinite(ratio))):
            raise BadValue("snr_db", f"must be a finite number or null, not {ratio!r}")
        score = cls(keys.text("format"), keys.number("accuracy"), ratio)
        if score.accuracy > 1:
            raise BadValue("accuracy", f"must be a share, at most 1, not {score.accuracy}")
        if in_study:
            return replace(score, scaling=keys.text("scaling"), accumulator=keys.text("accumulator"))
        return replace(score, rtl_cases=keys.count("rtl_cases"))


@dataclass(frozen=True)
class Accuracy:
    """Measurements of ``examples/digits.py``."""

    images: int
    """Number of test images."""
    accumulator: str
    """Accumulator of ``scores``."""
    scores: tuple[Score, ...]
    """A score for each format and for the reference."""
    study: tuple[Score, ...]
    """Scores by format, scaling and accumulator."""
    source: Mapping[str, Any]
    """Content of the file."""

    @classmethod
    def from_json(cls, data: Any) -> "Accuracy":
        """Read the output of ``examples/digits.py --json``; BadValue or BadKind if it is something else."""
        keys = Keys(data, "accuracy")
        images, scores = keys.count("images"), tuple(Score.from_json(row, False) for row in keys.items("rows"))
        if not images:
            raise BadValue("images", "must be positive, not 0")
        study = tuple(Score.from_json(row, True) for row in keys.items("study"))
        return cls(images, keys.text("accumulator"), scores, study, data)


_PLAIN = ("formats", "tool", "versions", "portfolio", "renamings", "left", "is_stopped", "stale", "earlier", "recorded")
"""Attributes of a report that are plain data."""
_PARTS = ("accuracy", "dots", "energies", "references", "speeds", "study", "tiles")
"""Attributes that are the content of a file."""


@dataclass(frozen=True)
class Report:
    """All data of a report."""

    formats: tuple[str, ...]
    """Formats that are compared."""
    tool: str
    versions: Mapping[str, str]
    """Versions of the packages that generated the Verilog."""
    portfolio: str
    renamings: int
    """Largest number of renamings of a row."""
    rows: tuple[Row, ...]
    accuracy: Accuracy | None = None
    evidence: tuple[Evidence, ...] = ()
    failures: tuple[Failure, ...] = ()
    ratios: Mapping[str, Ratio] | None = None
    dots: Dots | None = None
    energies: Energies | None = None
    references: References | None = None
    speeds: Speeds | None = None
    study: Study | None = None
    tiles: Tiles | None = None
    left: int = 0
    """Jobs that are not finished: until they are, earlier figures stand for theirs."""
    is_stopped: bool = False
    """Whether the run ended before them."""
    stale: tuple[str, ...] = ()
    """Modules that have changed since their earlier figures, or those of a study, were measured."""
    earlier: tuple[str, ...] = ()
    """Commands of rows of an earlier run."""
    recorded: tuple[Sequence[Any], ...] = ()
    """Areas without rows: name of the module, target, command, and smallest, median and largest sample."""

    @property
    def marks(self) -> dict[str, str]:
        """What tables and Compare say of figures, by their commands."""
        stale = {row.command: "stale" for row in self.shown if row.name in self.stale}
        recorded = {command for _, _, command, *_ in self.recorded} - {row.command for row in self.rows}  # of today's
        return dict.fromkeys(self.earlier, "earlier run") | stale | dict.fromkeys(recorded, "earlier run")

    @property
    def shown(self) -> list[Row]:
        """The rows behind its figures: those of its studies, too."""
        parts = (getattr(self, name) for name in _PARTS)
        rows = [*self.rows, *(row for part in parts if isinstance(part, study.Study) for row in part.rows)]
        names = {row.name for row in rows}
        return [*rows, *(row for row in (self.study.rows.values() if self.study else ()) if row.name not in names)]

    def to_json(self) -> dict[str, Any]:
        """Content of ``report.json``."""
        return {
            **{key: getattr(self, key) for key in _PLAIN},
            "rows": [row.to_json() for row in self.rows],
            "evidence": [known.record() for known in self.evidence],
            "failures": [failure.to_json() for failure in self.failures],
            "snr": self.ratios and {name: asdict(ratio) for name, ratio in self.ratios.items()},
            **{name: (part := getattr(self, name)) and dict(part.source) for name in _PARTS},
        }


def _program() -> str:
    """The version of this program, and its commit where it is a clone."""
    words = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    is_clone = (ROOT / ".git").exists() and shutil.which("git") is not None
    run = subprocess.run(words, capture_output=True, encoding="utf-8", check=False) if is_clone else None
    commit = run.stdout.strip() if run else ""
    return f"{version('minifloat-rtl')}{f', commit {commit}' * bool(commit)}"


def assemble(
    outcomes: Iterable[Outcome],
    formats: Sequence[str],
    accuracy: Accuracy | None = None,
    evidence: Iterable[Evidence] = (),
) -> Report:
    """The report on the outcomes of :func:`synth.area.runner.measure`; ``formats`` are compared."""
    finished = list(outcomes)
    jobs = [outcome.job for outcome in finished]
    return Report(
        formats=tuple(formats),
        tool=yosys.version(),
        versions={"minifloat-rtl": _program(), "amaranth": version("amaranth")},
        portfolio=", ".join(sorted({job.portfolio for job in jobs})),
        renamings=max((job.renamings for job in jobs), default=0),
        rows=tuple(row for outcome in finished for row in outcome.rows),
        accuracy=accuracy,
        evidence=tuple(evidence),
        failures=tuple(
            Failure(outcome.job.top, outcome.job.target, outcome.error, outcome.job.command, outcome.log)
            for outcome in finished
            if outcome.error is not None
        ),
    )


def with_sweeps(report: Report, sweeps: Sequence[Sweep]) -> Report:
    """A report with the rows and failures of sweeps added; rows that the report already has are not replaced.

    A report without rows of its own compares the formats of the sweeps.
    """
    if not sweeps:
        return report
    rows = [*report.rows, *(row for sweep in sweeps for row in sweep.rows)]
    kept = tuple({_identity(row): row for row in reversed(rows)}.values())[::-1]
    return replace(
        report,
        rows=kept,
        formats=report.formats if report.rows else tuple(dict.fromkeys(row.format for row in kept)),
        renamings=max((row.renamings for row in kept), default=0),
        portfolio=", ".join(sorted({row.portfolio for row in kept})),
        tool=", ".join(sorted({row.tool for row in kept})) or report.tool,
        failures=(*report.failures, *(failure for sweep in sweeps for failure in sweep.failures)),
    )


def with_earlier(
    report: Report, earlier: Iterable[Row], recorded: Iterable[Sequence[Any]], left: int, modules: Mapping[str, str]
) -> Report:
    """A report whose last jobs are not finished, with earlier figures in place of those that it lacks.

    They are ``earlier`` rows of its modules, and ``recorded`` ones without rows.
    ``modules`` are today's modules: names, and SHA-256 of their Verilog. Rows of other Verilog are stale.
    """
    known = {(row.name, row.place) for row in report.rows}
    rows = [row for row in earlier if left and row.name in modules and (row.name, row.place) not in known]
    data = with_sweeps(report, [Sweep(tuple(rows))] if rows else [])
    stale = (row.name for row in data.shown if modules.get(row.name, row.verilog_sha256) != row.verilog_sha256)
    kept = tuple(recorded) if left else ()
    data = replace(data, stale=tuple(dict.fromkeys(stale)), earlier=tuple(dict.fromkeys(row.command for row in rows)))
    return replace(data, formats=report.formats, left=left, recorded=kept)


def _identity(row: Row) -> tuple[object, ...]:
    """What a measurement depends on: rows with the same identity are the same measurement."""
    conditions = tuple(sorted(row.conditions.items()))
    return row.verilog_sha256, row.script_sha256, row.recipe, row.is_best, row.libraries_sha256, row.tool, conditions
