"""The report on encoders, and on what a rounding costs."""

from synth.report.figures import Figure, figure, pair_sentence, pick, smallest_sentence
from synth.report.measured import Measured
from synth.report.plan import ENCODER_SOURCE, ROUNDING_STUDY
from synth.report.render import plots
from synth.report.sections import Cell, Plot, Section, Table, commands, figure_cell


def section(measured: Measured) -> Section | None:
    """Encoders on gates by rounding, and two roundings of one format on every target; None where no encoder was measured."""
    rows = [row for row in measured.rows if row["component"] == "encoder" and row.get("from", ENCODER_SOURCE) == ENCODER_SOURCE]
    gates: dict[tuple[str, str], Figure] = {}
    for row in rows:
        if row["target"] == "gates" and row["recipe"] == "best":
            gates.setdefault((row["format"], row["rounding"]), figure(row))
    if not gates:
        return None
    made = Section(
        "encoders", "Encoders, and what a rounding costs",
        f"From {ENCODER_SOURCE} to a code, with the format's default rounding unless another is named.",
    )  # fmt: skip
    column, styles = measured.columns["gates"], measured.styles
    defaults = {name: next(value for (other, _), value in gates.items() if other == name) for name, _ in gates}
    svg = plots.bars(defaults, f"Encoders from {ENCODER_SOURCE} by format, {column.title}", column.axis, styles)
    made.plots.append(Plot(smallest_sentence(defaults, "encoder", column.title), svg, commands(defaults.values())))
    several = {key: value for key, value in gates.items() if sum(name == key[0] for name, _ in gates) > 1}
    if several:
        words = {f"{rounding}, {name}": value for (name, rounding), value in several.items()}
        colours = {f"{rounding}, {name}": styles[name] for name, rounding in several}
        svg = plots.bars(words, f"Encoders from {ENCODER_SOURCE} by rounding, {column.title}", column.axis, colours)
        made.plots.append(Plot("The same formats in each of their roundings.", svg, commands(several.values())))
    studied, (first, second) = ROUNDING_STUDY
    pairs: dict[str, tuple[Figure, Figure]] = {}
    for target, where in measured.columns.items():
        one, other = (pick(rows, "encoder", target, format=studied, rounding=rounding) for rounding in (first, second))
        if one is not None and other is not None:
            pairs[where.head] = one, other
            made.findings.append(pair_sentence((first, one), (second, other), f"the {studied} encoder", where.title))
    if pairs:
        title = f"{studied} encoder: {first} against {second}"
        svg = plots.pairs(pairs, (first, second), title, f"area / that with {first}", styles[studied].colour)
        made.plots.append(Plot("Every pair is scaled to its first bar.", svg, commands(value for pair in pairs.values() for value in pair)))
        body = tuple((Cell(name), figure_cell(one), figure_cell(other, one)) for name, (one, other) in pairs.items())
        made.tables.append(Table(title, ("target", first, second), body))
    least = min(gates.values(), key=lambda value: value.median)
    order = sorted(gates, key=lambda key: gates[key].median)
    alone = tuple((Cell(name), Cell(rounding), figure_cell(gates[name, rounding], least)) for name, rounding in order)
    made.tables.append(Table("Encoders on gates", ("format", "rounding", column.head), alone))
    return made
