"""Cover points and their bins, hits, and the table and JSON of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

SHOWN = 60
"""Characters of the names of missing bins in a line of the table."""


@dataclass(frozen=True)
class Point:
    """A property of cases, cut into bins.

    Attributes
    ----------
    name : str
    bins : tuple of str
        Names of the bins.
    index : integers, shape (cases,) or (cases, lanes)
        The bin that each case falls into; -1 stands for none.
    """

    name: str
    bins: tuple[str, ...]
    index: NDArray[Any]

    @property
    def rows(self) -> NDArray[Any]:
        """The index with an axis of lanes."""
        return self.index.reshape(len(self.index), -1)

    def hits(self) -> NDArray[np.int64]:
        """How often each bin is hit."""
        flat = self.index.reshape(-1)
        return np.bincount(flat[flat >= 0], minlength=len(self.bins))


def transitions(name: str, signal: NDArray[Any]) -> Point:
    """The values of a signal of one bit in two successive cycles."""
    return Point(f"{name} in two cycles", ("0, 0", "0, 1", "1, 0", "1, 1"), signal[:-1] * 2 + signal[1:])


def event(name: str, happens: NDArray[np.bool_]) -> Point:
    """A point with a single bin: something happens."""
    return Point(name, ("yes",), np.where(happens, 0, -1))


class Coverage:
    """Hits of all bins, by the names of their points.

    Attributes
    ----------
    bins : dict of str to tuple of str
    hits : dict of str to array of int
    reachable : dict of str to array of bool, or None
        Bins that some input reaches, for the points whose inputs were all evaluated.
    """

    def __init__(self) -> None:
        self.bins: dict[str, tuple[str, ...]] = {}
        self.hits: dict[str, NDArray[np.int64]] = {}
        self.reachable: Mapping[str, NDArray[np.bool_]] = {}

    def add(self, points: Iterable[Point]) -> None:
        """Count the hits of cases."""
        for point in points:
            self.bins.setdefault(point.name, point.bins)
            self.hits[point.name] = self.hits.get(point.name, np.zeros(len(point.bins), np.int64)) + point.hits()

    def is_missing(self, name: str) -> NDArray[np.bool_]:
        """The bins of a point that are not hit although they may be reached."""
        missing: NDArray[np.bool_] = self.hits[name] == 0
        return missing & self.reachable[name] if name in self.reachable else missing

    @property
    def missing(self) -> int:
        """The number of bins that are not hit although they may be reached."""
        return sum(int(self.is_missing(name).sum()) for name in self.bins)

    def news(self, points: Iterable[Point]) -> NDArray[np.int64]:
        """Indices of few cases that hit all missing bins which any of the cases hit."""
        chosen: set[int] = set()
        for point in points:
            missing = self.is_missing(point.name) if point.name in self.hits else np.ones(len(point.bins), np.bool_)
            if not missing.any():
                continue
            case, lane = np.nonzero(point.rows >= 0)
            bins, first = np.unique(point.rows[case, lane], return_index=True)
            chosen.update(case[first[missing[bins]]].tolist())
        return np.array(sorted(chosen), np.int64)

    # -- as text and data

    def summary(self) -> str:
        """The number of bins that are hit, in one line."""
        total, hit = (
            sum(len(bins) for bins in self.bins.values()),
            sum(int((h > 0).sum()) for h in self.hits.values()),
        )
        impossible = sum(int((~reached).sum()) for reached in self.reachable.values())
        return f"{hit} of {total} bins hit" + (f", {impossible} cannot be reached" if impossible else "")

    def table(self) -> Iterator[str]:
        """A line for each point: hits, bins, and the names of the bins without hits."""
        width = max(map(len, self.bins))
        yield f"{'coverage':{width}}  hit  bins  not hit; - cannot be reached"
        for name, bins in self.bins.items():
            impossible = ~self.reachable[name] if name in self.reachable else np.zeros(len(bins), np.bool_)
            words = [
                f"{'- ' if never else ''}{text}"
                for text, hit, never in zip(bins, self.hits[name], impossible, strict=True)
                if not hit
            ]
            text = "; ".join(words)
            text = text if len(text) <= SHOWN else f"{text[:SHOWN]}... ({len(words)})"
            yield f"{name:{width}}  {int((self.hits[name] > 0).sum()):3}  {len(bins):4}  {text}".rstrip()

    def record(self) -> dict[str, Any]:
        """Plain data; ``reachable`` is None where not all inputs were evaluated."""
        points = []
        for name, bins in self.bins.items():
            reached = self.reachable[name].tolist() if name in self.reachable else [None] * len(bins)
            rows = zip(bins, self.hits[name].tolist(), reached, strict=True)
            points.append({"point": name, "bins": [{"bin": b, "hits": h, "reachable": r} for b, h, r in rows]})
        total = sum(len(bins) for bins in self.bins.values())
        hit = sum(int((hits > 0).sum()) for hits in self.hits.values())
        return {"bins": total, "hit": hit, "missing": self.missing, "points": points}
