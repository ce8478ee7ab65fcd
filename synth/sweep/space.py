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

Options are those of ``hwgen area``, each with a list of values; every combination is a design.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import golden
from golden import ACCUMULATORS, WIDE, Overflow, Rounding
from golden.catalog import beside
from golden.tables import check_keys
from golden.tables import read as read_table
from hwgen import build
from hwgen.decoder import TARGETS as DECODER_TARGETS
from hwgen.design import Design, block_format
from hwgen.pipeline import MAX_STAGES
from hwgen.sums import DEFAULT_TERMS
from synth import liberty
from synth.jobs import MAX_RENAMINGS, MAX_SEED
from synth.liberty import Libraries
from synth.recipes import DEFAULT_PORTFOLIO, PORTFOLIOS, SPEED
from synth.targets import LIBERTY, TARGETS, find, timed

DEFAULT = "default"
"""Stands for a format's own default."""

SWEEP_RENAMINGS = 8

_CHOICES: dict[str, dict[str, tuple[str, ...]]] = {
    "decoder": {"to": DECODER_TARGETS},
    "encoder": {
        "from": WIDE, "rounding": (DEFAULT, *(rounding.value for rounding in Rounding)),
        "overflow": (DEFAULT, *(overflow.value for overflow in Overflow)),
    },
    "multiplier": {},
    "adder": {"accumulator": ACCUMULATORS},
    "mac": {"accumulator": ACCUMULATORS},
}  # fmt: skip
_STAGED = ("decoder", "encoder", "mac")
"""Blocks that there are pipelines of."""
_BY_DEFAULT = {"to": ["binary16"], "from": ["binary32"], "rounding": [DEFAULT], "overflow": [DEFAULT], "accumulator": ["binary16"]}
_KEYS = ("formats", "targets", "liberty", "portfolio", "renamings", "seed", *_CHOICES)


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
        """Every design, each once; combinations that a format lacks are left out.

        Raises
        ------
        ValueError
            When two different designs would have one name, or terms are too many.
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
    fmt = block_format(name)
    match kind:
        case "decoder":
            return build.BLOCKS[kind](fmt, chosen["to"], stages=chosen["stages"])
        case "encoder":
            rounding, overflow = (None if chosen[key] == DEFAULT else chosen[key] for key in ("rounding", "overflow"))
            if rounding not in (None, *fmt.roundings) or overflow not in (None, *fmt.overflows):
                return None
            try:
                return build.BLOCKS[kind](fmt, chosen["from"], rounding, overflow, stages=chosen["stages"])
            except ValueError:  # a rounding that goes with other sources or another overflow rule
                return None
        case "multiplier":
            return build.multiplier(fmt)
    terms = chosen["terms"] if chosen["accumulator"] == "exact" else None
    stages = {"stages": chosen["stages"]} if kind in _STAGED else {}
    return build.BLOCKS[kind](fmt, None, chosen["accumulator"], terms, **stages)


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
    for name in names:
        block_format(name)
    words = _strings(table.get("liberty", []), "liberty")
    near = [[str(folder / file) if (folder / file).exists() else file for file in word.split(",")] for word in words]
    libraries = liberty.read_all(",".join(files) for files in near)
    portfolio = table.get("portfolio", DEFAULT_PORTFOLIO)
    _one_of(portfolio, tuple(PORTFOLIOS), "portfolio")
    default = [*(["gates"] if portfolio == SPEED else TARGETS), *([LIBERTY] if libraries else [])]
    targets = _strings(table.get("targets", default), "targets")
    for target in targets:
        _one_of(target, (*TARGETS, *([LIBERTY] if libraries else [])), "targets")
        if portfolio == SPEED:
            for cells in libraries.values() if target == LIBERTY else [()]:
                timed(find(target, cells), cells)
    renamings = _number(table, "renamings", SWEEP_RENAMINGS, MAX_RENAMINGS)
    seed = _number(table, "seed", 1, MAX_SEED)
    blocks = {kind: _options(kind, table[kind]) for kind in _CHOICES if kind in table}
    if not blocks:
        raise ValueError(f"there must be a table for at least one of {', '.join(_CHOICES)}")
    space = Space(tuple(names), tuple(targets), libraries, portfolio, renamings, seed, blocks)
    if next(space.designs(), None) is None:
        raise ValueError("no format has any of the options: there is nothing to measure")
    return space


def _options(kind: str, table: Any) -> dict[str, tuple[Any, ...]]:
    choices = _CHOICES[kind]
    allowed = (*choices, *(("terms",) if "accumulator" in choices else ()), *(("stages",) if kind in _STAGED else ()))
    check_keys(table, allowed, kind)
    options: dict[str, tuple[Any, ...]] = {}
    for key, values in choices.items():
        given = _strings(table.get(key, _BY_DEFAULT[key]), f"{kind}.{key}")
        for value in given:
            _one_of(value, values, f"{kind}.{key}")
        options[key] = tuple(given)
    if "terms" in allowed:
        terms = table.get("terms", [DEFAULT_TERMS])
        if not isinstance(terms, list) or not terms or any(type(count) is not int or count < 1 for count in terms):
            raise ValueError(f"{kind}.terms must be a list of positive integers, not {terms!r}")
        options["terms"] = tuple(terms)
    if "stages" in allowed:
        stages = table.get("stages", [0])
        if not isinstance(stages, list) or not stages or any(type(count) is not int or not 0 <= count <= MAX_STAGES for count in stages):
            raise ValueError(f"{kind}.stages must be a list of integers from 0 to {MAX_STAGES}, not {stages!r}")
        options["stages"] = tuple(stages)
    return options


def _number(table: Mapping[str, Any], key: str, default: int, most: int) -> int:
    value = table.get(key, default)
    if type(value) is not int or not 1 <= value <= most:
        raise ValueError(f"{key} must be an integer from 1 to {most}, not {value!r}")
    return int(value)


def _strings(value: Any, where: str) -> list[str]:
    if not isinstance(value, list) or (not value and where != "liberty") or not all(isinstance(item, str) for item in value):
        raise ValueError(f"{where} must be a list of strings, not {value!r}")
    return list(dict.fromkeys(value))


def _one_of(value: Any, allowed: tuple[str, ...], where: str) -> None:
    if value not in allowed:
        raise ValueError(f"{where} must be one of {', '.join(allowed)}, not {value!r}")
