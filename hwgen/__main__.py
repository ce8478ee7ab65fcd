"""The command line: the one place that puts formats, hardware, simulation and synthesis together."""

import argparse
import json
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

import golden
from golden.formats import Format
from golden.rows import Overflow, Rounding

_EPILOG = """\
Bad input is answered in one sentence, with exit status 2, and nothing is written.
A path to a .toml file that describes a format is accepted wherever a format's name is; see docs/formats.md.
"""


class UsageError(Exception):
    """One sentence about what was asked for."""


@contextmanager
def option(name: str) -> Iterator[None]:
    """Turn a refusal into a sentence that names the option."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise UsageError(f"{name}: {error}") from error


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


# -- formats, explain, doctor -------------------------------------------------------------------------------------------------


def _summary(fmt: Format) -> dict[str, Any]:
    specials = [word for word, has in (("Inf", fmt.has_infinity), ("NaN", fmt.has_nan), ("-0", fmt.has_negative_zero)) if has]
    return {
        "name": fmt.name,
        "width": fmt.width,
        "precision": fmt.precision,
        "smallest": fmt.smallest,
        "largest": fmt.largest,
        "specials": specials,
        "roundings": list(fmt.roundings),
        "overflows": list(fmt.overflows),
        "cite": fmt.cite,
    }


def formats(arguments: argparse.Namespace) -> int:
    """Print the catalogue."""
    rows = [_summary(golden.get(name)) for name in golden.names()]
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return 0
    titles = f"{'name':14} {'bits':>4} {'precision':>9} {'smallest':>12} {'largest':>12}"
    print(f"{titles}  {'specials':12} {'default rounding, overflow':28} source")
    for row in rows:
        default = f"{row['roundings'][0]}, {row['overflows'][0]}"
        specials = " ".join(row["specials"]) or "none"
        print(
            f"{row['name']:14} {row['width']:4} {row['precision']:9} {row['smallest']:12.6g} {row['largest']:12.6g}"
            f"  {specials:12} {default:28} {row['cite']}"
        )
    print(f"\nFamilies: {', '.join(golden.catalog.FAMILIES)}; a path to a .toml file is a format, too.")
    print("A+B is two formats of one width in one unit, told apart by a select pin: for decoders and MACs.")
    print(f"Sources, decoder targets and accumulators: {', '.join(golden.WIDE)}; accumulator only: exact.")
    return 0


def explain(arguments: argparse.Namespace) -> int:
    """Print what a code means."""
    from golden.explain import explain as lines

    fmt = _format(arguments.format, "FORMAT")
    try:
        code = int(arguments.code, 0)
    except ValueError:
        raise UsageError(f"CODE must be an integer such as 0x5a, 90 or 0b1011010, not {arguments.code!r}") from None
    with option("CODE"):
        text = list(lines(fmt, code))
    print("\n".join(text))
    return 0


def doctor(arguments: argparse.Namespace) -> int:
    """Print which tools are there."""
    del arguments
    from hwgen.doctor import examine

    return examine()


# -- generate -----------------------------------------------------------------------------------------------------------------


def _format(name: str, where: str) -> Format:
    from hwgen.build import block_format

    with option(where):
        return golden.get(name) if where == "FORMAT" else block_format(name)


def _design(arguments: argparse.Namespace) -> Any:
    """The design that the options of a block describe."""
    from hwgen import build

    fmt = _format(arguments.format, "--format")
    name = getattr(arguments, "name", None)
    if name is not None:
        from hwgen.emit import check_name

        try:
            check_name(name, "--name")
        except ValueError as error:
            raise UsageError(str(error)) from error
    match arguments.block:
        case "decoder":
            return build.decoder(fmt, arguments.to, name=name)
        case "encoder":
            if not fmt.roundings:
                raise UsageError(f"--format: an encoder is to one format, not to {fmt.name}")
            rounding = arguments.rounding or fmt.roundings[0].value
            if arguments.random_bits is not None and rounding != Rounding.STOCHASTIC:
                raise UsageError(f"--random-bits: it goes with --rounding stochastic only, not with {rounding!r}")
            bits = 16 if arguments.random_bits is None else arguments.random_bits
            try:
                return build.encoder(fmt, arguments.source, arguments.rounding, arguments.overflow, arguments.nan_to_zero, bits, name=name)
            except ValueError as error:
                where = next((way for way in ("rounding", "overflow") if str(error).lower().startswith(way)), "random-bits")
                raise UsageError(f"--{where}: {error}") from error
    format_b = None if arguments.format_b is None else _format(arguments.format_b, "--format-b")
    if arguments.block == "multiplier":
        return build.multiplier(fmt, format_b, name=name)
    if arguments.terms is not None and arguments.accumulator != "exact":
        raise UsageError(f"--terms: it goes with --accumulator exact only, not with {arguments.accumulator!r}")
    terms = build.DEFAULT_TERMS if arguments.terms is None else arguments.terms
    with option("--terms"):
        return build.BLOCKS[arguments.block](fmt, format_b, arguments.accumulator, terms, name=name)


def generate(arguments: argparse.Namespace) -> int:
    """Write a block's Verilog."""
    from hwgen.files import write_folder

    design = _design(arguments)
    with option("--name"):
        text = design.verilog()
    with option("-o"):
        folder = write_folder(Path(arguments.output), design.name, {f"{design.name}.v": text})
    print(folder / f"{design.name}.v")
    return 0


