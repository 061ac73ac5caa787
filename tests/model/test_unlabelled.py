"""Metrics from items alone: what they measure, and when they say nothing."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.covariance import ledoit_wolf_shrinkage

from likewise.model import matrix, surroundings, unlabelled
from likewise.model.basis import feature_deviations, fit_basis
from likewise.model.surroundings import surround
from likewise.model.unlabelled import (
    distance_root,
    far_metric,
    metric_root,
    near_metric,
    neighbour_distance,
    scaled_metric,
    standard_metric,
    white_metric,
)

LEARNED = [near_metric, far_metric]


@pytest.fixture
def clusters(rng):
    """Five clusters that show in the first four of ten features, all alike loud."""
    X = rng.normal(size=(300, 10))
    X[:, :4] += 5 * np.eye(5, 4)[np.repeat(np.arange(5), 60)]
    return coordinates(X / X.std(axis=0))


def coordinates(X):
    return fit_basis(X, "axes", None, np.ones(len(X))).project(X)


def squared(gaps, A):
    return np.einsum("ij,jk,ik->i", gaps, A, gaps)


def learn(learned, Z, rng, weights=None):
    return learned(Z, np.ones(len(Z)) if weights is None else weights, rng)


def unit(Z):
    return scaled_metric(np.eye(Z.shape[1]), Z, np.ones(len(Z)))


@pytest.mark.parametrize("kind", ["eigen", "axes"])
def test_standard_distance_is_that_of_z_scores(rng, kind):
    """Whatever the units, and whatever the coordinates stand on."""
    X = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 3)) * [1e3, 1.0, 1e-2]
    basis = fit_basis(X, kind, None, np.ones(40))
    deviations = feature_deviations(X, basis.centre, np.ones(40))
    Z, scores = basis.project(X), X / X.std(axis=0)

    A = standard_metric(basis, deviations)

    expected = ((scores[1:] - scores[:-1]) ** 2).sum(axis=1)
    # A thousandth of the largest unit has a millionth of its digits.
    assert_allclose(squared(Z[1:] - Z[:-1], A), expected, rtol=1e-5)


def test_a_feature_that_does_not_vary_counts_for_nothing(rng):
    """It is divided by infinity, not by nothing."""
    X = np.column_stack([rng.normal(size=(20, 2)), np.full(20, 0.1)])
    basis = fit_basis(X, "eigen", None, np.ones(20))

    A = standard_metric(basis, feature_deviations(X, basis.centre, np.ones(20)))

    scores = X[:, :2] / X[:, :2].std(axis=0)
    Z = basis.project(X)
    expected = ((scores[1:] - scores[:-1]) ** 2).sum(axis=1)
    assert_allclose(squared(Z[1:] - Z[:-1], A), expected)


def test_white_distance_is_mahalanobis_where_items_are_many(rng):
    """The inverse covariance, once there is no need to hold it back."""
    mix = np.array([[2.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.5, 0.7]])
    Z = rng.normal(size=(100_000, 3)) @ mix

    A = white_metric(Z)

    assert_allclose(A @ np.cov(Z.T), np.eye(3), atol=0.02)


def test_white_distance_is_held_back_where_items_are_few(rng):
    """Twelve items in ten dimensions: no direction counts for many times another."""
    Z = rng.normal(size=(12, 10))
    plain, held = (
        np.linalg.cond(A) for A in (np.linalg.inv(np.cov(Z.T)), white_metric(Z))
    )

    assert held < min(10, plain / 5)


@pytest.mark.parametrize("learned", LEARNED)
def test_directions_of_clusters_weigh_most(clusters, rng, learned):
    """Neighbours agree along the four that carry the clusters."""
    weights = np.diag(learn(learned, clusters, rng))

    assert weights[:4].min() > 1.5 * weights[4:].max()


@pytest.mark.parametrize("learned", LEARNED)
def test_the_mean_squared_distance_is_one(clusters, rng, learned):
    """The unit of the coordinates, over all pairs, one by one."""
    A = learn(learned, clusters, rng)

    i, j = np.triu_indices(len(clusters), 1)
    assert_allclose(squared(clusters[i] - clusters[j], A).mean(), 1)


@pytest.mark.parametrize("learned", LEARNED)
def test_where_there_are_no_groups_distance_stays_as_it_is(rng, learned):
    """In one Gaussian neighbours agree by chance only."""
    Z = coordinates(rng.normal(size=(300, 5)))

    assert_allclose(learn(learned, Z, rng), unit(Z), rtol=0.02, atol=0.02)


@pytest.mark.parametrize("learned", LEARNED)
@pytest.mark.parametrize(
    "make",
    [
        lambda rng: rng.normal(size=(unlabelled.N_NEIGHBOURS + 1, 3)),
        lambda rng: np.zeros((30, 3)),
        lambda rng: np.zeros((1, 3)),
    ],
    ids=["few", "all equal", "one"],
)
def test_where_neighbours_mean_nothing_distance_stays_as_it_is(rng, learned, make):
    """Everybody is everybody's neighbour."""
    Z = make(rng)

    assert_array_equal(learn(learned, Z, rng), unit(Z))


