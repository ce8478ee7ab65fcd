"""Reads users' texts in any encoding, and writes files atomically: all of them appear, or none."""

import codecs
import errno
import fcntl
import os
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from golden.refusal import BadValue, read_bytes
from hwgen.tools.failures import naming


def text_of(data: bytes) -> str:
    """Text in UTF-8, with or without a byte order mark, or else in Latin-1; its lines end as on Unix.

    Null characters are a UnicodeError: that is no text.
    """
    if b"\0" in data:
        raise UnicodeError("a text has no null characters")
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = str(data, "utf-8")
    except UnicodeDecodeError:
        text = str(data, "latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_text(path: str, option: str) -> str:
    """Text of the user's file that an option names; it is refused if it cannot be read."""
    try:
        return text_of(read_bytes(path))
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a text file"
        raise BadValue(option, f"{path!r} cannot be read: {reason}", ": ") from error


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
"""Errors that another folder would avoid. Others, such as a full disk, are failures and not bad input."""


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn the error of a folder that cannot be written to into a refusal; other errors, e.g. a full disk, pass."""
    try:
        if "\0" in str(folder):
            raise _refused(folder, "no file can have this name")
        yield
    except OSError as error:
        if error.errno not in _UNWRITABLE:
            raise
        raise _refused(folder, error.strerror) from error


def check_writable(folder: Path, files: Iterable[str] = ()) -> None:
    """Refuse a folder that is not writable, or in which ``files`` could not be created; change nothing."""
    with writing(folder):
        # a link that leads nowhere is no folder, and none can be created in its place
        existing = next(parent for parent in (folder, *folder.absolute().parents) if os.path.lexists(parent))
        if not existing.is_dir() or not os.access(existing, os.W_OK):
            raise _refused(folder, f"{str(existing)!r} is {'read-only' if existing.is_dir() else 'not a folder'}")
        longest = os.pathconf(existing, "PC_NAME_MAX")
        for file in ("", *files):
            if any(len(os.fsencode(part)) > longest for part in (folder / file).parts):
                raise _refused(folder, os.strerror(errno.ENAMETOOLONG))
        for path in (folder / file for file in files):
            parent = next(parent for parent in path.parents if os.path.lexists(parent))
            leads_nowhere = path.is_symlink() and not Path(os.path.realpath(path)).parent.is_dir()
            if not parent.is_dir() or path.is_dir() or leads_nowhere:
                raise _refused(folder, f"{str(path if parent.is_dir() else parent)!r} is in the way")


@contextmanager
def reserved(folder: Path, wait: bool = False) -> Iterator[None]:
    """Hold an existing folder; refuse it if another process holds it, or ``wait``. Folders may have no locks."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as error:
            raise _refused(folder, "another run is using it") from error
        except OSError:  # some network file systems
            pass
        yield
    finally:
        os.close(descriptor)


@contextmanager
def staging(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder, whose files are moved into ``folder`` at the end; after an exception none is moved.

    ``folder`` is created if missing; other files in it remain. Errors name files where they would have been.
    """
    folder.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".hwgen-", dir=folder))
    try:
        yield draft
        for path in sorted(draft.rglob("*")):
            target = folder / path.relative_to(draft)
            if path.is_dir():
                target.mkdir(exist_ok=True)
            else:
                os.replace(path, target)
    except OSError as error:
        if not Path(str(error.filename)).is_relative_to(draft):
            raise
        raise OSError(error.errno, error.strerror, str(folder / Path(error.filename).relative_to(draft))) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file, whole or not at all; of a link, the file that it leads to. Devices and pipes are written to."""
    try:
        _write_whole(path, content)
    except OSError as error:  # which names the partial file, or none
        raise OSError(error.errno, error.strerror, str(path)) from error


def _write_whole(path: Path, content: bytes) -> None:
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    path = Path(os.path.realpath(path))
    partial = path.with_name(f".{os.getpid()}-{threading.get_ident()}.partial")
    try:
        partial.write_bytes(content)
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write texts by relative path into a folder; none appears before all are written. Other files there remain."""
    with staging(folder) as draft:
        for file, text in files.items():
            (draft / file).parent.mkdir(parents=True, exist_ok=True)
            with naming(draft / file):
                (draft / file).write_text(text, encoding="utf-8", newline="\n")


def write_folder(parent: Path, name: str, files: Mapping[str, str]) -> Path:
    """Write files to ``parent/name`` like :func:`write_files`; return that folder, or refuse it if not writable."""
    folder = parent / name
    with writing(folder):
        write_files(folder, files)
    return folder
