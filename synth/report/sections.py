"""What a report is made of: sections of findings, tables and plots."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from synth.report.figures import Figure, compared, number


@dataclass(frozen=True)
class Cell:
    """A table's cell: its text, a second line, and a note that is shown on demand."""

    text: str
    small: str = ""
    note: str = ""
    value: float | None = None
    """What a column of numbers is sorted by."""


@dataclass(frozen=True)
class Command(Cell):
    """A cell whose text is a command line."""


@dataclass(frozen=True)
class Table:
    """``columns`` head the ``rows``; the first column names them."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


class Picture(NamedTuple):
    """A drawing: its title, which also stands for it where it cannot be seen, and the SVG file."""

    title: str
    svg: str


@dataclass(frozen=True)
class Plot:
    """A picture, its caption, and the commands that repeat its figures."""

    caption: str
    picture: Picture
    commands: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding:
    """A sentence that follows from the figures."""

    text: str
    place: str = ""
    """Key of the column that it is about; empty where it is about several or none."""
    is_caption: bool = False
    """Whether a plot of the section has it as its caption."""


@dataclass
class Section:
    """Part of the report; ``anchor`` is its short name."""

    anchor: str
    title: str
    intro: str
    plots: list[Plot] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    folded: bool = False
    """Whether its tables are shown on demand only."""


def figure_cell(value: Figure | None, base: Figure | None = None) -> Cell:
    """A figure, its spread, how it compares with a base, and where it comes from."""
    if value is None:
        return Cell("–")
    against = "" if base is None else "smallest" if value == base else compared(value, base)
    spread = value.spread if value.low != value.high else "all samples equal" if value.samples > 1 else "one sample"
    nand2 = "" if value.nand2 is None else f"{number(value.nand2)} NAND2"
    return Cell(
        number(value.median), " · ".join(part for part in (spread, nand2, against) if part), value.source, value.median
    )


def commands(figures: Iterable[Figure]) -> tuple[str, ...]:
    """The commands that repeat figures, each once."""
    return tuple(dict.fromkeys(value.command for value in figures))
