"""What is believed before any answer: its moments, its settings, its members."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from likewise.model import priors
from likewise.model.priors import (
    Choices,
    MatrixPrior,
    Setting,
    WeightPrior,
    look_at,
    matrix_prior,
    shared_items,
    with_settings,
)
from tests.slowly import item_features, parameter_features

DEFAULTS = Choices("full", None, "evidence", 1.0, None, None)
PAIRS = np.array([[0, 1], [0, 2], [1, 2], [2, 3], [3, 4]])


@pytest.fixture
def prior(rng):
    frame = rng.normal(size=(2, 2))
    return MatrixPrior(frame, np.array([1.5, 0.5]), 0.3, 2.0, 4.0, 0.7)


@pytest.fixture
def gaps(rng):
    """Of five pairs of five items, in the frame's coordinates."""
    items = rng.normal(size=(5, 2))
    return items[PAIRS[:, 0]] - items[PAIRS[:, 1]]


def test_a_setting_is_log_normal():
    """The density of its logarithm, and the slope of that."""
    setting = Setting("precision", 0.2, 1.6, 1e-4, 1e4)
    normal = stats.norm(np.log(0.2), 1.6)
    for value in (1e-3, 0.2, 7.0):
        assert_allclose(setting.log_density(value), normal.logpdf(np.log(value)))
        step = np.exp([-1e-5, 1e-5]) * value
        below, above = (setting.log_density(each) for each in step)
        assert_allclose(setting.slope(value), (above - below) / 2e-5, atol=1e-6)


def test_where_anything_goes_nothing_pulls():
    """The paper's delta has no prior."""
    setting = Setting("precision", 0.25, np.inf, 1e-4, 1e4)

    assert [setting.log_density(x) for x in (1e-3, 50.0)] == [0.0, 0.0]
    assert setting.slope(50.0) == 0


def test_prior_moments_are_those_of_draws(prior, gaps, rng):
    """Mean and covariance of f under draws of threshold, scale and free matrix."""
    features = parameter_features(prior, gaps)
    n_draws = 200_000
    mean, deviation = priors.THRESHOLD
    threshold = rng.normal(mean, deviation, n_draws)
    scale = rng.normal(4.0, 4.0 * priors.SCALE_DEVIATION, n_draws)
    free = rng.normal(size=(n_draws, 3)) / np.sqrt(prior.precision)
    f = np.column_stack([threshold, scale, free]) @ features.T

    covariance = prior.covariance(gaps, gaps)

    size = np.sqrt(np.diag(covariance))
    assert_allclose((prior.latent(gaps) - f.mean(axis=0)) / size, 0, atol=0.02)
    assert_allclose((covariance - np.cov(f.T)) / np.outer(size, size), 0, atol=0.03)
    assert_allclose(prior.variance(gaps), np.diag(covariance))
    assert_allclose(prior.covariance(gaps[:2], gaps), covariance[:2])


def test_parameters_give_the_same_moments(prior, gaps):
    """The other way to them: f is linear in threshold, scale and entries."""
    features = parameter_features(prior, gaps)

    assert_allclose(features @ prior.parameter_mean, prior.latent(gaps))
    spread = (features * prior.parameter_variance) @ features.T
    assert_allclose(spread, prior.covariance(gaps, gaps))


def test_the_scale_is_measured_from_nearest_neighbours(prior):
    """0 there, 1 at the mean squared distance, whatever the offset."""
    gaps = np.sqrt([[0.3 / 1.5, 0.0], [1 / 1.5, 0.0]])

    assert_allclose(prior.squared_distance(gaps), [0.3, 1.0])
    assert_allclose(prior.relative_distance(gaps), [0.0, 1.0])


def test_items_off_their_features_move_the_pairs_that_share_them(prior, gaps, rng):
    """Covariance and variance, pair by pair, and by draws of the items."""
    slow = item_features(gaps, PAIRS, 5)
    expected = (slow * np.tile(prior.centre, 5)) @ slow.T
    draws = rng.normal(size=(100_000, 10)) * np.sqrt(np.tile(prior.centre, 5))

    covariance = prior.item_covariance(gaps, PAIRS)

    assert_allclose(covariance, expected, atol=1e-12)
    size = np.sqrt(np.diag(covariance))
    drawn = np.cov((draws @ slow.T).T)
    assert_allclose((covariance - drawn) / np.outer(size, size), 0, atol=0.03)
    assert_allclose(prior.item_variance(gaps), 0.7 * np.diag(covariance))


def test_two_lists_of_pairs_share_items_as_one_list_does(prior, gaps):
    """A block of the square, without what is zero."""
    whole = prior.item_covariance(gaps, PAIRS)

    cross = prior.item_cross(gaps[:2], PAIRS[:2], gaps[2:], PAIRS[2:])

    assert_allclose(cross.toarray(), whole[:2, 2:], atol=1e-12)
    assert cross.nnz == 3


def test_shared_items_have_the_sign_of_their_sides():
    """The same side +1, opposite sides -1, both items 2."""
    shared = shared_items(PAIRS[:3], np.array([[0, 1], [2, 3]])).toarray()

    assert_array_equal(shared, [[2, 0], [1, -1], [-1, -1]])
    assert shared_items(np.empty((0, 2), dtype=np.intp), PAIRS).shape == (0, 5)


