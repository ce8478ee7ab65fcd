"""The command line's options: what can be asked for, and how bad input is answered."""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any, NoReturn

import golden
from golden.rows import Overflow, Rounding

Run = Callable[[argparse.Namespace], int]
"""A command: from its options to the exit status."""

_EPILOG = """\
Bad input is answered in one sentence, with exit status 2, and nothing is written.
A path to a .toml file that describes a format is accepted wherever a format's name is; see docs/formats.md.
"""

_VERDICTS = """\
Exit status 0: equal to golden on all inputs; 1: different, unproved or broken off, as the evidence says.
Dot products and processing elements are simulated against golden, not proved; see docs/dot.md and docs/pipeline.md.

"""


class UsageError(ValueError):
    """One sentence about what was asked for."""


@contextmanager
def option(name: str) -> Iterator[None]:
    """Turn a refusal into a sentence that names the option."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise UsageError(f"{name}: {error}") from error


def check_jobs(jobs: int | None) -> None:
    """Refuse fewer than one parallel job; None is one for each core."""
    if jobs is not None and jobs < 1:
        raise UsageError(f"--jobs must be at least 1, not {jobs}")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


GENERATED = ("decoder", "encoder", "mac", "dot", "pe", "readout")
"""Blocks that are written; area is measured of the parts of a MAC, too."""

VERIFIED = ("decoder", "encoder", "mac", "readout")
"""Blocks that are held against golden on all inputs."""


def _pipeline_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stages", type=int, default=0, metavar="N", help="ranks of registers, up to 16 (default: 0, combinational)")
    parser.add_argument(
        "--reset", choices=("sync", "none"), help="with --stages: synchronous reset of the valid bits, or no reset port (default: sync)"
    )
    parser.add_argument("--clock-enable", action="store_true", help="with --stages: a port without which everything stands still")


def _add_format(parser: argparse.ArgumentParser, name: str = "a format's name") -> None:
    text = f"{name} (see `hwgen formats`) or a path to a .toml file"
    parser.add_argument("--format", required=True, metavar="F", help=text)


def _decoder_options(parser: argparse.ArgumentParser) -> None:
    from hwgen.blocks.decoder import TARGETS

    _add_format(parser)
    parser.add_argument("--to", choices=TARGETS, default="binary16", help="what comes out (default: binary16)")
    _pipeline_options(parser)


def _add_flags(parser: argparse.ArgumentParser) -> None:
    text = "a port for status flags: bit 0 inexact, 1 underflow, 2 overflow, 3 invalid"
    parser.add_argument("--flags", action="store_true", help=text)


def _add_rounding(parser: argparse.ArgumentParser, default: str = "default: the format's", more: str = "") -> None:
    parser.add_argument("--rounding", choices=[r.value for r in Rounding], help=default + more)
    parser.add_argument("--overflow", choices=[o.value for o in Overflow], help=default)
    parser.add_argument("--nan-to-zero", action="store_true", help="NaN becomes code 0")
    parser.add_argument("--random-bits", type=int, metavar="R", help="width of the random port, with --rounding stochastic (default: 16)")


def _encoder_options(parser: argparse.ArgumentParser) -> None:
    _add_format(parser)
    parser.add_argument("--from", dest="source", choices=golden.WIDE, default="binary32", help="what goes in (default: binary32)")
    _add_rounding(parser)
    text = "with --rounding hybrid: a port chooses between it (1) and ties_to_away (0)"
    parser.add_argument("--rounding-pin", action="store_true", help=text)
    _add_flags(parser)
    _pipeline_options(parser)


def _readout_options(parser: argparse.ArgumentParser) -> None:
    _add_format(parser, "format of the first operand, as given to the accumulator: a name")
    text = "format of the second operand, as given to the accumulator (default: that of the first)"
    parser.add_argument("--format-b", metavar="G", help=text)
    parser.add_argument("--terms", type=int, metavar="N", help="as given to the accumulator (default: 1024)")
    text = "as given to the accumulator, which alone has the port (default: 0)"
    parser.add_argument("--scale-bits", type=int, default=0, metavar="N", help=text)
    text = "what comes out: binary32, binary16, bfloat16, dlfloat16, or a format of codes, by name or .toml file (default: binary32)"
    parser.add_argument("--to", metavar="F", default="binary32", help=text)
    _add_rounding(parser, "for codes only; default: that of the format in --to", "; hybrid is for encoders alone")
    _pipeline_options(parser)


def _multiplier_options(parser: argparse.ArgumentParser) -> None:
    _add_format(parser)
    parser.add_argument("--format-b", metavar="G", help="format of the second operand (default: that of the first)")


def _adder_options(parser: argparse.ArgumentParser) -> None:
    _multiplier_options(parser)
    parser.add_argument("--accumulator", choices=golden.ACCUMULATORS, default="binary16", help="default: binary16")
    _add_terms(parser)


def _add_terms(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--terms", type=int, metavar="N", help="products that an exact accumulator has room for (default: 1024)")


def _add_scale(parser: argparse.ArgumentParser) -> None:
    text = "width of a port for the exponent of a power of two that products are multiplied by, up to 10 (default: 0, no such port)"
    parser.add_argument("--scale-bits", type=int, default=0, metavar="N", help=text)


def _mac_options(parser: argparse.ArgumentParser) -> None:
    _adder_options(parser)
    _add_scale(parser)
    _add_flags(parser)
    _pipeline_options(parser)


def _add_lanes(parser: argparse.ArgumentParser, default: int) -> None:
    parser.add_argument("--lanes", type=int, default=default, metavar="N", help=f"products added at once, up to 16 (default: {default})")


def _dot_options(parser: argparse.ArgumentParser) -> None:
    from hwgen.blocks.sums import DEFAULT_LANES

    _adder_options(parser)
    _add_lanes(parser, DEFAULT_LANES)
    _add_scale(parser)
    _add_flags(parser)
    _pipeline_options(parser)


def _pe_options(parser: argparse.ArgumentParser) -> None:
    _adder_options(parser)
    _add_lanes(parser, 1)
    _add_scale(parser)
    _add_flags(parser)
    text = "ranks of registers before the accumulator, up to 16 (default: 0)"
    parser.add_argument("--stages", type=int, default=0, metavar="N", help=text)
    text = "accumulators that take turns, with as many ranks but one inside the adder (default: 1)"
    parser.add_argument("--interleave", type=int, default=1, metavar="N", help=text)


_OPTIONS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "decoder": ("code to bits of a wider format, or to sign, exponent and significand", _decoder_options),
    "encoder": ("bits of a wider format to code, in any of the format's roundings", _encoder_options),
    "mac": ("fused multiply-accumulate: one rounding of the exact acc + a * b", _mac_options),
    "dot": ("fused dot product: one rounding of the exact acc + a_0 * b_0 + a_1 * b_1 + ...", _dot_options),
    "pe": ("processing element: a MAC with its accumulator, clear, enable and overflow", _pe_options),
    "readout": ("the end of an exact accumulation: its accumulator, rounded once to a wide format or to a code", _readout_options),
    "multiplier": ("first part of a MAC: decoders, exact product, exponent sum, flags", _multiplier_options),
    "adder": ("second part of a MAC: alignment, addition, rounding", _adder_options),
}


def parser(runs: Mapping[str, Run]) -> argparse.ArgumentParser:
    """The whole command line; ``runs`` are the functions of its commands, by name."""
    about = "Synthesizable Verilog for 8-bit floating point: decoders, encoders, fused multiply-accumulate units, and what they cost."
    main = _Parser(
        prog="hwgen", allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, epilog=_EPILOG, description=about,
    )  # fmt: skip
    main.add_argument("--version", action="version", version=f"hwgen {version('minifloat-rtl')}")
    commands = main.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)

    def command(name: str, text: str) -> argparse.ArgumentParser:
        sub = _described(commands, name, text)
        sub.set_defaults(run=runs[name])
        return sub

    listing = command("formats", "list every format with its range, specials and defaults")
    listing.add_argument("--json", action="store_true", help="print JSON")
    telling = command("explain", "show a code's fields, value, neighbours, and what each rounding sends to it")
    telling.add_argument("format", metavar="FORMAT")
    telling.add_argument("code", metavar="CODE", help="e.g. 0x5a, 90 or 0b1011010; of two formats A+B with the select bit below the sign")
    command("doctor", "check the tools that this machine has")
    for sub in _blocks(command("generate", "write a block's Verilog to DIR/NAME/NAME.v"), GENERATED).values():
        _add_folder(sub)
        sub.add_argument("--name", help="module name (default: made of the options)")
    batch = command("build", "write the modules that a TOML file lists, each as generate does; see docs/bundle.md")
    batch.add_argument("file", metavar="FILE", help="TOML file with a [[module]] table for each module")
    _add_folder(batch)
    for sub in _blocks(command("area", "synthesize a block and print what it costs"), tuple(_OPTIONS)).values():
        _area_options(sub)
    _verify_options(command("verify", "hold a block, or your own Verilog of it, against the golden model on all inputs"))
    _sweep_options(command("sweep", "measure a design space that a file describes, on this machine or a Dask cluster"))
    _report_options(command("report", "measure a set of formats and write JSON, CSV, Markdown and one HTML page"))
    return main


def _described(parsers: Any, name: str, text: str) -> argparse.ArgumentParser:
    """A command or block with its sentence."""
    added: argparse.ArgumentParser = parsers.add_parser(
        name, help=text, description=text[0].upper() + text[1:] + ".", allow_abbrev=False, epilog=_EPILOG
    )
    return added


def _blocks(parent: argparse.ArgumentParser, names: Sequence[str], *more: tuple[str, str]) -> dict[str, argparse.ArgumentParser]:
    """A command's blocks, each with the options that make it; ``more`` are names that are no block, and what they mean."""
    kinds = parent.add_subparsers(dest="block", required=True, metavar="BLOCK", parser_class=_Parser)
    found = {}
    for name in names:
        text, add_options = _OPTIONS[name]
        found[name] = _described(kinds, name, text)
        add_options(found[name])
    return found | {name: _described(kinds, name, text) for name, text in more}


