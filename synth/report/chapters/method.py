"""The chapters on the report itself: method, failed jobs, and every figure with its command."""

from synth.area.recipes import RECIPES
from synth.area.targets import LIBERTY, TARGETS
from synth.proof.evidence import EQUAL
from synth.report.data import Report
from synth.report.figures import counted
from synth.report.measured import Measured, figure
from synth.report.sections import Command, Section


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
    kinds = {"lut": "LUT targets", "cells": "gates, libraries"}
    target_kinds = {LIBERTY: "cells"} | {name: target.kind for name, target in TARGETS.items()}
    used = {(target_kinds[row.target], row.recipe) for row in report.rows if not row.is_best}
    recipes = (
        (name, kinds[kind], script or "Yosys's default")
        for kind, scripts in RECIPES.items()
        for name, script in scripts.items()
        if (kind, name) in used
    )
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
    equal = {known.hashes["verilog"] for known in report.evidence if known.verdict == EQUAL}
    body = []
    for row in (row for row in (*measured.rows, *measured.optional) if row.is_best):
        checked = "equal on all inputs" if row.verilog_sha256 in equal else ""
        cells = row.name, row.place, row.median, row.unit, figure(row).spread, row.recipe, row.tool, checked
        body.append((*cells, Command(row.command)))
    section.table("Figures", head, body)
    return section
