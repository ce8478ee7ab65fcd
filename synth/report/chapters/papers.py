"""The chapters on papers and standards: claims about hardware, Table 2 of the supernormal paper, and IEEE P3109."""

from collections.abc import Mapping
from itertools import combinations

from synth.report import charts, plan
from synth.report.figures import Figure, have_spreads, listing, number, percent, ranked
from synth.report.measured import Measured, by_format, figure
from synth.report.plan import CLAIMS, ENCODER_SOURCE, P3109_PAIR, PARTS, PROJECTION_STUDY
from synth.report.sections import Cell, Section

REPRODUCED, NOT_REPRODUCED, UNDECIDED = "reproduced", "not reproduced", "undecided"


def claims(measured: Measured) -> Section | None:
    """The claims except Table 2, which has its own section; None if no claim was measured."""
    section = Section(
        "claims",
        "The papers' other claims, measured",
        "Each claim compares the area of two units; its verdict depends on the range of ratios that the spreads allow. "
        "The papers used other tools and datapaths: the question is whether their claims also hold here.",
    )
    columns = measured.columns.values()
    body = []
    for claim in CLAIMS:
        cells: list[object] = []
        for column in columns:
            base, unit = (measured.block(block, column.key) for block in (claim.base, claim.block))
            if unit is None or base is None or not have_spreads((unit, base)):
                cells.append("one sample" if unit and base else None)
                continue
            shares = ratio(unit, base)
            least, middle, most = (f"{share - 1:+.1%}" for share in shares)
            note = f"{number(unit.median)} against {number(base.median)} {base.unit}"
            cells.append(Cell(middle, f"{least} to {most} · {verdict(claim.most, unit, base)}", note, shares[1]))
        body.append((Cell(claim.text, claim.sides), *cells))
    if not any(cell for _, *cells in body for cell in cells):
        return None
    section.table("Claims and verdicts", ("claim", *(column.title for column in columns)), body)
    return section


def ratio(unit: Figure, base: Figure) -> tuple[float, float, float]:
    """Smallest ratio that the spreads allow, ratio of the medians, and largest ratio."""
    return unit.low / base.high, unit.median / base.median, unit.high / base.low


def verdict(claimed: float, unit: Figure, base: Figure) -> str:
    """Whether all ratios that the spreads allow are at most the claimed one, none of them, or some."""
    least, middle, most = ratio(unit, base)
    if most <= claimed:
        return REPRODUCED
    if least > claimed:
        return NOT_REPRODUCED
    return f"{UNDECIDED} (medians {'within' if middle <= claimed else 'outside'} the claim)"


PRINTED = {
    "e5m3_nosub": (20.0, 188.0, 208.5),
    "e5m2b1": (24.5, 185.0, 210.0),
    "binary8p3": (27.0, 182.5, 210.0),
    "e5m3": (34.0, 188.0, 222.5),
}
"""ALMs of multiplier, adder and MAC by Intel's tools, the last two into binary16, in Table 2 of the supernormal paper;
in the order of the multipliers, rows (b), (d), (c), (a)."""
_BASE = "e5m3_nosub"


def table_2(measured: Measured) -> Section | None:
    """The table's formats, and then the report's other formats; None if the report has none of the table's formats."""
    if not any(name in measured.formats for name in PRINTED):
        return None
    section = Section(
        "paper",
        "Table 2 of the supernormal paper, repeated",
        "The paper counts ALMs with Intel's tools, this report the same blocks from its own Verilog with Yosys: only "
        " the order and the ratios can be compared; the paper's e5m2 is P3109's binary8p3.",
    )
    columns = measured.columns.values()
    ours = {column.key: {part: by_format(measured.rows, part, column.key) for part in PARTS} for column in columns}
    for column in columns:
        section.find(order_verdict(ours[column.key]["multiplier"], column.title))
    order = [*PRINTED, *(name for name in measured.formats if name not in PRINTED)]
    head = ("format", "paper [ALM]", *(column.head for column in columns))
    for place, part in enumerate(("multiplier", "adder", "mac")):
        printed = {name: PRINTED[name][place] if name in PRINTED else "not printed" for name in order}
        rows = ((name, printed[name], *(ours[column.key][part].get(name) for column in columns)) for name in order)
        section.table(f"{PARTS[part]}: the paper's ALMs and this report", head, rows)
    series = {"paper": {name: Figure.exact(printed[0]).over(PRINTED[_BASE][0]) for name, printed in PRINTED.items()}}
    for column in columns:
        multipliers = ours[column.key]["multiplier"]
        if all(name in multipliers for name in PRINTED):
            series[column.title] = {name: multipliers[name].over(multipliers[_BASE].median) for name in PRINTED}
    title = "Decode + multiply: the paper's Table 2 and this report"
    picture = charts.lines(series, title, "", f"area relative to {_BASE}", "paper")
    caption = "A line that always rises has the paper's order."
    section.chart(caption, picture)
    return section


