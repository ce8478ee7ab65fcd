"""The report on itself: how it was measured, failed jobs, and every figure with the command that repeats it."""

from synth.area.recipes import RECIPES
from synth.area.targets import LIBERTY, TARGETS
from synth.proof.evidence import EQUAL
from synth.report.data import Report
from synth.report.figures import number
from synth.report.measured import Measured, figure
from synth.report.sections import Cell, Command, Finding, Section, Table


def method(report: Report, measured: Measured) -> Section:
    """Targets and recipes."""
    section = Section(
        "method", "How it was measured",
        f"Every module is mapped by each recipe of a fixed portfolio ({report.portfolio}), under {report.renamings} "
        "renamings: other names and order of all internal signals, inputs of half the commutative gates exchanged. "
        "The figure is the lowest median over the recipes, the spread that recipe's smallest to largest sample. Where "
        "spreads meet, the report says no difference. Portfolio speed is a curve, each recipe a point of its own. All "
        f"with {report.tool}; nothing is placed and routed unless a section says so.",
    )  # fmt: skip
    notes = tuple((Cell(column.title), Cell(column.unit), Cell(column.note)) for column in measured.columns.values())
    section.tables.append(Table("Targets", ("target", "unit", "note"), notes))
    if not any(row.target == LIBERTY for row in report.rows):
        section.findings.append(
            Finding("No cell library was measured: hwgen report --liberty FILE adds one, and a column to every table.")
        )
    kinds = {"lut": "LUT targets", "cells": "gates, libraries"}
    target_kinds = {LIBERTY: "cells"} | {name: target.kind for name, target in TARGETS.items()}
    used = {(target_kinds[row.target], row.recipe) for row in report.rows if not row.is_best}
    recipes = tuple(
        (Cell(name), Cell(kinds[kind]), Cell(script or "Yosys's own"))
        for kind, scripts in RECIPES.items() for name, script in scripts.items() if (kind, name) in used
    )  # fmt: skip
    section.tables.append(Table("Recipes: scripts of ABC", ("recipe", "for", "script"), recipes))
    return section


def failures(report: Report) -> Section | None:
    """Jobs that are missing; None where there are none."""
    if not report.failures:
        return None
    section = Section(
        "failures", "Jobs that failed", "They are missing from the figures above; logs are beside this page."
    )
    body = tuple((Cell(one.name), Cell(one.target), Cell(one.error), Cell(one.log)) for one in report.failures)
    section.tables.append(Table("Failed jobs", ("module", "target", "error", "log"), body))
    return section


def figures(report: Report, measured: Measured) -> Section:
    """One line for each figure of area."""
    section = Section(
        "figures", "Every figure, and the command that repeats it", "Raw samples are in report.json.", folded=True
    )
    head = ("module", "target", "figure", "unit", "spread", "recipe", "tool", "all inputs", "command")
    equal = {known.hashes["verilog"] for known in report.evidence if known.verdict == EQUAL}
    body = []
    for row in (row for row in (*measured.rows, *measured.optional) if row.is_best):
        checked = "equal to golden" if row.verilog_sha256 in equal else ""
        words = map(Cell, (row.unit, figure(row).spread, row.recipe, row.tool, checked))
        median = Cell(number(row.median), value=row.median)
        body.append((Cell(row.name), Cell(row.place), median, *words, Command(row.command)))
    section.tables.append(Table("Figures", head, tuple(body)))
    return section
