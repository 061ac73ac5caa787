"""Whose neighbours are looked for, and among whom."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import roc_auc_score

from likewise import BayesianMetric
from likewise.model import surroundings
from likewise.model.surroundings import (
    nearest,
    seen_rows,
    surround,
    surround_nearby,
)


@pytest.fixture
def many(monkeypatch):
    """As if more than 300 items were many."""
    monkeypatch.setattr(surroundings, "MAX_SEEN", 300)
    monkeypatch.setattr(surroundings, "MAX_ROWS", 100)
    monkeypatch.setattr(surroundings, "N_NEARBY", 20)


def blobs(rng, n_items=600, n_groups=60):
    """Groups that show in the first half of twelve features, and a label each."""
    y = rng.randint(0, n_groups, n_items)
    centres = 3 * rng.normal(size=(n_groups, 12)) * (np.arange(12) < 6)
    return rng.normal(size=(n_items, 12)) + centres[y], y


def test_the_nearest_are_those_of_a_full_sort(rng):
    """Of some rows among all items, itself aside."""
    Z, rows = rng.normal(size=(60, 3)), np.array([3, 40, 17])
    far = ((Z[rows][:, None] - Z[None]) ** 2).sum(axis=2)
    far[np.arange(3), rows] = np.inf

    found = nearest(Z, rows, 5)

    assert_array_equal(
        np.sort(found, axis=1), np.sort(np.argsort(far, axis=1)[:, :5], axis=1)
    )


def test_equal_items_are_neighbours_of_each_other(rng):
    """More of them than neighbours are wanted: no item is its own neighbour."""
    Z = np.repeat(rng.normal(size=(3, 2)), 20, axis=0)

    found = nearest(Z, np.arange(60), 5)

    assert (found != np.arange(60)[:, None]).all()
    assert_array_equal(found // 20, np.repeat([0, 1, 2], 20)[:, None] * np.ones(5))


def test_all_items_are_seen_up_to_a_number_and_so_many_of_more(rng, many):
    """Each at most once, and in their order."""
    drawn = seen_rows(301, rng)

    assert seen_rows(300, rng) == slice(None)
    assert len(drawn) == 300
    assert (np.diff(drawn) > 0).all()


def test_items_nearby_are_the_nearest_of_all_by_the_metric(rng, many):
    """Against a full sort in the metric's own coordinates."""
    X, _ = blobs(rng)
    root = rng.normal(size=(12, 12))

    around = surround_nearby(X, np.arange(600.0), root, rng)

    rows = around.weights.astype(int)  # the weight of an item is its number here
    assert_array_equal(around.items[around.rows], X[rows])
    far = (((X[rows] @ root)[:, None] - X @ root) ** 2).sum(axis=2)
    far[np.arange(100), rows] = np.inf
    assert_array_equal(
        np.sort(around.items[around.nearby][:, :, 0], axis=1),
        np.sort(X[np.argsort(far, axis=1)[:, :20], 0], axis=1),
    )


def test_nearest_of_those_nearby_are_in_order(rng, many):
    """In another metric than they were found in, as a full sort has them."""
    X, _ = blobs(rng)
    around = surround_nearby(X, np.ones(600), np.eye(12), rng)
    other = around.mapped(np.diag(np.arange(12.0)))

    found = other.nearest(other.items, 5)

    gaps = other.items[around.nearby] - other.items[around.rows][:, None]
    order = np.argsort((gaps**2).sum(axis=2), axis=1)[:, :5]
    assert_array_equal(found, np.take_along_axis(around.nearby, order, 1))


def test_leading_directions_find_neighbours_where_there_are_more(
    rng, many, monkeypatch
):
    """Where all that differs lies along them, nothing is missed."""
    monkeypatch.setattr(surroundings, "N_LEADING", 6)
    X, _ = blobs(rng)
    X[:, 6:] = 0

    found, exact = (
        around.nearest(around.items @ np.eye(12), 5)
        for around in (
            surround_nearby(X, np.ones(600), np.eye(12), np.random.RandomState(0)),
            surround(X, np.ones(600), np.random.RandomState(0)),
        )
    )
    around = surround_nearby(X, np.ones(600), np.eye(12), np.random.RandomState(0))

    assert_allclose(around.items[found], X[exact])


def test_a_sample_gives_priors_as_good_as_all_items_do(rng, monkeypatch):
    """By the same names, and telling groups apart as well."""
    X, y = blobs(rng, 2000, 20)
    pairs = rng.randint(0, 2000, size=(4000, 2))
    is_same = y[pairs[:, 0]] == y[pairs[:, 1]]

    def judge(max_seen):
        monkeypatch.setattr(surroundings, "MAX_SEEN", max_seen)
        monkeypatch.setattr(surroundings, "MAX_ROWS", max_seen // 2)
        metric = BayesianMetric(random_state=0)
        _, frames = metric.prepare(X)
        gaps = frames.coordinates[pairs[:, 0]] - frames.coordinates[pairs[:, 1]]
        aucs = {
            name: roc_auc_score(is_same, -prior.squared_distance(prior.gaps(gaps)))
            for name, prior in frames.priors.items()
        }
        return metric.n_seen_, aucs

    (n_some, some), (n_all, everybody) = judge(600), judge(2000)

    assert (n_some, n_all) == (600, 2000)
    assert some == pytest.approx(everybody, abs=0.05)
