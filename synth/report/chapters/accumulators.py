"""The chapter on accumulators: exact and rounded ones."""

from typing import NamedTuple

from synth.report.figures import Figure, compared, listing, pair_sentence
from synth.report.measured import Measured, figure
from synth.report.plan import ACCUMULATORS, TERMS, WIDTH_STUDY, WIDTH_TARGETS
from synth.report.render import plots
from synth.report.sections import Section


def section(measured: Measured) -> Section | None:
    """Area by accumulator; None if only one accumulator was measured."""
    section = Section(
        "accumulators",
        "Exact against rounded accumulators",
        "MACs that add the same products into different accumulators. The accumulator exact is a fixed-point register "
        f"that holds the sum of {TERMS:,} products of any size without rounding; its width depends on the format.",
        keys=("exact",),
    )
    for target in WIDTH_TARGETS:
        by_format = _macs(measured, target)
        kinds = [kind for kind in ACCUMULATORS if any(kind in macs for macs in by_format.values())]
        if len(kinds) < 2:
            continue
        column = measured.columns[target]
        title = f"MAC by accumulator, {column.title}"
        heads = {}
        for kind in kinds:
            widths = sorted(macs[kind].bits for macs in by_format.values() if kind in macs)
            heads[kind] = f"{kind}, {' to '.join(dict.fromkeys((str(widths[0]), str(widths[-1]))))} bits"
        areas = {
            name: {heads[kind]: macs[kind].area for kind in kinds if kind in macs} for name, macs in by_format.items()
        }
        picture = plots.groups(areas, title, column.axis)
        caption = "The exact accumulator never rounds, the others round after every product."
        used = (value for figures in areas.values() for value in figures.values())
        section.plot(caption, picture, used)
        for name, macs in by_format.items():
            if {"exact", "binary32"} <= set(macs):
                pair = (("a binary32 one", macs["binary32"].area), ("an exact accumulator", macs["exact"].area))
                section.find(pair_sentence(*pair, f"the {name} MAC", column.title), target)
        rows = ((name, *map(figures.get, heads.values())) for name, figures in areas.items())
        section.table(f"{title} [{column.unit}]", ("format", *heads.values()), rows)
    section.find(_sentence(measured), key="exact", is_listed=False)
    return section if section.tables else None


class _Mac(NamedTuple):
    bits: int
    area: Figure


def _macs(measured: Measured, target: str) -> dict[str, dict[str, _Mac]]:
    by_format: dict[str, dict[str, _Mac]] = {}
    for row in measured.rows:
        is_mac = (row.component, row.place, row.is_best) == ("mac", target, True) and "format_b" not in row.options
        if is_mac and row.format in WIDTH_STUDY and row.accumulator_bits is not None:
            mac = _Mac(row.accumulator_bits, figure(row))
            by_format.setdefault(row.format, {}).setdefault(str(row.options["accumulator"]), mac)
    return by_format


def _sentence(measured: Measured) -> str:
    """Compares exact accumulators with binary32, on the last target that has both; empty if there is no such target."""
    for target in reversed(WIDTH_TARGETS):
        costs = [
            f"{name} {share} ({macs['exact'].bits} bits)"
            for name, macs in _macs(measured, target).items()
            if {"exact", "binary32"} <= set(macs) and (share := compared(macs["exact"].area, macs["binary32"].area))
        ]
        if costs:
            title = measured.columns[target].title
            return f"{title}: a MAC with an exact accumulator, compared with binary32: {listing(costs)}."
    return ""