def _add_folder(parser: argparse.ArgumentParser) -> None:
    text = "folder to write to; a bundle's files that stand there are overwritten (default: this one)"
    parser.add_argument("-o", dest="output", metavar="DIR", default=".", help=text)


def _add_jobs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jobs", type=int, metavar="N", help="parallel jobs (default: one per core)")


def _add_liberty(parser: argparse.ArgumentParser, more: str = "; may be repeated for several libraries") -> None:
    text = f"cell library to map to: a file (.lib or .lib.gz), or several with commas between{more}"
    parser.add_argument("--liberty", action="append", default=[], metavar="FILE[,FILE...]", help=text)


def _add_renamings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--renamings", type=int, default=4, metavar="N", help="renamings to take the median over (default: 4)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the first renaming, the others follow (default: 1)")


def _area_options(parser: argparse.ArgumentParser) -> None:
    from synth.area.recipes import DEFAULT_PORTFOLIO, PORTFOLIOS
    from synth.area.targets import TARGETS

    text = f"of {', '.join(TARGETS)} (default: gates; with --liberty: the library's cells)"
    parser.add_argument("--target", metavar="T[,T...]", help=text)
    _add_liberty(parser)
    _add_renamings(parser)
    parser.add_argument("--store", metavar="FILE", help="keep results there, and do not measure again what it holds (default: none)")
    text = f"recipes to try (default: {DEFAULT_PORTFOLIO})"
    parser.add_argument("--portfolio", choices=PORTFOLIOS, default=DEFAULT_PORTFOLIO, help=text)
    _add_jobs(parser)
    parser.add_argument("--json", action="store_true", help="print rows as JSON")


