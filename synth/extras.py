"""The report on what options of the blocks cost."""

from dataclasses import dataclass, field
from typing import Any

from synth.figures import Figure, number, pick
from synth.measured import Measured
from synth.plan import EXTRAS, Extra
from synth.sections import Cell, Section, Table, figure_cell


@dataclass
class _Row:
    """What was found of one option."""

    extra: Extra
    cells: list[Cell] = field(default_factory=list)


def section(measured: Measured) -> Section | None:
    """Each option beside the same block without it; None where nothing was measured."""
    made = Section(
        "options", "What options cost",
        "A port for a power-of-two scale, a pin that chooses the rounding, status flags, several products: each beside the plain block.",
    )  # fmt: skip
    rows = [_Row(extra) for extra in EXTRAS]
    columns = [column for key, column in measured.columns.items() if any(one["target"] == key for one in measured.optional)]
    for column in columns:
        for row in rows:
            base, other = (_picked(measured, row.extra, column.key, more) for more in (False, True))
            if base is None or other is None:
                row.cells.append(Cell("–"))
                continue
            row.cells.append(figure_cell(other, base))
            change = f"{other.median / base.median - 1:+.0%}" if other.differs(base) else "no difference"
            sizes = f"{number(other.median)} against {number(base.median)} {base.unit}"
            made.findings.append(f"{column.title}: {row.extra.text}, {row.extra.format} {row.extra.kind}: {change} ({sizes}).")
    if not made.findings:
        return None
    body = tuple(
        (Cell(row.extra.text, row.extra.comparison), *row.cells) for row in rows if any(cell.value is not None for cell in row.cells)
    )
    made.tables.append(Table("Blocks with an option, against those without", ("option", *(column.head for column in columns)), body))
    return made


def _picked(measured: Measured, extra: Extra, target: str, more: bool) -> Figure | None:
    options: dict[str, Any] = {name.replace("-", "_"): value for name, value in (extra.options if more else extra.base).items()}
    rows = measured.optional if more else measured.rows
    return pick(rows, extra.kind if more else extra.base_kind, target, format=extra.format, format_b=None, **options)
