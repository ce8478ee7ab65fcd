"""Cover points: their bins, hits, table and JSON; and the base class of analyses, which find the points of cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.reference import Reference
from hwgen.reference.reference import Columns, Table, columns

SHOWN = 60
"""Characters of the names of missing bins in a line of the table."""


Index = NDArray[Any] | Callable[[], NDArray[Any]]
"""An array of integers, or a function that returns it when it is needed."""


class Point:
    """A property of cases, cut into bins, which have names."""

    def __init__(self, name: str, bins: Sequence[str], index: Index):
        self.name, self.bins, self._index = name, tuple(bins), index

    @cached_property
    def index(self) -> NDArray[Any]:
        """The bin that each case falls into, of shape (cases,) or (cases, lanes); -1 stands for none."""
        return self._index() if callable(self._index) else self._index

    def evaluated(self) -> Point:
        """The point, whose index is computed now."""
        return Point(self.name, self.bins, self.index)

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

    ``reachable`` has the bins that some input reaches, for the points whose inputs were all evaluated.
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

    @property
    def counts(self) -> tuple[int, int]:
        """The number of bins that are hit, and of all bins."""
        hit = sum(int((hits > 0).sum()) for hits in self.hits.values())
        return hit, sum(len(bins) for bins in self.bins.values())

    def summary(self) -> str:
        """The number of bins that are hit, in one line."""
        hit, total = self.counts
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
        hit, total = self.counts
        return {"bins": total, "hit": hit, "missing": self.missing, "points": points}


# -- from the inputs and expected outputs of cases to points and classes


class View:
    """What an analysis says about cases: points, and their classes, which are computed when they are asked for."""

    def __init__(self, points: Sequence[Point], classes: Index):
        self.points, self._classes = points, classes

    @property
    def classes(self) -> NDArray[np.int64]:
        """The class of each case, an index into :attr:`Analysis.classes`; -1 is none of them."""
        return self._classes() if callable(self._classes) else self._classes


class Analysis:
    """What the cases of a block exercise: zeros and ones at its ports, unless a subclass knows more."""

    classes: tuple[str, ...] = ()
    """Names of the directed classes. A case belongs to the first that describes it."""

    def __init__(self, model: Reference):
        self.model, self.design = model, model.design

    def view(self, inputs: Columns, outputs: Columns) -> View:
        """Return points and classes of cases, from values of ``model.arguments`` and ``model.results``."""
        widths = {**self.model.arguments, **self.model.results}
        points = [word_point(name, words, widths[name]) for name, words in {**inputs, **outputs}.items()]
        return View(points, np.full(size(inputs), -1))

    def candidates(self, count: int, rng: np.random.Generator) -> Columns:
        """Return inputs among which all classes are frequent."""
        return columns(self.model.stimuli(count, rng))


def word_point(name: str, words: NDArray[Any], width: int) -> Point:
    """Zero, ones, or any other word."""
    last = (1 << width) - 1
    return Point(name, ("zero", "all ones", "others"), np.select([words == 0, words == last], [0, 1], 2))


def words(widths: Mapping[str, int], start: int, end: int) -> Table:
    """Values of ports, from the bits of the integers from ``start`` to ``end`` - 1; the first port has the low bits."""
    numbers = np.arange(start, end).astype(np.uint64)
    table, low = {}, 0
    for name, width in widths.items():
        table[name] = numbers >> np.uint64(low) & np.uint64((1 << width) - 1)
        low += width
    return table


def take(table: Columns, index: NDArray[Any]) -> Table:
    """Some rows of columns."""
    return {name: values[index] for name, values in table.items()}


def join(tables: Sequence[Columns]) -> Table:
    """The rows of several tables of columns, one after the other."""
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}


def size(table: Columns) -> int:
    """The number of rows."""
    return len(next(iter(table.values())))
