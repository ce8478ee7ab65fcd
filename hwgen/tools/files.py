"""Files that appear whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from golden.refusal import BadValue


def _refused(folder: Path, reason: str | None) -> BadValue:
    return BadValue("folder", f"{str(folder)!r} cannot be written to: {reason}", ": ")


def check_writable(folder: Path) -> None:
    """Refuse a folder that could not be written to, before minutes are spent on what belongs there; nothing is made."""
    place = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    if not place.is_dir() or not os.access(place, os.W_OK):
        raise _refused(folder, f"{str(place)!r} is {'read-only' if place.is_dir() else 'not a folder'}")


@contextmanager
def staging(folder: Path) -> Iterator[Path]:
    """A folder to write files into, which move into ``folder`` at the end, each whole; after an exception nothing has changed there.

    ``folder`` is made when missing. Files of other names stay.
    """
    folder.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".hwgen-", dir=folder))
    try:
        yield draft
        for path in sorted(draft.rglob("*")):
            place = folder / path.relative_to(draft)
            if path.is_dir():
                place.mkdir(exist_ok=True)
            else:
                os.replace(path, place)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write files, by their paths, into a folder: none of them appears before all are complete; other files there stay."""
    with staging(folder) as draft:
        for file, text in files.items():
            (draft / file).parent.mkdir(parents=True, exist_ok=True)
            (draft / file).write_text(text, encoding="utf-8", newline="\n")


def write_folder(parent: Path, name: str, files: Mapping[str, str]) -> Path:
    """Write files as :func:`write_files` does into ``parent/name``, which is returned; refuse a folder that cannot be written to."""
    folder = parent / name
    try:
        write_files(folder, files)
    except OSError as error:
        raise _refused(folder, error.strerror) from None
    return folder
