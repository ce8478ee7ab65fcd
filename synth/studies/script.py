"""The command lines of studies: options, exit statuses and messages."""

import argparse
import sys
from collections.abc import Callable
from typing import NamedTuple

from golden.refusal import Refusal
from hwgen.tools import failures
from hwgen.tools.process import ToolError


class Check(NamedTuple):
    """A line of a table, and whether its limit is kept; None if it was not measured, or is no limit."""

    text: str
    kept: bool | None


def parser(about: str | None, stores: bool = True, files: bool = False) -> argparse.ArgumentParser:
    """The options of a study; ``about`` is the docstring of its module.

    ``stores``: it keeps results in a store. ``files``: and in a file of the program.
    """
    options = argparse.ArgumentParser(description=(about or "").splitlines()[0])
    if stores:
        text = "reuse the results in this file and add new ones (default: %(default)s)"
        options.add_argument("--store", default="build/store.sqlite", metavar="FILE", help=text)
    if files:
        options.add_argument("--jobs", type=int, metavar="N", help="jobs that run at the same time")
        text = "measure everything again, also what the study's file has"
        options.add_argument("--again", action="store_true", help=text)
    return options


def status(name: str, study: Callable[[], int | None]) -> int:
    """Run a study and return its exit status: its result (None is 0), 1 for a failure, 2 for bad input, 130 for an
    interrupt.

    The last three print one sentence to standard error, after ``name``. Any other exception is a bug and is not caught.
    """
    try:
        return study() or 0
    except Refusal as refusal:
        option = None if refusal.argument is None else f"--{refusal.argument.replace('_', '-')}"
        sentence, number = str(refusal if option is None else refusal.about(option)), 2
    except (ToolError, OSError) as error:
        sentence, number = failures.sentence(error), 1
    except KeyboardInterrupt:
        sentence, number = "interrupted", 130
    print(f"{name}: {sentence}", file=sys.stderr)
    return number