def _verify_options(parser: argparse.ArgumentParser) -> None:
    from synth.area.recipes import RECIPES, STOCK

    everything = "every block of every format in the catalogue; what the folder holds already is not checked again"
    parser.epilog = _VERDICTS + _EPILOG
    for name, sub in _blocks(parser, VERIFIED, ("all", everything)).items():
        where = "folder that keeps the evidence (default: build/evidence)"
        sub.add_argument("-o", dest="output", metavar="DIR", default="build/evidence", help=where)
        _add_jobs(sub)
        if name == "all":
            sub.add_argument(
                "--only", metavar="PATTERN[,...]", default="*", help="modules of such names, e.g. '*_mac_binary16' (default: *)"
            )
            continue
        text = "check this file instead of what hwgen generate writes; .sv is SystemVerilog"
        sub.add_argument("--verilog", metavar="FILE", help=text)
        sub.add_argument("--top", metavar="NAME", help="its module (default: the name that hwgen generate gives)")
        _add_liberty(sub, "; a file of --verilog may be a netlist of its cells")
        text = "with --liberty: map it by this recipe, as hwgen area --portfolio full --renamings 1 does, and check the netlist"
        names = f"one of {', '.join(RECIPES['cells'])}; default: {STOCK}"
        sub.add_argument("--recipe", choices=RECIPES["cells"], metavar="NAME", help=f"{text} ({names})")
        sub.add_argument("--renaming", type=int, default=1, metavar="N", help="with --liberty: and for this --seed (default: 1)")
        sub.add_argument("--json", action="store_true", help="print the evidence as JSON")


