"""The content of the report, independent of HTML or Markdown: title, summary and sections."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

from synth.report.chapters import accuracy, blocks, dots, energy, method, papers, speed, training
from synth.report.data import Report
from synth.report.figures import Figure, compared, counted, have_spreads, listing, smallest, ties_clause
from synth.report.measured import Measured
from synth.report.plan import REPORT_ACCUMULATOR
from synth.report.sections import SUBJECTS, Section

_ONE_SAMPLE = (
    "Some or all figures were measured under a single renaming, so that their spread is unknown. This page compares "
    "nothing with them and judges no claim by them. More renamings (--renamings) show which differences are real."
)


class Point(NamedTuple):
    """A subject and one or two sentences on it."""

    subject: str
    text: str


def summary(report: Report, measured: Measured, sections: Sequence[Section]) -> list[Point]:
    """The most important findings of a report."""
    points = [Point("One sample", _ONE_SAMPLE)] if any(row.renamings < 2 for row in report.rows) else []
    points += _macs(measured)
    findings = [finding for section in sections for finding in section.findings if finding.text]
    for subject in SUBJECTS:
        texts = dict.fromkeys(finding.text for finding in findings if finding.subject == subject)
        points += [Point(subject, " ".join(texts))] if texts else []
    return [*points, Point("Verified", _verified(report)), Point("Measured", _measured(report))]


def _macs(measured: Measured) -> Iterator[Point]:
    macs = {target: figures for target, figures in measured.parts("mac").items() if have_spreads(figures.values())}
    by_target = {target: figures for target, figures in macs.items() if len(figures) > 1}
    if not by_target:
        return
    least: dict[str, list[str]] = {}
    largest: dict[str, list[str]] = {}
    for target, figures in by_target.items():
        first, ties, last = smallest(figures)
        title = measured.columns[target].title
        least.setdefault(f"{first}{ties_clause(ties)}{',' if ties else ''}", []).append(title)
        if last:
            largest.setdefault(last, []).append(f"{compared(figures[last], figures[first])} on {title}")
    text = "; ".join(f"{name} on {listing(titles)}" for name, titles in least.items())
    yield Point("Cheapest", f"Format with the smallest MAC into {REPORT_ACCUMULATOR}: {text}.")
    if largest:
        most = "; ".join(f"{name}, {listing(shares)}" for name, shares in largest.items())
        yield Point("Most expensive", f"Format with the largest MAC, compared with the smallest: {most}.")
    yield Point("No difference", _overlaps(list(by_target.values())))


def _overlaps(columns: Sequence[Mapping[str, Figure]]) -> str:
    pairs = [
        ((a, b), figures[a].differs(figures[b])) for figures in columns for a, b in combinations(sorted(figures), 2)
    ]
    same = [pair for pair, differs in pairs if not differs]
    distinct = {pair for pair, differs in pairs if differs}
    nowhere = [f"{a} and {b}" for a, b in dict.fromkeys(same) if (a, b) not in distinct]
    tail = f" On every target the spreads overlap for {listing(nowhere)}." if nowhere else ""
    targets = counted(len(columns), "target")
    return f"{len(same)} of {len(pairs)} pairs of MACs on {targets} have overlapping spreads.{tail}"


def _verified(report: Report) -> str:
    checks = report.evidence
    if not checks:
        return "No module had been checked on all inputs when this report was written. hwgen verify checks one."
    measured = {(row.name, row.verilog_sha256) for row in report.rows}
    equal = [module[0] for module in method.proved(checks) if module in measured]
    return f"{method.sentence(checks)} Equal and measured in this report: {listing(equal) if equal else 'none'}."


def _measured(report: Report) -> str:
    rows, failed = report.rows, report.failures
    jobs = sum(row.is_best for row in rows)
    netlists = sum(row.renamings for row in rows if not row.is_best)
    places = len({row.place for row in rows})
    tools = [f"{name} {version}" for name, version in report.versions.items()]
    tools += [report.tool, *sorted({row.timing.timer for row in rows if row.timing is not None})]
    text = f"{counted(jobs, 'job')} on {counted(places, 'target')}, {counted(netlists, 'netlist')}, "
    text += f"{counted(report.renamings, 'renaming')} per recipe"
    text += f"; {counted(len(failed), 'job')} failed" if failed else ""
    return f"{text}. Tools: {', '.join(dict.fromkeys(tools))}."


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
            blocks.macs(measured),
            accuracy.tradeoff(measured, report.ratios or {}),
            speed.section(measured.timed, report.speeds, report.tool),
            blocks.parts(measured),
            blocks.accumulators(measured),
            dots.section(report.dots, report.tool),
            energy.section(report.energies, measured.energies, report.tool),
            blocks.encoders(measured),
            blocks.options(measured),
            papers.p3109(measured),
            papers.table_2(measured),
            papers.claims(measured),
            accuracy.digits(report.accuracy),
            training.section(report.study) if report.study or report.dots else None,  # part of whole reports
            method.evidence(report.evidence),
            method.failures(report),
            method.method(report, measured),
            method.figures(report, measured),
        )
        return [section for section in sections if section]

    @cached_property
    def summary(self) -> list[Point]:
        """The points of :func:`summary`."""
        return summary(self.report, self.measured, self.sections)
