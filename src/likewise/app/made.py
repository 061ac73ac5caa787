"""Vectors made so far, kept beside a project until it is complete.

An interrupted run leaves them; the next run of the same command takes them up. A file
counts as the same if its place, size and time of change are.
"""

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likewise.app.trouble import said_plainly

Vector = NDArray[np.float64]


class Made:
    """The vectors of files, by embedding; on disk after every batch.

    Parameters
    ----------
    project : Path
        The project that is being made or added to.
    record : dict
        What tells the embedding from others: vectors of another are thrown away.
    """

    def __init__(self, project: Path, record: dict[str, Any]) -> None:
        self.path = project.with_name(project.name + ".vectors")
        self._record = json.dumps(record, sort_keys=True)
        self._known: dict[str, Vector] = {}
        self._database: sqlite3.Connection | None = None
        if self.path.exists():
            self._read()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        """Close the file; once all is well, or the input is wrong, it goes."""
        if self._database is not None:
            self._database.close()
        if kind is None or issubclass(kind, ValueError):
            self.path.unlink(missing_ok=True)

    def has(self, path: Path) -> bool:
        """Whether the vector of a file is there."""
        return self.get(path) is not None

    def get(self, path: Path) -> Vector | None:
        """The vector of a file, if it was made before and the file has not changed."""
        return self._known.get(_key(path)) if self._known else None

    def add(self, made: Iterable[tuple[Path, Vector]]) -> None:
        """Keep the vectors of files."""
        rows = [(_key(path), vector.astype("<f8").tobytes()) for path, vector in made]
        rows = [row for row in rows if row[0]]
        with said_plainly(self.path):
            database = self._database or self._create()
            with database:
                database.executemany(
                    "INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows
                )

    def _create(self) -> sqlite3.Connection:
        self._database = sqlite3.connect(self.path)
        with self._database:
            self._database.execute("CREATE TABLE IF NOT EXISTS model (record TEXT)")
            self._database.execute("DELETE FROM model")
            self._database.execute("INSERT INTO model VALUES (?)", (self._record,))
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, data BLOB)"
            )
        return self._database

    def _read(self) -> None:
        """Take up what an earlier run left; what cannot be read is thrown away."""
        database = sqlite3.connect(self.path)
        try:
            (record,) = database.execute("SELECT record FROM model").fetchone()
            if record == self._record:
                rows = database.execute("SELECT key, data FROM vectors")
                self._known = {key: np.frombuffer(data, "<f8") for key, data in rows}
        except (sqlite3.DatabaseError, TypeError, ValueError):
            self._known = {}
        database.close()
        if not self._known:
            self.path.unlink()


def _key(path: Path) -> str:
    try:
        found = path.stat()
    except OSError:
        return ""
    place = str(path.absolute()).encode("utf-8", "surrogateescape").hex()
    return f"{found.st_size} {found.st_mtime_ns} {place}"
