"""A design space: which blocks, with which options, on which targets. Read from a TOML file, e.g. ::

    formats = ["hif8", "e5m2b1", "mine.toml"]      # or "all"
    targets = ["gates", "cyclonev", "xc7"]         # default: all; "liberty" goes with liberty = ["one.lib",
    "two_a.lib,two_b.lib"] portfolio = "standard" renamings = 8 seed = 1                                       # of the
    first renaming

    [mac]                                          # a table for each kind of block; an empty one takes the defaults
    accumulator = ["binary16", "binary32", "exact"]
    terms = [64, 1024]
    stages = [0, 2]                                # ranks of registers; 0 is combinational

    [encoder]
    from = ["binary32", "bfloat16"]
    rounding = ["default", "hybrid"]               # formats that lack a rounding are left out there

Options are those of ``hwgen area``, each with a list of values; every combination is a design, but for those that do
not go together.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import golden
from golden import BadValue, Format
from golden.catalog import beside
from golden.refusal import about, check_choice, check_integer
from golden.tables import check_keys
from golden.tables import read as read_table
from hwgen.blocks.arguments import check_names, code_format
from hwgen.blocks.block import PIPELINE, Block, Design, Option
from hwgen.blocks.catalog import BLOCKS
from synth.area import liberty
from synth.area.jobs import MAX_RENAMINGS, MAX_SEED
from synth.area.liberty import Libraries, check_flip_flop
from synth.area.recipes import DEFAULT_PORTFOLIO, PORTFOLIOS, SPEED
from synth.area.targets import LIBERTY, TARGETS, check_target, find, timed

DEFAULT = "default"
"""Stands for a format's own default."""

SWEEP_RENAMINGS = 8

_KEYS = ("formats", "targets", "liberty", "portfolio", "renamings", "seed", *BLOCKS)


@dataclass(frozen=True)
class Space:
    """What a file describes: formats by name or path, and by kind of block the values of each option."""

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
        BadValue
            When two different designs would have one name.
        """
        seen: dict[str, tuple[Any, ...]] = {}
        for kind, options in self.blocks.items():
            for design in _designs(kind, self.formats, options):
                if isinstance(design, BadValue):
                    continue
                made_of = (design.kind, design.options, design.formats)
                if seen.setdefault(design.name, made_of) != made_of:
                    raise BadValue(
                        None,
                        f"two different modules would be called {design.name!r}; give one of the formats another name",
                    )
                if seen[design.name] is made_of:
                    yield design


def _swept(block: Block) -> dict[str, Option]:
    """The options of a block that a sweep may vary, by name, in the order of the designs: all but the first format."""
    return {option.name: option for option in block.all_options if option is not block.formats[0]}


def _designs(kind: str, formats: Iterable[str], options: Mapping[str, tuple[Any, ...]]) -> Iterator[Design | BadValue]:
    """All combinations of a block's options, and what is wrong with those that are no design."""
    for name, values in product(formats, product(*options.values())):
        yield _design(BLOCKS[kind], name, dict(zip(options, values, strict=True)))


def _design(block: Block, name: str, chosen: Mapping[str, Any]) -> Design | BadValue:
    """A refusal where the options do not go together, or the format lacks one."""
    options = {
        option: chosen[option.name] for option in _swept(block).values() if chosen.get(option.name, DEFAULT) != DEFAULT
    }
    formats = [name, *(value for option, value in options.items() if option in block.formats)]
    given = {option: value for option, value in options.items() if option not in block.formats}
    conditional = [option for option in given if option.only_with is not None]
    try:
        design = block.design(
            *formats, **{option.argument: given[option] for option in given if option not in conditional}
        )
        applying = [option for option in conditional if _applies(option, design)]
        if applying:
            chosen_too = {
                option: value for option, value in given.items() if option not in conditional or option in applying
            }
            design = block.design(*formats, **{option.argument: value for option, value in chosen_too.items()})
    except BadValue as refusal:
        option = block.option(refusal.argument)
        if option is None:  # no choice of the file's
            raise
        return refusal.about(f"{block.name}.{option.name}")
    return design


def _applies(option: Option, design: Design) -> bool:
    """Whether an option means anything beside a design's others; where not, it is left out, so that its values make one
    design.
    """
    assert option.only_with is not None
    name, wanted = option.only_with
    other = next(each for each in design.block.all_options if each.name == name)
    value = getattr(design.pipeline if other in PIPELINE else design.core, other.attribute)
    return bool(value) if wanted is None else bool(value == wanted)


