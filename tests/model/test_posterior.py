"""What a posterior says agrees with draws from it, and with the equations, slowly."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from likewise.model import equations, matrix
from likewise.model.posterior import WeightPosterior
from likewise.model.priors import (
    IMPLIED_SHIFT,
    SCALE_DEVIATION,
    THRESHOLD,
    MatrixPrior,
)
from likewise.model.solvers import EntrySolver, LabelledPairs, PairSolver
from tests.slowly import item_features, parameter_features


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


def test_weights_know_of_no_items(posterior, rng):
    """Whichever items a pair is of, the paper's model says the same of it."""
    features = equations.pair_features(rng.normal(size=(5, 2)))

    assert_array_equal(posterior.latent(features, ALONG), posterior.latent(features))
    assert posterior.moved_items(6) is None


# Five pairs, each of which shares an item with the next.
ALONG = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]])
N_ITEMS, N_BASIS = 7, 3


class Problem:
    """Twelve pairs of the first five of seven items, with sites given to them.

    Four of the pairs are implied by others: their f has a shift of its own.
    """

    def __init__(self, rng, item_noise=0.0):
        frame = rng.normal(size=(N_BASIS, N_BASIS))
        self.prior = MatrixPrior(
            frame, np.array([1.5, 1.0, 0.2]), 0.3, 0.4, 2.0, item_noise
        )
        self.items = rng.normal(size=(N_ITEMS, N_BASIS)) / 2
        self.pairs = np.sort(np.argsort(rng.uniform(size=(12, 5)))[:, :2])
        labels = np.where(rng.uniform(size=12) < 0.5, 1.0, -1.0)
        self.implied = np.repeat([0.0, 1.0], [8, 4])
        gaps = self.gaps(self.pairs)
        self.told = LabelledPairs(
            gaps, labels / 2, np.ones(12), self.pairs, self.implied
        )
        self.sites = rng.uniform(0.1, 0.3, 12), -labels / 2

    def gaps(self, pairs):
        return self.items[pairs[:, 0]] - self.items[pairs[:, 1]]

    def solve(self, solver):
        return solver(self.told, self.prior).solve(self.sites, self.prior).posterior()


@pytest.fixture
def matrix_posteriors(rng):
    """The whole matrix by few pairs' way and by many pairs' way, same answers."""
    problem = Problem(rng)
    return [problem.solve(solver) for solver in (PairSolver, EntrySolver)]


def test_pairs_and_entries_give_the_same_belief(matrix_posteriors, rng):
    """Mean, covariance and predictions agree to rounding."""
    by_pair, by_entry = matrix_posteriors
    gaps = rng.normal(size=(5, 3))

    assert_allclose(by_pair.mean, by_entry.mean, atol=1e-9)
    assert_allclose(by_pair.covariance, by_entry.covariance, atol=1e-8)
    assert_allclose(by_pair.latent(gaps), by_entry.latent(gaps), atol=1e-8)
    assert_allclose(
        by_pair.squared_distance(gaps), by_entry.squared_distance(gaps), atol=1e-8
    )
    assert_allclose(
        by_pair.latent_covariance(gaps, ALONG),
        by_entry.latent_covariance(gaps, ALONG),
        atol=1e-8,
    )
    assert_allclose(by_pair.threshold, by_entry.threshold)


def test_mean_and_covariance_speak_of_the_basis_coordinates(matrix_posteriors, rng):
    """f is linear in threshold and entries, whatever frame the prior stands in."""
    gaps = rng.normal(size=(5, 3))
    features = np.column_stack([-np.ones(5), matrix.matrix_features(gaps)])
    for posterior in matrix_posteriors:
        mean, variance = posterior.latent(gaps)

        assert_allclose(features @ posterior.mean, mean, atol=1e-9)
        spread = features @ posterior.covariance @ features.T
        assert_allclose(np.diag(spread), variance, atol=1e-8)
        A = matrix.symmetric_matrix(posterior.mean[1:], 3)
        assert_allclose(posterior.mean_matrix(), A, atol=1e-9)
        assert_allclose(posterior.mean[0], posterior.threshold)


@pytest.mark.parametrize("item_noise", [0.0, 0.7])
def test_drawn_matrices_scatter_as_reported(rng, item_noise):
    """Draws of both kinds have the reported mean and covariance."""
    problem = Problem(rng, item_noise)
    for solver in (PairSolver, EntrySolver) if item_noise == 0 else (PairSolver,):
        posterior = problem.solve(solver)
        draws = posterior.sample(100_000, rng)

        size = np.sqrt(np.diag(posterior.covariance))
        assert_allclose((draws.mean(axis=0) - posterior.mean) / size, 0, atol=0.02)
        off = np.cov(draws.T) - posterior.covariance
        assert_allclose(off / np.outer(size, size), 0, atol=0.03)


