"""Cases that ``make test`` leaves to ``make exhaustive``."""

from collections.abc import Sequence

import pytest


def exhaustive(*values):
    """A case for ``make exhaustive``."""
    return pytest.param(*values, marks=pytest.mark.exhaustive)


def a_third(values: Sequence) -> list:
    """Every third value; the others are for ``make exhaustive``."""
    return [value if place % 3 == 0 else exhaustive(value) for place, value in enumerate(values)]
