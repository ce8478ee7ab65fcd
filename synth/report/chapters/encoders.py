"""The chapter on encoders and on the cost of rounding."""

from synth.report.figures import Figure, pair_sentence, smallest_sentence
from synth.report.measured import Measured, figure, pick
from synth.report.plan import ENCODER_SOURCE, ROUNDING_STUDY
from synth.report.render import plots
from synth.report.sections import Section, figure_cell


def section(measured: Measured) -> Section | None:
    """Encoders on gates by rounding, and two roundings of one format on every target; None without encoders."""
    rows = [
        row
        for row in measured.rows
        if row.component == "encoder"
        and row.format in measured.formats
        and row.options.get("from", ENCODER_SOURCE) == ENCODER_SOURCE
    ]
    gates: dict[tuple[str, str], Figure] = {}
    for row in rows:
        if row.place == "gates" and row.is_best:
            gates.setdefault((row.format, str(row.options["rounding"])), figure(row))
    if not gates:
        return None
    section = Section(
        "encoders",
        "Encoders, and what a rounding costs",
        f"An encoder rounds a {ENCODER_SOURCE} number to a code of the format, by the format's default rounding unless "
        "another one is named.",
        keys=("rounding",),
    )
    column = measured.columns["gates"]
    defaults: dict[str, Figure] = {}
    for (name, _), value in gates.items():
        defaults.setdefault(name, value)
    picture = plots.bars(defaults, f"Encoders from {ENCODER_SOURCE} by format, {column.title}", column.axis)
    section.plot(smallest_sentence(defaults, "encoder", column.title), picture, defaults.values())
    several = [key for key in gates if sum(name == key[0] for name, _ in gates) > 1]
    if several:
        by_rounding = {f"{rounding}, {name}": gates[name, rounding] for name, rounding in several}
        picture = plots.bars(by_rounding, f"Encoders from {ENCODER_SOURCE} by rounding, {column.title}", column.axis)
        section.plot("A format with each of its roundings.", picture, by_rounding.values())
    studied, (first, second) = ROUNDING_STUDY
    pairs: dict[str, tuple[Figure, Figure]] = {}
    for target, where in measured.columns.items():
        base, other = (pick(rows, "encoder", target, format=studied, rounding=mode) for mode in (first, second))
        if base is not None and other is not None:
            pairs[where.head] = base, other
            sentence = pair_sentence((first, base), (second, other), f"the {studied} encoder", where.title)
            section.find(sentence, target, "" if section.headline("rounding") else "rounding")
    if pairs:
        title = f"{studied} encoder: {first} against {second}"
        scaled = {
            name: {where: pair[place].over(pair[0].median) for where, pair in pairs.items()}
            for place, name in enumerate((first, second))
        }
        picture = plots.groups(scaled, title, f"area relative to {first}")
        used = (value for pair in pairs.values() for value in pair)
        section.plot(f"Area relative to the encoder with {first}.", picture, used)
        rows_by_target = ((name, base, figure_cell(other, base)) for name, (base, other) in pairs.items())
        section.table(title, ("target", first, second), rows_by_target)
    order = sorted(gates, key=lambda key: gates[key].median)
    least = gates[order[0]]
    alone = ((*key, figure_cell(gates[key], least)) for key in order)
    section.table("Encoders on gates", ("format", "rounding", column.head), alone)
    return section
