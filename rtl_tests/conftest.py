"""Selection of the exhaustive tests, what tests share, and a check that they do not damage the machine."""

import gc
import hashlib
import os
import re
import shlex
import signal
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import UnusedElaboratable

from hwgen.tools import yosys
from rtl_tests.support import shared
from rtl_tests.support.paths import ROOT
from synth.area.digest import fingerprint, program, sha256

PASSED = "exhaustive/passed"
"""Key of pytest's cache: by name, the key of each exhaustive test that has passed since the last whole run."""

COMPILE_ONCE = ROOT / "rtl_tests" / "support" / "compile_once.sh"
"""Builds with Verilator share the objects of its library."""


@cache
def _key(test: Path) -> str:
    """SHA-256 of what the tests of a file rest on: the modules that it imports or starts, as for stored results.

    Tests that read other files, or start a process, rest on all files, but only tests of documents on the verdicts.
    """
    modules = ["rtl_tests.conftest", ".".join(test.relative_to(ROOT).with_suffix("").parts)]
    names = {name for name in program(*modules) if re.fullmatch(r"rtl_tests/.*\.py", name)}
    names -= {"rtl_tests/conftest.py", "rtl_tests/support/paths.py"}
    if any(re.search(r"\bROOT\b|\bsys\.executable\b", (ROOT / name).read_text("utf-8")) for name in names):
        return _whole("docs" in test.relative_to(ROOT).parts)
    return fingerprint(*modules)


@cache
def _whole(with_verdicts: bool) -> str:
    """SHA-256 of all files of the packages, tests, documents and examples."""
    tops = [ROOT / top for top in ("golden", "hwgen", "synth", "rtl_tests", "docs", "examples")]
    files = [ROOT / "README.md", *(path for top in tops for path in top.rglob("*") if path.is_file())]
    files = sorted(path for path in files if path.suffix != ".pyc" and (with_verdicts or path.name != "proofs.csv"))
    return sha256(*(f"{path.relative_to(ROOT)} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in files))


class _Resumes:
    """Remembers the exhaustive tests that passed, until all of them have."""

    def __init__(self, config: pytest.Config):
        self.cache = config.cache
        self.passed = self.cache.get(PASSED, {})

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.passed[report.nodeid] = _key(ROOT / report.nodeid.partition("::")[0])
            self.cache.set(PASSED, self.passed)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        if exitstatus == 0:
            self.cache.set(PASSED, {})


def pytest_configure(config: pytest.Config) -> None:
    """Make the run of the exhaustive tests resume, and a folder for what tests share.

    Of parallel runs, only the process that starts the others does so; these inherit its environment.
    """
    if hasattr(config, "workerinput"):
        return
    if os.environ.get("EXHAUSTIVE"):
        config.pluginmanager.register(_Resumes(config))
    folder = tempfile.TemporaryDirectory(prefix="rtl-tests-")
    config.add_cleanup(folder.cleanup)
    os.environ[shared.FOLDER] = folder.name
    os.environ.setdefault("OBJCACHE", f"sh {shlex.quote(str(COMPILE_ONCE))}")  # Verilator's makefile reads it


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests marked exhaustive, or with EXHAUSTIVE those that passed before an interrupt."""
    if os.environ.get("EXHAUSTIVE"):
        passed = config.cache.get(PASSED, {})
        later = [item for item in items if passed.get(item.nodeid) == _key(item.path)]
        if all(item in later for item in items if item.get_closest_marker("exhaustive")):
            return  # the run was interrupted after its last test
    else:
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


@pytest.fixture(scope="session", autouse=True)
def _results_are_shared() -> Iterator[None]:
    """A test may get results of Yosys from an equal run for another test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yosys, "run", shared.run_yosys)
        yield


@pytest.fixture
def unshared(monkeypatch: pytest.MonkeyPatch) -> None:
    """All runs of Yosys are made: for tests that compare equal runs, or disturb them."""
    monkeypatch.setattr(yosys, "run", shared.run_alone)


@pytest.fixture
def silence_unelaborated(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No warnings of components that are never elaborated."""
    monkeypatch.setattr(UnusedElaboratable, "_MustUse__silence", True)
    yield
    gc.collect()


@pytest.fixture
def unblocked() -> Iterator[None]:
    """An error in place of a test that waits for ever."""

    def waited(*_: Any) -> None:
        raise AssertionError("it still waits after 30 seconds")

    before = signal.signal(signal.SIGALRM, waited)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
