"""The testbeds: found, or replaced with a clear word."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from likewise.errors import InputError
from likewise.experiments import datasets
from likewise.experiments.datasets import (
    COREL_CATEGORIES,
    Source,
    draw_items,
    prepare_source,
    read_source,
)


@pytest.fixture
def nothing(tmp_path, monkeypatch):
    """A data folder that is empty."""
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path / "data"))
    return tmp_path


def letters(rng, n_each=120, n_features=230):
    """Something in the shape of isolet: classes 1 to 26 in file order."""
    y = np.repeat(np.arange(1, 27), n_each)
    return rng.normal(size=(len(y), n_features)) + y[:, None], y


def write_pictures(folder, n_pictures):
    """Small pictures in the folders of the five categories."""
    from PIL import Image

    for k, name in enumerate(COREL_CATEGORIES):
        (folder / "corel" / name).mkdir(parents=True)
        for j in range(n_pictures):
            picture = Image.new("RGB", (64, 64), (40 * k, 2 * j, 99))
            picture.save(folder / "corel" / name / f"{j}.jpg")


@pytest.mark.parametrize(("testbed", "n_classes"), [("corel", 5), ("isolet", 10)])
def test_without_data_digits_stand_in_and_it_is_said(nothing, testbed, n_classes):
    """Same number of classes, a flag, and a message that cannot be missed."""
    said = []
    path = prepare_source(testbed, nothing / "out", say=said.append)
    source = read_source(path)

    assert source.is_standin
    assert len(np.unique(source.y)) == n_classes
    assert "RUNNING ON DIGITS INSTEAD" in said[-1]
    assert "LIKEWISE_DATA" in said[-1]


def test_isolet_is_fetched_where_the_folder_has_none(nothing, rng):
    """Only the letters A to J of what OpenML gives are kept."""
    X, y = letters(rng)
    path = prepare_source("isolet", nothing, say=lambda _: None, fetch=lambda: (X, y))
    source = read_source(path)

    assert not source.is_standin
    assert np.unique(source.y).tolist() == list(range(10))
    assert_allclose(source.X, X[y <= 10])


def test_a_failed_fetch_is_told_and_digits_stand_in(nothing):
    """No network: the reason is given before the stand-in is."""

    def fetch():
        raise OSError("no route to host")

    said = []
    path = prepare_source("isolet", nothing / "out", say=said.append, fetch=fetch)

    assert read_source(path).is_standin
    assert any("no route to host" in line for line in said)


def test_isolet_in_the_folder_is_taken(nothing, rng):
    """A file in the data folder is read, nothing is fetched."""
    X, y = letters(rng)
    (nothing / "data").mkdir()
    np.savez(nothing / "data" / "isolet.npz", X=X, y=y)

    path = prepare_source("isolet", nothing / "out", say=pytest.fail)

    assert "isolet.npz" in read_source(path).origin


def test_what_was_prepared_stays(nothing):
    """A resumed run sees the items it began with."""
    first = prepare_source("corel", nothing / "out", say=lambda _: None)
    before = first.read_bytes()
    (nothing / "data").mkdir()
    np.savez(nothing / "data" / "corel36.npz", X=np.eye(5), y=list("abcde"))

    again = prepare_source("corel", nothing / "out", say=pytest.fail)

    assert again.read_bytes() == before


def test_corel_is_computed_from_the_pictures(nothing, monkeypatch):
    """36 features a picture, in the order of categories and numbers."""
    monkeypatch.setattr(datasets, "PER_CLASS", 4)
    write_pictures(nothing / "data", 4)
    path = prepare_source("corel", nothing / "out", say=pytest.fail)
    source = read_source(path)

    assert source.X.shape == (20, 36)
    assert np.bincount(source.y).tolist() == [4] * 5
    assert "likewise.features.paper" in source.origin


def test_too_few_pictures_are_refused(nothing):
    """The message names the folder and the numbers."""
    write_pictures(nothing / "data", 2)

    with pytest.raises(InputError, match=r"africa must hold at least 100 .*Got 2"):
        prepare_source("corel", nothing / "out", say=pytest.fail)


def test_a_draw_has_a_hundred_of_each_class(rng):
    """Isolet: 100 a class by the seed, 200 principal components of those drawn."""
    X, y = letters(rng)
    source = Source("isolet", X[y <= 10], y[y <= 10] - 1, "made up", False)
    drawn, classes = draw_items(source, 3)

    assert drawn.shape == (1000, 200)
    assert np.bincount(classes).tolist() == [100] * 10
    # Principal components are centred, uncorrelated, largest first.
    covariance = np.cov(drawn.T)
    assert_allclose(drawn.mean(axis=0), 0, atol=1e-9)
    assert_allclose(covariance - np.diag(np.diag(covariance)), 0, atol=1e-6)
    assert (np.diff(np.diag(covariance)) <= 1e-9).all()


def test_seeds_draw_other_items_and_the_same_again(rng):
    """The draw depends on the seed alone."""
    X, y = letters(rng)
    source = Source("isolet", X[y <= 10], y[y <= 10] - 1, "made up", False)

    assert_allclose(draw_items(source, 3)[0], draw_items(source, 3)[0])
    assert not np.allclose(draw_items(source, 3)[0], draw_items(source, 4)[0])


def test_corel_is_z_scored(rng):
    """Mean 0 and deviation 1; a feature that never varies stays 0."""
    X = rng.normal(3, 7, size=(500, 36))
    X[:, 5] = 2.0
    drawn, _ = draw_items(Source("corel", X, np.repeat(range(5), 100), "", False), 0)

    assert_allclose(drawn.mean(axis=0), 0, atol=1e-12)
    assert_allclose(np.delete(drawn.std(axis=0), 5), 1)
    assert_allclose(drawn[:, 5], 0)
