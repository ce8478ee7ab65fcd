"""Files that appear whole or not at all, several in a folder."""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path


def check_writable(folder: Path) -> None:
    """Raise ValueError for a folder that could not be written to, before minutes are spent on what belongs there; nothing is made."""
    place = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    if not place.is_dir() or not os.access(place, os.W_OK):
        raise ValueError(f"{str(folder)!r} cannot be written to: {str(place)!r} is {'read-only' if place.is_dir() else 'not a folder'}")


def write_folder(parent: Path, name: str, files: Mapping[str, str]) -> Path:
    """Write files, by their paths, into ``parent/name``, each whole or not at all; what else stands there stays.

    Raises
    ------
    ValueError
        If the folder cannot be written to; the sentence names it.
    """
    folder = parent / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".hwgen-", dir=folder))
    except OSError as error:
        raise ValueError(f"Folder {str(folder)!r} cannot be written to: {error.strerror}") from None
    try:
        for file, text in files.items():
            (staging / file).parent.mkdir(exist_ok=True)
            (staging / file).write_text(text, encoding="utf-8", newline="\n")
        for file in files:
            (folder / file).parent.mkdir(exist_ok=True)
            os.replace(staging / file, folder / file)
    except OSError as error:
        raise ValueError(f"Folder {str(folder)!r} cannot be written to: {error.strerror}") from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return folder
