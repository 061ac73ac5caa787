"""ActiveMetric: what it asks, what it remembers, how it ends."""

import json
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from likewise import ActiveMetric, BayesianMetric, InputError, load
from likewise.asking import search
from likewise.asking.acquisition import ACQUISITIONS
from likewise.asking.checks import is_set_aside
from likewise.pairs import all_pairs, draw_pairs, pair_number


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
    """No pair twice, none outside the candidates, no crash without answers.

    Where groups are asked for, a join that much hangs on may be asked once more.
    """
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
    twice = {pair for pair in asked if asked.count(pair) > 1}
    assert set(asked) <= set(map(tuple, candidates))
    if acquisition == "groups":
        assert all(
            asked.count(pair) == 2 and y[pair[0]] == y[pair[1]] for pair in twice
        )
    else:
        assert not twice


def test_the_highest_score_is_asked_first(blobs):
    """A callable that scores by the last feature gets the widest gap."""
    X, _ = blobs
    metric = BayesianMetric(basis="axes")
    # Nothing is set aside: the widest gap could be.
    options = {"equivalence": False, "check_share": 0.0, "random_state": 0}
    learner = ActiveMetric(X, metric, lambda p, f: f[:, 1], **options)

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
def test_of_many_pairs_a_shortlist_is_scored(blobs, monkeypatch, acquisition):
    """All pairs beyond it: still open ones, and for entropy still doubtful ones."""
    X, y = blobs
    monkeypatch.setattr(search, "SHORTLIST", 300)
    learner = ActiveMetric(X, acquisition=acquisition, random_state=0, check_share=0)
    first = learner.ask(40)
    learner.tell(first, answers(y, first))

    second = learner.ask(40)

    numbers = pair_number(np.concatenate([first, second]), 60)
    assert len(np.unique(numbers)) == 80
    assert learner.why(second[0]).n_candidates <= 301
    doubt = np.abs(learner.pair_probability(second) - 0.5).mean()
    assert doubt < 0.1 if acquisition == "entropy" else doubt > 0.1


