"""The chapters on MACs and their parts, and on the cost of options, of rounding and of accumulators."""

from synth.area.rows import Row
from synth.report import charts, plan
from synth.report.figures import Figure, compared, have_spreads, listing, ranked, smallest_sentence
from synth.report.measured import Measured, figure, pick
from synth.report.plan import ENCODER_SOURCE, EXTRAS, REPORT_ACCUMULATOR, WIDTH_TARGETS
from synth.report.sections import Cell, Section, figure_cell


def macs(measured: Measured) -> Section | None:
    """Area of the MAC by format and target; None if no MAC was measured."""
    by_target = measured.parts("mac")
    if not by_target:
        return None
    section = Section(
        "mac",
        "What a MAC costs",
        f"A MAC is a combinational unit that computes acc + a·b into {REPORT_ACCUMULATOR} with one rounding; the grey "
        "band is the spread of the smallest, and ≈ means that spreads overlap: no difference from it.",
    )
    several = any(len(figures) > 1 for figures in by_target.values())
    if len(by_target) > 1 and several and all(have_spreads(figures.values()) for figures in by_target.values()):
        title = f"MAC into {REPORT_ACCUMULATOR} compared with the smallest, on {len(by_target)} targets"
        by_title = {measured.columns[target].title: figures for target, figures in by_target.items()}
        picture = charts.ranges(by_title, title, "area above the smallest")
        section.chart("", picture)
    for target, figures in by_target.items():
        where = measured.columns[target]
        sentence = smallest_sentence(figures, "MAC", where.title)
        picture = charts.bars(figures, f"MAC into {REPORT_ACCUMULATOR}, {where.title}", where.axis)
        section.chart_finding(sentence, picture)
    smallest = {target: figures[ranked(figures)[0]] for target, figures in by_target.items()}
    rows = (
        (name, *(figure_cell(figures.get(name), smallest[target]) for target, figures in by_target.items()))
        for name in dict.fromkeys(name for figures in by_target.values() for name in ranked(figures))
    )
    head = ("format", *(measured.columns[target].head for target in by_target))
    section.table("MAC by format: median, spread, and difference from the smallest", head, rows)
    return section


def parts(measured: Measured) -> Section | None:
    """Area of both parts of a MAC; None if neither was measured."""
    multipliers, adders, whole = (measured.parts(part) for part in ("multiplier", "adder", "mac"))
    if not (multipliers or adders):
        return None
    section = Section(
        "parts",
        "The two parts of a MAC",
        "Decode + multiply makes the exact product; the adder aligns, adds and rounds it into "
        f"{REPORT_ACCUMULATOR}; each is synthesized alone, so that their sum can differ from the MAC.",
    )
    for target, column in measured.columns.items():
        stacks = {
            name: charts.Stack(first, adders[target][name], whole.get(target, {}).get(name))
            for name, first in multipliers.get(target, {}).items()
            if name in adders.get(target, {})
        }
        if stacks:
            names = ("decode + multiply", "adder", "MAC, synthesized whole")
            picture = charts.stacks(stacks, names, f"Decode + multiply and adder, {column.title}", column.axis)
            section.chart(_share(stacks, column.title), picture)
    return section


def _share(stacks: dict[str, charts.Stack], where: str) -> str:
    if not have_spreads(value for first, second, _ in stacks.values() for value in (first, second)):
        return ""
    shares = {name: first.median / ((first.median + second.median) or 1) for name, (first, second, _) in stacks.items()}
    ends = dict.fromkeys((min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)))
    words = " to ".join(f"{shares[name]:.0%} ({name})" for name in ends)
    return f"{where}: decode + multiply is {words} of both parts."


