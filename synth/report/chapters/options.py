"""The report on what options of the blocks cost."""

from dataclasses import dataclass, field

from synth.report.figures import Figure, number, pick
from synth.report.measured import Measured
from synth.report.plan import EXTRA_TARGETS, EXTRAS, Extra
from synth.report.sections import Cell, Section, Table, figure_cell


@dataclass
class _Row:
    """What was found of one option."""

    extra: Extra
    cells: list[Cell] = field(default_factory=list)


def section(measured: Measured) -> Section | None:
    """Each option beside the same block without it; None where nothing was measured."""
    made = Section(
        "options", "What options cost",
        "A port for a power-of-two scale, a pin that chooses the rounding, status flags, several products, a second format: each beside "
        "the plain block.",
    )  # fmt: skip
    rows = [_Row(extra) for extra in EXTRAS]
    columns = [measured.columns[target] for target in EXTRA_TARGETS if target in measured.columns]
    for column in columns:
        for row in rows:
            base, other = (_picked(measured, row.extra, column.key, more) for more in (False, True))
            if base is None or other is None:
                row.cells.append(Cell("–"))
                continue
            row.cells.append(figure_cell(other, base))
            change = f"{other.median / base.median - 1:+.0%}" if other.differs(base) else "no difference"
            sizes = f"{number(other.median)} against {number(base.median)} {base.unit}"
            made.findings.append(f"{column.title}: {row.extra.format} {row.extra.base_kind} with {row.extra.text}: {change} ({sizes}).")
    if not made.findings:
        return None
    body = tuple(
        (Cell(row.extra.text, row.extra.comparison), *row.cells) for row in rows if any(cell.value is not None for cell in row.cells)
    )
    made.tables.append(Table("Blocks with an option, against those without", ("option", *(column.head for column in columns)), body))
    return made


def _picked(measured: Measured, extra: Extra, target: str, more: bool) -> Figure | None:
    if not more:
        return pick(measured.rows, extra.base_kind, target, format=extra.format, format_b=None, **extra.base)
    rows = measured.rows if extra.pair else measured.optional
    return pick(rows, extra.kind, target, format=extra.unit, format_b=None, **extra.options)
