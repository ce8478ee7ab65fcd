"""Evidence: records of what was checked of a module, how and with which tools; and the folder that stores them."""

import json
import re
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from golden.refusal import BadValue, read_bytes
from hwgen.tools.files import check_writable, write_files, write_whole, writing
from synth.area.digest import fingerprint, sha256

EMITTED = "emitted"
"""The :attr:`Evidence.source` of Verilog that ``hwgen generate`` writes."""

EQUAL, DIFFERENT, INCOMPLETE, UNPROVED = "equal", "different", "incomplete", "unproved"
"""Verdicts: all cases agree with the reference model; some do not; interrupted; no method covers all cases."""

SWEPT, PROVED = "swept", "proved"
"""Kinds of method: all inputs are evaluated; a solver proves a claim about all inputs."""


MOST_INPUTS, MOST_SECONDS = 1 << 4096, 1e9
"""More than any module has, and than any check takes."""


@dataclass
class Evidence:
    """The record of one module."""

    module: str
    command: str  # repeats the check
    source: str  # :data:`EMITTED` if :attr:`is_emitted`, or the name of the file that was checked
    libraries: list[str]  # cell libraries that the module was mapped to; empty for simple gates
    kind: str  # :data:`SWEPT` or :data:`PROVED`; empty if no method covers all inputs
    method: str  # which covers all inputs, or why there is none: a sentence
    inputs: int  # number of all inputs
    hashes: Mapping[str, str]
    tools: Mapping[str, str]
    cases: int = 0  # number of inputs that were checked: all of them if the verdict is ``equal``
    verdict: str = INCOMPLETE
    seconds: float = 0.0  # wall-clock time of all runs together
    counterexamples: list[dict[str, Any]] = field(default_factory=list)
    """``inputs``, ``got``, ``golden``: port values in hexadecimal digits; ``sentence``: fields and exact values."""
    done: list[int] = field(default_factory=list)  # finished parts of an incomplete check
    prover: str = ""
    """Module of the proof's class, if the kind is :data:`PROVED`."""
    place: str = ""
    """Eight digits of a hash of the path of a user's file and its block; each pair has its own record."""

    @property
    def is_emitted(self) -> bool:
        """Whether ``hwgen generate`` wrote the Verilog; a user's file may be called :data:`EMITTED` as well."""
        return not self.place

    @property
    def name(self) -> str:
        """Name of the record: the module, with its file and cell libraries if it has any."""
        cells = [f"cells-{(self.hashes.get('cells') or self.hashes['libraries'])[:12]}"] if self.libraries else []
        words, hashes = [self.module], cells
        if not self.is_emitted:
            words, hashes = [*words, self.source], [self.place, *cells]
        name = ".".join([".".join(words)[:160], *hashes])  # names of files may have 255 letters
        return re.sub(r"[^A-Za-z0-9_.-]", "_", name)

    @property
    def verdict_row(self) -> "VerdictRow":
        """The record in short."""
        program = program_digits(self.hashes)
        tools = ", ".join(f"{name} {version}" for name, version in sorted(self.tools.items()))
        basis = " ".join(f"{self.method}; program {program}; {tools}".split())
        return VerdictRow(self.module, self.hashes["verilog"][:12], power(self.inputs), self.verdict, basis)

    def continues(self, earlier: "Evidence") -> bool:
        """Whether an earlier record is of the same check, so that its parts are not checked again."""
        names = ("name", "command", "kind", "method", "inputs", "hashes", "tools")
        return all(getattr(self, name) == getattr(earlier, name) for name in names)

    def record(self) -> dict[str, Any]:
        """The record as plain data for JSON."""
        record = asdict(self)
        if self.verdict != INCOMPLETE:
            del record["done"]
        record["seconds"] = round(self.seconds, 2)
        return record


class VerdictRow(NamedTuple):
    """A line of ``docs/proofs.csv``."""

    module: str
    verilog: str  # 12 digits of its SHA-256
    inputs: str
    verdict: str
    basis: str  # the method with the program and the tools: where these are the same, so is the Verilog


_HEAD = (
    "# Verdicts of hwgen verify all. verilog: 12 digits of the SHA-256 of the Verilog. basis: what the verdict rests on"
)


def _key(basis: str) -> str:
    """What rows say of their basis: digits of its SHA-256, so that a merge of two versions cannot give them another."""
    return sha256(basis)[:8]


