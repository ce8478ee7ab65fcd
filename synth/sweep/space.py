"""A design space: which blocks, with which options, on which targets. Read from a TOML file, e.g. ::

    formats = ["hif8", "e5m2b1", "mine.toml"]      # or "all"
    targets = ["gates", "cyclonev", "xc7"]         # default: all; "liberty" goes with liberty = ["one.lib", "two_a.lib,two_b.lib"]
    portfolio = "standard"
    renamings = 8
    seed = 1                                       # of the first renaming

    [mac]                                          # a table for each kind of block; an empty one takes the defaults
    accumulator = ["binary16", "binary32", "exact"]
    terms = [64, 1024]
    stages = [0, 2]                                # ranks of registers; 0 is combinational

    [encoder]
    from = ["binary32", "bfloat16"]
    rounding = ["default", "hybrid"]               # formats that lack a rounding are left out there

Options are those of ``hwgen area``, each with a list of values; every combination is a design, but for those that do not go together.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import golden
from golden import ACCUMULATORS, WIDE, Overflow, Rounding
from golden.catalog import beside
from golden.exact import MAX_SCALE_BITS, MAX_TERMS
from golden.tables import check_keys
from golden.tables import read as read_table
from hwgen.blocks import build
from hwgen.blocks.decoder import TARGETS as DECODER_TARGETS
from hwgen.blocks.design import Design, block_format, check_names
from hwgen.blocks.dot import MAX_LANES
from hwgen.netlist.pipeline import MAX_STAGES
from synth.area import liberty
from synth.area.jobs import MAX_RENAMINGS, MAX_SEED
from synth.area.liberty import Libraries, check_flip_flop
from synth.area.recipes import DEFAULT_PORTFOLIO, PORTFOLIOS, SPEED
from synth.area.targets import LIBERTY, TARGETS, find, timed

DEFAULT = "default"
"""Stands for a format's own default."""

SWEEP_RENAMINGS = 8

_SUM = ("format-b", "accumulator", "terms")
_BLOCKS: dict[str, tuple[str, ...]] = {
    "decoder": ("to", "stages"),
    "encoder": ("from", "rounding", "overflow", "flags", "stages"),
    "multiplier": ("format-b",),
    "adder": _SUM,
    "mac": (*_SUM, "scale-bits", "flags", "stages"),
    "dot": (*_SUM, "lanes", "scale-bits", "flags", "stages"),
    "pe": (*_SUM, "lanes", "scale-bits", "flags", "stages", "interleave"),
    "readout": ("format-b", "terms", "scale-bits", "to", "rounding", "overflow", "stages"),
}
"""By kind of block the options that are swept; the order of designs is that of the options."""
_WORDS: dict[str, tuple[str, ...]] = {
    "to": DECODER_TARGETS, "from": WIDE, "accumulator": ACCUMULATORS,
    "rounding": (DEFAULT, *(rounding.value for rounding in Rounding)),
    "overflow": (DEFAULT, *(overflow.value for overflow in Overflow)),
}  # fmt: skip
_COUNTS = {
    "terms": (1, MAX_TERMS), "lanes": (1, MAX_LANES), "scale-bits": (0, MAX_SCALE_BITS), "stages": (0, MAX_STAGES),
    "interleave": (1, MAX_STAGES + 1),
}  # fmt: skip
"""Values that an option may have: words, or integers from one to another."""
_KEYS = ("formats", "targets", "liberty", "portfolio", "renamings", "seed", *_BLOCKS)


@dataclass(frozen=True)
class Space:
    """What a file describes.

    Attributes
    ----------
    formats : tuple of str
        Names or paths.
    targets : tuple of str
    libraries : mapping
        Of target ``liberty``, by the names of their files.
    portfolio : str
    renamings, seed : int
        How many, and the seed of the first.
    blocks : mapping of str to mapping of str to tuple
        By kind of block the values of each option.
    """

    formats: tuple[str, ...]
    targets: tuple[str, ...]
    libraries: Libraries
    portfolio: str
    renamings: int
    seed: int
    blocks: Mapping[str, Mapping[str, tuple[Any, ...]]]

    @property
    def places(self) -> int:
        """Jobs of each design: targets, each library counted."""
        return sum(len(self.libraries) if target == LIBERTY else 1 for target in self.targets)

    def designs(self) -> Iterator[Design]:
        """Every design, each once; what does not go together, or a format lacks, is left out.

        Raises
        ------
        ValueError
            When two different designs would have one name.
        """
        seen: dict[str, tuple[Any, ...]] = {}
        for kind, options in self.blocks.items():
            for name, values in product(self.formats, product(*options.values())):
                chosen = dict(zip(options, values, strict=True))
                design = _design(kind, name, chosen)
                if design is None:
                    continue
                made_of = (design.kind, design.options, design.formats)
                if seen.setdefault(design.name, made_of) != made_of:
                    raise ValueError(f"two different modules would be called {design.name!r}; give one of the formats another name")
                if seen[design.name] is made_of:
                    yield design


