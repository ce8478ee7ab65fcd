"""The command line's grammar: commands, and the options of blocks from their table."""

import argparse
import difflib
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from inspect import Parameter
from itertools import takewhile
from pathlib import Path
from typing import Any, NoReturn

from golden import Format, Refusal
from golden.catalog import beside
from golden.refusal import BadValue
from hwgen.blocks.block import Block, Design, Option
from hwgen.sources import ListFile
from hwgen.tile.block import EVERY, TILE

Run = Callable[[argparse.Namespace], int]
"""A command: a function from its arguments to the exit status."""

_EPILOG = """\
On bad input the command prints one sentence, writes nothing and exits with status 2.
Wherever a format is expected, give its name or the path of a .toml file that describes it.
"""

_VERDICTS = """\
Exit status 0: equal to the reference model for every input. Exit status 1: different, not proved, or interrupted; the
evidence says which. Of a processing element each step is checked, from every state of the accumulator.

"""

_SIMULATED = """\
Exit status 0: equal to the reference model on all vectors. Exit status 1: different; the output names the classes of
vectors that fail, and the command that repeats the run. Needs the extra simulate: pip install '.[simulate]'.

"""

DEFAULT_EVIDENCE = "build/evidence"

GENERATED = {name: block for name, block in EVERY.items() if block.generated}
"""Blocks that ``hwgen generate`` writes."""


class _Parser(argparse.ArgumentParser):
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse an unknown option before argparse misses a required one, which it may be meant to be."""
        own = takewhile(lambda word: word != "--" and (self._subparsers is None or word.startswith("-")), args or ())
        options = [word.partition("=")[0] for word in own if word.startswith("--")]
        if unknown := [option for option in options if option not in self._option_string_actions]:
            self.error(f"unrecognized arguments: {' '.join(unknown)}; {self._nearest(unknown[0][2:])}")
        return super().parse_known_args(args, namespace)

    def _nearest(self, word: str) -> str:
        names = [option[2:] for option in self._option_string_actions if option.startswith("--")]
        near = [name for name in names if name.startswith(word)] or difflib.get_close_matches(word, names, 2)
        options = ", ".join(f"--{name}" for name in near)
        return f"the nearest {'is' if len(near) == 1 else 'are'} {options}" if near else f"see {self.prog} --help"

    def error(self, message: str) -> NoReturn:
        raise BadValue(None, message)


# -- from arguments to designs


@contextmanager
def spelled(block: Block, spell: Callable[[str], str]) -> Iterator[None]:
    """Turn refusals of a component's argument into refusals of the option; ``spell`` writes the option's name."""
    try:
        yield
    except Refusal as refusal:
        option = block.option(refusal.argument)
        name = refusal.argument if option is None else option.name
        raise (refusal if name is None else refusal.about(spell(name))) from refusal


def design_of(
    block: Block, chosen: Mapping[str, Any], name: str | None, spell: Callable[[str], str], ours: bool = True
) -> Design:
    """Return a block's design. ``chosen`` are values by Python argument; None stands for the component's default.

    A refusal names the option as ``spell`` writes it. With ``ours`` it may not describe other people's modules.
    """
    options = {argument: value for argument, value in chosen.items() if value is not None}
    formats = [options.pop(option.argument) for option in block.formats if option.argument in options]
    with spelled(block, spell):
        design = block.design(*formats, name=name, **options)
        if ours:
            design.core.check_ours()
        return design


def design_from(arguments: argparse.Namespace) -> Design:
    """Return the design that a command's options describe."""
    block = EVERY[arguments.block]
    chosen = {option.argument: getattr(arguments, _destination(option)) for option in block.all_options}
    ours = getattr(arguments, "verilog", None) is None
    return design_of(block, chosen, getattr(arguments, "name", None), lambda name: f"--{name}", ours)


def design_of_words(words: Sequence[str], folder: Path) -> Design:
    """The design of the words of ``hwgen generate``; format files are those of a folder."""
    grammar = parser({name: lambda _: 0 for name in _COMMANDS}, "generate")
    arguments = grammar.parse_args(["generate", *words])
    for option in EVERY[arguments.block].all_options:
        value = getattr(arguments, _destination(option))
        if option.kind is Format and value is not None:
            setattr(arguments, _destination(option), beside(folder, value))
    return design_from(arguments)


def _destination(option: Option) -> str:
    """The attribute in which argparse keeps a block's option; options of commands may have the same name."""
    return f"block {option.argument}"


