"""What the report says, from its data: a summary and sections, which HTML and Markdown set each in their way."""

from functools import cached_property

from synth.report.chapters import (
    accumulators,
    accuracy,
    encoders,
    evidence,
    method,
    options,
    papers,
    parts,
    speed,
    tradeoff,
)
from synth.report.chapters.summary import Point, summary
from synth.report.data import Report
from synth.report.figures import counted
from synth.report.measured import Measured
from synth.report.sections import Section


class Content:
    """Sections of one report, its title and what stands around them."""

    title = "What 8-bit floating point costs in hardware"

    def __init__(self, report: Report):
        self.report = report
        self.measured = Measured(report.rows, report.formats)

    @property
    def subtitle(self) -> str:
        """What was compared, in a sentence."""
        rows = self.report.rows
        count, places = sum(row.is_best for row in rows), len({row.place for row in rows})
        return (
            f"{counted(len(self.measured.formats), 'format')}, {counted(places, 'target')}, "
            f"{counted(count, 'figure')}: multipliers, adders, fused multiply-accumulate units and encoders from one "
            "generator, simulated against a golden model and synthesized by one tool."
        )

    @property
    def colophon(self) -> str:
        """What made the figures."""
        return f"Figures by {self.report.tool}; raw samples in report.json, the same rows in report.csv."

    @cached_property
    def sections(self) -> list[Section]:
        """All sections that there is data for."""
        report, measured = self.report, self.measured
        sections = (
            parts.macs(measured),
            tradeoff.section(measured, report.ratios or {}),
            speed.section(measured),
            parts.parts(measured),
            accumulators.section(measured),
            encoders.section(measured),
            options.section(measured),
            papers.table_2(measured),
            papers.claims(measured),
            accuracy.section(report.accuracy),
            evidence.section(report.evidence),
            method.failures(report),
            method.method(report, measured),
            method.figures(report, measured),
        )
        return [section for section in sections if section]

    @cached_property
    def summary(self) -> list[Point]:
        """The few sentences to begin with."""
        return summary(self.report, self.measured, self.sections)
