"""The chapters on MACs and on their parts."""

from synth.report.figures import Figure, have_spreads, ranked, smallest_sentence
from synth.report.measured import Measured
from synth.report.plan import PARTS, REPORT_ACCUMULATOR
from synth.report.render import plots
from synth.report.sections import Section, figure_cell


def macs(measured: Measured) -> Section | None:
    """Area of the MAC by format and target; None if no MAC was measured."""
    by_target = measured.parts("mac")
    if not by_target:
        return None
    section = Section(
        "mac",
        "What a MAC costs",
        f"A MAC is a combinational unit that computes acc + a·b into {REPORT_ACCUMULATOR} with one rounding. In the "
        "plots, the black stroke at the end of a bar is the spread, the grey band is the spread of the smallest unit, "
        "and ≈ means no difference from the smallest: the spreads overlap.",
    )
    several = any(len(figures) > 1 for figures in by_target.values())
    if len(by_target) > 1 and several and all(have_spreads(figures.values()) for figures in by_target.values()):
        title = f"MAC into {REPORT_ACCUMULATOR} compared with the smallest, on {len(by_target)} targets"
        by_title = {measured.columns[target].title: figures for target, figures in by_target.items()}
        picture = plots.ranges(by_title, title, "area above the smallest")
        section.plot("All targets in one plot. The next plots have the figures and their commands.", picture)
    for target, figures in by_target.items():
        where = measured.columns[target]
        sentence = smallest_sentence(figures, "MAC", where.title)
        picture = plots.bars(figures, f"MAC into {REPORT_ACCUMULATOR}, {where.title}", where.axis)
        section.plot_finding(sentence, picture)
    _table(section, measured, "mac")
    return section


def parts(measured: Measured) -> Section | None:
    """Area of both parts of a MAC; None if neither was measured."""
    multipliers, adders, whole = (measured.parts(part) for part in ("multiplier", "adder", "mac"))
    if not (multipliers or adders):
        return None
    section = Section(
        "parts",
        "The two parts of a MAC",
        "Decode + multiply contains both decoders, the exact product (neither rounded nor normalized), the sum of the "
        "exponents and the flags. The adder contains the rest of the MAC: alignment, addition and rounding into "
        f"{REPORT_ACCUMULATOR}. Each part is synthesized separately, so the sum of their areas can differ from that of "
        "the MAC.",
    )
    for target, column in measured.columns.items():
        if target in multipliers:
            section.find(smallest_sentence(multipliers[target], PARTS["multiplier"].lower(), column.title))
        stacks = {
            name: plots.Stack(first, adders[target][name], whole.get(target, {}).get(name))
            for name, first in multipliers.get(target, {}).items()
            if name in adders.get(target, {})
        }
        if stacks:
            names = ("decode + multiply", "adder", "MAC, synthesized whole")
            picture = plots.stacks(stacks, names, f"Decode + multiply and adder, {column.title}", column.axis)
            section.plot(_share(stacks, column.title), picture)
    for part in ("multiplier", "adder"):
        _table(section, measured, part)
    return section


def _share(stacks: dict[str, plots.Stack], where: str) -> str:
    if not all(have_spreads((first, second)) for first, second, _ in stacks.values()):
        return ""
    shares = {name: first.median / ((first.median + second.median) or 1) for name, (first, second, _) in stacks.items()}
    ends = dict.fromkeys((min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)))
    return (
        f"{where}: decode + multiply is {' to '.join(f'{shares[name]:.0%} ({name})' for name in ends)} of both parts."
    )


def _table(section: Section, measured: Measured, part: str) -> None:
    by_target = measured.parts(part)
    if not by_target:
        return
    smallest: dict[str, Figure] = {target: figures[ranked(figures)[0]] for target, figures in by_target.items()}
    rows = (
        (name, *(figure_cell(figures.get(name), smallest[target]) for target, figures in by_target.items()))
        for name in measured.order(by_target)
    )
    head = ("format", *(measured.columns[target].head for target in by_target))
    section.table(f"{PARTS[part]} by format: median, spread, and difference from the smallest", head, rows)
