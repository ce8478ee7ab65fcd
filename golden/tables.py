"""Tables that users write as TOML files: unknown keys are refused, with a suggestion."""

import difflib
from collections.abc import Collection
from typing import Any


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