def typed(arguments: argparse.Namespace) -> str:
    """The block and its options as the user wrote them, with the paths of formats."""
    words = [arguments.block]
    for option in EVERY[arguments.block].all_options:
        value = getattr(arguments, _destination(option))
        if value is not None:
            words.append(f"--{option.name}" if value is True else f"--{option.name} {shlex.quote(str(value))}")
    return " ".join(words)


# -- the options of blocks


def _add_option(parser: argparse.ArgumentParser, block: Block, option: Option) -> None:
    default = block.default(option)
    # help shows no default that the component computes, and not False, which adds no port
    text = option.help + (f" (default: {default})" if default not in (None, False, Parameter.empty) else "")
    words: dict[str, Any] = {"dest": _destination(option), "default": None, "help": text}
    if option.kind is bool:
        words["action"] = "store_true"
    else:
        words["required"] = default is Parameter.empty
        if option.kind is str and not option.listing:
            words["choices"] = option.allowed
        else:
            words["metavar"] = "N" if option.kind is int else "NAME" if option.kind is str else "F"
        words |= {"type": int if option.kind is int else option.spelled}
    parser.add_argument(f"--{option.name}", **words)


def _blocks(
    parent: argparse.ArgumentParser, names: Iterable[str], *others: tuple[str, str]
) -> dict[str, argparse.ArgumentParser]:
    """Add a command's blocks with their options; ``others`` are further names with their help texts."""
    kinds = parent.add_subparsers(dest="block", required=True, metavar="BLOCK", parser_class=_Parser)
    parsers = {}
    for name in names:
        block = EVERY[name]
        parsers[name] = _described(kinds, name, block.help)
        for option in block.all_options:
            _add_option(parsers[name], block, option)
    return parsers | {name: _described(kinds, name, text) for name, text in others}


# -- commands


