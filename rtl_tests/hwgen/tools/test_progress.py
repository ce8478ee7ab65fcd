"""Progress: a line that is rewritten on a terminal, a line every minute elsewhere, and the time left."""

import io

import pytest

from hwgen.tools import progress as module
from hwgen.tools.progress import Escaped, Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that does not run: element 0 is the time in seconds."""
    seconds = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: seconds[0])
    return seconds


def test_elsewhere_a_line_now_and_then_and_one_at_the_end(clock):
    stream = io.StringIO()
    progress = Progress(stream)
    progress.start(7)
    for part in range(1, 8):
        clock[0] += 25
        progress.advance(f"{part}/7 jobs", failed=part in (2, 5), label=f"job {part}")
    assert stream.getvalue().splitlines() == [
        "3/7 jobs, 1 failed, about 2 min left, last: job 3",
        "6/7 jobs, 2 failed, about 25 s left, last: job 6",
        "7/7 jobs, 2 failed, about 0 s left, last: job 7",
    ]
    progress.clear()
    assert stream.getvalue().count("\n") == 3


def test_a_terminals_line_is_rewritten_and_taken_away(clock):
    stream = Terminal()
    progress = Progress(stream)
    progress.start(4)
    for seconds in (0.1, 0.15, 0.1, 0.1):  # no more than five lines a second, and the last
        clock[0] += seconds
        progress.advance("some of 4 jobs", label="x" * 200)
    lines = stream.getvalue().split("\r\x1b[2K")[1:]
    assert [len(line) for line in lines] == [110] * 2
    progress.clear()
    progress.clear()
    assert stream.getvalue().split("\r\x1b[2K")[3:] == [""]
    assert "\n" not in stream.getvalue()


def test_the_time_left_is_by_work_and_not_by_parts(clock):
    stream = io.StringIO()
    progress = Progress(stream, every=0)
    progress.start(100)
    clock[0] = 10
    progress.advance("1/2 parts", 80)
    assert stream.getvalue() == "1/2 parts, about 2 s left\n"


def test_what_was_known_before_says_nothing_about_the_time(clock):
    stream = io.StringIO()
    progress = Progress(stream, every=0)
    progress.start(100)
    progress.advance("half", 50, known=True)
    clock[0] = 10
    progress.advance("more", 10)
    assert stream.getvalue() == "half\nmore, about 40 s left\n"


def test_it_starts_anew(clock):
    stream = io.StringIO()
    progress = Progress(stream)
    for _ in range(2):
        clock[0] += 100
        progress.start(1)
        progress.advance("1/1 jobs", failed=True)
    assert stream.getvalue() == "1/1 jobs, 1 failed, about 0 s left\n" * 2


def test_texts_cannot_control_a_terminal():
    out = io.BytesIO()
    stream = Escaped(io.TextIOWrapper(out, encoding="latin-1", write_through=True), "out")
    print("\x1b[2J\x9b1m\x07\r\u202e\udcff é €\tx", file=stream)
    assert out.getvalue() == rb"\x1b[2J\x9b1m\x07\r\u202e\udcff " + "é".encode("latin-1") + b" \\u20ac\tx\n"
    assert not stream.isatty()
