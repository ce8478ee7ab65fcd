"""Write the report's files from its data, either all or none: a page, the same as Markdown without plots, and data."""

import csv
import io
import json
import re
import shutil
from base64 import b64encode
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from hwgen.tools.files import staging, write_files
from synth.area.rows import Row
from synth.report.content import Content
from synth.report.data import Report
from synth.report.sections import Cell, Command, Table

_PAGE = Path(__file__).parent / "render"
"""The folder of the page's template, style and script."""
_FIRST = ("component", "format", "target", "recipe", "best_recipe", "metric", "min", "median", "max", "unit", "samples")
_LAST = ("name", "tool", "portfolio", "renamings", "verilog_sha256", "script_sha256", "command")


def render(report: Report, folder: str | Path) -> None:
    """Write ``report.json``, ``report.csv``, ``report.md``, ``index.html`` and the logs of failed jobs.

    All files are complete before any of them appears. An older report is replaced, other files stay, a missing folder
    is created. The same data gives the same bytes.
    """
    content = Content(report)
    files = {
        "report.json": json.dumps(report.to_json(), indent=1) + "\n",
        "report.csv": spreadsheet(report.rows),
        "report.md": "\n\n".join(_paragraphs(content)) + "\n",
        "index.html": page(content),
        **{failure.log: failure.output for failure in report.failures if failure.output},
    }
    folder = Path(folder)
    with staging(folder) as draft:
        write_files(draft, files)
        shutil.rmtree(folder / "logs", ignore_errors=True)


def page(content: Content) -> str:
    """One HTML page with style, script and plots; a security policy blocks all network requests."""
    environment = Environment(loader=FileSystemLoader(_PAGE), undefined=StrictUndefined, autoescape=True)
    environment.trim_blocks = environment.lstrip_blocks = environment.keep_trailing_newline = True
    environment.tests["command"] = lambda cell: isinstance(cell, Command)
    environment.filters["base64"] = lambda text: b64encode(text.encode()).decode()
    environment.filters["sha256"] = lambda text: b64encode(sha256(text.encode()).digest()).decode()
    style, script = ((_PAGE / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    return environment.get_template("page.html").render(content=content, style=style, script=script)


def spreadsheet(rows: Iterable[Row]) -> str:
    """Rows as CSV: common columns first and last, options between them; lists are separated by spaces."""
    lines = [row.to_json() for row in rows]
    keys = dict.fromkeys(key for line in lines for key in line)
    columns = [*_FIRST, *(key for key in keys if key not in {*_FIRST, *_LAST}), *_LAST]
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n", restval="")
    writer.writeheader()
    for line in lines:
        writer.writerow(
            {key: " ".join(map(str, value)) if isinstance(value, list) else value for key, value in line.items()}
        )
    return out.getvalue()


def _paragraphs(content: Content) -> Iterator[str]:
    yield f"# {content.title}"
    yield "\n".join(f"- **{subject}.** {_literal(text)}" for subject, text in content.summary)
    for section in content.sections:
        yield from (f"## {section.title}", section.intro)
        if section.shown:
            yield "\n".join(f"- {_literal(finding.text)}" for finding in section.shown)
        yield from map(markdown, section.tables)


def markdown(table: Table) -> str:
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
