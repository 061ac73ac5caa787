"""Search, the metric and the places of a project, from the command line."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

import likewise
from likewise.app.project import Project
from tests.app.conftest import make_project, word_for
from tests.app.test_cli import run, told
from tests.app.test_items import tone


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """A project with 25 answers."""
    path = make_project(tmp_path_factory.mktemp("use") / "small.likewise")
    with Project.open(path) as project:
        for _ in range(25):
            question = project.question("me")
            names = [project.names[side] for side in question.pair]
            label = 1 if word_for(*names) == "same" else -1
            project.answer(question.id, label, "me")
    return path


def test_search_finds_what_the_learner_finds(answered):
    """An item by its name: rows, distances, P(same) and confidence of Python."""
    said = told("search", answered, "item 5", "-k", "6")

    with Project.open(answered) as project:
        found = project.learner().neighbours().query([5], k=6)
        names = [project.names[row] for row in found.rows[0]]
    assert (said["item"], said["is_new"]) == ("item 5", False)
    assert [one["name"] for one in said["found"]] == names
    for key, column in zip(
        ("distance", "p_same", "confidence"), found[1:], strict=True
    ):
        assert_allclose([one[key] for one in said["found"]], column[0])


def test_search_for_people(answered):
    """A table with a line an item, nearest first."""
    result = run("search", answered, "item 5", "-k", "3")

    lines = result.stdout.splitlines()
    assert lines[0] == "Nearest to item 5:"
    assert lines[1].split() == ["distance", "P(same)", "in", "true", "top", "3"]
    assert len(lines) == 5
    distances = [float(line.split()[0]) for line in lines[2:]]
    assert distances == sorted(distances)


def test_search_shows_the_beginning_of_texts(tmp_path):
    """A row's number alone says nothing; a long text is cut."""
    lines = ["a cat naps", "the cat slept", "a cat " + 20 * "purrs "]
    (tmp_path / "t.txt").write_text("\n".join(lines))
    told("new", tmp_path / "t.likewise", "--texts", tmp_path / "t.txt", "--seed", 1)

    result = run("search", tmp_path / "t.likewise", "line 1", "-k", "2")

    shown = [line.split("line ")[1] for line in result.stdout.splitlines()[2:]]
    assert sorted(shown) == [
        "2: the cat slept",
        "3: a cat " + 8 * "purrs " + "purrs…",
    ]


def test_search_by_a_vector_of_a_file(answered, tmp_path):
    """For a project of vectors: the item's own vector finds the item, at 0."""
    with Project.open(answered) as project:
        vector = project.X[5:6]
    np.save(tmp_path / "new.npy", vector)
    np.savetxt(
        tmp_path / "new.csv", vector, delimiter=",", header="a,b,c,d,e,f", comments=""
    )

    for name in ("new.npy", "new.csv"):
        said = told("search", answered, tmp_path / name, "-k", "2")
        assert said["is_new"] is True
        assert said["found"][0]["name"] == "item 5"
        assert said["found"][0]["distance"] < 1e-6


def test_search_by_a_new_picture_and_a_known_one(tmp_path, picture_folder):
    """A new file gets the project's features; a copy of an item is that item."""
    path = tmp_path / "p.likewise"
    run("new", path, "--images", picture_folder, "--features", "paper", "--seed", "1")
    with Project.open(path) as project:
        name = next(name for name in project.names if name.startswith("red"))
    kept = Image.open(picture_folder / name).convert("RGB")
    kept.putpixel((0, 0), (1, 2, 3))
    kept.save(tmp_path / "new.png")
    copy = tmp_path / "copy.jpg"
    copy.write_bytes((picture_folder / name).read_bytes())

    new = told("search", path, tmp_path / "new.png", "-k", "4")
    known = told("search", path, copy, "-k", "4")

    assert new["is_new"] is True
    assert new["found"][0]["name"] == name
    assert (known["item"], known["is_new"]) == (name, False)
    assert name not in [one["name"] for one in known["found"]]


