"""Figures: medians with spreads, their text, and comparisons that claim no difference where spreads overlap."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TypeVar

from synth.area.rows import FO4, PS

Item = TypeVar("Item")


@dataclass(frozen=True)
class Figure:
    """Smallest, median and largest sample of the recipe with the lowest median, and how to repeat them."""

    low: float
    median: float
    high: float
    unit: str = ""
    recipe: str = ""
    tool: str = ""
    command: str = ""
    samples: int = 2
    """Number of renamings. The spread of a single one is unknown: nothing is claimed of such a figure."""
    nand2: float | None = None
    """The median in NAND2 equivalents, where the unit is a library's own."""

    @property
    def text(self) -> str:
        """E.g. ``156.3 (155 to 157.5)``, or ``28`` if all samples are equal."""
        return number(self.median) if self.low == self.high else f"{number(self.median)} ({self.spread})"

    @property
    def spread(self) -> str:
        """E.g. ``155 to 157.5``, or ``one sample``."""
        return f"{number(self.low)} to {number(self.high)}" if self.samples > 1 else "one sample"

    @property
    def source(self) -> str:
        """Recipe, tool and command in one line."""
        return f"recipe {self.recipe}, {self.tool}: {self.command}"

    @classmethod
    def exact(cls, value: float) -> "Figure":
        """A value without a spread."""
        return cls(value, value, value)

    @classmethod
    def of(cls, values: Sequence[float], unit: str = "") -> "Figure":
        """Samples without a source."""
        return cls(min(values), median(values), max(values), unit, samples=len(values))

    def over(self, base: float) -> "Figure":
        """The figure in multiples of ``base``; the largest becomes the smallest if that is negative."""
        low, high = sorted((self.low / base, self.high / base))
        return replace(self, low=low, median=self.median / base, high=high)

    def below(self, other: "Figure") -> bool:
        """Whether every sample is below every sample of the other."""
        return self.high < other.low and min(self.samples, other.samples) > 1

    def differs(self, other: "Figure") -> bool:
        """Whether the spreads do not overlap."""
        return self.below(other) or other.below(self)


def number(value: float) -> str:
    """At most one decimal; none from 1000 upwards, two below 10."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}".removesuffix(".0") if value >= 10 else f"{value:.2f}".rstrip("0").rstrip(".")


def have_spreads(figures: Iterable[Figure]) -> bool:
    """Whether all figures have several samples."""
    return all(value.samples > 1 for value in figures)


def comparable(figures: Iterable[Figure]) -> bool:
    """Whether all figures have spreads and are by one tool; otherwise sentences on them are empty, and are left out."""
    known = [*figures]
    return have_spreads(known) and len({value.tool for value in known if value.tool}) < 2


def compared(value: Figure, base: Figure) -> str:
    """``+12%``, ``-3%`` or ``no difference``; ``more`` if the base is 0; empty if they are not comparable."""
    if not comparable((value, base)):
        return ""
    if not value.differs(base):
        return "no difference"
    if not base.median:
        return "more"
    share = value.median / base.median - 1
    return f"{share:+.{0 if abs(share) >= 0.005 else 1}%}"  # a difference does not read as 0%


def ratio(unit: Figure, base: Figure) -> tuple[float, float, float]:
    """Smallest ratio that the spreads allow, ratio of the medians, and largest ratio."""
    return unit.low / base.high, unit.median / base.median, unit.high / base.low


def ranged(value: Figure, base: Figure, *more: str) -> str:
    """:func:`compared`, and in brackets the range that the spreads allow, and ``more``."""
    if (text := compared(value, base)).endswith("%"):
        least, _, most = ratio(value, base)
        more = f"{least - 1:+.1%} to {most - 1:+.1%}", *more
    return f"{text} ({'; '.join(more)})" if text and more else text


def both(value: Figure, base: Figure, *more: str) -> str:
    """:func:`ranged`, with the two medians."""
    return ranged(value, base, f"{number(value.median)} against {number(base.median)} {base.unit}", *more)


def front(items: Iterable[Item], costs: Callable[[Item], tuple[float, float]]) -> list[Item]:
    """The items that no other one beats in both costs, by the first of them."""
    kept: list[Item] = []
    for item in sorted(items, key=costs):
        if not kept or costs(item)[1] < costs(kept[-1])[1]:
            kept.append(item)
    return kept


def ranked(figures: Mapping[str, Figure]) -> list[str]:
    """Names by median, smallest first."""
    return sorted(figures, key=lambda name: figures[name].median)


def smallest_sentence(figures: Mapping[str, Figure], what: str, where: str, of: str) -> str:
    """Sentence on the smallest, the ones that do not differ from it, and the largest; empty if nothing compares.

    It counts what was compared, a set that ``of`` names. The largest is named if all others differ from it.
    """
    if len(figures) < 2 or not comparable(figures.values()):
        return ""
    first, *others = ranked(figures)
    least, largest = figures[first], figures[others[-1]]
    ties = [name for name in others if not figures[name].differs(least)]
    is_alone = all(figures[name].differs(largest) for name in (first, *others[:-1]))
    size = f"{number(least.median)} {least.unit}"
    alike = f", no different from {listing(ties)}" if ties else ""
    most = f"; {others[-1]} has the largest, {ranged(largest, least)}" if is_alone else ""
    return f"{where}, of {len(figures)} measured {of}: {first} has the smallest {what} ({size}){alike}{most}."


def listing(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def counted(count: int, what: str) -> str:
    """``1 job``, ``2 jobs``."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


DELAYS = {FO4: "FO4", PS: "ps"}
"""Units of delays by their names in rows."""
WITHOUT_GLITCHES = ("glitch_free", "glitch_free_switching", "glitch_free_internal", "glitch_free_transitions")
"""What an energy and its parts are if nets change once in an operation at most."""
