"""The chapters on papers: claims about hardware, and Table 2 of the supernormal paper."""

from synth.area.targets import TARGETS
from synth.report.figures import Figure, have_spreads, number, ratio
from synth.report.measured import Measured
from synth.report.plan import CLAIMS, PARTS, part_of_mac
from synth.report.sections import Cell, Section

REPRODUCED, NOT_REPRODUCED, UNDECIDED = "reproduced", "not reproduced", "undecided"


def claims(measured: Measured) -> Section | None:
    """The claims on areas, and verdicts; None if no claim was measured."""
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
            if unit is None or base is None:
                where = f"--target {column.key}" if column.key in TARGETS else "--liberty FILE"
                lines = [f"hwgen area {block.design.command()} {where}" for block in (claim.base, claim.block)]
                cells.append(Cell("–", "not measured", "; ".join(lines), command="\n".join(lines)))
                continue
            if not have_spreads((unit, base)):
                cells.append("one sample")
                continue
            shares = ratio(unit, base)
            least, middle, most = (f"{share - 1:+.1%}" for share in shares)
            note = f"{number(unit.median)} against {number(base.median)} {base.unit}"
            text = f"{least} to {most} · {verdict(claim.most, unit, base)}"
            cells.append(Cell(middle, text, note, shares[1], f"{base.command}\n{unit.command}"))
        if any(not isinstance(each, Cell) or each.value is not None for each in cells):
            body.append((Cell(claim.text, claim.sides), *cells))
    if not body:
        return None
    section.table("Claims and verdicts", ("claim", *(column.title for column in columns)), body)
    return section


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


def table_2(measured: Measured) -> Section | None:
    """The formats of the table; None if the report has none of the table's formats."""
    if not any(name in measured.formats for name in PRINTED):
        return None
    section = Section(
        "paper",
        "Table 2 of the supernormal paper, repeated",
        "The paper counts ALMs with Intel's tools, this report the same blocks from its own Verilog with Yosys: only "
        "the order and the ratios can be compared; the paper's e5m2 is P3109's binary8p3.",
    )
    columns = measured.columns.values()
    body = []
    for place, part in enumerate(("multiplier", "adder", "mac")):
        for name, printed in PRINTED.items():
            figures = [measured.block(part_of_mac(part, name), column.key) for column in columns]
            body += [(Cell(name, PARTS[part]), printed[place], *figures)] if any(figures) else []
    head = ("format", "paper [ALM]", *(column.head for column in columns))
    section.table("The paper's ALMs and this report", head, body)
    return section
