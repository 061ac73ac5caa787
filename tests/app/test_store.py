"""The project file: what is written stays, and trouble is said plainly."""

import os
import shutil
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from likewise import InputError, StoreError
from likewise.app import schema
from likewise.app.project import Project
from likewise.app.store import Store
from likewise.app.web.server import serve
from likewise.app.writer import Writer
from tests.app.conftest import make_project


@pytest.fixture
def store(path):
    with Store.open(path) as opened:
        yield opened


def ask(store, left=3, right=1, annotator="ada"):
    return store.add_question(left, right, annotator, model_version=0, p_same=0.5)


def test_the_file_is_marked_as_ours_and_writes_reach_the_disk(store):
    """application_id, format number, WAL and a full sync at every commit."""
    read = store._database.connection.execute

    assert read("PRAGMA application_id").fetchone()[0] == 0x4C494B45
    assert read("PRAGMA user_version").fetchone()[0] == len(schema.MIGRATIONS)
    assert read("PRAGMA journal_mode").fetchone()[0] == "wal"
    assert read("PRAGMA synchronous").fetchone()[0] == 2


def test_vectors_come_back_as_float32_across_blocks(tmp_path):
    """What is read is what was given, to single precision, in order."""
    X = np.random.RandomState(0).normal(size=(5000, 700))  # two blocks of 8 MiB
    with Writer(tmp_path / "big.likewise") as writer:
        for number in range(5000):
            writer.add(str(number))
        writer.finish(X, {"kind": "text", "seed": 1, "acquisition": "groups"})

    with Store.open(tmp_path / "big.likewise") as store:
        n_blocks = store._database.connection.execute(
            "SELECT count(*) FROM vectors"
        ).fetchone()
        assert n_blocks[0] == 2
        assert_array_equal(store.vectors(), X.astype(np.float32))


def test_an_answer_keeps_who_when_and_how_long(store):
    """One row holds all that an export needs."""
    question = ask(store)

    answer = store.answer(question, -1, 1.25)

    assert (answer.left, answer.right, answer.label) == (3, 1, -1)
    assert (answer.annotator, answer.seconds, answer.source) == ("ada", 1.25, "asked")
    assert answer.answered > question.asked[:10]
    assert answer.pair == (1, 3)


