"""The report as one HTML page with style, script and plots; a security policy blocks all network requests."""

from base64 import b64encode
from hashlib import sha256
from html import escape
from pathlib import Path

from synth.report.content import Content
from synth.report.sections import Cell, Command, Plot, Section, Table

_LONG = 30
"""A table with more rows scrolls."""
_WIDE = 44
"""A cell with more characters has several lines."""
_STYLE, _SCRIPT = (Path(__file__).with_name(name) for name in ("page.css", "page.js"))


def page(content: Content) -> str:
    """The text of ``index.html``."""
    sections = content.sections
    links = "".join(f'<a href="#{section.anchor}">{escape(section.anchor)}</a>' for section in sections)
    summary = "".join(
        f"<div><dt>{escape(subject)}</dt><dd>{escape(text)}</dd></div>\n" for subject, text in content.summary
    )
    body = "".join(map(_section, sections))
    style, script = _STYLE.read_text(encoding="utf-8"), _SCRIPT.read_text(encoding="utf-8")
    digest = b64encode(sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<link rel="icon" href="data:,">\n'
        f"<title>{escape(content.title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f"<header>\n<h1>{escape(content.title)}</h1>\n<p>{escape(content.subtitle)}</p>\n"
        f'<dl class="summary">\n{summary}</dl>\n</header>\n'
        f"<nav><div>{links}</div></nav>\n<main>\n{body}</main>\n"
        f"<footer>{escape(content.colophon)}</footer>\n<script>{script}</script>\n</body>\n</html>\n"
    )


def _section(section: Section) -> str:
    head = f'<section id="{section.anchor}">\n<h2>{escape(section.title)}</h2>\n'
    intro = f'<p class="intro">{escape(section.intro)}</p>\n'
    findings = "".join(f"<li>{escape(finding.text)}</li>" for finding in section.shown if not finding.is_caption)
    plots = "".join(map(_plot, section.plots)) + (f'<ul class="findings">{findings}</ul>\n' if findings else "")
    plots = f'<div class="plots">\n{plots}</div>\n' if plots else ""
    tables = "".join(map(_table, section.tables))
    if section.folded:
        noun = "tables" if len(section.tables) > 1 else "table"
        tables = f"<details><summary>Show the {noun}</summary>\n{tables}</details>\n"
    return f"{head}{intro}{plots}{tables}</section>\n"


def _plot(plot: Plot) -> str:
    lines = "\n".join(map(escape, plot.picture.commands))
    details = f"<details><summary>Commands that repeat these figures</summary><pre>{lines}</pre></details>"
    data = b64encode(plot.picture.svg.encode()).decode()
    image = f'<img src="data:image/svg+xml;base64,{data}" alt="{escape(plot.picture.title)}">'
    return f"<figure>{image}<figcaption>{escape(plot.caption)}</figcaption>{details if lines else ''}</figure>\n"


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in table.columns)
    rows = "".join(
        f"<tr>{_cell(first, is_head=True)}{''.join(map(_cell, others))}</tr>\n" for first, *others in table.rows
    )
    caption, size = escape(table.caption), " long" if len(table.rows) > _LONG else ""
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    return (
        f'<div class="table"><div class="bar"><b>{caption}</b></div>{note}\n'
        f'<div class="scroll{size}" tabindex="0" role="region" aria-label="{caption}">'
        f'<table aria-label="{caption}"><thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table></div></div>\n'
    )


def _cell(cell: Cell, is_head: bool = False) -> str:
    tag, scope = ("th", ' scope="row"') if is_head else ("td", "")
    is_command = isinstance(cell, Command)
    small = f"<small>{escape(cell.small)}</small>" if cell.small else ""
    note = f' title="{escape(cell.note)}"' if cell.note else ""
    long = ' class="text"' if max(len(cell.text), len(cell.small)) > _WIDE and not is_command else ""
    value = "" if cell.value is None else f' data-value="{cell.value:.12g}"'
    text = f"<code>{escape(cell.text)}</code>" if is_command else escape(cell.text)
    return f"<{tag}{scope}{value}{note}{long}>{text}{small}</{tag}>"
