"""Commands that write Verilog: one block, or the modules that a batch file lists.

A batch file is a TOML file, for example ::

    [[module]]
    block = "mac"
    format = "hif8"
    accumulator = "binary16"
    name = "mac_hif8"              # default: derived from the options

    [[module]]
    block = "encoder"
    format = "mine.toml"           # relative to this file
    rounding = "stochastic"
    random-bits = 8

Keys are the options of ``hwgen generate``.
"""

import argparse
import re
from collections.abc import Mapping, Sequence
from inspect import Parameter
from pathlib import Path
from typing import Any

from golden import Format
from golden.catalog import beside
from golden.refusal import BadValue, Refusal, about, check_choice
from golden.tables import check_keys, check_table
from golden.tables import read as read_table
from hwgen.blocks.block import Block, Design
from hwgen.cli.parser import GENERATED, design_from, design_of

_MODULE = re.compile(r"^\s*module\s+(\w+)", re.MULTILINE)


def generate(arguments: argparse.Namespace) -> int:
    """Write the bundle of a block."""
    return _write([design_from(arguments)], arguments.output)


def build(arguments: argparse.Namespace) -> int:
    """Write the bundles of the modules that a file lists."""
    with about("FILE"):
        designs = read(arguments.file)
    return _write(designs, arguments.output)


def _write(designs: Sequence[Design], output: str) -> int:
    """Write bundles and print the paths of the Verilog; write none before all are made and their folders checked."""
    from hwgen.bundle.files import files
    from hwgen.model.files import TEMPLATES
    from hwgen.model.words import is_taken
    from hwgen.tools.files import check_writable, write_folder

    for design in designs:
        if design.kind in TEMPLATES and is_taken(design.name):
            problem = f"name {design.name!r} is a word of C or C++, or of their libraries"
            raise BadValue(None, f"{problem}; choose another one")
    parent = Path(output)
    with about("-o"):
        for design in designs:
            check_writable(parent / design.name)
    bundles = [files(design, design.verilog()) for design in designs]
    with about("FILE"):
        _check_modules(designs, bundles)
    with about("-o"):
        for design, bundle in zip(designs, bundles, strict=True):
            check_writable(parent / design.name, bundle)
        for design, bundle in zip(designs, bundles, strict=True):
            folder = write_folder(parent, design.name, bundle)
            print(folder / f"{design.name}.v")
    return 0


def _check_modules(designs: Sequence[Design], bundles: Sequence[Mapping[str, str]]) -> None:
    """Refuse a name that a module in another bundle has, or its model; file systems may not distinguish cases."""
    numbers = {design.name.lower(): number for number, design in enumerate(designs, 1)}
    for owner, bundle in enumerate(bundles, 1):
        for path, text in bundle.items():
            names = rf"\b{designs[owner - 1].name}_\w+" if path.startswith("model/") else _MODULE
            for name in re.findall(names, text) if path.endswith((".v", ".h", ".c")) else ():
                number = numbers.get(name.lower(), owner)
                if number != owner:
                    part = "part of the model" if path.startswith("model/") else "module in the bundle"
                    taken = f"is that of a {part} of module {owner}"
                    chosen = designs[number - 1].name
                    raise BadValue(None, f"module {number}: name {chosen!r} {taken}; choose another one")


# -- batch files


def read(path: str | Path) -> list[Design]:
    """Return the designs of a batch file, in its order; a refusal names the file, the module and the key."""
    return read_table(path, lambda table, _: _designs(table, Path(path).parent))


def _designs(table: dict[str, Any], folder: Path) -> list[Design]:
    check_keys(table, ("module",), "the file", ("module",))
    modules = table["module"]
    if not isinstance(modules, list) or not modules:
        raise BadValue("module", "must be an array of tables: [[module]]")
    designs = [_design(entry, f"module {number}", folder) for number, entry in enumerate(modules, 1)]
    numbers: dict[str, int] = {}  # by lower-case name: some file systems do not distinguish cases
    for number, design in enumerate(designs, 1):
        first = numbers.setdefault(design.name.lower(), number)
        if first != number:
            raise BadValue(f"module {number}: name", f"{design.name!r} is taken by module {first}; choose another one")
    return designs


def _keys(block: Block) -> dict[str, type]:
    """The keys of a block's table and the types of their values."""
    return {option.name: str if option.kind is Format else option.kind for option in block.all_options}


def _design(entry: Any, where: str, folder: Path) -> Design:
    check_keys(entry, entry, where, ("block",))
    block = GENERATED[check_choice(f"{where}: block", entry["block"], tuple(GENERATED))]
    required = [option.name for option in block.all_options if block.default(option) is Parameter.empty]
    check_table(entry, {"block": str, **_keys(block), "name": str}, where, required)
    chosen = {
        option.argument: beside(folder, entry[option.name]) if option.kind is Format else entry[option.name]
        for option in block.all_options
        if option.name in entry
    }
    try:
        return design_of(block, chosen, entry.get("name"), lambda name: f"{where}: {name}")
    except Refusal as refusal:
        raise (refusal.about(where) if refusal.argument is None else refusal) from refusal