# -- area, report, verify -------------------------------------------------------------------------------------------------------------


def area(arguments: argparse.Namespace) -> int:
    """Measure a block."""
    from synth import commands

    return _plainly(lambda: commands.area(_design(arguments), arguments))


def report(arguments: argparse.Namespace) -> int:
    """Write the report."""
    from synth import commands

    return _plainly(lambda: commands.report(arguments))


def verify(arguments: argparse.Namespace) -> int:
    """Hold a block, or all of them, against golden on all inputs."""
    from synth.proof import commands

    if arguments.block == "all":
        return _plainly(lambda: commands.everything(arguments))
    return _plainly(lambda: commands.one(_design(arguments), arguments))


def sweep(arguments: argparse.Namespace) -> int:
    """Measure a design space."""
    from synth.sweep import commands

    return _plainly(lambda: commands.sweep(arguments))


def _plainly(run: Callable[[], int]) -> int:
    """Run what refuses bad input with a sentence that names the option already."""
    try:
        return run()
    except ValueError as error:
        raise UsageError(str(error)) from error


GENERATED = ("decoder", "encoder", "mac")
"""Blocks that are written and checked; area is measured of the parts of a MAC, too."""


# -- the parser ---------------------------------------------------------------------------------------------------------------


def _add_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", required=True, metavar="F", help="a format's name (see `hwgen formats`) or a path to a .toml file")


def _decoder_options(parser: argparse.ArgumentParser) -> None:
    from hwgen.decoder import TARGETS

    _add_format(parser)
    parser.add_argument("--to", choices=TARGETS, default="binary16", help="what comes out (default: binary16)")


def _encoder_options(parser: argparse.ArgumentParser) -> None:
    _add_format(parser)
    parser.add_argument("--from", dest="source", choices=golden.WIDE, default="binary32", help="what goes in (default: binary32)")
    parser.add_argument("--rounding", choices=[r.value for r in Rounding], help="default: the format's")
    parser.add_argument("--overflow", choices=[o.value for o in Overflow], help="default: the format's")
    parser.add_argument("--nan-to-zero", action="store_true", help="NaN becomes code 0")
    parser.add_argument("--random-bits", type=int, metavar="R", help="width of the random port, with --rounding stochastic (default: 16)")


def _multiplier_options(parser: argparse.ArgumentParser) -> None:
    _add_format(parser)
    parser.add_argument("--format-b", metavar="G", help="format of the second operand (default: that of the first)")


def _mac_options(parser: argparse.ArgumentParser) -> None:
    _multiplier_options(parser)
    parser.add_argument("--accumulator", choices=golden.ACCUMULATORS, default="binary16", help="default: binary16")
    parser.add_argument("--terms", type=int, metavar="N", help="products that an exact accumulator has room for (default: 1024)")


_OPTIONS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "decoder": ("code to bits of a wider format, or to sign, exponent and significand", _decoder_options),
    "encoder": ("bits of a wider format to code, in any of the format's roundings", _encoder_options),
    "mac": ("fused multiply-accumulate: one rounding of the exact acc + a * b", _mac_options),
    "multiplier": ("first part of a MAC: decoders, exact product, exponent sum, flags", _multiplier_options),
    "adder": ("second part of a MAC: alignment, addition, rounding", _mac_options),
}


