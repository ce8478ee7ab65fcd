"""SHA-256 of texts: what results and evidence are known by."""

import hashlib
from pathlib import Path
from types import ModuleType


def sha256(*texts: str) -> str:
    """Of texts one after the other, in hexadecimal digits."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def texts(package: ModuleType, *suffixes: str) -> list[str]:
    """Paths and texts of a package's files with one of the suffixes (``.py`` if none is named), those of its
    subpackages too.

    Every file counts, so that none can be forgotten: a changed comment invalidates results as a changed rule does.
    """
    folder = Path(package.__path__[0])
    paths = sorted(path for suffix in suffixes or (".py",) for path in folder.rglob(f"*{suffix}"))
    return [text for path in paths for text in (path.relative_to(folder).as_posix(), path.read_text())]
