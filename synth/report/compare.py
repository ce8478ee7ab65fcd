"""Compare two reports: which figures changed by more than their spreads."""

import re
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from golden.refusal import BadValue
from synth.area.rows import Row
from synth.report.chapters import speed
from synth.report.figures import Figure, listing
from synth.report.measured import figure


class Key(NamedTuple):
    """What a figure is of. Figures of two reports compare if they have the same key.

    A curve has two: its smallest area and its fastest delay, which compare where they come from the same timer.
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
    by_key: dict[Key, Figure] = {}
    curves: dict[Key, list[Row]] = {}
    for row in rows:
        quantity, how = ("area", row.portfolio) if row.timing is None else ("smallest area", row.timing.source)
        key = Key(row.name, row.place, f"{quantity} [{row.unit}]", how)
        if row.is_best:
            by_key.setdefault(key, figure(row))
        elif row.timing is not None:
            curves.setdefault(key._replace(quantity=f"fastest delay [{row.timing.unit}]"), []).append(row)
    for key, points in curves.items():
        by_key[key] = min((point.time for point in speed.points(points)), key=attrgetter("median"))
    return by_key


class Change(NamedTuple):
    """A figure that has changed beyond the spreads."""

    key: Key
    old: Figure
    new: Figure

    @property
    def growth(self) -> float:
        """0.02 is 2% more than before."""
        return self.new.median / self.old.median - 1 if self.old.median else float("inf")

    def exceeds(self, share: float) -> bool:
        """Whether it grew by more than that; rounding of binary fractions does not count."""
        return self.growth > share + 1e-9


class Comparison(NamedTuple):
    """Changes from the largest growth to the largest shrinkage; how many figures are in both reports, new, and gone."""

    changes: tuple[Change, ...]
    common: int
    added: int
    gone: int
    tools: tuple[str, str]
    """Tools of the figures in both reports: the old ones', the new ones'."""

    def grown(self, above: float) -> list[Change]:
        """Figures that grew by more than a share."""
        return [change for change in self.changes if change.exceeds(above)]


def compare(old: Sequence[Row], new: Sequence[Row]) -> Comparison:
    """The rows of a new report against those of an old one."""
    before, after = figures(old), figures(new)
    common = [key for key in after if key in before]
    changes = [Change(key, before[key], after[key]) for key in common if after[key].differs(before[key])]
    old_tools, new_tools = (
        listing(sorted({by_key[key].tool for key in common})) if common else "" for by_key in (before, after)
    )
    return Comparison(
        tuple(sorted(changes, key=attrgetter("growth"), reverse=True)), len(common), len(after) - len(common),
        len(before) - len(common), (old_tools, new_tools),
    )  # fmt: skip


def lines(comparison: Comparison, above: float | None = None) -> Iterator[str]:
    """A table of the changes, and what they come to; ``above`` is the share of growth that is marked."""
    changes = comparison.changes
    if changes:
        width = max(len(change.key.text) for change in changes)
        yield f"{'figure':{width}} {'old':>22} {'new':>22} {'change':>8}"
        for change in changes:
            mark = f"  above {100 * above:g}%" if above is not None and change.exceeds(above) else ""
            yield f"{change.key.text:{width}} {change.old.text:>22} {change.new.text:>22} {change.growth:>+8.1%}{mark}"
    grown = len(comparison.grown(0))
    yield (
        f"{len(changes)} of {comparison.common} figures changed beyond their spreads: {grown} grew, "
        f"{len(changes) - grown} shrank; {comparison.added} new, {comparison.gone} gone."
    )
    old_tools, new_tools = comparison.tools
    if old_tools != new_tools:
        yield f"The old figures are by {old_tools}, the new ones by {new_tools}."


def percentage(text: str, argument: str = "fail_above") -> float:
    """The share that ``2%`` is; BadValue for what is no percentage."""
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?%", text):
        raise BadValue(argument, f"must be a percentage such as 2%, not {text!r}")
    return float(text[:-1]) / 100


def check_spreads(rows: Iterable[Row]) -> None:
    """Refuse figures of one renaming, whose changes could not be judged, with a BadValue."""
    for row in rows:
        if row.renamings < 2:
            raise BadValue(None, f"{row.name} was measured under one renaming, so that its spread is not known")
