"""Sheets: matplotlib figures on white as SVG, with the same bytes every time."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from synth.report.sections import Picture

_WIDTH = 4.7
"""Inches; fits on the screen of a phone."""
_SETTINGS: Any = {
    "svg.fonttype": "none", "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: the same layout everywhere
    "font.size": 9, "figure.titlesize": 11, "figure.titleweight": "bold", "figure.constrained_layout.use": True,
    "figure.constrained_layout.w_pad": 0.07, "figure.constrained_layout.h_pad": 0.07,
    "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True, "axes.edgecolor": "0.8",
    "axes.grid": True, "grid.color": "0.9", "xtick.bottom": False, "ytick.left": False, "errorbar.capsize": 2,
    "text.parse_math": False,  # names of formats may have dollar signs
    "legend.frameon": False, "legend.handlelength": 1.4, "legend.columnspacing": 1.2,
}  # fmt: skip


class Sheet:
    """Axes to draw on, others to the right of them and, when the context ends, the picture."""

    axes: Axes
    others: list[Axes]
    picture: Picture


@contextmanager
def sheet(title: str, height: float, legend: int = 0, columns: int = 1, **labels: str) -> Iterator[Sheet]:
    """A sheet with a title, ``height`` inches high, with a number of axes side by side, for use as a context.

    ``labels`` are those of the first axes, ``xlabel`` and ``ylabel``; a ``legend`` below has this number of columns.
    """
    with style.context(["petroff10", _SETTINGS, {"svg.hashsalt": title}], after_reset=True):
        figure, page, out = Figure((_WIDTH, height)), Sheet(), io.StringIO()
        figure.suptitle(title, x=0.02, ha="left", wrap="$" not in title)  # wrapping parses it
        page.axes, *page.others = (figure.add_subplot(1, columns, place + 1) for place in range(columns))
        yield page
        page.axes.set(**labels)
        if legend:
            figure.legend(loc="outside lower center", ncols=legend)
        FigureCanvasSVG(figure).print_svg(out, metadata={"Title": title, "Date": None, "Creator": None})
        page.picture = Picture(title, out.getvalue())
