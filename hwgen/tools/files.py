"""Files that appear whole or not at all."""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from golden.refusal import BadValue


def _refused(folder: Path, reason: str | None) -> BadValue:
    return BadValue("folder", f"{str(folder)!r} cannot be written to: {reason}", ": ")


_UNWRITABLE = {
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.EEXIST,
    errno.ENOTEMPTY,
    errno.ENOENT,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.EINVAL,
}
"""What another folder would mend; a full disk is a failure on the way."""


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """A folder that cannot be written to becomes a refusal of ``folder``; a full disk, say, does not."""
    try:
        yield
    except OSError as error:
        if error.errno not in _UNWRITABLE:
            raise
        raise _refused(folder, error.strerror) from error


def check_writable(folder: Path, files: Iterable[str] = ()) -> None:
    """Refuse a folder that could not be written to, or in which ``files`` have no place; nothing is made."""
    with writing(folder):
        place = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
        if not place.is_dir() or not os.access(place, os.W_OK):
            raise _refused(folder, f"{str(place)!r} is {'read-only' if place.is_dir() else 'not a folder'}")
        longest = os.pathconf(place, "PC_NAME_MAX")
        for file in ("", *files):
            if any(len(os.fsencode(part)) > longest for part in (folder / file).parts):
                raise _refused(folder, os.strerror(errno.ENAMETOOLONG))
        for file in files:
            above = next(parent for parent in (folder / file).parents if parent.exists())
            if not above.is_dir() or (folder / file).is_dir():
                raise _refused(
                    folder,
                    f"{file!r} has no place there, where {str(above if above.is_file() else folder / file)!r} stands",
                )


@contextmanager
def staging(folder: Path) -> Iterator[Path]:
    """A folder to write files into, which move into ``folder`` at the end, each whole; after an exception nothing has
    changed there.

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
    """Write files as :func:`write_files` does into ``parent/name``, which is returned; refuse a folder that cannot be
    written to.
    """
    folder = parent / name
    with writing(folder):
        write_files(folder, files)
    return folder
