"""The chapter on papers: their claims about hardware."""

from synth.area.figures import Figure, comparable, have_spreads, number, ratio
from synth.area.targets import TARGETS
from synth.report.measured import Measured
from synth.report.plan import CLAIMS
from synth.report.sections import Cell, Section
from synth.report.training.claims import NOT_REPRODUCED, REPRODUCED, UNDECIDED


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
            if not comparable((unit, base)):
                cells.append("two tools" if have_spreads((unit, base)) else "one sample")
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