def parser(runs: Mapping[str, Run], only: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of the command line, for commands with these functions, by name.

    To save time, it adds the options of the command ``only``, if that is not None.
    """
    about = "Generates, checks and measures synthesizable Verilog for 8-bit floating point."
    raw = argparse.RawDescriptionHelpFormatter
    main = _Parser(prog="hwgen", allow_abbrev=False, formatter_class=raw, epilog=_EPILOG, description=about)
    main.add_argument("--version", action="version", version=f"hwgen {version('minifloat-rtl')}")
    commands = main.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)

    for name, (text, add_options) in _COMMANDS.items():
        sub = _described(commands, name, text)
        sub.set_defaults(run=runs[name])
        if only in (None, name):
            add_options(sub)
    return main


def _formats_options(listing: argparse.ArgumentParser) -> None:
    listing.add_argument(
        "--long", action="store_true", help="also print the binades and the source of each format, beyond 80 columns"
    )
    listing.add_argument("--json", action="store_true", help="print JSON")


def _doctor_options(doctor: argparse.ArgumentParser) -> None:
    text = (
        "first start Yosys and, if they are installed, the place-and-route tools, which compiles them ahead, and wait"
    )
    doctor.add_argument("--prepare", action="store_true", help=text)


def _table_options(table: argparse.ArgumentParser) -> None:
    table.add_argument("format", metavar="FORMAT", help="name of a format, or path of a .toml file")
    table.add_argument("--json", action="store_true", help="print JSON, with values as significand * 2^exponent")


def _explain_options(explain: argparse.ArgumentParser) -> None:
    explain.add_argument("format", metavar="FORMAT", help="name of a format, or path of a .toml file")
    text = "e.g. 0x5a, 90 or 0b1011010; for a pair A+B the bit below the sign selects the format"
    explain.add_argument("code", metavar="CODE", help=text)


def _generate_options(parser: argparse.ArgumentParser) -> None:
    for sub in _blocks(parser, GENERATED).values():
        _add_folder(sub)
        sub.add_argument("--name", help="module name (default: derived from the options)")


def _build_options(batch: argparse.ArgumentParser) -> None:
    batch.add_argument("file", metavar="FILE", help="TOML file with one [[module]] table per module")
    _add_folder(batch)


def _described(parsers: Any, name: str, text: str) -> argparse.ArgumentParser:
    added: argparse.ArgumentParser = parsers.add_parser(
        name, help=text, description=text[0].upper() + text[1:] + ".", allow_abbrev=False, epilog=_EPILOG
    )
    return added


def _add_output(parser: argparse.ArgumentParser, default: str | None, text: str) -> None:
    parser.add_argument("-o", dest="output", metavar="DIR", default=default, help=text, type=_folder)


def _folder(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("must be a folder, not ''")
    return text


def _add_folder(parser: argparse.ArgumentParser) -> None:
    text = "folder to write to; existing files of the bundle are overwritten (default: the current folder)"
    _add_output(parser, ".", text)


def _add_jobs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jobs", type=int, metavar="N", help="parallel jobs (default: one per core)")


def _add_liberty(parser: argparse.ArgumentParser, note: str = "; repeat the option for several libraries") -> None:
    text = f"cell library to map to: a .lib or .lib.gz file, or several separated by commas{note}"
    parser.add_argument("--liberty", action="append", default=[], metavar="FILE[,FILE...]", help=text)


def _add_renamings(parser: argparse.ArgumentParser) -> None:
    from synth.area.jobs import DEFAULT_RENAMINGS

    text = "renamings: runs of each recipe with other net names; figures are their medians (default: %(default)s)"
    parser.add_argument("--renamings", type=int, default=DEFAULT_RENAMINGS, metavar="N", help=text)
    text = "seed of the first renaming; the others use the next numbers; 0: the module as emitted (default: 1)"
    parser.add_argument("--seed", type=int, default=1, metavar="N", help=text)


def _add_store(parser: argparse.ArgumentParser, default: str | None = "build/store.sqlite") -> None:
    text = f"file that keeps results, which are not measured again (default: {default or 'none'})"
    parser.add_argument("--store", metavar="FILE", default=default, help=text)


def _add_measurement(parser: argparse.ArgumentParser, targets: Iterable[str]) -> None:
    text = f"any of {', '.join(targets)} (default: gates; with --liberty: the library's cells)"
    parser.add_argument("--target", metavar="T[,T...]", help=text)
    _add_liberty(parser)
    _add_renamings(parser)
    _add_store(parser, None)
    _add_jobs(parser)
    parser.add_argument("--json", action="store_true", help="print rows as JSON")


def _area_options(parser: argparse.ArgumentParser) -> None:
    from synth.area.recipes import DEFAULT_PORTFOLIO, PORTFOLIOS
    from synth.area.targets import TARGETS

    for name, sub in _blocks(parser, EVERY).items():
        text = (
            f"set of recipes (synthesis scripts) to try (default: {DEFAULT_PORTFOLIO}); speed on FPGAs needs the extra"
        )
        text += " route: pip install '.[route]'"
        sub.add_argument("--portfolio", choices=PORTFOLIOS, default=DEFAULT_PORTFOLIO, help=text)
        _add_measurement(sub, TARGETS)
        if name == TILE.name:  # where there is place and route, the default is one recipe with it
            sub.set_defaults(portfolio=None)
        else:
            _add_verilog(sub, "measure")


def _energy_options(parser: argparse.ArgumentParser) -> None:
    from synth.area.recipes import DEFAULT_PORTFOLIO, PORTFOLIOS, RECIPES
    from synth.energy.data import KINDS
    from synth.energy.job import DEFAULT_DATA, OPERATIONS, PLACES
    from synth.energy.workload import MEASURED

    for sub in _blocks(parser, MEASURED).values():
        text = f"numbers to operate on: {', '.join(KINDS)}, or a file of NumPy (default: %(default)s)"
        sub.add_argument("--data", metavar="NAME|FILE.npy", default=DEFAULT_DATA, help=text)
        text = "number of operations that are counted (default: %(default)s)"
        sub.add_argument("--operations", type=int, default=OPERATIONS, metavar="N", help=text)
        text = "with --liberty: time from one operation to the next (default: the longest path of the netlists)"
        sub.add_argument("--period", type=float, metavar="NS", help=text)
        text = "set of recipes: with speed each is measured, else the one with the smallest area"
        sub.add_argument("--portfolio", choices=PORTFOLIOS, help=f"{text} (default: {DEFAULT_PORTFOLIO})")
        text = f"measure this recipe only: one of {', '.join(RECIPES['cells'])}"
        sub.add_argument("--recipe", choices=RECIPES["cells"], metavar="NAME", help=text)
        text = "the only one is compiled, the default, which needs a C++ compiler"
        sub.add_argument("--simulator", choices=("compiled", "icarus"), metavar="NAME", help=text)
        _add_measurement(sub, PLACES)
        _add_verilog(sub, "measure")


def _add_verilog(sub: argparse.ArgumentParser, verb: str) -> None:
    """The options of a command that takes users' files."""
    text = f"{verb} this file instead of the generated module; .sv files are SystemVerilog; repeat it for several files"
    sub.add_argument("--verilog", action="append", metavar="FILE", help=text)
    text = f"{verb} the files of this list, which may also have -f, -I, -D, +incdir+ and +define+"
    sub.add_argument("-f", dest="verilog", type=ListFile, action="append", metavar="FILE", help=text)
    text = "folder of files to include, after that of the file that includes them"
    sub.add_argument("-I", dest="include", action="append", default=[], metavar="DIR", help=text)
    text = "define a macro (default value: 1)"
    sub.add_argument("-D", dest="define", action="append", default=[], metavar="NAME[=VALUE]", help=text)
    text = f"module to {verb} in the file of --verilog (default: the name of the generated module)"
    sub.add_argument("--top", metavar="NAME", help=text)
    text = "value of a parameter of the module"
    sub.add_argument("--parameter", action="append", default=[], metavar="NAME=VALUE", help=text)
    text = "ports of the module that stand for ours, e.g. a=op_a_i,rst=~rst_ni,flags={nv_o,of_o,uf_o,nx_o}"
    sub.add_argument("--ports", action="append", default=[], metavar="OURS=THEIRS[,...]", help=text)
    text = "constants for its other inputs, e.g. mode=2'b01"
    sub.add_argument("--tie", action="append", default=[], metavar="PORT=CONSTANT[,...]", help=text)
    text = "the pipeline has in_ready and out_ready, which --ports may name; its receiver is always ready"
    sub.add_argument("--handshake", action="store_true", help=text)
    if verb != "measure" and "--daz" in sub._option_string_actions:  # the block has variants
        text = "any: with accumulators of IEEE 754, any NaN is right where the reference model has one"
        sub.add_argument("--nan", choices=("any",), help=text)


def _compare_options(parser: argparse.ArgumentParser) -> None:
    from synth.proof.choose import VERIFIED

    for sub in _blocks(parser, VERIFIED).values():
        _add_verilog(sub, "compare")
        _add_liberty(sub)
        _add_renamings(sub)
        _add_store(sub, None)
        _add_jobs(sub)
        _add_output(sub, DEFAULT_EVIDENCE, "folder for the evidence (default: %(default)s)")
        sub.set_defaults(recipe=None, renaming=1, json=False, junit=None, model=False, target=None)


def _verify_options(parser: argparse.ArgumentParser) -> None:
    from synth.area.recipes import RECIPES, STOCK
    from synth.proof.choose import VERIFIED

    everything = "all blocks, most of them in all formats; those with evidence in the folder are skipped"
    parser.epilog = _VERDICTS + _EPILOG
    for name, sub in _blocks(parser, (*VERIFIED, TILE.name), ("all", everything)).items():
        _add_output(sub, DEFAULT_EVIDENCE, "folder for the evidence (default: %(default)s)")
        _add_jobs(sub)
        if name == TILE.name:
            sub.add_argument("--json", action="store_true", help="print the evidence of tile and parts as JSON")
            text = "skip parts that are equal in this table of hwgen verify all, for the same program and tools"
            sub.add_argument("--verdicts", metavar="FILE", help=text)
            continue
        if name == "all":
            text = "modules whose names match, e.g. '*_mac_binary16' (default: *)"
            sub.add_argument("--only", metavar="PATTERN[,...]", default="*", help=text)
            text = (
                "add the verdicts to this table, and skip modules that are equal there, for the same program and tools"
            )
            sub.add_argument("--verdicts", metavar="FILE", help=text)
            continue
        _add_verilog(sub, "check")
        _add_liberty(sub, "; the file of --verilog may be a netlist of its cells")
        text = "with --liberty: recipe (synthesis script) for the netlist to check, as in hwgen area --portfolio full"
        names = f"one of {', '.join(RECIPES['cells'])}; default: {STOCK}"
        sub.add_argument("--recipe", choices=RECIPES["cells"], metavar="NAME", help=f"{text} ({names})")
        text = "with --liberty: renaming of the netlist to check, as --seed N of hwgen area (default: 1)"
        sub.add_argument("--renaming", type=int, default=1, metavar="N", help=text)
        text = "compare the model in C of the bundle with the module, too: all inputs, or 10^9 cases"
        sub.add_argument("--model", action="store_true", help=text)
        sub.add_argument("--json", action="store_true", help="print the evidence as JSON")
        sub.add_argument("--junit", metavar="FILE", help="write the verdict as JUnit XML, with the counterexamples")


def _simulate_options(parser: argparse.ArgumentParser) -> None:
    from hwgen.simulate.simulators import SIMULATORS

    parser.epilog = _SIMULATED + _EPILOG
    for sub in _blocks(parser, GENERATED).values():
        _add_verilog(sub, "simulate")
        text = "simulator (default: icarus if it is installed, else verilator)"
        sub.add_argument("--sim", choices=SIMULATORS, help=text)
        text = "number of vectors, without bubbles and stalls of clocked modules (default: %(default)s)"
        sub.add_argument("--vectors", type=int, default=10_000, metavar="N", help=text)
        sub.add_argument("--seed", type=int, default=1, metavar="S", help="seed of the vectors (default: %(default)s)")
        text = "add vectors until all bins that some input reaches are hit, or further search is in vain"
        sub.add_argument("--until", choices=("covered",), help=text)
        sub.add_argument("--coverage", action="store_true", help="print the hits of each cover point")
        sub.add_argument("--waves", action="store_true", help="write waves of the first case that fails")
        sub.add_argument("--junit", metavar="FILE", help="write the results of the classes as JUnit XML")
        text = "folder for vectors, build, waves, coverage.json and results.xml of the module (default: %(default)s)"
        _add_output(sub, "build/simulate", text)


def _sweep_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="TOML file that lists formats, targets, blocks and options")
    _add_output(parser, "build/sweep", "folder to write to (default: %(default)s)")
    _add_store(parser)
    _add_jobs(parser)
    text = "address of the scheduler of a Dask cluster, e.g. tcp://127.0.0.1:8786; needs pip install '.[dask]'"
    parser.add_argument("--dask", metavar="ADDRESS", help=text)
    text = "time limit of a job in seconds (default: 3600)"
    parser.add_argument("--timeout", type=float, default=3600.0, metavar="S", help=text)


