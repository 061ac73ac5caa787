"""The rows of the tables: what they may look at, and what the evidence chooses."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from likewise.experiments import methods
from likewise.experiments.protocol import draw_split, pairs_among

HERE = [name for name in methods.METHODS if name not in methods.PEER_METHODS]


@pytest.fixture
def items(rng):
    """Four classes along two of six features."""
    y = np.repeat(np.arange(4), 50)
    X = rng.normal(size=(200, 6))
    X[:, 0] += 3 * (y % 2)
    X[:, 1] += 3 * (y // 2)
    return X, y


@pytest.mark.parametrize("name", HERE)
def test_no_method_sees_the_class_of_an_unlabelled_item(items, name):
    """Other classes for test and rest leave every space as it was."""
    X, y = items
    split = draw_split(y, 20, 0)
    wrong = y.copy()
    hidden = np.concatenate([split.test, split.rest])
    wrong[hidden] = (wrong[hidden] + 1) % 4

    learn = methods.METHODS[name]

    assert_allclose(learn(X, y, split).Z, learn(X, wrong, split).Z, rtol=1e-9)


@pytest.mark.parametrize("name", HERE)
def test_methods_leave_their_items_unchanged(items, name):
    """X and y come back as they went in."""
    X, y = items
    before = X.copy(), y.copy()
    methods.METHODS[name](X, y, draw_split(y, 20, 0))

    assert_allclose(X, before[0], rtol=0)
    assert np.array_equal(y, before[1])


def test_the_evidence_alone_chooses_the_prior(items):
    """No setting of the grid has more evidence than the chosen one."""
    X, y = items
    pairs, labels = pairs_among(draw_split(y, 20, 0).labelled, y)
    grid = {
        (delta, gamma_0): methods.paper_bayes(delta, gamma_0)
        .fit_pairs(X, pairs, labels)
        .evidence_[-1]
        for delta in (0.1, 1.0)
        for gamma_0 in (0.0, 1.0)
    }

    chosen = methods.choose_by_evidence(X, pairs, labels, (0.1, 1.0), (0.0, 1.0))

    assert grid[chosen.prior_precision, chosen.prior_mean] == max(grid.values())


def test_bayes_tells_what_was_chosen(items):
    """The settings go into the record."""
    X, y = items
    learned = methods.bayes(X, y, draw_split(y, 12, 0))

    assert learned.settings.startswith("delta=")
    assert "gamma_0=" in learned.settings


def test_unseen_test_items_change_nothing(items):
    """Other test items, the same metric for the rest."""
    X, y = items
    split = draw_split(y, 20, 0)
    other = X.copy()
    other[split.test] *= 5
    first, second = (methods.ours_unseen(x, y, split).Z for x in (X, other))

    assert_allclose(first[split.rest], second[split.rest])


def test_in_unit_sets_the_mean_square_distance(items):
    """Over all pairs of rows, by counting."""
    X, _ = items
    scaled = methods.in_unit(X, 3.0)
    i, j = np.triu_indices(len(X), 1)

    assert_allclose(np.mean(((scaled[i] - scaled[j]) ** 2).sum(axis=1)), 9.0)
