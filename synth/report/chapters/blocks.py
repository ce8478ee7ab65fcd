"""The chapters on MACs and their parts, and on the cost of options, of rounding and of accumulators."""

from itertools import product

from synth.area.figures import Figure, both, comparable, listing, ranked, smallest_sentence
from synth.report import charts, plan
from synth.report.measured import EIGHT, Column, Measured, figure, is_own, pick
from synth.report.plan import ENCODER_SOURCE, EXTRAS, PARTS, REPORT_ACCUMULATOR, WIDTH_TARGETS, Block, part_of_mac
from synth.report.sections import Cell, Section, figure_cell
from synth.studies.biases import better, biases


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
    smallest = {target: figures[ranked(figures)[0]] for target, figures in by_target.items()}
    if len(by_target) > 1 and all(len(each) > 1 and comparable(each.values()) for each in by_target.values()):
        shares = {
            measured.columns[target].title: {name: value.over(smallest[target].median) for name, value in each.items()}
            for target, each in by_target.items()
        }
        title = f"MAC into {REPORT_ACCUMULATOR} compared with the smallest, on {len(by_target)} targets"
        every = [value for each in shares.values() for value in each.values()]
        ends = [0.98 * min(value.low for value in every), 1.02 * max(value.high for value in every)]
        section.chart(charts.groups(shares, title, "area relative to the smallest", are_points=True, range=ends))
    target, figures = next(iter(by_target.items()))
    where = measured.columns[target]
    picture = charts.bars(figures, f"MAC into {REPORT_ACCUMULATOR}, {where.title}", where.axis)
    sentence = smallest_sentence(measured.eight(figures), "MAC", where.title, EIGHT)
    section.chart(picture, sentence)
    rows = (
        (name, *(figure_cell(figures.get(name), smallest[target]) for target, figures in by_target.items()))
        for name in dict.fromkeys(name for figures in by_target.values() for name in ranked(figures))
    )
    head = ("format", *(measured.columns[target].head for target in by_target))
    section.table("MAC by format: median, spread, and difference from the smallest", head, rows)
    return section


def parts(measured: Measured) -> Section | None:
    """Area of both parts of a MAC, on the first target that has them; None if neither was measured."""
    by_part = {part: measured.parts(part) for part in PARTS}
    target = next((place for place in measured.columns if place in by_part["multiplier"] | by_part["adder"]), None)
    if target is None:
        return None
    section = Section(
        "parts",
        "The two parts of a MAC",
        "Decode + multiply makes the exact product; the adder aligns, adds and rounds it into "
        f"{REPORT_ACCUMULATOR}; each is synthesized alone, so that their sum can differ from the MAC.",
    )
    column = measured.columns[target]
    series = {PARTS[part]: by_place[target] for part, by_place in by_part.items() if target in by_place}
    section.chart(charts.groups(series, f"A MAC and its parts, {column.title}", column.axis, are_points=True))
    return section


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
    rows = [row for row in measured.rows if row.options.get("from", ENCODER_SOURCE) == ENCODER_SOURCE]
    gates: dict[str, dict[str, dict[str, Figure]]] = {}
    defaults: dict[str, Figure] = {}
    for row in rows:
        if (row.component, row.place, row.is_best) == ("encoder", "gates", True):
            rounding, overflow = (str(row.options.get(name, "")) for name in ("rounding", "overflow"))
            rounding += f", {row.options['random_bits']} random bits" if "random_bits" in row.options else ""
            gates.setdefault(row.format, {}).setdefault(overflow, {}).setdefault(rounding, figure(row))
            if row.format in measured.formats and is_own(row, "rounding", "overflow"):
                defaults.setdefault(row.format, figure(row))
    studied, (first, second) = plan.ROUNDING_STUDY
    pairs: dict[Column, tuple[Figure, Figure]] = {}
    for target, where in measured.columns.items():
        base, other = (
            pick(rows, "encoder", target, format=studied, rounding=mode)
            or measured.recorded(Block("encoder", studied, {"source": ENCODER_SOURCE, "rounding": mode}), target)
            for mode in (first, second)
        )
        if base and other:
            pairs[where] = base, other
    if not gates and not pairs:
        return None
    section = Section(
        "encoders",
        "Encoders, and what a rounding costs",
        f"An encoder rounds a {ENCODER_SOURCE} number to a code of the format. Hybrid rounding takes its threshold "
        "from the last bits of the number (SR14 in the HiFloat8 paper; SR2 from formats of 16 bits), and is safe where "
        "these are as good as random (docs/accuracy.md); stochastic_b and _c are other stochastic roundings of P3109, "
        "and propagate saturates all but infinities.",
    )
    column, title = measured.columns["gates"], f"Encoders from {ENCODER_SOURCE}"
    if defaults:
        picture = charts.bars(defaults, f"{title} by format, {column.title}", column.axis)
        sentence = smallest_sentence(measured.eight(defaults), "encoder", column.title, EIGHT)
        section.chart(picture, sentence)
    for name, known in gates.items():
        series = {overflow or name: {mode: each[mode] for mode in ranked(each)} for overflow, each in known.items()}
        if any(len(each) > 1 for each in series.values()):
            about = "rounding and saturation" if len(series) > 1 else "rounding"
            title_of = f"{name} encoder by {about}, {column.title}"
            section.chart(charts.groups(series, title_of, column.axis, are_points=len(series) > 1))
    if pairs:
        changes = {mode: biases(studied, mode) for mode in (first, second)}
        values = {mode: {name: bias.over(0.01) for name, bias in each.items()} for mode, each in changes.items()}
        title = f"{studied}: mean change of magnitudes by rounding"
        section.chart(charts.groups(values, title, "mean change [%]", are_points=True))
        every = ((where.title, both(other, base)) for where, (base, other) in pairs.items())
        if shares := [f"{text} on {title}" for title, text in every if text]:
            text = f"{studied} encoder from {ENCODER_SOURCE} with {second} rounding, compared with {first}: {shares[0]}"
            modes = next(iter(gates.get(studied, {}).values()), {})
            if second in modes and (random := [mode for mode in modes if mode.partition(",")[0] == "stochastic"]):
                text += f"; with {random[0]}: {both(modes[second], modes[random[0]])} on {column.title}"
            section.find(f"{text}.", "Rounding")
            section.find(f"Other targets, {second} compared with {first}: {listing(shares[1:])}." if shares[1:] else "")
            kept, lost = map(listing, better(studied, second, first))
            text = f"{second.capitalize()} keeps mean magnitudes better than {first} in {kept}, and worse in {lost}; "
            section.find(f"{text}widened numbers end in zeros, which encoders from 16 bits (SR2) do not read.")
    return section


