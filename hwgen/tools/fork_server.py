"""A script that forks a process for each run of a tool, so that Python and the tool's package are imported once.

Usage: python fork_server.py PACKAGE FUNCTION, with a socket as standard input. Each message is a JSON list of a folder
and the arguments of ``PACKAGE.FUNCTION``, which runs there and returns an exit status. Two file descriptors come with
the message: one for the tool's output, and one on which the tool's process number and then its exit status are written.
The server ends when the socket is closed. If the client is killed, its tools are, too, and their folders are removed.
"""

import contextlib
import importlib
import json
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence

Run = Callable[[Sequence[str]], int]

LONGEST = 1 << 16
"""Bytes of a message."""


def serve(connection: socket.socket, run: Run) -> None:
    """Fork a process that watches a tool, for each message."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no process that has ended is kept
    while True:
        message, descriptors, _, _ = socket.recv_fds(connection, LONGEST, 2)
        if not message:
            return
        if os.fork() == 0:
            connection.close()
            _watch(run, *json.loads(message), *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _watch(run: Run, folder: str, words: Sequence[str], output: int, report: int) -> None:
    """Run the tool in a process, and report its number and its exit status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    number = os.fork()
    if number == 0:
        os.close(report)
        _become(run, folder, words, output)
    os.close(output)

    ended = threading.Event()

    def end_with_client() -> None:
        client = select.poll()
        client.register(report, 0)  # an error: nobody reads the report any more
        client.poll()
        if not ended.is_set():
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.kill(number, signal.SIGKILL)

    threading.Thread(target=end_with_client, daemon=True).start()
    with contextlib.suppress(BrokenPipeError):  # the client has ended, and so does the tool
        os.write(report, f"{number}\n".encode())
    _, status = os.waitpid(number, 0)
    ended.set()
    try:
        os.write(report, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    except BrokenPipeError:
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def _become(run: Run, folder: str, words: Sequence[str], output: int) -> None:
    """Run the tool in this process, and end it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # a file that is too long ends the tool, which would cut it off
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    os.close(output)
    os.chdir(folder)
    tempfile.tempdir = folder  # so that a killed tool leaves nothing behind when the folder is removed
    status = 1
    try:
        status = run(words)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the client ends its tools
    package, function = sys.argv[1:]
    serve(socket.socket(fileno=os.dup(0)), getattr(importlib.import_module(package), function))
