"""Exceptions for bad input: they name the wrong argument and the problem.

Values are checked before anything is built. On the command line, a refusal becomes one sentence and exit status 2; any
other exception is a bug or a failure at run time.
"""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, Self, TypeGuard, TypeVar

import numpy as np

LONGEST = 100
"""Most characters of a value that a message shows."""
_MOST_BITS = 1000
"""Most bits of an integer that a message shows."""
LARGEST = 1 << 28
"""Most bytes of a user's file; ``/dev/zero`` has no end."""


class Refusal(Exception):
    """Bad input, in one sentence.

    Raise :class:`BadValue` or :class:`BadKind`, not this class; catch this one.

    Parameters
    ----------
    argument : str or None
        The wrong Python argument; None if ``problem`` names the cause itself, e.g. a line of a file.
    problem : str
        The rest of the sentence, e.g. ``must be an integer from 0 to 10, not 50``.
    joint : str
        Text between the argument and the problem.
    """

    def __init__(self, argument: str | None, problem: str, joint: str = " "):
        super().__init__(argument, problem, joint)
        self.argument, self.problem, self.joint = argument, problem, joint

    def __str__(self) -> str:
        return self.problem if self.argument is None else f"{self.argument}{self.joint}{self.problem}"

    def about(self, name: str) -> Self:
        """The same refusal about ``name``, the user's name of the argument, e.g. ``--lanes`` for ``lanes``."""
        return type(self)(name, self.problem, ": " if self.argument is None else self.joint)


class BadValue(Refusal, ValueError):
    """A value of the right type that is out of range, unknown, or incompatible with others."""


class BadKind(Refusal, TypeError):
    """A value of the wrong type."""


@contextmanager
def about(name: str) -> Iterator[None]:
    """Make refusals raised inside refusals about ``name``, because callees have other names for the argument."""
    try:
        yield
    except Refusal as refusal:
        raise refusal.about(name) from refusal


@contextmanager
def past_checking() -> Iterator[None]:
    """Turn refusals raised inside into bugs, because all user input was checked before."""
    try:
        yield
    except Refusal as refusal:
        raise RuntimeError(f"a value of our own was refused: {refusal}") from refusal


def shown(value: object) -> str:
    """``repr(value)`` for a message, cut off after :data:`LONGEST` characters."""
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:  # Python refuses to print the largest
        return f"an integer of {value.bit_length()} bits"
    text = " ".join(map(str.strip, repr(value).splitlines()))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def check_number(argument: str, value: object, allowed: str, accepts: Callable[[float], bool]) -> float:
    """Return a real number that ``accepts`` is true of; refuse any other value, and say what is ``allowed``."""
    problem = f"must be {allowed}, not {shown(value)}"
    is_array = isinstance(value, np.ndarray) and (value.ndim > 0 or isinstance(value, np.ma.MaskedArray))
    if is_array or isinstance(value, (str, bytes, bool, np.bool_, np.complexfloating, np.datetime64, np.timedelta64)):
        raise BadKind(argument, problem)
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise BadKind(argument, problem) from None
    except OverflowError:
        raise BadValue(argument, problem) from None
    if not accepts(number):
        raise BadValue(argument, problem)
    return number


def is_integer(value: object) -> TypeGuard[int | np.integer[Any]]:
    """Whether a value is an integer; booleans and durations, to NumPy integers as well, are none."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64))


def check_integer(argument: str, value: object, least: int, most: int, reason: str = "") -> int:
    """Return an integer from ``least`` to ``most``, the limits for a ``reason``; refuse other values and booleans."""
    allowed = f"{least}" if least == most else f"an integer from {least} to {most}"
    problem = f"must be {allowed}{reason}, not {shown(value)}"
    if not is_integer(value):
        raise BadKind(argument, problem)
    number = int(value)
    if not least <= number <= most:
        raise BadValue(argument, problem)
    return number


class PlainFields:
    """A dataclass whose fields are Python's numbers and booleans where NumPy's were given, which wrap around."""

    def __post_init__(self) -> None:
        assert is_dataclass(self)
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, np.generic):
                object.__setattr__(self, each.name, value.item())


def check_flag(argument: str, value: object) -> bool:
    """Return a boolean; refuse any other type."""
    if not isinstance(value, (bool, np.bool_)):
        raise BadKind(argument, f"must be True or False, not {shown(value)}")
    return bool(value)


_C = TypeVar("_C", bound=str)


def check_choice(argument: str, value: object, allowed: tuple[_C, ...], others: str = "") -> _C:
    """Return a value that is one of ``allowed``; refuse any other, and name the ``others`` that the caller accepts."""
    offered = ", ".join((*allowed, f"or {others}") if others else allowed)
    problem = f"must be one of {offered}, not {shown(value)}"
    if not isinstance(value, str):
        raise BadKind(argument, problem)
    if value not in allowed:
        raise BadValue(argument, problem)
    return allowed[allowed.index(value)]


def opened(path: str | Path) -> BufferedReader:
    """A user's file, opened; an OSError if it is no file.

    Pipes and sockets that have a name are refused, because they may have no end; those of shells, ``<(...)``, are read.
    """
    try:
        place = Path(os.path.realpath(path))  # of a pipe of a shell, no path
        if place.is_fifo() or place.is_socket():
            raise OSError(errno.EINVAL, f"it is a {'pipe' if place.is_fifo() else 'socket'}")
        return open(path, "rb")
    except ValueError as error:  # a null character, or half of a pair of surrogates
        raise OSError(errno.EINVAL, "no file can have this name") from error


def read_bytes(path: str | Path) -> bytes:
    """Content of a user's file; an OSError if it cannot be read or is larger than :data:`LARGEST`."""
    with opened(path) as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise OSError(errno.EFBIG, f"it has more than {LARGEST >> 20} MiB")
    return content
