"""Groups written out: files and folders, nothing overwritten, nothing outside."""

import csv
import json

import numpy as np
import pytest

from likewise import StoreError
from likewise.app.exchange import safe_cell
from likewise.app.folders import file_name
from likewise.app.grouping import Grouping
from likewise.app.project import Project
from likewise.app.records import Medium
from likewise.app.writer import Writer
from tests.app.conftest import make_project
from tests.app.test_cli import run, told


@pytest.fixture(scope="module")
def coloured(tmp_path_factory, picture_folder):
    """A project of pictures of three colours, one group of which has a name."""
    path = tmp_path_factory.mktemp("coloured") / "colours.likewise"
    told("new", path, "--images", picture_folder, "--seed", 4)
    with Project.open(path) as project:
        numbers = [project.names.index(f"{name}/1.png") for name in ("red", "blue")]
        project.tell([(numbers[0], numbers[1], -1)], "ada")
        Grouping(project).rename(numbers[0], "=red: a/b", "ada")
    return path


def members(folder):
    """The names of the files in each folder."""
    return {
        place.name: sorted(file.name for file in place.iterdir())
        for place in folder.iterdir()
    }


def test_a_folder_a_group_holds_the_files_themselves(
    coloured, tmp_path, picture_folder
):
    """Copies are equal to the originals, and names of groups name folders."""
    result = run("groups", coloured, "--folders", tmp_path / "sorted")

    assert result.exit_code == 0
    found = told("groups", coloured)
    made = members(tmp_path / "sorted")
    assert len(made) == found["n_groups"]
    assert [len(made[name]) for name in sorted(made)] == [
        group["size"] for group in found["groups"]
    ]
    named = next(name for name in made if "red" in name)
    assert named.endswith(" =red_ a_b")
    copy = tmp_path / "sorted" / named / "1.png"
    assert copy.read_bytes() == (picture_folder / "red" / "1.png").read_bytes()


def test_links_lead_to_the_originals(coloured, tmp_path, picture_folder):
    """Equal names of different folders are kept apart."""
    told("groups", coloured, "--folders", tmp_path / "sorted", "--link")

    links = [file for file in (tmp_path / "sorted").rglob("*.png")]
    assert len(links) == 30
    assert {link.resolve() for link in links} == {
        file.resolve()
        for colour in ("red", "green", "blue")
        for file in (picture_folder / colour).glob("[0-9].png")
    }


def test_without_the_originals_what_the_project_shows_is_written(
    coloured, copy_of, tmp_path
):
    """And it is said."""
    path = copy_of(coloured)
    with Project.open(path) as project:
        project.store.set_setting("folder", str(tmp_path / "gone"))

    result = run("groups", path, "--folders", tmp_path / "sorted")

    assert "30 of them are the small versions" in result.stdout
    files = list((tmp_path / "sorted").rglob("*.jpg"))
    assert len(files) == 30
    assert files[0].read_bytes()[:3] == b"\xff\xd8\xff"


def test_a_folder_that_holds_something_is_left_alone(coloured, tmp_path):
    """A sentence, and nothing written: not even the file asked for beside it."""
    (tmp_path / "sorted").mkdir()
    (tmp_path / "sorted" / "mine.txt").write_text("mine")

    result = run(
        *("groups", coloured, "--folders", tmp_path / "sorted"),
        *("--out", tmp_path / "groups.csv"),
    )

    assert isinstance(result.exception, StoreError)
    assert "holds something already" in str(result.exception)
    assert [file.name for file in tmp_path.rglob("*")] == ["sorted", "mine.txt"]


def test_a_file_that_is_there_is_left_alone(coloured, tmp_path):
    """The same for --out; and a format that nobody knows is refused."""
    (tmp_path / "groups.csv").write_text("mine")

    for name, words in (("groups.csv", "exists already"), ("groups.doc", "must go to")):
        result = run("groups", coloured, "--out", tmp_path / name)
        assert words in str(result.exception)
    assert (tmp_path / "groups.csv").read_text() == "mine"


