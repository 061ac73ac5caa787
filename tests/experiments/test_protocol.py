"""Splits and scores, against slow versions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from likewise.experiments.protocol import (
    draw_split,
    nearest_accuracy,
    pair_auc,
    pairs_among,
    score_space,
)


@pytest.mark.parametrize("n_labelled", [10, 20, 30, 50])
@pytest.mark.parametrize("n_classes", [5, 10])
def test_splits_are_disjoint_and_even(n_labelled, n_classes, seed):
    """No row in two parts, none left out, equally many labelled of each class."""
    y = np.repeat(np.arange(n_classes), 100)
    split = draw_split(y, n_labelled, seed)
    everyone = np.concatenate([split.labelled, split.test, split.rest])

    assert sorted(everyone) == list(range(len(y)))
    assert len(split.test) == 100
    assert np.bincount(y[split.labelled]).tolist() == [n_labelled // n_classes] * (
        n_classes
    )


def test_a_split_depends_on_the_seed_alone(seed):
    """The same for whoever asks, another for another seed."""
    y = np.repeat(np.arange(5), 100)
    first, again, other = (draw_split(y, 20, s) for s in (seed, seed, seed + 1))

    assert np.array_equal(first.labelled, again.labelled)
    assert np.array_equal(first.test, again.test)
    assert not np.array_equal(first.test, other.test)


def test_all_pairs_of_the_rows_with_their_labels():
    """Three rows, three pairs, smaller row first."""
    pairs, labels = pairs_among(np.array([7, 2, 5]), np.array([0] * 6 + [1] * 4))

    assert sorted(map(tuple, pairs.tolist())) == [(2, 5), (2, 7), (5, 7)]
    assert {
        tuple(p): label for p, label in zip(pairs.tolist(), labels, strict=True)
    } == {
        (2, 5): 1,
        (2, 7): -1,
        (5, 7): -1,
    }


def test_the_pool_of_fifty_has_1225_pairs():
    """As section 5.3 counts them."""
    y = np.repeat(np.arange(10), 100)
    pairs, _ = pairs_among(draw_split(y, 50, 0).labelled, y)

    assert len(pairs) == 1225


def test_nearest_accuracy_counts_right_neighbours(rng):
    """Against two loops."""
    Z, y = rng.normal(size=(30, 3)), rng.randint(0, 3, 30)
    reference, test = np.arange(20), np.arange(20, 30)
    right = 0
    for i in test:
        nearest = min(reference, key=lambda j: np.sum((Z[i] - Z[j]) ** 2))
        right += y[nearest] == y[i]

    assert nearest_accuracy(Z, y, reference, test) == right / 10


def test_pair_auc_is_the_share_of_well_ordered_pairs(rng):
    """The chance that a same pair is closer than a different one, by counting."""
    Z, y = rng.normal(size=(14, 2)), rng.randint(0, 2, 14)
    rows = np.arange(2, 14)
    pairs, labels = pairs_among(rows, y)
    distance = ((Z[pairs[:, 0]] - Z[pairs[:, 1]]) ** 2).sum(axis=1)
    same, different = distance[labels > 0], distance[labels < 0]

    expected = np.mean(same[:, None] < different[None])

    assert_allclose(pair_auc(Z, y, rows), expected)


def test_scores_do_not_depend_on_the_unit(rng):
    """All three compare distances with one another."""
    y = np.repeat(np.arange(5), 40)
    Z = rng.normal(size=(200, 4)) + y[:, None]
    split = draw_split(y, 10, 0)

    assert score_space(Z, y, split) == score_space(Z * 1000, y, split)
