"""What a report is made of: sections of sentences, tables and plots, and the columns, one for each target, that its tables share."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from synth.area.jobs import Row
from synth.area.targets import LIBERTY, TARGETS
from synth.report.figures import Figure, compared, number


@dataclass(frozen=True)
class Cell:
    """A table's cell: what it says, a second line, and what is told on demand."""

    text: str
    small: str = ""
    note: str = ""
    value: float | None = None
    """What a column of numbers is sorted by."""


@dataclass(frozen=True)
class Table:
    """``columns`` head the ``rows``; the first column names them."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Plot:
    """A picture, what is to be seen there, and the commands that repeat its figures."""

    caption: str
    svg: str
    commands: tuple[str, ...] = ()


@dataclass
class Section:
    """Part of the report; ``anchor`` is its short name."""

    anchor: str
    title: str
    intro: str
    plots: list[Plot] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    folded: bool = False
    """Whether its tables are shown on demand only."""


@dataclass(frozen=True)
class Column:
    """A target as the report calls it: one of :data:`synth.area.targets.TARGETS`, or the user's cell library."""

    key: str
    title: str
    unit: str
    note: str

    @property
    def head(self) -> str:
        """Title and unit."""
        return f"{self.title} [{self.unit}]"

    @property
    def axis(self) -> str:
        """What a plot's axis says."""
        return f"area [{_OWN if self.key not in TARGETS else self.unit}]"


def target_key(row: Row) -> str:
    """The key of a row's target; libraries are told apart by their content."""
    if row["target"] != LIBERTY:
        return str(row["target"])
    return f"{LIBERTY} {' + '.join(row['libraries'])} ({', '.join(digest[:8] for digest in row['libraries_sha256'])})"


def label(row: Row) -> str:
    """The operands' format, or both."""
    return f"{row['format']} × {row['format_b']}" if "format_b" in row else str(row["format"])


def columns(rows: Iterable[Row]) -> list[Column]:
    """The targets that rows are of, libraries last."""
    found = {target_key(row): row for row in rows}
    known = [Column(key, target.title, target.unit, target.note) for key, target in TARGETS.items() if key in found]
    libraries = {key: row["libraries"] for key, row in sorted(found.items()) if key not in TARGETS}
    short = {key: " + ".join(dict.fromkeys(name.split("_")[0] for name in names)) for key, names in libraries.items()}
    clash = len(set(short.values())) < len(short)
    return known + [Column(key, key.removeprefix(f"{LIBERTY} ") if clash else short[key], "area", _LIBRARY_NOTE) for key in libraries]


_OWN = "the library's unit"
_LIBRARY_NOTE = "Area in the library's own unit; NAND2: divided by the area of its smallest two-input NAND."


def figure_cell(value: Figure | None, base: Figure | None = None) -> Cell:
    """A figure, its spread, how it compares with a base, and where it comes from."""
    if value is None:
        return Cell("–")
    against = "" if base is None else "smallest" if value == base else compared(value, base)
    spread = value.spread if value.low != value.high else "all samples equal" if value.samples > 1 else "one sample"
    nand2 = "" if value.nand2 is None else f"{number(value.nand2)} NAND2"
    return Cell(number(value.median), " · ".join(part for part in (spread, nand2, against) if part), value.source, value.median)


def commands(figures: Iterable[Figure]) -> tuple[str, ...]:
    """The commands that repeat figures, each once."""
    return tuple(dict.fromkeys(value.command for value in figures))
