"""What a posterior says agrees with draws from it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from likewise import equations
from likewise.posterior import MetricPosterior


@pytest.fixture
def posterior(rng):
    root = rng.normal(size=(3, 6))
    return MetricPosterior(np.array([1.0, 2.0, 0.5]), root @ root.T / 10)


def test_samples_scatter_as_the_covariance_says(posterior, rng):
    """Draws have the reported mean and covariance; a lost transpose fails here."""
    draws = posterior.sample(200_000, rng)

    assert_allclose(draws.mean(axis=0), posterior.mean, atol=0.02)
    assert_allclose(np.cov(draws.T), posterior.covariance, atol=0.02)


def test_a_point_posterior_draws_itself(rng):
    """No covariance, no scatter."""
    point = MetricPosterior(np.array([1.0, 2.0]), np.zeros((2, 2)))

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
