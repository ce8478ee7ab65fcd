"""The command line: the one place that puts formats, hardware, simulation and synthesis together."""

import argparse
import json
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import golden
from golden.formats import Format
from hwgen.cli.parser import Run, UsageError, option, parser

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
    print("A+B is two formats of one width in one unit, told apart by a select pin: for every block but encoders.")
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
    from hwgen.cli.doctor import examine

    return examine()


# -- generate -----------------------------------------------------------------------------------------------------------------


def _format(name: str, where: str) -> Format:
    from hwgen.blocks.design import block_format

    with option(where):
        return golden.get(name) if where == "FORMAT" else block_format(name)


def _design(arguments: argparse.Namespace) -> Any:
    """The design that the options of a block describe."""
    from hwgen.blocks import build

    fmt = _format(arguments.format, "--format")
    given: dict[str, Any] = {"name": getattr(arguments, "name", None)}
    if "format_b" in arguments:
        given["format_b"] = None if arguments.format_b is None else _format(arguments.format_b, "--format-b")
    given |= {key: value for key, value in vars(arguments).items() if key in _CHOICES}
    if arguments.block == "readout":
        with option("--to"):
            given["to"] = golden.get(given["to"])
    try:
        return build.BLOCKS[arguments.block](fmt, **given)
    except ValueError as error:  # its sentence begins with the argument's name
        argument, _, rest = str(error).partition(" ")
        raise UsageError(f"--{argument.lower().replace('_', '-')} {rest}") from error


_CHOICES = (
    "to", "source", "rounding", "overflow", "nan_to_zero", "random_bits", "accumulator", "terms", "stages", "reset", "clock_enable",
    "interleave", "lanes", "scale_bits", "rounding_pin", "flags",
)  # fmt: skip
"""Options of blocks besides their formats, by the argument names of :mod:`hwgen.blocks.build`."""


def generate(arguments: argparse.Namespace) -> int:
    """Write a block's Verilog, and what other flows want beside it."""
    design = _design(arguments)
    with option("--name"):
        text = design.verilog()
    print(_written(design, text, arguments.output))
    return 0


def _written(design: Any, text: str, output: str) -> Path:
    """The Verilog of a bundle that is written."""
    from hwgen.bundle.files import files
    from hwgen.tools.files import write_folder
    from synth.proof.questions import answer

    with option("-o"):
        return write_folder(Path(output), design.name, files(design, text, answer)) / f"{design.name}.v"


def build_batch(arguments: argparse.Namespace) -> int:
    """Write the bundles of a file's modules."""
    from hwgen.cli import batch

    with option("FILE"):
        designs = batch.read(arguments.file)
    texts = []
    for number, design in enumerate(designs, 1):  # all of them before the first is written
        with option(f"FILE: {arguments.file!r}: module {number}"):
            texts.append(design.verilog())
    for design, text in zip(designs, texts, strict=True):
        print(_written(design, text, arguments.output))
    return 0


# -- area, report, verify -------------------------------------------------------------------------------------------------------------


def area(arguments: argparse.Namespace) -> int:
    """Measure a block."""
    from synth.cli import area as commands

    return _plainly(lambda: commands.area(_design(arguments), arguments))


def report(arguments: argparse.Namespace) -> int:
    """Write the report."""
    from synth.cli import area as commands

    return _plainly(lambda: commands.report(arguments))


def verify(arguments: argparse.Namespace) -> int:
    """Hold a block, or all of them, against golden on all inputs."""
    from synth.cli import verify as commands

    if arguments.block == "all":
        return _plainly(lambda: commands.everything(arguments))
    return _plainly(lambda: commands.one(_design(arguments), arguments))


def sweep(arguments: argparse.Namespace) -> int:
    """Measure a design space."""
    from synth.cli import sweep as commands

    return _plainly(lambda: commands.sweep(arguments))


def _plainly(run: Callable[[], int]) -> int:
    """Run what refuses bad input with a sentence that names the option already."""
    try:
        return run()
    except ValueError as error:
        raise UsageError(str(error)) from error


COMMANDS: dict[str, Run] = {
    "formats": formats, "explain": explain, "doctor": doctor, "generate": generate, "build": build_batch,
    "area": area, "verify": verify, "sweep": sweep,
    "report": report,
}  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 is success, 1 a failure on the way, 2 bad input."""
    from hwgen.tools.process import ToolError

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that temporary folders are taken away
    try:
        arguments = parser(COMMANDS).parse_args(argv)
        status: int = arguments.run(arguments)
    except UsageError as error:
        print(f"hwgen: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except ToolError as error:
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
