"""The content of the report, independent of HTML or Markdown: title, summary and sections."""

from functools import cached_property

from synth.report.chapters import accuracy, dots, energy, method, options, papers, parts, speed, tradeoff, training
from synth.report.chapters.summary import Point, summary
from synth.report.data import Report
from synth.report.figures import counted
from synth.report.measured import Measured
from synth.report.sections import Section


class Content:
    """Title, summary, sections and footer of a report, made from its data."""

    title = "What 8-bit floating point costs in hardware"

    def __init__(self, report: Report):
        self.report = report
        self.measured = Measured(report.rows, report.formats)

    @property
    def subtitle(self) -> str:
        """What the report compares, and how to read its figures."""
        rows = self.report.rows
        count, places = sum(row.is_best for row in rows), len({row.place for row in rows})
        return (
            f"{counted(len(self.measured.formats), 'format')}, {counted(places, 'target')}, "
            f"{counted(count, 'figure')}: multipliers, adders, fused multiply-accumulate units (MACs) and encoders "
            "from one Verilog generator, tested against a reference model. Several synthesis scripts (recipes) run on "
            f"each module, each of them under {counted(self.report.renamings, 'renaming')} (other signal names). A "
            "figure is the lowest median of a recipe; its spread is the range from that recipe's smallest to its "
            "largest value."
        )

    @property
    def colophon(self) -> str:
        """The tools, and the files with the raw data."""
        return f"Figures by {self.report.tool}. report.json has all samples, report.csv the same rows as a table."

    @cached_property
    def sections(self) -> list[Section]:
        """All sections for which the report has data."""
        report, measured = self.report, self.measured
        sections = (
            parts.macs(measured),
            tradeoff.section(measured, report.ratios or {}),
            speed.section(measured.timed, report.speeds, report.tool),
            parts.parts(measured),
            options.accumulators(measured),
            dots.section(report.dots, report.tool),
            energy.section(report.energies, measured.energies, report.tool),
            options.encoders(measured),
            options.options(measured),
            papers.p3109(measured),
            papers.table_2(measured),
            papers.claims(measured),
            accuracy.section(report.accuracy),
            training.section(report.study) if report.study or report.dots else None,  # part of whole reports
            method.evidence(report.evidence),
            method.failures(report),
            method.method(report, measured),
            method.figures(report, measured),
        )
        return [section for section in sections if section]

    @cached_property
    def summary(self) -> list[Point]:
        """The points of :func:`synth.report.chapters.summary.summary`."""
        return summary(self.report, self.measured, self.sections)
