"""A belief answers for its members as one: their weighted mixture, by simulation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from likewise.model import equations
from likewise.model.belief import Belief, Member
from likewise.model.posterior import PairPosterior, WeightPosterior
from likewise.model.priors import MatrixPrior
from likewise.model.solvers import LabelledPairs, PairSolver

WEIGHTS = (0.6, 0.3, 0.1)


def member(name, weight, mean, rng, spread=0.3):
    root = spread * rng.normal(size=(3, 5))
    return Member(name, weight, WeightPosterior(np.array(mean), root @ root.T))


@pytest.fixture
def belief(rng):
    """Three members that disagree about threshold and weights."""
    means = ([1.0, 2.0, 0.5], [3.0, 0.2, 0.4], [0.5, 1.0, 4.0])
    names = ("near", "far", "unit")
    together = zip(names, WEIGHTS, means, strict=True)
    return Belief(tuple(member(*each, rng) for each in together))


@pytest.fixture
def features(rng):
    return equations.pair_features(rng.normal(size=(6, 2)))


def drawn(belief, features, rng, n_draws=200_000):
    """Draws of f, (n_draws, n_pairs): a member by its weight, then its posterior."""
    parts = [
        each.posterior.sample(int(each.weight * n_draws), rng)
        for each in belief.members
    ]
    return np.concatenate(parts) @ features.T


def test_p_same_is_the_weighted_mean_of_the_members(belief, features):
    """Also by the mean metrics, and by Laplace's approximation."""
    posteriors = [each.posterior for each in belief.members]

    by_member = [each.probability_same(features) for each in posteriors]
    means = [expit(-features @ each.mean) for each in posteriors]

    assert_allclose(belief.probability_same(features), np.dot(WEIGHTS, by_member))
    assert_allclose(belief.mean_probability(features), np.dot(WEIGHTS, means))
    alone = [Belief((Member("", 1.0, each),)) for each in posteriors]
    laplace = [each.laplace_probability(features) for each in alone]
    assert_allclose(belief.laplace_probability(features), np.dot(WEIGHTS, laplace))


def test_moments_of_f_are_given_for_each_member(belief, features):
    """A row for each, in their order."""
    means, variances = belief.latent(features)

    assert means.shape == variances.shape == (3, 6)
    for row, each in enumerate(belief.members):
        assert_allclose((means[row], variances[row]), each.posterior.latent(features))
    assert_allclose(belief.latent_mean(features), means)


def test_the_mean_matrix_is_the_weighted_mean(belief):
    """And so is the threshold: f at the mean metric is the mean of f."""
    A = sum(each.weight * np.diag(each.posterior.mean[1:]) for each in belief.members)

    assert_allclose(belief.mean_matrix(), A)
    assert_allclose(belief.threshold, np.dot(WEIGHTS, [1.0, 3.0, 0.5]))
    assert_allclose(belief.mean, [belief.threshold, *np.diag(A)])


def test_members_metrics_are_weighed_in_a_common_unit(rng):
    """A member with a steeper prior has no more of a say in the mean metric."""
    members = [noisy_member(rng, 0.7, 0.2)[0], noisy_member(rng, 0.3, 0.8)[0]]
    belief = Belief(tuple(members))

    posteriors = [each.posterior for each in members]
    A, B = (each.mean_matrix() for each in posteriors)
    # 3 / (1 - .2) and 3 / (1 - .8): the mean squared distance by either prior.
    mixed = 0.7 * A / 3.75 + 0.3 * B / 15
    thresholds = [each.threshold for each in posteriors]
    thresholds = 0.7 * thresholds[0] / 3.75 + 0.3 * thresholds[1] / 15
    assert_allclose(belief.mean_matrix() / belief.threshold, mixed / thresholds)
    assert_allclose(belief.mean_matrix(), mixed / (0.7 / 3.75 + 0.3 / 15))
    features = rng.normal(size=(4, 2))
    squared = np.einsum("ij,jk,ik->i", features, belief.mean_matrix(), features)
    assert_allclose(belief.squared_distance(features)[0], squared)
    draws = belief.sample(200_000, rng)
    assert_allclose(draws.mean(axis=0), belief.mean, rtol=0.02, atol=0.02)


def test_the_root_is_a_root_of_the_mean_metric():
    """L'L is the mean matrix; a weight of zero adds no row, nor does one below."""
    point = WeightPosterior(np.array([1.0, 0.5, 0.0, 2.0, -0.3]), np.zeros((5, 5)))

    L = Belief((Member("unit", 1.0, point),)).root()

    assert L.shape == (2, 4)
    assert_allclose(L.T @ L, np.diag([0.5, 0, 2, 0]), atol=1e-15)
    assert np.linalg.norm(L[0]) > np.linalg.norm(L[1])


