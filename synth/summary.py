"""The report in a few sentences, each with a word on what it is about."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from synth import accumulators, verified
from synth.figures import Figure, compared, listing, ranked
from synth.measured import Measured
from synth.plan import REPORT_ACCUMULATOR
from synth.sections import Section, target_key
from synth.targets import TARGETS


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
        said.append(Point("Speed", f"{timed[0]} {timed[-1]}"))
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
    pairs = [(a, b, figures[a].differs(figures[b])) for figures in columns for a, b in combinations(sorted(figures), 2)]
    same = [(a, b) for a, b, differs in pairs if not differs]
    everywhere = [pair for pair in dict.fromkeys(same) if same.count(pair) == len(columns)]
    text = f"{len(same)} of {len(pairs)} pairs of MACs, over {len(columns)} targets, differ by less than their spreads"
    if everywhere:
        text += f"; on no target are told apart {listing([f'{a} and {b}' for a, b in everywhere])}"
    return text + "."


def _verified(report: Mapping[str, Any]) -> str:
    records = report.get("evidence") or []
    if not records:
        return "No module had been held against the golden model on all inputs when this report was written; hwgen verify does so."
    names = {row["verilog_sha256"]: row["name"] for row in report["rows"]}
    here = [names[found] for found in verified.equal_verilog(records) if found in names]
    return f"{verified.sentence(records)} Among the modules measured here: {listing(sorted(here)) if here else 'none'}."


def _measured(report: Mapping[str, Any]) -> str:
    rows, failed = report["rows"], report.get("failures") or []
    jobs = sum(row["recipe"] == "best" for row in rows)
    netlists = sum(row["renamings"] for row in rows if row["recipe"] != "best")
    targets = len({target_key(row) for row in rows})
    tools = [f"{name} {version}" for name, version in report.get("versions", {}).items()]
    tools += [report["tool"], *sorted({row["timer"].split(",")[0] for row in rows if "timer" in row})]
    text = f"{jobs} jobs on {targets} targets, {netlists:,} netlists under {report['renamings']} renamings"
    text += f"; {len(failed)} {'job' if len(failed) == 1 else 'jobs'} failed" if failed else ""
    return f"{text}. {', '.join(dict.fromkeys(tools))}."
