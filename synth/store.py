"""What was measured once is not measured again: results by the hash of all that they depend on, in one file on disk."""

import json
import sqlite3
import threading
from pathlib import Path
from typing import Any


class Store:
    """Results by key; plain data in, plain data out.

    Several threads and processes may use a store at the same time. A result is there whole or not at all, whenever a process ends.

    Parameters
    ----------
    path : path
        Of the file; it and its folder are made when missing.

    Raises
    ------
    ValueError
        If the file cannot be used as a store; one sentence that names it.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self._lock = threading.Lock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self.path, timeout=60, check_same_thread=False, isolation_level=None)
            self._connection.execute("pragma journal_mode = wal")
            self._connection.execute("create table if not exists results (key text primary key, value text not null) without rowid")
        except (OSError, sqlite3.Error) as error:
            raise ValueError(f"Store {str(self.path)!r} cannot be used: {error}") from error

    def get(self, key: str) -> Any:
        """The result of a key, or None."""
        with self._lock:
            row = self._connection.execute("select value from results where key = ?", (key,)).fetchone()
        return None if row is None else json.loads(row[0])

    def put(self, key: str, value: Any) -> None:
        """Keep a result; the first one of a key stays."""
        text = json.dumps(value, sort_keys=True)
        with self._lock:
            self._connection.execute("insert or ignore into results values (?, ?)", (key, text))

    def __len__(self) -> int:
        with self._lock:
            (count,) = self._connection.execute("select count(*) from results").fetchone()
        return int(count)

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()
