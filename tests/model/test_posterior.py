"""What a posterior says agrees with draws from it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from likewise.model import equations
from likewise.model.posterior import WeightPosterior
from likewise.model.priors import MatrixPrior
from likewise.model.solvers import EntrySolver, Evidence, PairSolver


@pytest.fixture
def posterior(rng):
    root = rng.normal(size=(3, 6))
    return WeightPosterior(np.array([1.0, 2.0, 0.5]), root @ root.T / 10)


def test_samples_scatter_as_the_covariance_says(posterior, rng):
    """Draws have the reported mean and covariance; a lost transpose fails here."""
    draws = posterior.sample(200_000, rng)

    assert_allclose(draws.mean(axis=0), posterior.mean, atol=0.02)
    assert_allclose(np.cov(draws.T), posterior.covariance, atol=0.02)


def test_a_point_posterior_draws_itself(rng):
    """No covariance, no scatter."""
    point = WeightPosterior(np.array([1.0, 2.0]), np.zeros((2, 2)))

    assert_allclose(point.sample(5, rng), [[1, 2]] * 5)


def test_probability_and_distance_are_those_of_the_draws(posterior, rng):
    """P(same), mean and variance of squared distance, by simulation."""
    features = equations.pair_features(rng.normal(size=(6, 2)))
    draws = posterior.sample(400_000, rng)

    mean, variance = posterior.squared_distance(features)

    squared = features[:, 1:] @ draws[:, 1:].T
    assert_allclose(mean, squared.mean(axis=1), rtol=0.01, atol=0.01)
    assert_allclose(variance, squared.var(axis=1), rtol=0.02)
    p_same = expit(-features @ draws.T).mean(axis=1)
    assert_allclose(posterior.probability_same(features), p_same, atol=2e-3)


def test_a_posterior_cannot_be_changed(posterior):
    """More answers give a new posterior."""
    with pytest.raises(AttributeError, match="cannot assign"):
        posterior.mean = np.zeros(3)


# Five pairs, each of which shares an item with the next.
ALONG = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]])


def test_the_root_is_a_root_of_the_mean_metric():
    """L'L is the mean matrix; a weight of zero adds no row."""
    posterior = WeightPosterior(np.array([1.0, 0.5, 0.0, 2.0]), np.eye(4))

    L = posterior.root()

    assert L.shape == (2, 3)
    assert_allclose(L.T @ L, np.diag([0.5, 0, 2]))


@pytest.fixture(params=[[0.3], [0.3, 0.5]], ids=["plain", "noise"])
def matrix_posteriors(rng, request):
    """The whole matrix by few pairs' way and by many pairs' way, same evidence."""
    pairs = np.sort(np.argsort(rng.uniform(size=(12, 5)))[:, :2])
    items = rng.normal(size=(5, 3)) / 2
    gaps = items[pairs[:, 0]] - items[pairs[:, 1]]
    precisions = np.array(request.param)
    labels = np.where(rng.uniform(size=12) < 0.5, 1.0, -1.0)
    evidence = Evidence(gaps, labels / 2, np.ones(12), pairs)
    prior = MatrixPrior(np.array([1.5, 1.0, 0.2]), 1.0, 1.0)
    sites = np.full(12, 0.2), -labels / 2
    return [
        kind(evidence, prior, len(precisions) > 1).solve(sites, precisions).posterior()
        for kind in (PairSolver, EntrySolver)
    ]


def test_pairs_and_entries_give_the_same_belief(matrix_posteriors, rng):
    """Mean, covariance and predictions agree to rounding."""
    by_pair, by_entry = matrix_posteriors
    gaps = rng.normal(size=(5, 3))

    assert_allclose(by_pair.mean, by_entry.mean, atol=1e-9)
    assert_allclose(by_pair.covariance, by_entry.covariance, atol=1e-9)
    assert_allclose(by_pair.latent(gaps), by_entry.latent(gaps), atol=1e-9)
    assert_allclose(
        by_pair.squared_distance(gaps), by_entry.squared_distance(gaps), atol=1e-9
    )
    assert_allclose(
        by_pair.latent_covariance(gaps, ALONG),
        by_entry.latent_covariance(gaps, ALONG),
        atol=1e-9,
    )


def test_a_drawn_matrix_is_a_metric_that_scatters_as_reported(matrix_posteriors, rng):
    """Draws of both kinds have the mean and covariance; f is linear in them."""
    gap = np.array([[0.4, -0.2, 0.7]])
    for posterior in matrix_posteriors:
        draws = posterior.sample(100_000, rng)
        matrices = np.array([posterior.matrix(draw) for draw in draws[:2000]])
        latent = gap @ matrices @ gap.T - draws[:2000, 0][:, None, None]

        assert_allclose(draws.mean(axis=0), posterior.mean, atol=0.06)
        assert_allclose(np.cov(draws.T), posterior.covariance, atol=0.35)
        mean, variance = posterior.latent(gap)
        variance -= posterior.prior.place_variance(gap)  # no metric draws that
        assert_allclose(latent.mean(), mean[0], atol=0.3)
        assert_allclose(latent.var(), variance[0], rtol=0.12)


def test_the_diagonal_of_the_latent_covariance_is_the_variance(matrix_posteriors, rng):
    """One formula for one pair, another for all pairs at once."""
    gaps = rng.normal(size=(5, 3))
    for posterior in matrix_posteriors:
        covariance = posterior.latent_covariance(gaps, ALONG)
        assert_allclose(np.diag(covariance), posterior.latent(gaps)[1])
