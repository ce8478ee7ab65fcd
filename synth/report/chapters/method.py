"""The report on itself: how it was measured, which jobs failed, and every figure with the command that repeats it."""

from collections.abc import Mapping
from typing import Any

from synth.area.recipes import RECIPES
from synth.area.targets import LIBERTY, TARGETS
from synth.report.chapters.evidence import equal_verilog
from synth.report.figures import figure, number
from synth.report.measured import Measured
from synth.report.sections import Cell, Section, Table


def method(report: Mapping[str, Any], measured: Measured) -> Section:
    """Targets and recipes."""
    made = Section(
        "method", "How it was measured",
        f"Every module is mapped by each recipe of a fixed portfolio ({report['portfolio']}), under {report['renamings']} "
        "renamings: other names and order of all internal signals, inputs of half the commutative gates exchanged. The figure is the "
        "lowest median over the recipes, the spread that recipe's smallest to largest sample. Where spreads meet, the report says no "
        f"difference. Portfolio speed is a curve, each recipe a point of its own. "
        f"All with {report['tool']}; nothing is placed and routed unless a section says so.",
    )  # fmt: skip
    notes = tuple((Cell(column.title), Cell(column.unit), Cell(column.note)) for column in measured.columns.values())
    made.tables.append(Table("Targets", ("target", "unit", "note"), notes))
    if not any(row["target"] == LIBERTY for row in report["rows"]):
        made.findings.append("No cell library was measured: hwgen report --liberty FILE adds one, and a column to every table.")
    kinds = {"lut": "LUT targets", "cells": "gates, libraries"}
    used = {(_kind(row["target"]), row["recipe"]) for row in report["rows"] if row["recipe"] != "best"}
    recipes = tuple(
        (Cell(name), Cell(kinds[kind]), Cell(script or "Yosys's own"))
        for kind, scripts in RECIPES.items() for name, script in scripts.items() if (kind, name) in used
    )  # fmt: skip
    made.tables.append(Table("Recipes: scripts of ABC", ("recipe", "for", "script"), recipes))
    return made


def _kind(target: str) -> str:
    return TARGETS[target].kind if target in TARGETS else "cells"


def failures(report: Mapping[str, Any]) -> Section | None:
    """Jobs that are missing; None where there are none."""
    failed = report.get("failures") or []
    if not failed:
        return None
    made = Section("failures", "Jobs that failed", "They are missing from the figures above; logs are beside this page.")
    body = tuple((Cell(one["name"]), Cell(one["target"]), Cell(one["error"]), Cell(one["log"])) for one in failed)
    made.tables.append(Table("Failed jobs", ("module", "target", "error", "log"), body))
    return made


def figures(report: Mapping[str, Any], measured: Measured) -> Section:
    """One line for each figure of area."""
    made = Section("figures", "Every figure, and the command that repeats it", "Raw samples are in report.json.", folded=True)
    head = ("module", "target", "figure", "unit", "spread", "recipe", "tool", "all inputs", "command")
    equal = equal_verilog(report.get("evidence") or [])
    body = []
    for row in [*measured.rows, *measured.optional]:
        if row["recipe"] == "best":
            value = figure(row)
            checked = "equal to golden" if row["verilog_sha256"] in equal else ""
            words = (value.unit, value.spread, value.recipe, value.tool, checked, value.command)
            body.append((Cell(row["name"]), Cell(row["target"]), Cell(number(value.median), value=value.median), *map(Cell, words)))
    made.tables.append(Table("Figures", head, tuple(body)))
    return made
