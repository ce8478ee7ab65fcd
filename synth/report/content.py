"""What the report says, from its data: a summary and sections, which HTML and Markdown set each in their way."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from synth.report.chapters import accumulators, accuracy, encoders, method, papers, parts, speed, tradeoff
from synth.report.chapters import evidence as verified
from synth.report.chapters import options as extras
from synth.report.chapters.summary import Point, summary
from synth.report.figures import counted
from synth.report.measured import Measured
from synth.report.sections import Section, target_key


class Content:
    """Sections of one report, its title and what stands around them."""

    title = "What 8-bit floating point costs in hardware"

    def __init__(self, report: Mapping[str, Any]):
        self.report = report
        self.measured = Measured(report)

    @property
    def subtitle(self) -> str:
        """What was compared, in a sentence."""
        rows = self.report["rows"]
        count, targets = sum(row["recipe"] == "best" for row in rows), len({target_key(row) for row in rows})
        what = ", ".join((counted(len(self.measured.formats), "format"), counted(targets, "target"), counted(count, "figure")))
        return (
            f"{what}: multipliers, adders, fused multiply-accumulate units and encoders from one generator, simulated against "
            "a golden model and synthesized by one tool."
        )

    @property
    def colophon(self) -> str:
        """What made the figures."""
        return f"Figures by {self.report['tool']}; raw samples in report.json, the same rows in report.csv."

    @cached_property
    def sections(self) -> list[Section]:
        """All sections that there is data for."""
        report, measured = self.report, self.measured
        columns = list(measured.columns.values())
        made = [parts.macs(measured), tradeoff.section(measured, report.get("snr") or {}), speed.section(measured)]
        made += [parts.parts(measured), accumulators.section(measured)]
        made += [encoders.section(measured), extras.section(measured), papers.paper_section(measured.rows, columns, measured.formats)]
        made += [papers.section(measured.rows, columns), accuracy.section(report.get("accuracy"))]
        made += [verified.section(report.get("evidence") or []), method.failures(report)]
        made += [method.method(report, measured), method.figures(report, measured)]
        return [section for section in made if section]

    @cached_property
    def summary(self) -> list[Point]:
        """The few sentences to begin with."""
        return summary(self.report, self.measured, self.sections)