@pytest.mark.parametrize("learned", LEARNED)
def test_the_metric_depends_on_its_items_not_on_chance(clusters, learned):
    """While all of them take part, another seed changes rounding only."""
    one, other = (
        learn(learned, clusters, np.random.RandomState(seed)) for seed in (1, 2)
    )

    assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize("learned", LEARNED)
def test_too_many_items_are_sampled(clusters, rng, monkeypatch, learned):
    """Two thirds of the items give nearly the same metric as all of them."""
    whole = learn(learned, clusters, rng)
    monkeypatch.setattr(surroundings, "MAX_ROWS", 200)
    monkeypatch.setattr(unlabelled, "MAX_WALKED", 200)

    sampled = learn(learned, clusters, rng)

    assert np.corrcoef(np.diag(whole), np.diag(sampled))[0, 1] > 0.9
    assert not np.allclose(whole, sampled)


def test_neighbour_distance_is_the_mean_to_the_nearest(rng):
    """Against all pairs; nobody is near to one alone."""
    Z = rng.normal(size=(50, 4))
    far = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    np.fill_diagonal(far, np.inf)

    around, alone = (surround(each, np.ones(len(each)), rng) for each in (Z, Z[:1]))

    found = neighbour_distance(around, np.eye(4))

    assert_allclose(found, far.min(axis=1).mean(), rtol=1e-6)
    assert neighbour_distance(alone, np.eye(4)) == 0


def test_a_walk_goes_to_every_neighbour_alike(rng):
    """Rows add up to one; two items are neighbours if either is among the nearest."""
    Z = rng.normal(size=(40, 2))
    far = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    np.fill_diagonal(far, np.inf)
    among = np.zeros((40, 40), dtype=bool)
    nearest = np.argsort(far, axis=1)[:, : unlabelled.N_NEIGHBOURS]
    np.put_along_axis(among, nearest, True, axis=1)
    among |= among.T

    walk = unlabelled._walk(Z).toarray()

    assert_allclose(walk, among / among.sum(axis=1, keepdims=True))


def test_the_root_of_a_metric_maps_to_it(rng):
    """Euclidean distance after the map is the metric, of any rank."""
    root = rng.normal(size=(4, 2))
    A, gaps = root @ root.T, rng.normal(size=(10, 4))

    mapped = gaps @ metric_root(A)

    assert_allclose((mapped**2).sum(axis=1), squared(gaps, A), atol=1e-12)


@pytest.mark.parametrize("rank", [4, 2])
def test_distances_after_a_triangle_are_those_of_the_metric(rng, rank):
    """Where there is none, since a direction counts for nothing, by another root."""
    factor = rng.normal(size=(4, rank))
    metric = factor @ factor.T
    gaps = rng.normal(size=(9, 4))

    mapped = gaps @ distance_root(metric)

    assert_allclose((mapped**2).sum(axis=1), squared(gaps, metric), rtol=1e-9)


def test_weights_count_like_repeated_rows(rng):
    """An item of weight three is three items, when distances are averaged."""
    Z, times = rng.normal(size=(8, 3)), np.array([1, 3, 1, 2, 1, 1, 4, 1])
    A = np.diag([1.0, 2.0, 0.1])
    repeated = np.repeat(Z, times, axis=0)

    weighed = scaled_metric(A, Z, times.astype(float))

    assert_allclose(weighed, scaled_metric(A, repeated, np.ones(len(repeated))))
    i, j = np.triu_indices(len(repeated), 1)
    assert_allclose(squared(repeated[i] - repeated[j], weighed).mean(), 1)


@pytest.mark.parametrize("shape", [(5, 3), (100, 13), (20, 50), (40, 1), (2, 4)])
def test_the_shrinkage_is_ledoit_and_wolfs(rng, shape):
    """scikit-learn's, without its checks of what it is given."""
    items = rng.normal(size=shape) * np.linspace(1, 3, shape[1])

    found = matrix.ledoit_wolf_shrinkage(items, items.T @ items / len(items))

    expected = ledoit_wolf_shrinkage(items, assume_centered=True)
    assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert matrix.ledoit_wolf_shrinkage(0 * items, np.zeros((shape[1],) * 2)) == 0
