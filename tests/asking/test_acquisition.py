"""The contract of every acquisition, and what each one prefers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from likewise.asking.acquisition import ACQUISITIONS, favourite, find_acquisition
from likewise.errors import InputError
from likewise.model import equations
from likewise.model.posterior import WeightPosterior
from tests.fakes import FixedPosterior


@pytest.fixture
def posterior(rng):
    root = rng.normal(size=(4, 9))
    return WeightPosterior(np.array([1.5, 0.5, 1.0, 2.0]), root @ root.T / 40)


@pytest.fixture
def features(rng):
    return equations.pair_features(rng.normal(size=(30, 3)))


@pytest.mark.parametrize("name", ACQUISITIONS)
def test_scores_are_finite_follow_the_order_and_leave_inputs_alone(
    name, posterior, features, rng
):
    """One finite number a pair, whatever the order of the candidates."""
    before = features.copy()
    order = rng.permutation(len(features))

    scores = ACQUISITIONS[name](posterior, features)

    assert scores.shape == (30,)
    assert np.isfinite(scores).all()
    assert_allclose(ACQUISITIONS[name](posterior, features[order]), scores[order])
    assert_array_equal(features, before)


@pytest.mark.parametrize("name", sorted(set(ACQUISITIONS) - {"random", "batch"}))
def test_doubtful_pairs_come_before_sure_ones(name):
    """At equal variance the pair nearest the threshold scores highest."""
    posterior = WeightPosterior(np.array([2.0, 1.0]), np.diag([0.2, 1e-9]))
    features = equations.pair_features(np.sqrt([[0.1], [2.0], [9.0]]))

    scores = ACQUISITIONS[name](posterior, features)

    assert np.argmax(scores) == 1


def test_batch_prefers_pairs_that_are_rather_same():
    """H(p) + p is largest at p = e / (1 + e), and `favourite` says so."""
    posterior = WeightPosterior(np.array([3.0, 1.0]), np.eye(2))
    squared = np.linspace(0, 8, 801)[:, None]

    scores = ACQUISITIONS["batch"](posterior, equations.pair_features(squared**0.5))

    best = squared[np.argmax(scores), 0] - 3.0
    assert_allclose(best, favourite(ACQUISITIONS["batch"]), atol=0.01)
    assert favourite(ACQUISITIONS["entropy"]) == 0


def test_mean_entropy_is_12_of_13(posterior, features):
    """The paper's ACT, by hand."""
    p = 1 / (1 + np.exp(features @ posterior.mean))

    scores = ACQUISITIONS["mean-entropy"](posterior, features)

    assert_allclose(scores, -p * np.log(p) - (1 - p) * np.log(1 - p))


def test_entropy_is_the_entropy_of_the_posteriors_probability():
    """It asks the posterior, and nothing else."""
    features = np.array([[0.0, 1.0], [2.0, 1.0]])

    scores = ACQUISITIONS["entropy"](FixedPosterior(), features)

    p = 1 / (1 + np.exp(features[:, 0]))
    assert_allclose(scores, equations.label_entropy(p))


def test_information_prefers_doubt_about_the_metric_to_a_coin_toss():
    """Equal P(same), unequal variance: only the second can be learned."""
    posterior = WeightPosterior(np.array([1.0, 1.0]), np.diag([0.0, 4.0]))
    features = np.array([[-1.0, 1.0], [-1e-6, 1e-6]])

    scores = ACQUISITIONS["information"](posterior, features)

    assert scores[0] > 10 * scores[1]


def test_a_callable_is_taken_as_it_is_and_a_wrong_name_is_refused():
    """The names that exist are in the sentence."""
    assert find_acquisition(len) is len
    with pytest.raises(InputError, match="'entropy', 'information'.* Got 'entropie'"):
        find_acquisition("entropie")
