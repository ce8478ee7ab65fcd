"""Evidence: for each module what was checked, by what, in how many cases, with which tools; and the folder that keeps it."""

import hashlib
import json
import os
import platform
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

import golden
import synth.proof
from golden import Format
from synth.area.digest import sha256, texts

EMITTED = "emitted"
"""Source of Verilog that ``hwgen generate`` writes."""

EQUAL, DIFFERENT, INCOMPLETE, UNPROVED = "equal", "different", "incomplete", "unproved"
"""Verdicts: all cases agree with golden; one does not; a run was broken off; no method reaches all cases."""


@dataclass
class Evidence:
    """What is known of one module.

    Attributes
    ----------
    module : str
    command : str
        The command that repeats the check.
    source : str
        Where the Verilog comes from: :data:`EMITTED`, or the name of the Verilog file that was checked.
    libraries : list of str
        Cell libraries that the module was mapped to, each cell being what its library says; none for simple gates.
    method : str
        How all inputs were reached, or why they were not.
    inputs : int
        Number of all inputs.
    cases : int
        Inputs that the verdict rests on: all of them where it is ``equal``.
    verdict : str
        One of :data:`EQUAL`, :data:`DIFFERENT`, :data:`INCOMPLETE`, :data:`UNPROVED`.
    seconds : float
        Computing time, all runs together, by the wall clock.
    counterexamples : list of dict
        ``inputs``, ``got``, ``golden``: port values in hexadecimal digits; ``sentence``: fields and exact values.
    hashes, tools : dict of str to str
    done : list of int
        Parts that an incomplete check has behind it.
    place : str
        Of a file of the user's eight digits that tell it from others of its name: of the hash of where it lies.
    """

    module: str
    command: str
    source: str
    libraries: list[str]
    method: str
    inputs: int
    hashes: Mapping[str, str]
    tools: Mapping[str, str]
    cases: int = 0
    verdict: str = INCOMPLETE
    seconds: float = 0.0
    counterexamples: list[dict[str, Any]] = field(default_factory=list)
    done: list[int] = field(default_factory=list)
    place: str = ""

    @property
    def name(self) -> str:
        """What the record is kept under: the module, and whatever else than plain gates of the emitted text was checked."""
        cells = [f"cells-{(self.hashes.get('cells') or self.hashes['libraries'])[:12]}"] if self.libraries else []
        parts = [self.module, *([] if self.source == EMITTED else [self.source, self.place]), *cells]
        return re.sub(r"[^A-Za-z0-9_.-]", "_", ".".join(parts))[:200]

    def continues(self, earlier: "Evidence | None") -> bool:
        """Whether an earlier record is about the same thing, so that its parts need not be done again."""
        names = ("name", "command", "method", "inputs", "hashes", "tools")
        return earlier is not None and all(getattr(self, name) == getattr(earlier, name) for name in names)

    def record(self) -> dict[str, Any]:
        """As plain data."""
        record = asdict(self)
        if self.verdict != INCOMPLETE:
            del record["done"]
        record["seconds"] = round(self.seconds, 2)
        return record


class Store:
    """A folder with one file for each module's evidence."""

    def __init__(self, folder: Path):
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise ValueError(f"Folder {str(folder)!r} cannot be written to: {error.strerror}") from None

    def path(self, name: str) -> Path:
        """The file of a record."""
        return self.folder / f"{name}.json"

    def load(self, name: str) -> Evidence | None:
        """The record under a name; None where there is nothing, or nothing that can be read."""
        try:
            found = Evidence(**json.loads(self.path(name).read_text()))
        except (OSError, ValueError, TypeError, RecursionError):
            return None
        return found if _is_sound(found) else None

    def save(self, evidence: Evidence) -> None:
        """Write a record, whole or not at all."""
        path = self.path(evidence.name)
        fresh = path.with_suffix(f".{os.getpid()}.tmp")
        try:
            fresh.write_text(json.dumps(evidence.record(), indent=2) + "\n")
            os.replace(fresh, path)
        finally:
            fresh.unlink(missing_ok=True)

    def __iter__(self) -> Iterator[Evidence]:
        for path in sorted(self.folder.glob("*.json")):
            found = self.load(path.stem)
            if found is not None:
                yield found


def power(count: int) -> str:
    """A count in short: as a power of two where it is one."""
    return f"2^{count.bit_length() - 1}" if count & (count - 1) == 0 and count > 4096 else f"{count:,}"


def _is_sound(found: Evidence) -> bool:
    """Whether a record has the form of one, whoever has written it."""
    parts, seconds = found.done, found.seconds
    lists = isinstance(parts, list) and all(type(part) is int and part >= 0 for part in parts) and len(set(parts)) == len(parts)
    numbers = type(seconds) in (int, float) and seconds >= 0 and type(found.cases) is int and type(found.inputs) is int
    dicts = isinstance(found.hashes, dict) and isinstance(found.tools, dict) and isinstance(found.libraries, list)
    words = all(isinstance(word, str) for word in (found.module, found.command, found.source, found.method, found.verdict, found.place))
    return lists and numbers and dicts and words and (found.verdict != EQUAL or found.cases == found.inputs)


@cache
def program_hashes() -> Mapping[str, str]:
    """SHA-256 of golden's text, and of the text that holds gates against it."""
    found = {"golden": texts(golden), "checks": texts(synth.proof)}
    return MappingProxyType({name: sha256(*files) for name, files in found.items()})


def formats_hash(formats: Sequence[Format]) -> str:
    """SHA-256 of the formats' descriptions and tables of values."""
    return sha256(*(hashlib.sha256(fmt.values.tobytes()).hexdigest() + str(fmt) for fmt in formats))


def tools() -> dict[str, str]:
    """What every check rests on."""
    from hwgen.tools import yosys

    return {"yosys": yosys.version(), "numpy": np.__version__, "python": platform.python_version()}
