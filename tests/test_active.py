"""ActiveMetric: what it asks, what it remembers, how it ends."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from likewise import ActiveMetric, BayesianMetric, InputError
from likewise.asking import candidates as search
from likewise.asking.acquisition import ACQUISITIONS
from likewise.asking.verdicts import judge
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
    """Classes hide in two of ten features and the prior knows nothing of them."""
    y = np.repeat(np.arange(4), 15)
    pairs, model = all_pairs(60), BayesianMetric(prior="unit")
    auc = {"random": [], "information": []}
    for seed in range(5):
        X = rng.normal(size=(60, 10)) * 2
        X[:, 0] += 6 * (y % 2)
        X[:, 1] += 6 * (y // 2)
        for acquisition, values in auc.items():
            learner = ActiveMetric(X, model, acquisition, random_state=seed)
            for _ in range(14):
                question = learner.ask(5)
                learner.tell(question, answers(y, question))
            values.append(learner.metric_.pair_auc(X, pairs, answers(y, pairs)))
    assert np.mean(auc["information"]) > np.mean(auc["random"]) + 0.02


def test_costly_scores_are_given_to_the_candidates_in_doubt_only(blobs, monkeypatch):
    """Of 1,770 candidates the 50 nearest the threshold hold the best question."""
    X, y = blobs
    whole, short = (ActiveMetric(X, random_state=0) for _ in range(2))
    told = all_pairs(60)[::40]
    for learner in (whole, short):
        learner.tell(told, answers(y, told))
    asked = whole.ask(1)
    monkeypatch.setattr(search, "SHORTLIST", 50)

    assert_array_equal(short.ask(1), asked)
    assert short.why(asked[0]).n_candidates <= 51
    plain = ActiveMetric(X, BayesianMetric(basis="eigen"), random_state=0)
    plain.tell(told, answers(y, told))
    assert plain.why(asked[0]).n_candidates > 1000


def test_implied_pairs_are_known_counted_and_never_asked(blobs):
    """a = b and b = c give a = c; a # d gives b # d and c # d."""
    X, _ = blobs
    learner = ActiveMetric(X, candidates=all_pairs(4), random_state=0)

    learner.tell([[0, 1], [1, 2], [0, 3]], [1, 1, -1])

    known = learner.known_pairs()
    table = {tuple(p): (int(v), s) for p, v, s in zip(*known, strict=True)}
    assert table == {
        (0, 1): (1, "asked"),
        (1, 2): (1, "asked"),
        (0, 3): (-1, "asked"),
        (0, 2): (1, "implied"),
        (1, 3): (-1, "implied"),
        (2, 3): (-1, "implied"),
    }
    assert learner.answers_saved() == 3
    assert len(learner.ask(5)) == 0


def test_without_equivalence_nothing_is_implied(blobs):
    """Every pair must be asked for itself."""
    X, _ = blobs
    learner = ActiveMetric(
        X, equivalence=False, candidates=all_pairs(3), random_state=0
    )

    learner.tell([[0, 1], [1, 2]], [1, 1])

    assert_array_equal(learner.ask(5), [[0, 2]])
    assert learner.answers_saved() == 0
    assert set(learner.known_pairs().sources) == {"asked"}


def test_implied_pairs_move_the_metric(blobs):
    """They join the likelihood: the metric with them is another."""
    X, y = blobs
    pairs = np.array([[0, 1], [1, 2], [2, 3], [0, 20], [20, 21], [40, 0], [40, 41]])
    metrics = []
    for equivalence in (True, False):
        learner = ActiveMetric(X, equivalence=equivalence, random_state=0)
        learner.tell(pairs, answers(y, pairs))
        metrics.append(learner.metric_.get_mahalanobis_matrix())

    assert not np.allclose(*metrics)


def test_a_batch_is_a_forest(blobs):
    """No question of a batch could follow from "same" answers to the others."""
    X, _ = blobs
    learner = ActiveMetric(X, random_state=0)

    batch = learner.ask(30)

    group = np.arange(60)
    for i, j in batch:
        assert group[i] != group[j]
        group[group == group[j]] = group[i]


def test_contradictions_are_kept_shown_and_asked_again(blobs):
    """The cycle is given, one of it is asked again, and settling it ends it."""
    X, y = blobs
    learner = ActiveMetric(X, random_state=0)
    learner.tell([[0, 1], [1, 2], [3, 4], [20, 40], [0, 2]], [1, 1, 1, -1, -1])

    (cycle,) = learner.contradictions()

    assert sorted(cycle) == [(0, 1, 1), (0, 2, -1), (1, 2, 1)]
    again = learner.ask(1)
    assert tuple(again[0]) in {(0, 1), (0, 2), (1, 2)}
    learner.tell([[0, 2]], [1])
    assert learner.contradictions() == []
    assert tuple(learner.ask(1)[0]) not in {(0, 1), (0, 2), (1, 2)}


def test_a_person_who_means_it_is_not_asked_for_ever(blobs):
    """Once each answer of a cycle was given twice it is left alone."""
    X, _ = blobs
    cycle = [[0, 1], [1, 2], [0, 2]]
    learner = ActiveMetric(X, random_state=0)
    for _ in range(2):
        learner.tell(cycle, [1, 1, -1])

    assert len(learner.contradictions()) == 1
    assert not {tuple(pair) for pair in learner.ask(10).tolist()} & set(
        map(tuple, cycle)
    )


