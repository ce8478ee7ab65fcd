"""The chapters on the report itself: method, proofs and failed jobs."""

from collections import Counter
from collections.abc import Sequence

import golden
from golden import Refusal
from synth.area.figures import counted
from synth.area.targets import LIBERTY
from synth.proof.evidence import EQUAL, PROVED, Evidence
from synth.report.data import Report
from synth.report.measured import Measured
from synth.report.plan import TERMS
from synth.report.sections import Cell, Section

UNCHECKED = (
    "No verdict of this version of the program is known, neither from the folder of evidence nor from docs/proofs.csv"
)
BY_TABLE = "by the committed table docs/proofs.csv"
"""The end of the method of a verdict that was read from the documentation."""

_NAMES = (
    "In a pair a+b a pin for each operand selects its format. The accumulator exact is a fixed-point "
    f"register for the sum of {TERMS:,} products without rounding; alignedT truncates addends of a step T bits below "
    "the largest exponent among them; the others are formats, which are rounded to in each step. binary8p4 "
    "and Binary8p4se have the same values, but other rules of overflow by default, as have binary8p3 and Binary8p3se."
)


def method(report: Report, measured: Measured) -> Section:
    """How figures are measured: targets, recipes and renamings."""
    section = Section(
        "method",
        "How it was measured",
        "A figure is the lowest median over the recipes; its spread is the range from that recipe's smallest to its "
        "largest sample, and where spreads overlap, the report says no difference.",
        note="A recipe is a synthesis script for ABC, the optimizer of Yosys (synth/area/recipes.py); a portfolio "
        f"is a fixed set of them (here {report.portfolio}; of speed, each is a point of a curve). A renaming gives all "
        "internal signals other names and another order, and exchanges the inputs of half of the commutative gates. "
        f"Tools: {report.tool}. Nothing is placed and routed.",
    )
    notes = ((column.title, column.unit, column.note) for column in measured.columns.values())
    section.table("Targets", ("target", "unit", "note"), notes)
    names = dict.fromkeys(part for row in report.shown for part in row.format.split("+"))
    head = ("name", "bits", "exponent / fraction", "defined by")
    section.table("Names of formats", head, map(_named, names), _NAMES)
    if not any(row.target == LIBERTY for row in report.rows):
        text = "No cell library was measured for this report; docs/sky130.json and docs/fast.md have MACs on sky130. "
        text += "hwgen report --liberty FILE adds one, with a column in every table."
        section.find(text)
    return section


def _named(name: str) -> tuple[str, ...]:
    """Bits of codes, of their exponent and fraction, and who defined a format."""
    try:
        fmt = golden.get(name)
    except Refusal:
        return name, "–", "–", "a file of the report's user"
    fields = [f"{getattr(row.exponent, 'bits', 0)} / {row.fraction_bits}" for row in fmt.rows if not row.prefix]
    least, *_, most = sorted(row.fraction_bits for row in (fmt.rows * 2))
    return name, str(fmt.width), fields[0] if fields else f"tapered / {least} to {most}", fmt.cite


def failures(report: Report) -> Section | None:
    """The failed jobs; None if there are no failures."""
    if not report.failures:
        return None
    intro = "Their figures are missing above. The logs are in the folder of this page."
    section = Section("failures", "Jobs that failed", intro)
    rows = ((failure.name, failure.target, failure.error, failure.log) for failure in report.failures)
    section.table("Failed jobs", ("module", "target", "error", "log"), rows)
    return section


def modules(report: Report) -> dict[str, dict[tuple[str, str], bool]]:
    """By kind, the modules behind the figures, by name and SHA-256 of their Verilog: whether they are proved equal.

    Both must be those of an emitted module: the Verilog alone does not say as which block it was checked.
    """
    kinds: dict[str, dict[tuple[str, str], bool]] = {}
    equal = (check for check in report.evidence if check.is_emitted and check.verdict == EQUAL)
    known = {(check.module, check.hashes["verilog"]) for check in equal}
    for row in report.shown:
        key = row.name, row.verilog_sha256
        kinds.setdefault(row.component, {})[key] = key in known
    return kinds


def coverage(report: Report) -> str:
    """How many of the modules behind the figures are proved, and of how many no verdict is known."""
    flags = [is_equal for known in modules(report).values() for is_equal in known.values()]
    text = f"{sum(flags)} of the {counted(len(flags), 'module')} behind the figures of this report equal the reference "
    text += "model on all inputs, on their gates"
    others = f"; of {len(flags) - sum(flags)}, listed on page Method, no verdict on today's Verilog is known"
    return f"{text}{others if not all(flags) else ''}."


def evidence(report: Report) -> Section:
    """The modules behind the figures with and without a verdict, and the verdicts."""
    intro = (
        "A module with a verdict was mapped to gates, which were checked against the reference model on all inputs: "
        "one by one or, if there are too many, by a solver's proof. hwgen verify checks one more."
    )
    section = Section("evidence", "Proof: every input, on the gates", intro)
    section.find(coverage(report))
    body: list[tuple[object, ...]] = []
    for kind, known in modules(report).items():
        lacking = [name for (name, _), is_equal in known.items() if not is_equal]
        body.append((kind, len(known) - len(lacking), len(known), Cell(", ".join(lacking) or "–")))
    section.table("Modules behind the figures", ("kind", "equal", "of", "without a verdict"), body)
    checks = report.evidence
    if not checks:
        return section
    section.find(sentence(checks))
    groups: dict[tuple[str, str], list[str]] = {}
    for check in checks:
        sources = ", ".join(([] if check.is_emitted else [check.source]) + check.libraries)
        name = f"{check.module} ({sources})" if sources else check.module
        groups.setdefault((check.verdict, check.method), []).append(name)
    body = [(verdict, str(len(names)), Cell(how), Cell(", ".join(names))) for (verdict, how), names in groups.items()]
    note = "hwgen verify all --only NAME repeats a check; report.json has the hashes, tools and counterexamples."
    section.table("Evidence by verdict and method", ("verdict", "modules", "method", "names"), body, note)
    return section


def sentence(checks: Sequence[Evidence]) -> str:
    """How many modules are equal, by evaluation and by proof, and how many are not."""
    equal = [check for check in checks if check.verdict == EQUAL]
    cases = sum(check.cases for check in equal if check.kind != PROVED)
    proved = sum(check.kind == PROVED for check in equal)
    text = f"Verdicts on {counted(len(checks), 'module')}: {len(equal)} equal, {cases:,} inputs evaluated"
    text += f", {proved} module{'s' * (proved > 1)} proved by a solver" if proved else ""
    others = Counter(check.verdict for check in checks if check.verdict != EQUAL)
    text += "".join(f"; {count} {verdict}" for verdict, count in others.items())
    tabled = sum(check.method.endswith(BY_TABLE) for check in checks)
    text += f"; {tabled} of these verdicts {BY_TABLE}, of this program and this Verilog" if tabled else ""
    return f"{text}."
