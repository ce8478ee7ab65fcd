"""Selection of the exhaustive tests, a fixture, and a check that tests do not damage the machine."""

import gc
import os
from collections.abc import Iterator
from typing import Any

import pytest
from amaranth.hdl import UnusedElaboratable


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests marked exhaustive, unless EXHAUSTIVE is set."""
    if os.environ.get("EXHAUSTIVE"):
        return
    later = [item for item in items if item.get_closest_marker("exhaustive")]
    if later:
        config.hook.pytest_deselected(items=later)
        items[:] = [item for item in items if item not in later]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the sentences that tests recorded as ``summary``."""
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, text in report.user_properties:
            if name == "summary" and report.when == "call":
                terminalreporter.write_line(text)


@pytest.fixture(scope="session", autouse=True)
def _null_device_is_unchanged() -> Iterator[None]:
    """Check that no tool has replaced /dev/null: run by root, ``iverilog -o /dev/null`` does."""
    before = os.stat(os.devnull)
    yield
    after = os.stat(os.devnull)
    assert (after.st_mode, after.st_rdev) == (before.st_mode, before.st_rdev)


@pytest.fixture
def silence_unelaborated(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No warnings of components that are never elaborated."""
    monkeypatch.setattr(UnusedElaboratable, "_MustUse__silence", True)
    yield
    gc.collect()
