"""Makes a new project file."""

import json
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from numpy.typing import NDArray

from likewise import StoreError
from likewise.app.database import migrate_once
from likewise.app.records import Medium, NewItem
from likewise.app.rows import (
    insert_items,
    insert_projection,
    insert_vectors,
    vectors_digest,
)
from likewise.app.schema import APPLICATION_ID, MIGRATIONS
from likewise.app.trouble import said_plainly
from likewise.features.projection import Projection


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
        self.n_items = 0

    def __enter__(self) -> Self:
        with said_plainly(self.path):
            self._clear()
            self._database = sqlite3.connect(self._part, isolation_level=None)
            try:
                self._begin()
            except sqlite3.Error:
                self.__exit__()
                raise
        return self

    def _clear(self) -> None:
        """Take away what stands where the project will; SQLite would read it as ours.

        What was written last lies in the "-wal" beside a project: once that project
        is gone it would be written into the next one of its name, and destroy it.
        """
        beside = [self.path.with_name(self.path.name + end) for end in ("-wal", "-shm")]
        if beside[0].exists() and beside[0].stat().st_size:
            raise StoreError(
                f"{beside[0]} belongs to a project that was moved or deleted from "
                "here. Close its page if it is open; then bring the project back to "
                f"keep it, or delete {beside[0].name}, or choose another name."
            )
        for left in (self._part, *beside):
            left.unlink(missing_ok=True)

    def _begin(self) -> None:
        # Nothing to keep if this run dies: speed counts until it is complete.
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        self._database.execute("BEGIN")
        for _ in MIGRATIONS:
            migrate_once(self._database)

    def add(
        self,
        name: str,
        *,
        text: str | None = None,
        fields: dict[str, str] | None = None,
        media: Sequence[Medium] = (),
        digest: str | None = None,
    ) -> None:
        """Add the next item."""
        item = NewItem(name, text, fields, media, digest)
        with said_plainly(self.path):
            self.n_items += insert_items(self._database, [item], self.n_items)

    def finish(
        self,
        vectors: NDArray[Any],
        settings: dict[str, Any],
        projection: Projection | None = None,
    ) -> None:
        """Add vectors and settings, and give the file its name."""
        assert len(vectors) == self.n_items
        with said_plainly(self.path):
            insert_vectors(self._database, vectors, 0)
            if projection is not None:
                insert_projection(self._database, projection)
            self._add_settings(
                {
                    **settings,
                    "n_items": len(vectors),
                    "n_features": vectors.shape[1],
                    "fingerprint": vectors_digest(self._database),
                }
            )
            self._database.execute("COMMIT")
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.close()
            with open(self._part, "rb") as file:
                os.fsync(file.fileno())
            os.replace(self._part, self.path)

    def _add_settings(self, settings: dict[str, Any]) -> None:
        for name, value in settings.items():
            self._database.execute(
                "INSERT INTO settings VALUES (?, ?)", (name, json.dumps(value))
            )

    def __exit__(self, *exception: object) -> None:
        self._database.close()
        self._part.unlink(missing_ok=True)
