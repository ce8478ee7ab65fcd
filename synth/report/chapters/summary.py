"""The report in a few sentences, each with a word on what it is about."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from synth.area.targets import TARGETS
from synth.proof.evidence import EQUAL
from synth.report.chapters import accumulators
from synth.report.chapters import evidence as verified
from synth.report.figures import Figure, compared, counted, listing, ranked
from synth.report.measured import Measured
from synth.report.plan import REPORT_ACCUMULATOR
from synth.report.sections import Section, target_key


class Point(NamedTuple):
    """A sentence or two, and their subject."""

    subject: str
    text: str


def summary(report: Mapping[str, Any], measured: Measured, sections: Sequence[Section]) -> list[Point]:
    """What a report says, in the order in which one would ask."""
    findings = {section.anchor: section.findings for section in sections}
    said = [*_macs(measured)]
    gates = TARGETS["gates"].title
    said += [Point("Accuracy for area", text) for text in findings.get("tradeoff", []) if text.startswith(gates)]
    if timed := findings.get("speed"):
        said.append(Point("Speed", " ".join(dict.fromkeys((timed[0], timed[-1])))))
    said += [Point("Rounding", text) for text in findings.get("encoders", [])[:1]]
    said += [Point("Exact accumulators", text) for text in [accumulators.sentence(measured)] if text]
    verdicts = [text for text in findings.get("paper", []) if text.startswith(TARGETS["cyclonev"].title)]
    said += [Point("Table 2 of the supernormal paper", text) for text in verdicts]
    return [*said, Point("Verified", _verified(report)), Point("Measured", _measured(report))]


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
    """Which pairs of formats their spreads do not tell apart."""
    pairs = [((a, b), figures[a].differs(figures[b])) for figures in columns for a, b in combinations(sorted(figures), 2)]
    same = [pair for pair, differs in pairs if not differs]
    told = {pair for pair, differs in pairs if differs}
    nowhere = [f"{a} and {b}" for a, b in dict.fromkeys(same) if (a, b) not in told]
    text = f"{len(same)} of {len(pairs)} pairs of MACs, over {counted(len(columns), 'target')}, differ by less than their spreads"
    if nowhere:
        text += f"; on no target are told apart {listing(nowhere)}"
    return text + "."


def _verified(report: Mapping[str, Any]) -> str:
    records = report.get("evidence") or []
    if not records:
        return "No module had been held against the golden model on all inputs when this report was written; hwgen verify does so."
    measured = {row["verilog_sha256"] for row in report["rows"]}
    equal = [record["module"] for record in records if record["verdict"] == EQUAL and record["hashes"]["verilog"] in measured]
    return f"{verified.sentence(records)} Of the modules measured here these are {listing(equal) if equal else 'none'}."


def _measured(report: Mapping[str, Any]) -> str:
    rows, failed = report["rows"], report.get("failures") or []
    jobs = sum(row["recipe"] == "best" for row in rows)
    netlists = sum(row["renamings"] for row in rows if row["recipe"] != "best")
    targets = len({target_key(row) for row in rows})
    tools = [f"{name} {version}" for name, version in report.get("versions", {}).items()]
    tools += [report["tool"], *sorted({row["timer"].split(",")[0] for row in rows if "timer" in row})]
    text = f"{counted(jobs, 'job')} on {counted(targets, 'target')}, {counted(netlists, 'netlist')} under"
    text += f" {counted(report['renamings'], 'renaming')}"
    text += f"; {counted(len(failed), 'job')} failed" if failed else ""
    return f"{text}. {', '.join(dict.fromkeys(tools))}."
