"""Tools in processes of their own: what they say and how they ended, and an end to all of them."""

import fcntl
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

_running: set[subprocess.Popen[str]] = set()


class ToolError(RuntimeError):
    """A tool that did not deliver; one sentence.

    Attributes
    ----------
    log : str
        What the tool wrote before it stopped.
    killed : bool
        Whether a signal from elsewhere ended it, so that another try may succeed.
    """

    def __init__(self, message: str, log: str = "", killed: bool = False):
        super().__init__(message)
        self.log, self.killed = log, killed


@contextmanager
def alone(package: str) -> Iterator[None]:
    """Wait until no other process or thread is in here for the same package.

    The first run ever of a tool that is a WebAssembly package compiles it into a file, and whoever reads the
    half-written file is killed.
    """
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    with open(spec.origin) as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed; a reader's lock leaves nothing behind
        yield


def supervised(command: Sequence[str], folder: Path, timeout: float | None = None) -> tuple[str, int]:
    """What a tool says, and its exit status, negative where a signal ended it; :func:`stop` does.

    Raises
    ------
    subprocess.TimeoutExpired
        When the time is up; the tool has ended then.
    """
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    ) as process:  # fmt: skip
        _running.add(process)
        try:
            said, _ = process.communicate(timeout=timeout)
        finally:
            process.kill()
            _running.discard(process)
    return said, process.returncode


def stop() -> None:
    """End every tool under way in this process, whichever thread started it."""
    for process in tuple(_running):
        process.kill()