@pytest.mark.parametrize(
    ("pairs", "labels", "message"),
    [
        ([[0, 1]], [2], r"must be \+1, True or 'same'; .* Got 2 at position 0"),
        ([[0, 1]], ["sme"], r"0 or 'unsure'. Got 'sme' at position 0"),
        ([[0, 1]], [np.nan], r"Got nan at position 0"),
        ([[0, 1]], [0.5], r"Got 0.5 at position 0"),
        ([[0, 1]], [None], r"Got None at position 0"),
        ([[0, 1], [1, 2]], [True, 1], "all be booleans .* Got booleans and numbers"),
        ([[0, 1], [1, 2]], ["same", 0], "all be words. Got numbers and words"),
        ([[0, 1], [1, 2]], [False, "different"], "Got booleans and words"),
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


@pytest.mark.slow
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
            learner = ActiveMetric(
                X, model, acquisition, random_state=seed, check_share=0
            )
            for _ in range(14):
                question = learner.ask(5)
                learner.tell(question, answers(y, question))
            values.append(learner.metric_.pair_auc(X, pairs, answers(y, pairs)))
    assert np.mean(auc["information"]) > np.mean(auc["random"]) + 0.01


@pytest.mark.parametrize(
    ("labels", "meant"),
    [
        ([True, False], [1, -1]),
        (np.array([True, False]), [1, -1]),
        (["same", "different"], [1, -1]),
        (np.array(["Same", " unsure"]), [1, 0]),
        ([1.0, 0], [1, 0]),
        (np.array([-1, 1], dtype=np.int8), [-1, 1]),
    ],
)
def test_answers_are_read_as_they_are_meant(blobs, labels, meant):
    """Booleans and words too: False is "different", not "unsure"."""
    learner = ActiveMetric(blobs[0])

    learner.tell([[0, 1], [2, 3]], labels)

    assert [answer["label"] for answer in learner.history()] == meant


@pytest.mark.parametrize("n_pairs", [-1, 2.5, True, "3", None, np.nan])
def test_a_number_of_questions_that_means_nothing_is_refused(blobs, n_pairs):
    """With a sentence that names it; a whole number of any type is one."""
    learner = ActiveMetric(blobs[0], random_state=0)

    with pytest.raises(
        InputError, match=f"whole number of at least 0. Got {n_pairs!r}"
    ):
        learner.ask(n_pairs)
    assert learner.ask(0).shape == (0, 2)
    assert learner.ask(np.int32(2)).shape == (2, 2)


@pytest.mark.parametrize(("basis", "n_scored"), [("full", 51), ("eigen", 1700)])
def test_costly_scores_are_given_to_the_candidates_in_doubt_only(
    blobs, monkeypatch, basis, n_scored
):
    """Of 1,770 candidates the 50 most in doubt hold the best question."""
    X, y = blobs
    told, pairs = all_pairs(60)[::40], all_pairs(60)
    whole, short = (
        ActiveMetric(X, BayesianMetric(basis=basis), candidates=pairs, random_state=0)
        for _ in range(2)
    )
    for learner in (whole, short):
        learner.tell(told, answers(y, told))
    asked = whole.ask(1)
    monkeypatch.setattr(search, "SHORTLIST", 50)

    assert_array_equal(short.ask(1), asked)
    n_candidates = short.why(asked[0]).n_candidates
    assert n_candidates <= 51 if basis == "full" else n_candidates > 1000


@pytest.mark.parametrize("basis", ["full", "eigen"])
def test_many_items_are_asked_about_as_few_are(rng, basis):
    """Most pairs are never looked at, and no other is better by what can be told."""
    y = rng.randint(0, 4, 2500)
    X = rng.normal(size=(2500, 3)) + 1.5 * y[:, None]
    learner = ActiveMetric(X, BayesianMetric(basis=basis), random_state=0)
    told = draw_pairs(2500, 30, rng)
    learner.tell(told, answers(y, told))

    asked, searched = learner.ask(1), learner.searched()

    assert searched.n_pairs == 2500 * 2499 // 2
    assert searched.n_seen < searched.n_pairs / 2
    p_same = learner.predicted(asked)[0]
    assert abs(p_same - 0.5) < 1e-3
    assert searched.shortfall <= search.TOLERANCE
    assert learner.why(asked[0]).rank == 1
    assert_array_equal(learner.ask(1), asked)
    assert_array_equal(learner.copy().ask(1), asked)


def test_pairs_of_the_pool_are_known_better_than_new_ones(blobs):
    """What is known of items moves P(same); two nobody asked about are new ones."""
    X, y = blobs
    model = BayesianMetric(item_noise=1.0, random_state=0)
    learner = ActiveMetric(X, model, equivalence=False, random_state=0)
    told = np.array([[0, 20], [0, 1], [1, 2], [20, 40], [0, 40], [5, 25]])
    learner.tell(told, answers(y, told))
    fresh = np.array([[10, 11], [12, 50]])

    of_pool, as_new = (
        learner.pair_probability(np.concatenate([told, fresh])),
        learner.metric_.pair_probability(X, np.concatenate([told, fresh])),
    )

    assert_allclose(of_pool[6:], as_new[6:])
    # Answers speak for themselves: those told are believed more.
    towards = (of_pool - as_new)[:6] * answers(y, told)
    assert (towards > 0.005).all()


def test_without_noise_of_items_pool_and_new_pairs_are_alike(blobs):
    """There is nothing else to know of them."""
    X, y = blobs
    learner = ActiveMetric(X, BayesianMetric(item_noise=0.0), random_state=0)
    told = all_pairs(60)[::97]
    learner.tell(told, answers(y, told))

    of_pool = learner.pair_probability(told)

    assert_allclose(of_pool, learner.metric_.pair_probability(X, told))


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
    gap = X[pair[0]] - X[pair[1]]
    parts = gap * (learner.metric_.get_mahalanobis_matrix() @ gap)
    order = np.argsort(-parts)[: len(why.reasons)]
    assert [name for name, _ in why.reasons] == [f"feature {k}" for k in order]
    assert_allclose([share for _, share in why.reasons], (parts / parts.sum())[order])
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
    assert "known" in verdict.reason or "figures" in verdict.reason
    estimate = verdict.neighbours
    assert 0.5 < estimate.low <= estimate.value <= estimate.high <= 1
    assert str(verdict).startswith("Stop: ")
    assert len(learner.history()) < 0.6 * len(pool)


def test_what_is_left_of_the_pool_decides(blobs):
    """Nothing told, everything open; everything told, nothing left to ask."""
    X, y = blobs
    learner = ActiveMetric(X, candidates=all_pairs(5), random_state=0)
    first = learner.should_stop()
    learner.tell(all_pairs(5), answers(y, all_pairs(5)))

    last = learner.should_stop()

    assert not first.stop
    assert last.stop
    assert last.reason == "every candidate pair is known."


def test_the_estimate_of_neighbours_covers_the_truth(blobs):
    """The interval holds the share of items whose nearest neighbour is the same."""
    X, y = blobs
    learner = ActiveMetric(X, random_state=0)
    for _ in range(5):
        question = learner.ask(10)
        learner.tell(question, answers(y, question))
    Z = learner.metric_.transform(X)
    far = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    np.fill_diagonal(far, np.inf)

    estimate = learner.should_stop().neighbours

    assert estimate.low <= np.mean(y[far.argmin(axis=1)] == y) <= estimate.high


@pytest.mark.parametrize("share", [-0.1, 1.5, True])
def test_a_share_of_checks_is_a_share(share):
    """Named, with what it must be."""
    with pytest.raises(InputError, match="'check_share' must be a number from 0 to 1"):
        ActiveMetric(np.eye(4), check_share=share)


def test_what_was_said_before_an_answer_is_kept(blobs):
    """The record has the predictions of the belief that asked, and survives replay."""
    X, y = blobs
    learner = ActiveMetric(X, random_state=0)
    learner.tell([[0, 1]], [1])  # nobody asked: nothing was predicted
    said = []
    for _ in range(3):
        question = learner.ask(5)
        said.append(learner.predicted(question))
        learner.tell(question, answers(y, question))
    question = learner.ask(1)
    learner.tell(question, ["unsure"])

    record = learner.record()

    assert len(record) == 15
    assert_allclose(record.said, np.concatenate(said))
    again = ActiveMetric.replay(X, learner.history(), random_state=0)
    assert_array_equal(again.record().said, record.said)
    assert_array_equal(again.record().labels, record.labels)


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


@pytest.mark.parametrize(
    ("model", "off"),
    [
        (BayesianMetric("eigen", prior="unit", prior_precision=0.5, tol=1e-9), 1e-4),
        # Settings chosen a few answers ago are not quite those of now.
        (BayesianMetric(tol=1e-9, random_state=0), 0.05),
    ],
    ids=["paper", "defaults"],
)
def test_a_warm_start_ends_where_a_cold_one_does(blobs, rng, model, off):
    """Between checkpoints the fit starts from the last one; the result is the same."""
    X, y = blobs
    pairs = all_pairs(60)[rng.permutation(1770)[:47]]
    model = clone(model).set_params(max_iter=1000)
    learner = ActiveMetric(X, metric=model, equivalence=False, random_state=0)
    learner.tell(pairs, answers(y, pairs))

    warm = learner.metric_

    cold = clone(model).fit_pairs(X, pairs, answers(y, pairs))
    assert_allclose(
        warm.pair_probability(X, pairs), cold.pair_probability(X, pairs), atol=off
    )


def test_a_fit_that_did_not_converge_says_so(blobs):
    """By a warning that names what to raise."""
    X, y = blobs
    pairs = all_pairs(60)[::50]
    learner = ActiveMetric(X, BayesianMetric(max_iter=2), random_state=0)
    learner.tell(pairs, answers(y, pairs))

    with pytest.warns(ConvergenceWarning, match="within 2 sweeps. Raise 'max_iter'"):
        assert learner.metric_.n_iter_ >= 2


def test_a_pickled_learner_goes_on_where_it_was(blobs):
    """Locks do not travel; answers do."""
    X, y = blobs
    learner = ActiveMetric(X, random_state=0)
    question = learner.ask(5)
    learner.tell(question, answers(y, question))

    again = pickle.loads(pickle.dumps(learner))

    assert_array_equal(again.ask(3), learner.ask(3))
    again.tell([[0, 1]], [1])
    assert len(learner.history()) == 5


PLAIN = BayesianMetric(basis="axes", prior="unit", prior_precision=1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "n_each"), [(PLAIN, 2500), (BayesianMetric(), 150)], ids=["plain", "full"]
)
def test_threads_may_share_a_learner(blobs, model, n_each):
    """Two of them, thousands of rounds of everything at once: nothing is raised."""
    X, y = (part[::3] for part in blobs)
    learner = ActiveMetric(X, model, random_state=0)
    pairs = all_pairs(20)
    errors = []

    def work(seed):
        rng = np.random.RandomState(seed)
        try:
            for _ in range(n_each):
                one_round(rng)
        except Exception as error:  # whatever it is, the test must see it
            errors.append(error)

    def one_round(rng):
        what = rng.randint(6)
        pair = pairs[rng.randint(len(pairs))][None]
        if what <= 1:
            learner.tell(pair, answers(y, pair))
        elif what == 2:
            with suppress(InputError):  # the other one has undone it all
                learner.undo()
        elif what == 3:
            assert learner.ask(2).shape[1] == 2
        elif what == 4:
            assert 0 <= learner.why(pair[0]).p_same <= 1
        else:
            assert 0 <= learner.should_stop().neighbours.value <= 1
            assert np.isfinite(learner.metric_.components_).all()

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == []
    again = ActiveMetric.replay(X, learner.history(), metric=model, random_state=0)
    assert_array_equal(again.ask(3), learner.ask(3))


def test_items_may_be_added(blobs):
    """The answers stay; all else is as if the items had been there from the start."""
    X, y = blobs
    first, rest = X[::2], X[1::2]
    learner = ActiveMetric(first, random_state=0)
    pairs = learner.ask(8)
    learner.tell(pairs, np.where(y[::2][pairs[:, 0]] == y[::2][pairs[:, 1]], 1, -1))
    history = learner.history()

    learner.add_items(rest)

    assert learner.history() == history
    whole = ActiveMetric.replay(np.concatenate([first, rest]), history, random_state=0)
    assert_array_equal(learner.ask(5), whole.ask(5))
    assert_allclose(
        learner.metric_.get_mahalanobis_matrix(), whole.metric_.get_mahalanobis_matrix()
    )
    learner.undo()
    assert learner.history() == []


def test_items_with_other_features_are_not_added(blobs):
    """Nothing changes."""
    X, _ = blobs
    learner = ActiveMetric(X, random_state=0)

    with pytest.raises(InputError, match="X has 4 features.*expecting 5"):
        learner.add_items(X[:, :4])

    assert repr(learner).startswith("<ActiveMetric: 60 items")


def test_candidates_are_added_where_candidates_were_given(blobs):
    """Only pairs that were named may be asked."""
    X, _ = blobs
    learner = ActiveMetric(X[:4], candidates=[[0, 1]], random_state=0)

    learner.add_items(X[4:6], candidates=[[5, 0]])

    assert_array_equal(np.sort(learner.ask(9), axis=0), [[0, 1], [0, 5]])
    free = ActiveMetric(X[:4], random_state=0)
    with pytest.raises(InputError, match="every pair of items may be asked"):
        free.add_items(X[4:6], candidates=[[5, 0]])


def test_a_learner_says_what_it_is(blobs):
    """Items, acquisition, answers, what is known."""
    X, _ = blobs
    learner = ActiveMetric(X, acquisition="mean-entropy", random_state=0)
    learner.tell([[0, 1], [1, 2]], [1, 1])

    assert repr(learner) == (
        "<ActiveMetric: 60 items of 5 features, acquisition mean-entropy, "
        "2 answers, 1 pairs known without asking>"
    )


def test_checks_are_drawn_from_what_is_set_aside(rng):
    """And no other question is: what comes true of these holds for any pair."""
    X, y = rng.normal(size=(200, 5)), np.arange(200) // 10
    learner = ActiveMetric(X, random_state=0)
    for _ in range(4):
        question = learner.ask(10)
        learner.tell(question, answers(y, question))

    record = learner.record()

    assert record.is_random.sum() == 4  # of 40
    drawn = learner.record().pairs[record.is_random]
    assert is_set_aside(drawn, learner._seed).all()
    again = ActiveMetric.replay(X, learner.history(), random_state=0)
    assert_array_equal(again.record().is_random, record.is_random)
    without = ActiveMetric.replay(X, learner.history(), random_state=0, check_share=0.0)
    assert not without.record().is_random.any()


def test_what_is_set_aside_is_a_twentieth_of_every_item(rng):
    """Of 200 items each, pairs with every one are set aside alike, by the seed."""
    pairs = all_pairs(200)

    aside = pairs[is_set_aside(pairs, 5)]
    other = pairs[is_set_aside(pairs, 6)]

    assert abs(len(aside) / len(pairs) - 0.05) < 0.006
    counts = np.bincount(aside.ravel(), minlength=200)
    assert_allclose(counts.var() / counts.mean(), 1, atol=0.35)
    common = set(map(tuple, aside.tolist())) & set(map(tuple, other.tolist()))
    assert abs(len(common) / len(aside) - 0.05) < 0.03


def test_probabilities_follow_what_came_true_of_random_questions(blobs):
    """`predicted` is the belief alone; all else has the correction of the checks."""
    X, y = blobs
    learner = ActiveMetric(X, random_state=0)
    for _ in range(10):
        question = learner.ask(10)
        learner.tell(question, answers(y, question))
    pairs = all_pairs(len(X))[::40]

    correction = learner.metric_.posterior_.calibration

    assert correction.shift != 0
    corrected = correction.correct(learner.predicted(pairs))
    assert_allclose(learner.pair_probability(pairs), corrected)
    assert_allclose(learner.why(pairs[0]).p_same, corrected[0])
    by_checks = learner.record().random_calibration()
    assert by_checks.shift not in (0, correction.shift)  # without the panel


def test_groups_have_quiet_checks_too(rng):
    """One question in ten is a pair drawn at random, and no other is set aside."""
    y = rng.randint(0, 8, 200)
    X = rng.normal(size=(200, 5)) + 3 * rng.normal(size=(8, 5))[y]
    learner = ActiveMetric(X, acquisition="groups", random_state=0)
    for _ in range(8):
        question = learner.ask(5)
        learner.tell(question, answers(y, question))

    record = learner.record()

    assert record.is_random.sum() == 4
    assert is_set_aside(record.pairs[record.is_random], learner._seed).all()
    # They are any pairs: the share that is the same is that of all pairs.
    assert record.is_same[record.is_random].mean() < 0.5
    without = ActiveMetric(X, acquisition="groups", check_share=0.0, random_state=0)
    assert without._open.n_checks(50, 50) == (0, 0)
    given = ActiveMetric(X, acquisition="groups", candidates=all_pairs(200)[::2])
    assert given._open.n_checks(50, 50) == (5, 0)  # no more until "same" is counted


def test_a_contradiction_keeps_nobody_from_the_panel(rng):
    """Its items never come to be known of the others: the panel goes on without."""
    y = rng.randint(0, 4, 120)
    X = rng.normal(size=(120, 5)) + 3 * rng.normal(size=(4, 5))[y]
    learner = ActiveMetric(X, random_state=0)
    a, b, c = learner._open.panel.items[1:4]
    for _ in range(2):  # asked twice all round, they are left at odds
        learner.tell([[a, b], [b, c], [a, c]], [1, 1, -1])
    for _ in range(8):
        question = learner.ask(10)
        learner.tell(question, answers(y, question))

    share = learner._open.panel.share()

    assert abs(share.mean - np.mean(answers(y, all_pairs(120)) == 1)) < 0.1
    assert share.deviation < 0.12


def test_readers_never_leave_an_old_correction(blobs):
    """What is read while answers come in is of the answers there were, and goes."""
    X, y = blobs
    learner = ActiveMetric(X, random_state=0)
    learner.tell(learner.ask(10), [1, -1] * 5)
    is_over = threading.Event()

    def read():
        while not is_over.wait(0.001):  # who never waits lets nobody else in
            assert learner.metric_.posterior_.calibration is not None

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        for _ in range(10):
            question = learner.ask(2)
            learner.tell(question, answers(y, question))
            kept = learner.metric_.posterior_.calibration
            again = ActiveMetric.replay(X, learner.history(), random_state=0)
            assert again.metric_.posterior_.calibration == kept
        is_over.set()
        for reader in readers:
            reader.result(timeout=60)


def test_one_item_has_a_metric_that_can_be_saved(tmp_path):
    """There is no pair to tell a level by."""
    learner = ActiveMetric(np.ones((1, 3)), random_state=0)

    metric = learner.metric_

    p_same = metric.pair_probability([[0.0, 0, 0], [1, 2, 3]], [[0, 1]])
    assert 0 < p_same[0] < 1
    metric.save(tmp_path / "one.metric")
    again = load(tmp_path / "one.metric")
    assert_array_equal(
        again.pair_probability([[0.0, 0, 0], [1, 2, 3]], [[0, 1]]), p_same
    )


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ([0.5], "'said' must have one entry for each of the 2 pairs. Got 1."),
        ([0.5, "x"], "'said' must hold None or numbers from 0 to 1. Got 'x' at"),
        ([0.5, 1.5], "'said' must hold None or numbers from 0 to 1. Got 1.5 at"),
        ([True, None], "'said' must hold None or numbers from 0 to 1. Got True at"),
    ],
)
def test_predictions_that_are_none_are_refused_before_anything_is_told(
    blobs, said, message
):
    """Not half of the answers, and not half of what is kept of them."""
    learner = ActiveMetric(blobs[0], random_state=0)

    with pytest.raises(InputError, match=message):
        learner.tell([[0, 1], [2, 3]], [1, -1], said=said)

    assert learner.history() == []
    learner.tell([[0, 1], [2, 3]], [1, -1], said=[None, np.float32(0.5)])
    assert len(learner.ask(2)) == 2