def test_an_answer_cannot_be_changed_or_deleted(store):
    """The file itself refuses, whoever writes to it."""
    store.answer(ask(store), 1, None)

    for statement in ("UPDATE answers SET label = -1", "DELETE FROM answers"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            store._database.connection.execute(statement)


def test_undo_marks_the_answer_and_opens_its_question_again(store):
    """Nothing is erased; the open question of the moment gives way."""
    first = ask(store)
    answer = store.answer(first, 1, None)
    second = ask(store, 5, 6)

    store.undo(answer, "ada")

    assert [answer.undone for answer in store.answers()] == [1]
    assert [question.id for question in store.open_questions()] == [first.id]
    assert store.question(second.id).state == "withdrawn"


def test_a_question_is_answered_once(store):
    """A second answer, from a repeated request, is refused and not stored."""
    question = ask(store)
    store.answer(question, 1, None)

    with pytest.raises(StoreError, match=f"Question {question.id} is not open"):
        store.answer(question, -1, None)
    assert [answer.label for answer in store.answers()] == [1]


def test_an_import_is_whole_or_not_at_all(store):
    """A bad row in the middle leaves nothing behind."""
    good = {"left": 0, "right": 1, "label": 1, "annotator": "ada"}

    with pytest.raises(StoreError, match="CHECK constraint"):
        store.import_answers([good, {**good, "label": 7}], 0)
    assert store.answers() == []


def test_a_missing_item_is_named(store):
    """Numbers that lead nowhere say so."""
    with pytest.raises(InputError, match="There is no item 99"):
        store.item(99)


def test_a_missing_file_says_how_to_make_one(tmp_path):
    """The sentence holds the command."""
    with pytest.raises(StoreError, match="no project file .*likewise new"):
        Store.open(tmp_path / "none.likewise")


@pytest.mark.parametrize("content", [b"", b"some text, not a database at all" * 40])
def test_another_kind_of_file_is_refused(tmp_path, content):
    """Neither an empty file nor a text is a project; both stay as they were."""
    other = tmp_path / "other.likewise"
    other.write_bytes(content)

    with pytest.raises(StoreError, match="is not a likewise project"):
        Store.open(other)
    assert other.read_bytes() == content


def test_a_file_of_a_newer_version_is_left_alone(path):
    """It says which format it met and what to do."""
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()

    with pytest.raises(
        StoreError, match="newer likewise .format 99; this one reads up"
    ):
        Store.open(path)


def old_file(path):
    """A file as the first version made it, with two answers, one taken back."""
    make_project(path)
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("DROP TABLE flags")
    database.execute("DROP TABLE projection")
    database.execute("DROP TABLE group_names")
    database.execute("ALTER TABLE items DROP COLUMN digest")
    database.execute("DELETE FROM migrations WHERE number > 1")
    database.execute("PRAGMA user_version = 1")
    database.execute(
        "INSERT INTO answers VALUES"
        " (1, 1, NULL, 2, 3, -1, 'ada', '', 1.0, 0, 'imported', NULL),"
        " (2, 2, NULL, 4, 5, 1, 'ada', '', 1.0, 1, 'changed', 1)"
    )
    database.execute("INSERT INTO undone VALUES (2, 'ada', '')")
    return database


def test_an_old_file_is_brought_up_to_date_with_its_answers(tmp_path):
    """Opening migrates; each migration leaves its record."""
    old_file(tmp_path / "old.likewise").close()

    with Store.open(tmp_path / "old.likewise") as store:
        names = store._database.connection.execute(
            "SELECT name FROM migrations"
        ).fetchall()
        assert [name for (name,) in names] == [
            "m001_initial",
            "m002_flags",
            "m003_features",
            "m004_groups",
        ]
        assert [a.pair for a in store.answers() if not a.undone] == [(2, 3)]
        assert [a.pair for a in store.answers() if a.undone] == [(4, 5)]
        assert store.group_answers([(6, 7, 1)], "bo", 0)[0].id == 3
        assert store.group_names() == []
        assert store.flagged() == set()
        assert store.item(3).name == "item 3"
        assert store.digests() == {}
        assert store.projection() is None


def test_two_programs_that_ask_for_one_person_share_the_question(store, path):
    """The second gets what the first has opened; nothing is called damaged."""
    with Store.open(path) as other:
        first = ask(store)

        assert ask(other, 5, 6) == first


def test_what_contradicts_the_file_is_not_called_damage(store):
    """Taking one answer back twice, as two programs may at one moment."""
    answer = store.answer(ask(store), 1, None)
    store.undo(answer, "ada")

    with pytest.raises(StoreError, match="Another program may have written the same"):
        store.undo(answer, "ada")


def command(*arguments, prefix=()):
    """Run a command; gives its exit code and what it said on stderr."""
    done = subprocess.run(
        [*prefix, sys.executable, "-m", "likewise", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.returncode, done.stderr.strip()


def test_a_full_disk_when_opening_is_called_that(path):
    """No room for what SQLite keeps beside the file: the file is healthy."""
    nothing = ("bash", "-c", 'ulimit -f 0; exec "$@"', "-")
    before = path.read_bytes()

    code, said = command("label", path, "--no-browser", prefix=nothing)

    assert code == 1
    assert said.endswith(
        f"likewise: The disk is full. Nothing was written to {path}; free some space."
    )
    assert path.read_bytes() == before


def can_mount():
    """Whether a file system may be mounted here, for one process alone."""
    if shutil.which("unshare") is None:
        return False
    tried = "mount -t tmpfs none /mnt"
    done = subprocess.run(["unshare", "-rm", "sh", "-c", tried], capture_output=True)
    return done.returncode == 0


@pytest.mark.skipif(not can_mount(), reason="No file system can be mounted here.")
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("ro", "is read-only. Allow writing to it, or answer in a copy"),
        ("full", "The disk is full"),
    ],
)
def test_real_file_systems_that_take_nothing(path, options, words):
    """Read-only or full: neither is damage, nor another server."""
    folder = path.parent / "mounted"
    folder.mkdir()
    mount = {
        "ro": f"cp {path} {folder} && mount -o remount,ro {folder}",
        "full": f"cp {path} {folder}; dd if=/dev/zero of={folder}/rest 2>/dev/null;",
    }[options]
    size = 4 * (path.stat().st_size // 4096 + 2)
    script = f'mount -t tmpfs -o size={size}k none {folder}; {mount}; exec "$@"'
    prefix = ("unshare", "-rm", "sh", "-c", script.replace(";;", ";"), "-")

    code, said = command("label", folder / path.name, "--no-browser", prefix=prefix)

    assert code == 1
    assert words in said
    assert said.count("\n") == 0  # a sentence, and nothing before it


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no/such/folder/x.likewise", "There is no folder .*no/such/folder."),
        ("none.likewise", "There is no project file .*likewise new"),
        ("", "A project must be a file. .* is a folder."),
    ],
)
def test_a_missing_folder_or_file_is_no_second_server(tmp_path, name, words):
    """Each has its own sentence."""
    path = tmp_path / name

    with pytest.raises(StoreError, match=words):
        serve(path, host="127.0.0.1", port=0, annotators=["me"], announce=print)
    with pytest.raises(StoreError, match=words):
        Store.open(path)


