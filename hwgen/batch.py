"""A batch of modules that a TOML file describes, e.g. ::

    [[module]]
    block = "mac"
    format = "hif8"
    accumulator = "binary16"
    name = "mac_hif8"              # default: made of the options

    [[module]]
    block = "encoder"
    format = "mine.toml"           # beside this file
    rounding = "stochastic"
    random-bits = 8

Keys are the options of ``hwgen generate``.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from golden.tables import check_keys
from hwgen import build, tomlfile
from hwgen.build import Design

_KEYS: dict[str, dict[str, tuple[str, type]]] = {
    "decoder": {"to": ("to", str)},
    "encoder": {
        "from": ("source", str), "rounding": ("rounding", str), "overflow": ("overflow", str), "nan-to-zero": ("nan_to_zero", bool),
        "random-bits": ("random_bits", int),
    },
    "mac": {"format-b": ("format_b", str), "accumulator": ("accumulator", str), "terms": ("terms", int)},
}  # fmt: skip
"""By block: keys, the arguments of :mod:`hwgen.build` that they are, and their types."""

_ONLY = {"terms": ("accumulator", "exact"), "random-bits": ("rounding", "stochastic")}
"""Keys that go with one value of another."""


def read(path: str | Path) -> list[Design]:
    """The designs of a file, in its order.

    Raises
    ------
    ValueError
        One sentence that names the file, the module and the key.
    """
    return tomlfile.read(path, _designs)


def _designs(table: dict[str, Any], folder: Path) -> list[Design]:
    check_keys(table, ("module",), "the file", ("module",))
    modules = table["module"]
    if not isinstance(modules, list) or not modules:
        raise ValueError("module must be an array of tables: [[module]]")
    designs = [_design(entry, f"module {number}", folder) for number, entry in enumerate(modules, 1)]
    names = [design.name for design in designs]
    for number, name in enumerate(names, 1):
        if name in names[: number - 1]:
            raise ValueError(f"module {number}: name {name!r} is that of module {names.index(name) + 1}; give it another one")
    return designs


def _design(entry: Any, where: str, folder: Path) -> Design:
    check_keys(entry, {"block": str, **dict.fromkeys(key for keys in _KEYS.values() for key in keys), "format": str, "name": str}, where)
    block = entry.get("block")
    if block not in _KEYS:
        raise ValueError(f"{where}: block must be one of {', '.join(_KEYS)}, not {block!r}")
    keys = {**_KEYS[block], "format": ("format", str), "name": ("name", str)}
    check_keys(entry, ("block", *keys), where, ("format",))
    arguments: dict[str, Any] = {}
    for key, (argument, kind) in keys.items():
        if key in entry:
            if type(entry[key]) is not kind:
                raise ValueError(f"{where}: {key} must be {_NAMES[kind]}, not {entry[key]!r}")
            arguments[argument] = entry[key]
    for key, (other, value) in _ONLY.items():
        if key in entry and entry.get(other) != value:
            raise ValueError(f"{where}: {key} goes with {other} = {value!r} only")
    try:
        fmt = build.block_format(tomlfile.beside(folder, arguments.pop("format")))
        if "format_b" in arguments:
            arguments["format_b"] = build.block_format(tomlfile.beside(folder, arguments["format_b"]))
        make: Callable[..., Design] = build.BLOCKS[block]
        return make(fmt, **arguments)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


_NAMES = {str: "a string", int: "an integer", bool: "true or false"}
