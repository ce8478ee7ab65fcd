"""The report on the papers: what they claim about hardware, and Table 2 of the supernormal one, with verdicts in words."""

from collections.abc import Mapping
from itertools import combinations

from synth.report.figures import Figure, listing, number
from synth.report.measured import Measured, by_format, pick
from synth.report.plan import CLAIMS, PARTS, Claim
from synth.report.render import plots
from synth.report.sections import Cell, Finding, Plot, Section, Table, commands, figure_cell

REPRODUCED, NOT_REPRODUCED, INSIDE = "reproduced", "not reproduced", "inside the noise"


def claims(measured: Measured) -> Section | None:
    """The claims but Table 2, which has a section of its own; None where nothing was measured for them."""
    section = Section(
        "claims", "The papers' other claims, measured",
        "Each claim compares two units; the verdict on each target is drawn from the ratio of the figures, with the "
        "range that their spreads allow. The papers used other tools and their own datapaths: what is tested is "
        "whether the claim survives them.",
    )  # fmt: skip
    columns = measured.columns.values()
    body = []
    for claim in CLAIMS:
        cells = []
        for column in columns:
            unit, base = (
                pick(measured.rows, claim.part, column.key, format=name, format_b=None, **claim.options)
                for name in (claim.unit, claim.base)
            )
            if unit is None or base is None:
                cells.append(Cell("–"))
                continue
            shares = ratio(unit, base)
            least, middle, most = (f"{share - 1:+.0%}" for share in shares)
            judged = verdict(claim, unit, base)
            note = f"{number(unit.median)} against {number(base.median)} {base.unit}"
            cells.append(Cell(middle, f"{least} to {most} · {judged}", note, shares[1]))
            section.findings.append(Finding(f"{column.title}: {claim.comparison}: {middle}: {judged}.", column.key))
        body.append((Cell(claim.text, claim.comparison), *cells))
    if not section.findings:
        return None
    section.tables.append(Table("Claims and verdicts", ("claim", *(column.title for column in columns)), tuple(body)))
    return section


def ratio(unit: Figure, base: Figure) -> tuple[float, float, float]:
    """Least, median and largest ratio that the spreads allow."""
    return unit.low / base.high, unit.median / base.median, unit.high / base.low


def verdict(claim: Claim, unit: Figure, base: Figure) -> str:
    """Whether the claim's range contains the measured ratios, misses them, or overlaps them."""
    least, middle, most = ratio(unit, base)
    if min(unit.samples, base.samples) < 2:
        return "one sample: nothing is ranked"
    if claim.low <= least and most <= claim.high:
        return REPRODUCED
    if most < claim.low or least > claim.high:
        return NOT_REPRODUCED
    return f"{INSIDE}, {'within' if claim.low <= middle <= claim.high else 'outside'} the claim by the medians"


_PRINTED_PARTS = ("multiplier", "adder", "mac")
PRINTED = {
    "e5m3_nosub": (20.0, 188.0, 208.5),
    "e5m2b1": (24.5, 185.0, 210.0),
    "binary8p3": (27.0, 182.5, 210.0),
    "e5m3": (34.0, 188.0, 222.5),
}
"""ALMs of these parts by Intel's tools, adder and MAC into binary16, in Table 2 of the supernormal paper; in the order
of the multipliers, rows (b), (d), (c), (a)."""
_BASE = "e5m3_nosub"


def table_2(measured: Measured) -> Section | None:
    """The table's rows, and those of the other formats beside them; None where none of its formats is compared."""
    if not any(name in measured.formats for name in PRINTED):
        return None
    section = Section(
        "paper", "Table 2 of the supernormal paper, again",
        "The paper counts ALMs with Intel's tools; here are the same blocks from this project's Verilog, through "
        "Yosys. Tools and datapaths differ: what can be compared is the order and the ratios. The paper's e5m2 is "
        "P3109's binary8p3.",
        folded=True,
    )  # fmt: skip
    columns = measured.columns.values()
    ours = {column.key: {part: by_format(measured.rows, part, column.key) for part in PARTS} for column in columns}
    section.findings = [
        Finding(order_verdict(ours[column.key]["multiplier"], column.title), column.key) for column in columns
    ]
    order = [*PRINTED, *(name for name in measured.formats if name not in PRINTED)]
    for place, part in enumerate(_PRINTED_PARTS):
        printed = {name: Cell(number(areas[place]), value=areas[place]) for name, areas in PRINTED.items()}
        body = tuple(
            (
                Cell(name), printed.get(name, Cell("not printed")),
                *(figure_cell(ours[column.key][part].get(name)) for column in columns),
            )
            for name in order
        )  # fmt: skip
        head = ("format", "paper [ALM]", *(column.head for column in columns))
        section.tables.append(Table(f"{PARTS[part]}: the paper's ALMs, and ours by target", head, body))
    series = {"paper": {name: printed[0] / PRINTED[_BASE][0] for name, printed in PRINTED.items()}}
    used: list[Figure] = []
    for column in columns:
        multipliers = ours[column.key]["multiplier"]
        if all(name in multipliers for name in PRINTED):
            series[column.title] = {name: multipliers[name].median / multipliers[_BASE].median for name in PRINTED}
            used += [multipliers[name] for name in PRINTED]
    title = "Decode + multiply of the paper's Table 2, in its ALMs and here"
    picture = plots.slopes(series, title, f"area / that of {_BASE}")
    caption = "Formats in the paper's order; a line that rises all the way has the same order."
    section.plots.append(Plot(caption, picture, commands(used)))
    return section


def order_verdict(multipliers: Mapping[str, Figure], where: str) -> str:
    """One sentence: whether the paper's order of the multipliers comes out on a target, or cannot be judged."""
    missing = [name for name in PRINTED if name not in multipliers]
    if missing:
        return f"{where}: the order of the paper cannot be judged without {listing(missing)}."
    order = f"the order of the paper ({' < '.join(number(printed[0]) for printed in PRINTED.values())})"
    pairs = list(combinations(PRINTED, 2))
    swapped = [(a, b) for a, b in pairs if multipliers[b].below(multipliers[a])]
    alike = [(a, b) for a, b in pairs if not multipliers[a].differs(multipliers[b])]
    ours = ", ".join(f"{name} {number(multipliers[name].median)}" for name in PRINTED)
    same = f"no difference between {listing([f'{a} and {b}' for a, b in alike])}" if alike else ""
    if swapped:
        above = [f"{a} ({multipliers[a].median / multipliers[b].median - 1:.0%} above {b})" for a, b in swapped]
        rest = f"; {same}" if same else ""
        return f"{where}: {order} does not come out: swapped are {listing(above)}{rest}. {ours}."
    if alike:
        return f"{where}: {order} is not contradicted, but lies within the spread: {same}. {ours}."
    return f"{where}: {order} comes out. {ours}."
