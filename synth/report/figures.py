"""Figures: picking them from rows, writing them, and comparing them no further than their spreads allow."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synth.area.jobs import Row


@dataclass(frozen=True)
class Figure:
    """A median with its spread, and where it comes from.

    Attributes
    ----------
    low, median, high : float
        Smallest, median and largest sample of the recipe with the lowest median.
    unit, recipe, tool, command : str
    samples : int
        Renamings. Of a single one no spread is known, and nothing is told apart.
    """

    low: float
    median: float
    high: float
    unit: str = ""
    recipe: str = ""
    tool: str = ""
    command: str = ""
    samples: int = 2
    nand2: float | None = None
    """The median in NAND2 equivalents, where the unit is a library's own."""

    @property
    def text(self) -> str:
        """E.g. ``156.3 (155 to 157.5)``, or ``28`` where all samples agree."""
        return number(self.median) if self.low == self.high else f"{number(self.median)} ({self.spread})"

    @property
    def spread(self) -> str:
        """E.g. ``155 to 157.5``."""
        return f"{number(self.low)} to {number(self.high)}"

    @property
    def source(self) -> str:
        """Recipe, tool and command in one line."""
        return f"recipe {self.recipe}, {self.tool}: {self.command}"

    def below(self, other: "Figure") -> bool:
        """Whether every sample is below every sample of the other."""
        return self.high < other.low and min(self.samples, other.samples) > 1

    def differs(self, other: "Figure") -> bool:
        """Whether the spreads do not meet."""
        return self.below(other) or other.below(self)


def number(value: float) -> str:
    """At most one decimal, none from 1000 on, two below 10."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}".removesuffix(".0") if value >= 10 else f"{value:.2f}".rstrip("0").rstrip(".")


def figure(row: Row) -> Figure:
    """The figure of a row."""
    recipe = row["best_recipe"] if row["recipe"] == "best" else row["recipe"]
    return Figure(
        row["min"], row["median"], row["max"], row["unit"], recipe, row["tool"], row["command"], row.get("renamings", 2),
        row.get("median_nand2_equivalents"),
    )  # fmt: skip


def pick(rows: Iterable[Row], component: str, target: str, **options: Any) -> Figure | None:
    """The figure of the block with these options on a target, or None when it was not measured."""
    wanted = {"component": component, "target": target, "recipe": "best", **options}
    return next((figure(row) for row in rows if all(row.get(key) == value for key, value in wanted.items())), None)


def compared(value: Figure, base: Figure) -> str:
    """``+12%``, ``-3%`` or ``no difference``; ``more`` than nothing."""
    if not value.differs(base):
        return "no difference"
    if not base.median:
        return "more"
    return f"{value.median / base.median - 1:+.0%}"


def ranked(figures: Mapping[str, Figure]) -> list[str]:
    """Names by median, smallest first."""
    return sorted(figures, key=lambda name: figures[name].median)


def smallest_sentence(figures: Mapping[str, Figure], what: str, where: str) -> str:
    """Which is the smallest, from which of the others it does not differ, and how far the largest is."""
    order = ranked(figures)
    first, last = order[0], order[-1]
    ties = [name for name in order[1:] if not figures[name].differs(figures[first])]
    sentence = f"{where}: the smallest {what} is that of {first} ({number(figures[first].median)} {figures[first].unit})"
    if ties:
        sentence += f", with no difference from {listing(ties)}"
    if last != first and last not in ties:
        sentence += f"; the largest is that of {last} ({compared(figures[last], figures[first])})"
    return sentence + "."


def pair_sentence(first: tuple[str, Figure], second: tuple[str, Figure], what: str, where: str) -> str:
    """How the second compares with the first."""
    (base_name, base), (name, value) = first, second
    said = f"{number(value.median)} against {number(base.median)} {base.unit}"
    if not value.differs(base):
        return f"{where}: no difference between {what} with {name} and with {base_name} ({said})."
    verb = "more" if value.median > base.median else "less"
    return f"{where}: {what} costs {abs(value.median / base.median - 1):.0%} {verb} with {name} than with {base_name} ({said})."


def listing(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def counted(count: int, what: str) -> str:
    """``1 job``, ``2 jobs``."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