def accumulators(measured: Measured) -> Section | None:
    """Area by accumulator, and with its register; None if only one accumulator was measured."""
    section = Section(
        "accumulators",
        "Exact against rounded accumulators",
        f"The accumulator exact is a fixed-point number that holds the sum of {plan.TERMS:,} products of any size "
        "without rounding, and whose width depends on the format; the others round after every product. MACs are "
        "combinational; a processing element is a MAC with the register of its accumulator.",
    )
    for column in (measured.columns[target] for target in WIDTH_TARGETS if target in measured.columns):
        areas: dict[str, dict[str, Figure]] = {}
        for kind, name in product(plan.ACCUMULATORS, plan.WIDTH_STUDY):
            if area := measured.block(part_of_mac("mac", name, kind), column.key):
                areas.setdefault(name, {})[kind] = area
        if max(map(len, areas.values()), default=0) > 1:
            title = f"MAC by accumulator, without its register, {column.title}"
            section.chart(charts.groups(areas, title, column.axis))
    text, more = registered(measured)
    section.find(text, "Exact accumulators")
    section.find(more)
    return section if section.charts or section.findings else None


def registered(measured: Measured) -> tuple[str, str]:
    """Sentences on exact accumulators with their registers, and on when to take them; empty without figures."""
    texts, smaller, readouts = [], [], []
    for name in plan.WIDTH_STUDY:
        units = [Block("pe", name, {"accumulator": kind}) for kind in plan.REGISTERED]
        exact, rounded = (measured.block(unit, "gates") for unit in units)
        if exact and rounded and comparable((exact, rounded)):
            (bits,) = (port.width for port in units[0].design.ports if port.name == "acc")
            texts.append(f"{name} {both(exact, rounded, f'{bits} bits against 32')}")
            smaller += [name] if exact.below(rounded) else []
            if readout := pick(measured.rows, "readout", "gates", format=name, to="binary32"):
                readouts.append(f"{readout.text} {readout.unit} for {name}")
    if not texts:
        return "", ""
    text = f"Gates, processing element with an exact accumulator against one with binary32: {listing(texts)}."
    more = f"A readout, once a sum, is not counted: {listing(readouts)}. " if readouts else ""
    worth = f"Where many units share a readout, exact saves area for {listing(smaller)}; otherwise" if smaller else "So"
    return text, f"{more}{worth} take it for sums that must not depend on their order, not for area."
