"""Runs external tools as subprocesses: captures output and exit status, kills all of them on request."""

import fcntl
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol


class Killable(Protocol):
    """A tool that is running."""

    def kill(self) -> None:
        """End it."""


_running: set[Killable] = set()


class ToolError(RuntimeError):
    """A failure of a tool, in one sentence.

    Attributes
    ----------
    log : str
        Output of the tool.
    killed : bool
        Whether a signal ended it; another attempt may then succeed.
    """

    def __init__(self, message: str, log: str = "", killed: bool = False):
        super().__init__(message)
        self.log, self.killed = log, killed


@contextmanager
def alone(package: str) -> Iterator[None]:
    """Exclude other processes and threads that hold this lock for the same package.

    The first run of a WebAssembly tool compiles it into a file; a process that reads the incomplete file is killed.
    """
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    with open(spec.origin) as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed
        yield


def supervised(command: Sequence[str], folder: Path, timeout: float | None = None) -> tuple[str, int]:
    """Run a tool; return its output and its exit status, which is negative if a signal or :func:`stop` ended it.

    Raises
    ------
    subprocess.TimeoutExpired
        After ``timeout`` seconds; the tool is killed.
    """
    pipe, merged = subprocess.PIPE, subprocess.STDOUT
    with (
        subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=merged, text=True, env=environment()) as process,
        stoppable(process),
    ):
        try:
            output, _ = process.communicate(timeout=timeout)
        finally:
            process.kill()
    return output, process.returncode


def environment() -> dict[str, str]:
    """The environment of tools: that of this process, without Python's warnings."""
    return {**os.environ, "PYTHONWARNINGS": "ignore"}


@contextmanager
def stoppable(tool: Killable) -> Iterator[None]:
    """While this lasts, :func:`stop` ends the tool."""
    _running.add(tool)
    try:
        yield
    finally:
        _running.discard(tool)


def stop() -> None:
    """Kill every tool that a thread of this process is running."""
    for tool in tuple(_running):
        tool.kill()
