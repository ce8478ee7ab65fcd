"""The command line's grammar: commands, and the options of blocks as their table has them."""

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from inspect import Parameter
from typing import Any, NoReturn

from golden import Refusal
from golden.refusal import BadValue
from hwgen.blocks.block import Block, Design, Option
from hwgen.blocks.catalog import BLOCKS

Run = Callable[[argparse.Namespace], int]
"""A command: from its arguments to the exit status."""

_EPILOG = """\
Bad input is answered in one sentence, with exit status 2, and nothing is written.
A path to a .toml file that describes a format is accepted wherever a format's name is.
"""

_VERDICTS = """\
Exit status 0: equal to golden on all inputs; 1: different, unproved or interrupted, as the evidence says.
Processing elements are simulated against golden, not proved, and so are most dot products: they have too many inputs.

"""


_EVIDENCE = "build/evidence"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise BadValue(None, message)


# -- from arguments to designs
# -----------------------------------------------------------------------------------------------


@contextmanager
def spelled(block: Block, spell: Callable[[str], str]) -> Iterator[None]:
    """Refusals of a component's argument become refusals of the option, as ``spell`` writes the option's name."""
    try:
        yield
    except Refusal as refusal:
        option = block.option(refusal.argument)
        name = refusal.argument if option is None else option.name
        raise (refusal if name is None else refusal.about(spell(name))) from refusal


def design_of(block: Block, chosen: Mapping[str, Any], name: str | None, spell: Callable[[str], str]) -> Design:
    """A block's design from its options by Python argument; those that are None are left to the component.

    Raises
    ------
    Refusal
        Of the option, its name written by ``spell``.
    """
    given = {argument: value for argument, value in chosen.items() if value is not None}
    formats = [given.pop(option.argument) for option in block.formats if option.argument in given]
    with spelled(block, spell):
        return block.design(*formats, name=name, **given)


def design_from(arguments: argparse.Namespace) -> Design:
    """The design that the options of a command describe."""
    block = BLOCKS[arguments.block]
    chosen = {option.argument: getattr(arguments, _destination(option)) for option in block.all_options}
    return design_of(block, chosen, getattr(arguments, "name", None), lambda name: f"--{name}")


def _destination(option: Option) -> str:
    """Where argparse keeps a block's option: apart from the options of commands, which may have the same name."""
    return f"block {option.argument}"


# -- the options of blocks
# ---------------------------------------------------------------------------------------------------


def _add_option(parser: argparse.ArgumentParser, block: Block, option: Option) -> None:
    default = block.default(option)
    text = option.help + (f" (default: {default})" if _is_told(default) else "")
    words: dict[str, Any] = {"dest": _destination(option), "default": None, "help": text}
    if option.kind is bool:
        words["action"] = "store_true"
    else:
        words["required"] = default is Parameter.empty
        words |= {"choices": option.allowed} if option.kind is str else {"metavar": "N" if option.kind is int else "F"}
        words |= {"type": int if option.kind is int else option.spelled}
    parser.add_argument(f"--{option.name}", **words)


def _is_told(default: object) -> bool:
    """Whether help names a default: not one that the component chooses, nor the absence of a port."""
    return default not in (None, False, Parameter.empty)


def _blocks(
    parent: argparse.ArgumentParser, names: Iterable[str], *others: tuple[str, str]
) -> dict[str, argparse.ArgumentParser]:
    """A command's blocks, each with its options; ``others`` are names that are no blocks, and what they mean."""
    kinds = parent.add_subparsers(dest="block", required=True, metavar="BLOCK", parser_class=_Parser)
    parsers = {}
    for name in names:
        block = BLOCKS[name]
        parsers[name] = _described(kinds, name, block.help)
        for option in block.all_options:
            _add_option(parsers[name], block, option)
    return parsers | {name: _described(kinds, name, text) for name, text in others}


# -- commands
# ----------------------------------------------------------------------------------------------------------------


