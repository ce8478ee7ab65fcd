"""The console command ``hwgen``: an interrupt while the program is imported ends it as a later one does."""

import os
import signal
from typing import NoReturn


def main() -> int:
    """Import the command line, which takes a second, and run one command; see :func:`hwgen.__main__.main`."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # a shell makes background processes ignore the signal
        signal.signal(signal.SIGINT, _end)
    from hwgen.__main__ import main as run

    signal.signal(signal.SIGINT, before)
    return run()


def _end(*_: object) -> NoReturn:
    """End at once: nothing has to be cleaned up yet, and an exception would print a traceback or be lost."""
    os.write(2, b"hwgen: interrupted\n")
    os._exit(130)
