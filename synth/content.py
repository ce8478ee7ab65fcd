"""What the report says, from its data: sections of sentences, tables and plots, which HTML and Markdown set each in their way."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from synth import accuracy, papers, plots, speed
from synth.figures import Figure, figure, number, pair_sentence, pick, ranked, smallest_sentence
from synth.plan import ACCUMULATORS, ENCODER_SOURCE, PARTS, REPORT_ACCUMULATOR, ROUNDING_STUDY, WIDTH_STUDY, WIDTH_TARGETS
from synth.proof.evidence import EQUAL, power
from synth.recipes import RECIPES, SPEED
from synth.sections import Cell, Section, Table, columns, figure_cell, target_key
from synth.targets import LIBERTY, TARGETS


class Content:
    """Sections of one report, its title and what stands around them."""

    title = "What 8-bit floating point costs in hardware"

    def __init__(self, report: Mapping[str, Any]):
        self.report = report
        areas = [row for row in report["rows"] if row["portfolio"] != SPEED]
        self.columns = {column.key: column for column in columns(areas)}
        self.rows = [{**row, "target": target_key(row)} for row in areas]
        self.formats: list[str] = list(report["formats"])
        self.targets = list(self.columns)

    @property
    def subtitle(self) -> str:
        """What was compared, in a sentence."""
        rows = self.report["rows"]
        count, targets = sum(row["recipe"] == "best" for row in rows), len({target_key(row) for row in rows})
        return (
            f"{len(self.formats)} formats, {targets} targets, {count} figures: decoders, multipliers, adders, fused "
            "multiply-accumulate units and encoders from one generator, simulated against a golden model and synthesized by one tool."
        )

    @property
    def colophon(self) -> str:
        """What made the figures."""
        return f"Figures by {self.report['tool']}; raw samples in report.json, the same rows in report.csv."

    @cached_property
    def sections(self) -> list[Section]:
        """All sections that there is data for."""
        every = list(self.columns.values())
        made = [self._part("mac"), self._part("multiplier"), papers.paper_section(self.rows, every, self.formats), self._part("adder")]
        made += [self._encoders(), self._widths(), speed.section(self.report["rows"]), papers.section(self.rows, every)]
        made += [accuracy.section(self.report.get("accuracy")), self._evidence(), self._failures(), self._method(), self._figures()]
        return [section for section in made if section]

    @property
    def highlights(self) -> list[str]:
        """The few sentences to begin with."""
        findings = {section.anchor: section.findings for section in self.sections}
        verdicts = [text for text in findings.get("paper", []) if text.startswith(TARGETS["cyclonev"].title)]
        return [*findings.get("mac", [])[:2], *findings.get("encoders", [])[:1], *verdicts]

    def _of_part(self, part: str, target: str) -> dict[str, Figure]:
        options = {} if part == "multiplier" else {"accumulator": REPORT_ACCUMULATOR}
        found = {name: pick(self.rows, part, target, format=name, **options) for name in self.formats}
        return {name: value for name, value in found.items() if value is not None}

    def _part(self, part: str) -> Section | None:
        by_target = {target: figures for target in self.targets if (figures := self._of_part(part, target))}
        if not by_target:
            return None
        intro = {
            "mac": f"A fused multiply-accumulate unit, combinational: acc + a·b into {REPORT_ACCUMULATOR} with one rounding.",
            "multiplier": "Both decoders, the exact product, neither rounded nor normalized, the sum of the exponents and the flags: "
            "where formats differ most.",
            "adder": f"The rest of the MAC: alignment, addition and rounding into {REPORT_ACCUMULATOR}. The parts are optimized each by "
            "itself, so that they need not add up to the MAC.",
        }[part]
        title = {"mac": "What a MAC costs", "multiplier": "Decode and multiply", "adder": "The adder"}[part]
        section = Section(part, title, intro, families=part != "adder")
        names = sorted(self.formats, key=lambda name: _place(name, list(by_target.values())))
        smallest = {target: figures[ranked(figures)[0]] for target, figures in by_target.items()}
        for target, figures in by_target.items():
            where = self.columns[target]
            if part != "adder":
                plot = plots.bars(figures, f"{PARTS[part]} by format, {where.title}", where.unit)
                section.plots.append((where.title, plot))
            section.findings.append(smallest_sentence(figures, PARTS[part] if part == "mac" else PARTS[part].lower(), where.title))
        head = tuple(self.columns[target].head for target in by_target)
        body = tuple(
            (Cell(name), *(figure_cell(figures.get(name), smallest[target]) for target, figures in by_target.items())) for name in names
        )
        section.tables.append(Table(f"{PARTS[part]} by format: median, spread, and difference from the smallest", ("format", *head), body))
        return section

    def _encoders(self) -> Section | None:
        studied, roundings = ROUNDING_STUDY
        gates: dict[str, Figure] = {}
        for row in self.rows:
            if row["component"] == "encoder" and row["target"] == "gates" and row["recipe"] == "best":
                gates[f"{row['format']} {row['rounding']}"] = figure(row)
        if not gates:
            return None
        intro = f"From {ENCODER_SOURCE} to a code, with the format's default rounding."
        section = Section("encoders", "Encoders, and what a rounding costs", intro)
        pairs: dict[str, dict[str, Figure]] = {}
        for target in self.targets:
            found = {rounding: pick(self.rows, "encoder", target, format=studied, rounding=rounding) for rounding in roundings}
            if all(found.values()):
                pairs[self.columns[target].title] = {rounding: value for rounding, value in found.items() if value is not None}
        for where, pair in pairs.items():
            before, after = ((name, pair[name]) for name in roundings)
            section.findings.append(pair_sentence(before, after, f"the {studied} encoder", where))
        section.plots.append(("Encoders, gates", plots.bars(gates, "Encoders by format and rounding, gates", "NAND2")))
        if pairs:
            title = f"{studied} encoder: {' against '.join(roundings)}"
            section.plots.append((title, plots.grouped(pairs, title, f"area / that of {roundings[0]}")))
            first, second = roundings
            rows = tuple((Cell(where), figure_cell(pair[first]), figure_cell(pair[second], pair[first])) for where, pair in pairs.items())
            section.tables.append(Table(title, ("target", *roundings), rows))
        body = tuple((Cell(name), figure_cell(gates[name], gates[ranked(gates)[0]])) for name in ranked(gates))
        section.tables.append(Table("Encoders on gates", ("format and rounding", "Gates [NAND2]"), body))
        return section

    def _widths(self) -> Section | None:
        section = Section(
            "accumulators", "Area against the width of the accumulator",
            "The same products into wider accumulators. exact is a fixed-point register with room for 1,024 products of any size, and "
            "without rounding.",
        )  # fmt: skip
        for target in WIDTH_TARGETS:
            series: dict[str, dict[str, Figure]] = {}
            bits: dict[str, set[int]] = {}
            for row in self.rows:
                if row["component"] == "mac" and row["target"] == target and row["recipe"] == "best" and row["format"] in WIDTH_STUDY:
                    series.setdefault(row["format"], {})[row["accumulator"]] = figure(row)
                    bits.setdefault(row["accumulator"], set()).add(row["accumulator_bits"])
            if len(bits) < 2:
                continue
            where = TARGETS[target]
            places = {name: _bits(bits[name]) for name in sorted(bits, key=lambda name: (min(bits[name]), ACCUMULATORS.index(name)))}
            title = f"MAC by accumulator, {where.title}"
            section.plots.append((where.title, plots.steps(series, places, title, where.unit)))
            rows = tuple((Cell(name), *(figure_cell(found.get(place)) for place in places)) for name, found in series.items())
            head = tuple(f"{name}, {below}" for name, below in places.items())
            section.tables.append(Table(f"{title} [{where.unit}]", ("format", *head), rows))
            for name, found in series.items():
                if {"exact", "binary32"} <= set(found):
                    pair = (("binary32", found["binary32"]), ("exact", found["exact"]))
                    section.findings.append(pair_sentence(*pair, f"the MAC of {name}", where.title))
        return section if section.tables else None

    def _evidence(self) -> Section:
        found = self.report.get("evidence") or []
        section = Section(
            "evidence", "Proof: every input, on the gates",
            "Each module below was mapped to gates, and the gates were held against the golden model on all inputs: evaluated one by "
            "one, or, where there are too many, proved by a solver. hwgen verify repeats each line; make exhaustive covers every module.",
            folded=True,
        )  # fmt: skip
        if not found:
            section.intro = (
                "Nothing had been proved when this report was written: hwgen verify does so for a module, make exhaustive for all."
            )
            return section
        equal = [record for record in found if record["verdict"] == EQUAL]
        section.findings.append(
            f"{len(equal)} of {len(found)} modules equal the golden model on all inputs, {number(sum(map(_cases, equal)))} cases evaluated"
            f" and {sum(_proved(record) for record in equal)} modules proved by a solver."
        )
        body = tuple(
            (
                Cell(record["module"], ", ".join(record["libraries"])), Cell(record["verdict"]), Cell(power(record["cases"])),
                Cell(record["method"]), Cell(f"{record['seconds']:.1f} s"), Cell(record["hashes"]["verilog"][:12]),
            )
            for record in found
        )  # fmt: skip
        section.tables.append(Table("Evidence", ("module", "against golden", "inputs", "method", "time", "SHA-256 of the Verilog"), body))
        return section

    def _failures(self) -> Section | None:
        failures = self.report.get("failures") or []
        if not failures:
            return None
        section = Section("failures", "Jobs that failed", "They are missing from the figures above; logs are beside this page.")
        body = tuple((Cell(one["name"]), Cell(one["target"]), Cell(one["error"]), Cell(one["log"])) for one in failures)
        section.tables.append(Table("Failed jobs", ("module", "target", "error", "log"), body))
        return section

    def _method(self) -> Section:
        section = Section(
            "method", "How it was measured",
            f"Every module is mapped by each recipe of a fixed portfolio ({self.report['portfolio']}), under {self.report['renamings']} "
            "renamings: other names and order of all internal signals, inputs of half the commutative gates exchanged. The figure is the "
            "lowest median over the recipes, the spread that recipe's smallest to largest sample. Where spreads meet, the report says no "
            f"difference. Portfolio speed is a curve, each recipe a point of its own. "
            f"All with {self.report['tool']}; nothing is placed and routed unless a section says so.",
        )  # fmt: skip
        notes = tuple((Cell(column.title), Cell(column.unit), Cell(column.note)) for column in self.columns.values())
        section.tables.append(Table("Targets", ("target", "unit", "note"), notes))
        if not any(row["target"] == LIBERTY for row in self.report["rows"]):
            section.findings.append("No cell library was measured: hwgen report --liberty FILE adds one, and a column to every table.")
        kinds = {"lut": "LUT targets", "cells": "gates, libraries"}
        used = {(_kind(row["target"]), row["recipe"]) for row in self.report["rows"] if row["recipe"] != "best"}
        recipes = tuple(
            (Cell(name), Cell(kinds[kind]), Cell(script or "Yosys's own"))
            for kind, scripts in RECIPES.items() for name, script in scripts.items() if (kind, name) in used
        )  # fmt: skip
        section.tables.append(Table("Recipes: scripts of ABC", ("recipe", "for", "script"), recipes))
        return section

    def _figures(self) -> Section:
        section = Section("figures", "Every figure, and the command that repeats it", "Raw samples are in report.json.", folded=True)
        columns = ("module", "target", "figure", "spread", "recipe", "tool", "all inputs", "command")
        proved = {record["hashes"]["verilog"] for record in self.report.get("evidence") or [] if record["verdict"] == EQUAL}
        body = []
        for row in self.rows:
            if row["recipe"] == "best":
                value = figure(row)
                said = f"{number(value.median)} {value.unit}"
                checked = "equal to golden" if row["verilog_sha256"] in proved else ""
                words = (row["name"], row["target"], said, value.spread, value.recipe, value.tool, checked, value.command)
                body.append(tuple(map(Cell, words)))
        section.tables.append(Table("Figures", columns, tuple(body)))
        return section


def _bits(widths: set[int]) -> str:
    least, most = min(widths), max(widths)
    return f"{least} bits" if least == most else f"{least} to {most} bits"


def _kind(target: str) -> str:
    return TARGETS[target].kind if target in TARGETS else "cells"


def _place(name: str, columns: Sequence[Mapping[str, Figure]]) -> float:
    """Mean of a format's places over the targets, so that a table reads from small to large."""
    places = [ranked(figures).index(name) / len(figures) for figures in columns if name in figures]
    return sum(places) / len(places) if places else 2.0


def _proved(record: Mapping[str, Any]) -> bool:
    return str(record["method"]).startswith("proof")


def _cases(record: Mapping[str, Any]) -> int:
    """Inputs that were evaluated."""
    return 0 if _proved(record) else int(record["cases"])
