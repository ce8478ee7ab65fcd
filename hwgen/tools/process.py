"""Runs external tools as subprocesses: captures output and exit status, kills all of them on request."""

import fcntl
import os
import stat
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol


class Killable(Protocol):
    """A tool that is running."""

    def kill(self) -> None:
        """End it."""


_running: set[Killable] = set()
_stops: list[None] = []
"""One item for each call of :func:`stop`."""
_job = threading.local()
"""What :func:`job` keeps for each thread."""


class ToolError(RuntimeError):
    """A failure of a tool, in one sentence; ``log`` is its output.

    ``killed`` says whether a signal ended it; another attempt may then succeed.
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
    with open(spec.origin, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed
        yield


def supervised(command: Sequence[str], folder: Path, timeout: float | None = None) -> tuple[str, int]:
    """Run a tool; return its output and its exit status, which is negative if a signal or :func:`stop` ended it.

    After ``timeout`` seconds the tool is killed, and ``subprocess.TimeoutExpired`` is raised.
    """
    pipe, merged, since = subprocess.PIPE, subprocess.STDOUT, stops()
    with (
        subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=merged, env=environment()) as process,
        stoppable(process, since),
    ):
        try:
            output, _ = process.communicate(timeout=timeout)
        finally:
            process.kill()
    return str(output, errors="replace"), process.returncode


def environment() -> dict[str, str]:
    """The environment of tools: that of this process, without Python's warnings."""
    return {**os.environ, "PYTHONWARNINGS": "ignore", "YOWASP_CACHE_DIR": _compiled_tools()}


@cache
def _compiled_tools() -> str:
    """The folder of compiled WebAssembly: the user's cache, or a private temporary one if that is empty and read-only.

    A temporary folder that is not private is not used: others could put code there.
    """
    default = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "YoWASP"
    folder = Path(os.environ.get("YOWASP_CACHE_DIR") or default).absolute()
    private = Path(tempfile.gettempdir()) / f"hwgen-{os.getuid()}"
    if _is_writable(folder) or any(folder.glob("*/*/*")):
        return str(folder)
    if _is_writable(private):
        status = private.lstat()
        if (status.st_mode, status.st_uid) == (stat.S_IFDIR | 0o700, os.getuid()):
            return str(private)
    problem = f"compiled tools can be kept neither in {str(folder)!r} nor in {str(private)!r}"
    raise ToolError(f"{problem}; set YOWASP_CACHE_DIR or XDG_CACHE_HOME to a folder that only you can write to")


def _is_writable(folder: Path) -> bool:
    """Whether a folder exists, or could be created, and can be written to."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


@contextmanager
def job() -> Iterator[None]:
    """A call of :func:`stop` while this lasts also ends the tools that this thread starts after it."""
    _job.stops = len(_stops)
    try:
        yield
    finally:
        del _job.stops


def stops() -> int:
    """Number of calls of :func:`stop` before the job of this thread began; without a job, before now."""
    return getattr(_job, "stops", len(_stops))


@contextmanager
def stoppable(tool: Killable, since: int) -> Iterator[None]:
    """While this lasts, :func:`stop` ends the tool; so did a call after the first ``since`` ones."""
    _running.add(tool)
    try:
        if len(_stops) > since:
            tool.kill()
        yield
    finally:
        _running.discard(tool)


def stop() -> None:
    """Kill every tool that a thread of this process is running, or about to run in a :func:`job`."""
    _stops.append(None)
    for tool in tuple(_running):
        tool.kill()
