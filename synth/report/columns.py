"""Columns of the report's tables: one for each target or cell library."""

from collections.abc import Iterable
from dataclasses import dataclass

from synth.area.rows import Row
from synth.area.targets import TARGETS

_LIBRARY_NOTE = "Area in the library's own unit; NAND2: divided by the area of its smallest two-input NAND."


@dataclass(frozen=True)
class Column:
    """A target or cell library, and how the report names it."""

    key: str
    """The :attr:`synth.area.rows.Row.place` of its rows."""
    title: str
    unit: str
    note: str
    axis: str
    """Label of a plot's axis."""

    @property
    def head(self) -> str:
        """Title and unit."""
        return f"{self.title} [{self.unit}]"


def columns(rows: Iterable[Row]) -> list[Column]:
    """A column for each target and then for each cell library of the rows."""
    places = {row.place: row for row in rows}
    targets = [
        Column(key, target.title, target.unit, target.note, f"area [{target.unit}]")
        for key, target in TARGETS.items()
        if key in places
    ]
    libraries = {key: places[key] for key in sorted(places.keys() - TARGETS.keys())}
    titles = [" + ".join(dict.fromkeys(name.split("_")[0] for name in row.libraries)) for row in libraries.values()]
    if len(set(titles)) < len(titles):
        titles = [row.cells for row in libraries.values()]
    pairs, axis = zip(libraries, titles, strict=True), "area [the library's unit]"
    return targets + [Column(key, title, "area", _LIBRARY_NOTE, axis) for key, title in pairs]
