"""Table 2 of the supernormal paper, beside our figures, and whether its order comes out."""

from collections.abc import Mapping
from itertools import combinations

from synth.report.figures import Figure, listing, number

COLUMNS = ("multiplier", "adder", "mac")
"""What the table has figures of."""
PAPER = {
    "e5m3_nosub": (20.0, 188.0, 208.5),
    "e5m2b1": (24.5, 185.0, 210.0),
    "binary8p3": (27.0, 182.5, 210.0),
    "e5m3": (34.0, 188.0, 222.5),
}
"""ALMs by Intel's tools, the adder and the fused MAC into binary16, in the order of the multipliers: rows (b), (d), (c), (a)."""


def verdict(figures: Mapping[str, Figure], where: str) -> str:
    """One sentence: whether the paper's order of the multipliers comes out.

    Parameters
    ----------
    figures : mapping of format to Figure
        Multipliers on one target; formats that were not measured are missing.
    where : str
        What the target is called.
    """
    present = [name for name in PAPER if name in figures]
    if len(present) < len(PAPER):
        missing = [name for name in PAPER if name not in figures]
        return f"{where}: the order of the paper cannot be judged without {listing(missing)}."
    order = " < ".join(number(PAPER[name][0]) for name in PAPER)
    pairs = list(combinations(PAPER, 2))
    swapped = [(a, b) for a, b in pairs if figures[b].below(figures[a])]
    alike = [(a, b) for a, b in pairs if not figures[a].differs(figures[b])]
    ours = ", ".join(f"{name} {number(figures[name].median)}" for name in PAPER)
    same = f"no difference between {listing([f'{a} and {b}' for a, b in alike])}" if alike else ""
    if swapped:
        said = listing([f"{a} ({compare(figures[a], figures[b])} above {b})" for a, b in swapped])
        rest = f"; {same}" if same else ""
        return f"{where}: the order of the paper ({order}) does not come out: swapped are {said}{rest}. {ours}."
    if alike:
        return f"{where}: the order of the paper ({order}) is not contradicted, but lies within the spread: {same}. {ours}."
    return f"{where}: the order of the paper ({order}) comes out. {ours}."


def compare(larger: Figure, smaller: Figure) -> str:
    """By how much, in percent."""
    return f"{larger.median / smaller.median - 1:.0%}"
