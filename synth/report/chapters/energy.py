"""The chapter on energy: what an operation costs by format, delay and data, and what options cost."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, product

from hwgen.blocks.catalog import build
from hwgen.datapath.goal import GOALS
from synth.area.recipes import SPEED
from synth.area.rows import Row
from synth.energy.data import KINDS
from synth.energy.job import DEFAULT_DATA
from synth.report.chapters import speed
from synth.report.figures import (
    DELAYS,
    Figure,
    compared,
    listing,
    number,
    ranked,
    smallest,
    smallest_sentence,
    ties_clause,
)
from synth.report.measured import columns, figure
from synth.report.plan import FORMATS, REPORT_ACCUMULATOR, Point
from synth.report.render import plots
from synth.report.sections import Cell, Command, Section, Table, number_cell
from synth.studies import energies as study
from synth.studies.energies import CURVES, SAMPLED, Energies, area, delay, glitches, mac, point

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
        section.intro += (
            " Findings and plots are those of synth/report/energies.json, which make energy writes; this report did "
            f"not measure them again. Tool: {energies.tool}."
        )
        section.warn_of_other_tool("The energies of this section are", energies.tool, tool, "make energy")
        for part in (_formats, _curves, _data, _costs):
            part(section, energies)
    if rows:
        _measured(section, rows)
    return section


# -- formats


def _formats(section: Section, energies: Energies) -> None:
    """Energy of a MAC by format, beside its area."""
    rows = {name: energies.row(point(mac(name))) for name in FORMATS}
    figures = {name: figure(row) for name, row in rows.items()}
    title = f"MAC into {REPORT_ACCUMULATOR}, energy by format"
    unit = next(iter(figures.values())).unit
    picture = plots.bars(figures, title, f"energy of an operation [{unit}]")
    first = smallest_sentence(figures, f"energy of a MAC into {REPORT_ACCUMULATOR}", _TITLE)
    section.plot_finding(first, picture, "Energy")
    shares = {name: glitches(row) for name, row in rows.items()}
    least, most = min(shares.values()), max(shares.values())
    macs = f"{_TITLE}, {len(FORMATS)} MACs into {REPORT_ACCUMULATOR} built for area, {DEFAULT_DATA} data"
    section.find(f"{macs}: glitches are {least:.0%} to {most:.0%} of their energy.")
    areas = {name: area(row) for name, row in rows.items()}
    section.find(f"{macs}: {_orders(figures, areas)}")
    head = ("format", f"energy [{unit}]", f"without glitches [{unit}]", "glitches", f"area [{_AREA}]", "energy / area")
    body = []
    for name in ranked(figures):
        still, ratio = rows[name].medians["glitch_free"], figures[name].median / areas[name].median
        cells = number_cell(shares[name], ".0%"), areas[name].median, number_cell(ratio, ".2f")
        body.append((name, figures[name], still, *cells))
    section.table(f"{title}, {DEFAULT_DATA} data, {_TITLE}", head, body)


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


class _Curves:
    """Energy against delay: the netlists of both MACs of each format, and the fronts of each MAC and each format."""

    def __init__(self, energies: Energies):
        macs = {name: [f"{name} built for {goal}" for goal in GOALS] for name in CURVES}
        rows = (energies.curve(point(mac(name, goal=goal), SPEED)) for name, goal in product(CURVES, GOALS))
        self.rows = dict(zip(chain(*macs.values()), rows, strict=True))
        self.macs = {name: self._front(name) for name in self.rows}
        self.formats = {name: self._front(*both) for name, both in macs.items()}
        self.limits = speed.deadlines(self.formats)
        self.unit = self.formats[CURVES[0]][0].area.unit

    def _front(self, *names: str) -> speed.Front:
        return speed.front(speed.Point(delay(row), figure(row)) for name in names for row in self.rows[name])


def within_delays(energies: Energies) -> Table:
    """The least energies of MACs within delays."""
    curves, caption = _Curves(energies), f"MAC into {REPORT_ACCUMULATOR}: the least energy within a delay, {_TITLE}"
    return speed.delay_table(caption, curves.macs, curves.limits, _FO4, curves.unit)


def _curves(section: Section, energies: Energies) -> None:
    """Which format needs the least energy, and the least area, at which speed."""
    curves = _Curves(energies)
    points, unit = [point for curve in curves.formats.values() for point in curve], curves.unit
    title = f"MAC into {REPORT_ACCUMULATOR}: energy against delay, {_TITLE}"
    axes = f"delay [{_FO4}]", f"energy of an operation [{unit}]"
    picture = plots.fronts(curves.formats, speed.front(points), title, *axes)
    how = f"into {REPORT_ACCUMULATOR}, built for area or for speed"
    macs, same = f"MACs of {listing(CURVES)} {how}", f"MACs of {len(CURVES)} formats {how}"
    for place, limit in enumerate(curves.limits):
        met = {name: point.area for name, curve in curves.macs.items() if (point := speed.at(curve, limit))}
        first, ties, _ = smallest(met)
        every = ((name, row) for name, group in curves.rows.items() for row in group)
        fast = ((name, row) for name, row in every if delay(row).median <= limit * (1 + 1e-9))
        least, row = min(fast, key=lambda pair: area(pair[1]).median)
        sentence = (
            f"{_TITLE}, {same if place else macs}, within {number(limit)} {_FO4}: {first} has the "
            f"lowest energy ({number(met[first].median)} {unit}){ties_clause(ties)}; {least} has the smallest median "
            f"area ({number(area(row).median)} {_AREA}, at {number(row.median)} {unit})."
        )
        if place:
            section.find(sentence)
        else:
            section.plot_finding(sentence, picture, "Energy")
    fastest = []
    for name, curve in curves.formats.items():
        share = curve[0].area.median / curve[-1].area.median
        fastest.append(f"{name} {share:.2f} ({number(curve[0].delay)} against {number(curve[-1].delay)} {_FO4})")
    section.find(
        f"{_TITLE}, {same}: energy of a format's fastest one, in multiples of that of the one with the least "
        f"energy, medians: {listing(fastest)}."
    )
    for name in CURVES:
        small, large = (curves.macs[f"{name} built for {goal}"] for goal in GOALS)
        phrase = speed.crossing(small, large, _FO4, *_BETTER)
        section.find(f"MAC into {REPORT_ACCUMULATOR}, {_TITLE}, {name}: {phrase}.")
    section.tables.append(within_delays(energies))


# -- data


def _data(section: Section, energies: Energies) -> None:
    """Energy by kind of data."""
    rows = {kind: {name: energies.row(point(mac(name), data=kind)) for name in SAMPLED} for kind in KINDS}
    series = {kind: {name: figure(row) for name, row in by_name.items()} for kind, by_name in rows.items()}
    unit = rows[DEFAULT_DATA][SAMPLED[0]].unit
    title = f"MAC into {REPORT_ACCUMULATOR}, energy by data"
    picture = plots.groups(series, title, f"energy of an operation [{unit}]")
    caption = "Energy of a MAC by data; numbers are multiplied by the power of two that suits the format best."
    section.plot(caption, picture)
    for kind in KINDS:
        if kind != DEFAULT_DATA:
            changes = []
            for name in SAMPLED:  # the netlists are the same for all kinds
                pairs = zip(rows[kind][name].samples, rows[DEFAULT_DATA][name].samples, strict=True)
                shares = [value / base - 1 for value, base in pairs]
                changes.append(f"{min(shares):+.1%} to {max(shares):+.1%} for {name}")
            section.find(
                f"{_TITLE}, {kind} instead of {DEFAULT_DATA} data, in the same netlists, one set of numbers of each "
                f"kind: {listing(changes)}."
            )
    body = ((name, *(series[kind][name] for kind in KINDS)) for name in SAMPLED)
    note = "; ".join(f"{kind}: {text}" for kind, text in KINDS.items())
    section.table(f"{title} [{unit}], {_TITLE}", ("format", *KINDS), body, note)


# -- what options cost


def comparisons() -> Iterator[tuple[str, str, Point, Point]]:
    """Subject, change, base and unit of each comparison."""
    first, second = study.ROUNDINGS
    encoders = (build("encoder", study.ROUNDED, source="binary32", rounding=rounding) for rounding in study.ROUNDINGS)
    base, other = map(point, encoders)
    yield f"the {study.ROUNDED} encoder from binary32", f"{second} instead of {first}", base, other
    for name in study.COSTS:
        subject, plain = f"the {name} MAC", point(mac(name))
        first, *others = study.ACCUMULATORS
        for accumulator in others:
            yield subject, f"{accumulator} instead of {first}", plain, point(mac(name, accumulator))
        for stages in study.STAGES[1:]:
            ranks = f"{stages} rank{'s' if stages > 1 else ''} of registers instead of none"
            yield subject, ranks, plain, point(mac(name, stages=stages))
        inside = "its accumulator's register inside (a processing element)"
        yield subject, inside, plain, point(build("pe", name, accumulator=REPORT_ACCUMULATOR))


def _costs(section: Section, energies: Energies) -> None:
    """What rounding, accumulators and registers cost."""
    body, sentences = [], dict[str, list[str]]()
    for subject, change, base, unit in comparisons():
        first, second = energies.figure(base), energies.figure(unit)
        areas = [area(energies.row(each)).median for each in (base, unit)]
        clock, growth = energies.row(unit).medians["clock"], areas[1] / areas[0] - 1
        share = compared(second, first)
        sentences.setdefault(subject, []).append(f"{share} with {change}")
        name = f"{subject.removeprefix('the ')}, {change}"
        larger = Cell(share, value=second.median / first.median), clock, number_cell(growth, "+.0%")
        body.append((name, first, second, *larger))
    for subject, changes in sentences.items():
        section.find(f"{_TITLE}, energy of {subject}: {listing(changes)}.")
    value = energies.figure(point(mac(study.COSTS[0])))
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
    section.table(f"What options cost in energy, {_TITLE}", head, body, note)


# -- rows of sweeps


def _measured(section: Section, rows: Sequence[Row]) -> None:
    """The energies that a sweep has measured."""
    titles = {column.key: column.title for column in columns(rows)}
    body = []
    for row in (row for row in rows if row.is_figure):
        medians = row.medians
        times = [f"{medians[name]:g} {unit}" for name, unit in DELAYS.items() if name in medians]
        names = row.name, titles[row.place], row.data, row.recipe
        figures = figure(row), row.unit, medians["glitch_free"], medians["area"], ", ".join(times) or "–"
        body.append((*names, *figures, Command(row.command)))
    head = ("module", "target", "data", "recipe", "energy", "unit", "without glitches", "area", "delay", "command")
    section.table("Energies of the sweep", head, body)
