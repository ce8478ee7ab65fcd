"""The chapter on proof: which modules equal the reference model on all inputs, and how this was checked."""

from collections.abc import Sequence

from synth.proof.evidence import DIFFERENT, EMITTED, EQUAL, INCOMPLETE, PROVED, UNPROVED, Evidence, power
from synth.report.figures import number
from synth.report.sections import Cell, Command, Finding, Section, Table


def section(evidence: Sequence[Evidence]) -> Section:
    """The evidence, or a sentence that there is no evidence."""
    section = Section(
        "evidence",
        "Proof: every input, on the gates",
        "Each module below was mapped to gates, and the gates were checked against the reference model on all inputs: "
        "inputs are evaluated one by one or, if there are too many, a solver proves all of them. The command repeats "
        "the check; make exhaustive checks every module.",
    )
    if not evidence:
        section.intro = (
            "No module had been checked on all inputs when this report was written. hwgen verify checks one, make "
            "exhaustive checks every module."
        )
        return section
    section.findings.append(Finding(sentence(evidence)))
    head = ("module", "verdict", "inputs", "method", "time", "SHA-256 of the Verilog", "command")
    body = []
    for known in evidence:
        sources = ([] if known.source == EMITTED else [known.source]) + known.libraries
        inputs, seconds = (
            Cell(power(known.cases), value=known.cases),
            Cell(f"{known.seconds:.1f} s", value=known.seconds),
        )
        checked = (Cell(known.verdict), inputs, Cell(known.method), seconds, Cell(known.hashes["verilog"][:12]))
        body.append((Cell(known.module, ", ".join(sources)), *checked, Command(known.command)))
    section.tables.append(Table("Evidence", head, tuple(body)))
    return section


def sentence(evidence: Sequence[Evidence]) -> str:
    """How many modules are equal, by evaluation and by proof, and how many are not."""
    equal = [known for known in evidence if known.verdict == EQUAL]
    cases = sum(known.cases for known in equal if known.kind != PROVED)
    proved = sum(known.kind == PROVED for known in equal)
    text = f"{len(equal)} of {len(evidence)} modules equal the reference model on all inputs: "
    text += f"{number(cases)} inputs evaluated"
    text += f", {proved} module{'s' * (proved > 1)} proved by a solver" if proved else ""
    for verdict in (DIFFERENT, INCOMPLETE, UNPROVED):
        count = sum(known.verdict == verdict for known in evidence)
        text += f"; {count} {verdict}" if count else ""
    return f"{text}."
