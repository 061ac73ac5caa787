"""Which pairs of classes are learned from, and how much they count."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from likewise.model import drawing
from likewise.model.priors import Choices, look_at
from likewise.pairs import all_pairs

CHOICES = Choices("full", None, "evidence", 1.0, None, 0.0)


@pytest.fixture
def drawn(rng):
    """400 items of 8 classes, every fifth without one, and what is told of them."""
    classes = np.arange(400) % 8
    X = 3 * rng.normal(size=(8, 4))[classes] + rng.normal(size=(400, 4))
    classes[::5] = -1
    weights = np.ones(400)
    frames = look_at(X, weights, CHOICES, rng, classes)
    return classes, frames, drawing.draw_pairs(frames, classes, weights, rng)


def test_few_items_give_all_their_pairs(rng):
    """As they are, each as often as its items."""
    classes, weights = np.array([0, 1, 0, -1, 1]), np.array([1.0, 2.0, 1.0, 9.0, 3.0])

    told = drawing.sample_pairs(classes, weights, 100, rng)

    assert_array_equal(told.pairs, np.array([0, 1, 2, 4])[all_pairs(4)])
    assert_array_equal(told.p_same, [0, 1, 0, 0, 1, 0])
    assert_array_equal(told.weights, [2, 1, 3, 2, 6, 3])
    assert not told.implied.any()


def test_a_sample_has_the_share_of_same_that_all_pairs_have(rng):
    """Half of those drawn are same, one in eight counts."""
    classes = np.arange(400) % 8

    told = drawing.sample_pairs(classes, np.ones(400), 200, rng)

    assert told.p_same.mean() == 0.5
    share = told.weights @ told.p_same / told.weights.sum()
    assert_allclose(share, 49 / 399)


def test_classes_make_the_prior_and_pairs_at_the_border_stand_apart(drawn):
    """Pairs at random and at the border, of items with a class, truly labelled."""
    classes, frames, told = drawn

    assert list(frames.priors) == ["classes"]
    assert (classes[told.pairs] >= 0).all()
    same = classes[told.pairs[:, 0]] == classes[told.pairs[:, 1]]
    assert_array_equal(told.p_same > 0.5, same)
    assert np.count_nonzero(~told.implied) == drawing.N_RANDOM
    n_border = np.count_nonzero(told.implied)
    assert drawing.MAX_BORDER < n_border <= 2 * drawing.MAX_BORDER


def test_pairs_count_no_more_often_than_there_are_items(rng):
    """A hundred items are no three hundred facts."""
    classes = np.arange(100) % 4
    X = 3 * rng.normal(size=(4, 3))[classes] + rng.normal(size=(100, 3))
    frames = look_at(X, np.ones(100), CHOICES, rng, classes)

    told = drawing.draw_pairs(frames, classes, np.ones(100), rng)

    assert_allclose(told.weights[~told.implied].sum(), 100.0)
    assert told.weights[told.implied].sum() <= 100.0 + 1e-9


def test_the_classes_metric_finds_neighbours_better_than_plain_distance(rng):
    """Few telling features among loud ones: neighbours are of one class."""
    classes = np.arange(300) % 6
    X = rng.normal(size=(300, 8)) * np.r_[0.4, 0.4, np.full(6, 3.0)]
    X[:, :2] += 2 * rng.normal(size=(6, 2))[classes]

    frames = look_at(X, np.ones(300), CHOICES, rng, classes)

    prior = frames.priors["classes"]
    mapped = frames.coordinates @ prior.frame * np.sqrt(prior.centre)
    assert _share_of_classmates(mapped, classes) > 0.85
    assert _share_of_classmates(X, classes) < 0.5


def _share_of_classmates(mapped, classes):
    squared = ((mapped[:, None] - mapped) ** 2).sum(axis=2)
    np.fill_diagonal(squared, np.inf)
    return np.mean(classes[squared.argmin(axis=1)] == classes)
