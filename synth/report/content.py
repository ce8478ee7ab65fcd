"""The content of the report, independent of HTML or Markdown: the first page, and chapters by page."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from synth.area.figures import counted, listing, ranged
from synth.report.chapters import accuracy, blocks, dots, energy, method, papers, references, speed, tiles, training
from synth.report.data import Report
from synth.report.measured import Measured
from synth.report.plan import PAIR, REPORT_ACCUMULATOR, STUDIED
from synth.report.points import AREA, ENERGY, LANES, Point, chosen, points
from synth.report.sections import Chart, Section, Table
from synth.studies.ratios import widths

ONE_SAMPLE = (
    "Some or all figures were measured under a single renaming, so that their spread is unknown. This report compares "
    "nothing with them and judges no claim by them. More renamings (--renamings) show which differences are real."
)
PAGES = {
    "area": ("Area and accumulators", ("mac", "references", "parts", "accumulators", "options")),
    "speed": ("Speed", ("speed",)),
    "energy": ("Energy", ("energy",)),
    "accuracy": ("Accuracy", ("tradeoff", "accuracy")),
    "dots": ("Dot products and tiles", ("dots", "tiles")),
    "encoders": ("Encoders and rounding", ("encoders", "roundings")),
    "training": ("Training", ("training",)),
    "papers": ("Claims of papers", ("claims",)),
    "method": ("Method and proofs", ("method", "evidence", "failures")),
}
"""Pages: their titles, and their chapters."""
SUBJECTS = (
    speed.LIMITS,
    "References",
    "Accuracy for area",
    "Training",
    "Rounding",
    "Exact accumulators",
    "Dot products",
    "Energy",
    "Speed",
)
"""Findings of chapters that the first page may have, the most important first."""
_FINDINGS = 5


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

    title, year = "What 8-bit floating point costs in hardware", 2026

    def __init__(self, report: Report):
        self.report = report
        known = widths(report.ratios or {})
        self.measured = Measured(report.rows, report.formats, known, report.recorded)
        self.points: list[Point] = points(report)

    @cached_property
    def sections(self) -> list[Section]:
        """All sections for which the report has data, in the order of :data:`PAGES`."""
        report, measured, names = self.report, self.measured, self.report.formats
        known = (
            blocks.macs(measured),
            references.section(report, measured),
            blocks.parts(measured),
            blocks.accumulators(measured),
            blocks.options(measured),
            speed.section(report, measured),
            energy.section(report, measured),
            accuracy.tradeoff(measured, report.ratios or {}),
            accuracy.digits(report.accuracy),
            dots.section(report),
            tiles.section(report),
            blocks.encoders(measured),
            references.roundings(report),
            # part of whole reports
            training.section(report.study, names, report.rows) if report.study or report.dots else None,
            papers.claims(measured),
            method.method(report, measured),
            method.evidence(report),
            method.failures(report),
        )
        return [section.marked(report.marks) for section in known if section]

    @cached_property
    def pages(self) -> list[Page]:
        """The pages that have chapters."""
        known = {section.anchor: section for section in self.sections}
        every = (
            Page(name, title, [known[anchor] for anchor in anchors if anchor in known])
            for name, (title, anchors) in PAGES.items()
        )
        return [page for page in every if page.sections]

    def address(self, section: Section, item: str = "") -> str:
        """The address of a chapter, or of a chart or table in it."""
        (name,) = (name for name, (_, known) in PAGES.items() if section.anchor in known)
        return f"{name}.html#{item or section.anchor}"

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
            "Several synthesis scripts (recipes) run on each module, each under "
            f"{counted(self.report.renamings, 'renaming')} (other names of signals). A figure is the lowest median of "
            "a script, and its spread is the range of that script's samples. Where spreads overlap, the report says no "
            "difference. Nothing is placed and routed, and the tools are "
            f"{listing([*tools, self.report.tool, *timers])}."
        )

    @cached_property
    def answers(self) -> list[Answer]:
        """The most important findings, with links to their figures."""
        known = [(finding, section) for section in self.sections for finding in section.findings]
        first = {finding.subject: (finding, section) for finding, section in reversed(known)}
        findings = (first[subject] for subject in SUBJECTS if subject in first)
        answers = (Answer(finding.text, self.address(section, finding.item)) for finding, section in findings)
        return [*self._replaced(), *answers][:_FINDINGS]

    def _replaced(self) -> Iterator[Answer]:
        """What the studied format costs against the pair of formats that it replaces, on the first known target."""
        known = {column.title: self._against(AREA, target=target) for target, column in self.measured.columns.items()}
        if shares := [f"{text} on {title}" for title, text in known.items() if text]:
            energy, dot = self._against(ENERGY), self._against(AREA, unit="dot", accumulator="binary32")
            costs = [f"area of a MAC into {REPORT_ACCUMULATOR} {shares[0]}"]
            costs += [f"energy of its operation {energy} on Gates"] if energy else []
            costs += [f"area of a dot product of {LANES} into binary32 {dot} on Gates"] if dot else []
            yield Answer(f"{STUDIED} against the pair {PAIR}: {listing(costs)}.", "area.html#mac")

    def _against(self, metric: str, **choice: Any) -> str:
        """How their figures compare; empty if one is unknown, or has no spread."""
        pair = [chosen(self.points, name, metric, **choice) for name in (STUDIED, PAIR)]
        first, second = (point and point.figure for point in pair)
        return ranged(first, second) if first and second else ""

    @cached_property
    def charts(self) -> list[tuple[Chart, Section, str]]:
        """Charts of the first page: area, area against delay, and worth; each with its chapter and page."""
        words = {"mac": "compared with the smallest", "speed": "Area against delay: MAC", "training": "Loss against"}
        known = ((chart, section) for section in self.sections for chart in reversed(section.charts))
        shown = {pair[1].anchor: pair for pair in known if words.get(pair[1].anchor, "\n") in pair[0].title}
        return [(*pair, self.address(pair[1]).partition("#")[0]) for pair in shown.values()]

    @cached_property
    def tables(self) -> list[tuple[Section, Table]]:
        """Tables of the first page, with their chapters."""
        return [(section, section.tables[0]) for section in self.sections if section.anchor == "references"]

    @property
    def verified(self) -> str:
        """What is proved of the modules behind the figures."""
        return method.coverage(self.report) if self.report.evidence else f"{method.UNCHECKED}."

    def cite(self, title: str) -> str:
        """A line to cite a figure, a table or the report."""
        ((name, version), *_) = self.report.versions.items()
        return f"The {name} project, “{title}”, {name} {version} ({self.year}), measured with {self.report.tool}."
