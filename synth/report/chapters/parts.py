"""The report on MACs, and on the parts that they are section of."""

from synth.report.figures import Figure, ranked, smallest_sentence
from synth.report.measured import Measured
from synth.report.plan import PARTS, REPORT_ACCUMULATOR
from synth.report.render import plots
from synth.report.sections import Cell, Finding, Plot, Section, Table, commands, figure_cell

_SPREADS = "The stroke at the end of a bar is the spread; the band behind is that of the smallest, and ≈ is no difference from it."


def macs(measured: Measured) -> Section | None:
    """What a MAC costs, by format and target; None where none was measured."""
    by_target = measured.parts("mac")
    if not by_target:
        return None
    section = Section(
        "mac", "What a MAC costs",
        f"A fused multiply-accumulate unit, combinational: acc + a·b into {REPORT_ACCUMULATOR} with one rounding. "
        f"{_SPREADS}",
    )  # fmt: skip
    if len(by_target) > 1 and any(len(figures) > 1 for figures in by_target.values()):
        title = f"MAC into {REPORT_ACCUMULATOR} relative to the smallest, over {len(by_target)} targets"
        by_title = {measured.columns[target].title: figures for target, figures in by_target.items()}
        picture = plots.ranges(by_title, title, "area above that of the smallest")
        section.plots.append(Plot("The formats of the plots beside this one, on all targets.", picture))
    for target, figures in by_target.items():
        where = measured.columns[target]
        sentence = smallest_sentence(figures, "MAC", where.title)
        picture = plots.bars(figures, f"MAC into {REPORT_ACCUMULATOR}, {where.title}", where.axis)
        section.plots.append(Plot(sentence, picture, commands(figures.values())))
        section.findings.append(Finding(sentence, target, is_caption=True))
    section.tables.append(_table(measured, "mac"))
    return section


def parts(measured: Measured) -> Section | None:
    """Decode and multiply against the adder; None where neither was measured."""
    multipliers, adders, whole = (measured.parts(part) for part in ("multiplier", "adder", "mac"))
    if not (multipliers or adders):
        return None
    section = Section(
        "parts", "Decode and multiply, and the adder",
        "Decode and multiply is both decoders, the exact product, neither rounded nor normalized, the sum of the "
        "exponents and the flags; the adder is the rest of the MAC: alignment, addition and rounding into "
        f"{REPORT_ACCUMULATOR}. Formats differ in the first most. The parts are optimized each by itself, so that "
        "they need not add up to the MAC.",
    )  # fmt: skip
    for target, column in measured.columns.items():
        if target in multipliers:
            sentence = smallest_sentence(multipliers[target], PARTS["multiplier"].lower(), column.title)
            section.findings.append(Finding(sentence, target))
        stacks = {
            name: plots.Stack(first, adders[target][name], whole.get(target, {}).get(name))
            for name, first in multipliers.get(target, {}).items() if name in adders.get(target, {})
        }  # fmt: skip
        if stacks:
            names = ("decode + multiply", "adder", "MAC, synthesized as one")
            picture = plots.stacks(stacks, names, f"Decode + multiply and adder, {column.title}", column.axis)
            used = (value for one in stacks.values() for value in (one.first, one.second))
            section.plots.append(Plot(_share(stacks, column.title), picture, commands(used)))
    section.tables += [
        _table(measured, part) for part, by_target in (("multiplier", multipliers), ("adder", adders)) if by_target
    ]
    return section


def _share(stacks: dict[str, plots.Stack], where: str) -> str:
    shares = {name: one.first.median / ((one.first.median + one.second.median) or 1) for name, one in stacks.items()}
    least, most = (pick(shares, key=shares.__getitem__) for pick in (min, max))
    share = f"{shares[least]:.0%} of the two ({least})"
    return f"{where}: decode and multiply is {share}" + (f" to {shares[most]:.0%} ({most})." if most != least else ".")


def _table(measured: Measured, part: str) -> Table:
    by_target = measured.parts(part)
    smallest: dict[str, Figure] = {target: figures[ranked(figures)[0]] for target, figures in by_target.items()}
    body = tuple(
        (Cell(name), *(figure_cell(figures.get(name), smallest[target]) for target, figures in by_target.items()))
        for name in measured.order(by_target)
    )
    head = ("format", *(measured.columns[target].head for target in by_target))
    return Table(f"{PARTS[part]} by format: median, spread, and difference from the smallest", head, body)
