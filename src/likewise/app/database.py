"""How a project file is reached: opened, brought up to date, read, and written to.

Knows what a likewise file is, and nothing of what lies in its tables.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from likewise import StoreError
from likewise.app.holding import Hold
from likewise.app.rows import now
from likewise.app.schema import APPLICATION_ID, MIGRATIONS
from likewise.app.trouble import damaged, said_plainly

# Tables looked through when a file is opened. Vectors have their fingerprint; pictures
# are looked at when they are shown.
CHECKED = ("settings", "items", "questions", "answers", "undone", "estimates")
# Seconds to wait while another program writes.
PATIENCE = 5.0


class Database:
    """The connection to a project file; its errors are sentences."""

    def __init__(self, path: Path, hold: Hold | None) -> None:
        self.path = path
        self.is_read_only = hold is None
        self._hold = hold
        # Under its real name: what is being written lies beside that.
        self.connection = _connect(path.resolve(), self.is_read_only)

    def close(self) -> None:
        """Close the file; what was written stays."""
        if self._hold is not None and not self._is_there():
            # SQLite leaves the last writes beside the old name then: they would be
            # missing where the file is now, and fall upon the next one of that name.
            with suppress(sqlite3.Error):
                self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.connection.close()
        if self._hold is not None:
            self._hold.close()
            self._hold = None

    def read(self, statement: str, *values: Any) -> list[Any]:
        """All rows that a statement gives."""
        with said_plainly(self.path):
            return self.connection.execute(statement, values).fetchall()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it is on disk at the end, or none."""
        self._check_there()
        with said_plainly(self.path):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                # A full disk has rolled back already; then there is nothing to undo.
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    def _check_there(self) -> None:
        """Refuse to write into a file that nobody will find again."""
        if not self._is_there():
            raise StoreError(
                f"{self.path} was moved, deleted or replaced. Nothing more is kept. "
                "Bring it back, or stop and open the project where it is now."
            )

    def _is_there(self) -> bool:
        """Whether the name still leads to the file that is open."""
        if self._hold is None:
            return True
        try:
            found = self.path.stat()
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == self._hold.key

    def check_format(self) -> None:
        """Refuse what is no project file, of a newer likewise, or damaged."""
        # The schema may come from a stranger: nothing in it calls anything of ours.
        self.connection.execute("PRAGMA trusted_schema = OFF")
        (application,) = self.connection.execute("PRAGMA application_id").fetchone()
        if application != APPLICATION_ID:
            raise StoreError(f"{self.path} is not a likewise project.")
        version = self._version()
        if version < 1:
            raise StoreError(damaged(self.path, f"it says format {version}"))
        if version > len(MIGRATIONS):
            raise StoreError(
                f"{self.path} was made by a newer likewise (format {version}; this one "
                f"reads up to {len(MIGRATIONS)}). "
                "Update with: pip install --upgrade likewise"
            )

        if self.is_read_only and version < len(MIGRATIONS):
            raise StoreError(
                f"{self.path} was made by an older likewise and is read-only. "
                "Allow writing to it once, to bring it up to date."
            )

        for table in CHECKED:
            found = self.connection.execute(f"PRAGMA quick_check({table})").fetchone()
            if found[0] != "ok":
                raise StoreError(damaged(self.path, found[0]))

    def _version(self) -> int:
        return int(self.connection.execute("PRAGMA user_version").fetchone()[0])

    def prepare_writing(self) -> None:
        """Make writes last, and bring an older file up to date."""
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("PRAGMA synchronous = FULL")
        while self._version() < len(MIGRATIONS):
            with self.writing() as database:
                migrate_once(database)
        self.connection.execute("PRAGMA foreign_keys = ON")


def migrate_once(database: sqlite3.Connection) -> None:
    """Apply the next migration, with its record, inside an open transaction."""
    # Read inside the transaction: another program may have migrated meanwhile.
    done = int(database.execute("PRAGMA user_version").fetchone()[0])
    if done == len(MIGRATIONS):
        return
    migration = MIGRATIONS[done]
    migration(database)
    database.execute(
        "INSERT INTO migrations VALUES (?, ?, ?)", (done + 1, migration.__name__, now())
    )
    database.execute(f"PRAGMA user_version = {done + 1}")


def _connect(path: Path, read_only: bool) -> sqlite3.Connection:
    mode = "rw"
    if read_only:
        # WAL needs a writable folder for its index; without one, read the file alone.
        mode = "ro" if os.access(path.parent, os.W_OK) else "ro&immutable=1"
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=PATIENCE,
        isolation_level=None,
        check_same_thread=False,
    )
