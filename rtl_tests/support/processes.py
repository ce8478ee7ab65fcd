"""Commands that a test starts, watches and interrupts."""

import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager


@contextmanager
def started(command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """Run a command in its own session; kill it at the end of the test."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until(happened: Callable[[], bool], process: "subprocess.Popen[str]", seconds: float = 120.0) -> None:
    """Wait for a condition; fail if the process ends before, or after ``seconds``."""
    end = time.monotonic() + seconds
    while not happened():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, f"nothing for {seconds:g} s"
        time.sleep(0.01)
