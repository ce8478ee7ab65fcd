"""Progress of long work on standard error, and streams whose texts cannot control a terminal."""

import re
import sys
import time
from typing import Any, TextIO

from hwgen.tools.failures import naming

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """A text with escapes instead of control characters, except tabs and line feeds."""
    return _CONTROL.sub(lambda match: repr(match[0])[1:-1], text)


class Escaped:
    """A stream that writes escapes instead of control characters, and of characters that its encoding lacks.

    Names in users' files, and of the files themselves, reach tables and messages. Errors name the stream by ``name``.
    """

    def __init__(self, stream: TextIO, name: str):
        self.unescaped, self._name = stream, name

    def write(self, text: str) -> int:
        """Write a text."""
        encoding = self.unescaped.encoding or "utf-8"
        with naming(self._name):
            return self.unescaped.write(str(bytes(printable(text), encoding, "backslashreplace"), encoding))

    def flush(self) -> None:
        """Flush the stream."""
        with naming(self._name):
            self.unescaped.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unescaped, name)


class Progress:
    """Reports progress and the time left on a stream, by default standard error.

    On a terminal it rewrites a line, at most five times a second; elsewhere it writes a line every minute, unless
    ``every`` is another number of seconds. The last part always gets a line.
    """

    def __init__(self, stream: TextIO | None = None, every: float | None = None):
        self._stream: TextIO = getattr(sys.stderr, "unescaped", sys.stderr) if stream is None else stream
        self._terminal = self._stream.isatty()
        self._every = (0.2 if self._terminal else 60.0) if every is None else every
        self._shown = False
        self._last = time.monotonic()

    def start(self, work: float) -> None:
        """Begin; ``work`` is the total, in any unit."""
        self._work = work
        self.done: float = 0
        self._known: float = 0
        self.failed = 0
        self._began = time.monotonic()

    def advance(
        self, text: str, work: float = 1.0, *, known: bool = False, failed: bool = False, label: str = ""
    ) -> None:
        """Count a part of some work; its line begins with ``text``, e.g. ``"3/7 jobs"``, and ends with its label.

        Parts whose result was known before do not count for the time left.
        """
        self.done += work
        self._known += work if known else 0
        self.failed += failed
        now = time.monotonic()
        if self.done < self._work and now - self._last < self._every:
            return
        self._last = now
        failures = f", {self.failed} failed" if self.failed else ""
        line = f"{text}{failures}{self._left(now)}{f', last: {label}' if label else ''}"
        self._stream.write(f"\r\x1b[2K{line[:110]}" if self._terminal else f"{line}\n")
        self._stream.flush()
        self._shown = self._terminal

    def _left(self, now: float) -> str:
        fresh = self.done - self._known
        if fresh <= 0:
            return ""
        seconds = (now - self._began) * (self._work - self.done) / fresh
        return f", about {seconds / 60:.0f} min left" if seconds >= 90 else f", about {seconds:.0f} s left"

    def clear(self) -> None:
        """Erase the line on a terminal, before other output."""
        if self._shown:
            self._stream.write("\r\x1b[2K")
            self._stream.flush()
            self._shown = False
