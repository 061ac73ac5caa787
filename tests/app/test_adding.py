"""Further items: by the same features, at the same place, once each."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

from likewise import InputError, StoreError
from likewise.app.adding import add_files, check_same
from likewise.app.store import Store
from tests.app.test_cli import run, told
from tests.app.test_items import plainly
from tests.features.test_own import mean_model


def paint(folder, numbers):
    folder.mkdir(exist_ok=True)
    for number in numbers:
        rng = np.random.RandomState(number)
        pixels = rng.randint(0, 256, (40, 60, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
    return folder


@pytest.fixture
def photos(tmp_path):
    """A project of six pictures by the paper's features."""
    folder = paint(tmp_path / "first", range(6))
    path = tmp_path / "p.likewise"
    told("new", path, "--images", folder, "--features", "paper", "--seed", 1)
    return path


def test_items_are_added_behind_the_others(photos, tmp_path):
    """Old items, vectors and answers stay; the fingerprint is that of all."""
    told("answer", photos, "same")
    with Store.open(photos) as store:
        before = store.vectors()

    added = told("add", photos, "--images", paint(tmp_path / "more", [7, 8]))

    assert added["n_added"] == 2
    with Store.open(photos) as store:
        assert store.item_names()[6:] == ["7.png", "8.png"]
        assert_array_equal(store.vectors()[:6], before)
        assert store.vectors().shape == (8, 36)
        assert store.medium(7, "thumbnail") is not None
        assert len(store.answers()) == 1
    assert told("status", photos)["n_items"] == 8


def test_a_file_gets_the_vector_that_it_would_have_had(tmp_path):
    """The map of the first items places the later: the same picture, the same place."""
    folder = paint(tmp_path / "first", range(8))
    path = tmp_path / "p.likewise"
    told("new", path, "--images", folder, "--seed", 1)
    with Store.open(path) as store:
        # The digests are taken away, so that a known file counts as new.
        with store._database.writing() as database:
            database.execute("UPDATE items SET digest = NULL")
    added = add_files(path, folder, "picture", plainly)

    assert added.n_items == 8
    with Store.open(path) as store:
        assert_allclose(store.vectors()[8:], store.vectors()[:8], atol=1e-5)
        assert store.item_names()[8] == "0.png (2)"


def test_a_file_that_is_there_is_not_added_twice(photos, tmp_path):
    """The same folder again brings only what is new in it."""
    paint(tmp_path / "first", [9])

    added = told("add", photos, "--images", tmp_path / "first")

    assert added["n_added"] == 1
    reasons = {one["name"]: one["reason"] for one in added["skipped"]}
    assert reasons["3.png (2)"] == "the same file as 3.png"
    assert len(reasons) == 6


def test_another_model_is_refused(photos, tmp_path):
    """Both are named, and nothing is added."""
    more = paint(tmp_path / "more", [7])

    with pytest.raises(
        InputError, match="made with the features 'paper'. Got 'builtin'. Use the same"
    ):
        add_files(photos, more, "picture", plainly, features="builtin")
    with Store.open(photos) as store:
        assert len(store.item_names()) == 6


@pytest.mark.parametrize("what", ["digest", "preparation"])
def test_the_same_name_with_other_weights_is_refused(what, tmp_path):
    """A file may have been replaced: its hash tells."""
    kept = {"name": "onnx:a.onnx", "digest": "aa", "preparation": "none"}

    with pytest.raises(InputError, match=f"'onnx:a.onnx', {what} .*, {what} other"):
        check_same(tmp_path / "p", kept, {**kept, what: "other"})
    check_same(tmp_path / "p", kept, dict(kept))


def test_a_model_of_ones_own_is_found_from_another_folder(tmp_path, monkeypatch):
    """It was named by a file beside which the project was made."""
    (tmp_path / "models").mkdir()
    mean_model(tmp_path / "models" / "mean.onnx")
    (tmp_path / "elsewhere").mkdir()
    first, path = paint(tmp_path / "first", range(3)), tmp_path / "p.likewise"
    monkeypatch.chdir(tmp_path / "models")
    told("new", path, "--images", first, "--features", "onnx:mean.onnx")
    monkeypatch.chdir(tmp_path / "elsewhere")

    added = told("add", path, "--images", paint(tmp_path / "more", [7]))
    found = told("search", path, paint(tmp_path / "new", [8]) / "8.png")

    assert added["n_added"] == 1
    assert (found["is_new"], len(found["found"])) == (True, 4)


def test_a_project_of_other_items_takes_none(photos, tmp_path):
    """Sounds do not go with pictures, nor anything with the digits."""
    with pytest.raises(InputError, match="kind 'picture'. Got sounds"):
        add_files(photos, tmp_path, "sound", plainly)
    told("new", tmp_path / "d.likewise", "--digits")
    with pytest.raises(InputError, match="does not say how its vectors were made"):
        add_files(tmp_path / "d.likewise", tmp_path, "picture", plainly)


def test_a_project_that_is_served_is_left_alone(photos, tmp_path):
    """Its page would not know the new items."""
    from likewise.app.web.server import only_server

    with only_server(photos):
        result = run("add", photos, "--images", paint(tmp_path / "more", [7]))

    assert isinstance(result.exception, StoreError)
    assert "serves" in str(result.exception)
