"""What sequences of controls exercise, in clocked modules."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.blocks.block import Design
from hwgen.coverage.analysis import Columns, size
from hwgen.coverage.points import Point, event, transitions


def control_points(design: Design, cycles: Columns) -> list[Point]:
    """Points of a sequence of cycles: each control in two cycles, runs, resets, and what is on its way meanwhile."""
    signals = {name: cycles[name].astype(np.int64) for name in ("rst", "enable", "clear", "in_valid") if name in cycles}
    zeros = np.zeros(size(cycles), np.int64)
    reset, enable = signals.get("rst", zeros), signals.get("enable", zeros + 1)
    active = signals.get("in_valid", enable) & enable & (1 - reset)
    length = design.latency + 1
    points = [transitions(name, signal) for name, signal in signals.items()]
    points += [
        event(f"{length} cycles back to back", _run(active, length)),
        event(f"{length} idle cycles", _run(1 - active, length) & (np.cumsum(active) > 0)),
    ]
    underway = _recent(active, design.latency)
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


def _run(signal: NDArray[Any], length: int) -> NDArray[np.bool_]:
    """Where a signal is 1 for the last ``length`` cycles."""
    total = np.concatenate([[0], np.cumsum(signal)])
    ends = np.arange(1, signal.size + 1)
    run: NDArray[np.bool_] = total[ends] - total[np.maximum(ends - length, 0)] == length
    return run


def _recent(signal: NDArray[Any], cycles: int) -> NDArray[np.bool_]:
    """Where a signal was 1 in any of the last ``cycles`` cycles before."""
    total = np.concatenate([[0], np.cumsum(signal)])
    ends = np.arange(signal.size)
    recent: NDArray[np.bool_] = total[ends] - total[np.maximum(ends - cycles, 0)] > 0
    return recent


def _turns(design: Design, clear: NDArray[Any], reset: NDArray[Any]) -> list[Point]:
    """Which of the interleaved accumulators is cleared."""
    count = design.core.interleave
    if count == 1:
        return []
    start = np.maximum.accumulate(np.where(reset == 1, np.arange(reset.size) + 1, 0))
    turn = (np.arange(reset.size) - start) % count
    names = tuple(f"accumulator {number}" for number in range(count))
    return [Point("accumulator that is cleared", names, np.where((clear == 1) & (reset == 0), turn, -1))]