def test_groups_as_csv_json_and_parquet(coloured, tmp_path):
    """The same groups in each; what looks like a formula is escaped in the csv."""
    from pyarrow import parquet

    for suffix in ("csv", "json", "parquet"):
        told("groups", coloured, "--out", tmp_path / f"groups.{suffix}")

    with open(tmp_path / "groups.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    lists = json.loads((tmp_path / "groups.json").read_text())["groups"]
    columns = parquet.read_table(tmp_path / "groups.parquet").to_pydict()
    assert [row["item"] for row in rows] == columns["item"]
    assert [row["item"] for row in rows] == [k for one in lists for k in one["items"]]
    assert {row["name"] for row in rows} == {"", "'=red: a/b"}
    assert "=red: a/b" in columns["name"]
    assert all(0 < float(row["confidence"]) <= 1 for row in rows)


def test_texts_become_a_table_in_each_folder(tmp_path):
    """What is not a file is written as rows."""
    path = make_project(tmp_path / "texts.likewise")

    told("groups", path, "--folders", tmp_path / "sorted")

    rows = [
        row
        for file in (tmp_path / "sorted").rglob("items.csv")
        for row in csv.DictReader(file.read_text().splitlines())
    ]
    assert {row["item"]: row["text"] for row in rows} == {
        f"item {k}": f"text of item {k}" for k in range(40)
    }


def test_a_hostile_project_writes_and_reads_nothing_outside(tmp_path):
    """Names lead neither out of the new folder nor to files beside the pictures."""
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    (tmp_path / "pictures").mkdir()
    names = ["../secret.txt", str(secret), "../../../x.jpg", "a\\..\\b"]
    with Writer(tmp_path / "p.likewise") as writer:
        for name in names:
            medium = Medium("picture", "image/jpeg", b"shown")
            writer.add(name, media=[medium])
        settings = {"kind": "picture", "seed": 1, "acquisition": "groups"}
        folder = {"folder": str(tmp_path / "pictures")}
        writer.finish(np.eye(4), {**settings, **folder})

    told("groups", tmp_path / "p.likewise", "--folders", tmp_path / "sorted")

    made = [file for file in (tmp_path / "sorted").rglob("*") if file.is_file()]
    assert [file.read_bytes() for file in made] == [b"shown"] * 4
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "p.likewise",
        "pictures",
        "secret.txt",
        "sorted",
    ]


def test_a_hostile_project_takes_no_file_that_it_was_not_made_of(tmp_path):
    """It names a folder of yours and a file in it: only its own bytes are written."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "key.jpg").write_text("yours")
    with Writer(tmp_path / "p.likewise") as writer:
        for name in ("key.jpg", "other.jpg"):
            medium = Medium("picture", "image/jpeg", b"shown")
            writer.add(name, media=[medium], digest=f"{name}: no sum of yours")
        settings = {"kind": "picture", "seed": 1, "acquisition": "groups"}
        writer.finish(np.eye(2), {**settings, "folder": str(home)})

    told("groups", tmp_path / "p.likewise", "--folders", tmp_path / "sorted")

    made = [file for file in (tmp_path / "sorted").rglob("*") if file.is_file()]
    assert [file.read_bytes() for file in made] == [b"shown"] * 2


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("a/b:c*.jpg", "a_b_c_.jpg"),
        ("...", "_"),
        ("x" * 300 + ".jpeg", "x" * 95 + ".jpeg"),
        (" 01 ", "01"),
    ],
)
def test_names_of_files_are_ones_that_every_system_takes(name, safe):
    """No separators, no dots alone, not too long."""
    assert file_name(name) == safe


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@sum", "\tx"])
def test_cells_that_look_like_formulas_get_an_apostrophe(cell):
    """A spreadsheet shows them as they are; other cells stay."""
    assert safe_cell(cell) == f"'{cell}"
    assert safe_cell(cell[1:] + "x") == cell[1:] + "x"
    assert safe_cell(3) == 3
