"""Bits of wide sources around every value of a format and around every eighth between neighbours."""

from functools import cache

import numpy as np

from rtl_tests.support.paper_tables import definition, wide_values
from rtl_tests.support.roundings import grid

SIGN = {"binary32": 1 << 31, "binary16": 1 << 15, "bfloat16": 1 << 15, "dlfloat16": 1 << 15}
INFINITE = {"binary32": 0x7F800000, "binary16": 0x7C00, "bfloat16": 0x7F80, "dlfloat16": 0x7FFF}
"""The first magnitude that is not finite."""


@cache
def source_values(source):
    """All finite non-negative values of a 16-bit source, indexed by their bits."""
    return wide_values(source, np.arange(INFINITE[source]))


def around(points, source):
    """Bits of a source at, just below and just above each point."""
    top = INFINITE[source] - 1
    if source == "binary32":
        with np.errstate(over="ignore"):  # the point past the largest value of e8m0
            nearest = np.asarray(points).astype(np.float32).view(np.uint32).astype(np.int64)
        return np.unique(np.clip(np.concatenate([nearest + k for k in (-1, 0, 1)]), 0, top))
    index = np.searchsorted(source_values(source), points)
    return np.unique(np.clip(np.concatenate([index + k for k in (-1, 0, 1)]), 0, top))


@cache
def probes(name, source):
    """Source bits around all values and all eighths between neighbours, and the extremes of the source."""
    values = np.array([0.0] + [float(v) for v in grid(name)[0]])
    if name == "dlfloat16":
        step = np.random.default_rng(7).choice(len(values) - 1, 600, replace=False)
        pairs = np.unique(np.concatenate([step, [0, 1, 2, len(values) - 3, len(values) - 2]]))
    else:
        pairs = np.arange(len(values) - 1)
    low, high = values[pairs], values[pairs + 1]
    points = np.concatenate([low + (high - low) * k / 8 for k in range(9)] + [[float(definition(name).equation(0))]])
    extremes = np.array([0, 1, 2, INFINITE[source] - 1, INFINITE[source] // 2])
    return np.unique(np.concatenate([around(points, source), extremes]))


def numbers(source, bits):
    """Values of bits as floats, which hold them exactly."""
    return wide_values(source, bits).tolist()
