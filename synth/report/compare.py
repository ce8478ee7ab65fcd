"""Two reports' figures against each other: what has changed by more than spreads tell apart."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from synth.area.jobs import Row
from synth.area.recipes import SPEED
from synth.report.chapters import speed
from synth.report.figures import Figure, figure, listing
from synth.report.sections import target_key


class Key(NamedTuple):
    """What a figure is of: figures of two reports that agree in it compare.

    Of a curve these are the smallest area and the fastest delay, which compare where they come from the same timer.
    """

    module: str
    target: str
    quantity: str
    how: str

    @property
    def text(self) -> str:
        """For people."""
        return f"{self.module} on {self.target}, {self.quantity}"


def figures(rows: Iterable[Row]) -> dict[Key, Figure]:
    """The figures of a report's rows; of several for one key the first."""
    found: dict[Key, Figure] = {}
    curves: dict[Key, list[Row]] = {}
    for row in rows:
        quantity, how = ("smallest area", row["timer"]) if row["portfolio"] == SPEED else ("area", row["portfolio"])
        key = Key(row["name"], target_key(row), f"{quantity} [{row['unit']}]", str(how))
        if row["recipe"] == "best":
            found.setdefault(key, figure(row))
        elif row["portfolio"] == SPEED:
            curves.setdefault(key._replace(quantity=f"fastest delay [{speed.delay_unit(row)}]"), []).append(row)
    for key, points in curves.items():
        found[key] = min((point.time for point in speed.points(points)), key=lambda time: time.median)
    return found


@dataclass(frozen=True)
class Change:
    """A figure that has changed beyond the spreads."""

    key: Key
    old: Figure
    new: Figure

    @property
    def growth(self) -> float:
        """0.02 is 2% more than before."""
        return self.new.median / self.old.median - 1 if self.old.median else float("inf")

    def exceeds(self, share: float) -> bool:
        """Whether it grew by more than that, not counting what binary fractions add."""
        return self.growth > share + 1e-9


@dataclass(frozen=True)
class Comparison:
    """What became of an old report's figures; ``changes`` from the one that grew most to the one that shrank most."""

    changes: tuple[Change, ...]
    common: int
    added: int
    gone: int
    tools: tuple[str, str]
    """Of the old figures that both have, and of the new ones."""

    def grown(self, above: float) -> list[Change]:
        """Figures that grew by more than a share."""
        return [change for change in self.changes if change.exceeds(above)]


def compare(old: Sequence[Row], new: Sequence[Row]) -> Comparison:
    """The rows of a new report against those of an old one."""
    before, after = figures(old), figures(new)
    common = [key for key in after if key in before]
    changes = [Change(key, before[key], after[key]) for key in common if after[key].differs(before[key])]
    tools = [listing(sorted({found[key].tool for key in common})) if common else "" for found in (before, after)]
    return Comparison(
        tuple(sorted(changes, key=lambda change: -change.growth)), len(common), len(after) - len(common), len(before) - len(common),
        (tools[0], tools[1]),
    )  # fmt: skip


def lines(found: Comparison, above: float | None = None) -> Iterator[str]:
    """A table of the changes, and what they come to; ``above`` is the share of growth that is marked."""
    if found.changes:
        width = max(len(change.key.text) for change in found.changes)
        yield f"{'figure':{width}} {'old':>22} {'new':>22} {'change':>8}"
        for change in found.changes:
            mark = f"  above {100 * above:g}%" if above is not None and change.exceeds(above) else ""
            yield f"{change.key.text:{width}} {change.old.text:>22} {change.new.text:>22} {change.growth:>+8.1%}{mark}"
    grown = len(found.grown(0))
    yield (
        f"{len(found.changes)} of {found.common} figures changed beyond their spreads: {grown} grew, {len(found.changes) - grown} shrank; "
        f"{found.added} new, {found.gone} gone."
    )
    if found.tools[0] != found.tools[1]:
        yield f"The old figures are by {found.tools[0]}, the new ones by {found.tools[1]}."


def percentage(text: str) -> float:
    """The share that ``2%`` is, with a ValueError for what is no percentage."""
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?%", text):
        raise ValueError(f"it must be a percentage such as 2%, not {text!r}")
    return float(text[:-1]) / 100


def check_spreads(rows: Iterable[Mapping[str, Any]]) -> None:
    """Refuse figures of one renaming, of which no change could be told, with a ValueError."""
    single = next((row["name"] for row in rows if row["renamings"] < 2), None)
    if single is not None:
        raise ValueError(f"{single} was measured under one renaming, of which no spread is known")
