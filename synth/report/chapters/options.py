"""The chapters on the cost of options, of rounding and of accumulators."""

from typing import NamedTuple

from synth.report import plan
from synth.report.figures import Figure, compared, listing, number, pair_sentence, smallest_sentence
from synth.report.measured import Measured, figure, pick
from synth.report.plan import ENCODER_SOURCE, EXTRAS, WIDTH_TARGETS
from synth.report.render import plots
from synth.report.sections import Cell, Section, figure_cell


def options(measured: Measured) -> Section | None:
    """Each block with an option, compared with the block without it; None if nothing was measured."""
    intro = "Each row compares a block that has an option with the same block without it."
    section = Section("options", "What options cost", intro)
    columns = [measured.columns[target] for target in plan.EXTRA_TARGETS if target in measured.columns]
    body: list[list[object]] = [[Cell(extra.text, extra.comparison)] for extra in EXTRAS]
    for column in columns:
        for extra, cells in zip(EXTRAS, body, strict=True):
            plain, other = (measured.block(block, column.key) for block in (extra.base, extra.block))
            if plain is None or other is None:
                cells.append(None)
                continue
            cells.append(figure_cell(other, plain))
            if share := compared(other, plain):
                sizes = f"{number(other.median)} against {number(plain.median)} {plain.unit}"
                text = f"{extra.base.format} {extra.base.kind} with {extra.text}: {share} ({sizes})"
                section.find(f"{column.title}: {text}.")
    rows = [cells for cells in body if any(cells[1:])]
    if not rows:
        return None
    head = ("option", *(column.head for column in columns))
    section.table("Blocks with an option, compared with the block without it", head, rows)
    return section


def encoders(measured: Measured) -> Section | None:
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
    )
    column = measured.columns["gates"]
    defaults: dict[str, Figure] = {}
    for (name, _), value in gates.items():
        defaults.setdefault(name, value)
    picture = plots.bars(defaults, f"Encoders from {ENCODER_SOURCE} by format, {column.title}", column.axis)
    section.plot(smallest_sentence(defaults, "encoder", column.title), picture)
    several = [key for key in gates if sum(name == key[0] for name, _ in gates) > 1]
    if several:
        by_rounding = {f"{rounding}, {name}": gates[name, rounding] for name, rounding in several}
        picture = plots.bars(by_rounding, f"Encoders from {ENCODER_SOURCE} by rounding, {column.title}", column.axis)
        section.plot("A format with each of its roundings.", picture)
    studied, (first, second) = plan.ROUNDING_STUDY
    pairs: dict[str, tuple[Figure, Figure]] = {}
    for target, where in measured.columns.items():
        base, other = (pick(rows, "encoder", target, format=studied, rounding=mode) for mode in (first, second))
        if base is not None and other is not None:
            pairs[where.head] = base, other
            sentence = pair_sentence((first, base), (second, other), f"the {studied} encoder", where.title)
            section.find(sentence, "" if any(finding.text for finding in section.findings) else "Rounding")
    if pairs:
        title = f"{studied} encoder: {first} against {second}"
        scaled = {
            name: {where: pair[place].over(pair[0].median) for where, pair in pairs.items()}
            for place, name in enumerate((first, second))
        }
        picture = plots.groups(scaled, title, f"area relative to {first}")
        section.plot(f"Area relative to the encoder with {first}.", picture)
        rows_by_target = ((name, base, figure_cell(other, base)) for name, (base, other) in pairs.items())
        section.table(title, ("target", first, second), rows_by_target)
    order = sorted(gates, key=lambda key: gates[key].median)
    least = gates[order[0]]
    alone = ((*key, figure_cell(gates[key], least)) for key in order)
    section.table("Encoders on gates", ("format", "rounding", column.head), alone)
    return section


def accumulators(measured: Measured) -> Section | None:
    """Area by accumulator; None if only one accumulator was measured."""
    section = Section(
        "accumulators",
        "Exact against rounded accumulators",
        "MACs that add the same products into different accumulators. The accumulator exact is a fixed-point register "
        f"that holds the sum of {plan.TERMS:,} products of any size without rounding; its width depends on the format.",
    )
    for target in WIDTH_TARGETS:
        by_format = _macs(measured, target)
        kinds = [kind for kind in plan.ACCUMULATORS if any(kind in macs for macs in by_format.values())]
        if len(kinds) < 2:
            continue
        column = measured.columns[target]
        title = f"MAC by accumulator, {column.title}"
        heads = {}
        for kind in kinds:
            widths = sorted(macs[kind].bits for macs in by_format.values() if kind in macs)
            heads[kind] = f"{kind}, {' to '.join(dict.fromkeys((str(widths[0]), str(widths[-1]))))} bits"
        areas = {
            name: {heads[kind]: macs[kind].area for kind in kinds if kind in macs} for name, macs in by_format.items()
        }
        picture = plots.groups(areas, title, column.axis)
        caption = "The exact accumulator never rounds, the others round after every product."
        section.plot(caption, picture)
        for name, macs in by_format.items():
            if {"exact", "binary32"} <= set(macs):
                pair = (("a binary32 one", macs["binary32"].area), ("an exact accumulator", macs["exact"].area))
                section.find(pair_sentence(*pair, f"the {name} MAC", column.title))
        rows = ((name, *map(figures.get, heads.values())) for name, figures in areas.items())
        section.table(f"{title} [{column.unit}]", ("format", *heads.values()), rows)
    section.find(_sentence(measured), "Exact accumulators", is_listed=False)
    return section if section.tables else None


class _Mac(NamedTuple):
    bits: int
    area: Figure


def _macs(measured: Measured, target: str) -> dict[str, dict[str, _Mac]]:
    by_format: dict[str, dict[str, _Mac]] = {}
    for row in measured.rows:
        is_mac = (row.component, row.place, row.is_best) == ("mac", target, True) and "format_b" not in row.options
        if is_mac and row.format in plan.WIDTH_STUDY and row.accumulator_bits is not None:
            mac = _Mac(row.accumulator_bits, figure(row))
            by_format.setdefault(row.format, {}).setdefault(str(row.options["accumulator"]), mac)
    return by_format


def _sentence(measured: Measured) -> str:
    """Compares exact accumulators with binary32, on the last target that has both; empty if there is no such target."""
    for target in reversed(WIDTH_TARGETS):
        costs = [
            f"{name} {share} ({macs['exact'].bits} bits)"
            for name, macs in _macs(measured, target).items()
            if {"exact", "binary32"} <= set(macs) and (share := compared(macs["exact"].area, macs["binary32"].area))
        ]
        if costs:
            title = measured.columns[target].title
            return f"{title}: a MAC with an exact accumulator, compared with binary32: {listing(costs)}."
    return ""