def read(path: str | Path) -> Space:
    """The space that a file describes; a Refusal names the file and what is wrong."""
    return read_table(path, lambda table, _: _space(table, Path(path).parent))


def _space(table: dict[str, Any], folder: Path) -> Space:
    check_keys(table, _KEYS, "the file")
    formats = table.get("formats", "all")
    names = [beside(folder, name) for name in (golden.names() if formats == "all" else _strings(formats, "formats"))]
    words = _strings(table["liberty"], "liberty") if table.get("liberty", []) != [] else []
    near = [
        [str(folder / file) if file and (folder / file).exists() else file for file in word.split(",")]
        for word in words
    ]
    libraries = liberty.read_all(",".join(files) for files in near)
    portfolio = check_choice("portfolio", table.get("portfolio", DEFAULT_PORTFOLIO), tuple(PORTFOLIOS))
    default = [*(["gates"] if portfolio == SPEED else TARGETS), *([LIBERTY] if libraries else [])]
    targets = _strings(table.get("targets", default), "targets")
    for target in targets:
        check_target(
            "targets", target, f"{LIBERTY} together with the key liberty", (*TARGETS, *([LIBERTY] if libraries else []))
        )
        if portfolio == SPEED:
            for cells in libraries.values() if target == LIBERTY else [()]:
                timed(find(target, cells), cells)
    renamings = check_integer("renamings", table.get("renamings", SWEEP_RENAMINGS), 1, MAX_RENAMINGS)
    seed = check_integer("seed", table.get("seed", 1), 1, MAX_SEED)
    blocks = {kind: _options(block, table[kind], folder) for kind, block in BLOCKS.items() if kind in table}
    _check_formats(names, blocks)
    if not blocks:
        raise BadValue(None, f"there must be a table for at least one of {', '.join(BLOCKS)}")
    space = Space(tuple(names), tuple(targets), libraries, portfolio, renamings, seed, blocks)
    _check_designs(space)
    return space


def _check_designs(space: Space) -> None:
    """Refuse, before the first job, a table without designs, and registers for which a library has no flip-flop."""
    kinds = set()
    for design in space.designs():
        kinds.add(design.kind)
        for cells in space.libraries.values() if design.latency and LIBERTY in space.targets else ():
            check_flip_flop(cells, design.name)
    for kind in space.blocks:
        if kind not in kinds:
            first = next(_designs(kind, space.formats, space.blocks[kind]))
            raise BadValue(
                kind,
                f"no format has any of the options: there is nothing to measure; of the first format, {first}",
                ": ",
            )


def _options(block: Block, table: Any, folder: Path) -> dict[str, tuple[Any, ...]]:
    options = _swept(block)
    check_keys(table, tuple(options), block.name)
    return {key: tuple(_values(block, options[key], table[key], folder)) for key in options if key in table}


def _values(block: Block, option: Option, value: Any, folder: Path) -> list[Any]:
    where, allowed = f"{block.name}.{option.name}", option.allowed
    if option.kind is bool:
        return _list(value, where, option.values, lambda item: type(item) is bool)
    if isinstance(allowed, range):
        return _list(value, where, option.values, lambda item: type(item) is int and item in allowed)
    words = [option.spelled(word) for word in _strings(value, where)]
    if option.kind is Format:
        return [word if word == DEFAULT else beside(folder, word) for word in words]
    for word in words:
        check_choice(where, word, (*((DEFAULT,) if block.default(option) is None else ()), *(allowed or ())))
    return words


def _check_formats(names: Iterable[str], blocks: Mapping[str, Mapping[str, tuple[Any, ...]]]) -> None:
    """Refuse formats that are unknown, that blocks are not made for, or that differ and have one name."""
    formats = [code_format("formats", name) for name in names]
    for kind, options in blocks.items():
        for option in _swept(BLOCKS[kind]).values():
            if option.kind is Format:
                where, check = f"{kind}.{option.name}", code_format if option in BLOCKS[kind].formats else _any_format
                formats += [check(where, name) for name in options.get(option.name, ()) if name != DEFAULT]
    for place, fmt in enumerate(formats):
        check_names("formats", fmt, *formats[:place])


def _any_format(where: str, name: str) -> Format:
    with about(where):
        return golden.get(name)


def _strings(value: Any, where: str) -> list[str]:
    return _list(value, where, "strings", lambda item: isinstance(item, str))


def _list(value: Any, where: str, of: str, holds: Callable[[Any], bool]) -> list[Any]:
    if not isinstance(value, list) or not value or not all(map(holds, value)):
        raise BadValue(where, f"must be a list of {of}, not {value!r}")
    return list(dict.fromkeys(value))