def test_search_by_a_new_sound(tmp_path):
    """The tone next to it in pitch comes first."""
    folder = tmp_path / "sounds"
    folder.mkdir()
    for pitch in (200, 500, 900, 1500):
        (folder / f"{pitch}.wav").write_bytes(tone(pitch))
    run("new", tmp_path / "s.likewise", "--audio", folder, "--seed", "1")
    (tmp_path / "new.wav").write_bytes(tone(505))

    said = told("search", tmp_path / "s.likewise", tmp_path / "new.wav", "-k", "1")

    assert said["found"][0]["name"] == "500.wav"


def test_searches_that_cannot_be_get_a_sentence(answered, tmp_path):
    """No such item; a file that is no vector; texts whose numbers hang together."""
    (tmp_path / "it.txt").write_text("a\n")
    np.save(tmp_path / "two.npy", np.eye(2))
    (tmp_path / "lines.txt").write_text("red bird\nblue bird\ngreen tree\n")
    run("new", tmp_path / "t", "--texts", tmp_path / "lines.txt")

    said = {
        name: str(run("search", *asked).exception)
        for name, asked in {
            "none": (answered, "nobody"),
            "text": (answered, tmp_path / "it.txt"),
            "two": (answered, tmp_path / "two.npy"),
            "whole": (tmp_path / "t", tmp_path / "it.txt"),
        }.items()
    }

    assert said["none"] == "There is no item 'nobody', and no file of that name."
    assert "ready vectors. A new one must stand in a file of .csv" in said["text"]
    assert "must hold one vector of 6 numbers. Got 4." in said["two"]
    assert "does not say how its vectors were made" in said["whole"]


def test_the_metric_of_a_project_is_that_of_its_learner(answered, tmp_path):
    """In every form; the whole metric knows the project's items again."""
    for suffix in ("npz", "json", "onnx", "metric", "sql"):
        said = told("export-metric", answered, tmp_path / f"it.{suffix}")
        assert said["n_features"] == 6

    with Project.open(answered) as project:
        metric, X = project.learner().metric_, project.X
    again = likewise.load(tmp_path / "it.metric")
    assert_array_equal(again.transform(X), metric.transform(X))
    assert again.fingerprint_ == metric.fingerprint_
    components = json.loads((tmp_path / "it.json").read_text())["components"]
    assert_array_equal(components, metric.components_)
    assert "E'item 39'" in (tmp_path / "it.sql").read_text()
    result = run("export-metric", answered, tmp_path / "it.npz")
    n_kept = len(metric.components_)
    assert result.stdout == f"{tmp_path / 'it.npz'}: 6 numbers an item to {n_kept}.\n"


def test_what_an_embedding_went_through_is_exported(tmp_path, picture_folder):
    """Mean and scales of the paper's 36 numbers, with their names."""
    path = tmp_path / "p.likewise"
    run("new", path, "--images", picture_folder, "--features", "paper", "--seed", "1")

    run("export-metric", path, tmp_path / "it.npz")

    with np.load(tmp_path / "it.npz", allow_pickle=False) as arrays:
        kept = dict(arrays)
    assert kept["embedding"] == "paper"
    assert not kept["embedding_is_direction"]
    assert kept["embedding_components"].shape == (36, 36)
    assert kept["embedding_mean"].shape == kept["feature_names"].shape == (36,)


def test_places_of_all_items(answered, tmp_path):
    """In order, with their names; and as an index."""
    said = told("vectors", answered, tmp_path / "it.npy")
    result = run("vectors", answered, tmp_path / "it.usearch")

    with Project.open(answered) as project:
        places = project.learner().metric_.transform(project.X)
        names = project.names
    assert said["shape"] == list(places.shape)
    assert_array_equal(np.load(said["files"][0]), places.astype(np.float32))
    assert json.loads((tmp_path / "it.npy.names.json").read_text()) == names
    words = f"it.usearch.names.json: 40 items of {places.shape[1]} numbers."
    assert words in result.stdout


def test_other_suffixes_get_a_sentence(answered, tmp_path):
    """What a file may end in."""
    result = run("vectors", answered, tmp_path / "it.csv")

    assert "one of .npy, .parquet, .faiss, .usearch" in str(result.exception)
