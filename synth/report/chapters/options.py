"""The chapter on the cost of options."""

from synth.report.figures import Figure, compared, number
from synth.report.measured import Measured, pick
from synth.report.plan import EXTRA_TARGETS, EXTRAS, Extra
from synth.report.sections import Cell, Section, figure_cell


def section(measured: Measured) -> Section | None:
    """Each block with an option, compared with the block without it; None if nothing was measured."""
    intro = "Each row compares a block that has an option with the same block without it."
    section = Section("options", "What options cost", intro)
    columns = [measured.columns[target] for target in EXTRA_TARGETS if target in measured.columns]
    body: list[list[object]] = [[Cell(extra.text, extra.comparison)] for extra in EXTRAS]
    for column in columns:
        for extra, cells in zip(EXTRAS, body, strict=True):
            plain, other = _figures(measured, extra, column.key)
            if plain is None or other is None:
                cells.append(None)
                continue
            cells.append(figure_cell(other, plain))
            if share := compared(other, plain):
                sizes = f"{number(other.median)} against {number(plain.median)} {plain.unit}"
                text = f"{extra.format} {extra.base_kind} with {extra.text}: {share} ({sizes})"
                section.find(f"{column.title}: {text}.", column.key)
    rows = [cells for cells in body if any(cells[1:])]
    if not rows:
        return None
    head = ("option", *(column.head for column in columns))
    section.table("Blocks with an option, compared with the block without it", head, rows)
    return section


def _figures(measured: Measured, extra: Extra, place: str) -> tuple[Figure | None, Figure | None]:
    """The block without the option, and the block with it."""
    plain = pick(measured.rows, extra.base_kind, place, format=extra.format, format_b=None, **extra.base)
    rows = measured.rows if extra.pair else measured.optional
    return plain, pick(rows, extra.kind, place, format=extra.unit, format_b=None, **extra.options)
