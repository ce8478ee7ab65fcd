"""The report on accumulators: exact against rounded, by their width."""

from synth.report.figures import Figure, compared, figure, listing, pair_sentence
from synth.report.measured import Measured
from synth.report.plan import ACCUMULATORS, TERMS, WIDTH_STUDY, WIDTH_TARGETS
from synth.report.render import plots
from synth.report.sections import Cell, Plot, Section, Table, commands, figure_cell


def section(measured: Measured) -> Section | None:
    """Area over the width of the accumulator; None where there is only one accumulator."""
    made = Section(
        "accumulators", "Exact against rounded accumulators",
        "The same products into wider accumulators. exact is a fixed-point register with room for "
        f"{TERMS:,} products of any size, and without rounding; its width follows from the format.",
    )  # fmt: skip
    for target in WIDTH_TARGETS:
        found, bits = _of(measured, target)
        kinds = [kind for kind in ACCUMULATORS if any(kind in figures for figures in found.values())]
        if len(kinds) < 2:
            continue
        column = measured.columns[target]
        title = f"MAC by accumulator, {column.title}"
        marks = {name: {kind: plots.Mark(bits[name, kind], value) for kind, value in figures.items()} for name, figures in found.items()}
        exact = {name: figures.pop("exact") for name, figures in marks.items() if "exact" in figures}
        svg = plots.widths(marks, exact, title, "width of the accumulator [bits]", column.axis, measured.styles)
        used = [value for figures in found.values() for value in figures.values()]
        made.plots.append(Plot("Filled points round after every product, hollow ones never.", svg, commands(used)))
        head = tuple(f"{kind}, {_bits({bits[name, kind] for name in found if (name, kind) in bits})}" for kind in kinds)
        body = tuple((Cell(name), *(figure_cell(figures.get(kind)) for kind in kinds)) for name, figures in found.items())
        made.tables.append(Table(f"{title} [{column.unit}]", ("format", *head), body))
        for name, figures in found.items():
            if {"exact", "binary32"} <= set(figures):
                pair = (("binary32", figures["binary32"]), ("exact", figures["exact"]))
                made.findings.append(pair_sentence(*pair, f"the MAC of {name}", column.title))
    return made if made.tables else None


def _of(measured: Measured, target: str) -> tuple[dict[str, dict[str, Figure]], dict[tuple[str, str], int]]:
    """Figures by format and accumulator, and the bits of each."""
    found: dict[str, dict[str, Figure]] = {}
    bits: dict[tuple[str, str], int] = {}
    for row in measured.rows:
        wanted = row["component"] == "mac" and row["target"] == target and row["recipe"] == "best" and "format_b" not in row
        if wanted and row["format"] in WIDTH_STUDY:
            found.setdefault(row["format"], {}).setdefault(row["accumulator"], figure(row))
            bits.setdefault((row["format"], row["accumulator"]), row["accumulator_bits"])
    return found, bits


def sentence(measured: Measured) -> str | None:
    """What exactness costs against rounding to binary32, on the first target where both are known; None where there is none."""
    for target in reversed(WIDTH_TARGETS):
        found, bits = _of(measured, target)
        said = [
            f"{name} {compared(figures['exact'], figures['binary32'])} ({bits[name, 'exact']} bits)"
            for name, figures in found.items() if {"exact", "binary32"} <= set(figures)
        ]  # fmt: skip
        if said:
            return f"{measured.columns[target].title}: a MAC that never rounds, against one into binary32: {listing(said)}."
    return None


def _bits(widths: set[int]) -> str:
    least, most = min(widths), max(widths)
    return f"{least} bits" if least == most else f"{least} to {most} bits"
