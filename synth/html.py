"""The report as one HTML page that needs nothing else: style and plots are inside, no script, no network."""

from html import escape

from synth.content import Content
from synth.plots import FAMILIES
from synth.sections import Cell, Section, Table

_STYLE = """
:root { color-scheme: light dark; --paper: #fbfaf7; --card: #ffffff; --ink: #1d2430; --soft: #5b6472; --line: #dfe1e6; --c1: #c2410c;
  --c2: #0f766e; --c3: #7e92b0; --c4: #7c3aed; --c5: #b08900; --c6: #be185d; --c7: #1d4ed8; }
@media (prefers-color-scheme: dark) { :root { --paper: #12151b; --card: #1a1f27; --ink: #e7eaf0; --soft: #9aa4b4; --line: #323945;
  --c1: #fb8a4e; --c2: #2dc5b2; --c3: #71839f; --c4: #a78bfa; --c5: #e0b93a; --c6: #f472b6; --c7: #6ea0ff; } }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 3.5rem; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
header, main, footer { max-width: 76rem; margin: 0 auto; padding: 0 1.2rem; }
header { padding-top: 3rem; }
h1 { font-size: clamp(1.8rem, 5vw, 3rem); line-height: 1.1; letter-spacing: -0.02em; margin: 0 0 0.6rem; text-wrap: balance; }
h2 { font-size: 1.6rem; letter-spacing: -0.01em; margin: 3.5rem 0 0.4rem; }
header p, .intro { max-width: 46rem; color: var(--soft); margin: 0.2rem 0 1rem; }
nav { position: sticky; top: 0; z-index: 1; background: var(--paper); border-bottom: 1px solid var(--line); margin-top: 1.5rem; }
nav div { max-width: 76rem; margin: 0 auto; padding: 0.55rem 1.2rem; display: flex; gap: 1.2rem; overflow-x: auto; white-space: nowrap; }
nav a { color: var(--soft); text-decoration: none; font-size: 0.9rem; }
nav a:hover, nav a:focus { color: var(--ink); text-decoration: underline; }
.highlights { display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); gap: 0.9rem; padding: 0; margin: 1.6rem 0 0; }
.highlights li { list-style: none; background: var(--card); border: 1px solid var(--line); border-top: 3px solid var(--c1);
  border-radius: 8px; padding: 0.8rem 1rem; font-size: 0.95rem; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 21rem), 1fr)); gap: 0.9rem; margin: 1.2rem 0; }
figure { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 0.8rem; min-width: 0; }
figure svg { display: block; width: 100%; max-width: 36rem; height: auto; margin: 0 auto; }
figcaption { font-weight: 600; font-size: 0.95rem; margin-bottom: 0.3rem; }
.legend { font-size: 0.9rem; color: var(--soft); }
.legend i { display: inline-block; width: 0.8em; height: 0.8em; border-radius: 2px; margin: 0 0.35em 0 1em; }
.legend i:first-child { margin-left: 0; }
.findings { padding-left: 1.2rem; max-width: 60rem; }
.findings li { margin: 0.25rem 0; }
.scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 8px; margin: 0.9rem 0 1.4rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: 0.92rem; }
caption { text-align: left; font-weight: 600; padding: 0.7rem 0.8rem 0.3rem; }
th, td { padding: 0.4rem 0.8rem; text-align: left; vertical-align: top; border-top: 1px solid var(--line); white-space: nowrap; }
thead th { color: var(--soft); font-weight: 600; border-top: 0; }
tbody th { position: sticky; left: 0; background: var(--card); font-weight: 600; }
td small, th small { display: block; color: var(--soft); font-size: 0.8rem; font-weight: 400; }
td.text { white-space: normal; min-width: 14rem; }
td code { font-size: 0.82rem; }
tbody tr:hover td, tbody tr:hover th { background: color-mix(in srgb, var(--c3) 12%, var(--card)); }
details > summary { cursor: pointer; font-weight: 600; padding: 0.4rem 0; }
footer { color: var(--soft); font-size: 0.9rem; padding-top: 3rem; padding-bottom: 3rem; }
@media print { nav { display: none; } figure, .scroll { break-inside: avoid; } }
"""


def page(content: Content) -> str:
    """Text of ``index.html``."""
    sections = content.sections
    links = "".join(f'<a href="#{section.anchor}">{escape(section.title)}</a>' for section in sections)
    highlights = "".join(f"<li>{escape(text)}</li>" for text in content.highlights)
    body = "".join(_section(section) for section in sections)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, '
        f'initial-scale=1">\n<title>{escape(content.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n'
        f"<header>\n<h1>{escape(content.title)}</h1>\n<p>{escape(content.subtitle)}</p>\n"
        f'<ul class="highlights">{highlights}</ul>\n</header>\n'
        f"<nav><div>{links}</div></nav>\n<main>\n{body}</main>\n"
        f"<footer>{escape(content.colophon)}</footer>\n</body>\n</html>\n"
    )


def _section(section: Section) -> str:
    parts = [f'<section id="{section.anchor}">\n<h2>{escape(section.title)}</h2>\n<p class="intro">{escape(section.intro)}</p>\n']
    if section.plots:
        if section.families:
            marks = "".join(f'<i style="background:var(--c{number})"></i>{name}' for number, name in enumerate(FAMILIES, 1))
            parts.append(f'<p class="legend">{marks}</p>\n')
        figures = "".join(f"<figure><figcaption>{escape(caption)}</figcaption>{svg}</figure>\n" for caption, svg in section.plots)
        parts.append(f'<div class="plots">\n{figures}</div>\n')
    if section.findings:
        parts.append(f'<ul class="findings">{"".join(f"<li>{escape(text)}</li>" for text in section.findings)}</ul>\n')
    tables = "".join(map(_table, section.tables))
    parts.append(f"<details><summary>Show the table</summary>\n{tables}</details>\n" if section.folded else tables)
    return "".join(parts) + "</section>\n"


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in table.columns)
    rows = []
    for first, *others in table.rows:
        small = f"<small>{escape(first.small)}</small>" if first.small else ""
        rows.append(f'<tr><th scope="row">{escape(first.text)}{small}</th>{"".join(map(_cell, others))}</tr>\n')
    caption = f"<caption>{escape(table.caption)}</caption>"
    return f'<div class="scroll"><table>{caption}<thead><tr>{head}</tr></thead>\n<tbody>\n{"".join(rows)}</tbody></table></div>\n'


def _cell(cell: Cell) -> str:
    small = f"<small>{escape(cell.small)}</small>" if cell.small else ""
    note = f' title="{escape(cell.note)}"' if cell.note else ""
    long = ' class="text"' if len(cell.text) > 40 and not cell.text.startswith("hwgen ") else ""
    text = f"<code>{escape(cell.text)}</code>" if cell.text.startswith("hwgen ") else escape(cell.text)
    return f"<td{note}{long}>{text}{small}</td>"