def _sweep_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="TOML file of formats, targets, blocks and options; see docs/sweep.md")
    parser.add_argument("-o", dest="output", metavar="DIR", default="build/sweep", help="folder to write to (default: build/sweep)")
    text = "keep results there, and do not measure again what it holds (default: build/store.sqlite)"
    parser.add_argument("--store", metavar="FILE", default="build/store.sqlite", help=text)
    _add_jobs(parser)
    parser.add_argument("--dask", metavar="ADDRESS", help="scheduler of a Dask cluster, e.g. tcp://127.0.0.1:8786")
    parser.add_argument("--timeout", type=float, default=3600.0, metavar="S", help="seconds that a job may take (default: 3600)")


def _report_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", dest="output", metavar="DIR", help="folder to write (default: build/report)")
    parser.add_argument("--formats", metavar="F[,F...]", help="formats to compare, or all (default: the ones of the README)")
    _add_liberty(parser)
    text = "show the rows of this sweep.json or report.json, too; without --formats, these alone; may be repeated"
    parser.add_argument("--sweep", action="append", metavar="FILE", help=text)
    text = "print which figures differ from those of this report.json or sweep.json by more than spreads; with --sweep alone, only that"
    parser.add_argument("--compare", metavar="FILE", help=text)
    text = "with --compare: exit status 1 if a figure grew by more than this, e.g. 2%%, and beyond the spreads"
    parser.add_argument("--fail-above", metavar="PERCENT", help=text)
    parser.add_argument("--accuracy", metavar="FILE", help="what examples/digits.py --json has written, to be shown, too")
    text = "folder with what hwgen verify has found, to be shown, too (default: build/evidence)"
    parser.add_argument("--evidence", metavar="DIR", default="build/evidence", help=text)
    text = "keep results there, and do not measure again what it holds (default: build/store.sqlite)"
    parser.add_argument("--store", metavar="FILE", default="build/store.sqlite", help=text)
    _add_renamings(parser)
    _add_jobs(parser)
