"""Commands that a test starts, watches, and breaks off."""

import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager


@contextmanager
def started(command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """A command under way, in a session of its own; it does not outlive the test."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until(happened: Callable[[], bool], process: "subprocess.Popen[str]", seconds: float = 120.0) -> None:
    """Wait for something that a process does; fail where it ends without, or takes too long."""
    until = time.monotonic() + seconds
    while not happened():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until, f"nothing for {seconds:g} s"
        time.sleep(0.01)
