"""Which bins some input reaches, by evaluating every input of blocks that have few."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.sums import Products
from golden.wide import state_format
from hwgen.coverage.points import Analysis, Point, join, size, take, words
from hwgen.coverage.sums import SumAnalysis
from hwgen.reference.reference import Columns, Table

MAX_INPUT_BITS = 20
"""Blocks with at most as many bits of inputs are evaluated on all inputs."""

MAX_PRODUCTS = 1 << 13
"""MACs with at most as many different products are evaluated on all products and accumulators."""

MAX_STATE_BITS = 16

BLOCK = 1 << 14
"""Cases at a time."""

Tick = Callable[[float], None]
"""Called with the share that is done."""


@dataclass
class Reachable:
    """Bins that some input reaches, and inputs of a case for each."""

    inputs: int
    """Number of inputs that the evaluation stands for."""
    points: dict[str, NDArray[np.bool_]] = field(default_factory=dict)
    examples: dict[tuple[str, int], dict[str, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, hits: Mapping[str, NDArray[Any]], inputs: int) -> Reachable:
        """The bins that were hit; no example is kept for them."""
        return cls(inputs, {name: counts > 0 for name, counts in hits.items()})

    def add(self, points: Sequence[Point], inputs: Columns) -> None:
        """Mark the bins that these cases reach, and keep cases of new bins."""
        for point in points:
            reached = self.points.setdefault(point.name, np.zeros(len(point.bins), np.bool_))
            hits = point.hits() > 0
            for place in np.flatnonzero(hits & ~reached).tolist():
                case = int(np.argmax((point.rows == place).any(axis=1)))
                self.examples[point.name, place] = {name: int(values[case]) for name, values in inputs.items()}
            reached |= hits


def evaluate(analysis: Analysis, hits: Mapping[str, NDArray[Any]], tick: Tick | None = None) -> Reachable | None:
    """Evaluate all inputs of a block by the reference model; None if there are too many.

    ``hits`` are those of cases that were evaluated before; points whose bins are all hit need no other cases.

    A MAC into 16 bits is evaluated for every different product, with every accumulator. The points depend on the codes
    by the product, and by their classes, which are evaluated for all pairs.
    """
    inputs = analysis.model.arguments
    bits = sum(inputs.values())
    if bits <= MAX_INPUT_BITS:
        return _all_inputs(analysis, Reachable.of(hits, 1 << bits), tick)
    if isinstance(analysis, SumAnalysis) and analysis.design.kind == "mac" and "random" not in inputs:
        return _all_products(analysis, Reachable.of(hits, 1 << bits), tick)
    return None


def _all_inputs(analysis: Analysis, result: Reachable, tick: Tick | None) -> Reachable:
    visited = 0
    for table in _words(analysis.model.arguments):
        result.add(analysis.view(table, analysis.model.columns(table)).points, table)
        visited += size(table)
        if tick is not None:
            tick(visited / result.inputs)
    assert visited == result.inputs
    return result


def _words(widths: Mapping[str, int]) -> Iterator[Table]:
    """All values of inputs, in blocks."""
    bits = sum(widths.values())
    for start in range(0, 1 << bits, BLOCK):
        yield words(widths, start, min(start + BLOCK, 1 << bits))


def _all_products(analysis: SumAnalysis, result: Reachable, tick: Tick | None) -> Reachable | None:
    core = analysis.model.core
    if core.exact is not None or state_format(core.accumulator).width > MAX_STATE_BITS:
        return None
    pairs = _different_products(analysis)
    if pairs is None:
        return None
    count, states = len(pairs["a"]), np.arange(1 << state_format(core.accumulator).width).astype(np.uint64)
    blocks = np.split(states, range(BLOCK, states.size, BLOCK))
    of_operands = set()
    for table in _all_operands(analysis):
        points = analysis.operand_points(table)
        of_operands |= {point.name for point in points}
        result.add(points, {**table, "acc_in": np.zeros(len(table["a"]), np.uint64)})
    hits = Lock()

    def work(place: int) -> int:
        visited = 0
        for block in blocks:
            table: Table = {name: np.full(block.size, values[place], np.uint64) for name, values in pairs.items()}
            table["acc_in"] = block
            points = analysis.view(table, analysis.model.columns(table)).points
            with hits:
                full = of_operands | {name for name, reached in result.points.items() if reached.all()}
            open_points = [point.evaluated() for point in points if point.name not in full]
            with hits:
                result.add(open_points, table)
            visited += block.size
        return visited

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, visited in enumerate(pool.map(work, range(count)), 1):
            assert visited == states.size
            if tick is not None:
                tick(done / count)
    return result


def _all_operands(analysis: SumAnalysis) -> Iterator[Table]:
    """All values of the inputs but the accumulator, in blocks."""
    return _words({name: width for name, width in analysis.model.arguments.items() if name != "acc_in"})


def _different_products(analysis: SumAnalysis) -> Table | None:
    """Inputs but the accumulator, one for each different product; None if there are too many products."""
    model, (fa, fb) = analysis.model, analysis.model.formats
    if sum(width for name, width in model.arguments.items() if name != "acc_in") > MAX_INPUT_BITS + 4:
        return None
    kept: set[tuple[int, ...]] = set()
    tables = []
    for table in _all_operands(analysis):
        a, b = model.lane_codes(table)
        terms = Products(fa, fb, a, b, analysis.factors(table))
        keys = np.stack([terms.exact()[0].view(np.int64), terms.undefined()[:, 0], terms.signs()[:, 0]], axis=1)
        _, first = np.unique(keys, axis=0, return_index=True)
        cases = {tuple(keys[case].tolist()): case for case in first.tolist()}
        new = [case for key, case in cases.items() if key not in kept]
        kept.update(cases)
        tables.append(take(table, np.array(new, np.int64)))
        if len(kept) > MAX_PRODUCTS:
            return None
    return join(tables)
