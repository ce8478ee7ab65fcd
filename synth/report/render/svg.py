"""Matplotlib's drawings as SVG elements of a page: the same bytes every time, in colours of the page's theme."""

import io
import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure as Canvas

from synth.report.render.palette import NEUTRAL, css, themed

INK, SOFT, LINE, CARD = (NEUTRAL[name][0] for name in ("ink", "soft", "line", "card"))
WIDTH = 4.7
"""Inches: what a phone's screen has room for at the size of its text."""

_FONT = "DejaVu Sans"  # comes with matplotlib: what is measured does not depend on the machine
_SETTINGS: Any = {
    "svg.fonttype": "none", "font.family": _FONT, "font.size": 10, "text.color": INK,
    "figure.facecolor": "none", "figure.titlesize": 11, "figure.titleweight": "bold",
    "axes.facecolor": "none", "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": LINE,
    "axes.labelcolor": SOFT, "axes.axisbelow": True, "axes.grid": True, "grid.color": LINE, "grid.linewidth": 0.8,
    "xtick.color": SOFT, "ytick.color": SOFT, "xtick.major.size": 0, "ytick.major.size": 0,
    "legend.frameon": False, "legend.fontsize": 9, "legend.handlelength": 1.2, "legend.columnspacing": 1.2,
}  # fmt: skip
_INHERITED = 'font-family="system-ui, sans-serif" stroke-linejoin="round"'
_NAMESPACES = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
_NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}


@dataclass
class Sheet:
    """A drawing: what to draw on, and, once it is done, its SVG element."""

    canvas: Canvas
    axes: Axes
    svg: str = ""

    def settle(self) -> None:
        """Lay everything out, so that places on the sheet are known; what is drawn later takes no room."""
        self.canvas.draw_without_rendering()
        self.canvas.set_layout_engine("none")


@contextmanager
def sheet(title: str, height: float) -> Iterator[Sheet]:
    """A sheet to draw on, ``height`` inches high below its title.

    The title is also the text for readers who cannot see the drawing, and makes its ids differ from those of other
    sheets.
    """
    lines = textwrap.wrap(title, 44)
    with mpl.rc_context({**_SETTINGS, "svg.hashsalt": title}):
        canvas = Canvas(figsize=(WIDTH, height + 0.1 + 0.2 * len(lines)), layout="constrained")
        canvas.suptitle("\n".join(lines), x=0.01, ha="left")
        drawn = Sheet(canvas, canvas.add_subplot())
        yield drawn
        drawn.svg = _element(canvas, title)


def _element(canvas: Canvas, title: str) -> str:
    out = io.StringIO()
    FigureCanvasSVG(canvas).print_svg(out, metadata=_NO_METADATA)
    text = out.getvalue()
    view = re.search(r'viewBox="([^"]*)"', text)
    body = text[text.index("</defs>") + len("</defs>") :]  # a style sheet, which would be one for the whole page
    body = re.sub(rf"; font-family: '{_FONT}'| transform=\"rotate\(-0 [^\"]*\"|(?<=<g) id=\"[^\"]*\"", "", body)
    body = re.sub(r"<[^>]*>", lambda tag: re.sub(r"-?\d+\.\d+", _rounded, tag[0]), body)
    body = re.sub(r"\s*\n\s*", "\n", body.replace("<g/>", "")).strip()
    return f'<svg viewBox="{view and view[1]}" role="img" aria-label="{escape(title)}" {_INHERITED}>\n{themed(body)}'


def _rounded(number: re.Match[str]) -> str:
    return f"{round(float(number[0]), 2):g}"


def standalone(svg: str) -> str:
    """An element as a file of its own, on a card in the light or dark theme of the reader's system."""
    head, body = svg.split("\n", 1)
    head = head.replace("<svg ", f'<svg {_NAMESPACES} width="{140 * WIDTH:.0f}" ')
    return f'{head}\n<style>\n{css()}</style>\n<rect width="100%" height="100%" rx="6" fill="var(--card)"/>\n{body}\n'
