"""The elements of a report: chapters with findings, charts and tables."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, NamedTuple

from synth.area.figures import Figure, compared, have_spreads, number


@dataclass(frozen=True)
class Cell:
    """A table's cell: its text, a second line, and a tooltip."""

    text: str
    small: str = ""
    note: str = ""
    value: float | None = None
    """Number by which a column is sorted."""
    command: str = ""
    """The command that measures it."""
    tool: str = ""
    """The tool that measured it."""


@dataclass(frozen=True)
class Table:
    """A table; ``columns`` are its heads, and the first cell of each row names the row."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    """What its figures are, if the caption is too short to say it."""

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands that measure its cells."""
        return tuple(dict.fromkeys(line for row in self.rows for cell in row for line in cell.command.splitlines()))

    def lines(self) -> Iterator[Sequence[object]]:
        """Its content as lines of a CSV file: where a cell has a number, the number and its second line."""
        yield [head for column in self.columns for head in (column, f"{column}: note")]
        for row in self.rows:
            yield [text for cell in row for text in (cell.text if cell.value is None else cell.value, cell.small)]


class Chart(NamedTuple):
    """The title of a chart, its data and layout for Plotly, and the commands of its figures."""

    title: str
    data: list[dict[str, Any]]
    layout: dict[str, Any]
    commands: tuple[str, ...] = ()
    caption: str = ""

    def lines(self) -> Iterator[Sequence[object]]:
        """Its points as lines of a CSV file."""
        yield "series", "x", "x below", "x above", "y", "y below", "y above"
        for trace in self.data:
            axes = []
            for axis in "xy":
                values, errors = trace[axis], trace.get(f"error_{axis}", {})
                none = [0] * len(values)
                axes += [values, errors.get("arrayminus", none), errors.get("array", none)]
            yield from ((trace.get("name", ""), *point) for point in zip(*axes, strict=True))


_FORMAT = re.compile(r"(?<=--format )[\w+]+(?!\S)|(?<=\(')[\w+]+(?=')")


def merged(commands: Iterable[str]) -> list[str]:
    """Commands in few lines: those that differ in the format alone are a loop of the shell."""
    formats: dict[str, dict[str, None]] = {}
    for command in commands:
        names = {*_FORMAT.findall(command)}
        line, name = (_FORMAT.sub("$f", command), *names) if len(names) == 1 else (command, "")
        formats.setdefault(line, {})[name] = None
    loops = {line: f"for f in {' '.join(names)}; do {line}; done" for line, names in formats.items()}
    return [loops[line] if len(names) > 1 else line.replace("$f", min(names)) for line, names in formats.items()]


def slug(text: str) -> str:
    """A text as part of an address."""
    return re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")


@dataclass(frozen=True)
class Finding:
    """A sentence that follows from the figures."""

    text: str
    subject: str = ""
    """Its name for the first page; empty if that does not have it."""
    item: str = ""
    """The anchor of the chart or table that shows it."""
    is_caption: bool = False
    """Whether it is the caption of a chart, and so not listed again."""


@dataclass
class Section:
    """A chapter of the report; ``anchor`` is its short name in links."""

    anchor: str
    title: str
    intro: str
    charts: list[Chart] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    note: str = ""
    """Method, for readers who want it; the page folds it."""
    command: str = ""
    """The command that measures the figures without a command of their own."""

    def find(self, text: str, subject: str = "", item: Chart | Table | None = None, is_caption: bool = False) -> None:
        """Add a :class:`Finding`, which ``item`` shows, unless it is empty: the figures allow none."""
        if text:
            self.findings.append(Finding(text, subject, "" if item is None else self.name(item), is_caption))

    def chart(self, chart: Chart, finding: str = "", subject: str = "", note: str = "") -> None:
        """Add a chart; its caption is a finding, and a note on what is shown."""
        self.charts.append(chart._replace(caption=f"{finding} {note}".strip()))
        self.find(finding, subject, chart, is_caption=True)

    def commands(self, item: Chart | Table) -> list[str]:
        """The commands that measure a chart or table, in few lines."""
        return [*merged(item.commands), *([self.command] if self.command else [])]

    def marked(self, marks: Mapping[str, str]) -> "Section":
        """Mark the cells, and charts, with figures of these commands."""
        for place, item in enumerate(self.tables):
            cells = ((_marked(each, _words(each.command.splitlines(), marks)) for each in row) for row in item.rows)
            self.tables[place] = replace(item, rows=tuple(map(tuple, cells)))
        for place, chart in enumerate(self.charts):
            if words := _words(chart.commands, marks):
                self.charts[place] = chart._replace(caption=f"{chart.caption} Some figures: {words}.".strip())
        return self

    def table(self, caption: str, columns: Iterable[str], rows: Iterable[Iterable[object]], note: str = "") -> None:
        """Add a :func:`table`."""
        self.tables.append(table(caption, columns, rows, note))

    def warn_of_other_tool(self, what: str, tool: str, others: str) -> None:
        """Warn if the ``tool`` of a study's figures is not that of the ``others``."""
        text = f"{what} by {tool}, other figures by {others}: do not compare them. {self.command} measures them again."
        self.find("" if tool == others else text)

    def name_missing(self, formats: Iterable[str], known: Iterable[str], command: str) -> None:
        """Name the formats that the study behind this chapter does not have, with a command that measures them."""
        missing = [name for name in formats if name not in set(known)]
        if missing:
            self.find(f"Not in this study: {', '.join(missing)}. {command} measures such a format.")

    def name(self, item: Chart | Table) -> str:
        """The anchor of a chart or table, which is also the name of its file."""
        return f"{self.anchor}-{slug(item.title if isinstance(item, Chart) else item.caption)}"


def _words(commands: Iterable[str], marks: Mapping[str, str]) -> str:
    return ", ".join(dict.fromkeys(marks[line] for line in commands if line in marks))


def table(caption: str, columns: Iterable[str], rows: Iterable[Iterable[object]], note: str = "") -> Table:
    """A table; cells may be given as their content. Those of other tools than most are marked."""
    lines = [[*map(cell, row)] for row in rows]
    tools = Counter(each.tool for line in lines for each in line if each.tool)
    others = {tool: f"by {tool}" for tool in tools if tool != max(tools, key=lambda tool: tools[tool])}
    marked = ((_marked(each, others.get(each.tool, "")) for each in line) for line in lines)
    return Table(caption, tuple(columns), tuple(map(tuple, marked)), note)


def _marked(each: Cell, mark: str) -> Cell:
    return replace(each, small=" · ".join(filter(None, (each.small, mark))))


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
    spread = "" if value.low == value.high and have_spreads([value]) else value.spread
    nand2 = "" if value.nand2 is None else f"{number(value.nand2)} NAND2"
    return Cell(
        number(value.median),
        " · ".join(part for part in (spread, nand2, against) if part),
        value.source,
        value.median,
        value.command,
        value.tool,
    )