class Slow:
    """The joint Gaussian of threshold, scale, matrix, items and shift, conditioned."""

    def __init__(self, problem):
        prior = self.prior = problem.prior
        self.problem = problem
        free = 1 / prior.precision * np.ones(6)
        threshold, deviation = THRESHOLD
        variance = np.r_[deviation**2, (SCALE_DEVIATION * prior.scale) ** 2, free]
        noise = np.tile(prior.item_noise * prior.centre, N_ITEMS + 2)
        given = self.features(problem.gaps(problem.pairs), problem.pairs)
        given[:, -1] = problem.implied
        curvature, pull = problem.sites
        before = np.r_[threshold, prior.scale, np.zeros(6 + len(noise) + 1)]
        firmness = np.diag(1 / np.r_[variance, noise, IMPLIED_SHIFT**2])
        self.covariance = np.linalg.inv(firmness + (given.T * curvature) @ given)
        self.mean = self.covariance @ (firmness @ before + given.T @ pull)

    def features(self, gaps, pairs):
        gaps = gaps @ self.prior.frame
        plain = parameter_features(self.prior, gaps)
        items = item_features(gaps, pairs, N_ITEMS + 2)
        return np.hstack([plain, items, np.zeros((len(gaps), 1))])

    def latent(self, gaps, pairs):
        given = self.features(gaps, pairs)
        return given @ self.mean, given @ self.covariance @ given.T


# Of items asked about, of one that was not, and of two that were not.
ASKED_ABOUT = np.array([[0, 1], [1, 4], [0, 5], [2, 6], [5, 6]])


def test_items_that_were_asked_about_are_known(rng):
    """Mean, variance and covariance of f against the joint Gaussian of all there is."""
    problem = Problem(rng, item_noise=0.7)
    gaps = problem.gaps(ASKED_ABOUT)
    mean, covariance = Slow(problem).latent(gaps, ASKED_ABOUT)

    posterior = problem.solve(PairSolver)

    latent = posterior.latent(gaps, ASKED_ABOUT)
    assert_allclose(latent, (mean, np.diag(covariance)), atol=1e-8)
    assert_allclose(posterior.latent_mean(gaps, ASKED_ABOUT), mean, atol=1e-8)
    together = posterior.latent_covariance(gaps, ASKED_ABOUT)
    assert_allclose(together, covariance, atol=1e-8)


def test_without_pairs_items_are_new(rng):
    """As the joint Gaussian says of two items that nobody asked about."""
    problem = Problem(rng, item_noise=0.7)
    gaps = problem.gaps(ASKED_ABOUT)
    nobody = np.tile([N_ITEMS, N_ITEMS + 1], (len(gaps), 1))
    mean, covariance = Slow(problem).latent(gaps, nobody)

    posterior = problem.solve(PairSolver)

    assert_allclose(posterior.latent(gaps), (mean, np.diag(covariance)), atol=1e-8)
    known = posterior.latent(gaps, ASKED_ABOUT)[1]
    assert (known[:2] < posterior.latent(gaps)[1][:2]).all()


def test_moved_items_are_what_pairs_know_beyond_their_features(rng):
    """f gains (g_i - g_j)'(z_i - z_j); an item not asked about has not moved."""
    problem = Problem(rng, item_noise=0.7)
    gaps = problem.gaps(ASKED_ABOUT)
    posterior = problem.solve(PairSolver)

    moved = posterior.moved_items(N_ITEMS)

    gained = posterior.latent_mean(gaps, ASKED_ABOUT) - posterior.latent_mean(gaps)
    i, j = ASKED_ABOUT.T
    assert_allclose(np.einsum("ij,ij->i", moved[i] - moved[j], gaps), gained)
    assert_array_equal(moved[5:], 0)
    assert np.abs(moved[:5]).max() > 0.01
    assert Problem(rng).solve(PairSolver).moved_items(N_ITEMS) is None


def test_two_items_of_a_pair_have_no_order(rng):
    """(i, j) and (j, i) are one pair, with what is known of the items too."""
    problem = Problem(rng, item_noise=0.7)
    gaps, posterior = problem.gaps(ASKED_ABOUT), problem.solve(PairSolver)

    one = posterior.latent(gaps, ASKED_ABOUT)
    other = posterior.latent(-gaps, ASKED_ABOUT[:, ::-1])

    assert_allclose(one, other, atol=1e-10)
