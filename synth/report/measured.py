"""What a report has measured, as its sections ask for it."""

from collections.abc import Mapping
from typing import Any

from synth.area.jobs import Row
from synth.area.recipes import SPEED
from synth.report.figures import Figure, pick, ranked
from synth.report.plan import OPTIONAL, REPORT_ACCUMULATOR
from synth.report.render.palette import Style, styles
from synth.report.sections import Column, columns, label, target_key


class Measured:
    """A report's rows, and what they have in common.

    Attributes
    ----------
    rows, optional, timed : list of dict
        Rows of area, each ``target`` being the key of its column: of plain blocks, and of those with
        :data:`synth.report.plan.OPTIONAL` ones; and rows of curves, as they are.
    columns : dict of str to Column
        Targets and cell libraries of ``rows``.
    formats : list of str
        That are compared.
    styles : dict of str to Style
        How each format is drawn.
    """

    def __init__(self, report: Mapping[str, Any]):
        everything: list[Row] = report["rows"]
        areas = [row for row in everything if row["portfolio"] != SPEED]
        keyed: list[Row] = [{**row, "target": target_key(row)} for row in areas]
        self.rows = [row for row in keyed if OPTIONAL.isdisjoint(row)]
        self.optional = [row for row in keyed if not OPTIONAL.isdisjoint(row)]
        self.timed = [row for row in everything if row["portfolio"] == SPEED]
        self.columns: dict[str, Column] = {column.key: column for column in columns(areas)}
        self.formats: list[str] = list(report["formats"])
        self.styles: dict[str, Style] = styles([*self.formats, *(name for row in everything for name in (row["format"], label(row)))])

    def part(self, part: str, target: str) -> dict[str, Figure]:
        """Figures of a MAC into the report's accumulator, or of a part of it, by format."""
        options = {} if part == "multiplier" else {"accumulator": REPORT_ACCUMULATOR}
        found = {name: pick(self.rows, part, target, format=name, format_b=None, **options) for name in self.formats}
        return {name: value for name, value in found.items() if value is not None}

    def parts(self, part: str) -> dict[str, dict[str, Figure]]:
        """The same by target, where there are any."""
        return {target: figures for target in self.columns if (figures := self.part(part, target))}

    def order(self, by_target: Mapping[str, Mapping[str, Figure]]) -> list[str]:
        """Formats by the mean of their places over the targets, so that a table reads from small to large."""

        def place(name: str) -> float:
            places = [ranked(figures).index(name) / len(figures) for figures in by_target.values() if name in figures]
            return sum(places) / len(places) if places else 2.0

        return sorted(self.formats, key=place)
