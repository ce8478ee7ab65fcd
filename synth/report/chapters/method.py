"""The chapters on the report itself: method, proofs and failed jobs."""

from collections.abc import Sequence

import golden
from golden import Refusal
from synth.area.targets import LIBERTY
from synth.proof.evidence import DIFFERENT, EQUAL, INCOMPLETE, PROVED, UNPROVED, Evidence, power
from synth.report.data import Report
from synth.report.figures import counted
from synth.report.measured import Measured
from synth.report.plan import TERMS
from synth.report.sections import Cell, Command, Section

UNCHECKED = (
    "No verdict of this version of the program on these modules is known, neither from the folder of evidence nor from "
    "docs/proofs.csv. hwgen verify checks one"
)
BY_TABLE = "by the committed table docs/proofs.csv"
"""The end of the method of a verdict that was read from the documentation."""

_NAMES = (
    "In a pair a+b a pin for each operand selects its format. The accumulator exact is a fixed-point "
    f"register for the sum of {TERMS:,} products without rounding; alignedT truncates addends of a step T bits below "
    "the largest exponent among them; the others are formats, which are rounded to in each step."
)


def method(report: Report, measured: Measured) -> Section:
    """How figures are measured: targets, recipes and renamings."""
    section = Section(
        "method",
        "How it was measured",
        "A figure is the lowest median over the recipes; its spread is the range from that recipe's smallest to its "
        "largest sample, and where spreads overlap, the report says no difference.",
        note="A recipe is a synthesis script for ABC, the logic optimizer of Yosys (synth/area/recipes.py); a "
        f"portfolio is a fixed set of recipes (here {report.portfolio}). Every recipe maps a module under "
        f"{counted(report.renamings, 'renaming')}. A renaming gives all internal signals other names and another "
        "order, and exchanges the inputs of half of the commutative gates. In the portfolio speed, each recipe is a "
        f"point of a curve. Tools: {report.tool}. Nothing is placed and routed, unless a chapter says so.",
    )
    notes = ((column.title, column.unit, column.note) for column in measured.columns.values())
    section.table("Targets", ("target", "unit", "note"), notes)
    studies = (study for study in (report.speeds, report.energies, report.dots, report.tiles) if study)
    rows = [*report.rows, *(row for study in studies for row in study.rows)]
    names = dict.fromkeys(part for row in rows for part in row.format.split("+"))
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


def proved(checks: Sequence[Evidence]) -> dict[tuple[str, str], None]:
    """Name and SHA-256 of the Verilog of each emitted module that is equal; a user's file may be that of another block.

    Both must be those of a measured module: the Verilog alone does not say as which block it was checked.
    """
    ours = (known for known in checks if known.is_emitted and known.verdict == EQUAL)
    return dict.fromkeys((known.module, known.hashes["verilog"]) for known in ours)


def evidence(checks: Sequence[Evidence]) -> Section:
    """The evidence, or a sentence that there is no evidence."""
    intro = (
        "Each module was mapped to gates, which were checked against the reference model on all inputs: one by one or, "
        "if there are too many, by a solver's proof; make exhaustive checks every module."
    )
    none = f"{UNCHECKED}, make exhaustive checks every module."
    section = Section("evidence", "Proof: every input, on the gates", intro if checks else none)
    if not checks:
        return section
    section.find(sentence(checks))
    head = ("module", "verdict", "inputs", "method", "time", "SHA-256 of the Verilog", "command")
    body = []
    for check in checks:
        sources = ([] if check.is_emitted else [check.source]) + check.libraries
        inputs = Cell(power(check.cases), value=check.cases)
        seconds = Cell(f"{check.seconds:.1f} s", value=check.seconds) if check.seconds else "–"
        cells = (check.verdict, inputs, check.method, seconds, check.hashes["verilog"][:12])
        body.append((Cell(check.module, ", ".join(sources)), *cells, Command(check.command)))
    section.table("Evidence", head, body)
    return section


def sentence(checks: Sequence[Evidence]) -> str:
    """How many modules are equal, by evaluation and by proof, and how many are not."""
    equal = [check for check in checks if check.verdict == EQUAL]
    cases = sum(check.cases for check in equal if check.kind != PROVED)
    proved = sum(check.kind == PROVED for check in equal)
    text = f"{len(equal)} of {len(checks)} modules equal the reference model on all inputs: "
    text += f"{cases:,} inputs evaluated"
    text += f", {proved} module{'s' * (proved > 1)} proved by a solver" if proved else ""
    for verdict in (DIFFERENT, INCOMPLETE, UNPROVED):
        count = sum(check.verdict == verdict for check in checks)
        text += f"; {count} {verdict}" if count else ""
    tabled = sum(check.method.endswith(BY_TABLE) for check in checks)
    text += f"; {tabled} of these verdicts {BY_TABLE}, of this program and this Verilog" if tabled else ""
    return f"{text}."
