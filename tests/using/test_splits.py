"""Splits that share no item, and what splits that do would claim."""

import doctest

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from likewise import BayesianMetric, InputError
from likewise.pairs import all_pairs
from likewise.using import splits
from likewise.using.splits import ItemGroupedPairSplit, PairEstimator


def pairs_of(y):
    pairs = all_pairs(len(y))
    return pairs, np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)


def test_no_item_is_on_both_sides(rng):
    """Split after split; items with no pair are not held out."""
    y = rng.randint(0, 3, 30)
    pairs, labels = pairs_of(y)
    shifted = 3 * pairs  # two items in three are in no pair
    split = ItemGroupedPairSplit(n_splits=4, test_share=0.3, random_state=0)

    folds = list(split.split(shifted, labels))

    assert len(folds) == split.get_n_splits() == 4
    for train, test in folds:
        assert not np.intersect1d(shifted[train], shifted[test]).size
        assert len(test) == 9 * 8 // 2
        assert len(train) == 21 * 20 // 2
        assert len(np.unique(labels[train])) == len(np.unique(labels[test])) == 2
    assert not np.array_equal(folds[0][1], folds[1][1])
    assert_array_equal(folds[0][1], next(split.split(shifted, labels))[1])


def test_a_split_that_shares_items_flatters(rng):
    """30 digits, all their pairs: what is claimed, and what new digits say.

    The metric knows an item of a test pair again from the training pairs that it was
    in; new items it does not know.
    """
    images, digits = load_digits(return_X_y=True)
    rows = rng.permutation(len(images))
    rows, new = rows[:30], rows[30:230]
    model = PairEstimator(images[rows, ::2], BayesianMetric(prior="unit"))
    pairs, labels = pairs_of(digits[rows])
    apart = ItemGroupedPairSplit(n_splits=3, test_share=0.4, random_state=0)
    shared = KFold(3, shuffle=True, random_state=0)

    honest = cross_val_score(model, pairs, labels, cv=apart).mean()
    flattered = cross_val_score(model, pairs, labels, cv=shared).mean()
    truth = model.fit(pairs, labels).metric_.score(images[new, ::2], digits[new])

    assert flattered > truth + 0.04
    assert abs(honest - truth) < flattered - truth


def test_a_grid_search_chooses_by_pairs(blobs):
    """Parameters of the metric are reached through the estimator."""
    X, y = (part[::3] for part in blobs)
    pairs, labels = pairs_of(y)
    model = PairEstimator(X, BayesianMetric(prior="unit", random_state=0))
    split = ItemGroupedPairSplit(n_splits=2, test_share=0.4, random_state=0)

    search = GridSearchCV(model, {"metric__basis": ["axes", "eigen"]}, cv=split)
    search.fit(pairs, labels)

    assert search.best_score_ > 0.9
    assert search.best_estimator_.metric_.n_features_in_ == 5


def test_it_is_a_classifier_of_pairs(blobs):
    """Its probabilities and labels are the metric's."""
    X, y = (part[::4] for part in blobs)
    pairs, labels = pairs_of(y)
    metric = BayesianMetric(basis="axes", random_state=0)

    model = PairEstimator(X, metric).fit(pairs[::2], labels[::2])

    alone = clone(metric).fit_pairs(X, pairs[::2], labels[::2])
    p_same = alone.pair_probability(X, pairs)
    assert is_classifier(model)
    assert_allclose(model.predict_proba(pairs)[:, 1], p_same)
    assert_array_equal(model.predict(pairs), np.where(p_same >= 0.5, 1, -1))
    assert_allclose(model.score(pairs, labels), alone.pair_auc(X, pairs, labels))


def test_a_split_that_cannot_be_made_gets_a_sentence():
    """One pair of a kind cannot be on both sides."""
    pairs, labels = [[0, 1], [1, 2], [0, 2]], [1, -1, -1]

    with pytest.raises(
        InputError, match="from 3 pairs of 3 items. Change 'test_share'"
    ):
        next(ItemGroupedPairSplit(random_state=0).split(pairs, labels))


def test_the_examples_run():
    """Each gives what it shows."""
    result = doctest.testmod(splits)

    assert result.attempted > 10
    assert result.failed == 0