def read_verdicts(file: Path) -> dict[str, VerdictRow]:
    """The rows of a file of :func:`write_verdicts` by module; none if it is missing, BadValue if it is another one."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
        bases = dict(line[2:].split(": ", 1) for line in lines[1:] if line.startswith("# "))
        header, *rows = (line.split(",") for line in lines if not line.startswith("# "))
        verdicts = {row[0]: VerdictRow._make([*row[:4], bases[row[4]]]) for row in rows}
        is_changed = len(verdicts) < len(rows) or any(key != _key(basis) for key, basis in bases.items())
        if lines[0] != _HEAD or header != list(VerdictRow._fields) or is_changed:
            raise ValueError
        return verdicts
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise BadValue("file", f"{str(file)!r} cannot be read: {error.strerror}") from error
    except (ValueError, LookupError, TypeError):
        raise BadValue("file", f"{str(file)!r} is not what hwgen verify all writes") from None


def write_verdicts(file: Path, rows: Collection[VerdictRow]) -> None:
    """Write rows, completely or not at all; each basis is written once."""
    bases = {basis: _key(basis) for basis in dict.fromkeys(row.basis for row in rows)}
    lines = [_HEAD, *(f"# {key}: {basis}" for basis, key in bases.items()), ",".join(VerdictRow._fields)]
    lines += [",".join([*row[:4], bases[row.basis]]) for row in rows]
    write_whole(file, ("\n".join(lines) + "\n").encode())


class EvidenceStore:
    """A folder with one file for each record."""

    def __init__(self, folder: Path):
        self.folder = folder

    def check_writable(self, names: Iterable[str]) -> None:
        """Refuse a folder that cannot be created or written to, or where records of these names cannot be stored."""
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        check_writable(self.folder, [self.path(name).name for name in names])

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def load(self, name: str) -> Evidence | None:
        """The record of this name; None if there is none or it cannot be read."""
        try:
            path = self.path(name)
            record = json.loads(read_bytes(path)) if path.is_file() else None  # a pipe would never end
            json.dumps(record, ensure_ascii=False).encode()  # refuses halves of surrogate pairs
        except (OSError, ValueError, RecursionError):
            return None
        needed = {item.name for item in fields(Evidence) if item.default is item.default_factory is MISSING}
        if not isinstance(record, dict) or not needed <= record.keys() <= _KINDS.keys():
            return None
        evidence = Evidence(**record)
        has_kinds = all(_conforms(getattr(evidence, key), kind) for key, kind in _KINDS.items())
        return evidence if has_kinds and _is_sound(evidence) and evidence.name == name else None

    def save(self, evidence: Evidence) -> None:
        """Write a record, completely or not at all."""
        write_files(self.folder, {self.path(evidence.name).name: json.dumps(evidence.record(), indent=2) + "\n"})

    def __iter__(self) -> Iterator[Evidence]:
        records = (self.load(path.stem) for path in sorted(self.folder.glob("*.json")))
        return (evidence for evidence in records if evidence is not None)


def power(count: int) -> str:
    """A count as text, large powers of two as ``2^n``."""
    return f"2^{count.bit_length() - 1}" if count & (count - 1) == 0 and count > 4096 else f"{count:,}"


_KINDS = get_type_hints(Evidence)


def _conforms(value: object, kind: Any) -> bool:
    """Whether a value from JSON is of the kind that an annotation says; numbers must not be negative."""
    origin, (*_, inner) = get_origin(kind), get_args(kind) or (Any,)
    if origin is list:
        return type(value) is list and all(_conforms(item, inner) for item in value)
    if origin in (dict, Mapping):
        return type(value) is dict and all(_conforms(item, inner) for item in value.values())
    if kind in (int, float):
        return type(value) in (int, kind) and value >= 0  # type: ignore[operator]
    return kind is Any or type(value) is kind


def _is_sound(record: Evidence) -> bool:
    """Whether the fields of a record from a file do not contradict each other."""
    return (
        len(set(record.done)) == len(record.done)
        and all(type(case.get("sentence")) is str for case in record.counterexamples)
        and {"verilog", *(["libraries"] if record.libraries else [])} <= record.hashes.keys()
        and bool(record.module)
        and (record.source == EMITTED or bool(record.place))
        and re.fullmatch(r"(synth\.proof\.\w+)?", record.prover) is not None
        and record.cases <= record.inputs
        and 0 < record.inputs <= MOST_INPUTS
        and record.seconds < MOST_SECONDS
        and record.verdict in (EQUAL, DIFFERENT, INCOMPLETE, UNPROVED)
        and bool(record.counterexamples) == (record.verdict == DIFFERENT)
        and (record.verdict != EQUAL or (record.cases == record.inputs and record.kind in (SWEPT, PROVED)))
    )


@cache
def program_hashes(is_emitted: bool, prover: str) -> Mapping[str, str]:
    """SHA-256 of the whole program that writes modules and compares gates with it, and of the reference model in it.

    Of a user's file, what judges files belongs to that program; of proofs, the one in the module ``prover`` alone.
    """
    entries = (
        "synth.proof.verify" if is_emitted else "synth.proof.files",
        "hwgen.blocks.catalog",
        *filter(None, [prover]),
    )
    whole, golden = (fingerprint(*entries, below=folder, leaf="synth.proof.choose") for folder in ("", "golden/"))
    return MappingProxyType({"golden": golden, "checks": whole})


def program_digits(hashes: Mapping[str, str]) -> str:
    """The digits of both hashes in a :class:`VerdictRow`."""
    return sha256(hashes["golden"], hashes["checks"])[:16]