def parser(runs: Mapping[str, Run], only: str | None = None) -> argparse.ArgumentParser:
    """The command line.

    Parameters
    ----------
    runs : mapping
        Functions of its commands, by name.
    only : str, optional
        The command that gets its options, where time matters; default: every one.
    """
    about = "Synthesizable Verilog for 8-bit floating point: decoders, encoders, fused multiply-accumulate units, and what they cost."
    main = _Parser(
        prog="hwgen",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=_EPILOG,
        description=about,
    )
    main.add_argument("--version", action="version", version=f"hwgen {version('minifloat-rtl')}")
    commands = main.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)

    for name, (text, add_options) in _COMMANDS.items():
        sub = _described(commands, name, text)
        sub.set_defaults(run=runs[name])
        if only in (None, name):
            add_options(sub)
    return main


def _formats_options(listing: argparse.ArgumentParser) -> None:
    listing.add_argument("--json", action="store_true", help="print JSON")


def _explain_options(explain: argparse.ArgumentParser) -> None:
    explain.add_argument("format", metavar="FORMAT")
    explain.add_argument(
        "code", metavar="CODE", help="e.g. 0x5a, 90 or 0b1011010; of two formats A+B with the select bit below the sign"
    )


def _generate_options(parser: argparse.ArgumentParser) -> None:
    for sub in _blocks(parser, [name for name, block in BLOCKS.items() if block.generated]).values():
        _add_folder(sub)
        sub.add_argument("--name", help="module name (default: made of the options)")


def _build_options(batch: argparse.ArgumentParser) -> None:
    batch.add_argument("file", metavar="FILE", help="TOML file with a [[module]] table for each module")
    _add_folder(batch)


def _described(parsers: Any, name: str, text: str) -> argparse.ArgumentParser:
    """A command or block with its sentence."""
    added: argparse.ArgumentParser = parsers.add_parser(
        name, help=text, description=text[0].upper() + text[1:] + ".", allow_abbrev=False, epilog=_EPILOG
    )
    return added


def _add_folder(parser: argparse.ArgumentParser) -> None:
    text = "folder to write to; a bundle's files that stand there are overwritten (default: this one)"
    parser.add_argument("-o", dest="output", metavar="DIR", default=".", help=text)


def _add_jobs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jobs", type=int, metavar="N", help="parallel jobs (default: one per core)")


def _add_liberty(parser: argparse.ArgumentParser, more: str = "; may be repeated for several libraries") -> None:
    text = f"cell library to map to: a file (.lib or .lib.gz), or several with commas between{more}"
    parser.add_argument("--liberty", action="append", default=[], metavar="FILE[,FILE...]", help=text)


def _add_renamings(parser: argparse.ArgumentParser) -> None:
    from synth.area.jobs import DEFAULT_RENAMINGS

    text = "renamings to take the median over (default: %(default)s)"
    parser.add_argument("--renamings", type=int, default=DEFAULT_RENAMINGS, metavar="N", help=text)
    parser.add_argument(
        "--seed", type=int, default=1, metavar="N", help="seed of the first renaming, the others follow (default: 1)"
    )


def _add_store(parser: argparse.ArgumentParser, default: str | None = "build/store.sqlite") -> None:
    text = f"keep results there, and do not measure again what it holds (default: {default or 'none'})"
    parser.add_argument("--store", metavar="FILE", default=default, help=text)


def _area_options(parser: argparse.ArgumentParser) -> None:
    from synth.area.recipes import DEFAULT_PORTFOLIO, PORTFOLIOS
    from synth.area.targets import TARGETS

    for sub in _blocks(parser, BLOCKS).values():
        text = f"of {', '.join(TARGETS)} (default: gates; with --liberty: the library's cells)"
        sub.add_argument("--target", metavar="T[,T...]", help=text)
        _add_liberty(sub)
        _add_renamings(sub)
        _add_store(sub, None)
        text = f"recipes to try (default: {DEFAULT_PORTFOLIO})"
        sub.add_argument("--portfolio", choices=PORTFOLIOS, default=DEFAULT_PORTFOLIO, help=text)
        _add_jobs(sub)
        sub.add_argument("--json", action="store_true", help="print rows as JSON")


