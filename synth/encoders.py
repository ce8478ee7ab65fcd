"""The report on encoders, and on what a rounding costs."""

from synth import plots
from synth.figures import Figure, figure, pair_sentence, pick, ranked
from synth.measured import Measured
from synth.plan import ENCODER_SOURCE, ROUNDING_STUDY
from synth.sections import Cell, Plot, Section, Table, commands, figure_cell


def section(measured: Measured) -> Section | None:
    """Encoders on gates by rounding, and two roundings of one format on every target; None where no encoder was measured."""
    rows = [row for row in measured.rows if row["component"] == "encoder" and row.get("from", ENCODER_SOURCE) == ENCODER_SOURCE]
    gates: dict[str, Figure] = {}
    styles = {}
    for row in rows:
        if row["target"] == "gates" and row["recipe"] == "best":
            name = f"{row['format']} {row['rounding']}"
            gates.setdefault(name, figure(row))
            styles[name] = measured.styles[row["format"]]
    if not gates:
        return None
    made = Section(
        "encoders", "Encoders, and what a rounding costs",
        f"From {ENCODER_SOURCE} to a code, with the format's default rounding unless another is named.",
    )  # fmt: skip
    column = measured.columns["gates"]
    svg = plots.bars(gates, f"Encoders from {ENCODER_SOURCE} by rounding, {column.title}", column.axis, styles)
    made.plots.append(Plot("Each bar is a format and a rounding, in the format's colour.", svg, commands(gates.values())))
    studied, (first, second) = ROUNDING_STUDY
    pairs: dict[str, tuple[Figure, Figure]] = {}
    for target, column in measured.columns.items():
        one, other = (pick(rows, "encoder", target, format=studied, rounding=rounding) for rounding in (first, second))
        if one is not None and other is not None:
            pairs[column.title] = one, other
            made.findings.append(pair_sentence((first, one), (second, other), f"the {studied} encoder", column.title))
    if pairs:
        title = f"{studied} encoder: {first} against {second}"
        colour = measured.styles[studied].colour
        svg = plots.pairs(pairs, (first, second), title, f"area / that with {first}", colour)
        made.plots.append(Plot("Every pair is scaled to its first bar.", svg, commands(value for pair in pairs.values() for value in pair)))
        body = tuple((Cell(where), figure_cell(one), figure_cell(other, one)) for where, (one, other) in pairs.items())
        made.tables.append(Table(title, ("target", first, second), body))
    order = ranked(gates)
    alone = tuple((Cell(name), figure_cell(gates[name], gates[order[0]])) for name in order)
    made.tables.append(Table("Encoders on gates", ("format and rounding", "Gates [NAND2]"), alone))
    return made
