"""ActiveMetric: what it asks, what it remembers, how it ends."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from likewise import ActiveMetric, BayesianMetric, InputError, search
from likewise.acquisition import ACQUISITIONS
from likewise.pairs import all_pairs, pair_number


def answers(y, pairs):
    return np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)


def test_what_is_asked_depends_on_seed_and_answers_only(blobs):
    """Asking twice gives the same; looking at the metric changes nothing."""
    X, y = blobs
    one = ActiveMetric(X, random_state=3)
    two = ActiveMetric(X, random_state=3)
    for _ in range(4):
        question = one.ask(5)
        assert_array_equal(one.ask(5), question)
        two.metric_.pair_probability(X, question)
        assert_array_equal(two.ask(5), question)
        one.tell(question, answers(y, question))
        two.tell(question, answers(y, question))
    assert_allclose(one.metric_.components_, two.metric_.components_)


@pytest.mark.parametrize("acquisition", [*ACQUISITIONS, lambda p, f: f[:, -1]])
def test_every_acquisition_asks_open_pairs_from_zero_answers_on(blobs, acquisition):
    """No pair twice, none outside the candidates, no crash without answers."""
    X, y = blobs
    candidates = all_pairs(20)
    learner = ActiveMetric(
        X, acquisition=acquisition, candidates=candidates, random_state=0
    )
    asked = []
    for _ in range(3):
        question = learner.ask(7)
        assert len(question) == 7
        learner.tell(question, answers(y, question))
        asked.extend(map(tuple, question))
    assert len(set(asked)) == 21
    assert set(asked) <= set(map(tuple, candidates))


def test_the_highest_score_is_asked_first(blobs):
    """A callable that scores by the last feature gets the widest gap."""
    X, _ = blobs
    metric = BayesianMetric(basis="axes")
    learner = ActiveMetric(
        X, metric=metric, acquisition=lambda p, f: f[:, 1], equivalence=False
    )

    question = learner.ask(1)

    assert_array_equal(question, [sorted((X[:, 0].argmin(), X[:, 0].argmax()))])


def test_the_metric_is_the_one_fitted_to_the_answers(blobs, rng):
    """Telling one by one ends where fitting at once does."""
    X, y = blobs
    pairs = all_pairs(60)[rng.permutation(1770)[:40]]
    model = BayesianMetric(prior_precision=0.5, tol=1e-10, max_iter=1000)
    learner = ActiveMetric(X, metric=model, equivalence=False)
    for pair in pairs:
        learner.tell([pair], answers(y, pair[None]))

    once = clone(model).fit_pairs(X, pairs, answers(y, pairs))

    assert_allclose(
        learner.metric_.pair_probability(X, pairs),
        once.pair_probability(X, pairs),
        atol=1e-4,
    )


def test_undo_takes_the_last_tell_back(blobs):
    """Questions and metric are those of before; nothing left is refused."""
    X, y = blobs
    learner = ActiveMetric(X, random_state=0)
    first = learner.ask(3)
    learner.tell(first, answers(y, first))
    second, before = learner.ask(2), learner.metric_.components_
    learner.tell(second, [1, -1])

    learner.undo()

    assert_array_equal(learner.ask(2), second)
    assert_allclose(learner.metric_.components_, before)
    learner.undo()
    assert_array_equal(learner.ask(3), first)
    with pytest.raises(InputError, match="no answer to take back"):
        learner.undo()


def test_unsure_is_an_answer_that_is_not_asked_again(blobs):
    """It is no label, and the pair is not open any more."""
    X, _ = blobs
    learner = ActiveMetric(X, random_state=0)
    question = learner.ask(1)
    before = learner.metric_.threshold_

    learner.tell(question, [0])

    assert learner.metric_.threshold_ == before
    assert not (learner.ask(500) == question).all(axis=1).any()


def test_a_pool_that_runs_out_ends_politely(blobs):
    """Fewer than asked for, then none."""
    X, y = blobs
    learner = ActiveMetric(X, candidates=[[0, 1], [0, 30], [3, 2]], random_state=0)

    question = learner.ask(10)
    learner.tell(question, answers(y, question))

    assert {tuple(pair) for pair in question} == {(0, 1), (0, 30), (2, 3)}
    assert learner.ask(1).shape == (0, 2)


@pytest.mark.parametrize("acquisition", ["entropy", "random"])
def test_among_too_many_pairs_a_shortlist_is_scored(blobs, monkeypatch, acquisition):
    """All pairs beyond the bound: still open ones, still doubtful ones."""
    X, y = blobs
    monkeypatch.setattr(search, "MAX_SCORED", 100)
    monkeypatch.setattr(search, "SHORTLIST", 300)
    learner = ActiveMetric(X, acquisition=acquisition, random_state=0)
    first = learner.ask(40)
    learner.tell(first, answers(y, first))

    second = learner.ask(40)

    numbers = pair_number(np.concatenate([first, second]), 60)
    assert len(np.unique(numbers)) == 80
    p_same = learner.metric_.pair_probability(X, second)
    doubt = np.abs(p_same - 0.5).mean()
    assert doubt < 0.1 if acquisition == "entropy" else doubt > 0.1


@pytest.mark.parametrize(
    ("pairs", "labels", "message"),
    [
        ([[0, 1]], [2], r"\+1 \(same\), -1 \(different\) or 0 \(unsure\). Got 2"),
        ([[0, 1]], [1, 1], r"each of the 1 pairs. Got shape \(2,\)"),
        ([[0, 60]], [1], r"Pair \(0, 60\) points outside X, which has 60 rows"),
    ],
)
def test_bad_answers_are_named(blobs, pairs, labels, message):
    """And nothing of them is kept."""
    learner = ActiveMetric(blobs[0])

    with pytest.raises(InputError, match=message):
        learner.tell(pairs, labels)
    with pytest.raises(InputError, match="no answer"):
        learner.undo()


def test_active_asking_beats_random_asking(rng):
    """The point of it all, on data whose classes hide in two of ten features."""
    y = np.repeat(np.arange(4), 15)
    X = rng.normal(size=(60, 10)) * 2
    X[:, 0] += 6 * (y % 2)
    X[:, 1] += 6 * (y // 2)
    pairs = all_pairs(60)
    auc = {}
    for acquisition in ("random", "entropy"):
        values = []
        for seed in range(5):
            learner = ActiveMetric(X, acquisition=acquisition, random_state=seed)
            for _ in range(8):
                question = learner.ask(5)
                learner.tell(question, answers(y, question))
            values.append(learner.metric_.pair_auc(X, pairs, answers(y, pairs)))
        auc[acquisition] = np.mean(values)
    assert auc["entropy"] > auc["random"] + 0.01