def test_excluded_pairs_go_to_someone_else(blobs):
    """Two people at once get different questions."""
    X, _ = blobs
    learner = ActiveMetric(X, random_state=0)
    mine = learner.ask(1)

    yours = learner.ask(1, exclude=mine)

    assert tuple(mine[0]) != tuple(yours[0])


def test_a_history_replayed_asks_the_same_questions(blobs):
    """Also after undo and after a trip through JSON."""
    X, y = blobs
    learner = ActiveMetric(X, random_state=5)
    for size in (3, 1, 4, 1):
        question = learner.ask(size)
        learner.tell(question, answers(y, question), annotator="ann")
    learner.undo()
    stored = json.loads(json.dumps(learner.history()))

    again = ActiveMetric.replay(X, stored, random_state=5)

    assert again.history() == learner.history()
    assert again.history()[0]["annotator"] == "ann"
    assert_array_equal(again.ask(6), learner.ask(6))
    assert_array_equal(again.metric_.components_, learner.metric_.components_)


def test_a_copy_goes_its_own_way(blobs):
    """What is told to the copy does not reach the original."""
    X, _ = blobs
    learner = ActiveMetric(X, random_state=0)
    learner.tell([[0, 1]], [1])
    before = learner.ask(3)

    twin = learner.copy()
    twin.tell([[0, 20], [1, 2]], [-1, 1])

    assert_array_equal(learner.ask(3), before)
    assert learner.answers_saved() == 0
    assert twin.answers_saved() == 3


def test_why_says_what_is_thought_of_a_pair(blobs):
    """Numbers that agree with the metric, in a sentence."""
    X, y = blobs
    learner = ActiveMetric(X, metric=BayesianMetric(basis="axes"), random_state=0)
    learner.tell([[0, 1], [0, 25], [30, 50]], [1, -1, -1])
    pair = learner.ask(1)[0]

    why = learner.why(pair)

    expected = learner.metric_.pair_probability(X, [pair])[0]
    assert_allclose(why.p_same, expected)
    assert why.rank == 1
    assert 0 < why.spread < 0.5
    assert why.settles_if_same >= why.settles_if_different >= 1
    names, shares = zip(*why.reasons, strict=True)
    assert names[0].startswith("feature ")
    assert 0 < sum(shares) <= 1 + 1e-9
    assert f"P(same) = {expected:.2f}" in str(why)
    assert "'Same' would settle" in str(why)


def test_it_stops_when_the_pool_is_known(blobs):
    """Not at first, in the end yes, with an estimate in an interval."""
    X, y = blobs
    pool = all_pairs(60)[::7]
    learner = ActiveMetric(X, candidates=pool, random_state=0)
    first = learner.should_stop()
    while not (verdict := learner.should_stop()).stop:
        question = learner.ask(10)
        learner.tell(question, answers(y, question))

    assert not first.stop
    assert "known" in verdict.reason or "neighbours" in verdict.reason
    low, high = verdict.interval
    assert 0.5 < low <= verdict.accuracy <= high <= 1
    assert str(verdict).startswith("Stop: ")
    assert len(learner.history()) < 0.6 * len(pool)


def test_a_hundredth_of_the_pool_unknown_is_no_reason_to_stop(blobs):
    """What a few last answers change is more than their share of the pairs."""
    X, _ = blobs
    metric = ActiveMetric(X, random_state=0).metric_
    rng = np.random.RandomState(0)

    nearly, fully = (
        judge(metric, metric, X, n_open, 1000, 10, rng) for n_open in (10, 4)
    )

    assert not nearly.stop
    assert fully.stop
    assert fully.reason == "99.6% of the candidate pairs are known."


def test_the_estimate_of_accuracy_covers_the_truth(blobs):
    """The expected share of pairs told right is near the real one."""
    X, y = blobs
    learner = ActiveMetric(X, random_state=0)
    for _ in range(5):
        question = learner.ask(10)
        learner.tell(question, answers(y, question))
    pairs = all_pairs(60)

    verdict = learner.should_stop()

    truth = np.mean(learner.metric_.predict_pairs(X, pairs) == answers(y, pairs))
    assert abs(verdict.accuracy - truth) < 0.1


def test_questions_do_not_starve(rng):
    """One pair in 50 is "same": at least one question in five turns out so."""
    y = np.repeat(np.arange(40), 3)
    centres = rng.normal(size=(40, 10)) * 2
    X = centres[y] + rng.normal(size=(120, 10)) * 0.7
    pairs = all_pairs(120)
    assert np.mean(answers(y, pairs) > 0) < 1 / 50
    learner = ActiveMetric(X, random_state=0)
    said = []
    for _ in range(5):
        question = learner.ask(20)
        said.extend(answers(y, question))
        learner.tell(question, answers(y, question))

    assert np.mean(np.array(said) > 0) >= 0.2


def test_a_warm_start_ends_where_a_cold_one_does(blobs, rng):
    """Between checkpoints the fit starts from the last one; the result is the same."""
    X, y = blobs
    pairs = all_pairs(60)[rng.permutation(1770)[:47]]
    model = BayesianMetric(prior_precision=0.5, tol=1e-9, max_iter=500)
    learner = ActiveMetric(X, metric=model, equivalence=False, random_state=0)
    learner.tell(pairs, answers(y, pairs))

    warm = learner.metric_

    cold = clone(model).fit_pairs(X, pairs, answers(y, pairs))
    assert_allclose(
        warm.pair_probability(X, pairs), cold.pair_probability(X, pairs), atol=1e-3
    )
