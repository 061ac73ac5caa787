"""Projects moved, copied or deleted while in use, and what lies beside them."""

import shutil

import pytest

from likewise import StoreError
from likewise.app.store import Store
from likewise.app.writer import Writer
from tests.app.conftest import make_project
from tests.app.test_store import ask, can_mount, command


def answered(path):
    with Store.open(path) as store:
        return [(answer.pair, answer.label) for answer in store.answers()]


def test_a_project_moved_while_open_takes_its_answers_along(path):
    """SQLite would leave them beside the old name, where nobody looks."""
    moved = path.with_name("moved.likewise")
    with Store.open(path) as store:
        store.answer(ask(store), 1, None)
        path.rename(moved)

    assert answered(moved) == [((1, 3), 1)]
    # And nothing that stayed falls upon the next project of the old name.
    make_project(path)
    assert answered(path) == []


def test_what_a_deleted_project_left_destroys_no_new_one(path):
    """After a crash it lies there still, and SQLite would write it into the new one."""
    left = path.with_name(path.name + "-wal")
    with Store.open(path) as store:
        store.answer(ask(store), 1, None)
        kept = shutil.copy(left, path.with_name("kept"))
    path.unlink()
    kept.replace(left)

    with pytest.raises(StoreError, match=r"-wal belongs to a project that was moved"):
        make_project(path)
    assert left.stat().st_size > 0
    left.unlink()
    assert answered(make_project(path)) == []


def test_a_disk_without_room_keeps_no_half_project(tmp_path):
    """Nothing is left when not even the first page can be written."""
    nothing = ("bash", "-c", 'ulimit -f 0; exec "$@"', "-")
    project = tmp_path / "new.likewise"

    code, said = command("new", project, "--digits", prefix=nothing)

    assert code == 1
    assert said.endswith(
        f"likewise: The disk is full. Nothing was written to {project}; "
        "free some space."
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not can_mount(), reason="No file system can be mounted here.")
def test_a_read_only_system_with_a_half_project_is_a_sentence(tmp_path):
    """The half file of a run that was killed cannot be taken away there."""
    script = (
        f"mount -t tmpfs none {tmp_path}; touch {tmp_path}/new.likewise.part; "
        f'mount -o remount,ro {tmp_path}; exec "$@"'
    )
    prefix = ("unshare", "-rm", "sh", "-c", script, "-")

    code, said = command("new", tmp_path / "new.likewise", "--digits", prefix=prefix)

    assert code == 1
    assert said == (
        f"likewise: {tmp_path}/new.likewise cannot be written: Read-only file system."
    )


def test_an_error_of_the_system_at_the_end_is_a_sentence(path, monkeypatch):
    """Giving the file its name is where a network drive may fail."""

    def fail(*names):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(StoreError, match="cannot be written: Input/output error"):
        make_project(path.with_name("other.likewise"))
    assert Writer(path.with_name("other.likewise")).n_items == 0
    assert [file.name for file in path.parent.iterdir()] == [path.name]
