"""The content of the report, independent of HTML or Markdown: the first page, and chapters by page."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import urlencode

from synth.report.chapters import accuracy, blocks, dots, energy, method, papers, speed, tiles, training
from synth.report.data import Report
from synth.report.figures import counted, listing, number, ranged
from synth.report.measured import Measured
from synth.report.plan import PAIR, REPORT_ACCUMULATOR
from synth.report.points import AREA, ENERGY, Point, chosen, points
from synth.report.sections import Chart, Section

ONE_SAMPLE = (
    "Some or all figures were measured under a single renaming, so that their spread is unknown. This report compares "
    "nothing with them and judges no claim by them. More renamings (--renamings) show which differences are real."
)
PAGES = {
    "area": ("Area", ("mac", "parts", "accumulators", "options")),
    "speed": ("Speed", ("speed",)),
    "energy": ("Energy", ("energy",)),
    "accuracy": ("Accuracy", ("tradeoff", "accuracy")),
    "dots": ("Dot products and tiles", ("dots", "tiles")),
    "encoders": ("Encoders and rounding", ("encoders",)),
    "training": ("Training", ("training",)),
    "papers": ("Claims of papers", ("claims", "paper")),
    "method": ("Method and proofs", ("method", "evidence", "failures")),
}
"""Pages: their titles, and their chapters."""
SUBJECTS = ("Accuracy for area", "Rounding", "Training", "Exact accumulators", "Dot products", "Energy", "Speed")
"""Findings of chapters that the first page may have, the most important first."""
_FINDINGS = 5
_STUDIED = "hif8"
YEAR = 2026
"""Year of the version, for citations."""
_LIMITS = (45, 48, 51, 75, 100)
"""Delays in FO4 at which the first page compares :data:`_STUDIED` with the pair that it replaces."""


class Answer(NamedTuple):
    """A sentence on the first page, and the address of the figure behind it."""

    text: str
    link: str


class Page(NamedTuple):
    """A page of chapters; ``name`` is its file without the ending."""

    name: str
    title: str
    sections: list[Section]


class Content:
    """All texts, charts and tables of a report, made from its data."""

    title = "What 8-bit floating point costs in hardware"

    def __init__(self, report: Report):
        self.report = report
        widths = accuracy.widths(report.ratios or {})
        self.measured = Measured(report.rows, report.formats, widths, report.recorded)
        self.points: list[Point] = points(report)

    @cached_property
    def sections(self) -> list[Section]:
        """All sections for which the report has data, in the order of :data:`PAGES`."""
        report, measured, names = self.report, self.measured, self.report.formats
        known = (
            blocks.macs(measured),
            blocks.parts(measured),
            blocks.accumulators(measured, report.dots),
            blocks.options(measured),
            speed.section(report, measured),
            energy.section(report, measured),
            accuracy.tradeoff(measured, report.ratios or {}),
            accuracy.digits(report.accuracy),
            dots.section(report),
            tiles.section(report),
            blocks.encoders(measured),
            training.section(report.study, names) if report.study or report.dots else None,  # part of whole reports
            papers.claims(measured),
            papers.table_2(measured),
            method.method(report, measured),
            method.evidence(report.evidence),
            method.failures(report),
        )
        return [section for section in known if section]

    @cached_property
    def pages(self) -> list[Page]:
        """The pages that have chapters."""
        known = {section.anchor: section for section in self.sections}
        every = (
            Page(name, title, [known[anchor] for anchor in anchors if anchor in known])
            for name, (title, anchors) in PAGES.items()
        )
        return [page for page in every if page.sections]

    def address(self, section: Section) -> str:
        """The address of a chapter."""
        return next(f"{name}.html#{section.anchor}" for name, (_, known) in PAGES.items() if section.anchor in known)

    # -- the first page

    @property
    def warnings(self) -> list[str]:
        """What a reader must know before anything else."""
        report = self.report
        what = "the run was stopped, and the same command resumes it"
        known = {
            f"{counted(report.left, 'job')} not finished. Until then, figures of an earlier run stand for theirs; "
            f"{what if report.is_stopped else 'the pages are renewed every minute'}.": report.left,
            f"Stale figures, measured before these modules changed: {listing(report.stale or [''])}.": report.stale,
            ONE_SAMPLE: any(row.renamings < 2 for row in report.rows),
        }
        return [text for text, applies in known.items() if applies]

    @property
    def subtitle(self) -> str:
        """What the report compares."""
        rows = self.report.rows
        figures, places = sum(row.is_best for row in rows), len({row.place for row in rows})
        choices = {point.choice for point in self.points if point.unit}
        pairs = " and pairs of formats" if any("+" in name for name in choices) else ""
        return (
            f"{counted(len(choices), 'format')}{pairs} on {counted(places, 'target')}, {counted(figures, 'figure')}: "
            "fused multiply-accumulate units (MACs), their parts, dot products and encoders from one Verilog generator."
        )

    @property
    def how(self) -> str:
        """How figures were measured, in four sentences."""
        tools = [f"{name} {version}" for name, version in self.report.versions.items()]
        timers = sorted({row.timing.timer for row in self.report.rows if row.timing is not None})
        return (
            f"Several synthesis scripts run on each module, each under {counted(self.report.renamings, 'renaming')} "
            "(other names of signals). A figure is the lowest median of a script, and its spread is the range of that "
            "script's samples. Where spreads overlap, the report says no difference. Nothing is placed and routed, and "
            f"the tools are {listing([*tools, self.report.tool, *timers])}."
        )

    @cached_property
    def answers(self) -> list[Answer]:
        """The most important findings, with links to their figures."""
        answers = [*self._replaced()]
        for subject in SUBJECTS:
            for section in self.sections:
                text = next((each.text for each in section.shown if each.subject == subject), "")
                answers += [Answer(f"{text} {section.warning}".strip(), self.address(section))] if text else []
        return answers[:_FINDINGS]

    def _replaced(self) -> Iterator[Answer]:
        """What :data:`_STUDIED` costs against the pair of formats that it replaces."""
        columns = self.measured.columns.items()
        known = ((self._against(AREA, True, target=target), column.title) for target, column in columns)
        if shares := [f"{text} on {title}" for text, title in known if text]:
            text = f"Area of a MAC into {REPORT_ACCUMULATOR} of {_STUDIED}, against one for the pair {PAIR}"
            yield Answer(f"{text}: {listing(shares)}.", "area.html#mac")
        texts = []
        for metric in (AREA, ENERGY):
            by_text: dict[str, list[str]] = {}
            for limit in _LIMITS:
                by_text.setdefault(self._against(metric, limit=limit), []).append(str(limit))
            if shares := [f"{text} within {listing(limits)}" for text, limits in by_text.items() if text]:
                texts.append(f"{metric} {', '.join(shares)} FO4")
        if texts:
            choice = {"formats": f"{PAIR},{_STUDIED}", "limit": _LIMITS[0]}
            text = f"At a speed, a MAC of {_STUDIED} against one for the pair on gates, the least of each: "
            text += (
                f"{'; '.join(texts)}. Spreads are those of renamings: scripts are further apart, so that the sign may "
            )
            yield Answer(f"{text}change with the limit.", f"#compare&{urlencode(choice)}")

    def _against(self, metric: str, has_figures: bool = False, **choice: Any) -> str:
        """How their figures compare, with both if ``has_figures``; empty if one is unknown, or has no spread."""
        pair = [chosen(self.points, name, metric, **choice) for name in (_STUDIED, PAIR)]
        first, second = (point and point.figure for point in pair)
        if not first or not second:
            return ""
        both = f"{number(first.median)} against {number(second.median)} {first.unit}"
        return ranged(first, second, *([both] if has_figures else []))

    @cached_property
    def charts(self) -> list[tuple[Chart, Section, str]]:
        """Charts of the first page: area, area against delay, and worth; each with its chapter and page."""
        chosen = {
            "mac": "compared with the smallest",
            "speed": "Area against delay: MAC",
            "training": "Loss against area",
        }
        found = []
        for section in self.sections:
            charts = [chart for chart in section.charts if chosen.get(section.anchor, "\n") in chart.title]
            found += [(chart, section, self.address(section).partition("#")[0]) for chart in charts[:1]]
        return found

    @property
    def verified(self) -> str:
        """What is proved of the modules that were measured."""
        checks = self.report.evidence
        if not checks:
            return f"{method.UNCHECKED}."
        proved = method.proved(checks)
        kinds: dict[str, dict[tuple[str, str], None]] = {}
        for row in self.report.rows:
            kinds.setdefault(row.component, {})[row.name, row.verilog_sha256] = None
        counts = [f"{kind} {len(proved.keys() & known.keys())} of {len(known)}" for kind, known in kinds.items()]
        return f"{method.sentence(checks)} Equal, of the modules measured in this report: {', '.join(counts)}."

    def cite(self, title: str) -> str:
        """A line to cite a figure, a table or the report."""
        ((name, version), *_) = self.report.versions.items()
        return f"The {name} project, “{title}”, {name} {version} ({YEAR}), measured with {self.report.tool}."