def _report_options(parser: argparse.ArgumentParser) -> None:
    _add_output(parser, None, "folder to write to (default: build/report)")
    text = "formats to compare, or all (default: those in the README)"
    parser.add_argument("--formats", metavar="F[,F...]", help=text)
    _add_liberty(parser)
    text = "add the rows of this sweep.json or report.json; without --formats show only these; may be repeated"
    parser.add_argument("--sweep", action="append", metavar="FILE", help=text)
    text = (
        "print the figures that differ from this report.json or sweep.json by more than the spread (minimum to maximum)"
    )
    note = "; with --sweep and neither --formats nor -o, write no report"
    parser.add_argument("--compare", metavar="FILE", help=text + note)
    text = "with --compare: exit status 1 if a figure grew by more than PERCENT, e.g. 2%%, and beyond the spread"
    parser.add_argument("--fail-above", metavar="PERCENT", help=text)
    text = "add the results that examples/digits.py --json wrote to this file"
    parser.add_argument("--accuracy", metavar="FILE", help=text)
    text = "show the results on training that make study wrote to this file (default: those of the documentation)"
    parser.add_argument("--study", metavar="FILE", help=text)
    text = "folder with the evidence of hwgen verify, which the report shows (default: %(default)s)"
    parser.add_argument("--evidence", metavar="DIR", default=DEFAULT_EVIDENCE, help=text)
    _add_store(parser)
    _add_renamings(parser)
    _add_jobs(parser)


_COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "formats": ("list every format with its range, specials and defaults", _formats_options),
    "explain": (
        "show a code's fields, value and neighbours, and the interval that each rounding maps to it",
        _explain_options,
    ),
    "table": ("print the exact value of every code of a format", _table_options),
    "doctor": ("check which tools are installed; with --prepare, also compile them ahead", _doctor_options),
    "generate": (
        "write a block's Verilog to DIR/NAME/NAME.v, with a testbench and other files beside it",
        _generate_options,
    ),
    "build": ("write the modules that a TOML file lists, as generate does", _build_options),
    "area": ("synthesize a block and print its area", _area_options),
    "energy": ("synthesize a block and print its energy per operation", _energy_options),
    "verify": ("check a block, or your own Verilog, against the reference model for every input", _verify_options),
    "compare": ("verify your own Verilog, and print areas and delays of it and of our module", _compare_options),
    "simulate": ("run a cocotb regression of a block, or of your own Verilog", _simulate_options),
    "sweep": ("measure a design space, locally or on a Dask cluster; an interrupted sweep resumes", _sweep_options),
    "report": ("measure a set of formats and write a report: JSON, CSV, Markdown and HTML pages", _report_options),
}
"""By name: the help text, and the function that adds the options."""
