"""TOML files that users write: strict tables, and one sentence for whatever is wrong."""

import difflib
import tomllib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

from golden.refusal import BadKind, BadValue, Refusal

_T = TypeVar("_T")


def read(path: str | Path, make: Callable[[dict[str, Any], bytes], _T], what: str = "") -> _T:
    """What ``make`` makes of a file's table and bytes.

    Raises
    ------
    BadValue
        If the file cannot be read or is no TOML file, or ``make`` refuses it. It is about no argument; the sentence begins with
        ``what`` and the file's name.
    """
    name = f"{what}{str(path)!r}"
    try:
        raw = Path(path).read_bytes()
        table = tomllib.loads(raw.decode())
    except OSError as error:
        raise BadValue(None, f"{name} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise BadValue(None, f"{name} is no TOML file: {' '.join(str(error).split())}") from None
    try:
        return make(table, raw)
    except Refusal as refusal:
        raise BadValue(None, f"{name}: {' '.join(str(refusal).split())}") from None


def check_keys(table: Any, allowed: Collection[str], where: str, required: Collection[str] = ()) -> None:
    """Refuse, about ``where``, what is no table, has a key that is not ``allowed``, or lacks a ``required`` one."""
    if not isinstance(table, dict):
        raise BadKind(where, f"must be a table, not {table!r}")
    for key in table:
        if key not in allowed:
            near = difflib.get_close_matches(key, allowed, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"allowed are {', '.join(allowed) or 'none'}"
            raise BadValue(where, f"has an unknown key {key!r}; {hint}")
    for key in required:
        if key not in table:
            raise BadValue(where, f"needs a key {key!r}")


def check_table(table: Any, types: Mapping[str, type], where: str, required: Collection[str] = ()) -> None:
    """Refuse what :func:`check_keys` does, and values not of their keys' types: str, int, bool, list or dict."""
    check_keys(table, types, where, required)
    for key, value in table.items():
        if type(value) is not types[key]:
            raise BadKind(f"{where}: {key}", f"must be {_TYPE_NAMES[types[key]]}, not {value!r}")


_TYPE_NAMES = {str: "a string", int: "an integer", bool: "true or false", list: "a list", dict: "a table"}