def _parser() -> argparse.ArgumentParser:
    about = "Synthesizable Verilog for 8-bit floating point: decoders, encoders, fused multiply-accumulate units, and what they cost."
    parser = _Parser(
        prog="hwgen", allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, epilog=_EPILOG, description=about,
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"hwgen {version('minifloat-rtl')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)

    def command(name: str, run: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        sub = _described(commands, name, text)
        sub.set_defaults(run=run)
        return sub

    listing = command("formats", formats, "list every format with its range, specials and defaults")
    listing.add_argument("--json", action="store_true", help="print JSON")
    telling = command("explain", explain, "show a code's fields, value, neighbours, and what each rounding sends to it")
    telling.add_argument("format", metavar="FORMAT")
    telling.add_argument("code", metavar="CODE", help="e.g. 0x5a, 90 or 0b1011010")
    command("doctor", doctor, "check the tools that this machine has")
    for sub in _blocks(command("generate", generate, "write a block's Verilog to DIR/NAME/NAME.v"), GENERATED).values():
        sub.add_argument("-o", dest="output", metavar="DIR", default=".", help="folder to write to (default: this one)")
        sub.add_argument("--name", help="module name (default: made of the options)")
    for sub in _blocks(command("area", area, "synthesize a block and print what it costs"), tuple(_OPTIONS)).values():
        _area_options(sub)
    _verify_options(command("verify", verify, "hold a block, or your own Verilog of it, against the golden model on all inputs"))
    _sweep_options(command("sweep", sweep, "measure a design space that a file describes, on this machine or a Dask cluster"))
    _report_options(command("report", report, "measure a set of formats and write JSON, CSV, Markdown and one HTML page"))
    return parser


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


def _add_jobs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jobs", type=int, metavar="N", help="parallel jobs (default: one per core)")


def _add_liberty(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--liberty", action="append", metavar="FILE", help="cell library to map to (.lib or .lib.gz); may be repeated")


def _add_renamings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--renamings", type=int, default=4, metavar="N", help="renamings to take the median over (default: 4)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the first renaming, the others follow (default: 1)")


def _area_options(parser: argparse.ArgumentParser) -> None:
    from synth.recipes import DEFAULT_PORTFOLIO, PORTFOLIOS
    from synth.targets import TARGETS

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
    everything = "every block of every format in the catalogue; what the folder holds already is not checked again"
    for name, sub in _blocks(parser, GENERATED, ("all", everything)).items():
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
        _add_liberty(sub)
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
    parser.add_argument("-o", dest="output", metavar="DIR", default="build/report", help="folder to write (default: build/report)")
    parser.add_argument("--formats", metavar="F[,F...]", help="formats to compare, or all (default: the ones of the README)")
    text = "cell library to measure on, too: a file, or several with commas between; may be repeated for several libraries"
    parser.add_argument("--liberty", action="append", metavar="FILE[,FILE...]", help=text)
    text = "show the rows of this sweep.json, too; without --formats, these alone; may be repeated"
    parser.add_argument("--sweep", action="append", metavar="FILE", help=text)
    parser.add_argument("--accuracy", metavar="FILE", help="what examples/digits.py --json has written, to be shown, too")
    text = "folder with what hwgen verify has found, to be shown, too (default: build/evidence)"
    parser.add_argument("--evidence", metavar="DIR", default="build/evidence", help=text)
    text = "keep results there, and do not measure again what it holds (default: build/store.sqlite)"
    parser.add_argument("--store", metavar="FILE", default="build/store.sqlite", help=text)
    _add_renamings(parser)
    _add_jobs(parser)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 is success, 1 a failure on the way, 2 bad input."""
    from hwgen.yosys import YosysError

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that temporary folders are taken away
    try:
        arguments = _parser().parse_args(argv)
        status: int = arguments.run(arguments)
    except UsageError as error:
        print(f"hwgen: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except YosysError as error:
        print(f"hwgen: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader of our output has gone
        sys.stderr.close()
        return 1
    except OSError as error:  # a full disk, above all
        print(f"hwgen: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("hwgen: interrupted", file=sys.stderr)
        return 130
    return status


if __name__ == "__main__":
    sys.exit(main())
