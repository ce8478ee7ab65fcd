"""Compare two reports: which figures changed by more than their spreads."""

import re
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from golden.refusal import BadValue
from synth.area.figures import Figure, have_spreads, listing
from synth.area.rows import Row
from synth.report.chapters import speed
from synth.report.measured import figure


class Key(NamedTuple):
    """Identity of a figure: figures of two reports are compared if they have the same key.

    A curve has two figures, its smallest area and its shortest delay; their ``how`` is the timer.
    """

    module: str
    target: str
    quantity: str
    how: str

    @property
    def text(self) -> str:
        """The key as a readable text."""
        return f"{self.module} on {self.target}, {self.quantity}"


def figures(rows: Iterable[Row]) -> dict[Key, Figure]:
    """The figures of a report's rows by key; the first one if rows share a key."""
    by_key: dict[Key, Figure] = {}
    curves: dict[Key, list[Row]] = {}
    for row in rows:
        quantity, how = ("area", row.portfolio) if row.timing is None else ("smallest area", row.timing.source)
        if row.is_energy:
            quantity, how = f"energy on {row.data} data", row.portfolio
        key = Key(row.name, row.place, f"{quantity} [{row.unit}]", how)
        if row.is_best:
            by_key.setdefault(key, figure(row))
        elif row.timing is not None:
            curves.setdefault(key._replace(quantity=f"fastest delay [{row.timing.unit}]"), []).append(row)
    for key, points in curves.items():
        by_key[key] = min((point.time for point in speed.points(points)), key=attrgetter("median"))
    return by_key


class Change(NamedTuple):
    """A figure of both reports."""

    key: Key
    old: Figure
    new: Figure

    @property
    def growth(self) -> float:
        """Relative growth; 0.02 is 2% more than before."""
        return self.new.median / self.old.median - 1 if self.old.median else float("inf")

    def exceeds(self, share: float) -> bool:
        """Whether the figure grew by more than a share, with a tolerance for floating-point rounding."""
        return self.growth > share + 1e-9


class Comparison(NamedTuple):
    """Changes, largest growth first, and how many figures are in both reports (with one sample), new, and gone."""

    changes: tuple[Change, ...]
    common: int
    single: int
    added: int
    gone: int
    tools: tuple[str, str]
    """Tools of the common figures: in the old report, in the new report."""

    def grown(self, above: float) -> list[Change]:
        """Changes that grew by more than a share."""
        return [change for change in self.changes if change.exceeds(above)]


def compare(old: Sequence[Row], new: Sequence[Row]) -> Comparison:
    """Compare the rows of a new report with the rows of an old one."""
    before, after = figures(old), figures(new)
    pairs = [Change(key, before[key], value) for key, value in after.items() if key in before]
    changes = sorted((pair for pair in pairs if pair.new.differs(pair.old)), key=attrgetter("growth"), reverse=True)
    single = sum(not have_spreads((pair.old, pair.new)) for pair in pairs)
    tools = [sorted({figure.tool for figure in side}) for side in zip(*(pair[1:] for pair in pairs), strict=True)]
    old_tools, new_tools = map(listing, tools or [[""], [""]])
    added, gone = len(after) - len(pairs), len(before) - len(pairs)
    return Comparison(tuple(changes), len(pairs), single, added, gone, (old_tools, new_tools))


def lines(comparison: Comparison, above: float | None = None) -> Iterator[str]:
    """Lines of a table of the changes, and a summary; growth by more than the share ``above`` is marked."""
    changes = comparison.changes
    if changes:
        width = max(len(change.key.text) for change in changes)
        yield f"{'figure':{width}} {'old':>22} {'new':>22} {'change':>8}"
        for change in changes:
            mark = f"  above {100 * above:g}%" if above is not None and change.exceeds(above) else ""
            yield f"{change.key.text:{width}} {change.old.text:>22} {change.new.text:>22} {change.growth:>+8.1%}{mark}"
    grown, compared = len(comparison.grown(0)), comparison.common - comparison.single
    yield (
        f"{len(changes)} of {compared} figures changed beyond their spreads: {grown} grew, "
        f"{len(changes) - grown} shrank; {comparison.added} new, {comparison.gone} gone."
    )
    if comparison.single:
        yield f"{comparison.single} more were not compared: one renaming has no spread (--renamings)."
    old_tools, new_tools = comparison.tools
    if old_tools != new_tools:
        yield f"The old figures are by {old_tools}, the new ones by {new_tools}."


def percentage(text: str, argument: str = "fail_above") -> float:
    """Read ``2%`` as 0.02; BadValue for other texts."""
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?%", text):
        raise BadValue(argument, f"must be a percentage such as 2%, not {text!r}")
    return float(text[:-1]) / 100


def check_spreads(rows: Iterable[Row]) -> None:
    """Refuse rows with one renaming, whose spread is unknown, with a BadValue."""
    for row in rows:
        if row.renamings < 2:
            raise BadValue(None, f"{row.name} was measured under one renaming, so its spread is unknown")
