"""What ``make test`` leaves to ``make exhaustive``."""

import os

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests marked exhaustive, unless EXHAUSTIVE is set."""
    if os.environ.get("EXHAUSTIVE"):
        return
    later = [item for item in items if item.get_closest_marker("exhaustive")]
    if later:
        config.hook.pytest_deselected(items=later)
        items[:] = [item for item in items if item not in later]
