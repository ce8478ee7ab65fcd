"""Results, and Verilog, in one file on disk by the hash of all they depend on: nothing is measured or emitted twice."""

import json
import sqlite3
import threading
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from golden.refusal import BadValue
from hwgen.blocks.block import Design
from hwgen.tools import yosys
from hwgen.tools.failures import sentence
from synth.area.digest import fingerprint, sha256

_FAILURES = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_BUSY}
"""Errors that another file would not avoid."""
_UNREADABLE = {sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_SHORT_READ, sqlite3.SQLITE_IOERR_CORRUPTFS}
"""Those of a file that cannot be read, as some of ``/proc``."""


class StoreError(OSError):
    """The store failed, e.g. because the disk is full."""


class Store:
    """Results (plain data) by key in the file ``path``, which is created if missing.

    Several threads and processes may use a store at the same time. A result is either complete or absent, even if a
    process is killed. A file that cannot be used as a store, or is read-only or damaged, is a BadValue; a failure of
    the machine is a StoreError.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self._lock = threading.Lock()
        try:
            if self.path.exists() and not self.path.is_file():  # SQLite fails on devices as on a broken disk
                raise BadValue("store", f"{str(self.path)!r} cannot be used: it is not a file")
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self.path, timeout=60, check_same_thread=False, isolation_level=None)
            self._connection.text_factory = bytes  # a value may be no text
            tables = self._connection.execute("select name from sqlite_master where type = 'table'").fetchall()
            if tables and (b"results",) not in tables:
                raise BadValue("store", f"{str(self.path)!r} cannot be used: it is a database of another program")
            self._connection.execute("pragma journal_mode = wal")
            self._connection.execute(
                "create table if not exists results (key text primary key, value text not null) without rowid"
            )
            # the file may belong to another program that has a table with this name
            self._connection.execute("select key, value from results limit 0")
        except (OSError, sqlite3.Error, UnicodeError) as error:
            raise self._problem(error) from error

    def _problem(self, error: Exception) -> StoreError | BadValue:
        code, name = getattr(error, "sqlite_errorcode", 0), repr(str(self.path))
        if code & 0xFF in _FAILURES and code not in _UNREADABLE:
            return StoreError(f"Store {name} cannot be used: {error}")
        # SQLite's message on a damaged file may be no text
        reason = "it is damaged" if isinstance(error, UnicodeError) else sentence(error)
        return BadValue("store", f"{name} cannot be used: {reason}")

    def _run(self, statement: str, *values: str) -> tuple[Any, ...] | None:
        try:
            with self._lock:
                row: tuple[Any, ...] | None = self._connection.execute(statement, values).fetchone()
        except (sqlite3.Error, UnicodeError) as error:
            raise self._problem(error) from error
        return row

    def get(self, key: str) -> Any:
        """The result stored under a key, or None; a value that :meth:`put` did not write is removed."""
        row = self._run("select value from results where key = ?", key)
        if row is None:
            return None
        check, _, text = (row[0] if isinstance(row[0], bytes) else b"").decode(errors="replace").partition(" ")
        if check != sha256(key, text):
            self._run("delete from results where key = ?", key)
            return None
        return json.loads(text)

    def put(self, key: str, value: Any) -> None:
        """Store a result; a key that is already there keeps its first result."""
        text = json.dumps(value)
        self._run("insert or ignore into results (key, value) values (?, ?)", key, f"{sha256(key, text)} {text}")

    def __len__(self) -> int:
        row = self._run("select count(*) from results")
        assert row is not None
        return int(row[0])

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()


@cache
def _program() -> str:
    """SHA-256 of the program that generates Verilog, and of the versions of its tools."""
    return sha256(
        fingerprint(__name__, "hwgen.blocks.catalog"), version("minifloat-rtl"), version("amaranth"), yosys.version()
    )


def verilog(design: Design, store: Store | None = None) -> str:
    """The Verilog of a design, taken from the store if it is there."""
    if store is None:
        return design.verilog()
    key = sha256(
        "verilog", _program(), design.kind, design.name, repr(design.options), repr(design.header), repr(design.formats)
    )
    text = store.get(key)
    if text is None:
        text = design.verilog()
        store.put(key, text)
    return str(text)