@pytest.mark.parametrize("acquisition", ["groups", "entropy"])
def test_questions_one_by_one_have_as_many_checks(rng, acquisition):
    """What was thought of a check is kept, or it would never count as one."""
    y = rng.randint(0, 4, 100)
    X = rng.normal(size=(100, 5)) + 3 * rng.normal(size=(4, 5))[y]
    learner = ActiveMetric(X, acquisition=acquisition, random_state=0)
    for _ in range(32):
        question = learner.ask()
        learner.tell(question, answers(y, question))

    record = learner.record()

    assert len(record) == 32
    assert record.is_random.sum() == 3


def test_a_panel_tells_how_common_same_is(rng):
    """Its items are sorted within a third of the questions, whatever else is asked."""
    y = rng.randint(0, 3, 200)
    X = rng.normal(size=(200, 5)) + 2 * np.eye(5)[y]
    learner = ActiveMetric(X, random_state=0)
    for _ in range(8):
        question = learner.ask(10)
        learner.tell(question, answers(y, question))
    pairs = all_pairs(len(X))

    share = learner._open.panel.share()

    assert abs(share.mean - 1 / 3) < 2 * share.deviation
    assert share.deviation < 0.07
    said = learner.metric_.pair_probability(X, pairs).mean()
    assert abs(said - np.mean(answers(y, pairs) == 1)) < 0.06
    assert learner.record().is_random.sum() == 8
    given = ActiveMetric(X, candidates=pairs[:500], random_state=0)
    assert given._open.panel is None
    assert ActiveMetric(X, equivalence=False, random_state=0)._open.panel is None


