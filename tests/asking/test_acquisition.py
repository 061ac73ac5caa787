"""The contract of every acquisition, and what each one prefers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from likewise.asking.acquisition import ACQUISITIONS, find_acquisition
from likewise.errors import InputError
from likewise.model import equations
from likewise.model.belief import Belief, Member
from likewise.model.posterior import WeightPosterior
from tests.fakes import FixedBelief


def alone(mean, covariance):
    """A belief of one member."""
    return Belief((Member("unit", 1.0, WeightPosterior(np.array(mean), covariance)),))


@pytest.fixture
def belief(rng):
    """Two members that disagree."""
    members = []
    for weight, mean in ((0.7, [1.5, 0.5, 1.0, 2.0]), (0.3, [2.5, 2.0, 0.1, 0.4])):
        root = rng.normal(size=(4, 9))
        posterior = WeightPosterior(np.array(mean), root @ root.T / 40)
        members.append(Member(str(weight), weight, posterior))
    return Belief(tuple(members))


@pytest.fixture
def features(rng):
    return equations.pair_features(rng.normal(size=(30, 3)))


@pytest.mark.parametrize("name", ACQUISITIONS)
def test_scores_are_finite_follow_the_order_and_leave_inputs_alone(
    name, belief, features, rng
):
    """One finite number a pair, whatever the order of the candidates."""
    before = features.copy()
    order = rng.permutation(len(features))

    scores = ACQUISITIONS[name](belief, features)

    assert scores.shape == (30,)
    assert np.isfinite(scores).all()
    assert_allclose(ACQUISITIONS[name](belief, features[order]), scores[order])
    assert_array_equal(features, before)


@pytest.mark.parametrize("name", sorted(set(ACQUISITIONS) - {"random"}))
def test_doubtful_pairs_come_before_sure_ones(name):
    """At equal variance the pair nearest the threshold scores highest."""
    belief = alone([2.0, 1.0], np.diag([0.2, 1e-9]))
    features = equations.pair_features(np.sqrt([[0.1], [2.0], [9.0]]))

    scores = ACQUISITIONS[name](belief, features)

    assert np.argmax(scores) == 1


def test_mean_entropy_is_12_of_13(features):
    """The paper's ACT, by hand."""
    mean = np.array([1.5, 0.5, 1.0, 2.0])
    p = 1 / (1 + np.exp(features @ mean))

    scores = ACQUISITIONS["mean-entropy"](alone(mean, np.eye(4)), features)

    assert_allclose(scores, -p * np.log(p) - (1 - p) * np.log(1 - p))


def test_entropy_is_the_entropy_of_the_beliefs_probability():
    """It asks the belief, and nothing else."""
    features = np.array([[0.0, 1.0], [2.0, 1.0]])

    scores = ACQUISITIONS["entropy"](FixedBelief(), features)

    p = 1 / (1 + np.exp(features[:, 0]))
    assert_allclose(scores, equations.label_entropy(p))


@pytest.mark.parametrize("name", ["entropy", "information"])
def test_members_that_disagree_are_asked_about(name):
    """One says same, the other different: the pair on which both agree can wait."""
    members = [
        Member("", 0.5, WeightPosterior(np.array(mean), np.zeros((3, 3))))
        for mean in ([2.0, 4.0, 0.1], [2.0, 0.1, 4.0])
    ]
    features = equations.pair_features(np.array([[1.5, 0.0], [1.5, 1.5]]))

    scores = ACQUISITIONS[name](Belief(tuple(members)), features)

    assert scores[0] > 5 * scores[1]


def test_information_prefers_doubt_about_the_metric_to_a_coin_toss():
    """Equal P(same), unequal variance: only the second can be learned."""
    belief = alone([1.0, 1.0], np.diag([0.0, 4.0]))
    features = np.array([[-1.0, 1.0], [-1e-6, 1e-6]])

    scores = ACQUISITIONS["information"](belief, features)

    assert scores[0] > 10 * scores[1]


def test_a_callable_is_taken_as_it_is_and_a_wrong_name_is_refused():
    """The names that exist are in the sentence."""
    assert find_acquisition(len) is len
    with pytest.raises(InputError, match="'entropy', 'information'.* Got 'entropie'"):
        find_acquisition("entropie")
