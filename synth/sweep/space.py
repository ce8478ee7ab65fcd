"""A design space: which blocks, with which options, on which targets. It is read from a TOML file, e.g. ::

    formats = ["hif8", "e5m2b1", "mine.toml"]      # or "all"
    targets = ["gates", "liberty"]                 # default: all targets, and the libraries
    liberty = ["one.lib", "two_a.lib,two_b.lib"]   # two libraries, the second in two files
    portfolio = "standard"
    renamings = 8
    seed = 1                                       # seed of the first renaming
    energy = ["gaussian", "sparse", "mine.npy"]    # also measure energies, on these data; default: none

    [mac]                                          # one table for each kind of block; an empty one takes the defaults
    accumulator = ["binary16", "binary32", "exact"]
    stages = [0, 2]                                # ranks of registers; 0 is combinational

    [encoder]
    rounding = ["default", "hybrid"]               # formats without this rounding are skipped

The options are those of ``hwgen area``, each with a list of values. Every valid combination is a design. The file with
the results of a sweep has the same bytes from any pool.
"""

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import golden
from golden import BadValue, Format
from golden.catalog import beside
from golden.refusal import about, check_choice, check_integer
from golden.tables import check_keys
from golden.tables import read as read_table
from hwgen.blocks.arguments import check_names, code_format
from hwgen.blocks.block import Block, Design, Option
from hwgen.blocks.catalog import BLOCKS as EVERY
from hwgen.tools.failures import naming
from hwgen.tools.files import staging
from hwgen.tools.progress import Progress
from synth.area import liberty
from synth.area.jobs import AS_EMITTED, MAX_RENAMINGS, MAX_SEED, Job
from synth.area.liberty import Libraries
from synth.area.plan import area_jobs
from synth.area.recipes import DEFAULT_PORTFOLIO, PORTFOLIOS, SPEED
from synth.area.runner import Outcome
from synth.area.store import Store, verilog
from synth.area.targets import LIBERTY, TARGETS, check_target
from synth.energy import library
from synth.energy.data import Data
from synth.energy.data import read as read_data
from synth.energy.job import PLACES, energy_jobs
from synth.energy.workload import MEASURED

DEFAULT = "default"
"""The value that stands for the default of each format."""

SWEEP_RENAMINGS = 8

BLOCKS = {name: block for name, block in EVERY.items() if block.formats}
"""The blocks that a sweep compares formats with."""

_KEYS = ("formats", "targets", "liberty", "portfolio", "renamings", "seed", "energy", *BLOCKS)


@dataclass(frozen=True)
class Space:
    """Content of a file: ``formats`` by name or path; ``blocks`` has the values of each option by kind of block."""

    formats: tuple[str, ...]
    targets: tuple[str, ...]
    libraries: Libraries
    portfolio: str
    renamings: int
    seed: int
    blocks: Mapping[str, Mapping[str, tuple[Any, ...]]]
    energies: tuple[Data, ...] = ()
    """Data on which energies are measured."""
    total: int = 0
    """Number of jobs of all designs."""

    def jobs(self, design: Design, text: str) -> Iterator[Job]:
        """The jobs of a design with this Verilog: one for each target or library, and with cells for each data.

        A library without a flip-flop for the design's registers is refused.
        """
        yield from area_jobs(design, text, self.targets, self.portfolio, self.renamings, self.libraries, self.seed)
        for data in self.energies if design.kind in MEASURED else ():
            yield from energy_jobs(
                design,
                text,
                [target for target in self.targets if target in PLACES],
                data,
                portfolio=self.portfolio,
                renamings=self.renamings,
                libraries=self.libraries,
                seed=self.seed,
            )

    def designs(self) -> Iterator[Design]:
        """All designs without duplicates; invalid combinations are skipped, two designs of one name refused."""
        identities: dict[str, tuple[Any, ...]] = {}
        for kind, options in self.blocks.items():
            for design in _designs(kind, self.formats, options):
                if isinstance(design, BadValue):
                    continue
                identity = (design.kind, design.options, design.formats)
                if identities.setdefault(design.name, identity) != identity:
                    problem = f"two different modules would be called {design.name!r}; rename one of the formats"
                    raise BadValue(None, problem)
                if identities[design.name] is identity:
                    yield design


