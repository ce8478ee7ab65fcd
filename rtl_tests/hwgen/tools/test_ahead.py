"""The job loop: a bounded number of jobs, results in either order, nothing left behind."""

from concurrent.futures import Future
from itertools import count

from hwgen.tools.ahead import completed


class Executor:
    """Finishes parts when ``batch`` of them are in progress, in reverse order."""

    def __init__(self, batch):
        self.batch, self.futures, self.open = batch, {}, []

    def submit(self, part):
        future = Future()
        self.futures[part] = future
        self.open.append(future)
        if len(self.open) == self.batch:
            for finished in reversed(self.open):
                finished.set_result(None)
            self.open.clear()
        return future


def test_parts_come_as_they_are_finished():
    futures = {part: Future() for part in "abc"}
    results = completed("abc", futures.__getitem__, 3)
    for part in "bca":
        futures[part].set_result(part.upper())
        assert next(results) == (part, futures[part])
    assert next(results, None) is None


def test_no_more_is_taken_than_there_is_room_for():
    """Memory use stays bounded."""
    source, executor = count(), Executor(1)
    results = completed(source, executor.submit, 4)
    for number in range(100):
        next(results)
        assert len(executor.futures) <= number + 4


def test_an_error_of_a_part_is_the_callers_to_see():
    future = Future()
    future.set_exception(OSError("disk full"))
    ((part, same),) = completed(["a"], lambda _: future, 1)
    assert (part, same) == ("a", future)