def test_half_way_coordinates_have_a_diagonal_prior_metric(rng):
    """Distances by the frame's centre are those of A_0."""
    root = rng.normal(size=(4, 4))
    A, gaps = root @ root.T, rng.normal(size=(20, 4))

    prior = matrix_prior(A, 0.2, DEFAULTS)

    expected = np.einsum("ij,jk,ik->i", gaps, A, gaps)
    framed = prior.gaps(gaps)
    assert_allclose(prior.squared_distance(framed), expected)
    half = np.einsum("ij,ij->i", gaps, gaps) / 2 + expected / 2
    assert_allclose((framed**2).sum(axis=1), half)


def test_a_given_number_is_kept_and_not_chosen(rng):
    """Medians where nothing was given, and settings for what the evidence chooses."""
    X = rng.normal(size=(40, 3))
    given = Choices("full", None, "unit", 2.0, 0.7, 0.1)
    free = given._replace(prior_precision=None, item_noise=None)

    one, other = (look_at(X, np.ones(40), each, rng) for each in (given, free))

    prior = one.priors["unit"]
    assert (prior.precision, prior.item_noise) == (0.7, 0.1)
    assert [each.name for each in one.settings] == ["scale"]
    prior = other.priors["unit"]
    assert prior.precision == priors.DELTA.median
    assert prior.item_noise == priors.ITEM_NOISE.median
    assert prior.scale == 2 * priors.SCALE.median == other.settings[1].median
    names = [each.name for each in other.settings]
    assert names == ["precision", "scale", "item_noise"]


def test_settings_move_what_they_name_and_nothing_else(prior):
    """The rest of the prior is as it was."""
    moved = with_settings(prior, (priors.DELTA, priors.ITEM_NOISE), np.array([9.0, 3]))

    assert (moved.precision, moved.item_noise, moved.scale) == (9.0, 3.0, 4.0)
    assert moved.frame is prior.frame


@pytest.mark.parametrize("basis", ["eigen", "axes"])
def test_one_weight_a_basis_vector_has_the_papers_prior(rng, basis):
    """gamma_0 for threshold and weights, delta as given."""
    X = rng.normal(size=(40, 3))
    choices = Choices(basis, None, "unit", 3.0, 0.5, None)

    frames = look_at(X, np.ones(40), choices, rng)

    (prior,) = frames.priors.values()
    assert isinstance(prior, WeightPrior)
    assert_array_equal(prior.mean, [3, 3, 3, 3])
    assert_array_equal(prior.precisions, [0.5] * 4)
    assert frames.settings == ()


def members(X, rng, prior="evidence"):
    choices = DEFAULTS._replace(prior=prior)
    return look_at(X, np.ones(len(X)), choices, rng).priors


def distances(X, prior, basis_of):
    """Squared distances of neighbouring rows by a prior's metric."""
    Z = basis_of.project(X)
    return prior.squared_distance(prior.gaps(Z[1:] - Z[:-1]))


def test_members_are_several_ways_to_measure(rng):
    """Unit distance and each feature alike are among them, in their unit."""
    y = np.repeat(np.arange(4), 30)
    X = rng.normal(size=(120, 5)) * [1, 2, 9, 1, 0.5]
    X[:, 0] += 6 * y
    frames = look_at(X, np.ones(120), DEFAULTS, rng)
    gaps = X[1:] - X[:-1]

    found = frames.priors

    assert list(members(X, rng, "unit")) == ["unit"]
    assert list(members(X, rng, "unlabelled")) == ["far"]
    assert {"unit", "standard", "near"} <= set(found)
    unit = distances(X, found["unit"], frames.basis)
    assert_allclose(unit, (gaps**2).sum(axis=1) / (2 * X.var(axis=0, ddof=1).sum()))
    standard = distances(X, found["standard"], frames.basis)
    # Of five features of variance 1, nearly: numpy's n against n - 1.
    expected = ((gaps / X.std(axis=0)) ** 2).sum(axis=1) / (2 * 5)
    assert_allclose(standard, expected * 119 / 120)


def test_plain_distance_weighs_as_much_as_all_others_together(rng):
    """Before any answer; shares add up to one, also where there is one prior only."""
    X = rng.normal(size=(120, 5)) * [1, 2, 9, 1, 0.5]
    X[:, 0] += 6 * np.repeat(np.arange(4), 30)
    several = look_at(X, np.ones(120), DEFAULTS, rng)

    shares = {name: np.exp(share) for name, share in several.log_shares.items()}

    assert_allclose(shares["unit"], priors.UNIT_SHARE)
    assert_allclose(sum(shares.values()), 1)
    others = [share for name, share in shares.items() if name != "unit"]
    assert_allclose(others, others[0])
    for prior in ("unit", "unlabelled"):
        alone = look_at(X, np.ones(120), DEFAULTS._replace(prior=prior), rng)
        assert list(alone.log_shares.values()) == [0.0]


def test_a_way_that_is_another_one_is_left_out(rng):
    """Features of one deviation: each alike is how they are."""
    X = rng.normal(size=(60, 3))
    X = (X - X.mean(axis=0)) / X.std(axis=0)

    found = members(X, rng)

    assert "unit" in found
    assert not any("standard" in name for name in found)
    metrics = [
        prior.frame @ np.diag(prior.centre) @ prior.frame.T for prior in found.values()
    ]
    for k, metric in enumerate(metrics):
        assert all(np.abs(metric - other).max() > 1e-6 for other in metrics[:k])


def test_a_scale_always_has_room(rng):
    """Where all distances are alike, nearest neighbours are no nearer than most."""
    X = np.eye(40)

    found = members(X, rng)

    for prior in found.values():
        assert prior.room >= 1 - priors.FARTHEST_NEIGHBOURS
        assert np.isfinite(prior.relative_distance(prior.gaps(np.eye(39)))).all()
