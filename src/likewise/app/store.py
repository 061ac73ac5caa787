"""The project file: items, vectors, questions and answers in one SQLite file.

Nothing here learns or chooses. A write is on disk (WAL, synchronous=FULL) when the
method returns. Answers are only ever added; undoing one marks it.
"""

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likewise import StoreError
from likewise.app.checking import (
    check_answer,
    check_fields,
    check_names,
    check_question,
    check_settings,
)
from likewise.app.database import Database
from likewise.app.holding import hold_in_use
from likewise.app.records import (
    Answer,
    ClosedError,
    Estimate,
    GroupName,
    Item,
    Medium,
    NewItem,
    NotThereError,
    Question,
)
from likewise.app.rows import (
    insert_answer,
    insert_items,
    insert_vectors,
    now,
    open_question,
    set_state,
    vectors_digest,
)
from likewise.app.trouble import check_place, check_writable, damaged, said_plainly
from likewise.features.projection import Projection

Vectors = NDArray[np.float32]


class Store:
    """An open project file."""

    def __init__(self, database: Database) -> None:
        self.path = database.path
        self.is_read_only = database.is_read_only
        self._database = database
        self._n_items = 0

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, read_only: bool = False) -> Self:
        """Open a project file, bringing an older one up to date."""
        path = Path(path)
        if read_only:
            check_place(path)
        else:
            check_writable(path)
        hold = None if read_only else hold_in_use(path)
        with said_plainly(path):
            store = cls(Database(path, hold))
            try:
                store._database.check_format()
                if not read_only:
                    store._database.prepare_writing()
                store._n_items = store.settings()["n_items"]
            except BaseException:
                store.close()
                raise
        return store

    def close(self) -> None:
        """Close the file; what was written stays."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # What the file is made of

    def settings(self) -> dict[str, Any]:
        """Kind of items, seed, versions, fingerprint and the like."""
        rows = self._database.read("SELECT name, value FROM settings")
        with said_plainly(self.path):
            settings = {name: json.loads(value) for name, value in rows}
        return check_settings(self.path, settings)

    def item_names(self) -> list[str]:
        """Names of all items, in order."""
        rows = self._database.read("SELECT name FROM items ORDER BY number")
        return check_names(self.path, [name for (name,) in rows], self._n_items)

    def item(self, number: int) -> Item:
        """One item by its number."""
        rows = self._database.read(
            "SELECT number, name, text, fields FROM items WHERE number = ?", number
        )
        if not rows:
            raise NotThereError(f"There is no item {number}.")
        number, name, text, fields = rows[0]
        with said_plainly(self.path):
            cells = None if fields is None else json.loads(fields)
            if cells is not None:
                cells = check_fields(self.path, number, cells)
            return Item(number, name, None if text is None else str(text), cells)

    def medium(self, item: int, role: str) -> Medium | None:
        """The picture, thumbnail or sound of an item, if it has one."""
        rows = self._database.read(
            "SELECT role, mime, data FROM media WHERE item = ? AND role = ?", item, role
        )
        return Medium(*rows[0]) if rows and isinstance(rows[0][2], bytes) else None

    def vectors(self) -> Vectors:
        """All vectors, (n_items, n_features); checked against the fingerprint."""
        settings = self.settings()
        shape = (settings["n_items"], settings["n_features"])
        (n_bytes,) = self._database.read(
            "SELECT ifnull(sum(length(data)), 0) FROM vectors"
        )[0]
        # Before anything is allocated: a file may claim any size.
        if n_bytes != 4 * shape[0] * shape[1]:
            raise StoreError(damaged(self.path, "vectors are missing"))
        result = np.empty(shape, dtype=np.float32)
        digest = hashlib.sha256()
        rows = "SELECT first, data FROM vectors ORDER BY first"
        with said_plainly(self.path):
            for first, data in self._database.connection.execute(rows):
                digest.update(data)
                block = np.frombuffer(data, dtype="<f4").reshape(-1, shape[1])
                result[first : first + len(block)] = block
        if digest.hexdigest() != settings["fingerprint"]:
            raise StoreError(damaged(self.path, "the vectors changed"))
        return result

    def digests(self) -> dict[str, str]:
        """Names of the items that were made of files, by the files' sha256."""
        rows = self._database.read(
            "SELECT digest, name FROM items WHERE digest IS NOT NULL"
        )
        return dict(rows)

    def projection(self) -> Projection | None:
        """What the project's vectors went through, if it can be repeated."""
        rows = self._database.read(
            "SELECT name, n_rows, n_columns, data FROM projection"
        )
        features = self.settings().get("features")
        if not rows or features is None:
            return None
        with said_plainly(self.path):
            arrays = {
                name: np.frombuffer(data, dtype="<f4").reshape(shape).astype(float)
                for name, *shape, data in rows
            }
            return Projection(
                arrays["mean"][0],
                arrays["components"],
                is_direction=features["is_direction"],
                share=features["share"],
            )

    def add_items(self, items: Iterable[NewItem], vectors: Vectors) -> None:
        """Add items with their vectors behind those that are there, all or none."""
        with self._database.writing() as database:
            settings = self.settings()
            first = settings["n_items"]
            n_items = insert_items(database, items, first)
            assert vectors.shape == (n_items, settings["n_features"])
            insert_vectors(database, vectors, first)
            values = {
                "n_items": first + n_items,
                "fingerprint": vectors_digest(database),
            }
            for name, value in values.items():
                database.execute(
                    "UPDATE settings SET value = ? WHERE name = ?",
                    (json.dumps(value), name),
                )
        self._n_items = first + n_items

    # Questions and answers

    def changes(self) -> int:
        """A number that differs once another program has written to the file."""
        return int(self._database.read("PRAGMA data_version")[0][0])

    def open_questions(self) -> list[Question]:
        """All questions that wait for an answer."""
        rows = self._database.read(
            "SELECT * FROM questions WHERE state = 'open' ORDER BY id"
        )
        return [self._checked(Question(*row)) for row in rows]

    def _checked(self, question: Question) -> Question:
        return check_question(self.path, question, self._n_items)

    def question(self, number: int) -> Question:
        """One question by its number."""
        rows = self._database.read("SELECT * FROM questions WHERE id = ?", number)
        if not rows:
            raise NotThereError(f"There is no question {number}.")
        return self._checked(Question(*rows[0]))

    def add_question(
        self,
        left: int,
        right: int,
        annotator: str,
        *,
        model_version: int,
        p_same: float | None,
    ) -> Question:
        """Open a question for an annotator; one that is open already stays."""
        with self._database.writing() as database:
            number = open_question(database, annotator)
            if number is None:
                number = database.execute(
                    "INSERT INTO questions (left, right, annotator, asked,"
                    " model_version, p_same) VALUES (?, ?, ?, ?, ?, ?)",
                    (left, right, annotator, now(), model_version, p_same),
                ).lastrowid
        assert number is not None
        return self.question(number)

    def withdraw(self, question: int) -> None:
        """Close an open question without an answer."""
        with self._database.writing() as database:
            set_state(database, question, "withdrawn", "open")

    def answer(self, question: Question, label: int, seconds: float | None) -> Answer:
        """Add the answer to an open question, and close it."""
        with self._database.writing() as database:
            if not set_state(database, question.id, "answered", "open"):
                raise ClosedError(
                    f"Question {question.id} is not open. Reload to see the open one."
                )
            number = insert_answer(
                database,
                (question.id, question.left, question.right, label, question.annotator),
                seconds=seconds,
                model_version=question.model_version,
                source="asked",
            )
        return self._answer(number)

    def change(
        self, answer: Answer, label: int, annotator: str, version: int
    ) -> Answer:
        """Add a new answer in the place of an old one."""
        with self._database.writing() as database:
            number = insert_answer(
                database,
                (answer.question, answer.left, answer.right, label, annotator),
                seconds=None,
                model_version=version,
                source="changed",
                replaces=answer.id,
            )
        return self._answer(number)

    def import_answers(self, rows: Iterable[dict[str, Any]], version: int) -> int:
        """Add answers from elsewhere, all or none; gives how many."""
        n_rows = 0
        with self._database.writing() as database:
            batch: int | None = None
            for row in rows:
                n_rows += 1
                number = insert_answer(
                    database,
                    (None, row["left"], row["right"], row["label"], row["annotator"]),
                    seconds=row.get("seconds"),
                    model_version=version,
                    source="imported",
                    answered=row.get("answered"),
                    batch=batch,
                )
                batch = number if batch is None else batch
        return n_rows

    def group_answers(
        self, told: Iterable[tuple[int, int, int]], annotator: str, version: int
    ) -> list[Answer]:
        """Add what someone said about groups: labels of pairs of their items."""
        numbers: list[int] = []
        with self._database.writing() as database:
            for left, right, label in told:
                number = insert_answer(
                    database,
                    (None, left, right, label, annotator),
                    seconds=None,
                    model_version=version,
                    source="grouped",
                    batch=numbers[0] if numbers else None,
                )
                numbers.append(number)
        return [self._answer(number) for number in numbers]

    def undo(self, answer: Answer, annotator: str) -> None:
        """Mark an answer as taken back, and open its question again.

        What was said about a group at once is taken back at once.
        """
        with self._database.writing() as database:
            database.execute(
                "INSERT INTO undone SELECT id, ?, ? FROM answers"
                " WHERE id = ? OR (batch = ? AND source = 'grouped')",
                (annotator, now(), answer.id, answer.batch),
            )
            if answer.source == "asked":
                database.execute(
                    "UPDATE questions SET state = 'withdrawn'"
                    " WHERE state = 'open' AND annotator = ?",
                    (answer.annotator,),
                )
                database.execute(
                    "UPDATE questions SET state = 'open' WHERE id = ?",
                    (answer.question,),
                )

    def answers(self) -> list[Answer]:
        """Every answer ever given, oldest first, with whether it was undone."""
        rows = self._database.read(
            "SELECT answers.*, undone.answer IS NOT NULL FROM answers"
            " LEFT JOIN undone ON undone.answer = answers.id ORDER BY answers.id"
        )
        return [check_answer(self.path, Answer(*row), self._n_items) for row in rows]

    def _answer(self, number: int) -> Answer:
        return Answer(
            *self._database.read("SELECT * FROM answers WHERE id = ?", number)[0]
        )

    def predictions(self) -> dict[int | None, float | None]:
        """P(same) of each question when it was asked, by the question's number."""
        return dict(self._database.read("SELECT id, p_same FROM questions"))

    # What is derived from the answers, and flags

    def estimates(self) -> list[Estimate]:
        """The curve: the first figure by the number of answers."""
        rows = self._database.read("SELECT * FROM estimates ORDER BY n_answers")
        return [Estimate(*row) for row in rows]

    def add_estimate(self, estimate: Estimate) -> None:
        """Keep an estimate; one after the same number of answers is replaced."""
        with self._database.writing() as database:
            database.execute(
                "DELETE FROM estimates WHERE n_answers > ?", (estimate.n_answers,)
            )
            database.execute(
                "INSERT OR REPLACE INTO estimates VALUES (?, ?, ?, ?, ?, ?)",
                tuple(vars(estimate).values()),
            )

    def flag(self, question: int, annotator: str, is_flagged: bool) -> None:
        """Set a question aside for a second look, or no longer."""
        with self._database.writing() as database:
            database.execute("DELETE FROM flags WHERE question = ?", (question,))
            if is_flagged:
                database.execute(
                    "INSERT INTO flags VALUES (?, ?, ?)", (question, annotator, now())
                )

    def flagged(self) -> set[int]:
        """Numbers of the questions that were flagged."""
        return {
            number for (number,) in self._database.read("SELECT question FROM flags")
        }

    # What people say about the project, besides answers

    def set_setting(self, name: str, value: Any) -> None:
        """Change a setting that people may change."""
        with self._database.writing() as database:
            database.execute(
                "INSERT OR REPLACE INTO settings VALUES (?, ?)",
                (name, json.dumps(value)),
            )

    def forget_estimates(self) -> None:
        """Drop the curve: from now on another figure is shown."""
        with self._database.writing() as database:
            database.execute("DELETE FROM estimates")

    def group_names(self) -> list[GroupName]:
        """The names that groups were given, oldest first."""
        rows = self._database.read(
            "SELECT id, name, items FROM group_names ORDER BY id"
        )
        with said_plainly(self.path):
            return [
                GroupName(number, str(name), self._items_named(json.loads(items)))
                for number, name, items in rows
            ]

    def _items_named(self, items: Any) -> list[int]:
        """Numbers of items, those that are none left out."""
        n_items = self.settings()["n_items"]
        return [k for k in items if isinstance(k, int) and 0 <= k < n_items]

    def name_group(
        self, name: str, items: list[int], annotator: str, instead: Iterable[int]
    ) -> None:
        """Give a group a name in the place of others; an empty one only takes away."""
        with self._database.writing() as database:
            database.executemany(
                "DELETE FROM group_names WHERE id = ?", [(old,) for old in instead]
            )
            if name:
                database.execute(
                    "INSERT INTO group_names (name, items, annotator, named)"
                    " VALUES (?, ?, ?, ?)",
                    (name, json.dumps(items), annotator, now()),
                )
