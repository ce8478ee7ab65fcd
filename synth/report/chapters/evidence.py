"""The report on proof: which modules equal the golden model on all inputs, and how that is known."""

from collections.abc import Sequence

from synth.proof.evidence import DIFFERENT, EMITTED, EQUAL, INCOMPLETE, PROVED, UNPROVED, Evidence, power
from synth.report.figures import number
from synth.report.sections import Cell, Command, Finding, Section, Table


def section(evidence: Sequence[Evidence]) -> Section:
    """The evidence, or that there is none."""
    section = Section(
        "evidence", "Proof: every input, on the gates",
        "Each module below was mapped to gates, and the gates were checked against the golden model on all inputs: "
        "evaluated one by one, or, where there are too many, proved by a solver. The command repeats a line; make "
        "exhaustive covers every module.",
    )  # fmt: skip
    if not evidence:
        section.intro = "Nothing had been proved when this report was written: hwgen verify does so for a module, make exhaustive for all."
        return section
    section.findings.append(Finding(sentence(evidence)))
    head = ("module", "against golden", "inputs", "method", "time", "SHA-256 of the Verilog", "command")
    body = tuple(
        (
            Cell(known.module, ", ".join([*([] if known.source == EMITTED else [known.source]), *known.libraries])),
            Cell(known.verdict), Cell(power(known.cases), value=known.cases), Cell(known.method),
            Cell(f"{known.seconds:.1f} s", value=known.seconds), Cell(known.hashes["verilog"][:12]),
            Command(known.command),
        )
        for known in evidence
    )  # fmt: skip
    section.tables.append(Table("Evidence", head, body))
    return section


def sentence(evidence: Sequence[Evidence]) -> str:
    """How many modules are equal, by evaluation and by proof."""
    equal = [known for known in evidence if known.verdict == EQUAL]
    cases = sum(known.cases for known in equal if known.kind != PROVED)
    proved = sum(known.kind == PROVED for known in equal)
    text = (
        f"{len(equal)} of {len(evidence)} modules equal the golden model on all inputs: {number(cases)} cases evaluated"
    )
    text += f", {proved} module{'s' * (proved > 1)} proved by a solver" if proved else ""
    for verdict in (DIFFERENT, INCOMPLETE, UNPROVED):
        count = sum(known.verdict == verdict for known in evidence)
        text += f"; {count} {verdict}" if count else ""
    return f"{text}."