def _verify_options(parser: argparse.ArgumentParser) -> None:
    from synth.area.recipes import RECIPES, STOCK
    from synth.proof.choose import VERIFIED

    everything = "decoders, encoders, readouts and MACs of every format in the catalogue; what the folder holds is not checked again"
    parser.epilog = _VERDICTS + _EPILOG
    for name, sub in _blocks(parser, VERIFIED, ("all", everything)).items():
        where = "folder that keeps the evidence (default: %(default)s)"
        sub.add_argument("-o", dest="output", metavar="DIR", default=_EVIDENCE, help=where)
        _add_jobs(sub)
        if name == "all":
            sub.add_argument(
                "--only",
                metavar="PATTERN[,...]",
                default="*",
                help="modules of such names, e.g. '*_mac_binary16' (default: *)",
            )
            continue
        text = "check this file instead of what hwgen generate writes; .sv is SystemVerilog"
        sub.add_argument("--verilog", metavar="FILE", help=text)
        sub.add_argument("--top", metavar="NAME", help="its module (default: the name that hwgen generate gives)")
        _add_liberty(sub, "; a file of --verilog may be a netlist of its cells")
        text = "with --liberty: map it by this recipe, as hwgen area --portfolio full --renamings 1 does, and check the netlist"
        names = f"one of {', '.join(RECIPES['cells'])}; default: {STOCK}"
        sub.add_argument("--recipe", choices=RECIPES["cells"], metavar="NAME", help=f"{text} ({names})")
        sub.add_argument(
            "--renaming", type=int, default=1, metavar="N", help="with --liberty: and for this --seed (default: 1)"
        )
        sub.add_argument("--json", action="store_true", help="print the evidence as JSON")


def _sweep_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="TOML file of formats, targets, blocks and options")
    parser.add_argument(
        "-o", dest="output", metavar="DIR", default="build/sweep", help="folder to write to (default: build/sweep)"
    )
    _add_store(parser)
    _add_jobs(parser)
    parser.add_argument("--dask", metavar="ADDRESS", help="scheduler of a Dask cluster, e.g. tcp://127.0.0.1:8786")
    parser.add_argument(
        "--timeout", type=float, default=3600.0, metavar="S", help="seconds that a job may take (default: 3600)"
    )


def _report_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", dest="output", metavar="DIR", help="folder to write (default: build/report)")
    parser.add_argument(
        "--formats", metavar="F[,F...]", help="formats to compare, or all (default: the ones of the README)"
    )
    _add_liberty(parser)
    text = "show the rows of this sweep.json or report.json, too; without --formats, these alone; may be repeated"
    parser.add_argument("--sweep", action="append", metavar="FILE", help=text)
    text = "print which figures differ from those of this report.json or sweep.json by more than spreads; with --sweep alone, only that"
    parser.add_argument("--compare", metavar="FILE", help=text)
    text = "with --compare: exit status 1 if a figure grew by more than this, e.g. 2%%, and beyond the spreads"
    parser.add_argument("--fail-above", metavar="PERCENT", help=text)
    parser.add_argument(
        "--accuracy", metavar="FILE", help="what examples/digits.py --json has written, to be shown, too"
    )
    text = "folder with what hwgen verify has found, to be shown, too (default: %(default)s)"
    parser.add_argument("--evidence", metavar="DIR", default=_EVIDENCE, help=text)
    _add_store(parser)
    _add_renamings(parser)
    _add_jobs(parser)


_COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "formats": ("list every format with its range, specials and defaults", _formats_options),
    "explain": ("show a code's fields, value, neighbours, and what each rounding sends to it", _explain_options),
    "doctor": ("check the tools that this machine has", lambda _: None),
    "generate": ("write a block's Verilog to DIR/NAME/NAME.v", _generate_options),
    "build": ("write the modules that a TOML file lists, each as generate does", _build_options),
    "area": ("synthesize a block and print what it costs", _area_options),
    "verify": ("check a block, or your own Verilog of it, against the golden model on all inputs", _verify_options),
    "sweep": ("measure a design space that a file describes, on this machine or a Dask cluster", _sweep_options),
    "report": ("measure a set of formats and write JSON, CSV, Markdown and one HTML page", _report_options),
}
"""By name: the sentence that help shows, and what adds the options."""
