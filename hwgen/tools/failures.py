"""Errors of the operating system as sentences that name the file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def naming(file: str | Path) -> Iterator[None]:
    """Make errors raised inside name a file, unless they name one: those of writes do not."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(file)) from error


def sentence(error: Exception) -> str:
    """The error without its number, after the file that it names."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
