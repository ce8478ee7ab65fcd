"""The report in a few sentences, each with a word on what it is about."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from synth.proof.evidence import EQUAL
from synth.report.chapters import accumulators, evidence
from synth.report.data import Report
from synth.report.figures import Figure, compared, counted, listing, ranked
from synth.report.measured import Measured
from synth.report.plan import REPORT_ACCUMULATOR
from synth.report.sections import Section


class Point(NamedTuple):
    """A sentence or two, and their subject."""

    subject: str
    text: str


def summary(report: Report, measured: Measured, sections: Sequence[Section]) -> list[Point]:
    """What a report says, in the order in which one would ask."""
    findings = {section.anchor: section.findings for section in sections}
    points = [*_macs(measured)]
    points += [Point("Accuracy for area", one.text) for one in findings.get("tradeoff", []) if one.place == "gates"]
    if timed := findings.get("speed"):
        points.append(Point("Speed", " ".join(dict.fromkeys((timed[0].text, timed[-1].text)))))
    points += [Point("Rounding", one.text) for one in findings.get("encoders", [])[:1]]
    points += [Point("Exact accumulators", text) for text in [accumulators.sentence(measured)] if text]
    points += [
        Point("Table 2 of the supernormal paper", one.text)
        for one in findings.get("paper", [])
        if one.place == "cyclonev"
    ]
    return [*points, Point("Verified", _verified(report)), Point("Measured", _measured(report))]


def _macs(measured: Measured) -> Iterator[Point]:
    by_target = measured.parts("mac")
    if not by_target:
        return
    smallest: dict[str, list[str]] = {}
    largest: dict[str, list[str]] = {}
    for target, figures in by_target.items():
        order = ranked(figures)
        title = measured.columns[target].title
        smallest.setdefault(order[0], []).append(title)
        largest.setdefault(order[-1], []).append(f"{compared(figures[order[-1]], figures[order[0]])} on {title}")
    least = "; of ".join(f"{name} on {listing(titles)}" for name, titles in smallest.items())
    yield Point("Cheapest", f"The smallest MAC into {REPORT_ACCUMULATOR} is that of {least}.")
    if any(len(figures) > 1 for figures in by_target.values()):
        most = "; of ".join(f"{name}: {listing(where)}" for name, where in largest.items())
        yield Point("Dearest", f"The largest is that of {most}.")
        yield Point("Inside the noise", _noise(list(by_target.values())))


def _noise(columns: Sequence[Mapping[str, Figure]]) -> str:
    """Pairs of formats whose spreads meet."""
    pairs = [
        ((a, b), figures[a].differs(figures[b])) for figures in columns for a, b in combinations(sorted(figures), 2)
    ]
    same = [pair for pair, differs in pairs if not differs]
    distinct = {pair for pair, differs in pairs if differs}
    nowhere = [f"{a} and {b}" for a, b in dict.fromkeys(same) if (a, b) not in distinct]
    tail = f"; on no target do spreads separate {listing(nowhere)}" if nowhere else ""
    where = f"over {counted(len(columns), 'target')}"
    return f"{len(same)} of {len(pairs)} pairs of MACs, {where}, differ by less than their spreads{tail}."


def _verified(report: Report) -> str:
    known = report.evidence
    if not known:
        return "No module had been checked against the golden model on all inputs when this report was written; hwgen verify does so."
    measured = {row.verilog_sha256 for row in report.rows}
    equal = [one.module for one in known if one.verdict == EQUAL and one.hashes["verilog"] in measured]
    return f"{evidence.sentence(known)} Of the modules measured here these are {listing(equal) if equal else 'none'}."


def _measured(report: Report) -> str:
    rows, failed = report.rows, report.failures
    jobs = sum(row.is_best for row in rows)
    netlists = sum(row.renamings for row in rows if not row.is_best)
    places = len({row.place for row in rows})
    tools = [f"{name} {version}" for name, version in report.versions.items()]
    tools += [report.tool, *sorted({row.timing.timer for row in rows if row.timing is not None})]
    text = f"{counted(jobs, 'job')} on {counted(places, 'target')}, {counted(netlists, 'netlist')}"
    text += f" under {counted(report.renamings, 'renaming')}"
    text += f"; {counted(len(failed), 'job')} failed" if failed else ""
    return f"{text}. {', '.join(dict.fromkeys(tools))}."
