"""The base class of analyses: from the inputs and expected outputs of cases to their cover points and classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.coverage.points import Point
from hwgen.reference import Pins, Reference

Columns = Mapping[str, NDArray[Any]]
"""Values of ports by name, a row for each case; above 64 bits the arrays hold Python integers."""
Table = dict[str, NDArray[Any]]
"""Columns that the caller may change."""


class View:
    """What an analysis says about cases, computed when it is asked for.

    Parameters
    ----------
    makers : mapping of str to function
        Functions that return the points, by their names.
    classes : function
        Returns integers of shape (cases,): an index into :attr:`Analysis.classes`; -1 is none of them.
    """

    def __init__(self, makers: Mapping[str, Callable[[], Point]], classes: Callable[[], NDArray[np.int64]]):
        self.makers, self._classes = makers, classes

    @classmethod
    def of(cls, points: Sequence[Point], classes: NDArray[np.int64]) -> View:
        """A view of points that are known."""
        return cls({point.name: partial(_same, point) for point in points}, lambda: classes)

    @property
    def points(self) -> list[Point]:
        """All points."""
        return [make() for make in self.makers.values()]

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """The class of each case."""
        return self._classes()


def _same(point: Point) -> Point:
    return point


class Analysis:
    """What the cases of a block exercise: zeros and ones at its ports, unless a subclass knows more.

    Attributes
    ----------
    classes : tuple of str
        Names of the directed classes. A case belongs to the first that describes it.
    """

    classes: tuple[str, ...] = ()

    def __init__(self, model: Reference):
        self.model, self.design = model, model.design

    def view(self, inputs: Columns, outputs: Columns) -> View:
        """Return points and classes of cases, from values of ``model.arguments`` and ``model.results``."""
        widths = {**self.model.arguments, **self.model.results}
        points = [word_point(name, words, widths[name]) for name, words in {**inputs, **outputs}.items()]
        return View.of(points, np.full(size(inputs), -1))

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


def columns(cases: Sequence[Pins]) -> Table:
    """Cases as columns, one for each port."""
    return {name: column([pins[name] for pins in cases]) for name in cases[0]}


def column(values: Sequence[int]) -> NDArray[Any]:
    """Integers as an array: of uint64, or above 64 bits of Python integers."""
    return np.array(values, np.uint64 if max(values) < 1 << 64 else object)


def rows(table: Columns) -> list[dict[str, int]]:
    """Columns as cases; the inverse of :func:`columns`."""
    lists = [values.tolist() for values in table.values()]
    return [dict(zip(table, row, strict=True)) for row in zip(*lists, strict=True)]


def take(table: Columns, index: NDArray[Any]) -> Table:
    """Some rows of columns."""
    return {name: values[index] for name, values in table.items()}


def join(tables: Sequence[Columns]) -> Table:
    """The rows of several tables of columns, one after the other."""
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}


def size(table: Columns) -> int:
    """The number of rows."""
    return len(next(iter(table.values())))
