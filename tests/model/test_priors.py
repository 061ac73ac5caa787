"""The prior from unlabelled items finds the directions along which neighbours agree."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from likewise.model import priors as module
from likewise.model.basis import fit_basis
from likewise.model.priors import (
    MatrixPrior,
    matrix_frame,
    neighbour_agreement,
    unlabelled_metric,
)


@pytest.fixture
def clusters(rng):
    """Six clusters that differ along the first two of eight features."""
    y = np.repeat(np.arange(6), 25)
    X = rng.normal(size=(150, 8))
    X[:, 0] += 6 * (y % 3)
    X[:, 1] += 6 * (y // 3)
    return X, y


def unit(X):
    return fit_basis(X, "axes", None, np.ones(len(X))).project(X)


def test_directions_of_clusters_weigh_most(clusters, rng):
    """The two that carry the clusters get most of the weight of whitened features."""
    X, _ = clusters
    Z = unit(X / X.std(axis=0))

    A = unlabelled_metric(Z, np.ones(150), rng)

    weights = np.diag(A)
    assert weights[:2].min() > 1.5 * weights[2:].max()


def test_the_mean_squared_distance_stays_one(clusters, rng):
    """The prior metric has the unit of the coordinates."""
    Z = unit(clusters[0])

    A = unlabelled_metric(Z, np.ones(150), rng)

    assert_allclose(2 * np.trace(np.cov(Z.T) @ A), 1)


def test_nearest_rows_are_those_of_a_full_sort(rng, monkeypatch):
    """In blocks and single precision, the same neighbours."""
    Z = rng.normal(size=(60, 3))
    monkeypatch.setattr(module, "BLOCK_ROWS", 17)
    squared = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    np.fill_diagonal(squared, np.inf)

    nearest = module._nearest(Z, 5)

    expected = np.argsort(squared, axis=1)[:, :5]
    assert (np.sort(nearest, axis=1) == np.sort(expected, axis=1)).all()


def test_too_many_items_are_sampled(clusters, rng, monkeypatch):
    """Half of the items give nearly the same metric as all of them."""
    Z = unit(clusters[0] / clusters[0].std(axis=0))
    whole = unlabelled_metric(Z, np.ones(150), rng)
    monkeypatch.setattr(module, "MAX_ITEMS", 100)

    sampled = unlabelled_metric(Z, np.ones(150), rng)

    assert np.corrcoef(np.diag(whole), np.diag(sampled))[0, 1] > 0.9
    assert not np.allclose(whole, sampled)


def test_half_way_coordinates_have_a_diagonal_prior_metric(clusters, rng):
    """Distances by the frame's centre are those of A_0."""
    X, _ = clusters
    basis = fit_basis(X, "eigen", None, np.ones(150))
    Z = basis.project(X)
    A = unlabelled_metric(Z, np.ones(150), rng)

    frame, prior = matrix_frame(basis, A, 1.0)

    gaps, frame_gaps = Z[1:] - Z[:-1], frame.project(X)[1:] - frame.project(X)[:-1]
    expected = np.einsum("ij,jk,ik->i", gaps, A, gaps)
    assert_allclose(prior.squared_distance(frame_gaps), expected, atol=1e-9)
    half = np.einsum("ij,ij->i", gaps, gaps) / 2 + expected / 2
    assert_allclose((frame_gaps**2).sum(axis=1), half, atol=1e-9)


def test_prior_moments_are_those_of_draws(rng):
    """Mean and covariance of f under draws of threshold, scale and free matrix."""
    prior = MatrixPrior(np.array([1.5, 0.5]), 1.0, 2.0)
    gaps = rng.normal(size=(3, 2))
    t = rng.normal(2, 2, 200_000)
    s = rng.normal(5, 2.5, 200_000)
    free = rng.normal(size=(200_000, 3)) / np.sqrt(2)
    # Frobenius: an off-diagonal entry stands twice in the matrix.
    D = free[:, [0, 2, 2, 1]] * [1, 0.5**0.5, 0.5**0.5, 1]
    D = D.reshape(-1, 2, 2)
    f = (
        s[:, None] * (gaps**2 @ prior.centre)
        + np.einsum("pi,nij,pj->np", gaps, D, gaps)
        - t[:, None]
    )

    assert_allclose(prior.latent(gaps), f.mean(axis=0), atol=0.1)
    covariance = prior.covariance(gaps, gaps, with_threshold=True)
    assert_allclose(covariance, np.cov(f.T), rtol=0.03, atol=0.3)
    assert_allclose(prior.variance(gaps, with_threshold=True), np.diag(covariance))


def test_neighbours_agree_in_as_many_directions_as_clusters_show(rng):
    """Four far clusters span three directions; noise beside them adds little."""
    centres = 20 * np.vstack([np.zeros(6), np.eye(3, 6)])
    X = np.repeat(centres, 50, axis=0) + rng.normal(size=(200, 6))
    weights = np.ones(200)

    clear = neighbour_agreement(X - X.mean(axis=0), weights)
    noise = neighbour_agreement(rng.normal(size=(200, 6)), weights)

    assert 2.5 < clear < 3.5
    assert noise < clear - 1


def test_places_move_f_of_the_pairs_that_share_an_item(rng):
    """Covariance and variance against draws of the items' places; two equal ways."""
    prior = MatrixPrior(np.array([1.5, 0.5]), 1.0, 2.0, item_noise=0.7)
    items = rng.normal(size=(5, 2))
    pairs = np.array([[0, 1], [0, 2], [1, 2], [2, 3], [3, 4]])
    gaps = items[pairs[:, 0]] - items[pairs[:, 1]]
    places = rng.normal(size=(200_000, 5, 2)) * np.sqrt(prior.centre)
    f = np.einsum("nij,ij->ni", places[:, pairs[:, 0]] - places[:, pairs[:, 1]], gaps)

    covariance = prior.place_covariance(gaps, pairs)

    assert_allclose(covariance, np.cov(f.T), rtol=0.03, atol=0.05)
    features = prior.place_features(gaps, pairs)
    assert_allclose(features @ features.T, covariance, atol=1e-12)
    assert_allclose(prior.place_variance(gaps), 0.7 * np.diag(covariance))
