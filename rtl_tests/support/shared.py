"""Work that tests share, also with other processes: results of Yosys and checks that passed, by all they depend on.

Most tests start from the same modules. Two runs of Yosys have the same results if script, files and names of the
results are equal, so only the first one of a session is made. The fixture ``unshared`` is for tests of the runs.
"""

import json
import os
import tempfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from hwgen.tools import yosys
from synth.area.digest import sha256

FOLDER = "RTL_TESTS_SHARED"
"""The environment variable that names the folder of a session to its processes; without it nothing is shared."""

run_alone = yosys.run
"""Runs Yosys, whatever has been run before."""


def _file(*words: str) -> Path | None:
    """The file of what depends on these words alone."""
    folder = os.environ.get(FOLDER)
    return Path(folder) / sha256(*words) if folder else None


def _write(file: Path, content: bytes) -> None:
    """Write a file that other processes see only as a whole."""
    number, draft = tempfile.mkstemp(dir=file.parent)
    with os.fdopen(number, "wb") as stream:
        stream.write(content)
    os.replace(draft, file)


def run_yosys(
    script: str, inputs: Mapping[str, str | bytes], outputs: Sequence[str], timeout: float | None = None
) -> dict[str, str]:
    """:func:`hwgen.tools.yosys.run`, or what an earlier run has written. Runs that fail or have a timeout are made."""
    contents = [text.hex() if isinstance(text, bytes) else f"text {text}" for text in inputs.values()]
    file = _file("yosys", script, json.dumps([*inputs]), *contents, json.dumps([*outputs]))
    if file is None or timeout is not None:
        return run_alone(script, inputs, outputs, timeout)
    if file.exists():
        stored: dict[str, str] = json.loads(zlib.decompress(file.read_bytes()))
        return stored
    results = run_alone(script, inputs, outputs)
    _write(file, zlib.compress(json.dumps(results).encode(), 1))
    return results


def made(name: str, make: Callable[[Path], object]) -> Path:
    """A folder with what ``make`` has written into it for some test of this session; no test changes it."""
    folder = Path(os.environ[FOLDER]) / name
    if not folder.exists():
        draft = Path(tempfile.mkdtemp(dir=folder.parent))
        make(draft)
        with suppress(OSError):  # another process has made it, too
            draft.rename(folder)
    return folder


def has_passed(check: str, text: str) -> bool:
    """Whether a text has passed a check in this session."""
    file = _file(check, text)
    return file is not None and file.exists()


def passed(check: str, text: str) -> None:
    """Note that a text has passed a check."""
    file = _file(check, text)
    if file is not None:
        _write(file, b"")
