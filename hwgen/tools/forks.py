"""Runs tools that are Python packages as forks of a process that has imported them, :mod:`hwgen.tools.fork_server`.

A start takes a sixth of a second less than that of a new Python, which is more than most runs on small modules take.
"""

import atexit
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from hwgen.tools.process import ToolError, environment, stoppable, stops

_SERVER = Path(__file__).with_name("fork_server.py")


class _Run:
    """A process of a tool."""

    def __init__(self, number: int):
        self._number: int | None = number

    def kill(self) -> None:
        """End the tool, unless it has ended, which the client may not know yet."""
        if self._number is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._number, signal.SIGKILL)

    def ended(self) -> None:
        """The number may be that of another process from now on."""
        self._number = None


class Forks:
    """Runs of a function of a package, ``function(words)``; the first run of a process starts its server."""

    def __init__(self, package: str, function: str):
        self._command = [sys.executable, str(_SERVER), package, function]
        self._lock = threading.Lock()
        self._server: _Server | None = None
        atexit.register(self.close)

    def supervised(self, words: Sequence[str], folder: Path, timeout: float | None = None) -> tuple[str, int]:
        """:func:`hwgen.tools.process.supervised` for the function with arguments ``words``."""
        deadline, since = None if timeout is None else time.monotonic() + timeout, stops()
        (output, output_end), (report, report_end) = os.pipe(), os.pipe()
        with os.fdopen(output, "rb", 0) as text, os.fdopen(report, "rb", 0) as status:
            with self._lock:  # one message at a time
                self._send([str(folder), list(words)], (output_end, report_end))
                number = status.readline()
                if not number:
                    self.close()
            if not number:
                raise ToolError(f"{self._command[-2]} cannot be started", killed=True)
            run = _Run(int(number))
            with stoppable(run, since):
                try:
                    printed = b"".join(iter(lambda: _read(text, deadline), b""))
                    ended = status.readline()
                except BaseException as reason:
                    run.kill()
                    status.readline()
                    if isinstance(reason, TimeoutError):
                        raise subprocess.TimeoutExpired(list(words), timeout or 0) from reason
                    raise
                finally:
                    run.ended()
        return str(printed, errors="replace"), int(ended or -signal.SIGKILL)

    def _send(self, message: object, ends: Sequence[int]) -> None:
        """Send a message and the ends of pipes, which are closed here."""
        try:
            if self._server is None or self._server.owner != os.getpid():  # a fork of this process needs another server
                self._server = _Server(self._command)
            socket.send_fds(self._server.connection, [json.dumps(message).encode()], list(ends))
        except OSError as error:
            self.close()
            raise ToolError(f"{self._command[-2]} cannot be started: {error.strerror}", killed=True) from error
        finally:
            for end in ends:
                os.close(end)

    def close(self) -> None:
        """End the server; the next run starts another one."""
        server, self._server = self._server, None
        if server is not None:
            server.connection.close()
            if server.owner == os.getpid():
                server.process.wait()


class _Server:
    """The server of one process."""

    def __init__(self, command: Sequence[str]):
        self.owner = os.getpid()
        self.connection, other = socket.socketpair()
        with other:
            self.process = subprocess.Popen(command, stdin=other.fileno(), env=environment())


def _read(text: BinaryIO, deadline: float | None) -> bytes:
    """Some of the output, or nothing at its end; a TimeoutError after the deadline."""
    left = None if deadline is None else max(0.0, deadline - time.monotonic())
    if not select.select([text], [], [], left)[0]:
        raise TimeoutError
    return text.read(1 << 16)
