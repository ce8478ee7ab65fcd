"""A loop that keeps a bounded number of jobs running."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from itertools import islice
from typing import TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


def completed(
    parts: Iterable[Part], submit: Callable[[Part], Future[Result]], ahead: int
) -> Iterator[tuple[Part, Future[Result]]]:
    """Yield each part with its finished future, in the order of completion.

    At most ``ahead`` parts are in progress, and a part is taken from ``parts`` only when ``submit`` can start it, so
    memory use stays bounded. Who leaves the iteration shuts the executor down.
    """
    source = iter(parts)
    running: dict[Future[Result], Part] = {}
    while True:
        running.update((submit(part), part) for part in islice(source, ahead - len(running)))
        if not running:
            return
        finished = wait(running, return_when=FIRST_COMPLETED).done
        for future in [future for future in running if future in finished]:
            yield running.pop(future), future