def test_samples_scatter_as_mean_and_covariance_say(belief, rng):
    """Members' disagreement is part of the covariance."""
    draws = belief.sample(300_000, rng)

    assert_allclose(draws.mean(axis=0), belief.mean, atol=0.02)
    assert_allclose(np.cov(draws.T), belief.covariance, atol=0.03)
    assert np.trace(belief.covariance) > max(
        np.trace(each.posterior.covariance) for each in belief.members
    )


def test_samples_are_shuffled_and_as_many_as_asked_for(belief, rng):
    """No reader of the first draws meets one member only."""
    few = np.array([belief.sample(1, rng)[0, 0] for _ in range(400)])
    many = belief.sample(400, rng)[:200, 0]

    assert len(belief.sample(7, rng)) == 7
    # The second member's thresholds lie far above the others'.
    for thresholds in (few, many):
        assert 0.1 < np.mean(thresholds > 2.2) < 0.5


def test_squared_distances_have_the_mixtures_moments(belief, features, rng):
    """Within members and between them, by simulation."""
    draws = belief.sample(300_000, rng)
    squared = features[:, 1:] @ draws[:, 1:].T

    mean, variance = belief.squared_distance(features)

    assert_allclose(mean, squared.mean(axis=1), rtol=0.02, atol=0.01)
    assert_allclose(variance, squared.var(axis=1), rtol=0.03)


def test_information_is_entropy_minus_expected_entropy_by_simulation(
    belief, features, rng
):
    """H(E p) - E H(p) over draws of members and of f."""
    p = expit(-drawn(belief, features, rng))
    entropy = equations.label_entropy
    expected = entropy(p.mean(axis=0)) - entropy(p).mean(axis=0)

    assert_allclose(belief.information(features), expected, atol=2e-3)


def test_deviation_of_p_same_is_that_of_the_draws(belief, features, rng):
    """Over members and metric."""
    p = expit(-drawn(belief, features, rng))

    deviation = belief.probability_deviation(features)

    assert_allclose(deviation, p.std(axis=0), atol=2e-3)


def test_no_doubt_no_information(features):
    """One member that knows the metric learns nothing from any answer."""
    point = WeightPosterior(np.array([1.0, 2.0, 0.5]), np.zeros((3, 3)))
    sure = Belief((Member("unit", 1.0, point),))

    assert_allclose(sure.information(features), 0, atol=2e-6)
    assert_allclose(sure.probability_deviation(features), 0, atol=2e-3)


def test_members_that_disagree_are_worth_asking(features):
    """Two points that say otherwise: the answer tells which to believe."""
    points = [
        WeightPosterior(np.array([threshold, 1.0]), np.zeros((2, 2)))
        for threshold in (-4.0, 6.0)
    ]
    belief = Belief(tuple(Member("", 0.5, point) for point in points))
    gap = equations.pair_features(np.array([[1.0]]))

    p = expit([-5.0, 5.0])
    expected = np.log(2) - equations.label_entropy(p).mean()
    assert_allclose(belief.information(gap), expected, atol=1e-5)


def test_a_belief_cannot_be_changed(belief):
    """More answers give a new one."""
    with pytest.raises(AttributeError, match="cannot assign"):
        belief.members = ()


def noisy_member(rng, weight, offset=0.0):
    """Of the whole matrix, with items off their features."""
    prior = MatrixPrior(np.eye(2), np.array([1.5, 0.5]), offset, 0.2, 3.0, 0.8)
    items = rng.normal(size=(4, 2))
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    gaps = items[pairs[:, 0]] - items[pairs[:, 1]]
    targets = np.array([0.5, -0.5, -0.5])
    told = LabelledPairs(gaps, targets, np.ones(3), pairs, np.zeros(3))
    sites = np.full(3, 0.2), -told.targets
    solution = PairSolver(told, prior).solve(sites, prior)
    return Member("near", weight, solution.posterior()), gaps, pairs


def test_a_belief_that_knows_the_pairs_need_not_be_told_again(rng):
    """`knowing` is the same as giving the pairs with every question."""
    noisy, gaps, pairs = noisy_member(rng, 1.0)
    belief = Belief((noisy,))

    knowing = belief.knowing(pairs)

    for name in ("latent", "latent_mean", "probability_same", "information"):
        told = getattr(belief, name)(gaps, pairs)
        assert_allclose(getattr(knowing, name)(gaps), told)
        assert not np.allclose(getattr(belief, name)(gaps), told)
    assert belief.pairs is None


def test_a_prediction_is_as_wide_as_its_widest_member(belief, rng):
    """What blocks are cut by: weights, or labelled pairs."""
    noisy, _, _ = noisy_member(rng, 0.5)

    assert belief.width == 3
    assert isinstance(noisy.posterior, PairPosterior)
    assert Belief((noisy,)).width == 3


def test_weights_add_up_to_one(belief):
    """As many as members, heaviest first."""
    assert_array_equal(belief.weights, WEIGHTS)