def options(measured: Measured) -> Section | None:
    """Each block with an option, compared with the block without it; None if nothing was measured."""
    intro = "Each row compares a block that has an option with the same block without it."
    section = Section("options", "What options cost", intro)
    columns = [measured.columns[target] for target in plan.EXTRA_TARGETS if target in measured.columns]
    rows = []
    for extra in EXTRAS:
        pairs = [[measured.block(block, column.key) for block in (extra.base, extra.block)] for column in columns]
        if any(all(pair) for pair in pairs):
            cells = (figure_cell(other, plain) if plain else None for plain, other in pairs)
            rows.append((Cell(extra.text, extra.sides), *cells))
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
    gates: dict[str, dict[str, Figure]] = {}
    for row in rows:
        if row.place == "gates" and row.is_best:
            gates.setdefault(row.format, {}).setdefault(str(row.options["rounding"]), figure(row))
    if not gates:
        return None
    section = Section(
        "encoders",
        "Encoders, and what a rounding costs",
        f"An encoder rounds a {ENCODER_SOURCE} number to a code of the format.",
    )
    column, title = measured.columns["gates"], f"Encoders from {ENCODER_SOURCE}"
    defaults = {name: next(iter(figures.values())) for name, figures in gates.items()}
    picture = charts.bars(defaults, f"{title} by format, {column.title}", column.axis)
    section.chart(smallest_sentence(defaults, "encoder", column.title), picture)
    several = {name: figures for name, figures in gates.items() if len(figures) > 1}
    if several:
        by_rounding = {f"{rounding}, {name}": each for name in several for rounding, each in several[name].items()}
        picture = charts.bars(by_rounding, f"{title} by rounding, {column.title}", column.axis)
        section.chart("", picture)
    studied, roundings = plan.ROUNDING_STUDY
    pairs: dict[str, list[Figure]] = {}
    sentences = []
    for target, where in measured.columns.items():
        both = {mode: pick(rows, "encoder", target, format=studied, rounding=mode) for mode in roundings}
        pair = {mode: value for mode, value in both.items() if value is not None}
        if len(pair) == len(roundings):
            pairs[where.head] = [*pair.values()]
            sentences.append(smallest_sentence(pair, f"{studied} encoder", where.title))
    if pairs:
        section.find(next(filter(None, sentences), ""), "Rounding")
        first, second = roundings
        title = f"{studied} encoder: {first} against {second}"
        scaled = {
            name: {where: pair[place].over(pair[0].median) for where, pair in pairs.items()}
            for place, name in enumerate(roundings)
        }
        picture = charts.groups(scaled, title, f"area relative to {first}")
        section.chart("", picture)
        rows_by_target = ((name, base, figure_cell(other, base)) for name, (base, other) in pairs.items())
        section.table(f"{title}, area", ("target", first, second), rows_by_target)
    return section


def accumulators(measured: Measured) -> Section | None:
    """Area by accumulator; None if only one accumulator was measured."""
    section = Section(
        "accumulators",
        "Exact against rounded accumulators",
        f"The accumulator exact is a fixed-point register that holds the sum of {plan.TERMS:,} products of any size "
        "without rounding, and whose width depends on the format; the others round after every product.",
    )
    summary = ""
    for target in WIDTH_TARGETS:
        by_format: dict[str, dict[str, Row]] = {}
        for row in measured.rows:
            is_mac = (row.component, row.place, row.is_best) == ("mac", target, True) and "format_b" not in row.options
            if is_mac and row.format in plan.WIDTH_STUDY and row.accumulator_bits is not None:
                by_format.setdefault(row.format, {}).setdefault(str(row.options["accumulator"]), row)
        heads = {}
        for kind in plan.ACCUMULATORS:
            if bits := sorted({macs[kind].accumulator_bits or 0 for macs in by_format.values() if kind in macs}):
                heads[kind] = f"{kind}, {' to '.join(map(str, dict.fromkeys((bits[0], bits[-1]))))} bits"
        if len(heads) < 2:
            continue
        column = measured.columns[target]
        title = f"MAC by accumulator, {column.title}"
        areas = {name: {kind: figure(macs[kind]) for kind in heads if kind in macs} for name, macs in by_format.items()}
        series = {name: {heads[kind]: area for kind, area in macs.items()} for name, macs in areas.items()}
        picture = charts.groups(series, title, column.axis)
        section.chart("", picture)
        costs = []
        for name, macs in areas.items():
            if {"exact", "binary32"} <= set(macs) and (share := compared(macs["exact"], macs["binary32"])):
                costs.append(f"{name} {share} ({by_format[name]['exact'].accumulator_bits} bits)")
        if costs:
            text = "a MAC with an exact accumulator, compared with binary32"
            summary = f"{column.title}: {text}: {listing(costs)}."
    section.find(summary, "Exact accumulators")
    return section if section.charts else None
