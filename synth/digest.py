"""SHA-256 of texts: what results and evidence are known by."""

import hashlib
from collections.abc import Collection
from pathlib import Path
from types import ModuleType


def sha256(*texts: str) -> str:
    """Of texts one after the other, in hexadecimal digits."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def texts(package: ModuleType, *suffixes: str, leave_out: Collection[str] = ()) -> list[str]:
    """The files of a package with one of the suffixes (``.py`` if none is named), not those of packages inside it.

    Parameters
    ----------
    package : module
    suffixes : str
    leave_out : collection of str
        Names of files, without suffix, that do not count.
    """
    folder = Path(package.__path__[0])
    paths = (path for suffix in suffixes or (".py",) for path in sorted(folder.glob(f"*{suffix}")))
    return [path.read_text() for path in paths if path.stem not in leave_out]
