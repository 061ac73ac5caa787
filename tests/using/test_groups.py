"""Groups: answers respected, the order of items of no account, bad input."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score

from likewise import ActiveMetric, BayesianMetric, InputError
from likewise.using import joining
from likewise.using.decisions import JoinCurve
from likewise.using.groups import group, judge_groups


class Plain:
    """A belief in plain distance."""

    def __init__(self, n_features):
        self._n_features = n_features

    def root(self):
        return np.eye(self._n_features)


def answers(y, pairs):
    return np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)


def respects(labels, pairs, told):
    together = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    return bool((together == (np.asarray(told) > 0)).all())


@st.composite
def sorted_items(draw):
    """Items on a grid, many of them equal, a truth, and true answers about some."""
    n_items = draw(st.integers(2, 25))
    rng = np.random.RandomState(draw(st.integers(0, 10_000)))
    X = rng.randint(0, draw(st.integers(1, 8)), size=(n_items, 2)).astype(float)
    y = rng.randint(0, draw(st.integers(1, n_items)), n_items)
    every = np.column_stack(np.triu_indices(n_items, 1))
    asked = every[rng.permutation(len(every))[: draw(st.integers(0, len(every)))]]
    return X, y, asked


@settings(deadline=None)
@given(sorted_items())
def test_every_answer_is_respected(case):
    """Whatever the items and the truth: same together, different apart."""
    X, y, asked = case
    told = answers(y, asked)

    found = group(Plain(2), X, (asked, told))

    assert respects(found.labels, asked, told)
    assert found.disbelieved == []
    assert ((found.confidence >= 0) & (found.confidence <= 1)).all()


@settings(deadline=None)
@given(sorted_items(), st.integers(0, 10_000), st.sampled_from([5, 3_000]))
def test_of_any_answers_the_believed_ones_are_respected(case, seed, max_pieces):
    """Coins for answers: what is not respected is named, with many items too."""
    X, _, asked = case
    told = np.random.RandomState(seed).choice([-1, 1], len(asked))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joining, "MAX_PIECES", max_pieces)
        patch.setattr(joining, "N_NEAREST", 3)
        found = group(Plain(2), X, (asked, told))

    left = [(i, j) for i, j, _ in found.disbelieved]
    kept = np.array([tuple(pair) not in left for pair in asked.tolist()], dtype=bool)
    assert respects(found.labels, asked[kept], told[kept])
    assert respects(found.labels, asked[~kept], -told[~kept])


@settings(deadline=None)
@given(
    *(st.integers(2, 40), st.integers(0, 10_000)),
    *(st.sampled_from([0.0, 0.3]), st.booleans()),
)
def test_the_order_of_items_is_of_no_account(n_items, seed, flipped, is_tied):
    """Shuffled items, with their answers, wrong ones too, are in the same groups."""
    rng = np.random.RandomState(seed)
    X, y = rng.normal(size=(n_items, 3)), rng.randint(0, 4, n_items)
    X[:, 2] = np.sign(X[:, 2]) if is_tied else X[:, 2]
    asked = np.sort(rng.randint(0, n_items, (n_items, 2)), axis=1)
    asked = np.unique(asked[asked[:, 0] < asked[:, 1]], axis=0)
    told = answers(y, asked)
    told = np.where(rng.random_sample(len(told)) < flipped, -told, told)
    order = rng.permutation(n_items)
    place = np.argsort(order)

    one = group(Plain(3), X, (asked, told))
    two = group(Plain(3), X[order], (np.sort(place[asked], axis=1), told))

    assert adjusted_rand_score(one.labels[order], two.labels) == 1.0
    assert_allclose(one.confidence[order], two.confidence)
    assert_allclose(one.share_right, two.share_right)


def test_contradictions_leave_the_believed_answers(blobs):
    """Near "same" and far "different" hold; what contradicts them is named."""
    X = np.array([[0.0], [0.1], [0.2], [9.0]])
    asked = np.array([[0, 1], [1, 2], [0, 2], [2, 3], [0, 3]])
    told = np.array([1, 1, 1, 1, -1])

    found = group(Plain(1), X, (asked, told))

    assert found.disbelieved == [(2, 3, 1)]
    assert_array_equal(found.labels, [0, 0, 0, 1])
    assert "not believed" in str(found)


def test_groups_that_are_far_apart_are_found_without_an_answer(rng):
    """Their number too."""
    y = np.repeat(np.arange(4), 25)
    X = 20.0 * np.eye(4)[y] + rng.normal(size=(100, 4))

    found = ActiveMetric(X, random_state=0).groups()

    assert adjusted_rand_score(y, found.labels) > 0.9


def test_members_come_in_the_order_of_how_typical_they_are(rng):
    """The one nearest the centre is first, the outlier last."""
    X = np.r_[rng.normal(size=(30, 2)), [[0.0, 0.0], [4.0, 4.0]]]
    asked = np.array([[i, i + 1] for i in range(31)])

    found = group(Plain(2), X, (asked, np.ones(31)))

    assert found.n_groups == 1
    assert found.members(0)[-1] == 31
    with pytest.raises(InputError, match="'group' must be from 0 to 0"):
        found.members(1)


@pytest.mark.parametrize(
    "X",
    [np.zeros((1, 2)), np.zeros((2, 2)), np.zeros((7, 2)), np.array([[0.0], [1.0]])],
)
def test_few_or_equal_items_give_no_warning(X):
    """One item, two, all equal: sensible groups."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = group(Plain(X.shape[1]), X)

    assert len(found.labels) == len(X)
    if not X.any():
        assert found.n_groups == 1


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.array([[0.0], [1.0]]), [0, 1]),
        (np.zeros((5, 2)), [0, 0, 0, 1, 1]),
        (np.arange(8.0)[:, None], [0] * 8),
        (np.arange(6.0)[:, None], range(6)),
    ],
    ids=["two items", "all equal", "one group", "every item its own"],
)
def test_odd_items_are_sorted_by_asking_without_a_warning(X, y):
    """To the end, and the learner then says that all is right."""
    y = np.asarray(y)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner = sort_by_asking(X, y, 60)
        verdict = learner.should_stop()

    assert adjusted_rand_score(y, learner.groups().labels) == 1.0
    assert verdict.stop
    assert verdict.sorted_right == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("X", "n_groups", "lowest"),
    [
        (np.array([[1.0, 2.0]]), 1, 1.0),
        (np.array([[0.0], [1.0]]), 2, 0.5),
        (np.zeros((7, 2)), 1, 0.9),
        (np.array([[0.0], [0.1], [9.0], [9.1]]), 2, 0.25),
    ],
    ids=["one item", "two items", "all equal", "two pairs"],
)
def test_a_learner_without_answers_gives_the_groups_of_the_prior(X, n_groups, lowest):
    """And says how sure it is: of one item altogether, with nothing to ask."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner = ActiveMetric(X, acquisition="groups", random_state=0)
        found, verdict = learner.groups(), learner.should_stop()

    assert found.n_groups == n_groups
    assert verdict.sorted_right == (found.share_right, *found.interval)
    assert verdict.sorted_right.low >= lowest
    assert (len(learner.ask(5)) == 0) == (len(X) == 1)


def test_all_apart_and_all_together():
    """Every item its own group; one group only."""
    X = np.arange(6.0)[:, None]
    every = np.column_stack(np.triu_indices(6, 1))

    apart = group(Plain(1), X, (every, -np.ones(15)))
    together = group(Plain(1), X, (every, np.ones(15)))

    assert apart.n_groups == 6
    assert together.n_groups == 1
    assert len(apart.doubts) == len(together.doubts) == 0


def test_a_fitted_metric_sorts_other_items(blobs):
    """group() takes the metric itself, and what is known of pairs."""
    X, y = blobs
    pairs = np.column_stack(np.triu_indices(60, 1))[::17]
    metric = BayesianMetric().fit_pairs(X, pairs, answers(y, pairs))

    found = group(metric, X, (pairs, answers(y, pairs)))

    assert respects(found.labels, pairs, answers(y, pairs))


def test_the_curve_moves_with_the_answers(rng):
    """Joins like those called right become likelier, those called wrong less."""
    costs = np.array([0.01, 1.0, 100.0])
    before = JoinCurve(np.empty(0), np.empty(0, dtype=int)).probability(costs)

    same = JoinCurve(np.full(10, 1.0), np.ones(10, dtype=int)).probability(costs)
    different = JoinCurve(np.full(10, 1.0), -np.ones(10, dtype=int)).probability(costs)

    assert (np.diff(before) < 0).all()
    assert (different < before).all() and (before < same).all()


def test_a_rival_halves_what_a_join_is_worth():
    """Two groups as near, known to be apart: it is one or the other."""
    curve = JoinCurve(np.empty(0), np.empty(0, dtype=int))

    alone = curve.probability(np.array([1e-6]))
    contested = curve.probability(np.array([1e-6]), np.array([1e-6]))

    assert_allclose(contested, alone / 2, rtol=0.01)


def sort_by_asking(X, y, n_answers, flipped=0.0, seed=0):
    learner = ActiveMetric(X, acquisition="groups", random_state=seed)
    rng = np.random.RandomState(seed)
    while len(learner.history()) < n_answers and len(pairs := learner.ask(5)):
        told = answers(y, pairs)
        learner.tell(
            pairs, np.where(rng.random_sample(len(told)) < flipped, -told, told)
        )
    return learner


def test_asking_sorts_the_items(blobs):
    """A few answers find the three groups; all of them end it."""
    X, y = blobs

    learner = sort_by_asking(X, y, 60)

    assert adjusted_rand_score(y, learner.groups().labels) > 0.85


def test_a_learner_asks_until_everything_is_known(rng):
    """Then it stops, says so, and has asked nothing that was implied."""
    X, y = rng.normal(size=(12, 2)), rng.randint(0, 3, 12)

    learner = sort_by_asking(X, y, 1_000)

    verdict = learner.should_stop()
    assert verdict.stop
    assert "right group" in str(verdict)
    assert adjusted_rand_score(y, learner.groups().labels) == 1.0
    assert len(learner.history()) < 66


def test_a_batch_asks_no_item_against_two_groups_that_are_apart(blobs):
    """No two questions of a batch join what is known to be apart."""
    X, y = blobs
    learner = sort_by_asking(X, y, 25)
    components = learner._log.closure.components()

    batch = learner.ask(10)

    ends = components[batch]
    for k, (a, b) in enumerate(ends):
        for c, d in ends[k + 1 :]:
            shared = {a, b} & {c, d}
            for one in shared:
                others = [x for x in (a, b, c, d) if x != one]
                if len(others) == 2:
                    assert not learner._log.closure.opposes(*others)


def test_a_surprising_join_is_asked_again():
    """One wrong "same" between two plain groups is doubted before all else.

    It was taken back: now one answer stands against one, and a third decides.
    """
    rng = np.random.RandomState(5)
    y = np.repeat([0, 1], 30)
    X = rng.normal(size=(60, 4)) + 12.0 * y[:, None]
    learner = ActiveMetric(X, acquisition="groups", random_state=0)
    learner.tell([[0, 1], [2, 3], [40, 41], [50, 51]], np.ones(4))
    learner.tell([[3, 40]], [1])

    assert [3, 40] in learner.ask(5).tolist()
    learner.tell([[3, 40]], [-1])
    assert [3, 40] in learner.ask(5).tolist()
    learner.tell([[3, 40]], [-1])
    assert [3, 40] not in learner.ask(5).tolist()
    assert adjusted_rand_score(y, learner.groups().labels) == 1.0


def test_with_candidates_no_answer_is_asked_again_for_want_of_others(blobs):
    """Of pairs that may be asked and settle no join, new ones come first."""
    X, y = blobs
    every = np.column_stack(np.triu_indices(len(X), 1))
    few = every[np.random.RandomState(0).permutation(len(every))[:60]]
    learner = ActiveMetric(X, acquisition="groups", candidates=few, random_state=0)
    for _ in range(4):
        pairs = learner.ask(5)
        learner.tell(pairs, answers(y, pairs))

    assert len(np.unique([a["pair"] for a in learner.history()], axis=0)) == 20


def test_groups_keep_the_seed(blobs):
    """Two learners of one seed find the same."""
    X, y = blobs
    one, two = (sort_by_asking(X, y, 20, seed=4).groups() for _ in range(2))

    assert_array_equal(one.labels, two.labels)
    assert_array_equal(one.doubts, two.doubts)


def test_the_share_that_is_right_is_the_mean_confidence(blobs):
    """And its interval holds it."""
    X, y = blobs
    found = sort_by_asking(X, y, 20).groups()

    low, high = found.interval
    assert_allclose(found.share_right, found.confidence.mean())
    assert 0 <= low <= found.share_right <= high <= 1
    assert found.confidence[found.members(0)[0]] > found.confidence.min()


def test_one_group_is_not_called_groups():
    """In what is printed of groups, and in the verdict."""
    found = group(Plain(1), np.zeros((3, 1)), ([[0, 1], [1, 2]], [1, 1]))

    assert str(found).startswith("1 group of 3 items; ")
    assert judge_groups(found).reason == "1 group, and every pair is known."
