"""The command line: the one place that puts formats, hardware, simulation and synthesis together."""

import argparse
import signal
import sys
import threading
from collections.abc import Sequence

from golden.refusal import Refusal
from hwgen.cli.parser import Run, design_from, parser
from hwgen.cli.show import doctor, explain, formats
from hwgen.cli.write import build_batch, generate


def area(arguments: argparse.Namespace) -> int:
    """Measure a block."""
    from synth.cli import area

    return area.area(design_from(arguments), arguments)


def report(arguments: argparse.Namespace) -> int:
    """Write the report."""
    from synth.cli import report

    return report.report(arguments)


def verify(arguments: argparse.Namespace) -> int:
    """Check a block, or all of them, against golden on all inputs."""
    from synth.cli import verify

    return verify.everything(arguments) if arguments.block == "all" else verify.one(design_from(arguments), arguments)


def sweep(arguments: argparse.Namespace) -> int:
    """Measure a design space."""
    from synth.cli import sweep

    return sweep.sweep(arguments)


COMMANDS: dict[str, Run] = {
    "formats": formats, "explain": explain, "doctor": doctor, "generate": generate, "build": build_batch, "area": area,
    "verify": verify, "sweep": sweep, "report": report,
}  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 is success, 1 a failure on the way, 2 bad input. Any other exception is a bug, and shows its
    traceback.
    """
    from hwgen.tools.process import ToolError

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that temporary folders are taken away
    try:
        words = sys.argv[1:] if argv is None else list(argv)
        arguments = parser(COMMANDS, words[0] if words else "").parse_args(words)
        status: int = arguments.run(arguments)
    except Refusal as refusal:
        print(f"hwgen: {' '.join(_sentence(refusal).split())}", file=sys.stderr)
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


def _sentence(refusal: Refusal) -> str:
    """A refusal in the command line's words: what is a Python argument is its option."""
    argument = refusal.argument
    if argument is None or not (argument.isidentifier() and argument.islower()):
        return str(refusal)
    return str(refusal.about(f"--{argument.replace('_', '-')}"))


if __name__ == "__main__":
    sys.exit(main())
