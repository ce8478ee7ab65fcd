"""Exit statuses and messages of the studies that run as scripts."""

import sys
from collections.abc import Callable

from golden.refusal import Refusal
from hwgen.tools.process import ToolError


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
        sentence, number = str(error), 1
    except KeyboardInterrupt:
        sentence, number = "interrupted", 130
    print(f"{name}: {sentence}", file=sys.stderr)
    return number
