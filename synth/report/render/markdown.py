"""The report as Markdown, without plots."""

import re
from collections.abc import Iterable

from synth.report.content import Content
from synth.report.sections import Cell, Section, Table


def document(content: Content) -> str:
    """The text of ``report.md``."""
    lines = [f"# {content.title}", "", *(f"- **{subject}.** {text}" for subject, text in content.summary)]
    for section in content.sections:
        lines += _section(section)
    return "\n".join(lines) + "\n"


def _section(section: Section) -> list[str]:
    lines = ["", f"## {section.title}", "", section.intro]
    if section.shown:
        lines += ["", *(f"- {finding.text}" for finding in section.shown)]
    for table in section.tables:
        lines += ["", shown(table)]
    return lines


def shown(table: Table) -> str:
    """A table below its caption and note, if it has any."""
    rule = ["---", *("---:" for _ in table.columns[1:])]
    lines = "\n".join(map(_row, (table.columns, rule, *(map(_cell, row) for row in table.rows))))
    return "\n\n".join(filter(None, (table.caption and f"**{table.caption}**", table.note, lines)))


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(_literal, cells))} |"


def _literal(text: str) -> str:
    """A text in one line of Markdown; it may come from a user's file."""
    text = re.sub("<(?!/?sub>)", "&lt;", " ".join(text.split()).replace("|", "\\|"))  # README has spreads below figures
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def _cell(cell: Cell) -> str:
    return f"{cell.text} ({cell.small})" if cell.small else cell.text
