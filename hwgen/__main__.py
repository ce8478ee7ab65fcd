"""The command line: the one module that combines formats, hardware, simulation and synthesis."""

import argparse
import os
import resource
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO, cast

from golden.refusal import Refusal
from hwgen.cli.parser import Run, design_from, parser
from hwgen.cli.show import doctor, explain, formats, table
from hwgen.cli.write import build, generate
from hwgen.tools.failures import sentence
from hwgen.tools.progress import Escaped


def area(arguments: argparse.Namespace) -> int:
    """Measure a block."""
    from synth.cli import area

    return area.area(design_from(arguments), arguments)


def energy(arguments: argparse.Namespace) -> int:
    """Measure a block's energy."""
    from synth.cli import energy

    return energy.energy(design_from(arguments), arguments)


def report(arguments: argparse.Namespace) -> int:
    """Write the report."""
    from synth.cli import report

    return report.report(arguments)


def verify(arguments: argparse.Namespace) -> int:
    """Check a block, or every block, against the reference model for every input."""
    from synth.cli import verify

    return verify.everything(arguments) if arguments.block == "all" else verify.one(design_from(arguments), arguments)


def compare(arguments: argparse.Namespace) -> int:
    """Check a user's module, and measure it and ours."""
    from synth.cli import versus

    return versus.compare(design_from(arguments), arguments)


def simulate(arguments: argparse.Namespace) -> int:
    """Run a regression of a block against the reference model."""
    from hwgen.cli import simulate

    return simulate.run(design_from(arguments), arguments)


def sweep(arguments: argparse.Namespace) -> int:
    """Measure a design space."""
    from synth.cli import sweep

    return sweep.sweep(arguments)


_COMMANDS = (formats, explain, table, doctor, generate, build, area, energy, verify, compare, simulate, sweep, report)
COMMANDS: dict[str, Run] = {command.__name__: command for command in _COMMANDS}
AGAIN = 0.1
"""Seconds after which a signal is sent again whose exception was swallowed."""
FEW_FILES = 128
"""Open files that a command may need; usual limits are 256 and more."""


@contextmanager
def _escaping() -> Iterator[None]:
    streams = sys.stdout, sys.stderr
    names = "standard output", "standard error"
    escaped = (Escaped(stream or _nowhere(), name) for stream, name in zip(streams, names, strict=True))
    sys.stdout, sys.stderr = (cast(TextIO, stream) for stream in escaped)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


@_escaping()
def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0 for success, 1 for a failure such as a full disk, 2 for bad input.

    Any other exception is a bug, and leaves with its traceback.
    """
    from hwgen.tools.process import ToolError

    try:
        words = (sys.argv[1:] if argv is None else list(argv)) or ["--help"]
        arguments = parser(COMMANDS, words[0]).parse_args(words)
        with _ending_in_order():
            status: int = arguments.run(arguments)
        sys.stdout.flush()
    except Refusal as refusal:
        print(f"hwgen: {' '.join(_sentence(refusal).split())}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output has gone
        _drop_output()
        return 1
    except (ToolError, OSError) as error:
        _drop_output()
        print(f"hwgen: {sentence(error)}{_limit()}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("hwgen: interrupted", file=sys.stderr)
        return 130
    return status


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """Make the first SIGTERM or SIGHUP an exception, so that tools are stopped and temporary folders removed.

    ``timeout`` sends it twice, and an exception amid the clean-up would leave locks in the wrong state. Python swallows
    an exception that a destructor happens to be interrupted by: then the signal is sent again.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _: object) -> None:
        for each in before:
            signal.signal(each, signal.SIG_IGN)
        sys.exit(128 + number)

    def swallowed(problem: "sys.UnraisableHookArgs") -> None:
        if isinstance(problem.exc_value, SystemExit):
            arm()
            number = cast(int, problem.exc_value.code) - 128
            threading.Timer(AGAIN, os.kill, (os.getpid(), number)).start()
        else:
            hook(problem)

    def arm() -> None:
        for number, handler in before.items():
            if handler != signal.SIG_IGN:  # as nohup does
                signal.signal(number, end)

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    hook, sys.unraisablehook = sys.unraisablehook, swallowed
    arm()
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)


def _nowhere() -> TextIO:
    """In place of a stream that the caller has closed."""
    return os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def _drop_output() -> None:
    """Drop what cannot be written, because the interpreter would try again at its end, and fail with its own status."""
    try:
        sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _limit() -> str:
    """The limit of open files, where it is so low that it may be why a tool failed, which does not say so itself."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return f"; only {files} files may be open at a time (ulimit -n)" if 0 <= files < FEW_FILES else ""


def _sentence(refusal: Refusal) -> str:
    """The refusal's sentence, with the option's name where the refusal names a Python argument."""
    argument = refusal.argument
    if argument is None or not (argument.isidentifier() and argument.islower()):
        return str(refusal)
    return str(refusal.about(f"--{argument.replace('_', '-')}"))


if __name__ == "__main__":
    sys.exit(main())
