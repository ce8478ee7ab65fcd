"""Bad input: one family of exceptions, which say which argument is wrong and why.

A refusal is raised where a value is checked, before anything is built. It alone becomes a sentence with status 2 on the command line;
every other exception is a bug, or a failure on the way.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


class Refusal(Exception):
    """Bad input, in one sentence.

    Raise :class:`BadValue` or :class:`BadKind`, not this class; catch this one.

    Parameters
    ----------
    argument : str or None
        The Python argument that is wrong. None where the sentence names what is wrong itself, e.g. a line of a file.
    problem : str
        Follows the argument's name and completes the sentence: ``must be an integer from 0 to 10, not 50``.
    """

    def __init__(self, argument: str | None, problem: str):
        super().__init__(argument, problem)
        self.argument, self.problem = argument, problem

    def __str__(self) -> str:
        return self.problem if self.argument is None else f"{self.argument} {self.problem}"

    def sentence(self, name: str) -> str:
        """The sentence about what the user calls ``name``, e.g. ``--scale-bits`` for ``scale_bits``."""
        return f"{name}: {self.problem}" if self.argument is None else f"{name} {self.problem}"


class BadValue(Refusal, ValueError):
    """A value of the right kind that is out of range, unknown, or does not go with the others."""


class BadKind(Refusal, TypeError):
    """A value of the wrong kind."""


@contextmanager
def about(argument: str) -> Iterator[None]:
    """Make refusals from inside refusals of ``argument``: what a callee calls its own argument, the caller's user never named."""
    try:
        yield
    except Refusal as refusal:
        problem = refusal.problem if refusal.argument is not None else f"is wrong: {refusal.problem}"
        raise type(refusal)(argument, problem) from refusal


def check_integer(argument: str, value: object, least: int, most: int) -> int:
    """Return an integer from ``least`` to ``most``; refuse any other value, truth values among them."""
    problem = f"must be an integer from {least} to {most}, not {value!r}"
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise BadKind(argument, problem)
    if not least <= value <= most:
        raise BadValue(argument, problem)
    return int(value)


def check_flag(argument: str, value: object) -> bool:
    """Return a truth value; refuse any other kind."""
    if not isinstance(value, bool):
        raise BadKind(argument, f"must be True or False, not {value!r}")
    return value


def check_choice(argument: str, value: object, allowed: tuple[str, ...]) -> str:
    """Return one of the words in ``allowed``; refuse any other value."""
    problem = f"must be one of {', '.join(allowed)}, not {value!r}"
    if not isinstance(value, str):
        raise BadKind(argument, problem)
    if value not in allowed:
        raise BadValue(argument, problem)
    return value