def test_what_follows_is_asked_now_and_then(blobs):
    """One question in twenty, and more once an answer was upset; never without."""
    X, y = blobs

    def n_known(share, flipped):
        learner = ActiveMetric(X, random_state=0, check_share=share)
        found = 0
        for turn in range(12):
            question = learner.ask(10)
            implied = learner.known_pairs()
            known = set(
                map(tuple, implied.pairs[implied.sources == "implied"].tolist())
            )
            found += sum(tuple(pair) in known for pair in question.tolist())
            labels = np.array(answers(y, question))
            labels[: flipped * (turn % 2)] *= -1
            learner.tell(question, labels)
        return found

    assert 4 <= n_known(0.1, flipped=0) <= 6
    assert n_known(0.1, flipped=2) > 8
    assert n_known(0.0, flipped=0) == 0


def test_only_candidates_are_audited(rng):
    """What follows is asked only where it may be asked at all."""
    X, y = rng.normal(size=(30, 4)), np.arange(30) // 10
    candidates = [(i, j) for i in range(30) for j in range(i + 1, min(i + 6, 30))]
    learner = ActiveMetric(X, candidates=candidates, random_state=0)
    asked = []
    for _ in range(9):
        question = learner.ask(10)
        asked += map(tuple, question.tolist())
        labels = np.array(answers(y, question))
        labels[:2] *= -1  # upset, so that audits are many
        learner.tell(question, labels)

    assert len(asked) > 60
    assert set(asked) <= set(candidates)


