"""What was measured once is not measured again: results by the hash of all that they depend on, in one file on disk."""

import json
import sqlite3
import threading
from pathlib import Path
from typing import Any

from golden.refusal import BadValue


class StoreError(OSError):
    """A store that fails on the way: a full disk, above all."""


class Store:
    """Results by key in the file ``path``, which is made when missing; plain data in, plain data out.

    Several threads and processes may use a store at the same time. A result is there whole or not at all, whenever a
    process ends.

    Raises
    ------
    BadValue
        If the file cannot be used as a store. Where it fails later, that is a StoreError.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self._lock = threading.Lock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self.path, timeout=60, check_same_thread=False, isolation_level=None)
            self._connection.execute("pragma journal_mode = wal")
            self._connection.execute(
                "create table if not exists results (key text primary key, value text not null) without rowid"
            )
            self._connection.execute("select key, value from results limit 0")  # a table of that name may be another's
        except (OSError, sqlite3.Error) as error:
            raise BadValue("store", f"{str(self.path)!r} cannot be used: {error}") from error

    def _run(self, statement: str, *values: str) -> tuple[Any, ...] | None:
        """Run a statement and return the first row of its result."""
        try:
            with self._lock:
                row: tuple[Any, ...] | None = self._connection.execute(statement, values).fetchone()
        except sqlite3.Error as error:
            raise StoreError(f"Store {str(self.path)!r} cannot be used: {error}") from error
        return row

    def get(self, key: str) -> Any:
        """The result of a key, or None."""
        row = self._run("select value from results where key = ?", key)
        return None if row is None else json.loads(row[0])

    def put(self, key: str, value: Any) -> None:
        """Keep a result; the first one of a key stays."""
        self._run("insert or ignore into results (key, value) values (?, ?)", key, json.dumps(value, sort_keys=True))

    def __len__(self) -> int:
        row = self._run("select count(*) from results")
        assert row is not None
        return int(row[0])

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()
