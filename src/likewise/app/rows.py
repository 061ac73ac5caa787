"""Rows of a project file: how items, vectors and answers are written to it."""

import hashlib
import json
import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from numpy.typing import NDArray

from likewise.app.records import NewItem
from likewise.features.projection import Projection

# Bytes of vectors in one blob.
BLOCK_BYTES = 8 * 2**20


def now() -> str:
    """The present moment, as it is written to the file."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def insert_items(
    database: sqlite3.Connection, items: Iterable[NewItem], first: int
) -> int:
    """Add items numbered from `first` on, with their media; gives how many."""
    number = first
    for item in items:
        fields = item.fields
        encoded = None if fields is None else json.dumps(fields, ensure_ascii=False)
        database.execute(
            "INSERT INTO items VALUES (?, ?, ?, ?, ?)",
            (number, item.name, item.text, encoded, item.digest),
        )
        database.executemany(
            "INSERT INTO media VALUES (?, ?, ?, ?)",
            [(number, one.role, one.mime, one.data) for one in item.media],
        )
        number += 1
    return number - first


def insert_vectors(
    database: sqlite3.Connection, vectors: NDArray[Any], first: int
) -> None:
    """Add vectors of the items from `first` on, in blocks of rows."""
    step = max(1, BLOCK_BYTES // (4 * vectors.shape[1]))
    for start in range(0, len(vectors), step):
        data = vectors[start : start + step].astype("<f4").tobytes()
        database.execute("INSERT INTO vectors VALUES (?, ?)", (first + start, data))


def insert_projection(database: sqlite3.Connection, projection: Projection) -> None:
    """Keep the map that brings further vectors to where the others are."""
    parts = {"mean": projection.mean[None], "components": projection.components}
    for name, array in parts.items():
        database.execute(
            "INSERT INTO projection VALUES (?, ?, ?, ?)",
            (name, *array.shape, array.astype("<f4").tobytes()),
        )


def vectors_digest(database: sqlite3.Connection) -> str:
    """The fingerprint of all vectors, in order."""
    digest = hashlib.sha256()
    for (data,) in database.execute("SELECT data FROM vectors ORDER BY first"):
        digest.update(data)
    return digest.hexdigest()


def insert_answer(
    database: sqlite3.Connection,
    said: tuple[int | None, int, int, int, str],
    *,
    seconds: float | None,
    model_version: int,
    source: str,
    answered: str | None = None,
    batch: int | None = None,
    replaces: int | None = None,
) -> int:
    """Add an answer; `said` is question, left, right, label and annotator."""
    if batch is None:
        batch = database.execute(
            "SELECT 1 + ifnull(max(id), 0) FROM answers"
        ).fetchone()[0]
    number = database.execute(
        "INSERT INTO answers (batch, question, left, right, label, annotator, answered,"
        " seconds, model_version, source, replaces)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (batch, *said, answered or now(), seconds, model_version, source, replaces),
    ).lastrowid
    assert number is not None
    return number


def open_question(database: sqlite3.Connection, annotator: str) -> int | None:
    """The open question of a person: another program may have asked one meanwhile."""
    found = database.execute(
        "SELECT id FROM questions WHERE state = 'open' AND annotator = ?", (annotator,)
    ).fetchone()
    return None if found is None else int(found[0])


def set_state(database: sqlite3.Connection, number: int, state: str, old: str) -> bool:
    """Give a question another state, unless it has left the old one."""
    changed = database.execute(
        "UPDATE questions SET state = ? WHERE id = ? AND state = ?",
        (state, number, old),
    )
    return changed.rowcount == 1