def order_verdict(multipliers: Mapping[str, Figure], where: str) -> str:
    """Whether a target reproduces the paper's order of the multipliers, and the figures; empty for single samples."""
    missing = [name for name in PRINTED if name not in multipliers]
    if missing:
        return f"{where}: the paper's order cannot be checked without {listing(missing)}."
    if not have_spreads(multipliers[name] for name in PRINTED):
        return ""
    order = f"the paper's order ({' < '.join(number(printed[0]) for printed in PRINTED.values())})"
    pairs = list(combinations(PRINTED, 2))
    swapped = [(a, b) for a, b in pairs if multipliers[b].below(multipliers[a])]
    alike = [(a, b) for a, b in pairs if not multipliers[a].differs(multipliers[b])]
    ours = "Measured: " + ", ".join(f"{name} {number(multipliers[name].median)}" for name in PRINTED)
    same = f"no difference between {listing([f'{a} and {b}' for a, b in alike])}" if alike else ""
    verdict = f"not contradicted, but spreads overlap: {same}" if alike else "reproduced"
    if swapped:
        shares = (percent(multipliers[a].median / multipliers[b].median - 1) for a, b in swapped)
        above = [f"{a} is {share} larger than {b}" for share, (a, b) in zip(shares, swapped, strict=True)]
        verdict = "; ".join(filter(None, (f"not reproduced: {listing(above)}", same)))
    return f"{where}: {order} is {verdict}. {ours}."


def p3109(measured: Measured) -> Section | None:
    """Units for P3109's pair, OCP's pair and HiF8, then the encoder's projections; None if nothing was measured."""
    section = Section(
        "p3109",
        "IEEE P3109: formats, roundings and saturation",
        f"Section 4.5 of this standard's draft 4.0 demands {P3109_PAIR}, selected here by a pin per operand, and zero "
        "results that are always +0.",
        note="OCP's pair and HiF8 serve the same purpose. Saturation decides what becomes of numbers past the largest: "
        "infinity (none), the largest number (saturate), or infinity only if the input is infinite (propagate).",
    )
    for target in plan.EXTRA_TARGETS:
        if target in measured.columns:
            _units(section, measured, target)
    for target in plan.ENCODER_TARGETS:
        if target in measured.columns:
            _projections(section, measured, target)
    return section if section.tables or section.charts else None


def _units(section: Section, measured: Measured, target: str) -> None:
    column = measured.columns[target]
    body = [(unit, *(measured.block(block, target) for block in plan.unit_blocks(unit))) for unit in plan.UNITS]
    macs = {unit: mac for unit, _, mac, _ in body if mac}
    if P3109_PAIR in macs:
        head = ("unit", PARTS["multiplier"], PARTS["mac"], f"{PARTS['mac']}, zero results +0")
        title = f"P3109's pair, OCP's pair and HiF8: {column.head}; MACs into {plan.REPORT_ACCUMULATOR}"
        section.table(title, head, (row for row in body if row[0] in macs))


def _projections(section: Section, measured: Measured, target: str) -> None:
    column = measured.columns[target]
    grid: dict[str, dict[str, Figure]] = {}
    for row in measured.rows:
        is_studied = (row.component, row.format, row.place, row.is_best) == ("encoder", PROJECTION_STUDY, target, True)
        if is_studied and row.options.get("from", ENCODER_SOURCE) == ENCODER_SOURCE:
            rounding, overflow = str(row.options["rounding"]), str(row.options["overflow"])
            grid.setdefault(overflow, {}).setdefault(rounding, figure(row))
    if not grid:
        return
    title = f"{PROJECTION_STUDY} encoder from {ENCODER_SOURCE} by rounding and saturation, {column.title}"
    order = ranked(next(iter(grid.values())))
    series = {overflow: {name: known[name] for name in order if name in known} for overflow, known in grid.items()}
    section.chart("", charts.groups(series, title, column.axis))
