"""The elements of a report: sections with findings, tables and plots."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import isfinite
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
    """The title of a drawing, which is also its alternative text, its SVG file, and the commands of its figures."""

    title: str
    svg: str
    commands: tuple[str, ...] = ()
    caption: str = ""


SUBJECTS = (
    "Accuracy for area",
    "Range for area",
    "Speed",
    "Rounding",
    "Exact accumulators",
    "Dot products",
    "Energy",
    "Table 2 of the supernormal paper",
)
"""What the summary has findings on, in its order."""


@dataclass(frozen=True)
class Finding:
    """A sentence that follows from the figures; empty if they allow none, and then not shown."""

    text: str
    subject: str = ""
    """Its subject in the summary; empty if the summary does not have it."""
    is_caption: bool = False
    """Whether it is the caption of a plot, and so not listed again on the page."""
    is_listed: bool = True
    """Whether the section has it as well as the summary."""


@dataclass
class Section:
    """A chapter of the report; ``anchor`` is its short name in links."""

    anchor: str
    title: str
    intro: str
    plots: list[Picture] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    folded: bool = False
    """Whether the page hides its tables until the reader opens them."""

    def find(self, text: str, subject: str = "", *, is_caption: bool = False, is_listed: bool = True) -> None:
        """Add a :class:`Finding`; KeyError if the summary has no such subject."""
        if subject and subject not in SUBJECTS:
            raise KeyError(f"the summary has no subject {subject!r}")
        self.findings.append(Finding(text, subject, is_caption, is_listed))

    def plot(self, caption: str, picture: Picture, *others: str) -> None:
        """Add a plot; ``others`` are further commands."""
        self.plots.append(picture._replace(caption=caption, commands=picture.commands + others))

    def plot_finding(self, text: str, picture: Picture, subject: str = "", *others: str) -> None:
        """Add a :meth:`plot` whose caption is a finding."""
        self.plot(text, picture, *others)
        self.find(text, subject, is_caption=True)

    def table(self, caption: str, columns: Iterable[str], rows: Iterable[Iterable[object]], note: str = "") -> None:
        """Add a :func:`table`."""
        self.tables.append(table(caption, columns, rows, note))

    def warn_of_other_tool(self, subject: str, tool: str, others: str, command: str) -> None:
        """Warn if the ``tool`` of a study's figures is not that of the ``others``; the command measures them again."""
        text = f"{subject} by {tool}, other figures by {others}: do not compare them. {command} measures them again."
        self.find("" if tool == others else text)

    @property
    def shown(self) -> list[Finding]:
        """The findings of the section that say something."""
        return [finding for finding in self.findings if finding.text and finding.is_listed]


def table(caption: str, columns: Iterable[str], rows: Iterable[Iterable[object]], note: str = "") -> Table:
    """A table; cells may be given as their content."""
    return Table(caption, tuple(columns), tuple(tuple(map(cell, row)) for row in rows), note)


def cell(content: object) -> Cell:
    """A cell with a text, a number, a figure or, if that is unknown, a dash."""
    match content:
        case Cell():
            return content
        case str():
            return Cell(content)
        case float() | int():
            return Cell(number(content), value=content)
        case Figure() | None:
            return figure_cell(content)
    raise TypeError(f"a cell cannot be made of {content!r}")


def spread_cell(value: Figure, text: Callable[[float], str], unit: str = "") -> Cell:
    """A cell with a figure and its spread, each number as its ``text``."""
    low, middle, high = map(text, (value.low, value.median, value.high))
    spread = "" if low == high else f"{low} to {high}"
    return Cell(middle + unit, spread, value=value.median if isfinite(value.median) else None)


def number_cell(value: float, digits: str, small: str = "") -> Cell:
    """A cell with a number in a format, such as ``.1%``."""
    return Cell(f"{value:{digits}}", small, value=value)


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
