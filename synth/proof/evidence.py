"""Evidence: for each module what was checked, by what, in how many cases, with which tools; and the folder that keeps
it.
"""

import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import golden
import hwgen.reference
import synth.proof
from golden.refusal import BadValue
from hwgen.tools.files import write_files
from synth.area.digest import sha256, texts

EMITTED = "emitted"
"""Source of Verilog that ``hwgen generate`` writes."""

EQUAL, DIFFERENT, INCOMPLETE, UNPROVED = "equal", "different", "incomplete", "unproved"
"""Verdicts: all cases agree with golden; one does not; a run was broken off; no method reaches all cases."""


SWEPT, PROVED = "swept", "proved"
"""Kinds of method: every input is evaluated; a solver proves a claim about all of them."""


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
    kind : str
        :data:`SWEPT` or :data:`PROVED`; empty where no method reaches all inputs.
    method : str
        How all inputs were reached, or why they were not: a sentence.
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
        Of a file of the user's eight digits of a hash of its path and of the block that it claims to be: a record for
        each.
    """

    module: str
    command: str
    source: str
    libraries: list[str]
    kind: str
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
        """What the record is kept under: the module, and whatever else than plain gates of the emitted text was
        checked.
        """
        cells = [f"cells-{(self.hashes.get('cells') or self.hashes['libraries'])[:12]}"] if self.libraries else []
        parts = [self.module, *([] if self.source == EMITTED else [self.source, self.place]), *cells]
        return re.sub(r"[^A-Za-z0-9_.-]", "_", ".".join(parts))[:200]

    def continues(self, earlier: "Evidence") -> bool:
        """Whether an earlier record is about the same thing, so that its parts need not be done again."""
        names = ("name", "command", "kind", "method", "inputs", "hashes", "tools")
        return all(getattr(self, name) == getattr(earlier, name) for name in names)

    def record(self) -> dict[str, Any]:
        """As plain data."""
        record = asdict(self)
        if self.verdict != INCOMPLETE:
            del record["done"]
        record["seconds"] = round(self.seconds, 2)
        return record


class EvidenceStore:
    """A folder with one file for each module's evidence; one that cannot be written to is refused."""

    def __init__(self, folder: Path):
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise BadValue("folder", f"{str(folder)!r} cannot be written to: {error.strerror}", ": ") from None

    def path(self, name: str) -> Path:
        """The file of a record."""
        return self.folder / f"{name}.json"

    def load(self, name: str) -> Evidence | None:
        """The record under a name; None where there is nothing, or nothing that can be read."""
        try:
            record = json.loads(self.path(name).read_text())
        except (OSError, ValueError, RecursionError):
            return None
        names = {each.name for each in fields(Evidence)}
        needed = {each.name for each in fields(Evidence) if each.default is MISSING and each.default_factory is MISSING}
        if not isinstance(record, dict) or not needed <= record.keys() <= names:
            return None
        found = Evidence(**record)
        return found if _is_sound(found) else None

    def save(self, evidence: Evidence) -> None:
        """Write a record, whole or not at all."""
        write_files(self.folder, {self.path(evidence.name).name: json.dumps(evidence.record(), indent=2) + "\n"})

    def __iter__(self) -> Iterator[Evidence]:
        records = (self.load(path.stem) for path in sorted(self.folder.glob("*.json")))
        return (evidence for evidence in records if evidence is not None)


def power(count: int) -> str:
    """A count in short: as a power of two where it is one."""
    return f"2^{count.bit_length() - 1}" if count & (count - 1) == 0 and count > 4096 else f"{count:,}"


def _is_sound(record: Evidence) -> bool:
    """Whether a record has the form of one, whoever has written it."""
    kinds = {
        str: (record.module, record.command, record.source, record.kind, record.method, record.verdict, record.place),
        int: (record.cases, record.inputs), dict: (record.hashes, record.tools), list: (record.libraries, record.done),
    }  # fmt: skip
    if any(type(value) is not kind for kind, values in kinds.items() for value in values):
        return False
    if not all(type(part) is int and part >= 0 for part in record.done) or len(set(record.done)) < len(record.done):
        return False
    if type(record.seconds) not in (int, float) or record.seconds < 0:
        return False
    return record.verdict != EQUAL or record.cases == record.inputs


@cache
def program_hashes() -> Mapping[str, str]:
    """SHA-256 of golden's text, and of the text that compares gates with it."""
    return MappingProxyType(
        {"golden": sha256(*texts(golden)), "checks": sha256(*texts(hwgen.reference), *texts(synth.proof))}
    )
