"""Write the report's files from its data, either all or none: pages, a text without charts, and data."""

import csv
import io
import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from importlib.resources import files as resources
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from hwgen.tools.files import staging, write_files
from hwgen.tools.progress import printable
from synth.area.rows import Row
from synth.report.content import Content
from synth.report.data import Report
from synth.report.points import as_json
from synth.report.sections import Cell, Chart, Table

_SITE = Path(__file__).parent / "site"
"""The templates, the style and the scripts of the pages."""
RENEWED = 60
"""Seconds after which pages are renewed while figures are measured."""
_COPIED = ("style.css", "site.js", "compare.js")
_FIRST = ("component", "format", "target", "recipe", "best_recipe", "metric", "min", "median", "max", "unit", "samples")
_LAST = ("name", "tool", "portfolio", "renamings", "verilog_sha256", "script_sha256", "command")


def render(report: Report, folder: str | Path) -> None:
    """Write the pages, ``report.json``, ``report.csv``, ``report.md``, and the logs of failed jobs.

    Beside the pages are their scripts, and the data of each chart and table in ``data``. All files are complete before
    any of them appears. An older report is replaced, other files stay, a missing folder is created. The same data gives
    the same bytes.
    """
    content = Content(report)
    files = {
        "report.json": json.dumps(report.to_json(), indent=1) + "\n",
        "report.csv": spreadsheet(report.rows),
        "report.md": "\n\n".join(_paragraphs(content)) + "\n",
        "plotly.min.js": resources("plotly").joinpath("package_data/plotly.min.js").read_text(encoding="utf-8"),
        **{name: (_SITE / name).read_text(encoding="utf-8") for name in _COPIED},
        **pages(content),
        **{failure.log: failure.output for failure in report.failures if failure.output},
    }
    for section in content.sections:
        items: list[Chart | Table] = [*section.charts, *section.tables]
        for item in items:
            files[f"data/{section.name(item)}.csv"] = _csv(item.lines())
    folder = Path(folder)
    with staging(folder) as draft:
        write_files(draft, files)
        for old in ("logs", "data"):
            shutil.rmtree(folder / old, ignore_errors=True)


def pages(content: Content) -> dict[str, str]:
    """The pages by file, and the data of Compare; a security policy blocks all network requests."""
    environment = Environment(loader=PackageLoader("synth.report", "site"), undefined=StrictUndefined, autoescape=True)
    environment.trim_blocks = environment.lstrip_blocks = environment.keep_trailing_newline = True
    environment.finalize = _shown
    environment.filters["embedded"] = _embedded
    environment.filters["breakable"] = _breakable
    environment.globals["renewed"] = 0 if content.report.is_stopped else RENEWED * bool(content.report.left)
    data = as_json(content.points, content.report.formats)
    pages = {"compare.json": json.dumps(data, indent=0, ensure_ascii=False) + "\n"}
    pages["index.html"] = environment.get_template("index.html").render(content=content, compare=data, current="index")
    chapter = environment.get_template("chapter.html")
    pages |= {
        f"{page.name}.html": chapter.render(content=content, page=page, current=page.name) for page in content.pages
    }
    return pages


def _shown(value: object) -> object:
    """A value in a page; texts, which may come from a user's file, without control characters."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _breakable(text: str) -> Markup:
    """A text whose lines may break behind each plus sign, as between the formats of a pair."""
    return escape(printable(text)).replace("+", Markup("+<wbr>"))


def _embedded(data: object) -> Markup:
    """JSON within a script element, which no text in it can end."""
    return Markup(json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"))


def _csv(lines: Iterable[Iterable[object]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(lines)
    return printable(out.getvalue())


def spreadsheet(rows: Iterable[Row]) -> str:
    """Rows as CSV: common columns first and last, options between them; lists are separated by spaces."""
    lines = [row.to_json() for row in rows]
    keys = dict.fromkeys(key for line in lines for key in line)
    columns = [*_FIRST, *(key for key in keys if key not in {*_FIRST, *_LAST}), *_LAST]
    rest = ([line.get(column, "") for column in columns] for line in lines)
    texts = ([" ".join(map(str, cell)) if isinstance(cell, list) else cell for cell in line] for line in rest)
    return _csv([columns, *texts])


def _paragraphs(content: Content) -> Iterator[str]:
    yield f"# {content.title}"
    texts = (*content.warnings, *(answer.text for answer in content.answers), content.verified, content.how)
    yield "\n".join(f"- {_escaped(text)}" for text in texts)
    for section in content.sections:
        yield f"## {section.title}"
        yield from map(_escaped, filter(None, (section.intro, section.note)))
        if section.findings:
            yield "\n".join(f"- {_escaped(finding.text)}" for finding in section.findings)
        yield from (markdown(table, _escaped) for table in section.tables)


def _line(text: str) -> str:
    """A text in one line of a table in Markdown."""
    text = " ".join(text.split()).replace("|", "\\|")
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def _escaped(text: str) -> str:
    """A text, which may come from a user's file, in one line of Markdown that shows it as it is."""
    special = r"^[#>]|^[+-](?=\s)|[\\`*\[]|\b_|_\b"
    return _line(re.sub(special, r"\\\g<0>", text.strip()).replace("<", "&lt;"))


def markdown(table: Table, escaped: Callable[[str], str] = _line) -> str:
    """A table below its caption and note, if it has any; its texts may be Markdown unless they are ``escaped``."""
    rule = ["---", *("---:" for _ in table.columns[1:])]
    cells = (table.columns, *(map(_cell, row) for row in table.rows))
    head, *rows = (f"| {' | '.join(map(escaped, line))} |" for line in cells)
    lines = head, f"| {' | '.join(rule)} |", *rows
    texts = (table.caption and f"**{escaped(table.caption)}**", escaped(table.note), "\n".join(lines))
    return "\n\n".join(filter(None, texts))


def _cell(cell: Cell) -> str:
    return f"{cell.text} ({cell.small})" if cell.small else cell.text
