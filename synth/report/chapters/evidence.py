"""The chapter on proof: which modules equal the reference model on all inputs, and how this was checked."""

from collections.abc import Sequence

from synth.proof.evidence import DIFFERENT, EQUAL, INCOMPLETE, PROVED, UNPROVED, Evidence, power
from synth.report.figures import number
from synth.report.sections import Cell, Command, Section


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
    section.find(sentence(evidence))
    head = ("module", "verdict", "inputs", "method", "time", "SHA-256 of the Verilog", "command")
    body = []
    for check in evidence:
        sources = ([] if check.is_emitted else [check.source]) + check.libraries
        inputs = Cell(power(check.cases), value=check.cases)
        seconds = Cell(f"{check.seconds:.1f} s", value=check.seconds)
        cells = (check.verdict, inputs, check.method, seconds, check.hashes["verilog"][:12])
        body.append((Cell(check.module, ", ".join(sources)), *cells, Command(check.command)))
    section.table("Evidence", head, body)
    return section


def sentence(evidence: Sequence[Evidence]) -> str:
    """How many modules are equal, by evaluation and by proof, and how many are not."""
    equal = [check for check in evidence if check.verdict == EQUAL]
    cases = sum(check.cases for check in equal if check.kind != PROVED)
    proved = sum(check.kind == PROVED for check in equal)
    text = f"{len(equal)} of {len(evidence)} modules equal the reference model on all inputs: "
    text += f"{number(cases)} inputs evaluated"
    text += f", {proved} module{'s' * (proved > 1)} proved by a solver" if proved else ""
    for verdict in (DIFFERENT, INCOMPLETE, UNPROVED):
        count = sum(check.verdict == verdict for check in evidence)
        text += f"; {count} {verdict}" if count else ""
    return f"{text}."
