"""TOML files that users write: strict tables, and one sentence for whatever is wrong."""

import difflib
import tomllib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

_T = TypeVar("_T")


def read(path: str | Path, make: Callable[[dict[str, Any], bytes], _T], what: str = "") -> _T:
    """What ``make`` makes of a file's table and bytes.

    Raises
    ------
    ValueError
        If the file cannot be read or is no TOML file, or ``make`` refuses it with ValueError or TypeError; the sentence begins with
        ``what`` and the file's name.
    """
    name = f"{what}{str(path)!r}"
    try:
        raw = Path(path).read_bytes()
        table = tomllib.loads(raw.decode())
    except OSError as error:
        raise ValueError(f"{name} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} is no TOML file: {' '.join(str(error).split())}") from None
    try:
        return make(table, raw)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name}: {' '.join(str(error).split())}") from None


def check_keys(table: Any, allowed: Collection[str], where: str, required: Collection[str] = ()) -> None:
    """Refuse what is no table, has a key that is not ``allowed``, or lacks a ``required`` one.

    Raises
    ------
    ValueError, TypeError
        One sentence that begins with ``where``.
    """
    if not isinstance(table, dict):
        raise TypeError(f"{where} must be a table, not {table!r}")
    for key in table:
        if key not in allowed:
            near = difflib.get_close_matches(key, allowed, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"allowed are {', '.join(allowed) or 'none'}"
            raise ValueError(f"{where} has an unknown key {key!r}; {hint}")
    for key in required:
        if key not in table:
            raise ValueError(f"{where} needs a key {key!r}")


def check_table(table: Any, types: Mapping[str, type], where: str, required: Collection[str] = ()) -> None:
    """Refuse what :func:`check_keys` refuses, and values that are not of their keys' types: str, int, bool, list or dict.

    Raises
    ------
    ValueError, TypeError
        One sentence that begins with ``where``.
    """
    check_keys(table, types, where, required)
    for key, value in table.items():
        if type(value) is not types[key]:
            raise TypeError(f"{where}: {key} must be {_TYPE_NAMES[types[key]]}, not {value!r}")


_TYPE_NAMES = {str: "a string", int: "an integer", bool: "true or false", list: "a list", dict: "a table"}
