"""The elements of a report: sections with findings, tables and plots."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from synth.report.figures import Figure, compared, have_spreads, number


@dataclass(frozen=True)
class Cell:
    """A table's cell: its text, a second line, and a tooltip."""

    text: str
    small: str = ""
    note: str = ""
    value: float | None = None
    """Number by which a column is sorted."""


@dataclass(frozen=True)
class Command(Cell):
    """A cell whose text is a command line."""


@dataclass(frozen=True)
class Table:
    """A table; ``columns`` are its heads, and the first cell of each row names the row."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    """What its figures are, if the caption is too short to say it."""


class Picture(NamedTuple):
    """The title of a drawing, which is also its alternative text, and its SVG file."""

    title: str
    svg: str


@dataclass(frozen=True)
class Plot:
    """A picture with its caption and the commands that repeat its figures."""

    caption: str
    picture: Picture
    commands: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding:
    """A sentence that follows from the figures."""

    text: str
    place: str = ""
    """Key of its column; empty if it is about several columns or none."""
    is_caption: bool = False
    """Whether it is the caption of a plot, and so not listed again on the page."""


def other_tool(subject: str, tool: str, others: str, command: str) -> list[Finding]:
    """A warning if the ``tool`` of a study's figures is not that of the ``others``; the command measures them again."""
    text = f"{subject} by {tool}, other figures by {others}: do not compare them. {command} measures them again."
    return [] if tool == others else [Finding(text)]


@dataclass
class Section:
    """A chapter of the report; ``anchor`` is its short name in links."""

    anchor: str
    title: str
    intro: str
    plots: list[Plot] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    folded: bool = False
    """Whether the page hides its tables until the reader opens them."""


def figure_cell(value: Figure | None, base: Figure | None = None) -> Cell:
    """A cell with a figure, its spread, and how it compares with a base; the tooltip is the figure's source."""
    if value is None:
        return Cell("–")
    against = "" if base is None else compared(value, base)
    against = "smallest" if against and value == base else against
    spread = "all samples equal" if value.low == value.high and have_spreads([value]) else value.spread
    nand2 = "" if value.nand2 is None else f"{number(value.nand2)} NAND2"
    return Cell(
        number(value.median), " · ".join(part for part in (spread, nand2, against) if part), value.source, value.median
    )


def commands(figures: Iterable[Figure]) -> tuple[str, ...]:
    """The commands that repeat figures, without repetitions."""
    return tuple(dict.fromkeys(value.command for value in figures))
