"""The tables of a project file, as ordered migrations.

Each migration is a plain function and runs in one transaction with its own record,
so an old file is either brought up to date or left as it was.
"""

import sqlite3
from collections.abc import Callable

# "LIKE" in ASCII: marks the file as ours among all SQLite files.
APPLICATION_ID = 0x4C494B45


def m001_initial(database: sqlite3.Connection) -> None:
    """Make items, vectors, questions, answers and what is derived from them."""
    for statement in _INITIAL:
        database.execute(statement)


def m002_flags(database: sqlite3.Connection) -> None:
    """Let people set questions aside for a second look."""
    database.execute(
        "CREATE TABLE flags (question INTEGER PRIMARY KEY REFERENCES questions,"
        " annotator TEXT NOT NULL, flagged TEXT NOT NULL)"
    )


def m003_features(database: sqlite3.Connection) -> None:
    """Keep what turns further files into vectors, and which files are there."""
    database.execute("ALTER TABLE items ADD COLUMN digest TEXT")
    database.execute(
        "CREATE TABLE projection (name TEXT PRIMARY KEY, n_rows INTEGER NOT NULL,"
        " n_columns INTEGER NOT NULL, data BLOB NOT NULL)"
    )


def m004_groups(database: sqlite3.Connection) -> None:
    """Let answers come from the groups, and give groups names."""
    # A table's rules cannot be changed: a new one takes its place. Foreign keys are not
    # watched while migrations run, or the old one could not go.
    for statement in _GROUPED_ANSWERS:
        database.execute(statement)
    # The items are the members when the name was given: the group that holds most of
    # them has the name.
    database.execute(
        "CREATE TABLE group_names (id INTEGER PRIMARY KEY AUTOINCREMENT,"
        " name TEXT NOT NULL, items TEXT NOT NULL, annotator TEXT NOT NULL,"
        " named TEXT NOT NULL)"
    )


MIGRATIONS: list[Callable[[sqlite3.Connection], None]] = [
    m001_initial,
    m002_flags,
    m003_features,
    m004_groups,
]

_APPEND_ONLY = [
    "CREATE TRIGGER answers_stay BEFORE UPDATE ON answers"
    " BEGIN SELECT RAISE(ABORT, 'answers are append-only'); END",
    "CREATE TRIGGER answers_are_kept BEFORE DELETE ON answers"
    " BEGIN SELECT RAISE(ABORT, 'answers are append-only'); END",
]

_INITIAL = [
    "CREATE TABLE IF NOT EXISTS migrations"
    " (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied TEXT NOT NULL)",
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE items (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
    " text TEXT, fields TEXT)",
    "CREATE TABLE media (item INTEGER NOT NULL REFERENCES items, role TEXT NOT NULL,"
    " mime TEXT NOT NULL, data BLOB NOT NULL, UNIQUE (item, role))",
    # A blob may hold 1 GB at most: vectors are cut into blocks of rows.
    "CREATE TABLE vectors (first INTEGER PRIMARY KEY, data BLOB NOT NULL)",
    "CREATE TABLE questions (id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " left INTEGER NOT NULL REFERENCES items, right INTEGER NOT NULL REFERENCES items,"
    " annotator TEXT NOT NULL, asked TEXT NOT NULL, model_version INTEGER NOT NULL,"
    " p_same REAL, state TEXT NOT NULL DEFAULT 'open'"
    " CHECK (state IN ('open', 'answered', 'withdrawn')))",
    "CREATE UNIQUE INDEX one_open_question ON questions (annotator)"
    " WHERE state = 'open'",
    "CREATE TABLE answers (id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " batch INTEGER NOT NULL, question INTEGER REFERENCES questions,"
    " left INTEGER NOT NULL REFERENCES items, right INTEGER NOT NULL REFERENCES items,"
    " label INTEGER NOT NULL CHECK (label IN (-1, 0, 1)), annotator TEXT NOT NULL,"
    " answered TEXT NOT NULL, seconds REAL, model_version INTEGER NOT NULL,"
    " source TEXT NOT NULL CHECK (source IN ('asked', 'changed', 'imported')),"
    " replaces INTEGER REFERENCES answers)",
    "CREATE TABLE undone (answer INTEGER PRIMARY KEY REFERENCES answers,"
    " annotator TEXT NOT NULL, undone TEXT NOT NULL)",
    # Derived from the answers, so this one may be rewritten.
    "CREATE TABLE estimates (n_answers INTEGER PRIMARY KEY, last_answer INTEGER,"
    " accuracy REAL NOT NULL, low REAL NOT NULL, high REAL NOT NULL,"
    " saved INTEGER NOT NULL)",
    *_APPEND_ONLY,
]

_GROUPED_ANSWERS = [
    "CREATE TABLE new_answers (id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " batch INTEGER NOT NULL, question INTEGER REFERENCES questions,"
    " left INTEGER NOT NULL REFERENCES items, right INTEGER NOT NULL REFERENCES items,"
    " label INTEGER NOT NULL CHECK (label IN (-1, 0, 1)), annotator TEXT NOT NULL,"
    " answered TEXT NOT NULL, seconds REAL, model_version INTEGER NOT NULL,"
    " source TEXT NOT NULL"
    " CHECK (source IN ('asked', 'changed', 'imported', 'grouped')),"
    " replaces INTEGER REFERENCES answers)",
    "INSERT INTO new_answers SELECT * FROM answers",
    "DROP TABLE answers",
    "ALTER TABLE new_answers RENAME TO answers",
    *_APPEND_ONLY,
]
