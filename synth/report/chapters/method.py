"""The chapters on the report itself: method, proofs, failed jobs, and every figure with its command."""

from collections.abc import Sequence

from synth.area.recipes import RECIPES
from synth.area.targets import LIBERTY, TARGETS
from synth.proof.evidence import DIFFERENT, EQUAL, INCOMPLETE, PROVED, UNPROVED, Evidence, power
from synth.report.data import Report
from synth.report.figures import counted
from synth.report.measured import Measured, figure
from synth.report.sections import Cell, Command, Section

_KINDS = {"lut": "LUT targets", "cells": "gates, libraries"}
UNCHECKED = "No module had been checked on all inputs when this report was written. hwgen verify checks one"


def method(report: Report, measured: Measured) -> Section:
    """How figures are measured: targets, recipes and renamings."""
    section = Section(
        "method",
        "How it was measured",
        "A recipe is a synthesis script for ABC, the logic optimizer of Yosys; a portfolio is a fixed set of recipes "
        f"(here {report.portfolio}). Every recipe maps a module under {counted(report.renamings, 'renaming')}. A "
        "renaming gives all internal signals other names and another order, and exchanges the inputs of half of the "
        "commutative gates. The figure is the lowest median over the recipes; its spread is the range from that "
        "recipe's smallest to its largest sample. Where spreads overlap, the report says no difference. In the "
        f"portfolio speed, each recipe is a point of a curve. Tools: {report.tool}. Nothing is placed and routed, "
        "unless a section says so.",
    )
    notes = ((column.title, column.unit, column.note) for column in measured.columns.values())
    section.table("Targets", ("target", "unit", "note"), notes)
    if not any(row.target == LIBERTY for row in report.rows):
        text = "No cell library was measured. hwgen report --liberty FILE adds one, with a column in every table."
        section.find(text)
    kinds = {LIBERTY: "cells"} | {name: target.kind for name, target in TARGETS.items()}
    used = {(kinds[row.target], row.recipe) for row in report.rows if not row.is_best}
    recipes = []
    for kind, scripts in RECIPES.items():
        rows = ((name, _KINDS[kind], script or "Yosys's default") for name, script in scripts.items())
        recipes += [row for row in rows if (kind, row[0]) in used]
    section.table("Recipes: scripts for ABC", ("recipe", "for", "script"), recipes)
    return section


def failures(report: Report) -> Section | None:
    """The failed jobs; None if there are no failures."""
    if not report.failures:
        return None
    intro = "Their figures are missing above. The logs are in the folder of this page."
    section = Section("failures", "Jobs that failed", intro)
    rows = ((failure.name, failure.target, failure.error, failure.log) for failure in report.failures)
    section.table("Failed jobs", ("module", "target", "error", "log"), rows)
    return section


def figures(report: Report, measured: Measured) -> Section:
    """A row for each area."""
    title = "Every figure, and the command that repeats it"
    section = Section("figures", title, "report.json has all samples.", folded=True)
    head = ("module", "target", "figure", "unit", "spread", "recipe", "tool", "proof", "command")
    equal, body = proved(report.evidence), []
    for row in (row for row in (*measured.rows, *measured.optional) if row.is_best):
        checked = "equal on all inputs" if (row.name, row.verilog_sha256) in equal else ""
        cells = row.name, row.place, row.median, row.unit, figure(row).spread, row.recipe, row.tool, checked
        body.append((*cells, Command(row.command)))
    section.table("Figures", head, body)
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
        "Each module below was mapped to gates, and the gates were checked against the reference model on all inputs: "
        "inputs are evaluated one by one or, if there are too many, a solver proves all of them. The command repeats "
        "the check; make exhaustive checks every module."
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
        seconds = Cell(f"{check.seconds:.1f} s", value=check.seconds)
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
    return f"{text}."
