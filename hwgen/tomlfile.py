"""TOML files that users write for the command line; every complaint is one sentence that names the file."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

_T = TypeVar("_T")


def read(path: str | Path, make: Callable[[dict[str, Any], Path], _T]) -> _T:
    """What ``make`` makes of a file's table and the folder that the file is in.

    Raises
    ------
    ValueError
        If the file cannot be read or is no TOML file, or ``make`` refuses it with ValueError or TypeError.
    """
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{str(path)!r} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(f"{str(path)!r} is no TOML file: {' '.join(str(error).split())}") from error
    try:
        return make(table, Path(path).parent)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from error


def beside(folder: Path, name: str) -> str:
    """The name of a format or of a pair; for a TOML file that lies in ``folder``, its path."""
    parts = (str(folder / part) if part.endswith(".toml") and (folder / part).exists() else part for part in name.split("+"))
    return "+".join(parts)
