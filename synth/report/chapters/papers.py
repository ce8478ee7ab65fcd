"""The report on the papers: Table 2 of the supernormal one, and what all of them claim about hardware."""

from collections.abc import Mapping, Sequence

from synth.area.jobs import Row
from synth.report.chapters import table2
from synth.report.chapters.claims import CLAIMS, ratio, verdict
from synth.report.figures import Figure, number, pick
from synth.report.plan import PARTS, REPORT_ACCUMULATOR
from synth.report.render import plots
from synth.report.sections import Cell, Column, Plot, Section, Table, commands, figure_cell


def figures(rows: Sequence[Row], part: str, key: str) -> dict[str, Figure]:
    """Figures of a part of the MAC by format, on a target."""
    options = {} if part == "multiplier" else {"accumulator": REPORT_ACCUMULATOR}
    names = dict.fromkeys(row["format"] for row in rows if row["component"] == part and "format_b" not in row)
    found = {name: pick(rows, part, key, format=name, **options) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def section(rows: Sequence[Row], columns: Sequence[Column]) -> Section | None:
    """The claims but Table 2, which has a section of its own; None where nothing was measured for them."""
    made = Section(
        "claims", "The papers' other claims, measured",
        "Each claim compares two units; the verdict on each target is drawn from the ratio of the figures, with the range that their "
        "spreads allow. The papers used other tools and their own datapaths: what is tested is whether the claim survives them.",
    )  # fmt: skip
    head = ("claim", *(column.title for column in columns))
    body = []
    for claim in CLAIMS:
        cells = []
        for column in columns:
            unit, base = (pick(rows, claim.part, column.key, format=name, **claim.options) for name in (claim.unit, claim.base))
            if unit is None or base is None:
                cells.append(Cell("–"))
                continue
            least, middle, most = (f"{share - 1:+.0%}" for share in ratio(unit, base))
            said = verdict(claim, unit, base)
            note = f"{number(unit.median)} against {number(base.median)} {base.unit}"
            cells.append(Cell(middle, f"{least} to {most} · {said}", note, ratio(unit, base)[1]))
            made.findings.append(f"{column.title}: {claim.comparison}: {middle}: {said}.")
        body.append((Cell(claim.text, claim.comparison), *cells))
    if not made.findings:
        return None
    made.tables.append(Table("Claims and verdicts", head, tuple(body)))
    return made


def paper_section(rows: Sequence[Row], columns: Sequence[Column], formats: Sequence[str]) -> Section | None:
    """Table 2 of the supernormal paper: its rows, and those of the other formats beside them."""
    if not any(name in formats for name in table2.PAPER):
        return None
    made = Section(
        "paper", "Table 2 of the supernormal paper, again",
        "The paper counts ALMs with Intel's tools; here are the same blocks from this project's Verilog, through Yosys. Tools and "
        "datapaths differ: what can be compared is the order and the ratios. The paper's e5m2 is P3109's binary8p3.",
        folded=True,
    )  # fmt: skip
    found = {column.key: {part: figures(rows, part, column.key) for part in PARTS} for column in columns}
    made.findings = [table2.verdict(found[column.key]["multiplier"], column.title) for column in columns]
    order = [*table2.PAPER, *(name for name in formats if name not in table2.PAPER)]
    for place, part in enumerate(table2.COLUMNS):
        body = tuple(
            (Cell(name), _printed(table2.PAPER, name, place), *(figure_cell(found[column.key][part].get(name)) for column in columns))
            for name in order
        )
        head = ("format", "paper [ALM]", *(column.head for column in columns))
        made.tables.append(Table(f"{PARTS[part]}: the paper's ALMs, and ours by target", head, body))
    base, series = "e5m3_nosub", {"paper": {name: printed[0] / table2.PAPER["e5m3_nosub"][0] for name, printed in table2.PAPER.items()}}
    used: list[Figure] = []
    for column in columns:
        ours = found[column.key]["multiplier"]
        if all(name in ours for name in table2.PAPER):
            series[column.title] = {name: ours[name].median / ours[base].median for name in table2.PAPER}
            used += [ours[name] for name in table2.PAPER]
    svg = plots.slopes(series, "Decode + multiply of the paper's Table 2, in its ALMs and here", f"area / that of {base}")
    made.plots.append(Plot("Formats in the paper's order; a line that rises all the way has the same order.", svg, commands(used)))
    return made


def _printed(table: Mapping[str, Sequence[float]], name: str, place: int) -> Cell:
    return Cell(number(table[name][place]), value=table[name][place]) if name in table else Cell("not printed")