def jobs(space: Space, store: Store) -> Iterator[Job]:
    """The jobs of a space, in an order that depends on the space alone; the store keeps their Verilog."""
    for design in space.designs():
        yield from space.jobs(design, verilog(design, store))


def write(space: Space, store: Store, failures: list[Outcome], folder: Path) -> Path:
    """Write ``sweep.json``: the ``rows`` of all jobs in the order of the space, and the ``failures``.

    Rows are read from the store one job at a time, so that memory does not grow with the sweep.
    """
    file = folder / "sweep.json"
    with naming(file), staging(folder) as draft, (draft / file.name).open("w", encoding="utf-8", newline="\n") as out:
        out.write('{"rows": [')
        separator = "\n"
        for job in jobs(space, store):
            samples = store.get(job.key)
            for row in job.rows(samples) if samples is not None else ():
                out.write(separator + json.dumps(row.to_json()))
                separator = ",\n"
        missing = sorted((outcome.job.top, outcome.job.target, outcome.error or "") for outcome in failures)
        failed = [{"name": name, "target": target, "error": error} for name, target, error in missing]
        out.write(f'],\n"failures": {json.dumps(failed, indent=1)}}}\n')
    return file


# -- combinations of options


def _swept(block: Block) -> dict[str, Option]:
    """The options of a block that a sweep may vary, by name: all but the first format."""
    return {option.name: option for option in block.all_options if option not in block.formats[:1]}


def _designs(kind: str, formats: Iterable[str], options: Mapping[str, tuple[Any, ...]]) -> Iterator[Design | BadValue]:
    """All combinations of a block's options; for an invalid one the refusal."""
    for name, values in product(formats, product(*options.values())):
        yield _design(BLOCKS[kind], name, dict(zip(options, values, strict=True)))


def _design(block: Block, name: str, chosen: Mapping[str, Any]) -> Design | BadValue:
    """One combination; options that mean nothing beside the others are left out."""
    options = [option for option in _swept(block).values() if chosen.get(option.name, DEFAULT) != DEFAULT]
    formats = [name, *(chosen[option.name] for option in options if option in block.formats)]
    options = [option for option in options if option not in block.formats]

    def design(used: Iterable[Option]) -> Design:
        made = block.design(*formats, **{option.argument: chosen[option.name] for option in used})
        made.core.check_ours()
        return made

    unconditional = [option for option in options if option.only_with is None]
    try:
        base = design(unconditional)
        applying = [option for option in options if option.only_with is not None and _applies(option, base)]
        return design([*unconditional, *applying]) if applying else base
    except BadValue as refusal:
        option = block.option(refusal.argument)
        if option is None:  # not about an option in the file
            raise
        return refusal.about(f"{block.name}.{option.name}")


def _applies(option: Option, design: Design) -> bool:
    """Whether a conditional option means anything beside the other options of a design."""
    assert option.only_with is not None
    name, required = option.only_with
    other = next(item for item in design.block.all_options if item.name == name)
    value = getattr(design.owner(other), other.attribute)
    return bool(value) if required is None else value in required


# -- the file


def read(path: str | Path, progress: Progress | None = None) -> Space:
    """Read the space that a file describes, and check all its designs; a Refusal names the file and the problem."""
    return read_table(path, lambda table, _: _space(table, Path(path).parent, progress or Progress(io.StringIO())))


