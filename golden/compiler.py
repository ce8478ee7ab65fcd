"""The machine's C++ compiler, and shared libraries compiled from source text."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

FLAGS = ("-march=native", "-shared", "-fPIC", "-w", "-pipe")
"""Options of every library; it runs on the machine that compiles it."""


_KNOWN = """
#ifdef __FAST_MATH__  // loading such a library flushes subnormals in the whole process
#error sums must be computed as they are written, without -ffast-math
#endif
extern "C" int known_bits(const unsigned long long *a, const unsigned long long *b, int n) {
  int bits = 0;
  for (int i = 0; i < n; i++) bits += __builtin_popcountll(a[i] ^ b[i]);
  return bits;
}
extern "C" int known_sums(const double *x) { return 2 * (x[0] + x[1] - x[0] == 0) + (x[2] != x[2]); }
"""
"""Part of every library: how many bits differ; sums in the order that is written, and a NaN, which are 3."""


@cache
def compiler() -> str | None:
    """Command of a C++ compiler that works on this machine, or None; ``$CXX`` may have arguments."""
    for name in (os.environ.get("CXX", ""), "g++", "clang++", "c++"):
        try:
            program, *arguments = [name] if shutil.which(name) else shlex.split(name)
            path = shutil.which(program)
            if path is not None:
                command = shlex.join([path, *arguments])
                library(command, "")
                return command
        except (ValueError, OSError, subprocess.CalledProcessError):
            continue
    return None


@cache
def compiler_version() -> str | None:
    """First line of the compiler's version, or None without a compiler."""
    command = compiler()
    if command is None:
        return None
    words = shlex.split(command)
    lines = subprocess.run([*words, "--version"], check=False, capture_output=True).stdout.splitlines()
    return lines[0].decode(errors="replace") if lines else Path(words[0]).name


def library(command: str, source: str, options: Sequence[str] = ("-O1",)) -> ctypes.CDLL:
    """Compile C++ with the compiler that a command starts, and load it.

    If that fails, it raises a subprocess.CalledProcessError, whose ``stderr`` has the compiler's messages, or an
    OSError, also for known answers that are wrong.
    """
    with tempfile.TemporaryDirectory(prefix="golden-") as folder:
        return _loaded(_build(command, source, options, Path(folder)))


def _loaded(file: Path) -> ctypes.CDLL:
    """A library whose known answers are right, equal ones and different ones; an OSError if they are not."""
    code, words, last = ctypes.CDLL(str(file)), [(1 << 64) // 3 * place for place in range(9)], 1 << 63
    first, same, other = ((ctypes.c_uint64 * 9)(*words[:-1], words[-1] ^ flip) for flip in (0, 0, last))
    sums = (ctypes.c_double * 3)(2.0**53, 1.0, float("nan"))
    try:
        answers = code.known_bits(first, same, 9), code.known_bits(first, other, 9), code.known_sums(sums)
    except AttributeError:
        answers = (0, 0, 0)
    if answers != (0, 1, 3):
        raise OSError("what it compiles gives wrong answers")
    return code


def kept_library(command: str, source: str, options: Sequence[str], name: str) -> ctypes.CDLL:
    """:func:`library`, but it is kept in the user's cache folder, and compiled only if it is not there.

    The key of a library is all that it depends on: source, options, and what the compiler predefines, which includes
    its version and the instructions of this machine.
    """
    words = shlex.split(command)
    defines = [*words, *options, *FLAGS, "-dM", "-E", "-x", "c++", os.devnull]
    predefined = subprocess.run(defines, check=True, capture_output=True).stdout
    version = subprocess.run([*words, "--version"], check=True, capture_output=True).stdout
    key = hashlib.sha256("\0".join((source, _KNOWN, *options, *FLAGS)).encode() + version + predefined).hexdigest()[:32]
    try:
        file = cache_folder() / f"{name}-{key}.so"
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_own(file.parent)
        if file.exists():
            try:
                _check_own(file)
                if not _is_sealed(file.read_bytes() if file.is_file() else b"", key):
                    raise OSError("it was cut off, or is another library")  # loading the first kind kills the process
                return _loaded(file)
            except OSError:  # damaged, or perhaps not ours: compile it again
                file.unlink()
        with tempfile.TemporaryDirectory(prefix="compile-", dir=file.parent) as folder:
            built = _build(command, source, options, Path(folder))
            content = built.read_bytes()
            built.write_bytes(content + _seal(content, key))
            os.replace(built, file)  # whole, or not at all
        return _loaded(file)
    except (OSError, RuntimeError):  # there is no such folder, or no library can be written there or loaded from there
        return library(command, source, options)


def _seal(content: bytes, key: str) -> bytes:
    """The end of a kept library, which no loader reads."""
    return hashlib.sha256(content + key.encode()).digest()


def _is_sealed(content: bytes, key: str) -> bool:
    return content[-32:] == _seal(content[:-32], key)


def _check_own(path: Path) -> None:
    """Refuse code that another user may have written, because loading runs it."""
    status = path.stat()
    if status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise PermissionError(f"{path} belongs to another user, or others may write to it")


def cache_folder() -> Path:
    """The user's folder of libraries: ``$XDG_CACHE_HOME/minifloat-rtl``, by default in ``~/.cache``."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "minifloat-rtl"


def _build(command: str, source: str, options: Sequence[str], folder: Path) -> Path:
    (folder / "code.cpp").write_text(source + _KNOWN, encoding="utf-8")
    words = [*shlex.split(command), *options, *FLAGS, "-o", "code.so", "code.cpp"]
    temporary = {**os.environ, "TMPDIR": str(folder)}  # what a compiler that is ended leaves goes with the folder
    subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=temporary)
    (folder / "code.so").chmod(0o700)
    return folder / "code.so"
