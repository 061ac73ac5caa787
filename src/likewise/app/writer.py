"""Makes a new project file."""

import hashlib
import json
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from numpy.typing import NDArray

from likewise import StoreError
from likewise.app.records import Medium
from likewise.app.schema import APPLICATION_ID, MIGRATIONS
from likewise.app.store import migrate_once, said_plainly

# Bytes of vectors in one blob.
BLOCK_BYTES = 8 * 2**20


class Writer:
    """Makes a new project file: items one by one, then vectors and settings.

    The file appears under its name when it is complete, never half.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if self.path.exists():
            raise StoreError(f"{self.path} exists already. Choose another name.")
        if not self.path.parent.is_dir():
            raise StoreError(f"There is no folder {self.path.parent}.")
        self._part = self.path.with_name(self.path.name + ".part")
        self._part.unlink(missing_ok=True)
        self.n_items = 0

    def __enter__(self) -> Self:
        with said_plainly(self.path):
            self._database = sqlite3.connect(self._part, isolation_level=None)
            # Nothing to keep if this run dies: speed counts until it is complete.
            self._database.execute("PRAGMA synchronous = OFF")
            self._database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            self._database.execute("BEGIN")
            for _ in MIGRATIONS:
                migrate_once(self._database)
        return self

    def add(
        self,
        name: str,
        *,
        text: str | None = None,
        fields: dict[str, str] | None = None,
        media: Sequence[Medium] = (),
    ) -> None:
        """Add the next item."""
        encoded = None if fields is None else json.dumps(fields, ensure_ascii=False)
        with said_plainly(self.path):
            self._database.execute(
                "INSERT INTO items VALUES (?, ?, ?, ?)",
                (self.n_items, name, text, encoded),
            )
            self._database.executemany(
                "INSERT INTO media VALUES (?, ?, ?, ?)",
                [(self.n_items, one.role, one.mime, one.data) for one in media],
            )
        self.n_items += 1

    def finish(self, vectors: NDArray[Any], settings: dict[str, Any]) -> None:
        """Add vectors and settings, and give the file its name."""
        assert len(vectors) == self.n_items
        with said_plainly(self.path):
            fingerprint = self._add_vectors(vectors)
            shape = {"n_items": len(vectors), "n_features": vectors.shape[1]}
            for name, value in {
                **settings,
                **shape,
                "fingerprint": fingerprint,
            }.items():
                self._database.execute(
                    "INSERT INTO settings VALUES (?, ?)", (name, json.dumps(value))
                )
            self._database.execute("COMMIT")
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.close()
        with open(self._part, "rb") as file:
            os.fsync(file.fileno())
        os.replace(self._part, self.path)

    def _add_vectors(self, vectors: NDArray[Any]) -> str:
        step = max(1, BLOCK_BYTES // (4 * vectors.shape[1]))
        digest = hashlib.sha256()
        for first in range(0, len(vectors), step):
            data = vectors[first : first + step].astype("<f4").tobytes()
            digest.update(data)
            self._database.execute("INSERT INTO vectors VALUES (?, ?)", (first, data))
        return digest.hexdigest()

    def __exit__(self, *exception: object) -> None:
        self._database.close()
        self._part.unlink(missing_ok=True)
