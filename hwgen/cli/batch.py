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

from pathlib import Path
from typing import Any

from golden.catalog import beside, get
from golden.tables import check_keys, check_table
from golden.tables import read as read_table
from hwgen.blocks import build
from hwgen.blocks.design import Design, block_format

_PIPELINE: dict[str, type] = {"stages": int, "reset": str, "clock-enable": bool}
_SUMS: dict[str, type] = {"format-b": str, "accumulator": str, "terms": int, "scale-bits": int, "flags": bool}
_KEYS: dict[str, dict[str, type]] = {
    "decoder": {"to": str, **_PIPELINE},
    "encoder": {
        "from": str, "rounding": str, "overflow": str, "nan-to-zero": bool, "random-bits": int, "rounding-pin": bool, "flags": bool,
        **_PIPELINE,
    },
    "mac": {**_SUMS, **_PIPELINE},
    "dot": {**_SUMS, "lanes": int, **_PIPELINE},
    "readout": {
        "format-b": str, "terms": int, "scale-bits": int, "to": str, "rounding": str, "overflow": str, "nan-to-zero": bool,
        "random-bits": int, **_PIPELINE,
    },
    "pe": {**_SUMS, "stages": int, "interleave": int, "lanes": int},
}  # fmt: skip
"""By block: keys and their types."""

_ARGUMENTS = {"format": "fmt", "from": "source"}
"""Arguments of :mod:`hwgen.blocks.build` that have other names than the keys."""


def read(path: str | Path) -> list[Design]:
    """The designs of a file, in its order.

    Raises
    ------
    ValueError
        One sentence that names the file, the module and the key.
    """
    return read_table(path, lambda table, _: _designs(table, Path(path).parent))


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
    check_keys(entry, ("block", *(key for keys in _KEYS.values() for key in keys), "format", "name"), where, ("block",))
    block = entry["block"]
    if block not in tuple(_KEYS):
        raise ValueError(f"{where}: block must be one of {', '.join(_KEYS)}, not {block!r}")
    check_table(entry, {"block": str, **_KEYS[block], "format": str, "name": str}, where, ("format",))
    arguments = {_ARGUMENTS.get(key, key.replace("-", "_")): value for key, value in entry.items() if key != "block"}
    try:
        for key in ("fmt", "format_b"):
            if key in arguments:
                arguments[key] = block_format(beside(folder, arguments[key]))
        if block == "readout" and "to" in arguments:
            arguments["to"] = get(beside(folder, arguments["to"]))
        return build.BLOCKS[block](**arguments)
    except ValueError as error:  # its sentence may begin with an argument's name
        word, _, rest = str(error).partition(" ")
        key = word.replace("_", "-")
        raise ValueError(f"{where}: {key if key in _KEYS[block] else word} {rest}") from error
