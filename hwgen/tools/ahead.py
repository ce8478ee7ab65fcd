"""Work that is kept under way ahead of whoever takes the results."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from itertools import islice
from typing import TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


def completed(
    parts: Iterable[Part], submit: Callable[[Part], Future[Result]], ahead: int, in_order: bool = False
) -> Iterator[tuple[Part, Future[Result]]]:
    """Yield each part with its finished future.

    A part is taken from ``parts`` when there is room for it, so that memory stays flat. What has not begun when the
    iteration is left is cancelled.

    Parameters
    ----------
    submit : callable
        Starts a part.
    ahead : int
        Parts under way at most.
    in_order : bool
        Whether parts come in their own order; default: as they are finished.
    """
    source = iter(parts)
    running: dict[Future[Result], Part] = {}
    try:
        while True:
            running.update((submit(part), part) for part in islice(source, ahead - len(running)))
            if not running:
                return
            first = [next(iter(running))]
            finished = wait(first if in_order else running, return_when=FIRST_COMPLETED).done
            for future in [one for one in running if one in finished]:
                yield running.pop(future), future
    finally:
        for future in running:
            future.cancel()
