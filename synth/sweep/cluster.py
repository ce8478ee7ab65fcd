"""A Dask cluster: the connection to its scheduler, and the check that its workers have our version of the program."""

import re
import time
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING

from golden.refusal import BadValue
from hwgen.tools import yosys
from hwgen.tools.process import ToolError
from synth.area.digest import fingerprint, sha256

if TYPE_CHECKING:
    from distributed import Client

CONNECT = 10.0
"""Seconds to wait for the first answer of a scheduler."""


class PoolError(ToolError):
    """The cluster cannot run its jobs any more."""


@cache
def program() -> str:
    """SHA-256 of everything results depend on besides the job: our program, its version and the tool's."""
    files = fingerprint("synth.sweep.pools", "synth.energy.job")
    return sha256(files, version("minifloat-rtl"), yosys.version())


def check_program(expected: str) -> None:
    """Refuse, on a worker, to run a job of another version of the program."""
    here = program()
    if here != expected:
        versions = f"{here[:12]} instead of {expected[:12]}"
        raise PoolError(f"a worker runs another version of the program or its tools ({versions})")


def connect(address: str, patience: float, is_given_up: Callable[[], bool] = lambda: False) -> "Client":
    """Connect to a scheduler, and try for ``patience`` seconds.

    Raises
    ------
    PoolError
        If Dask is not installed, or the scheduler does not answer.
    """
    if not re.fullmatch(r"(\w+://)?[^\s/]+:\d+", address):
        raise PoolError(f"{address!r} is no address of a scheduler, which is like tcp://127.0.0.1:8786")
    try:
        from distributed import Client
    except ImportError:
        raise PoolError("Dask is not installed: pip install '.[dask]' in the clone") from None
    deadline = time.monotonic() + patience
    while True:
        try:
            return Client(address, timeout="5s", set_as_default=False)
        except (OSError, TimeoutError):
            if time.monotonic() > deadline or is_given_up():
                raise PoolError(f"there is no Dask scheduler at {address!r}") from None
            time.sleep(0.5)


def checked(address: str, expected: str) -> "Client":
    """Connect to a scheduler whose workers all have the expected value of :func:`program`.

    Raises
    ------
    BadValue
        If Dask is not installed, the scheduler does not answer, or a worker has another version.
    """
    try:
        client = connect(address, CONNECT)
    except PoolError as error:
        raise BadValue("dask", str(error), ": ") from error
    for worker, program_there in client.run(program).items():
        if program_there != expected:
            problem = "runs another version of the program or its tools; install the same one everywhere"
            raise BadValue("dask", f"the worker {worker} {problem}", ": ")
    return client


def threads(client: "Client") -> int:
    """Number of jobs that the workers run at the same time, at least 1."""
    return max(1, sum(client.nthreads().values()))
