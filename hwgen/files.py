"""Files that appear whole or not at all, several in a folder."""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path


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
