"""Results in one file on disk, by the hash of everything they depend on: nothing is measured twice."""

import json
import sqlite3
import threading
from pathlib import Path
from typing import Any

from golden.refusal import BadValue
from synth.area.digest import sha256


class StoreError(OSError):
    """The store failed while in use, e.g. because the disk is full."""


class Store:
    """Results (plain data) by key in the file ``path``, which is created if missing.

    Several threads and processes may use a store at the same time. A result is either complete or absent, even if a
    process is killed.

    Raises
    ------
    BadValue
        If the file cannot be used as a store. Later failures are a StoreError.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self._lock = threading.Lock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self.path, timeout=60, check_same_thread=False, isolation_level=None)
            self._connection.text_factory = bytes  # a value may be no text
            self._connection.execute("pragma journal_mode = wal")
            self._connection.execute(
                "create table if not exists results (key text primary key, value text not null) without rowid"
            )
            # the file may belong to another program that has a table with this name
            self._connection.execute("select key, value from results limit 0")
        except (OSError, sqlite3.Error) as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL):
                raise StoreError(f"Store {str(self.path)!r} cannot be used: {error}") from error
            raise BadValue("store", f"{str(self.path)!r} cannot be used: {error}") from error

    def _run(self, statement: str, *values: str) -> tuple[Any, ...] | None:
        try:
            with self._lock:
                row: tuple[Any, ...] | None = self._connection.execute(statement, values).fetchone()
        except sqlite3.Error as error:
            raise StoreError(f"Store {str(self.path)!r} cannot be used: {error}") from error
        return row

    def get(self, key: str) -> Any:
        """The result stored under a key, or None; a value that :meth:`put` did not write is removed."""
        row = self._run("select value from results where key = ?", key)
        if row is None:
            return None
        check, _, text = bytes(row[0]).decode(errors="replace").partition(" ")
        if check != sha256(text):
            self._run("delete from results where key = ?", key)
            return None
        return json.loads(text)

    def put(self, key: str, value: Any) -> None:
        """Store a result; a key that is already there keeps its first result."""
        text = json.dumps(value)
        self._run("insert or ignore into results (key, value) values (?, ?)", key, f"{sha256(text)} {text}")

    def __len__(self) -> int:
        row = self._run("select count(*) from results")
        assert row is not None
        return int(row[0])

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()