def _design(kind: str, name: str, chosen: Mapping[str, Any]) -> Design | None:
    """None where the options do not go together, or the format lacks one."""
    given = {"source" if key == "from" else key.replace("-", "_"): value for key, value in chosen.items() if value != DEFAULT}
    if "accumulator" in _BLOCKS[kind] and given.get("accumulator") != "exact":
        given.pop("terms", None)
    try:
        return build.BLOCKS[kind](block_format(name), **given)
    except ValueError:
        return None


def read(path: str | Path) -> Space:
    """The space that a file describes.

    Raises
    ------
    ValueError
        One sentence that names the file and what is wrong.
    """
    return read_table(path, lambda table, _: _space(table, Path(path).parent))


def _space(table: dict[str, Any], folder: Path) -> Space:
    check_keys(table, _KEYS, "the file")
    formats = table.get("formats", "all")
    names = golden.names() if formats == "all" else _strings(formats, "formats")
    names = [beside(folder, name) for name in names]
    words = _strings(table.get("liberty", []), "liberty")
    near = [[str(folder / file) if (folder / file).exists() else file for file in word.split(",")] for word in words]
    libraries = liberty.read_all(",".join(files) for files in near)
    portfolio = table.get("portfolio", DEFAULT_PORTFOLIO)
    _one_of(portfolio, tuple(PORTFOLIOS), "portfolio")
    default = [*(["gates"] if portfolio == SPEED else TARGETS), *([LIBERTY] if libraries else [])]
    targets = _strings(table.get("targets", default), "targets")
    for target in targets:
        if target not in TARGETS and not (target == LIBERTY and libraries):
            raise ValueError(f"targets must be one of {', '.join(TARGETS)}, or {LIBERTY} together with the key liberty, not {target!r}")
        if portfolio == SPEED:
            for cells in libraries.values() if target == LIBERTY else [()]:
                timed(find(target, cells), cells)
    renamings = _number(table, "renamings", SWEEP_RENAMINGS, MAX_RENAMINGS)
    seed = _number(table, "seed", 1, MAX_SEED)
    blocks = {kind: _options(kind, table[kind], folder) for kind in _BLOCKS if kind in table}
    _check_formats(names, blocks)
    if not blocks:
        raise ValueError(f"there must be a table for at least one of {', '.join(_BLOCKS)}")
    space = Space(tuple(names), tuple(targets), libraries, portfolio, renamings, seed, blocks)
    _check_designs(space)
    return space


def _check_designs(space: Space) -> None:
    """Refuse, before the first job, a table without designs, and registers for which a library has no flip-flop."""
    empty = dict.fromkeys(space.blocks)
    for design in space.designs():
        empty.pop(design.kind, None)
        for cells in space.libraries.values() if design.latency and LIBERTY in space.targets else ():
            check_flip_flop(cells, design.name)
    for kind in empty:
        raise ValueError(f"{kind}: no format has any of the options: there is nothing to measure")


def _options(kind: str, table: Any, folder: Path) -> dict[str, tuple[Any, ...]]:
    check_keys(table, _BLOCKS[kind], kind)
    return {key: tuple(_values(kind, key, table[key], folder)) for key in _BLOCKS[kind] if key in table}


def _values(kind: str, key: str, value: Any, folder: Path) -> list[Any]:
    where = f"{kind}.{key}"
    if key in _COUNTS:
        least, most = _COUNTS[key]
        return _list(value, where, f"integers from {least} to {most}", lambda item: type(item) is int and least <= item <= most)
    if key == "flags":
        return _list(value, where, "true or false", lambda item: type(item) is bool)
    words = _strings(value, where)
    if key == "format-b" or (kind, key) == ("readout", "to"):
        return [word if word == DEFAULT else beside(folder, word) for word in words]
    for word in words:
        _one_of(word, _WORDS[key], where)
    return words


def _check_formats(names: Iterable[str], blocks: Mapping[str, Mapping[str, tuple[Any, ...]]]) -> None:
    """Refuse formats that are unknown, that blocks are not made for, or that differ and have one name."""
    second = (name for options in blocks.values() for name in options.get("format-b", ()) if name != DEFAULT)
    check_names(*map(block_format, (*names, *second)), *map(golden.get, blocks.get("readout", {}).get("to", ())))


def _number(table: Mapping[str, Any], key: str, default: int, most: int) -> int:
    value = table.get(key, default)
    if type(value) is not int or not 1 <= value <= most:
        raise ValueError(f"{key} must be an integer from 1 to {most}, not {value!r}")
    return int(value)


def _strings(value: Any, where: str) -> list[str]:
    return [] if where == "liberty" and value == [] else _list(value, where, "strings", lambda item: isinstance(item, str))


def _list(value: Any, where: str, of: str, holds: Callable[[Any], bool]) -> list[Any]:
    if not isinstance(value, list) or not value or not all(map(holds, value)):
        raise ValueError(f"{where} must be a list of {of}, not {value!r}")
    return list(dict.fromkeys(value))


def _one_of(value: Any, allowed: tuple[str, ...], where: str) -> None:
    if value not in allowed:
        raise ValueError(f"{where} must be one of {', '.join(allowed)}, not {value!r}")
