"""SHA-256 of texts: what results and evidence are known by."""

import hashlib
from pathlib import Path
from types import ModuleType


def sha256(*texts: str) -> str:
    """Of texts one after the other, in hexadecimal digits."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def texts(package: ModuleType, *suffixes: str) -> list[str]:
    """The files of a package with one of the suffixes (``.py`` if none is named), not those of packages inside it."""
    folder = Path(package.__path__[0])
    return [path.read_text() for suffix in suffixes or (".py",) for path in sorted(folder.glob(f"*{suffix}"))]