def test_audits_test_few_answers_at_a_time(rng):
    """Of what follows, that which follows from the fewest answers is asked."""
    learner = ActiveMetric(rng.normal(size=(40, 3)), random_state=0)
    chain = np.column_stack([np.arange(19), np.arange(1, 20)])  # 0 = 1 = ... = 19
    learner.tell(chain, np.ones(len(chain)))

    asked = learner.ask(20)

    implied = learner.known_pairs().pairs
    known = set(map(tuple, implied.tolist()))
    audits = [pair for pair in asked.tolist() if tuple(pair) in known]
    assert [abs(i - j) for i, j in audits] == [2]


def test_a_person_is_not_asked_about_their_own_correction():
    """Told anew it is settled; the same change on being asked again is not."""
    X = np.r_[np.zeros((4, 1)), np.ones((4, 1))] + np.linspace(0, 0.1, 8)[:, None]
    learner = ActiveMetric(X, acquisition="groups", random_state=0)
    learner.tell([[0, 1], [1, 2], [4, 5], [2, 4]], [1, 1, 1, 1])
    learner.groups()
    learner.tell([[2, 4]], [-1])

    corrected = learner._given()
    asked_again = ActiveMetric.replay(
        X,
        [
            *learner.history()[:-1],
            {"pair": [2, 4], "label": -1, "tell": 1, "annotator": None, "said": 0.5},
        ],
        acquisition="groups",
        random_state=0,
    )

    assert learner.history()[-1]["said"] is None
    assert corrected.caught == 0.0
    assert [2, 4] not in learner.ask(5).tolist()
    assert asked_again._given().caught > 0.05
    assert [2, 4] in asked_again.ask(5).tolist()


def test_an_answer_that_was_asked_for_again_keeps_what_was_predicted():
    """A repeat is a question like another: only what nobody asked is a correction."""
    rng = np.random.RandomState(0)
    X = np.r_[rng.standard_normal((15, 2)), rng.standard_normal((15, 2)) + 4]
    learner = ActiveMetric(X, acquisition="groups", random_state=0)
    n_repeats = 0
    for _ in range(12):
        asked, known = learner.ask(5), learner._log.answered()[0].tolist()
        n_repeats += sum(pair in known for pair in asked.tolist())
        learner.tell(asked, rng.choice([-1, 1], len(asked)))

    assert n_repeats > 5
    assert all(answer["said"] is not None for answer in learner.history())
