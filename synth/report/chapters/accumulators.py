"""The report on accumulators: exact against rounded, by their width."""

from synth.report.figures import compared, listing, pair_sentence
from synth.report.measured import Measured, figure
from synth.report.plan import ACCUMULATORS, TERMS, WIDTH_STUDY, WIDTH_TARGETS
from synth.report.render import plots
from synth.report.render.plots import Mark
from synth.report.sections import Cell, Finding, Plot, Section, Table, commands, figure_cell


def section(measured: Measured) -> Section | None:
    """Area over the width of the accumulator; None where there is only one accumulator."""
    section = Section(
        "accumulators", "Exact against rounded accumulators",
        "The same products into wider accumulators. exact is a fixed-point register with room for "
        f"{TERMS:,} products of any size, and without rounding; its width follows from the format.",
    )  # fmt: skip
    for target in WIDTH_TARGETS:
        by_format = _marks(measured, target)
        kinds = [kind for kind in ACCUMULATORS if any(kind in marks for marks in by_format.values())]
        if len(kinds) < 2:
            continue
        column = measured.columns[target]
        title = f"MAC by accumulator, {column.title}"
        rounded = {name: {kind: marks[kind] for kind in marks if kind != "exact"} for name, marks in by_format.items()}
        exact = {name: marks["exact"] for name, marks in by_format.items() if "exact" in marks}
        svg = plots.widths(rounded, exact, title, "width of the accumulator [bits]", column.axis, measured.styles)
        used = (mark.y for marks in by_format.values() for mark in marks.values())
        section.plots.append(Plot("Filled points round after every product, hollow ones never.", svg, commands(used)))
        head = ["format"]
        for kind in kinds:
            widths = sorted(marks[kind].x for marks in by_format.values() if kind in marks)
            head.append(f"{kind}, {' to '.join(dict.fromkeys((str(widths[0]), str(widths[-1]))))} bits")
        body = []
        for name, marks in by_format.items():
            body.append((Cell(name), *(figure_cell(marks[kind].y if kind in marks else None) for kind in kinds)))
            if {"exact", "binary32"} <= set(marks):
                pair = (("binary32", marks["binary32"].y), ("exact", marks["exact"].y))
                section.findings.append(Finding(pair_sentence(*pair, f"the MAC of {name}", column.title), target))
        section.tables.append(Table(f"{title} [{column.unit}]", tuple(head), tuple(body)))
    return section if section.tables else None


def _marks(measured: Measured, target: str) -> dict[str, dict[str, Mark]]:
    """Area over bits, by format and accumulator."""
    by_format: dict[str, dict[str, Mark]] = {}
    for row in measured.rows:
        is_mac = (row.component, row.place, row.is_best) == ("mac", target, True) and "format_b" not in row.options
        if is_mac and row.format in WIDTH_STUDY and row.accumulator_bits is not None:
            mark = Mark(row.accumulator_bits, figure(row))
            by_format.setdefault(row.format, {}).setdefault(str(row.options["accumulator"]), mark)
    return by_format


def sentence(measured: Measured) -> str | None:
    """What exactness costs against rounding to binary32, on the last target where both are known; None where there is
    none.
    """
    for target in reversed(WIDTH_TARGETS):
        costs = [
            f"{name} {compared(marks['exact'].y, marks['binary32'].y)} ({marks['exact'].x} bits)"
            for name, marks in _marks(measured, target).items() if {"exact", "binary32"} <= set(marks)
        ]  # fmt: skip
        if costs:
            title = measured.columns[target].title
            return f"{title}: a MAC that never rounds, against one into binary32: {listing(costs)}."
    return None