def _space(table: dict[str, Any], folder: Path, progress: Progress) -> Space:
    check_keys(table, _KEYS, "the file")
    formats = table.get("formats", "all")
    names = [beside(folder, name) for name in (golden.names() if formats == "all" else _strings(formats, "formats"))]
    groups = _strings(table["liberty"], "liberty") if table.get("liberty", []) != [] else []
    libraries = liberty.read_all(",".join(_located(folder, file) for file in group.split(",")) for group in groups)
    portfolio = check_choice("portfolio", table.get("portfolio", DEFAULT_PORTFOLIO), tuple(PORTFOLIOS))
    from_libraries = [LIBERTY] if libraries else []
    default = [*(["gates"] if portfolio == SPEED else TARGETS), *from_libraries]
    targets = _strings(table.get("targets", default), "targets")
    for target in targets:
        check_target("targets", target, f"{LIBERTY} together with the key liberty", (*TARGETS, *from_libraries))
    renamings = check_integer("renamings", table.get("renamings", SWEEP_RENAMINGS), 1, MAX_RENAMINGS)
    seed = check_integer("seed", table.get("seed", 1), AS_EMITTED, MAX_SEED)
    blocks = {kind: _options(block, table[kind], folder) for kind, block in BLOCKS.items() if kind in table}
    _check_formats(names, blocks)
    if not blocks:
        raise BadValue(None, f"there must be a table for at least one of {', '.join(BLOCKS)}")
    energies = _energies(_strings(table["energy"], "energy"), folder, targets, blocks) if "energy" in table else ()
    if energies:
        for cells in libraries.values() if LIBERTY in targets else ():
            library.check(cells)
    space = Space(tuple(names), tuple(targets), libraries, portfolio, renamings, seed, blocks, energies)
    return replace(space, total=_checked(space, progress))


def _located(folder: Path, file: str) -> str:
    """The path of a file, which may be relative to the folder of the space's file."""
    return str(folder / file) if file and (folder / file).exists() else file


def _energies(names: Iterable[str], folder: Path, targets: Iterable[str], kinds: Iterable[str]) -> tuple[Data, ...]:
    """The data of energies; refused if two files have the same name, or no energy could be measured."""
    found: dict[str, Data] = {}
    for name in names:
        with about("energy"):
            data = read_data(_located(folder, name))
        if found.setdefault(data.name, data).sha256 != data.sha256:
            raise BadValue("energy", f"two different files are called {data.name}; rename one of them", ": ")
    if not any(target in PLACES for target in targets):
        raise BadValue("energy", f"needs one of the targets {' or '.join(PLACES)}")
    if not any(kind in MEASURED for kind in kinds):
        raise BadValue("energy", f"needs a table for at least one of {', '.join(MEASURED)}")
    return tuple(found.values())


def _checked(space: Space, progress: Progress) -> int:
    """Number of jobs; refuse a table without designs, and registers for which a library has no flip-flop."""
    kinds, total = set(), 0
    most = sum(len(space.formats) * prod(map(len, options.values())) for options in space.blocks.values())
    progress.start(most + 1)  # more than there are: the jobs follow
    for number, design in enumerate(space.designs(), 1):
        progress.advance(f"{number} of up to {most} designs are checked")
        kinds.add(design.kind)
        total += sum(1 for _ in space.jobs(design, ""))
    for kind in space.blocks:
        if kind not in kinds:
            first = next(_designs(kind, space.formats, space.blocks[kind]))
            raise BadValue(kind, f"no combination of format and options is valid; the first one fails: {first}", ": ")
    progress.clear()
    return total


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
        default = (DEFAULT,) if block.default(option) is None else ()
        if word not in (*default, *(allowed or ())):
            raise BadValue(where, f"must be one of {', '.join((*default, option.values))}, not {word!r}")
    return words


def _check_formats(names: Iterable[str], blocks: Mapping[str, Mapping[str, tuple[Any, ...]]]) -> None:
    """Refuse unknown formats, formats that a block does not take, and different formats with the same name."""
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
