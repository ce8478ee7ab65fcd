"""Bad input: one family of exceptions, which say which argument is wrong and why.

A refusal is raised where a value is checked, before anything is built. It alone becomes a sentence with status 2 on the
command line; every other exception is a bug, or a failure on the way.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self, TypeVar

import numpy as np

LONGEST = 100
"""Characters of a value that a sentence shows."""


class Refusal(Exception):
    """Bad input, in one sentence.

    Raise :class:`BadValue` or :class:`BadKind`, not this class; catch this one.

    Parameters
    ----------
    argument : str or None
        The Python argument that is wrong. None where the sentence names what is wrong itself, e.g. a line of a file.
    problem : str
        Follows the argument's name and completes the sentence: ``must be an integer from 0 to 10, not 50``.
    joint : str
        Stands between the two.
    """

    def __init__(self, argument: str | None, problem: str, joint: str = " "):
        super().__init__(argument, problem, joint)
        self.argument, self.problem, self.joint = argument, problem, joint

    def __str__(self) -> str:
        return self.problem if self.argument is None else f"{self.argument}{self.joint}{self.problem}"

    def about(self, name: str) -> Self:
        """The same refusal, of what the user calls ``name``: ``--scale-bits`` for ``scale_bits``, say."""
        return type(self)(name, self.problem, ": " if self.argument is None else self.joint)


class BadValue(Refusal, ValueError):
    """A value of the right kind that is out of range, unknown, or does not go with the others."""


class BadKind(Refusal, TypeError):
    """A value of the wrong kind."""


@contextmanager
def about(name: str) -> Iterator[None]:
    """Refusals from inside become refusals of ``name``: the user never saw what a callee calls its argument."""
    try:
        yield
    except Refusal as refusal:
        raise refusal.about(name) from refusal


@contextmanager
def past_checking() -> Iterator[None]:
    """Refusals from inside are bugs: everything that a user says was checked before."""
    try:
        yield
    except Refusal as refusal:
        raise RuntimeError(f"a value of our own was refused: {refusal}") from refusal


def shown(value: object) -> str:
    """A value in a sentence, where a whole array or table would bury what is said of it."""
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def check_integer(argument: str, value: object, least: int, most: int) -> int:
    """Return an integer from ``least`` to ``most``; refuse any other value, truth values among them."""
    problem = f"must be an integer from {least} to {most}, not {shown(value)}"
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise BadKind(argument, problem)
    if not least <= value <= most:
        raise BadValue(argument, problem)
    return int(value)


def check_flag(argument: str, value: object) -> bool:
    """Return a truth value; refuse any other kind."""
    if not isinstance(value, (bool, np.bool_)):
        raise BadKind(argument, f"must be True or False, not {shown(value)}")
    return bool(value)


_C = TypeVar("_C", bound=str)


def check_choice(argument: str, value: object, allowed: tuple[_C, ...]) -> _C:
    """Return one of the words in ``allowed``; refuse any other value."""
    problem = f"must be one of {', '.join(allowed)}, not {shown(value)}"
    if not isinstance(value, str):
        raise BadKind(argument, problem)
    if value not in allowed:
        raise BadValue(argument, problem)
    return allowed[allowed.index(value)]
