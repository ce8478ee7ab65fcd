"""The figures of a report, picked from its rows for the chapters, and the columns of its tables."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import golden
from golden import Refusal
from synth.area.figures import Figure, Item
from synth.area.rows import Option, Row
from synth.area.targets import TARGETS
from synth.report.plan import OPTIONAL, Block, part_of_mac

EIGHT = "formats and pairs of 8 bits"
"""What :meth:`Measured.eight` selects."""


def figure(row: Row) -> Figure:
    """The figure of a row."""
    nand2 = row.medians.get("nand2_equivalents")
    return Figure(row.min, row.median, row.max, row.unit, row.recipe, row.tool, row.command, row.renamings, nand2)


def is_own(row: Row, *names: str) -> bool:
    """Whether options, of rounding and overflow, are absent or the format's own ones, as far as these are known."""
    try:
        fmt = golden.get(row.format)
    except Refusal:  # a user's format
        return True
    return all(row.options[name] == getattr(fmt, f"{name}s")[0].value for name in names if name in row.options)


def pick(rows: Iterable[Row], component: str, place: str, **options: Option | None) -> Figure | None:
    """The figure of a block with these options in a place, or None; an option that is None must be absent."""
    blocks = (row for row in rows if (row.component, row.place, row.is_best) == (component, place, True))
    alike = (figure(row) for row in blocks if all(row.options.get(key) == value for key, value in options.items()))
    return next(alike, None)


@dataclass(frozen=True)
class Column:
    """A target or cell library, and how the report names it."""

    key: str
    """The :attr:`synth.area.rows.Row.place` of its rows."""
    title: str
    unit: str
    note: str

    @property
    def axis(self) -> str:
        """Label of a chart's axis."""
        return f"area [{self.unit}]"

    @property
    def head(self) -> str:
        """Title and unit."""
        return f"{self.title} [{self.unit}]"


def columns(rows: Iterable[Row]) -> list[Column]:
    """A column for each target and then for each cell library of the rows."""
    places = {row.place: row for row in rows}
    targets = [Column(key, of.title, of.unit, of.note) for key, of in TARGETS.items() if key in places]
    libraries = {key: places[key] for key in sorted(places.keys() - TARGETS.keys())}
    titles = [" + ".join(dict.fromkeys(name.split("_")[0] for name in row.libraries)) for row in libraries.values()]
    if len(set(titles)) < len(titles):
        titles = [row.cells for row in libraries.values()]
    note = "NAND2: divided by the area of the library's smallest two-input NAND."
    return targets + [Column(*pair, "the library's unit", note) for pair in zip(libraries, titles, strict=True)]


class Measured:
    """The rows of a report by kind, and its columns; ``formats`` are compared, whose codes have ``bits``.

    ``recorded`` are :attr:`synth.report.data.Report.recorded` figures, which stand for areas without rows.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        formats: Sequence[str],
        bits: Mapping[str, int] | None = None,
        recorded: Iterable[Sequence[Any]] = (),
    ):
        areas = [row for row in rows if row.timing is None and not row.is_energy]
        self.rows = [row for row in areas if OPTIONAL.isdisjoint(row.options)]
        """Areas of plain blocks."""
        self.optional = [row for row in areas if not OPTIONAL.isdisjoint(row.options)]
        """Areas of blocks with :data:`synth.report.plan.OPTIONAL` options."""
        self.timed = [row for row in rows if row.timing is not None]
        self.energies = [row for row in rows if row.is_energy]
        self.columns: dict[str, Column] = {column.key: column for column in columns(areas)}
        """Targets and cell libraries of the areas, by place."""
        self.formats = tuple(formats)
        self.bits = bits or {}
        self._recorded = {
            (name, place): Figure(low, median, high, TARGETS[place].unit, command=command)
            for name, place, command, low, median, high in recorded
        }

    def eight(self, items: Mapping[str, Item]) -> dict[str, Item]:
        """Those of formats of eight bits, or of unknown width, among which a format is called the cheapest."""
        return {name: item for name, item in items.items() if self.bits.get(name, 8) == 8}

    def part(self, part: str, place: str) -> dict[str, Figure]:
        """Figures of the MAC into the report's accumulator, or of a part of it, by format."""
        figures = {name: self.block(part_of_mac(part, name), place) for name in self.formats}
        return {name: value for name, value in figures.items() if value}

    def block(self, block: Block, place: str) -> Figure | None:
        """The figure of a block in a place, if it was measured."""
        rows = self.rows if OPTIONAL.isdisjoint(block.options) else self.optional
        known = pick(rows, block.kind, place, format=block.format, format_b=None, **block.options)
        return known or self.recorded(block, place)

    def recorded(self, block: Block, place: str) -> Figure | None:
        """The figure of a block that has no row."""
        try:
            return self._recorded.get((block.design.name, place)) if self._recorded else None
        except Refusal:  # a user's format
            return None

    def parts(self, part: str) -> dict[str, dict[str, Figure]]:
        """:meth:`part` for every place that has figures."""
        return {place: figures for place in self.columns if (figures := self.part(part, place))}
