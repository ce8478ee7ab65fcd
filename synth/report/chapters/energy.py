"""The chapter on energy: what an operation costs by format, delay and data, and what options cost."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from hwgen.datapath.goal import GOALS
from synth.area.recipes import SPEED
from synth.area.rows import Row
from synth.energy.data import KINDS
from synth.energy.plan import DEFAULT_DATA
from synth.report.chapters import speed
from synth.report.columns import columns
from synth.report.energies import (
    ACCUMULATORS,
    COSTS,
    CURVES,
    ROUNDED,
    ROUNDINGS,
    SAMPLED,
    STAGES,
    Energies,
    Point,
    area,
    delay,
    element,
    encoder,
    glitches,
    mac,
)
from synth.report.figures import Figure, compared, listing, number, ranked, smallest, smallest_sentence, ties_clause
from synth.report.measured import figure
from synth.report.plan import FORMATS, REPORT_ACCUMULATOR
from synth.report.render import plots
from synth.report.sections import Cell, Command, Finding, Plot, Section, Table, commands, figure_cell, other_tool

_GATES = "gates"
_TITLE = "Gates"
_AREA = "NAND2"
_FO4 = "FO4"
_BETTER = "needs less energy", "also needs less energy"
_INTRO = (
    "Netlists are simulated with a delay for each cell, on numbers that are rounded to the format; where there is an "
    "accumulator, their products are added to a running sum. Every result equals that of the reference model. Glitches "
    "(a net changes, and changes back within one operation) are counted; wires, buffers of the clock and, on our own "
    "gates, leakage are not. Their unit is C·V²: C is the input capacitance of a unit inverter, V the supply voltage. "
    "A figure is the median over the renamings, by that recipe of the portfolio standard which has the smallest area, "
    "not the least energy, and MACs are built for area. Energy against delay chooses among all recipes of the "
    "portfolio speed, and a format's line among MACs built for area and for speed; its limits are "
    f"{listing([number(share) for share in speed.DEADLINES])} times the shortest delay that every format reaches. "
    "docs/energy.md describes the method."
)


def section(energies: Energies | None, rows: Sequence[Row], tool: str) -> Section | None:
    """The results of the study, and the energies among the report's ``rows``; None if there are neither.

    ``tool`` made the netlists of the other sections.
    """
    if energies is None and not rows:
        return None
    section = Section("energy", "Energy of an operation", _INTRO)
    if energies is not None:
        _study(section, energies, tool)
    if rows:
        section.tables.append(_measured(rows))
    return section


def _study(section: Section, energies: Energies, tool: str) -> None:
    section.intro += (
        " Findings and plots are those of synth/report/energies.json, which make energy writes; this report did not "
        f"measure them again. Tool: {energies.tool}."
    )
    section.findings += other_tool("The energies of this section are", energies.tool, tool, "make energy")
    _formats(section, energies)
    _curves(section, energies)
    _data(section, energies)
    _costs(section, energies)


# -- formats


def _formats(section: Section, energies: Energies) -> None:
    """Energy of a MAC by format, beside its area."""
    points = {name: Point(mac(name)) for name in FORMATS}
    figures = {name: energies.energy(point) for name, point in points.items()}
    title = f"MAC into {REPORT_ACCUMULATOR}, energy by format"
    unit = next(iter(figures.values())).unit
    picture = plots.bars(figures, title, f"energy of an operation [{unit}]")
    first = smallest_sentence(figures, f"energy of a MAC into {REPORT_ACCUMULATOR}", _TITLE)
    section.plots.append(Plot(first, picture, commands(figures.values())))
    section.findings.append(Finding(first, _GATES, is_caption=True))
    shares = {name: glitches(energies.row(point)) for name, point in points.items()}
    least, most = min(shares.values()), max(shares.values())
    macs = f"{_TITLE}, {len(FORMATS)} MACs into {REPORT_ACCUMULATOR} built for area, {DEFAULT_DATA} data"
    text = f"{macs}: glitches are {least:.0%} to {most:.0%} of their energy."
    section.findings.append(Finding(text, _GATES))
    areas = {name: area(energies.row(point)) for name, point in points.items()}
    section.findings.append(Finding(f"{macs}: {_orders(figures, areas)}", _GATES))
    head = ("format", f"energy [{unit}]", f"without glitches [{unit}]", "glitches", f"area [{_AREA}]", "energy / area")
    body = []
    for name in ranked(figures):
        still, ratio = energies.row(points[name]).medians["glitch_free"], figures[name].median / areas[name].median
        body.append(
            (
                Cell(name),
                figure_cell(figures[name]),
                Cell(number(still), value=still),
                Cell(f"{shares[name]:.0%}", value=shares[name]),
                Cell(number(areas[name].median), value=areas[name].median),
                Cell(f"{ratio:.2f}", value=ratio),
            )
        )
    section.tables.append(Table(f"{title}, {DEFAULT_DATA} data, {_TITLE}", head, tuple(body)))


def _orders(figures: Mapping[str, Figure], areas: Mapping[str, Figure]) -> str:
    """Clause on pairs of formats where the one with the larger area needs less energy, beyond the spreads."""
    names = ranked(areas)
    pairs = [
        f"{other} needs less energy than {name}"
        for place, name in enumerate(names)
        for other in names[place + 1 :]
        if areas[name].median < areas[other].median and figures[other].below(figures[name])
    ]
    if not pairs:
        return "none needs less energy, beyond the spreads, than one whose median area is smaller."
    return f"although their median areas are larger, {listing(pairs)}."


# -- energy against delay


class Curve(NamedTuple):
    """The netlists of a MAC by recipe, and the front of energy against delay."""

    rows: Sequence[Row]
    energy: speed.Front

    def smallest(self, limit: float) -> Row | None:
        """The recipe with the smallest median area within a delay."""
        met = [row for row in self.rows if row.medians["delay_fo4"] <= limit * (1 + 1e-9)]
        return min(met, key=lambda row: row.medians["area"], default=None)


def curves(energies: Energies) -> dict[str, dict[str, Curve]]:
    """By format, and by what the MAC is built for."""
    found: dict[str, dict[str, Curve]] = {}
    for name, goal in product(CURVES, GOALS):
        rows = energies.rows[Point(mac(name, goal=goal), SPEED).key]
        front = speed.front(speed.Point(delay(row), figure(row)) for row in rows)
        found.setdefault(name, {})[goal] = Curve(rows, front)
    return found


def _named(by_format: Mapping[str, Mapping[str, Curve]]) -> dict[str, Curve]:
    """Both curves of a format under names of their own."""
    return {f"{name} built for {goal}": pair for name, pairs in by_format.items() for goal, pair in pairs.items()}


def _fronts(by_format: Mapping[str, Mapping[str, Curve]]) -> dict[str, speed.Front]:
    """By format: energy against delay, of whatever the MAC is built for."""
    return {
        name: speed.front(point for pair in pairs.values() for point in pair.energy)
        for name, pairs in by_format.items()
    }


def _curves(section: Section, energies: Energies) -> None:
    """Which format needs the least energy, and the least area, at which speed."""
    by_format = curves(energies)
    both, fronts = _named(by_format), _fronts(by_format)
    points = [point for curve in fronts.values() for point in curve]
    unit = points[0].area.unit
    title = f"MAC into {REPORT_ACCUMULATOR}: energy against delay, {_TITLE}"
    picture = plots.curves(fronts, speed.front(points), title, f"delay [{_FO4}]", f"energy of an operation [{unit}]")
    sentences: list[str] = []
    how = f"into {REPORT_ACCUMULATOR}, built for area or for speed"
    macs, same = f"MACs of {listing(CURVES)} {how}", f"MACs of {len(CURVES)} formats {how}"
    for limit in speed.deadlines(fronts):
        met = {name: point.area for name, curve in both.items() if (point := speed.at(curve.energy, limit))}
        first, ties, _ = smallest(met)
        least, row = _smallest(both, limit)
        sentences.append(
            f"{_TITLE}, {same if sentences else macs}, within {number(limit)} {_FO4}: {first} has the "
            f"lowest energy ({number(met[first].median)} {unit}){ties_clause(ties)}; {least} has the smallest median "
            f"area ({number(row.medians['area'])} {_AREA}, at {number(row.median)} {unit})."
        )
    section.plots.append(Plot(sentences[0], picture, commands(point.area for point in points)))
    section.findings.append(Finding(sentences[0], _GATES, is_caption=True))
    section.findings += [Finding(sentence, _GATES) for sentence in sentences[1:]]
    fastest = []
    for name, curve in fronts.items():
        share = curve[0].area.median / curve[-1].area.median
        fastest.append(f"{name} {share:.2f} ({number(curve[0].delay)} against {number(curve[-1].delay)} {_FO4})")
    text = (
        f"{_TITLE}, {same}: energy of a format's fastest one, in multiples of that of the one with the least "
        f"energy, medians: {listing(fastest)}."
    )
    section.findings.append(Finding(text, _GATES))
    for name, pair in by_format.items():
        small, fast = (pair[goal].energy for goal in GOALS)
        phrase = speed.crossing(small, fast, _FO4, *_BETTER)
        section.findings.append(Finding(f"MAC into {REPORT_ACCUMULATOR}, {_TITLE}, {name}: {phrase}.", _GATES))
    section.tables.append(within_delays(energies))


def _smallest(both: Mapping[str, Curve], limit: float) -> tuple[str, Row]:
    """The MAC with the smallest median area within a delay."""
    found = {name: row for name, curve in both.items() if (row := curve.smallest(limit))}
    name = min(found, key=lambda name: found[name].medians["area"])
    return name, found[name]


def within_delays(energies: Energies) -> Table:
    """The least energies of MACs within delays."""
    by_format = curves(energies)
    limits = speed.deadlines(_fronts(by_format))
    body, unit = [], ""
    for name, pair in _named(by_format).items():
        curve = pair.energy
        cells = (_within(speed.at(curve, limit)) for limit in limits)
        body.append((Cell(name), Cell(number(curve[0].delay), value=curve[0].delay), *cells))
        unit = curve[0].area.unit
    head = ("format", f"fastest [{_FO4}]", *(f"within {number(limit)} {_FO4} [{unit}]" for limit in limits))
    return Table(f"MAC into {REPORT_ACCUMULATOR}: the least energy within a delay, {_TITLE}", head, tuple(body))


def _within(point: speed.Point | None) -> Cell:
    if point is None:
        return Cell("–")
    small = f"{point.area.spread} at {number(point.delay)} {_FO4}"
    return Cell(number(point.area.median), small, point.area.source, point.area.median)


# -- data


def _data(section: Section, energies: Energies) -> None:
    """Energy by kind of data."""
    series = {kind: {name: energies.energy(Point(mac(name), data=kind)) for name in SAMPLED} for kind in KINDS}
    base = series[DEFAULT_DATA]
    unit = next(iter(base.values())).unit
    title = f"MAC into {REPORT_ACCUMULATOR}, energy by data"
    picture = plots.groups(series, title, f"energy of an operation [{unit}]")
    sentences = []
    for kind in KINDS:
        if kind != DEFAULT_DATA:
            changes = [f"{_change(energies, name, kind)} for {name}" for name in SAMPLED]
            sentences.append(
                f"{_TITLE}, {kind} instead of {DEFAULT_DATA} data, in the same netlists, one set of numbers of each "
                f"kind: {listing(changes)}."
            )
    used = (value for values in series.values() for value in values.values())
    caption = "Energy of a MAC by data; numbers are multiplied by the power of two that suits the format best."
    section.plots.append(Plot(caption, picture, commands(used)))
    section.findings += [Finding(sentence, _GATES) for sentence in sentences]
    body = tuple((Cell(name), *(figure_cell(series[kind][name]) for kind in KINDS)) for name in SAMPLED)
    note = "; ".join(f"{kind}: {text}" for kind, text in KINDS.items())
    section.tables.append(Table(f"{title} [{unit}], {_TITLE}", ("format", *KINDS), body, note))


def _change(energies: Energies, name: str, kind: str) -> str:
    """The smallest and the largest change of energy with other data, among netlists, which are the same for both."""
    rows = (energies.row(Point(mac(name), data=data)) for data in (kind, DEFAULT_DATA))
    changes = [value / base - 1 for value, base in zip(*(row.samples for row in rows), strict=True)]
    return f"{min(changes):+.1%} to {max(changes):+.1%}"


# -- what options cost


def comparisons() -> Iterator[tuple[str, str, Point, Point]]:
    """Subject, change, base and unit of each comparison."""
    base, other = ROUNDINGS
    yield (
        f"the {ROUNDED} encoder from binary32",
        f"{other} instead of {base}",
        Point(encoder(base)),
        Point(encoder(other)),
    )
    for name in COSTS:
        subject, plain = f"the {name} MAC", Point(mac(name))
        for accumulator in ACCUMULATORS[1:]:
            yield subject, f"{accumulator} instead of {ACCUMULATORS[0]}", plain, Point(mac(name, accumulator))
        for stages in STAGES[1:]:
            ranks = f"{stages} rank{'s' if stages > 1 else ''} of registers instead of none"
            yield subject, ranks, plain, Point(mac(name, stages=stages))
        yield subject, "its accumulator's register inside (a processing element)", plain, Point(element(name))


def _costs(section: Section, energies: Energies) -> None:
    """What rounding, accumulators and registers cost."""
    body, sentences = [], dict[str, list[str]]()
    for subject, change, base, unit in comparisons():
        first, second = energies.energy(base), energies.energy(unit)
        areas = [area(energies.row(point)).median for point in (base, unit)]
        clock, growth = energies.row(unit).medians["clock"], areas[1] / areas[0] - 1
        sentences.setdefault(subject, []).append(f"{compared(second, first)} with {change}")
        body.append(
            (
                Cell(f"{subject.removeprefix('the ')}, {change}"),
                figure_cell(first),
                figure_cell(second),
                Cell(compared(second, first), value=second.median / first.median),
                Cell(number(clock), value=clock),
                Cell(f"{growth:+.0%}", value=growth),
            )
        )
    for subject, changes in sentences.items():
        section.findings.append(Finding(f"{_TITLE}, energy of {subject}: {listing(changes)}.", _GATES))
    value = energies.energy(Point(mac(COSTS[0])))
    head = (
        "",
        f"before [{value.unit}]",
        f"after [{value.unit}]",
        "change of energy",
        f"the clock's part [{value.unit}]",
        "change of area",
    )
    note = (
        "Registers keep glitches from passing on, but cost energy themselves: that of their clock is listed. In a "
        "pipeline, successive operations belong to one sum, whose value comes from outside; a real one has to take "
        "turns between sums. A processing element also has its accumulator's register, clear and enable. A MAC's "
        "accumulator comes from outside: the register of an exact one has several times the bits of binary16, and may "
        "take back what the MAC saves. Neither it nor readouts are included."
    )
    section.tables.append(Table(f"What options cost in energy, {_TITLE}", head, tuple(body), note))


# -- rows of sweeps


def _measured(rows: Sequence[Row]) -> Table:
    """The energies that a sweep has measured."""
    titles = {column.key: column.title for column in columns(rows)}
    body = []
    for row in rows:
        if row.is_figure:
            still = row.medians["glitch_free"]
            times = [f"{value:g} {name.rpartition('_')[2]}" for name, value in row.medians.items() if "delay" in name]
            body.append(
                (
                    Cell(row.name),
                    Cell(titles[row.place]),
                    Cell(row.data),
                    Cell(row.recipe),
                    figure_cell(figure(row)),
                    Cell(row.unit),
                    Cell(number(still), value=still),
                    Cell(number(row.medians["area"]), value=row.medians["area"]),
                    Cell(", ".join(times) or "–"),
                    Command(row.command),
                )
            )
    head = ("module", "target", "data", "recipe", "energy", "unit", "without glitches", "area", "delay", "command")
    return Table("Energies of the sweep", head, tuple(body))