def test_a_file_that_was_deleted_takes_no_more_answers(store, path):
    """They would vanish with it; the same for one that took its place."""
    question = ask(store)
    moved = path.rename(path.with_name("moved.likewise"))

    for _ in range(2):
        with pytest.raises(StoreError, match="was moved, deleted or replaced"):
            store.answer(question, 1, None)
        path.write_bytes(b"another file")
    moved.replace(path)
    assert store.answer(question, 1, None).label == 1


def test_a_file_under_two_names_is_used_under_one(store, path):
    """What is being written lies beside the name: by another one it is not seen."""
    link, soft = path.with_name("hard.likewise"), path.with_name("soft.likewise")
    soft.symlink_to(path)
    with Store.open(soft) as same:
        ask(same, annotator="bo")
    link.hardlink_to(path)

    with pytest.raises(StoreError, match="several names .hard links., and another"):
        Store.open(link)
    assert [question.annotator for question in store.open_questions()] == ["bo"]
    store.close()
    with Store.open(link) as alone:
        assert len(alone.open_questions()) == 1


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("seed", '"1"', "'seed' must be a whole number .* Got '1'"),
        ("seed", "-4", "'seed' must be a whole number"),
        ("seed", "1.5", "'seed' must be a whole number"),
        ("seed", "true", "'seed' must be a whole number"),
        ("kind", '"page"', "'kind' must be one of picture, sound, text, row"),
        ("acquisition", "[]", "'acquisition' must be a text"),
        ("n_items", "1e300", "'n_items' must be a count"),
        ("n_items", "2000000000", "a name for each of 2000000000 items"),
        ("n_features", "2000000000", "vectors are missing"),
        ("n_features", "0", "'n_features' must be a count"),
        ("fingerprint", "null", "'fingerprint' must be a text"),
        ("created", "7", "'created' must be a text"),
        ("features", '{"name": 3}', "'features' must be what made the vectors"),
        ("feature_names", '{"a": 1}', "'feature_names' must be a list of texts"),
        ("seed", "[" * 100_000, "is damaged"),
        ("seed", "{", "is damaged"),
    ],
)
def test_settings_of_the_wrong_kind_get_a_sentence(path, name, value, words):
    """A file may come from a stranger: no traceback, no memory taken."""
    change(path, "INSERT OR REPLACE INTO settings VALUES (?, ?)", name, value)

    with pytest.raises(StoreError, match=words):
        Project.open(path)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE items SET name = x'00' WHERE number = 3",
        "DELETE FROM items WHERE number = 39",
        "UPDATE items SET fields = '[1, 2]'",
        "UPDATE items SET fields = '{'",
        "INSERT INTO questions VALUES (1, 0, 999, 'ada', '', 0, 0.5, 'open')",
        "INSERT INTO questions VALUES (1, 'a', 'b', 'ada', '', 0, 0.5, 'open')",
        "INSERT INTO questions VALUES (1, 0, 1, 'ada', '', 'x', 'y', 'open')",
        "INSERT INTO answers VALUES"
        " (1, 1, NULL, 0, 10000000, 1, 'ada', '', 1.0, 0, 'asked', NULL)",
        "INSERT INTO answers VALUES"
        " (1, 1, NULL, 3, 3, 1, 'ada', '', 1.0, 0, 'asked', NULL)",
        "INSERT INTO answers VALUES"
        " (1, 1, NULL, 0, 1, 1, x'ff', '', 1.0, 0, 'asked', NULL)",
        "INSERT INTO answers VALUES"
        " (1, 1, NULL, 0, 1, 1, 'ada', '', 'long', 0, 'asked', NULL)",
    ],
)
def test_rows_of_the_wrong_kind_get_a_sentence(path, statement):
    """Items, questions and answers that nobody could have made here."""
    change(path, statement)

    with pytest.raises(StoreError, match="must be: |is damaged: "):
        with Project.open(path) as project:
            project.item(0)
            project.question("ada")


