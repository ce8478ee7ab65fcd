"""Cases that ``make test`` leaves to ``make exhaustive``."""

from collections.abc import Iterable

import pytest


def exhaustive(*values):
    """A case for ``make exhaustive``."""
    return pytest.param(*values, marks=pytest.mark.exhaustive)


def every(step: int, cases: Iterable) -> list:
    """Every ``step``-th case, a value or a tuple of values; the others are for ``make exhaustive``."""
    return [
        case if place % step == 0 else exhaustive(*(case if isinstance(case, tuple) else (case,)))
        for place, case in enumerate(cases)
    ]
