"""The report on proof: which modules equal the golden model on all inputs, and how that is known."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from synth.proof.evidence import DIFFERENT, EMITTED, EQUAL, INCOMPLETE, UNPROVED, power
from synth.report.figures import number
from synth.report.sections import Cell, Section, Table

Record = Mapping[str, Any]


def section(records: Sequence[Record]) -> Section:
    """The evidence, or that there is none."""
    made = Section(
        "evidence", "Proof: every input, on the gates",
        "Each module below was mapped to gates, and the gates were held against the golden model on all inputs: evaluated one by "
        "one, or, where there are too many, proved by a solver. The command repeats a line; make exhaustive covers every module.",
    )  # fmt: skip
    if not records:
        made.intro = "Nothing had been proved when this report was written: hwgen verify does so for a module, make exhaustive for all."
        return made
    made.findings.append(sentence(records))
    head = ("module", "against golden", "inputs", "method", "time", "SHA-256 of the Verilog", "command")
    made.tables.append(Table("Evidence", head, tuple(map(_line, records))))
    return made


def sentence(records: Sequence[Record]) -> str:
    """How many modules are equal, by evaluation and by proof."""
    equal = [record for record in records if record["verdict"] == EQUAL]
    cases = sum(0 if _proved(record) else int(record["cases"]) for record in equal)
    proved = sum(map(_proved, equal))
    said = f"{len(equal)} of {len(records)} modules equal the golden model on all inputs: {number(cases)} cases evaluated"
    others = [f"{sum(record['verdict'] == word for record in records)} {word}" for word in (DIFFERENT, INCOMPLETE, UNPROVED)]
    rest = "".join(f"; {count}" for count in others if not count.startswith("0 "))
    return f"{said}, {proved} module{'s' * (proved > 1)} proved by a solver{rest}." if proved else f"{said}{rest}."


def equal_verilog(records: Iterable[Record]) -> set[str]:
    """SHA-256 of the modules that are equal to golden."""
    return {record["hashes"]["verilog"] for record in records if record["verdict"] == EQUAL}


def _line(record: Record) -> tuple[Cell, ...]:
    return (
        Cell(record["module"], ", ".join([*([] if record["source"] == EMITTED else [record["source"]]), *record["libraries"]])),
        Cell(record["verdict"]),
        Cell(power(record["cases"]), value=record["cases"]),
        Cell(record["method"]),
        Cell(f"{record['seconds']:.1f} s", value=record["seconds"]),
        Cell(record["hashes"]["verilog"][:12]),
        Cell(record["command"]),
    )


def _proved(record: Record) -> bool:
    return str(record["method"]).startswith("proof")
