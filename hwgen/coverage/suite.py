"""Regressions: vectors of a design in named classes, directed and random, with their coverage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.blocks.block import Design
from hwgen.coverage.conversions import (
    AmaxAnalysis,
    DecoderAnalysis,
    EncoderAnalysis,
    QuantizerAnalysis,
    ReadoutAnalysis,
)
from hwgen.coverage.points import Analysis, Coverage, Point, event, join, size, take, transitions, words
from hwgen.coverage.reachable import Reachable, Tick, evaluate
from hwgen.coverage.sums import SumAnalysis
from hwgen.reference import Pins, trace
from hwgen.reference.random import RandomReference
from hwgen.reference.reference import ClockedReference, Columns, Table, columns, rows
from hwgen.reference.tile import TileReference, reference
from hwgen.reference.trace import RegisterState

ANALYSES: dict[str, Callable[..., Analysis]] = {
    "decoder": DecoderAnalysis,
    "encoder": EncoderAnalysis,
    "quantizer": QuantizerAnalysis,
    "mac": SumAnalysis,
    "dot": SumAnalysis,
    "pe": SumAnalysis,
    "readout": ReadoutAnalysis,
    "amax": AmaxAnalysis,
}
"""Analyses by the names of blocks; other blocks have that of the base class."""

RANDOM, COVERAGE = "random", "coverage"
"""Classes of vectors that no directed class describes, and of those that ``until_covered`` adds."""

MAX_VECTORS, MAX_SEED = 1_000_000, (1 << 63) - 1
"""Limits of what users ask for."""

CANDIDATES, MAX_CANDIDATES = 4, 1 << 17
"""Candidates per vector from which the directed classes are chosen, and their largest number."""

BATCH, PATIENCE = 4096, 40
"""Candidates of a search for missing bins at a time, and the number of searches without success that end it."""

SEQUENCES = {"back to back": trace.BACK_TO_BACK, "idle": trace.IDLE, RANDOM: trace.RANDOM}
"""Patterns of the controls of a pipeline that random vectors pass through; directed ones pass as random."""


@dataclass(frozen=True)
class Suite:
    """The vectors of a regression: values of the module's ports but the clock, a row for each case or clock cycle.

    Those of clocked modules have also flags that say whether an output is compared. ``classes`` are the names of their
    classes, in order, and the numbers of vectors of each.
    """

    design: Design
    vectors: Columns
    classes: Mapping[str, int]
    coverage: Coverage

    def rows(self) -> list[dict[str, int]]:
        """The vectors as mappings."""
        return rows(self.vectors)


def suite(
    design: Design, count: int, rng: np.random.Generator, *, until_covered: bool = False, tick: Tick | None = None
) -> Suite:
    """Return a number of vectors of a block with ``generated``; bubbles and stalls of clocked modules do not count.

    Half of them are of directed classes, as far as there are cases of these; the others are random. A block with fewer
    inputs is driven with all of them. ``until_covered`` adds vectors until each bin that some input reaches is hit, or
    further search is in vain; ``tick`` reports the progress of the evaluation of all inputs.
    """
    return _Builder(design, count, rng, tick).suite(until_covered)


class _Builder:
    def __init__(self, design: Design, count: int, rng: np.random.Generator, tick: Tick | None):
        self.design, self.count, self.rng, self.tick = design, count, rng, tick
        self.model = reference(design)
        self.analysis = ANALYSES.get(design.kind, Analysis)(self.model)
        self.coverage = Coverage()
        self.tables: list[Table] = []
        self.classes: dict[str, int] = {}

    def suite(self, until_covered: bool) -> Suite:
        if isinstance(self.model, ClockedReference):
            self._element(self.model, until_covered)
        elif isinstance(self.model, RandomReference):
            self._register()
        elif isinstance(self.model, TileReference):
            self._streams(self.model)
        else:
            self._cases(until_covered)
        return Suite(self.design, join(self.tables), self.classes, self.coverage)

    # -- blocks without registers of their own

    def _cases(self, until_covered: bool) -> None:
        classes = self._directed()
        directed = sum(map(size, classes.values()))
        if directed < self.count and not self._has_few_inputs:
            classes[RANDOM] = columns(self.model.stimuli(self.count - directed, self.rng))
        if self.design.source is not None:
            classes = {name: self._drawn(table) for name, table in classes.items()}
        for table in classes.values():
            self._count(table)
        if self._has_few_inputs:
            self.coverage.reachable = {name: hits > 0 for name, hits in self.coverage.hits.items()}
        elif until_covered and (missing := self._missing()):
            classes[COVERAGE] = missing
        for name in classes:
            self._add(name, classes[name])

    @property
    def _has_few_inputs(self) -> bool:
        if self.design.source is not None:  # which determines some of them
            return False
        bits = sum(self.model.inputs.values())
        return self.design.kind == "decoder" or (bits < 64 and 1 << bits <= self.count)

    def _directed(self) -> dict[str, Table]:
        """Cases of the directed classes; of a block with few inputs, all cases."""
        candidates: Columns
        if self._has_few_inputs:
            candidates, most = words(self.model.inputs, 0, 1 << sum(self.model.inputs.values())), 1 << 62
        else:
            candidates = self.analysis.candidates(min(CANDIDATES * self.count, MAX_CANDIDATES), self.rng)
            most = self.count // (2 * max(len(self.analysis.classes), 1))
        labels = self.analysis.view(candidates, self.model.columns(candidates)).classes
        classes: dict[str, Table] = {}
        for number, name in enumerate(self.analysis.classes):
            index = np.flatnonzero(labels == number)[:most]
            if index.size:
                classes[name] = take(candidates, index)
        others = np.flatnonzero(labels < 0)
        if self._has_few_inputs and others.size:
            classes["others"] = take(candidates, others)
        return classes

    def _missing(self) -> Table | None:
        """Cases that hit missing bins: examples of the evaluation of all inputs, or found by search."""
        source = self.design.source
        reachable = evaluate(self.analysis, self.coverage.hits, self.tick) if source is None else None
        if reachable is not None:
            return self._examples(reachable)
        tables, idle = [], 0
        while idle < PATIENCE and self.coverage.missing:
            candidates = self.analysis.candidates(BATCH, self.rng)
            if source is not None:  # the whole sequence, as each word depends on those before it
                candidates = self._drawn(candidates)
            points = self.analysis.view(candidates, self.model.columns(candidates)).points
            news = self.coverage.news(points)
            idle = 0 if news.size else idle + 1
            if news.size:
                tables.append(candidates if source is not None else take(candidates, news))
                self._count(tables[-1])
        return join(tables) if tables else None

    def _examples(self, reachable: Reachable) -> Table | None:
        self.coverage.reachable = reachable.points
        examples = [
            reachable.examples[name, place]
            for name in reachable.points
            for place in np.flatnonzero(self.coverage.is_missing(name)).tolist()
        ]
        if not examples:
            return None
        table = columns(examples)
        self._count(table)
        return table

    def _count(self, table: Columns) -> None:
        self.coverage.add(self.analysis.view(table, self.model.columns(table)).points)

    def _add(self, name: str, table: Table) -> None:
        """Add a class, as cases or as cycles of a pipeline."""
        model, outputs = self.model, self.model.columns(table)
        physical = columns([model.physical(pins) for pins in rows(table)]) if model.made_of else table
        if self.design.source is not None:
            self.coverage.add(control_points(self.design, physical))
        if not self.design.stages:
            self._append(name, {**physical, **outputs})
            return
        cases, results = rows(physical), rows(outputs)
        if name != RANDOM:
            self._pipeline(name, cases, results, trace.RANDOM)
            return
        parts = len(SEQUENCES)
        for number, (sequence, pattern) in enumerate(SEQUENCES.items()):
            part = slice(number * len(cases) // parts, (number + 1) * len(cases) // parts)
            if cases[part]:
                self._pipeline(sequence, cases[part], results[part], pattern)

    def _pipeline(self, name: str, cases: Sequence[Pins], results: Sequence[Pins], pattern: trace.Pattern) -> None:
        cycles = columns(trace.pipeline(self.design.pipeline, cases, results, self.rng, pattern))
        self.coverage.add(control_points(self.design, cycles))
        self._append(name, cycles)

    # -- registers of random words

    def _drawn(self, table: Columns) -> Table:
        """Cycles with these inputs, the first one during the reset, too, but with the words of the register."""
        assert self.design.source is not None
        state, names = RegisterState(self.design.source), tuple(self.model.outputs)
        cycles = trace.register(state, size(table), names, self.rng, trace.RANDOM)
        rows = np.maximum(np.arange(len(cycles)) - trace.RESET_CYCLES, 0)
        return {**take(table, rows), **columns(cycles)}

    def _register(self) -> None:
        for name, pattern in SEQUENCES.items():
            count = max(self.count // len(SEQUENCES), 8)
            cycles = trace.register(RegisterState(self.model.core), count, ["random"], self.rng, pattern)
            self.coverage.add(control_points(self.design, columns(cycles)))
            self._append(name, columns(cycles))

    def _streams(self, model: TileReference) -> None:
        each = max(self.count // len(model.sequences), 8)
        for name in model.sequences:
            cycles = columns(model.sequence(name, each, self.rng))
            self.coverage.add(stream_points(cycles))
            self._append(name, cycles)

    def _append(self, name: str, table: Table) -> None:
        self.tables.append(table)
        self.classes[name] = size(table)

    # -- blocks with a register, clear and enable

    def _element(self, model: ClockedReference, until_covered: bool) -> None:
        each = max(self.count // len(model.sequences), 8)
        for name in model.sequences:
            self._append(name, self._cycles(model, name, model.cycles_of(name, each, self.count)))
        if not until_covered:
            return
        tables, idle = [], 0
        while idle < PATIENCE // 4 and self.coverage.missing:
            name = str(self.rng.choice(model.sequences))
            before = self.coverage.missing
            cycles = self._cycles(model, name, 256)
            idle = idle + 1 if self.coverage.missing == before else 0
            if not idle:
                tables.append(cycles)
        if tables:
            self._append(COVERAGE, join(tables))

    def _cycles(self, model: ClockedReference, name: str, count: int) -> Table:
        cycles, steps = model.sequence(name, count, self.rng)
        table = columns(cycles)
        steps = [step for step, seen in zip(steps, self._are_seen(table), strict=True) if seen]
        if steps:
            inputs = columns([{**pins, model.before: before} for pins, before, _ in steps])
            self.coverage.add(self.analysis.view(inputs, columns([after for *_, after in steps])).points)
        self.coverage.add(control_points(self.design, table))
        return table

    def _are_seen(self, cycles: Columns) -> list[bool]:
        """Whether the sum of each step reaches the outputs: a reset drops what is on its way."""
        reset = cycles["rst"].astype(np.int64)
        total = np.concatenate([[0], np.cumsum(reset)])
        taken = np.flatnonzero((cycles["enable"] == 1) & (reset == 0))
        last = np.minimum(taken + self.design.stages, reset.size - 1)
        return (total[last + 1] == total[taken + 1]).tolist()


# -- what sequences of controls exercise, in clocked modules


def control_points(design: Design, cycles: Columns) -> list[Point]:
    """Points of a sequence of cycles: each control in two cycles, runs, resets, and what is on its way meanwhile."""
    signals = {name: cycles[name].astype(np.int64) for name in ("rst", "enable", "clear", "in_valid") if name in cycles}
    zeros = np.zeros(size(cycles), np.int64)
    reset, enable = signals.get("rst", zeros), signals.get("enable", zeros + 1)
    active = signals.get("in_valid", enable) & enable & (1 - reset)
    length = design.latency + 1
    points = [transitions(name, signal) for name, signal in signals.items()]
    points += [
        event(f"{length} cycles back to back", _last(active, length) == length),
        event(f"{length} idle cycles", (_last(1 - active, length) == length) & (np.cumsum(active) > 0)),
    ]
    underway = np.concatenate([[0], _last(active, design.latency)[:-1]]) > 0
    if not design.latency:
        return points
    if "rst" in signals:
        points.append(event("reset while results are on their way", (reset == 1) & underway))
    if "clear" in signals:
        both = np.where(reset == 1, -1, 2 * signals["clear"] + enable)
        points.append(Point("clear, enable", ("0, 0", "0, 1", "1, 0", "1, 1"), both))
        points.append(event("clear while results are on their way", (signals["clear"] == 1) & (reset == 0) & underway))
        points += _turns(design, signals["clear"], reset)
    elif "enable" in signals:
        points.append(event("stall while results are on their way", (enable == 0) & underway))
    return points


def stream_points(cycles: Columns) -> list[Point]:
    """Points of the streams of a tile: each handshake in two cycles, resets, and what waits meanwhile."""
    signals = {name: values.astype(np.int64) for name, values in cycles.items() if not name.endswith("data")}
    points = [transitions(name, signals[name]) for name in ("rst", "a_tready", "b_tready", "y_tvalid")]
    running = 1 - signals["rst"]
    for stream in "aby":
        valid, ready = signals[f"{stream}_tvalid"] * running, signals[f"{stream}_tready"] * running
        names = ("neither", "ready", "valid", "both")
        points.append(Point(f"{stream}: valid, ready", names, 2 * valid + ready))
    last = 2 * signals["a_tlast"] + signals["b_tlast"]
    both = running & signals["a_tvalid"] & signals["a_tready"] & signals["b_tvalid"] & signals["b_tready"]
    points.append(Point("marked last by", ("neither", "b", "a", "both"), np.where(both == 1, last, -1)))
    points.append(event("reset while results wait", (signals["rst"] == 1) & (signals["y_tvalid"] == 1)))
    return points


def _last(signal: NDArray[Any], cycles: int) -> NDArray[Any]:
    """How often a signal was 1 in the last cycles, with the present one."""
    total, ends = np.concatenate([[0], np.cumsum(signal)]), np.arange(1, signal.size + 1)
    return total[ends] - total[np.maximum(ends - cycles, 0)]


def _turns(design: Design, clear: NDArray[Any], reset: NDArray[Any]) -> list[Point]:
    """Which of the interleaved accumulators is cleared."""
    count = design.core.interleave
    if count == 1:
        return []
    start = np.maximum.accumulate(np.where(reset == 1, np.arange(reset.size) + 1, 0))
    turn = (np.arange(reset.size) - start) % count
    names = tuple(f"accumulator {number}" for number in range(count))
    return [Point("accumulator that is cleared", names, np.where((clear == 1) & (reset == 0), turn, -1))]
