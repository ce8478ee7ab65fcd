"""Commands that a test starts, watches and interrupts."""

import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

HEARS_HANGUPS = ("env", "--default-signal=HUP")
"""A prefix of commands, for tests that run under nohup."""


@contextmanager
def running(command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """Run a command in its own session; kill it at the end of the test."""
    with subprocess.Popen(
        [*HEARS_HANGUPS, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until(condition: Callable[[], bool], process: "subprocess.Popen[str]", seconds: float = 120.0) -> None:
    """Wait until a condition is true; fail if the process ends first or ``seconds`` pass."""
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, f"the condition is still false after {seconds:g} s"
        time.sleep(0.01)
