"""The report as Markdown, without plots."""

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
        lines += ["", f"**{table.caption}**", "", *((table.note, "") if table.note else ()), *table_lines(table)]
    return lines


def table_lines(table: Table) -> Iterable[str]:
    """The lines of a table."""
    yield _row(table.columns)
    yield _row("---" if index == 0 else "---:" for index in range(len(table.columns)))
    for row in table.rows:
        yield _row(map(_cell, row))


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(_literal, cells))} |"


def _literal(text: str) -> str:
    """A text in one line of Markdown; it may come from a user's file."""
    text = " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def _cell(cell: Cell) -> str:
    return f"{cell.text} ({cell.small})" if cell.small else cell.text
