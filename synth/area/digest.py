"""SHA-256 of texts: the keys of stored results and evidence."""

import hashlib
from pathlib import Path
from types import ModuleType


def sha256(*texts: str) -> str:
    """SHA-256 of the texts, joined by NUL characters, in hexadecimal digits."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def texts(package: ModuleType, *suffixes: str) -> list[str]:
    """Relative path and content of each file of a package that has one of the suffixes (default: ``.py``).

    Subpackages are included, and every file counts: a changed comment invalidates results just as changed code does.
    """
    folder = Path(package.__path__[0])
    paths = sorted(path for suffix in suffixes or (".py",) for path in folder.rglob(f"*{suffix}"))
    return [text for path in paths for text in (path.relative_to(folder).as_posix(), path.read_text())]