def change(path, statement, *values):
    """Write to a file as a stranger would, without our rules."""
    database = sqlite3.connect(path)
    database.execute(statement, values)
    database.commit()
    database.close()


def test_a_migration_that_fails_changes_nothing(tmp_path):
    """One transaction: format number and records stay behind together."""
    path = tmp_path / "old.likewise"
    database = old_file(path)
    database.execute("CREATE TABLE flags (in_the_way INTEGER)")

    with pytest.raises(StoreError, match="table flags already exists"):
        Store.open(path)
    assert database.execute("PRAGMA user_version").fetchone()[0] == 1
    assert database.execute("SELECT count(*) FROM migrations").fetchone()[0] == 1
    database.close()


def test_an_old_file_that_is_read_only_says_so(tmp_path):
    """It would have to be changed before it can be read."""
    path = tmp_path / "old.likewise"
    old_file(path).close()
    path.chmod(0o444)

    with pytest.raises(StoreError, match="older likewise .* read-only"):
        Store.open(path, read_only=True)


def test_a_read_only_file_can_be_read_but_not_opened_for_answers(path):
    """Reading works; writing is refused before anything is tried."""
    path.chmod(0o444)

    with pytest.raises(StoreError, match="is read-only. Allow writing"):
        Store.open(path)
    with Store.open(path, read_only=True) as store:
        assert len(store.item_names()) == 40
        with pytest.raises(StoreError, match="cannot be written"):
            ask(store)


def test_a_full_disk_loses_the_answer_at_hand_and_no_other(store):
    """The sentence is plain, earlier answers stand, and later ones work again."""
    kept = store.answer(ask(store), 1, None)
    question = ask(store, 7, 8)
    limit = store._database.connection.execute
    pages = limit("PRAGMA page_count").fetchone()[0]
    limit(f"PRAGMA max_page_count = {pages}")
    rows = (
        {"left": 0, "right": 1, "label": 1, "annotator": "x" * 50} for _ in range(999)
    )

    with pytest.raises(StoreError, match="The disk is full. Nothing was written"):
        store.import_answers(rows, 0)
    assert store.answers() == [kept]
    assert store.open_questions() == [question]
    limit("PRAGMA max_page_count = 1073741823")
    assert store.answer(question, -1, None).label == -1


def test_another_writer_is_named_as_the_reason(store, path):
    """A lock that does not go away becomes a sentence."""
    store._database.connection.execute("PRAGMA busy_timeout = 20")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(StoreError, match="Another program is writing to"):
        ask(store)
    other.close()
    assert ask(store).id == 1


def test_a_flipped_bit_in_the_vectors_is_noticed(path):
    """The fingerprint is checked whenever the vectors are read."""
    database = sqlite3.connect(path)
    (data,) = database.execute("SELECT data FROM vectors").fetchone()
    changed = bytes([data[0] ^ 1]) + data[1:]
    database.execute("UPDATE vectors SET data = ?", (changed,))
    database.commit()
    database.close()

    with Store.open(path) as store, pytest.raises(StoreError, match="is damaged"):
        store.vectors()


def test_no_damage_leads_to_anything_but_a_sentence(path, tmp_path, rng):
    """Bytes changed or cut anywhere: the project works, or a StoreError says why."""
    with Project.open(path) as project:
        for _ in range(5):
            project.answer(project.question("ada").id, 1, "ada")
    whole = path.read_bytes()
    refused = 0
    for trial in range(60):
        damaged = bytearray(whole)
        if trial % 3 == 0:
            damaged = damaged[: rng.randint(1, len(whole))]
        else:
            start = rng.randint(len(whole))
            damaged[start : start + 64] = rng.bytes(len(damaged[start : start + 64]))
        file = tmp_path / f"{trial}.likewise"
        file.write_bytes(bytes(damaged))
        try:
            with Project.open(file) as project:
                project.question("ada")
                project.answers()
        except StoreError as error:
            refused += 1
            assert str(file) in str(error)
        os.unlink(file)

    assert refused >= 15


def test_a_project_that_is_not_finished_leaves_no_file(tmp_path):
    """A run that fails while reading items leaves the folder as it was."""
    with pytest.raises(ZeroDivisionError, match="division"):
        with Writer(tmp_path / "new.likewise") as writer:
            writer.add("one")
            _ = 1 / 0

    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_never_overwritten(path):
    """Whatever it is."""
    with pytest.raises(StoreError, match="exists already"):
        Writer(path)
